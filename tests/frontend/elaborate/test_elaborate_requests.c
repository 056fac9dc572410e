/* Requests that name no kernel, or another one than there is, and functions that nest or return too
 * often: the id of the first message, and that it is the only one. */
#include "frontend/frontend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define JIT "@triton.jit\n"
#define KERNEL JIT "def k(p, n):\n    tl.store(p, n)\n"
#define FOLDER TILEC_SOURCE_DIR "/tests/frontend/elaborate/Inputs/"

typedef struct Row {
    const char *source, *kernel, *entry_name;
    DiagId wanted;
} Row;

static const Row rows[] = {
    {"def k(p, n):\n    pass\n", "", "", DIAG_elab_no_kernels},
    {KERNEL, "kk", "", DIAG_elab_unknown_kernel},
    {KERNEL JIT "def other(p, n):\n    tl.store(p, n)\n", "", "", DIAG_elab_which_kernel},
    {KERNEL, "k", "4k", DIAG_elab_entry_name},
    {KERNEL, "k", "k.4", DIAG_elab_entry_name},
    {"from lib import lost\n" JIT "def k(p, n):\n    tl.store(p, lost(n))\n", "k", "",
     DIAG_elab_import_name},
};

static void elaborate(const char *what, Str source, const char *kernel, const char *entry_name,
                      DiagId wanted) {
    Ctx *ctx = ctx_create();
    assert_non_null(ctx);
    ctx->arena.oom = NULL; /* out of memory aborts the test */
    StrBuf text = strbuf(&ctx->arena);
    strbuf_printf(&text, "import triton\nimport triton.language as tl\n%.*s", STR_ARG(source));
    uint32_t file = source_add(&ctx->sources, STR(FOLDER "k.tile"), strbuf_str(&text));
    const AstFile *syntax = parse_file(&ctx->diags, file);
    ElaborateRequest request = {.file = file,
                                .kernel = str_from(kernel),
                                .entry_name = str_from(entry_name),
                                .signature = STR("*i32, i32")};
    Elaborated result;
    const bool ok = !ctx->diags.errors && frontend_elaborate(ctx, syntax, &request, &result);
    if (ok || ctx->diags.errors != 1 || ctx->diags.first->id != wanted)
        fail_msg("%s: %u errors, the first: %s", what, ctx->diags.errors,
                 ctx->diags.first ? ctx->diags.first->text : "none");
    ctx_destroy(ctx);
}

static void test_rows(void **state) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        elaborate(rows[i].source, str_from(rows[i].source), rows[i].kernel, rows[i].entry_name,
                  rows[i].wanted);
}

/* f0 calls f1, which calls f2, and so on: none calls itself. */
static void test_many_calls(void **state) {
    Arena arena = {0};
    StrBuf text = strbuf(&arena);
    enum { CALLS = 120 };
    for (int i = 0; i < CALLS; i++)
        strbuf_printf(&text, JIT "def f%d(x):\n    return f%d(x)\n", i, i + 1);
    strbuf_printf(&text, JIT "def f%d(x):\n    return x\n", CALLS);
    strbuf_puts(&text, JIT "def k(p, n):\n    tl.store(p, f0(n))\n");
    elaborate("many calls", strbuf_str(&text), "k", "", DIAG_elab_call_depth);
    arena_free(&arena);
}

static void test_many_returns(void **state) {
    Arena arena = {0};
    StrBuf text = strbuf(&arena);
    strbuf_puts(&text, JIT "def k(p, n):\n");
    for (int i = 0; i < 300; i++)
        strbuf_printf(&text, "    if n == %d:\n        return\n", i);
    strbuf_puts(&text, "    tl.store(p, n)\n");
    elaborate("many returns", strbuf_str(&text), "k", "", DIAG_elab_too_many_returns);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_many_calls),
        cmocka_unit_test(test_many_returns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
