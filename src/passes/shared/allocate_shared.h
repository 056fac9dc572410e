/* What allocate-shared would take, and when buffers live. */
#ifndef TILEC_PASSES_SHARED_ALLOCATE_SHARED_H
#define TILEC_PASSES_SHARED_ALLOCATE_SHARED_H
#include "passes/rewrite.h"

/* Bytes of shared memory for all buffers but `allocs` (local_allocs), where those that never live
 * at once overlap. */
int64_t shared_bytes_beside(Func *func, const PtrSet *allocs);
/* Bytes for all buffers where none overlaps another. */
int64_t shared_bytes_apart(Func *func);

/* When a buffer lives: positions of ops, which are numbered from 1 on in the order of the text. */
typedef struct SharedLife {
    const Op *alloc; /* local_alloc or mbarrier_alloc */
    uint32_t first, last;
} SharedLife;
typedef VEC(SharedLife) SharedLives;
/* Of all buffers of the function, in the order of the text, in `arena`, and how many ops there are.
 */
SharedLives shared_lives(Func *func, Arena *arena, uint32_t *ops);

/* What a buffer would take if it were made smaller. */
typedef struct SharedSize {
    const Op *alloc; /* local_alloc */
    int64_t bytes;
    bool is_least; /* it cannot be made smaller still */
} SharedSize;
/* Do all buffers fit `room` bytes, those that never live at once in the same? If not, which of
 * `sizes` is the largest of those that live where more is alive than fits; `count`: none that can
 * be made smaller. */
bool shared_fits(Func *func, int64_t room, const SharedSize *sizes, uint32_t count,
                 uint32_t *largest);
#endif
