/* The checks themselves: a pass that breaks its contract is found out, one that keeps it is not
 * blamed. */
#include "../../ir/ir_testing.h"

#include "passes/contract/check.h"
#include "passes/contract/equivalence.h"

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

static const char *check_change_as(Ctx *ctx, const char *text, Change *change, PassId pass,
                                   PropertySet had, PassContract *contract) {
    Func *func = testing_parse_good(ctx, text)->funcs;
    PassCheck check = check_begin(func, had, NULL);
    bool changed = change(func);
    bool ok = check_end(&check, func, pass, changed, contract);
    assert_int_equal(ok, ctx->diags.errors == 0);
    assert_int_equal(contract->runs, 1);
    assert_int_equal(contract->changed, changed);
    return testing_messages(ctx);
}

static const char *check_change(Ctx *ctx, const char *text, Change *change,
                                PassContract *contract) {
    return check_change_as(ctx, text, change, PASS_simplify, NOTHING, contract);
}

static void expect(Change *change, const char *message) {
    Ctx *ctx = testing_ctx();
    PassContract contract = {0};
    const char *got = check_change(ctx, kernel, change, &contract);
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
    constant_int_attrs(find_op(func, OP_constant_int))->value = 4;
    return true;
}

static bool leave_the_array(Func *func) {
    Op *store = find_op(func, OP_store);
    op_remove_operand(store, 2);
    range_attrs(find_op(func, OP_range))->start = 1 << 20;
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

static void expect_property(Change *change, PassId pass, PropertySet had, const char *message) {
    Ctx *ctx = testing_ctx();
    PassContract contract = {0};
    const char *got = check_change_as(ctx, kernel, change, pass, had, &contract);
    if (message ? !strstr(got, message) : *got != '\0')
        fail_msg("wanted '%s', got '%s'", message ? message : "nothing", got);
    ctx_destroy(ctx);
}

static bool turn_round(Func *func) {
    func->last_first = 1;
    return true;
}

/* What a pass ensures is there behind it, and what was there stays, unless it clears it. */
static void test_properties(void **state) {
    PropertySet had = PROGRAMS_IN_ORDER;
    expect_property(do_nothing, PASS_choose_warps, NOTHING,
                    "pass 'choose-warps' did not give what it ensures");
    expect_property(do_nothing, PASS_choose_warps, NOTHING,
                    "WARPS_CHOSEN is missing: num_warps is given");
    expect_property(do_nothing, PASS_simplify, had, NULL);
    expect_property(turn_round, PASS_simplify, had, "pass 'simplify' broke what others ensured");
    expect_property(turn_round, PASS_simplify, had, "PROGRAMS_IN_ORDER is missing");
    expect_property(turn_round, PASS_simplify, NOTHING, NULL);
    expect_property(turn_round, PASS_order_programs, had, NULL);
}

/* Goes through the pipeline but for one step by what the tables say; counts the passes, and
 * codegen, that are short of something. */
static void follow(const Func *func, unsigned left_out, unsigned *short_of) {
    PropertySet has = (PropertySet)PIPELINE_TAKES;
    for (unsigned i = 0; i < PIPELINE_STEPS; i++) {
        const PipelineStep *step = &pipeline_steps[i];
        if (i == left_out || !pipeline_step_runs(func, step->condition))
            continue;
        *short_of += (pass_info[step->pass].requires & ~has) != 0;
        has = pass_leaves(step->pass, has);
    }
    *short_of += (PIPELINE_GIVES & ~has) != 0;
}

/* Each step finds what it requires, with and without tensor copies. Without a step that ensures
 * something some other is short of it. */
static void test_order(void **state) {
    static const int32_t capabilities[] = {80, 90};
    for (int c = 0; c < 2; c++) {
        Func func = {.capability = capabilities[c]};
        unsigned short_of = 0;
        follow(&func, PIPELINE_STEPS, &short_of);
        assert_int_equal(short_of, 0);
        for (unsigned i = 0; i < PIPELINE_STEPS; i++) {
            bool needed = pass_info[pipeline_steps[i].pass].ensures != NOTHING;
            short_of = 0;
            follow(&func, i, &short_of);
            assert_int_equal(short_of > 0, needed);
        }
    }
}

/* Every property is required by a pass, or by codegen, and given by one or by the elaborator. */
static void test_no_idle_property(void **state) {
    unsigned required = PIPELINE_GIVES, given = PIPELINE_TAKES;
    for (int i = 0; i < PASS_COUNT; i++) {
        required |= pass_info[i].requires;
        given |= pass_info[i].ensures;
        assert_int_equal(pass_info[i].ensures & pass_info[i].clears, 0);
    }
    assert_int_equal(required, (1u << PROPERTY_COUNT) - 1);
    assert_int_equal(given, (1u << PROPERTY_COUNT) - 1);
}

/* A loop of `trips` over a tile of 64 x 1024, of which what `offset` moves is stored to `array`. */
static const char *loop_text(Ctx *ctx, int64_t trips, const char *array, int64_t offset) {
    static const char format[] =
        "func @f(%%y: ptr<i32>) {\n"
        "    %%lo = constant_int {value = 0} : i32\n    %%hi = constant_int {value = %lld} : i32\n"
        "    %%one = constant_int {value = 1} : i32\n"
        "    %%l = constant_int {value = %lld} : i64\n    %%q = inttoptr %%l : ptr<i32>\n"
        "    %%c = constant_int {value = 3} : tile<64x1024xi32>\n"
        "    %%s = for %%lo, %%hi, %%one, %%c : tile<64x1024xi32> (%%i: i32, %%a: "
        "tile<64x1024xi32>) {\n"
        "        %%b = addi %%a, %%c : tile<64x1024xi32>\n        yield %%b\n    }\n"
        "    %%t = reduce %%s {axis = 1} : tile<64xi32> (%%a: i32, %%b: i32) {\n"
        "        %%c2 = addi %%a, %%b : i32\n        yield %%c2\n    }\n"
        "    %%u = reduce %%t {axis = 0} : i32 (%%a: i32, %%b: i32) {\n"
        "        %%c3 = addi %%a, %%b : i32\n        yield %%c3\n    }\n"
        "    store %%%s, %%u\n    return\n}\n";
    return str_format(&ctx->arena, format, (long long)trips, (long long)offset, array);
}

static bool add_something_else(Func *func) {
    Op *constant = NULL;
    block_for_each (op, func->body)
        if (op->code == OP_constant_int && type_numel(op->out[0].type) > 1)
            constant = op;
    constant_int_attrs(constant)->value = 4;
    return true;
}

static bool rename_tile(Func *func) {
    op_out(find_op(func, OP_for))->name = ctx_intern(func_ctx(func), STR("total"));
    return true;
}

/* What a change of the function counts as. */
static void expect_verdict(const char *text_of(Ctx *), Change *change, Equivalence verdict) {
    Ctx *ctx = testing_ctx();
    PassContract contract = {0};
    const char *got = check_change(ctx, text_of(ctx), change, &contract);
    for (int i = 0; i < EQUIVALENCE_COUNT; i++)
        if (contract.verdicts[i] != (i == (int)verdict))
            fail_msg("wanted verdict %d, verdict %d counted %u times; '%s'", (int)verdict, i,
                     contract.verdicts[i], got);
    bool answered = verdict == EQUIVALENT || verdict == DIFFERENT;
    assert_int_equal(contract.values > 0, verdict == EQUIVALENT);
    assert_true(contract.lists > 0 || !answered || verdict == DIFFERENT);
    assert_int_equal(*got != '\0', verdict == DIFFERENT);
    ctx_destroy(ctx);
}

static const char *large(Ctx *ctx) {
    return loop_text(ctx, 8, "y", 0);
}

/* On several programs too long, on one not. */
static const char *long_for_several(Ctx *ctx) {
    return loop_text(ctx, 100, "y", 0);
}

static const char *too_long(Ctx *ctx) {
    return loop_text(ctx, 1 << 20, "y", 0);
}

static const char *outside(Ctx *ctx) {
    return loop_text(ctx, 2, "q", 8);
}

static const char *says_nothing(Ctx *ctx) {
    return "func @f(%y: ptr<i32>) {\n    %l = constant_int {value = 0} : i32\n"
           "    %h = constant_int {value = 2} : i32\n    %o = constant_int {value = 1} : i32\n"
           "    %s = for %l, %h, %o, %o : i32 (%i: i32, %a: i32) {\n        yield %a\n    }\n"
           "    return\n}\n";
}

/* Every comparison is counted, and what could not be compared is counted by why. */
static void test_verdicts(void **state) {
    expect_verdict(large, rename_tile, EQUIVALENT);
    expect_verdict(large, add_something_else, DIFFERENT);
    expect_verdict(long_for_several, rename_tile, EQUIVALENT);
    expect_verdict(long_for_several, add_something_else, DIFFERENT);
    expect_verdict(too_long, rename_tile, TOO_LONG);
    expect_verdict(too_long, add_something_else, TOO_LONG);
    expect_verdict(outside, rename_tile, GOES_WRONG);
    expect_verdict(outside, add_something_else, GOES_WRONG);
    expect_verdict(says_nothing, rename_tile, STORES_NOTHING);
}

/* The tables name a pass that ran, and none that did not. */
static void test_report(void **state) {
    Ctx *ctx = testing_ctx();
    PassContract contracts[PASS_COUNT] = {0};
    check_change(ctx, large(ctx), rename_tile, &contracts[PASS_simplify]);
    StrBuf table = strbuf(&ctx->arena), json = strbuf(&ctx->arena);
    contracts_print(contracts, &table);
    contracts_json(contracts, &json);
    assert_non_null(strstr(table.ptr, "simplify            1       1"));
    assert_null(strstr(table.ptr, "licm"));
    assert_ptr_equal(strstr(json.ptr, "[{\"pass\": \"simplify\", \"runs\": 1, \"changed\": 1, "),
                     json.ptr);
    assert_non_null(strstr(json.ptr, "\"equivalent\": 1, \"different\": 0, \"too long\": 0, "));
    assert_null(strstr(json.ptr, "licm"));
    ctx_destroy(ctx);
}

static Equivalence compare(Ctx *ctx, Func *before, Func *after, uint64_t seed, const char **why) {
    Comparison comparison = {.why = strbuf(&ctx->arena)};
    pipeline_compare(before, after, seed, &comparison);
    if (why)
        *why = str_dup(&ctx->arena, strbuf_str(&comparison.why));
    return comparison.verdict;
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
        const char *why;
        Func *rows = parse_sums(ctx, 0, "addf", wide), *columns = parse_sums(ctx, 1, "addf", wide),
             *largest = parse_sums(ctx, 1, "maxf", wide);
        assert_int_equal(compare(ctx, rows, columns, 1, NULL), EQUIVALENT);
        assert_int_equal(compare(ctx, rows, largest, 1, &why), DIFFERENT);
        assert_non_null(strstr(why, "element 0 of 'y' differs: "));
        assert_non_null(strstr(why, " before, "));
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
            const char *why = "";
            const char *stored = cases[i].stored, *e = elements[k];
            Func *whole = parse_steps(ctx, false, e, cases[i].step, stored);
            Func *halves = parse_steps(ctx, true, e, cases[i].step, stored);
            Func *changed = parse_steps(ctx, true, e, cases[i].changed, stored);
            for (uint64_t seed = 1; seed < 9; seed++) {
                if (compare(ctx, whole, halves, seed, &why) != EQUIVALENT)
                    fail_msg("case %zu of %s, seed %d: %s", i, e, (int)seed, why);
                if (compare(ctx, whole, changed, seed, &why) != DIFFERENT)
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
        const char *a = str_format(&ctx->arena, format, cases[i].before, cases[i].beside);
        const char *b = str_format(&ctx->arena, format, cases[i].after, cases[i].beside);
        Func *before = testing_parse_good(ctx, a)->funcs,
             *after = testing_parse_good(ctx, b)->funcs;
        assert_int_equal(compare(ctx, before, after, 1, NULL), cases[i].verdict);
        ctx_destroy(ctx);
    }
}

static bool rename_again(Func *func) {
    op_out(find_op(func, OP_muli))->name = ctx_intern(func_ctx(func), STR("tripled"));
    return true;
}

static bool compute_as_before(Func *func) {
    constant_int_attrs(find_op(func, OP_constant_int))->value = 3;
    return true;
}

/* One pass after the other on one function, with what is kept of runs; the messages of the last. */
static const char *check_in_turn(Ctx *ctx, Func *func, Change *change, KeptRuns *kept,
                                 PassContract *contract) {
    PassCheck check = check_begin(func, NOTHING, kept);
    bool changed = change(func);
    check_end(&check, func, PASS_simplify, changed, contract);
    return testing_messages(ctx);
}

/* What is kept of the runs of a function stands for them where a pass has it as another left it,
 * and counts as they do; where it was changed between passes it stands for nothing. */
static void test_kept_runs(void **state) {
    Ctx *ctx = testing_ctx();
    Func *func = testing_parse_good(ctx, kernel)->funcs;
    KeptRuns kept = {0};
    PassContract first = {0}, second = {0}, others = {0};
    assert_string_equal(check_in_turn(ctx, func, rename_honestly, &kept, &first), "");
    assert_true(kept.runs.runs[0][0].known);
    assert_string_equal(check_in_turn(ctx, func, do_nothing, &kept, &others), "");
    assert_string_equal(check_in_turn(ctx, func, rename_again, &kept, &second), "");
    assert_int_equal(second.values, first.values);
    assert_int_equal(second.lists, first.lists);
    compute_something_else(func);
    assert_string_equal(check_in_turn(ctx, func, rename_honestly, &kept, &others), "");
    assert_non_null(strstr(check_in_turn(ctx, func, compute_as_before, &kept, &others),
                           "changed what the function computes"));
    ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contract),        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_order),           cmocka_unit_test(test_no_idle_property),
        cmocka_unit_test(test_verdicts),        cmocka_unit_test(test_report),
        cmocka_unit_test(test_float_tolerance), cmocka_unit_test(test_infinite_sums),
        cmocka_unit_test(test_steps_of_sums),   cmocka_unit_test(test_kept_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
