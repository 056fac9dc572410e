/* A .tir file whose values have layouts to PTX on standard output, for the text tests of code
 * generation: tir_to_ptx FILE [--before | --after] [--lines] [--time] [--O<n>]. The first function
 * is compiled; it must say its launch shape. --before and --after print LLVM IR instead. */
#include "codegen/codegen.h"
#include "support/source.h"
#include <stdio.h>
#include <stdlib.h>

static Str read_all(Ctx *ctx, const char *path) {
    FILE *file = fopen(path, "rb");
    StrBuf text = strbuf(&ctx->arena);
    char chunk[4096];
    size_t n;
    if (!file) {
        perror(path);
        exit(3);
    }
    while ((n = fread(chunk, 1, sizeof chunk, file)) > 0)
        strbuf_add(&text, chunk, n);
    fclose(file);
    return strbuf_str(&text);
}

int main(int argc, char **argv) {
    CodegenOptions options = {0};
    bool before = false, after = false, times = false;
    const char *path = NULL;
    int repeats = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--before") == 0)
            before = options.keep_llvm = true;
        else if (strcmp(argv[i], "--after") == 0)
            after = options.keep_llvm = true;
        else if (strcmp(argv[i], "--lines") == 0)
            options.line_info = true;
        else if (strcmp(argv[i], "--time") == 0)
            times = true, repeats = 5;
        else if (strncmp(argv[i], "--O", 3) == 0)
            options.llvm_level = atoi(argv[i] + 3);
        else
            path = argv[i];
    }
    Ctx *ctx = ctx_create();
    if (!ctx || !path)
        return 2;
    ctx->arena.oom = ctx->scratch.oom = NULL; /* running out of memory aborts */
    Module *module =
        module_parse(ctx, source_add(&ctx->sources, str_from(path), read_all(ctx, path)));
    CodegenResult result = {0};
    bool ok = module && module->funcs;
    for (int i = 0; ok && i < repeats; i++) {
        ok = codegen_ptx(module->funcs, &options, &result);
        if (ok && times)
            fprintf(stderr, "build %.2f ms, optimise %.2f ms, emit %.2f ms\n", result.build_ms,
                    result.optimise_ms, result.emit_ms);
    }
    StrBuf messages = strbuf(&ctx->arena);
    diag_print_all(&ctx->diags, &messages);
    if (messages.len)
        fprintf(stderr, "%s", messages.ptr);
    Str text = before ? result.llvm_before : after ? result.llvm_after : result.ptx;
    if (ok)
        printf("%.*s", STR_ARG(text));
    ctx_destroy(ctx);
    return ok ? 0 : 1;
}
