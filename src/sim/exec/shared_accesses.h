/* What accesses of shared memory by threads show beyond their number: which words each instruction
 * touches at once where it is worst, and how often words are read again. */
#ifndef TILEC_SIM_EXEC_SHARED_ACCESSES_H
#define TILEC_SIM_EXEC_SHARED_ACCESSES_H
#include "sim/report/counters.h"
#include "sim/state/program.h"

/* Who has read a word of shared memory since it was written. */
typedef struct WordReaders {
    SharedCell write; /* the write that they read */
    uint32_t warps;   /* a bit each */
    uint64_t access;  /* the last one, by number */
} WordReaders;

/* Another program begins. */
void forget_readers(Cta *cta);

typedef enum SharedUse { SHARED_READ, SHARED_WRITE } SharedUse;

/* The lanes of `mask` touch `size` bytes at their addresses, which was counted: `before` is what
 * the instruction had counted then. */
void note_shared(Warp *warp, const Insn *insn, const uint64_t *addresses, uint32_t mask,
                 uint32_t size, SharedUse use, const InsnCounts *before);
/* Counts it as count_shared does, and notes it. */
void count_shared_of(Warp *warp, const Insn *insn, const uint64_t *addresses, uint32_t mask,
                     uint32_t size, SharedUse use);
#endif
