/* Elementwise conversions between integers, floats and pointers. Every conversion to a float rounds
 * once: 64-bit integers go to double rounded to odd, so that the second rounding is exact. Floats
 * beyond the integer type, and NaN, have no integer value: those elements become undefined. */
#include "interp/interp_internal.h"

#include <math.h>

enum { CHUNK = 256 };

/* Integers */

#define WIDEN_LOOP(T)                                                                              \
    do {                                                                                           \
        const T *from_ = (const T *)bits + first;                                                  \
        for (uint32_t i = 0; i < n; i++)                                                           \
            out[i] = (uint64_t)(int64_t)from_[i];                                                  \
    } while (0)

/* Elements from `first` on as 64-bit integers. */
static void ints_load(DType dtype, bool is_signed, const void *bits, uint32_t first, uint64_t *out,
                      uint32_t n) {
    switch (dtype) {
    case DT_I1:
        WIDEN_LOOP(uint8_t);
        if (is_signed)
            for (uint32_t i = 0; i < n; i++)
                out[i] = 0 - out[i];
        return;
    case DT_I8:
        if (is_signed)
            WIDEN_LOOP(int8_t);
        else
            WIDEN_LOOP(uint8_t);
        return;
    case DT_I16:
        if (is_signed)
            WIDEN_LOOP(int16_t);
        else
            WIDEN_LOOP(uint16_t);
        return;
    case DT_I32:
        if (is_signed)
            WIDEN_LOOP(int32_t);
        else
            WIDEN_LOOP(uint32_t);
        return;
    case DT_I64:
        memcpy(out, (const uint64_t *)bits + first, n * sizeof *out);
        return;
        NO_FLOATS
    }
}

#define CUT_LOOP(T, MASK)                                                                          \
    do {                                                                                           \
        T *to_ = (T *)bits + first;                                                                \
        for (uint32_t i = 0; i < n; i++)                                                           \
            to_[i] = (T)(values[i] & (MASK));                                                      \
    } while (0)

static void ints_store(DType dtype, const uint64_t *values, void *bits, uint32_t first,
                       uint32_t n) {
    switch (dtype) {
    case DT_I1:
        CUT_LOOP(uint8_t, 1);
        return;
    case DT_I8:
        CUT_LOOP(uint8_t, 0xff);
        return;
    case DT_I16:
        CUT_LOOP(uint16_t, 0xffff);
        return;
    case DT_I32:
        CUT_LOOP(uint32_t, 0xffffffff);
        return;
    case DT_I64:
        memcpy((uint64_t *)bits + first, values, n * sizeof *values);
        return;
        NO_FLOATS
    }
}

static void convert_ints(Elem *e, bool is_signed) {
    uint64_t values[CHUNK];
    for (uint32_t done = 0; done < e->n; done += CHUNK) {
        uint32_t count = e->n - done < CHUNK ? e->n - done : CHUNK;
        ints_load(e->dtype, is_signed, e->in[0], done, values, count);
        ints_store(e->out_dtype, values, e->out, done, count);
    }
}

void elem_trunci(Elem *e) {
    convert_ints(e, false);
}

void elem_extsi(Elem *e) {
    convert_ints(e, true);
}

void elem_extui(Elem *e) {
    convert_ints(e, false);
}

/* Floats */

static const void *float_at(const Elem *e, uint32_t i) {
    return (const char *)e->in[0] + (size_t)i * (size_t)dtype_bytes(e->dtype);
}

static void *result_at(const Elem *e, uint32_t i) {
    return (char *)e->out + (size_t)i * (size_t)dtype_bytes(e->out_dtype);
}

static void store_towards_zero(DType dtype, const double *values, void *bits, uint32_t n) {
    int bytes = dtype_bytes(dtype);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t element = float_to_bits_to_zero(dtype, values[i]);
        memcpy((char *)bits + (size_t)i * (size_t)bytes, &element, (size_t)bytes);
    }
}

static void convert_floats(Elem *e, Rounding rounding) {
    double values[CHUNK];
    for (uint32_t done = 0; done < e->n; done += CHUNK) {
        uint32_t count = e->n - done < CHUNK ? e->n - done : CHUNK;
        floats_load_double(e->dtype, float_at(e, done), values, count);
        if (rounding == ROUND_RTZ)
            store_towards_zero(e->out_dtype, values, result_at(e, done), count);
        else
            floats_store_double(e->out_dtype, values, result_at(e, done), count);
    }
}

/* f32 to f16 and bf16 is what kernels do all day: no detour through double. */
static void narrow_from_float(Elem *e) {
    floats_store(e->out_dtype, e->in[0], e->out, e->n);
}

void elem_truncf(Elem *e) {
    Rounding rounding = truncf_attrs(e->op)->rounding;
    if (e->dtype == DT_F32 && rounding == ROUND_RTNE)
        narrow_from_float(e);
    else
        convert_floats(e, rounding);
}

void elem_extf(Elem *e) {
    if (e->out_dtype == DT_F32)
        floats_load(e->dtype, e->in[0], e->out, e->n);
    else
        convert_floats(e, ROUND_RTNE);
}

/* Floats to integers */

static int64_t float_to_signed(Elem *e, double value, uint32_t i) {
    double limit = ldexp(1, dtype_info[e->out_dtype].bits - 1);
    value = trunc(value);
    if (value >= -limit && value < limit)
        return (int64_t)value;
    elem_undefine(e, i, UNDEF_CONVERSION);
    return value > 0 ? (int64_t)(((uint64_t)1 << (dtype_info[e->out_dtype].bits - 1)) - 1) : 0;
}

static uint64_t float_to_unsigned(Elem *e, double value, uint32_t i) {
    double limit = ldexp(1, dtype_info[e->out_dtype].bits);
    value = trunc(value);
    if (value >= 0 && value < limit)
        return (uint64_t)value;
    elem_undefine(e, i, UNDEF_CONVERSION);
    return 0;
}

static void convert_float_to_int(Elem *e, bool is_signed) {
    double values[CHUNK];
    uint64_t ints[CHUNK];
    for (uint32_t done = 0; done < e->n; done += CHUNK) {
        uint32_t count = e->n - done < CHUNK ? e->n - done : CHUNK;
        floats_load_double(e->dtype, float_at(e, done), values, count);
        for (uint32_t i = 0; i < count; i++)
            ints[i] = is_signed ? (uint64_t)float_to_signed(e, values[i], done + i)
                                : float_to_unsigned(e, values[i], done + i);
        ints_store(e->out_dtype, ints, e->out, done, count);
    }
}

void elem_ftosi(Elem *e) {
    convert_float_to_int(e, true);
}

void elem_ftoui(Elem *e) {
    convert_float_to_int(e, false);
}

/* Integers to floats */

/* Magnitudes of up to 64 bits: what double cannot hold leaves a mark in its last bit. */
static double double_to_odd(uint64_t magnitude) {
    if (magnitude >> 53 == 0)
        return (double)magnitude;
    int drop = 64 - __builtin_clzll(magnitude) - 53;
    uint64_t kept = magnitude >> drop;
    kept |= kept << drop != magnitude;
    return ldexp((double)kept, drop);
}

static double narrow_source(uint64_t value, bool is_signed) {
    if (is_signed && (int64_t)value < 0)
        return -double_to_odd(0 - value);
    return double_to_odd(value);
}

static void convert_int_to_float(Elem *e, bool is_signed) {
    uint64_t ints[CHUNK];
    double values[CHUNK];
    for (uint32_t done = 0; done < e->n; done += CHUNK) {
        uint32_t count = e->n - done < CHUNK ? e->n - done : CHUNK;
        ints_load(e->dtype, is_signed, e->in[0], done, ints, count);
        for (uint32_t i = 0; i < count; i++)
            if (e->out_dtype == DT_F64)
                values[i] = is_signed ? (double)(int64_t)ints[i] : (double)ints[i];
            else
                values[i] = narrow_source(ints[i], is_signed);
        floats_store_double(e->out_dtype, values, result_at(e, done), count);
    }
}

void elem_sitof(Elem *e) {
    convert_int_to_float(e, true);
}

void elem_uitof(Elem *e) {
    convert_int_to_float(e, false);
}

/* Bits and addresses */

static void copy_bits(Elem *e) {
    memcpy(e->out, e->in[0], (size_t)e->n * (size_t)dtype_bytes(e->out_dtype));
}

void elem_bitcast(Elem *e) {
    copy_bits(e);
}

void elem_ptrtoint(Elem *e) {
    const uint64_t *restrict in = e->in[0];
    uint64_t *restrict out = e->out;
    for (uint32_t i = 0; i < e->n; i++)
        out[i] = pointer_integer(e->run, in[i]);
}

void elem_inttoptr(Elem *e) {
    copy_bits(e);
}

void elem_addptr(Elem *e) {
    const uint64_t *restrict base = e->in[0];
    uint64_t *restrict out = e->out;
    uint64_t size = (uint64_t)dtype_bytes(op_in(e->op, 0)->type->dtype);
    uint64_t index[CHUNK];
    DType index_dtype = op_in(e->op, 1)->type->dtype;
    for (uint32_t done = 0; done < e->n; done += CHUNK) {
        uint32_t count = e->n - done < CHUNK ? e->n - done : CHUNK;
        ints_load(index_dtype, true, e->in[1], done, index, count);
        for (uint32_t i = 0; i < count; i++)
            out[done + i] = base[done + i] + index[i] * size;
    }
}
