#include "frontend/bigint.h"

#include <math.h>
#include <string.h>

typedef unsigned __int128 Wide;

static uint32_t *new_limbs(Arena *arena, size_t count) {
    return ARENA_ARRAY(arena, uint32_t, count + 1);
}

static BigInt make(const uint32_t *limbs, uint32_t count, bool negative) {
    while (count && !limbs[count - 1])
        count--;
    return (BigInt){limbs, count, negative && count};
}

BigInt big_from_wide(Arena *arena, __int128 value) {
    Wide rest = value < 0 ? -(Wide)value : (Wide)value;
    uint32_t *limbs = new_limbs(arena, 4);
    for (int i = 0; i < 4; i++, rest >>= 32)
        limbs[i] = (uint32_t)rest;
    return make(limbs, 4, value < 0);
}

bool big_to_wide(BigInt a, __int128 *out) {
    Wide magnitude = 0;
    if (big_bits(a) > 127)
        return false;
    for (uint32_t i = a.count; i-- > 0;)
        magnitude = magnitude << 32 | a.limbs[i];
    *out = a.negative ? -(__int128)magnitude : (__int128)magnitude;
    return true;
}

uint64_t big_bits(BigInt a) {
    return a.count ? 32 * (uint64_t)a.count - (unsigned)__builtin_clz(a.limbs[a.count - 1]) : 0;
}

BigInt big_negate(BigInt a) {
    a.negative = !a.negative && a.count;
    return a;
}

static int compare_magnitudes(BigInt a, BigInt b) {
    if (a.count != b.count)
        return a.count < b.count ? -1 : 1;
    for (uint32_t i = a.count; i-- > 0;)
        if (a.limbs[i] != b.limbs[i])
            return a.limbs[i] < b.limbs[i] ? -1 : 1;
    return 0;
}

int big_compare(BigInt a, BigInt b) {
    if (a.negative != b.negative)
        return a.negative ? -1 : 1;
    return a.negative ? compare_magnitudes(b, a) : compare_magnitudes(a, b);
}

BigInt big_add(Arena *arena, BigInt a, BigInt b) {
    if (compare_magnitudes(a, b) < 0)
        return big_add(arena, b, a);
    const bool subtracts = a.negative != b.negative;
    uint32_t *limbs = new_limbs(arena, (size_t)a.count + 1);
    int64_t carry = 0;
    for (uint32_t i = 0; i <= a.count; i++) {
        const int64_t x = i < a.count ? a.limbs[i] : 0, y = i < b.count ? b.limbs[i] : 0;
        carry += subtracts ? x - y : x + y;
        limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return make(limbs, a.count + 1, a.negative);
}

BigInt big_multiply(Arena *arena, BigInt a, BigInt b) {
    const uint32_t count = a.count + b.count;
    uint32_t *limbs = new_limbs(arena, count);
    memset(limbs, 0, ((size_t)count + 1) * sizeof *limbs);
    for (uint32_t i = 0; i < a.count; i++) {
        uint64_t carry = 0;
        for (uint32_t j = 0; j < b.count || carry; j++) {
            carry += limbs[i + j] + (j < b.count ? (uint64_t)a.limbs[i] * b.limbs[j] : 0);
            limbs[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    return make(limbs, count, a.negative != b.negative);
}

/* The magnitude, in place of `limbs`, divided; the remainder. */
static uint32_t divide_small(uint32_t *limbs, uint32_t count, uint32_t by) {
    uint64_t rest = 0;
    for (uint32_t i = count; i-- > 0;) {
        rest = rest << 32 | limbs[i];
        limbs[i] = (uint32_t)(rest / by);
        rest %= by;
    }
    return (uint32_t)rest;
}

/* One digit of a quotient (Knuth, volume 2, algorithm D): subtracts so many times `v`, whose
 * highest bit is set, from u[0..n]. */
static uint32_t take_digit(uint32_t *u, const uint32_t *v, uint32_t n) {
    const uint64_t top = (uint64_t)u[n] << 32 | u[n - 1];
    uint64_t digit = top / v[n - 1], rest = top % v[n - 1];
    while (digit >> 32 || digit * v[n - 2] > (rest << 32 | u[n - 2])) {
        digit--;
        rest += v[n - 1];
        if (rest >> 32)
            break;
    }
    int64_t borrow = 0;
    uint64_t carry = 0;
    for (uint32_t i = 0; i <= n; i++) {
        carry += i < n ? digit * v[i] : 0;
        borrow += (int64_t)u[i] - (int64_t)(uint32_t)carry;
        u[i] = (uint32_t)borrow;
        borrow >>= 32;
        carry >>= 32;
    }
    if (!borrow)
        return (uint32_t)digit;
    carry = 0; /* it was one too many */
    for (uint32_t i = 0; i <= n; i++) {
        carry += (uint64_t)u[i] + (i < n ? v[i] : 0);
        u[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return (uint32_t)digit - 1;
}

/* Of magnitudes, rounded down. */
static BigInt divide_magnitudes(Arena *arena, BigInt a, BigInt b, BigInt *remainder) {
    if (compare_magnitudes(a, b) < 0) {
        *remainder = make(a.limbs, a.count, false);
        return (BigInt){0};
    }
    uint32_t *digits = new_limbs(arena, a.count);
    if (b.count == 1) {
        memcpy(digits, a.limbs, a.count * sizeof *digits);
        uint32_t *rest = new_limbs(arena, 1);
        rest[0] = divide_small(digits, a.count, b.limbs[0]);
        *remainder = make(rest, 1, false);
        return make(digits, a.count, false);
    }
    const int places = __builtin_clz(b.limbs[b.count - 1]);
    const BigInt v = big_shift(arena, make(b.limbs, b.count, false), places);
    const BigInt shifted = big_shift(arena, make(a.limbs, a.count, false), places);
    uint32_t *u = new_limbs(arena, (size_t)a.count + 1);
    memset(u, 0, ((size_t)a.count + 1) * sizeof *u);
    memcpy(u, shifted.limbs, shifted.count * sizeof *u);
    for (uint32_t i = a.count - b.count + 1; i-- > 0;)
        digits[i] = take_digit(u + i, v.limbs, b.count);
    *remainder = big_shift(arena, make(u, b.count, false), -places);
    return make(digits, a.count - b.count + 1, false);
}

BigInt big_divide(Arena *arena, BigInt a, BigInt b, BigInt *remainder) {
    BigInt rest, quotient = divide_magnitudes(arena, a, b, &rest);
    if (a.negative != b.negative) {
        quotient = big_negate(quotient);
        if (rest.count) {
            quotient = big_add(arena, quotient, big_from_wide(arena, -1));
            rest = big_add(arena, make(b.limbs, b.count, false), big_negate(rest));
        }
    }
    if (remainder)
        *remainder = b.negative ? big_negate(rest) : rest;
    return quotient;
}

BigInt big_shift(Arena *arena, BigInt a, int64_t places) {
    const uint64_t distance = places < 0 ? -(uint64_t)places : (uint64_t)places;
    const uint32_t limbs_moved = (uint32_t)(distance / 32), bits = (uint32_t)(distance % 32);
    if (!a.count || !places)
        return a;
    if (places > 0) {
        uint32_t *limbs = new_limbs(arena, (size_t)a.count + limbs_moved + 1);
        memset(limbs, 0, ((size_t)limbs_moved + 1) * sizeof *limbs);
        uint64_t carry = 0;
        for (uint32_t i = 0; i <= a.count; i++) {
            carry |= (uint64_t)(i < a.count ? a.limbs[i] : 0) << bits;
            limbs[limbs_moved + i] = (uint32_t)carry;
            carry >>= 32;
        }
        return make(limbs, a.count + limbs_moved + 1, a.negative);
    }
    const bool all = distance / 32 >= a.count;
    bool lost = all;
    const uint32_t count = all ? 0 : a.count - limbs_moved;
    uint32_t *limbs = new_limbs(arena, count);
    for (uint32_t i = 0; i < limbs_moved && !all; i++)
        lost |= a.limbs[i] != 0;
    if (!all)
        lost |= (a.limbs[limbs_moved] & (((uint64_t)1 << bits) - 1)) != 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t above = i + 1 < count ? a.limbs[limbs_moved + i + 1] : 0;
        limbs[i] = (uint32_t)((above << 32 | a.limbs[limbs_moved + i]) >> bits);
    }
    const BigInt shifted = make(limbs, count, a.negative);
    return a.negative && lost ? big_add(arena, shifted, big_from_wide(arena, -1)) : shifted;
}

/* Two's complement of `count` limbs, there and back. */
static void complement(uint32_t *limbs, uint32_t count) {
    uint64_t carry = 1;
    for (uint32_t i = 0; i < count; i++) {
        carry += (uint32_t)~limbs[i];
        limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static uint32_t *twos(Arena *arena, BigInt a, uint32_t count) {
    uint32_t *limbs = new_limbs(arena, count);
    memset(limbs, 0, count * sizeof *limbs);
    if (a.count)
        memcpy(limbs, a.limbs, a.count * sizeof *limbs);
    if (a.negative)
        complement(limbs, count);
    return limbs;
}

BigInt big_bitwise(Arena *arena, char op, BigInt a, BigInt b) {
    const uint32_t count = (a.count > b.count ? a.count : b.count) + 1;
    uint32_t *x = twos(arena, a, count);
    const uint32_t *y = twos(arena, b, count);
    for (uint32_t i = 0; i < count; i++)
        x[i] = op == '&' ? x[i] & y[i] : op == '|' ? x[i] | y[i] : x[i] ^ y[i];
    const bool negative = x[count - 1] >> 31;
    if (negative)
        complement(x, count);
    return make(x, count, negative);
}

/* Doubles */

BigInt big_from_double(Arena *arena, double value) {
    enum { DIGITS = 53 };
    int exponent;
    const double fraction = frexp(trunc(value), &exponent);
    if (exponent <= 64)
        return big_from_wide(arena, (__int128)value);
    const BigInt digits = big_from_wide(arena, (__int128)ldexp(fraction, DIGITS));
    return big_shift(arena, digits, exponent - DIGITS);
}

double big_to_double(Arena *arena, BigInt a) {
    const uint32_t one = 1;
    return big_quotient(arena, a, (BigInt){&one, 1, false});
}

int big_compare_double(BigInt a, double value) {
    int exponent;
    const int sign = a.negative ? -1 : 1;
    if (!a.count || (value < 0) != a.negative || value == 0)
        return a.count ? sign : (0 > value) - (0 < value);
    uint64_t digits = (uint64_t)ldexp(frexp(fabs(value), &exponent), 64); /* its highest bits */
    const uint64_t bits = big_bits(a);
    if (isinf(value) || (int64_t)bits != exponent)
        return isinf(value) || (int64_t)bits < exponent ? -sign : sign;
    uint64_t top = 0;
    bool more = false;
    for (uint32_t i = a.count; i-- > 0;) {
        const int64_t place = 64 - (int64_t)bits + 32 * (int64_t)i; /* of the limb's lowest bit */
        top |= place >= 0    ? (uint64_t)a.limbs[i] << place
               : place > -32 ? (uint64_t)(a.limbs[i] >> -place)
                             : 0;
        more |= place <= -32 ? a.limbs[i] != 0
                : place < 0  ? (a.limbs[i] & (((uint32_t)1 << -place) - 1)) != 0
                             : false;
    }
    if (top != digits)
        return top < digits ? -sign : sign;
    return more ? sign : 0;
}

double big_quotient(Arena *arena, BigInt a, BigInt b) {
    enum { QUOTIENT_BITS = 66 }; /* more than a double has, and one that says what was cut off */
    if (!a.count)
        return b.negative ? -0.0 : 0.0;
    const int64_t places = QUOTIENT_BITS + (int64_t)big_bits(b) - (int64_t)big_bits(a);
    BigInt x = make(a.limbs, a.count, false), y = make(b.limbs, b.count, false), rest;
    if (places > 0)
        x = big_shift(arena, x, places);
    else
        y = big_shift(arena, y, -places);
    const BigInt quotient = divide_magnitudes(arena, x, y, &rest);
    __int128 digits = 0;
    big_to_wide(quotient, &digits);
    digits |= rest.count != 0;
    const int64_t exponent = places > 100000 ? 100000 : places < -100000 ? -100000 : places;
    const double value = ldexp((double)digits, (int)-exponent);
    return a.negative != b.negative ? -value : value;
}

/* Digits */

BigInt big_from_digits(Arena *arena, Str digits, unsigned base) {
    uint32_t *limbs = new_limbs(arena, digits.len / 8 + 1);
    uint32_t count = 0;
    for (size_t i = 0; i < digits.len; i++) {
        const char c = digits.ptr[i];
        if (c == '_')
            continue;
        uint64_t carry = c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
        for (uint32_t at = 0; at < count; at++) {
            carry += (uint64_t)limbs[at] * base;
            limbs[at] = (uint32_t)carry;
            carry >>= 32;
        }
        if (carry)
            limbs[count++] = (uint32_t)carry;
    }
    return make(limbs, count, false);
}

Str big_digits(Arena *arena, BigInt a, unsigned base) {
    uint32_t chunk = base, each = 1; /* the digits that fit into a limb are made at once */
    while ((uint64_t)chunk * base <= UINT32_MAX) {
        chunk *= base;
        each++;
    }
    const size_t most = (size_t)big_bits(a) + each + 1;
    char *text = ARENA_ARRAY(arena, char, most);
    uint32_t *limbs = new_limbs(arena, a.count);
    if (a.count)
        memcpy(limbs, a.limbs, a.count * sizeof *limbs);
    size_t at = most;
    for (uint32_t count = a.count; count;) {
        uint32_t rest = divide_small(limbs, count, chunk);
        while (count && !limbs[count - 1])
            count--;
        for (uint32_t i = 0; i < each && (count || rest); i++, rest /= base)
            text[--at] = "0123456789abcdef"[rest % base];
    }
    if (at == most)
        text[--at] = '0';
    return (Str){text + at, most - at};
}
