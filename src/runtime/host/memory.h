/* What programs of a run may touch of this process's memory: arrays that do not overlap. */
#ifndef TILEC_RUNTIME_HOST_MEMORY_H
#define TILEC_RUNTIME_HOST_MEMORY_H
#include "interp/interp.h"
#include "support/vec.h"

typedef struct HostMemory {
    VEC(InterpArray) stated;  /* storages, by whoever knows their ends */
    VEC(InterpArray) implied; /* what arguments lead to: counts where nothing stated does */
} HostMemory;

/* An array at its data's address. An empty one that has none is left out. */
void host_memory_add(Arena *arena, HostMemory *memory, InterpArray array, bool is_implied);

/* The arrays in the order of their addresses; those that overlap are one, which may be written
 * where one of them may, and has the name of the first of them that has one. False after a report:
 * one has no memory, or they disagree about which of their bytes are defined. */
bool host_memory_join(Ctx *ctx, HostMemory *memory, InterpArray **arrays, uint32_t *count);

/* Of such arrays the one that holds the address, or ends there; UINT32_MAX: none. */
uint32_t host_memory_find(const InterpArray *arrays, uint32_t count, uint64_t address);
#endif
