#include "runtime/data/check.h"

#include <math.h>

CheckTolerance check_default_tolerance(Elem elem) {
    if (!elem_is_float(elem))
        return (CheckTolerance){0, 0};
    /* A few units of the last place, and as much again for values that cancel. */
    double unit = ldexp(1, -elem_info[elem].mantissa - 1);
    double tolerance = elem_info[elem].mantissa >= 23 ? 16 * unit : 4 * unit;
    return (CheckTolerance){tolerance, tolerance};
}

/* The difference as the tolerance sees it: infinite where no tolerance helps, 0 for elements that
 * agree without having one. */
static double difference(double found, double expected) {
    if (isnan(found) || isnan(expected))
        return isnan(found) && isnan(expected) ? 0 : (double)INFINITY;
    if (isinf(found) || isinf(expected))
        return found == expected ? 0 : (double)INFINITY;
    return fabs(found - expected);
}

static double element(const HostArray *array, size_t i) {
    return elem_is_float(array->elem) ? host_array_float(array, i)
                                      : (double)host_array_int(array, i);
}

/* Differences of integers are exact before they become a double. */
static double element_difference(const HostArray *found, const HostArray *expected, size_t i) {
    if (elem_is_float(found->elem) || elem_is_float(expected->elem))
        return difference(element(found, i), element(expected, i));
    __int128 distance = host_array_int(found, i) - host_array_int(expected, i);
    return (double)(distance < 0 ? -distance : distance);
}

CheckResult check_compare(const HostArray *found, const HostArray *expected,
                          CheckTolerance tolerance) {
    CheckResult result = {.count = found->count};
    for (size_t i = 0; i < found->count; i++) {
        double distance = element_difference(found, expected, i);
        double magnitude = fabs(element(expected, i));
        if (isfinite(distance) && isfinite(magnitude)) {
            result.max_abs = fmax(result.max_abs, distance);
            if (magnitude > 0)
                result.max_rel = fmax(result.max_rel, distance / magnitude);
        }
        /* Written so that a tolerance that is NaN admits nothing but equality. */
        bool agrees = distance == 0 || (isfinite(distance) && isfinite(magnitude) &&
                                        distance <= tolerance.atol + tolerance.rtol * magnitude);
        if (!agrees && result.mismatches++ == 0)
            result.first = i;
    }
    return result;
}

static bool same_shape(const HostArray *a, const HostArray *b) {
    bool same = a->rank == b->rank;
    for (int32_t d = 0; same && d < a->rank; d++)
        same = a->shape[d] == b->shape[d];
    return same;
}

static const char *type_text(Ctx *ctx, const HostArray *array) {
    StrBuf out = strbuf(&ctx->arena);
    host_array_print_type(array, &out);
    return out.ptr;
}

static const char *element_text(Ctx *ctx, const HostArray *array, size_t i) {
    StrBuf out = strbuf(&ctx->arena);
    host_array_print_element(array, i, &out);
    return out.ptr;
}

static const char *index_text(Ctx *ctx, const HostArray *array, size_t i) {
    StrBuf out = strbuf(&ctx->arena);
    host_array_print_index(array, i, &out);
    return out.ptr;
}

bool check_arrays(Ctx *ctx, const char *found_name, const HostArray *found,
                  const char *expected_name, const HostArray *expected, CheckTolerance tolerance,
                  CheckResult *result) {
    if (!same_shape(found, expected))
        return ctx_diag(ctx, (Span){0}, check_shape, found_name, type_text(ctx, found),
                        type_text(ctx, expected), expected_name);
    CheckResult r = check_compare(found, expected, tolerance);
    if (result)
        *result = r;
    if (r.mismatches == 0)
        return true;
    return ctx_diag(ctx, (Span){0}, check_values, found_name, expected_name, r.mismatches, r.count,
                    index_text(ctx, found, r.first), element_text(ctx, found, r.first),
                    element_text(ctx, expected, r.first), r.max_abs, r.max_rel, tolerance.atol,
                    tolerance.rtol);
}
