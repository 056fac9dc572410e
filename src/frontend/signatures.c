#include "frontend/signatures.h"

extern const char std_tile_text[];
extern const unsigned std_tile_size;

Signatures signatures_read(Ctx *ctx) {
    Signatures signatures = {.text = {std_tile_text, std_tile_size}};
    signatures.syntax =
        parse_file(&ctx->diags, source_add(&ctx->sources, STR("std"), signatures.text));
    return signatures;
}

static void print_std_params(const Signatures *signatures, const char *name, StrBuf *out) {
    const FuncDef *def = NULL;
    for (uint32_t i = 0; i < signatures->syntax->body.count; i++) {
        const Stmt *stmt = signatures->syntax->body.items[i];
        if (stmt->kind == STMT_def && str_is(stmt->u.def->name, name))
            def = stmt->u.def;
    }
    for (uint32_t i = 0; def && i < def->param_count; i++) {
        const Param *param = &def->params[i];
        strbuf_printf(out, "%s%.*s", i ? ", " : "", STR_ARG(param->name));
        if (!param->default_value)
            continue;
        Span span = param->default_value->span;
        strbuf_printf(out, "=%.*s", (int)(span.hi - span.lo), signatures->text.ptr + span.lo);
    }
}

void signatures_print(const Signatures *signatures, const Builtin *builtin, StrBuf *out) {
    if (builtin->flags & BUILTIN_STD)
        print_std_params(signatures, builtin->name, out);
    else
        strbuf_puts(out, builtin->params);
}
