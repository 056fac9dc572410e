/* What a cache consists of: the caller's word, the environment's, the default. */
#include "runtime/cache/cache_internal.h"
#include "support/file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

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
static uint32_t milliseconds(uint32_t given, const char *variable, uint32_t standard) {
    const char *text = getenv(variable);
    char *end;
    if (given || !text || *text < '0' || *text > '9')
        return given ? given : standard;
    const unsigned long long value = strtoull(text, &end, 10);
    return *end || value > INT32_MAX ? standard : (uint32_t)value;
}

/* Of a file what stands before its first line ends. */
static const char *read_key(Cache *cache, Arena *arena, const char *path) {
    enum { MOST = 4096 };
    Str text;
    const int error = file_read(arena, path, MOST, &text);
    if (error)
        cache->remote_trouble = str_format(arena, "its key in '%s' cannot be read: %s", path,
                                           file_error_text(arena, error));
    const size_t len = error ? 0 : strcspn(text.ptr, "\r\n");
    if (!error && !len)
        cache->remote_trouble = str_format(arena, "there is no key in '%s'", path);
    return len ? str_dup(arena, (Str){text.ptr, len}) : NULL;
}

static const char *or_null(const char *text) {
    return *text ? text : NULL;
}

static void open_remote(Cache *cache, Arena *arena, const CacheConfig *config) {
    const char *url = given_or(config->remote, "TILEC_REMOTE_CACHE");
    const char *key = given_or(config->remote_key, "TILEC_REMOTE_CACHE_KEY");
    const char *key_file = given_or(NULL, "TILEC_REMOTE_CACHE_KEY_FILE");
    if (!*url)
        return;
    if (!*key && *key_file)
        key = read_key(cache, arena, key_file);
    if (cache->remote_trouble)
        return;
    const RemoteConfig remote = {
        .url = url,
        .key = or_null(key),
        .ca = or_null(given_or(config->remote_ca, "TILEC_REMOTE_CACHE_CA")),
        .time_limit_ms =
            milliseconds(config->remote_ms, "TILEC_REMOTE_CACHE_TIME", CACHE_REMOTE_MS)};
    cache->remote = remote_open(arena, &remote, &cache->remote_trouble);
}

void cache_open(Cache *cache, Arena *arena, const CacheConfig *config) {
    const char *wanted = config->folder, *size = getenv("TILEC_CACHE_SIZE");
    uint64_t max_bytes = config->max_bytes;
    *cache = (Cache){.folder = wanted && *wanted ? str_dup(arena, str_from(wanted))
                                                 : default_folder(arena)};
    cache->allocator = arena->allocator;
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
    cache->wait_ms = milliseconds(config->wait_ms, "TILEC_CACHE_WAIT", CACHE_WAIT_MS);
    if (!is_off)
        open_remote(cache, arena, config);
    pthread_mutex_init(&cache->lock, NULL); /* which cannot fail */
}

void cache_close(Cache *cache) {
    remote_close(cache->remote);
    pthread_mutex_destroy(&cache->lock);
}

bool cache_is_on(const Cache *cache) {
    return cache->folder || cache->trusted_count || cache->remote;
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
