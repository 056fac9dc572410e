/* tma_takes: a block that meets all conditions, and one for each condition that fails it alone; and
 * what lower_blocks leaves of more blocks than a kernel can have tensor maps for. */
#include "../../ir/ir_testing.h"

#include "passes/blocks/tensor_maps.h"
#include "passes/passes.h"
#include "target/tensor_map.h"

/* The function begins with HEAD; `block` makes %t or stores it, `rest` follows. */
#define HEAD                                                                                       \
    "func @f(%a: ptr<f16> {divisible = 16}, %b: ptr<f16> {divisible = 16}, %n: i64, "              \
    "%s: i64 {divisible = 8}, %i: i32, %odd: i64, %near: ptr<f16>, "                               \
    "%m: i64 {divisible = 8}, %m4: i64 {divisible = 4}) {\n"                                       \
    "%one = constant_int {value = 1} : i64\n%zero = constant_int {value = 0} : i32\n"              \
    "%none = constant_int {value = 0} : i64\n%pid = program_id {axis = 0} : i32\n"                 \
    "%pid64 = extsi %pid : i64\n%eight = constant_int {value = 8} : i32\n"                         \
    "%four = constant_int {value = 4} : i32\n%at = muli %pid, %eight : i32\n"                      \
    "%at4 = muli %pid, %four : i32\n%z = constant_float {value = 0.0} : tile<32x32xf32>\n"         \
    "%h = constant_float {value = 0.0} : tile<32x32xf16>\n"
#define DOT "%d = dot %t, %t, %z : tile<32x32xf32>\n"
#define LOAD(operands, attributes)                                                                 \
    "%t = load_block " operands " {" attributes "} : tile<32x32xf16>\n"
#define GOOD LOAD("%a, %n, %n, %s, %one, %pid, %zero", "checked = 3")
#define STORE "store_block %a, %h, %n, %m, %s, %one, %pid, %at {checked = 3}\n"
#define TYPED_LOAD(type) "%t = load_block %a, %n, %n, %s, %one, %pid, %zero {checked = 3} : " type
#define STORE_OF(value, operands, checked)                                                         \
    "store_block %a, " value ", " operands " {checked = " checked "}\n"

typedef struct Asked {
    const char *text, *why_not; /* NULL: taken */
} Asked;

static const Asked asked[] = {
    {GOOD DOT, NULL},
    {"%u = addptr %a, %s : ptr<f16>\n" LOAD("%u, %n, %n, %s, %one, %i, %at", "checked = 3") DOT,
     NULL},
    {LOAD("%a, %n, %n, %s, %one, %pid, %zero", "checked = 0") DOT, NULL},
    {LOAD("%a, %n, %n, %one, %s, %at, %pid", "checked = 3") DOT, NULL},
    {STORE, NULL},
    {STORE_OF("%h", "%n, %n, %s, %one, %pid, %at", "1"), NULL},
    {STORE_OF("%h", "%m, %n, %one, %s, %at, %pid", "3"), NULL},
    {"%l = constant_float {value = 0.0} : tile<8x32xf16>\n" STORE_OF(
         "%l", "%n, %m, %s, %one, %pid, %at", "3"),
     NULL},
    {"%x = load_block %b, %n, %n, %s, %one, %pid, %zero {checked = 3} : tile<32x32xf16>\n"
     "%t = load_block %a, %n, %n, %s, %one, %pid, %zero {checked = 3} : tile<32x32xf16>\n" DOT,
     NULL},
    {LOAD("%a, %n, %n, %s, %one, %pid, %zero", "checked = 3, padding = nan") DOT, "padding"},
    {LOAD("%a, %n, %n, %s, %one, %pid, %zero", "checked = 3, cache = cg") DOT, "cache modifier"},
    {LOAD("%a, %n, %n, %s, %one, %pid, %zero", "checked = 3, is_volatile = true") DOT, "volatile"},
    {LOAD("%a, %pid64, %n, %s, %one, %pid, %zero", "checked = 3") DOT,
     "the extent of dimension 0 (pid64) is not made of kernel parameters"},
    {LOAD("%a, %n, %n, %pid64, %one, %pid, %zero", "checked = 3") DOT,
     "the stride of dimension 0 (pid64) is not made of kernel parameters"},
    {"%u = addptr %a, %pid : ptr<f16>\n" LOAD("%u, %n, %n, %s, %one, %pid, %zero", "checked = 3")
         DOT,
     "the base (u) is not made of kernel parameters"},
    {LOAD("%a, %none, %n, %s, %one, %pid, %zero", "checked = 3") DOT, "is not positive"},
    {LOAD("%a, %n, %n, %none, %one, %pid, %zero", "checked = 3") DOT, "is not positive"},
    {LOAD("%a, %n, %n, %s, %s, %pid, %zero", "checked = 3") DOT, "no stride is known to be 1"},
    {LOAD("%a, %n, %n, %odd, %one, %pid, %zero", "checked = 3") DOT,
     "the stride of dimension 0 (odd) is not known to be a multiple of 16 bytes"},
    {LOAD("%near, %n, %n, %s, %one, %pid, %zero", "checked = 3") DOT,
     "the base (near) is not known to be a multiple of 16 bytes"},
    {LOAD("%a, %n, %n, %s, %one, %zero, %at4", "checked = 3") DOT,
     "the offset of dimension 1 (at4) is not known to be a multiple of 16 bytes"},
    {LOAD("%a, %n, %n, %one, %s, %pid, %zero", "checked = 3") DOT,
     "the offset of dimension 0 (pid) is not known to be a multiple of 16 bytes"},
    {STORE_OF("%h", "%n, %m, %s, %one, %pid, %at4", "3"),
     "the offset of dimension 1 (at4) is not known to be a multiple of 16 bytes"},
    {STORE_OF("%h", "%m, %m4, %s, %one, %pid, %at", "3"),
     "the extent of dimension 1 (m4) is not known to be a multiple of 16 bytes"},
    {STORE_OF("%h", "%n, %m, %one, %s, %at, %pid", "3"),
     "the extent of dimension 0 (n) is not known to be a multiple of 16 bytes"},
    {TYPED_LOAD("tile<4x32xf16>\n"), "it has fewer than eight lines"},
    {"%l = constant_float {value = 0.0} : tile<4x32xf16>\n" STORE_OF(
         "%l", "%n, %m, %s, %one, %pid, %at", "3"),
     "it has fewer than eight lines"},
    {TYPED_LOAD("tile<32x8xf16>\n"), "less than 32 bytes are adjacent"},
    {LOAD("%a, %n, %n, %s, %one, %i, %zero", "checked = 2") DOT,
     "the offset of dimension 0 (i) may be negative"},
    {STORE_OF("%h", "%n, %m, %s, %one, %i, %at", "3"),
     "the offset of dimension 0 (i) may be negative, where no store can begin"},
    {GOOD, "no dot takes what it loads"},
    {GOOD DOT "store_block %a, %h, %n, %n, %s, %one, %zero, %zero {checked = 3}\n",
     "the kernel also writes through its pointer (a)"},
    {"%w = inttoptr %n : ptr<f16>\n" GOOD DOT "%v = constant_float {value = 0.0} : f16\n"
     "store %w, %v\n",
     "the kernel also writes through its pointer (a)"},
    {"for %zero, %pid, %pid (%k: i32) {\n" GOOD DOT "%v = constant_float {value = 0.0} : f16\n"
     "store %b, %v\nyield\n}\n",
     "its loop writes memory"},
    {"%c = cmpi %i, %zero {pred = eq} : i1\n%u = select %c, %a, %b : ptr<f16>\n" LOAD(
         "%u, %n, %n, %s, %one, %pid, %zero", "checked = 3") DOT,
     "is not made of kernel parameters"},
    {STORE "%v = constant_float {value = 0.0} : f16\nstore %a, %v\n",
     "writes through its pointer in another way"},
    {STORE "%v = load %a : f16\nstore %b, %v\n", "may read what it writes"},
    {"%v = load %a : f16\n" STORE, NULL},
};

/* The load of %t; where there is none the first store. */
static bool find_block(Op *op, void *user) {
    Op **found = user;
    if (op->code == OP_load_block && str_is(op_out(op)->name, "t"))
        *found = op;
    if (op->code == OP_store_block && !*found)
        *found = op;
    return true;
}

static void check(const Asked *a, bool forbids) {
    Ctx *ctx = testing_ctx();
    Func *func =
        testing_parse_good(ctx, str_format(&ctx->arena, "%s%sreturn\n}\n", HEAD, a->text))->funcs;
    Op *block = NULL;
    const char *why_not = NULL, *wanted = forbids ? "this form of the kernel has none" : a->why_not;
    func_walk(func, find_block, &block);
    func->no_tensor_copies = forbids;
    bool takes = tma_takes(func, block, &why_not);
    if (takes != !wanted || (wanted && !strstr(why_not, wanted)))
        fail_msg("%s: %s", a->text, takes ? "taken" : why_not);
    ctx_destroy(ctx);
}

static void test_conditions(void **state) {
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        check(&asked[i], false);
        check(&asked[i], true);
    }
}

/* A value of which not all uses are looked at may have a dot that would rather not have panels. */
static void test_many_uses(void **state) {
    enum { MANY = 300 };
    Ctx *ctx = testing_ctx();
    StrBuf text = strbuf(&ctx->arena);
    strbuf_puts(
        &text,
        "func @f(%a: ptr<f32> {divisible = 16}, %n: i64, %s: i64 {divisible = 8}) {\n"
        "%one = constant_int {value = 1} : i64\n"
        "%zero = constant_int {value = 0} : i32\n"
        "%pid = program_id {axis = 0} : i32\n"
        "%z = constant_float {value = 0.0} : tile<32x32xf32>\n" TYPED_LOAD("tile<32x32xf32>\n"));
    for (int i = 0; i < 2 * MANY; i++)
        strbuf_printf(&text, "%%u%d = addf %%t, %%t : tile<32x32xf32>\n%s", i,
                      i == MANY ? "%d = dot %t, %t, %z {precision = ieee} : tile<32x32xf32>\n"
                                : "");
    strbuf_puts(&text, "return\n}\n");
    Func *func = testing_parse_good(ctx, text.ptr)->funcs;
    Op *block = NULL;
    const char *why_not = NULL;
    func_walk(func, find_block, &block);
    assert_false(tma_takes(func, block, &why_not));
    assert_non_null(strstr(why_not, "more uses than are followed"));
    ctx_destroy(ctx);
}

static bool count_block(Op *op, void *user) {
    *(unsigned *)user += op->code == OP_load_block;
    return true;
}

/* Blocks of so many tensors, each read at two places by one map, go to dots. */
static void check_maps(unsigned tensors, unsigned left) {
    Ctx *ctx = testing_ctx();
    StrBuf text = strbuf(&ctx->arena);
    strbuf_puts(&text, "func @f(%n: i64, %s: i64 {divisible = 8}");
    for (unsigned i = 0; i < tensors; i++)
        strbuf_printf(&text, ", %%p%u: ptr<f16> {divisible = 16}", i);
    strbuf_puts(&text, ") {capability = 90} {\n%one = constant_int {value = 1} : i64\n"
                       "%zero = constant_int {value = 0} : i32\n"
                       "%pid = program_id {axis = 0} : i32\n"
                       "%z = constant_float {value = 0.0} : tile<32x32xf32>\n");
    for (unsigned i = 0; i < tensors; i++) {
        static const char *const rows[] = {"zero", "pid"};
        for (int j = 0; j < 2; j++)
            strbuf_printf(&text,
                          "%%t%u_%d = load_block %%p%u, %%n, %%n, %%s, %%one, %%%s, %%zero "
                          "{checked = 3} : tile<32x32xf16>\n",
                          i, j, i, rows[j]);
        strbuf_printf(&text, "%%d%u = dot %%t%u_0, %%t%u_1, %%z : tile<32x32xf32>\n", i, i, i);
    }
    strbuf_puts(&text, "return\n}\n");
    Func *func = testing_parse_good(ctx, text.ptr)->funcs;
    unsigned found = 0;
    pass_lower_blocks(func);
    func_walk(func, count_block, &found);
    assert_int_equal(found, 2 * left);
    unsigned remarks = 0;
    for (const Diagnostic *d = ctx->diags.first; d; d = d->next, remarks++)
        assert_string_equal(d->text, "this load is not a tensor copy: the kernel has as many "
                                     "tensor maps as it can");
    assert_int_equal(remarks, 2 * (tensors - left));
    ctx_destroy(ctx);
}

static void test_number_of_maps(void **state) {
    check_maps(RECIPE_MAX_MAPS, RECIPE_MAX_MAPS);
    check_maps(RECIPE_MAX_MAPS + 1, RECIPE_MAX_MAPS);
    check_maps(2 * RECIPE_MAX_MAPS, RECIPE_MAX_MAPS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_conditions),
                                       cmocka_unit_test(test_many_uses),
                                       cmocka_unit_test(test_number_of_maps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
