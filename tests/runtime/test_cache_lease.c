/* Leases: one compilation for the threads of a process, with and without a folder; and what becomes
 * of those who wait for one that is killed, stopped, fails or is cancelled. */
#include "cache_testing.h"
#include "process_testing.h"
#include "runtime/cache/lease.h"
#include "tilec.h"

#include <pthread.h>
#include <sys/file.h>

enum { THREADS = 8, VARIANTS = 4 };

static tile_text text(const char *data) {
    return (tile_text){data, strlen(data)};
}

typedef struct Team {
    tile_context *context;
    const char *source;
    pthread_barrier_t barrier;
    _Atomic int wrong;
} Team;

/* All at once, in the same order. */
static void *compile_all(void *user) {
    Team *team = user;
    const tile_output output = HAS_PROCESSES ? TILE_OUTPUT_CUBIN : TILE_OUTPUT_PTX;
    for (int i = 0; i < VARIANTS; i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", i);
        const tile_named constexprs[] = {{text("N"), text(value)}};
        const tile_compile_options options = {.size = sizeof options,
                                              .path = text("team.tile"),
                                              .source = text(team->source),
                                              .signature = text("*i32"),
                                              .constexprs = constexprs,
                                              .constexpr_count = 1,
                                              .want = TILE_WANT(output)};
        tile_kernel *kernel = NULL;
        pthread_barrier_wait(&team->barrier);
        const tile_status status = tile_compile(team->context, &options, &kernel, NULL);
        const tile_text code = tile_kernel_get_output(kernel, output);
        const char *wanted = HAS_PROCESSES ? "cubin of " : "//";
        team->wrong += status != TILE_OK || !strstr(code.data, wanted);
        tile_kernel_destroy(kernel);
    }
    return NULL;
}

static long run_team(Fixture *f, const char *cache, const char *source, int *wrong) {
    const char *log = str_format(f->arena, "%s/log", f->folder);
    assert_int_equal(file_write(f->arena, log, STR(""), false), 0);
    setenv("FAKE_PTXAS_LOG", log, 1);
    setenv("FAKE_PTXAS_MS", "20", 1);
    const tile_context_options options = {
        .size = sizeof options, .cache_folder = text(cache), .ptxas = text(TILEC_FAKE_PTXAS)};
    Team team = {.source = source};
    pthread_t threads[THREADS];
    assert_int_equal(tile_context_create(&options, &team.context), TILE_OK);
    pthread_barrier_init(&team.barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_all, &team), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&team.barrier);
    tile_context_destroy(team.context);
    *wrong = team.wrong;
    struct stat info;
    assert_int_equal(stat(log, &info), 0);
    return info.st_size / 26;
}

#define HEAD "import triton\nimport triton.language as tl\n@triton.jit\n"
static const char good[] = HEAD "def kernel(x, N: tl.constexpr):\n    tl.store(x, N)\n";
static const char bad[] = HEAD "def kernel(x, N: tl.constexpr):\n    tl.store(x, M)\n";

static void threads_share_one_compilation(void **state) {
    Fixture *f = *state;
    int wrong;
    assert_int_equal(run_team(f, str_format(f->arena, "%s/cache", f->folder), good, &wrong),
                     HAS_PROCESSES ? VARIANTS : 0);
    assert_int_equal(wrong, 0);
}

/* Where nothing can be stored it goes from hand to hand. */
static void without_a_folder_too(void **state) {
    Fixture *f = *state;
    int wrong;
    const char *file = str_format(f->arena, "%s/file", f->folder);
    assert_int_equal(file_write(f->arena, file, STR(""), false), 0);
    const long runs = run_team(f, str_format(f->arena, "%s/cache", file), good, &wrong);
    assert_int_equal(wrong, 0);
    /* Who comes when the others are done finds nothing. */
    if (HAS_PROCESSES)
        assert_true(runs >= VARIANTS && runs < VARIANTS * THREADS / 2);
}

static void errors_are_everybodys(void **state) {
    Fixture *f = *state;
    int wrong;
    assert_int_equal(run_team(f, f->folder, bad, &wrong), 0);
    assert_int_equal(wrong, VARIANTS * THREADS);
}

static void open_lease(Fixture *f, CacheLease *lease, uint32_t wait_ms) {
    f->cache.wait_ms = wait_ms;
    cache_lease_open(lease, &f->cache, STR("key"));
}

static uint64_t held(Fixture *f) {
    uint64_t count;
    assert_int_equal(cache_count_leases(&f->cache, f->arena, &count), 0);
    return count;
}

/* A process that has the lease until it is killed; it says so by a byte. */
static pid_t start_holder(Fixture *f) {
    int fds[2];
    char byte;
    assert_int_equal(pipe(fds), 0);
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        CacheLease lease;
        open_lease(f, &lease, 1000);
        while (cache_lease_wait(&lease, NULL))
            ;
        if (write(fds[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(fds[0], &byte, 1), 1);
    close(fds[0]);
    close(fds[1]);
    return pid;
}

static void end_holder(pid_t pid) {
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void first_come(void **state) {
    Fixture *f = *state;
    CacheLease lease;
    open_lease(f, &lease, 1000);
    assert_true(cache_lease_wait(&lease, NULL)); /* somebody may just have been done */
    assert_false(cache_lease_wait(&lease, NULL));
    assert_int_equal(held(f), 1);
    cache_lease_close(&lease);
    const char *path = NULL;
    assert_int_equal(held(f), 0);
    assert_int_equal(list_files(f, ".lease", &path, 1), 0);
    cache_lease_close(&lease);
}

static void killed_holder(void **state) {
    Fixture *f = *state;
    CacheLease lease;
    const char *path = NULL;
    const pid_t pid = start_holder(f);
    assert_int_equal(held(f), 1);
    end_holder(pid);
    assert_int_equal(held(f), 0);
    assert_int_equal(list_files(f, ".lease", &path, 1), 1);
    open_lease(f, &lease, 100000);
    assert_true(cache_lease_wait(&lease, NULL));
    assert_false(cache_lease_wait(&lease, NULL));
    assert_int_equal(held(f), 1);
    cache_lease_close(&lease);
}

/* Slower than anybody wants to wait: it keeps its lease, and the other one goes on without. */
static void slow_holder(void **state) {
    Fixture *f = *state;
    CacheLease lease;
    const pid_t pid = start_holder(f);
    open_lease(f, &lease, 30);
    assert_false(cache_lease_wait(&lease, NULL));
    assert_false(cache_lease_wait(&lease, NULL));
    cache_lease_close(&lease);
    assert_int_equal(held(f), 1);
    end_holder(pid);
}

static void *request_soon(void *user) {
    usleep(20000);
    cancel_request(user);
    return NULL;
}

static void cancelled_wait(void **state) {
    Fixture *f = *state;
    CacheLease lease;
    Cancel cancel;
    pthread_t thread;
    const pid_t pid = start_holder(f);
    cancel_open(&cancel);
    alarm(30);
    open_lease(f, &lease, 1000000);
    assert_int_equal(pthread_create(&thread, NULL, request_soon, &cancel), 0);
    assert_false(cache_lease_wait(&lease, &cancel));
    pthread_join(thread, NULL);
    cache_lease_close(&lease);
    alarm(0);
    cancel_close(&cancel);
    end_holder(pid);
}

/* What a killed holder left goes when nobody has it. */
static void swept(void **state) {
    Fixture *f = *state;
    const char *path = NULL;
    CacheSweep sweep;
    const pid_t pid = start_holder(f);
    assert_int_equal(list_files(f, ".lease", &path, 1), 1);
    const struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    assert_int_equal(cache_sweep(&f->cache, f->arena, UINT64_MAX, false, &sweep), 0);
    assert_int_equal(access(path, F_OK), 0);
    end_holder(pid);
    assert_int_equal(cache_sweep(&f->cache, f->arena, UINT64_MAX, false, &sweep), 0);
    assert_int_equal(access(path, F_OK), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(threads_share_one_compilation),
        TEST(without_a_folder_too),
        TEST(errors_are_everybodys),
        TEST(first_come),
        TEST(killed_holder),
        TEST(slow_holder),
        TEST(cancelled_wait),
        TEST(swept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
