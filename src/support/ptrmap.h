/* Hash map from pointers to pointers, in an arena: values to copies, interned names to values. */
#ifndef TILEC_SUPPORT_PTRMAP_H
#define TILEC_SUPPORT_PTRMAP_H
#include "support/arena.h"

typedef struct PtrMapEntry {
    const void *key; /* NULL: free */
    void *value;
} PtrMapEntry;

/* A map of zeros with an arena is empty. */
typedef struct PtrMap {
    Arena *arena;
    PtrMapEntry *entries;
    size_t len, cap; /* cap is a power of two, or 0 */
} PtrMap;

/* NULL: absent. */
void *ptrmap_get(const PtrMap *map, const void *key);
/* Replaces what was there. A value of NULL is the same as none. */
void ptrmap_set(PtrMap *map, const void *key, void *value);
#endif
