/* One description of what crosses the pipe serves writing and reading: wire_request and wire_answer
 * name every field once, and a Wire either writes it or fills it. Numbers are 8 bytes, texts their
 * length and their bytes; both sides run on one machine. A reader trusts no length. */
#include "runtime/worker.h"

#include "runtime/build_info.h"
#include "runtime/process.h"
#include "runtime/recall.h"
#include "runtime/stack.h"
#include "runtime/status.h"
#include "support/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* A worker whose time is over, or that is cancelled, has GRACE_MS to remove what its tools wrote.
 */
enum { WIRE_VERSION = 2, MESSAGE_LIMIT = 1 << 30, GRACE_MS = 100 };

/* Sanitizers map much for themselves, and end the process when they cannot. */
#ifdef TILEC_SANITIZED
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

static const char PROGRAM_VARIABLE[] = "TILEC_WORKER";

/* The wire */

typedef struct Wire {
    Arena *arena;
    StrBuf *out; /* NULL: this side reads */
    Str in;      /* what is left of it */
    bool bad;    /* it does not hold what it should */
} Wire;

static const void *take(Wire *wire, size_t size) {
    if (size > wire->in.len)
        wire->bad = true;
    if (wire->bad)
        return NULL;
    const char *at = wire->in.ptr;
    wire->in = (Str){at + size, wire->in.len - size};
    return at;
}

static int64_t wire_number(Wire *wire, int64_t value) {
    if (wire->out) {
        strbuf_add(wire->out, &value, sizeof value);
        return value;
    }
    const void *at = take(wire, sizeof value);
    int64_t read = 0;
    if (at)
        memcpy(&read, at, sizeof read);
    return read;
}

#define WIRE_NUMBER(wire, field)                                                                   \
    ((field) = (__typeof__(field))wire_number((wire), (int64_t)(field)))

static void wire_text(Wire *wire, Str *text) {
    const size_t len = (size_t)wire_number(wire, (int64_t)text->len);
    if (wire->out) {
        strbuf_add(wire->out, text->ptr, len);
        return;
    }
    const char *at = take(wire, len);
    *text = at ? (Str){str_dup(wire->arena, (Str){at, len}), len} : STR("");
}

/* NULL stays NULL. */
static void wire_path(Wire *wire, const char **path) {
    bool given = *path != NULL;
    WIRE_NUMBER(wire, given);
    Str text = given && wire->out ? str_from(*path) : STR("");
    if (given)
        wire_text(wire, &text);
    *path = given ? text.ptr : NULL;
}

/* The number of elements of a list that is written, or has room now; each takes a byte at least. */
static uint32_t wire_count(Wire *wire, uint32_t count) {
    const int64_t number = wire_number(wire, count);
    if (!wire->out && (number < 0 || (uint64_t)number > wire->in.len))
        wire->bad = true;
    return wire->bad ? 0 : (uint32_t)number;
}

static void wire_named(Wire *wire, const NamedText **list, uint32_t *count) {
    *count = wire_count(wire, *count);
    NamedText *items = ARENA_ARRAY(wire->arena, NamedText, (size_t)*count + 1);
    for (uint32_t i = 0; i < *count; i++) {
        if (wire->out)
            items[i] = (*list)[i];
        wire_text(wire, &items[i].name);
        wire_text(wire, &items[i].text);
    }
    *list = items;
}

static void wire_texts(Wire *wire, const Str **list, uint32_t *count) {
    *count = wire_count(wire, *count);
    Str *items = ARENA_ARRAY(wire->arena, Str, (size_t)*count + 1);
    for (uint32_t i = 0; i < *count; i++) {
        if (wire->out)
            items[i] = (*list)[i];
        wire_text(wire, &items[i]);
    }
    *list = items;
}

/* True when both sides are of one build. */
static bool wire_build(Wire *wire) {
    int64_t version = wire_number(wire, WIRE_VERSION);
    Str build = str_from(build_id);
    wire_text(wire, &build);
    return !wire->bad && version == WIRE_VERSION && str_is(build, build_id);
}

static void wire_request(Wire *wire, CompileRequest *request) {
    ElaborateRequest *kernel = &request->kernel;
    Str target = wire->out ? str_from(request->target->name) : STR("");
    wire_path(wire, &request->path);
    wire_text(wire, &request->text);
    wire_text(wire, &target);
    wire_text(wire, &kernel->kernel);
    wire_text(wire, &kernel->signature);
    wire_named(wire, &kernel->types, &kernel->type_count);
    wire_named(wire, &kernel->defines, &kernel->define_count);
    wire_texts(wire, &kernel->search_paths, &kernel->search_path_count);
    wire_texts(wire, &request->warnings, &request->warning_count);
    WIRE_NUMBER(wire, kernel->num_warps);
    WIRE_NUMBER(wire, kernel->num_stages);
    WIRE_NUMBER(wire, kernel->num_ctas);
    WIRE_NUMBER(wire, kernel->debug);
    WIRE_NUMBER(wire, request->max_registers);
    WIRE_NUMBER(wire, request->max_shared);
    WIRE_NUMBER(wire, request->want);
    wire_path(wire, &request->dump_folder);
    WIRE_NUMBER(wire, request->line_info);
    WIRE_NUMBER(wire, request->no_tensor_copies);
    WIRE_NUMBER(wire, request->no_persistence);
    WIRE_NUMBER(wire, request->check_passes);
    WIRE_NUMBER(wire, request->llvm_level);
    WIRE_NUMBER(wire, request->time_limit_ms);
    WIRE_NUMBER(wire, request->memory_limit);
    wire_path(wire, &request->ptxas);
    wire_path(wire, &request->cuda_library);
    if (!wire->out)
        request->target = target_by_name(target);
    wire->bad |= !wire->out && !request->target;
}

typedef struct Answer {
    bool ok;
    Recalled described;
    Str outputs[OUTPUT_COUNT];
    int64_t stage_ns[STAGE_COUNT];
} Answer;

static void wire_answer(Wire *wire, Answer *answer) {
    WIRE_NUMBER(wire, answer->ok);
    wire_text(wire, &answer->described.meta);
    wire_text(wire, &answer->described.files);
    wire_text(wire, &answer->described.said);
    wire_text(wire, &answer->described.asked);
    for (int i = 0; i < OUTPUT_COUNT; i++)
        wire_text(wire, &answer->outputs[i]);
    for (int i = 0; i < STAGE_COUNT; i++)
        WIRE_NUMBER(wire, answer->stage_ns[i]);
}

/* The worker */

/* Memory that can be written to, beyond what there is already: what malloc has, whether mapped
 * before or not. Tools that the worker runs inherit it. */
static void limit_memory(Ctx *ctx, size_t bytes) {
    enum { DATA_FIELD = 5 }; /* of statm: pages of data and stack */
    Str text;
    if (!bytes || file_read(&ctx->arena, "/proc/self/statm", 4096, &text))
        return;
    char *at = (char *)text.ptr;
    for (int i = 0; i < DATA_FIELD; i++)
        strtoul(at, &at, 10);
    const rlim_t data = strtoul(at, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
    const struct rlimit limit = {data + bytes, data + bytes};
    if (!IS_SANITIZED)
        setrlimit(RLIMIT_DATA, &limit);
    stack_limit_memory(ctx, bytes);
}

static Answer answer_of(Ctx *ctx, const Compiled *compiled, bool ok) {
    Answer answer = {.ok = ok};
    if (compiled->file)
        answer.described = recall_describe(ctx, compiled);
    for (int i = 0; i < OUTPUT_COUNT; i++)
        answer.outputs[i] = compiled->outputs[i];
    for (int i = 0; i < STAGE_COUNT; i++)
        answer.stage_ns[i] = (int64_t)(compiled->ms[i] * 1e6);
    return answer;
}

static WorkerExit serve(Ctx *ctx, int input, int output) {
    Str message;
    CompileRequest request = {0};
    Compiled compiled;
    const char *path = str_format(&ctx->arena, "/proc/self/fd/%d", input);
    if (file_read(&ctx->arena, path, MESSAGE_LIMIT, &message))
        return WORKER_BAD_REQUEST;
    Wire in = {.arena = &ctx->arena, .in = message};
    if (!wire_build(&in))
        return WORKER_OTHER_BUILD;
    wire_request(&in, &request);
    if (in.bad || in.in.len)
        return WORKER_BAD_REQUEST;
    limit_memory(ctx, request.memory_limit);
    bool ok = compile_kernel(ctx, &request, &compiled);
    StrBuf text = strbuf(&ctx->arena);
    Wire out = {.arena = &ctx->arena, .out = &text};
    Answer answer = answer_of(ctx, &compiled, ok);
    wire_build(&out);
    wire_answer(&out, &answer);
    return file_write_all(output, strbuf_str(&text)) ? WORKER_NO_OUTPUT : WORKER_ANSWERED;
}

WorkerExit worker_serve(Ctx *ctx, int input, int output) {
    jmp_buf *outer = ctx->arena.oom, oom;
    if (setjmp(oom))
        return WORKER_OUT_OF_MEMORY;
    ctx->arena.oom = ctx->scratch.oom = &oom;
    WorkerExit result = serve(ctx, input, output);
    ctx->arena.oom = ctx->scratch.oom = outer;
    return result;
}

/* The host's side */

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
        x->error = file_read(arena, path, MESSAGE_LIMIT, &x->answer);
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
    arena_finally(&x->ctx->arena, exchange_messages, exchange_end, x);
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

static bool take_answer(Ctx *ctx, Str message, Compiled *compiled, bool *ok) {
    Wire wire = {.arena = &ctx->arena, .in = message};
    Answer answer = {0};
    if (!wire_build(&wire))
        return false;
    wire_answer(&wire, &answer);
    if (wire.bad || wire.in.len || !recall_repeat(ctx, &answer.described, compiled))
        return false;
    for (int i = 0; i < OUTPUT_COUNT; i++)
        compiled->outputs[i] = answer.outputs[i];
    for (int i = 0; i < STAGE_COUNT; i++)
        compiled->ms[i] += (double)answer.stage_ns[i] * 1e-6;
    *ok = answer.ok;
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
    Exchange result = {
        .ctx = ctx, .program = program, .request = &request, .message = strbuf_str(&message)};
    int error = exchange(&result);
    if (error)
        return ctx_diag(ctx, (Span){0}, tool_failed, program, file_error_text(&ctx->arena, error));
    if (result.process.timed_out || result.process.exit_code != WORKER_ANSWERED)
        return report_end(ctx, program, &request, &result.process);
    bool ok = false;
    if (!take_answer(ctx, result.answer, compiled, &ok))
        return ctx_diag(ctx, (Span){0}, worker_failed, program, "its answer cannot be read");
    return ok;
}
