/* What the versions of the language make of constructs that they differ in: types and values, what
 * is refused, what is said. */
#include "elaborate_testing.h"

typedef struct Row {
    const char *what, *body;
    DiagId older, unasked, newer; /* said; DIAG_COUNT: nothing */
    int32_t version;              /* the first of those that are newer */
} Row;

#define N DIAG_COUNT

/* x: fp32[4], h: fp16[4], b: bf16[4], s: i8[4], w: u32[4]. A row that gives a type asserts it as
 * TYPE(older, newer), by a version that the test defines. */
static const Row rows[] = {
    {"sum of bytes", "TYPE(tl.sum(s, 0), tl.int8, tl.int32)", N, N, N, 33},
    {"sum of bf16", "TYPE(tl.sum(b, 0), tl.float32, tl.bfloat16)", N, N, N, 33},
    {"cumsum of bytes", "TYPE(tl.cumsum(s, 0), tl.int8, tl.int32)", N, N, N, 34},
    {"cumprod of bytes", "TYPE(tl.cumprod(s, 0), tl.int8, tl.int32)", N, DIAG_language_changed, N,
     39},
    {"cumprod of bf16", "TYPE(tl.cumprod(b, 0), tl.float32, tl.bfloat16)", N, DIAG_language_changed,
     N, 39},
    {"cumsum of bf16", "TYPE(tl.cumsum(b, 0), tl.float32, tl.bfloat16)", N, DIAG_language_changed,
     N, 39},
    {"minimum of bf16", "TYPE(tl.minimum(b, b), tl.float32, tl.bfloat16)", N, DIAG_language_changed,
     N, 39},
    {"maximum of fp16 and a number", "TYPE(tl.maximum(h, 1.0), tl.float32, tl.float16)", N,
     DIAG_language_changed, N, 39},
    {"minimum of fp32 and a number", "TYPE(tl.minimum(x, 1.0), tl.float32, tl.float32)", N, N, N,
     39},
    {"minimum of bytes and a number", "TYPE(tl.minimum(s, 1), tl.int32, tl.int8)", N,
     DIAG_language_changed, N, 39},
    {"clamp of fp16 between numbers", "TYPE(tl.clamp(h, 0.0, 1.0), tl.float32, tl.float16)", N,
     DIAG_language_changed, N, 39},
    {"clamp of integers", "TYPE(tl.clamp(s.to(tl.int32), 0, 3), tl.int32, tl.int32)",
     DIAG_language_newer, N, N, 39},
    {"maximum with its index",
     "TYPE(tl.max(b, 0, return_indices=True)[0], tl.float32, tl.bfloat16)", N,
     DIAG_language_changed, N, 39},
    {"comparison of fp16 with 0.1", "r = h < 0.1", N, DIAG_language_changed, N, 39},
    {"comparison of fp16 with 0.5", "r = h < 0.5", N, N, N, 39},
    {"comparison of a byte with 300", "r = s < 300", N, DIAG_language_changed,
     DIAG_elab_int_too_big, 39},
    {"comparison of a byte with -300", "r = s > -300", N, DIAG_language_changed,
     DIAG_elab_int_too_big, 39},
    {"comparison of u32 with -1", "r = w > -1", DIAG_elab_negative_compared,
     DIAG_elab_negative_compared, DIAG_elab_negative_unsigned, 39},
    {"random with an offset of 64 bits",
     "TYPE(tl.randint(1, i.to(tl.int64)), tl.uint64, tl.uint32)", N, N, N, 34},
    {"a name", "r = tl.squeeze(x[:, None], 1)", DIAG_language_newer, N, N, 37},
    {"a method", "r = x.reduce_or(0) if False else x.item() if False else s.reduce_or(0)",
     DIAG_language_newer, N, N, 34},
    {"a parameter", "r = tl.sum(s, 0, dtype=tl.int64)", DIAG_language_newer, N, N, 33},
    {"a parameter of a name that there was", "r = tl.fdiv(x, 2.0, approx=True)",
     DIAG_language_newer, N, N, 39},
    {"flip", "r = tl.flip(tl.join(x, x), 0)", DIAG_language_newer, N, N, 34},
    {"a small product", "r = tl.dot(tl.join(h, h), tl.join(h, h).T)", DIAG_language_newer, N, N,
     38},
    {"block pointers", "r = tl.load(tl.make_block_ptr(p, [4], [1], [0], [4], [0]))", N, N,
     DIAG_language_ended, 39},
    {"histogram of bytes", "r = tl.histogram(s, 4)", N, N, DIAG_language_ended, 39},
    {"both ways to divide", "r = tl.fdiv(x, x, ieee_rounding=True, approx=True)",
     DIAG_language_newer, DIAG_elab_fdiv_both, DIAG_elab_fdiv_both, 39},
    {"what a module has",
     "TYPE(tl.full([4], 1, tl.int8 if hasattr(tl, 'atomic_poll') else tl.int32), tl.int32, "
     "tl.int8)",
     N, N, N, 39},
};

/* TYPE(value, older, newer) as an assertion. */
static const char *expanded(Arena *arena, const char *body, bool newer) {
    if (strncmp(body, "TYPE(", 5) != 0)
        return body;
    const char *comma[2] = {NULL, NULL};
    for (const char *at = body; *at; at++)
        if (*at == ',') {
            comma[0] = comma[1];
            comma[1] = at;
        }
    const char *from = newer ? comma[1] + 1 : comma[0] + 1,
               *to = newer ? strrchr(body, ')') : comma[1];
    return str_format(arena, "tl.static_assert((%.*s).dtype ==%.*s)", (int)(comma[0] - body - 5),
                      body + 5, (int)(to - from), from);
}

static void check(const Row *row, int32_t language, bool newer, DiagId wanted) {
    Ctx *ctx = ctx_create();
    const char *source = str_format(&ctx->arena,
                                    "import triton\nimport triton.language as "
                                    "tl\n\n@triton.jit\ndef k(p, n):\n    i = tl.arange(0, 4)\n"
                                    "    x = tl.load(p + i)\n    h = x.to(tl.float16)\n    b = "
                                    "x.to(tl.bfloat16)\n    s = x.to(tl.int8)\n"
                                    "    w = x.to(tl.uint32)\n    %s\n",
                                    expanded(&ctx->arena, row->body, newer));
    const uint32_t file = source_add(&ctx->sources, STR("k.tile"), str_from(source));
    AstFile *syntax = parse_file(&ctx->diags, file);
    const ElaborateRequest request = {
        .file = file, .kernel = STR("k"), .signature = STR("*fp32, i32"), .language = language};
    Elaborated kernel;
    frontend_elaborate(ctx, syntax, &request, &kernel);
    const DiagId said = ctx->diags.first ? ctx->diags.first->id : DIAG_COUNT;
    if (said != wanted) {
        StrBuf out = strbuf(&ctx->arena);
        diag_print_all(&ctx->diags, &out);
        fail_msg("%s, language %d: wanted %s\n%s\n%s", row->what, language,
                 wanted == N ? "nothing" : diag_name(wanted), source, out.ptr ? out.ptr : "");
    }
    ctx_destroy(ctx);
}

static void versions_differ(void **state) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Row *row = &rows[i];
        check(row, row->version - 1, false, row->older);
        check(row, row->version, true, row->newer);
        /* Where none is asked for: 3.6's, or the only meaning there is. */
        check(row, 0, row->version <= 36 || strstr(row->body, "hasattr"), row->unasked);
    }
}

static void versions_outside_are_refused(void **state) {
    check(&rows[0], 31, false, DIAG_language_unknown);
    check(&rows[0], 40, false, DIAG_language_unknown);
    assert_int_equal(frontend_language(STR("3.6")), 36);
    assert_int_equal(frontend_language(STR("3.1")), 0);
    assert_int_equal(frontend_language(STR("3.10")), 0);
    assert_int_equal(frontend_language(STR("36")), 0);
    assert_int_equal(frontend_language(STR("")), 0);
}

/* Values: y = f(x) of four elements. */
static void values_differ(void **state) {
    static const struct {
        const char *body;
        int32_t version;
        double older[4], newer[4];
        enum { BOTH, ONLY_OLDER, ONLY_NEWER } run;
    } cases[] = {
        {"tl.store(q + i, (x - 2.5) % 2.0)",
         33,
         {1.5, 0.5, 1.5, 0.5},
         {-0.5, -1.5, 1.5, 0.5},
         BOTH},
        /* 255 is -1 as a signed offset of 8 bits; one of the two is out of bounds. */
        {"tl.store(q + 1 + (i + 255).to(tl.uint8), x, mask=i == 0)",
         33,
         {2, 9, 9, 9},
         {0},
         ONLY_OLDER},
        {"tl.store(q - 255 + (i + 255).to(tl.uint8), x, mask=i == 0)",
         33,
         {0},
         {2, 9, 9, 9},
         ONLY_NEWER},
        {"tl.store(q + i, 1.0 / (-(x - x)))",
         38,
         {INFINITY, INFINITY, INFINITY, INFINITY},
         {-INFINITY, -INFINITY, -INFINITY, -INFINITY},
         BOTH},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int newer = 0; newer < 2; newer++) {
            if (cases[c].run == (newer ? ONLY_OLDER : ONLY_NEWER))
                continue;
            Ctx *ctx = ctx_create();
            const char *source = str_format(
                &ctx->arena,
                "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(p, q):\n"
                "    i = tl.arange(0, 4)\n    x = tl.load(p + i)\n    %s\n",
                cases[c].body);
            KernelRun run = {.ctx = ctx, .options = {.grid = {1, 1, 1}, .max_steps = 1000000}};
            const uint32_t file = source_add(&ctx->sources, STR("k.tile"), str_from(source));
            AstFile *syntax = parse_file(&ctx->diags, file);
            const ElaborateRequest request = {.file = file,
                                              .kernel = STR("k"),
                                              .signature = STR("*fp32, *fp32"),
                                              .language = cases[c].version - 1 + newer};
            if (!frontend_elaborate(ctx, syntax, &request, &run.kernel))
                fail_msg("%s\n%s", source, run_messages(&run));
            static const double given[4] = {2, 1, 4, 3}, nine[4] = {9, 9, 9, 9};
            run_array(&run, ELEM_F32, 4, given);
            TestArray *out = run_array(&run, ELEM_F32, 4, nine);
            run_kernel(&run);
            expect_elements(cases[c].body, out, newer ? cases[c].newer : cases[c].older);
            run_end(&run);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(versions_differ),
                                       cmocka_unit_test(versions_outside_are_refused),
                                       cmocka_unit_test(values_differ)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
