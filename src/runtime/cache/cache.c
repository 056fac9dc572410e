/* Finding and storing cache entries; cache_file.c has their form, cache_sweep.c keeps the folder in
 * bounds. */
#include "runtime/cache/cache.h"

#include "runtime/cache/cache_internal.h"
#include "support/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { TOUCH_SECONDS = 3600 };

/* Bytes with a unit, or 0 for what is no size. */
static uint64_t parse_size(const char *text) {
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    static const char units[] = "KMG";
    const char *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    bool is_size = text[0] >= '0' && text[0] <= '9' && !errno && !end[unit != NULL];
    return !is_size || value > UINT64_MAX >> shift ? 0 : value << shift;
}

static const char *default_folder(Arena *arena) {
    const char *folder = getenv("TILEC_CACHE_DIR");
    if (folder && *folder)
        return str_dup(arena, str_from(folder));
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (xdg && xdg[0] == '/')
        return str_format(arena, "%s/tilec", xdg);
    return home && home[0] == '/' ? str_format(arena, "%s/.cache/tilec", home) : NULL;
}

void cache_open(Cache *cache, Arena *arena, const char *wanted, uint64_t max_bytes) {
    const char *folder =
        wanted && *wanted ? str_dup(arena, str_from(wanted)) : default_folder(arena);
    if (folder && !strcmp(folder, "none"))
        folder = NULL;
    const char *size = getenv("TILEC_CACHE_SIZE");
    cache->bad_size = NULL;
    if (!max_bytes && size && *size) {
        max_bytes = parse_size(size);
        cache->bad_size = max_bytes ? NULL : str_dup(arena, str_from(size));
    }
    cache->folder = folder;
    cache->max_bytes = max_bytes ? max_bytes : CACHE_DEFAULT_BYTES;
    atomic_init(&cache->warned, false);
}

static const char *path_of(const Cache *cache, Arena *arena, Str key, const char *suffix) {
    XXH128_hash_t hash = XXH3_128bits(key.ptr, key.len);
    return str_format(arena, "%s/" CACHE_VERSION_FOLDER "/%x/%016llx%016llx%s", cache->folder,
                      (unsigned)(hash.high64 >> 60), (unsigned long long)hash.high64,
                      (unsigned long long)hash.low64, suffix);
}

/* Marks the entry as used. Rarely, since it is a write; a cache one may only read is fine. */
static void touch(const char *path) {
    struct stat info;
    if (stat(path, &info) == 0 && time(NULL) - info.st_mtime > TOUCH_SECONDS)
        utimensat(AT_FDCWD, path, NULL, 0);
}

static CacheResult get_file(Arena *arena, const char *path, Str key, CacheSection *sections,
                            uint32_t count) {
    Str echo;
    CacheResult result = cache_read_entry(arena, path, &echo, sections, count);
    if (result == CACHE_HIT && !str_eq(echo, key))
        return CACHE_MISS;
    if (result == CACHE_HIT)
        touch(path);
    if (result == CACHE_DAMAGED)
        unlink(path);
    return result;
}

CacheResult cache_get(const Cache *cache, Arena *arena, Str key, CacheSection *sections,
                      uint32_t count) {
    if (!cache->folder)
        return CACHE_MISS;
    return get_file(arena, path_of(cache, arena, key, CACHE_SUFFIX), key, sections, count);
}

static const char reference_section[] = "entry";

bool cache_follow(const Cache *cache, Arena *arena, Str key, Str *entry_key) {
    CacheSection section = {reference_section, {"", 0}};
    if (!cache->folder)
        return false;
    const char *path = path_of(cache, arena, key, CACHE_REFERENCE_SUFFIX);
    bool found = get_file(arena, path, key, &section, 1) == CACHE_HIT && section.data.len;
    *entry_key = section.data;
    return found;
}

void cache_remove(const Cache *cache, Arena *arena, Str key) {
    if (cache->folder)
        unlink(path_of(cache, arena, key, CACHE_SUFFIX));
}

/* What is no file of ours where an entry belongs, such as a pipe that nobody reads: writing would
 * go there. */
static void remove_strange(const char *path) {
    struct stat info;
    if (lstat(path, &info) == 0 && !S_ISREG(info.st_mode) && unlink(path) && errno == EISDIR)
        rmdir(path);
}

static int put_file(const Cache *cache, Arena *arena, const char *path, Str key,
                    const CacheSection *sections, uint32_t count) {
    Str file = cache_build_file(arena, key, sections, count);
    const char *folder = str_dup(arena, file_folder(str_from(path)));
    /* Not flushed to disk: readers verify the checksum, so a machine that stops can only cost a
     * miss, and flushing would cost as much as compiling. */
    remove_strange(path);
    int error = file_write(arena, path, file, false);
    if (error == ENOENT) {
        error = file_make_folder(arena, folder);
        if (!error)
            error = file_write(arena, path, file, false);
    }
    if (!error)
        cache_trim_folder(arena, folder, path, cache->max_bytes / CACHE_FOLDERS);
    return error;
}

int cache_put(const Cache *cache, Arena *arena, Str key, const CacheSection *sections,
              uint32_t count) {
    if (!cache->folder || count >= CACHE_MAX_SECTIONS)
        return cache->folder ? EINVAL : 0;
    return put_file(cache, arena, path_of(cache, arena, key, CACHE_SUFFIX), key, sections, count);
}

int cache_refer(const Cache *cache, Arena *arena, Str key, Str entry_key) {
    const CacheSection section = {reference_section, entry_key};
    if (!cache->folder)
        return 0;
    return put_file(cache, arena, path_of(cache, arena, key, CACHE_REFERENCE_SUFFIX), key, &section,
                    1);
}
