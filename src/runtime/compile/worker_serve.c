/* The worker's side of isolated compilations. */
#include "runtime/compile/recall.h"
#include "runtime/compile/stack.h"
#include "runtime/compile/wire.h"
#include "runtime/compile/worker.h"
#include "support/file.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* Sanitizers map much for themselves, and end the process when they cannot. */
#ifdef TILEC_SANITIZED
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

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
    if (file_read(&ctx->arena, path, WIRE_MESSAGE_LIMIT, &message))
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
