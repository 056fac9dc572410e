/* Signatures: how each parameter arrives, from positions, names, annotations, defaults and
 * decorators. */
#include "frontend/frontend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct Case {
    const char *params, *decorator, *signature;
    NamedText types[2], defines[2];
    /* each parameter, or part of one: type, `=value`, `:16`, `:1`; or the id of the first error */
    const char *wanted;
} Case;

#define NAMED(name, text)                                                                          \
    { STR(name), STR(text) }

/* 65 tuples around it. */
#define DEEP(item) "(" FOUR(FOUR(FOUR("("))) #item FOUR(FOUR(FOUR(")"))) ")"
#define FOUR(text) text text text text

static const Case cases[] = {
    {"p, q, n, B: tl.constexpr",
     "",
     "*fp32:16, *kbf16, i32:16, 64",
     {},
     {},
     "*fp32:16 *kbf16 i32:16 =64"},
    {"p, n, m", "", "*fp32, i32:1, i64:1", {}, {}, "*fp32 i32:=1 i64:=1"},
    {"p, n, m, k",
     "",
     "*fp32, i32:=4096, u64:=9223372036854775807, i64:=-9223372036854775808",
     {},
     {},
     "*fp32 i32:=4096 u64:=9223372036854775807 i64:=-9223372036854775808"},
    {"n", "(do_not_specialize=['n'])", "i32:=64", {}, {}, "i32"},
    {"p, n", "(do_not_specialize=['n'])", "*fp32, i32:1", {}, {}, "*fp32 i32"},
    {"p, n", "(do_not_specialize=[1])", "*fp32:16, i32:16", {}, {}, "*fp32:16 i32"},
    {"p, n", "", "*fp16:8, i32:8", {}, {}, "*fp16:8 i32:8"},
    {"p, n, B: tl.constexpr",
     "",
     "*fp32, i32, 64",
     {NAMED("n", "i64:16")},
     {NAMED("B", "2 * 16")},
     "*fp32 i64:16 =32"},
    {"p: '*fp16', n: tl.int64, x: 'fp32'", "", "", {}, {}, "*fp16 i64 fp32"},
    {"p, n: tl.int64", "", "*i8, u32", {}, {}, "*i8 u32"},
    {"p, B: tl.constexpr = 16, f: tl.constexpr = None, s: tl.constexpr = 'a,b'",
     "",
     "*fp64",
     {},
     {},
     "*fp64 =16 =None ='a,b'"},
    {"p, a: tl.constexpr, b: tl.constexpr, c: tl.constexpr, d: tl.constexpr",
     "",
     "*u8, 'x, y', tl.float16, 1e-6, (1, 'z')",
     {},
     {},
     "*u8 ='x, y' =tl.float16 =1e-06 =(1, 'z')"},
    {"p, n, x", "", "*fp32, 5, -1.5", {}, {}, "*fp32 =5 =-1.5"},
    {"p, f: tl.constexpr",
     "",
     "*float32",
     {},
     {NAMED("f", "float('-inf')")},
     "*fp32 =float('-inf')"},
    {"p, mode: tl.constexpr",
     "",
     "*fp32",
     {},
     {NAMED("mode", "tl.math.exp if True else 0")},
     "*fp32 =tl.exp"},
    /* tuples: items count by themselves, whatever jit is told of the parameter */
    {"x, n",
     "(do_not_specialize=[0])",
     "(*fp32:16, i32:8, =4, (i64:1, (*kbf16,))), i32",
     {},
     {},
     "x.0 *fp32:16 x.1 i32:8 x.2 =4 x.3.0 i64:=1 x.3.1.0 *kbf16 i32"},
    {"x", "", "(i32)", {}, {}, "x.0 i32"},
    {"x", "", "(=1, =None, =(2, 'a,)'))", {}, {}, "x.0 =1 x.1 =None x.2 =(2, 'a,)')"},
    {"x", "", "(i32, (), None, 2.5)", {}, {}, "x.0 i32 x.1 =() x.2 =None x.3 =2.5"},
    {"x", "", "", {NAMED("x", " ( fp16 , =tl.float16 ) ")}, {}, "x.0 fp16 x.1 =tl.float16"},
    {"x, y, z", "", "(1, 2), (3), ()", {}, {}, "=(1, 2) =3 =()"},
    {"x: tl.constexpr", "", "(=1, (=2, =tl.int8))", {}, {}, "=(1, (2, tl.int8))"},
    {"x: tl.constexpr", "", "(1, tl.int8)", {}, {}, "=(1, tl.int8)"},
    {"x", "", "=5", {}, {}, "=5"},
    /* descriptors: aligned rows of adjacent elements */
    {"d",
     "",
     "tensordesc<fp16[16, 64]>",
     {},
     {},
     "d.ptr *fp16:16 d.shape.0 i32 d.shape.1 i32 d.strides.0 i64:8 d.strides.1 i64:=1 d.block "
     "=(16, 64) d.padding ='zero'"},
    {"d",
     "",
     "tensordesc<i1[16]>",
     {},
     {},
     "d.ptr *i8:16 d.shape.0 i32 d.strides.0 i64:=1 d.block =(16,) d.padding ='zero'"},
    {"x",
     "",
     "(i32, tensordesc<fp64[2],nan>)",
     {},
     {},
     "x.0 i32 x.1.ptr *fp64:16 x.1.shape.0 i32 x.1.strides.0 i64:=1 x.1.block =(2,) x.1.padding "
     "='nan'"},
    /* mistakes */
    {"x", "", "(i32, i33)", {}, {}, "elab_signature_type"},
    {"x", "", "(i32,, i32)", {}, {}, "elab_signature_type"},
    {"x", "", "(i32", {}, {}, "lex_unclosed_bracket"},
    {"x", "", "(i32, fp32:16)", {}, {}, "elab_signature_hint"},
    {"x", "", "(i32, =1 +)", {}, {}, "parse_expected"},
    {"x: tl.constexpr", "", "(1, i32)", {}, {}, "elab_signature_constexpr"},
    {"x: tl.constexpr", "", "(=1, *fp32)", {}, {}, "elab_signature_constexpr"},
    {"x: tl.constexpr", "", "tensordesc<fp16[16]>", {}, {}, "elab_signature_constexpr"},
    {"x", "", DEEP(i32), {}, {}, "elab_signature_tuple"},
    {"d", "", "tensordesc<fp16>", {}, {}, "elab_signature_descriptor"},
    {"d", "", "tensordesc<>", {}, {}, "elab_signature_descriptor"},
    {"d", "", "tensordesc<fp16[]>", {}, {}, "elab_signature_descriptor"},
    {"d", "", "tensordesc<*fp16[16]>", {}, {}, "elab_signature_descriptor"},
    {"d", "", "tensordesc<fp16[12]>", {}, {}, "elab_signature_descriptor"},
    {"d", "", "tensordesc<fp16[16,]>", {}, {}, "elab_signature_descriptor"},
    {"d", "", "tensordesc<fp16[64, 4]>", {}, {}, "elab_signature_descriptor"},
    {"d", "", "tensordesc<i8[2, 2, 2, 2, 2, 16]>", {}, {}, "elab_signature_descriptor"},
    {"d", "", "tensordesc<fp16[65536, 65536]>", {}, {}, "elab_signature_descriptor"},
    {"d", "", "tensordesc<i32[16], nan>", {}, {}, "elab_signature_descriptor"},
    {"d", "", "tensordesc<fp32[16]>:4", {}, {}, "elab_signature_descriptor"},
    {"d", "", "tensordesc<fp32[16]>16", {}, {}, "elab_signature_type"},
    {"d", "", "tensordesc<fp32[16], none>", {}, {}, "elab_signature_descriptor"},
    {"p, n", "", "*fp32", {}, {}, "elab_param_missing"},
    {"p", "", "*fp32, i32", {}, {}, "elab_signature_length"},
    {"p", "", "*fp32", {NAMED("q", "*fp32")}, {}, "elab_param_unknown"},
    {"p", "", "*float33", {}, {}, "elab_signature_type"},
    {"p", "", "*fp32:1", {}, {}, "elab_signature_hint"},
    {"n", "", "i32:4", {}, {}, "elab_signature_hint"},
    {"p", "", "*fp32:=16", {}, {}, "elab_signature_hint"},
    {"x", "", "fp32:=16", {}, {}, "elab_signature_hint"},
    {"x", "", "fp32:8", {}, {}, "elab_signature_hint"},
    {"n", "", "i32:=", {}, {}, "elab_signature_hint"},
    {"n", "", "i32:=-", {}, {}, "elab_signature_hint"},
    {"n", "", "i32:=4k", {}, {}, "elab_signature_hint"},
    {"n", "", "i8:=128", {}, {}, "elab_signature_hint"},
    {"n", "", "u8:=-1", {}, {}, "elab_signature_hint"},
    {"n", "", "i64:=9223372036854775808", {}, {}, "elab_signature_hint"},
    {"B: tl.constexpr", "", "i32", {}, {}, "elab_signature_constexpr"},
    {"B: tl.constexpr", "", "", {}, {NAMED("B", "1 +")}, "parse_expected"},
    {"B: tl.constexpr", "", "", {}, {NAMED("B", "nothing")}, "elab_unknown_name"},
    {"*ps", "", "*fp32", {}, {}, "elab_construct"},
};

static uint32_t count_named(const NamedText *list) {
    return (list[0].name.len > 0) + (list[1].name.len > 0);
}

static void describe(const Elaborated *kernel, StrBuf *out) {
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        const KernelParam *p = &kernel->params[i];
        strbuf_puts(out, i ? " " : "");
        if (memchr(p->name.ptr, '.', p->name.len))
            strbuf_printf(out, "%.*s ", STR_ARG(p->name));
        strbuf_printf(out, "%s%.*s%s", p->is_constexpr ? "=" : "", STR_ARG(p->text),
                      p->divisible == 16  ? ":16"
                      : p->divisible == 8 ? ":8"
                                          : "");
        if (p->is_fixed)
            strbuf_printf(out, ":=%lld", (long long)p->fixed);
    }
}

static void test_cases(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *c = &cases[i];
        char source[512];
        snprintf(
            source, sizeof source,
            "import triton\nimport triton.language as tl\n@triton.jit%s\ndef k(%s):\n    pass\n",
            c->decorator, c->params);
        Ctx *ctx = ctx_create();
        assert_non_null(ctx);
        ctx->arena.oom = NULL; /* out of memory aborts the test */
        uint32_t file = source_add(&ctx->sources, STR("k.tile"), str_from(source));
        AstFile *syntax = parse_file(&ctx->diags, file);
        ElaborateRequest request = {.file = file,
                                    .signature = str_from(c->signature),
                                    .types = c->types,
                                    .type_count = count_named(c->types),
                                    .defines = c->defines,
                                    .define_count = count_named(c->defines)};
        Elaborated kernel;
        StrBuf got = strbuf(&ctx->arena);
        if (frontend_elaborate(ctx, syntax, &request, &kernel))
            describe(&kernel, &got);
        else
            strbuf_puts(&got, diag_name(ctx->diags.first->id));
        if (strcmp(got.ptr, c->wanted) != 0)
            fail_msg("%s with %s: %s, wanted %s", c->params, c->signature, got.ptr, c->wanted);
        ctx_destroy(ctx);
    }
}

/* Divisibility reaches the function; an argument that is 1 stays a parameter and is a constant
 * inside. */
static void test_function(void **state) {
    Ctx *ctx = ctx_create();
    assert_non_null(ctx);
    ctx->arena.oom = NULL;
    uint32_t file = source_add(&ctx->sources, STR("k.tile"),
                               STR("import triton\n@triton.jit\ndef k(p, n, B: tl.constexpr, m):\n"
                                   "    tl.store(p, n + B + m)\n"));
    ElaborateRequest request = {.file = file,
                                .signature = STR("*i32:16, i32:1, 4, i64:16"),
                                .num_warps = 2,
                                .num_stages = 3,
                                .capability = 90};
    Elaborated kernel;
    assert_true(frontend_elaborate(ctx, parse_file(&ctx->diags, file), &request, &kernel));
    const Func *func = kernel.func;
    assert_int_equal(func->body->nargs, 3);
    assert_int_equal(func->params[0].divisible, 16);
    assert_int_equal(func->params[1].divisible, 0);
    assert_int_equal(func->params[2].divisible, 16);
    assert_true(value_unused(&func->body->args[1]));
    assert_ptr_equal(func->body->args[2].type, type_scalar(ctx, DT_I64));
    assert_int_equal(func->num_warps, 2);
    assert_int_equal(func->num_stages, 3);
    assert_int_equal(func->capability, 90);
    ctx_destroy(ctx);
}

/* One spelling by name: hints of items stay where those of parameters are dropped. */
static void test_by_name(void **state) {
    static const struct {
        const char *given, *wanted;
    } rows[] = {
        {"(  *float16:16,=4 ,( i64:=1,))", "(*fp16:16, =4, (i64:1))"},
        {"((i32 , =( 1,2 )), tensordesc< float32[ 4,16 ] , nan >)",
         "((i32, =( 1,2 )), tensordesc<fp32[4, 16], nan>)"},
        {"tensordesc<fp16[16, 64],zero>", "tensordesc<fp16[16, 64]>"},
        {"(tensordesc<half[16]> :8)", "(tensordesc<fp16[16]>:8)"},
        {DEEP(int32), DEEP(int32)}, /* refused later */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Ctx *ctx = ctx_create();
        assert_non_null(ctx);
        ctx->arena.oom = NULL;
        uint32_t file = source_add(&ctx->sources, STR("k.tile"),
                                   STR("import triton\n@triton.jit(do_not_specialize=['x'])\n"
                                       "def k(x):\n    pass\n"));
        AstFile *syntax = parse_file(&ctx->diags, file);
        const FuncDef *def = frontend_find_kernel(ctx, syntax, STR(""));
        const NamedText type = {STR("x"), str_from(rows[i].given)};
        ElaborateRequest request = {.file = file, .types = &type, .type_count = 1}, by_name;
        assert_true(frontend_by_name(ctx, def, &request, &by_name));
        assert_int_equal(by_name.type_count, 1);
        assert_int_equal(by_name.define_count, 0);
        assert_string_equal(str_dup(&ctx->arena, by_name.types[0].text), rows[i].wanted);
        ctx_destroy(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases),
                                       cmocka_unit_test(test_function),
                                       cmocka_unit_test(test_by_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
