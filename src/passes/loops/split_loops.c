/* split-loops: loops over blocks run without masks where these are known to be true.
 *
 * A loop with a dot that chooses, element by element of what the dot gave, between a result and a
 * constant (attention: scores of keys that do not exist or may not be seen) is split where the
 * masks become and cease to be all true: at most one loop before, the long one, one after. In the
 * long one the masks are constants, and with them those of loads that hold over the same range, and
 * a factor of the scores leaves their maximum (reduce_scaled in rules.def). The other loops are as
 * before but for fewer stages, so results are the same bits; ranges may be empty, and the long one
 * is where the arithmetic of a mask would wrap. A loop whose masks only guard loads is left alone,
 * and so is one that is known to run a few times, as over the blocks of a diagonal or of a narrow
 * window, which gets `flags` 16: three loops begin three pipelines there, for hardly an iteration
 * without masks.
 *
 * Needs no layouts, and invariants outside of loops. The copies are for simplify to fold.
 *
 *     for %i = %lo, %hi, 64 {                        %b = first %i with %i + 63 >= %n, at most %hi
 *         %m = %i + range < splat %n                 for %i = %lo, %b, 64 {
 *         %s = dot ..                                    %s = dot ..
 *         %t = select %m, %s, -inf           =>          ..
 *         ..                                         }
 *     }                                              for %i = %b, %hi, 64 { as before }
 */
#include "passes/analysis/affine.h"
#include "passes/analysis/loop_bounds.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/simplify/rule.h"
#include "support/vec.h"

#include <math.h>

enum {
    MASKED_STAGES = 2,      /* of the few masked iterations, at most */
    FEW_ITERATIONS = 4,     /* for which a loop is not split */
    MAX_BODY_OPS = 400,     /* of a body that is worth a copy or two */
    ASYNC_BYTES = 4,        /* the least that an asynchronous copy takes */
    MAX_PIECEMEAL = 1 << 12 /* elements that an iteration may load otherwise */
};

#define FAR (INT64_C(1) << 60) /* so far from 0 no loop is split */

/* Which masks matter */

/* Values that depend on a dot of the loop, in its own block. */
static PtrSet results_of_dots(const Block *body, Arena *arena) {
    PtrSet set = {.arena = arena};
    block_for_each (op, body) {
        bool depends = op->code == OP_dot;
        for (uint32_t i = 0; i < op->nin && !depends; i++)
            depends = ptr_set_has(&set, op_in(op, i));
        for (uint32_t i = 0; i < op->nout && depends; i++)
            ptr_set_add(&set, &op->out[i]);
    }
    return set;
}

/* The choice concerns what a dot gave: made of it, or added to it. */
static bool masks_a_product(const Op *select, const PtrSet *products) {
    const Value *out = &select->out[0];
    if (out->type->rank < 2 || type_is_bool(out->type))
        return false;
    if (ptr_set_has(products, out))
        return true;
    value_for_each_use (use, out)
        if (op_has(use->user, ELEMENTWISE) && ptr_set_has(products, &use->user->out[0]))
            return true;
    return false;
}

static bool magnitude(const Value *value, double *out) {
    int64_t integer;
    if (value_int_constant(value, &integer))
        *out = fabs((double)integer);
    else if (value_float_constant(value, out))
        *out = fabs(*out);
    else
        return false;
    return true;
}

/* The condition with which the choice does nothing: the computed arm is taken, or the smaller
 * constant (0 or -inf is added). False: both are computed. */
static bool idle_condition(const Op *select, bool *truth) {
    double a, b;
    bool constant_a = magnitude(op_in(select, 1), &a), constant_b = magnitude(op_in(select, 2), &b);
    if (!constant_a && !constant_b)
        return false;
    *truth = constant_a && constant_b ? a <= b : constant_b;
    return true;
}

static int count_ops(const Block *block) {
    int count = 0;
    block_for_each (op, block)
        count++;
    return count;
}

static bool has_positive_step(const Op *loop) {
    int64_t step;
    return value_int_constant(op_in(loop, 2), &step) && step > 0 && step < INT32_MAX;
}

/* Loads in pieces too small for asynchronous copies have an address for each element, which two
 * loops in a row keep in registers at once. */
static bool loads_piecemeal(const LoopBounds *bounds) {
    int64_t elements = 0;
    block_for_each (op, bounds->loop->regions[0]) {
        if (op->code != OP_load || op->out[0].type->rank < 2)
            continue;
        int axis = facts_fastest_dim(bounds->facts, op_in(op, 0));
        int width = facts_access_width(bounds->facts, op_in(op, 0), op_mask(op), axis);
        if (width * dtype_bytes(op->out[0].type->dtype) < ASYNC_BYTES)
            elements += (int64_t)1 << op->out[0].type->log2_numel;
    }
    return elements > MAX_PIECEMEAL;
}

/* What is known of a loop that is to be split. */
typedef struct Plan {
    LoopBounds bounds;
    VEC(Op *) idle;        /* choices that are none where the bounds hold .. */
    VEC(Value *) chosen;   /* .. and what they then are */
    VEC(RuleMatch) maxima; /* of scaled scores, by rules with a gate */
} Plan;

/* Fills in the bounds; false: there is nothing to split for. */
static bool collect_bounds(Plan *plan, Arena *arena) {
    LoopBounds *bounds = &plan->bounds;
    const Block *body = bounds->loop->regions[0];
    PtrSet products = results_of_dots(body, arena);
    bool truth;
    block_for_each (op, body) {
        if (op->code != OP_select || !masks_a_product(op, &products) ||
            !idle_condition(op, &truth) || !loop_bounds_add(bounds, op_in(op, 0), truth))
            continue;
        vec_push(arena, &plan->idle, op);
        vec_push(arena, &plan->chosen, op_in(op, truth ? 1 : 2));
    }
    if (bounds->impossible || (!loop_bounds_above(bounds) && !loop_bounds_below(bounds)))
        return false;
    block_for_each (op, body)
        if (op_mask(op))
            loop_bounds_add_free(bounds, op_mask(op), true);
    return true;
}

static Value *past_idle_choices(const Plan *plan, Value *value) {
    for (size_t i = plan->idle.len; i-- > 0;)
        if (value == op_out(plan->idle.data[i]))
            value = plan->chosen.data[i];
    return value;
}

/* Maxima over scores that need no choice any more. Whether the factor is one that may leave them
 * must be known in front of the loop. */
static void collect_maxima(Plan *plan, Arena *arena) {
    Op *loop = plan->bounds.loop;
    const RuleGroup *group = &rule_groups[OP_reduce];
    RuleMatch match;
    block_for_each (op, loop->regions[0])
        for (uint32_t i = 0; op->code == OP_reduce && i < group->count; i++)
            if (group->rules[i].gate &&
                rule_match(&group->rules[i], op, past_idle_choices(plan, op_in(op, 0)), &match) &&
                rule_gate_may_hold(&match) && rule_gate_is_outside(&match, loop)) {
                vec_push(arena, &plan->maxima, match);
                break;
            }
}

/* Where to split: scalars of 64 bits in front of the loop */

typedef struct Emitter {
    Builder b;
    const Type *type; /* i64 */
    const LoopBounds *bounds;
    Value *lo, *hi; /* of the loop */
    int64_t step;
} Emitter;

static Value *constant(Emitter *e, int64_t value) {
    return rewrite_int(&e->b, e->type, value);
}

static Value *wide(Emitter *e, Value *scalar) {
    return scalar->type == e->type ? scalar : build_extsi(&e->b, scalar, e->type);
}

/* slack / |factor of the index|, rounded down. */
static Value *slack_in_index(Emitter *e, const LoopBound *bound) {
    int64_t index = bound->sum.index < 0 ? -bound->sum.index : bound->sum.index;
    Value *left = loop_bound_slack(&e->b, bound);
    return build_shrsi(&e->b, left, constant(e, __builtin_ctzll((uint64_t)index)));
}

/* The first index of the loop that is `at` or more, counted on past its end. */
static Value *first_from(Emitter *e, Value *at) {
    Value *ahead = build_subi(&e->b, at, e->lo);
    Value *distance = build_maxsi(&e->b, ahead, constant(e, 0));
    Value *up = build_addi(&e->b, distance, constant(e, e->step - 1));
    Value *steps = build_divui(&e->b, up, constant(e, e->step));
    return build_addi(&e->b, e->lo, build_muli(&e->b, steps, constant(e, e->step)));
}

/* The first index at which the bounds from below hold: index >= -slack, for all of them. */
static Value *begin_of_range(Emitter *e) {
    Value *from = NULL;
    for (int i = 0; i < e->bounds->bound_count; i++) {
        const LoopBound *bound = &e->bounds->bounds[i];
        if (bound->sum.index >= 0)
            continue;
        Value *most = slack_in_index(e, bound);
        Value *least = build_subi(&e->b, constant(e, 0), most);
        from = from ? build_maxsi(&e->b, from, least) : least;
    }
    return build_minsi(&e->b, first_from(e, from), e->hi);
}

/* The first index at which those from above do not: index > slack for one of them. */
static Value *end_of_range(Emitter *e) {
    Value *last = NULL;
    for (int i = 0; i < e->bounds->bound_count; i++) {
        const LoopBound *bound = &e->bounds->bounds[i];
        if (bound->sum.index <= 0)
            continue;
        Value *most = slack_in_index(e, bound);
        last = last ? build_minsi(&e->b, last, most) : most;
    }
    Value *beyond = build_addi(&e->b, last, constant(e, 1));
    return build_minsi(&e->b, first_from(e, beyond), e->hi);
}

static Value *both(Emitter *e, Value *a, Value *b) {
    return !a ? b : !b ? a : build_andi(&e->b, a, b);
}

/* Bounds that do not split: they hold over the whole range if they do where they are tightest.
 * NULL: there are none. */
static Value *remaining_bounds(Emitter *e, bool above, bool below, Value *begin, Value *end) {
    Value *all = NULL;
    for (int i = 0; i < e->bounds->bound_count; i++) {
        const LoopBound *bound = &e->bounds->bounds[i];
        int64_t index = bound->sum.index;
        if ((index > 0 && above) || (index < 0 && below))
            continue;
        Value *at = index < 0 ? begin : build_subi(&e->b, end, constant(e, 1));
        Value *part = build_muli(&e->b, at, constant(e, index));
        all = both(e, all, build_cmpi(&e->b, part, loop_bound_slack(&e->b, bound), IPRED_SLE));
    }
    return all;
}

/* The loops */

/* A copy of the loop in front of it, over [begin, end). The loop goes on with what it leaves. */
static Op *run_before(Op *loop, Value *begin, Value *end, ValueMap *map) {
    Builder b = builder_before(loop);
    Op *copy = op_clone(&b, loop, map);
    op_set_operand(copy, 0, begin);
    op_set_operand(copy, 1, end);
    for (uint32_t i = 0; i < loop->nout; i++)
        op_set_operand(loop, FOR_FIXED_OPERANDS + i, &copy->out[i]);
    op_set_operand(loop, 0, end);
    for_attrs(loop)->flags |= LOOP_GOES_ON;
    return copy;
}

static void replace_within(const Op *loop, Value *value, Value *by) {
    for (Use *use = value->uses, *next; use; use = next) {
        next = use->next;
        if (op_ancestor_in(use->user, loop->regions[0]))
            op_set_operand(use->user, (uint32_t)(use - use->user->in), by);
    }
}

/* The masks become constants in `loop`; map has what became of the values of the loop they were
 * found in, NULL: it is the same loop. */
static void fix_masks(const LoopBounds *bounds, Op *loop, const ValueMap *map) {
    Builder b = builder_before(loop);
    for (int i = 0; i < bounds->mask_count; i++) {
        Value *mask = bounds->masks[i].value;
        Value *copied = map ? value_map_get(map, mask) : NULL;
        Value *by = rewrite_int(&b, mask->type, bounds->masks[i].truth);
        replace_within(loop, copied ? copied : mask, by);
    }
}

static bool used_only_by(const Op *op, const PtrSet *ops) {
    for (uint32_t i = 0; i < op->nout; i++)
        value_for_each_use (use, &op->out[i])
            if (!ptr_set_has(ops, op_ancestor_in(use->user, op->block)))
                return false;
    return true;
}

/* What only the masked loop and those behind it need is computed in front of it, so that no thread
 * holds it throughout the long loop. */
static void sink_past(Op *unmasked, Op *masked, Arena *arena) {
    PtrSet later = {.arena = arena};
    for (Op *op = masked; op; op = op->next)
        ptr_set_add(&later, op);
    for (Op *op = unmasked->prev, *next; op; op = next) {
        next = op->prev;
        if (!op_is_pure(op) || !op_has(op, CHEAP) || !used_only_by(op, &later))
            continue;
        op_move_before(op, masked);
        ptr_set_add(&later, op);
        masked = op;
    }
}

static Value *narrow(Emitter *e, Value *index) {
    const Type *type = op_in(e->bounds->loop, 0)->type;
    return type == e->type ? index : build_trunci(&e->b, index, type);
}

/* Few iterations keep masks. The loop says so; loads further ahead would cost them more to begin
 * than they gain. */
static void lower_stages(Op *masked) {
    int64_t stages = for_attrs(masked)->num_stages;
    if (stages == 0)
        stages = masked->block->func->num_stages;
    if (stages == 0 || stages > MASKED_STAGES)
        for_attrs(masked)->num_stages = MASKED_STAGES;
    for_attrs(masked)->flags |= LOOP_FEW;
}

/* The loop, copied or itself where map is NULL, as it is where the bounds hold. */
static void unmask(const Plan *plan, Op *loop, const ValueMap *map) {
    fix_masks(&plan->bounds, loop, map);
    vec_for_each (maximum, &plan->maxima)
        rule_apply(maximum, map);
}

static void split(const Plan *plan) {
    const LoopBounds *bounds = &plan->bounds;
    Op *loop = bounds->loop;
    bool above = loop_bounds_above(bounds), below = loop_bounds_below(bounds);
    Emitter e = {.b = builder_before(loop), .bounds = bounds};
    e.b.span = loop->span;
    e.type = type_scalar(e.b.ctx, DT_I64);
    value_int_constant(op_in(loop, 2), &e.step);
    e.lo = wide(&e, op_in(loop, 0));
    e.hi = wide(&e, op_in(loop, 1));
    Value *begin = below ? begin_of_range(&e) : e.lo;
    Value *end = above ? build_maxsi(&e.b, begin, end_of_range(&e)) : e.hi;
    Value *holds = remaining_bounds(&e, above, below, begin, end);
    vec_for_each (maximum, &plan->maxima)
        holds = both(&e, holds, rule_gate(maximum, &e.b));
    if (holds && above)
        end = build_select(&e.b, holds, end, begin);
    else if (holds)
        begin = build_select(&e.b, holds, begin, end);
    begin = narrow(&e, begin);
    end = narrow(&e, end);
    Arena *arena = &func_ctx(loop->block->func)->arena;
    if (below)
        lower_stages(run_before(loop, op_in(loop, 0), begin, value_map_create(arena)));
    if (above) {
        ValueMap *map = value_map_create(arena);
        Op *unmasked = run_before(loop, begin, end, map);
        unmask(plan, unmasked, map);
        sink_past(unmasked, loop, arena);
        lower_stages(loop);
    } else {
        unmask(plan, loop, NULL);
    }
}

/* Finding them */

typedef struct Splitter {
    Affines *affines;
    const Facts *facts;
    Arena *arena;
    VEC(Plan *) found;
    bool marked; /* a loop, as one that runs a few times */
} Splitter;

static bool is_candidate(const Op *op) {
    if (op->code != OP_for || !has_positive_step(op) || block_has_loop(op->regions[0]) ||
        count_ops(op->regions[0]) > MAX_BODY_OPS)
        return false;
    block_for_each (inner, op->regions[0])
        if (inner->code == OP_dot)
            return true;
    return false;
}

/* What lies between the loop's begin and any bound fits in 64 bits. */
static bool begins_in_reach(const Facts *facts, const Op *loop) {
    const ValueFacts *begin = facts_of(facts, op_in(loop, 0));
    return begin->lo > -FAR && begin->hi < FAR;
}

static bool spans_at_most(Splitter *s, Value *begin, Value *end, int64_t limit);

/* Of a quotient times its divisor, which is less than that below the dividend. */
static bool spans_from_multiple(Splitter *s, const Op *product, Value *end, int64_t limit) {
    for (uint32_t i = 0; i < 2; i++) {
        const Op *quotient = op_in(product, i)->def;
        int64_t by, times;
        if (quotient && quotient->code == OP_divsi && value_int_constant(op_in(quotient, 1), &by) &&
            value_int_constant(op_in(product, 1 - i), &times) && by == times && by > 0)
            return spans_at_most(s, op_in(quotient, 0), end, limit - (by - 1));
    }
    return false;
}

/* Is `end` known to be no more than `limit` above `begin`? */
static bool spans_at_most(Splitter *s, Value *begin, Value *end, int64_t limit) {
    const Op *from = begin->def, *to = end->def;
    int64_t distance;
    if (limit < 0)
        return false;
    const Affine *first = affine_of(s->affines, begin), *last = affine_of(s->affines, end);
    if (!first->why && !last->why && !first->rank && !last->rank &&
        poly_is_constant(poly_sum(s->arena, last->offset, first->offset, -1), &distance))
        return distance <= limit;
    for (uint32_t i = 0; i < 2 && to && to->code == OP_minsi; i++)
        if (spans_at_most(s, begin, op_in(to, i), limit))
            return true;
    for (uint32_t i = 0; i < 2 && from && from->code == OP_maxsi; i++)
        if (spans_at_most(s, op_in(from, i), end, limit))
            return true;
    return from && from->code == OP_muli && spans_from_multiple(s, from, end, limit);
}

static bool runs_few_times(Splitter *s, const Op *loop) {
    int64_t step;
    return value_int_constant(op_in(loop, 2), &step) &&
           spans_at_most(s, op_in(loop, 0), op_in(loop, 1), FEW_ITERATIONS * step);
}

static bool visit(Op *op, void *user) {
    Splitter *s = user;
    if (!is_candidate(op) || !begins_in_reach(s->facts, op))
        return true;
    if (runs_few_times(s, op)) {
        s->marked |= !(for_attrs(op)->flags & LOOP_FEW);
        for_attrs(op)->flags |= LOOP_FEW;
        return true;
    }
    Plan *plan = ARENA_NEW(s->arena, Plan);
    *plan = (Plan){.bounds = {.facts = s->facts, .loop = op}};
    if (loads_piecemeal(&plan->bounds) || !collect_bounds(plan, s->arena))
        return true;
    collect_maxima(plan, s->arena);
    vec_push(s->arena, &s->found, plan);
    return true;
}

bool pass_split_loops(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    Splitter s = {.affines = affines_create(func, arena), .arena = arena};
    s.facts = affines_facts(s.affines);
    func_walk(func, visit, &s);
    vec_for_each (plan, &s.found)
        split(*plan);
    bool changed = s.marked || s.found.len > 0;
    arena_rewind(arena, mark);
    return changed;
}
