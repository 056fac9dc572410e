/* Tables that are read without a lock: what functions know of calls, by the call's key.
 *
 * Readers follow one atomic pointer and probe; a writer, under a lock of its owner's, puts a new
 * entry into a free slot or publishes a table of twice the size. Old tables stay until the owner
 * goes, since a reader may still probe them. */
#ifndef TILEC_RUNTIME_API_KEY_TABLE_H
#define TILEC_RUNTIME_API_KEY_TABLE_H
#include "support/arena.h"
#include <stdatomic.h>

/* The first member of what is found. */
typedef struct KeyEntry {
    uint64_t hash;
    const unsigned char *key;
    size_t key_len;
} KeyEntry;

typedef struct KeyTable KeyTable;
typedef _Atomic(KeyTable *) KeyTableRoot;

uint64_t key_hash(const void *key, size_t size);
/* An empty table, with the allocator of another arena; out of memory goes where that one jumps. */
KeyTable *key_table_create(const Arena *like);
/* NULL: there is none. Any thread. */
KeyEntry *key_table_find(KeyTableRoot *root, uint64_t hash, const void *key, size_t size);
/* By the writer: room for one more entry, so that placing it cannot fail. */
KeyTable *key_table_reserve(KeyTableRoot *root, const Arena *like);
void key_table_place(KeyTable *table, KeyEntry *entry);
/* By the writer: entry `index` is found no more, but by readers of an older table at the moment. */
void key_table_remove(KeyTableRoot *root, size_t index);
/* Entry `index` below key_table_slots; NULL: the slot has none. */
size_t key_table_slots(const KeyTable *table);
KeyEntry *key_table_at(const KeyTable *table, size_t index);
/* With all older ones; entries are their owner's. */
void key_table_free(KeyTable *table);
#endif
