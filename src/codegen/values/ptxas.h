/* What code relies on of the behaviour of ptxas that no manual states, one function for each.
 *
 * docs/ptxas.md says of each what ptxas does without it and in which versions that was seen;
 * tests/e2e/ptxas asks the ptxas there is. */
#ifndef TILEC_CODEGEN_VALUES_PTXAS_H
#define TILEC_CODEGEN_VALUES_PTXAS_H
#include "codegen/cg.h"

/* Nothing moves past it: not loads, which ptxas moves past arithmetic, shuffles, fences and
 * branches else, and not arithmetic, which it moves past stores and arrivals at mbarriers.
 * `pmevent`, which triggers an event for performance monitors and has no other effect. */
void cg_keep_order(Cg *cg);
/* An i32 that is 0, computed from lane masks that have no bit in common, which ptxas does not know.
 * Each time anew: where registers are short none is kept for it. */
Lv cg_opaque_zero(Cg *cg);
/* Threads with `number` i < count meet at barrier first + i, `threads` of them. By predicates: with
 * a number in a register ptxas would reserve all sixteen barriers. */
void cg_meet_at(Cg *cg, Lv number, unsigned count, unsigned first, int32_t threads);
/* One of the warp's threads, all of which are here, as i1. ptxas knows that it is one; of a
 * comparison it does not, and loops over threads at each tensor copy. */
Lv cg_elect(Cg *cg);
/* A number that all threads of a warp have, as one that ptxas sees to be the same in them. */
Lv cg_uniform(Cg *cg, Lv number);
#endif
