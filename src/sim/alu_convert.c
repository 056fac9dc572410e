/* cvt: between integers and floats of every width and rounding, with .sat, .satfinite, .relu and
 * .ftz. */
#include "sim/alu.h"

#include <fenv.h>
#include <math.h>

static bool is_float(Type type) {
    return type_info[type].kind == KIND_FLOAT;
}

/* Rounded to an integer, in the direction that .rni and its kind say. */
static double to_whole(const Insn *insn, double value) {
    switch ((Word)insn->field[FIELD_ROUND]) {
    case WORD_rni:
        return nearbyint(value);
    case WORD_rzi:
        return trunc(value);
    case WORD_rmi:
        return floor(value);
    case WORD_rpi:
        return ceil(value);
    default:
        return value;
    }
}

/* Out-of-range values become the nearest limit; NaN becomes 0 for 32 bits and less, else the top
 * bit alone (PTX ISA, cvt: "f64 NaN to 64 bits: 0x8000000000000000"). */
static uint64_t float_to_int(Type to, double value) {
    unsigned bits = type_info[to].bits;
    bool with_sign = type_info[to].kind == KIND_SINT;
    if (isnan(value))
        return bits == 64 ? UINT64_C(1) << 63 : 0;
    double limit = ldexp(1, (int)bits - with_sign);
    if (with_sign) {
        if (value >= limit)
            return low_bits(UINT64_MAX, bits - 1);
        return low_bits(value < -limit ? UINT64_C(1) << (bits - 1) : (uint64_t)(int64_t)value,
                        bits);
    }
    return value >= limit ? low_bits(UINT64_MAX, bits) : value <= 0 ? 0 : (uint64_t)value;
}

/* A 64-bit integer has more bits than a double: narrower formats take it rounded to odd. */
static double int_to_odd(uint64_t magnitude) {
    if (magnitude >> 53 == 0)
        return (double)magnitude;
    unsigned drop = 64 - (unsigned)__builtin_clzll(magnitude) - 53;
    uint64_t kept = magnitude >> drop;
    if (magnitude & ((UINT64_C(1) << drop) - 1))
        kept |= 1;
    return ldexp((double)kept, (int)drop);
}

static double int_to_double(uint64_t magnitude, bool negative, Rounding rounding) {
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD, FE_TONEAREST};
    fesetround(modes[rounding]);
    volatile uint64_t whole = magnitude;
    volatile double value = 0;
    /* The sign first, so that directed roundings see it. */
    if (negative)
        value = whole >> 63 ? -0x1p63 : (double)-(int64_t)whole;
    else
        value = (double)whole;
    fesetround(FE_TONEAREST);
    return value;
}

static uint64_t int_to_float(const Insn *insn, Type to, Type from, uint64_t x) {
    unsigned bits = type_info[from].bits;
    bool negative = type_info[from].kind == KIND_SINT && sign_extend(x, bits) < 0;
    uint64_t magnitude = negative ? -(uint64_t)sign_extend(x, bits) : low_bits(x, bits);
    Rounding rounding = insn_rounding(insn);
    if (to == TYPE_f64)
        return f64_bits(int_to_double(magnitude, negative, rounding));
    double value = int_to_odd(magnitude);
    if (insn_has(insn, WORD_sat))
        value = negative ? 0 : value > 1 ? 1 : value;
    return float_encode(float_format(to), negative ? -value : value, rounding, false);
}

static bool subnormal(Type type, uint64_t bits) {
    FloatFormat format = float_format(type);
    return (bits >> format.mantissa & ((UINT64_C(1) << format.exponent) - 1)) == 0;
}

static uint64_t flush_bits(const Insn *insn, Type type, uint64_t bits) {
    if (!insn_has(insn, WORD_ftz) || type != TYPE_f32 || !subnormal(type, bits))
        return bits;
    return bits & 0x80000000u;
}

/* tf32 is kept in the upper bits of 32. */
static uint64_t encode(const Insn *insn, Type to, double value) {
    uint64_t bits =
        float_encode(float_format(to), value, insn_rounding(insn), insn_has(insn, WORD_satfinite));
    return to == TYPE_tf32 ? bits << 13 : bits;
}

static uint64_t float_to_float(const Insn *insn, Type to, Type from, uint64_t x) {
    double value = float_decode(float_format(from), flush_bits(insn, from, x));
    bool whole = insn->field[FIELD_ROUND] >= WORD_rni && insn->field[FIELD_ROUND] <= WORD_rpi;
    if (whole)
        value = copysign(to_whole(insn, value), value);
    if (insn_has(insn, WORD_sat))
        value = isnan(value) || value <= 0 ? 0 : value > 1 ? 1 : value;
    if (insn_has(insn, WORD_relu) && value <= 0)
        value = 0;
    if (isnan(value) && to == TYPE_tf32)
        return F32_NAN;
    /* A NaN becomes infinity or a number for no format; .satfinite keeps it as well. */
    return flush_bits(insn, to, encode(insn, to, value));
}

uint64_t alu_cvt(const Insn *insn, const uint64_t *x) {
    Type to = (Type)insn->type[0], from = (Type)insn->type[1];
    uint64_t value = low_bits(x[0], type_info[from].bits);
    if (is_float(to) && is_float(from))
        return float_to_float(insn, to, from, value);
    if (is_float(to))
        return int_to_float(insn, to, from, value);
    double number = float_decode(float_format(from), flush_bits(insn, from, value));
    return float_to_int(to, to_whole(insn, number));
}

static Type element_of(Type packed) {
    switch (packed) {
    case TYPE_f16x2:
        return TYPE_f16;
    case TYPE_bf16x2:
        return TYPE_bf16;
    case TYPE_e4m3x2:
        return TYPE_e4m3;
    case TYPE_e5m2x2:
        return TYPE_e5m2;
    default:
        return packed;
    }
}

/* To and from pairs; of two operands the first becomes the upper half. */
uint64_t alu_cvt_pair(const Insn *insn, const uint64_t *x) {
    Type to = element_of((Type)insn->type[0]), from = element_of((Type)insn->type[1]);
    unsigned to_bits = type_info[to].bits, from_bits = type_info[from].bits;
    uint64_t low, high;
    if (insn->operand_count == 3) {
        high = x[0];
        low = x[1];
    } else {
        low = low_bits(x[0], from_bits);
        high = low_bits(x[0] >> from_bits, from_bits);
    }
    return float_to_float(insn, to, from, low) | float_to_float(insn, to, from, high) << to_bits;
}
