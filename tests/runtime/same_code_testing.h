/* What tests of the cache's keys share: compilations with the cache and without, compared. */
#ifndef TILEC_TESTS_SAME_CODE_TESTING_H
#define TILEC_TESTS_SAME_CODE_TESTING_H
#include "tilec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Fixture {
    char folder[64], cache[96], path[96];
    tile_context *context;
} Fixture;

static inline tile_text text(const char *data) {
    return (tile_text){data, strlen(data)};
}

static inline void remove_all(const char *path, const char *below) {
    char command[256];
    snprintf(command, sizeof command, "/bin/rm -rf %s%s", path, below);
    assert_int_equal(system(command), 0);
}

static inline int setup(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    strcpy(f->folder, "/tmp/tilec-test-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->cache, sizeof f->cache, "%s/cache", f->folder);
    snprintf(f->path, sizeof f->path, "%s/main.tile", f->folder);
    const tile_context_options options = {.size = sizeof options, .cache_folder = text(f->cache)};
    assert_int_equal(tile_context_create(&options, &f->context), TILE_OK);
    *state = f;
    return 0;
}

static inline int teardown(void **state) {
    Fixture *f = *state;
    tile_context_destroy(f->context);
    remove_all(f->folder, "");
    free(f);
    return 0;
}

static inline void write_file(const Fixture *f, const char *name, const char *content) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

/* What a caller gets. */
typedef struct Outcome {
    tile_status status;
    bool from_cache;
    char *ptx, *meta, *said;
} Outcome;

static inline char *copy(tile_text from) {
    char *to = calloc(1, from.size + 1);
    if (from.size)
        memcpy(to, from.data, from.size);
    return to;
}

static inline void outcome_free(Outcome *outcome) {
    free(outcome->ptx);
    free(outcome->meta);
    free(outcome->said);
}

static const tile_compile_options plain = {.size = sizeof plain,
                                           .kernel = {"kernel", 6},
                                           .signature = {"*i32:16, i32", 12},
                                           .target = {"sm_80", 5},
                                           .want = TILE_WANT(TILE_OUTPUT_PTX) |
                                                   TILE_WANT(TILE_OUTPUT_META)};

static inline Outcome compile(const Fixture *f, const tile_compile_options *with,
                              const char *source, bool no_cache) {
    tile_compile_options options = *with;
    tile_kernel *kernel = NULL;
    tile_diagnostics *said = NULL;
    options.no_cache = no_cache;
    if (!options.path.size)
        options.path = text(f->path);
    options.source = text(source);
    Outcome outcome = {.status = tile_compile(f->context, &options, &kernel, &said)};
    tile_kernel_info info = {.size = sizeof info};
    if (kernel)
        assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
    outcome.from_cache = info.from_cache;
    outcome.ptx = copy(tile_kernel_get_output(kernel, TILE_OUTPUT_PTX));
    outcome.meta = copy(tile_kernel_get_output(kernel, TILE_OUTPUT_META));
    outcome.said = copy(tile_diagnostics_text(said));
    tile_diagnostics_destroy(said);
    tile_kernel_destroy(kernel);
    return outcome;
}

/* Compiles with the cache and without; true if the cache answered, and then all must be the same.
 */
static inline bool compile_checked(const Fixture *f, const tile_compile_options *options,
                                   const char *source) {
    Outcome cached = compile(f, options, source, false);
    Outcome fresh = compile(f, options, source, true);
    if (cached.status != fresh.status || strcmp(cached.ptx, fresh.ptx) ||
        strcmp(cached.meta, fresh.meta) || strcmp(cached.said, fresh.said)) {
        fprintf(stderr, "%s\n--- cached (%d)\n%s\n--- fresh (%d)\n%s\n", source, cached.status,
                cached.said, fresh.status, fresh.said);
        fail_msg("the cache's answer differs");
    }
    outcome_free(&fresh);
    outcome_free(&cached);
    return cached.from_cache;
}

/* The first `from` of the source replaced. */
static inline char *edited(const char *source, const char *from, const char *to) {
    const char *at = strstr(source, from);
    if (!at)
        fail_msg("nothing to replace: %s", from);
    char *result = calloc(1, strlen(source) + strlen(to) + 1);
    memcpy(result, source, (size_t)(at - source));
    strcat(strcat(result, to), at + strlen(from));
    return result;
}
#endif
