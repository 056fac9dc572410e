/* What a thread does alone for a reduction: it combines the registers that hold terms of one
 * result. */
#ifndef TILEC_CODEGEN_TILE_REDUCE_THREAD_H
#define TILEC_CODEGEN_TILE_REDUCE_THREAD_H
#include "codegen/tile/combine.h"
#include "codegen/values/plans.h"

/* Combines the registers of equal image without the index bits `dropped`; the result goes to the
 * lowest of each class. leader[reg] tells which that is, class_of[image] one more than it (0:
 * none). */
void cg_reduce_in_thread(Cg *cg, const Combiner *c, const Plan *plan, uint32_t dropped, Lv *values,
                         uint32_t *leader, uint32_t *class_of);
#endif
