/* See limit.h. A thread waits for the end of the time, of the work, or for a request from outside,
 * and makes of the first and the last a request of its own, so that whoever looks for one looks at
 * one place. It holds nothing, and what it costs, some 30 us, is paid with a limit alone. */
#include "runtime/compile/limit.h"

#include "support/file.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* How often a request is looked for that has no descriptor to wait for. */
enum { BLIND_MS = 20, WATCH_STACK = 256 << 10 };

typedef struct Limit {
    Ctx *ctx;
    double time_ms;
    void (*work)(void *user);
    void *user;
    const Cancel *outer;
    Cancel inner, done;
    atomic_bool is_over; /* the time */
    pthread_t thread;
    bool failed;
} Limit;

static double steady_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void *watch(void *user) {
    Limit *limit = user;
    const double end = steady_ms() + limit->time_ms;
    const bool is_blind = limit->done.event < 0 || (limit->outer && limit->outer->event < 0);
    while (!cancel_is_requested(&limit->done)) {
        const double left = end - steady_ms();
        struct pollfd fds[] = {{limit->done.event, POLLIN, 0},
                               {limit->outer ? limit->outer->event : -1, POLLIN, 0}};
        if (left <= 0 || cancel_is_requested(limit->outer)) {
            atomic_store(&limit->is_over, left <= 0);
            cancel_request(&limit->inner);
            break;
        }
        poll(fds, 2,
             is_blind && left > BLIND_MS ? BLIND_MS
             : left < INT_MAX            ? (int)left + 1
                                         : INT_MAX);
    }
    return NULL;
}

/* Signals are for the program's own threads. 0 or an errno. */
static int start_watch(Limit *limit) {
    sigset_t all, before;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    const size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
    pthread_attr_setstacksize(&attributes, least > WATCH_STACK ? least : WATCH_STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&limit->thread, &attributes, watch, limit);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

static void end_watch(void *user) {
    Limit *limit = user;
    cancel_request(&limit->done);
    pthread_join(limit->thread, NULL);
    ctx_cancel_with(limit->ctx, limit->outer);
    cancel_close(&limit->inner);
    cancel_close(&limit->done);
}

static void work_until_over(void *user) {
    Limit *limit = user;
    limit->work(limit->user);
}

/* The jump that the end of the time takes stops here. */
static bool run(Limit *limit) {
    Ctx *ctx = limit->ctx;
    jmp_buf *outer = ctx->arena.oom, *outer_scratch = ctx->scratch.oom, here;
    if (setjmp(here)) {
        ctx->arena.oom = outer;
        ctx->scratch.oom = outer_scratch;
        if (!atomic_load(&limit->is_over) || cancel_is_requested(limit->outer))
            longjmp(*outer, 1);
        return ctx_diag(ctx, (Span){0}, compile_timeout, limit->time_ms / 1e3);
    }
    ctx->arena.oom = ctx->scratch.oom = &here;
    ctx_finally(ctx, work_until_over, end_watch, limit);
    ctx->arena.oom = outer;
    ctx->scratch.oom = outer_scratch;
    return true;
}

bool limit_run(Ctx *ctx, double time_ms, void (*work)(void *user), void *user) {
    Limit limit = {
        .ctx = ctx, .time_ms = time_ms, .work = work, .user = user, .outer = ctx->arena.cancel};
    if (!(time_ms > 0)) {
        work(user);
        return true;
    }
    atomic_init(&limit.is_over, false);
    cancel_open(&limit.inner);
    cancel_open(&limit.done);
    const int error = start_watch(&limit);
    if (error) {
        cancel_close(&limit.inner);
        cancel_close(&limit.done);
        return ctx_diag(ctx, (Span){0}, stack_unavailable, file_error_text(&ctx->arena, error));
    }
    ctx_cancel_with(ctx, &limit.inner);
    return run(&limit);
}
