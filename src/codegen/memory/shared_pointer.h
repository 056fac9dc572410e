/* Addresses in shared memory. */
#ifndef TILEC_CODEGEN_MEMORY_SHARED_POINTER_H
#define TILEC_CODEGEN_MEMORY_SHARED_POINTER_H
#include "codegen/values/plans.h"

/* Byte `offset` of the program's dynamic shared memory. */
Lv cg_shared_at(Cg *cg, int64_t offset);
/* The program's shared memory for an op that takes some beside buffers (ir/scratch.h). */
Lv cg_scratch(Cg *cg);
/* A pointer into shared memory without the constants that were added last, which go to `constant`:
 * what threads and iterations add is then the same for all buffers. */
Lv cg_without_constants(Cg *cg, Lv pointer, int64_t *constant);
/* The element in a buffer at `base` whose offset is the thread's part of `plan`, a map to offsets,
 * together with `image`, that of a register. */
Lv cg_shared_pointer(Cg *cg, const Plan *plan, Lv base, int bytes, uint32_t image);
/* The same as a pointer that accesses share and a constant number of bytes. */
Lv cg_shared_offset(Cg *cg, const Plan *plan, Lv base, int bytes, uint32_t image,
                    int64_t *constant);
/* A local_load as maps: the layout of its result in indices of the buffer, and the offset there of
 * the first element of the part that it loads. */
typedef struct LoadedPart {
    const Layout *layout;
    uint32_t first;
} LoadedPart;
LoadedPart cg_loaded_part(Cg *cg, const Op *op);
#endif
