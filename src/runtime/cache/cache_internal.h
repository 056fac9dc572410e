/* Shared by the files of the cache. */
#ifndef TILEC_RUNTIME_CACHE_CACHE_INTERNAL_H
#define TILEC_RUNTIME_CACHE_CACHE_INTERNAL_H
#include "runtime/cache/cache.h"

#define CACHE_VERSION_FOLDER "v1"
#define CACHE_SUFFIX ".kernel"
#define CACHE_REFERENCE_SUFFIX ".same"

enum { CACHE_FOLDERS = 16, CACHE_ENTRY_LIMIT = 512 << 20, CACHE_STALE_SECONDS = 3600 };
#define CACHE_DEFAULT_BYTES ((uint64_t)2 << 30)

/* Reads and verifies one file. CACHE_MISS: it cannot be read (gone meanwhile, no permission). */
CacheResult cache_read_entry(Arena *arena, const char *path, Str *key, CacheSection *sections,
                             uint32_t count);
/* The file of an entry: `key` and at most CACHE_MAX_SECTIONS - 1 sections. */
Str cache_build_file(Arena *arena, Str key, const CacheSection *sections, uint32_t count);
/* Removes the least recently used entries of one subfolder until it holds at most `max_bytes`,
 * never `keep`; and forgotten temporary files. Failures are left to the next store. */
void cache_trim_folder(Arena *arena, const char *folder, const char *keep, uint64_t max_bytes);
#endif
