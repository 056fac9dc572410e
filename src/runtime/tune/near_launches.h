/* Which launches, besides the one that the compiler chooses, are worth measuring.
 *
 * The compiler chooses warps by the tiles that are alive and the bytes that each thread has in
 * flight, and stages as a number of its own (passes/launch/choose_warps.c): a model that is right
 * by a factor of two more often than exactly. So what is measured is its choice and what is next to
 * it: half and twice the warps, as far as registers and threads of a block allow by what was
 * assembled, a CTA for each program where programs share one, and other numbers of stages where the
 * kernel keeps tiles in shared memory at all. */
#ifndef TILEC_RUNTIME_TUNE_NEAR_LAUNCHES_H
#define TILEC_RUNTIME_TUNE_NEAR_LAUNCHES_H
#include "runtime/tune/candidate.h"

/* Whether one is worth it where `own` is what the compiler chose. */
bool launch_is_near(const KernelFacts *own, TriedLaunch launch);
/* Compiles what candidates that are not known are variants of, on as many threads (0: one for each
 * processor), and leaves out those that are not near it. What cannot be compiled has no variants.
 */
void near_launches_choose(Ctx *ctx, unsigned jobs, TuneCandidate *candidates, uint32_t count);
#endif
