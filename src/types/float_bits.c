/* Conversions between the bits of the float dtypes and the host's float and double.
 *
 * One routine does every rounding from double by integer arithmetic, driven by a table of formats;
 * it defines what the shorter array loops for f32 -> f16, bf16 must give (tests compare them on all
 * inputs that matter). Rounding to the nearest f8 saturates; towards zero, infinity stays one where
 * there is one (e5m2). */
#include "types/float_bits.h"

#include <string.h>

typedef struct FloatFormat {
    uint8_t bits, mantissa_bits;
    int16_t bias;
    uint32_t max_finite; /* bits of the largest finite value */
    uint32_t
        nan_minimum; /* bits from here on, without sign, are NaN; infinity, if any, is one below */
    bool saturates;
} FloatFormat;

static FloatFormat float_format(DType dtype) {
    switch (dtype) {
    case DT_F8E4M3:
        return (FloatFormat){8, 3, 7, 0x7e, 0x7f, true};
    case DT_F8E5M2:
        return (FloatFormat){8, 2, 15, 0x7b, 0x7d, true};
    case DT_F16:
        return (FloatFormat){16, 10, 15, 0x7bff, 0x7c01, false};
    case DT_BF16:
        return (FloatFormat){16, 7, 127, 0x7f7f, 0x7f81, false};
    case DT_F32:
    case DT_F64:
    case DT_I1:
    case DT_I8:
    case DT_I16:
    case DT_I32:
    case DT_I64:
    case DT_COUNT:
        break;
    }
    return (FloatFormat){32, 23, 127, 0x7f7fffff, 0x7f800001, false};
}

static uint64_t double_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_from(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_from(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double float_from_bits(DType dtype, uint64_t bits) {
    if (dtype == DT_F64)
        return double_from(bits);
    FloatFormat format = float_format(dtype);
    uint64_t sign = (bits >> (format.bits - 1) & 1) << 63;
    uint32_t magnitude = (uint32_t)bits & (uint32_t)((UINT64_C(1) << (format.bits - 1)) - 1);
    uint32_t mantissa = magnitude & ((1u << format.mantissa_bits) - 1);
    if (magnitude >= format.nan_minimum) {
        uint64_t payload = (uint64_t)mantissa << (52 - format.mantissa_bits);
        return double_from(sign | UINT64_C(0x7ff) << 52 | payload);
    }
    if (magnitude > format.max_finite)
        return double_from(sign | UINT64_C(0x7ff) << 52);
    int exponent = (int)(magnitude >> format.mantissa_bits);
    if (exponent == 0) {
        double quantum = double_from((uint64_t)(1024 - format.bias - format.mantissa_bits) << 52);
        return double_from(sign | double_bits(mantissa * quantum));
    }
    return double_from(sign | (uint64_t)(exponent - format.bias + 1023) << 52 |
                       (uint64_t)mantissa << (52 - format.mantissa_bits));
}

static uint64_t nan_bits(const FloatFormat *format, uint64_t double_mantissa) {
    uint32_t bits = (uint32_t)(double_mantissa >> (52 - format->mantissa_bits));
    uint32_t exponent = format->nan_minimum & ~((1u << format->mantissa_bits) - 1);
    if ((exponent | bits) < format->nan_minimum)
        bits = 1u << (format->mantissa_bits - 1);
    uint32_t nan = exponent | bits;
    return nan < format->nan_minimum ? format->nan_minimum : nan;
}

/* Finite and nonzero: the magnitude in units of the format's quantum at its exponent. A carry out
 * of the mantissa runs into the exponent field, which is the right result. */
static uint64_t round_magnitude(const FloatFormat *format, uint64_t bits, bool to_zero) {
    int exponent = (int)(bits >> 52);
    uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent == 0)
        exponent = 1; /* far below every narrower format: rounds to zero by the shift below */
    else
        mantissa |= UINT64_C(1) << 52;
    int above_minimum = exponent - 1023 - (1 - format->bias);
    int shift = 52 - format->mantissa_bits - (above_minimum < 0 ? above_minimum : 0);
    if (above_minimum < 0)
        above_minimum = 0;
    if (shift > 54)
        return 0;
    uint64_t kept = mantissa >> shift, dropped = mantissa & ((UINT64_C(1) << shift) - 1);
    uint64_t half = UINT64_C(1) << (shift - 1);
    if (!to_zero && (dropped > half || (dropped == half && (kept & 1))))
        kept++;
    return ((uint64_t)above_minimum << format->mantissa_bits) + kept;
}

static uint64_t round_to_bits(DType dtype, double value, bool to_zero) {
    uint64_t bits = double_bits(value);
    if (dtype == DT_F64)
        return bits;
    FloatFormat format = float_format(dtype);
    uint64_t sign = bits >> 63 << (format.bits - 1);
    bits &= INT64_MAX;
    uint64_t infinity = UINT64_C(0x7ff) << 52;
    if (bits > infinity)
        return sign | nan_bits(&format, bits & (infinity ^ INT64_MAX));
    bool saturates = format.saturates && !to_zero;
    if (bits == infinity) /* below NaN or, without infinities (e4m3), the largest finite value */
        return sign | (saturates ? format.max_finite : format.nan_minimum - 1);
    uint64_t magnitude = bits ? round_magnitude(&format, bits, to_zero) : 0;
    if (magnitude > format.max_finite) {
        bool finite = format.saturates || to_zero;
        magnitude = finite ? format.max_finite : format.nan_minimum - 1;
    }
    return sign | magnitude;
}

uint64_t float_to_bits(DType dtype, double value) {
    return round_to_bits(dtype, value, false);
}

uint64_t float_to_bits_to_zero(DType dtype, double value) {
    return round_to_bits(dtype, value, true);
}

/* The exponent field moved to f32's place gives a value too small by the difference of the biases;
 * the multiplication is exact and normalises subnormals. */
static inline float f16_to_float(uint32_t half) {
    uint32_t moved = (half & 0x7fff) << 13;
    uint32_t special = moved | 0x7f800000;
    uint32_t scaled = float_bits(float_from(moved) * 0x1p112f);
    return float_from((moved >= 0x0f800000 ? special : scaled) | (half & 0x8000) << 16);
}

static inline float f8e4m3_to_float(uint32_t byte) {
    uint32_t moved = (byte & 0x7f) << 20;
    uint32_t scaled = float_bits(float_from(moved) * 0x1p120f);
    return float_from(((byte & 0x7f) == 0x7f ? 0x7ff00000 : scaled) | (byte & 0x80) << 24);
}

/* Below the smallest normal f16, adding 0.5 makes the f32 addition round at f16's quantum 2^-24. */
static inline uint16_t float_to_f16(float value) {
    uint32_t bits = float_bits(value), sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    uint32_t special = bits > 0x7f800000 ? 0x7c00 | (bits >> 13 & 0x3ff) : 0x7c00;
    special |= bits > 0x7f800000 && !(bits >> 13 & 0x3ff) ? 0x200 : 0;
    uint32_t tiny = float_bits(float_from(bits) + 0.5f) - 0x3f000000;
    uint32_t normal = (bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13;
    uint32_t finite = bits < 0x38800000 ? tiny : normal;
    return (uint16_t)(sign | (bits >= 0x47800000 ? special : finite));
}

static inline uint16_t float_to_bf16(float value) {
    uint32_t bits = float_bits(value);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint32_t nan = bits >> 16 | ((bits >> 16 & 0x7f) ? 0 : 0x40);
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

#define FOR_EACH(n) for (uint32_t i = 0; i < (n); i++)

void floats_load(DType dtype, const void *bits, float *out, uint32_t n) {
    const uint8_t *bytes = bits;
    const uint16_t *halves = bits;
    switch (dtype) {
    case DT_F8E4M3:
        FOR_EACH(n) out[i] = f8e4m3_to_float(bytes[i]);
        return;
    case DT_F8E5M2:
        FOR_EACH(n) out[i] = f16_to_float((uint32_t)bytes[i] << 8);
        return;
    case DT_F16:
        FOR_EACH(n) out[i] = f16_to_float(halves[i]);
        return;
    case DT_BF16:
        FOR_EACH(n) out[i] = float_from((uint32_t)halves[i] << 16);
        return;
    case DT_F32:
        memcpy(out, bits, (size_t)n * sizeof *out);
        return;
    case DT_F64:
    case DT_I1:
    case DT_I8:
    case DT_I16:
    case DT_I32:
    case DT_I64:
    case DT_COUNT:
        return;
    }
}

void floats_store(DType dtype, const float *values, void *bits, uint32_t n) {
    uint8_t *bytes = bits;
    uint16_t *halves = bits;
    switch (dtype) {
    case DT_F8E4M3:
    case DT_F8E5M2:
        FOR_EACH(n) bytes[i] = (uint8_t)float_to_bits(dtype, values[i]);
        return;
    case DT_F16:
        FOR_EACH(n) halves[i] = float_to_f16(values[i]);
        return;
    case DT_BF16:
        FOR_EACH(n) halves[i] = float_to_bf16(values[i]);
        return;
    case DT_F32:
        memcpy(bits, values, (size_t)n * sizeof *values);
        return;
    case DT_F64:
    case DT_I1:
    case DT_I8:
    case DT_I16:
    case DT_I32:
    case DT_I64:
    case DT_COUNT:
        return;
    }
}

void floats_load_double(DType dtype, const void *bits, double *out, uint32_t n) {
    if (dtype == DT_F64) {
        memcpy(out, bits, (size_t)n * sizeof *out);
        return;
    }
    enum { CHUNK = 256 };
    float chunk[CHUNK];
    const uint8_t *from = bits;
    for (uint32_t done = 0; done < n; done += CHUNK) {
        uint32_t count = n - done < CHUNK ? n - done : CHUNK;
        floats_load(dtype, from + (size_t)done * (size_t)dtype_bytes(dtype), chunk, count);
        FOR_EACH(count) out[done + i] = chunk[i];
    }
}

void floats_store_double(DType dtype, const double *values, void *bits, uint32_t n) {
    if (dtype == DT_F64) {
        memcpy(bits, values, (size_t)n * sizeof *values);
        return;
    }
    float *floats = bits;
    uint16_t *halves = bits;
    uint8_t *bytes = bits;
    if (dtype == DT_F32)
        FOR_EACH(n) floats[i] = (float)values[i];
    else if (dtype_bytes(dtype) == 2)
        FOR_EACH(n) halves[i] = (uint16_t)float_to_bits(dtype, values[i]);
    else
        FOR_EACH(n) bytes[i] = (uint8_t)float_to_bits(dtype, values[i]);
}
