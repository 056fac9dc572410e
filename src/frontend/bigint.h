/* Integers of any size, as sign and magnitude: pure arithmetic, results in an arena. */
#ifndef TILEC_FRONTEND_BIGINT_H
#define TILEC_FRONTEND_BIGINT_H
#include "support/arena.h"
#include "support/str.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct BigInt {
    const uint32_t *limbs; /* from the lowest; the highest is not 0 */
    uint32_t count;        /* 0: the integer is 0, which is not negative */
    bool negative;
} BigInt;

BigInt big_from_wide(Arena *arena, __int128 value);
/* False: its magnitude is 2**127 or more. */
bool big_to_wide(BigInt a, __int128 *out);
/* The integer part of a finite number. */
BigInt big_from_double(Arena *arena, double value);
/* The nearest double, ties to even; infinite: there is none. */
double big_to_double(Arena *arena, BigInt a);
/* Digits of the base, 2 to 16, with `_` between them. */
BigInt big_from_digits(Arena *arena, Str digits, unsigned base);
/* The digits of the magnitude, letters small. */
Str big_digits(Arena *arena, BigInt a, unsigned base);

uint64_t big_bits(BigInt a); /* of the magnitude */
int big_compare(BigInt a, BigInt b);
/* With a number, which may be infinite, of a magnitude of at least 1 or 0. */
int big_compare_double(BigInt a, double value);
BigInt big_negate(BigInt a);
BigInt big_add(Arena *arena, BigInt a, BigInt b);
BigInt big_multiply(Arena *arena, BigInt a, BigInt b);
/* Rounded towards minus infinity; `b` is not 0. */
BigInt big_divide(Arena *arena, BigInt a, BigInt b, BigInt *remainder);
/* a / b, the nearest double; infinite: there is none. */
double big_quotient(Arena *arena, BigInt a, BigInt b);
/* a * 2**places, rounded towards minus infinity. */
BigInt big_shift(Arena *arena, BigInt a, int64_t places);
/* Of two's complements: '&', '|' or '^'. */
BigInt big_bitwise(Arena *arena, char op, BigInt a, BigInt b);
#endif
