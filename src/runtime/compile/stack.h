/* Code that recurses runs on a thread with a stack of a known size.
 *
 * Parsing, elaboration, passes and LLVM recurse over what they compile. The thread that calls the
 * library may have 64 KiB of stack or 8 MiB; what it can compile must not hang on that, and too
 * much must be an error with a place instead of a crash. So compilations run on a thread of their
 * own, whose stack says how deep they may go (Ctx.max_depth). The caller waits. */
#ifndef TILEC_RUNTIME_COMPILE_STACK_H
#define TILEC_RUNTIME_COMPILE_STACK_H
#include "support/ctx.h"

/* Runs body(user) on such a thread, which works for `ctx` alone, and waits for its end; at once in
 * the caller when it is on one already. Running out of memory in `body` jumps to the caller's
 * target. No signal is handled and no cancellation acted upon meanwhile on that thread. False after
 * a report: there is no memory for a stack, or no thread to be had. */
bool stack_run(Ctx *ctx, void (*body)(void *user), void *user);

/* What `ctx`, and the thread that runs for it, may take of malloc from now on; 0: no limit. */
void stack_limit_memory(Ctx *ctx, size_t bytes);
#endif
