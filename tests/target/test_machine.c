/* The table of the machine is whole: every figure of every capability, and a device of each. */
#include "target/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_complete(void **state) {
    for (int f = 0; f < FIGURE_COUNT; f++) {
        assert_true(figure_info[f].name[0] && figure_info[f].what[0] && figure_info[f].sources[0]);
        for (const char *source = figure_info[f].sources; *source; source++)
            assert_non_null(strchr("GWVATHME", *source));
        for (int t = 0; t < target_count; t++)
            if (target_figure(&target_table[t], (Figure)f) <= 0)
                fail_msg("%s has no %s", target_table[t].name, figure_info[f].name);
    }
}

static void test_devices(void **state) {
    for (int t = 0; t < target_count; t++) {
        const TargetDevice *device = target_device(&target_table[t]);
        assert_non_null(device);
        assert_int_equal(device->capability, target_table[t].capability);
        assert_true(device->sms > 0 && device->mhz > 0 && device->l2_bytes > 0);
        assert_true(device->dram_gbs > 0);
        assert_ptr_equal(target_device_by_name(str_from(device->name)), device);
    }
    assert_int_equal(target_device_by_name(STR("H200"))->sms, 132);
    assert_null(target_device_by_name(STR("H201")));
}

/* Columns are those of the targets: a figure that only one family has tells whether they are. */
static void test_columns(void **state) {
    assert_int_equal(target_figure(target_by_name(STR("sm_80")), FIGURE_RATE_FLOAT), 64);
    assert_int_equal(target_figure(target_by_name(STR("sm_90a")), FIGURE_TENSOR_F16), 2048);
    assert_int_equal(target_figure(target_by_name(STR("sm_103a")), FIGURE_RATE_DOUBLE), 2);
    assert_int_equal(target_figure(target_by_name(STR("sm_121a")), FIGURE_RATE_INTEGER), 128);
}

/* What is further away takes longer. */
static void test_order(void **state) {
    static const Figure further[] = {FIGURE_LATENCY_ALU, FIGURE_LATENCY_SHARED, FIGURE_LATENCY_L1,
                                     FIGURE_LATENCY_L2, FIGURE_LATENCY_GLOBAL};
    for (int t = 0; t < target_count; t++)
        for (size_t i = 1; i < sizeof further / sizeof *further; i++)
            assert_true(target_figure(&target_table[t], further[i - 1]) <
                        target_figure(&target_table[t], further[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
