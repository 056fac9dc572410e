/* order-programs: of programs whose loops are of different lengths the long ones start first.
 *
 * A launch hands its programs out in the order of their numbers, each to a processor that is free.
 * In causal attention a block of queries has the more keys the later it comes, so that the longest
 * programs start last and most processors wait for the few that run them. Started from the last one
 * on, what is left at the end is short.
 *
 *     func @f(..)                               func @f(..) {last_first = 1, in_sections = true}
 *     %m = program_id {axis = 0}           =>   the same: the launch's first CTA along x is the
 *     %hi = minsi %keys, %m * 128 + 128         program with the highest number
 *     for 0, %hi, 64 { .. }
 *
 * How the number of iterations goes with the number of the program is told from the bounds: of each
 * value, along an axis, whether it grows, shrinks, stays or is not known. An axis along which some
 * loop grows and none shrinks is turned. Along x, where loops all grow or all shrink, neighbours
 * along the other axes start together (codegen/values/programs.c). Nothing depends on it but time;
 * programs that wait for others are left alone, since they may count on those with lower numbers to
 * have started.
 *
 * Comes after persist and choose-warps: CTAs that have several programs go through them in an order
 * of their own. Sets last_first and in_sections. */
#include "passes/passes.h"
#include "passes/rewrite.h"

enum { AXES = 3, BUDGET = 400 };

/* How a value goes with the number of the program along an axis. */
typedef enum Trend { TREND_STAYS, TREND_GROWS, TREND_SHRINKS, TREND_UNKNOWN } Trend;

typedef struct Programs {
    int axis;
    int budget; /* of values looked at */
    bool waits; /* for other programs, perhaps */
    bool grows, shrinks;
} Programs;

static Trend opposite(Trend trend) {
    return trend == TREND_GROWS ? TREND_SHRINKS : trend == TREND_SHRINKS ? TREND_GROWS : trend;
}

/* Of a sum of both, or of either of them. */
static Trend joined(Trend a, Trend b) {
    if (a == TREND_STAYS)
        return b;
    return b == TREND_STAYS || a == b ? a : TREND_UNKNOWN;
}

static Trend trend_of(Programs *p, const Value *value);

/* What all programs compute from the same is the same. */
static Trend trend_of_others(Programs *p, const Op *op) {
    for (uint32_t i = 0; i < op->nin; i++)
        if (trend_of(p, op_in(op, i)) != TREND_STAYS)
            return TREND_UNKNOWN;
    return TREND_STAYS;
}

/* Multiplied, divided or shifted: by a positive constant, or both stay. */
static Trend trend_of_scaled(Programs *p, const Op *op) {
    int64_t by;
    for (uint32_t i = 0; i < (op->code == OP_muli ? 2u : 1u); i++)
        if (value_int_constant(op_in(op, 1 - i), &by) && by > 0)
            return trend_of(p, op_in(op, i));
    return trend_of_others(p, op);
}

/* Rounded down to a multiple of a power of two. */
static Trend trend_of_rounded(Programs *p, const Op *op) {
    int64_t mask;
    for (uint32_t i = 0; i < 2; i++)
        if (value_int_constant(op_in(op, 1 - i), &mask) && mask < 0 && !(-mask & (-mask - 1)))
            return trend_of(p, op_in(op, i));
    return trend_of_others(p, op);
}

static Trend trend_of_result(Programs *p, const Op *op) {
    if (op_has(op, CONVERTS))
        return trend_of(p, op_in(op, 0));
    if (op_has(op, EXTREMUM) || op->code == OP_addi)
        return joined(trend_of(p, op_in(op, 0)), trend_of(p, op_in(op, 1)));
    if (op_has(op, QUOTIENT))
        return trend_of_scaled(p, op);
    switch ((int)op->code) {
    case OP_program_id:
        return program_id_attrs(op)->axis == p->axis ? TREND_GROWS : TREND_STAYS;
    case OP_subi:
        return joined(trend_of(p, op_in(op, 0)), opposite(trend_of(p, op_in(op, 1))));
    case OP_select: /* either of them: which one, is not asked */
        return joined(trend_of(p, op_in(op, 1)), trend_of(p, op_in(op, 2)));
    case OP_muli:
    case OP_shli:
        return trend_of_scaled(p, op);
    case OP_andi:
        return trend_of_rounded(p, op);
    default:
        return op->nregions ? TREND_UNKNOWN : trend_of_others(p, op);
    }
}

/* Arithmetic is taken not to wrap. */
static Trend trend_of(Programs *p, const Value *value) {
    if (!value->def)
        return value->owner->parent ? TREND_UNKNOWN : TREND_STAYS;
    return p->budget-- > 0 ? trend_of_result(p, value->def) : TREND_UNKNOWN;
}

/* The last of the loops that split-loops made of one. */
static const Op *last_part(const Op *loop) {
    for (const Op *op = loop->next; op; op = op->next)
        if (op->code == OP_for) {
            if (!(op_flags(op) & LOOP_GOES_ON) || op_in(op, 0) != op_in(loop, 1))
                return loop;
            loop = op;
        }
    return loop;
}

/* hi - lo, of a loop that counts down lo - hi. Where both grow, as in a window, iterations stay
 * about the same. */
static void visit_loop(Programs *p, const Op *loop) {
    if (op_flags(loop) & LOOP_GOES_ON)
        return;
    const Op *last = last_part(loop);
    Trend trend = joined(trend_of(p, op_in(last, 1)), opposite(trend_of(p, op_in(loop, 0))));
    int64_t step;
    if (value_int_constant(op_in(loop, 2), &step) && step < 0)
        trend = opposite(trend);
    p->grows |= trend == TREND_GROWS;
    p->shrinks |= trend == TREND_SHRINKS;
}

static bool visit(Op *op, void *user) {
    Programs *p = user;
    p->waits |=
        op->code == OP_while || (op_has(op, ATOMIC) && op->nout && !value_unused(op_out(op)));
    p->waits |= op_is_volatile(op) || op_is_unseen(op);
    if (op->code == OP_for)
        visit_loop(p, op);
    return true;
}

/* Along x, the others being neighbours. */
static bool goes_in_sections(const Programs *x, int32_t last_first) {
    return (x->grows || x->shrinks) && !(x->grows && x->shrinks) && !(last_first & ~1);
}

bool pass_order_programs(Func *func) {
    bool is_plain = func->num_ctas <= 1 && func->programs_per_cta <= 1 && !func->is_persistent;
    if (func->last_first || func->in_sections || !is_plain)
        return false;
    Programs axes[AXES] = {0};
    int32_t last_first = 0;
    for (int axis = 0; axis < AXES; axis++) {
        Programs *p = &axes[axis];
        *p = (Programs){.axis = axis, .budget = BUDGET};
        func_walk(func, visit, p);
        if (p->waits)
            return false;
        last_first |= (p->grows && !p->shrinks) << axis;
    }
    func->last_first = last_first;
    func->in_sections = goes_in_sections(&axes[0], last_first);
    if (!func->last_first && !func->in_sections)
        return false;
    ctx_diag(func_ctx(func), func->span, programs_in_order);
    return true;
}
