/* What the masks of a loop ask of its index: from masks made of comparisons to bounds that are
 * linear in the index and in scalars known in front of the loop. Private to src/passes.
 *
 *     %n = addi (splat %i), (range 0..63)
 *     %m = cmpi %n, (splat %keys) {slt}        true for all elements  <=>  %i - %keys <= -64
 *
 * Sums are exact, not wrapped: where the program's own arithmetic might wrap, further bounds say
 * when it does not. */
#ifndef TILEC_PASSES_ANALYSIS_LOOP_BOUNDS_H
#define TILEC_PASSES_ANALYSIS_LOOP_BOUNDS_H
#include "passes/analysis/facts.h"

enum { LINEAR_MAX_TERMS = 6 };

/* factor * value + .. + index * (the loop's index) + [lo, hi], an interval that holds what
 * constants and the places of elements in a tile add. */
typedef struct Linear {
    struct LinearTerm {
        Value *value; /* a scalar from outside of the loop */
        int64_t factor;
    } terms[LINEAR_MAX_TERMS];
    int count;
    int64_t index;
    int64_t lo, hi;
} Linear;

/* sum.terms + sum.index * (the loop's index) <= limit. The interval of `sum` is part of the limit.
 */
typedef struct LoopBound {
    Linear sum;
    int64_t limit;
    bool is_check; /* nothing to split a loop for: fails only where arithmetic wraps */
} LoopBound;

/* What is left to the limit without the index: limit - sum.terms, in 64 bits. The scalars must be
 * there where `b` builds. */
Value *loop_bound_slack(Builder *b, const LoopBound *bound);

/* What is one constant while all bounds hold. */
typedef struct LoopMask {
    Value *value;
    bool truth;
} LoopMask;

enum {
    LOOP_MAX_BOUNDS = 16,
    LOOP_MAX_MASKS = 32,
    LOOP_MAX_PARTS = 64 /* of a mask; what two parts share counts for both */
};

typedef struct LoopBounds {
    const Facts *facts;
    Op *loop; /* or an op without regions: then all is outside, and no sum has an index */
    LoopBound bounds[LOOP_MAX_BOUNDS]; /* of different sums */
    int bound_count;
    LoopMask masks[LOOP_MAX_MASKS]; /* comparisons in the loop, and values that enter it */
    int mask_count;
    int parts;       /* of the mask that is being added that may still be looked at */
    bool impossible; /* some bound never holds */
} LoopBounds;

/* Adds what makes every element of `mask` equal `truth`. False: nothing was added, as something
 * about the mask is no comparison of linear values. */
bool loop_bounds_add(LoopBounds *bounds, Value *mask, bool truth);

/* The same, but only if the loop is split in as many parts as before. */
bool loop_bounds_add_free(LoopBounds *bounds, Value *mask, bool truth);

/* Whether the loop is split where the index grows too large for the masks to be constant, and where
 * it is still too small. */
bool loop_bounds_above(const LoopBounds *bounds);
bool loop_bounds_below(const LoopBounds *bounds);
#endif
