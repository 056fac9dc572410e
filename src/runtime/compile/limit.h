/* A limit on the time of work: where it is over, the work is cancelled as by a request. */
#ifndef TILEC_RUNTIME_COMPILE_LIMIT_H
#define TILEC_RUNTIME_COMPILE_LIMIT_H
#include "support/ctx.h"

/* Calls `work`, which has `time_ms` to its end; 0: as much as it wants. False after a report: the
 * time was over, and the work was left by a jump of the context's arenas. What cancels the context
 * cancels the work, too, and the jump goes on then, as it does for want of memory. */
bool limit_run(Ctx *ctx, double time_ms, void (*work)(void *user), void *user);
#endif
