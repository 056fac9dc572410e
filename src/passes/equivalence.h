/* Do two functions compute the same? Asked of the interpreter, on generated arguments. */
#ifndef TILEC_PASSES_EQUIVALENCE_H
#define TILEC_PASSES_EQUIVALENCE_H
#include "ir/ir.h"

typedef enum Equivalence {
    EQUIVALENT,
    DIFFERENT,
    INCOMPARABLE /* too much work, or the first function itself fails on every argument list tried
                  */
} Equivalence;

/* Runs both, which have equal parameters and one context, on the same arrays and numbers derived
 * from `seed`, on a few programs, and compares what they stored: integers exactly, floats up to the
 * rounding of reordered sums, and both, where the first adds up floats, up to what inputs that
 * differ by a little make of them. The second must run clean wherever the first does. `why` gets
 * one line when they differ. Diagnostics of the runs go to the functions' context. */
Equivalence pipeline_equivalent(Func *before, Func *after, uint64_t seed, StrBuf *why);
#endif
