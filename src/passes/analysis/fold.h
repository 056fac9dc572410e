/* Exact evaluation of elementwise ops on constants. Private to src/passes. */
#ifndef TILEC_PASSES_ANALYSIS_FOLD_H
#define TILEC_PASSES_ANALYSIS_FOLD_H
#include "ir/ir.h"

typedef union Scalar {
    int64_t i; /* integers, as int_wrap gives them */
    double f;
} Scalar;

/* The constant behind a value of number type, through splats and shape ops. False: not constant. */
bool scalar_of_value(const Value *value, Scalar *scalar);

/* The result of an elementwise op whose operands are all constant. False: the op has no folding, or
 * the result is undefined (division by zero), a NaN, or differs between targets. */
bool fold_elementwise(const Op *op, const Scalar *in, Scalar *out);
/* The comparison of two integers of a type. */
bool fold_compare(IntPredicate pred, DType dtype, int64_t a, int64_t b);
/* The predicate with operands swapped, and the one that is true when this is false. */
IntPredicate predicate_swap(IntPredicate pred);
IntPredicate predicate_invert(IntPredicate pred);
#endif
