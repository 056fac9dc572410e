/* Compiling a plan before the user's eyes: interruptible, with one line that tells how far it is.
 */
#ifndef TILEC_CLI_PROGRESS_H
#define TILEC_CLI_PROGRESS_H
#include "runtime/ahead/build.h"

/* build_plan; what works in `ctx` is cancelled by SIGINT, SIGTERM and SIGHUP. The line is for
 * terminals, and for what takes longer than a second. */
bool progress_build(Ctx *ctx, const Plan *plan, unsigned jobs, bool into_cache, Built *built);
/* Prints what was said of each kernel on standard error; the same words once. */
void progress_messages(const Built *built, size_t count);
/* "sm_80,sm_90a" as texts; NULL: none. */
const Str *progress_targets(Ctx *ctx, const char *targets, uint32_t *count);
#endif
