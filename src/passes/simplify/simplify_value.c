/* simplify: rules of float arithmetic, choice and conversions. Only what holds bit for bit: x + 0.0
 * is not x when x is -0.0, x - 0.0 and x + -0.0 are. But a sum and a product of tiles become one as
 * an addition and a multiplication do, and so do 1 and erf(x). */
#include "passes/analysis/fold.h"
#include "passes/simplify/simplify.h"

#include <math.h>

static bool is_float(const Value *value, double wanted) {
    double constant;
    return type_is_float(value->type) && value_float_constant(value, &constant) &&
           constant == wanted && signbit(constant) == signbit(wanted);
}

/* In f16 hardware rounds a sum once for each 16 along K, joined to the magnitude of what is added;
 * and to add a product of f8 apart is how a program keeps its sum precise. A product in another
 * block may run less often. */
static bool may_join(const Op *dot, const Op *sum) {
    const Value *acc = op_in(dot, 2);
    double zero;
    bool is_zero =
        value_is_int(acc, 0) || (type_is_float(acc->type) && value_float_constant(acc, &zero) &&
                                 fpclassify(zero) == FP_ZERO);
    return is_zero && acc->type->dtype != DT_F16 && !dot_attrs(dot)->max_imprecise &&
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

bool simplify_sum_of_dot(Op *op) {
    enum { STEPS_FROM_CARRIED = 3 };
    for (uint32_t i = 0; i < 2; i++) {
        Op *dot = value_def(op_in(op, i), OP_dot);
        if (!dot || !may_join(dot, op) || !is_sum_so_far(op_in(op, 1 - i), STEPS_FROM_CARRIED))
            continue;
        Builder b = builder_before(op);
        b.span = dot->span;
        Value *in[] = {op_in(dot, 0), op_in(dot, 1), op_in(op, 1 - i)};
        return rewrite_replace(op, rewrite_like(&b, dot, 3, in, op->out[0].type));
    }
    return false;
}

/* Is it an erf in f32 that nothing else asks for? */
static Op *lone_erf(const Value *value) {
    Op *erf = value_def(value, OP_erf);
    return erf && value->type->dtype == DT_F32 && !value->uses->next ? erf : NULL;
}

/* 1 + erf(x), as in GELU: 1 - erf(-x). */
static bool join_one_and_erf(Op *op) {
    for (uint32_t i = 0; i < 2; i++) {
        Op *erf = lone_erf(op_in(op, i));
        if (!erf || !is_float(op_in(op, 1 - i), 1.0))
            continue;
        Builder b = builder_before(op);
        return rewrite_replace(op, build_erfc(&b, build_negf(&b, op_in(erf, 0))));
    }
    return false;
}

bool simplify_addf(Op *op) {
    if (is_float(op_in(op, 1), -0.0))
        return rewrite_replace(op, op_in(op, 0));
    return join_one_and_erf(op) || simplify_sum_of_dot(op);
}

bool simplify_subf(Op *op) {
    if (is_float(op_in(op, 1), 0.0))
        return rewrite_replace(op, op_in(op, 0));
    Op *erf = lone_erf(op_in(op, 1));
    if (!erf || !is_float(op_in(op, 0), 1.0))
        return false;
    Builder b = builder_before(op);
    return rewrite_replace(op, build_erfc(&b, op_in(erf, 0)));
}

bool simplify_mulf(Op *op) {
    if (is_float(op_in(op, 1), 1.0))
        return rewrite_replace(op, op_in(op, 0));
    if (!is_float(op_in(op, 1), -1.0))
        return simplify_gelu(op);
    Builder b = builder_before(op);
    return rewrite_replace(op, build_negf(&b, op_in(op, 0)));
}

/* The reciprocal of a power of two is exact unless it leaves the normal numbers; 2^14 is safe in
 * f16. */
static bool reciprocal_is_exact(double divisor) {
    int exponent;
    return isfinite(divisor) && fabs(frexp(divisor, &exponent)) == 0.5 && exponent > -13 &&
           exponent < 15;
}

static bool simplify_division(Op *op) {
    double divisor;
    Value *by = op_in(op, 1);
    if (is_float(by, 1.0))
        return rewrite_replace(op, op_in(op, 0));
    if (!value_float_constant(by, &divisor) || !reciprocal_is_exact(divisor) ||
        dtype_info[by->type->dtype].bits < 16)
        return false;
    Builder b = builder_before(op);
    Value *factor = rewrite_float(&b, by->type, 1.0 / divisor);
    return rewrite_replace(op, build_mulf(&b, op_in(op, 0), factor));
}

bool simplify_divf(Op *op) {
    return simplify_division(op);
}

bool simplify_divf_rn(Op *op) {
    return simplify_division(op);
}

bool simplify_fma(Op *op) {
    for (uint32_t i = 0; i < 2; i++) {
        if (!is_float(op_in(op, i), 1.0))
            continue;
        Builder b = builder_before(op);
        return rewrite_replace(op, build_addf(&b, op_in(op, 1 - i), op_in(op, 2)));
    }
    return false;
}

/* f(x, x) is x. */
static bool simplify_idempotent_pair(Op *op) {
    return op_in(op, 0) == op_in(op, 1) && rewrite_replace(op, op_in(op, 0));
}

/* f(f(x)) is f(x). */
static bool simplify_idempotent(Op *op) {
    return value_def(op_in(op, 0), op->code) && rewrite_replace(op, op_in(op, 0));
}

bool simplify_minf(Op *op) {
    return simplify_idempotent_pair(op);
}

bool simplify_maxf(Op *op) {
    return simplify_idempotent_pair(op);
}

bool simplify_minf_nan(Op *op) {
    return simplify_idempotent_pair(op);
}

bool simplify_maxf_nan(Op *op) {
    return simplify_idempotent_pair(op);
}

bool simplify_floor(Op *op) {
    return simplify_idempotent(op);
}

bool simplify_ceil(Op *op) {
    return simplify_idempotent(op);
}

bool simplify_negf(Op *op) {
    Op *inner = value_def(op_in(op, 0), OP_negf);
    return inner && rewrite_replace(op, op_in(inner, 0));
}

bool simplify_absf(Op *op) {
    Op *negated = value_def(op_in(op, 0), OP_negf);
    if (!negated)
        return simplify_idempotent(op);
    op_set_operand(op, 0, op_in(negated, 0));
    return true;
}

/* Choice */

static Op *negation_of(const Value *cond) {
    Op *not = value_def(cond, OP_xori);
    return not &&type_is_bool(cond->type) && value_is_int(op_in(not, 1), 1) ? not : NULL;
}

/* A choice of the same condition in one arm: select(c, select(c, x, y), z) is select(c, x, z). */
static bool skip_nested_choice(Op *op) {
    for (uint32_t arm = 1; arm <= 2; arm++) {
        Op *inner = value_def(op_in(op, arm), OP_select);
        if (!inner || op_in(inner, 0) != op_in(op, 0))
            continue;
        op_set_operand(op, arm, op_in(inner, arm));
        return true;
    }
    return false;
}

bool simplify_select(Op *op) {
    Value *cond = op_in(op, 0), *a = op_in(op, 1), *b = op_in(op, 2);
    if (a == b || value_is_int(cond, 1))
        return rewrite_replace(op, a);
    if (value_is_int(cond, 0))
        return rewrite_replace(op, b);
    if (type_is_bool(a->type) && cond->type == a->type && value_is_int(a, 1) && value_is_int(b, 0))
        return rewrite_replace(op, cond);
    if (cond->type->rank == 0 || !value_def(cond, OP_splat)) {
        Op *not = negation_of(cond);
        if (!not )
            return skip_nested_choice(op);
        op_set_operand(op, 0, op_in(not, 0));
        op_set_operand(op, 1, b);
        op_set_operand(op, 2, a);
        return true;
    }
    op_set_operand(op, 0, op_in(cond->def, 0)); /* one scalar decides for the whole tile */
    return true;
}

/* Conversions */

static bool replace_cast(Op *op, OpCode code, Value *from) {
    Builder b = builder_before(op);
    const Type *type = op->out[0].type;
    switch (code) {
    case OP_trunci:
        return rewrite_replace(op, build_trunci(&b, from, type));
    case OP_extsi:
        return rewrite_replace(op, build_extsi(&b, from, type));
    case OP_extui:
        return rewrite_replace(op, build_extui(&b, from, type));
    case OP_extf:
        return rewrite_replace(op, build_extf(&b, from, type));
    case OP_sitof:
        return rewrite_replace(op, build_sitof(&b, from, type));
    case OP_uitof:
        return rewrite_replace(op, build_uitof(&b, from, type));
    default: /* only the codes above are asked for */
        return rewrite_replace(op, build_bitcast(&b, from, type));
    }
}

static Op *extension(const Value *value) {
    Op *op = value_def(value, OP_extsi);
    return op ? op : value_def(value, OP_extui);
}

bool simplify_trunci(Op *op) {
    Value *x = op_in(op, 0);
    Op *ext = extension(x), *trunc = value_def(x, OP_trunci);
    if (trunc)
        return replace_cast(op, OP_trunci, op_in(trunc, 0));
    if (!ext)
        return false;
    Value *narrow = op_in(ext, 0);
    int from = dtype_info[narrow->type->dtype].bits;
    int to = dtype_info[op->out[0].type->dtype].bits;
    if (from == to)
        return rewrite_replace(op, narrow);
    return replace_cast(op, from < to ? ext->code : OP_trunci, narrow);
}

/* Of two extensions the first decides the bits, unless both are signed. */
bool simplify_extsi(Op *op) {
    Op *inner = extension(op_in(op, 0));
    return inner && replace_cast(op, inner->code, op_in(inner, 0));
}

bool simplify_extui(Op *op) {
    Op *inner = value_def(op_in(op, 0), OP_extui);
    return inner && replace_cast(op, OP_extui, op_in(inner, 0));
}

bool simplify_truncf(Op *op) {
    Op *ext = value_def(op_in(op, 0), OP_extf);
    if (!ext)
        return simplify_rounded_gelu(op);
    return op_in(ext, 0)->type == op->out[0].type && rewrite_replace(op, op_in(ext, 0));
}

bool simplify_extf(Op *op) {
    Op *inner = value_def(op_in(op, 0), OP_extf);
    return inner && replace_cast(op, OP_extf, op_in(inner, 0));
}

bool simplify_sitof(Op *op) {
    Op *inner = extension(op_in(op, 0));
    return inner &&
           replace_cast(op, inner->code == OP_extsi ? OP_sitof : OP_uitof, op_in(inner, 0));
}

bool simplify_uitof(Op *op) {
    Op *inner = value_def(op_in(op, 0), OP_extui);
    return inner && replace_cast(op, OP_uitof, op_in(inner, 0));
}

/* Back to the type it came from, or one change of name instead of two. */
bool simplify_bitcast(Op *op) {
    Value *x = op_in(op, 0);
    if (x->type == op->out[0].type)
        return rewrite_replace(op, x);
    Op *inner = value_def(x, OP_bitcast);
    return inner && replace_cast(op, OP_bitcast, op_in(inner, 0));
}

bool simplify_ptrtoint(Op *op) {
    Op *inner = value_def(op_in(op, 0), OP_inttoptr);
    return inner && rewrite_replace(op, op_in(inner, 0));
}

bool simplify_inttoptr(Op *op) {
    Op *inner = value_def(op_in(op, 0), OP_ptrtoint);
    if (!inner)
        return false;
    if (op_in(inner, 0)->type == op->out[0].type)
        return rewrite_replace(op, op_in(inner, 0));
    return replace_cast(op, OP_bitcast, op_in(inner, 0));
}
