/* Constants, indices, shape ops, layout conversions and shared memory: ops that move elements and
 * change no value. Undefinedness moves along with the elements. */
#include "interp/interp_internal.h"

/* Copies */

#define COPY_STRIDED(T)                                                                            \
    do {                                                                                           \
        const T *from_ = src;                                                                      \
        T *to_ = dst;                                                                              \
        for (int64_t i_ = 0; i_ < n; i_++)                                                         \
            to_[i_] = from_[i_ * stride];                                                          \
    } while (0)

static void copy_row(void *dst, const void *src, size_t element_bytes, int64_t n, int64_t stride) {
    if (stride == 1) {
        memcpy(dst, src, (size_t)n * element_bytes);
        return;
    }
    switch (element_bytes) {
    case 1:
        COPY_STRIDED(uint8_t);
        return;
    case 2:
        COPY_STRIDED(uint16_t);
        return;
    case 4:
        COPY_STRIDED(uint32_t);
        return;
    default:
        COPY_STRIDED(uint64_t);
        return;
    }
}

void copy_strided(void *dst, const void *src, size_t element_bytes, int rank, const int64_t *shape,
                  const int64_t *strides) {
    if (rank <= 1) {
        copy_row(dst, src, element_bytes, rank ? shape[0] : 1, rank ? strides[0] : 1);
        return;
    }
    int64_t below = 1;
    for (int d = 1; d < rank; d++)
        below *= shape[d];
    for (int64_t i = 0; i < shape[0]; i++)
        copy_strided((char *)dst + (size_t)(i * below) * element_bytes,
                     (const char *)src + i * strides[0] * (int64_t)element_bytes, element_bytes,
                     rank - 1, shape + 1, strides + 1);
}

static void copy_slot(Run *run, Slot *to, const Slot *from, size_t element_bytes, int rank,
                      const int64_t *shape, const int64_t *strides) {
    copy_strided(to->data, from->data, element_bytes, rank, shape, strides);
    if (from->undef)
        copy_strided(slot_new_undef(run, to), from->undef, 1, rank, shape, strides);
}

static void row_major_strides(const Type *type, int64_t *strides) {
    int64_t stride = 1;
    for (int d = type->rank; d-- > 0; stride *= type->shape[d])
        strides[d] = stride;
}

/* Constants, indices */

static void fill(void *data, size_t element_bytes, uint32_t n, uint64_t bits) {
    int64_t shape = n, stride = 0;
    copy_strided(data, &bits, element_bytes, 1, &shape, &stride);
}

void interp_constant_int(Run *run, const Inst *inst) {
    const Type *type = op_out(inst->op)->type;
    uint64_t bits = (uint64_t)constant_int_attrs(inst->op)->value;
    Slot *out = new_result(run, inst->op, 0);
    fill(out->data, (size_t)type_element_bytes(type), out->n, type_is_bool(type) ? bits & 1 : bits);
}

void interp_constant_float(Run *run, const Inst *inst) {
    const Type *type = op_out(inst->op)->type;
    uint64_t bits = float_to_bits(type->dtype, constant_float_attrs(inst->op)->value);
    Slot *out = new_result(run, inst->op, 0);
    fill(out->data, (size_t)type_element_bytes(type), out->n, bits);
}

void interp_undef(Run *run, const Inst *inst) {
    Slot *out = new_result(run, inst->op, 0);
    fill(out->data, (size_t)type_element_bytes(op_out(inst->op)->type), out->n, 0);
    memset(slot_new_undef(run, out), origin_of(run, inst->op, UNDEF_UNDEF), out->n);
}

void interp_program_id(Run *run, const Inst *inst) {
    fill(new_result(run, inst->op, 0)->data, 4, 1, run->pid[program_id_attrs(inst->op)->axis]);
}

void interp_num_programs(Run *run, const Inst *inst) {
    fill(new_result(run, inst->op, 0)->data, 4, 1,
         run->options->grid[num_programs_attrs(inst->op)->axis]);
}

/* A CTA stands where the program along axis 0 does. */
void interp_cta_id(Run *run, const Inst *inst) {
    fill(new_result(run, inst->op, 0)->data, 4, 1, run->pid[0]);
}

void interp_cta_count(Run *run, const Inst *inst) {
    fill(new_result(run, inst->op, 0)->data, 4, 1, run->ctas);
}

/* There is no cache: the priority alone. */
void interp_cache_policy(Run *run, const Inst *inst) {
    bool on = *(const uint8_t *)in_slot(run, inst->op, 0)->data & 1;
    uint64_t priority = on ? (uint64_t)cache_policy_attrs(inst->op)->evict : EVICT_NORMAL;
    fill(new_result(run, inst->op, 0)->data, 8, 1, priority);
}

/* One team runs all programs of the CTA. */
void interp_team_id(Run *run, const Inst *inst) {
    fill(new_result(run, inst->op, 0)->data, 4, 1, 0);
}

void interp_team_count(Run *run, const Inst *inst) {
    fill(new_result(run, inst->op, 0)->data, 4, 1, 1);
}

void interp_range(Run *run, const Inst *inst) {
    Slot *out = new_result(run, inst->op, 0);
    uint32_t *data = (uint32_t *)out->data, start = (uint32_t)range_attrs(inst->op)->start;
    for (uint32_t i = 0; i < out->n; i++)
        data[i] = start + i;
}

/* Shapes */

static void share_operand(Run *run, const Inst *inst) {
    slot_share(run, value_slot(run, op_out(inst->op)), in_slot(run, inst->op, 0));
}

void interp_splat(Run *run, const Inst *inst) {
    const Type *type = op_out(inst->op)->type;
    slot_expand(run, value_slot(run, op_out(inst->op)), in_slot(run, inst->op, 0),
                run_numel(run, type), (size_t)type_element_bytes(type));
}

void interp_expand_dims(Run *run, const Inst *inst) {
    share_operand(run, inst);
}

void interp_reshape(Run *run, const Inst *inst) {
    share_operand(run, inst);
}

void interp_broadcast(Run *run, const Inst *inst) {
    const Type *from = op_in(inst->op, 0)->type, *type = op_out(inst->op)->type;
    int64_t strides[MAX_RANK];
    row_major_strides(from, strides);
    for (int d = 0; d < from->rank; d++)
        if (from->shape[d] == 1)
            strides[d] = 0;
    copy_slot(run, new_result(run, inst->op, 0), in_slot(run, inst->op, 0),
              (size_t)type_element_bytes(type), type->rank, type->shape, strides);
}

void interp_transpose(Run *run, const Inst *inst) {
    const Type *type = op_out(inst->op)->type;
    int64_t strides[MAX_RANK], moved[MAX_RANK];
    row_major_strides(op_in(inst->op, 0)->type, strides);
    for (int d = 0; d < type->rank; d++)
        moved[d] = strides[transpose_attrs(inst->op)->order.ptr[d]];
    copy_slot(run, new_result(run, inst->op, 0), in_slot(run, inst->op, 0),
              (size_t)type_element_bytes(type), type->rank, type->shape, moved);
}

#define INTERLEAVE(T)                                                                              \
    do {                                                                                           \
        const T *a_ = a, *b_ = b;                                                                  \
        T *to_ = dst;                                                                              \
        for (uint32_t i_ = 0; i_ < n; i_++) {                                                      \
            to_[2 * i_] = a_[i_];                                                                  \
            to_[2 * i_ + 1] = b_[i_];                                                              \
        }                                                                                          \
    } while (0)

static void interleave(void *dst, const void *a, const void *b, uint32_t n, size_t element_bytes) {
    switch (element_bytes) {
    case 1:
        INTERLEAVE(uint8_t);
        return;
    case 2:
        INTERLEAVE(uint16_t);
        return;
    case 4:
        INTERLEAVE(uint32_t);
        return;
    default:
        INTERLEAVE(uint64_t);
        return;
    }
}

void interp_join(Run *run, const Inst *inst) {
    const Slot *a = in_slot(run, inst->op, 0), *b = in_slot(run, inst->op, 1);
    Slot *out = new_result(run, inst->op, 0);
    size_t bytes = (size_t)type_element_bytes(op_out(inst->op)->type);
    interleave(out->data, a->data, b->data, a->n, bytes);
    if (!a->undef && !b->undef)
        return;
    slot_new_undef(run, out);
    for (uint32_t i = 0; i < a->n; i++) {
        out->undef[2 * i] = a->undef ? a->undef[i] : 0;
        out->undef[2 * i + 1] = b->undef ? b->undef[i] : 0;
    }
}

void interp_split(Run *run, const Inst *inst) {
    const Slot *x = in_slot(run, inst->op, 0);
    size_t bytes = (size_t)type_element_bytes(op_in(inst->op, 0)->type);
    int64_t n = x->n / 2, stride = 2;
    for (uint32_t half = 0; half < 2; half++) {
        Slot *out = new_result(run, inst->op, half);
        copy_strided(out->data, x->data + half * bytes, bytes, 1, &n, &stride);
        if (!x->undef)
            continue;
        copy_strided(slot_new_undef(run, out), x->undef + half, 1, 1, &n, &stride);
        slot_settle(run, out);
    }
}

/* The part of the result's shape that begins at element `at`. */
static void copy_part(Run *run, const Inst *inst, const Type *whole) {
    const Type *part = op_out(inst->op)->type;
    const Slot *from = in_slot(run, inst->op, 0);
    size_t bytes = (size_t)type_element_bytes(part), at = (size_t)op_at(inst->op);
    Slot *out = new_result(run, inst->op, 0);
    int64_t strides[MAX_RANK];
    row_major_strides(whole, strides);
    copy_strided(out->data, (const char *)from->data + at * bytes, bytes, part->rank, part->shape,
                 strides);
    if (!from->undef)
        return;
    copy_strided(slot_new_undef(run, out), from->undef + at, 1, part->rank, part->shape, strides);
    slot_settle(run, out);
}

void interp_slice(Run *run, const Inst *inst) {
    copy_part(run, inst, op_in(inst->op, 0)->type);
}

void interp_convert_layout(Run *run, const Inst *inst) {
    share_operand(run, inst);
}

/* Hints */

/* Elements along dimension d lie `stride` apart; a line is all indices of that dimension. */
typedef struct Lines {
    int64_t length, stride, count;
} Lines;

static Lines lines_along(const Type *type, int d) {
    Lines lines = {1, 1, type_numel(type)};
    if (type->rank == 0)
        return lines;
    lines.length = type->shape[d];
    lines.count /= lines.length;
    for (int e = d + 1; e < type->rank; e++)
        lines.stride *= type->shape[e];
    return lines;
}

static int64_t line_element(const Lines *lines, int64_t line, int64_t k) {
    return (line / lines->stride * lines->length + k) * lines->stride + line % lines->stride;
}

/* Does an element have another index than the first of its run, of which only that is looked at? */
static bool differs_in_run(const Slot *index, const Type *type, uint32_t i, uint32_t width) {
    uint32_t first = i - i % width;
    bool known = !index->undef || (!index->undef[i] && !index->undef[first]);
    return known && slot_int(index, type, i) != slot_int(index, type, first);
}

/* What the indices choose along the axis from what lies in the shape of `from`. */
static void choose_by_index(Run *run, const Inst *inst, const Type *from, int axis) {
    const Op *op = inst->op;
    const Type *chosen = op_in(op, 1)->type;
    const Slot *src = in_slot(run, op, 0), *index = in_slot(run, op, 1);
    Slot *out = new_result(run, op, 0);
    size_t bytes = (size_t)type_element_bytes(from);
    Lines to = lines_along(chosen, axis), of = lines_along(from, axis);
    slot_new_undef(run, out);
    for (uint32_t i = 0; i < out->n; i++) {
        int64_t line = i / (to.stride * to.length) * to.stride + i % to.stride;
        int64_t at = slot_int(index, chosen, i);
        if (differs_in_run(index, chosen, i, op_access_width(op))) {
            finding(run, op, interp_width, "gather", op_access_width(op), "the indices differ",
                    finding_place(run, chosen, i));
            break;
        }
        bool known = !index->undef || !index->undef[i], lies_in = at >= 0 && at < of.length;
        size_t place = (size_t)line_element(&of, line, known && lies_in ? at : 0);
        memcpy((char *)out->data + i * bytes, (const char *)src->data + place * bytes, bytes);
        out->undef[i] = !known       ? index->undef[i]
                        : !lies_in   ? origin_of(run, op, UNDEF_NO_ELEMENT)
                        : src->undef ? src->undef[place]
                                     : 0;
    }
    slot_settle(run, out);
}

void interp_gather(Run *run, const Inst *inst) {
    choose_by_index(run, inst, op_in(inst->op, 0)->type, (int)gather_attrs(inst->op)->axis);
}

void interp_local_gather(Run *run, const Inst *inst) {
    choose_by_index(run, inst, op_in(inst->op, 0)->type, (int)local_gather_attrs(inst->op)->axis);
}

/* Adds to the counts; an element that is undefined might have been any of them. */
static void count_elements(Run *run, const Op *op, Slot *counts) {
    const Type *type = op_in(op, 0)->type;
    const Slot *x = in_slot(run, op, 0);
    int32_t *count = (int32_t *)counts->data;
    for (uint32_t i = 0; i < x->n; i++) {
        int64_t bin = slot_int(x, type, i);
        if (x->undef && x->undef[i])
            memset(counts->undef, x->undef[i], counts->n);
        else if (bin >= 0 && bin < counts->n)
            count[bin] = (int32_t)((uint32_t)count[bin] + 1);
    }
}

void interp_histogram(Run *run, const Inst *inst) {
    Slot *out = new_result(run, inst->op, 0);
    memset(out->data, 0, out->n * sizeof(int32_t));
    memset(slot_new_undef(run, out), 0, out->n);
    count_elements(run, inst->op, out);
    slot_settle(run, out);
}

void interp_local_count(Run *run, const Inst *inst) {
    count_elements(run, inst->op, in_slot(run, inst->op, 1));
}

typedef enum Hint { HINT_DIVISIBLE, HINT_CONTIGUOUS, HINT_CONSTANT } Hint;

/* The value that the hint foretells for element k of a line from its neighbour before, if k is
 * inside a run; otherwise element k is first of its run. */
static bool hint_holds(Hint hint, int64_t fact, int64_t unit, int64_t k, int64_t before,
                       int64_t value) {
    switch (hint) {
    case HINT_DIVISIBLE:
        return (k > 0 && value == before + unit) || value % fact == 0;
    case HINT_CONTIGUOUS:
        return k % fact == 0 || value == before + unit;
    case HINT_CONSTANT:
        return k % fact == 0 || value == before;
    }
    return true;
}

static const char *hint_text(Hint hint) {
    switch (hint) {
    case HINT_DIVISIBLE:
        return "runs that begin with a multiple of";
    case HINT_CONTIGUOUS:
        return "consecutive values in runs of";
    case HINT_CONSTANT:
        return "equal values in runs of";
    }
    return "";
}

/* A hint that does not hold is a warning: what kernels read at places that wrap around, which they
 * then mask, they often promise to be what it would be without; results here do not depend on it.
 */
static void check_line(Run *run, const Inst *inst, Hint hint, int64_t fact, const Lines *lines,
                       int64_t line) {
    const Op *op = inst->op;
    const Type *type = op_in(op, 0)->type;
    const Slot *x = in_slot(run, op, 0);
    int64_t unit = type_is_pointer(type) ? dtype_bytes(type->dtype) : 1, before = 0;
    for (int64_t k = 0; k < lines->length; k++) {
        uint32_t i = (uint32_t)line_element(lines, line, k);
        int64_t value = slot_int(x, type, i);
        bool known = !x->undef || !x->undef[i];
        if (known && !hint_holds(hint, fact, unit, k, before, value)) {
            finding(run, op, interp_hint, hint_text(hint), (long long)fact, (long long)value,
                    finding_place(run, type, i));
            return;
        }
        before = value;
    }
}

static void check_hint(Run *run, const Inst *inst, Hint hint) {
    const Type *type = op_in(inst->op, 0)->type;
    Ints facts = op_values(inst->op);
    for (uint32_t d = 0; d < facts.len && !run->stopped; d++) {
        if (facts.ptr[d] <= 1)
            continue;
        Lines lines = lines_along(type, (int)d);
        for (int64_t line = 0; line < lines.count && !run->stopped; line++)
            check_line(run, inst, hint, facts.ptr[d], &lines, line);
    }
    share_operand(run, inst);
}

void interp_optimization_barrier(Run *run, const Inst *inst) {
    share_operand(run, inst);
}

void interp_hint_divisible(Run *run, const Inst *inst) {
    check_hint(run, inst, HINT_DIVISIBLE);
}

void interp_hint_contiguous(Run *run, const Inst *inst) {
    check_hint(run, inst, HINT_CONTIGUOUS);
}

void interp_hint_constant(Run *run, const Inst *inst) {
    check_hint(run, inst, HINT_CONSTANT);
}

/* Shared memory: an array per buffer with all its copies, whatever offset it was given. */

void interp_local_alloc(Run *run, const Inst *inst) {
    const Value *buffer = op_out(inst->op);
    size_t bytes = (size_t)type_element_bytes(buffer->type);
    uint32_t n = (uint32_t)(type_numel(buffer->type) * local_copies(buffer));
    Slot *out = value_slot(run, buffer);
    memset(slot_new(run, out, n, bytes), 0, n * bytes);
    memset(slot_new_undef(run, out), origin_of(run, inst->op, UNDEF_UNWRITTEN_SHARED), n);
}

void interp_local_view(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    const Type *type = op_out(op)->type;
    uint32_t n = (uint32_t)type_numel(type);
    int64_t copies = local_copies(op_in(op, 0)),
            index = slot_int(in_slot(run, op, 1), op_in(op, 1)->type, 0);
    if (!require_defined(run, op, 1, 0, "the number of a buffer's copy"))
        index = 0;
    if (index < 0 || index >= copies) {
        finding(run, op, interp_view, (long long)index, (long long)copies,
                finding_place(run, op_in(op, 1)->type, 0));
        index = 0;
    }
    uint32_t copy = (uint32_t)((index + local_view_attrs(op)->ahead) % copies);
    slot_view(run, value_slot(run, op_out(op)), in_slot(run, op, 0), copy * n, n,
              (size_t)type_element_bytes(type));
}

void interp_local_store(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    const Type *whole = op_in(op, 0)->type, *part = op_in(op, 1)->type;
    const Slot *value = in_slot(run, op, 0);
    Slot *buffer = in_slot(run, op, 1);
    size_t bytes = (size_t)type_element_bytes(part), at = (size_t)local_store_attrs(op)->at;
    int64_t strides[MAX_RANK];
    row_major_strides(whole, strides);
    copy_strided(buffer->data, (const char *)value->data + at * bytes, bytes, part->rank,
                 part->shape, strides);
    if (value->undef)
        copy_strided(buffer->undef, value->undef + at, 1, part->rank, part->shape, strides);
    else
        memset(buffer->undef, 0, buffer->n);
}

/* The numbers of `part`, row by row, to where they stand in `whole` from element `at` on. */
static void scatter_part(void *to, const void *from, size_t bytes, const Type *whole,
                         const Type *part, int64_t at) {
    int64_t strides[MAX_RANK], row = part->shape[part->rank - 1], n = type_numel(part);
    row_major_strides(whole, strides);
    for (int64_t first = 0; first < n; first += row) {
        int64_t place = at, rest = first / row;
        for (int d = part->rank - 2; d >= 0; rest /= part->shape[d--])
            place += rest % part->shape[d] * strides[d];
        memcpy((char *)to + (size_t)place * bytes, (const char *)from + (size_t)first * bytes,
               (size_t)row * bytes);
    }
}

static void load_into(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    const Type *whole = op_out(op)->type, *part = op_in(op, 0)->type;
    const Slot *buffer = in_slot(run, op, 0), *old = in_slot(run, op, 1);
    size_t bytes = (size_t)type_element_bytes(part);
    Slot *out = new_result(run, op, 0);
    memcpy(out->data, old->data, out->n * bytes);
    scatter_part(out->data, buffer->data, bytes, whole, part, local_load_attrs(op)->at);
    slot_new_undef(run, out);
    if (old->undef)
        memcpy(out->undef, old->undef, out->n * sizeof *out->undef);
    else
        memset(out->undef, 0, out->n * sizeof *out->undef);
    scatter_part(out->undef, buffer->undef, sizeof *out->undef, whole, part,
                 local_load_attrs(op)->at);
    slot_settle(run, out);
}

void interp_local_load(Run *run, const Inst *inst) {
    if (inst->op->nin > 1)
        load_into(run, inst);
    else
        copy_part(run, inst, op_in(inst->op, 0)->type);
}

void interp_barrier(Run *run, const Inst *inst) {}

/* Programs run one after another here, and there is one way to memory. */
void interp_fence_copies(Run *run, const Inst *inst) {}

/* So do launches. */
void interp_grid_wait(Run *run, const Inst *inst) {}

void interp_grid_launch_dependents(Run *run, const Inst *inst) {}
