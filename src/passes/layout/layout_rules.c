/* See layout_rules.h. The rules are the inverse of what the ops' result rules in src/ir check. */
#include "passes/layout/layout_rules.h"
#include "ir/order.h"
#include "passes/rewrite.h"
#include "support/bits.h"
#include "target/target.h"
#include <assert.h>

static void inverse_order(const Op *op, int rank, int inverse[MAX_RANK]) {
    for (int i = 0; i < rank; i++)
        inverse[transpose_attrs(op)->order.ptr[i]] = i;
}

/* Dimensions that the op repeats, as a mask of the result's index bits. */
static uint32_t repeated_bits(const Op *op) {
    const Type *from = op_in(op, 0)->type, *to = op->out[0].type;
    uint32_t mask = 0;
    for (int i = 0; i < to->rank; i++)
        if (from->shape[i] != to->shape[i])
            mask |= layout_dim_mask(to->rank, to->shape, i);
    return mask;
}

/* A scalar has no layout that a splat could pass on. */
bool op_passes_layouts(const Op *op) {
    bool maps = op_has(op, BY_ELEMENT) && !op_has(op, COMBINES);
    return (maps || op_has(op, ELEMENTWISE | HINT | MOVES)) && op->code != OP_splat &&
           op->code != OP_convert_layout;
}

/* Index bits of the operand that a slice does not have. */
static uint32_t sliced_bits(const Op *op) {
    const Type *whole = op_in(op, 0)->type, *part = op->out[0].type;
    return layout_part_mask(whole->rank, part->shape, whole->shape);
}

const Layout *layout_of_whole(Ctx *ctx, const Layout *layout, int rank, const int64_t *part,
                              const int64_t *whole) {
    const Layout *first = layout_of_part(ctx, layout, rank, part, whole);
    Layout all = *first;
    int n = first->bits[LAYOUT_REG], others = layout_in_bits(first) - n;
    uint32_t mask = layout_part_mask(rank, part, whole);
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        all.basis[n++] = rest & -rest;
    memcpy(all.basis + n, first->basis + first->bits[LAYOUT_REG],
           (size_t)others * sizeof *all.basis);
    all.bits[LAYOUT_REG] = (uint8_t)n;
    return layout_get(ctx, &all);
}

const Layout *layout_of_operand(Ctx *ctx, const Op *op, uint32_t index, const Layout *result) {
    const Type *type = op_in(op, index)->type;
    if (!type_is_tile(type) || !op_passes_layouts(op) || !result)
        return NULL;
    if (op->code == OP_broadcast)
        return layout_drop_bits(ctx, result, repeated_bits(op));
    if (op->code == OP_transpose) {
        int inverse[MAX_RANK];
        const Type *to = op->out[0].type;
        inverse_order(op, to->rank, inverse);
        return layout_transpose(ctx, result, to->rank, to->shape, inverse);
    }
    if (op->code == OP_split)
        return layout_join(ctx, result);
    if (op->code == OP_slice)
        return layout_of_whole(ctx, result, type->rank, op->out[0].type->shape, type->shape);
    if (op->code == OP_join) {
        const Layout *half = layout_drop_bits(ctx, result, 1);
        return layout_join(ctx, half) == result ? half : NULL;
    }
    return result;
}

const Layout *layout_of_result(Ctx *ctx, const Op *op, const Layout *operand) {
    if (!op_passes_layouts(op) || op->code == OP_broadcast || !type_is_tile(op->out[0].type))
        return NULL;
    if (op->code == OP_transpose) {
        int order[MAX_RANK];
        const Type *from = op_in(op, 0)->type;
        for (int i = 0; i < from->rank; i++)
            order[i] = (int)transpose_attrs(op)->order.ptr[i];
        return layout_transpose(ctx, operand, from->rank, from->shape, order);
    }
    if (op->code == OP_join)
        return layout_join(ctx, operand);
    if (op->code == OP_slice) {
        for (int bit = operand->bits[LAYOUT_REG]; bit < layout_in_bits(operand); bit++)
            if (operand->basis[bit] & sliced_bits(op))
                return NULL;
        return layout_drop_bits(ctx, operand, sliced_bits(op));
    }
    if (op->code == OP_split) {
        const Layout *half = layout_drop_bits(ctx, operand, 1);
        return layout_join(ctx, half) == operand ? half : NULL;
    }
    return operand;
}

const Layout *layout_coalesced(Ctx *ctx, const CoalescedShape *wanted) {
    int rank = wanted->rank, order[MAX_RANK], n = 0;
    order[n++] = wanted->fastest;
    for (int d = rank - 1; d >= 0; d--)
        if (d != wanted->fastest)
            order[n++] = d;
    int64_t vector[MAX_RANK], lanes[MAX_RANK], warps[MAX_RANK], room[MAX_RANK];
    int64_t lanes_left = TARGET_WARP_SIZE, warps_left = wanted->num_warps;
    for (int i = 0; i < rank; i++) {
        int d = order[i];
        vector[d] = i == 0 ? min_i64(wanted->vector, wanted->shape[d]) : 1;
        lanes[d] = min_i64(lanes_left, wanted->shape[d] / vector[d]);
        if (i == 0 && wanted->most_lanes)
            lanes[d] = min_i64(lanes[d], wanted->most_lanes);
        lanes_left /= lanes[d];
        room[d] = wanted->shape[d] / (vector[d] * lanes[d]);
        warps[d] = 1;
    }
    for (unsigned late = 0; late < 2; late++)
        for (int d = 0; d < rank; d++) {
            if ((wanted->warps_last >> d & 1) != late || wanted->warps_never >> d & 1)
                continue;
            warps[d] = min_i64(warps_left, room[d]);
            if (!late && wanted->most_warps)
                warps[d] = min_i64(warps[d], wanted->most_warps);
            warps_left /= warps[d];
        }
    if (rank > 1) {
        int d = order[1];
        vector[d] = min_i64(wanted->lines > 1 ? wanted->lines : 1, room[d] / warps[d]);
    }
    /* Whoever is left over repeats the tile: bits beyond the size of a dimension that is full. */
    Layout surplus = {.bits = {[LAYOUT_LANE] = (uint8_t)__builtin_ctzll((uint64_t)lanes_left),
                               [LAYOUT_WARP] = (uint8_t)__builtin_ctzll((uint64_t)warps_left)}};
    int64_t part[MAX_RANK];
    for (int d = 0; d < rank; d++)
        part[d] = lanes[d];
    const Layout *tile = layout_blocked(ctx, rank, wanted->shape, vector, part, warps, order);
    return layout_product(ctx, tile, layout_get(ctx, &surplus));
}

const Layout *layout_default_along(Ctx *ctx, const Type *type, int fastest, int num_warps) {
    int64_t share = type_numel(type) / ((int64_t)TARGET_WARP_SIZE * num_warps);
    CoalescedShape wanted = {.rank = type->rank,
                             .shape = type->shape,
                             .fastest = fastest,
                             .vector = share < 1 ? 1 : min_i64(share, 4),
                             .num_warps = num_warps};
    return layout_coalesced(ctx, &wanted);
}

const Layout *layout_default(Ctx *ctx, const Type *type, int num_warps) {
    return layout_default_along(ctx, type, type->rank - 1, num_warps);
}

const Layout *layout_dot_accumulator(Ctx *ctx, const Type *acc, int num_warps) {
    int rank = acc->rank, m = rank - 2, n = rank - 1, order[MAX_RANK];
    int64_t regs[MAX_RANK], lanes[MAX_RANK], warps[MAX_RANK];
    for (int d = 0; d < rank; d++) {
        order[d] = rank - 1 - d;
        regs[d] = lanes[d] = warps[d] = 1;
    }
    int64_t threads = (int64_t)TARGET_WARP_SIZE * num_warps, numel = type_numel(acc);
    /* A patch of up to 4 x 4 as long as every thread gets one. */
    while (regs[m] * regs[n] * threads * 2 <= numel && regs[m] * regs[n] < 16) {
        int d = regs[n] <= regs[m] ? n : m;
        if (regs[d] == acc->shape[d])
            d = d == n ? m : n;
        if (regs[d] == acc->shape[d])
            break;
        regs[d] *= 2;
    }
    for (int64_t left = TARGET_WARP_SIZE; left > 1; left /= 2) {
        int64_t rows = acc->shape[m] / (regs[m] * lanes[m]);
        int64_t columns = acc->shape[n] / (regs[n] * lanes[n]);
        int d = columns > 1 && (lanes[n] <= lanes[m] || rows <= 1) ? n : m;
        lanes[d] *= 2;
    }
    for (int64_t left = num_warps; left > 1; left /= 2) {
        int best = m;
        int64_t most = 0;
        for (int d = 0; d < rank; d++) {
            int64_t room = acc->shape[d] / (regs[d] * lanes[d] * warps[d]);
            if (room > most) {
                most = room;
                best = d;
            }
        }
        warps[best] *= 2;
    }
    return layout_blocked(ctx, rank, acc->shape, regs, lanes, warps, order);
}

const Layout *layout_dot_operand(Ctx *ctx, const Layout *acc_layout, const Type *acc,
                                 const Type *operand, int index) {
    int rank = acc->rank, k_axis = index == 0 ? rank - 1 : rank - 2;
    uint32_t other = layout_dim_mask(rank, acc->shape, index == 0 ? rank - 1 : rank - 2);
    uint32_t k_mask = layout_dim_mask(rank, operand->shape, k_axis);
    const Layout *own = layout_drop_bits(ctx, acc_layout, other);
    return layout_insert_bits(ctx, own, k_mask ? __builtin_ctz(k_mask) : 0,
                              __builtin_popcount(k_mask));
}

/* Elements of an axis that each warp has at least where warps share it: what they exchange is one
 * for each of their sections, which is to be little beside the tile. */
enum { LEAST_SECTION_BITS = 3 };

/* Who holds each bit of an axis, from the lowest: the number of the base that is that bit alone. */
typedef struct AxisHolders {
    int holder[32], count;
} AxisHolders;

/* False: a bit is held with others, or by several. */
static bool find_holders(const Layout *layout, uint32_t axis, AxisHolders *out) {
    out->count = 0;
    for (uint32_t rest = axis; rest; rest &= rest - 1) {
        uint32_t bit = rest & -rest;
        int holder = -1;
        for (int i = 0; i < layout_in_bits(layout); i++) {
            if (!(layout->basis[i] & bit))
                continue;
            if (holder >= 0 || layout->basis[i] != bit)
                return false;
            holder = i;
        }
        out->holder[out->count++] = holder;
    }
    return true;
}

/* Axis bits from the lowest: registers, lanes in order, registers, warps; one base each. */
static bool scans_in_order(const Layout *layout, uint32_t axis, bool by_warps) {
    int state = 0, next_lane = 0, lane_first = layout->bits[LAYOUT_REG];
    int warp_first = lane_first + layout->bits[LAYOUT_LANE], next_register = 0;
    AxisHolders axis_bits;
    if (!find_holders(layout, axis, &axis_bits))
        return false;
    for (int i = 0; i < axis_bits.count; i++) {
        int holder = axis_bits.holder[i];
        if (holder >= warp_first) {
            if (!by_warps || i < LEAST_SECTION_BITS)
                return false;
            state = 3;
            continue;
        }
        bool lane = holder >= lane_first;
        if (state == 3 || (lane && (state > 1 || holder < next_lane)))
            return false;
        if (!lane && holder < next_register)
            return false;
        state = lane ? 1 : state == 1 ? 2 : state;
        next_lane = lane ? holder + 1 : next_lane;
        next_register = lane ? next_register : holder + 1;
    }
    return true;
}

/* Above the lanes of the axis registers come first, then warps: each has a section of it. */
static const Layout *with_sections(Ctx *ctx, const Layout *layout, uint32_t axis) {
    AxisHolders bits;
    if (!find_holders(layout, axis, &bits))
        return layout;
    int warp_first = layout->bits[LAYOUT_REG] + layout->bits[LAYOUT_LANE], above = 0;
    for (int i = 0; i < bits.count; i++)
        if (bits.holder[i] >= layout->bits[LAYOUT_REG] && bits.holder[i] < warp_first)
            above = i + 1;
    uint32_t bit = axis;
    for (int i = 0; i < above; i++)
        bit &= bit - 1;
    Layout out = *layout;
    for (int by_warps = 0; by_warps < 2; by_warps++)
        for (int i = above; i < bits.count; i++)
            if ((bits.holder[i] >= warp_first) == by_warps) {
                out.basis[bits.holder[i]] = bit & -bit;
                bit &= bit - 1;
            }
    return layout_get(ctx, &out);
}

/* Warps that repeat the tile take the highest bits of the axis from registers. */
static const Layout *with_idle_warps(Ctx *ctx, const Layout *layout, uint32_t axis) {
    Layout out = *layout;
    for (int warp = 0; warp < out.bits[LAYOUT_WARP]; warp++) {
        AxisHolders bits;
        int warp_first = out.bits[LAYOUT_REG] + out.bits[LAYOUT_LANE];
        if (out.basis[warp_first + warp] || !find_holders(&out, axis, &bits))
            continue;
        int top = bits.count - 1;
        while (top >= 0 && bits.holder[top] >= warp_first)
            top--;
        if (top < LEAST_SECTION_BITS || bits.holder[top] >= out.bits[LAYOUT_REG])
            continue;
        int from = bits.holder[top];
        out.basis[warp_first + warp] = out.basis[from];
        memmove(&out.basis[from], &out.basis[from + 1],
                (size_t)(layout_in_bits(&out) - from - 1) * sizeof *out.basis);
        out.bits[LAYOUT_REG]--;
    }
    return layout_get(ctx, &out);
}

/* Sections take two dimensions more, and what comes before an element itself; what each has in all
 * is combined before it is with elements, which is another order. */
static bool may_have_sections(const Op *scan) {
    return op_in(scan, 0)->type->rank + 2 <= MAX_RANK && !scan_attrs(scan)->exclusive &&
           !op_keeps_order(scan);
}

static uint32_t scanned_bits(const Op *scan) {
    const Type *type = op_in(scan, 0)->type;
    return layout_dim_mask(type->rank, type->shape, (int)scan_attrs(scan)->axis);
}

/* Index bits of the runs of neighbours that a thread is to have where lanes go along the axis; 0:
 * as the layout has them. With runs twice as long half as many go across lanes, and what is loaded
 * as it lies touches twice as many cache lines, an instruction each. What is stored is shuffled to
 * where it lies first, which what is cheap to combine is not worth. */
static int wanted_run_bits(const Layout *layout, const Op *scan) {
    enum { SHUFFLED_RESULT_COST = 10 /* a word's shuffle and selections */ };
    uint32_t axis = scanned_bits(scan);
    int lanes = 0, words = 0, ops = 0, bits = 0;
    for (int i = 0; i < layout->bits[LAYOUT_LANE]; i++)
        lanes += (layout_bases(layout, LAYOUT_LANE)[i] & axis) != 0;
    for (uint32_t i = 0; i < scan->nin; i++)
        words += (type_element_bytes(op_in(scan, i)->type) + 3) / 4;
    block_for_each (op, scan->regions[0])
        ops += !op_has(op, TERMINATOR);
    /* A step across lanes shuffles, combines and selects; the run's end is combined twice. */
    int run_cost = lanes * (ops + 2 * words) + 2 * ops;
    while (1 << (2 * bits) < run_cost / 2)
        bits++;
    int spared = run_cost - (run_cost >> bits);
    return spared > SHUFFLED_RESULT_COST * words + (1 << bits) ? bits : 0;
}

/* Of the bits of the axis the lowest in registers, `wanted` of them, or as many as there are by
 * now, then lanes, then the other registers, then warps. */
static const Layout *with_runs(Ctx *ctx, const Layout *layout, uint32_t axis, int wanted) {
    AxisHolders bits;
    Layout out = *layout;
    int reg_end = layout->bits[LAYOUT_REG], lane_end = reg_end + layout->bits[LAYOUT_LANE];
    if (!find_holders(layout, axis, &bits))
        return layout;
    int run = 0;
    while (run < bits.count && bits.holder[run] < reg_end)
        run++;
    run = run > wanted ? run : wanted;
    uint32_t held = 0, rest = axis;
    for (int i = 0; i < bits.count; i++)
        held |= 1u << bits.holder[i];
    for (int place = 0; place < 4; place++)
        for (int i = 0; i < layout_in_bits(layout); i++) {
            int of_holder = i < reg_end ? 0 : i < lane_end ? 1 : 3;
            if (of_holder == 0 && __builtin_popcount(held & ((1u << i) - 1)) >= run)
                of_holder = 2;
            if (of_holder != place || !(held >> i & 1))
                continue;
            out.basis[i] = rest & -rest;
            rest &= rest - 1;
        }
    return layout_get(ctx, &out);
}

/* Do neighbours along the axis lie in neighbouring lanes? Then an access of all lanes takes them
 * together; else it takes as much of a row with any of them. */
static bool goes_along_lanes(const Layout *layout, uint32_t axis) {
    return layout->bits[LAYOUT_LANE] && layout_bases(layout, LAYOUT_LANE)[0] & axis;
}

const Layout *layout_with_sections(Ctx *ctx, const Layout *layout, const Op *scan, bool scattered) {
    uint32_t axis = scanned_bits(scan);
    bool by_warps = may_have_sections(scan);
    const Layout *found = layout;
    if (by_warps)
        found = with_idle_warps(ctx, with_sections(ctx, found, axis), axis);
    if ((scattered || !goes_along_lanes(found, axis)) && !op_keeps_order(scan))
        found = with_runs(ctx, found, axis, found->bits[LAYOUT_REG]);
    return scans_in_order(found, axis, by_warps) ? found : layout;
}

const Layout *layout_for_scan(Ctx *ctx, const Layout *layout, const Op *scan, int num_warps) {
    const Type *type = op_in(scan, 0)->type;
    int axis = (int)scan_attrs(scan)->axis;
    uint32_t mask = scanned_bits(scan);
    bool by_warps = may_have_sections(scan);
    const Layout *chosen = layout_with_sections(ctx, layout, scan, false);
    if (!scans_in_order(chosen, mask, by_warps)) {
        CoalescedShape wanted = {.rank = type->rank,
                                 .shape = type->shape,
                                 .fastest = type->rank - 1,
                                 .vector =
                                     type->shape[type->rank - 1] >= 2 * TARGET_WARP_SIZE ? 4 : 1,
                                 .num_warps = num_warps,
                                 .warps_never = 1u << axis};
        chosen = layout_coalesced(ctx, &wanted);
        if (by_warps)
            chosen = with_idle_warps(ctx, chosen, mask);
    }
    if (!op_keeps_order(scan))
        chosen = with_runs(ctx, chosen, mask,
                           goes_along_lanes(chosen, mask) ? wanted_run_bits(chosen, scan)
                                                          : chosen->bits[LAYOUT_REG]);
    assert(scans_in_order(chosen, mask, by_warps));
    return chosen;
}

bool scan_is_in_order(const Op *op) {
    const Layout *layout = op_in(op, 0)->type->layout;
    return layout && scans_in_order(layout, scanned_bits(op), may_have_sections(op));
}

static bool recomputable(const Value *value, unsigned *budget) {
    if (!type_is_tile(value->type))
        return true;
    const Op *op = value->def;
    if (!op || !op_has(op, CHEAP) || op->nregions || *budget == 0)
        return false;
    --*budget;
    for (uint32_t i = 0; i < op->nin; i++)
        if (!recomputable(op_in(op, i), budget))
            return false;
    return true;
}

static Value *recompute(Value *value, const Layout *layout) {
    if (!type_is_tile(value->type) || value->type->layout == layout)
        return value;
    Op *op = value->def;
    Builder builder = builder_before(op);
    Value *in[OP_MAX_FIXED];
    for (uint32_t i = 0; i < op->nin; i++)
        in[i] = recompute(op_in(op, i), layout_of_operand(builder.ctx, op, i, layout));
    const Type *type = type_with_layout(builder.ctx, value->type, layout);
    Value *copy = rewrite_like(&builder, op, op->nin, in, type);
    copy->name = value->name;
    return copy;
}

bool value_is_recomputable(const Value *value, unsigned budget) {
    return recomputable(value, &budget);
}

Value *value_recompute(Value *value, const Layout *layout, unsigned budget) {
    return recomputable(value, &budget) ? recompute(value, layout) : NULL;
}

/* Index bits of the op's axis that warps hold, from the axis's lowest on. */
static uint32_t warp_bits_of_axis(const Op *op) {
    const Type *type = op_in(op, 0)->type;
    const Layout *layout = type->layout;
    uint32_t mask = layout_dim_mask(type->rank, type->shape, (int)op_axis(op)), held = 0;
    if (!layout || !mask)
        return 0;
    for (int i = 0; i < layout->bits[LAYOUT_WARP]; i++)
        held |= layout_bases(layout, LAYOUT_WARP)[i];
    return (held & mask) >> __builtin_ctz(mask);
}

int64_t reduce_bits_of_threads(const Op *reduce) {
    const Type *type = op_in(reduce, 0)->type;
    uint32_t mask = layout_dim_mask(type->rank, type->shape, (int)reduce_attrs(reduce)->axis);
    const Layout *layout = type->layout;
    int held = layout->bits[LAYOUT_REG];
    int threads_end = held + layout->bits[LAYOUT_LANE] + layout->bits[LAYOUT_WARP];
    uint32_t threads = 0, registers = 0;
    for (int bit = 0; bit < threads_end; bit++)
        *(bit < held ? &registers : &threads) |= layout->basis[bit] & mask;
    return threads & registers || !threads ? 0 : threads >> __builtin_ctz(mask);
}

uint32_t reduce_crossing_bits(const Op *op) {
    return op->code == OP_reduce ? warp_bits_of_axis(op) & ~(uint32_t)reduce_attrs(op)->keep : 0;
}

uint32_t reduce_kept_by_warps(const Op *op) {
    uint32_t crossing = reduce_crossing_bits(op);
    if (op_keeps_order(op) && crossing)
        crossing = ~0u >> __builtin_clz(crossing);
    return (uint32_t)reduce_attrs(op)->keep | crossing;
}

bool reduce_lies_plain(const Op *op) {
    const Type *type = op_in(op, 0)->type;
    uint32_t axis = layout_dim_mask(type->rank, type->shape, (int)reduce_attrs(op)->axis);
    uint32_t kept = axis ? (uint32_t)reduce_attrs(op)->keep << __builtin_ctz(axis) : 0;
    uint32_t wanted = axis & ~kept, found = 0;
    for (int i = 0; i < layout_in_bits(type->layout); i++) {
        uint32_t basis = type->layout->basis[i], held = basis & wanted;
        if (held && (basis != held || (held & (held - 1)) || (held & found)))
            return false;
        found |= held;
    }
    return found == wanted;
}

bool scan_crosses_warps(const Op *op) {
    return op->code == OP_scan && warp_bits_of_axis(op);
}

bool convert_crosses_warps(const Op *op) {
    return op->code == OP_convert_layout &&
           layout_classify(op->out[0].type->layout, op_in(op, 0)->type->layout) >= CONVERT_SHARED;
}
