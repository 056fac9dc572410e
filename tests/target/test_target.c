/* Rows of targets by name and by device, and what targets have. */
#include "target/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_names(void **state) {
    assert_int_equal(target_by_name(STR("sm_90a"))->capability, 90);
    assert_ptr_equal(target_by_name(STR("sm_90")), target_by_name(STR("sm_90a")));
    assert_null(target_by_name(STR("sm_9")));
    assert_null(target_by_name(STR("")));
    for (int i = 0; i < target_count; i++)
        assert_ptr_equal(target_by_name(str_from(target_table[i].name)), &target_table[i]);
}

static void test_devices(void **state) {
    static const struct {
        int device;
        const char *target; /* NULL: none runs there */
    } cases[] = {
        {75, NULL},       {80, "sm_80"},    {86, "sm_86"}, {89, "sm_89"}, {90, "sm_90a"},
        {100, "sm_100a"}, {120, "sm_120a"}, {87, "sm_87"}, {88, "sm_87"}, {103, "sm_103a"},
        {121, "sm_121a"}, {101, NULL},      {110, NULL},   {129, NULL},
        /* code of architectures with suffix a runs on theirs alone */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Target *target = target_by_capability(cases[i].device);
        if (!cases[i].target)
            assert_null(target);
        else
            assert_string_equal(target->name, cases[i].target);
    }
}

static void test_features(void **state) {
    static const struct {
        TargetFeature feature;
        int first, last; /* of the capabilities of the table */
    } cases[] = {{FEATURE_F8_CONVERSIONS, 89, 121},
                 {FEATURE_TENSOR_COPIES, 90, 121},
                 {FEATURE_STMATRIX, 90, 121},
                 {FEATURE_BF16_ATOMICS, 90, 121},
                 {FEATURE_VECTOR_ATOMICS, 90, 121},
                 {FEATURE_BF16_OF_INTEGERS, 90, 121},
                 {FEATURE_WGMMA, 90, 90}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(target_first_with(cases[i].feature), cases[i].first);
        for (int k = 0; k < target_count; k++) {
            int capability = target_table[k].capability;
            assert_int_equal(target_has(capability, cases[i].feature),
                             capability >= cases[i].first && capability <= cases[i].last);
        }
    }
}

/* What nine warps may have is what twelve may; no more would fit, and one register less is less. */
static void test_registers(void **state) {
    assert_int_equal(target_registers_for(8), TARGET_MAX_REGISTERS);
    assert_int_equal(target_registers_for(9), 168);
    assert_int_equal(target_registers_for(12), 168);
    assert_int_equal(target_registers_for(16), 128);
    for (int32_t warps = 1; warps <= 64; warps++) {
        int32_t most = target_registers_for(warps);
        assert_true(target_warps_for(most) >= warps);
        if (most < TARGET_MAX_REGISTERS)
            assert_true(target_warps_for(most + 1) < warps);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_features),
        cmocka_unit_test(test_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
