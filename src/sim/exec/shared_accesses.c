/* Accesses of shared memory: the worst of each instruction, and words that are read again.
 *
 * A word is read again when some warp of the program has read it since it was last written, as the
 * cells of the race checks tell writes apart. What lanes of one access read at once is one reading:
 * it is given to all of them. */
#include "sim/exec/shared_accesses.h"

enum { WORD_BYTES = 4 };

static uint64_t words_of(const Cta *cta) {
    return cta->shared_end / WORD_BYTES;
}

void forget_readers(Cta *cta) {
    if (cta->readers)
        memset(cta->readers, 0, words_of(cta) * sizeof *cta->readers);
    cta->accesses = 0;
}

/* Reading the word is told of its readers. */
static void note_word(Warp *warp, InsnCounts *counts, uint64_t word) {
    Cta *cta = warp->cta;
    WordReaders *readers = &cta->readers[word];
    const SharedCell *write = &cta->writes[word * WORD_BYTES];
    const uint32_t own = UINT32_C(1) << warp->index % MAX_WARPS;
    if (readers->access == cta->accesses)
        return;
    readers->access = cta->accesses;
    counts->words++;
    if (!readers->warps || readers->write.epoch != write->epoch || readers->write.pc != write->pc ||
        readers->write.actor != write->actor) {
        readers->write = *write;
        readers->warps = 0;
        counts->first_words++;
    }
    counts->own_words += (readers->warps & own) != 0;
    readers->warps |= own;
}

static void note_read(Warp *warp, InsnCounts *counts, const uint64_t *addresses, uint32_t mask,
                      uint32_t size) {
    Cta *cta = warp->cta;
    if (!cta->readers)
        cta->readers = ARENA_ARRAY(warp->machine->arena, WordReaders, words_of(cta) + 1);
    cta->accesses++;
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint64_t address = addresses[__builtin_ctz(left)];
        for (uint64_t word = address / WORD_BYTES; word <= (address + size - 1) / WORD_BYTES;
             word++)
            if (word < words_of(cta))
                note_word(warp, counts, word);
    }
}

/* Words that threads write are new, also where their warp's epoch is the one of its write before.
 */
static void note_write(Warp *warp, const uint64_t *addresses, uint32_t mask, uint32_t size) {
    Cta *cta = warp->cta;
    if (!cta->readers)
        return;
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint64_t address = addresses[__builtin_ctz(left)];
        for (uint64_t word = address / WORD_BYTES; word <= (address + size - 1) / WORD_BYTES;
             word++)
            if (word < words_of(cta))
                cta->readers[word].warps = 0;
    }
}

/* Keeps the access if it is worse than the one kept so far. */
static void keep_worst(Warp *warp, uint32_t pc, const SimSharedAccess *access) {
    SimCounts *counts = warp->machine->counts;
    SimSharedAccess **kept = &counts->shared[pc];
    if (*kept && !shared_is_worse(access, *kept))
        return;
    if (!*kept)
        *kept = ARENA_NEW(counts->keep, SimSharedAccess);
    **kept = *access;
}

void note_shared(Warp *warp, const Insn *insn, const uint64_t *addresses, uint32_t mask,
                 uint32_t size, SharedUse use, const InsnCounts *before) {
    const uint32_t pc = insn_pc(warp, insn);
    InsnCounts *counts = &warp->machine->counts->insns[pc];
    SimSharedAccess access = {.mask = mask,
                              .size = size,
                              .program = warp->cta->number,
                              .warp = warp->index,
                              .reads = use == SHARED_READ,
                              .wavefronts = (uint32_t)(counts->wavefronts - before->wavefronts),
                              .ideal_wavefronts =
                                  (uint32_t)(counts->ideal_wavefronts - before->ideal_wavefronts)};
    for (uint32_t left = mask; left; left &= left - 1)
        access.addresses[__builtin_ctz(left)] = (uint32_t)addresses[__builtin_ctz(left)];
    keep_worst(warp, pc, &access);
    if (use == SHARED_READ)
        note_read(warp, counts, addresses, mask, size);
    else
        note_write(warp, addresses, mask, size);
}

void count_shared_of(Warp *warp, const Insn *insn, const uint64_t *addresses, uint32_t mask,
                     uint32_t size, SharedUse use) {
    InsnCounts *counts = &warp->machine->counts->insns[insn_pc(warp, insn)];
    const InsnCounts before = *counts;
    count_shared(counts, addresses, mask, size);
    note_shared(warp, insn, addresses, mask, size, use, &before);
}
