/* Shared by affine.c, affine_mask.c and affine_nonnegative.c. */
#ifndef TILEC_PASSES_ANALYSIS_AFFINE_INTERNAL_H
#define TILEC_PASSES_ANALYSIS_AFFINE_INTERNAL_H
#include "passes/analysis/affine.h"
#include "support/ptrmap.h"
#include "support/vec.h"

struct Affines {
    Arena *arena;
    const Facts *facts;
    PtrMap forms;          /* Value to Affine */
    VEC(Value *) trail;    /* the keys of `forms`, in the order they were added */
    VEC(Value *) scalars;  /* integers that pure ops compute */
    VEC(Op *) assumptions; /* the function's assume ops */
};

/* x + scale * y */
const Affine *affine_sum(Affines *affines, const Affine *x, const Affine *y, int64_t scale);

/* Of expand_dims, broadcast, transpose, splat, convert_layout and reshape: for each dimension of
 * the result that of the operand it is, -1 where no index of the operand goes along it. False: of
 * other ops, and of a reshape that does more than bring and remove dimensions of size 1. */
bool shape_sources(const Op *op, int *source);
#endif
