/* Finds the fastest of several configurations of a kernel for one call.
 *
 *     candidates -- known times --> compile in parallel -- as each is ready --> load, two runs
 *                                                                                 | the hopeless go
 *                          the winner <-- medians <-- runs in turns of those near the best
 *
 * A candidate that cannot be compiled, loaded or launched is struck out, with the reason; when all
 * are, what the first one said is the error. Two whose code is the same are measured once. */
#ifndef TILEC_RUNTIME_TUNE_TUNE_H
#define TILEC_RUNTIME_TUNE_TUNE_H
#include "runtime/ahead/build.h"
#include "runtime/tune/measure.h"
#include "runtime/tune/store.h"

typedef struct TuneCandidate {
    Planned planned;  /* how it is compiled */
    const char *text; /* "BLOCK=128, num_warps=8" */
    uint32_t grid[3];
    bool is_known; /* its time was found, or given */
    TuneRecord record;
} TuneCandidate;

typedef struct TuneCall {
    TuneSubject subject;
    Cache *cache; /* of times; NULL: none */
    CUstream stream;
    const tile_launch_options *options; /* of launches; NULL: none */
    void *const *params;                /* as executable_launch takes them, the same for all */
    uint32_t param_count;
    MeasureBuffer *buffers; /* see measure_open */
    uint32_t buffer_count;
    unsigned jobs;   /* threads that compile; 0: one for each processor */
    bool only_known; /* nothing is compiled or measured: the best of those measured before */
} TuneCall;

typedef struct Tuned {
    uint32_t best; /* of the candidates */
    uint32_t measured, known, struck;
    double compile_ms, total_ms; /* of the clock on the wall */
} Tuned;

/* The device's context is current. Fills in the candidates' records. False after errors. */
bool tune_candidates(Ctx *ctx, const TuneCall *call, TuneCandidate *candidates, uint32_t count,
                     Tuned *tuned);
#endif
