/* Scans: within the thread, then across the lanes of a warp, then across its registers.
 *
 * The bits of the axis from the lowest up are in registers, in lanes and again in registers, as
 * choose-layouts puts them. The lowest make runs of neighbouring elements of a thread, which are
 * scanned one after the other. What each run has in all is scanned across lanes, in as many steps
 * as lanes hold bits: a run is combined with what is `1 << step` runs before it, where there is
 * that much. The last element of each run then has its result, and its neighbour's is what comes
 * before the others of the run. Of runs that a lane has one after the other, each has in front of
 * it what the last lane has of those before. No identity element is needed. */
#include "codegen/lowerings.h"
#include "codegen/tile/combine.h"
#include "codegen/tile/ordered.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/shuffle.h"
#include "codegen/values/values.h"
#include "ir/order.h"

typedef struct Scan {
    Combiner c;
    const Plan *plan;
    bool reverse, exclusive;
    AxisBit bits[32];
    int nbits, serial,
        lanes; /* bits of the axis; of them the lowest in registers; those in lanes */
    uint32_t serial_mask, lane_mask, above_mask; /* bits of registers, lanes and registers */
    Lv *values;                                  /* tuples by register */
} Scan;

/* What comes before a run, by lane: `carry`, where `has`. */
typedef struct Before {
    Lv *carry;
    Lv has;
} Before;

/* The register `position` along bits of the axis from the one at `reg`, in the order of the scan.
 */
static uint32_t member(const Scan *s, int first, int count, uint32_t reg, uint32_t position) {
    uint32_t at = s->reverse ? (1u << count) - 1 - position : position;
    for (int i = 0; i < count; i++)
        reg |= (at >> i & 1) << s->bits[first + i].bit;
    return reg;
}

static Lv *element(const Scan *s, uint32_t run, uint32_t position) {
    return &s->values[member(s, 0, s->serial, run, position) * s->c.n];
}

static bool starts_run(const Scan *s, uint32_t reg) {
    return s->plan->rep[reg] == reg && !(reg & s->serial_mask);
}

static void scan_in_thread(Cg *cg, Scan *s) {
    for (uint32_t reg = 0; reg < s->plan->count; reg++)
        for (uint32_t i = 1; starts_run(s, reg) && i < 1u << s->serial; i++)
            cg_combine(cg, &s->c, element(s, reg, i - 1), element(s, reg, i), element(s, reg, i));
}

/* Lanes */

/* What the lane has that is `1 << step` runs before; anything where `has_before` does not hold. */
static Lv from_before(Cg *cg, const Scan *s, int step, Lv value) {
    uint32_t bit = 1u << s->bits[s->serial + step].bit, mask = s->lane_mask;
    uint32_t all = mask >> __builtin_ctz(mask);
    if (!(all & (all + 1)))
        return cg_shuffle(cg, s->reverse ? "down" : "up", value, cg_i32(cg, bit));
    /* Lanes of other elements lie between: what is carried goes past their bits. */
    LLVMBuilderRef b = cg->b;
    Lv rest = LLVMBuildAnd(b, cg->lane, cg_i32(cg, ~mask), "");
    Lv own = s->reverse ? LLVMBuildOr(b, cg->lane, cg_i32(cg, ~mask), "")
                        : LLVMBuildAnd(b, cg->lane, cg_i32(cg, mask), "");
    Lv moved = s->reverse ? LLVMBuildAdd(b, own, cg_i32(cg, bit), "")
                          : LLVMBuildSub(b, own, cg_i32(cg, bit), "");
    moved = LLVMBuildAnd(b, moved, cg_i32(cg, mask), "");
    return cg_shuffle(cg, "idx", value, LLVMBuildOr(b, rest, moved, ""));
}

/* Are there `1 << step` runs before that of the lane? */
static Lv has_before(Cg *cg, const Scan *s, int step) {
    uint32_t bit = 1u << s->bits[s->serial + step].bit;
    Lv lane = s->reverse ? LLVMBuildNot(cg->b, cg->lane, "") : cg->lane;
    Lv above = LLVMBuildAnd(cg->b, lane, cg_i32(cg, s->lane_mask & ~(bit - 1)), "");
    return LLVMBuildICmp(cg->b, LLVMIntNE, above, cg_i32(cg, 0), "");
}

/* Each run's last element gets what all runs up to it have in all. */
static void scan_lanes(Cg *cg, Scan *s) {
    uint32_t n = s->c.n, last = (1u << s->serial) - 1;
    Lv *received = ARENA_ARRAY(cg->arena, Lv, (size_t)s->plan->count * n);
    for (int step = 0; step < s->lanes; step++) {
        Lv has = has_before(cg, s, step);
        /* All shuffles of a step before its combinations: they are independent. */
        for (uint32_t reg = 0; reg < s->plan->count; reg++)
            for (uint32_t k = 0; starts_run(s, reg) && k < n; k++)
                received[reg * n + k] = from_before(cg, s, step, element(s, reg, last)[k]);
        for (uint32_t reg = 0; reg < s->plan->count; reg++) {
            if (!starts_run(s, reg))
                continue;
            Lv *total = element(s, reg, last), *joined = &received[reg * n];
            cg_combine(cg, &s->c, joined, total, joined);
            for (uint32_t k = 0; k < n; k++)
                total[k] = LLVMBuildSelect(cg->b, has, joined[k], total[k], "");
        }
    }
}

/* What the last of the lanes has that share the axis. */
static Lv from_last(Cg *cg, const Scan *s, Lv value) {
    Lv last = s->reverse ? LLVMBuildAnd(cg->b, cg->lane, cg_i32(cg, ~s->lane_mask), "")
                         : LLVMBuildOr(cg->b, cg->lane, cg_i32(cg, s->lane_mask), "");
    return cg_shuffle(cg, "idx", value, last);
}

/* Runs */

static void select_joined(Cg *cg, const Scan *s, Lv has, const Lv *joined, Lv *value) {
    for (uint32_t k = 0; k < s->c.n; k++)
        value[k] =
            lv_is_true(has) ? joined[k] : LLVMBuildSelect(cg->b, has, joined[k], value[k], "");
}

/* Each but the first of a run gets what the one before it has. */
static void shift_run(Scan *s, uint32_t run) {
    for (uint32_t i = (1u << s->serial) - 1; i > 0; i--)
        memcpy(element(s, run, i), element(s, run, i - 1), s->c.n * sizeof *s->values);
}

/* The elements of a run with what comes before it. An exclusive scan's get what is before them,
 * its first what is before the run. */
static void finish_run(Cg *cg, Scan *s, uint32_t run, const Before *before) {
    uint32_t n = s->c.n, length = 1u << s->serial;
    Lv *joined = ARENA_ARRAY(cg->arena, Lv, n);
    if (s->exclusive)
        shift_run(s, run);
    for (uint32_t i = s->exclusive ? 1 : 0; i + 1 < length + s->exclusive; i++) {
        Lv *value = element(s, run, i);
        cg_combine(cg, &s->c, before->carry, value, joined);
        select_joined(cg, s, before->has, joined, value);
    }
    if (s->exclusive)
        select_joined(cg, s, before->has, before->carry, element(s, run, 0));
}

/* What comes before the run whose last element is `total` by now: what its neighbour has, in the
 * first lane `prefix`; NULL: nothing. */
static Before before_run(Cg *cg, const Scan *s, const Lv *total, const Lv *prefix) {
    uint32_t n = s->c.n;
    Before before = {.carry = ARENA_ARRAY(cg->arena, Lv, n), .has = has_before(cg, s, 0)};
    for (uint32_t k = 0; k < n; k++) {
        Lv earlier = from_before(cg, s, 0, total[k]);
        before.carry[k] =
            prefix ? LLVMBuildSelect(cg->b, before.has, earlier, prefix[k], "") : earlier;
    }
    if (prefix)
        before.has = cg_i1(cg, true);
    return before;
}

/* Runs that a lane has one after the other, from `first` on: all but the first have in front of
 * them what the last lane has of the ones before, `prefix`. */
static void finish_runs(Cg *cg, Scan *s, uint32_t first) {
    uint32_t n = s->c.n, last = (1u << s->serial) - 1;
    int above = s->nbits - s->serial - s->lanes;
    uint32_t count = 1u << above;
    Lv *prefix = ARENA_ARRAY(cg->arena, Lv, n), *all = ARENA_ARRAY(cg->arena, Lv, n);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t run = member(s, s->serial + s->lanes, above, first, i);
        Lv *total = element(s, run, last);
        for (uint32_t k = 0; i + 1 < count && k < n; k++)
            all[k] = from_last(cg, s, total[k]);
        if (i)
            cg_combine(cg, &s->c, prefix, total, total);
        if (last || s->exclusive) {
            Before before = before_run(cg, s, total, i ? prefix : NULL);
            finish_run(cg, s, run, &before);
        }
        if (!i)
            memcpy(prefix, all, n * sizeof *all);
        else if (i + 1 < count)
            cg_combine(cg, &s->c, prefix, all, prefix);
    }
}

/* False after an error. */
static bool describe_axis(Cg *cg, const Op *op, Scan *s) {
    const Type *type = op_in(op, 0)->type;
    uint32_t axis = layout_dim_mask(type->rank, type->shape, (int)scan_attrs(op)->axis);
    for (uint32_t rest = axis; rest; rest &= rest - 1) {
        AxisBit bit = cg_axis_holder(type->layout, rest & -rest);
        bool lane = bit.holder == HELD_BY_LANE;
        bool late = lane && (s->above_mask || s->lane_mask >> bit.bit);
        if ((!lane && bit.holder != HELD_BY_REGISTER) || late) {
            cg->failed = true;
            return ctx_diag(cg->ctx, op->span, codegen_scan_layout, (int)scan_attrs(op)->axis);
        }
        s->bits[s->nbits++] = bit;
        s->serial += !lane && !s->lanes;
        s->lanes += lane;
        *(lane ? &s->lane_mask : s->lanes ? &s->above_mask : &s->serial_mask) |= 1u << bit.bit;
    }
    return true;
}

static void scan_in_warp(Cg *cg, Scan *s) {
    scan_in_thread(cg, s);
    scan_lanes(cg, s);
    for (uint32_t reg = 0; reg < s->plan->count; reg++) {
        if (!starts_run(s, reg) || reg & s->above_mask)
            continue;
        if (s->lanes)
            finish_runs(cg, s, reg);
        else if (s->exclusive)
            shift_run(s, reg);
    }
}

void lower_scan(Cg *cg, const Op *op) {
    if (op_keeps_order(op) && !scan_attrs(op)->exclusive) {
        cg_scan_in_order(cg, op);
        return;
    }
    const Plan *plan = cg_plan(cg, op_in(op, 0)->type->layout);
    Scan s = {.c = {op, op->nin},
              .plan = plan,
              .reverse = scan_attrs(op)->reverse,
              .exclusive = scan_attrs(op)->exclusive};
    s.values = cg_tuples(cg, op, plan->count);
    if (describe_axis(cg, op, &s))
        scan_in_warp(cg, &s);
    for (uint32_t k = 0; k < op->nout; k++) {
        Lv *out = cg_new(cg, &op->out[k]);
        for (uint32_t reg = 0; reg < plan->count; reg++)
            out[reg] = s.values[plan->rep[reg] * op->nin + k];
    }
}
