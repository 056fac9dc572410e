/* Elaborates one kernel and prints its IR before any pass, or the messages: the tests' window on
 * the front end.
 *
 *   tile_elaborate FILE [-k KERNEL] [-s SIGNATURE] [-D NAME=VALUE].. [-a NAME=TYPE].. [-I FOLDER]..
 * [-g]
 *                  [--spans] [--params] [--ids]
 *
 * -g keeps assertions; --ids prints the ids of messages alone. Exit status 0, or 1 after errors. */
#include "frontend/frontend.h"
#include "support/file.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LIST = 64 };

typedef struct Options {
    const char *file;
    ElaborateRequest request;
    NamedText types[MAX_LIST], defines[MAX_LIST];
    Str paths[MAX_LIST];
    bool spans, params, ids;
} Options;

static bool named(const char *text, NamedText *list, uint32_t *count) {
    const char *equals = strchr(text, '=');
    if (!equals || *count == MAX_LIST)
        return false;
    list[(*count)++] = (NamedText){{text, (size_t)(equals - text)}, str_from(equals + 1)};
    return true;
}

static bool parse_options(int argc, char **argv, Options *o) {
    o->request.types = o->types;
    o->request.defines = o->defines;
    o->request.search_paths = o->paths;
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--spans") == 0)
            o->spans = true;
        else if (strcmp(argv[i], "--params") == 0)
            o->params = true;
        else if (strcmp(argv[i], "--ids") == 0)
            o->ids = true;
        else if (strcmp(argv[i], "-g") == 0)
            o->request.debug = true;
        else if (argv[i][0] != '-')
            o->file = argv[i];
        else if (!next)
            return false;
        else if (strcmp(argv[i], "-k") == 0)
            o->request.kernel = str_from(argv[++i]);
        else if (strcmp(argv[i], "-s") == 0)
            o->request.signature = str_from(argv[++i]);
        else if (strcmp(argv[i], "-D") == 0 && named(next, o->defines, &o->request.define_count))
            i++;
        else if (strcmp(argv[i], "-a") == 0 && named(next, o->types, &o->request.type_count))
            i++;
        else if (strcmp(argv[i], "-I") == 0 && o->request.search_path_count < MAX_LIST)
            o->paths[o->request.search_path_count++] = str_from(argv[++i]);
        else
            return false;
    }
    return o->file != NULL;
}

static void print_params(const Elaborated *result, StrBuf *out) {
    for (uint32_t i = 0; i < result->param_count; i++) {
        const KernelParam *p = &result->params[i];
        strbuf_printf(out, "// %.*s: %s%.*s", STR_ARG(p->name), p->is_constexpr ? "= " : "",
                      STR_ARG(p->text));
        if (p->divisible > 1)
            strbuf_printf(out, ", multiple of %lld", (long long)p->divisible);
        if (p->is_fixed)
            strbuf_printf(out, ", is %lld", (long long)p->fixed);
        strbuf_putc(out, '\n');
    }
}

static int run(Ctx *ctx, Options *o) {
    Str text;
    int error = file_read(&ctx->arena, o->file, 1 << 26, &text);
    if (error) {
        fprintf(stderr, "%s: %s\n", o->file, file_error_text(&ctx->arena, error));
        return 2;
    }
    o->request.file = source_add(&ctx->sources, str_from(o->file), text);
    AstFile *syntax = parse_file(&ctx->diags, o->request.file);
    Elaborated result;
    bool ok = ctx->diags.errors == 0 && frontend_elaborate(ctx, syntax, &o->request, &result);
    StrBuf out = strbuf(&ctx->arena), messages = strbuf(&ctx->arena);
    if (ok && o->params)
        print_params(&result, &out);
    if (ok && !o->ids)
        module_print(result.module, &(PrintOptions){.spans = o->spans}, &out);
    for (const Diagnostic *d = ctx->diags.first; d; d = d->next) {
        if (o->ids)
            strbuf_printf(&messages, "%s\n", diag_name(d->id));
        else
            diag_print(&ctx->diags, d, &messages);
    }
    Str texts[2] = {strbuf_str(&out), strbuf_str(&messages)};
    for (int i = 0; i < 2; i++)
        fwrite(texts[i].ptr, 1, texts[i].len, stdout);
    return ok ? 0 : 1;
}

int main(int argc, char **argv) {
    Options *options = &(Options){0};
    if (!parse_options(argc, argv, options)) {
        fprintf(stderr, "usage: tile_elaborate FILE [options]\n");
        return 2;
    }
    Ctx *ctx = ctx_create();
    if (!ctx || setjmp(ctx->oom)) {
        ctx_destroy(ctx);
        fprintf(stderr, "out of memory\n");
        return 3;
    }
    int status = run(ctx, options);
    ctx_destroy(ctx);
    return status;
}
