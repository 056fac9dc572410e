/* Conversions to and from fp8 and tf32 against a search of all numbers of the format. */
#include "matrix_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 2048 };

static uint64_t X[COUNT], Y[COUNT];

/* Runs `body` for each x: %a is its low half, %b the high one, %d the result; %h are of 16 bits. */
static void run(const char *body) {
    SimTest test = sim_test_begin();
    const char *text = str_format(
        &test.ctx->arena,
        ".version 8.6\n.target sm_90a\n.address_size 64\n"
        ".visible .entry k(.param .u64 x, .param .u64 y) {\n"
        ".reg .b32 %%a, %%b, %%d, %%t; .reg .b16 %%h, %%hd; .reg .b64 %%x, %%y, %%o;\n"
        "mov.u32 %%d, %%ctaid.x; mov.u32 %%t, %%tid.x; mad.lo.u32 %%t, %%d, 256, %%t;\n"
        "mul.wide.u32 %%o, %%t, 8; ld.param.u64 %%x, [x]; add.u64 %%x, %%x, %%o;\n"
        "ld.param.u64 %%y, [y]; add.u64 %%y, %%y, %%o; ld.global.v2.b32 {%%a, %%b}, [%%x];\n"
        "cvt.u16.u32 %%h, %%a;\n%s\ncvt.u64.u32 %%o, %%d; st.global.b64 [%%y], %%o;\nret;\n}\n",
        body);
    const SimArrayArg arrays[] = {{"x", X, sizeof X, NULL}, {"y", Y, sizeof Y, NULL}};
    if (!sim_test_parse(&test, text) ||
        !sim_test_run(&test, (SimLaunch){.block = {256}, .grid = {COUNT / 256}}, arrays, 2))
        fail_msg("%s\n%s", body, sim_test_messages(&test));
    sim_test_end(&test);
}

static bool is_nan(const Number *type, uint32_t bits) {
    uint32_t magnitude = bits & ((1u << (type->bits - 1)) - 1);
    uint32_t infinity = ((1u << type->exponent) - 1) << type->mantissa;
    return type == &e4m3_ ? magnitude == 0x7f : magnitude > infinity;
}

static bool is_infinite(const Number *type, uint32_t bits) {
    uint32_t magnitude = bits & ((1u << (type->bits - 1)) - 1);
    return type != &e4m3_ && magnitude == ((1u << type->exponent) - 1) << type->mantissa;
}

/* The finite number of an 8-bit format nearest to a value, ties to the even one; beyond the largest
 * that. */
static uint32_t nearest(const Number *type, double value) {
    uint32_t best = 0, largest = type == &e4m3_ ? 0x7e : 0x7b;
    double distance = INFINITY;
    if (fabs(value) >= number_value(type, largest))
        return largest | (signbit(value) ? 0x80 : 0);
    for (uint32_t bits = 0; bits < 128; bits++) {
        if (is_nan(type, bits) || is_infinite(type, bits))
            continue;
        double off = fabs(number_value(type, bits) - fabs(value));
        if (off < distance || (off == distance && !(bits & 1))) {
            distance = off;
            best = bits;
        }
    }
    return best | (signbit(value) ? 0x80 : 0);
}

static double f32(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return (double)value;
}

static uint32_t narrow(const Number *type, uint32_t bits, bool relu) {
    double value = f32(bits);
    if (isnan(value))
        return 0x7f;
    if (relu && value <= 0)
        return 0;
    return nearest(type, value);
}

/* Numbers near those of the 8-bit formats, between two of them, and any. */
static uint32_t draw(const Number *type, uint32_t *state) {
    uint32_t word = random_word(state), bits = word & 0xff;
    if (word >> 30 == 0 || is_nan(type, bits) || is_infinite(type, bits))
        return random_word(state);
    double value = number_value(type, bits),
           next = number_value(type, (bits & 0x7f) < 0x7a ? bits + 1 : bits);
    float middle = (float)((value + next) / 2);
    uint32_t result;
    memcpy(&result, &middle, 4);
    return result + word % 3 - (word >> 30 == 1);
}

static void test_to_fp8(void **unused) {
    static const Number *const types[] = {&e4m3_, &e5m2_};
    uint32_t state = 3;
    for (unsigned t = 0; t < 2; t++)
        for (unsigned relu = 0; relu < 2; relu++) {
            char body[100];
            for (unsigned i = 0; i < COUNT; i++)
                X[i] = draw(types[t], &state) | (uint64_t)draw(types[t], &state) << 32;
            snprintf(body, sizeof body,
                     "cvt.rn.satfinite%s.%sx2.f32 %%hd, %%a, %%b; cvt.u32.u16 %%d, %%hd;",
                     relu ? ".relu" : "", types[t]->name);
            run(body);
            for (unsigned i = 0; i < COUNT; i++) {
                uint32_t want = narrow(types[t], (uint32_t)X[i], relu) << 8 |
                                narrow(types[t], (uint32_t)(X[i] >> 32), relu);
                if (Y[i] != want)
                    fail_msg("%s of %#llx: %#llx, wanted %#x", body, (unsigned long long)X[i],
                             (unsigned long long)Y[i], want);
            }
        }
}

/* Pairs of f16, whose values are exact in f32. */
static void test_halves(void **unused) {
    static const Number *const types[] = {&e4m3_, &e5m2_};
    uint32_t state = 5;
    for (unsigned t = 0; t < 2; t++) {
        char body[100];
        for (unsigned i = 0; i < COUNT; i++)
            X[i] = random_word(&state);
        snprintf(body, sizeof body, "cvt.rn.satfinite.%sx2.f16x2 %%hd, %%a; cvt.u32.u16 %%d, %%hd;",
                 types[t]->name);
        run(body);
        for (unsigned i = 0; i < COUNT; i++)
            for (unsigned half = 0; half < 2; half++) {
                uint32_t bits = X[i] >> (16 * half) & 0xffff, got = Y[i] >> (8 * half) & 0xff;
                float value = (float)number_value(&f16_, bits);
                uint32_t single, sign = bits >> 15 << 31;
                memcpy(&single, &value, 4);
                if (is_nan(&f16_, bits))
                    single = 0x7fc00000;
                else if (is_infinite(&f16_, bits))
                    single = sign | 0x7f800000;
                if (got != narrow(types[t], single, false))
                    fail_msg("%s of %#x: %#x", body, bits, got);
            }
    }
}

/* Every number of the 8-bit formats, exactly. */
static void test_from_fp8(void **unused) {
    static const Number *const types[] = {&e4m3_, &e5m2_};
    for (unsigned t = 0; t < 2; t++) {
        char body[100];
        for (unsigned i = 0; i < COUNT; i++)
            X[i] = (i & 0xff) | (i * 7 & 0xff) << 8;
        snprintf(body, sizeof body, "cvt.rn.f16x2.%sx2 %%d, %%h;", types[t]->name);
        run(body);
        for (unsigned i = 0; i < COUNT; i++)
            for (unsigned half = 0; half < 2; half++) {
                uint32_t bits = X[i] >> (8 * half) & 0xff, got = Y[i] >> (16 * half) & 0xffff;
                uint32_t sign = bits >> 7 << 15;
                uint32_t want = is_nan(types[t], bits)        ? 0x7fff
                                : is_infinite(types[t], bits) ? sign | 0x7c00
                                                              : UINT32_MAX;
                bool same = want == UINT32_MAX
                                ? number_value(&f16_, got) == number_value(types[t], bits) &&
                                      (got & 0x8000) == sign
                                : got == want;
                if (!same)
                    fail_msg("%s of %#x: %#x", body, bits, got);
            }
    }
}

/* tf32 has the upper 19 bits of f32: rounding adds half of the last kept bit. */
static void test_tf32(void **unused) {
    static const struct {
        const char *body;
        char mode;
        bool relu;
    } all[] = {{"cvt.rna.tf32.f32 %d, %a;", 'a', false},
               {"cvt.rn.tf32.f32 %d, %a;", 'n', false},
               {"cvt.rz.tf32.f32 %d, %a;", 'z', false},
               {"cvt.rn.relu.tf32.f32 %d, %a;", 'n', true}};
    uint32_t state = 9;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        for (unsigned i = 0; i < COUNT; i++) {
            X[i] = random_word(&state);
            if (i % 4 == 0)
                X[i] = (X[i] & ~UINT64_C(0x1fff)) | 0x1000;
        }
        X[0] = 0x7fffffff;
        X[1] = 0xff800000;
        run(all[k].body);
        for (unsigned i = 0; i < COUNT; i++) {
            uint32_t x = (uint32_t)X[i], magnitude = x & 0x7fffffff;
            uint32_t half = all[k].mode == 'a'   ? 0x1000
                            : all[k].mode == 'n' ? 0xfff + (x >> 13 & 1)
                                                 : 0;
            uint32_t want = ((magnitude + half) & ~0x1fffu) | (x & 0x80000000u);
            if (magnitude >= 0x7f800000)
                want = magnitude == 0x7f800000 ? x : all[k].mode == 'a' ? x & ~0x1fffu : 0x7fffe000;
            if (all[k].relu && x >> 31 && magnitude <= 0x7f800000)
                want = 0;
            if (Y[i] != want)
                fail_msg("%s of %#x: %#llx, wanted %#x", all[k].body, x, (unsigned long long)Y[i],
                         want);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_to_fp8), cmocka_unit_test(test_halves),
                                       cmocka_unit_test(test_from_fp8),
                                       cmocka_unit_test(test_tf32)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
