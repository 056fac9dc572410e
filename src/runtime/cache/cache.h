/* Compiled kernels on disk, shared by processes and hosts; docs/caches.md tells the whole.
 *
 * A cache has one folder of its own, which it reads and writes, and any number of trusted ones,
 * layers that it only reads. One file an entry, <folder>/v1/<digit>/<32 hex digits>.kernel, named
 * by the XXH3-128 of its key text: a readable list of everything that decides the code. A file
 * describes itself:
 *
 *     header     magic, format version, number of sections, file size, XXH3-128 of what follows
 *     sections   name, codec (raw or zstd), offset, stored size, size
 *     payloads   "key" (the key text), then the caller's
 *
 * A reference, <32 hex digits>.same, is such a file of another key's, with the key text of an entry
 * as its only payload beside its own.
 *
 * Entries are immutable and published by rename, so readers need no lock; a reader verifies size,
 * checksum and key text, and what fails is a miss and removed. What others own or may write to is
 * refused, file or folder, in the cache's own folder. Each of the 16 subfolders holds at most a
 * sixteenth of the limit: a store that exceeds it removes the entries of that subfolder used least
 * recently (by modification time, which a hit renews at most once an hour). */
#ifndef TILEC_RUNTIME_CACHE_CACHE_H
#define TILEC_RUNTIME_CACHE_CACHE_H
#include "runtime/cache/remote.h"
#include "support/diag.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

/* Why a file or a folder is not used. */
typedef enum CacheReason {
    CACHE_ACCEPTED,
    CACHE_FOREIGN,    /* it belongs to another user */
    CACHE_WRITABLE,   /* others may write to it */
    CACHE_UNREADABLE, /* a trusted folder that cannot be opened */
} CacheReason;

typedef struct CacheRefusal {
    CacheReason reason;
    const char *folder; /* of the cache or the layer */
    char file[64];      /* below that folder; "": the folder itself */
    uid_t owner;        /* with CACHE_FOREIGN */
    int error;          /* with CACHE_UNREADABLE */
    bool was_told;
} CacheRefusal;

typedef struct CacheFlight CacheFlight;

typedef struct Cache {
    const char *folder; /* NULL: none of its own */
    uint64_t max_bytes;
    const char *const *trusted;
    uint32_t trusted_count;
    const char *bad_size; /* what TILEC_CACHE_SIZE says, if that is no size; NULL: it is one */
    Remote *remote;       /* NULL: none */
    const char *remote_trouble; /* why there is none, though one was asked for; NULL otherwise */
    atomic_bool told_size, told_error, told_remote;
    uint32_t wait_ms;           /* see lease.h */
    const Allocator *allocator; /* that of the arena it was opened in */
    pthread_mutex_t lock;       /* of what follows */
    CacheFlight *flights;
    CacheRefusal *refusals; /* the first one of each folder, the cache's own before the trusted */
} Cache;

/* Each member may be NULL or 0: the environment, then the default. */
typedef struct CacheConfig {
    const char *folder;  /* TILEC_CACHE_DIR, XDG_CACHE_HOME/tilec, ~/.cache/tilec; "none": no cache,
                            no layer either */
    uint64_t max_bytes;  /* TILEC_CACHE_SIZE (digits with K, M or G), 2 GiB, also where that is no
                            size */
    const char *trusted; /* TILEC_CACHE_TRUSTED; folders separated by colons */
    uint32_t wait_ms;    /* TILEC_CACHE_WAIT (milliseconds), CACHE_WAIT_MS: for another compilation
                            of the same */
    /* TILEC_REMOTE_CACHE, _KEY or the file of _KEY_FILE, _CA; see RemoteConfig. Of the remote a
     * build without it says once that there is none. */
    const char *remote, *remote_key, *remote_ca;
    uint32_t remote_ms; /* TILEC_REMOTE_CACHE_TIME, CACHE_REMOTE_MS: until the remote is connected,
                           and until it answers */
} CacheConfig;

enum { CACHE_MAX_SECTIONS = 16, CACHE_NAME_SIZE = 8, CACHE_WAIT_MS = 60000, CACHE_REMOTE_MS = 10 };

typedef struct CacheSection {
    const char *name; /* at most 8 bytes */
    Str data;
} CacheSection;

typedef enum CacheResult { CACHE_HIT, CACHE_MISS, CACHE_DAMAGED, CACHE_REFUSED } CacheResult;

/* Texts are copied to the arena. The folder is made by the first store, for its owner alone. */
void cache_open(Cache *cache, Arena *arena, const CacheConfig *config);
void cache_close(Cache *cache);
/* There is something to read or write. */
bool cache_is_on(const Cache *cache);

/* Looks the key up, in the cache's own folder and then in the layers, and fills the data of the
 * named sections (empty when the entry lacks one), in the arena. A damaged entry is removed, but
 * from layers. Anything but CACHE_HIT is a miss. Any thread. */
CacheResult cache_get(Cache *cache, Arena *arena, Str key, CacheSection *sections, uint32_t count);
/* Stores an entry; 0 or an errno. Nothing is stored in a folder that is refused. Any thread. */
int cache_put(Cache *cache, Arena *arena, Str key, const CacheSection *sections, uint32_t count);
/* Makes `key` refer to the entry of `entry_key`, which need not be there; the same. */
int cache_refer(Cache *cache, Arena *arena, Str key, Str entry_key);
/* The key that `key` refers to; false: it refers to none. Any thread. */
bool cache_follow(Cache *cache, Arena *arena, Str key, Str *entry_key);
/* Removes an entry, for a caller that finds its content unusable. */
void cache_remove(Cache *cache, Str key);
/* Says what was not said yet: that TILEC_CACHE_SIZE is no size; what was refused, once for each
 * folder; and once, that the cache cannot be used, with the `error` of a store or 0. A cache's own
 * folder that is named as trusted, too, is then a layer, and its refusal nothing to say. */
void cache_report(Cache *cache, Diags *diags, int error);
/* Opens every folder, for the reports. */
void cache_check(Cache *cache);

/* Maintenance. A layer is 0 for the cache's own folder, from 1 on for the trusted ones. Folders
 * are looked after whoever owns them; what would be refused there says so. */
typedef struct CacheEntry {
    const char *file; /* its name, without the folders */
    uint64_t bytes;
    int64_t used; /* seconds since 1970 */
    CacheResult state;
    bool is_reference;
    Str key;
} CacheEntry;
typedef void CacheVisitor(void *user, Arena *arena, const CacheEntry *entry,
                          CacheSection *sections);
/* Calls `visit` for every entry and reference of a layer, in no order; CACHE_DAMAGED and
 * CACHE_REFUSED entries have no sections but the file's name. 0 or the errno that stopped it. */
int cache_visit(Cache *cache, Arena *arena, uint32_t layer, CacheSection *sections, uint32_t count,
                CacheVisitor *visit, void *user);

/* The compilations under way that hold a lease in the own folder. 0 or an errno. */
int cache_count_leases(Cache *cache, Arena *arena, uint64_t *held);

typedef struct CacheSweep {
    uint64_t entries, bytes; /* kept; the bytes are those of references, too */
    /* Entries and forgotten temporary files; references count when they are damaged. */
    uint64_t removed_entries, removed_bytes;
} CacheSweep;
/* Of the own folder: removes damaged and refused entries if `verify`, temporary files older than an
 * hour, leases that nobody holds, and the least recently used entries beyond `max_bytes` in all (0:
 * every entry). 0 or an errno. */
int cache_sweep(Cache *cache, Arena *arena, uint64_t max_bytes, bool verify, CacheSweep *sweep);
#endif
