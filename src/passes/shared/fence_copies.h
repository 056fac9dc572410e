/* What fence-copies ensures, asked of a function. Private to src/passes. */
#ifndef TILEC_PASSES_SHARED_FENCE_COPIES_H
#define TILEC_PASSES_SHARED_FENCE_COPIES_H
#include "ir/ir.h"

/* Does a fence stand between what acquires and each tensor copy behind it, on every path? */
bool copies_are_fenced(Func *func);
#endif
