/* What accesses cost: sectors of global memory, wavefronts of shared memory, and which bytes of
 * global memory they touch. */
#include "sim/report/counters.h"

enum { MAX_PIECES = 64 };

SimCounts *counts_create(Arena *arena, Arena *scratch, uint32_t insn_count,
                         uint32_t allocation_count) {
    SimCounts *counts = ARENA_NEW(arena, SimCounts);
    *counts = (SimCounts){.insn_count = insn_count,
                          .insns = ARENA_ARRAY(arena, InsnCounts, insn_count + 1),
                          .shared = ARENA_ARRAY(arena, SimSharedAccess *, insn_count + 1),
                          .keep = arena,
                          .arena = scratch,
                          .touched = ARENA_ARRAY(scratch, TouchedBytes, allocation_count + 1),
                          .touched_count = allocation_count};
    return counts;
}

static size_t bitmap_words(uint64_t bytes) {
    return (size_t)((bytes + 63) / 64);
}

static uint64_t *bitmap_of(SimCounts *counts, uint64_t **bitmap, uint64_t bytes) {
    if (!*bitmap)
        *bitmap = ARENA_ARRAY(counts->arena, uint64_t, bitmap_words(bytes) + 1);
    return *bitmap;
}

static void mark_bytes(uint64_t *bitmap, uint64_t offset, uint64_t size) {
    while (size) {
        unsigned at = offset % 64, count = size < 64u - at ? (unsigned)size : 64 - at;
        uint64_t ones = count == 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
        bitmap[offset / 64] |= ones << at;
        offset += count;
        size -= count;
    }
}

void count_bytes(SimCounts *counts, uint32_t pc, uint32_t index, uint64_t bytes, uint64_t offset,
                 uint64_t size, bool reads, bool writes) {
    TouchedBytes *touched = &counts->touched[index];
    touched->bytes = bytes;
    counts->insns[pc].reads |= reads;
    counts->insns[pc].writes |= writes;
    if (reads)
        mark_bytes(bitmap_of(counts, &touched->read, bytes), offset, size);
    if (writes)
        mark_bytes(bitmap_of(counts, &touched->written, bytes), offset, size);
}

static void add_bitmap(SimCounts *to, uint64_t **bitmap, const uint64_t *from, uint64_t bytes) {
    if (!from)
        return;
    uint64_t *sum = bitmap_of(to, bitmap, bytes);
    for (size_t i = 0; i < bitmap_words(bytes); i++)
        sum[i] |= from[i];
}

/* Of equal ones that of the first program is, whichever thread of the host runs it. */
bool shared_is_worse(const SimSharedAccess *one, const SimSharedAccess *than) {
    const uint64_t mine = (uint64_t)one->wavefronts * than->ideal_wavefronts;
    const uint64_t other = (uint64_t)than->wavefronts * one->ideal_wavefronts;
    return mine != other ? mine > other : one->program < than->program;
}

void counts_add(SimCounts *to, const SimCounts *from) {
    for (uint32_t pc = 0; pc < from->insn_count; pc++)
        insn_counts_add(&to->insns[pc], &from->insns[pc]);
    for (uint32_t pc = 0; pc < from->insn_count; pc++) {
        if (!from->shared[pc] ||
            (to->shared[pc] && !shared_is_worse(from->shared[pc], to->shared[pc])))
            continue;
        if (!to->shared[pc])
            to->shared[pc] = ARENA_NEW(to->keep, SimSharedAccess);
        *to->shared[pc] = *from->shared[pc];
    }
    to->divergent_branches += from->divergent_branches;
    to->barrier_waits += from->barrier_waits;
    for (int type = 0; type < TYPE_COUNT; type++)
        to->multiply_adds[type] += from->multiply_adds[type];
    for (uint32_t i = 0; i < from->touched_count; i++) {
        const TouchedBytes *touched = &from->touched[i];
        to->touched[i].bytes = touched->bytes ? touched->bytes : to->touched[i].bytes;
        add_bitmap(to, &to->touched[i].read, touched->read, touched->bytes);
        add_bitmap(to, &to->touched[i].written, touched->written, touched->bytes);
    }
}

static uint64_t count_marked(const uint64_t *bitmap, uint64_t bytes) {
    uint64_t sum = 0;
    for (size_t i = 0; bitmap && i < bitmap_words(bytes); i++)
        sum += (uint64_t)__builtin_popcountll(bitmap[i]);
    return sum;
}

void counts_finish(SimCounts *counts) {
    for (uint32_t i = 0; i < counts->touched_count; i++) {
        const TouchedBytes *touched = &counts->touched[i];
        counts->distinct_read += count_marked(touched->read, touched->bytes);
        counts->distinct_written += count_marked(touched->written, touched->bytes);
    }
    counts->arena = NULL;
    counts->touched = NULL;
    counts->touched_count = 0;
}

void insn_counts_add(InsnCounts *to, const InsnCounts *from) {
    to->warps += from->warps;
    to->threads += from->threads;
    to->divergent += from->divergent;
    to->requests += from->requests;
    to->sectors += from->sectors;
    to->ideal_sectors += from->ideal_sectors;
    to->bytes_used += from->bytes_used;
    to->reads |= from->reads;
    to->writes |= from->writes;
    to->wavefronts += from->wavefronts;
    to->ideal_wavefronts += from->ideal_wavefronts;
    to->words += from->words;
    to->first_words += from->first_words;
    to->own_words += from->own_words;
}

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

void count_stream(InsnCounts *counts, StreamCount *stream, uint64_t address, uint64_t size) {
    uint64_t first = address / SECTOR_BYTES + 1, last = (address + size - 1) / SECTOR_BYTES + 1;
    uint64_t before = (stream->used + SECTOR_BYTES - 1) / SECTOR_BYTES;
    counts->requests += stream->sector == 0;
    counts->sectors += last - first + (first != stream->sector);
    stream->sector = last;
    stream->used += size;
    counts->ideal_sectors += (stream->used + SECTOR_BYTES - 1) / SECTOR_BYTES - before;
    counts->bytes_used += size;
}

/* Wavefronts of the lanes of one part: the most words that one bank must give; `least`: as many as
 * their words need wherever they lie. */
static unsigned part_wavefronts(const uint64_t *addresses, uint32_t mask, uint32_t size,
                                unsigned *least) {
    uint64_t set[256];
    unsigned count = 0, per_bank[BANKS] = {0}, most = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint64_t address = addresses[__builtin_ctz(left)];
        for (uint64_t w = address / 4; w <= (address + size - 1) / 4; w++)
            if (add_to_set(set, &count, w) && ++per_bank[w % BANKS] > most)
                most = per_bank[w % BANKS];
    }
    *least = (count + BANKS - 1) / BANKS;
    return most;
}

void count_wavefronts(InsnCounts *counts, const uint64_t *addresses, uint32_t mask, uint32_t size) {
    unsigned parts = size <= 4 ? 1 : size / 4;
    unsigned lanes = 32 / parts;
    for (unsigned part = 0; part < parts; part++) {
        uint32_t in_part = (uint32_t)(((UINT64_C(1) << lanes) - 1) << (part * lanes));
        unsigned least;
        counts->wavefronts += part_wavefronts(addresses, mask & in_part, size, &least);
        counts->ideal_wavefronts += least;
    }
}

void count_shared(InsnCounts *counts, const uint64_t *addresses, uint32_t mask, uint32_t size) {
    counts->requests++;
    counts->bytes_used += (uint64_t)__builtin_popcount(mask) * size;
    count_wavefronts(counts, addresses, mask, size);
}
