/* Approximate functions: the value in double, rounded to single. The error is half a unit, within
 * what the PTX ISA allows (ex2 2 ulp, lg2 2^-22, rcp and sqrt 1 ulp, div.full 2 ulp, sin and cos
 * 2^-20.5, tanh 2^-11); a GPU's last bits differ. Special cases are those of the PTX ISA's tables.
 */
#include "sim/exec/alu.h"
#include "sim/parse/table.h"

#include <math.h>

static double input(const Insn *insn, uint64_t bits) {
    float value = f32_from(bits);
    return (double)(insn_has(insn, WORD_ftz) ? flush(value) : value);
}

static uint64_t output(const Insn *insn, double value) {
    if (insn_has(insn, WORD_ftz) && float_is_tiny(float_format(TYPE_f32), value, ROUND_NEAREST))
        value = copysign(0, value);
    return f32_result((float)value);
}

/* div.approx gives 0 for divisors of more than 2^126 (infinite over them: NaN). */
uint64_t alu_div_approx(const Insn *insn, const uint64_t *x) {
    double a = input(insn, x[0]), b = input(insn, x[1]);
    bool huge = insn_has(insn, WORD_approx) && fabs(b) > 0x1p126 && !isinf(b);
    if (huge && !isnan(a))
        return isinf(a) ? F32_NAN : output(insn, signbit(a) != signbit(b) ? -0.0 : 0.0);
    return output(insn, a / b);
}

uint64_t alu_rcp_approx(const Insn *insn, const uint64_t *x) {
    return output(insn, 1 / input(insn, x[0]));
}
uint64_t alu_sqrt_approx(const Insn *insn, const uint64_t *x) {
    return output(insn, sqrt(input(insn, x[0])));
}
uint64_t alu_rsqrt_approx(const Insn *insn, const uint64_t *x) {
    return output(insn, 1 / sqrt(input(insn, x[0])));
}
uint64_t alu_sin_approx(const Insn *insn, const uint64_t *x) {
    return output(insn, sin(input(insn, x[0])));
}
uint64_t alu_cos_approx(const Insn *insn, const uint64_t *x) {
    return output(insn, cos(input(insn, x[0])));
}
uint64_t alu_lg2_approx(const Insn *insn, const uint64_t *x) {
    return output(insn, log2(input(insn, x[0])));
}
uint64_t alu_ex2_approx(const Insn *insn, const uint64_t *x) {
    return output(insn, exp2(input(insn, x[0])));
}
uint64_t alu_tanh_approx(const Insn *insn, const uint64_t *x) {
    return output(insn, tanh((double)f32_from(x[0])));
}

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 read the upper half (a NaN whose payload is in the
 * lower half is an infinity to them), and the lower half of the result is 0; so is that of
 * rsqrt.approx.f64. 20 bits of mantissa are right. */
static uint64_t upper(const Insn *insn, double value) {
    uint64_t bits = f64_result(value);
    if (!isfinite(value))
        return bits;
    if (insn_has(insn, WORD_ftz) && (bits >> 52 & 0x7ff) == 0)
        return bits & UINT64_C(0x8000000000000000);
    return bits & UINT64_C(0xffffffff00000000);
}
static double upper_input(const Insn *insn, uint64_t bits) {
    if (insn_has(insn, WORD_ftz))
        bits &= UINT64_C(0xffffffff00000000);
    bool tiny = (bits >> 52 & 0x7ff) == 0;
    return f64_from(insn_has(insn, WORD_ftz) && tiny ? bits & UINT64_C(0x8000000000000000) : bits);
}
uint64_t alu_rcp_approx64(const Insn *insn, const uint64_t *x) {
    return upper(insn, 1 / upper_input(insn, x[0]));
}
uint64_t alu_rsqrt_approx64(const Insn *insn, const uint64_t *x) {
    return upper(insn, 1 / sqrt(upper_input(insn, x[0])));
}
