/* What a launch counts, by instruction. */
#ifndef TILEC_SIM_COUNTERS_H
#define TILEC_SIM_COUNTERS_H
#include "sim/module.h"

typedef struct InsnCounts {
    uint64_t warps;     /* executions */
    uint64_t threads;   /* threads of them */
    uint64_t divergent; /* executions by a part of the warp's threads */
    /* global memory */
    uint64_t requests, sectors, ideal_sectors, bytes_used;
    /* shared memory */
    uint64_t wavefronts, ideal_wavefronts;
} InsnCounts;

struct SimCounts {
    InsnCounts *insns; /* by program counter */
    uint32_t insn_count;
    const char *kernel;
    uint32_t programs, threads;
    uint64_t thread_instructions, warp_instructions;
    uint64_t by_class[CLASS_COUNT]; /* threads */
    uint64_t divergent_branches, barrier_waits;
    uint64_t tensor_flops;
    uint64_t static_shared, dynamic_shared;
};

enum { SECTOR_BYTES = 32, BANKS = 32 };

/* One access of a warp to global memory: the lanes of `mask` touch `size` bytes at their addresses.
 */
void count_global(InsnCounts *counts, const uint64_t *addresses, uint32_t mask, uint32_t size);
/* The same for shared memory. */
void count_shared(InsnCounts *counts, const uint64_t *addresses, uint32_t mask, uint32_t size);
#endif
