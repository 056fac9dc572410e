/* The host's side of isolated compilations. */
#include "runtime/compile/worker.h"

#include "runtime/compile/build_info.h"
#include "runtime/compile/wire.h"
#include "runtime/status.h"
#include "runtime/tools/process.h"
#include "support/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A worker whose time is over, or that is cancelled, has GRACE_MS to remove what its tools wrote.
 * An answer about imported files that were written meanwhile is asked for again. */
enum { GRACE_MS = 100, ATTEMPTS = 3 };

static const char PROGRAM_VARIABLE[] = "TILEC_WORKER";

static const char *beside(Arena *arena, const char *file) {
    static const char *const places[] = {"tilec", "../bin/tilec", "../../bin/tilec"};
    char real[PATH_MAX];
    if (!realpath(file, real))
        return NULL;
    Str folder = file_folder(str_from(real));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *path = file_join(arena, folder, str_from(places[i]));
        if (tool_is_program(path))
            return path;
    }
    return NULL;
}

/* Given, by TILEC_WORKER, beside what this code lies in (libtilec.so or tilec), on PATH. */
static const char *find_program(Arena *arena, const CompileRequest *request) {
    const char *named = getenv(PROGRAM_VARIABLE);
    Dl_info info;
    if (request->worker)
        return request->worker;
    if (named && *named)
        return str_dup(arena, str_from(named));
    const char *found =
        dladdr(build_id, &info) && info.dli_fname ? beside(arena, info.dli_fname) : NULL;
    if (!found)
        found = beside(arena, "/proc/self/exe");
    return found ? found : tool_find_on_path(arena, "tilec");
}

static int send(int fd, Str text) {
    int error = fd < 0 ? errno : file_write_all(fd, text);
    return !error && lseek(fd, 0, SEEK_SET) < 0 ? errno : error;
}

/* A request on its way to the worker's answer. */
typedef struct Exchange {
    Ctx *ctx;
    const char *program;
    const CompileRequest *request;
    Str message;
    int input, output;
    int error; /* errno that kept it from coming about */
    ProcessResult process;
    Str answer;
} Exchange;

static void exchange_messages(void *user) {
    Exchange *x = user;
    Arena *arena = &x->ctx->arena;
    const char *argv[] = {x->program, "worker", NULL};
    const ProcessRequest process = {.argv = argv,
                                    .time_limit_ms = x->request->time_limit_ms,
                                    .grace_ms = GRACE_MS,
                                    .input = x->input,
                                    .output = x->output};
    x->error = x->input <= 2 || x->output <= 2 ? EMFILE : send(x->input, x->message);
    if (!x->error)
        x->error = process_run(arena, &process, &x->process);
    arena_check(arena);
    const char *path = str_format(arena, "/proc/self/fd/%d", x->output);
    if (!x->error)
        x->error = file_read(arena, path, WIRE_MESSAGE_LIMIT, &x->answer);
}

static void exchange_end(void *user) {
    const Exchange *x = user;
    close(x->input);
    close(x->output);
}

/* Files in memory carry both messages: a worker that writes much or nothing blocks nobody. */
static int exchange(Exchange *x) {
    x->input = memfd_create("tilec-request", MFD_CLOEXEC);
    x->output = memfd_create("tilec-answer", MFD_CLOEXEC);
    ctx_finally(x->ctx, exchange_messages, exchange_end, x);
    return x->error;
}

static bool report_limit(Ctx *ctx, const CompileRequest *request) {
    return request->memory_limit ? ctx_diag(ctx, (Span){0}, memory_limit, request->memory_limit)
                                 : ctx_diag(ctx, (Span){0}, out_of_memory);
}

static bool report_end(Ctx *ctx, const char *program, const CompileRequest *request,
                       const ProcessResult *result) {
    if (result->timed_out) {
        ctx_diag(ctx, (Span){0}, worker_timeout, request->time_limit_ms / 1e3);
        return false;
    }
    if (result->exit_code == WORKER_OUT_OF_MEMORY)
        return report_limit(ctx, request);
    if (result->exit_code == WORKER_OTHER_BUILD)
        return ctx_diag(ctx, (Span){0}, worker_other_build, program);
    const char *how = result->signal ? str_format(&ctx->arena, "signal %d", result->signal)
                                     : str_format(&ctx->arena, "exit status %d", result->exit_code);
    ctx_diag(ctx, (Span){0}, worker_failed, program, how);
    const char *end =
        result->output.len ? memchr(result->output.ptr, '\n', result->output.len) : NULL;
    if (result->output.len)
        diag_hint(&ctx->diags, "it said: %.*s",
                  (int)(end ? end - result->output.ptr : (ptrdiff_t)result->output.len),
                  result->output.ptr);
    return false;
}

static bool take_answer(Ctx *ctx, const CompileRequest *request, Str message, Compiled *compiled,
                        bool *ok) {
    Wire wire = {.arena = &ctx->arena, .in = message};
    Answer answer = {0};
    if (!wire_build(&wire))
        return false;
    wire_answer(&wire, &answer);
    if (wire.bad || wire.in.len ||
        recall_repeat(ctx, request, &answer.described, compiled) != RECALL_HIT)
        return false;
    for (int i = 0; i < OUTPUT_COUNT; i++)
        compiled->outputs[i] = answer.outputs[i];
    for (int i = 0; i < STAGE_COUNT; i++)
        compiled->ms[i] += (double)answer.stage_ns[i] * 1e-6;
    *ok = answer.ok;
    return true;
}

/* False after a report. */
static bool ask(Exchange *x) {
    const int error = exchange(x);
    if (error)
        return ctx_diag(x->ctx, (Span){0}, tool_failed, x->program,
                        file_error_text(&x->ctx->arena, error));
    if (x->process.timed_out || x->process.exit_code != WORKER_ANSWERED)
        return report_end(x->ctx, x->program, x->request, &x->process);
    return true;
}

bool worker_compile(Ctx *ctx, const CompileRequest *given, Compiled *compiled) {
    CompileRequest request = *given;
    const char *program = find_program(&ctx->arena, given);
    if (!program)
        return ctx_diag(ctx, (Span){0}, worker_missing);
    request.text = source_get(&ctx->sources, compiled->file)->text;
    if (!(request.time_limit_ms > 0))
        request.time_limit_ms = PROCESS_TIME_LIMIT_MS;
    StrBuf message = strbuf(&ctx->arena);
    Wire wire = {.arena = &ctx->arena, .out = &message};
    wire_build(&wire);
    wire_request(&wire, &request);
    Exchange x = {
        .ctx = ctx, .program = program, .request = &request, .message = strbuf_str(&message)};
    bool ok = false, taken = false;
    for (int attempt = 0; attempt < ATTEMPTS && !taken; attempt++) {
        const DiagMark before = diag_mark(&ctx->diags);
        if (!ask(&x))
            return false;
        taken = take_answer(ctx, &request, x.answer, compiled, &ok);
        if (!taken)
            diag_rewind(&ctx->diags, before);
    }
    if (!taken)
        return ctx_diag(ctx, (Span){0}, worker_failed, program, "its answer cannot be read");
    return ok;
}
