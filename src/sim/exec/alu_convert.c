/* cvt: between integers and floats of every width and rounding, with .sat, .satfinite, .relu and
 * .ftz. */
#include "sim/exec/alu.h"
#include "sim/parse/table.h"

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

/* Out-of-range values become the nearest limit; NaN becomes the top bit alone when either side has
 * 64 bits, else 0 (PTX ISA, cvt). A result in a wider register has its sign there too. */
static uint64_t float_to_int(const Insn *insn, Type to, Type from, double value) {
    unsigned bits = type_info[to].bits;
    unsigned dest_bits = insn->operand[0].bits ? insn->operand[0].bits : bits;
    bool with_sign = type_info[to].kind == KIND_SINT;
    uint64_t least = UINT64_C(1) << (bits - 1), result;
    double limit = ldexp(1, (int)bits - with_sign);
    if (isnan(value))
        result = bits == 64 || from == TYPE_f64 ? least : 0;
    else if (value >= limit)
        result = low_bits(UINT64_MAX, bits - with_sign);
    else if (with_sign)
        result = value < -limit ? least : (uint64_t)(int64_t)value;
    else
        result = value <= 0 ? 0 : (uint64_t)value;
    return with_sign ? low_bits((uint64_t)sign_extend(result, bits), dest_bits) : result;
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
    if (insn_has(insn, WORD_sat)) {
        magnitude = !negative && magnitude > 0;
        negative = false;
    }
    if (to == TYPE_f64)
        return f64_bits(int_to_double(magnitude, negative, rounding));
    double value = int_to_odd(magnitude);
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

/* What becomes of NaN. To and from f64 its sign and the upper bits of its mantissa stay, made
 * quiet; .ftz makes an f32 operand the canonical NaN before. bf16 in f32 and the two roundings of
 * tf32 are the hardware's sequences: a shift; a mask, from whose result .satfinite subtracts a unit
 * when its exponent is the largest. All others give the canonical NaN of the format. */
static uint64_t convert_nan(const Insn *insn, Type to, Type from, uint64_t x) {
    FloatFormat in = float_format(from), out = float_format(to);
    bool ftz = insn_has(insn, WORD_ftz);
    if (to == TYPE_tf32) {
        if (insn->field[FIELD_ROUND] != WORD_rna)
            return 0x7fffe000;
        return (x & 0xffffe000) - (insn_has(insn, WORD_satfinite) ? 0x2000 : 0);
    }
    if (from == TYPE_bf16 && to == TYPE_f32 && !ftz)
        return x << 16;
    if (from != TYPE_f64 && to != TYPE_f64)
        return float_canonical_nan(out);
    if (from != TYPE_f64 && ftz) {
        in = float_format(TYPE_f32);
        x = F32_NAN;
    }
    uint64_t sign = x >> (in.bits - 1) & 1, mantissa = low_bits(x, in.mantissa)
                                                       << (52 - in.mantissa);
    mantissa = (mantissa | F64_QUIET) >> (52 - out.mantissa);
    uint64_t exponent = ((UINT64_C(1) << out.exponent) - 1) << out.mantissa;
    return sign << (out.bits - 1) | exponent | mantissa;
}

/* .ftz means f32 results, and operands unless the result is f16 (the hardware's conversion to f16
 * does not flush: directed roundings tell). Without any modifier f32 and f64 are moved. */
static uint64_t float_to_float(const Insn *insn, Type to, Type from, uint64_t x) {
    bool whole = insn->field[FIELD_ROUND] >= WORD_rni && insn->field[FIELD_ROUND] <= WORD_rpi;
    bool sat = insn_has(insn, WORD_sat), ftz = insn_has(insn, WORD_ftz);
    if (to == from && (to == TYPE_f32 || to == TYPE_f64) && !whole && !sat && !ftz)
        return x;
    double value = float_decode(float_format(from), to == TYPE_f16 ? x : flush_bits(insn, from, x));
    if (isnan(value) && !sat)
        return convert_nan(insn, to, from, x);
    if (whole)
        value = copysign(to_whole(insn, value), value);
    if (sat)
        value = isnan(value) || value <= 0 ? 0 : value > 1 ? 1 : value;
    if (insn_has(insn, WORD_relu) && value <= 0)
        value = 0;
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
    return float_to_int(insn, to, from, to_whole(insn, number));
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
