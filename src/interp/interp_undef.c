/* What is undefined of an elementwise result. An element is undefined where an operand's is, unless
 * the result is the same whatever that element is: a select's side that is not chosen, and what a
 * defined operand decides alone (0 in a product or an `and`, the least number in a minimum, ..). So
 * a mask is off where one of its conditions is, whatever the others say there. Passes may take it
 * that nothing is divided by zero: what is made of such a quotient stays undefined. */
#include "interp/interp_internal.h"

#include <math.h>

static const uint8_t *element_at(const Elem *e, uint32_t operand, uint32_t i, size_t bytes) {
    return (const uint8_t *)e->in[operand] + i * bytes;
}

/* An offset is narrower than its pointer. */
static uint64_t int_at(const Elem *e, uint32_t operand, uint32_t i) {
    uint64_t value = 0;
    size_t bytes = (size_t)type_element_bytes(op_in(e->op, operand)->type);
    memcpy(&value, element_at(e, operand, i, bytes), bytes);
    return value;
}

static double float_at(const Elem *e, uint32_t operand, uint32_t i) {
    double value;
    size_t bytes = (size_t)dtype_bytes(e->dtype);
    floats_load_double(e->dtype, element_at(e, operand, i, bytes), &value, 1);
    return value;
}

/* Nothing is below the least number and nothing above the greatest. `is_right`: the operand stands
 * on the right. */
static bool decides_cmpi(IntPredicate predicate, uint64_t value, uint64_t ones, bool is_right) {
    uint64_t least = ones ^ ones >> 1; /* signed */
    switch (predicate) {
    case IPRED_ULT:
    case IPRED_UGE:
        return value == (is_right ? 0 : ones);
    case IPRED_UGT:
    case IPRED_ULE:
        return value == (is_right ? ones : 0);
    case IPRED_SLT:
    case IPRED_SGE:
        return value == (is_right ? least : least ^ ones);
    case IPRED_SGT:
    case IPRED_SLE:
        return value == (is_right ? least ^ ones : least);
    case IPRED_EQ:
    case IPRED_NE:
    case IPRED_COUNT:
        break;
    }
    return false;
}

/* Comparisons with NaN are all false but for `une`, which is true. */
static bool decides_cmpf(FloatPredicate predicate, double value, bool is_right) {
    if (isnan(value))
        return true;
    switch (predicate) {
    case FPRED_OLT:
        return isinf(value) && signbit(value) == is_right;
    case FPRED_OGT:
        return isinf(value) && signbit(value) != is_right;
    case FPRED_OEQ:
    case FPRED_UNE:
    case FPRED_OLE: /* a NaN says no to what any number says yes */
    case FPRED_OGE:
    case FPRED_COUNT:
        break;
    }
    return false;
}

/* The number that decides a result, whichever operand it is. */
typedef enum Absorbing {
    ABSORBS_NONE,
    ABSORBS_ZERO,
    ABSORBS_ONES,
    ABSORBS_LEAST,
    ABSORBS_MOST
} Absorbing;

static const Absorbing absorbing[OP_COUNT] = {
    [OP_andi] = ABSORBS_ZERO,   [OP_ori] = ABSORBS_ONES,   [OP_muli] = ABSORBS_ZERO,
    [OP_mulhui] = ABSORBS_ZERO, [OP_minui] = ABSORBS_ZERO, [OP_maxui] = ABSORBS_ONES,
    [OP_minsi] = ABSORBS_LEAST, [OP_maxsi] = ABSORBS_MOST,
};

static bool decides_int(const Elem *e, uint32_t operand, uint32_t i) {
    uint64_t value = int_at(e, operand, i), ones = UINT64_MAX >> (64 - dtype_info[e->dtype].bits);
    uint64_t least = ones ^ ones >> 1; /* signed */
    switch (absorbing[e->op->code]) {
    case ABSORBS_ZERO:
        return value == 0;
    case ABSORBS_ONES:
        return value == ones;
    case ABSORBS_LEAST:
        return value == least;
    case ABSORBS_MOST:
        return value == (least ^ ones);
    case ABSORBS_NONE:
        break;
    }
    if (e->op->code == OP_cmpi)
        return decides_cmpi(cmpi_attrs(e->op)->pred, value, ones, operand == 1);
    return e->op->code == OP_remui && operand == 1 && value == 1;
}

/* Whether the result is the same whatever the other operand is. */
static bool decides(const Elem *e, uint32_t operand, uint32_t i) {
    switch (e->op->code) {
    case OP_minf:
        return float_at(e, operand, i) == -INFINITY;
    case OP_maxf:
        return float_at(e, operand, i) == INFINITY;
    case OP_minf_nan:
    case OP_maxf_nan:
        return isnan(float_at(e, operand, i));
    case OP_cmpf:
        return decides_cmpf(cmpf_attrs(e->op)->pred, float_at(e, operand, i), operand == 1);
    default:
        return dtype_is_int(e->dtype) && decides_int(e, operand, i);
    }
}

static uint8_t origin_at(const Elem *e, uint32_t operand, uint32_t i) {
    return e->in_undef[operand] ? e->in_undef[operand][i] : 0;
}

/* Of a select: the side that is chosen; whatever is chosen when both are the same. */
static uint8_t select_origin(const Elem *e, uint32_t i) {
    uint8_t cond = origin_at(e, 0, i), a = origin_at(e, 1, i), b = origin_at(e, 2, i);
    size_t bytes = (size_t)dtype_bytes(e->out_dtype);
    if (!cond)
        return ((const uint8_t *)e->in[0])[i] ? a : b;
    bool same = !memcmp(element_at(e, 1, i, bytes), element_at(e, 2, i, bytes), bytes);
    return same && !a && !b ? 0 : cond;
}

static uint8_t result_origin(const Elem *e, uint32_t i) {
    if (e->op->code == OP_select)
        return select_origin(e, i);
    uint8_t origin = 0;
    for (uint32_t operand = 0; operand < e->op->nin; operand++) {
        uint8_t own = origin_at(e, operand, i);
        origin = own ? own : origin;
    }
    if (origin && e->op->nin == 2 && e->run->origins[origin].cause != UNDEF_DIVISION)
        for (uint32_t operand = 0; operand < 2; operand++)
            if (!origin_at(e, operand, i) && decides(e, operand, i))
                return 0;
    return origin;
}

void elem_join_undef(Elem *e) {
    bool any = false;
    for (uint32_t operand = 0; operand < e->op->nin; operand++)
        any |= e->in_undef[operand] != NULL;
    if (!any)
        return;
    if (!e->result->undef)
        slot_new_undef(e->run, e->result);
    uint8_t *to = e->result->undef;
    for (uint32_t i = 0; i < e->n; i++) {
        uint8_t origin = result_origin(e, i);
        to[i] = origin ? origin : to[i];
    }
    slot_settle(e->run, e->result);
}
