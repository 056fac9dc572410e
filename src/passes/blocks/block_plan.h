/* From an access through pointers to the block of a tensor that it is. Private to src/passes; the
 * method is told in raise_pointers.c. */
#ifndef TILEC_PASSES_BLOCKS_BLOCK_PLAN_H
#define TILEC_PASSES_BLOCKS_BLOCK_PLAN_H
#include "passes/analysis/affine.h"
#include "target/tensor_map.h"

/* Extent of a dimension of which nothing more is known than that coordinates reach it. */
#define BLOCK_ANY_EXTENT ((int64_t)RECIPE_MAX_EXTENT)

typedef struct BlockDim {
    const Poly *stride, *extent, *place;
    bool checked;
    bool wraps; /* the place is taken modulo the extent */
    int64_t side;
    Value *found;          /* a value that is equal to a part of the place, or NULL; */
    const Poly *not_found; /* the rest of the place */
} BlockDim;

typedef struct BlockPlan {
    Value *base;
    const Poly *base_offset;
    int rank;
    int extra; /* leading dimensions of one element that the tile does not have */
    BlockDim dims[RECIPE_MAX_RANK];
} BlockPlan;

/* The plan of a load or store of a tile of numbers, or of a block of them, of an unchanged
 * function. False: `why_not` says which condition failed, in the arena of the context. What
 * tma_takes asks is not asked here.
 */
bool block_plan(Affines *affines, Op *access, BlockPlan *plan, const char **why_not);
#endif
