/* IEEE single and double arithmetic in the four rounding directions, with .ftz and .sat.
 *
 * The processor's own arithmetic is IEEE; directed roundings set its rounding mode around the
 * operation. This file is compiled so that the compiler neither moves nor fuses operations. */
#include "sim/exec/alu.h"
#include "sim/parse/table.h"

#include <fenv.h>
#include <math.h>

static int set_rounding(const Insn *insn) {
    static const int modes[] = {[ROUND_NEAREST] = FE_TONEAREST,
                                [ROUND_ZERO] = FE_TOWARDZERO,
                                [ROUND_DOWN] = FE_DOWNWARD,
                                [ROUND_UP] = FE_UPWARD,
                                [ROUND_AWAY] = FE_TONEAREST};
    int mode = modes[insn_rounding(insn)];
    if (mode != FE_TONEAREST)
        fesetround(mode);
    return mode;
}

static void reset_rounding(int mode) {
    if (mode != FE_TONEAREST)
        fesetround(FE_TONEAREST);
}

static float input(const Insn *insn, uint64_t bits) {
    float value = f32_from(bits);
    return insn_has(insn, WORD_ftz) ? flush(value) : value;
}

/* `exact` is the result before its rounding, so near that comparisons with 25 bits are right. */
static uint64_t output(const Insn *insn, float value, double exact) {
    if (insn_has(insn, WORD_ftz) && value != 0 &&
        float_is_tiny(float_format(TYPE_f32), exact, insn_rounding(insn)))
        value = copysignf(0, value);
    if (insn_has(insn, WORD_sat))
        value = value > 1 ? 1.0f : value > 0 ? value : 0.0f; /* NaN becomes +0 */
    return f32_result(value);
}

/* One operation in the instruction's rounding; `volatile` keeps it between the changes of mode. */
#define ROUNDED(insn, T, expression)                                                               \
    ({                                                                                             \
        int mode_ = set_rounding(insn);                                                            \
        volatile T result_ = (expression);                                                         \
        reset_rounding(mode_);                                                                     \
        result_;                                                                                   \
    })

typedef enum Operation { ADD, SUB, MUL, FMA } Operation;

static uint64_t single(const Insn *insn, Operation operation, uint64_t x, uint64_t y, uint64_t z) {
    volatile float a = input(insn, x), b = input(insn, y), c = input(insn, z);
    switch (operation) {
    case ADD:
        return output(insn, ROUNDED(insn, float, a + b), add_to_odd((double)a, (double)b));
    case SUB:
        return output(insn, ROUNDED(insn, float, a - b), add_to_odd((double)a, -(double)b));
    case MUL:
        return output(insn, ROUNDED(insn, float, a *b), (double)a * (double)b);
    case FMA:
        return output(insn, ROUNDED(insn, float, fmaf(a, b, c)),
                      fma_to_odd((double)a, (double)b, (double)c));
    }
    return 0;
}

static uint64_t single_or_pair(const Insn *insn, Operation operation, const uint64_t *x) {
    uint64_t z = operation == FMA ? x[2] : 0;
    /* The factors of fma, or the first operand, may be halves: exact in single precision. */
    if (insn->type[1]) {
        FloatFormat half = float_format((Type)insn->type[1]);
        uint64_t a = f32_bits((float)float_decode(half, x[0]));
        uint64_t b = operation == FMA ? f32_bits((float)float_decode(half, x[1])) : x[1];
        return single(insn, operation, a, b, z);
    }
    uint64_t low = single(insn, operation, (uint32_t)x[0], (uint32_t)x[1], (uint32_t)z);
    if (insn->type[0] != TYPE_f32x2)
        return low;
    return low | single(insn, operation, x[0] >> 32, x[1] >> 32, z >> 32) << 32;
}

uint64_t alu_fadd(const Insn *insn, const uint64_t *x) {
    return single_or_pair(insn, ADD, x);
}
uint64_t alu_fsub(const Insn *insn, const uint64_t *x) {
    return single_or_pair(insn, SUB, x);
}
uint64_t alu_fmul(const Insn *insn, const uint64_t *x) {
    return single_or_pair(insn, MUL, x);
}
uint64_t alu_ffma(const Insn *insn, const uint64_t *x) {
    return single_or_pair(insn, FMA, x);
}

uint64_t alu_fdiv(const Insn *insn, const uint64_t *x) {
    volatile float a = input(insn, x[0]), b = input(insn, x[1]);
    return output(insn, ROUNDED(insn, float, a / b), (double)a / (double)b);
}
uint64_t alu_frcp(const Insn *insn, const uint64_t *x) {
    volatile float a = input(insn, x[0]);
    return output(insn, ROUNDED(insn, float, 1.0f / a), 1 / (double)a);
}
uint64_t alu_fsqrt(const Insn *insn, const uint64_t *x) {
    volatile float a = input(insn, x[0]);
    return output(insn, ROUNDED(insn, float, sqrtf(a)), sqrt((double)a));
}

/* What f64 instructions make of operands of which one is NaN: that one, made quiet, its sign kept;
 * of several the first of `x`, which holds the operands in the order of their precedence. */
static uint64_t f64_propagate(const uint64_t *x, unsigned count, double value) {
    for (unsigned i = 0; i < count; i++)
        if (isnan(f64_from(x[i])))
            return x[i] | F64_QUIET;
    return f64_result(value);
}

/* Of two operands the second comes first, but of a division. */
static uint64_t propagate_second(const uint64_t *x, double value) {
    return f64_propagate((const uint64_t[]){x[1], x[0]}, 2, value);
}

uint64_t f64_fma(uint64_t a, uint64_t b, uint64_t c) {
    volatile double result = fma(f64_from(a), f64_from(b), f64_from(c));
    return f64_propagate((const uint64_t[]){b, c, a}, 3, result);
}

uint64_t alu_dadd(const Insn *insn, const uint64_t *x) {
    volatile double a = f64_from(x[0]), b = f64_from(x[1]);
    return propagate_second(x, ROUNDED(insn, double, a + b));
}
uint64_t alu_dsub(const Insn *insn, const uint64_t *x) {
    volatile double a = f64_from(x[0]), b = f64_from(x[1]);
    return propagate_second(x, ROUNDED(insn, double, a - b));
}
uint64_t alu_dmul(const Insn *insn, const uint64_t *x) {
    volatile double a = f64_from(x[0]), b = f64_from(x[1]);
    return propagate_second(x, ROUNDED(insn, double, a *b));
}
uint64_t alu_dfma(const Insn *insn, const uint64_t *x) {
    return ROUNDED(insn, uint64_t, f64_fma(x[0], x[1], x[2]));
}
uint64_t alu_ddiv(const Insn *insn, const uint64_t *x) {
    volatile double a = f64_from(x[0]), b = f64_from(x[1]);
    return f64_propagate(x, 2, ROUNDED(insn, double, a / b));
}
uint64_t alu_drcp(const Insn *insn, const uint64_t *x) {
    volatile double a = f64_from(x[0]);
    return f64_propagate(x, 1, ROUNDED(insn, double, 1.0 / a));
}
uint64_t alu_dsqrt(const Insn *insn, const uint64_t *x) {
    volatile double a = f64_from(x[0]);
    return f64_propagate(x, 1, ROUNDED(insn, double, sqrt(a)));
}

/* abs and neg of one number change the sign bit. NaN becomes the GPU's one; of f64 it keeps its
 * sign and becomes quiet. With .ftz subnormal numbers become zero. */
static uint64_t with_sign(const Insn *insn, FloatFormat format, uint64_t x, bool negate) {
    uint64_t sign = UINT64_C(1) << (format.bits - 1);
    uint64_t exponent = ((UINT64_C(1) << format.exponent) - 1) << format.mantissa;
    if ((x & ~sign) > exponent)
        return format.bits == 64 ? x | F64_QUIET : float_canonical_nan(format);
    uint64_t result = negate ? x ^ sign : x & ~sign;
    return insn_has(insn, WORD_ftz) && !(x & exponent) ? result & sign : result;
}

static uint64_t each_sign(const Insn *insn, uint64_t x, bool negate) {
    FloatFormat format = float_format((Type)insn->type[0]);
    if (type_info[insn->type[0]].kind != KIND_PACKED)
        return with_sign(insn, format, low_bits(x, format.bits), negate);
    return with_sign(insn, format, x & 0xffff, negate) |
           with_sign(insn, format, x >> 16 & 0xffff, negate) << 16;
}

uint64_t alu_fabs(const Insn *insn, const uint64_t *x) {
    return each_sign(insn, x[0], false);
}
uint64_t alu_fneg(const Insn *insn, const uint64_t *x) {
    return each_sign(insn, x[0], true);
}

/* min and max of one number of a format: NaN loses, or wins with .NaN; -0 is less than +0. Of two
 * NaNs f64 takes the second, made quiet. */
static uint64_t extreme(const Insn *insn, FloatFormat format, uint64_t x, uint64_t y) {
    uint64_t sign = UINT64_C(1) << (format.bits - 1);
    uint64_t exponent = ((UINT64_C(1) << format.exponent) - 1) << format.mantissa;
    if (insn_has(insn, WORD_ftz)) {
        x = x & exponent ? x : x & sign;
        y = y & exponent ? y : y & sign;
    }
    uint64_t result_sign = (x ^ y) & sign;
    if (insn_has(insn, WORD_abs)) {
        x &= ~sign;
        y &= ~sign;
    }
    double a = float_decode(format, x), b = float_decode(format, y);
    uint64_t result;
    if (isnan(a) || isnan(b)) {
        if ((isnan(a) && isnan(b)) || insn_has(insn, WORD_NaN))
            return format.bits == 64 ? y | F64_QUIET : float_canonical_nan(format);
        result = isnan(a) ? y : x;
    } else {
        bool less = a < b || (a == b && (x & sign));
        result = less == (insn->row->name[1] == 'i') ? x : y;
    }
    return insn_has(insn, WORD_xorsign) ? (result & ~sign) | result_sign : result;
}

uint64_t alu_fminmax(const Insn *insn, const uint64_t *x) {
    FloatFormat format = float_format((Type)insn->type[0]);
    if (type_info[insn->type[0]].kind != KIND_PACKED)
        return extreme(insn, format, x[0], x[1]);
    return extreme(insn, format, x[0] & 0xffff, x[1] & 0xffff) |
           extreme(insn, format, x[0] >> 16, x[1] >> 16) << 16;
}

/* The sign of a on b (PTX ISA: "copy sign bit of a into the value of b"). */
uint64_t alu_copysign(const Insn *insn, const uint64_t *x) {
    uint64_t sign = UINT64_C(1) << (type_info[insn->type[0]].bits - 1);
    return (x[1] & ~sign) | (x[0] & sign);
}

uint64_t alu_testp(const Insn *insn, const uint64_t *x) {
    bool wide = insn->type[0] == TYPE_f64;
    double value = wide ? f64_from(x[0]) : (double)f32_from(x[0]);
    bool tiny = wide ? (x[0] >> 52 & 0x7ff) == 0 : (x[0] >> 23 & 0xff) == 0;
    switch ((Word)insn->field[FIELD_OPERATION]) {
    case WORD_finite:
        return isfinite(value) != 0;
    case WORD_infinite:
        return isinf(value) != 0;
    case WORD_number:
        return !isnan(value);
    case WORD_notanumber:
        return isnan(value) != 0;
    case WORD_normal: /* zeros too */
        return isfinite(value) && (!tiny || value == 0);
    default:
        return tiny && value != 0;
    }
}

static bool ordered(Word compare, double a, double b) {
    switch (compare) {
    case WORD_eq:
    case WORD_equ:
        return a == b;
    case WORD_ne:
    case WORD_neu:
        return a != b;
    case WORD_lt:
    case WORD_ltu:
        return a < b;
    case WORD_le:
    case WORD_leu:
        return a <= b;
    case WORD_gt:
    case WORD_gtu:
        return a > b;
    case WORD_ge:
    case WORD_geu:
        return a >= b;
    default:
        return compare == WORD_num;
    }
}

static bool unordered_is_true(Word compare) {
    switch (compare) {
    case WORD_equ:
    case WORD_neu:
    case WORD_ltu:
    case WORD_leu:
    case WORD_gtu:
    case WORD_geu:
    case WORD_nan:
        return true;
    default:
        return false;
    }
}

static bool compare_int(Word compare, bool with_sign_bit, unsigned bits, uint64_t a, uint64_t b) {
    bool less = with_sign_bit ? sign_extend(a, bits) < sign_extend(b, bits) : a < b;
    switch (compare) {
    case WORD_eq:
        return a == b;
    case WORD_ne:
        return a != b;
    case WORD_lt:
    case WORD_lo:
        return less;
    case WORD_le:
    case WORD_ls:
        return less || a == b;
    case WORD_gt:
    case WORD_hi:
        return !less && a != b;
    default:
        return !less;
    }
}

bool alu_compare(Word compare, Type type, bool ftz, uint64_t a, uint64_t b) {
    const TypeInfo *info = &type_info[type];
    if (info->kind != KIND_FLOAT && info->kind != KIND_PACKED)
        return compare_int(compare, info->kind == KIND_SINT, info->bits, a, b);
    FloatFormat format = float_format(type);
    if (ftz) {
        uint64_t exponent = ((UINT64_C(1) << format.exponent) - 1) << format.mantissa;
        a = a & exponent ? a : 0;
        b = b & exponent ? b : 0;
    }
    double x = format.bits == 32 ? (double)f32_from(a) : float_decode(format, a);
    double y = format.bits == 32 ? (double)f32_from(b) : float_decode(format, b);
    return isnan(x) || isnan(y) ? unordered_is_true(compare) : ordered(compare, x, y);
}

uint64_t alu_set(const Insn *insn, const uint64_t *x) {
    Word compare = (Word)insn->field[FIELD_COMPARE];
    bool ftz = insn_has(insn, WORD_ftz);
    Type to = (Type)insn->type[0], from = (Type)insn->type[1];
    if (type_info[from].kind == KIND_PACKED) {
        uint64_t one = type_info[to].kind != KIND_PACKED ? 0xffff
                       : from == TYPE_f16x2              ? 0x3c00
                                                         : 0x3f80;
        return (alu_compare(compare, from, ftz, x[0] & 0xffff, x[1] & 0xffff) ? one : 0) |
               (alu_compare(compare, from, ftz, x[0] >> 16, x[1] >> 16) ? one << 16 : 0);
    }
    if (!alu_compare(compare, from, ftz, x[0], x[1]))
        return 0;
    if (type_info[to].kind != KIND_FLOAT)
        return low_bits(UINT64_MAX, type_info[to].bits);
    return float_encode(float_format(to), 1.0, ROUND_NEAREST, false);
}

/* a where c >= 0, else b; NaN is not. */
uint64_t alu_slct(const Insn *insn, const uint64_t *x) {
    bool first = insn->type[1] == TYPE_s32 ? (int32_t)x[2] >= 0 : input(insn, x[2]) >= 0;
    return first ? x[0] : x[1];
}
