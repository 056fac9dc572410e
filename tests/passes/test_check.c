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

/* 256 sums of 64 products each, along K or along half of it and then the other, and of each what
 * `step` makes of the sum %s, an element of type `stored`. */
static Func *parse_steps(Ctx *ctx, bool halves, const char *element, const char *step,
                         const char *stored) {
    static const char format[] =
        "func @f(%%x: ptr<%s>, %%y: ptr<%s>, %%z: ptr<%s>) {\n"
        "    %%r = range {start = 0} : tile<1024xi32>\n"
        "    %%xs = splat %%x : tile<1024xptr<%s>>\n"
        "    %%px = addptr %%xs, %%r : tile<1024xptr<%s>>\n"
        "    %%x0 = load %%px : tile<1024x%s>\n    %%x1 = reshape %%x0 : tile<16x64x%s>\n"
        "    %%ys = splat %%y : tile<1024xptr<%s>>\n"
        "    %%py = addptr %%ys, %%r : tile<1024xptr<%s>>\n"
        "    %%y0 = load %%py : tile<1024x%s>\n    %%y1 = reshape %%y0 : tile<64x16x%s>\n"
        "    %%zero = constant_float {value = 0} : tile<16x16xf32>\n%s%s"
        "    %%o = range {start = 0} : tile<256xi32>\n    %%zs = splat %%z : tile<256xptr<%s>>\n"
        "    %%pz = addptr %%zs, %%o : tile<256xptr<%s>>\n    %%flat = reshape %%t : tile<256x%s>\n"
        "    store %%pz, %%flat\n    return\n}\n";
    static const char whole[] = "    %%s = dot %%x1, %%y1, %%zero : tile<16x16xf32>\n";
    static const char parts[] = "    %%xa = slice %%x1 {at = 0} : tile<16x32x%s>\n"
                                "    %%ya = slice %%y1 {at = 0} : tile<32x16x%s>\n"
                                "    %%xb = slice %%x1 {at = 32} : tile<16x32x%s>\n"
                                "    %%yb = slice %%y1 {at = 512} : tile<32x16x%s>\n"
                                "    %%sb = dot %%xb, %%yb, %%zero : tile<16x16xf32>\n"
                                "    %%s = dot %%xa, %%ya, %%sb : tile<16x16xf32>\n";
    const char *sums = halves ? str_format(&ctx->arena, parts, element, element, element, element)
                              : str_format(&ctx->arena, whole);
    const char *e = element;
    return testing_parse_good(ctx, str_format(&ctx->arena, format, e, e, stored, e, e, e, e, e, e,
                                              e, e, sums, step, stored, stored, stored))
        ->funcs;
}

/* What is a step of a sum may be another step of the sum in another order; another step, another
 * factor, another rounding of all sums or a constant in their place is not the same. */
static void test_steps_of_sums(void **state) {
    static const struct {
        const char *stored, *step, *changed;
    } cases[] = {
        {"i32",
         "    %c = constant_float {value = 1000} : tile<16x16xf32>\n"
         "    %m = mulf %s, %c : tile<16x16xf32>\n    %t = ftosi %m : tile<16x16xi32>\n",
         "    %c = constant_float {value = 1250} : tile<16x16xf32>\n"
         "    %m = mulf %s, %c : tile<16x16xf32>\n    %t = ftosi %m : tile<16x16xi32>\n"},
        {"i32", "    %t = ftosi %s : tile<16x16xi32>\n",
         "    %f = floor %s : tile<16x16xf32>\n    %t = ftosi %f : tile<16x16xi32>\n"},
        {"f32", "    %t = floor %s : tile<16x16xf32>\n", "    %t = ceil %s : tile<16x16xf32>\n"},
        {"i8",
         "    %c = constant_float {value = 0} : tile<16x16xf32>\n"
         "    %g = cmpf %s, %c {pred = ogt} : tile<16x16xi1>\n"
         "    %t = extui %g : tile<16x16xi8>\n",
         "    %c = constant_float {value = 1} : tile<16x16xf32>\n"
         "    %g = cmpf %s, %c {pred = ogt} : tile<16x16xi1>\n"
         "    %t = extui %g : tile<16x16xi8>\n"},
        {"i32",
         "    %b = truncf %s : tile<16x16xbf16>\n    %w = extf %b : tile<16x16xf32>\n"
         "    %c = constant_float {value = 8} : tile<16x16xf32>\n"
         "    %m = mulf %w, %c : tile<16x16xf32>\n    %t = ftosi %m : tile<16x16xi32>\n",
         "    %t = constant_int {value = 1} : tile<16x16xi32>\n"},
    };
    static const char *const elements[] = {"f16", "bf16", "f32"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t k = 0; k < sizeof elements / sizeof elements[0]; k++) {
            Ctx *ctx = testing_ctx();
            StrBuf why = strbuf(&ctx->arena);
            const char *stored = cases[i].stored, *e = elements[k];
            Func *whole = parse_steps(ctx, false, e, cases[i].step, stored);
            Func *halves = parse_steps(ctx, true, e, cases[i].step, stored);
            Func *changed = parse_steps(ctx, true, e, cases[i].changed, stored);
            for (uint64_t seed = 1; seed < 9; seed++) {
                if (pipeline_equivalent(whole, halves, seed, &why) != EQUIVALENT)
                    fail_msg("case %zu of %s, seed %d: %s", i, e, (int)seed, why.ptr);
                if (pipeline_equivalent(whole, changed, seed, &why) != DIFFERENT)
                    fail_msg("case %zu of %s, seed %d: the change was not seen", i, e, (int)seed);
            }
            ctx_destroy(ctx);
        }
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
        cmocka_unit_test(test_contract),        cmocka_unit_test(test_incomparable),
        cmocka_unit_test(test_float_tolerance), cmocka_unit_test(test_infinite_sums),
        cmocka_unit_test(test_steps_of_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
