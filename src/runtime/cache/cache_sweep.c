/* Keeping the cache in bounds: listing, removing the least recently used, removing what processes
 * that were killed left behind. Entries may vanish at any time, since other processes do the same.
 */
#include "runtime/cache/cache_internal.h"
#include "support/file.h"
#include "support/vec.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct Found {
    const char *path;
    uint64_t bytes;
    struct timespec used;
    bool is_reference;
} Found;

typedef struct FoundList {
    VEC(Found) entries;
    uint64_t bytes;
    CacheSweep *sweep; /* may be NULL */
} FoundList;

static bool ends_with(const char *name, const char *suffix) {
    size_t len = strlen(name), tail = strlen(suffix);
    return len >= tail && !strcmp(name + len - tail, suffix);
}

static bool remove_file(const char *path, uint64_t bytes, bool counts, CacheSweep *sweep) {
    if (unlink(path) && errno != ENOENT)
        return false;
    if (sweep) {
        sweep->removed_entries += counts;
        sweep->removed_bytes += bytes;
    }
    return true;
}

/* Adds the entries of one subfolder; temporary files nobody can still be writing are removed. */
static int list_folder(Arena *arena, const char *folder, FoundList *list) {
    DIR *dir = opendir(folder);
    if (!dir)
        return errno == ENOENT ? 0 : errno;
    jmp_buf *outer = arena->oom, here;
    if (setjmp(here)) {
        closedir(dir);
        arena->oom = outer;
        return ENOMEM;
    }
    arena->oom = &here;
    time_t now = time(NULL);
    for (struct dirent *entry; (entry = readdir(dir));) {
        bool temporary =
            !strncmp(entry->d_name, FILE_TEMPORARY_PREFIX, sizeof FILE_TEMPORARY_PREFIX - 1);
        struct stat info;
        bool is_reference = ends_with(entry->d_name, CACHE_REFERENCE_SUFFIX);
        if (!temporary && !is_reference && !ends_with(entry->d_name, CACHE_SUFFIX))
            continue;
        const char *path = str_format(arena, "%s/%s", folder, entry->d_name);
        if (lstat(path, &info) || !S_ISREG(info.st_mode))
            continue;
        uint64_t bytes = (uint64_t)info.st_size;
        if (!temporary) {
            vec_push(arena, &list->entries, ((Found){path, bytes, info.st_mtim, is_reference}));
            list->bytes += bytes;
        } else if (now - info.st_mtime > CACHE_STALE_SECONDS) {
            remove_file(path, bytes, true, list->sweep);
        }
    }
    arena->oom = outer;
    closedir(dir);
    return 0;
}

static int list_cache(const Cache *cache, Arena *arena, FoundList *list) {
    int error = 0;
    for (int i = 0; cache->folder && i < CACHE_FOLDERS && !error; i++)
        error = list_folder(
            arena, str_format(arena, "%s/" CACHE_VERSION_FOLDER "/%x", cache->folder, i), list);
    return error;
}

static int by_use(const void *a, const void *b) {
    const Found *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec)
        return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* Removes the oldest until at most max_bytes are left; returns 0 or the first errno. */
static int trim(FoundList *list, const char *keep, uint64_t max_bytes) {
    if (list->bytes <= max_bytes || !list->entries.len)
        return 0;
    qsort(list->entries.data, list->entries.len, sizeof *list->entries.data, by_use);
    int error = 0;
    vec_for_each (found, &list->entries) {
        if (list->bytes <= max_bytes)
            break;
        if (keep && !strcmp(found->path, keep))
            continue;
        if (remove_file(found->path, found->bytes, !found->is_reference, list->sweep))
            list->bytes -= found->bytes;
        else if (!error)
            error = errno;
    }
    return error;
}

void cache_trim_folder(Arena *arena, const char *folder, const char *keep, uint64_t max_bytes) {
    FoundList list = {0};
    if (list_folder(arena, folder, &list) == 0)
        trim(&list, keep, max_bytes);
}

int cache_visit(const Cache *cache, Arena *arena, CacheSection *sections, uint32_t count,
                CacheVisitor *visit, void *user) {
    FoundList list = {0};
    int error = list_cache(cache, arena, &list);
    if (error)
        return error;
    vec_for_each (found, &list.entries) {
        ArenaMark mark = arena_mark(arena);
        CacheEntry entry = {.path = found->path,
                            .bytes = found->bytes,
                            .used = found->used.tv_sec,
                            .is_reference = found->is_reference};
        entry.state = cache_read_entry(arena, found->path, &entry.key, sections, count);
        if (entry.state != CACHE_MISS)
            visit(user, arena, &entry, sections);
        arena_rewind(arena, mark);
    }
    return 0;
}

static void remove_damaged(void *user, Arena *arena, const CacheEntry *entry,
                           CacheSection *sections) {
    if (entry->state == CACHE_DAMAGED)
        remove_file(entry->path, entry->bytes, true, user);
}

int cache_sweep(const Cache *cache, Arena *arena, uint64_t max_bytes, bool verify,
                CacheSweep *sweep) {
    *sweep = (CacheSweep){0};
    int error = verify ? cache_visit(cache, arena, NULL, 0, remove_damaged, sweep) : 0;
    FoundList list = {.sweep = sweep};
    if (!error)
        error = list_cache(cache, arena, &list);
    uint64_t entries = 0, removed_before = sweep->removed_entries;
    vec_for_each (found, &list.entries)
        entries += !found->is_reference;
    if (!error)
        error = trim(&list, NULL, max_bytes);
    sweep->entries = entries - (sweep->removed_entries - removed_before);
    sweep->bytes = list.bytes;
    return error;
}
