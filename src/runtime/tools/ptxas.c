/* ptxas and the disassemblers, which read and write files in a folder of their own. */
#include "runtime/tools/ptxas.h"

#include "runtime/status.h"
#include "runtime/tools/process.h"
#include "runtime/tools/work_folder.h"
#include "support/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { CUBIN_LIMIT = 256 << 20, VERSION_LIMIT_MS = 10000 };

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

const char *ptxas_content(Arena *arena, const char *path) {
    static const char elf[] = "\177ELF";
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    XXH128_hash_t hash = {0, 0};
    bool ok = fd >= 0 && fstat(fd, &info) == 0 && info.st_size > (off_t)sizeof elf;
    const size_t size = ok ? (size_t)info.st_size : 0;
    void *data = ok ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    ok = data != MAP_FAILED && !memcmp(data, elf, sizeof elf - 1);
    if (ok)
        hash = XXH3_128bits(data, size);
    if (data != MAP_FAILED)
        munmap(data, size);
    if (fd >= 0)
        close(fd);
    return ok ? str_format(arena, "binary %zu %016llx%016llx", size,
                           (unsigned long long)hash.high64, (unsigned long long)hash.low64)
              : NULL;
}

const char *ptxas_version(Arena *arena, const char *path) {
    const char *argv[] = {path, "--version", NULL};
    const ProcessRequest process = {.argv = argv, .time_limit_ms = VERSION_LIMIT_MS};
    ProcessResult result;
    if (process_run(arena, &process, &result) || result.exit_code != 0)
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

/* What a tool that could not be run, or was stopped, leads to; of one that was cancelled, nothing
 * is said here. */
static bool report_process(Ctx *ctx, const char *path, int error, const ProcessResult *result,
                           double limit_ms) {
    arena_check(&ctx->arena);
    if (!error && !result->timed_out)
        return true;
    if (!error) {
        ctx_diag(ctx, (Span){0}, tool_timeout, path,
                 (limit_ms > 0 ? limit_ms : PROCESS_TIME_LIMIT_MS) / 1e3);
        diag_hint(&ctx->diags, "give it more time: --time-limit, time_limit_ms");
        return false;
    }
    const char *text = file_error_text(&ctx->arena, error);
    const char *named = getenv(PTXAS_VARIABLE);
    if (named && !strcmp(named, path))
        return ctx_diag(ctx, (Span){0}, tool_unusable, PTXAS_VARIABLE, path, text);
    return ctx_diag(ctx, (Span){0}, tool_failed, path, text);
}

static bool run_ptxas(Ctx *ctx, const char *path, const AssembleRequest *request, const char *input,
                      const char *output, ProcessResult *result) {
    const char *argv[10] = {path, "-v", "-O3", "-arch", request->target->name, input, "-o", output};
    if (request->line_info)
        argv[8] = "-lineinfo";
    const ProcessRequest process = {.argv = argv, .time_limit_ms = request->time_limit_ms};
    int error = process_run(&ctx->arena, &process, result);
    return report_process(ctx, path, error, result, request->time_limit_ms);
}

typedef struct Assembly {
    const char *path;
    const AssembleRequest *request;
    Str *cubin;
    Resources *resources;
} Assembly;

static bool assemble_in(Ctx *ctx, const WorkFolder *folder, void *user) {
    const Assembly *assembly = user;
    const char *input = work_file(ctx, folder, "kernel.ptx");
    const char *output = work_file(ctx, folder, "kernel.cubin");
    int error = work_file_write(input, assembly->request->ptx);
    if (error)
        return report_unwritable(&ctx->diags, input, error);
    ProcessResult result;
    if (!run_ptxas(ctx, assembly->path, assembly->request, input, output, &result))
        return false;
    if (result.exit_code != 0)
        return report_exit(ctx, &result);
    assembler_report(ctx, result.output);
    error = file_read(&ctx->arena, output, CUBIN_LIMIT, assembly->cubin);
    if (error)
        return report_unreadable(&ctx->diags, output, error);
    resources_parse(result.output, assembly->request->kernel, assembly->resources);
    return true;
}

bool ptxas_assemble(Ctx *ctx, const char *path, const AssembleRequest *request, Str *cubin,
                    Resources *resources) {
    Assembly assembly = {path, request, cubin, resources};
    return work_folder_use(ctx, assemble_in, &assembly);
}

/* nvdisasm or cuobjdump, which both want the cubin as a file. */
typedef struct Disassembly {
    const char *tool, *option;
    Str cubin, *sass;
    double time_limit_ms;
} Disassembly;

static bool disassemble_in(Ctx *ctx, const WorkFolder *folder, void *user) {
    const Disassembly *d = user;
    const char *path = work_file(ctx, folder, "kernel.cubin");
    const char *argv[] = {d->tool, d->option, path, NULL};
    const ProcessRequest process = {.argv = argv, .time_limit_ms = d->time_limit_ms};
    ProcessResult result;
    int error = work_file_write(path, d->cubin);
    if (error)
        return report_unwritable(&ctx->diags, path, error);
    error = process_run(&ctx->arena, &process, &result);
    if (!report_process(ctx, d->tool, error, &result, d->time_limit_ms))
        return false;
    if (result.exit_code != 0)
        return ctx_diag(ctx, (Span){0}, tool_failed, d->tool, "it reported an error");
    *d->sass = result.output;
    return true;
}

bool cubin_disassemble(Ctx *ctx, Str cubin, double time_limit_ms, Str *sass) {
    Disassembly d = {.option = "-g", .cubin = cubin, .sass = sass, .time_limit_ms = time_limit_ms};
    d.tool = tool_find(&ctx->arena, "nvdisasm", NULL);
    if (!d.tool) {
        d.tool = tool_find(&ctx->arena, "cuobjdump", NULL);
        d.option = "-sass";
    }
    if (!d.tool)
        return ctx_diag(ctx, (Span){0}, disassembler_missing);
    return work_folder_use(ctx, disassemble_in, &d);
}
