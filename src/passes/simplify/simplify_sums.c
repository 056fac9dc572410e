/* simplify: what of arithmetic is no rule of rules.def. A sum and a product of tiles become one as
 * an addition and a multiplication do, and who rounds a gelu says how exact it must be. Both look
 * at more than the op and its operands: at where a sum comes from, at all that use a value. */
#include "passes/simplify/simplify.h"

#include <math.h>

static bool is_zero(const Value *value) {
    double zero;
    return value_is_int(value, 0) ||
           (type_is_float(value->type) && value_float_constant(value, &zero) &&
            fpclassify(zero) == FP_ZERO);
}

/* In f16 hardware rounds a sum once for each 16 along K, joined to the magnitude of what is added;
 * and to add a product of f8 apart is how a program keeps its sum precise. A product in another
 * block may run less often. */
static bool may_join(const Op *dot, const Op *sum) {
    const Value *acc = op_in(dot, 2);
    return is_zero(acc) && acc->type->dtype != DT_F16 && !dot_attrs(dot)->max_imprecise &&
           dot->block == sum->block && !dot->out[0].uses->next;
}

/* A sum so far: what a loop carries, scaled perhaps, or another product. What is loaded or computed
 * for this product alone (biases, masks) comes later than its operands and is better added then. */
static bool is_sum_so_far(const Value *value, unsigned depth) {
    const Op *def = value->def;
    if (!def)
        return value->owner->parent != NULL;
    if (def->code == OP_dot)
        return true;
    for (uint32_t i = 0; depth && op_has(def, ELEMENTWISE) && i < def->nin; i++)
        if (op_in(def, i)->type == value->type && is_sum_so_far(op_in(def, i), depth - 1))
            return true;
    return false;
}

/* dot(a, b, 0) + c becomes dot(a, b, c) where c is 0, or a sum so far and nothing else uses the
 * product. */
static bool join_sum_of_dot(Op *op) {
    enum { STEPS_FROM_CARRIED = 3 };
    for (uint32_t i = 0; i < 2; i++) {
        Op *dot = value_def(op_in(op, i), OP_dot);
        /* Where a sum begins. Of what begins with 0 nothing is -0, which 0 would change, but what
         * is too small for any other number. */
        if (dot && is_zero(op_in(dot, 2)) && is_zero(op_in(op, 1 - i)))
            return rewrite_replace(op, op_out(dot));
        if (!dot || !may_join(dot, op) || !is_sum_so_far(op_in(op, 1 - i), STEPS_FROM_CARRIED))
            continue;
        Builder b = builder_before(op);
        b.span = dot->span;
        Value *in[] = {op_in(dot, 0), op_in(dot, 1), op_in(op, 1 - i)};
        return rewrite_replace(op, rewrite_like(&b, dot, 3, in, op->out[0].type));
    }
    return false;
}

bool simplify_addf(Op *op) {
    return join_sum_of_dot(op);
}

bool simplify_addi(Op *op) {
    return join_sum_of_dot(op);
}

/* What f32 cannot tell anyway need not be computed where all that take the result round it to 16
 * bits or less. */
bool simplify_truncf(Op *op) {
    Op *gelu = value_def(op_in(op, 0), OP_gelu);
    if (op->block->func->deterministic)
        return false;
    if (!gelu || gelu_attrs(gelu)->rounded || op_out(gelu)->type->dtype != DT_F32)
        return false;
    value_for_each_use (use, op_out(gelu))
        if (use->user->code != OP_truncf)
            return false;
    gelu_attrs(gelu)->rounded = true;
    ctx_diag(builder_before(gelu).ctx, gelu->span, gelu_rounded);
    return true;
}
