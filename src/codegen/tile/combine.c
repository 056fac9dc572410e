/* See combine.h. */
#include "codegen/tile/combine.h"
#include "codegen/values/plans.h"
#include "codegen/values/regions.h"
#include "codegen/values/values.h"

void cg_combine(Cg *cg, const Combiner *c, const Lv *a, const Lv *b, Lv *out) {
    Lv *args = ARENA_ARRAY(cg->arena, Lv, 2 * (size_t)c->n);
    memcpy(args, a, c->n * sizeof *args);
    memcpy(args + c->n, b, c->n * sizeof *args);
    cg_inline_region(cg, c->op->regions[0], args, 2 * c->n, out, c->n);
}

Lv *cg_tuples(Cg *cg, const Op *op, uint32_t count) {
    Lv *values = ARENA_ARRAY(cg->arena, Lv, (size_t)count * op->nin);
    for (uint32_t k = 0; k < op->nin; k++)
        for (uint32_t reg = 0; reg < count; reg++)
            values[reg * op->nin + k] = cg_in(cg, op, k)[reg];
    return values;
}

AxisBit cg_axis_holder(const Layout *l, uint32_t image) {
    for (int i = 0; i < l->bits[LAYOUT_REG]; i++)
        if (l->basis[i] == image)
            return (AxisBit){HELD_BY_REGISTER, i};
    for (int i = 0; i < layout_thread_bits(l); i++)
        if (layout_thread_basis(l, i) == image)
            return (AxisBit){i < LAYOUT_LANE_BITS ? HELD_BY_LANE : HELD_BY_WARP, i};
    return (AxisBit){HELD_BY_NONE, 0};
}
