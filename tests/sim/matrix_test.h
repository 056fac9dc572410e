/* What tests of matrix instructions share: numbers of each type, written out apart from the
 * simulator. */
#ifndef TILEC_TESTS_MATRIX_TEST_H
#define TILEC_TESTS_MATRIX_TEST_H
#include "sim_test.h"

/* A type as these tests see it: widths of exponent and mantissa, or an integer. */
typedef struct Number {
    const char *name;
    unsigned bits, exponent, mantissa; /* exponent 0: an integer */
    bool is_signed;
} Number;

extern const Number f16_, bf16_, tf32_, e4m3_, e5m2_, f32_, s8_, u8_, s32_;

/* The bits of a small value that the type has exactly, and the value of bits. */
uint32_t number_bits(const Number *type, double value);
double number_value(const Number *type, uint32_t bits);

/* A small integer, the same sequence in every run. */
int small_integer(uint32_t *state, int limit);
/* Any bits. */
uint32_t random_word(uint32_t *state);
#endif
