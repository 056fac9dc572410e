/* Text of Tile IR: every op of the table goes through printer and parser; special values are exact;
 * malformed text is reported where it is wrong. */
#include "ir_testing.h"

#include "ir/text.h"

/* Round trips */

static char *read_file(Ctx *ctx, const char *name) {
    char *path = str_format(&ctx->arena, "%s/tests/ir/Inputs/%s", TILEC_SOURCE_DIR, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    StrBuf text = strbuf(&ctx->arena);
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;)
        strbuf_add(&text, block, n);
    fclose(file);
    return text.ptr;
}

static bool mark_code(Op *op, void *user) {
    ((bool *)user)[op->code] = true;
    return true;
}

/* The file was written by hand: its text is what the printer must give. */
static void test_every_op(void **state) {
    Ctx *ctx = testing_ctx();
    const char *text = read_file(ctx, "all_ops.tir");
    Module *module = testing_parse_good(ctx, text);
    assert_string_equal(testing_print(module), text);
    bool covered[OP_COUNT] = {0};
    for (Func *func = module->funcs; func; func = func->next)
        func_walk(func, mark_code, covered);
    for (int i = 0; i < OP_COUNT; i++)
        if (!covered[i])
            fail_msg("tests/ir/Inputs/all_ops.tir has no '%s'", op_info[i].name);
    ctx_destroy(ctx);
}

static bool compare_spans(Op *op, void *user) {
    const Span **next = user;
    assert_int_equal(op->span.file, (*next)->file);
    assert_int_equal(op->span.lo, (*next)->lo);
    assert_int_equal(op->span.hi, (*next)->hi);
    ++*next;
    return true;
}

typedef struct OpSpans {
    Arena *arena;
    VEC(Span) spans;
} OpSpans;

static bool collect_span(Op *op, void *user) {
    OpSpans *list = user;
    vec_push(list->arena, &list->spans, op->span);
    return true;
}

static void test_spans(void **state) {
    Ctx *ctx = testing_ctx();
    Module *module = testing_parse_good(ctx, read_file(ctx, "all_ops.tir"));
    OpSpans list = {.arena = &ctx->arena};
    func_walk(module->funcs, collect_span, &list);
    StrBuf out = strbuf(&ctx->arena);
    module_print(module, &(PrintOptions){.spans = true}, &out);
    uint32_t file = source_add(&ctx->sources, STR("printed.tir"), strbuf_str(&out));
    Module *again = module_parse(ctx, file);
    assert_non_null(again);
    const Span *next = list.spans.data;
    func_walk(again->funcs, compare_spans, &next);
    assert_ptr_equal(next, list.spans.data + list.spans.len);
    ctx_destroy(ctx);
    /* Without the file the places are those of the text itself. */
    ctx = testing_ctx();
    module = testing_parse_good(ctx, "func @f() {\n    barrier loc(\"gone.tile\":3:4 to 3:9)\n"
                                     "    return\n}\n");
    assert_int_equal(module->funcs->body->first->span.file, 1);
    ctx_destroy(ctx);
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void test_floats_are_exact(void **state) {
    static const uint64_t patterns[] = {0,
                                        UINT64_C(0x8000000000000000),
                                        1,
                                        UINT64_C(0x000fffffffffffff),
                                        UINT64_C(0x0010000000000000),
                                        UINT64_C(0x7fefffffffffffff),
                                        UINT64_C(0x7ff0000000000000),
                                        UINT64_C(0xfff0000000000000),
                                        UINT64_C(0x7ff8000000000000),
                                        UINT64_C(0xfff8000000000000),
                                        UINT64_C(0x7ff0000000000001),
                                        UINT64_C(0x7fffffffffffffff),
                                        UINT64_C(0x3ff0000000000000),
                                        UINT64_C(0x3fb999999999999a),
                                        UINT64_C(0xc005bf0a8b145769)};
    Ctx *ctx = testing_ctx();
    uint64_t random = 1;
    for (size_t i = 0; i < 300; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        size_t fixed = sizeof patterns / sizeof *patterns;
        uint64_t bits = i < fixed ? patterns[i] : random;
        double value;
        memcpy(&value, &bits, sizeof value);
        Module *module = module_create(ctx);
        Func *func = func_create(module, STR("f"), 0, NULL, NULL);
        Builder b = builder_at_end(func->body);
        build_constant_float(&b, value, type_scalar(ctx, DT_F64));
        build_return(&b);
        Module *again = testing_parse_good(ctx, testing_print(module));
        assert_true(bits_of(constant_float_attrs(again->funcs->body->first)->value) == bits);
    }
    ctx_destroy(ctx);
}

static void test_float_spellings(void **state) {
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"1", 1},           {"-2", -2},       {"1.5", 1.5},    {"1e3", 1000},
                 {"-2.5e-1", -0.25}, {"0x1p-2", 0.25}, {"0.1", 0.1},    {"5.", 5},
                 {"0xap0", 10},      {"1e-400", 0},    {"1E+2", 100.0}, {"0x1.8p1", 3}};
    Ctx *ctx = testing_ctx();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = str_format(
            &ctx->arena, "func @f() {\n%%x = constant_float {value = %s} : f64\nreturn\n}",
            cases[i].text);
        Module *module = testing_parse_good(ctx, text);
        assert_true(constant_float_attrs(module->funcs->body->first)->value == cases[i].value);
    }
    ctx_destroy(ctx);
}

static void test_integers_wrap_to_their_type(void **state) {
    Ctx *ctx = testing_ctx();
    Module *module = testing_parse_good(ctx, "func @f() {\n"
                                             "    %a = constant_int {value = 255} : i8\n"
                                             "    %b = constant_int {value = -1} : i1\n"
                                             "    %c = constant_int {value = 0xffff8000} : i32\n"
                                             "    %d = constant_int {value = 65536} : i16\n"
                                             "    return\n}\n");
    static const int64_t wanted[] = {-1, 1, -32768, 0};
    const int64_t *next = wanted;
    block_for_each (op, module->funcs->body) {
        if (op->code == OP_constant_int)
            assert_int_equal(constant_int_attrs(op)->value, *next++);
    }
    ctx_destroy(ctx);
}

static void test_names_become_unique(void **state) {
    Ctx *ctx = testing_ctx();
    Module *module = module_create(ctx);
    Func *func = func_create(module, STR("f"), 0, NULL, NULL);
    Builder b = builder_at_end(func->body);
    static const char *const hints[] = {"x", "x", "x_1", "x", "", "17", "a b", "\xc3\xa9", "x.0"};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        build_program_id(&b, 0)->name = str_from(hints[i]);
    build_return(&b);
    const char *text = testing_print(module);
    static const char *const wanted[] = {
        "%x =", "%x_1 =", "%x_1_1 =", "%x_2 =", "%0 =", "%1 =", "%a_b =", "%__ =", "%x.0 ="};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_non_null(strstr(text, wanted[i]));
    assert_string_equal(testing_print(testing_parse_good(ctx, text)), text);
    ctx_destroy(ctx);
}

/* Naming must not try x_1, x_2, .. anew for each value; nor may parsing search names one by one. */
static void test_many_equal_names(void **state) {
    enum { MANY = 20000 };
    Ctx *ctx = testing_ctx();
    Module *module = module_create(ctx);
    Func *func = func_create(module, STR("f"), 0, NULL, NULL);
    Builder b = builder_at_end(func->body);
    Value *x = build_program_id(&b, 0);
    for (int i = 0; i < MANY; i++) {
        x = build_addi(&b, x, x);
        x->name = STR("x");
    }
    build_return(&b);
    const char *text = testing_print(module);
    assert_string_equal(testing_print(testing_parse_good(ctx, text)), text);
    ctx_destroy(ctx);
}

/* One op alone, for messages: the same line as in the module, layouts in place. */
static void test_op_print(void **state) {
    Ctx *ctx = testing_ctx();
    Module *module =
        testing_parse_good(ctx, "func @f(%x: f32) {num_warps = 1, has_layouts = true} {\n"
                                "    %t = splat %x : tile<32xf32, {lane = [1, 2, 4, 8, 16]}>\n"
                                "    return\n}\n");
    StrBuf out = strbuf(&ctx->arena);
    op_print(module->funcs->body->first, &out);
    assert_string_equal(out.ptr, "%t = splat %x : tile<32xf32, {lane = [1, 2, 4, 8, 16]}>\n");
    ctx_destroy(ctx);
}

/* Errors */

/* A snippet, its first diagnostic and where that is. Bodies of `@f` begin in line 2. */
typedef struct BadText {
    const char *text;
    DiagId id;
    uint32_t line, column;
} BadText;

#define F(body) "func @f(%n: i32, %x: f32) {\n" body "\nreturn\n}\n"

static const BadText bad_texts[] = {
    {"garbage", DIAG_ir_expected, 1, 1},
    {"func", DIAG_ir_expected, 1, 5},
    {"func @f", DIAG_ir_expected, 1, 8},
    {"func @f(", DIAG_ir_expected, 1, 9},
    {"func @f() {", DIAG_ir_expected, 1, 12},
    {"func @f(%a: f32, %a: f32) {\nreturn\n}", DIAG_ir_redefined, 1, 18},
    {"func @f(%a: i32 {multiple = 4}) {\nreturn\n}", DIAG_ir_expected, 1, 18},
    {"func @f() {\nreturn\n}\nfunc @f() {\nreturn\n}", DIAG_ir_redefined, 4, 6},
    {"func @f(%a: tile<8xf32>) {\nreturn\n}", DIAG_ir_param, 1, 9},
    {"func @f() {num_warps = 3} {\nreturn\n}", DIAG_ir_func_attr, 1, 6},
    {"func @f() {one_thread = true} {\n%r = range {start = 0} : tile<4xi32>\nreturn\n}",
     DIAG_ir_func_attr, 1, 6},
    {"func @f() {num_warps = 99999999999} {\nreturn\n}", DIAG_ir_number, 1, 24},
    {"func @f() {numwarps = 3} {\nreturn\n}", DIAG_ir_unknown, 1, 12},
    {"layout #A = {reg = [1]}\nlayout #A = {}", DIAG_ir_redefined, 2, 8},
    {"layout #A = {register = [1]}", DIAG_ir_expected, 1, 14},
    {"layout #A = {reg = [1], reg = [2]}", DIAG_ir_redefined, 1, 25},
    {"layout #A = {reg = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], lane = "
     "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}",
     DIAG_ir_layout, 1, 131},
    {"layout #A = {reg = [-1]}", DIAG_ir_number, 1, 21},
    {F("%a = addj %n, %n : i32"), DIAG_ir_unknown, 2, 6},
    {F("%a = addi %n, %m : i32"), DIAG_ir_undefined, 2, 15},
    {F("%n = addi %n, %n : i32"), DIAG_ir_redefined, 2, 1},
    {F("%a = addi %n, %n"), DIAG_ir_expected, 3, 1},
    {F("%a = addi %n, %n : i33"), DIAG_ir_unknown, 2, 20},
    {F("%a = addi %n, %n : i32 i32"), DIAG_ir_expected, 2, 24},
    {F("%a = addi %n, : i32"), DIAG_ir_expected, 2, 15},
    {F("%a = addi %n : i32"), DIAG_ir_operand_count, 2, 6},
    {F("%a, %b = addi %n, %n : i32, i32"), DIAG_ir_result_count, 2, 10},
    {F("%a, %a = addi %n, %n : i32, i32"), DIAG_ir_redefined, 2, 5},
    {F("%a = addi %n, %n : i64"), DIAG_ir_result_type, 2, 6},
    {F("addi %n, %n"), DIAG_ir_result_count, 2, 1},
    {F("%a = program_id : i32"), DIAG_ir_attr_missing, 2, 6},
    {F("%a = program_id {axes = 0} : i32"), DIAG_ir_unknown, 2, 18},
    {F("%a = program_id {axis = 0, axis = 1} : i32"), DIAG_ir_redefined, 2, 28},
    {F("%a = program_id {axis = 1.5} : i32"), DIAG_ir_expected, 2, 25},
    {F("%a = program_id {axis = 99999999999999999999} : i32"), DIAG_ir_number, 2, 25},
    {F("%a = constant_float {value = 1e999} : f32"), DIAG_ir_float_range, 2, 30},
    {F("%a = constant_float {value = nan(0x1)} : f32"), DIAG_ir_expected, 2, 34},
    {F("%a = cmpi %n, %n {pred = lt} : i1"), DIAG_ir_expected, 2, 26},
    {F("assert %n {message = \"open}"), DIAG_ir_string, 2, 22},
    {F("assert %n {message = \"\\q\"}"), DIAG_ir_string, 2, 23},
    {F("assert %n {message = \"\\xg0\"}"), DIAG_ir_string, 2, 23},
    {F("print %n {prefix = \"\", hex = maybe}"), DIAG_ir_expected, 2, 30},
    {F("%a = splat %n : tile<3xi32>"), DIAG_ir_shape, 2, 22},
    {F("%a = splat %n : tile<0xi32>"), DIAG_ir_shape, 2, 22},
    {F("%a = splat %n : tile<00xi32>"), DIAG_ir_shape, 2, 22},
    {F("%a = splat %n : tile<2097152xi32>"), DIAG_ir_shape, 2, 22},
    {F("%a = splat %n : tile<1024x2048xi32>"), DIAG_ir_shape, 2, 27},
    {F("%a = splat %n : tile<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xi32>"), DIAG_ir_shape, 2, 54},
    {F("%a = splat %n : tile<i32>"), DIAG_ir_expected, 2, 22},
    {F("%a = splat %n : tile<8xi32, #Q>"), DIAG_ir_unknown, 2, 29},
    {F("%a = splat %n : tile<8xi32, {reg = [8]}>"), DIAG_ir_layout, 2, 29},
    {F("barrier loc(\"test.tir\":1:500)"), DIAG_ir_place_outside, 2, 24},
    {F("barrier\n}"), DIAG_ir_expected, 4, 1},
    {F("yield"), DIAG_ir_place, 2, 1},
    {F("\x01"), DIAG_ir_expected, 2, 1},
};

static void test_errors_have_places(void **state) {
    for (size_t i = 0; i < sizeof bad_texts / sizeof *bad_texts; i++) {
        const BadText *bad = &bad_texts[i];
        Ctx *ctx = testing_ctx();
        Module *module = testing_parse(ctx, bad->text);
        const Diagnostic *first = ctx->diags.first;
        if (module || !first)
            fail_msg("accepted:\n%s", bad->text);
        LineColumn at = source_locate(source_get(&ctx->sources, 1), first->span.lo);
        if (first->id != bad->id || at.line != bad->line || at.column != bad->column)
            fail_msg("wanted %s at %u:%u, found:\n%s", diag_name(bad->id), bad->line, bad->column,
                     testing_messages(ctx));
        ctx_destroy(ctx);
    }
}

/* One error each in five lines; the op that uses the result of a bad one adds none. */
static void test_several_errors_in_one_run(void **state) {
    Ctx *ctx = testing_ctx();
    assert_null(testing_parse(ctx, F("%a = addj %n, %n : i32\n"
                                     "%b = addi %a, %n : i32\n"
                                     "for %n, %n, %n, %q : i32 (%i: i32, %c: i32) {\n"
                                     "    %d = nothing %c : i32\n"
                                     "    yield %d\n"
                                     "}\n"
                                     "%e = program_id {axis = : i32\n"
                                     "if %x {\n    yield\n} {\n    yield\n}\n"
                                     "%g = negf %n : i32")));
    assert_int_equal(ctx->diags.errors, 5);
    ctx_destroy(ctx);
}

static void test_deep_nesting_is_refused(void **state) {
    for (int depth = IR_MAX_NESTING; depth <= 100000; depth += 99800) {
        Ctx *ctx = testing_ctx();
        StrBuf text = strbuf(&ctx->arena);
        strbuf_puts(&text, "func @f(%c: i1) {\n");
        for (int i = 0; i < depth; i++)
            strbuf_puts(&text, "if %c {\n");
        for (int i = 0; i < depth; i++)
            strbuf_puts(&text, "yield\n} {\nyield\n}\n");
        strbuf_puts(&text, "return\n}\n");
        Module *module = testing_parse(ctx, text.ptr);
        assert_int_equal(module != NULL, depth == IR_MAX_NESTING);
        assert_int_equal(testing_has_diag(ctx, DIAG_ir_nesting), depth > IR_MAX_NESTING);
        ctx_destroy(ctx);
    }
}

/* Every prefix and every single changed byte of a real text: reported or accepted, never worse. */
static void test_damaged_text(void **state) {
    Ctx *files = testing_ctx();
    char *text = read_file(files, "all_ops.tir");
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i += 37) {
        Ctx *ctx = testing_ctx();
        module_parse(ctx, source_add(&ctx->sources, STR("a"), (Str){text, i}));
        char *changed = str_dup(&ctx->arena, (Str){text, len});
        changed[i] = "%{}<>,:= \n\"0x@#("[i / 37 % 16];
        Module *module =
            module_parse(ctx, source_add(&ctx->sources, STR("b"), (Str){changed, len}));
        if (module)
            testing_print(module);
        ctx_destroy(ctx);
    }
    ctx_destroy(files);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_op),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_floats_are_exact),
        cmocka_unit_test(test_float_spellings),
        cmocka_unit_test(test_integers_wrap_to_their_type),
        cmocka_unit_test(test_names_become_unique),
        cmocka_unit_test(test_many_equal_names),
        cmocka_unit_test(test_op_print),
        cmocka_unit_test(test_errors_have_places),
        cmocka_unit_test(test_several_errors_in_one_run),
        cmocka_unit_test(test_deep_nesting_is_refused),
        cmocka_unit_test(test_damaged_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
