/* What place-barriers ensures, asked of a function. Private to src/passes. */
#ifndef TILEC_PASSES_SHARED_PLACE_BARRIERS_H
#define TILEC_PASSES_SHARED_PLACE_BARRIERS_H
#include "ir/ir.h"

/* Is there a barrier between any two accesses to memory that conflict? Behind part-stores, where
 * warpgroups meet among themselves, it is not asked. Places nothing; numbers no values. */
bool barriers_are_placed(Func *func);
#endif
