/* Compiled kernels on disk, shared by processes and hosts.
 *
 * One file an entry, <folder>/v1/<digit>/<32 hex digits>.kernel, named by the XXH3-128 of its key
 * text: a readable list of everything that decides the code. A file describes itself:
 *
 *     header     magic, format version, number of sections, file size, XXH3-128 of what follows
 *     sections   name, codec (raw or zstd), offset, stored size, size
 *     payloads   "key" (the key text), then the caller's
 *
 * A reference, <32 hex digits>.same, is such a file of another key's, with the key text of an entry
 * as its only payload beside its own.
 *
 * Entries are immutable and published by rename, so readers need no lock; a reader verifies size,
 * checksum and key text, and what fails is a miss and removed. Each of the 16 subfolders holds at
 * most a sixteenth of the limit: a store that exceeds it removes the entries of that subfolder used
 * least recently (by modification time, which a hit renews at most once an hour). */
#ifndef TILEC_RUNTIME_CACHE_CACHE_H
#define TILEC_RUNTIME_CACHE_CACHE_H
#include "support/str.h"
#include <stdatomic.h>

typedef struct Cache {
    const char *folder; /* NULL: no cache */
    uint64_t max_bytes;
    const char *bad_size; /* what TILEC_CACHE_SIZE says, if that is no size; NULL: it is one */
    atomic_bool warned;   /* that it cannot be used, or of that */
} Cache;

enum { CACHE_MAX_SECTIONS = 8, CACHE_NAME_SIZE = 8 };

typedef struct CacheSection {
    const char *name; /* at most 8 bytes */
    Str data;
} CacheSection;

typedef enum CacheResult { CACHE_HIT, CACHE_MISS, CACHE_DAMAGED } CacheResult;

/* `wanted` (may be NULL), else TILEC_CACHE_DIR, else XDG_CACHE_HOME/tilec, else ~/.cache/tilec;
 * "none" and no home: no cache. `max_bytes` 0: TILEC_CACHE_SIZE (digits with K, M or G), else 2
 * GiB, also where that is no size. The folder is made by the first store. */
void cache_open(Cache *cache, Arena *arena, const char *wanted, uint64_t max_bytes);

/* Looks the key up and fills the data of the named sections (empty when the entry lacks one), in
 * the arena. A damaged entry is removed. Any thread. */
CacheResult cache_get(const Cache *cache, Arena *arena, Str key, CacheSection *sections,
                      uint32_t count);
/* Stores an entry; 0 or an errno. Any thread. */
int cache_put(const Cache *cache, Arena *arena, Str key, const CacheSection *sections,
              uint32_t count);
/* Makes `key` refer to the entry of `entry_key`, which need not be there; 0 or an errno. Any
 * thread.
 */
int cache_refer(const Cache *cache, Arena *arena, Str key, Str entry_key);
/* The key that `key` refers to; false: it refers to none. Any thread. */
bool cache_follow(const Cache *cache, Arena *arena, Str key, Str *entry_key);
/* Removes an entry, for a caller that finds its content unusable. */
void cache_remove(const Cache *cache, Arena *arena, Str key);

/* Maintenance: calls `visit` for every entry and reference, in no order; CACHE_DAMAGED entries have
 * no sections but the file's name. `read_all` also checks the checksums. Returns 0 or the errno
 * that stopped it. */
typedef struct CacheEntry {
    const char *path;
    uint64_t bytes;
    int64_t used; /* seconds since 1970 */
    CacheResult state;
    bool is_reference;
    Str key;
} CacheEntry;
typedef void CacheVisitor(void *user, Arena *arena, const CacheEntry *entry,
                          CacheSection *sections);
int cache_visit(const Cache *cache, Arena *arena, CacheSection *sections, uint32_t count,
                CacheVisitor *visit, void *user);

typedef struct CacheSweep {
    uint64_t entries, bytes; /* kept; the bytes are those of references, too */
    /* Entries and forgotten temporary files; references count when they are damaged. */
    uint64_t removed_entries, removed_bytes;
} CacheSweep;
/* Removes damaged entries if `verify`, temporary files older than an hour, and the least recently
 * used entries beyond `max_bytes` in all (0: every entry). 0 or an errno. */
int cache_sweep(const Cache *cache, Arena *arena, uint64_t max_bytes, bool verify,
                CacheSweep *sweep);
#endif
