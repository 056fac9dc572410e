/* Reductions, scans and what else has a region for single elements.
 *
 * A reduction combines halves: for each bit of the axis from the highest down, the elements with
 * the bit clear and those with it set become two arrays, and the region runs once over all pairs. A
 * tile of n elements thus costs 2n element steps in log n runs of the region. A scan doubles its
 * reach with each run (Hillis and Steele), or joins blocks where the order is fixed. A region with
 * control flow, or with something to say, runs pair by pair, that of a map element by element. */
#include "interp/interp_internal.h"
#include "ir/order.h"

/* Regions */

static size_t operand_bytes(const Op *op, uint32_t k) {
    return (size_t)type_element_bytes(op_in(op, k)->type);
}

static size_t result_bytes(const Op *op, uint32_t k) {
    return (size_t)type_element_bytes(op->out[k].type);
}

/* out[k] = what the region yields for all n elements, or pairs of `a` and `b`, at once. */
static void run_at_once(Run *run, const Inst *inst, const Slot *a, const Slot *b, Slot *out,
                        uint32_t n) {
    const Op *op = inst->op;
    const Block *region = inst->regions[0].block;
    uint32_t outer_width = run->width;
    run->width = n;
    for (uint32_t k = 0; k < op->nin; k++) {
        slot_share(run, value_slot(run, &region->args[k]), &a[k]);
        if (b)
            slot_share(run, value_slot(run, &region->args[op->nin + k]), &b[k]);
    }
    const Inst *end = run_block(run, &inst->regions[0]);
    for (uint32_t k = 0; end && k < op->nout; k++)
        slot_expand(run, &out[k], in_slot(run, end->op, k), n, result_bytes(op, k));
    if (end)
        release_dead(run, end);
    for (uint32_t k = 0; k < region->nargs; k++)
        slot_clear(run, value_slot(run, &region->args[k]));
    run->width = outer_width;
}

static void copy_result(Run *run, Slot *to, const Slot *from, uint32_t i, size_t bytes) {
    memcpy(to->data + i * bytes, from->data, bytes);
    if (!from->undef || !from->undef[0])
        return;
    if (!to->undef)
        slot_new_undef(run, to);
    to->undef[i] = from->undef[0];
}

static void combine_one_by_one(Run *run, const Inst *inst, const Slot *a, const Slot *b, Slot *out,
                               uint32_t n) {
    const Op *op = inst->op;
    Slot *one = inst->carry + (COMBINE_SLOTS - 3) * op->nin;
    Slot *one_a = one, *one_b = one + op->nin, *one_out = one + 2 * op->nin;
    for (uint32_t k = 0; k < op->nin; k++)
        slot_new(run, &out[k], n, operand_bytes(op, k));
    for (uint32_t i = 0; i < n && !run_halted(run); i++) {
        for (uint32_t k = 0; k < op->nin; k++) {
            slot_view(run, &one_a[k], &a[k], i, 1, operand_bytes(op, k));
            slot_view(run, &one_b[k], &b[k], i, 1, operand_bytes(op, k));
        }
        run_at_once(run, inst, one_a, one_b, one_out, 1);
        for (uint32_t k = 0; k < op->nin && !run_halted(run); k++)
            copy_result(run, &out[k], &one_out[k], i, operand_bytes(op, k));
    }
    for (uint32_t k = 0; k < 3 * op->nin; k++)
        slot_clear(run, &one[k]);
}

static void combine(Run *run, const Inst *inst, const Slot *a, const Slot *b, Slot *out,
                    uint32_t n) {
    if (inst->vectorised)
        run_at_once(run, inst, a, b, out, n);
    else
        combine_one_by_one(run, inst, a, b, out, n);
}

/* The chunks of `chunk` elements at first, first + stride, .. become contiguous. */
static void gather_chunks(Run *run, Slot *to, const Slot *from, uint32_t first, uint32_t chunk,
                          uint32_t stride, uint32_t count, size_t bytes) {
    if (count == 1) {
        slot_view(run, to, from, first, chunk, bytes);
        return;
    }
    int64_t shape[2] = {count, chunk}, strides[2] = {stride, 1};
    int rank = chunk == 1 ? 1 : 2;
    slot_new(run, to, count * chunk, bytes);
    copy_strided(to->data, from->data + first * bytes, bytes, rank, shape, strides);
    if (from->undef)
        copy_strided(slot_new_undef(run, to), from->undef + first, 1, rank, shape, strides);
}

/* The operands' working copies and the sides and outcome of a combination. */
typedef struct Work {
    Slot *x, *a, *b, *out;
    uint32_t n;
} Work;

static Work work_begin(Run *run, const Inst *inst) {
    uint32_t n = inst->op->nin;
    Slot *slots = inst->carry;
    Work work = {slots, slots + n, slots + 2 * n, slots + 3 * n, n};
    for (uint32_t k = 0; k < n; k++)
        slot_share(run, &work.x[k], in_slot(run, inst->op, k));
    return work;
}

static void work_end(Run *run, Work *work) {
    for (uint32_t k = 0; k < work->n; k++) {
        slot_clear(run, &work->x[k]);
        slot_clear(run, &work->a[k]);
        slot_clear(run, &work->b[k]);
        slot_clear(run, &work->out[k]);
    }
}

static void results_from(Run *run, const Inst *inst, const Slot *from) {
    for (uint32_t k = 0; k < inst->op->nout && !run_halted(run); k++)
        slot_share(run, value_slot(run, &inst->op->out[k]), &from[k]);
}

/* Elements per step of the axis. */
static uint32_t axis_stride(const Type *type, int64_t axis) {
    uint32_t stride = 1;
    for (int d = (int)axis + 1; d < type->rank; d++)
        stride *= (uint32_t)type->shape[d];
    return stride;
}

void interp_reduce(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    const Type *type = op_in(op, 0)->type;
    int64_t axis = reduce_attrs(op)->axis, keep = reduce_attrs(op)->keep;
    uint32_t stride = axis_stride(type, axis);
    Work work = work_begin(run, inst);
    for (uint32_t bit = (uint32_t)type->shape[axis] / 2; bit && !run_halted(run); bit /= 2) {
        if (keep & bit)
            continue;
        uint32_t chunk = bit * stride, pairs = work.x[0].n / 2;
        for (uint32_t k = 0; k < work.n; k++) {
            size_t bytes = operand_bytes(op, k);
            uint32_t count = pairs / chunk;
            gather_chunks(run, &work.a[k], &work.x[k], 0, chunk, 2 * chunk, count, bytes);
            gather_chunks(run, &work.b[k], &work.x[k], chunk, chunk, 2 * chunk, count, bytes);
        }
        combine(run, inst, work.a, work.b, work.out, pairs);
        for (uint32_t k = 0; k < work.n && !run_halted(run); k++)
            slot_share(run, &work.x[k], &work.out[k]);
    }
    results_from(run, inst, work.x);
    work_end(run, &work);
}

/* Copies the axis in reverse. */
static void reverse_axis(Run *run, Slot *slot, const Type *type, int64_t axis, size_t bytes) {
    int64_t strides[MAX_RANK], first = 0, stride = 1;
    for (int d = type->rank; d-- > 0; stride *= type->shape[d]) {
        strides[d] = d == axis ? -stride : stride;
        first += d == axis ? (type->shape[d] - 1) * stride : 0;
    }
    Slot reversed = {0};
    slot_new(run, &reversed, slot->n, bytes);
    copy_strided(reversed.data, slot->data + (size_t)first * bytes, bytes, type->rank, type->shape,
                 strides);
    if (slot->undef)
        copy_strided(slot_new_undef(run, &reversed), slot->undef + first, 1, type->rank,
                     type->shape, strides);
    slot_clear(run, slot);
    *slot = reversed;
}

/* The combined elements replace those from `reach` steps on in each line of the axis. */
static void scatter_scanned(Run *run, Slot *x, const Slot *from, uint32_t line, uint32_t skip,
                            size_t bytes) {
    uint32_t tail = line - skip, count = x->n / line;
    if (from->undef && !x->undef)
        slot_new_undef(run, x);
    for (uint32_t c = 0; c < count; c++) {
        size_t to = (size_t)c * line + skip, at = (size_t)c * tail;
        memcpy(x->data + to * bytes, from->data + at * bytes, tail * bytes);
        if (from->undef)
            memcpy(x->undef + to, from->undef + at, tail);
        else if (x->undef)
            memset(x->undef + to, 0, tail);
    }
}

/* A copy that may be overwritten. */
static void make_private(Run *run, Slot *slot, size_t bytes) {
    Slot copy = {0};
    memcpy(slot_new(run, &copy, slot->n, bytes), slot->data, slot->n * bytes);
    if (slot->undef)
        memcpy(slot_new_undef(run, &copy), slot->undef, slot->n);
    slot_clear(run, slot);
    *slot = copy;
}

/* Each element but the first of a line becomes the one before it. */
static void shift_lines(Slot *x, uint32_t line, uint32_t stride, size_t bytes) {
    for (uint32_t at = 0; at < x->n; at += line) {
        memmove(x->data + (at + stride) * bytes, x->data + at * bytes, (line - stride) * bytes);
        if (x->undef)
            memmove(x->undef + at + stride, x->undef + at, line - stride);
    }
}

/* Element `last` of each line's first half, for every element of its second one. */
static void spread_last(Run *run, Slot *to, const Slot *from, uint32_t last, uint32_t reach,
                        uint32_t stride, size_t bytes) {
    uint32_t lines = from->n / (2 * reach * stride);
    int64_t shape[3] = {lines, reach, stride}, strides[3] = {2 * (int64_t)reach * stride, 0, 1};
    slot_new(run, to, from->n / 2, bytes);
    copy_strided(to->data, from->data + last * bytes, bytes, 3, shape, strides);
    if (from->undef)
        copy_strided(slot_new_undef(run, to), from->undef + last, 1, 3, shape, strides);
}

/* What blocks of `reach` elements have in all goes in front of the elements of the blocks behind
 * them: ir/order.h. */
static void scan_by_blocks(Run *run, const Inst *inst, Work *work, uint32_t length,
                           uint32_t stride) {
    const Op *op = inst->op;
    for (uint32_t reach = 1; reach < length && !run_halted(run); reach *= 2) {
        uint32_t half = reach * stride, lines = work->x[0].n / (2 * half);
        for (uint32_t k = 0; k < work->n; k++) {
            size_t bytes = operand_bytes(op, k);
            spread_last(run, &work->a[k], &work->x[k], half - stride, reach, stride, bytes);
            gather_chunks(run, &work->b[k], &work->x[k], half, half, 2 * half, lines, bytes);
        }
        combine(run, inst, work->a, work->b, work->out, half * lines);
        for (uint32_t k = 0; k < work->n && !run_halted(run); k++)
            scatter_scanned(run, &work->x[k], &work->out[k], 2 * half, half, operand_bytes(op, k));
    }
}

void interp_scan(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    const Type *type = op_in(op, 0)->type;
    int64_t axis = scan_attrs(op)->axis;
    bool reverse = scan_attrs(op)->reverse;
    uint32_t stride = axis_stride(type, axis), length = (uint32_t)type->shape[axis];
    uint32_t line = length * stride, lines = (uint32_t)type_numel(type) / line;
    Work work = work_begin(run, inst);
    for (uint32_t k = 0; k < work.n; k++)
        if (reverse)
            reverse_axis(run, &work.x[k], type, axis, operand_bytes(op, k));
        else
            make_private(run, &work.x[k], operand_bytes(op, k));
    const bool by_blocks = op_keeps_order(op);
    if (by_blocks)
        scan_by_blocks(run, inst, &work, length, stride);
    for (uint32_t reach = 1; !by_blocks && reach < length && !run_halted(run); reach *= 2) {
        uint32_t skip = reach * stride, tail = line - skip;
        for (uint32_t k = 0; k < work.n; k++) {
            size_t bytes = operand_bytes(op, k);
            gather_chunks(run, &work.a[k], &work.x[k], 0, tail, line, lines, bytes);
            gather_chunks(run, &work.b[k], &work.x[k], skip, tail, line, lines, bytes);
        }
        combine(run, inst, work.a, work.b, work.out, tail * lines);
        for (uint32_t k = 0; k < work.n && !run_halted(run); k++)
            scatter_scanned(run, &work.x[k], &work.out[k], line, skip, operand_bytes(op, k));
    }
    for (uint32_t k = 0; scan_attrs(op)->exclusive && k < work.n && !run_halted(run); k++)
        shift_lines(&work.x[k], line, stride, operand_bytes(op, k));
    for (uint32_t k = 0; reverse && k < work.n && !run_halted(run); k++)
        reverse_axis(run, &work.x[k], type, axis, operand_bytes(op, k));
    results_from(run, inst, work.x);
    work_end(run, &work);
}

static void map_one_by_one(Run *run, const Inst *inst, Slot *out, uint32_t n) {
    const Op *op = inst->op;
    Slot *one = inst->carry, *one_out = one + op->nin;
    for (uint32_t k = 0; k < op->nout; k++)
        slot_new(run, &out[k], n, result_bytes(op, k));
    for (uint32_t i = 0; i < n && !run_halted(run); i++) {
        for (uint32_t k = 0; k < op->nin; k++)
            slot_view(run, &one[k], in_slot(run, op, k), i, 1, operand_bytes(op, k));
        run_at_once(run, inst, one, NULL, one_out, 1);
        for (uint32_t k = 0; k < op->nout && !run_halted(run); k++)
            copy_result(run, &out[k], &one_out[k], i, result_bytes(op, k));
    }
    for (uint32_t k = 0; k < op->nin + op->nout; k++)
        slot_clear(run, &one[k]);
}

void interp_map(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    uint32_t n = (uint32_t)type_numel(op_in(op, 0)->type);
    Slot *in = inst->carry, *out = in + op->nin + op->nout;
    if (inst->vectorised) {
        for (uint32_t k = 0; k < op->nin; k++)
            slot_share(run, &in[k], in_slot(run, op, k));
        run_at_once(run, inst, in, NULL, out, n);
        for (uint32_t k = 0; k < op->nin; k++)
            slot_clear(run, &in[k]);
    } else {
        map_one_by_one(run, inst, out, n);
    }
    results_from(run, inst, out);
    for (uint32_t k = 0; k < op->nout; k++)
        slot_clear(run, &out[k]);
}
