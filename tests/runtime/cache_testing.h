/* What tests of the cache share: one in a folder of its own, entries of two sections. */
#ifndef TILEC_TESTS_CACHE_TESTING_H
#define TILEC_TESTS_CACHE_TESTING_H
#include "runtime/cache/cache.h"
#include "support/ctx.h"
#include "support/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Fixture {
    Ctx *ctx;
    Arena *arena;
    char folder[64];
    Cache cache;
} Fixture;

static inline void open_cache(Fixture *f, uint64_t max_bytes) {
    cache_open(&f->cache, f->arena, &(CacheConfig){.folder = f->folder, .max_bytes = max_bytes});
}

static inline int setup(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    f->ctx = ctx_create();
    f->arena = &f->ctx->arena;
    strcpy(f->folder, "/tmp/tilec-test-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    open_cache(f, 0);
    *state = f;
    return 0;
}

static inline int teardown(void **state) {
    Fixture *f = *state;
    char command[128];
    snprintf(command, sizeof command, "/bin/rm -rf %s", f->folder);
    assert_int_equal(system(command), 0);
    cache_close(&f->cache);
    ctx_destroy(f->ctx);
    free(f);
    return 0;
}

/* Text that does not compress to nothing, different for each seed. */
static inline Str make_data(Fixture *f, size_t size, unsigned seed) {
    char *data = arena_alloc(f->arena, size + 1);
    uint64_t x = seed * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; i < size; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        data[i] = (char)(x >> 56);
    }
    return (Str){data, size};
}

static inline int put(Fixture *f, const char *key, Str ptx, Str cubin) {
    const CacheSection sections[] = {{"ptx", ptx}, {"cubin", cubin}};
    return cache_put(&f->cache, f->arena, str_from(key), sections, 2);
}

static inline CacheResult get(Fixture *f, const char *key, Str *ptx, Str *cubin) {
    CacheSection sections[] = {{"ptx", {0}}, {"cubin", {0}}};
    CacheResult result = cache_get(&f->cache, f->arena, str_from(key), sections, 2);
    *ptx = sections[0].data;
    *cubin = sections[1].data;
    return result;
}

/* The paths of all files below the folder that end in `suffix`. */
static inline size_t list_files(Fixture *f, const char *suffix, const char **paths,
                                size_t capacity) {
    size_t count = 0;
    for (int i = 0; i < 16; i++) {
        const char *folder = str_format(f->arena, "%s/v1/%x", f->folder, i);
        DIR *dir = opendir(folder);
        for (struct dirent *entry; dir && (entry = readdir(dir));)
            if (strstr(entry->d_name, suffix) && count < capacity)
                paths[count++] = str_format(f->arena, "%s/%s", folder, entry->d_name);
        if (dir)
            closedir(dir);
    }
    return count;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#endif
