/* Finds the fastest of several configurations of a kernel for one call.
 *
 *     candidates -- known times -- near_launches.h --> compile in parallel -- as each is ready -->
 * load, two runs | the hopeless go the winner <-- times <-- runs in turns of those near the best
 *
 * A candidate that cannot be compiled, loaded or launched is struck out, with the reason; when all
 * are, what the first one said is the error. Two whose code is the same are measured once. A call
 * whose grid is empty, whatever the candidate, measures nothing.
 *
 * What faults, or does not end in its time, takes the device's context with it: it is kept as
 * struck out at once, so that the next process passes it over, and the call is an error. Times are
 * kept when all are measured. */
#ifndef TILEC_RUNTIME_TUNE_TUNE_H
#define TILEC_RUNTIME_TUNE_TUNE_H
#include "runtime/tune/candidate.h"
#include "runtime/tune/measure.h"
#include "runtime/tune/nearest.h"

struct Tuned;

/* Is told what is about to happen, by the thread that measures, so that somebody else knows it
 * should that thread not come back. */
typedef struct TuneWatch {
    /* Before memory of arguments is read or written, so that it need not have a content where all
     * is known. False: it cannot have one, and nothing is measured. */
    bool (*begins)(void *user);
    /* Before a configuration is launched or waited for; an entry of NULL: nothing runs. `looked` of
     * `count` have been looked at. */
    void (*runs)(void *user, const TuneEntry *entry, uint32_t looked, uint32_t count);
    /* When the best is known; the others are there with their records. */
    void (*found)(void *user, const TuneCandidate *candidates, uint32_t count,
                  const struct Tuned *tuned);
    void *user;
} TuneWatch;

enum { TUNE_LIMIT_MS = 10000 };

typedef struct TuneCall {
    TuneSubject subject;
    Cache *cache; /* of times; NULL: none */
    CUstream stream;
    const tile_launch_options *options; /* of launches; NULL: none */
    void *const *params;                /* as executable_launch takes them, the same for all */
    uint32_t param_count;
    MeasureBuffer *buffers; /* see measure_open */
    uint32_t buffer_count;
    Str unsized;     /* an argument among them whose size is not known, so that nothing can be
                        measured; empty: none */
    unsigned jobs;   /* threads that compile; 0: one for each processor */
    bool only_known; /* nothing is compiled or measured: the best of those measured before */
    /* The same where there is a time of any; else the best of the nearest key, of the folders and
     * of `chosen`: see nearest.h. Only where there is none of any key is something measured. */
    bool takes_nearest;
    const TuneChosen *chosen;
    uint32_t chosen_count;
    uint32_t limit_ms;      /* of a launch; 0: TUNE_LIMIT_MS */
    const TuneWatch *watch; /* NULL: nobody */
} TuneCall;

typedef struct Tuned {
    uint32_t best;                    /* of the candidates */
    uint32_t measured, known, struck; /* `measured` were tried, whatever came of it */
    bool is_empty;                    /* all grids are: any will do, and nothing is known of it */
    bool lacks_memory;                /* to compile one of them: what is said where none is left */
    Str nearest;                      /* the key that it is best for; empty: the call's own */
    double compile_ms, total_ms;      /* of the clock on the wall */
} Tuned;

/* The device's context is current. Fills in the candidates' records. False after errors. */
bool tune_candidates(Ctx *ctx, const TuneCall *call, TuneCandidate *candidates, uint32_t count,
                     Tuned *tuned);
#endif
