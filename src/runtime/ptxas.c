/* ptxas reads and writes files: both lie in a folder of their own under TMPDIR, removed at the end.
 */
#include "runtime/ptxas.h"

#include "runtime/process.h"
#include "runtime/status.h"
#include "support/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CUBIN_LIMIT = 256 << 20 };

static const char PTXAS_VARIABLE[] = "TILEC_PTXAS";

const char *ptxas_find(Arena *arena, const char *wanted) {
    const char *path = wanted && *wanted ? str_dup(arena, str_from(wanted))
                                         : tool_find(arena, "ptxas", PTXAS_VARIABLE);
    return path && strcmp(path, "none") ? path : NULL;
}

const char *ptxas_identity(Arena *arena, const char *path) {
    struct stat info;
    char real[PATH_MAX];
    if (stat(path, &info) || !realpath(path, real))
        return path;
    return str_format(arena, "%s %lld %lld.%09ld", real, (long long)info.st_size,
                      (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

const char *ptxas_version(Arena *arena, const char *path) {
    const char *argv[] = {path, "--version", NULL};
    ProcessResult result;
    if (process_run(arena, argv, &result) || result.exit_code != 0)
        return "";
    static const char marker[] = "release ";
    const char *at = memmem(result.output.ptr, result.output.len, marker, sizeof marker - 1);
    if (!at)
        return "";
    const char *version = at + sizeof marker - 1;
    const char *end =
        memchr(version, '\n', (size_t)(result.output.ptr + result.output.len - version));
    return end ? str_dup(arena, (Str){version, (size_t)(end - version)}) : "";
}

static bool has(Str line, const char *part) {
    return line.len && memmem(line.ptr, line.len, part, strlen(part));
}

/* What ptxas says of products of warpgroups that it makes wait for each other, and of register
 * counts of warpgroups that it does not set, as information: C7508, C7510 to C7519. */
static const char pipeline_message[] = "(C75";

unsigned assembler_report(Ctx *ctx, Str log) {
    unsigned errors = 0;
    while (log.len) {
        const char *newline = memchr(log.ptr, '\n', log.len);
        Str line = {log.ptr, newline ? (size_t)(newline - log.ptr) : log.len};
        size_t skip = newline ? line.len + 1 : line.len;
        log = (Str){log.ptr + skip, log.len - skip};
        /* "ptxas kernel.ptx, line 4; error   : ..." and "ptxas fatal   : ..." */
        bool error = has(line, "error   :") || has(line, "fatal   :");
        if (error)
            ctx_diag(ctx, (Span){0}, ptxas_error, STR_ARG(line));
        else if (has(line, "warning :") || has(line, "warning:"))
            ctx_diag(ctx, (Span){0}, ptxas_warning, STR_ARG(line));
        else if (has(line, pipeline_message))
            ctx_diag(ctx, (Span){0}, ptxas_serialises, STR_ARG(line));
        errors += error;
    }
    return errors;
}

static bool report_exit(Ctx *ctx, const ProcessResult *result) {
    if (assembler_report(ctx, result->output))
        return false;
    const char *how = result->signal ? str_format(&ctx->arena, "signal %d", result->signal)
                                     : str_format(&ctx->arena, "exit status %d", result->exit_code);
    return ctx_diag(ctx, (Span){0}, ptxas_failed, how);
}

static bool run_ptxas(Ctx *ctx, const char *path, const AssembleRequest *request, const char *input,
                      const char *output, ProcessResult *result) {
    const char *argv[10] = {path, "-v", "-O3", "-arch", request->target->name, input, "-o", output};
    if (request->line_info)
        argv[8] = "-lineinfo";
    int error = process_run(&ctx->arena, argv, result);
    if (!error)
        return true;
    const char *text = file_error_text(&ctx->arena, error);
    const char *named = getenv(PTXAS_VARIABLE);
    if (named && !strcmp(named, path))
        return ctx_diag(ctx, (Span){0}, tool_unusable, PTXAS_VARIABLE, path, text);
    return ctx_diag(ctx, (Span){0}, tool_failed, path, text);
}

/* Writes without flushing to disk: the file lives for the length of one ptxas run. */
static int write_scratch(const char *path, Str data) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    int error = 0;
    for (size_t done = 0; done < data.len && !error;) {
        ssize_t n = write(fd, data.ptr + done, data.len - done);
        if (n < 0 && errno != EINTR)
            error = errno;
        else if (n > 0)
            done += (size_t)n;
    }
    if (close(fd) && !error)
        error = errno;
    return error;
}

static bool assemble_in(Ctx *ctx, const char *path, const AssembleRequest *request,
                        const char *input, const char *output, Str *cubin, Resources *resources) {
    int error = write_scratch(input, request->ptx);
    if (error)
        return report_unwritable(&ctx->diags, input, error);
    ProcessResult result;
    if (!run_ptxas(ctx, path, request, input, output, &result))
        return false;
    if (result.exit_code != 0)
        return report_exit(ctx, &result);
    assembler_report(ctx, result.output);
    error = file_read(&ctx->arena, output, CUBIN_LIMIT, cubin);
    if (error)
        return report_unreadable(&ctx->diags, output, error);
    resources_parse(result.output, request->kernel, resources);
    return true;
}

bool ptxas_assemble(Ctx *ctx, const char *path, const AssembleRequest *request, Str *cubin,
                    Resources *resources) {
    const char *root = getenv("TMPDIR");
    if (!root || !*root)
        root = "/tmp";
    char *folder = str_format(&ctx->arena, "%s/tilec-XXXXXX", root);
    if (!mkdtemp(folder))
        return ctx_diag(ctx, (Span){0}, folder_unwritable, folder,
                        file_error_text(&ctx->arena, errno));
    const char *input = str_format(&ctx->arena, "%s/kernel.ptx", folder);
    const char *output = str_format(&ctx->arena, "%s/kernel.cubin", folder);
    bool ok = assemble_in(ctx, path, request, input, output, cubin, resources);
    unlink(input);
    unlink(output);
    rmdir(folder);
    return ok;
}
