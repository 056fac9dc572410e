/* Elementwise ops on integers, select, and the driver of all elementwise ops.
 *
 * The driver fetches operands (a scalar from outside a region is repeated), makes the result, calls
 * the op for all elements at once, and joins the operands' undefinedness (interp_undef.c). Integers
 * are loaded zero-extended (a, b) and sign-extended (sa, sb) to 32 or 64 bits; results are cut to
 * the type. */
#include "interp/interp_internal.h"

/* The driver */

void elem_undefine(Elem *e, uint32_t i, UndefCause cause) {
    if (!e->result->undef)
        slot_new_undef(e->run, e->result);
    e->result->undef[i] = origin_of(e->run, e->op, cause);
}

static DType storage_dtype(const Type *type) {
    return type_is_pointer(type) ? DT_I64 : type->dtype;
}

void interp_elementwise(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    Slot *result = new_result(run, op, 0), wide[3] = {{0}};
    Elem e = {.run = run, .op = op, .n = result->n, .out = result->data, .result = result};
    e.dtype = storage_dtype(op_in(op, 0)->type);
    e.out_dtype = storage_dtype(op_out(op)->type);
    for (uint32_t i = 0; i < op->nin; i++) {
        const Slot *in = in_slot(run, op, i);
        if (in->n != e.n) {
            slot_expand(run, &wide[i], in, e.n, (size_t)type_element_bytes(op_in(op, i)->type));
            in = &wide[i];
        }
        e.in[i] = in->data;
        e.in_undef[i] = in->undef;
    }
    inst->elem(&e);
    elem_join_undef(&e);
    for (uint32_t i = 0; i < op->nin; i++)
        slot_clear(run, &wide[i]);
}

/* Loops over one storage type each. EXPR uses a, b, sa, sb of types U, S and BITS. */

#define INT_LOOP(STORED, SIGNED, U, S, WIDTH, EXPR)                                                \
    do {                                                                                           \
        enum { BITS = WIDTH };                                                                     \
        const STORED *restrict pa_ = e->in[0], *restrict pb_ = e->in[1];                           \
        STORED *restrict po_ = e->out;                                                             \
        for (uint32_t i = 0; i < e->n; i++) {                                                      \
            U a = pa_[i], b = pb_[i];                                                              \
            S sa = (SIGNED)pa_[i], sb = (SIGNED)pb_[i];                                            \
            (void)a, (void)b, (void)sa, (void)sb;                                                  \
            po_[i] = (STORED)(EXPR);                                                               \
        }                                                                                          \
    } while (0)

/* i1: as unsigned 0 and 1, as signed 0 and -1. */
#define BOOL_LOOP(EXPR)                                                                            \
    do {                                                                                           \
        enum { BITS = 1 };                                                                         \
        const uint8_t *restrict pa_ = e->in[0], *restrict pb_ = e->in[1];                          \
        uint8_t *restrict po_ = e->out;                                                            \
        for (uint32_t i = 0; i < e->n; i++) {                                                      \
            uint32_t a = pa_[i], b = pb_[i];                                                       \
            int32_t sa = -(int32_t)a, sb = -(int32_t)b;                                            \
            (void)a, (void)b, (void)sa, (void)sb;                                                  \
            po_[i] = (uint8_t)(EXPR)&1;                                                            \
        }                                                                                          \
    } while (0)

#define INT_SWITCH(EXPR)                                                                           \
    switch (e->dtype) {                                                                            \
    case DT_I1:                                                                                    \
        BOOL_LOOP(EXPR);                                                                           \
        break;                                                                                     \
    case DT_I8:                                                                                    \
        INT_LOOP(uint8_t, int8_t, uint32_t, int32_t, 8, EXPR);                                     \
        break;                                                                                     \
    case DT_I16:                                                                                   \
        INT_LOOP(uint16_t, int16_t, uint32_t, int32_t, 16, EXPR);                                  \
        break;                                                                                     \
    case DT_I32:                                                                                   \
        INT_LOOP(uint32_t, int32_t, uint32_t, int32_t, 32, EXPR);                                  \
        break;                                                                                     \
    case DT_I64:                                                                                   \
        INT_LOOP(uint64_t, int64_t, uint64_t, int64_t, 64, EXPR);                                  \
        break;                                                                                     \
        NO_FLOATS                                                                                  \
    }

#define INT_BINARY(name, EXPR)                                                                     \
    void elem_##name(Elem *e) {                                                                    \
        INT_SWITCH(EXPR)                                                                           \
    }
#define INT_UNARY(name, EXPR)                                                                      \
    void elem_##name(Elem *e) {                                                                    \
        e->in[1] = e->in[0];                                                                       \
        INT_SWITCH(EXPR)                                                                           \
    }

INT_BINARY(addi, a + b)
INT_BINARY(subi, a - b)
INT_BINARY(muli, a *b)
INT_BINARY(andi, a &b)
INT_BINARY(ori, a | b)
INT_BINARY(xori, a ^ b)
INT_BINARY(minsi, sa < sb ? sa : sb)
INT_BINARY(maxsi, sa > sb ? sa : sb)
INT_BINARY(minui, a < b ? a : b)
INT_BINARY(maxui, a > b ? a : b)
INT_UNARY(absi, sa < 0 ? 0 - a : a)
INT_UNARY(popcount, (uint64_t)__builtin_popcountll(a))

static inline uint64_t high_product(uint64_t a, uint64_t b, int bits) {
    return (uint64_t)((unsigned __int128)a * b >> bits);
}
INT_BINARY(mulhui, high_product(a, b, BITS))

/* Where the operation has no result the element becomes undefined, with some value. */
#define CHECKED(valid, cause, EXPR) ((valid) ? (EXPR) : (elem_undefine(e, i, cause), 0))
#define SHIFT(EXPR) CHECKED(b < BITS, UNDEF_SHIFT, EXPR)
#define DIVIDE(EXPR) CHECKED(b != 0, UNDEF_DIVISION, EXPR)
/* Widened operands do not overflow, except in 64 bits, and in 32, which are tested for. */
#define MINIMUM_BY_MINUS_ONE                                                                       \
    (sb == -1 && sa < 0 && (uint64_t)(int64_t)sa == (uint64_t)-1 << (BITS - 1))
#define DIVIDE_SIGNED(EXPR) CHECKED(b != 0 && !MINIMUM_BY_MINUS_ONE, UNDEF_DIVISION, EXPR)

INT_BINARY(shli, SHIFT(a << b))
INT_BINARY(shrui, SHIFT(a >> b))
INT_BINARY(shrsi, SHIFT(sa >> b))
INT_BINARY(divui, DIVIDE(a / b))
INT_BINARY(remui, DIVIDE(a % b))
INT_BINARY(divsi, DIVIDE_SIGNED(sa / sb))
INT_BINARY(remsi, DIVIDE(sb == -1 ? 0 : sa % sb))

/* Comparison: the result is stored as bytes, whatever the operands' type. */

#define COMPARE_LOOP(T, OPERATOR)                                                                  \
    do {                                                                                           \
        const T *restrict pa_ = e->in[0], *restrict pb_ = e->in[1];                                \
        uint8_t *restrict po_ = e->out;                                                            \
        for (uint32_t i = 0; i < e->n; i++)                                                        \
            po_[i] = pa_[i] OPERATOR pb_[i];                                                       \
    } while (0)

#define COMPARE_SWITCH(U8, U16, U32, U64, OPERATOR)                                                \
    switch (e->dtype) {                                                                            \
    case DT_I1:                                                                                    \
    case DT_I8:                                                                                    \
        COMPARE_LOOP(U8, OPERATOR);                                                                \
        return;                                                                                    \
    case DT_I16:                                                                                   \
        COMPARE_LOOP(U16, OPERATOR);                                                               \
        return;                                                                                    \
    case DT_I32:                                                                                   \
        COMPARE_LOOP(U32, OPERATOR);                                                               \
        return;                                                                                    \
    case DT_I64:                                                                                   \
        COMPARE_LOOP(U64, OPERATOR);                                                               \
        return;                                                                                    \
        NO_FLOATS                                                                                  \
    }                                                                                              \
    return

#define COMPARE_UNSIGNED(OPERATOR) COMPARE_SWITCH(uint8_t, uint16_t, uint32_t, uint64_t, OPERATOR)
#define COMPARE_SIGNED(OPERATOR) COMPARE_SWITCH(int8_t, int16_t, int32_t, int64_t, OPERATOR)

/* i1 true is -1 signed: the order is the reverse of the unsigned one. */
static IntPredicate bool_predicate(IntPredicate predicate) {
    switch (predicate) {
    case IPRED_SLT:
        return IPRED_UGT;
    case IPRED_SLE:
        return IPRED_UGE;
    case IPRED_SGT:
        return IPRED_ULT;
    case IPRED_SGE:
        return IPRED_ULE;
    case IPRED_EQ:
    case IPRED_NE:
    case IPRED_ULT:
    case IPRED_ULE:
    case IPRED_UGT:
    case IPRED_UGE:
    case IPRED_COUNT:
        break;
    }
    return predicate;
}

static void compare(Elem *e) {
    IntPredicate predicate = cmpi_attrs(e->op)->pred;
    if (e->dtype == DT_I1)
        predicate = bool_predicate(predicate);
    switch (predicate) {
    case IPRED_EQ:
        COMPARE_UNSIGNED(==);
    case IPRED_NE:
        COMPARE_UNSIGNED(!=);
    case IPRED_SLT:
        COMPARE_SIGNED(<);
    case IPRED_SLE:
        COMPARE_SIGNED(<=);
    case IPRED_SGT:
        COMPARE_SIGNED(>);
    case IPRED_SGE:
        COMPARE_SIGNED(>=);
    case IPRED_ULT:
        COMPARE_UNSIGNED(<);
    case IPRED_ULE:
        COMPARE_UNSIGNED(<=);
    case IPRED_UGT:
        COMPARE_UNSIGNED(>);
    case IPRED_UGE:
        COMPARE_UNSIGNED(>=);
    case IPRED_COUNT:
        break;
    }
}

/* Pointers compare as what programs see of them. */
void elem_cmpi(Elem *e) {
    Buf *seen[2] = {NULL, NULL};
    for (int k = 0; k < 2 && type_is_pointer(op_in(e->op, 0)->type); k++) {
        const uint64_t *pointers = e->in[k];
        seen[k] = buf_new(e->run, e->n * sizeof *pointers);
        uint64_t *integers = (uint64_t *)(void *)seen[k]->bytes;
        for (uint32_t i = 0; i < e->n; i++)
            integers[i] = pointer_integer(e->run, pointers[i]);
        e->in[k] = integers;
    }
    compare(e);
    buf_release(e->run, seen[0]);
    buf_release(e->run, seen[1]);
}

/* Choice */

#define SELECT_LOOP(T)                                                                             \
    do {                                                                                           \
        const T *restrict pa_ = e->in[1], *restrict pb_ = e->in[2];                                \
        T *restrict po_ = e->out;                                                                  \
        for (uint32_t i = 0; i < e->n; i++)                                                        \
            po_[i] = cond[i] ? pa_[i] : pb_[i];                                                    \
    } while (0)

void elem_select(Elem *e) {
    const uint8_t *cond = e->in[0];
    switch (dtype_bytes(e->out_dtype)) {
    case 1:
        SELECT_LOOP(uint8_t);
        break;
    case 2:
        SELECT_LOOP(uint16_t);
        break;
    case 4:
        SELECT_LOOP(uint32_t);
        break;
    default:
        SELECT_LOOP(uint64_t);
        break;
    }
}
