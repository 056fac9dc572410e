/* What subcommands write, and where. */
#include "cli/cli.h"
#include "runtime/status.h"
#include "support/file.h"

#include <stdarg.h>
#include <stdio.h>

void cli_print_diags(Ctx *ctx) {
    StrBuf text = strbuf(&ctx->arena);
    diag_print_all(&ctx->diags, &text);
    if (text.len)
        fwrite(text.ptr, 1, text.len, stderr);
    DiagMark none = diag_mark(&ctx->diags);
    none.last = NULL;
    diag_rewind(&ctx->diags, none);
}

void cli_write(Str text) {
    fwrite(text.ptr, 1, text.len, stdout);
}

void cli_printf(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vfprintf(stdout, format, args);
    va_end(args);
}

bool cli_write_file(Ctx *ctx, const char *path, Str text) {
    if (path && cli_is_output(path)) {
        cli_write(text);
        return true;
    }
    const int error = path ? file_write(&ctx->arena, path, text, false) : 0;
    return !error || report_unwritable(&ctx->diags, path, error);
}

bool cli_try_write(Ctx *ctx, const char *path) {
    const int error = path && !cli_is_output(path) ? file_try_write(&ctx->arena, path) : 0;
    return !error || report_unwritable(&ctx->diags, path, error);
}

int cli_usage_error(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("tilec: error: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return STATUS_USAGE;
}
