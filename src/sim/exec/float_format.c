/* Floating-point formats narrower than double: decoding exactly, encoding with one rounding. */
#include "sim/exec/alu.h"

#include <math.h>

FloatFormat float_format(Type type) {
    switch (type) {
    case TYPE_f16:
    case TYPE_f16x2:
        return (FloatFormat){16, 5, 10, true};
    case TYPE_bf16:
    case TYPE_bf16x2:
        return (FloatFormat){16, 8, 7, true};
    case TYPE_tf32:
        return (FloatFormat){19, 8, 10, true};
    case TYPE_e4m3:
    case TYPE_e4m3x2:
        return (FloatFormat){8, 4, 3, false};
    case TYPE_e5m2:
    case TYPE_e5m2x2:
        return (FloatFormat){8, 5, 2, true};
    case TYPE_f64:
        return (FloatFormat){64, 11, 52, true};
    default:
        return (FloatFormat){32, 8, 23, true};
    }
}

static int bias_of(FloatFormat format) {
    return (1 << (format.exponent - 1)) - 1;
}

double float_decode(FloatFormat format, uint64_t bits) {
    if (format.bits == 64)
        return f64_from(bits);
    if (format.bits == 32)
        return (double)f32_from(bits);
    unsigned exponents = (1u << format.exponent) - 1;
    uint64_t mantissa = bits & ((UINT64_C(1) << format.mantissa) - 1);
    unsigned exponent = (unsigned)(bits >> format.mantissa) & exponents;
    bool negative = bits >> (format.bits - 1) & 1;
    double value;
    if (exponent == exponents && format.has_infinity)
        value = mantissa ? NAN : INFINITY;
    else if (exponent == exponents && mantissa == (UINT64_C(1) << format.mantissa) - 1)
        value = NAN;
    else if (exponent == 0)
        value = ldexp((double)mantissa, 1 - bias_of(format) - format.mantissa);
    else
        value = ldexp((double)(mantissa | UINT64_C(1) << format.mantissa),
                      (int)exponent - bias_of(format) - format.mantissa);
    return negative ? -value : value;
}

uint64_t float_canonical_nan(FloatFormat format) {
    if (format.bits == 64)
        return UINT64_C(0xfff8000000000000);
    if (format.bits == 19)
        return 0x3ffff;
    return (UINT64_C(1) << (format.bits - 1)) - 1;
}

bool float_is_tiny(FloatFormat format, double exact, Rounding rounding) {
    double least = ldexp(1, 1 - bias_of(format)), unit = ldexp(least, -1 - format.mantissa);
    bool away = (rounding == ROUND_UP && exact > 0) || (rounding == ROUND_DOWN && exact < 0);
    if (rounding == ROUND_NEAREST || rounding == ROUND_AWAY)
        return fabs(exact) < least - unit / 2;
    return away ? fabs(exact) <= least - unit : fabs(exact) < least;
}

/* The largest finite value's bits, without a sign. */
static uint64_t largest(FloatFormat format) {
    uint64_t all = (UINT64_C(1) << (format.exponent + format.mantissa)) - 1;
    return format.has_infinity ? (((UINT64_C(1) << format.exponent) - 1) << format.mantissa) - 1
                               : all - 1;
}

/* A nonnegative multiple of a unit, as an integer in the direction wanted. */
static double round_integer(double value, bool negative, Rounding rounding) {
    double whole = floor(value), rest = value - whole;
    switch (rounding) {
    case ROUND_NEAREST:
        return rest > 0.5 || (rest == 0.5 && fmod(whole, 2) != 0) ? whole + 1 : whole;
    case ROUND_AWAY:
        return rest >= 0.5 ? whole + 1 : whole;
    case ROUND_ZERO:
        return whole;
    case ROUND_DOWN:
        return negative && rest > 0 ? whole + 1 : whole;
    case ROUND_UP:
        return !negative && rest > 0 ? whole + 1 : whole;
    }
    return whole;
}

static uint64_t overflow(FloatFormat format, bool negative, Rounding rounding, bool saturate) {
    bool stays = rounding == ROUND_ZERO || (rounding == ROUND_UP && negative) ||
                 (rounding == ROUND_DOWN && !negative);
    if (saturate || stays)
        return largest(format);
    return format.has_infinity ? ((UINT64_C(1) << format.exponent) - 1) << format.mantissa
                               : float_canonical_nan(format);
}

uint64_t float_encode(FloatFormat format, double value, Rounding rounding, bool saturate) {
    if (isnan(value))
        return float_canonical_nan(format);
    if (format.bits == 64)
        return f64_bits(value);
    bool negative = signbit(value);
    uint64_t sign = (uint64_t)negative << (format.bits - 1);
    double magnitude = fabs(value);
    if (isinf(value)) {
        if (saturate)
            return sign | largest(format);
        return sign |
               (format.has_infinity ? ((UINT64_C(1) << format.exponent) - 1) << format.mantissa
                                    : float_canonical_nan(format));
    }
    int exponent;
    frexp(magnitude, &exponent);
    /* The weight of the last mantissa bit; fixed below the smallest normal number. */
    int unit = exponent - 1 - format.mantissa, least = 1 - bias_of(format) - format.mantissa;
    if (magnitude == 0 || unit < least)
        unit = least;
    double steps = round_integer(ldexp(magnitude, -unit), negative, rounding);
    /* `steps` has the implicit bit unless the number is subnormal; a carry moves into the exponent.
     */
    uint64_t bits = (uint64_t)(unit - least) << format.mantissa;
    bits += (uint64_t)steps;
    if (bits > largest(format))
        return sign | overflow(format, negative, rounding, saturate);
    return sign | bits;
}

double add_to_odd(double a, double b) {
    double sum = a + b;
    if (!isfinite(sum))
        return sum;
    double part = sum - a;
    double error = (a - (sum - part)) + (b - part);
    uint64_t bits = f64_bits(sum);
    if (error == 0 || bits & 1)
        return sum;
    /* Away from zero when the rest has the sign of the sum, else towards it: the odd neighbour on
     * that side. */
    bool outward = (error > 0) == !signbit(sum);
    return f64_from(outward ? bits + 1 : bits - 1);
}

double fma_to_odd(double a, double b, double c) {
    return add_to_odd(a * b, c);
}

Rounding insn_rounding(const Insn *insn) {
    switch ((Word)insn->field[FIELD_ROUND]) {
    case WORD_rz:
    case WORD_rzi:
        return ROUND_ZERO;
    case WORD_rm:
    case WORD_rmi:
        return ROUND_DOWN;
    case WORD_rp:
    case WORD_rpi:
        return ROUND_UP;
    case WORD_rna:
        return ROUND_AWAY;
    default:
        return ROUND_NEAREST;
    }
}
