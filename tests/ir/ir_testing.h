/* Shared by the tests of the IR: a context that fails the test when memory runs out, and parsing of
 * snippets. */
#ifndef TILEC_TESTS_IR_TESTING_H
#define TILEC_TESTS_IR_TESTING_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/ir.h"

#include <stdio.h>

/* Running out of memory aborts. */
static inline Ctx *testing_ctx(void) {
    Ctx *ctx = ctx_create();
    assert_non_null(ctx);
    ctx->arena.oom = ctx->scratch.oom = NULL;
    return ctx;
}

static inline Module *testing_parse(Ctx *ctx, const char *text) {
    return module_parse(ctx, source_add(&ctx->sources, STR("test.tir"), str_from(text)));
}

/* Parses text that must be right; its diagnostics are shown otherwise. */
static inline Module *testing_parse_good(Ctx *ctx, const char *text) {
    Module *module = testing_parse(ctx, text);
    if (!module) {
        StrBuf messages = strbuf(&ctx->arena);
        diag_print_all(&ctx->diags, &messages);
        print_message("%s", messages.ptr);
        fail();
    }
    return module;
}

static inline const char *testing_print(const Module *module) {
    StrBuf out = strbuf(&module->ctx->arena);
    module_print(module, NULL, &out);
    return out.ptr ? out.ptr : "";
}

static inline const char *testing_messages(Ctx *ctx) {
    StrBuf out = strbuf(&ctx->arena);
    diag_print_all(&ctx->diags, &out);
    return out.ptr ? out.ptr : "";
}

static inline bool testing_has_diag(const Ctx *ctx, DiagId id) {
    for (const Diagnostic *d = ctx->diags.first; d; d = d->next)
        if (d->id == id)
            return true;
    return false;
}
#endif
