/* The data flow behind facts.h.
 *
 * Sweeps over the function in order, transferring facts from operands to results, until a sweep
 * changes no argument of a loop. Loops are taken optimistically: in the first sweep an argument has
 * the facts of its initial value, later what is true of both that and the value passed on.
 * Arguments only lose facts, from a finite stock except for ranges; a bound that still moves after
 * a few sweeps jumps to the end of its type, and after many sweeps whatever moves is given up.
 * Sweeping everything costs the same however deep loops nest. */
#include "passes/analysis/facts_internal.h"
#include "passes/analysis/fold.h"
#include "passes/rewrite.h"
#include "support/vec.h"

enum { EXACT_RANGE_SWEEPS = 3, MAX_SWEEPS = 40 };

typedef struct Flow {
    Facts *facts;
    int sweep;
    bool changed;
} Flow;

static bool facts_equal(const Type *type, const ValueFacts *a, const ValueFacts *b) {
    for (int i = 0; i < facts_dims(type); i++)
        if (a->contiguous[i] != b->contiguous[i] || a->constant[i] != b->constant[i] ||
            a->divisible[i] != b->divisible[i])
            return false;
    return a->lo == b->lo && a->hi == b->hi && a->sign == b->sign;
}

static ValueFacts *slot(Flow *flow, const Value *value) {
    return &flow->facts->values[value->id];
}

/* Assumptions hold from the value's definition on: they stand in its block, so that it is not made
 * without them, and a program that breaks them has no meaning at all. The range tells the sign; of
 * numbers narrower than an index nothing else does, since they may wrap as the source wants. */
static void apply_assumed(const Facts *all, const Value *value, ValueFacts *facts) {
    if (!facts->has_range)
        return;
    if (all->assumed) {
        int64_t lo = max_i64(facts->lo, all->assumed[value->id].lo);
        int64_t hi = min_i64(facts->hi, all->assumed[value->id].hi);
        if (lo <= hi) {
            facts->lo = lo;
            facts->hi = hi;
        }
    }
    facts_sign_of_range(facts);
    if (facts->lo < 0 && !type_is_index(value->type))
        facts->sign = SIGN_UNKNOWN;
}

/* Aligned runs of a type's numbers that are longer than half of them would wrap inside: 1024 bytes
 * that count up from 0 are 127 and then -128. */
static void end_runs_before_wrap(const Type *type, ValueFacts *facts) {
    if (!type_is_int(type) || type_is_index(type))
        return;
    int64_t longest = int_highest(type->dtype) + 1;
    for (int i = 0; i < facts_dims(type); i++) {
        if (facts->contiguous[i] <= longest)
            continue;
        facts->divisible[i] = facts_divisible_at(facts, type, i, longest);
        facts->contiguous[i] = longest;
    }
}

static void set(Flow *flow, const Value *value, ValueFacts facts) {
    end_runs_before_wrap(value->type, &facts);
    apply_assumed(flow->facts, value, &facts);
    *slot(flow, value) = facts;
    flow->facts->visited[value->id] = true;
}

/* An argument's facts are joined with those of `from`, if it has any yet. */
static void flow_into(Flow *flow, const Value *arg, const ValueFacts *from, bool from_known) {
    if (!from_known)
        return;
    if (!flow->facts->visited[arg->id]) {
        set(flow, arg, *from);
        flow->changed = true;
        return;
    }
    ValueFacts *old = slot(flow, arg), joined = facts_both(arg->type, old, from);
    if (facts_equal(arg->type, old, &joined))
        return;
    if (joined.has_range && flow->sweep >= EXACT_RANGE_SWEEPS) {
        if (joined.lo < old->lo)
            joined.lo = int_lowest(arg->type->dtype);
        if (joined.hi > old->hi)
            joined.hi = int_highest(arg->type->dtype);
    }
    if (flow->sweep >= MAX_SWEEPS)
        joined = facts_unknown(arg->type);
    apply_assumed(flow->facts, arg, &joined);
    flow->changed |= !facts_equal(arg->type, old, &joined);
    *old = joined;
}

static void flow_value(Flow *flow, const Value *arg, const Value *from) {
    flow_into(flow, arg, slot(flow, from), flow->facts->visited[from->id]);
}

static void visit_block(Flow *flow, Block *block);

/* The ends of a range are multiples of what divides all numbers in it. */
static void narrow_to_multiples(ValueFacts *facts, int64_t of) {
    int64_t above = (facts->lo % of + of) % of, below = (facts->hi % of + of) % of;
    if (facts->lo > INT64_MAX - of || facts->hi < INT64_MIN + of)
        return;
    int64_t lo = above ? facts->lo + (of - above) : facts->lo, hi = facts->hi - below;
    if (lo <= hi) {
        facts->lo = lo;
        facts->hi = hi;
    }
}

/* lo + k * step while before hi. */
static ValueFacts induction_facts(Flow *flow, const Op *op) {
    const Type *type = op_in(op, 0)->type;
    const ValueFacts *lo = slot(flow, loop_first_index(op)), *hi = slot(flow, op_in(op, 1));
    const ValueFacts *step = slot(flow, op_in(op, 2));
    ValueFacts out = facts_unknown(type);
    out.divisible[0] = min_i64(lo->divisible[0], step->divisible[0]);
    if (step->lo > 0) {
        out.lo = lo->lo;
        out.hi = max_i64(lo->lo, hi->hi > INT64_MIN ? hi->hi - 1 : hi->hi);
        out.sign = lo->sign;
    } else if (step->hi < 0) {
        out.lo = min_i64(lo->hi, hi->lo < INT64_MAX ? hi->lo + 1 : hi->lo);
        out.hi = lo->hi;
        out.sign = hi->sign;
    } else {
        out.sign = SIGN_UNKNOWN;
    }
    if (out.divisible[0] > 1 && out.divisible[0] < FACTS_MAX_DIVISIBLE)
        narrow_to_multiples(&out, out.divisible[0]);
    return out;
}

static void visit_for(Flow *flow, Op *op) {
    Block *body = op->regions[0];
    set(flow, &body->args[0], induction_facts(flow, op));
    for (uint32_t i = 0; i < op->nout; i++)
        flow_value(flow, &body->args[i + 1], op_in(op, FOR_FIXED_OPERANDS + i));
    visit_block(flow, body);
    /* A result is what came in or what an iteration left, and no argument: what the body assumes of
     * its argument is not said of the last value, which no iteration sees. */
    for (uint32_t i = 0; i < op->nout; i++) {
        const Value *before = op_in(op, FOR_FIXED_OPERANDS + i), *left = op_in(body->last, i);
        flow_value(flow, &body->args[i + 1], left);
        set(flow, &op->out[i], facts_both(op->out[i].type, slot(flow, before), slot(flow, left)));
    }
}

static void visit_while(Flow *flow, Op *op) {
    Block *head = op->regions[0], *body = op->regions[1];
    for (uint32_t i = 0; i < op->nout; i++)
        flow_value(flow, &head->args[i], op_in(op, i));
    visit_block(flow, head);
    for (uint32_t i = 0; i < op->nout; i++) {
        const ValueFacts *passed = slot(flow, op_in(head->last, i + 1));
        set(flow, &body->args[i], *passed);
        set(flow, &op->out[i], *passed);
    }
    visit_block(flow, body);
    for (uint32_t i = 0; i < op->nout; i++)
        flow_value(flow, &head->args[i], op_in(body->last, i));
}

static void visit_if(Flow *flow, Op *op) {
    visit_block(flow, op->regions[0]);
    visit_block(flow, op->regions[1]);
    for (uint32_t i = 0; i < op->nout; i++) {
        const ValueFacts *a = slot(flow, op_in(op->regions[0]->last, i));
        const ValueFacts *b = slot(flow, op_in(op->regions[1]->last, i));
        set(flow, &op->out[i], facts_both(op->out[i].type, a, b));
    }
}

static void visit_plain(Flow *flow, Op *op) {
    for (uint32_t r = 0; r < op->nregions; r++) {
        Block *region = op->regions[r];
        for (uint32_t i = 0; i < region->nargs; i++)
            set(flow, &region->args[i], facts_unknown(region->args[i].type));
        visit_block(flow, region);
    }
    Transfer *transfer = facts_transfer[op->code];
    if (!transfer && op_has(op, ELEMENTWISE))
        transfer = facts_elementwise;
    for (uint32_t i = 0; i < op->nout; i++) {
        ValueFacts facts = facts_unknown(op->out[i].type);
        if (transfer)
            transfer(flow->facts, op, &facts);
        set(flow, &op->out[i], facts);
    }
}

static void visit_block(Flow *flow, Block *block) {
    block_for_each (op, block) {
        if (op->code == OP_for)
            visit_for(flow, op);
        else if (op->code == OP_while)
            visit_while(flow, op);
        else if (op->code == OP_if)
            visit_if(flow, op);
        else
            visit_plain(flow, op);
    }
}

/* What the launch promises. A pointer is at least aligned to what it points at. */
static ValueFacts parameter_facts(const FuncParam *param, const Type *type) {
    ValueFacts facts = facts_unknown(type);
    if (param->divisible > 0)
        facts.divisible[0] = low_bit(param->divisible);
    if (type_is_pointer(type))
        facts.divisible[0] = max_i64(facts.divisible[0], dtype_bytes(type->dtype));
    return facts;
}

/* Assumptions */

typedef struct Assumptions {
    Facts *facts;
    Arena *arena;
    uint32_t count; /* of values */
} Assumptions;

static void assume_range(Assumptions *a, const Op *assume, const Value *value, int64_t lo,
                         int64_t hi) {
    if (value_block(value) != assume->block || !type_is_int(value->type) ||
        value->type->dtype == DT_I1)
        return;
    if (!a->facts->assumed) {
        a->facts->assumed = ARENA_ARRAY(a->arena, AssumedRange, a->count);
        for (uint32_t i = 0; i < a->count; i++)
            a->facts->assumed[i] = (AssumedRange){INT64_MIN, INT64_MAX};
    }
    AssumedRange *range = &a->facts->assumed[value->id];
    range->lo = max_i64(range->lo, lo);
    range->hi = min_i64(range->hi, hi);
}

/* value <pred> constant */
static void assume_compared(Assumptions *a, const Op *assume, const Value *value, IntPredicate pred,
                            int64_t bound) {
    switch (pred) {
    case IPRED_SGE:
        assume_range(a, assume, value, bound, INT64_MAX);
        break;
    case IPRED_SGT:
        if (bound < INT64_MAX)
            assume_range(a, assume, value, bound + 1, INT64_MAX);
        break;
    case IPRED_SLE:
        assume_range(a, assume, value, INT64_MIN, bound);
        break;
    case IPRED_SLT:
        if (bound > INT64_MIN)
            assume_range(a, assume, value, INT64_MIN, bound - 1);
        break;
    case IPRED_EQ:
        assume_range(a, assume, value, bound, bound);
        break;
    case IPRED_NE:
    case IPRED_ULT:
    case IPRED_ULE:
    case IPRED_UGT:
    case IPRED_UGE:
    case IPRED_COUNT:
        break;
    }
}

static void assume_comparison(Assumptions *a, const Op *assume, const Op *op) {
    int64_t bound;
    if (!type_is_int(op_in(op, 0)->type))
        return;
    IntPredicate pred = cmpi_attrs(op)->pred;
    DType dtype = op_in(op, 0)->type->dtype;
    if (value_int_constant(op_in(op, 1), &bound))
        assume_compared(a, assume, op_in(op, 0), pred, int_wrap(dtype, bound));
    else if (value_int_constant(op_in(op, 0), &bound))
        assume_compared(a, assume, op_in(op, 1), predicate_swap(pred), int_wrap(dtype, bound));
}

/* Each condition once for a block, however many ways lead to it. */
static bool collect_assumption(Op *op, void *user) {
    Assumptions *a = user;
    if (op->code != OP_assume)
        return true;
    VEC(const Value *) rest = {0};
    vec_push(a->arena, &rest, op_in(op, 0));
    while (rest.len) {
        const Value *condition = rest.data[--rest.len];
        if (ptrmap_get(&a->facts->conditions, condition) == op->block)
            continue;
        ptrmap_set(&a->facts->conditions, condition, op->block);
        const Op *def = condition->def;
        for (uint32_t i = 0; def && def->code == OP_andi && i < def->nin; i++)
            vec_push(a->arena, &rest, op_in(def, i));
        if (def && def->code == OP_cmpi)
            assume_comparison(a, op, def);
    }
    return true;
}

Facts *facts_compute(Func *func, Arena *arena) {
    Facts *facts = ARENA_NEW(arena, Facts);
    uint32_t count = func_number(func);
    facts->conditions.arena = arena;
    facts->values = ARENA_ARRAY(arena, ValueFacts, count);
    facts->visited = ARENA_ARRAY(arena, bool, count);
    facts->indices = facts_find_indices(func, arena, count);
    func_walk(func, collect_assumption, &(Assumptions){facts, arena, count});
    Flow flow = {.facts = facts};
    for (uint32_t i = 0; i < func->body->nargs; i++) {
        const Value *arg = &func->body->args[i];
        set(&flow, arg, parameter_facts(&func->params[i], arg->type));
    }
    do {
        flow.changed = false;
        visit_block(&flow, func->body);
        flow.sweep++;
    } while (flow.changed);
    return facts;
}

const ValueFacts *facts_of(const Facts *facts, const Value *value) {
    return &facts->values[value->id];
}

bool facts_is_assumed(const Facts *facts, const Value *condition) {
    return ptrmap_get(&facts->conditions, condition) != NULL;
}

int64_t facts_divisible(const Facts *facts, const Value *value) {
    return facts_divisible_each(facts_of(facts, value), value->type);
}

int facts_access_width(const Facts *facts, const Value *ptr, const Value *mask, int axis) {
    const ValueFacts *p = facts_of(facts, ptr);
    int64_t bytes = dtype_bytes(ptr->type->dtype);
    int64_t width = min_i64(p->contiguous[axis], max_i64(p->divisible[axis] / bytes, 1));
    if (mask)
        width = min_i64(width, facts_of(facts, mask)->constant[axis]);
    return (int)min_i64(width, max_i64(16 / bytes, 1));
}

int facts_fastest_dim(const Facts *facts, const Value *ptr) {
    const ValueFacts *p = facts_of(facts, ptr);
    int best = facts_dims(ptr->type) - 1;
    for (int i = best; i-- > 0;)
        if (p->contiguous[i] > p->contiguous[best])
            best = i;
    return best;
}
