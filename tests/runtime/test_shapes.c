/* Shapes files: what each shape's arguments are, and what is said of files that are wrong. */
#include "runtime/data/grid.h"
#include "runtime/data/shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const char product[] =
    "{\n"
    "  \"file\": \"matmul.tile\", \"kernel\": \"matmul\",\n"
    "  \"args\": {\"a\": \"randn(0, 2):fp16[M, K]\", \"b\": \"randn:fp16[ max(K, 16) , cdiv(N, "
    "2)]\",\n"
    "           \"c\": \"zeros:fp32[]\", \"table\": \"@i32:tables/t.npy\", \"other\": \"o.npy\",\n"
    "           \"stride\": \"K\", \"long\": \"M * N:i64\", \"eps\": 1e-5, \"half\": \"N / "
    "4:fp16\",\n"
    "           \"flag\": true, \"bias\": null, \"none\": \"None\"},\n"
    "  \"constexprs\": {\"BLOCK\": \"next_power_of_2(N)\", \"ACT\": \"'relu'\", \"N_NAME\": "
    "\"'N'\",\n"
    "                 \"TYPE\": \"tl.float16\", \"EVEN\": \"K % 64 == 0\", \"WHAT\": \"'x' if M > "
    "1 else 'y'\"},\n"
    "  \"grid\": \"(cdiv(M, BLOCK_M), cdiv(stride, BLOCK))\",\n"
    "  \"flops\": \"2 * M * N * K\", \"bytes\": \"(M + BLOCK) * 0.5\",\n"
    "  \"shapes\": [{\"M\": 1, \"N\": [6, 100], \"K\": [64, 65]}, {\"M\": 1000000000, \"N\": 8, "
    "\"K\": 1}]\n"
    "}\n";

static Ctx *new_ctx(void) {
    Ctx *ctx = ctx_create();
    assert_non_null(ctx);
    ctx->arena.oom = NULL; /* out of memory aborts the test */
    return ctx;
}

static const char *messages(Ctx *ctx) {
    StrBuf out = strbuf(&ctx->arena);
    diag_print_all(&ctx->diags, &out);
    return out.ptr ? out.ptr : "";
}

static bool parse(Ctx *ctx, const char *text, ShapesFile *shapes) {
    return shapes_parse(ctx, source_add(&ctx->sources, STR("bench/s.json"), str_from(text)),
                        shapes);
}

static ShapesFile read(Ctx *ctx, const char *text) {
    ShapesFile shapes;
    if (!parse(ctx, text, &shapes))
        fail_msg("%s", messages(ctx));
    return shapes;
}

static const char *arg_text(Ctx *ctx, const Shape *shape, const char *name) {
    for (uint32_t i = 0; i < shape->arg_count; i++)
        if (str_is(shape->args[i].name, name))
            return str_dup(&ctx->arena, shape->args[i].text);
    return "none";
}

static const char *constexpr_text(Ctx *ctx, const Shape *shape, const char *name) {
    for (uint32_t i = 0; i < shape->constexpr_count; i++)
        if (str_is(shape->constexprs[i].name, name))
            return str_dup(&ctx->arena, shape->constexprs[i].text);
    return "none";
}

static void shapes_are_combinations(void **state) {
    static const char *const texts[] = {"M=1, N=6, K=64", "M=1, N=6, K=65", "M=1, N=100, K=64",
                                        "M=1, N=100, K=65", "M=1000000000, N=8, K=1"};
    Ctx *ctx = new_ctx();
    const ShapesFile file = read(ctx, product);
    assert_int_equal(file.count, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_string_equal(file.shapes[i].text, texts[i]);
    assert_string_equal(file.path, "bench/matmul.tile");
    assert_true(str_is(file.kernel, "matmul"));
    const ShapesFile one = read(ctx, "{\"shapes\": {\"n\": 3, \"p\": 0.5, \"even\": true}}");
    assert_int_equal(one.count, 1);
    assert_string_equal(one.shapes[0].text, "n=3, p=0.5, even=True");
    assert_null(one.path);
    assert_int_equal(one.kernel.len + one.grid.len, 0);
    assert_true(one.shapes[0].flops < 0 && one.shapes[0].bytes < 0);
    ctx_destroy(ctx);
}

static void arguments_are_made_of_sizes(void **state) {
    static const struct {
        const char *name, *text;
    } args[] =
        {
            {"a", "randn(0, 2):fp16[1, 65]"},
            {"b", "randn:fp16[65, 50]"},
            {"c", "zeros:fp32[]"},
            {"table", "@i32:bench/tables/t.npy"},
            {"other", "bench/o.npy"},
            {"stride", "65"},
            {"long", "100:i64"},
            {"eps", "1e-5"},
            {"half", "25.0:fp16"},
            {"flag", "True"},
            {"bias", "None"},
            {"none", "None"},
        },
      constexprs[] = {
          {"BLOCK", "128"},       {"ACT", "'relu'"}, {"N_NAME", "'N'"},
          {"TYPE", "tl.float16"}, {"EVEN", "False"}, {"WHAT", "'y'"},
      };
    Ctx *ctx = new_ctx();
    const ShapesFile file = read(ctx, product);
    const Shape *shape = &file.shapes[3];
    assert_int_equal(shape->arg_count, sizeof args / sizeof *args);
    for (size_t i = 0; i < sizeof args / sizeof *args; i++)
        assert_string_equal(arg_text(ctx, shape, args[i].name), args[i].text);
    for (size_t i = 0; i < sizeof constexprs / sizeof *constexprs; i++)
        assert_string_equal(constexpr_text(ctx, shape, constexprs[i].name), constexprs[i].text);
    assert_true(shape->args[1].is_made && shape->args[1].array.elem == ELEM_F16);
    assert_int_equal(shape->args[1].array.bytes, 65 * 50 * 2);
    assert_null(shape->args[1].array.data);
    assert_false(shape->args[3].is_made || shape->args[5].is_made);
    assert_true(shape->flops == 2.0 * 100 * 65 && shape->bytes == 129 * 0.5);
    /* Integers have 64 bits. */
    assert_string_equal(constexpr_text(ctx, &file.shapes[4], "WHAT"), "'x'");
    assert_string_equal(arg_text(ctx, &file.shapes[4], "long"), "8000000000:i64");
    ctx_destroy(ctx);
}

static void grids_see_configurations_first(void **state) {
    const Str names[] = {STR("BLOCK_M"), STR("BLOCK")};
    const HostValue values[] = {host_int(4), host_int(10)};
    uint32_t grid[3];
    Ctx *ctx = new_ctx();
    const ShapesFile file = read(ctx, product);
    assert_true(shapes_grid(ctx, &file, &file.shapes[0], names, values, 2, grid));
    assert_int_equal(grid[0], 1);
    assert_int_equal(grid[1], 7);
    assert_true(shapes_grid(ctx, &file, &file.shapes[4], names, values, 1, grid));
    assert_int_equal(grid[0], 250000000);
    assert_false(shapes_grid(ctx, &file, &file.shapes[0], NULL, NULL, 0, grid));
    static const char at[] = "bench/s.json:9:21: error: 'BLOCK_M' is neither an argument nor ";
    assert_memory_equal(messages(ctx), at, sizeof at - 1);
    assert_non_null(strstr(messages(ctx), "bench/s.json:11:14: note: for M=1, N=6, K=64\n"));
    ctx_destroy(ctx);
}

/* Files that are wrong: the first line of what is said. */
static void mistakes_are_said_at_their_places(void **state) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"shapes\": {\"n\": 1}} {", "1:22: error: wanted nothing behind the object"},
        {"[]", "1:1: error: found a list, wanted an object"},
        {"{\"arg\": {}, \"shapes\": {\"n\": 1}}",
         "1:2: error: `arg` is nothing that a shapes file says"},
        {"{}", "1:1: error: there is no \"shapes\""},
        {"{\"shapes\": []}", "1:12: error: found a list, wanted a list with something in it"},
        {"{\"shapes\": {}}",
         "1:12: error: found an object, wanted an object with sizes by their names"},
        {"{\"shapes\": {\"n\": []}}",
         "1:18: error: found a list, wanted a list with something in it"},
        {"{\"shapes\": {\"n\": [1, \"x\"]}}",
         "1:22: error: found a string, wanted a number, true or false"},
        {"{\"kernel\": \"k\xff\", \"shapes\": {\"n\": 1}}", "1:14: error: wanted UTF-8"},
        {"{\"shapes\": {\"n\": 1e999}}",
         "1:18: error: found a number, wanted one that is no infinity"},
        {"{\"shapes\": {\"n\": 1, \"\": 1}}", "1:21: error: a size's name has letters"},
        {"{\"shapes\": {\"1n\": 1}}", "1:13: error: a size's name has letters"},
        {"{\"shapes\": {\"n\\u001b[1m\": 1}}", "1:13: error: a size's name has letters"},
        {"{\"flops\": \"n * 1e308\", \"shapes\": {\"n\": 10}}",
         "1:11: error: this is float('inf'), wanted a number of 0 or more"},
        {"{\"kernel\": \"\", \"shapes\": {\"n\": 1}}",
         "1:12: error: found a string, wanted a string with something in it"},
        {"{\"args\": {\"x\": \"randn:fp16[m]\"}, \"shapes\": {\"n\": 1}}",
         "1:28: error: 'm' is neither an argument nor a constexpr that an expression of a shapes "
         "file can use"},
        {"{\"args\": {\"x\": \"randn:fp61[n]\"}, \"shapes\": {\"n\": 1}}",
         "1:23: error: 'fp61' in a generator, wanted an element type such as fp32"},
        {"{\"args\": {\"x\": \"rndn:fp16[n]\"}, \"shapes\": {\"n\": 1}}",
         "1:17: error: there is no generator 'rndn'"},
        {"{\"args\": {\"x\": \"full(300):i8[n]\"}, \"shapes\": {\"n\": 1}}",
         "1:22: error: the value is not of type i8"},
        {"{\"args\": {\"x\": \"zeros:i8\"}, \"shapes\": {\"n\": 1}}",
         "1:25: error: the end in a generator, wanted '[' and the sizes"},
        {"{\"args\": {\"x\": \"zeros:i8[n\"}, \"shapes\": {\"n\": 1}}",
         "1:27: error: the end in a generator, wanted ',' or ']'"},
        {"{\"args\": {\"x\": \"zeros:i8[n, ,]\"}, \"shapes\": {\"n\": 1}}", "1:29: error: "},
        {"{\"args\": {\"x\": \"zeros:i8[n] 2\"}, \"shapes\": {\"n\": 1}}",
         "1:29: error: more in a generator, wanted nothing after the shape"},
        {"{\"args\": {\"x\": \"zeros:i8[0 - n]\"}, \"shapes\": {\"n\": [0, 1]}}",
         "1:26: error: this is -1, wanted an integer of 0 or more"},
        {"{\"args\": {\"x\": \"zeros:i8[n / 2]\"}, \"shapes\": {\"n\": 1}}",
         "1:26: error: this is 0.5, wanted an integer of 0 or more"},
        {"{\"args\": {\"x\": \"zeros:fp64[n, n]\"}, \"shapes\": {\"n\": 9000000000}}",
         "1:16: error: the array's shape is too large: the array is larger than memory"},
        {"{\"args\": {\"x\": \"n:fp61\"}, \"shapes\": {\"n\": 1}}",
         "1:19: error: 'fp61' is no element type"},
        {"{\"args\": {\"x\": \"'n'\"}, \"shapes\": {\"n\": 1}}",
         "1:16: error: this is 'n', wanted a number, True, False or None"},
        {"{\"args\": {\"x\": [1]}, \"shapes\": {\"n\": 1}}",
         "1:16: error: found a list, wanted an array, a number, or an expression of sizes"},
        {"{\"args\": {\"x\": \"n +\"}, \"shapes\": {\"n\": 1}}", "1:20: error: "},
        {"{\"args\": [], \"shapes\": {\"n\": 1}}",
         "1:10: error: found a list, wanted an object: values by the names of parameters"},
        {"{\"constexprs\": {\"B\": [1]}, \"shapes\": {\"n\": 1}}",
         "1:22: error: found a list, wanted a literal, or an expression of sizes"},
        {"{\"constexprs\": {\"B\": \"n // 0\"}, \"shapes\": {\"n\": 1}}",
         "1:23: error: division by zero"},
        {"{\"grid\": \"(n,\", \"shapes\": {\"n\": 1}}", "1:11: error: "},
        {"{\"flops\": \"0 - n\", \"shapes\": {\"n\": 1}}",
         "1:11: error: this is -1, wanted a number of 0 or more"},
        {"{\"bytes\": \"n * n\", \"shapes\": {\"n\": 9000000000}}",
         "1:12: error: the value does not fit 64 bits"},
        {"{\"args\": {\"x\": \"n\\u0020+ m\"}, \"shapes\": {\"n\": 1}}",
         "1:5: error: 'm' is neither"},
        {"{\"shapes\": {\"a\": [1,2,3,4,5,6,7,8], \"b\": [1,2,3,4,5,6,7,8], \"c\": "
         "[1,2,3,4,5,6,7,8], \"d\": [1,2,3,4,5,6,7,8], \"e\": [1, 2]}}",
         "1:12: error: these are more than 4096 shapes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Ctx *ctx = new_ctx();
        ShapesFile shapes;
        char wanted[256];
        snprintf(wanted, sizeof wanted, "bench/s.json:%s", cases[i].message);
        if (parse(ctx, cases[i].text, &shapes))
            fail_msg("%s was read", cases[i].text);
        assert_int_equal(ctx->diags.errors, 1);
        if (strncmp(messages(ctx), wanted, strlen(wanted)))
            fail_msg("%s\n%swanted %s", cases[i].text, messages(ctx), wanted);
        ctx_destroy(ctx);
    }
}

/* Every beginning of a file, and each with a byte in it changed, is read or refused. */
static void damage_is_refused(void **state) {
    char text[sizeof product];
    for (size_t i = 0; i + 1 < sizeof product; i++) {
        Ctx *ctx = new_ctx();
        ShapesFile shapes;
        memcpy(text, product, sizeof text);
        text[i] = 0;
        assert_false(parse(ctx, text, &shapes) && i + 2 < sizeof product);
        memcpy(text, product, sizeof text);
        text[i] ^= 1;
        assert_true(parse(ctx, text, &shapes) || ctx->diags.errors);
        ctx_destroy(ctx);
    }
}

static void files_that_are_not_there(void **state) {
    Ctx *ctx = new_ctx();
    ShapesFile shapes;
    assert_false(shapes_read(ctx, "/nowhere/s.json", &shapes));
    assert_int_equal(ctx->diags.errors, 1);
    ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_combinations),
        cmocka_unit_test(arguments_are_made_of_sizes),
        cmocka_unit_test(grids_see_configurations_first),
        cmocka_unit_test(mistakes_are_said_at_their_places),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(files_that_are_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
