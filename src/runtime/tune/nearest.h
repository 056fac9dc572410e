/* The configuration of a call of which nothing was measured, from what was measured of others.
 *
 * Nearest is the key of the same kernel, options, device, driver and compiler that has the same
 * types and the same values but for numbers, and whose numbers are the fewest doublings away: the
 * sum of |log2| of their ratios. Of two as near it is the one whose first number that differs is
 * the smaller. Numbers without a ratio, 0 and those of other signs, have to be equal. */
#ifndef TILEC_RUNTIME_TUNE_NEAREST_H
#define TILEC_RUNTIME_TUNE_NEAREST_H
#include "runtime/tune/store.h"
#include "support/ctx.h"

/* What was found to be the best of a key, by this process. */
typedef struct TuneChosen {
    Str key;
    const char *config;
} TuneChosen;

typedef struct NearestQuestion {
    const TuneSubject *subject;
    Cache *cache; /* whose folders are read; NULL: none */
    const TuneChosen *chosen;
    uint32_t chosen_count;
    const char *const *configs; /* that may be taken; NULL: that one may not */
    uint32_t config_count;
} NearestQuestion;

typedef struct Nearest {
    Str key;
    uint32_t config; /* the best for it */
} Nearest;

/* False: there is no such key. */
bool nearest_find(Ctx *ctx, const NearestQuestion *question, Nearest *nearest);
#endif
