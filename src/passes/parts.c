#include "passes/parts.h"
#include "ir/layout.h"

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
