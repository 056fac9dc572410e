/* Shared by the tests of code generation: text of Tile IR to PTX, and ptxas on it where there is
 * one. */
#ifndef TILEC_TESTS_CODEGEN_TESTING_H
#define TILEC_TESTS_CODEGEN_TESTING_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codegen/codegen.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Running out of memory aborts. */
static inline Ctx *testing_ctx(void) {
    Ctx *ctx = ctx_create();
    assert_non_null(ctx);
    ctx->arena.oom = ctx->scratch.oom = NULL;
    return ctx;
}

static inline const char *testing_messages(Ctx *ctx) {
    StrBuf out = strbuf(&ctx->arena);
    diag_print_all(&ctx->diags, &out);
    return out.ptr ? out.ptr : "";
}

static inline Module *testing_module(Ctx *ctx, Str text) {
    Module *module = module_parse(ctx, source_add(&ctx->sources, STR("test.tir"), text));
    if (!module)
        fail_msg("%s", testing_messages(ctx));
    return module;
}

static inline CodegenResult testing_codegen(Func *func, int capability, CodegenOptions options) {
    CodegenResult result;
    func->capability = capability;
    if (!codegen_ptx(func, &options, &result))
        fail_msg("%.*s for %d: %s", STR_ARG(func->name), capability,
                 testing_messages(func_ctx(func)));
    return result;
}

/* The PTX of the first function of `text` for sm_90a, in the context's arena. */
static inline const char *testing_ptx(Ctx *ctx, const char *text) {
    return testing_codegen(testing_module(ctx, str_from(text))->funcs, 90, (CodegenOptions){0})
        .ptx.ptr;
}

static inline unsigned testing_count(const char *text, const char *what) {
    unsigned count = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        count++;
    return count;
}

static inline const char *testing_ptxas(void) {
    static const char *const places[] = {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

/* What `ptxas -v` says about the PTX; fails the test if it is rejected or registers spill. NULL
 * without a ptxas. */
static inline const char *testing_assemble(Ctx *ctx, Str ptx, const char *arch) {
    const char *ptxas = testing_ptxas();
    if (!ptxas)
        return NULL;
    char path[] = "/tmp/tilec_codegen_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, ptx.ptr, ptx.len), (ssize_t)ptx.len);
    close(fd);
    char *command =
        str_format(&ctx->arena, "%s -v -arch=%s %s -o /dev/null 2>&1", ptxas, arch, path);
    FILE *pipe = popen(command, "r");
    StrBuf log = strbuf(&ctx->arena);
    strbuf_puts(&log, "");
    char chunk[1024];
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, pipe)) > 0;)
        strbuf_add(&log, chunk, n);
    int status = pclose(pipe);
    if (status != 0)
        fail_msg("%s: %s (PTX kept)", path, log.ptr);
    unlink(path);
    return log.ptr;
}
#endif
