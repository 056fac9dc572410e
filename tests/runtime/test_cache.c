/* The cache on disk: what it returns, what it survives, how it stays in bounds. */
#include "cache_testing.h"

#include <sys/resource.h>
#include <time.h>

static void returns_what_was_stored(void **state) {
    Fixture *f = *state;
    Str small = STR("short"), large = make_data(f, 50000, 1), ptx, cubin;
    StrBuf repeated = strbuf(f->arena);
    for (int i = 0; i < 1000; i++)
        strbuf_puts(&repeated, "ld.global.v4.f32 ");
    assert_int_equal(get(f, "key", &ptx, &cubin), CACHE_MISS);
    assert_int_equal(put(f, "key", small, large), 0);
    assert_int_equal(put(f, "other", strbuf_str(&repeated), STR("")), 0);
    assert_int_equal(get(f, "key", &ptx, &cubin), CACHE_HIT);
    assert_true(str_eq(ptx, small));
    assert_true(str_eq(cubin, large));
    assert_int_equal(get(f, "other", &ptx, &cubin), CACHE_HIT);
    assert_true(str_eq(ptx, strbuf_str(&repeated)));
    assert_int_equal(cubin.len, 0);
    assert_int_equal(get(f, "keys", &ptx, &cubin), CACHE_MISS);
}

static void absent_section_is_empty(void **state) {
    Fixture *f = *state;
    assert_int_equal(put(f, "key", STR("p"), STR("c")), 0);
    CacheSection sections[] = {{"meta", {0}}};
    assert_int_equal(cache_get(&f->cache, f->arena, STR("key"), sections, 1), CACHE_HIT);
    assert_int_equal(sections[0].data.len, 0);
}

/* Every single byte changed, and every length cut: never a hit with other content, never a crash.
 */
static void damage_is_a_miss(void **state) {
    Fixture *f = *state;
    Str ptx = make_data(f, 1500, 2), cubin = STR("cubin"), got_ptx, got_cubin, file;
    const char *path = NULL;
    assert_int_equal(put(f, "key", ptx, cubin), 0);
    assert_int_equal(list_files(f, ".kernel", &path, 1), 1);
    assert_int_equal(file_read(f->arena, path, 1 << 20, &file), 0);
    char *bytes = (char *)(uintptr_t)file.ptr;
    for (size_t i = 0; i < file.len; i++) {
        bytes[i] ^= 0x41;
        assert_int_equal(file_write(f->arena, path, file, false), 0);
        assert_int_equal(get(f, "key", &got_ptx, &got_cubin), CACHE_DAMAGED);
        assert_int_equal(access(path, F_OK), -1);
        bytes[i] ^= 0x41;
    }
    for (size_t len = 0; len < file.len; len += 7) {
        assert_int_equal(file_write(f->arena, path, (Str){file.ptr, len}, false), 0);
        assert_int_equal(get(f, "key", &got_ptx, &got_cubin), CACHE_DAMAGED);
    }
    assert_int_equal(file_write(f->arena, path, file, false), 0);
    assert_int_equal(get(f, "key", &got_ptx, &got_cubin), CACHE_HIT);
}

/* A pipe, a folder, a device or a link where an entry belongs: a miss at once, and the next store
 * takes its place. */
static void strange_files_are_misses(void **state) {
    Fixture *f = *state;
    const char *path = NULL;
    Str ptx, cubin;
    const char *other = str_format(f->arena, "%s/other", f->folder);
    assert_int_equal(file_write(f->arena, other, STR("kept"), false), 0);
    for (int kind = 0; kind < 3; kind++) {
        assert_int_equal(put(f, "key", STR("p"), STR("c")), 0);
        assert_int_equal(list_files(f, ".kernel", &path, 1), 1);
        assert_int_equal(unlink(path), 0);
        int made = kind == 0   ? mkfifo(path, 0600)
                   : kind == 1 ? mkdir(path, 0700)
                               : symlink(other, path);
        assert_int_equal(made, 0);
        alarm(20); /* opening a pipe that has no writer would wait */
        assert_int_equal(get(f, "key", &ptx, &cubin), CACHE_MISS);
        CacheSweep sweep;
        assert_int_equal(cache_sweep(&f->cache, f->arena, 1 << 20, true, &sweep), 0);
        assert_int_equal(put(f, "key", STR("p"), STR("c")), 0);
        assert_int_equal(get(f, "key", &ptx, &cubin), CACHE_HIT);
        alarm(0);
    }
    assert_int_equal(file_read(f->arena, other, 100, &ptx), 0);
    assert_true(str_is(ptx, "kept"));
}

/* An entry under the name of another key, as a collision of hashes would leave it. */
static void key_text_is_compared(void **state) {
    Fixture *f = *state;
    const char *first = NULL, *both[2];
    Str ptx, cubin;
    assert_int_equal(put(f, "first", STR("1"), STR("")), 0);
    assert_int_equal(list_files(f, ".kernel", &first, 1), 1);
    assert_int_equal(put(f, "second", STR("2"), STR("")), 0);
    assert_int_equal(list_files(f, ".kernel", both, 2), 2);
    const char *second = strcmp(both[0], first) ? both[0] : both[1];
    assert_int_equal(rename(first, second), 0);
    assert_int_equal(get(f, "second", &ptx, &cubin), CACHE_MISS);
    assert_int_equal(access(second, F_OK), 0);
}

static void folder_that_cannot_be_made(void **state) {
    Fixture *f = *state;
    char file[96];
    snprintf(file, sizeof file, "%s/file", f->folder);
    assert_int_equal(file_write(f->arena, file, STR("x"), false), 0);
    cache_open(&f->cache, f->arena,
               &(CacheConfig){.folder = str_format(f->arena, "%s/cache", file)});
    Str ptx, cubin;
    assert_int_equal(put(f, "key", STR("p"), STR("")), ENOTDIR);
    assert_int_equal(get(f, "key", &ptx, &cubin), CACHE_MISS);
}

/* A file system that takes no more bytes: the limit on file sizes gives EFBIG where a full disk
 * gives ENOSPC. */
static void full_disk_leaves_nothing_behind(void **state) {
    Fixture *f = *state;
    assert_int_equal(put(f, "warm", STR("p"), STR("")), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit limit = {4096, 4096};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(put(f, "key", make_data(f, 100000, 3), STR("")) == EFBIG ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 0);
    const char *paths[4];
    Str ptx, cubin;
    assert_int_equal(list_files(f, ".kernel", paths, 4), 1);
    assert_int_equal(list_files(f, FILE_TEMPORARY_PREFIX, paths, 4), 0);
    assert_int_equal(get(f, "key", &ptx, &cubin), CACHE_MISS);
}

static uint64_t bytes_in(Fixture *f) {
    CacheSweep sweep;
    assert_int_equal(cache_sweep(&f->cache, f->arena, UINT64_MAX, false, &sweep), 0);
    return sweep.bytes;
}

static void store_stays_within_the_limit(void **state) {
    Fixture *f = *state;
    open_cache(f, 16 * 40000);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(put(f, str_format(f->arena, "key %u", i), make_data(f, 10000, i), STR("")),
                         0);
    assert_true(bytes_in(f) <= 16 * 40000);
    assert_true(bytes_in(f) >= 16 * 20000);
    Str ptx, cubin;
    assert_int_equal(get(f, "key 199", &ptx, &cubin), CACHE_HIT);
    assert_true(str_eq(ptx, make_data(f, 10000, 199)));
}

static void set_age(const char *path, int seconds) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const struct timespec times[2] = {{now.tv_sec - seconds, 0}, {now.tv_sec - seconds, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void sweep_removes_least_recently_used(void **state) {
    Fixture *f = *state;
    const char *paths[8];
    Str ptx, cubin;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(put(f, str_format(f->arena, "key %u", i), make_data(f, 5000, i), STR("")),
                         0);
    size_t count = list_files(f, ".kernel", paths, 8);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++)
        set_age(paths[i], 90000);
    /* Reading renews the age. */
    assert_int_equal(get(f, "key 2", &ptx, &cubin), CACHE_HIT);
    CacheSweep sweep;
    assert_int_equal(cache_sweep(&f->cache, f->arena, 6000, false, &sweep), 0);
    assert_int_equal(sweep.entries, 1);
    assert_int_equal(sweep.removed_entries, 3);
    assert_int_equal(get(f, "key 2", &ptx, &cubin), CACHE_HIT);
    assert_int_equal(get(f, "key 1", &ptx, &cubin), CACHE_MISS);
}

static void reading_renews_at_most_once_an_hour(void **state) {
    Fixture *f = *state;
    const char *path = NULL;
    struct stat before, after;
    Str ptx, cubin;
    assert_int_equal(put(f, "key", STR("p"), STR("")), 0);
    assert_int_equal(list_files(f, ".kernel", &path, 1), 1);
    set_age(path, 600);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(get(f, "key", &ptx, &cubin), CACHE_HIT);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_mtime, after.st_mtime);
}

/* A reference may outlive its entry, is no entry itself, and is removed with the rest. */
static void references(void **state) {
    Fixture *f = *state;
    const char *path = NULL;
    Str found;
    CacheSweep sweep;
    assert_false(cache_follow(&f->cache, f->arena, STR("code"), &found));
    assert_int_equal(put(f, "key", STR("p"), STR("")), 0);
    assert_int_equal(cache_refer(&f->cache, f->arena, STR("code"), STR("key")), 0);
    assert_true(cache_follow(&f->cache, f->arena, STR("code"), &found));
    assert_true(str_is(found, "key"));
    assert_false(cache_follow(&f->cache, f->arena, STR("key"), &found));
    assert_int_equal(cache_refer(&f->cache, f->arena, STR("code"), STR("other key")), 0);
    assert_true(cache_follow(&f->cache, f->arena, STR("code"), &found));
    assert_true(str_is(found, "other key"));
    assert_int_equal(cache_sweep(&f->cache, f->arena, UINT64_MAX, true, &sweep), 0);
    assert_int_equal(sweep.entries, 1);
    assert_int_equal(sweep.removed_entries, 0);
    assert_int_equal(list_files(f, ".same", &path, 1), 1);
    assert_int_equal(file_write(f->arena, path, STR("rubbish"), false), 0);
    assert_false(cache_follow(&f->cache, f->arena, STR("code"), &found));
    assert_int_equal(list_files(f, ".same", &path, 1), 0);
    assert_int_equal(cache_refer(&f->cache, f->arena, STR("code"), STR("key")), 0);
    assert_int_equal(cache_sweep(&f->cache, f->arena, 0, false, &sweep), 0);
    assert_int_equal(sweep.removed_entries, 1);
    assert_int_equal(sweep.bytes, 0);
    assert_int_equal(list_files(f, ".same", &path, 1), 0);
}

static void sweep_removes_damage_and_forgotten_files(void **state) {
    Fixture *f = *state;
    const char *path = NULL;
    assert_int_equal(put(f, "good", STR("p"), STR("")), 0);
    assert_int_equal(list_files(f, ".kernel", &path, 1), 1);
    Str folder = file_folder(str_from(path));
    const char *bad = file_join(f->arena, folder, STR("0123.kernel"));
    const char *old = file_join(f->arena, folder, STR(FILE_TEMPORARY_PREFIX "1.tmp"));
    const char *fresh = file_join(f->arena, folder, STR(FILE_TEMPORARY_PREFIX "2.tmp"));
    assert_int_equal(file_write(f->arena, bad, STR("rubbish"), false), 0);
    assert_int_equal(file_write(f->arena, old, STR("x"), false), 0);
    assert_int_equal(file_write(f->arena, fresh, STR("x"), false), 0);
    set_age(old, 7200);
    CacheSweep sweep;
    assert_int_equal(cache_sweep(&f->cache, f->arena, UINT64_MAX, true, &sweep), 0);
    assert_int_equal(sweep.entries, 1);
    assert_int_equal(access(bad, F_OK), -1);
    assert_int_equal(access(old, F_OK), -1);
    assert_int_equal(access(fresh, F_OK), 0);
    assert_int_equal(access(path, F_OK), 0);
}

/* Several processes write the same and different keys, read them, and sweep, all at once: a reader
 * sees a miss or exactly what some writer stored. */
static void one_process(Fixture *f, unsigned number) {
    srand(number);
    for (int round = 0; round < 150; round++) {
        ArenaMark mark = arena_mark(f->arena);
        unsigned which = (unsigned)rand() % 8;
        const char *key = str_format(f->arena, "shared %u", which);
        Str expected = make_data(f, 3000 + 100 * which, which), ptx, cubin;
        CacheSweep sweep;
        if (rand() % 3 == 0 && put(f, key, expected, STR("c")))
            _exit(1);
        CacheResult result = get(f, key, &ptx, &cubin);
        if (result == CACHE_DAMAGED || (result == CACHE_HIT && !str_eq(ptx, expected)))
            _exit(2);
        if (rand() % 20 == 0 && cache_sweep(&f->cache, f->arena, 10000, true, &sweep))
            _exit(3);
        arena_rewind(f->arena, mark);
    }
    _exit(0);
}

static void processes_share_it(void **state) {
    enum { PROCESSES = 8 };
    Fixture *f = *state;
    pid_t pids[PROCESSES];
    fflush(NULL);
    for (unsigned i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            one_process(f, i + 1);
        assert_true(pids[i] > 0);
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    const char *paths[4];
    assert_int_equal(list_files(f, FILE_TEMPORARY_PREFIX, paths, 4), 0);
}

static void folder_comes_from_the_environment(void **state) {
    Fixture *f = *state;
    setenv("XDG_CACHE_HOME", "/x/cache", 1);
    setenv("HOME", "/home/someone", 1);
    setenv("TILEC_CACHE_DIR", "/y/tilec", 1);
    setenv("TILEC_CACHE_SIZE", "3M", 1);
    cache_open(&f->cache, f->arena, &(CacheConfig){0});
    assert_string_equal(f->cache.folder, "/y/tilec");
    assert_int_equal(f->cache.max_bytes, 3 << 20);
    assert_null(f->cache.bad_size);
    static const char *const no_sizes[] = {"2.5G", "10MB", "-1",  " 7",  "x",
                                           "0",    "K",    "1 G", "1GG", "99999999999G"};
    for (size_t i = 0; i < sizeof no_sizes / sizeof *no_sizes; i++) {
        setenv("TILEC_CACHE_SIZE", no_sizes[i], 1);
        cache_open(&f->cache, f->arena, &(CacheConfig){0});
        assert_string_equal(f->cache.bad_size, no_sizes[i]);
        assert_true(f->cache.max_bytes == (uint64_t)2 << 30);
    }
    unsetenv("TILEC_CACHE_DIR");
    cache_open(&f->cache, f->arena, &(CacheConfig){.max_bytes = 77});
    assert_string_equal(f->cache.folder, "/x/cache/tilec");
    assert_int_equal(f->cache.max_bytes, 77);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("TILEC_CACHE_SIZE");
    cache_open(&f->cache, f->arena, &(CacheConfig){0});
    assert_string_equal(f->cache.folder, "/home/someone/.cache/tilec");
    assert_true(f->cache.max_bytes == (uint64_t)2 << 30);
    cache_open(&f->cache, f->arena, &(CacheConfig){.folder = "none"});
    assert_null(f->cache.folder);
    Str ptx, cubin;
    assert_int_equal(put(f, "key", STR("p"), STR("")), 0);
    assert_int_equal(get(f, "key", &ptx, &cubin), CACHE_MISS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(returns_what_was_stored),
        TEST(absent_section_is_empty),
        TEST(damage_is_a_miss),
        TEST(strange_files_are_misses),
        TEST(key_text_is_compared),
        TEST(folder_that_cannot_be_made),
        TEST(full_disk_leaves_nothing_behind),
        TEST(store_stays_within_the_limit),
        TEST(sweep_removes_least_recently_used),
        TEST(reading_renews_at_most_once_an_hour),
        TEST(references),
        TEST(sweep_removes_damage_and_forgotten_files),
        TEST(processes_share_it),
        TEST(folder_comes_from_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
