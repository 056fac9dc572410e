/* What allocate-shared would take. Private to src/passes. */
#ifndef TILEC_PASSES_ALLOCATE_SHARED_H
#define TILEC_PASSES_ALLOCATE_SHARED_H
#include "passes/rewrite.h"

/* Bytes of shared memory for all buffers but `allocs` (local_allocs), where those that never live
 * at once overlap. */
int64_t shared_bytes_beside(Func *func, const PtrSet *allocs);
/* Bytes for all buffers where none overlaps another. */
int64_t shared_bytes_apart(Func *func);
#endif
