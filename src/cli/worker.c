/* `tilec worker`: one compilation for a host that wants it in a process of its own. */
#include "runtime/compile/worker.h"
#include "cli/cli.h"

typedef struct Serving {
    Ctx *ctx;
    WorkerExit result;
} Serving;

static void serve(void *user) {
    Serving *serving = user;
    serving->result = worker_serve(serving->ctx, 0, 1);
}

/* The host asks it to end by a signal. */
int command_worker(Ctx *ctx, int argc, char **argv) {
    Serving serving = {.ctx = ctx};
    cli_interruptible(ctx, serve, &serving);
    return (int)serving.result;
}
