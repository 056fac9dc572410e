/* Open addressing with linear probing, at most half full. */
#include "support/ptrmap.h"

#include <stdint.h>

static PtrMapEntry *find(const PtrMap *map, const void *key) {
    /* Fibonacci hashing: the product's high bits depend on all bits of the address. */
    uint64_t hash = (uint64_t)(uintptr_t)key * UINT64_C(0x9E3779B97F4A7C15) >> 32;
    for (size_t i = hash & (map->cap - 1);; i = (i + 1) & (map->cap - 1))
        if (!map->entries[i].key || map->entries[i].key == key)
            return &map->entries[i];
}

void *ptrmap_get(const PtrMap *map, const void *key) {
    return map->cap ? find(map, key)->value : NULL;
}

void ptrmap_set(PtrMap *map, const void *key, void *value) {
    if (2 * (map->len + 1) > map->cap) {
        PtrMap larger = {.arena = map->arena, .len = map->len};
        larger.cap = map->cap ? 2 * map->cap : 16;
        larger.entries = ARENA_ARRAY(map->arena, PtrMapEntry, larger.cap);
        for (size_t i = 0; i < map->cap; i++)
            if (map->entries[i].key)
                *find(&larger, map->entries[i].key) = map->entries[i];
        *map = larger;
    }
    PtrMapEntry *entry = find(map, key);
    map->len += !entry->key;
    *entry = (PtrMapEntry){key, value};
}
