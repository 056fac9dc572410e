/* Keeping the cache in bounds: listing, removing the least recently used, removing what processes
 * that were killed left behind. Entries may vanish at any time, since other processes do the same.
 *
 * Clocks may jump, and those of hosts that share a folder differ: a time that lies more than
 * CACHE_STALE_SECONDS ahead says nothing, and counts as the oldest. */
#include "runtime/cache/cache_internal.h"
#include "support/file.h"
#include "support/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct Found {
    const char *name;
    int subfolder; /* open */
    uint64_t bytes;
    struct timespec used;
    bool is_reference;
} Found;

typedef struct FoundList {
    VEC(Found) entries;
    uint64_t bytes, held_leases;
    bool may_remove;   /* forgotten files */
    CacheSweep *sweep; /* may be NULL */
} FoundList;

static bool ends_with(const char *name, const char *suffix) {
    size_t len = strlen(name), tail = strlen(suffix);
    return len >= tail && !strcmp(name + len - tail, suffix);
}

static bool remove_file(int subfolder, const char *name, uint64_t bytes, bool counts,
                        CacheSweep *sweep) {
    if (unlinkat(subfolder, name, 0) && errno != ENOENT)
        return false;
    if (sweep) {
        sweep->removed_entries += counts;
        sweep->removed_bytes += bytes;
    }
    return true;
}

static bool is_stale(const struct stat *info) {
    const time_t age = time(NULL) - info->st_mtime;
    return age > CACHE_STALE_SECONDS || age < -CACHE_STALE_SECONDS;
}

static struct timespec time_of_use(const struct stat *info) {
    const bool is_ahead = info->st_mtime - time(NULL) > CACHE_STALE_SECONDS;
    return is_ahead ? (struct timespec){0} : info->st_mtim;
}

/* Whoever has a lease has it locked; one without a holder was killed. Taking the lock makes sure
 * that nobody who just opened it goes on with a file that is about to vanish: see lease.c. */
static void list_lease(int subfolder, const char *name, bool is_old, FoundList *list) {
    const int fd = openat(subfolder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    const bool is_free = flock(fd, LOCK_EX | LOCK_NB) == 0;
    list->held_leases += !is_free && errno == EWOULDBLOCK;
    if (is_free && is_old && list->may_remove)
        remove_file(subfolder, name, 0, true, list->sweep);
    close(fd);
}

/* Adds one file of a subfolder, or removes a temporary one that nobody can still be writing. */
static void list_file(Arena *arena, int subfolder, const char *name, FoundList *list) {
    const bool is_temporary =
        !strncmp(name, FILE_TEMPORARY_PREFIX, sizeof FILE_TEMPORARY_PREFIX - 1);
    const bool is_reference = ends_with(name, CACHE_REFERENCE_SUFFIX);
    const bool is_lease = ends_with(name, CACHE_LEASE_SUFFIX);
    struct stat info;
    if ((!is_temporary && !is_reference && !is_lease && !ends_with(name, CACHE_SUFFIX)) ||
        fstatat(subfolder, name, &info, AT_SYMLINK_NOFOLLOW) || !S_ISREG(info.st_mode))
        return;
    const uint64_t bytes = (uint64_t)info.st_size;
    if (is_lease) {
        list_lease(subfolder, name, is_stale(&info), list);
        return;
    }
    if (is_temporary) {
        if (list->may_remove && is_stale(&info))
            remove_file(subfolder, name, bytes, true, list->sweep);
        return;
    }
    const Found found = {str_dup(arena, str_from(name)), subfolder, bytes, time_of_use(&info),
                         is_reference};
    vec_push(arena, &list->entries, found);
    list->bytes += bytes;
}

static int list_folder(Arena *arena, int subfolder, FoundList *list) {
    const int fd = openat(subfolder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        const int error = errno;
        if (fd >= 0)
            close(fd);
        return error;
    }
    jmp_buf *outer = arena->oom, here;
    if (setjmp(here)) {
        closedir(dir);
        arena->oom = outer;
        return ENOMEM;
    }
    arena->oom = &here;
    for (struct dirent *entry; (entry = readdir(dir));)
        list_file(arena, subfolder, entry->d_name, list);
    arena->oom = outer;
    closedir(dir);
    return 0;
}

static int by_use(const void *a, const void *b) {
    const Found *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec)
        return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
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
        if (keep && !strcmp(found->name, keep))
            continue;
        if (remove_file(found->subfolder, found->name, found->bytes, !found->is_reference,
                        list->sweep))
            list->bytes -= found->bytes;
        else if (!error)
            error = errno;
    }
    return error;
}

/* The subfolder is open: an arena of its own, which jumps no further than here. */
void cache_trim_folder(const Cache *cache, int subfolder, const char *keep, uint64_t max_bytes) {
    jmp_buf oom;
    Arena arena = {.oom = &oom, .allocator = cache->allocator};
    FoundList list = {.may_remove = true};
    if (setjmp(oom) == 0 && list_folder(&arena, subfolder, &list) == 0)
        trim(&list, keep, max_bytes);
    arena_free(&arena);
}

/* Work on all subfolders of a layer at once. */
typedef struct Tending {
    Cache *cache;
    Arena *arena;
    uint32_t layer;
    int subfolders[CACHE_FOLDERS]; /* -1: there is none */
    FoundList list;
} Tending;

static const char *layer_folder(const Cache *cache, uint32_t layer) {
    return layer ? cache->trusted[layer - 1] : cache->folder;
}

/* An own folder that is not there yet is empty. */
static int open_all(Tending *t) {
    const char *folder = layer_folder(t->cache, t->layer);
    int error = t->layer && access(folder, R_OK | X_OK) ? errno : 0;
    for (unsigned i = 0; i < CACHE_FOLDERS; i++)
        t->subfolders[i] = -1;
    for (unsigned i = 0; folder && i < CACHE_FOLDERS && !error; i++) {
        t->subfolders[i] = cache_open_subfolder(t->cache, folder, i, CACHE_TEND, &error);
        if (error == ENOENT)
            error = 0;
    }
    return error;
}

static void close_all(const Tending *t) {
    for (int i = 0; i < CACHE_FOLDERS; i++)
        if (t->subfolders[i] >= 0)
            close(t->subfolders[i]);
}

/* Lists the layer and works on it. Subfolders are closed again, also when the arena jumps. */
static int tend(Tending *t, int (*work)(Tending *t, void *user), void *user) {
    Arena *arena = t->arena;
    jmp_buf *outer = arena->oom, here;
    volatile int error = open_all(t);
    if (setjmp(here)) {
        error = ENOMEM;
    } else {
        arena->oom = &here;
        for (int i = 0; i < CACHE_FOLDERS && !error; i++)
            if (t->subfolders[i] >= 0)
                error = list_folder(arena, t->subfolders[i], &t->list);
        if (!error)
            error = work(t, user);
    }
    arena->oom = outer;
    close_all(t);
    return error;
}

typedef struct Visit {
    CacheSection *sections;
    uint32_t count;
    CacheVisitor *visit;
    void *user;
} Visit;

/* Of the own folder what cache_get would refuse is not read. */
static CacheResult read_found(Tending *t, const Found *found, const Visit *v, Str *key) {
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    const int fd = openat(found->subfolder, found->name, flags);
    uid_t owner;
    Str file;
    if (fd < 0)
        return CACHE_MISS;
    if (t->layer == 0 && cache_judge(fd, &owner)) {
        close(fd);
        return CACHE_REFUSED;
    }
    if (file_read_open(t->arena, fd, CACHE_ENTRY_LIMIT, &file))
        return CACHE_MISS;
    return cache_parse_file(t->arena, file, key, v->sections, v->count);
}

static int visit_all(Tending *t, void *user) {
    const Visit *v = user;
    vec_for_each (found, &t->list.entries) {
        ArenaMark mark = arena_mark(t->arena);
        CacheEntry entry = {.file = found->name,
                            .bytes = found->bytes,
                            .used = found->used.tv_sec,
                            .is_reference = found->is_reference};
        entry.state = read_found(t, found, v, &entry.key);
        if (entry.state != CACHE_MISS)
            v->visit(v->user, t->arena, &entry, v->sections);
        arena_rewind(t->arena, mark);
    }
    return 0;
}

int cache_visit(Cache *cache, Arena *arena, uint32_t layer, CacheSection *sections, uint32_t count,
                CacheVisitor *visit, void *user) {
    Tending t = {.cache = cache, .arena = arena, .layer = layer};
    Visit v = {sections, count, visit, user};
    return tend(&t, visit_all, &v);
}

static int count_leases(Tending *t, void *user) {
    *(uint64_t *)user = t->list.held_leases;
    return 0;
}

int cache_count_leases(Cache *cache, Arena *arena, uint64_t *held) {
    Tending t = {.cache = cache, .arena = arena};
    return tend(&t, count_leases, held);
}

typedef struct SweepOrder {
    uint64_t max_bytes;
    bool verify;
    CacheSweep *sweep;
} SweepOrder;

static void remove_unusable(Tending *t, const SweepOrder *order) {
    const Visit nothing = {0};
    size_t kept = 0;
    vec_for_each (found, &t->list.entries) {
        ArenaMark mark = arena_mark(t->arena);
        Str key;
        const CacheResult state = read_found(t, found, &nothing, &key);
        arena_rewind(t->arena, mark);
        const bool is_bad = state == CACHE_DAMAGED || state == CACHE_REFUSED;
        if (is_bad && remove_file(found->subfolder, found->name, found->bytes, true, order->sweep))
            t->list.bytes -= found->bytes;
        else
            t->list.entries.data[kept++] = *found;
    }
    t->list.entries.len = kept;
}

static int sweep_all(Tending *t, void *user) {
    const SweepOrder *order = user;
    CacheSweep *sweep = order->sweep;
    if (order->verify)
        remove_unusable(t, order);
    uint64_t entries = 0, removed_before = sweep->removed_entries;
    vec_for_each (found, &t->list.entries)
        entries += !found->is_reference;
    const int error = trim(&t->list, NULL, order->max_bytes);
    sweep->entries = entries - (sweep->removed_entries - removed_before);
    sweep->bytes = t->list.bytes;
    return error;
}

int cache_sweep(Cache *cache, Arena *arena, uint64_t max_bytes, bool verify, CacheSweep *sweep) {
    *sweep = (CacheSweep){0};
    Tending t = {.cache = cache, .arena = arena, .list = {.may_remove = true, .sweep = sweep}};
    SweepOrder order = {max_bytes, verify, sweep};
    return tend(&t, sweep_all, &order);
}
