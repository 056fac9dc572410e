/* What a launch counts, by instruction. Sums over instructions are made when they are reported. */
#ifndef TILEC_SIM_REPORT_COUNTERS_H
#define TILEC_SIM_REPORT_COUNTERS_H
#include "sim/parse/module.h"
#include "sim/sim.h"
#include "target/common.h"

typedef struct InsnCounts {
    uint64_t warps;     /* executions */
    uint64_t threads;   /* threads of them */
    uint64_t divergent; /* executions by a part of the warp's threads */
    /* global memory */
    uint64_t requests, sectors, ideal_sectors, bytes_used;
    bool reads, writes; /* global memory; atomics do both */
    /* shared memory */
    uint64_t wavefronts, ideal_wavefronts;
    uint64_t words, first_words, own_words; /* see SimCount */
} InsnCounts;

/* Which bytes of an allocation were accessed: a bit each. */
typedef struct TouchedBytes {
    uint64_t *read, *written; /* NULL: none */
    uint64_t bytes;           /* of the allocation */
} TouchedBytes;

struct SimCounts {
    InsnCounts *insns; /* by program counter */
    uint32_t insn_count;
    SimSharedAccess **shared; /* the worst access, by program counter */
    Arena *keep;              /* where they lie */
    const char *kernel;
    uint32_t programs, threads;
    uint64_t divergent_branches, barrier_waits;
    uint64_t multiply_adds[TYPE_COUNT]; /* of tensor cores, by the type of A's elements */
    uint64_t static_shared, dynamic_shared;
    uint32_t registers; /* of a thread, as an assembler says; 0: not known */
    /* While the launch runs: in its arena, by number of the allocation. */
    Arena *arena;
    TouchedBytes *touched;
    uint32_t touched_count;
    /* Afterwards: bytes of global memory that were read or written at least once. */
    uint64_t distinct_read, distinct_written;
};

/* Does the one access take more passes for each that would do? */
bool shared_is_worse(const SimSharedAccess *one, const SimSharedAccess *than);

enum { SECTOR_BYTES = TARGET_SECTOR_BYTES, BANKS = 32 };

/* Room for the counts of a launch: they live in `arena`, what is needed only while it runs in
 * `scratch`. */
SimCounts *counts_create(Arena *arena, Arena *scratch, uint32_t insn_count,
                         uint32_t allocation_count);
void insn_counts_add(InsnCounts *to, const InsnCounts *from);
/* Adds what another machine counted of the same launch, before either is finished. */
void counts_add(SimCounts *to, const SimCounts *from);
/* The launch has ended: its scratch memory may go. */
void counts_finish(SimCounts *counts);

/* One access of a warp to global memory: the lanes of `mask` touch `size` bytes at their addresses.
 */
void count_global(InsnCounts *counts, const uint64_t *addresses, uint32_t mask, uint32_t size);
/* The same for shared memory. */
void count_shared(InsnCounts *counts, const uint64_t *addresses, uint32_t mask, uint32_t size);
/* What the shared memory's side of an access costs that is counted already, as one of global
 * memory.
 */
void count_wavefronts(InsnCounts *counts, const uint64_t *addresses, uint32_t mask, uint32_t size);
/* What a copy that comes in pieces has touched so far; begins as zeros. */
typedef struct StreamCount {
    uint64_t sector; /* the last one, + 1 */
    uint64_t used;
} StreamCount;

/* The next piece of a bulk copy from or to global memory: one request whatever its size. */
void count_stream(InsnCounts *counts, StreamCount *stream, uint64_t address, uint64_t size);
/* `size` bytes at `offset` of allocation `index`, which has `bytes`, are read or written (or both)
 * by the instruction at `pc`. */
void count_bytes(SimCounts *counts, uint32_t pc, uint32_t index, uint64_t bytes, uint64_t offset,
                 uint64_t size, bool reads, bool writes);
/* Multiply-adds of one instruction of the tensor cores. */
static inline void count_tensor(SimCounts *counts, Type type, uint64_t multiply_adds) {
    counts->multiply_adds[type] += multiply_adds;
}
#endif
