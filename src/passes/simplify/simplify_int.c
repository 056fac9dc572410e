/* simplify: rules of integer arithmetic. Constants stand on the right of commutative ops already,
 * and ops of constants alone are folded before a rule is asked. */
#include "passes/analysis/fold.h"
#include "passes/simplify/simplify.h"

static bool constant_of(const Value *value, int64_t *constant) {
    Scalar scalar;
    if (!type_is_int(value->type) || !scalar_of_value(value, &scalar))
        return false;
    *constant = scalar.i;
    return true;
}

static bool replace_by_int(Op *op, int64_t value) {
    Builder b = builder_before(op);
    return rewrite_replace(op, rewrite_int(&b, op->out[0].type, value));
}

/* op(op(x, c1), c2) -> op(x, combined); `inner` has the same code as op. */
static Op *constant_chain(const Op *op, int64_t *inner, int64_t *outer) {
    Op *first = value_def(op_in(op, 0), op->code);
    return first && constant_of(op_in(op, 1), outer) && constant_of(op_in(first, 1), inner) ? first
                                                                                            : NULL;
}

static bool replace_chain(Op *op, Op *first, int64_t constant) {
    Builder b = builder_before(op);
    Value *in[] = {op_in(first, 0), rewrite_int(&b, op_in(op, 1)->type, constant)};
    return rewrite_replace(op, rewrite_like(&b, op, 2, in, op->out[0].type));
}

bool simplify_addi(Op *op) {
    int64_t inner, outer;
    if (value_is_int(op_in(op, 1), 0))
        return rewrite_replace(op, op_in(op, 0));
    for (uint32_t i = 0; i < 2; i++) {
        Op *difference = value_def(op_in(op, i), OP_subi); /* (a - b) + b */
        if (difference && op_in(difference, 1) == op_in(op, 1 - i))
            return rewrite_replace(op, op_in(difference, 0));
    }
    Op *first = constant_chain(op, &inner, &outer);
    if (first)
        return replace_chain(op, first, (int64_t)((uint64_t)inner + (uint64_t)outer));
    return simplify_sum_of_dot(op);
}

/* x - c becomes x + -c, so that only sums need to be combined. */
bool simplify_subi(Op *op) {
    Value *a = op_in(op, 0), *b = op_in(op, 1);
    int64_t constant;
    if (a == b)
        return replace_by_int(op, 0);
    if (value_is_int(b, 0))
        return rewrite_replace(op, a);
    Op *sum = value_def(a, OP_addi); /* (x + y) - y */
    for (uint32_t i = 0; sum && i < 2; i++)
        if (op_in(sum, i) == b)
            return rewrite_replace(op, op_in(sum, 1 - i));
    if (!constant_of(b, &constant))
        return false;
    Builder at = builder_before(op);
    Value *negated = rewrite_int(&at, b->type, (int64_t)(0 - (uint64_t)constant));
    return rewrite_replace(op, build_addi(&at, a, negated));
}

bool simplify_muli(Op *op) {
    int64_t inner, outer;
    if (value_is_int(op_in(op, 1), 0))
        return rewrite_replace(op, op_in(op, 1));
    if (value_is_int(op_in(op, 1), 1))
        return rewrite_replace(op, op_in(op, 0));
    Op *first = constant_chain(op, &inner, &outer);
    return first && replace_chain(op, first, (int64_t)((uint64_t)inner * (uint64_t)outer));
}

bool simplify_mulhui(Op *op) {
    if (value_is_int(op_in(op, 1), 0) || value_is_int(op_in(op, 1), 1))
        return replace_by_int(op, 0);
    return false;
}

/* In i1 every divisor that is not zero is 1 unsigned and -1 signed. */
static bool divides_by_one(const Op *op) {
    return op->out[0].type->dtype != DT_I1 && value_is_int(op_in(op, 1), 1);
}

static bool simplify_quotient(Op *op) {
    if (divides_by_one(op) || value_is_int(op_in(op, 0), 0))
        return rewrite_replace(op, op_in(op, 0));
    return false;
}

static bool simplify_remainder(Op *op) {
    if (divides_by_one(op))
        return replace_by_int(op, 0);
    if (value_is_int(op_in(op, 0), 0))
        return rewrite_replace(op, op_in(op, 0));
    return false;
}

bool simplify_divsi(Op *op) {
    return simplify_quotient(op);
}

bool simplify_divui(Op *op) {
    return simplify_quotient(op);
}

bool simplify_remsi(Op *op) {
    return simplify_remainder(op);
}

bool simplify_remui(Op *op) {
    return simplify_remainder(op);
}

/* All ones: -1, for i1 the value 1. */
static bool is_all_ones(const Value *value) {
    return value_is_int(value, int_wrap(value->type->dtype, -1));
}

bool simplify_andi(Op *op) {
    Value *a = op_in(op, 0), *b = op_in(op, 1);
    int64_t inner, outer;
    if (a == b || is_all_ones(b))
        return rewrite_replace(op, a);
    if (value_is_int(b, 0))
        return rewrite_replace(op, b);
    Op *first = constant_chain(op, &inner, &outer);
    return first && replace_chain(op, first, inner & outer);
}

bool simplify_ori(Op *op) {
    Value *a = op_in(op, 0), *b = op_in(op, 1);
    int64_t inner, outer;
    if (a == b || value_is_int(b, 0))
        return rewrite_replace(op, a);
    if (is_all_ones(b))
        return rewrite_replace(op, b);
    Op *first = constant_chain(op, &inner, &outer);
    return first && replace_chain(op, first, inner | outer);
}

bool simplify_xori(Op *op) {
    Value *a = op_in(op, 0), *b = op_in(op, 1);
    int64_t inner, outer;
    if (a == b)
        return replace_by_int(op, 0);
    if (value_is_int(b, 0))
        return rewrite_replace(op, a);
    Op *compare = value_def(a, OP_cmpi);
    if (compare && is_all_ones(b)) {
        Builder at = builder_before(op);
        IntPredicate pred = predicate_invert(cmpi_attrs(compare)->pred);
        return rewrite_replace(op, build_cmpi(&at, op_in(compare, 0), op_in(compare, 1), pred));
    }
    Op *first = constant_chain(op, &inner, &outer);
    return first && replace_chain(op, first, inner ^ outer);
}

/* Shifts add up while the sum stays below the width; beyond it they are undefined. */
static bool simplify_shift(Op *op) {
    int64_t inner, outer;
    if (value_is_int(op_in(op, 1), 0) || value_is_int(op_in(op, 0), 0))
        return rewrite_replace(op, op_in(op, 0));
    Op *first = constant_chain(op, &inner, &outer);
    int64_t bits = dtype_info[op->out[0].type->dtype].bits;
    return first && inner >= 0 && outer >= 0 && inner < bits && outer < bits &&
           inner + outer < bits && replace_chain(op, first, inner + outer);
}

bool simplify_shli(Op *op) {
    return simplify_shift(op);
}

bool simplify_shrsi(Op *op) {
    return simplify_shift(op);
}

bool simplify_shrui(Op *op) {
    return simplify_shift(op);
}

/* min and max: with itself, with its neutral and its absorbing constant, and of constants in a
 * chain. The order of i1 differs between signed and unsigned, and its minima are better read as
 * `and`; it is left alone. */
static bool simplify_extremum(Op *op, int64_t neutral, int64_t absorbing) {
    Value *a = op_in(op, 0), *b = op_in(op, 1);
    int64_t inner, outer;
    Scalar in[2], result;
    if (a == b)
        return rewrite_replace(op, a);
    if (a->type->dtype == DT_I1)
        return false;
    if (value_is_int(b, neutral))
        return rewrite_replace(op, a);
    if (value_is_int(b, absorbing))
        return rewrite_replace(op, b);
    Op *first = constant_chain(op, &inner, &outer);
    in[0].i = first ? inner : 0;
    in[1].i = first ? outer : 0;
    return first && fold_elementwise(op, in, &result) && replace_chain(op, first, result.i);
}

bool simplify_minsi(Op *op) {
    DType dtype = op->out[0].type->dtype;
    return simplify_extremum(op, int_highest(dtype), int_lowest(dtype));
}

bool simplify_maxsi(Op *op) {
    DType dtype = op->out[0].type->dtype;
    return simplify_extremum(op, int_lowest(dtype), int_highest(dtype));
}

bool simplify_minui(Op *op) {
    return simplify_extremum(op, -1, 0);
}

bool simplify_maxui(Op *op) {
    return simplify_extremum(op, 0, -1);
}

bool simplify_absi(Op *op) {
    return value_def(op_in(op, 0), OP_absi) && rewrite_replace(op, op_in(op, 0));
}

static bool is_equality(IntPredicate pred) {
    return pred == IPRED_EQ || pred == IPRED_NE;
}

/* ext(x) compared with c is x compared with c where c is a value of x's type; else it is decided.
 */
static bool compare_extended(Op *op, IntPredicate pred, int64_t constant) {
    Op *ext = value_def(op_in(op, 0), OP_extsi);
    bool sign = ext != NULL;
    if (!ext)
        ext = value_def(op_in(op, 0), OP_extui);
    if (!ext || !is_equality(pred))
        return false;
    Value *narrow = op_in(ext, 0);
    DType dtype = narrow->type->dtype;
    int64_t wrapped = int_wrap(dtype, constant);
    int64_t back =
        sign ? (dtype == DT_I1 ? -wrapped : wrapped) : (int64_t)int_unsigned(dtype, wrapped);
    if (back != constant)
        return false;
    Builder b = builder_before(op);
    return rewrite_replace(op,
                           build_cmpi(&b, narrow, rewrite_int(&b, narrow->type, wrapped), pred));
}

/* (x + c1) == c2 is x == c2 - c1, in wrapping arithmetic too. */
static bool compare_shifted(Op *op, IntPredicate pred, int64_t constant) {
    Op *sum = value_def(op_in(op, 0), OP_addi);
    int64_t addend;
    if (!sum || !is_equality(pred) || !constant_of(op_in(sum, 1), &addend))
        return false;
    Builder b = builder_before(op);
    Value *other =
        rewrite_int(&b, op_in(op, 1)->type, (int64_t)((uint64_t)constant - (uint64_t)addend));
    return rewrite_replace(op, build_cmpi(&b, op_in(sum, 0), other, pred));
}

bool simplify_cmpi(Op *op) {
    Value *a = op_in(op, 0), *b = op_in(op, 1);
    IntPredicate pred = cmpi_attrs(op)->pred;
    int64_t constant;
    if (a == b)
        return replace_by_int(op, fold_compare(pred, DT_I32, 0, 0));
    if (constant_of(a, &constant) && !constant_of(b, &constant)) {
        op_set_operand(op, 0, b);
        op_set_operand(op, 1, a);
        cmpi_attrs(op)->pred = predicate_swap(pred);
        return true;
    }
    if (!constant_of(b, &constant))
        return false;
    if (a->type->dtype == DT_I1 && is_equality(pred)) {
        if ((pred == IPRED_EQ) == (constant == 1))
            return rewrite_replace(op, a);
        Builder at = builder_before(op);
        return rewrite_replace(op, build_xori(&at, a, rewrite_int(&at, a->type, 1)));
    }
    return compare_extended(op, pred, constant) || compare_shifted(op, pred, constant);
}
