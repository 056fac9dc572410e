/* See sectors.h: open addressing, at most half full. */
#include "sim/time/sectors.h"

#include "target/common.h"

#include <string.h>

enum { LEAST_CAP = 1024 };

static size_t place_of(const Sectors *sectors, uint64_t key) {
    uint64_t hash = key * UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)(hash >> 20) & (sectors->cap - 1);
    while (sectors->slots[at] && sectors->slots[at] != key)
        at = (at + 1) & (sectors->cap - 1);
    return at;
}

static void grow(Sectors *sectors, Arena *arena) {
    Sectors larger = {.cap = sectors->cap ? sectors->cap * 2 : LEAST_CAP,
                      .count = sectors->count,
                      .fresh = sectors->fresh};
    larger.slots = ARENA_ARRAY(arena, uint64_t, larger.cap);
    for (size_t i = 0; i < sectors->cap; i++)
        if (sectors->slots[i])
            larger.slots[place_of(&larger, sectors->slots[i])] = sectors->slots[i];
    *sectors = larger;
}

void sectors_add(Sectors *sectors, Arena *arena, uint64_t address, uint64_t size) {
    uint64_t last = (address + size - 1) / TARGET_SECTOR_BYTES;
    for (uint64_t sector = address / TARGET_SECTOR_BYTES; sector <= last; sector++) {
        if (2 * sectors->count >= sectors->cap)
            grow(sectors, arena);
        uint64_t *slot = &sectors->slots[place_of(sectors, sector + 1)];
        sectors->count += !*slot;
        sectors->fresh += !*slot;
        *slot = sector + 1;
    }
}

bool sectors_have(const Sectors *sectors, uint64_t sector) {
    return sectors->cap && sectors->slots[place_of(sectors, sector + 1)];
}

void sectors_clear(Sectors *sectors) {
    if (sectors->cap)
        memset(sectors->slots, 0, sectors->cap * sizeof *sectors->slots);
    sectors->count = 0;
    sectors->fresh = 0;
}

uint64_t sectors_beyond(const Sectors *a, const Sectors *b) {
    uint64_t count = 0;
    for (size_t i = 0; i < a->cap; i++)
        count += a->slots[i] && !sectors_have(b, a->slots[i] - 1);
    return count;
}
