/* Comparison of arrays. */
#include "runtime/data/check.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static HostArray floats(float *data, int64_t n) {
    HostArray array = {.elem = ELEM_F32, .rank = 1, .shape = {n}, .data = data};
    assert_true(host_array_measure(&array));
    return array;
}

static HostArray doubles(double *data, int64_t n) {
    HostArray array = {.elem = ELEM_F64, .rank = 1, .shape = {n}, .data = data};
    assert_true(host_array_measure(&array));
    return array;
}

static size_t mismatches(float found, double expected, double atol, double rtol) {
    HostArray a = floats(&found, 1), b = doubles(&expected, 1);
    return check_compare(&a, &b, (CheckTolerance){atol, rtol}).mismatches;
}

static void test_tolerances(void **state) {
    assert_int_equal(mismatches(1, 1, 0, 0), 0);
    assert_int_equal(mismatches(1, 1.5, 0.5, 0), 0);
    assert_int_equal(mismatches(1, 1.5, 0.49, 0), 1);
    assert_int_equal(mismatches(1, 2, 0, 0.5), 0);
    assert_int_equal(mismatches(2, 1, 0, 0.5), 1); /* relative to what is expected */
    assert_int_equal(mismatches(-1, -2, 0, 0.5), 0);
    assert_int_equal(mismatches(0, 1e-9, 1e-8, 0), 0);
    assert_int_equal(mismatches(-0.0f, 0, 0, 0), 0);
    assert_int_equal(mismatches(1, 1.5, NAN, 0), 1);
}

static void test_what_has_no_distance(void **state) {
    assert_int_equal(mismatches(NAN, NAN, 0, 0), 0);
    assert_int_equal(mismatches(NAN, 1, INFINITY, 0), 1);
    assert_int_equal(mismatches(1, NAN, INFINITY, INFINITY), 1);
    assert_int_equal(mismatches(INFINITY, INFINITY, 0, 0), 0);
    assert_int_equal(mismatches(-INFINITY, INFINITY, INFINITY, INFINITY), 1);
    assert_int_equal(mismatches(INFINITY, 1e300, 0, INFINITY), 1);
    assert_int_equal(mismatches(1, INFINITY, 0, 1), 1);
}

static void test_counts_and_extremes(void **state) {
    float found[5] = {1, 2, 3, 4, NAN};
    double expected[5] = {1, 2.5, 3, 8, NAN};
    HostArray a = floats(found, 5), b = doubles(expected, 5);
    CheckResult r = check_compare(&a, &b, (CheckTolerance){0.1, 0});
    assert_int_equal(r.count, 5);
    assert_int_equal(r.mismatches, 2);
    assert_int_equal(r.first, 1);
    assert_true(r.max_abs == 4 && r.max_rel == 0.5);
}

static void test_integers_are_exact(void **state) {
    uint64_t found[2] = {UINT64_MAX, 1}, expected[2] = {UINT64_MAX - 1, 1};
    HostArray a = {.elem = ELEM_U64, .rank = 1, .shape = {2}, .data = found}, b = a;
    b.data = expected;
    assert_true(host_array_measure(&a) && host_array_measure(&b));
    CheckResult r = check_compare(&a, &b, (CheckTolerance){0, 0});
    assert_int_equal(r.mismatches, 1);
    assert_true(r.max_abs == 1);
    assert_int_equal(check_compare(&a, &b, (CheckTolerance){1, 0}).mismatches, 0);
    /* The same bits, another sign. */
    b.elem = ELEM_I64;
    b.data = found;
    assert_int_equal(check_compare(&a, &b, (CheckTolerance){0, 0}).mismatches, 1);
}

static const char *report(HostArray *a, HostArray *b) {
    static char copy[512];
    Ctx *ctx = ctx_create();
    assert_non_null(ctx);
    ctx->arena.oom = NULL; /* out of memory aborts the test */
    StrBuf out = strbuf(&ctx->arena);
    bool agrees = check_arrays(ctx, "y", a, "y.npy", b, (CheckTolerance){0.25, 0}, NULL);
    diag_print_all(&ctx->diags, &out);
    assert_int_equal(agrees, out.len == 0);
    strncpy(copy, out.ptr ? out.ptr : "", sizeof copy - 1);
    ctx_destroy(ctx);
    return copy;
}

static void test_reports(void **state) {
    float found[6] = {0, 1, 2, 3, 4.5f, 5};
    double expected[6] = {0, 1, 2, 3, 4, 6};
    HostArray a = {.elem = ELEM_F32, .rank = 2, .shape = {2, 3}, .data = found};
    HostArray b = {.elem = ELEM_F64, .rank = 2, .shape = {2, 3}, .data = expected};
    assert_true(host_array_measure(&a) && host_array_measure(&b));
    assert_string_equal(
        report(&a, &b),
        "tilec: error: 'y' differs from 'y.npy' in 2 of 6 elements, first at [1, 1]: "
        "found 4.5, wanted 4; largest difference 1, relative 0.167 (allowed: 0.25 "
        "+ 0 relative)\n");
    b.shape[0] = 3;
    b.shape[1] = 2;
    assert_string_equal(report(&a, &b),
                        "tilec: error: 'y' is fp32[2, 3], wanted fp64[3, 2] of 'y.npy'\n");
    assert_string_equal(report(&a, &a), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tolerances),
        cmocka_unit_test(test_what_has_no_distance),
        cmocka_unit_test(test_counts_and_extremes),
        cmocka_unit_test(test_integers_are_exact),
        cmocka_unit_test(test_reports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
