/* Finding and storing cache entries; cache_file.c has their form, cache_folder.c opens what they
 * lie in, cache_sweep.c keeps the folder in bounds. */
#include "runtime/cache/cache.h"

#include "runtime/cache/cache_internal.h"
#include "support/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TOUCH_SECONDS = 3600 };

/* Marks the entry as used. Rarely, since it is a write; a cache one may only read is fine. A time
 * to come was written by a clock that went wrong. */
static void touch(int file) {
    struct stat info;
    if (fstat(file, &info))
        return;
    const time_t age = time(NULL) - info.st_mtime;
    if (age > TOUCH_SECONDS || age < -TOUCH_SECONDS)
        futimens(file, NULL);
}

static CacheResult get_from(Cache *cache, Arena *arena, const char *folder, const CachePlace *place,
                            CacheAccess access, Str key, CacheSection *sections, uint32_t count) {
    int error;
    const int subfolder = cache_open_subfolder(cache, folder, place->subfolder, access, &error);
    if (subfolder < 0)
        return error == CACHE_ERROR_REFUSED ? CACHE_REFUSED : CACHE_MISS;
    const int fd = cache_open_file(cache, folder, subfolder, place, access, &error);
    if (fd >= 0 && access == CACHE_OWN)
        touch(fd);
    close(subfolder);
    if (fd < 0)
        return error == CACHE_ERROR_REFUSED ? CACHE_REFUSED : CACHE_MISS;
    Str file, echo;
    if (file_read_open(arena, fd, CACHE_ENTRY_LIMIT, &file))
        return CACHE_MISS;
    CacheResult result = cache_parse_file(arena, file, &echo, sections, count);
    return result == CACHE_HIT && !str_eq(echo, key) ? CACHE_MISS : result;
}

static void remove_file(Cache *cache, const CachePlace *place) {
    int error;
    const int subfolder =
        cache_open_subfolder(cache, cache->folder, place->subfolder, CACHE_OWN, &error);
    if (subfolder < 0)
        return;
    unlinkat(subfolder, place->name, 0);
    close(subfolder);
}

static CacheResult get_file(Cache *cache, Arena *arena, const char *suffix, Str key,
                            CacheSection *sections, uint32_t count) {
    const CachePlace place = cache_place(key, suffix);
    CacheResult own = CACHE_MISS, other = CACHE_MISS;
    if (cache->folder)
        own = get_from(cache, arena, cache->folder, &place, CACHE_OWN, key, sections, count);
    if (own == CACHE_DAMAGED)
        remove_file(cache, &place);
    for (uint32_t i = 0; own != CACHE_HIT && other != CACHE_HIT && i < cache->trusted_count; i++)
        other =
            get_from(cache, arena, cache->trusted[i], &place, CACHE_TRUSTED, key, sections, count);
    return other == CACHE_HIT ? other : own;
}

static const char reference_section[] = "entry";

bool cache_follow(Cache *cache, Arena *arena, Str key, Str *entry_key) {
    CacheSection section = {reference_section, {"", 0}};
    const bool found =
        get_file(cache, arena, CACHE_REFERENCE_SUFFIX, key, &section, 1) == CACHE_HIT;
    *entry_key = section.data;
    return found && section.data.len;
}

void cache_remove(Cache *cache, Str key) {
    const CachePlace place = cache_place(key, CACHE_SUFFIX);
    if (cache->folder)
        remove_file(cache, &place);
}

/* A folder where an entry belongs: nothing can be renamed over it. */
static void remove_folder(int subfolder, const char *name) {
    struct stat info;
    if (fstatat(subfolder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode))
        unlinkat(subfolder, name, AT_REMOVEDIR);
}

static int open_to_store(Cache *cache, Arena *arena, const CachePlace *place, int *fd) {
    int error;
    *fd = cache_open_subfolder(cache, cache->folder, place->subfolder, CACHE_MAKE, &error);
    if (error != ENOENT)
        return error;
    const Str above = file_folder(str_from(cache->folder));
    error = file_make_folder(arena, str_dup(arena, above));
    if (!error)
        *fd = cache_open_subfolder(cache, cache->folder, place->subfolder, CACHE_MAKE, &error);
    return error;
}

static int put_file(Cache *cache, Arena *arena, const CachePlace *place, Str file) {
    int subfolder;
    if (!cache->folder)
        return 0;
    int error = open_to_store(cache, arena, place, &subfolder);
    if (error)
        return error == CACHE_ERROR_REFUSED ? 0 : error;
    remove_folder(subfolder, place->name);
    /* Not flushed to disk: readers verify the checksum, so a machine that stops can only cost a
     * miss, and flushing would cost as much as compiling. */
    error = file_write_at(subfolder, place->name, file, cache_file_mode(subfolder), false);
    if (!error)
        cache_trim_folder(cache, subfolder, place->name, cache->max_bytes / CACHE_FOLDERS);
    close(subfolder);
    return error;
}

/* An entry of the remote is a file of the cache, byte for byte, verified like one, and becomes one.
 */
static bool get_remote(Cache *cache, Arena *arena, const CachePlace *place, Str key,
                       CacheSection *sections, uint32_t count) {
    Str file, echo;
    if (!cache->remote || !remote_get(cache->remote, arena, cache_remote_name(place).text, &file) ||
        cache_parse_file(arena, file, &echo, sections, count) != CACHE_HIT || !str_eq(echo, key))
        return false;
    cache_land(cache, place, file);
    put_file(cache, arena, place, file);
    return true;
}

CacheResult cache_get(Cache *cache, Arena *arena, Str key, CacheSection *sections, uint32_t count) {
    const CachePlace place = cache_place(key, CACHE_SUFFIX);
    Str file, echo;
    if (cache_landed(cache, arena, &place, &file) &&
        cache_parse_file(arena, file, &echo, sections, count) == CACHE_HIT && str_eq(echo, key))
        return CACHE_HIT;
    const CacheResult result = get_file(cache, arena, CACHE_SUFFIX, key, sections, count);
    return result == CACHE_HIT || !get_remote(cache, arena, &place, key, sections, count)
               ? result
               : CACHE_HIT;
}

int cache_put(Cache *cache, Arena *arena, Str key, const CacheSection *sections, uint32_t count) {
    const CachePlace place = cache_place(key, CACHE_SUFFIX);
    if (count >= CACHE_MAX_SECTIONS)
        return EINVAL;
    const Str file = cache_build_file(arena, key, sections, count);
    cache_land(cache, &place, file);
    const int error = put_file(cache, arena, &place, file);
    if (cache->remote)
        remote_put(cache->remote, arena, cache_remote_name(&place).text, file);
    return error;
}

int cache_refer(Cache *cache, Arena *arena, Str key, Str entry_key) {
    const CacheSection section = {reference_section, entry_key};
    const CachePlace place = cache_place(key, CACHE_REFERENCE_SUFFIX);
    return put_file(cache, arena, &place, cache_build_file(arena, key, &section, 1));
}
