/* Facts about integer and pointer values: contiguity, divisibility, constancy, ranges.
 *
 * Per dimension of a tile: `contiguous` c: the elements form aligned runs of c consecutive values
 * (for pointers consecutive elements); `constant` k: aligned runs of k equal values; `divisible` d:
 * the first element of each contiguous run is a multiple of d (pointers: in bytes). All are powers
 * of two. Scalars have one dimension of size 1. What an assume in the block of a scalar says of it,
 * compared with a constant, is a fact of it. Computed once for a function by forward data flow
 * to a fixed point.
 *
 * Divisibility, constancy and ranges hold in wrapping arithmetic. Contiguity, and what is derived
 * from the sign of an index, takes sums and products of indices not to wrap, as Triton does: an
 * index that wraps addresses memory 2^32 elements away from what the source says. That is said of
 * nothing but what an address is computed from (a hash may wrap, and be divided), of no number
 * narrower than 32 bits, and of none that a conversion cuts off. */
#ifndef TILEC_PASSES_ANALYSIS_FACTS_H
#define TILEC_PASSES_ANALYSIS_FACTS_H
#include "ir/ir.h"

/* What is known of an integer's sign. */
typedef enum FactsSign {
    SIGN_UNKNOWN,
    /* Not negative, unless a quotient on the way to it is by something negative that each program
     * computes for itself: in the usual order of tiles by groups, programs past the last tile do.
     */
    SIGN_BY_QUOTIENT,
    /* lo >= 0, or would be if no sum or product wrapped. Sizes and strides, which a launch knows,
     * divide as positive numbers. */
    SIGN_NONNEGATIVE,
} FactsSign;

typedef struct ValueFacts {
    int64_t contiguous[MAX_RANK], divisible[MAX_RANK], constant[MAX_RANK];
    bool has_range; /* integers */
    FactsSign sign;
    int64_t lo, hi; /* signed bounds of every element, inclusive, when has_range; i1 is 0 or 1 */
} ValueFacts;

/* The divisibility of zero, and the largest that is told. */
#define FACTS_MAX_DIVISIBLE ((int64_t)1 << 62)

/* Integers that addresses are computed in, of which sums and products are taken not to wrap. */
static inline bool type_is_index(const Type *type) {
    return type_is_int(type) && dtype_info[type->dtype].bits >= 32;
}

typedef struct Facts Facts;

/* Numbers the function's values; valid until the function changes. Lives in `arena`. */
Facts *facts_compute(Func *func, Arena *arena);
const ValueFacts *facts_of(const Facts *facts, const Value *value);

/* Is the condition assumed, by itself or as one of several that all are? */
bool facts_is_assumed(const Facts *facts, const Value *condition);

/* The largest power of two known to divide every element (pointers: its address in bytes). */
int64_t facts_divisible(const Facts *facts, const Value *value);

/* Elements along the fastest dimension `axis` that one access may take at once: a power of two such
 * that addresses are contiguous and aligned to the access's size and the mask (may be NULL) is
 * uniform over it, at most 16 bytes. */
int facts_access_width(const Facts *facts, const Value *ptr, const Value *mask, int axis);
/* The dimension along which the pointers are contiguous the furthest; the last if none is. */
int facts_fastest_dim(const Facts *facts, const Value *ptr);
#endif
