#include "passes/layout/tile_parts.h"
#include "passes/simplify/simplify.h"
#include "types/layout.h"

#include <string.h>

uint32_t part_bits(const Type *type, Part part) {
    uint32_t all = layout_dim_mask(type->rank, type->shape, part.dim);
    return all & ~(all >> __builtin_ctzll((uint64_t)(type->shape[part.dim] / part.size)));
}

bool parts_are_in_registers(const Type *type, Part part) {
    const Layout *layout = type->layout;
    for (int bit = layout->bits[LAYOUT_REG]; bit < layout_in_bits(layout); bit++)
        if (layout->basis[bit] & part_bits(type, part))
            return false;
    return true;
}

const Type *part_type(Ctx *ctx, const Type *type, Part part) {
    int64_t shape[MAX_RANK];
    memcpy(shape, type->shape, sizeof shape);
    shape[part.dim] = part.size;
    const Layout *layout = layout_drop_bits(ctx, type->layout, part_bits(type, part));
    return type_get(ctx, type->kind, type->dtype, type->rank, shape, layout);
}

int64_t part_first(const Type *type, Part part) {
    int64_t stride = 1;
    for (int d = part.dim + 1; d < type->rank; d++)
        stride *= type->shape[d];
    return part.start * stride;
}

Value *part_of_uniform(Builder *b, const Value *value, const Type *type) {
    int64_t number;
    double real;
    if (value_int_constant(value, &number))
        return build_constant_int(b, number, type);
    if (value_float_constant(value, &real))
        return build_constant_float(b, real, type);
    const Op *splat = value_def(value, OP_splat);
    return splat ? build_splat(b, op_in(splat, 0), type) : NULL;
}

Value *part_by_slice(Builder *b, Value *value, Part part) {
    return build_slice(b, value, part_first(value->type, part),
                       part_type(b->ctx, value->type, part));
}
