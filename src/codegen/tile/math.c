/* Mathematical functions of one element.
 *
 * f32 uses the approximate instructions where Triton does (exp, exp2, sqrt, rsqrt, division); the
 * others are expansions of our own, made of fused multiply-adds, for f32 and f64, so that no
 * library is linked into a kernel. Narrower types are computed in f32 and rounded. docs/codegen.md
 * has the error bounds; the polynomials are Chebyshev fits, computed with 90 digits and rounded, of
 * the functions named beside them.
 *
 * Subnormal inputs and results are kept except by ex2.approx.ftz, unless that is not wanted. */
#include "codegen/lowerings.h"
#include "codegen/tile/convert.h"
#include "codegen/tile/math_tables.h"
#include "codegen/values/builder.h"
#include "codegen/values/cache.h"
#include "codegen/values/shuffle.h"
#include "codegen/values/values.h"
#include <math.h>

/* Arithmetic on the type of the operands */

static Lv add(Cg *cg, Lv a, Lv b) {
    return LLVMBuildFAdd(cg->b, a, b, "");
}

static Lv sub(Cg *cg, Lv a, Lv b) {
    return LLVMBuildFSub(cg->b, a, b, "");
}

static Lv mul(Cg *cg, Lv a, Lv b) {
    return LLVMBuildFMul(cg->b, a, b, "");
}

static Lv fma3(Cg *cg, Lv a, Lv b, Lv c) {
    LLVMTypeRef type = LLVMTypeOf(a);
    return cg_intrinsic(cg, "llvm.fma", &type, 1, (Lv[]){a, b, c}, 3);
}

/* A constant of x's type. */
static Lv like(Lv x, double v) {
    return LLVMConstReal(LLVMTypeOf(x), v);
}

static Lv absolute(Cg *cg, Lv x) {
    return cg_intrinsic1(cg, "llvm.fabs", x);
}

static Lv less(Cg *cg, Lv a, Lv b) {
    return LLVMBuildFCmp(cg->b, LLVMRealOLT, a, b, "");
}

static Lv choose(Cg *cg, Lv cond, Lv a, Lv b) {
    return LLVMBuildSelect(cg->b, cond, a, b, "");
}

static bool is_f64(Cg *cg, Lv x) {
    return LLVMTypeOf(x) == cg->t_f64;
}

/* c[0] + x * (c[1] + x * ..) */
static Lv poly(Cg *cg, Lv x, const double *c, int n) {
    Lv sum = like(x, c[n - 1]);
    for (int i = n - 2; i >= 0; i--)
        sum = fma3(cg, sum, x, like(x, c[i]));
    return sum;
}
#define POLY(cg, x, table) poly(cg, x, table, (int)(sizeof table / sizeof *table))

static LLVMTypeRef bits_type(Cg *cg, Lv x) {
    return is_f64(cg, x) ? cg->t_i64 : cg->t_i32;
}

static Lv to_bits(Cg *cg, Lv x) {
    return LLVMBuildBitCast(cg->b, x, bits_type(cg, x), "");
}

/* 2^k for a normal result; k is an integer of the float's width. */
static Lv power_of_two(Cg *cg, Lv k, LLVMTypeRef type) {
    LLVMTypeRef bits = LLVMTypeOf(k);
    bool wide = type == cg->t_f64;
    Lv biased = LLVMBuildAdd(cg->b, k, LLVMConstInt(bits, wide ? 1023 : 127, false), "");
    Lv shifted = LLVMBuildShl(cg->b, biased, LLVMConstInt(bits, wide ? 52 : 23, false), "");
    return LLVMBuildBitCast(cg->b, shifted, type, "");
}

/* The sign of `sign` on the magnitude of x. */
static Lv copy_sign(Cg *cg, Lv x, Lv sign) {
    return cg_intrinsic2(cg, "llvm.copysign", x, sign);
}

/* f32 by instructions */

static Lv unary_asm(Cg *cg, const char *instruction, Lv x) {
    return cg_asm(cg, cg->t_f32, instruction, "=f,f", &x, 1, ASM_PURE);
}

static Lv exp2_f32(Cg *cg, Lv x) {
    return unary_asm(
        cg, cg->options->no_ftz ? "ex2.approx.f32 $0, $1;" : "ex2.approx.ftz.f32 $0, $1;", x);
}

/* Exponential, f64 */

/* value * 2^k for k beyond the exponents of normal numbers: in two steps. */
static Lv scale(Cg *cg, Lv value, Lv k) {
    Lv half = LLVMBuildAShr(cg->b, k, cg_i64(cg, 1), "");
    Lv rest = LLVMBuildSub(cg->b, k, half, "");
    value = mul(cg, value, power_of_two(cg, half, cg->t_f64));
    return mul(cg, value, power_of_two(cg, rest, cg->t_f64));
}

/* x limited to where the result is neither zero nor infinite for sure; NaN stays. */
static Lv limit(Cg *cg, Lv x, double low, double high) {
    x = choose(cg, less(cg, x, like(x, low)), like(x, low), x);
    return choose(cg, less(cg, like(x, high), x), like(x, high), x);
}

static Lv whole(Cg *cg, Lv x) {
    return cg_intrinsic1(cg, "llvm.rint", x);
}

static Lv exp_f64(Cg *cg, Lv x) {
    x = limit(cg, x, -760.0, 720.0);
    Lv k = whole(cg, mul(cg, x, like(x, 0x1.71547652b82fep+0)));
    Lv r = fma3(cg, k, like(x, -0x1.62e42fefa39efp-1), x);
    r = fma3(cg, k, like(x, -0x1.abc9e3b39803fp-56), r);
    Lv terms = POLY(cg, r, exp_table_f64);
    Lv tail = mul(cg, mul(cg, r, r), terms);
    Lv value = add(cg, like(x, 1.0), add(cg, r, tail));
    return scale(cg, value, LLVMBuildFPToSI(cg->b, k, cg->t_i64, ""));
}

static Lv exp2_f64(Cg *cg, Lv x) {
    x = limit(cg, x, -1100.0, 1040.0);
    Lv k = whole(cg, x);
    Lv value = POLY(cg, sub(cg, x, k), exp2_table_f64);
    return scale(cg, value, LLVMBuildFPToSI(cg->b, k, cg->t_i64, ""));
}

/* Logarithms */

typedef struct Fraction {
    Lv f; /* x = (1 + f) * 2^e with 1 + f in [sqrt(1/2), sqrt(2)) */
    Lv e; /* as a float */
} Fraction;

static Fraction split_exponent(Cg *cg, Lv x) {
    LLVMBuilderRef b = cg->b;
    bool wide = is_f64(cg, x);
    LLVMTypeRef bits_t = bits_type(cg, x), type = LLVMTypeOf(x);
    uint64_t root_half = wide ? 0x3fe6a09e667f3bcdu : 0x3f3504f3u;
    int digits = wide ? 52 : 23;
    /* Subnormals are brought into range first. */
    Lv tiny = less(cg, x, like(x, wide ? 0x1p-1022 : 0x1p-126));
    x = choose(cg, tiny, mul(cg, x, like(x, wide ? 0x1p54 : 0x1p23)), x);
    Lv offset = choose(cg, tiny, like(x, wide ? -54.0 : -23.0), like(x, 0.0));
    Lv bits = to_bits(cg, x);
    Lv above = LLVMBuildSub(b, bits, LLVMConstInt(bits_t, root_half, false), "");
    /* e where it stands among the bits, which is e * 2^digits: exact as a float, too. */
    Lv shifted = LLVMBuildAnd(b, above, LLVMConstInt(bits_t, UINT64_MAX << digits, true), "");
    Lv m = LLVMBuildBitCast(b, LLVMBuildSub(b, bits, shifted, ""), type, "");
    Lv f = sub(cg, m, like(x, 1.0)), unit = like(x, wide ? 0x1p-52 : 0x1p-23);
    return (Fraction){f, fma3(cg, LLVMBuildSIToFP(b, shifted, type, ""), unit, offset)};
}

/* What a logarithm is outside of the positive finite numbers: infinity and NaN pass, negative ones
 * are NaN. Asked of the bits: of comparisons LLVM makes a question of the number's class, and of
 * that twice the instructions. */
static Lv log_special(Cg *cg, Lv x, Lv result) {
    Lv infinite = like(x, INFINITY), zero = like(x, 0.0);
    Lv finite = LLVMBuildICmp(cg->b, LLVMIntULT, to_bits(cg, x), to_bits(cg, infinite), "");
    result = choose(cg, finite, result, fma3(cg, x, infinite, infinite));
    return choose(cg, LLVMBuildFCmp(cg->b, LLVMRealOEQ, x, zero, ""), like(x, -INFINITY), result);
}

static Lv log_f32(Cg *cg, Lv x) {
    Fraction s = split_exponent(cg, x);
    Lv square = mul(cg, s.f, s.f);
    Lv r = fma3(cg, square, POLY(cg, s.f, log_table_f32), s.f);
    return log_special(cg, x, fma3(cg, s.e, like(x, 0x1.62e430p-1), r));
}

/* log2(1 + f) = f + (f * (log2(e) - 1) + f^2 * P(f)): the leading term is exact. */
static Lv log2_f32(Cg *cg, Lv x) {
    Fraction s = split_exponent(cg, x);
    Lv square = mul(cg, s.f, s.f);
    Lv linear = mul(cg, s.f, like(x, 0x1.c551d94ap-2));
    Lv tail = fma3(cg, square, POLY(cg, s.f, log2_table_f32), linear);
    return log_special(cg, x, add(cg, s.e, add(cg, s.f, tail)));
}

/* log(1 + f) with s = f / (2 + f): f - (f^2/2 - s * (f^2/2 + R)), R = s^2 * polynomial in s^2. */
static Lv log_fraction_f64(Cg *cg, Lv f, Lv e_low) {
    Lv s = LLVMBuildFDiv(cg->b, f, add(cg, f, like(f, 2.0)), "");
    Lv z = mul(cg, s, s), half = mul(cg, mul(cg, f, f), like(f, 0.5));
    Lv r = mul(cg, z, POLY(cg, z, log_table_f64));
    Lv inner = fma3(cg, s, add(cg, half, r), e_low);
    return sub(cg, f, sub(cg, half, inner));
}

static Lv log_f64(Cg *cg, Lv x) {
    Fraction s = split_exponent(cg, x);
    Lv low = mul(cg, s.e, like(x, 0x1.abc9e3b39803fp-56));
    Lv r = log_fraction_f64(cg, s.f, low);
    return log_special(cg, x, fma3(cg, s.e, like(x, 0x1.62e42fefa39efp-1), r));
}

static Lv log2_f64(Cg *cg, Lv x) {
    Fraction s = split_exponent(cg, x);
    Lv r = log_fraction_f64(cg, s.f, like(x, 0.0));
    Lv high = mul(cg, r, like(x, 0x1.71547652b82fep+0));
    Lv low = fma3(cg, r, like(x, 0x1.71547652b82fep+0), LLVMBuildFNeg(cg->b, high, ""));
    low = fma3(cg, r, like(x, 0x1.777d0ffda0d24p-56), low);
    return log_special(cg, x, add(cg, s.e, add(cg, high, low)));
}

/* Sine and cosine */

typedef struct Angle {
    Lv r;        /* x - quadrant * pi/2, in [-pi/4, pi/4] */
    Lv quadrant; /* i32, modulo 4 */
} Angle;

/* x - k * pi/2 with pi/2 in three parts: exact enough while k has few digits. A sum of which no
 * fraction is left has k in its lowest bits, which takes no conversion. The parts are positive and
 * k is no -0, so that -0 stays that. */
static Angle reduce_small(Cg *cg, Lv x) {
    bool wide = is_f64(cg, x);
    static const double parts[2][3] = {
        {0x1.921fb4p+0, 0x1.4442dp-24, 0x1.846988p-48},
        {0x1.921fb54442d18p+0, 0x1.1a62633145c06p-54, 0x1.c1cd129024e08p-107}};
    Lv magic = like(x, wide ? 0x1.8p52 : 0x1.8p23);
    Lv sum = fma3(cg, x, like(x, 0x1.45f306dc9c883p-1), magic);
    Lv k = LLVMBuildFSub(cg->b, sum, magic, "");
    Lv r = x;
    for (int i = 0; i < 3; i++)
        r = fma3(cg, k, like(x, -parts[wide][i]), r);
    return (Angle){r, LLVMBuildTruncOrBitCast(cg->b, to_bits(cg, sum), cg->t_i32, "")};
}

/* The bits of 2/pi that matter for a large argument, as a table in constant memory. */
static Lv two_over_pi_table(Cg *cg) {
    Lv table = LLVMGetNamedGlobal(cg->module, "tilec$two_over_pi");
    if (table)
        return table;
    enum { WORDS = sizeof two_over_pi / sizeof *two_over_pi };
    Lv words[WORDS];
    for (int i = 0; i < WORDS; i++)
        words[i] = cg_i32(cg, two_over_pi[i]);
    Lv init = LLVMConstArray2(cg->t_i32, words, WORDS);
    table =
        LLVMAddGlobalInAddressSpace(cg->module, LLVMTypeOf(init), "tilec$two_over_pi", SPACE_CONST);
    LLVMSetInitializer(table, init);
    LLVMSetGlobalConstant(table, true);
    LLVMSetLinkage(table, LLVMInternalLinkage);
    return table;
}

/* 64 bits of 2/pi from bit `position` (i32) on; a word of zeros precedes the number. */
static Lv window(Cg *cg, Lv position) {
    LLVMBuilderRef b = cg->b;
    Lv word = LLVMBuildLShr(b, position, cg_i32(cg, 5), "");
    Lv shift = LLVMBuildAnd(b, position, cg_i32(cg, 31), "");
    Lv table = two_over_pi_table(cg), part[3];
    for (int i = 0; i < 3; i++) {
        Lv at = LLVMBuildAdd(b, word, cg_i32(cg, i), "");
        Lv place = LLVMBuildGEP2(b, cg->t_i32, table, &at, 1, "");
        part[i] = LLVMBuildLoad2(b, cg->t_i32, place, "");
    }
    LLVMTypeRef type = cg->t_i32;
    Lv high = cg_intrinsic(cg, "llvm.fshl", &type, 1, (Lv[]){part[0], part[1], shift}, 3);
    Lv low = cg_intrinsic(cg, "llvm.fshl", &type, 1, (Lv[]){part[1], part[2], shift}, 3);
    low = LLVMBuildZExt(b, low, cg->t_i64, "");
    high = LLVMBuildShl(b, LLVMBuildZExt(b, high, cg->t_i64, ""), cg_i64(cg, 32), "");
    return LLVMBuildOr(b, high, low, "");
}

/* High half of the product of two i64. */
static Lv mul_high(Cg *cg, Lv a, Lv b) {
    LLVMTypeRef wide = LLVMIntTypeInContext(cg->llvm, 128);
    b = LLVMBuildZExt(cg->b, b, wide, "");
    Lv product = LLVMBuildMul(cg->b, LLVMBuildZExt(cg->b, a, wide, ""), b, "");
    product = LLVMBuildLShr(cg->b, product, LLVMConstInt(wide, 64, false), "");
    return LLVMBuildTrunc(cg->b, product, cg->t_i64, "");
}

/* |x| = m * 2^shift with an integer m. Of m * 2^shift * 2/pi only the value modulo 8 matters, so
 * the bits of 2/pi above 2^(3 - shift) are left out; 192 bits follow, which leaves 128 good ones
 * behind the binary point. They stand in (high, middle, low), the lowest three integer bits on top.
 */
static Angle reduce_large(Cg *cg, Lv x) {
    LLVMBuilderRef b = cg->b;
    bool wide = is_f64(cg, x);
    int digits = wide ? 52 : 23, bias = wide ? 1023 : 127;
    Lv bits = LLVMBuildZExt(b, to_bits(cg, x), cg->t_i64, "");
    Lv exponent = LLVMBuildAnd(b, LLVMBuildLShr(b, bits, cg_i64(cg, digits), ""),
                               cg_i64(cg, wide ? 0x7ff : 0xff), "");
    Lv m = LLVMBuildAnd(b, bits, cg_i64(cg, ((int64_t)1 << digits) - 1), "");
    m = LLVMBuildOr(b, m, cg_i64(cg, (int64_t)1 << digits), "");
    /* Position in the table, which begins 64 bits before the number. */
    Lv shift =
        LLVMBuildSub(b, LLVMBuildTrunc(b, exponent, cg->t_i32, ""), cg_i32(cg, bias + digits), "");
    Lv position = LLVMBuildAdd(b, shift, cg_i32(cg, 64 - 3), "");
    Lv w[3];
    for (int i = 0; i < 3; i++)
        w[i] = window(cg, LLVMBuildAdd(b, position, cg_i32(cg, 64 * i), ""));
    Lv low_carry = mul_high(cg, m, w[2]);
    Lv middle_product = LLVMBuildMul(b, m, w[1], "");
    Lv middle = LLVMBuildAdd(b, middle_product, low_carry, "");
    Lv carry = LLVMBuildZExt(b, LLVMBuildICmp(b, LLVMIntULT, middle, low_carry, ""), cg->t_i64, "");
    Lv from_middle = mul_high(cg, m, w[1]);
    Lv high = LLVMBuildAdd(b, LLVMBuildMul(b, m, w[0], ""), from_middle, "");
    high = LLVMBuildAdd(b, high, carry, "");

    Lv quadrant = LLVMBuildTrunc(b, LLVMBuildLShr(b, high, cg_i64(cg, 61), ""), cg->t_i32, "");
    LLVMTypeRef type = cg->t_i64;
    Lv fraction = cg_intrinsic(cg, "llvm.fshl", &type, 1, (Lv[]){high, middle, cg_i64(cg, 3)}, 3);
    Lv rest = LLVMBuildShl(b, middle, cg_i64(cg, 3), "");
    /* A fraction of a half or more belongs to the next quadrant, from below: as a signed number it
     * is that. */
    Lv up = LLVMBuildLShr(b, fraction, cg_i64(cg, 63), "");
    quadrant = LLVMBuildAdd(b, quadrant, LLVMBuildTrunc(b, up, cg->t_i32, ""), "");
    Lv value = mul(cg, LLVMBuildSIToFP(b, fraction, cg->t_f64, ""), cg_real(cg->t_f64, 0x1p-64));
    value = fma3(cg, LLVMBuildUIToFP(b, rest, cg->t_f64, ""), cg_real(cg->t_f64, 0x1p-128), value);
    value = mul(cg, value, cg_real(cg->t_f64, 0x1.921fb54442d18p+0));
    if (!wide)
        value = LLVMBuildFPTrunc(b, value, cg->t_f32, "");
    Lv negative = less(cg, x, like(x, 0.0));
    value = choose(cg, negative, LLVMBuildFNeg(b, value, ""), value);
    /* Infinity has no angle. */
    value = choose(cg, less(cg, absolute(cg, x), like(x, INFINITY)), value, like(x, NAN));
    return (Angle){value, choose(cg, negative, LLVMBuildNeg(b, quadrant, ""), quadrant)};
}

/* Large arguments are rare: they branch off. */
static Angle reduce_angle(Cg *cg, Lv x) {
    Lv bound = like(x, is_f64(cg, x) ? 0x1p20 : 0x1p16);
    Angle small = reduce_small(cg, x), large;
    Lv is_large = LLVMBuildFCmp(cg->b, LLVMRealOGE, absolute(cg, x), bound, "");
    LLVMBasicBlockRef from = LLVMGetInsertBlock(cg->b), far = cg_block(cg, "large_angle"),
                      after = cg_block(cg, "angle");
    LLVMBuildCondBr(cg->b, is_large, far, after);
    cg_position(cg, far);
    large = reduce_large(cg, x);
    LLVMBuildBr(cg->b, after);
    cg_position(cg, after);
    Angle angle = {.r = LLVMBuildPhi(cg->b, LLVMTypeOf(x), "")};
    angle.quadrant = LLVMBuildPhi(cg->b, cg->t_i32, "");
    LLVMAddIncoming(angle.r, (Lv[]){small.r, large.r}, (LLVMBasicBlockRef[]){from, far}, 2);
    LLVMAddIncoming(angle.quadrant, (Lv[]){small.quadrant, large.quadrant},
                    (LLVMBasicBlockRef[]){from, far}, 2);
    return angle;
}

/* sin(x + quadrants * pi/2) */
static Lv sine(Cg *cg, Lv x, int quadrants) {
    bool wide = is_f64(cg, x);
    Angle angle = reduce_angle(cg, x);
    Lv q = LLVMBuildAdd(cg->b, angle.quadrant, cg_i32(cg, quadrants), "");
    Lv z = mul(cg, angle.r, angle.r);
    /* Of -0 it is 0, whose product with the polynomial is -0: the sine of -0 is -0, too. */
    Lv cube = fma3(cg, z, angle.r, like(x, 0.0));
    Lv s = wide ? POLY(cg, z, sin_table_f64) : POLY(cg, z, sin_table_f32);
    s = fma3(cg, cube, s, angle.r);
    Lv c = wide ? POLY(cg, z, cos_table_f64) : POLY(cg, z, cos_table_f32);
    Lv start = fma3(cg, z, like(x, -0.5), like(x, 1.0));
    c = fma3(cg, mul(cg, z, z), c, start);
    Lv value = choose(cg, cg_parity(cg, q, 1), c, s);
    Lv opposite = LLVMBuildFNeg(cg->b, value, "");
    return choose(cg, cg_parity(cg, q, 2), opposite, value);
}

static Lv sin_any(Cg *cg, Lv x) {
    return sine(cg, x, 0);
}

static Lv cos_any(Cg *cg, Lv x) {
    return sine(cg, x, 1);
}

/* tanh, erf: a polynomial near zero, 1 - something small away from it */

static Lv reciprocal(Cg *cg, Lv x) {
    return is_f64(cg, x) ? LLVMBuildFDiv(cg->b, like(x, 1.0), x, "")
                         : unary_asm(cg, "rcp.approx.ftz.f32 $0, $1;", x);
}

/* 1 - 2 / (exp(2 |x|) + 1) from 0.6 on; the sum of a series loses the sign of -0. */
static Lv tanh_any(Cg *cg, Lv x) {
    bool wide = is_f64(cg, x);
    Lv a = absolute(cg, x), z = mul(cg, x, x);
    Lv series = wide ? POLY(cg, z, tanh_table_f64) : POLY(cg, z, tanh_table_f32);
    series = fma3(cg, mul(cg, z, x), series, x);
    Lv grown =
        wide ? exp_f64(cg, add(cg, a, a)) : exp2_f32(cg, mul(cg, a, like(x, 2 * 0x1.715476p+0)));
    Lv far = fma3(cg, like(x, -2.0), reciprocal(cg, add(cg, grown, like(x, 1.0))), like(x, 1.0));
    return copy_sign(cg, choose(cg, less(cg, a, like(x, 0.6)), series, far), x);
}

/* log2(erfc) is nearly a parabola: one polynomial and one ex2. */
static Lv erf_f32(Cg *cg, Lv x) {
    Lv a = absolute(cg, x), z = mul(cg, x, x);
    Lv series = mul(cg, x, POLY(cg, z, erf_table_f32));
    Lv bounded = choose(cg, less(cg, like(x, 4.0), a), like(x, 4.0), a);
    Lv far = sub(cg, like(x, 1.0), exp2_f32(cg, POLY(cg, bounded, erf_tail_table_f32)));
    far = copy_sign(cg, far, x);
    return choose(cg, less(cg, a, like(x, 1.0)), series, far);
}

/* 2^(x * polynomial), or 2 less that of -x, without branches: what is asked for is a sum with 1
 * that is right to its own last places, so that erf needs none of its own near zero. */
static Lv erfc_f32(Cg *cg, Lv x) {
    Lv a = absolute(cg, x);
    Lv far = exp2_f32(cg, mul(cg, a, POLY(cg, a, erfc_table_f32)));
    Lv near = sub(cg, like(x, 2.0), far);
    return choose(cg, less(cg, x, like(x, 0.0)), near, far);
}

/* x times what of the normal distribution lies below x: 2^polynomial of |x| for negative x, what is
 * missing to 1 for others. All factors of the source are in the polynomial. */
static Lv gelu_by(Cg *cg, Lv x, Lv log2_tail) {
    Lv tail = exp2_f32(cg, log2_tail);
    Lv rest = sub(cg, like(x, 1.0), tail);
    return mul(cg, x, choose(cg, less(cg, x, like(x, 0.0)), tail, rest));
}

static Lv gelu_f32(Cg *cg, Lv x) {
    return gelu_by(cg, x, POLY(cg, absolute(cg, x), gelu_table_f32));
}

static Lv gelu_rounded_f32(Cg *cg, Lv x) {
    return gelu_by(cg, x, POLY(cg, absolute(cg, x), gelu_rounded_table_f32));
}

/* erfc(a) = exp(-a^2) * polynomial in 1 / (a + 2). */
static Lv erf_f64(Cg *cg, Lv x) {
    Lv a = absolute(cg, x), z = mul(cg, x, x);
    Lv series = mul(cg, x, POLY(cg, z, erf_table_f64));
    Lv bounded = choose(cg, less(cg, like(x, 6.5), a), like(x, 6.5), a);
    Lv u = LLVMBuildFDiv(cg->b, like(x, 1.0), add(cg, bounded, like(x, 2.0)), "");
    Lv small = exp_f64(cg, LLVMBuildFNeg(cg->b, mul(cg, bounded, bounded), ""));
    Lv far = sub(cg, like(x, 1.0), mul(cg, small, POLY(cg, u, erf_tail_table_f64)));
    far = copy_sign(cg, far, x);
    return choose(cg, less(cg, a, like(x, 1.0)), series, far);
}

static Lv erfc_f64(Cg *cg, Lv x) {
    return sub(cg, like(x, 1.0), erf_f64(cg, x));
}

static Lv gelu_f64(Cg *cg, Lv x) {
    Lv half = mul(cg, x, like(x, 0.5));
    Lv scaled = mul(cg, x, like(x, -0x1.6a09e667f3bcdp-1));
    return mul(cg, half, erfc_f64(cg, scaled));
}

/* Remainder of C: |x| is reduced by |y| * 2^i, from the largest i down; every subtraction is exact.
 */
static Lv remainder_any(Cg *cg, Lv x, Lv y) {
    LLVMBuilderRef b = cg->b;
    LLVMTypeRef type = LLVMTypeOf(x);
    Lv divisor = absolute(cg, y), start = absolute(cg, x);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(b), head = cg_block(cg, "rem"),
                      grow = cg_block(cg, "rem_scale"), shrink = cg_block(cg, "rem_step"),
                      after = cg_block(cg, "end_rem");
    /* Nothing to do for |x| < |y|, and no result for x infinite, y zero or either NaN. */
    Lv divides = LLVMBuildFCmp(b, LLVMRealOGT, divisor, like(x, 0.0), "");
    Lv defined = LLVMBuildAnd(b, less(cg, start, like(x, INFINITY)), divides, "");
    Lv loops = LLVMBuildAnd(b, defined, LLVMBuildFCmp(b, LLVMRealOGE, start, divisor, ""), "");
    LLVMBuildCondBr(b, loops, grow, after);

    /* The largest |y| * 2^i that is at most |x|; |x| / 2 is compared, so that doubling cannot
     * overflow. */
    cg_position(cg, grow);
    Lv scaled = LLVMBuildPhi(b, type, "");
    Lv doubled = add(cg, scaled, scaled);
    Lv fits = LLVMBuildFCmp(b, LLVMRealOLE, scaled, mul(cg, start, like(x, 0.5)), "");
    LLVMBuildCondBr(b, fits, grow, head);
    LLVMAddIncoming(scaled, (Lv[]){divisor, doubled}, (LLVMBasicBlockRef[]){from, grow}, 2);

    cg_position(cg, head);
    Lv rest = LLVMBuildPhi(b, type, ""), step = LLVMBuildPhi(b, type, "");
    Lv takes = LLVMBuildFCmp(b, LLVMRealOGE, rest, step, "");
    Lv less_rest = choose(cg, takes, sub(cg, rest, step), rest);
    Lv ends = LLVMBuildFCmp(b, LLVMRealOEQ, step, divisor, "");
    LLVMBuildCondBr(b, ends, after, shrink);
    cg_position(cg, shrink);
    Lv half = mul(cg, step, like(x, 0.5));
    LLVMBuildBr(b, head);
    LLVMAddIncoming(rest, (Lv[]){start, less_rest}, (LLVMBasicBlockRef[]){grow, shrink}, 2);
    LLVMAddIncoming(step, (Lv[]){scaled, half}, (LLVMBasicBlockRef[]){grow, shrink}, 2);

    cg_position(cg, after);
    Lv result = LLVMBuildPhi(b, type, "");
    LLVMAddIncoming(result, (Lv[]){start, less_rest}, (LLVMBasicBlockRef[]){from, head}, 2);
    /* Infinity for y passes, for it is larger; NaN in y does not get here as defined. */
    Lv has_y = LLVMBuildFCmp(b, LLVMRealOGT, divisor, like(x, 0.0), "");
    Lv valid = LLVMBuildAnd(b, less(cg, start, like(x, INFINITY)), has_y, "");
    return choose(cg, valid, copy_sign(cg, result, x), like(x, NAN));
}

/* The ops */

static DType element(const Op *op) {
    return op_in(op, 0)->type->dtype;
}

typedef Lv Unary(Cg *cg, Lv x);

static Lv unary(Cg *cg, const Op *op, Lv x, Unary *f32, Unary *f64) {
    DType dtype = element(op);
    if (dtype == DT_F64)
        return f64(cg, x);
    return cg_from_f32(cg, dtype, f32(cg, cg_to_f32(cg, dtype, x)));
}

#define UNARY(name, f32, f64)                                                                      \
    Lv emit_##name(Cg *cg, const Op *op, const Lv *in) {                                           \
        return unary(cg, op, in[0], f32, f64);                                                     \
    }

static Lv exp_f32(Cg *cg, Lv x) {
    return exp2_f32(cg, cg_contract(cg, mul(cg, x, like(x, 0x1.715476p+0))));
}

static Lv sqrt_f32(Cg *cg, Lv x) {
    return cg_intrinsic(cg, "llvm.nvvm.sqrt.approx.f", NULL, 0, &x, 1);
}

static Lv sqrt_exact(Cg *cg, Lv x) {
    return is_f64(cg, x) ? cg_intrinsic(cg, "llvm.nvvm.sqrt.rn.d", NULL, 0, &x, 1)
                         : cg_intrinsic(cg, "llvm.nvvm.sqrt.rn.f", NULL, 0, &x, 1);
}

static Lv rsqrt_f32(Cg *cg, Lv x) {
    return cg_intrinsic(cg, "llvm.nvvm.rsqrt.approx.f", NULL, 0, &x, 1);
}

static Lv rsqrt_f64(Cg *cg, Lv x) {
    return LLVMBuildFDiv(cg->b, like(x, 1.0), sqrt_exact(cg, x), "");
}

UNARY(exp, exp_f32, exp_f64)
UNARY(exp2, exp2_f32, exp2_f64)
UNARY(log, log_f32, log_f64)
UNARY(log2, log2_f32, log2_f64)
UNARY(sin, sin_any, sin_any)
UNARY(cos, cos_any, cos_any)
UNARY(tanh, tanh_any, tanh_any)
UNARY(erf, erf_f32, erf_f64)
UNARY(erfc, erfc_f32, erfc_f64)
UNARY(gelu, gelu_attrs(op)->rounded ? gelu_rounded_f32 : gelu_f32, gelu_f64)
UNARY(sqrt, sqrt_f32, sqrt_exact)
UNARY(sqrt_rn, sqrt_exact, sqrt_exact)
UNARY(rsqrt, rsqrt_f32, rsqrt_f64)

/* Division by a power of two whose reciprocal is normal is a multiplication. */
static Lv exact_reciprocal(Lv divisor) {
    if (!LLVMIsAConstantFP(divisor))
        return NULL;
    LLVMBool inexact = false;
    int exponent = 0;
    double value = LLVMConstRealGetDouble(divisor, &inexact);
    if (inexact || fabs(frexp(value, &exponent)) != 0.5 || exponent < -125 || exponent > 126)
        return NULL;
    return like(divisor, 1 / value);
}

/* One divisor for many registers (a row's sum) is inverted once: rcp.approx errs by 1 ulp and the
 * product by half of one, which is within the 2 ulp of div.full. Divisors far from 1 are scaled by
 * a power of two, the dividends with them, so that neither the reciprocal nor an intermediate
 * product leaves the normal range unless the quotient does. */
typedef struct Reciprocal {
    struct Reciprocal *next;
    Lv divisor; /* the op's operand */
    Lv scale, inverse;
} Reciprocal;

typedef struct Reciprocals {
    const Op *op; /* whose divisors these are */
    Reciprocal *latest;
} Reciprocals;

static const CacheKind reciprocals_kind = {sizeof(Reciprocals)};

enum { REGISTERS_WORTH_A_RECIPROCAL = 4 };

static const Reciprocal *shared_reciprocal(Cg *cg, const Op *op, Lv divisor, Lv as_f32) {
    /* How many registers share it is a matter of layouts. */
    if (cg->func->deterministic)
        return NULL;
    Reciprocals *cache = cg_cache(cg, &reciprocals_kind);
    if (cache->op != op)
        *cache = (Reciprocals){op, NULL};
    for (const Reciprocal *r = cache->latest; r; r = r->next)
        if (r->divisor == divisor)
            return r;
    Lv *divisors = cg_in(cg, op, 1);
    int users = 0;
    for (uint32_t i = 0; i < cg_count(op->out[0].type) && users < REGISTERS_WORTH_A_RECIPROCAL; i++)
        users += divisors[i] == divisor;
    if (users < REGISTERS_WORTH_A_RECIPROCAL)
        return NULL;
    Reciprocal *r = ARENA_NEW(cg->arena, Reciprocal);
    Lv magnitude = absolute(cg, as_f32);
    Lv grows = choose(cg, less(cg, magnitude, like(as_f32, 0x1p-64)), like(as_f32, 0x1p64),
                      like(as_f32, 1.0));
    r->scale = choose(cg, less(cg, like(as_f32, 0x1p64), magnitude), like(as_f32, 0x1p-64), grows);
    r->inverse = reciprocal(cg, mul(cg, as_f32, r->scale));
    r->divisor = divisor;
    r->next = cache->latest;
    return cache->latest = r;
}

/* By a number from 1 on, or NaN: none is too small to be inverted, and those whose reciprocal
 * would be subnormal are scaled, or lead to 0. */
static Lv divide_from_one(Cg *cg, const Op *op, Lv a, Lv b) {
    if (divf_attrs(op)->flushed && !cg->options->no_ftz)
        return reciprocal(cg, b);
    Lv large = less(cg, like(b, 0x1p126), b), quarter = like(b, 0.25);
    Lv divisor = choose(cg, large, mul(cg, b, quarter), b);
    Lv dividend = choose(cg, large, mul(cg, a, quarter), a);
    return cg_contract(cg, mul(cg, dividend, reciprocal(cg, divisor)));
}

static Lv divide_f32(Cg *cg, const Op *op, Lv a, Lv b, Lv divisor) {
    Lv factor = exact_reciprocal(b);
    if (factor)
        return cg_contract(cg, mul(cg, a, factor));
    const Reciprocal *shared = shared_reciprocal(cg, op, divisor, b);
    if (shared)
        return cg_contract(cg, mul(cg, mul(cg, a, shared->scale), shared->inverse));
    if (divf_attrs(op)->from_one)
        return divide_from_one(cg, op, a, b);
    return cg_asm(cg, cg->t_f32, "div.full.f32 $0, $1, $2;", "=f,f,f", (Lv[]){a, b}, 2, ASM_PURE);
}

Lv emit_divf(Cg *cg, const Op *op, const Lv *in) {
    DType dtype = element(op);
    if (dtype == DT_F64)
        return LLVMBuildFDiv(cg->b, in[0], in[1], "");
    Lv a = cg_to_f32(cg, dtype, in[0]), b = cg_to_f32(cg, dtype, in[1]);
    return cg_from_f32(cg, dtype, divide_f32(cg, op, a, b, in[1]));
}

Lv emit_remf(Cg *cg, const Op *op, const Lv *in) {
    DType dtype = element(op);
    if (dtype == DT_F64)
        return remainder_any(cg, in[0], in[1]);
    Lv divisor = cg_to_f32(cg, dtype, in[1]);
    Lv rest = remainder_any(cg, cg_to_f32(cg, dtype, in[0]), divisor);
    return cg_from_f32(cg, dtype, rest);
}
