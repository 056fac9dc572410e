/* Compilations that are cancelled, or have no more time: from another thread, from a signal
 * handler, at any moment, in this process and isolated. ptxas and the worker are played by shell
 * scripts where they have to be slow. */
#include "../support/llvm_leaks.h"
#include "process_testing.h"
#include "tilec.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* What a cancellation may take: the target is 100 ms, the rest is for loaded machines. */
enum { PROMPT_MS = 2000 };

typedef struct Fixture {
    char folder[64], temporary[96], cache[96], begun[96], ptxas[96];
    tile_context *context;
    tile_cancellation *cancellation;
} Fixture;

static tile_text text(const char *data) {
    return (tile_text){data, strlen(data)};
}

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* A program that says that it runs and under which number, and then does not end. */
static void write_slow_program(const Fixture *f, const char *path, const char *before) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\nsleep 100 &\necho $$ $! >%s.new; mv %s.new %s; wait; wait\n",
            before, f->begun, f->begun, f->begun);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
}

static int setup(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    strcpy(f->folder, "/tmp/tilec-test-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->temporary, sizeof f->temporary, "%s/tmp", f->folder);
    snprintf(f->cache, sizeof f->cache, "%s/cache", f->folder);
    snprintf(f->begun, sizeof f->begun, "%s/begun", f->folder);
    snprintf(f->ptxas, sizeof f->ptxas, "%s/ptxas", f->folder);
    assert_int_equal(mkdir(f->temporary, 0700), 0);
    setenv("TMPDIR", f->temporary, 1);
    write_slow_program(f, f->ptxas, "");
    const tile_context_options options = {
        .size = sizeof options, .cache_folder = text(f->cache), .ptxas = text(f->ptxas)};
    assert_int_equal(tile_context_create(&options, &f->context), TILE_OK);
    assert_int_equal(tile_cancellation_create(&f->cancellation), TILE_OK);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    Fixture *f = *state;
    char command[128];
    tile_cancellation_destroy(f->cancellation);
    tile_context_destroy(f->context);
    snprintf(command, sizeof command, "/bin/rm -rf %s", f->folder);
    assert_int_equal(system(command), 0);
    free(f);
    return 0;
}

/* Files below, the hidden ones too, and folders if they count. */
static int count_below(const char *path, bool folders) {
    int count = 0;
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char inner[512];
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        count += (folders || entry->d_type != DT_DIR) + count_below(inner, folders);
    }
    if (dir)
        closedir(dir);
    return count;
}

static int count_entries(const char *path) {
    return count_below(path, true);
}

static const char head[] = "import triton\n"
                           "import triton.language as tl\n"
                           "@triton.jit\n"
                           "def f(x, n):\n";

static const char small[] = "    tl.store(x + tl.arange(0, 64), n)\n";

/* Takes seconds: in this compiler and in LLVM. */
static char *large_source(int parts) {
    static const char part[] = "    v = tl.cumsum(v * n + tl.load(x + i * 3), 0)\n"
                               "    tl.store(x + i, v)\n";
    static const char before[] = "    i = tl.arange(0, 16384)\n    v = i\n";
    char *source = malloc(sizeof head + sizeof before + sizeof part * (size_t)parts);
    char *end = stpcpy(stpcpy(source, head), before);
    for (int i = 0; i < parts; i++)
        end = stpcpy(end, part);
    return source;
}

typedef struct Job {
    tile_context *context;
    tile_cancellation *cancellation;
    const char *source;
    bool isolated, to_cubin;
    tile_status status;
    tile_diagnostics *said;
    double end_ms;
} Job;

static void *compile_job(void *user) {
    Job *job = user;
    char small_source[512];
    snprintf(small_source, sizeof small_source, "%s%s", head, small);
    const tile_compile_options options = {
        .size = sizeof options,
        .path = text("some.tile"),
        .source = text(job->source ? job->source : small_source),
        .signature = text("*i32:16, i32"),
        .target = text("sm_80"),
        .isolated = job->isolated,
        .cancellation = job->cancellation,
        .want = TILE_WANT(job->to_cubin ? TILE_OUTPUT_CUBIN : TILE_OUTPUT_PTX)};
    tile_kernel *kernel = NULL;
    job->status = tile_compile(job->context, &options, &kernel, &job->said);
    job->end_ms = now_ms();
    assert_int_equal(kernel != NULL, job->status == TILE_OK);
    tile_kernel_destroy(kernel);
    return NULL;
}

static void expect_cancelled(const Job *job) {
    tile_diagnostic only = {.size = sizeof only};
    assert_int_equal(job->status, TILE_ERROR_CANCELLED);
    assert_int_equal(tile_diagnostics_count(job->said), 1);
    assert_int_equal(tile_diagnostics_get(job->said, 0, &only), TILE_OK);
    assert_string_equal(only.id.data, "cancelled");
    assert_int_equal(only.severity, TILE_ERROR);
    tile_diagnostics_destroy(job->said);
}

/* The numbers of the slow ptxas and of its child, once it runs. */
static void wait_for_ptxas(const Fixture *f, int *tool, int *child) {
    for (int i = 0; i < 3000; i++) {
        FILE *file = fopen(f->begun, "r");
        if (file) {
            assert_int_equal(fscanf(file, "%d %d", tool, child), 2);
            fclose(file);
            return;
        }
        usleep(10000);
    }
    fail_msg("ptxas was not started");
}

/* Gone, or dead and not yet waited for by whoever inherited it. */
static bool is_dead(int pid) {
    char path[64], state = 'Z';
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return true;
    const int found = fscanf(file, "%*d (%*[^)]) %c", &state);
    fclose(file);
    return found != 1 || state == 'Z' || state == 'X';
}

static bool is_gone(int pid) {
    for (int i = 0; i < 200 && !is_dead(pid); i++)
        usleep(10000);
    return is_dead(pid);
}

static void cancel_during_ptxas(Fixture *f, bool isolated) {
    if (!HAS_PROCESSES)
        skip();
    Job job = {.context = f->context,
               .cancellation = f->cancellation,
               .isolated = isolated,
               .to_cubin = true};
    pthread_t thread;
    int tool, child;
    assert_int_equal(pthread_create(&thread, NULL, compile_job, &job), 0);
    wait_for_ptxas(f, &tool, &child);
    assert_true(count_entries(f->temporary) > 0);
    const double start = now_ms();
    tile_cancellation_request(f->cancellation);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_cancelled(&job);
    assert_true(job.end_ms - start < PROMPT_MS);
    assert_true(is_gone(tool));
    assert_true(is_gone(child));
    assert_int_equal(count_entries(f->temporary), 0);
    assert_int_equal(count_below(f->cache, false), 0);
}

static void ends_ptxas(void **state) {
    cancel_during_ptxas(*state, false);
}

static void ends_ptxas_of_a_worker(void **state) {
    cancel_during_ptxas(*state, true);
}

/* A worker that does not listen is killed. */
static void ends_a_deaf_worker(void **state) {
    if (!HAS_PROCESSES)
        skip();
    Fixture *f = *state;
    char worker[128];
    snprintf(worker, sizeof worker, "%s/worker", f->folder);
    write_slow_program(f, worker, "trap '' TERM");
    const tile_context_options options = {
        .size = sizeof options, .cache_folder = text("none"), .worker = text(worker)};
    Job job = {.cancellation = f->cancellation, .isolated = true};
    pthread_t thread;
    int tool, child;
    assert_int_equal(tile_context_create(&options, &job.context), TILE_OK);
    assert_int_equal(pthread_create(&thread, NULL, compile_job, &job), 0);
    wait_for_ptxas(f, &tool, &child);
    const double start = now_ms();
    tile_cancellation_request(f->cancellation);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_cancelled(&job);
    assert_true(job.end_ms - start < PROMPT_MS);
    assert_true(is_gone(tool));
    assert_true(is_gone(child));
    tile_context_destroy(job.context);
}

/* What was requested before is as good, also where the cache has the kernel; other compilations go
 * on. */
static void stays_requested(void **state) {
    Fixture *f = *state;
    Job job = {.context = f->context};
    compile_job(&job);
    assert_int_equal(job.status, TILE_OK);
    assert_false(tile_cancellation_is_requested(f->cancellation));
    job.cancellation = f->cancellation;
    compile_job(&job);
    assert_int_equal(job.status, TILE_OK);
    tile_cancellation_request(f->cancellation);
    tile_cancellation_request(f->cancellation);
    assert_true(tile_cancellation_is_requested(f->cancellation));
    for (int isolated = 0; isolated < 2; isolated++) {
        job.isolated = isolated;
        compile_job(&job);
        expect_cancelled(&job);
    }
    job = (Job){.context = f->context};
    compile_job(&job);
    assert_int_equal(job.status, TILE_OK);
    assert_null(job.said);
}

/* Wherever the compiler is when the request comes, the compilation ends soon, with that status, and
 * the next one of the same source is whole. How long one pass of LLVM's takes depends on the build:
 * never as long as all of them. */
static void ends_at_any_moment(void **state) {
    Fixture *f = *state;
    char *source = large_source(24);
    Job whole = {.source = source};
    const tile_context_options options = {.size = sizeof options, .cache_folder = text("none")};
    assert_int_equal(tile_context_create(&options, &whole.context), TILE_OK);
    const double begin = now_ms();
    compile_job(&whole);
    assert_int_equal(whole.status, TILE_OK);
    const double total = now_ms() - begin;
    enum { MOMENTS = 12 };
    int cancelled = 0;
    for (int i = 0; i < MOMENTS; i++) {
        tile_cancellation *cancellation = NULL;
        assert_int_equal(tile_cancellation_create(&cancellation), TILE_OK);
        Job job = {.context = whole.context, .source = source, .cancellation = cancellation};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, compile_job, &job), 0);
        usleep((useconds_t)(total * 1e3 * i / MOMENTS));
        const double start = now_ms();
        tile_cancellation_request(cancellation);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(job.end_ms - start < PROMPT_MS + total);
        cancelled += job.status == TILE_ERROR_CANCELLED;
        if (job.status == TILE_ERROR_CANCELLED)
            expect_cancelled(&job);
        else
            assert_int_equal(job.status, TILE_OK);
        tile_cancellation_destroy(cancellation);
    }
    assert_true(cancelled > MOMENTS / 6); /* the machine may be much faster now than before */
    compile_job(&whole);
    assert_int_equal(whole.status, TILE_OK);
    tile_context_destroy(whole.context);
    assert_int_equal(count_entries(f->temporary), 0);
    free(source);
}

static void expect_late(const Job *job) {
    tile_diagnostic only = {.size = sizeof only};
    assert_int_equal(job->status, TILE_ERROR_TIME_LIMIT);
    assert_int_equal(tile_diagnostics_count(job->said), 1);
    assert_int_equal(tile_diagnostics_get(job->said, 0, &only), TILE_OK);
    assert_string_equal(only.id.data, "compile_timeout");
    tile_diagnostics_destroy(job->said);
}

static tile_context *limited_context(const Fixture *f, const char *cache, uint32_t limit_ms) {
    const tile_context_options options = {.size = sizeof options,
                                          .cache_folder = text(cache),
                                          .ptxas = text(f->ptxas),
                                          .compile_limit_ms = limit_ms};
    tile_context *context = NULL;
    assert_int_equal(tile_context_create(&options, &context), TILE_OK);
    return context;
}

/* The time of a compilation ends whatever it is at: an assembler, here and of a worker, and what
 * waits for the same; nothing is left. */
static void limits_time_of_tools(void **state) {
    Fixture *f = *state;
    if (!HAS_PROCESSES)
        skip();
    for (int isolated = 0; isolated < 2; isolated++) {
        Job jobs[2];
        pthread_t threads[2];
        tile_context *context = limited_context(f, f->cache, 1500);
        for (int i = 0; i < 2; i++) {
            jobs[i] = (Job){.context = context, .isolated = isolated, .to_cubin = true};
            assert_int_equal(pthread_create(&threads[i], NULL, compile_job, &jobs[i]), 0);
        }
        for (int i = 0; i < 2; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            expect_late(&jobs[i]);
        }
        int tool, child;
        wait_for_ptxas(f, &tool, &child);
        assert_true(is_gone(tool));
        assert_true(is_gone(child));
        assert_int_equal(unlink(f->begun), 0);
        assert_int_equal(count_entries(f->temporary), 0);
        assert_int_equal(count_below(f->cache, false), 0);
        tile_context_destroy(context);
    }
}

/* And the compiler itself; what is in time is as good as without a limit, and a cancellation
 * within the time is one. */
static void limits_time_of_the_compiler(void **state) {
    Fixture *f = *state;
    char *source = large_source(24);
    tile_context *context = limited_context(f, "none", 30);
    Job job = {.context = context, .source = source};
    for (int i = 0; i < 2; i++) {
        compile_job(&job);
        expect_late(&job);
    }
    tile_context_destroy(context);
    context = limited_context(f, "none", 600000);
    job = (Job){.context = context, .cancellation = f->cancellation};
    compile_job(&job);
    assert_int_equal(job.status, TILE_OK);
    assert_null(job.said);
    pthread_t thread;
    job.source = source;
    assert_int_equal(pthread_create(&thread, NULL, compile_job, &job), 0);
    usleep(30000);
    tile_cancellation_request(f->cancellation);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_cancelled(&job);
    tile_context_destroy(context);
    free(source);
}

/* Several compilations of one object, and one without that compiles the same source meanwhile. */
static void ends_all_and_only_its_own(void **state) {
    enum { COUNT = 3 };
    Fixture *f = *state;
    char *source = large_source(8);
    Job jobs[COUNT + 1];
    pthread_t threads[COUNT + 1];
    for (int i = 0; i <= COUNT; i++) {
        jobs[i] = (Job){.context = f->context,
                        .source = source,
                        .cancellation = i < COUNT ? f->cancellation : NULL};
        assert_int_equal(pthread_create(&threads[i], NULL, compile_job, &jobs[i]), 0);
    }
    usleep(20000);
    tile_cancellation_request(f->cancellation);
    for (int i = 0; i <= COUNT; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < COUNT; i++)
        expect_cancelled(&jobs[i]);
    assert_int_equal(jobs[COUNT].status, TILE_OK);
    assert_null(jobs[COUNT].said);
    free(source);
}

static tile_cancellation *of_signal;

static void on_alarm(int number) {
    tile_cancellation_request(of_signal);
}

static void requested_by_a_signal_handler(void **state) {
    if (!HAS_PROCESSES)
        skip();
    Fixture *f = *state;
    const struct sigaction handler = {.sa_handler = on_alarm};
    struct sigaction before;
    Job job = {.context = f->context, .cancellation = f->cancellation, .to_cubin = true};
    pthread_t thread;
    int tool, child;
    of_signal = f->cancellation;
    sigaction(SIGUSR1, &handler, &before);
    assert_int_equal(pthread_create(&thread, NULL, compile_job, &job), 0);
    wait_for_ptxas(f, &tool, &child);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_cancelled(&job);
    sigaction(SIGUSR1, &before, NULL);
}

/* The function's object is named when it is made. */
static void ends_the_making_of_a_function(void **state) {
    Fixture *f = *state;
    char source[512];
    snprintf(source, sizeof source, "%s%s", head, small);
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("some.tile"),
                                          .source = text(source),
                                          .cancellation = f->cancellation};
    tile_function *function = NULL;
    tile_diagnostics *said = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &function, &said), TILE_OK);
    tile_function_destroy(function);
    function = NULL;
    tile_cancellation_request(f->cancellation);
    assert_int_equal(tile_function_create(f->context, &options, &function, &said),
                     TILE_ERROR_CANCELLED);
    assert_null(function);
    tile_diagnostics_destroy(said);
}

/* The command line: a signal leaves nothing behind and is what the process ends by. */
static void command_ends_by_its_signal(void **state) {
    if (!HAS_PROCESSES)
        skip();
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    static const char *const isolated[] = {NULL, "--isolated"};
    Fixture *f = *state;
    char path[128], output[128];
    snprintf(path, sizeof path, "%s/small.tile", f->folder);
    snprintf(output, sizeof output, "%s/small.cubin", f->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s%s", head, small);
    fclose(file);
    setenv("TILEC_PTXAS", f->ptxas, 1);
    setenv("TILEC_CACHE_DIR", f->cache, 1);
    for (int i = 0; i < 6; i++) {
        unlink(f->begun);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (!pid) {
            execl(TILEC_PROGRAM, "tilec", "compile", path, "-s", "*i32:16, i32", "-o", output,
                  isolated[i & 1], NULL);
            _exit(99);
        }
        int tool, child, status;
        wait_for_ptxas(f, &tool, &child);
        assert_int_equal(kill(pid, signals[i / 2]), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i / 2]);
        assert_true(is_gone(tool));
        assert_true(is_gone(child));
        assert_int_equal(count_entries(f->temporary), 0);
        assert_int_equal(count_below(f->cache, false), 0);
        assert_int_not_equal(access(output, F_OK), 0);
    }
    setenv("TILEC_PTXAS", "none", 1);
    unsetenv("TILEC_CACHE_DIR");
}

int main(void) {
    setenv("TILEC_WORKER", TILEC_PROGRAM, 1);
    setenv("TILEC_PTXAS", "none", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ends_ptxas, setup, teardown),
        cmocka_unit_test_setup_teardown(ends_ptxas_of_a_worker, setup, teardown),
        cmocka_unit_test_setup_teardown(ends_a_deaf_worker, setup, teardown),
        cmocka_unit_test_setup_teardown(stays_requested, setup, teardown),
        cmocka_unit_test_setup_teardown(ends_at_any_moment, setup, teardown),
        cmocka_unit_test_setup_teardown(limits_time_of_tools, setup, teardown),
        cmocka_unit_test_setup_teardown(limits_time_of_the_compiler, setup, teardown),
        cmocka_unit_test_setup_teardown(ends_all_and_only_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(requested_by_a_signal_handler, setup, teardown),
        cmocka_unit_test_setup_teardown(ends_the_making_of_a_function, setup, teardown),
        cmocka_unit_test_setup_teardown(command_ends_by_its_signal, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
