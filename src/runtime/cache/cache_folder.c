/* Folders and files of the cache, opened step by step: every part of a path below the cache's
 * folder is opened by its descriptor and follows no link, and what is judged is what was opened, so
 * that nothing can be exchanged between the check and the use.
 *
 * In the cache's own folder everything must belong to the effective user, with write permission for
 * nobody else: code that others could have written would run with this user's rights. (An access
 * control list that lets others write shows as the group's permission.) Folders above do not
 * matter: whoever exchanges the whole folder cannot give it this owner. */
#include "runtime/cache/cache_internal.h"
#include "support/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static const char version_folder[] = "v1";

CachePlace cache_place(Str key, const char *suffix) {
    const XXH128_hash_t hash = XXH3_128bits(key.ptr, key.len);
    CachePlace place = {.subfolder = (unsigned)(hash.high64 >> 60)};
    snprintf(place.name, sizeof place.name, "%016llx%016llx%s", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64, suffix);
    return place;
}

CacheRemoteName cache_remote_name(const CachePlace *place) {
    CacheRemoteName name;
    snprintf(name.text, sizeof name.text, "kernel/%.*s", (int)CACHE_HASH_DIGITS, place->name);
    return name;
}

CacheReason cache_judge(int fd, uid_t *owner) {
    struct stat info;
    *owner = 0;
    if (fstat(fd, &info))
        return CACHE_FOREIGN;
    *owner = info.st_uid;
    if (info.st_uid != geteuid())
        return CACHE_FOREIGN;
    return info.st_mode & (S_IWGRP | S_IWOTH) ? CACHE_WRITABLE : CACHE_ACCEPTED;
}

unsigned cache_file_mode(int subfolder) {
    struct stat info;
    return fstat(subfolder, &info) ? 0600 : 0600 | (info.st_mode & 0044);
}

static bool is_trusted(const Cache *cache, const char *folder) {
    for (uint32_t i = 0; i < cache->trusted_count; i++)
        if (!strcmp(cache->trusted[i], folder))
            return true;
    return false;
}

/* The slot of a folder: its own, or that of its layer. */
static CacheRefusal *slot_of(const Cache *cache, const char *folder, CacheReason reason) {
    if (reason != CACHE_UNREADABLE)
        return is_trusted(cache, folder) ? NULL : &cache->refusals[0];
    uint32_t i = 0;
    while (cache->trusted[i] != folder)
        i++;
    return &cache->refusals[i + 1];
}

static void note(Cache *cache, const CacheRefusal *refusal) {
    CacheRefusal *slot = slot_of(cache, refusal->folder, refusal->reason);
    pthread_mutex_lock(&cache->lock);
    if (slot && !slot->reason)
        *slot = *refusal;
    pthread_mutex_unlock(&cache->lock);
}

bool cache_take_refusal(Cache *cache, CacheRefusal *refusal) {
    bool found = false;
    pthread_mutex_lock(&cache->lock);
    for (uint32_t i = 0; i <= cache->trusted_count && !found; i++) {
        CacheRefusal *slot = &cache->refusals[i];
        found = slot->reason && !slot->was_told;
        if (found) {
            *refusal = *slot;
            slot->was_told = true;
        }
    }
    pthread_mutex_unlock(&cache->lock);
    return found;
}

/* What is opened where. */
typedef struct Step {
    Cache *cache;
    const char *folder; /* of the cache or the layer */
    CacheAccess access;
    const char *file; /* below it, in words */
} Step;

/* Takes a descriptor, which may be -1, for use: returns it, or closes it and says why not. */
static int accept_opened(const Step *step, int fd, int *error) {
    const bool is_own = step->access == CACHE_OWN || step->access == CACHE_MAKE;
    *error = fd < 0 ? errno : 0;
    if (fd < 0 || !is_own)
        return fd;
    CacheRefusal refusal = {.folder = step->folder};
    refusal.reason = cache_judge(fd, &refusal.owner);
    if (!refusal.reason)
        return fd;
    snprintf(refusal.file, sizeof refusal.file, "%s", step->file);
    note(step->cache, &refusal);
    close(fd);
    *error = CACHE_ERROR_REFUSED;
    return -1;
}

/* The modes of folders below it follow the cache's folder: it is the owner's alone, or may be read
 * by those who may read it. */
static unsigned folder_mode(int parent) {
    struct stat info;
    return fstat(parent, &info) ? 0700 : 0700 | (info.st_mode & 0055);
}

/* A link may lead to the cache's folder, but not from it. */
static int open_top(const Step *step, int *error) {
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    int fd = open(step->folder, flags);
    if (fd < 0 && errno == ENOENT && step->access == CACHE_MAKE) {
        if (mkdir(step->folder, 0700) == 0)
            fchmodat(AT_FDCWD, step->folder, 0700, AT_SYMLINK_NOFOLLOW); /* a umask takes from it */
        else if (errno != EEXIST)
            return *error = errno, -1;
        fd = open(step->folder, flags);
    }
    if (fd < 0 && step->access == CACHE_TRUSTED)
        note(step->cache,
             &(CacheRefusal){.reason = CACHE_UNREADABLE, .folder = step->folder, .error = errno});
    return accept_opened(step, fd, error);
}

/* Closes the parent. */
static int open_below(const Step *step, int parent, const char *name, int *error) {
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    if (fd < 0 && errno == ENOENT && step->access == CACHE_MAKE) {
        const unsigned mode = folder_mode(parent);
        if (mkdirat(parent, name, mode) == 0)
            fchmodat(parent, name, mode, AT_SYMLINK_NOFOLLOW);
        fd = openat(parent, name, flags);
    }
    fd = accept_opened(step, fd, error);
    close(parent);
    return fd;
}

int cache_open_subfolder(Cache *cache, const char *folder, unsigned subfolder, CacheAccess access,
                         int *error) {
    char name[2], shown[sizeof version_folder + 2];
    snprintf(name, sizeof name, "%x", subfolder % CACHE_FOLDERS);
    snprintf(shown, sizeof shown, "%s/%s", version_folder, name);
    Step step = {cache, folder, access, ""};
    int fd = open_top(&step, error);
    step.file = version_folder;
    if (fd >= 0)
        fd = open_below(&step, fd, version_folder, error);
    step.file = shown;
    return fd < 0 ? fd : open_below(&step, fd, name, error);
}

int cache_open_file(Cache *cache, const char *folder, int subfolder, const CachePlace *place,
                    CacheAccess access, int *error) {
    char shown[sizeof(CacheRefusal){0}.file];
    struct stat info;
    /* Not to wait for a pipe's other end. */
    int fd = openat(subfolder, place->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &info) || !S_ISREG(info.st_mode))) {
        close(fd);
        *error = EINVAL;
        return -1;
    }
    snprintf(shown, sizeof shown, "%s/%x/%s", version_folder, place->subfolder, place->name);
    const Step step = {cache, folder, access, shown};
    return accept_opened(&step, fd, error);
}
