/* Does an array hold what was expected? An element found agrees with the one expected if they are
 * equal or
 *
 *     |found - expected| <= atol + rtol * |expected|
 *
 * NaN agrees with NaN alone and an infinity with itself alone. Integers are compared exactly,
 * floats in double, so that a float64 reference serves results of any type. */
#ifndef TILEC_RUNTIME_DATA_CHECK_H
#define TILEC_RUNTIME_DATA_CHECK_H
#include "runtime/data/host_array.h"

typedef struct CheckTolerance {
    double atol, rtol;
} CheckTolerance;

typedef struct CheckResult {
    size_t count, mismatches;
    size_t first; /* index of the first mismatch */
    /* The largest over all pairs of finite elements, whether they agree or not; relative to the
     * expected element, where that is not 0. */
    double max_abs, max_rel;
} CheckResult;

/* What results of this type can be held to after sums of some length: integers exactly. */
CheckTolerance check_default_tolerance(Elem elem);

/* Equal shapes are the caller's to ensure. */
CheckResult check_compare(const HostArray *found, const HostArray *expected,
                          CheckTolerance tolerance);

/* Compares and reports: false if shapes or values differ. The names are those of the message;
 * `result` may be NULL and is not set when the shapes differ. */
bool check_arrays(Ctx *ctx, const char *found_name, const HostArray *found,
                  const char *expected_name, const HostArray *expected, CheckTolerance tolerance,
                  CheckResult *result);
#endif
