/* What accesses lead to: global memory and where an address is in it or elsewhere. */
#ifndef TILEC_SIM_STATE_ACCESS_H
#define TILEC_SIM_STATE_ACCESS_H
#include "sim/parse/module.h"
#include "sim/sim.h"

typedef struct Cta Cta;

typedef enum AccessKind { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC } AccessKind;

typedef struct Allocation {
    uint64_t base, size;
    uint8_t *data, *defined; /* bits of bytes; defined NULL: all are */
    bool read_only;
    Str name;
} Allocation;

struct SimMemory {
    Ctx *ctx;
    VEC(Allocation) allocations; /* ascending by base */
    uint64_t next;
};

/* Where an address leads. */
typedef struct Target {
    SpaceKind space; /* never generic */
    uint8_t *data, *defined;
    const Allocation *allocation; /* of global memory */
    Cta *cta;                     /* of shared memory: whose */
    uint64_t offset; /* in the allocation, or the address in the shared memory of `cta` */
} Target;
#endif
