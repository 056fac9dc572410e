/* Matrix products.
 *
 * Products of narrow floats are exact in double and their sums nearly so: the one rounding that
 * matters is the last, whatever order the hardware takes. f32 operands are multiplied as
 * `precision` says. tf32 keeps 10 bits of the fraction: tensor cores drop the others, and so does
 * this. The others write an operand as a sum of narrow parts, each the rounding of what the parts
 * before left over (tf32's to nearest with ties away from zero, as cvt.rna.tf32 does; the last one
 * is cut by the tensor core), and add products of parts. A small product may be NaN where the large
 * one is infinite or an operand is: the sum of the small ones counts as 0 then. */
#include "interp/interp_internal.h"

#include <math.h>

/* What is multiplied and added to, and its types; f32 as `precision` says. */
typedef struct Dot {
    const Type *type[3];
    const Slot *in[3];
    DotPrecision precision;
} Dot;

typedef struct DotShape {
    uint32_t batches, m, n, k;
} DotShape;

static DotShape dot_shape(const Op *op) {
    const Type *a = op_in(op, 0)->type, *b = op_in(op, 1)->type;
    DotShape shape = {1, (uint32_t)a->shape[a->rank - 2], (uint32_t)b->shape[b->rank - 1],
                      (uint32_t)a->shape[a->rank - 1]};
    for (int d = 0; d + 2 < a->rank; d++)
        shape.batches *= (uint32_t)a->shape[d];
    return shape;
}

/* How f32 operands are taken apart: fraction bits of a part, and which parts of a and b are
 * multiplied besides the first of each, in the order of summation. */
enum { MAX_PARTS = 3, MAX_SMALL = 5, BF16_BITS = 7, TF32_BITS = 10, F32_BITS = 23 };

typedef struct Split {
    int bits, parts, nsmall;
    struct {
        uint8_t a, b;
    } small[MAX_SMALL];
} Split;

static const Split splits[PRECISION_COUNT] = {
    [PRECISION_TF32] = {.bits = TF32_BITS, .parts = 1},
    [PRECISION_TF32X3] = {.bits = TF32_BITS, .parts = 2, .nsmall = 2, .small = {{1, 0}, {0, 1}}},
    [PRECISION_IEEE] = {.bits = F32_BITS, .parts = 1},
    [PRECISION_BF16X3] = {.bits = BF16_BITS, .parts = 3, .nsmall = 2, .small = {{1, 0}, {0, 1}}},
    [PRECISION_BF16X6] = {.bits = BF16_BITS,
                          .parts = 3,
                          .nsmall = 5,
                          .small = {{1, 1}, {2, 0}, {0, 2}, {1, 0}, {0, 1}}},
};

/* `x`, an f32, with `bits` bits of fraction: bf16 to even, tf32 away from zero or `cut`. */
static double round_fraction(float x, int bits, bool cut) {
    if (!isfinite(x) || bits == F32_BITS)
        return x;
    uint32_t u, unit = 1u << (F32_BITS - bits);
    memcpy(&u, &x, sizeof u);
    if (!cut)
        u += bits == BF16_BITS ? unit / 2 - 1 + (u / unit & 1) : unit / 2;
    u &= ~(unit - 1);
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Operand `index` as its parts, one array after another. */
static Buf *load_parts(Run *run, const Dot *dot, uint32_t index, const Split *split) {
    const Slot *slot = dot->in[index];
    DType dtype = dot->type[index]->dtype;
    uint32_t n = slot->n;
    Buf *buf = buf_new(run, (size_t)split->parts * n * sizeof(double));
    double *values = (double *)buf->bytes;
    floats_load_double(dtype, slot->data, values, n);
    if (dtype != DT_F32)
        return buf;
    for (uint32_t i = 0; i < n; i++) {
        float rest = (float)values[i];
        for (int part = 0; part < split->parts; part++) {
            bool cut = split->bits == TF32_BITS && part == split->parts - 1;
            double rounded = round_fraction(rest, split->bits, cut);
            values[(size_t)part * n + i] = rounded;
            rest -= (float)rounded;
        }
    }
    return buf;
}

/* sum[n] += x[0] * y[n] + .., in this order, of `count` rows of y. Sanitizers would look at every
 * access here, where checked builds are most of the time: add_products has them look at the ends of
 * what is read and written. */
__attribute__((no_sanitize("address", "undefined", "thread"))) static void
add_row(const double *x, const double *restrict y, uint32_t count, uint32_t width,
        double *restrict sum) {
    uint32_t k = 0;
    /* Four at a time: a sum is loaded and stored once for them. */
    for (; k + 4 <= count; k += 4) {
        const double x0 = x[k], x1 = x[k + 1], x2 = x[k + 2], x3 = x[k + 3];
        const double *y0 = y + (size_t)k * width, *y1 = y0 + width, *y2 = y1 + width;
        const double *y3 = y2 + width;
        for (uint32_t n = 0; n < width; n++)
            sum[n] = sum[n] + x0 * y0[n] + x1 * y1[n] + x2 * y2[n] + x3 * y3[n];
    }
    for (; k < count; k++)
        for (uint32_t n = 0; n < width; n++)
            sum[n] += x[k] * y[(size_t)k * width + n];
}

static void touch_ends(const double *first, size_t count) {
    const volatile double *values = first;
    if (count)
        (void)values[0], (void)values[count - 1];
}

/* sums += a * b */
static void add_products(DotShape s, const double *a, const double *b, double *sums) {
    touch_ends(a, (size_t)s.batches * s.m * s.k);
    touch_ends(b, (size_t)s.batches * s.k * s.n);
    touch_ends(sums, (size_t)s.batches * s.m * s.n);
    for (uint32_t row = 0; row < s.batches * s.m; row++)
        add_row(a + (size_t)row * s.k, b + (size_t)(row / s.m) * s.k * s.n, s.k, s.n,
                sums + (size_t)row * s.n);
}

static void add_small_products(Run *run, const Split *split, DotShape s, const double *a,
                               const double *b, double *sums) {
    uint32_t an = s.batches * s.m * s.k, bn = s.batches * s.k * s.n, n = s.batches * s.m * s.n;
    Buf *buf = buf_new(run, n * sizeof(double));
    double *small = (double *)buf->bytes;
    memset(small, 0, n * sizeof *small);
    for (int i = 0; i < split->nsmall; i++)
        add_products(s, a + (size_t)split->small[i].a * an, b + (size_t)split->small[i].b * bn,
                     small);
    for (uint32_t i = 0; i < n; i++)
        sums[i] += isnan(small[i]) ? 0 : small[i];
    buf_release(run, buf);
}

static void dot_floats(Run *run, const Dot *dot, DotShape s, Slot *out) {
    DType acc_dtype = dot->type[2]->dtype;
    bool is_f32 = dot->type[0]->dtype == DT_F32;
    const Split *split = &splits[is_f32 ? dot->precision : PRECISION_IEEE];
    Buf *a_buf = load_parts(run, dot, 0, split), *b_buf = load_parts(run, dot, 1, split);
    Buf *sums_buf = buf_new(run, out->n * sizeof(double));
    double *a = (double *)a_buf->bytes, *b = (double *)b_buf->bytes;
    double *sums = (double *)sums_buf->bytes;
    floats_load_double(acc_dtype, dot->in[2]->data, sums, out->n);
    if (split->nsmall)
        add_small_products(run, split, s, a, b, sums);
    add_products(s, a, b, sums);
    floats_store_double(acc_dtype, sums, out->data, out->n);
    buf_release(run, a_buf);
    buf_release(run, b_buf);
    buf_release(run, sums_buf);
}

static void dot_ints(const Dot *dot, DotShape s, Slot *out) {
    const Slot *a = dot->in[0], *b = dot->in[1], *acc = dot->in[2];
    const Type *type = dot->type[2];
    size_t bytes = (size_t)type_element_bytes(type);
    for (uint32_t row = 0; row < s.batches * s.m; row++)
        for (uint32_t n = 0; n < s.n; n++) {
            uint64_t sum = (uint64_t)slot_int(acc, type, row * s.n + n);
            for (uint32_t k = 0; k < s.k; k++) {
                int64_t x = slot_int(a, dot->type[0], row * s.k + k);
                int64_t y = slot_int(b, dot->type[1], (row / s.m * s.k + k) * s.n + n);
                sum += (uint64_t)x * (uint64_t)y;
            }
            memcpy(out->data + (row * s.n + n) * bytes, &sum, bytes);
        }
}

/* The first of `count` that is undefined, `stride` apart; `count`: none is. */
static uint32_t first_undef(const uint8_t *undef, uint32_t count, uint32_t stride) {
    uint32_t k = 0;
    while (undef && k < count && !undef[(size_t)k * stride])
        k++;
    return undef ? k : count;
}

/* An element is undefined when anything in its row of a, its column of b, or its acc is: it has
 * the origin of its acc, else of the first along K, a's in front of b's. */
static void dot_undef(Run *run, const Dot *dot, DotShape s, Slot *out) {
    const Slot *a = dot->in[0], *b = dot->in[1], *acc = dot->in[2];
    if (!a->undef && !b->undef && !acc->undef)
        return;
    slot_new_undef(run, out);
    Buf *columns_buf = buf_new(run, s.n * sizeof(uint32_t));
    uint32_t *columns = (uint32_t *)columns_buf->bytes; /* first_undef of a column of b */
    for (uint32_t row = 0; row < s.batches * s.m; row++) {
        const uint8_t *a_row = a->undef ? a->undef + (size_t)row * s.k : NULL;
        const uint8_t *b_part = b->undef ? b->undef + (size_t)(row / s.m) * s.k * s.n : NULL;
        for (uint32_t n = 0; n < s.n && row % s.m == 0; n++)
            columns[n] = first_undef(b_part ? b_part + n : NULL, s.k, s.n);
        const uint32_t in_a = first_undef(a_row, s.k, 1);
        for (uint32_t n = 0; n < s.n; n++) {
            uint8_t undef = acc->undef ? acc->undef[row * s.n + n] : 0;
            if (!undef && in_a < s.k && in_a <= columns[n])
                undef = a_row[in_a];
            else if (!undef && columns[n] < s.k)
                undef = b_part[(size_t)columns[n] * s.n + n];
            out->undef[row * s.n + n] = undef;
        }
    }
    buf_release(run, columns_buf);
    slot_settle(run, out);
}

static void compute(Run *run, const Dot *dot, DotShape shape, Slot *out) {
    if (type_is_float(dot->type[2]))
        dot_floats(run, dot, shape, out);
    else
        dot_ints(dot, shape, out);
    dot_undef(run, dot, shape, out);
}

void interp_dot(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    Dot dot = {.precision = dot_attrs(op)->precision};
    for (uint32_t i = 0; i < 3; i++) {
        dot.in[i] = in_slot(run, op, i);
        dot.type[i] = op_in(op, i)->type;
    }
    compute(run, &dot, dot_shape(op), new_result(run, op, 0));
}

/* out[j, i] = in[i, j] of a buffer of this type. */
static void turn(Run *run, const Slot *in, const Type *type, Slot *out) {
    uint32_t rows = (uint32_t)type->shape[0], columns = (uint32_t)type->shape[1];
    size_t bytes = (size_t)type_element_bytes(type);
    uint8_t *data = slot_new(run, out, rows * columns, bytes);
    uint8_t *undef = slot_new_undef(run, out);
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t j = 0; j < columns; j++) {
            memcpy(data + (j * rows + i) * bytes,
                   (const uint8_t *)in->data + (i * columns + j) * bytes, bytes);
            undef[j * rows + i] = in->undef ? in->undef[i * columns + j] : 0;
        }
    slot_settle(run, out);
}

/* Operand `index` as [M, K] or [K, N], in `room` where it lies otherwise. */
static const Slot *wgmma_operand(Run *run, const Op *op, uint32_t index, bool turned, Slot *room) {
    const Slot *in = in_slot(run, op, index);
    if (!turned)
        return in;
    turn(run, in, op_in(op, index)->type, room);
    return room;
}

/* Of products under way the elements have no value; a wgmma may add to them. */
static bool is_in_flight(const Run *run, uint8_t origin) {
    return origin && run->origins[origin].cause == UNDEF_IN_FLIGHT;
}

static bool is_under_way(const Run *run, const Op *op) {
    for (size_t i = 0; i < run->products.len; i++)
        if (run->products.data[i] == op)
            return true;
    return false;
}

/* `from` with the values of products: of all, or of those that are not under way any more. */
static void take_products(Run *run, Slot *to, const Slot *from, bool all) {
    const Slot held = *from;
    slot_share(run, to, from);
    if (!held.undef)
        return;
    Slot values = {0};
    slot_share(run, &values, to);
    uint8_t *undef = slot_new_undef(run, to);
    for (uint32_t i = 0; i < to->n; i++) {
        uint8_t origin = values.undef[i];
        bool done =
            is_in_flight(run, origin) && (all || !is_under_way(run, run->origins[origin].op));
        undef[i] = done ? 0 : origin;
    }
    slot_clear(run, &values);
    slot_settle(run, to);
}

/* The op's products join those under way, which it waits for unless it is `beside` them. */
static void note_products(Run *run, const Op *op) {
    bool beside = op_beside(op);
    if (!op_in_flight(op) || !beside)
        run->products.len = 0;
    if (!op_in_flight(op))
        return;
    vec_push(run->arena, &run->products, op);
    for (uint32_t i = 0; i < op->nout; i++) {
        Slot *out = value_slot(run, &op->out[i]);
        uint8_t origin = origin_of(run, op, UNDEF_IN_FLIGHT);
        if (!out->undef)
            memset(slot_new_undef(run, out), origin, out->n);
    }
}

/* Computed at once, also what is in flight. */
static void multiply(Run *run, const Op *op) {
    Slot turned_a = {0};
    bool turned = op_transposed(op) & 1;
    const Type *a = op_in(op, 0)->type;
    Dot dot = {.type = {a},
               .in = {wgmma_operand(run, op, 0, turned, &turned_a)},
               .precision = PRECISION_TF32};
    for (uint32_t i = 0; i < wgmma_products(op); i++) {
        Slot turned_b = {0};
        uint32_t sum = wgmma_sum_operand(op, i);
        const Type *acc = op_in(op, sum)->type;
        dot.in[1] = wgmma_operand(run, op, 1 + i, op_transposed(op) >> 1 & 1, &turned_b);
        Slot added = {0};
        take_products(run, &added, in_slot(run, op, sum), true);
        dot.in[2] = &added;
        dot.type[1] = op_in(op, 1 + i)->type;
        dot.type[2] = acc;
        DotShape shape = {1, (uint32_t)acc->shape[0], (uint32_t)acc->shape[1],
                          (uint32_t)a->shape[turned ? 0 : 1]};
        compute(run, &dot, shape, new_result(run, op, i));
        slot_clear(run, &turned_b);
        slot_clear(run, &added);
    }
    slot_clear(run, &turned_a);
    note_products(run, op);
}

static bool product_is_on(Run *run, const Op *op) {
    return op->nin < 4 || (require_defined(run, op, 3, 0, "the condition") &&
                           slot_int(in_slot(run, op, 3), op_in(op, 3)->type, 0) != 0);
}

void interp_wgmma(Run *run, const Inst *inst) {
    if (product_is_on(run, inst->op)) {
        multiply(run, inst->op);
        return;
    }
    Slot *out = new_result(run, inst->op, 0);
    memset(slot_new_undef(run, out), origin_of(run, inst->op, UNDEF_NO_PRODUCT), out->n);
}

void interp_wgmma_joint(Run *run, const Inst *inst) {
    multiply(run, inst->op);
}

void interp_wgmma_wait(Run *run, const Inst *inst) {
    const size_t pending = (size_t)wgmma_wait_attrs(inst->op)->pending, count = run->products.len;
    for (size_t i = 0; i < pending && count > pending; i++)
        run->products.data[i] = run->products.data[count - pending + i];
    run->products.len = count < pending ? count : pending;
    take_products(run, value_slot(run, op_out(inst->op)), in_slot(run, inst->op, 0), false);
}
