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

uint32_t compile_read_request(Ctx *ctx, const CompileRequest *request) {
    const GivenUnits *units = &request->kernel.units;
    return units->count ? units_add_sources(&ctx->sources, units)
                        : compile_read(ctx, request->path, request->text);
}

typedef struct Parse {
    Ctx *ctx;
    uint32_t file;
    const GivenUnit *unit; /* NULL: it is a file */
    AstFile *syntax;
} Parse;

static void parse_on_stack(void *user) {
    Parse *parse = user;
    Diags *diags = &parse->ctx->diags;
    parse->syntax =
        parse->unit ? units_parse(diags, parse->file, parse->unit) : parse_file(diags, parse->file);
}

AstFile *compile_parse_read(Ctx *ctx, const CompileRequest *request, uint32_t file) {
    const GivenUnits *units = &request->kernel.units;
    Parse parse = {.ctx = ctx, .file = file, .unit = units->count ? units->list : NULL};
    return file && stack_run(ctx, parse_on_stack, &parse) && !ctx->diags.errors ? parse.syntax
                                                                                : NULL;
}

AstFile *compile_parse(Ctx *ctx, const char *path, Str text, uint32_t *file) {
    const CompileRequest request = {.path = path, .text = text};
    return compile_parse_request(ctx, &request, file);
}

AstFile *compile_parse_request(Ctx *ctx, const CompileRequest *request, uint32_t *file) {
    *file = compile_read_request(ctx, request);
    return compile_parse_read(ctx, request, *file);
}
