/* Generators of arrays: values, determinism, distribution, and messages. */
#include "runtime/data/generate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static Ctx *new_ctx(void) {
    Ctx *ctx = ctx_create();
    assert_non_null(ctx);
    ctx->arena.oom = NULL; /* out of memory aborts the test */
    return ctx;
}

static const char *messages(Ctx *ctx) {
    StrBuf out = strbuf(&ctx->arena);
    diag_print_all(&ctx->diags, &out);
    return out.ptr ? out.ptr : "";
}

static bool generate(Ctx *ctx, const char *text, uint32_t stream, HostArray *array) {
    uint32_t file = source_add(&ctx->sources, STR("-a x"), str_from(text));
    return generate_array(ctx, file, 0, str_from(text), stream, array);
}

static HostArray make(Ctx *ctx, const char *text, uint32_t stream) {
    HostArray array;
    if (!generate(ctx, text, stream, &array))
        fail_msg("%s", messages(ctx));
    return array;
}

/* The test vectors that come with the definition of the generator. */
static void test_philox_known_answers(void **state) {
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t out[4];
        philox_4x32_10(cases[i].counter, cases[i].key, out);
        assert_memory_equal(out, cases[i].out, sizeof out);
    }
}

static void test_fixed_values(void **state) {
    Ctx *ctx = new_ctx();
    HostArray a = make(ctx, "zeros:bf16[2, 3]", 0);
    assert_int_equal(a.rank, 2);
    assert_int_equal(a.count, 6);
    assert_int_equal(a.bytes, 12);
    assert_true(host_array_float(&a, 5) == 0);
    a = make(ctx, "ones:fp8e5[3]", 0);
    assert_true(host_array_float(&a, 2) == 1);
    a = make(ctx, "full(3.5):fp16[2,2]", 0);
    assert_true(host_array_float(&a, 3) == 3.5);
    a = make(ctx, "full(-inf):fp32[1]", 0);
    assert_true(host_array_float(&a, 0) == -INFINITY);
    a = make(ctx, "full( -128 ) : i8 [ 2 ]", 0);
    assert_true(host_array_int(&a, 1) == -128);
    a = make(ctx, "full(18446744073709551615):u64[1]", 0);
    assert_true(host_array_int(&a, 0) == UINT64_MAX);
    a = make(ctx, "full(1):i1[3]", 0);
    assert_int_equal(((uint8_t *)a.data)[2], 1);
    a = make(ctx, "zeros:fp64[]", 0);
    assert_int_equal(a.count, 1);
    a = make(ctx, "randn:fp32[3, 0]", 0);
    assert_int_equal(a.count, 0);
    ctx_destroy(ctx);
}

static void test_arange(void **state) {
    Ctx *ctx = new_ctx();
    HostArray a = make(ctx, "arange:i32[2, 5]", 0);
    for (size_t i = 0; i < 10; i++)
        assert_true(host_array_int(&a, i) == (int)i);
    a = make(ctx, "arange(127, -85):i8[4]", 0);
    for (size_t i = 0; i < 4; i++)
        assert_true(host_array_int(&a, i) == 127 - 85 * (int)i);
    a = make(ctx, "arange(1, 0.25):fp32[5]", 0);
    assert_true(host_array_float(&a, 4) == 2);
    a = make(ctx, "arange(-9223372036854775808):i64[1]", 0);
    assert_true(host_array_int(&a, 0) == INT64_MIN);
    ctx_destroy(ctx);
}

static void test_random_arrays_repeat(void **state) {
    Ctx *ctx = new_ctx();
    HostArray a = make(ctx, "rand:fp32[1000]", 0), b = make(ctx, "rand(seed=0):fp32[10, 100]", 0);
    assert_memory_equal(a.data, b.data, a.bytes);
    HostArray c = make(ctx, "rand(seed=1):fp32[1000]", 0), d = make(ctx, "rand:fp32[1000]", 1);
    size_t same_seed = 0, same_stream = 0;
    for (size_t i = 0; i < 1000; i++) {
        same_seed += host_array_float(&a, i) == host_array_float(&c, i);
        same_stream += host_array_float(&a, i) == host_array_float(&d, i);
    }
    assert_true(same_seed < 3 && same_stream < 3);
    /* A longer array begins with the shorter one. */
    HostArray e = make(ctx, "rand:fp32[2000]", 0);
    assert_memory_equal(a.data, e.data, a.bytes);
    ctx_destroy(ctx);
}

/* Mean and variance within five standard errors, every element in bounds. */
/* Large arrays are filled in parts: elements do not depend on how many there are. */
static void test_parts_make_a_whole(void **state) {
    static const char *const texts[][2] = {
        {"randn:fp32[1000003]", "randn:fp32[1400000]"},
        {"rand:fp32[1000003]", "rand:fp32[1400000]"},
        {"randint(0, 99):i32[1000003]", "randint(0, 99):i32[1400000]"},
        {"full(7):i32[1000003]", "full(7):i32[1400000]"}};
    Ctx *ctx = new_ctx();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const HostArray few = make(ctx, texts[i][0], 3), many = make(ctx, texts[i][1], 3);
        assert_memory_equal(few.data, many.data, few.bytes);
        assert_true(host_elem_bytes(few.elem) == 4 && ((int32_t *)few.data)[few.count - 1] != 0);
    }
    ctx_destroy(ctx);
}

static void check_moments(const char *text, double mean, double variance, double low, double high) {
    Ctx *ctx = new_ctx();
    HostArray a = make(ctx, text, 3);
    double sum = 0, squares = 0, n = (double)a.count;
    for (size_t i = 0; i < a.count; i++) {
        double x = elem_is_float(a.elem) ? host_array_float(&a, i) : (double)host_array_int(&a, i);
        assert_true(x >= low && x < high);
        sum += x - mean;
        squares += (x - mean) * (x - mean);
    }
    if (fabs(sum / n) > 5 * sqrt(variance / n) || fabs(squares / n / variance - 1) > 0.02)
        fail_msg("%s: mean off by %g, variance %g", text, sum / n, squares / n);
    ctx_destroy(ctx);
}

static void test_distributions(void **state) {
    check_moments("rand:fp32[100000]", 0.5, 1.0 / 12, 0, 1);
    check_moments("rand:fp64[100000]", 0.5, 1.0 / 12, 0, 1);
    check_moments("rand:fp16[100000]", 0.5 - 0x1p-12, 1.0 / 12, 0, 1);
    check_moments("rand:bf16[100000]", 0.5 - 0x1p-9, 1.0 / 12, 0, 1);
    check_moments("rand(-2, 6):fp64[100000]", 2, 64.0 / 12, -2, 6);
    check_moments("randn:fp32[100000]", 0, 1, -10, 10);
    check_moments("randn(5, 0.5):fp32[100000]", 5, 0.25, 0, 10);
    check_moments("randint(-3, 4):i8[100000]", 0, 4, -3, 4);
    check_moments("randint(0, 2):i1[100000]", 0.5, 0.25, 0, 2);
    check_moments("randint(0, 256):u8[100000]", 127.5, (65536.0 - 1) / 12, 0, 256);
}

static void test_whole_range_of_64_bits(void **state) {
    Ctx *ctx = new_ctx();
    HostArray a = make(ctx, "randint(-9223372036854775808, 9223372036854775808):i64[1000]", 0);
    uint64_t seen_one = 0, seen_zero = 0;
    for (size_t i = 0; i < 1000; i++) {
        seen_one |= (uint64_t)host_array_int(&a, i);
        seen_zero |= ~(uint64_t)host_array_int(&a, i);
    }
    assert_true(seen_one == UINT64_MAX && seen_zero == UINT64_MAX);
    ctx_destroy(ctx);
}

static void test_what_is_a_generator(void **state) {
    assert_true(generate_is_generator(STR("randn:fp32[3]")));
    assert_true(generate_is_generator(STR("full(3):fp32[3]")));
    assert_true(generate_is_generator(STR("zeros:")));
    assert_false(generate_is_generator(STR("zeros.npy")));
    assert_false(generate_is_generator(STR("zeros")));
    assert_false(generate_is_generator(STR("./zeros:x")));
    assert_false(generate_is_generator(STR("c:npy")));
    assert_false(generate_is_generator(STR("")));
}

static void test_messages(void **state) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "-a x:1:1: error: there is no generator ''"},
        {"rando:fp32[3]", "-a x:1:1: error: there is no generator 'rando'\n"
                          "    1 | rando:fp32[3]\n"
                          "      | ^~~~~\n"
                          "      = hint: did you mean "},
        {"3:fp32[3]", "= hint: generators are zeros, ones, full, arange, rand, randn, randint\n"},
        {"zeros", "-a x:1:6: error: the end in a generator, wanted ':' and a type"},
        {"zeros:", "the end in a generator, wanted an element type such as fp32"},
        {"zeros:fp31[3]",
         "-a x:1:7: error: 'fp31' in a generator, wanted an element type such as fp32"},
        {"zeros:fp31[3]", "= hint: did you mean fp"},
        {"zeros:*fp32[3]", "'*fp32' in a generator, wanted an element type"},
        {"zeros:fp32", "the end in a generator, wanted '[' and the sizes"},
        {"zeros:fp32[3", "the end in a generator, wanted ',' or ']'"},
        {"zeros:fp32[3 4]", "-a x:1:14: error: '4' in a generator, wanted ',' or ']'"},
        {"zeros:fp32[,]", "',' in a generator, wanted a number"},
        {"zeros:fp32[-3]", "-a x:1:12: error: the size is not an integer of 0 or more"},
        {"zeros:fp32[2.5]", "the size is not an integer of 0 or more"},
        {"zeros:fp32[9999999999999999999]", "the size is not an integer of 0 or more"},
        {"zeros:fp32[4294967296, 4294967296]",
         "the array's shape is too large: the array is larger than memory"},
        {"zeros:fp32[3] x", "'x' in a generator, wanted nothing after the shape"},
        {"zeros(1):fp32[3]", "-a x:1:6: error: generator 'zeros' takes no values, found 1 values"},
        {"full:fp32[3]", "generator 'full' takes (value), found 0 values"},
        {"rand(1,2,3):fp32[3]", "generator 'rand' takes (low, high), found 3 values"},
        {"full(x):fp32[3]", "-a x:1:6: error: 'x' in a generator, wanted a number"},
        {"full(1:fp32[3]", "':' in a generator, wanted ',' or ')'"},
        {"full(1e5e):fp32[3]", "'1' in a generator, wanted a number"},
        {"rand(seed 3):fp32[3]", "'3' in a generator, wanted '=' and an integer"},
        {"rand(seed=-1):fp32[3]", "the seed is not an unsigned 64-bit integer"},
        {"rand(seed=1.5):fp32[3]", "the seed is not an unsigned 64-bit integer"},
        {"full(128):i8[3]", "-a x:1:6: error: the value is not of type i8"},
        {"full(-1):u8[3]", "the value is not of type u8"},
        {"full(2):i1[3]", "the value is not of type i1"},
        {"full(1.5):i8[3]", "the value is not of type i8"},
        {"arange:i8[129]", "the value is not of type i8"},
        {"arange(0, 99999999999999999999):i8[3]", "the value is not of type i8"},
        {"arange(0, 0.5):i8[3]", "the value is not of type i8"},
        {"rand:i32[3]", "generator 'rand' does not make i32"},
        {"rand:i32[3]", "= hint: randint(0, 100):i32[..] makes integers"},
        {"randn:i32[3]", "generator 'randn' does not make i32"},
        {"randint(0, 3):fp32[3]", "generator 'randint' does not make fp32"},
        {"randint(3, 3):i32[3]", "the upper bound is not above the lower bound"},
        {"randint(0, 257):u8[3]", "the value is not of type u8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Ctx *ctx = new_ctx();
        HostArray array;
        assert_false(generate(ctx, cases[i].text, 0, &array));
        if (ctx->diags.errors != 1 || !strstr(messages(ctx), cases[i].message))
            fail_msg("%s\nwanted: %s\nfound: %s", cases[i].text, cases[i].message, messages(ctx));
        ctx_destroy(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox_known_answers),
        cmocka_unit_test(test_fixed_values),
        cmocka_unit_test(test_arange),
        cmocka_unit_test(test_random_arrays_repeat),
        cmocka_unit_test(test_parts_make_a_whole),
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_whole_range_of_64_bits),
        cmocka_unit_test(test_what_is_a_generator),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
