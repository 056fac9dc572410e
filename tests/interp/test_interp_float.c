/* Float ops and conversions, against long double and double arithmetic rounded once to the type. */
#include "../ir/splitmix.h"
#include "interp_testing.h"
#include "types/float_bits.h"

#include <float.h>

enum { COUNT = 1 << 14 };

static const DType float_types[] = {DT_F8E4M3, DT_F8E5M2, DT_F16, DT_BF16, DT_F32, DT_F64};
#define NTYPES (sizeof float_types / sizeof *float_types)

typedef struct Buffers {
    uint64_t in[3][COUNT], out[COUNT];
} Buffers;

static void put(void *array, size_t i, int bytes, uint64_t value) {
    memcpy((char *)array + i * (size_t)bytes, &value, (size_t)bytes);
}

static uint64_t get(const void *array, size_t i, int bytes) {
    uint64_t value = 0;
    memcpy(&value, (const char *)array + i * (size_t)bytes, (size_t)bytes);
    return value;
}

/* Specials, then values whose exponents lie near each other so that sums round, then any bits. */
static uint64_t test_value(DType dtype, size_t i, uint64_t *seed) {
    static const double specials[] = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, 2, 3};
    enum { NSPECIALS = sizeof specials / sizeof *specials };
    uint64_t random = splitmix64(seed);
    if (i < NSPECIALS * NSPECIALS)
        return float_to_bits(dtype, specials[random % NSPECIALS]);
    if (i % 2)
        return float_to_bits(dtype, ldexp((double)(int64_t)random, (int)(random >> 7 & 15) - 71));
    int bits = dtype_info[dtype].bits;
    return bits == 64 ? random : random & ((UINT64_C(1) << bits) - 1);
}

static void fill(Buffers *buffers, DType dtype, uint64_t seed) {
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < COUNT; i++)
            put(buffers->in[k], i, dtype_bytes(dtype), test_value(dtype, i, &seed));
}

static double element(const void *array, size_t i, DType dtype) {
    return float_from_bits(dtype, get(array, i, dtype_bytes(dtype)));
}

static bool same(double a, double b) {
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

/* Runs one op on all three inputs. */
typedef Value *Build(Kernel *k, Value *a, Value *b, Value *c);

static void run_op(Buffers *buffers, DType dtype, DType out, Build *build) {
    Kernel k = kernel_begin(4, (DType[]){dtype, dtype, dtype, out});
    for (uint32_t i = 0; i < 3; i++)
        kernel_array(&k, i, buffers->in[i], COUNT * (size_t)dtype_bytes(dtype));
    kernel_array(&k, 3, buffers->out, COUNT * (size_t)dtype_bytes(out));
    Value *a = kernel_load(&k, 0, COUNT), *b = kernel_load(&k, 1, COUNT);
    Value *c = kernel_load(&k, 2, COUNT);
    kernel_store(&k, 3, COUNT, build(&k, a, b, c));
    assert_clean(&k);
    kernel_end(&k);
}

/* The result as rounded once from long double, whose 64 bits and wide exponent leave no room for a
 * second rounding to matter in types up to f32; f64 has its own column. */
typedef long double Reference(long double a, long double b, long double c);
typedef double Reference64(double a, double b, double c);

#define OP_ROW(name, ...)                                                                          \
    static Value *make_##name(Kernel *k, Value *a, Value *b, Value *c) {                           \
        return build_##name(&k->b, __VA_ARGS__);                                                   \
    }
#define EXPR_ROW(name, EXPR, EXPR64)                                                               \
    static long double ref_##name(long double a, long double b, long double c) {                   \
        return EXPR;                                                                               \
    }                                                                                              \
    static double ref64_##name(double a, double b, double c) {                                     \
        return EXPR64;                                                                             \
    }

static long double reference_min(long double a, long double b) {
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    return a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}

static long double reference_max(long double a, long double b) {
    return -reference_min(-a, -b);
}

#define IF_NUMBERS(EXPR) (isnan(a) || isnan(b) ? (long double)NAN : (EXPR))
OP_ROW(addf, a, b)
OP_ROW(subf, a, b)
OP_ROW(mulf, a, b)
OP_ROW(divf, a, b, false, false)
OP_ROW(divf_rn, a, b)
OP_ROW(remf, a, b)
OP_ROW(fma, a, b, c)
OP_ROW(minf, a, b)
OP_ROW(maxf, a, b)
OP_ROW(minf_nan, a, b)
OP_ROW(maxf_nan, a, b)
OP_ROW(negf, a)
OP_ROW(absf, a)
OP_ROW(floor, a)
OP_ROW(ceil, a)
OP_ROW(sqrt, a)
OP_ROW(sqrt_rn, a)
EXPR_ROW(addf, a + b, a + b)
EXPR_ROW(subf, a - b, a - b)
EXPR_ROW(mulf, a *b, a *b)
EXPR_ROW(divf, a / b, a / b)
EXPR_ROW(divf_rn, a / b, a / b)
EXPR_ROW(remf, fmodl(a, b), fmod(a, b))
EXPR_ROW(minf, reference_min(a, b), (double)reference_min(a, b))
EXPR_ROW(maxf, reference_max(a, b), (double)reference_max(a, b))
EXPR_ROW(minf_nan, IF_NUMBERS(reference_min(a, b)), (double)IF_NUMBERS(reference_min(a, b)))
EXPR_ROW(maxf_nan, IF_NUMBERS(reference_max(a, b)), (double)IF_NUMBERS(reference_max(a, b)))
EXPR_ROW(negf, -a, -a)
EXPR_ROW(absf, fabsl(a), fabs(a))
EXPR_ROW(floor, floorl(a), floor(a))
EXPR_ROW(ceil, ceill(a), ceil(a))
EXPR_ROW(sqrt, sqrtl(a), sqrt(a))
EXPR_ROW(sqrt_rn, sqrtl(a), sqrt(a))

static const struct {
    const char *name;
    Build *build;
    Reference *reference;
    Reference64 *reference64;
} exact_ops[] = {
#define ROW(name)                                                                                  \
    { #name, make_##name, ref_##name, ref64_##name }
    ROW(addf),  ROW(subf), ROW(mulf),     ROW(divf),     ROW(divf_rn), ROW(remf),
    ROW(minf),  ROW(maxf), ROW(minf_nan), ROW(maxf_nan), ROW(negf),    ROW(absf),
    ROW(floor), ROW(ceil), ROW(sqrt),     ROW(sqrt_rn),
#undef ROW
};

/* One rounding to a format with fewer bits than long double: through double by way of rounding to
 * odd. */
static double once(DType dtype, long double value) {
    double wide = (double)value;
    if (isfinite(wide) && (long double)wide != value && dtype != DT_F64) {
        double lower = (long double)wide < value ? wide : nextafter(wide, -INFINITY);
        uint64_t bits;
        memcpy(&bits, &lower, sizeof bits);
        wide = bits & 1 ? lower : nextafter(lower, INFINITY);
    }
    return float_from_bits(dtype, float_to_bits(dtype, wide));
}

static void test_exact_ops_round_once(void **state) {
    Buffers *buffers = *state;
    for (size_t op = 0; op < sizeof exact_ops / sizeof *exact_ops; op++)
        for (size_t t = 0; t < NTYPES; t++) {
            DType dtype = float_types[t];
            fill(buffers, dtype, op * 16 + t);
            run_op(buffers, dtype, dtype, exact_ops[op].build);
            for (size_t i = 0; i < COUNT; i++) {
                double a = element(buffers->in[0], i, dtype);
                double b = element(buffers->in[1], i, dtype);
                double expected = dtype == DT_F64 ? exact_ops[op].reference64(a, b, 0)
                                                  : once(dtype, exact_ops[op].reference(a, b, 0));
                double found = element(buffers->out, i, dtype);
                /* A sign change keeps what f8 rounding would saturate. */
                if (isinf(a) && dtype_bytes(dtype) == 1)
                    continue;
                if (!same(found, expected))
                    fail_msg("%s of %s: %a, %a gave %a, wanted %a", exact_ops[op].name,
                             dtype_info[dtype].text, a, b, found, expected);
            }
        }
}

/* a * b + c of types with at most 11 bits, so that long double holds the sum of a product and of an
 * addend not more than 2^40 apart. Only the sign of one much smaller than the other matters. */
static long double narrow_fma(double a, double b, double c) {
    long double product = (long double)a * b, addend = c;
    if (!isfinite(product) || !isfinite(addend) || product == 0 || addend == 0)
        return product + addend;
    if (fabsl(addend) < fabsl(product) * 0x1p-40L)
        addend = copysignl(product * 0x1p-40L, addend);
    if (fabsl(product) < fabsl(addend) * 0x1p-40L)
        product = copysignl(addend * 0x1p-40L, product);
    return product + addend;
}

static void test_fma_rounds_once(void **state) {
    Buffers *buffers = *state;
    for (size_t t = 0; t < NTYPES; t++) {
        DType dtype = float_types[t];
        fill(buffers, dtype, 100 + t);
        run_op(buffers, dtype, dtype, make_fma);
        for (size_t i = 0; i < COUNT; i++) {
            double a = element(buffers->in[0], i, dtype), b = element(buffers->in[1], i, dtype);
            double c = element(buffers->in[2], i, dtype), expected;
            if (dtype == DT_F64)
                expected = fma(a, b, c);
            else if (dtype == DT_F32)
                expected = fmaf((float)a, (float)b, (float)c);
            else
                expected = once(dtype, narrow_fma(a, b, c));
            double found = element(buffers->out, i, dtype);
            if (!same(found, expected))
                fail_msg("fma of %s: %a, %a, %a gave %a, wanted %a", dtype_info[dtype].text, a, b,
                         c, found, expected);
        }
    }
}

/* 0x1.8p0 * 0x1.acp0 lies halfway between two bf16 values: an addend far below it decides. */
static void test_fma_sees_a_tiny_addend(void **state) {
    uint16_t a = (uint16_t)float_to_bits(DT_BF16, 0x1.8p0);
    uint16_t b = (uint16_t)float_to_bits(DT_BF16, 0x1.acp0);
    static const double addends[] = {0, 0x1p-120, -0x1p-120},
                        expected[] = {0x1.4p1, 0x1.42p1, 0x1.4p1};
    for (size_t i = 0; i < 3; i++) {
        uint16_t c = (uint16_t)float_to_bits(DT_BF16, addends[i]), out;
        Kernel k = kernel_begin(4, (DType[]){DT_BF16, DT_BF16, DT_BF16, DT_BF16});
        kernel_array(&k, 0, &a, sizeof a);
        kernel_array(&k, 1, &b, sizeof b);
        kernel_array(&k, 2, &c, sizeof c);
        kernel_array(&k, 3, &out, sizeof out);
        Value *x = kernel_load(&k, 0, 1), *y = kernel_load(&k, 1, 1), *z = kernel_load(&k, 2, 1);
        kernel_store(&k, 3, 1, build_fma(&k.b, x, y, z));
        assert_clean(&k);
        assert_true(float_from_bits(DT_BF16, out) == expected[i]);
        kernel_end(&k);
    }
}

/* Functions: within one unit of the last place of the type, of the long double result. */

OP_ROW(rsqrt, a)
OP_ROW(exp, a)
OP_ROW(exp2, a)
OP_ROW(log, a)
OP_ROW(log2, a)
OP_ROW(sin, a)
OP_ROW(cos, a)
OP_ROW(tanh, a)
OP_ROW(erf, a)
OP_ROW(erfc, a)
OP_ROW(gelu, a, false)

static long double reciprocal_root(long double x) {
    return 1 / sqrtl(x);
}

static long double gelu_reference(long double x) {
    return 0.5L * x * erfcl(x * -0.70710678118654752440L);
}

/* Of f64: units of the last place, but of gelu, whose argument of erfc is rounded and whose factor
 * may be subnormal, what that makes of it. */
static bool is_near(Build *build, double a, double found, double expected) {
    bool product = build == make_gelu;
    double units = product ? 2 + a * a : 2, least = product ? fabs(a) * DBL_TRUE_MIN : 0;
    return fabs(found - expected) <= units * DBL_EPSILON * fabs(expected) + least;
}

static const struct {
    const char *name;
    Build *build;
    long double (*reference)(long double);
} functions[] = {
    {"rsqrt", make_rsqrt, reciprocal_root},
    {"exp", make_exp, expl},
    {"exp2", make_exp2, exp2l},
    {"log", make_log, logl},
    {"log2", make_log2, log2l},
    {"sin", make_sin, sinl},
    {"cos", make_cos, cosl},
    {"tanh", make_tanh, tanhl},
    {"erf", make_erf, erfl},
    {"erfc", make_erfc, erfcl},
    {"gelu", make_gelu, gelu_reference},
};

static void test_functions(void **state) {
    Buffers *buffers = *state;
    for (size_t op = 0; op < sizeof functions / sizeof *functions; op++)
        for (size_t t = 0; t < NTYPES; t++) {
            DType dtype = float_types[t];
            fill(buffers, dtype, 200 + op * 16 + t);
            run_op(buffers, dtype, dtype, functions[op].build);
            for (size_t i = 0; i < COUNT; i++) {
                double a = element(buffers->in[0], i, dtype);
                double found = element(buffers->out, i, dtype);
                double expected = once(dtype, functions[op].reference(a));
                bool near = dtype == DT_F64 && is_near(functions[op].build, a, found, expected);
                if (!near && !same(found, expected))
                    fail_msg("%s of %s: %a gave %a, wanted %a", functions[op].name,
                             dtype_info[dtype].text, a, found, expected);
            }
        }
}

/* Comparisons */

static bool compares(FloatPredicate predicate, double a, double b) {
    switch (predicate) {
    case FPRED_OEQ:
        return a == b;
    case FPRED_UNE:
        return !(a == b);
    case FPRED_OLT:
        return a < b;
    case FPRED_OLE:
        return a <= b;
    case FPRED_OGT:
        return b < a;
    case FPRED_OGE:
        return b <= a;
    case FPRED_COUNT:
        break;
    }
    return false;
}

static void test_comparisons(void **state) {
    Buffers *buffers = *state;
    for (size_t t = 0; t < NTYPES; t++)
        for (int p = 0; p < FPRED_COUNT; p++) {
            DType dtype = float_types[t];
            fill(buffers, dtype, 400 + t);
            Kernel k = kernel_begin(3, (DType[]){dtype, dtype, DT_I1});
            kernel_array(&k, 0, buffers->in[0], sizeof buffers->in[0]);
            kernel_array(&k, 1, buffers->in[1], sizeof buffers->in[1]);
            kernel_array(&k, 2, buffers->out, COUNT);
            Value *a = kernel_load(&k, 0, COUNT), *b = kernel_load(&k, 1, COUNT);
            kernel_store(&k, 2, COUNT, build_cmpf(&k.b, a, b, (FloatPredicate)p));
            assert_clean(&k);
            for (size_t i = 0; i < COUNT; i++)
                assert_int_equal(((uint8_t *)buffers->out)[i],
                                 compares((FloatPredicate)p, element(buffers->in[0], i, dtype),
                                          element(buffers->in[1], i, dtype)));
            kernel_end(&k);
        }
}

/* Conversions */

static void run_conversion(Buffers *buffers, DType from, DType to, uint32_t input,
                           Value *(*build)(Builder *, Value *, const Type *)) {
    Kernel k = kernel_begin(2, (DType[]){from, to});
    kernel_array(&k, 0, buffers->in[input], sizeof buffers->in[input]);
    kernel_array(&k, 1, buffers->out, sizeof buffers->out);
    kernel_store(&k, 1, COUNT, build(&k.b, kernel_load(&k, 0, COUNT), tile_type(&k, to, COUNT)));
    assert_clean(&k);
    kernel_end(&k);
}

static Value *truncf_rtne(Builder *b, Value *x, const Type *type) {
    return build_truncf(b, x, ROUND_RTNE, type);
}

static Value *truncf_rtz(Builder *b, Value *x, const Type *type) {
    return build_truncf(b, x, ROUND_RTZ, type);
}

static void test_float_conversions(void **state) {
    Buffers *buffers = *state;
    for (size_t f = 0; f < NTYPES; f++)
        for (size_t t = 0; t < NTYPES; t++) {
            DType from = float_types[f], to = float_types[t];
            bool widens = dtype_info[from].bits < dtype_info[to].bits;
            if (from == to)
                continue;
            fill(buffers, from, 500 + f);
            run_conversion(buffers, from, to, 0, widens ? build_extf : truncf_rtne);
            for (size_t i = 0; i < COUNT; i++) {
                double x = element(buffers->in[0], i, from);
                double expected = widens ? x : float_from_bits(to, float_to_bits(to, x));
                assert_true(same(element(buffers->out, i, to), expected));
            }
        }
}

static void test_rounding_towards_zero_never_grows(void **state) {
    Buffers *buffers = *state;
    fill(buffers, DT_F32, 600);
    run_conversion(buffers, DT_F32, DT_F16, 0, truncf_rtz);
    for (size_t i = 0; i < COUNT; i++) {
        double x = element(buffers->in[0], i, DT_F32), found = element(buffers->out, i, DT_F16);
        if (isnan(x) || isinf(x)) {
            assert_true(same(found, x));
            continue;
        }
        assert_true(fabs(found) <= fabs(x) && signbit(found) == signbit(x));
        uint64_t next = (float_to_bits(DT_F16, found) & 0x7fff) + 1;
        assert_true(next == 0x7c00 || float_from_bits(DT_F16, next) > fabs(x));
    }
}

static void test_integers_to_floats_round_once(void **state) {
    Buffers *buffers = *state;
    uint64_t seed = 3;
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t random = splitmix64(&seed) >> splitmix64(&seed) % 64;
        /* Halves of every float's last place, and just beside them. */
        if (i % 2)
            random = (random & 0xff) << 50 | UINT64_C(1) << 49 | (i % 4 == 1);
        buffers->in[0][i] = i % 8 < 4 ? random : 0 - random;
    }
    for (size_t t = 0; t < NTYPES; t++)
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            DType to = float_types[t];
            run_conversion(buffers, DT_I64, to, 0, is_signed ? build_sitof : build_uitof);
            for (size_t i = 0; i < COUNT; i++) {
                uint64_t x = buffers->in[0][i];
                long double value = is_signed ? (long double)(int64_t)x : (long double)x;
                double expected = to == DT_F64 ? (double)value : once(to, value);
                assert_true(same(element(buffers->out, i, to), expected));
            }
        }
}

static void test_floats_to_integers_truncate(void **state) {
    float in[8] = {0.9f, -0.9f, 1.5f, -1.5f, 127.99f, -128.99f, -0.0f, 100};
    int8_t out[8];
    static const int8_t expected[8] = {0, 0, 1, -1, 127, -128, 0, 100};
    Kernel k = kernel_begin(2, (DType[]){DT_F32, DT_I8});
    kernel_array(&k, 0, in, sizeof in);
    kernel_array(&k, 1, out, sizeof out);
    kernel_store(&k, 1, 8, build_ftosi(&k.b, kernel_load(&k, 0, 8), tile_type(&k, DT_I8, 8)));
    assert_clean(&k);
    assert_memory_equal(out, expected, sizeof out);
    kernel_end(&k);

    double wide[4] = {0x1p63, 0x1.fffffffffffffp63, 0.5, -0.5};
    uint64_t words[4];
    static const uint64_t expected_words[4] = {UINT64_C(1) << 63, UINT64_C(0xfffffffffffff800), 0,
                                               0};
    k = kernel_begin(2, (DType[]){DT_F64, DT_I64});
    kernel_array(&k, 0, wide, sizeof wide);
    kernel_array(&k, 1, words, sizeof words);
    kernel_store(&k, 1, 4, build_ftoui(&k.b, kernel_load(&k, 0, 4), tile_type(&k, DT_I64, 4)));
    assert_clean(&k);
    assert_memory_equal(words, expected_words, sizeof words);
    kernel_end(&k);
}

static void test_values_beyond_the_integer_are_undefined(void **state) {
    static const float beyond[] = {128, -129, INFINITY, NAN};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        float in = beyond[i];
        int8_t out;
        Kernel k = kernel_begin(2, (DType[]){DT_F32, DT_I8});
        kernel_array(&k, 0, &in, sizeof in);
        kernel_array(&k, 1, &out, sizeof out);
        kernel_store(&k, 1, 1, build_ftosi(&k.b, kernel_load(&k, 0, 1), tile_type(&k, DT_I8, 1)));
        assert_false(kernel_run(&k));
        assert_non_null(strstr(kernel_messages(&k), "the integer type cannot hold"));
        kernel_end(&k);
    }
}

static void test_bitcast_keeps_bits(void **state) {
    Buffers *buffers = *state;
    fill(buffers, DT_F32, 700);
    run_conversion(buffers, DT_F32, DT_I32, 0, build_bitcast);
    assert_memory_equal(buffers->in[0], buffers->out, COUNT * sizeof(float));
}

static int make_buffers(void **state) {
    *state = calloc(1, sizeof(Buffers));
    return *state == NULL;
}

static int free_buffers(void **state) {
    free(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_ops_round_once),
        cmocka_unit_test(test_fma_rounds_once),
        cmocka_unit_test(test_fma_sees_a_tiny_addend),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_float_conversions),
        cmocka_unit_test(test_rounding_towards_zero_never_grows),
        cmocka_unit_test(test_integers_to_floats_round_once),
        cmocka_unit_test(test_floats_to_integers_truncate),
        cmocka_unit_test(test_values_beyond_the_integer_are_undefined),
        cmocka_unit_test(test_bitcast_keeps_bits),
    };
    return cmocka_run_group_tests(tests, make_buffers, free_buffers);
}
