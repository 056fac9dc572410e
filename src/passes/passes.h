/* Passes over Tile IR and the pipeline made of them.
 *
 * A pass is `bool pass_<name>(Func *)`: true if and only if it changed something. One that cannot
 * go on reports a diagnostic; the pipeline stops at the first error. What a pass requires and
 * ensures is in passes.def; each file's head says why, with IR before and after. */
#ifndef TILEC_PASSES_PASSES_H
#define TILEC_PASSES_PASSES_H
#include "ir/ir.h"
#include "passes/contract/equivalence.h"
#include "passes/contract/properties.h"
#include "target/target.h"

typedef bool Pass(Func *func);

typedef enum PassId {
#define PASS(id, ...) PASS_##id,
#include "passes/passes.def"
    PASS_COUNT
} PassId;

#define PASS(id, ...) Pass pass_##id;
#include "passes/passes.def"

typedef struct PassInfo {
    const char *name, *summary;
    Pass *run;
    PropertySet requires, ensures, clears; /* properties.def */
} PassInfo;
extern const PassInfo pass_info[PASS_COUNT];

/* PASS_COUNT: unknown. */
PassId pass_find(Str name);

typedef enum PipelineCondition {
#define CONDITION(id, text) PIPELINE_##id,
#include "passes/pipeline.def"
} PipelineCondition;

typedef struct PipelineStep {
    PassId pass;
    PipelineCondition condition;
} PipelineStep;

enum {
    PIPELINE_STEPS = 0
#define STEP(pass, condition) +1
#include "passes/pipeline.def"
};
extern const PipelineStep pipeline_steps[PIPELINE_STEPS];
bool pipeline_step_runs(const Func *func, PipelineCondition condition);

/* What functions have as the elaborator makes them, and what codegen takes. */
enum {
    PIPELINE_TAKES = TARGET_GIVEN | PROGRAMS_IN_ORDER | NO_LAYOUTS,
    PIPELINE_GIVES = LAYOUTS | SCANS_IN_ORDER | NO_BLOCKS | DOTS_FED | SCANS_IN_WARPS |
                     REDUCES_IN_WARPS | CONVERTS_IN_WARPS | REGISTERS_LIMITED | SHARED_ALLOCATED |
                     BARRIERS_PLACED | COPIES_FENCED
};

/* What the function has behind the pass, of which it had `had`. */
static inline PropertySet pass_leaves(PassId pass, PropertySet had) {
    return (PropertySet)((had & ~pass_info[pass].clears) | pass_info[pass].ensures);
}

/* Called after each pass with what it did; used for dumps and timing. */
typedef void PassObserver(void *user, const Func *func, PassId pass, unsigned position,
                          bool changed, double milliseconds);

/* How often a pass was held to its contract, and how far the functions before and after it could be
 * compared. */
typedef struct PassContract {
    unsigned runs, changed; /* changed = the sum of verdicts, but for text that was found wrong */
    unsigned verdicts[EQUIVALENCE_COUNT];
    unsigned lists;  /* of arguments on which both functions ran */
    uint64_t values; /* elements that were compared on them */
} PassContract;

typedef struct PipelineOptions {
    bool check; /* hold every pass to its contract; see pipeline.c */
    PassObserver *observe;
    void *user;
    PassContract *contracts; /* NULL, or PASS_COUNT of them, which checks add to */
} PipelineOptions;

/* A line for each pass that was held to its contract; the same as a JSON array. */
void contracts_print(const PassContract *contracts, StrBuf *out);
void contracts_json(const PassContract *contracts, StrBuf *out);

/* The passes from the elaborator's output to what codegen accepts, in the pipeline's order. False
 * after an error. Each pass finds what it requires, or an error says what is missing. */
bool pipeline_run(Func *func, const PipelineOptions *options);
/* Named passes only (`tilec opt`). */
bool pipeline_run_passes(Func *func, const PassId *passes, unsigned count,
                         const PipelineOptions *options);
#endif
