/* Conversions between the bits of the float dtypes and double, against a slow reference that knows
 * only the definition of each format: the finite values are sign * mantissa * 2^exponent, and
 * rounding picks the nearest of them, the even one of two that are equally near. */
#include "types/float_bits.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

typedef struct Format {
    DType dtype;
    int exponent_bits, mantissa_bits;
    bool infinite; /* the top exponent is for infinities and NaNs; else only all ones is NaN */
} Format;

static const Format formats[] = {
    {DT_F8E4M3, 4, 3, false},
    {DT_F8E5M2, 5, 2, true},
    {DT_F16, 5, 10, true},
    {DT_BF16, 8, 7, true},
};

static uint32_t magnitudes(const Format *f) {
    return 1u << (f->exponent_bits + f->mantissa_bits);
}

/* The value of a pattern without its sign. */
static double value_of(const Format *f, uint32_t bits) {
    uint32_t mantissa = bits & ((1u << f->mantissa_bits) - 1);
    int exponent = (int)(bits >> f->mantissa_bits), bias = (1 << (f->exponent_bits - 1)) - 1;
    if (f->infinite && exponent == (1 << f->exponent_bits) - 1)
        return mantissa ? (double)NAN : (double)INFINITY;
    if (!f->infinite && bits == magnitudes(f) - 1)
        return NAN;
    if (exponent == 0)
        return ldexp(mantissa, 1 - bias - f->mantissa_bits);
    return ldexp(mantissa + (1u << f->mantissa_bits), exponent - bias - f->mantissa_bits);
}

static uint32_t largest_finite(const Format *f) {
    uint32_t bits = magnitudes(f) - 1;
    while (!isfinite(value_of(f, bits)))
        bits--;
    return bits;
}

/* Nearest by comparing distances, which are exact in long double for the values tried here. */
static uint32_t nearest(const Format *f, double value) {
    uint32_t last = largest_finite(f), lo = 0, hi = last + 1;
    long double x = fabs(value);
    if (x > value_of(f, last)) {
        long double step = (long double)value_of(f, last) - value_of(f, last - 1);
        bool overflows = x - value_of(f, last) >= step / 2;
        return overflows && f->infinite && f->mantissa_bits > 2 ? last + 1 : last;
    }
    while (hi - lo > 1) {
        uint32_t middle = (lo + hi) / 2;
        if (value_of(f, middle) <= x)
            lo = middle;
        else
            hi = middle;
    }
    if (lo == last)
        return lo;
    long double below = x - value_of(f, lo), above = value_of(f, lo + 1) - x;
    return below < above || (below == above && !(lo & 1)) ? lo : lo + 1;
}

static void test_every_pattern_means_what_its_format_says(void **state) {
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        const Format *f = &formats[k];
        for (uint32_t bits = 0; bits < 2 * magnitudes(f); bits++) {
            uint32_t magnitude = bits & (magnitudes(f) - 1);
            double expected = value_of(f, magnitude), found = float_from_bits(f->dtype, bits);
            if (isnan(expected)) {
                assert_true(isnan(found));
                continue;
            }
            assert_true(found == (bits == magnitude ? expected : -expected));
            assert_int_equal(signbit(found) != 0, bits != magnitude);
        }
    }
}

static void test_every_pattern_round_trips(void **state) {
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        const Format *f = &formats[k];
        for (uint32_t bits = 0; bits < 2 * magnitudes(f); bits++) {
            uint32_t sign = bits & magnitudes(f), expected = bits;
            /* f8 saturates, so that its infinity becomes the largest finite value. */
            if (dtype_bytes(f->dtype) == 1 && isinf(value_of(f, bits & (magnitudes(f) - 1))))
                expected = sign | largest_finite(f);
            assert_int_equal(float_to_bits(f->dtype, float_from_bits(f->dtype, bits)), expected);
        }
    }
}

/* All values, the midpoints between neighbours, and both neighbours of each in double. */
static void test_rounding_is_to_nearest_even(void **state) {
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        const Format *f = &formats[k];
        for (uint32_t bits = 0; bits <= largest_finite(f); bits++) {
            double value = value_of(f, bits);
            double step = bits < largest_finite(f) ? value_of(f, bits + 1) - value
                                                   : value - value_of(f, bits - 1);
            double middle = value + step / 2;
            double tries[] = {value,
                              nextafter(value, INFINITY),
                              middle,
                              nextafter(middle, -INFINITY),
                              nextafter(middle, INFINITY),
                              value + step / 4,
                              value + step * 3 / 4};
            for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
                uint32_t expected = nearest(f, tries[i]);
                assert_int_equal(float_to_bits(f->dtype, tries[i]), expected);
                assert_int_equal(float_to_bits(f->dtype, -tries[i]), expected | magnitudes(f));
            }
        }
    }
}

static void test_rounding_towards_zero(void **state) {
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        const Format *f = &formats[k];
        for (uint32_t bits = 1; bits <= largest_finite(f); bits++) {
            double value = value_of(f, bits), below = nextafter(value, 0);
            assert_int_equal(float_to_bits_to_zero(f->dtype, value), bits);
            assert_int_equal(float_to_bits_to_zero(f->dtype, below), bits - 1);
        }
        assert_int_equal(float_to_bits_to_zero(f->dtype, 1e300), largest_finite(f));
    }
}

static void test_infinities_and_overflow(void **state) {
    assert_int_equal(float_to_bits(DT_F16, INFINITY), 0x7c00);
    assert_int_equal(float_to_bits(DT_F16, -INFINITY), 0xfc00);
    assert_int_equal(float_to_bits(DT_F16, 65504), 0x7bff);
    assert_int_equal(float_to_bits(DT_F16, 65519.999), 0x7bff);
    assert_int_equal(float_to_bits(DT_F16, 65520), 0x7c00);
    assert_int_equal(float_to_bits(DT_BF16, 3.4e38), 0x7f80);
    assert_int_equal(float_to_bits(DT_F8E4M3, 1e9), 0x7e);
    assert_int_equal(float_to_bits(DT_F8E4M3, -INFINITY), 0xfe);
    assert_int_equal(float_to_bits(DT_F8E5M2, INFINITY), 0x7b);
    assert_int_equal(float_to_bits(DT_F8E5M2, 5e-324), 0);
    assert_true(isnan(float_from_bits(DT_F8E4M3, float_to_bits(DT_F8E4M3, NAN))));
    assert_int_equal(float_to_bits(DT_F32, 1.1), 0x3f8ccccd);
    assert_int_equal(float_to_bits(DT_F64, 1.1), 0x3ff199999999999a);
}

/* f32 agrees with the compiler's conversion, which rounds as IEEE says. */
static void test_f32_agrees_with_the_host(void **state) {
    uint64_t seed = 1;
    for (int i = 0; i < 1000000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        /* Exponents around the range of f32, subnormals and overflow included. */
        uint64_t exponent = 1023 - 160 + (seed >> 32) % 320;
        uint64_t bits =
            (seed << 11 & ((UINT64_C(1) << 52) - 1)) | exponent << 52 | (seed >> 63 << 63);
        double value;
        memcpy(&value, &bits, sizeof value);
        float expected = (float)value;
        uint32_t expected_bits;
        memcpy(&expected_bits, &expected, sizeof expected_bits);
        assert_int_equal(float_to_bits(DT_F32, value), expected_bits);
    }
}

/* The array conversions give what the definition gives, for every pattern and for f32 values around
 * every rounding boundary. */
static void test_array_loads(void **state) {
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        const Format *f = &formats[k];
        for (uint32_t bits = 0; bits < 2 * magnitudes(f); bits++) {
            uint16_t half = (uint16_t)bits;
            uint8_t byte = (uint8_t)bits;
            const void *at = dtype_bytes(f->dtype) == 1 ? (const void *)&byte : &half;
            float loaded;
            double wide;
            floats_load(f->dtype, at, &loaded, 1);
            floats_load_double(f->dtype, at, &wide, 1);
            double expected = float_from_bits(f->dtype, bits);
            if (isnan(expected)) {
                assert_true(isnan(loaded) && isnan(wide));
                continue;
            }
            assert_true(loaded == expected && wide == expected);
            assert_int_equal(signbit(loaded) != 0, signbit(expected) != 0);
        }
    }
}

static void check_store(const Format *f, float value) {
    uint16_t half = 0;
    uint8_t byte = 0;
    bool is_byte = dtype_bytes(f->dtype) == 1;
    floats_store(f->dtype, &value, is_byte ? (void *)&byte : &half, 1);
    assert_int_equal(is_byte ? byte : half, float_to_bits(f->dtype, value));
}

static void test_array_stores(void **state) {
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        const Format *f = &formats[k];
        uint64_t seed = 7;
        for (uint32_t top = 0; top < 1 << 16; top++) {
            uint32_t lows[] = {0,      1,      0x0fff, 0x1000, 0x1001, 0x3000,
                               0x7fff, 0x8000, 0x8001, 0xffff, 0};
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            lows[10] = (uint32_t)(seed >> 48);
            for (size_t i = 0; i < sizeof lows / sizeof *lows; i++) {
                uint32_t bits = top << 16 | lows[i];
                float value;
                memcpy(&value, &bits, sizeof value);
                if (isnan(value))
                    continue;
                check_store(f, value);
            }
        }
        float nan_value = NAN;
        uint16_t half = 0;
        floats_store(f->dtype, &nan_value, &half, 1);
        assert_true(isnan(float_from_bits(f->dtype, half)));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pattern_means_what_its_format_says),
        cmocka_unit_test(test_every_pattern_round_trips),
        cmocka_unit_test(test_rounding_is_to_nearest_even),
        cmocka_unit_test(test_rounding_towards_zero),
        cmocka_unit_test(test_infinities_and_overflow),
        cmocka_unit_test(test_f32_agrees_with_the_host),
        cmocka_unit_test(test_array_loads),
        cmocka_unit_test(test_array_stores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
