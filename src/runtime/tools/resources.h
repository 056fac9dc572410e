/* What a compiled kernel takes of an SM. */
#ifndef TILEC_RUNTIME_TOOLS_RESOURCES_H
#define TILEC_RUNTIME_TOOLS_RESOURCES_H
#include "target/target.h"

typedef struct Resources {
    bool known;                        /* false: the code was not assembled */
    int32_t registers;                 /* a thread */
    int32_t stack_bytes;               /* a thread */
    int32_t spill_stores, spill_loads; /* bytes a thread */
    int32_t static_shared;             /* bytes a block, besides the dynamic shared memory */
    int32_t blocks_per_sm;             /* resident at once */
    int32_t warps_per_sm;
    double occupancy; /* of the warps that an SM holds, 0 to 1 */
} Resources;

/* Fills blocks_per_sm, warps_per_sm and occupancy from the registers, `threads` of a block and its
 * dynamic shared memory (CUDA C++ programming guide: allocation units of registers and of shared
 * memory). */
void resources_occupancy(Resources *resources, const Target *target, int32_t threads,
                         int32_t dynamic_shared);

/* Reads the lines of `ptxas -v` about the function `kernel`; false when there are none. */
bool resources_parse(Str log, Str kernel, Resources *resources);
#endif
