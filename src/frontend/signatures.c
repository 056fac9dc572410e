#include "frontend/signatures.h"

Signatures signatures_read(Ctx *ctx) {
    Signatures signatures;
    for (int i = 0; i < LIBRARY_COUNT; i++) {
        Str path = str_from(libraries[i].path), text = libraries[i].text();
        signatures.files[i].text = text;
        signatures.files[i].syntax = parse_file(&ctx->diags, source_add(&ctx->sources, path, text));
    }
    return signatures;
}

static void print_std_params(const Signatures *signatures, const Builtin *builtin, StrBuf *out) {
    const SignatureFile *file = &signatures->files[builtin_library(builtin)];
    const FuncDef *def = NULL;
    for (uint32_t i = 0; i < file->syntax->body.count; i++) {
        const Stmt *stmt = file->syntax->body.items[i];
        if (stmt->kind == STMT_def && str_is(stmt->u.def->name, builtin->name))
            def = stmt->u.def;
    }
    for (uint32_t i = 0; def && i < def->param_count; i++) {
        const Param *param = &def->params[i];
        strbuf_printf(out, "%s%.*s", i ? ", " : "", STR_ARG(param->name));
        if (!param->default_value)
            continue;
        Span span = param->default_value->span;
        strbuf_printf(out, "=%.*s", (int)(span.hi - span.lo), file->text.ptr + span.lo);
    }
}

void signatures_print(const Signatures *signatures, const Builtin *builtin, StrBuf *out) {
    if (builtin->flags & BUILTIN_STD)
        print_std_params(signatures, builtin, out);
    else
        strbuf_puts(out, builtin->params);
}
