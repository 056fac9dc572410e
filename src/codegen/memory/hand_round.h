/* What one thread got from memory on behalf of others that hold the same element. */
#ifndef TILEC_CODEGEN_MEMORY_HAND_ROUND_H
#define TILEC_CODEGEN_MEMORY_HAND_ROUND_H
#include "codegen/cg.h"

/* Gives every thread that holds an element of the op's result what its owner has in `out`: by a
 * shuffle when the copies are in one warp, else through shared memory between two barriers
 * (ir/scratch.h). `out` has the elements that the plan of the layout names first; the others are
 * filled in. */
void cg_hand_round(Cg *cg, const Op *op, Lv *out);
#endif
