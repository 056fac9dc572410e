/* simplify: what facts prove. A value whose range is one number is that number (a comparison that
 * cannot fail, a remainder of zero); a minimum of values whose ranges do not overlap is one of
 * them; signed quotients and remainders of nonnegative values by powers of two are shifts and
 * masks, and a multiple that is divided and multiplied again is what it was; quotients and
 * remainders in 64 bits of numbers of 32 are taken in 32, a subroutine less; the index of a loop is
 * below the loop's end. All decisions are taken on the unchanged function, then applied. */
#include "passes/analysis/facts.h"
#include "passes/analysis/fold.h"
#include "passes/simplify/simplify.h"
#include "support/vec.h"

typedef enum DecisionKind {
    TO_CONSTANT,
    TO_OPERAND,
    TO_DIVIDEND, /* of the quotient that is its operand */
    TO_SHIFT,
    TO_MASK,
    TO_NARROW, /* operation, in 32 bits */
} DecisionKind;

typedef struct Decision {
    Op *op;
    DecisionKind kind;
    int64_t value; /* the constant, the operand's index, the shift amount, the mask */
} Decision;

typedef struct Decider {
    const Facts *facts;
    Arena *arena;
    VEC(Decision) decisions;
} Decider;

static bool is_constant(const Value *value) {
    Scalar scalar;
    return scalar_of_value(value, &scalar);
}

/* a % b and a / b where b is one power of two above 1. */
static bool decide_power_of_two(const Decider *d, Op *op, Decision *out) {
    const ValueFacts *a = facts_of(d->facts, op_in(op, 0));
    Scalar divisor;
    if (!scalar_of_value(op_in(op, 1), &divisor) || divisor.i <= 1 || (divisor.i & (divisor.i - 1)))
        return false;
    bool is_quotient = op->code == OP_divsi || op->code == OP_divui;
    bool is_unsigned = op->code == OP_divui || op->code == OP_remui;
    if (!is_quotient && facts_divisible(d->facts, op_in(op, 0)) >= divisor.i) {
        *out = (Decision){op, TO_CONSTANT, 0};
        return true;
    }
    if (a->lo < 0 && !is_unsigned)
        return false;
    *out = is_quotient ? (Decision){op, TO_SHIFT, __builtin_ctzll((uint64_t)divisor.i)}
                       : (Decision){op, TO_MASK, divisor.i - 1};
    return true;
}

static bool is_within_int32(const ValueFacts *facts) {
    return facts->lo >= INT32_MIN && facts->hi <= INT32_MAX;
}

/* Of 64 bits, where operands and result have 32: all but -2^31 by -1 do. */
static bool decide_narrow(const Decider *d, Op *op, Decision *out) {
    const ValueFacts *a = facts_of(d->facts, op_in(op, 0));
    const ValueFacts *b = facts_of(d->facts, op_in(op, 1));
    bool is_unsigned = op->code == OP_divui || op->code == OP_remui;
    bool may_overflow = a->lo == INT32_MIN && b->lo <= -1 && b->hi >= -1;
    if (op->out[0].type->dtype != DT_I64 || !is_within_int32(a) || !is_within_int32(b) ||
        (is_unsigned ? a->lo < 0 || b->lo < 0 : may_overflow))
        return false;
    *out = (Decision){op, TO_NARROW, 0};
    return true;
}

static bool decide_quotient(const Decider *d, Op *op, Decision *out) {
    const ValueFacts *a = facts_of(d->facts, op_in(op, 0));
    const ValueFacts *b = facts_of(d->facts, op_in(op, 1));
    bool is_remainder = op->code == OP_remsi || op->code == OP_remui;
    if (is_remainder && a->lo >= 0 && a->hi < b->lo) {
        *out = (Decision){op, TO_OPERAND, 0};
        return true;
    }
    return decide_power_of_two(d, op, out) || decide_narrow(d, op, out);
}

static bool is_quotient(const Op *op) {
    return op && op_has(op, QUOTIENT);
}

/* The power of two by which the quotient is; 0: another number. */
static int64_t divisor_of(const Op *quotient) {
    bool is_shift = quotient->code == OP_shrsi || quotient->code == OP_shrui;
    Scalar by;
    if (!scalar_of_value(op_in(quotient, 1), &by))
        return 0;
    if (is_shift)
        return by.i >= 0 && by.i < 63 ? INT64_C(1) << by.i : 0;
    return by.i > 0 && !(by.i & (by.i - 1)) ? by.i : 0;
}

/* (a / b) * b where b is a power of two that divides a: exact, whatever the sign, and in wrapping
 * arithmetic. */
static bool decide_product(const Decider *d, Op *op, Decision *out) {
    for (uint32_t i = 0; i < 2; i++) {
        const Op *quotient = op_in(op, i)->def;
        Scalar times;
        if (!is_quotient(quotient) || !scalar_of_value(op_in(op, 1 - i), &times) || times.i <= 0 ||
            divisor_of(quotient) != times.i ||
            facts_divisible(d->facts, op_in(quotient, 0)) < times.i)
            continue;
        *out = (Decision){op, TO_DIVIDEND, i};
        return true;
    }
    return false;
}

/* The operand that is never on the wrong side of the other. */
static bool decide_extremum(const Decider *d, Op *op, Decision *out) {
    const ValueFacts *a = facts_of(d->facts, op_in(op, 0));
    const ValueFacts *b = facts_of(d->facts, op_in(op, 1));
    bool is_min = op->code == OP_minsi || op->code == OP_minui;
    bool is_unsigned = op->code == OP_minui || op->code == OP_maxui;
    if (op->out[0].type->dtype == DT_I1 || (is_unsigned && (a->lo < 0 || b->lo < 0)))
        return false;
    bool a_below = a->hi <= b->lo, b_below = b->hi <= a->lo;
    if (!a_below && !b_below)
        return false;
    *out = (Decision){op, TO_OPERAND, a_below == is_min ? 0 : 1};
    return true;
}

static bool decide_absolute(const Decider *d, Op *op, Decision *out) {
    *out = (Decision){op, TO_OPERAND, 0};
    return op->out[0].type->dtype != DT_I1 && facts_of(d->facts, op_in(op, 0))->lo >= 0;
}

/* Is the value the index of a loop that counts up, and `end` where that ends? */
static bool is_index_below(const Value *index, const Value *end) {
    const Op *loop = index->def ? NULL : value_block(index)->parent;
    int64_t step;
    return loop && loop->code == OP_for && index == &loop->regions[0]->args[0] &&
           op_in(loop, 1) == end && value_int_constant(op_in(loop, 2), &step) && step > 0;
}

/* Inside of a loop its index has not reached the end. */
static bool decide_compare(const Decider *d, Op *op, Decision *out) {
    IntPredicate pred = cmpi_attrs(op)->pred;
    bool below = pred == IPRED_SLT || pred == IPRED_SGE;
    bool above = pred == IPRED_SGT || pred == IPRED_SLE;
    if (!(below && is_index_below(op_in(op, 0), op_in(op, 1))) &&
        !(above && is_index_below(op_in(op, 1), op_in(op, 0))))
        return false;
    *out = (Decision){op, TO_CONSTANT, pred == IPRED_SLT || pred == IPRED_SGT};
    return true;
}

typedef bool Decide(const Decider *d, Op *op, Decision *out);

static Decide *const deciders[OP_COUNT] = {
    [OP_divsi] = decide_quotient, [OP_divui] = decide_quotient, [OP_remsi] = decide_quotient,
    [OP_remui] = decide_quotient, [OP_minsi] = decide_extremum, [OP_maxsi] = decide_extremum,
    [OP_minui] = decide_extremum, [OP_maxui] = decide_extremum, [OP_absi] = decide_absolute,
    [OP_cmpi] = decide_compare,   [OP_muli] = decide_product,
};

static bool decide(Op *op, void *user) {
    Decider *d = user;
    Decision decision = {.op = op};
    if (!op_is_pure(op) || op->nout != 1 || !type_is_int(op->out[0].type) ||
        value_unused(op_out(op)) || is_constant(op_out(op)))
        return true;
    const ValueFacts *facts = facts_of(d->facts, op_out(op));
    /* A condition that is assumed stays: the fact that would prove it comes from it. */
    if (facts_is_assumed(d->facts, op_out(op)))
        return true;
    if (facts->lo == facts->hi)
        decision = (Decision){op, TO_CONSTANT, facts->lo};
    else if (!deciders[op->code] || !deciders[op->code](d, op, &decision))
        return true;
    vec_push(d->arena, &d->decisions, decision);
    return true;
}

static void narrow(Op *op) {
    Builder b = builder_before(op);
    const Type *type = type_with_dtype(b.ctx, op->out[0].type, DT_I32);
    Value *in[2] = {build_trunci(&b, op_in(op, 0), type), build_trunci(&b, op_in(op, 1), type)};
    rewrite_replace(op, build_extsi(&b, rewrite_like(&b, op, 2, in, type), op->out[0].type));
}

static void apply(const Decision *decision) {
    Op *op = decision->op;
    const Type *type = op->out[0].type;
    Builder b = builder_before(op);
    switch (decision->kind) {
    case TO_CONSTANT:
        rewrite_replace(op, rewrite_int(&b, type, decision->value));
        break;
    case TO_OPERAND:
        rewrite_replace(op, op_in(op, (uint32_t)decision->value));
        break;
    case TO_DIVIDEND: {
        /* Still a quotient, unless another decision has made a number of it. */
        const Op *quotient = op_in(op, (uint32_t)decision->value)->def;
        if (is_quotient(quotient))
            rewrite_replace(op, op_in(quotient, 0));
        break;
    }
    case TO_SHIFT:
        rewrite_replace(op, build_shrui(&b, op_in(op, 0), rewrite_int(&b, type, decision->value)));
        break;
    case TO_MASK:
        rewrite_replace(op, build_andi(&b, op_in(op, 0), rewrite_int(&b, type, decision->value)));
        break;
    case TO_NARROW:
        narrow(op);
        break;
    }
}

bool fold_by_facts(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    Decider d = {.facts = facts_compute(func, arena), .arena = arena};
    func_walk(func, decide, &d);
    bool changed = d.decisions.len > 0;
    vec_for_each (decision, &d.decisions)
        apply(decision);
    arena_rewind(arena, mark);
    return changed;
}
