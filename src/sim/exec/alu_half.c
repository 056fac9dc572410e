/* f16 and bf16 arithmetic, alone and in pairs: computed in double, rounded once.
 *
 * Products of two halves are exact in double; sums are rounded to odd first, so that the one
 * rounding to the format is that of the exact result. */
#include "sim/exec/alu.h"
#include "sim/parse/table.h"

#include <math.h>

typedef double Element(const Insn *insn, double a, double b, double c);

static uint64_t finish(const Insn *insn, FloatFormat format, double value) {
    if (insn_has(insn, WORD_relu) && value <= 0)
        value = 0;
    if (insn_has(insn, WORD_sat))
        value = value > 1 ? 1 : value > 0 ? value : 0;
    if (insn_has(insn, WORD_ftz) && float_is_tiny(format, value, ROUND_NEAREST))
        value = copysign(0, value);
    return float_encode(format, value, ROUND_NEAREST, false);
}

static double start(const Insn *insn, FloatFormat format, uint64_t bits) {
    bool tiny = (bits >> format.mantissa & ((1u << format.exponent) - 1)) == 0;
    if (insn_has(insn, WORD_ftz) && tiny)
        bits &= UINT64_C(1) << (format.bits - 1);
    return float_decode(format, bits);
}

static uint64_t each(const Insn *insn, const uint64_t *x, unsigned sources, Element *element) {
    FloatFormat format = float_format((Type)insn->type[0]);
    uint64_t result = 0;
    for (unsigned at = 0; at < type_info[insn->type[0]].bits; at += 16) {
        double v[3] = {0, 0, 0};
        for (unsigned i = 0; i < sources; i++)
            v[i] = start(insn, format, x[i] >> at & 0xffff);
        result |= finish(insn, format, element(insn, v[0], v[1], v[2])) << at;
    }
    return result;
}

static double add(const Insn *insn, double a, double b, double c) {
    return add_to_odd(a, b);
}
static double sub(const Insn *insn, double a, double b, double c) {
    return add_to_odd(a, -b);
}
static double mul(const Insn *insn, double a, double b, double c) {
    return a * b;
}
static double multiply_add(const Insn *insn, double a, double b, double c) {
    return fma_to_odd(a, b, c);
}
static double power_of_two(const Insn *insn, double a, double b, double c) {
    return exp2(a);
}
static double hyperbolic(const Insn *insn, double a, double b, double c) {
    return tanh(a);
}

uint64_t alu_hadd(const Insn *insn, const uint64_t *x) {
    return each(insn, x, 2, add);
}
uint64_t alu_hsub(const Insn *insn, const uint64_t *x) {
    return each(insn, x, 2, sub);
}
uint64_t alu_hmul(const Insn *insn, const uint64_t *x) {
    return each(insn, x, 2, mul);
}
uint64_t alu_hfma(const Insn *insn, const uint64_t *x) {
    return each(insn, x, 3, multiply_add);
}
uint64_t alu_ex2_half(const Insn *insn, const uint64_t *x) {
    return each(insn, x, 1, power_of_two);
}
uint64_t alu_tanh_half(const Insn *insn, const uint64_t *x) {
    return each(insn, x, 1, hyperbolic);
}
