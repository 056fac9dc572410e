/* Keys of calls: two calls have the same one if, and only if, everything that an instance may
 * differ in is the same, as it is worked out here from the documented rules alone. */
#include "runtime/launch/arguments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { COUNT = 6, CALLS = 400 };

/* A generator that is the same everywhere. */
static unsigned draw(unsigned *state, unsigned below) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 16) % below;
}

static tile_argument draw_argument(unsigned *state) {
    static const int64_t integers[] = {
        0, 1, 7, 8, 16, 24, 64, 96, 1000, 1024, -16, -8, INT64_C(1) << 40};
    static const tile_dtype types[] = {TILE_FP16, TILE_FP32};
    static const tile_dtype widths[] = {TILE_DTYPE_AUTO, TILE_I32, TILE_I64, TILE_I1};
    const int64_t integer = integers[draw(state, sizeof integers / sizeof *integers)];
    tile_argument argument;
    switch (draw(state, 6)) {
    case 0:
    case 1:
        return tile_pointer(4096 + 8 * draw(state, 4), types[draw(state, 2)]);
    case 2:
    case 3:
        argument = tile_int(integer);
        argument.type = widths[draw(state, 4)];
        return argument;
    case 4:
        argument = tile_float(draw(state, 2));
        argument.type = draw(state, 2) ? TILE_FP64 : TILE_DTYPE_AUTO;
        return argument;
    default:
        return tile_constexpr_int(integer);
    }
}

static bool is_constexpr(const tile_argument *arguments, int64_t value) {
    for (int i = 0; i < COUNT; i++)
        if (arguments[i].kind == TILE_ARGUMENT_CONSTEXPR_INT && arguments[i].value.integer == value)
            return true;
    return false;
}

/* What the rules say of an integer: include/tilec.h, tile_function_launch. */
static void describe_integer(const tile_argument *arguments, int i, int64_t constant, char *text,
                             size_t size) {
    const int64_t value = arguments[i].value.integer;
    const bool fits = value >= INT32_MIN && value <= INT32_MAX;
    const tile_dtype type = arguments[i].type ? arguments[i].type : fits ? TILE_I32 : TILE_I64;
    const char *name = dtype_name(type);
    if (type == TILE_I1)
        snprintf(text, size, "%s", name);
    else if (value == 1 || (value >= 16 && (value == constant || is_constexpr(arguments, value))))
        snprintf(text, size, "%s=%lld", name, (long long)value);
    else
        snprintf(text, size, "%s:%d", name, value % 16 == 0 ? 16 : value % 8 == 0 ? 8 : 1);
}

static void describe(const tile_argument *arguments, int64_t constant, char *text, size_t size) {
    for (int i = 0; i < COUNT; i++) {
        const tile_argument *argument = &arguments[i];
        char one[64] = "";
        if (argument->kind == TILE_ARGUMENT_POINTER)
            snprintf(one, sizeof one, "*%d:%d", argument->type,
                     argument->value.address % 16 ? 1 : 16);
        else if (argument->kind == TILE_ARGUMENT_INT)
            describe_integer(arguments, i, constant, one, sizeof one);
        else if (argument->kind == TILE_ARGUMENT_FLOAT)
            snprintf(one, sizeof one, "%s", argument->type == TILE_FP64 ? "fp64" : "fp32");
        else
            snprintf(one, sizeof one, "constexpr %lld", (long long)argument->value.integer);
        const size_t length = strlen(text);
        snprintf(text + length, size - length, "%s, ", one);
    }
}

/* What the driver reads for each is the argument's value, in its width. */
static void check_params(const tile_argument *arguments, const Packed *packed) {
    uint32_t passed = 0;
    for (int i = 0; i < COUNT; i++) {
        const tile_argument *argument = &arguments[i];
        if (argument->kind >= TILE_ARGUMENT_CONSTEXPR)
            continue;
        assert_true(passed < packed->count);
        const void *bits = packed->params[passed++];
        const float narrow = (float)argument->value.number;
        const bool is_narrow = argument->kind == TILE_ARGUMENT_FLOAT && argument->type != TILE_FP64;
        assert_memory_equal(bits, is_narrow ? (const void *)&narrow : &argument->value.address,
                            is_narrow ? sizeof narrow : sizeof argument->value.address);
    }
    assert_int_equal(passed, packed->count);
}

typedef struct Known {
    char text[256];
    unsigned char key[256];
    size_t size;
} Known;

static void keys_are_what_calls_differ_in(void **state) {
    static Known known[CALLS];
    static Packed packed;
    unsigned seed = 1;
    int same = 0;
    for (int limited = 0; limited < 2; limited++) {
        static const int64_t constant = 1000;
        static const SpecialLimit limits[COUNT] = {SPECIAL_ANY};
        const Specialisation specialisation = {.constants = {&constant, 1},
                                               .limits = limited ? limits : NULL};
        for (int c = 0; c < CALLS; c++) {
            tile_argument arguments[COUNT];
            for (int i = 0; i < COUNT; i++)
                arguments[i] = draw_argument(&seed);
            if (c % 2) /* that differ in one */
                for (int i = 0; i < COUNT; i++)
                    arguments[i] = i % 2 ? tile_int(96) : tile_pointer(16, TILE_FP32);
            arguments[draw(&seed, COUNT)] = draw_argument(&seed);
            assert_true(arguments_pack(&packed, &specialisation, 7, arguments, COUNT));
            check_params(arguments, &packed);
            known[c] = (Known){.size = packed.key_len};
            assert_true(packed.key_len <= sizeof known[c].key);
            memcpy(known[c].key, packed.key, packed.key_len);
            describe(arguments, constant, known[c].text, sizeof known[c].text);
            for (int other = 0; other < c; other++) {
                const bool same_key = known[other].size == known[c].size &&
                                      !memcmp(known[other].key, known[c].key, known[c].size);
                if (same_key != !strcmp(known[other].text, known[c].text))
                    fail_msg("%s\n%s", known[other].text, known[c].text);
                same += same_key;
            }
        }
    }
    assert_true(same > CALLS);
}

/* Refused, each for itself: types that are none, or not of the kind; a kind that is none. */
static void what_is_no_argument_is_refused(void **state) {
    static Packed packed;
    const Specialisation nothing = {0};
    tile_argument bad[] = {tile_pointer(0, TILE_DTYPE_AUTO), tile_pointer(0, (tile_dtype)99),
                           tile_int(1), tile_float(1), tile_int(1)};
    bad[2].type = TILE_FP32;
    bad[3].type = TILE_FP8E5;
    bad[4].kind = (tile_argument_kind)17;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(arguments_pack(&packed, &nothing, 7, &bad[i], 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(keys_are_what_calls_differ_in),
                                       cmocka_unit_test(what_is_no_argument_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
