/* Compilations in a process of their own, for hosts that must not fall with LLVM.
 *
 * The process is `tilec worker`: it reads one request from its standard input, compiles as this
 * process would, and writes one answer to its standard output. Both begin with the version of the
 * form and the identity of the build, so that programs of different builds never take each other's
 * for their own. It ends with the host. */
#ifndef TILEC_RUNTIME_COMPILE_WORKER_H
#define TILEC_RUNTIME_COMPILE_WORKER_H
#include "runtime/compile/compile.h"

/* Exit statuses of a worker that has no answer to give. */
typedef enum WorkerExit {
    WORKER_ANSWERED,
    WORKER_OUT_OF_MEMORY = 64,
    WORKER_OTHER_BUILD,
    WORKER_BAD_REQUEST,
    WORKER_NO_OUTPUT
} WorkerExit;

/* As compile_kernel of a source that was read, without a Func in the answer. A worker that crashes,
 * is killed, takes too long or too much leads to an error. */
bool worker_compile(Ctx *ctx, const CompileRequest *request, Compiled *compiled);

/* The worker's side: reads the request from `input`, compiles, writes the answer to `output`. */
WorkerExit worker_serve(Ctx *ctx, int input, int output);
#endif
