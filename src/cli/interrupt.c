/* Signals that end a command while it compiles. The work is given up first, so that nothing stays
 * of it, then the process ends by the signal, as whoever sent it expects. A second one ends it at
 * once. */
#include "cli/cli.h"
#include "runtime/compile/record.h"
#include "support/file.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

enum { ENDING_COUNT = sizeof ending / sizeof *ending };

/* A handler takes no context. It runs on another thread than the work, which waits for it. */
static _Atomic(Cancel *) cancel_at_signal;
static atomic_int signal_seen, handlers_running;

static void on_signal(int number) {
    atomic_fetch_add(&handlers_running, 1);
    Cancel *cancel = atomic_load(&cancel_at_signal);
    atomic_store(&signal_seen, number);
    if (cancel)
        cancel_request(cancel);
    atomic_fetch_sub(&handlers_running, 1);
}

typedef struct Interruptible {
    Ctx *ctx;
    Cancel cancel;
    struct sigaction before[ENDING_COUNT];
    void (*work)(void *user);
    void *user;
} Interruptible;

static void work_until_signal(void *user) {
    const Interruptible *i = user;
    i->work(i->user);
}

/* This thread may have its signals blocked: the one that waits for it takes the signal. */
static _Noreturn void end_by(int number) {
    kill(getpid(), number);
    for (;;)
        pause();
}

static void restore_signals(void *user) {
    Interruptible *i = user;
    for (int k = 0; k < ENDING_COUNT; k++)
        sigaction(ending[k], &i->before[k], NULL);
    atomic_store(&cancel_at_signal, NULL);
    while (atomic_load(&handlers_running))
        sched_yield();
    ctx_cancel_with(i->ctx, NULL);
    cancel_close(&i->cancel);
    if (atomic_load(&signal_seen))
        end_by(atomic_load(&signal_seen));
}

void cli_interruptible(Ctx *ctx, void (*work)(void *user), void *user) {
    Interruptible i = {.ctx = ctx, .work = work, .user = user};
    const struct sigaction handler = {.sa_handler = on_signal,
                                      .sa_flags = SA_RESTART | SA_RESETHAND};
    cancel_open(&i.cancel);
    atomic_store(&cancel_at_signal, &i.cancel);
    ctx_cancel_with(ctx, &i.cancel);
    for (int k = 0; k < ENDING_COUNT; k++) {
        sigaction(ending[k], NULL, &i.before[k]);
        if (i.before[k].sa_handler == SIG_DFL)
            sigaction(ending[k], &handler, NULL);
    }
    ctx_finally(ctx, work_until_signal, restore_signals, &i);
}

typedef struct Compiling {
    Ctx *ctx;
    const CompileRequest *request;
    Compiled *compiled;
    bool ok;
} Compiling;

static void compile_interruptibly(void *user) {
    Compiling *c = user;
    c->ok = compile_kernel(c->ctx, c->request, c->compiled);
}

/* As the library does. */
static void record(Ctx *ctx, const CompileRequest *request) {
    const char *path = record_path(NULL);
    const int error = path ? record_append(path, record_line(ctx, request)) : 0;
    if (error)
        ctx_diag(ctx, (Span){0}, record_unwritable, path, file_error_text(&ctx->arena, error));
}

bool cli_compile(Ctx *ctx, const CompileRequest *request, Compiled *compiled) {
    Compiling c = {ctx, request, compiled, false};
    cli_interruptible(ctx, compile_interruptibly, &c);
    if (c.ok && !request->keep_func)
        record(ctx, request);
    return c.ok;
}
