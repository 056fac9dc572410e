/* What the kernels of a Tile IR file must compute, for tests/gpu/run.py: tile_expect FOLDER
 *
 *     FOLDER/cases.tir   functions with layouts
 *     FOLDER/inputs.txt  a line for each, in order: name, grid, then a<bytes> for an array,
 * i<value> for an integer, f<value> for a float FOLDER/inputs.bin  the arrays, one after another
 *
 * gives FOLDER/expected.bin (the arrays after the interpreter ran), FOLDER/<name>.ptx and
 * FOLDER/launch.txt (name, threads, programs of a CTA, shared bytes). Exit status 1 when a kernel
 * does not compile or the interpreter finds fault with it. */
#include "codegen/codegen.h"
#include "interp/interp.h"
#include "support/file.h"

#include <stdio.h>
#include <stdlib.h>

enum { FILE_LIMIT = 256 << 20, MAX_ARGS = 16 };

typedef struct Expect {
    Ctx *ctx;
    const char *folder;
    Str inputs; /* what of inputs.bin is not used yet */
    StrBuf expected, launch;
} Expect;

static const char *path_of(Expect *e, const char *file) {
    return file_join(&e->ctx->arena, str_from(e->folder), str_from(file));
}

static Str read_or_exit(Expect *e, const char *file) {
    Str text;
    int error = file_read(&e->ctx->arena, path_of(e, file), FILE_LIMIT, &text);
    if (!error)
        return text;
    fprintf(stderr, "tile_expect: %s: %s\n", file, file_error_text(&e->ctx->arena, error));
    exit(2);
}

static void write_or_exit(Expect *e, const char *file, Str text) {
    int error = file_write(&e->ctx->arena, path_of(e, file), text, false);
    if (!error)
        return;
    fprintf(stderr, "tile_expect: %s: %s\n", file, file_error_text(&e->ctx->arena, error));
    exit(2);
}

static bool complain(Expect *e, const Func *func) {
    StrBuf text = strbuf(&e->ctx->arena);
    diag_print_all(&e->ctx->diags, &text);
    fprintf(stderr, "%.*s: %s\n", STR_ARG(func->name), text.len ? text.ptr : "no message");
    e->ctx->diags = (Diags){.arena = e->ctx->diags.arena, .sources = e->ctx->diags.sources};
    return false;
}

/* One word of inputs.txt; an array's bytes are copied, since the run changes them. */
static void read_arg(Expect *e, const Func *func, uint32_t i, const char *word, InterpArg *arg,
                     InterpArray *arrays, uint32_t *narrays) {
    if (word[0] == 'f') {
        *arg = (InterpArg){.f = strtod(word + 1, NULL)};
        return;
    }
    int64_t number = strtoll(word + 1, NULL, 10);
    if (word[0] == 'i') {
        *arg = (InterpArg){.i = number};
        return;
    }
    size_t bytes = (size_t)number;
    if (bytes > e->inputs.len) {
        fprintf(stderr, "tile_expect: inputs.bin is too short\n");
        exit(2);
    }
    char *data = ARENA_ARRAY(&e->ctx->arena, char, bytes + 1);
    memcpy(data, e->inputs.ptr, bytes);
    e->inputs = (Str){e->inputs.ptr + bytes, e->inputs.len - bytes};
    *arg = (InterpArg){.is_array = true, .array = *narrays};
    arrays[(*narrays)++] =
        (InterpArray){.name = func->params[i].name, .data = data, .bytes = bytes};
}

/* `line` is changed: its words are separated. */
static bool expect_case(Expect *e, Func *func, char *line) {
    char *rest = line;
    const char *name = strtok_r(rest, " ", &rest), *grid = strtok_r(rest, " ", &rest);
    if (!name || !grid || !str_eq(str_from(name), func->name) || func->body->nargs > MAX_ARGS) {
        fprintf(stderr, "tile_expect: inputs.txt does not fit %.*s\n", STR_ARG(func->name));
        exit(2);
    }
    InterpArg args[MAX_ARGS] = {0};
    InterpArray arrays[MAX_ARGS] = {0};
    uint32_t narrays = 0;
    for (uint32_t i = 0; i < func->body->nargs; i++) {
        const char *word = strtok_r(rest, " ", &rest);
        read_arg(e, func, i, word ? word : "i0", &args[i], arrays, &narrays);
    }
    InterpOptions options = {.grid = {(uint32_t)strtoul(grid, NULL, 10), 1, 1}, .max_reports = 3};
    bool ok = interp_run(func, args, arrays, narrays, &options) || complain(e, func);
    for (uint32_t i = 0; i < narrays; i++)
        strbuf_add(&e->expected, arrays[i].data, arrays[i].bytes);
    CodegenResult code = {0};
    if (!codegen_ptx(func, &(CodegenOptions){0}, &code))
        return complain(e, func);
    write_or_exit(e, str_format(&e->ctx->arena, "%s.ptx", name), code.ptx);
    strbuf_printf(&e->launch, "%s %d %d %d\n", name, code.meta.threads, code.meta.programs_per_cta,
                  code.meta.shared_bytes);
    return ok;
}

int main(int argc, char **argv) {
    Ctx *ctx = ctx_create();
    if (argc != 2 || !ctx) {
        fprintf(stderr, "usage: tile_expect FOLDER\n");
        return 2;
    }
    ctx->arena.oom = ctx->scratch.oom = NULL; /* running out of memory aborts */
    Expect e = {.ctx = ctx, .folder = argv[1]};
    e.expected = e.launch = strbuf(&ctx->arena);
    e.inputs = read_or_exit(&e, "inputs.bin");
    Str lines = read_or_exit(&e, "inputs.txt");
    Module *module = module_parse(
        ctx, source_add(&ctx->sources, STR("cases.tir"), read_or_exit(&e, "cases.tir")));
    if (!module) {
        StrBuf text = strbuf(&ctx->arena);
        diag_print_all(&ctx->diags, &text);
        fprintf(stderr, "%s", text.ptr);
        return 2;
    }
    unsigned failed = 0;
    char *rest = (char *)str_dup(&ctx->arena, lines);
    for (Func *func = module->funcs; func; func = func->next) {
        char *line = strtok_r(rest, "\n", &rest);
        static char none[] = "";
        failed += !expect_case(&e, func, line ? line : none);
    }
    write_or_exit(&e, "expected.bin", strbuf_str(&e.expected));
    write_or_exit(&e, "launch.txt", strbuf_str(&e.launch));
    ctx_destroy(ctx);
    return failed != 0;
}
