/* How far a command is; compiling a plan before the user's eyes. */
#ifndef TILEC_CLI_PROGRESS_H
#define TILEC_CLI_PROGRESS_H
#include "runtime/ahead/build.h"

/* One line that tells how far something is, for terminals, and for what takes longer than a second.
 */
typedef struct Progress {
    double start;
    bool shown;
} Progress;
Progress progress_begin(void);
/* `part`, from 0 to 1, of it is done; `what` stands behind the bar. */
void progress_show(Progress *progress, double part, const char *what);
/* The line goes. */
void progress_end(Progress *progress);

/* build_plan; what works in `ctx` is cancelled by SIGINT, SIGTERM and SIGHUP. */
bool progress_build(Ctx *ctx, const Plan *plan, unsigned jobs, bool into_cache, Built *built);
/* Prints what was said of each kernel on standard error; the same words once. */
void progress_messages(const Built *built, size_t count);
/* "sm_80,sm_90a" as texts; NULL: none. */
const Str *progress_targets(Ctx *ctx, const char *targets, uint32_t *count);
#endif
