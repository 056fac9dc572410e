/* Shared by the files of the cache. */
#ifndef TILEC_RUNTIME_CACHE_CACHE_INTERNAL_H
#define TILEC_RUNTIME_CACHE_CACHE_INTERNAL_H
#include "runtime/cache/cache.h"

#define CACHE_SUFFIX ".kernel"
#define CACHE_REFERENCE_SUFFIX ".same"
#define CACHE_LEASE_SUFFIX ".lease"

enum {
    CACHE_FOLDERS = 16,
    CACHE_ENTRY_LIMIT = 512 << 20,
    CACHE_STALE_SECONDS = 3600,
    CACHE_HASH_DIGITS = 32
};
#define CACHE_DEFAULT_BYTES ((uint64_t)2 << 30)

/* cache_file.c: the form of a file. */

/* Verifies a file and takes it apart: CACHE_HIT or CACHE_DAMAGED. */
CacheResult cache_parse_file(Arena *arena, Str file, Str *key, CacheSection *sections,
                             uint32_t count);
/* The file of an entry: `key` and at most CACHE_MAX_SECTIONS - 1 sections. */
Str cache_build_file(Arena *arena, Str key, const CacheSection *sections, uint32_t count);

/* cache_folder.c: folders and files, opened and judged by their descriptors. Nothing allocates. */

enum { CACHE_FILE_NAME = 48 };

/* Where the file of a key lies below a folder. */
typedef struct CachePlace {
    unsigned subfolder; /* below CACHE_FOLDERS */
    char name[CACHE_FILE_NAME];
} CachePlace;
CachePlace cache_place(Str key, const char *suffix);

/* In the place of an errno: what was to be opened is refused, and that is noted. */
enum { CACHE_ERROR_REFUSED = -1 };

/* How folders and files are opened. */
typedef enum CacheAccess {
    CACHE_OWN,     /* what others own or may write to is refused, and noted */
    CACHE_MAKE,    /* the same, and folders that are not there are made */
    CACHE_TRUSTED, /* whoever owns it */
    CACHE_TEND,    /* the same, of the own folder, for maintenance */
} CacheAccess;
/* A subfolder, to be closed by the caller. -1: *error has an errno or CACHE_ERROR_REFUSED. */
int cache_open_subfolder(Cache *cache, const char *folder, unsigned subfolder, CacheAccess access,
                         int *error);
/* A regular file in it; the same. */
int cache_open_file(Cache *cache, const char *folder, int subfolder, const CachePlace *place,
                    CacheAccess access, int *error);
/* What was refused and not taken yet; false when there is no more. */
bool cache_take_refusal(Cache *cache, CacheRefusal *refusal);
/* Whether a file or folder would be refused in the cache's own folder. */
CacheReason cache_judge(int fd, uid_t *owner);
/* The mode of a file in an open subfolder: that of its owner, and of others as they may read the
 * folder. */
unsigned cache_file_mode(int subfolder);

/* What the remote calls an entry. */
typedef struct CacheRemoteName {
    char text[CACHE_FILE_NAME];
} CacheRemoteName;
CacheRemoteName cache_remote_name(const CachePlace *place);

/* flight.c */

/* A compilation of which other threads of the process want the result. */
struct CacheFlight {
    CacheFlight *next;
    char name[CACHE_FILE_NAME]; /* of its lease */
    uint32_t references;        /* who makes it, and who waits */
    bool has_landed, has_ended;
    char *file; /* of the entry, once it has landed; NULL: there was no memory for it */
    size_t size;
};
/* Hands the file of an entry to threads that wait for it, whether it can be stored or not. */
void cache_land(Cache *cache, const CachePlace *place, Str file);
/* What landed and is still waited for. */
bool cache_landed(Cache *cache, Arena *arena, const CachePlace *place, Str *file);

/* cache_sweep.c */

/* Removes the least recently used entries of an open subfolder until it holds at most `max_bytes`,
 * never `keep`; and forgotten temporary files. Failures are left to the next store. */
void cache_trim_folder(const Cache *cache, int subfolder, const char *keep, uint64_t max_bytes);
#endif
