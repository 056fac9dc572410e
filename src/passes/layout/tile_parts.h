/* Pieces of tiles along one dimension, once tiles have layouts. Private to src/passes. */
#ifndef TILEC_PASSES_LAYOUT_TILE_PARTS_H
#define TILEC_PASSES_LAYOUT_TILE_PARTS_H
#include "ir/ir.h"

typedef struct Part {
    int dim;
    int64_t start, size;
} Part;

/* Index bits of `type` that tell parts of this size from each other. */
uint32_t part_bits(const Type *type, Part part);
/* Does every thread hold as much of each part, in registers of its own? */
bool parts_are_in_registers(const Type *type, Part part);
/* The tile that a part is, in what is left of the layout. */
const Type *part_type(Ctx *ctx, const Type *type, Part part);
/* The number of the part's first element. */
int64_t part_first(const Type *type, Part part);
/* A tile of `type`, a part of the value's, where all elements of the value are one constant or
 * scalar; NULL, and nothing built, for others. */
Value *part_of_uniform(Builder *b, const Value *value, const Type *type);
/* Another part, by op slice. */
Value *part_by_slice(Builder *b, Value *value, Part part);
#endif
