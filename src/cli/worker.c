/* `tilec worker`: one compilation for a host that wants it in a process of its own. */
#include "runtime/worker.h"
#include "cli/cli.h"

int command_worker(Ctx *ctx, int argc, char **argv) {
    return (int)worker_serve(ctx, 0, 1);
}
