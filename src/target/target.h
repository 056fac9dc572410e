/* What a GPU of some compute capability offers: one row of targets.def. */
#ifndef TILEC_TARGET_TARGET_H
#define TILEC_TARGET_TARGET_H
#include "support/str.h"
#include "target/common.h"

typedef struct Target {
    const char *name; /* sm_90a, also for LLVM */
    int capability;   /* 90 */
    int first_llvm;   /* major version; older ones do not know it */
    const char *llvm_features;
    int shared_per_block, shared_per_sm; /* bytes */
    int threads_per_sm, blocks_per_sm;
} Target;

enum {
    /* Of a thread where a CTA has two teams of a warpgroup each, and a third that starts copies and
     * gives them the rest of its own (setmaxnreg): 504 in all, of 65536 / 128. */
    TEAM_REGISTERS = 232,
    PRODUCER_REGISTERS = 40,
};

/* What keeps an SM from holding more CTAs. */
typedef enum OccupancyLimit {
    OCCUPANCY_CTAS,
    OCCUPANCY_THREADS,
    OCCUPANCY_REGISTERS,
    OCCUPANCY_SHARED,
} OccupancyLimit;

typedef struct Occupancy {
    int32_t ctas, warps;  /* resident at once on an SM; 0: not even one fits */
    int32_t max_warps;    /* that an SM holds */
    OccupancyLimit limit; /* the first of those that allow the fewest CTAs */
} Occupancy;

/* What some targets have: one row of features.def. */
typedef enum TargetFeature {
#define FEATURE(id, first, last, what) FEATURE_##id,
#include "target/features.def"
} TargetFeature;

extern const Target target_table[];
extern const int target_count;

/* Stands, where a target is named, for that of this machine's GPU. */
#define TARGET_NATIVE "native"

/* By name ("sm_90a"; "sm_90" finds sm_90a); NULL: unknown. */
const Target *target_by_name(Str name);
/* "sm_80, sm_86, ..": every row. */
const char *target_list(Arena *arena);
/* Its code runs on devices of this very capability alone. */
bool target_is_specific(const Target *target);
/* The row whose code runs on a device of this capability (for example 90); NULL: none. */
const Target *target_by_capability(int capability);

bool target_has(int capability, TargetFeature feature);
/* The first capability that has it. */
int target_first_with(TargetFeature feature);

/* How many CTAs of `threads` threads with `registers` a thread (0: not known, no limit) and
 * `shared_bytes` an SM of the target holds: CUDA C++ programming guide, allocation units of
 * registers and of shared memory. */
Occupancy target_occupancy(const Target *target, int32_t registers, int32_t threads,
                           int32_t shared_bytes);
/* The warps that an SM holds at once by their registers alone, `registers` (at least 1) a thread.
 */
int32_t target_warps_for(int32_t registers);
/* The most registers of a thread with which an SM holds `warps` (at least 1) warps at once: its
 * registers are those of its four partitions, each of which has a quarter of the warps, rounded up.
 * At most TARGET_MAX_REGISTERS. */
int32_t target_registers_for(int32_t warps);
/* "registers", "shared memory", ... */
const char *occupancy_limit_name(OccupancyLimit limit);
#endif
