/* What accesses cost: sectors of global memory, wavefronts of shared memory. */
#include "sim/counters.h"

enum { MAX_PIECES = 64 };

/* Adds `value` to the sorted set; true when it was not there. */
static bool add_to_set(uint64_t *set, unsigned *count, uint64_t value) {
    unsigned at = *count;
    /* Addresses mostly ascend. */
    while (at && set[at - 1] > value)
        at--;
    if (at && set[at - 1] == value)
        return false;
    for (unsigned i = *count; i > at; i--)
        set[i] = set[i - 1];
    set[at] = value;
    ++*count;
    return true;
}

void count_global(InsnCounts *counts, const uint64_t *addresses, uint32_t mask, uint32_t size) {
    uint64_t sectors[MAX_PIECES], words[32];
    unsigned sector_count = 0, word_count = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint64_t address = addresses[__builtin_ctz(left)];
        for (uint64_t s = address / SECTOR_BYTES; s <= (address + size - 1) / SECTOR_BYTES; s++)
            add_to_set(sectors, &sector_count, s);
        add_to_set(words, &word_count, address);
    }
    /* Aligned accesses of one size overlap only when they are the same. */
    uint64_t used = (uint64_t)word_count * size;
    counts->requests++;
    counts->sectors += sector_count;
    counts->ideal_sectors += (used + SECTOR_BYTES - 1) / SECTOR_BYTES;
    counts->bytes_used += used;
}

/* Wavefronts of the lanes of one part: the most words that one bank must give. */
static unsigned part_wavefronts(const uint64_t *addresses, uint32_t mask, uint32_t size,
                                unsigned *words) {
    uint64_t set[256];
    unsigned count = 0, per_bank[BANKS] = {0}, most = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint64_t address = addresses[__builtin_ctz(left)];
        for (uint64_t w = address / 4; w <= (address + size - 1) / 4; w++)
            if (add_to_set(set, &count, w) && ++per_bank[w % BANKS] > most)
                most = per_bank[w % BANKS];
    }
    *words += count;
    return most;
}

void count_shared(InsnCounts *counts, const uint64_t *addresses, uint32_t mask, uint32_t size) {
    unsigned parts = size <= 4 ? 1 : size / 4, words = 0, wavefronts = 0;
    unsigned lanes = 32 / parts;
    for (unsigned part = 0; part < parts; part++) {
        uint32_t in_part = (uint32_t)(((UINT64_C(1) << lanes) - 1) << (part * lanes));
        wavefronts += part_wavefronts(addresses, mask & in_part, size, &words);
    }
    unsigned ideal = (words + BANKS - 1) / BANKS;
    counts->requests++;
    counts->bytes_used += (uint64_t)__builtin_popcount(mask) * size;
    counts->wavefronts += wavefronts;
    counts->ideal_wavefronts += ideal;
}
