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

/* Lists of arguments that functions are compared on, each by several programs or by one. */
enum { EQUIVALENCE_GUESSES = 5, EQUIVALENCE_WAYS = 2 };

typedef struct RunHash {
    uint64_t low, high;
} RunHash;

/* What a function did on a list of arguments: it ended within the limits of a first function. */
typedef struct KnownRun {
    bool known;
    RunHash inputs, stored; /* of arguments and arrays, of the arrays afterwards */
    uint64_t changes;       /* elements that it changed */
} KnownRun;

/* What a function did in a comparison as the second one: it need not run as the first one of the
 * next. Which function that is says whoever keeps them. */
typedef struct KnownRuns {
    KnownRun runs[EQUIVALENCE_GUESSES][EQUIVALENCE_WAYS];
} KnownRuns;

typedef struct Comparison {
    Equivalence verdict;
    unsigned lists;   /* of arguments on which both ran */
    uint64_t values;  /* elements that the first function changed on them, which were compared */
    StrBuf why;       /* one line when they differ; made by the caller */
    KnownRuns *known; /* of the first function, and then of the second; NULL: nothing is kept */
} Comparison;

/* Runs both, which have equal parameters and one context, on the same arrays and numbers derived
 * from `seed`, on a few programs, and compares what they stored: integers exactly, floats up to the
 * rounding of reordered sums, and both, where the first adds up floats, up to what inputs that
 * differ by a little make of them. The second must run clean wherever the first does. Diagnostics
 * of the runs go to the functions' context. */
void pipeline_compare(Func *before, Func *after, uint64_t seed, Comparison *out);
#endif
