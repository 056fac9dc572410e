/* See key_table.h. */
#include "runtime/api/key_table.h"

#define XXH_INLINE_ALL
#include <string.h>
#include <xxhash.h>

enum { FIRST_SLOTS = 16 };

/* In the slot of an entry that was removed: no key has its length. */
static const KeyEntry removed = {.key_len = SIZE_MAX};

struct KeyTable {
    KeyTable *older;
    Arena arena;
    size_t slots, used; /* slots is a power of two, at least half free */
    size_t removed;     /* of those that are used */
    _Atomic(KeyEntry *) *entries;
};

uint64_t key_hash(const void *key, size_t size) {
    return XXH3_64bits(key, size);
}

KeyEntry *key_table_find(KeyTableRoot *root, uint64_t hash, const void *key, size_t size) {
    const KeyTable *table = atomic_load_explicit(root, memory_order_acquire);
    for (size_t i = hash & (table->slots - 1);; i = (i + 1) & (table->slots - 1)) {
        KeyEntry *entry = atomic_load_explicit(&table->entries[i], memory_order_acquire);
        if (!entry)
            return NULL;
        if (entry->hash == hash && entry->key_len == size && memcmp(entry->key, key, size) == 0)
            return entry;
    }
}

void key_table_place(KeyTable *table, KeyEntry *entry) {
    size_t i = entry->hash & (table->slots - 1);
    while (atomic_load_explicit(&table->entries[i], memory_order_relaxed))
        i = (i + 1) & (table->slots - 1);
    atomic_store_explicit(&table->entries[i], entry, memory_order_release);
    table->used++;
}

/* In an arena of its own. */
static KeyTable *create(const Arena *like, size_t slots, KeyTable *older) {
    Arena arena = {.oom = like->oom, .allocator = like->allocator};
    KeyTable *table = arena_alloc(&arena, sizeof *table + slots * sizeof *table->entries);
    table->older = older;
    table->slots = slots;
    table->used = table->removed = 0;
    table->entries = (_Atomic(KeyEntry *) *)(table + 1);
    for (size_t i = 0; i < slots; i++)
        atomic_init(&table->entries[i], NULL);
    table->arena = arena;
    table->arena.oom = NULL;
    return table;
}

KeyTable *key_table_create(const Arena *like) {
    return create(like, FIRST_SLOTS, NULL);
}

void key_table_remove(KeyTableRoot *root, size_t index) {
    KeyTable *table = atomic_load_explicit(root, memory_order_relaxed);
    atomic_store_explicit(&table->entries[index], (KeyEntry *)(uintptr_t)&removed,
                          memory_order_release);
    table->removed++;
}

KeyTable *key_table_reserve(KeyTableRoot *root, const Arena *like) {
    KeyTable *table = atomic_load_explicit(root, memory_order_relaxed);
    if (2 * (table->used + 1) <= table->slots)
        return table;
    const size_t live = table->used - table->removed;
    KeyTable *larger =
        create(like, 4 * live < table->slots ? table->slots : 2 * table->slots, table);
    for (size_t i = 0; i < table->slots; i++)
        if (key_table_at(table, i))
            key_table_place(larger, key_table_at(table, i));
    atomic_store_explicit(root, larger, memory_order_release);
    return larger;
}

size_t key_table_slots(const KeyTable *table) {
    return table->slots;
}

KeyEntry *key_table_at(const KeyTable *table, size_t index) {
    KeyEntry *entry = atomic_load_explicit(&table->entries[index], memory_order_relaxed);
    return entry == &removed ? NULL : entry;
}

void key_table_free(KeyTable *table) {
    while (table) {
        Arena arena = table->arena;
        table = table->older;
        arena_free(&arena);
    }
}
