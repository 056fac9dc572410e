/* Do two functions compute the same? Asked of the interpreter, on generated arguments. */
#ifndef TILEC_PASSES_CONTRACT_EQUIVALENCE_H
#define TILEC_PASSES_CONTRACT_EQUIVALENCE_H
#include "ir/ir.h"

/* What is no answer says why there is none: of all lists of arguments that were tried. */
#define EQUIVALENCES(X)                                                                            \
    X(EQUIVALENT, "equivalent")                                                                    \
    X(DIFFERENT, "different")                                                                      \
    X(TOO_LONG, "too long")             /* the first function takes more than a quick run */       \
    X(GOES_WRONG, "goes wrong")         /* it leaves its arrays, divides by zero, .. */            \
    X(STORES_NOTHING, "stores nothing") /* it changes no element */

typedef enum Equivalence {
#define EQUIVALENCE(id, text) id,
    EQUIVALENCES(EQUIVALENCE)
#undef EQUIVALENCE
        EQUIVALENCE_COUNT
} Equivalence;

typedef struct Comparison {
    Equivalence verdict;
    unsigned lists;  /* of arguments on which both ran */
    uint64_t values; /* elements that the first function changed on them, which were compared */
    StrBuf why;      /* one line when they differ; made by the caller */
} Comparison;

/* Runs both, which have equal parameters and one context, on the same arrays and numbers derived
 * from `seed`, on a few programs, and compares what they stored: integers exactly, floats up to the
 * rounding of reordered sums, and both, where the first adds up floats, up to what inputs that
 * differ by a little make of them. The second must run clean wherever the first does. Diagnostics
 * of the runs go to the functions' context. */
void pipeline_compare(Func *before, Func *after, uint64_t seed, Comparison *out);
#endif
