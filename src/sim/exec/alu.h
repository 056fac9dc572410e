/* What the files of scalar meanings share: numbers and their bits. */
#ifndef TILEC_SIM_EXEC_ALU_H
#define TILEC_SIM_EXEC_ALU_H
#include "sim/parse/module.h"

/* A binary floating-point format of at most 64 bits. */
typedef struct FloatFormat {
    uint8_t bits, exponent, mantissa; /* widths; the sign is one bit */
    bool has_infinity; /* false: all ones is NaN, and the largest exponent is used for numbers
                          (e4m3) */
} FloatFormat;

typedef enum Rounding { ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP, ROUND_AWAY } Rounding;

/* f16, bf16, tf32, f32, f64, e4m3, e5m2; for a packed type that of its elements. */
FloatFormat float_format(Type type);
/* The value of the low bits; exact. */
double float_decode(FloatFormat format, uint64_t bits);
/* The nearest value in the given direction; too large ones become infinity (or what rounding says),
 * with `saturate` the largest finite value. A value with more bits than a double has may be given
 * rounded to odd. */
uint64_t float_encode(FloatFormat format, double value, Rounding rounding, bool saturate);
uint64_t float_canonical_nan(FloatFormat format);
/* Whether `exact` is below the normal numbers once it is rounded as if exponents had no end: what
 * .ftz flushes. */
bool float_is_tiny(FloatFormat format, double exact, Rounding rounding);

/* a + b and a * b + c so that rounding the result to at most 51 bits rounds once. */
double add_to_odd(double a, double b);
double fma_to_odd(double a, double b, double c);

Rounding insn_rounding(const Insn *insn);

static inline float f32_from(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float value;
    __builtin_memcpy(&value, &low, 4);
    return value;
}
static inline uint64_t f32_bits(float value) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, 4);
    return bits;
}
static inline double f64_from(uint64_t bits) {
    double value;
    __builtin_memcpy(&value, &bits, 8);
    return value;
}
static inline uint64_t f64_bits(double value) {
    uint64_t bits;
    __builtin_memcpy(&bits, &value, 8);
    return bits;
}
/* NaNs are given the GPU's one. */
#define F32_NAN UINT32_C(0x7fffffff)
static inline uint64_t f32_result(float value) {
    return value != value ? F32_NAN : f32_bits(value);
}
static inline uint64_t f64_result(double value) {
    return value != value ? UINT64_C(0xfff8000000000000) : f64_bits(value);
}
/* a * b + c, rounded in the processor's direction; of NaNs that of b, then of c, then of a. */
uint64_t f64_fma(uint64_t a, uint64_t b, uint64_t c);
#define F64_QUIET UINT64_C(0x0008000000000000)
static inline float flush(float value) {
    uint32_t bits = (uint32_t)f32_bits(value);
    return (bits & 0x7f800000) == 0 ? f32_from(bits & 0x80000000u) : value;
}
static inline int64_t sign_extend(uint64_t value, unsigned bits) {
    return bits >= 64 ? (int64_t)value : (int64_t)(value << (64 - bits)) >> (64 - bits);
}
static inline uint64_t low_bits(uint64_t value, unsigned bits) {
    return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

/* The result of a comparison of `type`; both operands' bits. */
bool alu_compare(Word compare, Type type, bool ftz, uint64_t a, uint64_t b);
/* What and, or, xor, add, inc, dec, min, max, exch make of a value in memory and an operand. */
uint64_t alu_atomic(Word operation, Type type, uint64_t old, uint64_t value);
/* The same of f32 where subnormal numbers count as zero: both operands', and the result's. */
uint64_t alu_atomic_ftz(Word operation, uint64_t old, uint64_t value);
/* The number of bytes of a type in memory. */
static inline uint32_t type_bytes(Type type) {
    return (type_info[type].bits + 7u) / 8u;
}
#endif
