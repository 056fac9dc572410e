/* What a compilation reads: files given in memory or by a callback before those on disk; parsing
 * one. */
#include "runtime/compile/compile.h"

#include "runtime/compile/stack.h"
#include "runtime/status.h"

/* Paths of imports begin with the folder of the importing file, be it ".". */
static Str without_dots(Str path) {
    while (path.len > 2 && path.ptr[0] == '.' && path.ptr[1] == '/')
        path = (Str){path.ptr + 2, path.len - 2};
    return path;
}

static bool read_given(void *user, Str path, Str *text) {
    const CompileRequest *request = user;
    for (uint32_t i = 0; i < request->file_count; i++) {
        if (str_eq(without_dots(request->files[i].name), without_dots(path))) {
            *text = request->files[i].text;
            return true;
        }
    }
    return request->reader.read && request->reader.read(request->reader.user, path, text);
}

void compile_use_files(Ctx *ctx, const CompileRequest *request) {
    const bool has_files = request->file_count || request->reader.read;
    ctx->sources.full_paths = request->full_paths;
    ctx->sources.folder = request->folder;
    ctx->sources.files = (SourceFiles){has_files ? read_given : NULL, (void *)(uintptr_t)request};
}

uint32_t compile_read(Ctx *ctx, const char *path, Str text) {
    if (!text.ptr) {
        int error = source_read(&ctx->sources, path, FRONTEND_SOURCE_LIMIT, &text);
        if (error) {
            report_unreadable(&ctx->diags, path, error);
            return 0;
        }
    }
    return source_add(&ctx->sources, str_from(path), text);
}

typedef struct Parse {
    Ctx *ctx;
    uint32_t file;
    AstFile *syntax;
} Parse;

static void parse_on_stack(void *user) {
    Parse *parse = user;
    parse->syntax = parse_file(&parse->ctx->diags, parse->file);
}

AstFile *compile_parse(Ctx *ctx, const char *path, Str text, uint32_t *file) {
    Parse parse = {.ctx = ctx, .file = compile_read(ctx, path, text)};
    *file = parse.file;
    if (!parse.file || !stack_run(ctx, parse_on_stack, &parse))
        return NULL;
    return ctx->diags.errors ? NULL : parse.syntax;
}
