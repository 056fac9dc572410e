#include "codegen/values/cache.h"
#include <stddef.h>

struct Cache {
    struct Cache *next;
    const CacheKind *kind;
    max_align_t memory[];
};

/* They are few. */
void *cg_cache(Cg *cg, const CacheKind *kind) {
    for (struct Cache *cache = cg->caches; cache; cache = cache->next)
        if (cache->kind == kind)
            return cache->memory;
    struct Cache *cache = arena_alloc(cg->arena, sizeof *cache + kind->size);
    cache->next = cg->caches;
    cache->kind = kind;
    cg->caches = cache;
    return cache->memory;
}
