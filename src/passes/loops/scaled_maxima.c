/* Maxima of scaled tiles; see scaled_maxima.h. */
#include "passes/loops/scaled_maxima.h"
#include "passes/rewrite.h"

#include <math.h>

static bool is_maximum(const Op *reduce) {
    if (reduce->code != OP_reduce || reduce->nin != 1 || reduce->out[0].type->rank == 0)
        return false;
    const Block *region = reduce->regions[0];
    const Op *combine = region->first;
    return combine->next == region->last && op_in(region->last, 0) == op_out(combine) &&
           (combine->code == OP_maxf || combine->code == OP_maxf_nan) &&
           op_in(combine, 0) != op_in(combine, 1);
}

static bool may_be_factor(const Op *loop, const Value *value) {
    double constant;
    return value_is_uniform(value) && value_is_outside(value, loop) &&
           (!value_float_constant(value, &constant) || (constant > 0 && isfinite(constant)));
}

bool scaled_maximum_match(const Op *loop, Op *reduce, const Value *operand, ScaledMaximum *out) {
    const Op *product = value_def(operand, OP_mulf);
    if (!is_maximum(reduce) || !product || operand->type->dtype != DT_F32)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        if (!may_be_factor(loop, op_in(product, i)))
            continue;
        *out = (ScaledMaximum){reduce, op_in(product, 1 - i), op_in(product, i)};
        return true;
    }
    return false;
}

Value *scaled_maximum_condition(Builder *builder, const ScaledMaximum *maximum) {
    double constant;
    if (value_float_constant(maximum->factor, &constant))
        return NULL;
    Value *factor = value_uniform_scalar(builder, maximum->factor);
    Value *zero = rewrite_float(builder, factor->type, 0.0);
    Value *infinity = rewrite_float(builder, factor->type, INFINITY);
    Value *above = build_cmpf(builder, factor, zero, FPRED_OGT);
    Value *finite = build_cmpf(builder, factor, infinity, FPRED_OLT);
    return build_andi(builder, above, finite);
}

static Value *copy_of(const ValueMap *map, Value *value) {
    Value *copy = map ? value_map_get(map, value) : NULL;
    return copy ? copy : value;
}

void scaled_maximum_rewrite(const ScaledMaximum *maximum, const ValueMap *map) {
    Op *reduce = copy_of(map, op_out(maximum->reduce))->def;
    op_set_operand(reduce, 0, copy_of(map, maximum->x));
    Builder b = builder_after(reduce);
    b.span = reduce->span;
    Value *scalar = value_uniform_scalar(&b, maximum->factor);
    Value *factors = build_splat(&b, scalar, reduce->out[0].type);
    Value *rest = build_mulf(&b, op_out(reduce), factors);
    value_replace(op_out(reduce), rest);
    op_set_operand(rest->def, 0, op_out(reduce));
}
