/* What a thread compiled, for other threads of the process that wait for it: see lease.h. */
#include "runtime/cache/cache_internal.h"

void cache_land(Cache *cache, const CachePlace *place, Str file) {
    pthread_mutex_lock(&cache->lock);
    for (CacheFlight *flight = cache->flights; flight; flight = flight->next) {
        if (flight->has_ended || flight->has_landed ||
            memcmp(flight->name, place->name, CACHE_HASH_DIGITS) != 0)
            continue;
        flight->has_landed = true;
        flight->file = allocator_take(cache->allocator, file.len);
        if (flight->file) {
            memcpy(flight->file, file.ptr, file.len);
            flight->size = file.len;
        }
    }
    pthread_mutex_unlock(&cache->lock);
}

static CacheFlight *find_landed(const Cache *cache, const char *name) {
    CacheFlight *flight = cache->flights;
    while (flight && !(flight->file && !memcmp(flight->name, name, CACHE_HASH_DIGITS)))
        flight = flight->next;
    return flight;
}

/* The arena may jump, so it allocates without the lock. */
bool cache_landed(Cache *cache, Arena *arena, const CachePlace *place, Str *file) {
    pthread_mutex_lock(&cache->lock);
    const CacheFlight *flight = find_landed(cache, place->name);
    const size_t size = flight ? flight->size : 0;
    pthread_mutex_unlock(&cache->lock);
    if (!size)
        return false;
    char *copy = arena_alloc(arena, size);
    pthread_mutex_lock(&cache->lock);
    flight = find_landed(cache, place->name);
    const bool found = flight && flight->size == size;
    if (found)
        memcpy(copy, flight->file, size);
    pthread_mutex_unlock(&cache->lock);
    *file = (Str){copy, size};
    return found;
}
