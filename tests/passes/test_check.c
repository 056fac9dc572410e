/* The checks themselves: a pass that breaks its contract is found out, one that keeps it is not
 * blamed. */
#include "../ir/ir_testing.h"

#include "passes/check.h"
#include "passes/equivalence.h"

static const char kernel[] = "func @k(%x: ptr<f32>, %out: ptr<i32>, %n: i32 {divisible = 16}) {\n"
                             "    %r = range {start = 0} : tile<64xi32>\n"
                             "    %ns = splat %n : tile<64xi32>\n"
                             "    %m = cmpi %r, %ns {pred = slt} : tile<64xi1>\n"
                             "    %c = constant_int {value = 3} : tile<64xi32>\n"
                             "    %v = muli %r, %c : tile<64xi32>\n"
                             "    %os = splat %out : tile<64xptr<i32>>\n"
                             "    %p = addptr %os, %r : tile<64xptr<i32>>\n"
                             "    store %p, %v, %m\n"
                             "    return\n"
                             "}\n";

static Op *find_op(Func *func, OpCode code) {
    block_for_each (op, func->body)
        if (op->code == code)
            return op;
    return NULL;
}

/* Parses the kernel, lets `change` do what a pass would, and gives the messages of the check. */
typedef bool Change(Func *func);

static const char *check_change(Ctx *ctx, Change *change) {
    Func *func = testing_parse_good(ctx, kernel)->funcs;
    PassCheck check = check_begin(func);
    bool changed = change(func);
    bool ok = check_end(&check, func, PASS_simplify, changed);
    assert_int_equal(ok, ctx->diags.errors == 0);
    return testing_messages(ctx);
}

static void expect(Change *change, const char *message) {
    Ctx *ctx = testing_ctx();
    const char *got = check_change(ctx, change);
    if (message ? !strstr(got, message) : *got != '\0')
        fail_msg("wanted '%s', got '%s'", message ? message : "nothing", got);
    ctx_destroy(ctx);
}

static bool do_nothing(Func *func) {
    return false;
}

static bool only_say_so(Func *func) {
    return true;
}

static bool change_silently(Func *func) {
    op_out(find_op(func, OP_muli))->name = ctx_intern(func_ctx(func), STR("product"));
    return false;
}

static bool rename_honestly(Func *func) {
    change_silently(func);
    return true;
}

static bool compute_something_else(Func *func) {
    find_op(func, OP_constant_int)->attrs[0].i = 4;
    return true;
}

static bool leave_the_array(Func *func) {
    Op *store = find_op(func, OP_store);
    op_remove_operand(store, 2);
    find_op(func, OP_range)->attrs[0].i = 1 << 20;
    return true;
}

static bool use_before_definition(Func *func) {
    op_move_before(find_op(func, OP_store), func->body->first);
    return true;
}

static void test_contract(void **state) {
    expect(do_nothing, NULL);
    expect(rename_honestly, NULL);
    expect(only_say_so, "pass 'simplify' said that it changed the IR and did not");
    expect(change_silently, "pass 'simplify' changed the IR and said that it did not");
    expect(compute_something_else, "pass 'simplify' changed what the function computes");
    expect(compute_something_else, "of 'out' differs");
    expect(leave_the_array, "only the function after it fails in the interpreter");
    expect(use_before_definition, "pass 'simplify' left invalid IR");
}

/* What cannot be compared is not called different. */
static void test_incomparable(void **state) {
    Ctx *ctx = testing_ctx();
    const char *text = "func @f(%p: ptr<i32>) {\n    %z = constant_int {value = 0} : i32\n"
                       "    %q = inttoptr %l : ptr<i32>\n    store %q, %z\n    return\n}\n";
    StrBuf full = strbuf(&ctx->arena), why = strbuf(&ctx->arena);
    const char *line = strstr(text, "    %q");
    strbuf_add(&full, text, (size_t)(line - text));
    strbuf_printf(&full, "    %%l = constant_int {value = 8} : i64\n%s", line);
    Func *a = testing_parse_good(ctx, full.ptr)->funcs;
    Func *b = testing_parse_good(ctx, full.ptr)->funcs;
    assert_int_equal(pipeline_equivalent(a, b, 1, &why), INCOMPARABLE);
    ctx_destroy(ctx);
}

/* 256 numbers joined along one axis, then along the other; as f64 if `wide`. */
static Func *parse_sums(Ctx *ctx, int axis, const char *join, bool wide) {
    static const char format[] =
        "func @f(%%x: ptr<f32>, %%y: ptr<%s>) {\n"
        "    %%r = range {start = 0} : tile<256xi32>\n"
        "    %%xs = splat %%x : tile<256xptr<f32>>\n"
        "    %%p = addptr %%xs, %%r : tile<256xptr<f32>>\n    %%v = load %%p : tile<256xf32>\n"
        "    %%w = reshape %%v : tile<16x16xf32>\n"
        "    %%s = reduce %%w {axis = %d} : tile<16xf32> (%%a: f32, %%b: f32) {\n"
        "        %%c = addf %%a, %%b : f32\n        yield %%c\n    }\n"
        "    %%t = reduce %%s {axis = 0} : f32 (%%a: f32, %%b: f32) {\n"
        "        %%c = %s %%a, %%b : f32\n        yield %%c\n    }\n"
        "%s    store %%y, %%%s\n    return\n}\n";
    const char *text = str_format(&ctx->arena, format, wide ? "f64" : "f32", axis, join,
                                  wide ? "    %u = extf %t : f64\n" : "", wide ? "u" : "t");
    return testing_parse_good(ctx, text)->funcs;
}

/* Sums in another order are the same, also where they are widened before they are stored; another
 * sum is not. */
static void test_float_tolerance(void **state) {
    for (int wide = 0; wide < 2; wide++) {
        Ctx *ctx = testing_ctx();
        StrBuf why = strbuf(&ctx->arena);
        Func *rows = parse_sums(ctx, 0, "addf", wide), *columns = parse_sums(ctx, 1, "addf", wide),
             *largest = parse_sums(ctx, 1, "maxf", wide);
        assert_int_equal(pipeline_equivalent(rows, columns, 1, &why), EQUIVALENT);
        assert_int_equal(pipeline_equivalent(rows, largest, 1, &why), DIFFERENT);
        assert_non_null(strstr(why.ptr, "element 0 of 'y' differs: "));
        assert_non_null(strstr(why.ptr, " before, "));
        ctx_destroy(ctx);
    }
}

/* The sign of an infinite number counts unless numbers come near overflow, where the order says it.
 */
static void test_infinite_sums(void **state) {
    static const char format[] = "func @f(%%y: ptr<f32>) {\n"
                                 "    %%i = constant_float {value = %s} : f32\n    store %%y, %%i\n"
                                 "    %%one = constant_int {value = 1} : i32\n"
                                 "    %%p = addptr %%y, %%one : ptr<f32>\n"
                                 "    %%f = constant_float {value = %s} : f32\n"
                                 "    store %%p, %%f\n    return\n}\n";
    static const struct {
        const char *before, *after, *beside;
        Equivalence verdict;
    } cases[] = {
        {"inf", "-inf", "1", DIFFERENT},         {"inf", "1", "1", DIFFERENT},
        {"inf", "nan", "1", EQUIVALENT},         {"inf", "-inf", "3e+38", EQUIVALENT},
        {"-inf", "-3e+38", "3e+38", EQUIVALENT}, {"1", "-3e+38", "3e+38", DIFFERENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Ctx *ctx = testing_ctx();
        StrBuf why = strbuf(&ctx->arena);
        const char *a = str_format(&ctx->arena, format, cases[i].before, cases[i].beside);
        const char *b = str_format(&ctx->arena, format, cases[i].after, cases[i].beside);
        Func *before = testing_parse_good(ctx, a)->funcs,
             *after = testing_parse_good(ctx, b)->funcs;
        assert_int_equal(pipeline_equivalent(before, after, 1, &why), cases[i].verdict);
        ctx_destroy(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contract),
        cmocka_unit_test(test_incomparable),
        cmocka_unit_test(test_float_tolerance),
        cmocka_unit_test(test_infinite_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
