/* simplify: what of arithmetic is no rule of rules.def. A sum and a product of tiles become one as
 * an addition and a multiplication do, who rounds a gelu says how exact it must be, and divisors
 * that are 1 or more need no care. All look at more than the op and its operands: at where a value
 * comes from, at all that use it. */
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

/* Values that are at least some number, or NaN. Operands are looked through so far. */
enum { BOUND_STEPS = 6 };

static const Op *behind_moves(const Value *value) {
    const Op *def = value->def;
    while (def && op_has(def, MOVES) && def->nin == 1)
        def = op_in(def, 0)->def;
    return def;
}

static bool is_exponential(const Op *def) {
    return def->code == OP_exp || def->code == OP_exp2;
}

static bool is_at_least(const Value *value, double bound, unsigned depth);

static bool are_at_least(const Op *op, uint32_t from, double bound, unsigned depth) {
    for (uint32_t i = from; i < op->nin; i++)
        if (!is_at_least(op_in(op, i), bound, depth))
            return false;
    return true;
}

/* `bound` is 0 or 1, which rounding keeps. */
static bool is_at_least(const Value *value, double bound, unsigned depth) {
    double constant;
    if (value_float_constant(value, &constant))
        return constant >= bound;
    const Op *def = behind_moves(value);
    if (!def || !depth)
        return false;
    bool from_zero = bound == 0;
    if (is_exponential(def))
        return from_zero;
    if (op_has(def, CONVERTS) || def->code == OP_sqrt || def->code == OP_sqrt_rn)
        return is_at_least(op_in(def, 0), bound, depth - 1);
    switch (def->code) {
    case OP_constant_float:
        return constant_float_attrs(def)->value >= bound;
    case OP_absf:
        return from_zero;
    case OP_mulf:
        return (from_zero && op_in(def, 0) == op_in(def, 1)) ||
               are_at_least(def, 0, bound, depth - 1);
    case OP_select:
        return are_at_least(def, 1, bound, depth - 1);
    case OP_maxf:
        return is_at_least(op_in(def, 0), bound, depth - 1) ||
               is_at_least(op_in(def, 1), bound, depth - 1);
    case OP_addf:
        return (is_at_least(op_in(def, 0), bound, depth - 1) &&
                is_at_least(op_in(def, 1), 0, depth - 1)) ||
               (is_at_least(op_in(def, 0), 0, depth - 1) &&
                is_at_least(op_in(def, 1), bound, depth - 1));
    default:
        return false;
    }
}

/* Is it a number and an exponential, of which a subnormal reciprocal is the exponential's? */
static bool is_sum_with_exponential(const Value *value) {
    const Op *sum = behind_moves(value);
    for (uint32_t i = 0; sum && sum->code == OP_addf && i < 2; i++) {
        const Op *def = behind_moves(op_in(sum, i));
        if (def && is_exponential(def))
            return true;
    }
    return false;
}

/* A division takes care of divisors that are too small to be inverted, and of those that are so
 * large that their reciprocal is subnormal. Quotients by a number stay: what is made of them, such
 * as scales of 1 / 127 of the largest element, is compared bit for bit. */
bool simplify_divf(Op *op) {
    double one;
    if (divf_attrs(op)->from_one || op_out(op)->type->dtype == DT_F64 ||
        value_float_constant(op_in(op, 1), &one) || !is_at_least(op_in(op, 1), 1, BOUND_STEPS))
        return false;
    divf_attrs(op)->from_one = true;
    divf_attrs(op)->flushed = value_float_constant(op_in(op, 0), &one) && one == 1 &&
                              is_sum_with_exponential(op_in(op, 1));
    return true;
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
