/* Numbers of each type for tests of matrix instructions. */
#include "matrix_test.h"

#include <math.h>
#include <string.h>

const Number f16_ = {"f16", 16, 5, 10, true}, bf16_ = {"bf16", 16, 8, 7, true},
             tf32_ = {"tf32", 32, 8, 23, true}, e4m3_ = {"e4m3", 8, 4, 3, true},
             e5m2_ = {"e5m2", 8, 5, 2, true}, f32_ = {"f32", 32, 8, 23, true},
             s8_ = {"s8", 8, 0, 0, true}, u8_ = {"u8", 8, 0, 0, false},
             s32_ = {"s32", 32, 0, 0, true};

uint32_t number_bits(const Number *type, double value) {
    uint32_t keep = type->bits == 32 ? UINT32_MAX : (1u << type->bits) - 1;
    if (!type->exponent)
        return (uint32_t)(int32_t)value & keep;
    if (value == 0)
        return 0;
    int power, bias = (1 << (type->exponent - 1)) - 1;
    double fraction = frexp(fabs(value), &power) * 2 - 1;
    uint32_t exponent = (uint32_t)(power - 1 + bias);
    uint32_t mantissa = (uint32_t)ldexp(fraction, (int)type->mantissa);
    return (uint32_t)(value < 0) << (type->bits - 1) | exponent << type->mantissa | mantissa;
}

double number_value(const Number *type, uint32_t bits) {
    if (!type->exponent) {
        uint32_t top = 1u << (type->bits - 1);
        return type->is_signed && bits & top ? (double)bits - 2 * (double)top : bits;
    }
    uint32_t exponents = (1u << type->exponent) - 1;
    int exponent = (int)(bits >> type->mantissa & exponents), bias = (int)(exponents >> 1);
    double mantissa = bits & ((1u << type->mantissa) - 1);
    double value = exponent ? ldexp(mantissa + ldexp(1, (int)type->mantissa),
                                    exponent - bias - (int)type->mantissa)
                            : ldexp(mantissa, 1 - bias - (int)type->mantissa);
    return bits >> (type->bits - 1) & 1 ? -value : value;
}

uint32_t random_word(uint32_t *state) {
    uint32_t x = *state += 0x9e3779b9u;
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

int small_integer(uint32_t *state, int limit) {
    return (int)(random_word(state) % (unsigned)(2 * limit + 1)) - limit;
}
