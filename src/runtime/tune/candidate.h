/* A configuration of a kernel for one call: how it is compiled and launched, and what is known of
 * it. */
#ifndef TILEC_RUNTIME_TUNE_CANDIDATE_H
#define TILEC_RUNTIME_TUNE_CANDIDATE_H
#include "runtime/ahead/build.h"
#include "runtime/tune/store.h"

/* Warps and stages; 0: as the compiler chooses. */
typedef struct TriedLaunch {
    int32_t num_warps, num_stages;
} TriedLaunch;

typedef struct TuneCandidate {
    Planned planned;  /* how it is compiled */
    const char *text; /* "BLOCK=128, num_warps=8" */
    uint32_t grid[3];
    /* See near_launches.h. */
    TriedLaunch launch;
    uint32_t variant_of; /* 1 + the candidate of the compiler's choice; 0: it is none */
    bool is_left_out;    /* it is not worth measuring, unless it was */
    bool is_known;       /* its time was found, or given */
    TuneRecord record;
    TuneEntry entry; /* of the cache, made by tune_candidates, without the record */
} TuneCandidate;
#endif
