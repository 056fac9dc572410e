/* The Python around kernels, run where a decorator's arguments depend on it: lists of
 * configurations, functions that make or sort them out.
 *
 * A file's top level is run statement by statement, with Python's meaning, as far as is needed and
 * as it can be: what asks for more than this language has (classes, exceptions, modules other than
 * those of host_paths.c) fails, and what the failed statement may have changed is unknown from
 * there on. So a value is Python's, or there is none. It runs in a context's arena, in its thread,
 * and touches nothing outside; steps and depth are limited. */
#ifndef TILEC_FRONTEND_HOST_CODE_H
#define TILEC_FRONTEND_HOST_CODE_H
#include "frontend/host_expr.h"

typedef struct HostCode HostCode;

typedef struct HostNamed {
    Str name;
    HostValue value;
} HostNamed;

typedef struct HostArguments {
    const HostValue *items;
    uint32_t count;
    const HostNamed *named;
    uint32_t named_count;
} HostArguments;

/* Parses the source numbered `file` once more, whole, without messages. `capability`: what the code
 * is told of the GPU, 90 for sm_90; 0: what asks for it fails. Never NULL. */
HostCode *host_code_create(Ctx *ctx, uint32_t file, int32_t capability);
/* Runs the file up to the function whose name stands at `name`; to the end if there is none. */
void host_code_run_to(HostCode *code, Span name);
/* Runs what is left. */
void host_code_finish(HostCode *code);
/* The value of an expression of the file, here and now. False after an error. */
bool host_code_evaluate(HostCode *code, const Expr *expr, HostValue *value);
/* Calls what host_code_evaluate gave. False after an error, at `span` where it is the call's. */
bool host_code_call(HostCode *code, HostValue callee, const HostArguments *arguments, Span span,
                    HostValue *value);
#endif
