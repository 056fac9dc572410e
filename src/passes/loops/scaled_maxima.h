/* Maxima of products with a factor that is the same for all elements: the factor is applied to the
 * maximum instead. Private to src/passes.
 *
 *     %s = mulf %x, (splat %c)                          %s = mulf %x, (splat %c)
 *     %m = reduce %s {axis = 1} maxf        =>          %y = reduce %x {axis = 1} maxf
 *                                                       %m = mulf %y, (splat %c)
 *
 * For a finite factor above zero this holds bit for bit: rounding keeps the order of the products,
 * and a product is a NaN only where the other factor is. What else uses %s may then take the
 * multiplication into a multiply-add. */
#ifndef TILEC_PASSES_LOOPS_SCALED_MAXIMA_H
#define TILEC_PASSES_LOOPS_SCALED_MAXIMA_H
#include "ir/ir.h"

typedef struct ScaledMaximum {
    Op *reduce;
    Value *x, *factor; /* the tile, and a uniform one from outside of the loop */
} ScaledMaximum;

/* `reduce`, an op directly in `loop`, is a maximum of such products; `operand` is what its operand
 * comes down to. */
bool scaled_maximum_match(const Op *loop, Op *reduce, const Value *operand, ScaledMaximum *out);

/* The i1 that is true if the rewriting is right; NULL: it always is. */
Value *scaled_maximum_condition(Builder *builder, const ScaledMaximum *maximum);

/* Rewrites the copy of the maximum whose values are in `map`, or itself where map is NULL. */
void scaled_maximum_rewrite(const ScaledMaximum *maximum, const ValueMap *map);
#endif
