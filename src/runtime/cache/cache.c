/* Finding and storing cache entries; cache_file.c has their form, cache_folder.c opens what they
 * lie in, cache_sweep.c keeps the folder in bounds. */
#include "runtime/cache/cache.h"

#include "runtime/cache/cache_internal.h"
#include "support/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

/* The parts of `text` between colons, without empty ones. */
static void set_trusted(Cache *cache, Arena *arena, const char *text) {
    const char **folders = ARENA_ARRAY(arena, const char *, strlen(text) + 1);
    while (*text) {
        const size_t len = strcspn(text, ":");
        if (len)
            folders[cache->trusted_count++] = str_dup(arena, (Str){text, len});
        text += len + (text[len] == ':');
    }
    cache->trusted = folders;
}

static const char *given_or(const char *given, const char *variable) {
    if (!given || !*given)
        given = getenv(variable);
    return given ? given : "";
}

/* What is no number is as good as none. */
static uint32_t default_wait(void) {
    const char *text = getenv("TILEC_CACHE_WAIT");
    char *end;
    if (!text || *text < '0' || *text > '9')
        return CACHE_WAIT_MS;
    const unsigned long long value = strtoull(text, &end, 10);
    return *end || value > INT32_MAX ? CACHE_WAIT_MS : (uint32_t)value;
}

void cache_open(Cache *cache, Arena *arena, const CacheConfig *config) {
    const char *wanted = config->folder, *size = getenv("TILEC_CACHE_SIZE");
    uint64_t max_bytes = config->max_bytes;
    *cache = (Cache){.folder = wanted && *wanted ? str_dup(arena, str_from(wanted))
                                                 : default_folder(arena)};
    const bool is_off = cache->folder && !strcmp(cache->folder, "none");
    if (is_off)
        cache->folder = NULL;
    set_trusted(cache, arena, is_off ? "" : given_or(config->trusted, "TILEC_CACHE_TRUSTED"));
    cache->refusals = ARENA_ARRAY(arena, CacheRefusal, cache->trusted_count + 1);
    if (!max_bytes && size && *size) {
        max_bytes = parse_size(size);
        cache->bad_size = max_bytes ? NULL : str_dup(arena, str_from(size));
    }
    cache->max_bytes = max_bytes ? max_bytes : CACHE_DEFAULT_BYTES;
    cache->wait_ms = config->wait_ms ? config->wait_ms : default_wait();
    pthread_mutex_init(&cache->lock, NULL); /* which cannot fail */
}

void cache_close(Cache *cache) {
    pthread_mutex_destroy(&cache->lock);
}

bool cache_is_on(const Cache *cache) {
    return cache->folder || cache->trusted_count;
}

void cache_check(Cache *cache) {
    int error;
    for (unsigned i = 0; cache->folder && i < CACHE_FOLDERS; i++) {
        const int own = cache_open_subfolder(cache, cache->folder, i, CACHE_OWN, &error);
        if (own >= 0)
            close(own);
    }
    for (uint32_t i = 0; i < cache->trusted_count; i++) {
        const int layer = cache_open_subfolder(cache, cache->trusted[i], 0, CACHE_TRUSTED, &error);
        if (layer >= 0)
            close(layer);
    }
}

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

CacheResult cache_get(Cache *cache, Arena *arena, Str key, CacheSection *sections, uint32_t count) {
    const CachePlace place = cache_place(key, CACHE_SUFFIX);
    Str file, echo;
    if (cache_landed(cache, arena, &place, &file) &&
        cache_parse_file(arena, file, &echo, sections, count) == CACHE_HIT && str_eq(echo, key))
        return CACHE_HIT;
    return get_file(cache, arena, CACHE_SUFFIX, key, sections, count);
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

static int put_file(Cache *cache, Arena *arena, const char *suffix, Str key,
                    const CacheSection *sections, uint32_t count) {
    const CachePlace place = cache_place(key, suffix);
    const Str file = cache_build_file(arena, key, sections, count);
    int subfolder;
    if (!strcmp(suffix, CACHE_SUFFIX))
        cache_land(cache, &place, file);
    if (!cache->folder)
        return 0;
    int error = open_to_store(cache, arena, &place, &subfolder);
    if (error)
        return error == CACHE_ERROR_REFUSED ? 0 : error;
    remove_folder(subfolder, place.name);
    /* Not flushed to disk: readers verify the checksum, so a machine that stops can only cost a
     * miss, and flushing would cost as much as compiling. */
    error = file_write_at(subfolder, place.name, file, cache_file_mode(subfolder), false);
    if (!error)
        cache_trim_folder(subfolder, place.name, cache->max_bytes / CACHE_FOLDERS);
    close(subfolder);
    return error;
}

int cache_put(Cache *cache, Arena *arena, Str key, const CacheSection *sections, uint32_t count) {
    if (count >= CACHE_MAX_SECTIONS)
        return EINVAL;
    return put_file(cache, arena, CACHE_SUFFIX, key, sections, count);
}

int cache_refer(Cache *cache, Arena *arena, Str key, Str entry_key) {
    const CacheSection section = {reference_section, entry_key};
    return put_file(cache, arena, CACHE_REFERENCE_SUFFIX, key, &section, 1);
}
