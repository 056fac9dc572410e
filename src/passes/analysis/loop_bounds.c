/* From masks to linear bounds; loop_bounds.h says of what kind.
 *
 * A tile of indices is decomposed into scalars from outside of the loop, the loop's index and the
 * interval of what its elements add. That sum is the value modulo 2^width, whatever wraps on the
 * way; it is the value itself where it lies within the type. So `x < y` holds where sum(x) < sum(y)
 * for all elements, the smallest of sum(x) is in the type and the largest of sum(y) is. */
#include "passes/analysis/loop_bounds.h"
#include "passes/analysis/fold.h"
#include "passes/rewrite.h"

enum {
    MAX_STEPS = 256, /* ops looked at for one comparison */
    MAX_FACTOR_BITS = 31,
    MAX_SUM_BITS = 60 /* sums of scalars stay below, so that 64 bits hold all arithmetic on them */
};

typedef struct Decomposer {
    LoopBounds *to;
    int steps;
} Decomposer;

static bool fits(int64_t value, int bits) {
    return value < (int64_t)1 << bits && value > -((int64_t)1 << bits);
}

/* sum += factor * other; false if a number gets too large. */
static bool linear_add(Linear *sum, const Linear *other, int64_t factor) {
    int64_t lo, hi, index;
    if (!fits(factor, MAX_FACTOR_BITS) ||
        __builtin_mul_overflow(factor >= 0 ? other->lo : other->hi, factor, &lo) ||
        __builtin_mul_overflow(factor >= 0 ? other->hi : other->lo, factor, &hi) ||
        !fits(lo, MAX_SUM_BITS) || !fits(hi, MAX_SUM_BITS))
        return false;
    sum->lo += lo;
    sum->hi += hi;
    index = other->index * factor;
    sum->index += index;
    for (int i = 0; i < other->count; i++) {
        int at = 0;
        while (at < sum->count && sum->terms[at].value != other->terms[i].value)
            at++;
        if (at == LINEAR_MAX_TERMS)
            return false;
        if (at == sum->count)
            sum->terms[sum->count++] = (struct LinearTerm){other->terms[i].value, 0};
        sum->terms[at].factor += other->terms[i].factor * factor;
        if (!fits(sum->terms[at].factor, MAX_FACTOR_BITS))
            return false;
        if (sum->terms[at].factor == 0)
            sum->terms[at] = sum->terms[--sum->count];
    }
    return fits(sum->lo, MAX_SUM_BITS) && fits(sum->hi, MAX_SUM_BITS) &&
           fits(sum->index, MAX_FACTOR_BITS);
}

static Linear linear_constant(int64_t lo, int64_t hi) {
    return (Linear){.lo = lo, .hi = hi};
}

static Linear linear_scalar(Value *value) {
    return (Linear){.terms = {{value, 1}}, .count = 1};
}

/* What the sum's scalars and the index may come to, by their ranges. */
static bool sum_range(const LoopBounds *bounds, const Linear *sum, int64_t *lo, int64_t *hi) {
    *lo = *hi = 0;
    for (int i = 0; i < sum->count + (sum->index != 0); i++) {
        const Value *value = i < sum->count ? sum->terms[i].value : bounds->loop->regions[0]->args;
        int64_t factor = i < sum->count ? sum->terms[i].factor : sum->index, a, b;
        const ValueFacts *facts = facts_of(bounds->facts, value);
        if (__builtin_mul_overflow(facts->lo, factor, &a) ||
            __builtin_mul_overflow(facts->hi, factor, &b) || !fits(a, MAX_SUM_BITS - 3) ||
            !fits(b, MAX_SUM_BITS - 3))
            return false;
        *lo += factor >= 0 ? a : b;
        *hi += factor >= 0 ? b : a;
    }
    return true;
}

static LoopBound bound_at_most(const Linear *sum, int64_t limit, bool is_check) {
    return (LoopBound){.sum = *sum, .limit = limit, .is_check = is_check};
}

static int64_t factor_of(const Linear *sum, const Value *value) {
    for (int i = 0; i < sum->count; i++)
        if (sum->terms[i].value == value)
            return sum->terms[i].factor;
    return 0;
}

static bool same_sum(const Linear *a, const Linear *b) {
    if (a->count != b->count || a->index != b->index)
        return false;
    for (int i = 0; i < a->count; i++)
        if (factor_of(b, a->terms[i].value) != a->terms[i].factor)
            return false;
    return true;
}

/* Keeps the stronger of two bounds of one sum. A bound is usable where the index counts in powers
 * of two: a shift divides by its factor. */
static bool add_bound(LoopBounds *to, const LoopBound *bound) {
    int64_t lo, hi, factor = bound->sum.index < 0 ? -bound->sum.index : bound->sum.index;
    if (!sum_range(to, &bound->sum, &lo, &hi) || (factor & (factor - 1)))
        return false;
    if (hi <= bound->limit)
        return true;
    to->impossible |= lo > bound->limit;
    for (int i = 0; i < to->bound_count; i++) {
        LoopBound *other = &to->bounds[i];
        if (!same_sum(&other->sum, &bound->sum))
            continue;
        other->limit = bound->limit < other->limit ? bound->limit : other->limit;
        other->is_check &= bound->is_check;
        return true;
    }
    if (to->bound_count == LOOP_MAX_BOUNDS)
        return false;
    to->bounds[to->bound_count++] = *bound;
    return true;
}

/* -sum <= -(limit): sum is at least limit. */
static bool add_at_least(LoopBounds *to, const Linear *sum, int64_t limit, bool is_check) {
    Linear negated = {0};
    LoopBound bound;
    if (!linear_add(&negated, sum, -1))
        return false;
    bound = bound_at_most(&negated, -limit, is_check);
    return add_bound(to, &bound);
}

/* By the ranges of its scalars the sum is far from wrapping in 64 bits, where no bound could say
 * so. */
static bool is_exact(const LoopBounds *to, const Linear *sum) {
    int64_t lo, hi;
    return sum_range(to, sum, &lo, &hi);
}

/* The value lies within the type of `dtype`, so that it is the sum. */
static bool add_above_lowest(LoopBounds *to, const Linear *sum, DType dtype) {
    if (dtype == DT_I64)
        return is_exact(to, sum);
    return add_at_least(to, sum, int_lowest(dtype) - sum->lo, true);
}

static bool add_below_highest(LoopBounds *to, const Linear *sum, DType dtype) {
    if (dtype == DT_I64)
        return is_exact(to, sum);
    LoopBound bound = bound_at_most(sum, int_highest(dtype) - sum->hi, true);
    return add_bound(to, &bound);
}

static bool decompose(Decomposer *d, Value *value, Linear *out);

/* A carried scalar that advances by a multiple of the loop's step is linear in the index. */
static bool decompose_carried(Decomposer *d, const Value *value, Linear *out) {
    const Op *loop = d->to->loop;
    if (!loop->nregions || value->owner != loop->regions[0] || value->index == 0 ||
        value->type->rank)
        return false;
    const Op *next = op_in(loop->regions[0]->last, value->index - 1)->def;
    int64_t advance, step;
    if (!next || next->code != OP_addi || op_in(next, 0) != value ||
        !value_int_constant(op_in(next, 1), &advance) ||
        !value_int_constant(op_in(loop, 2), &step) || step <= 0 || advance % step)
        return false;
    Linear first, start, index = {.index = 1};
    *out = linear_constant(0, 0);
    int64_t factor = advance / step;
    return decompose(d, op_in(loop, FOR_FIXED_OPERANDS + value->index - 1), &first) &&
           decompose(d, op_in(loop, 0), &start) && linear_add(out, &first, 1) &&
           linear_add(out, &start, -factor) && linear_add(out, &index, factor);
}

/* An interval that is narrower than the type. */
static bool decompose_by_range(const Decomposer *d, const Value *value, Linear *out) {
    const ValueFacts *facts = facts_of(d->to->facts, value);
    *out = linear_constant(facts->lo, facts->hi);
    return facts->lo > int_lowest(value->type->dtype) &&
           facts->hi < int_highest(value->type->dtype) && fits(facts->lo, MAX_SUM_BITS) &&
           fits(facts->hi, MAX_SUM_BITS);
}

static bool decompose_sum(Decomposer *d, const Op *op, Linear *out) {
    Linear a, b;
    *out = linear_constant(0, 0);
    return decompose(d, op_in(op, 0), &a) && decompose(d, op_in(op, 1), &b) &&
           linear_add(out, &a, 1) && linear_add(out, &b, op->code == OP_addi ? 1 : -1);
}

static bool decompose_product(Decomposer *d, const Op *op, Linear *out) {
    int64_t factor;
    Linear a;
    *out = linear_constant(0, 0);
    if (!value_int_constant(op_in(op, 1), &factor))
        return false;
    if (op->code == OP_shli) {
        if (factor < 0 || factor >= MAX_FACTOR_BITS)
            return false;
        factor = (int64_t)1 << factor;
    }
    return decompose(d, op_in(op, 0), &a) && linear_add(out, &a, factor);
}

/* The wider value is the narrower one, not only what it is modulo the narrower width. */
static bool decompose_extension(Decomposer *d, const Op *op, Linear *out) {
    DType dtype = op_in(op, 0)->type->dtype;
    return dtype != DT_I1 && decompose(d, op_in(op, 0), out) &&
           add_above_lowest(d->to, out, dtype) && add_below_highest(d->to, out, dtype);
}

static bool decompose_op(Decomposer *d, const Op *op, Linear *out) {
    if (op_has(op, MOVES | HINT) && op->nin == 1)
        return decompose(d, op_in(op, 0), out);
    switch ((int)op->code) {
    case OP_range:
        *out = linear_constant(range_attrs(op)->start,
                               range_attrs(op)->start + op->out[0].type->shape[0] - 1);
        return true;
    case OP_trunci:
        return decompose(d, op_in(op, 0), out);
    case OP_addi:
    case OP_subi:
        return decompose_sum(d, op, out);
    case OP_muli:
    case OP_shli:
        return decompose_product(d, op, out);
    case OP_extsi:
        return decompose_extension(d, op, out);
    default:
        return false;
    }
}

static bool decompose(Decomposer *d, Value *value, Linear *out) {
    int64_t constant;
    if (--d->steps < 0 || !type_is_int(value->type) || type_is_bool(value->type))
        return false;
    if (value_int_constant(value, &constant)) {
        constant = int_wrap(value->type->dtype, constant);
        *out = linear_constant(constant, constant);
        return fits(constant, MAX_SUM_BITS);
    }
    const Op *loop = d->to->loop;
    if (loop->nregions && value == &loop->regions[0]->args[0]) {
        *out = (Linear){.index = 1};
        return true;
    }
    if (value->type->rank == 0 && value_is_outside(value, loop)) {
        *out = linear_scalar(value);
        return true;
    }
    /* What was added on a way that failed only asks for more than is needed. */
    return (value->def && decompose_op(d, value->def, out)) || decompose_carried(d, value, out) ||
           decompose_by_range(d, value, out);
}

/* Unsigned comparisons of what is not negative are signed ones. */
static bool signed_predicate(const LoopBounds *to, const Op *cmp, IntPredicate *pred) {
    bool nonnegative =
        facts_of(to->facts, op_in(cmp, 0))->lo >= 0 && facts_of(to->facts, op_in(cmp, 1))->lo >= 0;
    switch (*pred) {
    case IPRED_SLT:
    case IPRED_SLE:
    case IPRED_SGT:
    case IPRED_SGE:
        return true;
    case IPRED_ULT:
        *pred = IPRED_SLT;
        return nonnegative;
    case IPRED_ULE:
        *pred = IPRED_SLE;
        return nonnegative;
    case IPRED_UGT:
        *pred = IPRED_SGT;
        return nonnegative;
    case IPRED_UGE:
        *pred = IPRED_SGE;
        return nonnegative;
    case IPRED_EQ:
    case IPRED_NE:
    case IPRED_COUNT:
        break;
    }
    return false;
}

static bool add_comparison(LoopBounds *to, const Op *cmp, bool truth) {
    IntPredicate pred = cmpi_attrs(cmp)->pred;
    if (!truth)
        pred = predicate_invert(pred);
    if (!type_is_int(op_in(cmp, 0)->type) || !signed_predicate(to, cmp, &pred))
        return false;
    bool swapped = pred == IPRED_SGT || pred == IPRED_SGE;
    bool strict = pred == IPRED_SLT || pred == IPRED_SGT;
    DType dtype = op_in(cmp, 0)->type->dtype;
    Decomposer d = {to, MAX_STEPS};
    Linear less, more, difference = {0};
    if (!decompose(&d, op_in(cmp, swapped ? 1 : 0), &less) ||
        !decompose(&d, op_in(cmp, swapped ? 0 : 1), &more) || !linear_add(&difference, &less, 1) ||
        !linear_add(&difference, &more, -1))
        return false;
    LoopBound bound =
        bound_at_most(&difference, -difference.hi - (strict ? 1 : 0), difference.index == 0);
    return add_bound(to, &bound) && add_above_lowest(to, &less, dtype) &&
           add_below_highest(to, &more, dtype);
}

static bool add_mask(LoopBounds *to, Value *mask, bool truth, bool outside);

/* What makes the op's result equal `truth`: both sides of an `and` for true, of an `or` for false.
 */
static bool add_mask_op(LoopBounds *to, const Op *op, bool truth, bool outside) {
    if (op_has(op, MOVES) && op->nin == 1)
        return add_mask(to, op_in(op, 0), truth, outside);
    switch ((int)op->code) {
    case OP_cmpi:
        return add_comparison(to, op, truth);
    case OP_andi:
    case OP_ori:
        return truth == (op->code == OP_andi) && add_mask(to, op_in(op, 0), truth, outside) &&
               add_mask(to, op_in(op, 1), truth, outside);
    case OP_xori:
        return value_is_int(op_in(op, 1), 1) && add_mask(to, op_in(op, 0), !truth, outside);
    default:
        return false;
    }
}

static bool list_mask(LoopBounds *to, Value *mask, bool truth) {
    for (int i = 0; i < to->mask_count; i++)
        if (to->masks[i].value == mask)
            return to->masks[i].truth == truth;
    if (to->mask_count == LOOP_MAX_MASKS)
        return false;
    to->masks[to->mask_count++] = (LoopMask){mask, truth};
    return true;
}

/* `outside`: the mask is part of one that is computed in front of the loop and is listed. */
static bool add_mask(LoopBounds *to, Value *mask, bool truth, bool outside) {
    int64_t constant;
    if (value_int_constant(mask, &constant))
        return (constant & 1) == truth;
    if (to->parts-- <= 0)
        return false;
    bool enters = !outside && value_is_outside(mask, to->loop);
    if (!mask->def || !add_mask_op(to, mask->def, truth, outside || enters))
        return false;
    bool is_leaf = !outside && mask->def->code == OP_cmpi;
    return !(enters || is_leaf) || list_mask(to, mask, truth);
}

bool loop_bounds_add(LoopBounds *bounds, Value *mask, bool truth) {
    LoopBounds before = *bounds;
    bounds->parts = LOOP_MAX_PARTS;
    if (add_mask(bounds, mask, truth, false))
        return true;
    *bounds = before;
    return false;
}

static bool splits(const LoopBounds *bounds, int sign) {
    for (int i = 0; i < bounds->bound_count; i++) {
        const LoopBound *bound = &bounds->bounds[i];
        if (!bound->is_check && (sign > 0 ? bound->sum.index > 0 : bound->sum.index < 0))
            return true;
    }
    return false;
}

bool loop_bounds_above(const LoopBounds *bounds) {
    return splits(bounds, 1);
}

bool loop_bounds_below(const LoopBounds *bounds) {
    return splits(bounds, -1);
}

static int count_invariant(const LoopBounds *bounds) {
    int count = 0;
    for (int i = 0; i < bounds->bound_count; i++)
        count += bounds->bounds[i].sum.index == 0;
    return count;
}

bool loop_bounds_add_free(LoopBounds *bounds, Value *mask, bool truth) {
    LoopBounds before = *bounds;
    if (loop_bounds_add(bounds, mask, truth) &&
        loop_bounds_above(bounds) == loop_bounds_above(&before) &&
        loop_bounds_below(bounds) == loop_bounds_below(&before) &&
        count_invariant(bounds) == count_invariant(&before) && !bounds->impossible)
        return true;
    *bounds = before;
    return false;
}

Value *loop_bound_slack(Builder *b, const LoopBound *bound) {
    const Type *type = type_scalar(b->ctx, DT_I64);
    Value *left = rewrite_int(b, type, bound->limit);
    for (int i = 0; i < bound->sum.count; i++) {
        int64_t factor = bound->sum.terms[i].factor;
        Value *term = bound->sum.terms[i].value;
        if (term->type != type)
            term = build_extsi(b, term, type);
        if (factor != 1 && factor != -1)
            term = build_muli(b, term, rewrite_int(b, type, factor < 0 ? -factor : factor));
        left = factor < 0 ? build_addi(b, left, term) : build_subi(b, left, term);
    }
    return left;
}
