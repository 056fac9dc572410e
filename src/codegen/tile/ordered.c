/* Reductions and scans of functions whose results are the same bits in any layout.
 *
 * Bits of the axis are taken one by one, a reduction's from the highest down, a scan's from the
 * lowest up, whoever holds them: of a bit in registers two registers are combined, of one in lanes
 * a register with that of another lane. split-reduces leaves no bit to warps, and none that is not
 * one base alone; scans lie so as choose-layouts puts them. What comes first is the region's first
 * operand, by a selection in lanes where that matters. */
#include "codegen/tile/ordered.h"
#include "codegen/lowerings.h"
#include "codegen/tile/combine.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/shuffle.h"
#include "codegen/values/values.h"
#include "ir/order.h"

typedef struct Ordered {
    Combiner c;
    const Plan *plan;
    AxisBit bits[32]; /* in the order in which they are combined */
    int nbits;
    bool commutes;
    Lv *values; /* tuples by register */
    bool *live; /* by register: holds a partial result, and no copy of one */
} Ordered;

/* False after an error: a bit of the axis is neither in registers nor in lanes. */
static bool describe(Cg *cg, const Op *op, uint32_t combined, bool from_top, Ordered *o) {
    const Layout *layout = op_in(op, 0)->type->layout;
    o->c = (Combiner){op, op->nin};
    o->plan = cg_plan(cg, layout);
    o->commutes = combine_commutes(op);
    for (int i = 0; i < 32; i++) {
        uint32_t image = 1u << (from_top ? 31 - i : i);
        if (!(combined & image))
            continue;
        AxisBit bit = cg_axis_holder(layout, image);
        if (bit.holder == HELD_BY_WARP || bit.holder == HELD_BY_NONE) {
            cg_unsupported_layout(cg, op);
            return false;
        }
        o->bits[o->nbits++] = bit;
    }
    o->values = cg_tuples(cg, op, o->plan->count);
    o->live = ARENA_ARRAY(cg->arena, bool, o->plan->count);
    for (uint32_t reg = 0; reg < o->plan->count; reg++)
        o->live[reg] = o->plan->rep[reg] == reg;
    return true;
}

static Lv *tuple(const Ordered *o, uint32_t reg) {
    return &o->values[reg * o->c.n];
}

/* a where `on` holds, else b. */
static void choose(Cg *cg, uint32_t n, Lv on, const Lv *a, const Lv *b, Lv *out) {
    for (uint32_t k = 0; k < n; k++)
        out[k] = LLVMBuildSelect(cg->b, on, a[k], b[k], "");
}

/* Reductions */

/* Combines what `reg` and its neighbours along `count` bits from `first` on hold, depth first, so
 * that few partial results are alive at once. The bit that comes first is combined innermost. */
static void fold_registers(Cg *cg, Ordered *o, int first, int count, uint32_t reg) {
    if (!count)
        return;
    uint32_t other = reg | 1u << o->bits[first + count - 1].bit;
    fold_registers(cg, o, first, count - 1, reg);
    fold_registers(cg, o, first, count - 1, other);
    cg_combine(cg, &o->c, tuple(o, reg), tuple(o, other), tuple(o, reg));
    o->live[other] = false;
}

/* The bits from `first` on that registers hold one after the other; how many there are. */
static int fold_run(Cg *cg, Ordered *o, int first) {
    int count = 0;
    uint32_t mask = 0;
    while (first + count < o->nbits && o->bits[first + count].holder == HELD_BY_REGISTER)
        mask |= 1u << o->bits[first + count++].bit;
    for (uint32_t reg = 0; reg < o->plan->count; reg++)
        if (o->live[reg] && !(reg & mask))
            fold_registers(cg, o, first, count, reg);
    return count;
}

static void fold_lanes(Cg *cg, Ordered *o, int bit) {
    uint32_t n = o->c.n;
    Lv *received = ARENA_ARRAY(cg->arena, Lv, (size_t)o->plan->count * n);
    Lv *a = ARENA_ARRAY(cg->arena, Lv, n), *b = ARENA_ARRAY(cg->arena, Lv, n);
    Lv is_second = o->commutes ? NULL : cg_parity(cg, cg->lane, 1u << bit);
    /* All shuffles before the combinations: they are independent. */
    for (uint32_t reg = 0; reg < o->plan->count; reg++)
        for (uint32_t k = 0; o->live[reg] && k < n; k++)
            received[reg * n + k] = cg_shuffle_xor(cg, tuple(o, reg)[k], 1u << bit);
    for (uint32_t reg = 0; reg < o->plan->count; reg++) {
        if (!o->live[reg])
            continue;
        const Lv *first = tuple(o, reg), *second = &received[reg * n];
        if (is_second) {
            choose(cg, n, is_second, second, first, a);
            choose(cg, n, is_second, first, second, b);
            first = a;
            second = b;
        }
        cg_combine(cg, &o->c, first, second, tuple(o, reg));
    }
}

/* Registers of the result by what they hold of it. */
static void give_result(Cg *cg, const Op *op, const Ordered *o, uint32_t dropped) {
    const Layout *layout = o->plan->layout;
    uint32_t *holder = ARENA_ARRAY(cg->arena, uint32_t, (size_t)1 << layout->out_bits);
    for (uint32_t reg = 0; reg < o->plan->count; reg++)
        if (o->live[reg])
            holder[bits_drop(layout_reg_image(layout, reg), dropped)] = reg + 1;
    for (uint32_t k = 0; k < op->nout; k++) {
        const Type *type = op->out[k].type;
        Lv *out = cg_new(cg, &op->out[k]);
        for (uint32_t reg = 0; reg < cg_count(type); reg++) {
            uint32_t found =
                type_is_tile(type) ? holder[layout_reg_image(type->layout, reg)] : holder[0];
            if (!found)
                cg_unsupported_layout(cg, op);
            out[reg] = tuple(o, found ? found - 1 : 0)[k];
        }
    }
}

void cg_reduce_in_order(Cg *cg, const Op *op) {
    const Type *type = op_in(op, 0)->type;
    uint32_t axis = layout_dim_mask(type->rank, type->shape, (int)reduce_attrs(op)->axis);
    uint32_t kept = axis ? (uint32_t)reduce_attrs(op)->keep << __builtin_ctz(axis) : 0;
    Ordered o = {0};
    if (!describe(cg, op, axis & ~kept, true, &o)) {
        for (uint32_t k = 0; k < op->nout; k++)
            cg_new(cg, &op->out[k]);
        return;
    }
    for (int i = 0; i < o.nbits;) {
        if (o.bits[i].holder == HELD_BY_LANE)
            fold_lanes(cg, &o, o.bits[i++].bit);
        else
            i += fold_run(cg, &o, i);
    }
    give_result(cg, op, &o, axis & ~kept);
}

/* Scans */

/* What bit number `at` of the axis has in front of it. */
typedef struct Before {
    uint32_t reg_bits, lane_bits; /* of the axis's lower bits, and of this one */
    bool reverse, lanes;          /* lanes hold any of these */
    Lv lane;                      /* of the last element of the block before, where they do */
} Before;

static Before before_bit(Cg *cg, const Ordered *o, int at, bool reverse) {
    Before before = {.reverse = reverse};
    for (int i = 0; i <= at; i++)
        if (o->bits[i].holder == HELD_BY_LANE)
            before.lane_bits |= 1u << o->bits[i].bit;
        else
            before.reg_bits |= 1u << o->bits[i].bit;
    before.lanes = before.lane_bits != 0;
    if (!before.lanes)
        return before;
    uint32_t own = o->bits[at].holder == HELD_BY_LANE ? 1u << o->bits[at].bit : 0;
    uint32_t set = reverse ? own : before.lane_bits & ~own;
    Lv rest = LLVMBuildAnd(cg->b, cg->lane, cg_i32(cg, ~before.lane_bits), "");
    before.lane = LLVMBuildOr(cg->b, rest, cg_i32(cg, set), "");
    return before;
}

/* The register in which the last element of the block before that of `reg` lies. */
static uint32_t last_before(const Ordered *o, const Before *before, int at, uint32_t reg) {
    uint32_t own = o->bits[at].holder == HELD_BY_REGISTER ? 1u << o->bits[at].bit : 0;
    uint32_t set = before->reverse ? own : before->reg_bits & ~own;
    return (reg & ~before->reg_bits) | set;
}

static void join_blocks(Cg *cg, Ordered *o, int at, bool reverse) {
    uint32_t n = o->c.n, count = o->plan->count;
    Before before = before_bit(cg, o, at, reverse);
    bool by_lanes = o->bits[at].holder == HELD_BY_LANE;
    Lv *totals = ARENA_ARRAY(cg->arena, Lv, (size_t)count * n);
    Lv *joined = ARENA_ARRAY(cg->arena, Lv, n);
    Lv behind = by_lanes ? cg_parity(cg, cg->lane, 1u << o->bits[at].bit) : NULL;
    if (behind && reverse)
        behind = LLVMBuildNot(cg->b, behind, "");
    /* A register that is the last of a block is read before it changes: all totals first. */
    for (uint32_t reg = 0; reg < count; reg++) {
        uint32_t from = last_before(o, &before, at, reg);
        for (uint32_t k = 0; o->live[reg] && k < n; k++) {
            Lv *total = &totals[from * n + k];
            if (!*total)
                *total = before.lanes ? cg_shuffle(cg, "idx", tuple(o, from)[k], before.lane)
                                      : tuple(o, from)[k];
        }
    }
    for (uint32_t reg = 0; reg < count; reg++) {
        bool is_behind = by_lanes || (reg >> o->bits[at].bit & 1) != reverse;
        if (!o->live[reg] || !is_behind)
            continue;
        const Lv *total = &totals[last_before(o, &before, at, reg) * n];
        cg_combine(cg, &o->c, total, tuple(o, reg), joined);
        if (by_lanes)
            choose(cg, n, behind, joined, tuple(o, reg), tuple(o, reg));
        else
            memcpy(tuple(o, reg), joined, n * sizeof *joined);
    }
}

void cg_scan_in_order(Cg *cg, const Op *op) {
    const Type *type = op_in(op, 0)->type;
    Ordered o = {0};
    bool ok = describe(cg, op, layout_dim_mask(type->rank, type->shape, (int)scan_attrs(op)->axis),
                       false, &o);
    for (int i = 0; ok && i < o.nbits; i++)
        join_blocks(cg, &o, i, scan_attrs(op)->reverse);
    for (uint32_t k = 0; k < op->nout; k++) {
        Lv *out = cg_new(cg, &op->out[k]);
        for (uint32_t reg = 0; ok && reg < o.plan->count; reg++)
            out[reg] = tuple(&o, o.plan->rep[reg])[k];
    }
}
