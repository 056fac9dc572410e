/* Grid expressions: values as Python computes them, and what is refused. */
#include "runtime/data/grid.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const GridName names[] = {{STR("n"), 1000}, {STR("BLOCK"), 128}, {STR("minus"), -7}};

static bool run(Ctx *ctx, const char *text, uint32_t grid[3]) {
    return grid_evaluate(ctx, str_from(text), names, sizeof names / sizeof *names, grid);
}

static void values(void **state) {
    static const struct {
        const char *text;
        uint32_t grid[3];
    } cases[] = {
        {"5", {5, 1, 1}},
        {"cdiv(n, BLOCK)", {8, 1, 1}},
        {"(cdiv(n, BLOCK), 2)", {8, 2, 1}},
        {"(1, 2, 3)", {1, 2, 3}},
        {"[4]", {4, 1, 1}},
        {"(7,)", {7, 1, 1}},
        {"triton.cdiv(n + 1, 1000)", {2, 1, 1}},
        {"-minus // 2", {3, 1, 1}},
        {"-(minus // 2)", {4, 1, 1}},
        {"minus % 5", {3, 1, 1}},
        {"0 - cdiv(minus, 2)", {3, 1, 1}},
        {"2 ** 10 - 1", {1023, 1, 1}},
        {"int(1.5 // 1e-5)", {149999, 1, 1}},
        {"int(7.5 % -2.0 + 5)", {4, 1, 1}},
        {"(-1) ** 4", {1, 1, 1}},
        {"min(n, 3) * max(2, BLOCK)", {384, 1, 1}},
        {"next_power_of_2(n)", {1024, 1, 1}},
        {"next_power_of_2(1024)", {1024, 1, 1}},
        {"2147483647", {2147483647, 1, 1}},
        {"(0, 65535, 65535)", {0, 65535, 65535}},
        {"abs(minus)", {7, 1, 1}},
        {"int(n / 3)", {333, 1, 1}},
        {"(n if BLOCK > 64 and n % 8 == 0 else 1, 3 if BLOCK in (64, 256) else 4)", {1000, 4, 1}},
        {"1 << 4 | 1", {17, 1, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Ctx *ctx = ctx_create();
        uint32_t grid[3];
        if (!run(ctx, cases[i].text, grid))
            fail_msg("%s: %s", cases[i].text, ctx->diags.first->text);
        for (int axis = 0; axis < 3; axis++)
            if (grid[axis] != cases[i].grid[axis])
                fail_msg("%s: axis %d is %u", cases[i].text, axis, grid[axis]);
        ctx_destroy(ctx);
    }
}

static void refusals(void **state) {
    static const struct {
        const char *text;
        DiagId id;
    } cases[] = {
        {"m", DIAG_host_name},
        {"n / 2", DIAG_grid_integer},
        {"n // 0", DIAG_host_zero_division},
        {"n % 0", DIAG_host_zero_division},
        {"cdiv(n, 0)", DIAG_host_zero_division},
        {"cdiv(n)", DIAG_host_arguments},
        {"cdiv(n, b=2)", DIAG_host_arguments},
        {"len(n)", DIAG_host_unsupported},
        {"n.shape", DIAG_host_unsupported},
        {"names['n']", DIAG_host_unsupported},
        {"n + None", DIAG_host_types},
        {"n << minus", DIAG_host_not_positive},
        {"1.5", DIAG_grid_integer},
        {"'x'", DIAG_grid_integer},
        {"9223372036854775807 + 1", DIAG_host_overflow},
        {"9223372036854775808", DIAG_host_overflow},
        {"10 ** 30", DIAG_host_overflow},
        {"2 ** -1", DIAG_grid_integer},
        {"-1", DIAG_grid_range},
        {"2147483648", DIAG_grid_range},
        {"(1, 65536)", DIAG_grid_range},
        {"(1, 2, 3, 4)", DIAG_grid_rank},
        {"()", DIAG_grid_rank},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Ctx *ctx = ctx_create();
        uint32_t grid[3];
        assert_false(run(ctx, cases[i].text, grid));
        assert_int_equal(ctx->diags.errors, 1);
        if (ctx->diags.first->id != cases[i].id)
            fail_msg("%s: %s", cases[i].text, ctx->diags.first->text);
        ctx_destroy(ctx);
    }
}

static void syntax_errors_are_reported(void **state) {
    Ctx *ctx = ctx_create();
    uint32_t grid[3];
    assert_false(run(ctx, "cdiv(n,", grid));
    assert_true(ctx->diags.errors > 0);
    ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(refusals),
        cmocka_unit_test(syntax_errors_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
