/* Tools: where they are found, how they are run, what their output means. ptxas is played by shell
 * scripts. */
#include "runtime/compile/stack.h"
#include "runtime/status.h"
#include "runtime/tools/process.h"
#include "runtime/tools/ptxas.h"
#include "runtime/tools/work_folder.h"
#include "support/ctx.h"
#include "support/file.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Fixture {
    Ctx *ctx;
    char folder[64];
    double time_limit_ms;
} Fixture;

static int setup(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    f->ctx = ctx_create();
    strcpy(f->folder, "/tmp/tilec-test-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    unsetenv("TILEC_PTXAS");
    unsetenv("CUDA_HOME");
    unsetenv("CUDA_PATH");
    setenv("PATH", "/usr/bin:/bin", 1);
    setenv("TMPDIR", f->folder, 1);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    Fixture *f = *state;
    char command[128];
    snprintf(command, sizeof command, "/bin/rm -rf %s", f->folder);
    assert_int_equal(system(command), 0);
    ctx_destroy(f->ctx);
    free(f);
    return 0;
}

/* An executable script <folder>/<name>; folders are made. */
static const char *script(Fixture *f, const char *name, const char *text) {
    const char *path = str_format(&f->ctx->arena, "%s/%s", f->folder, name);
    Str folder = file_folder(str_from(path));
    assert_int_equal(file_make_folder(&f->ctx->arena, str_dup(&f->ctx->arena, folder)), 0);
    Str content = str_from(str_format(&f->ctx->arena, "#!/bin/sh\n%s\n", text));
    assert_int_equal(file_write(&f->ctx->arena, path, content, false), 0);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

static void search_order(void **state) {
    Fixture *f = *state;
    Arena *arena = &f->ctx->arena;
    const char *on_path = script(f, "path/sometool", "");
    setenv("PATH", str_format(arena, "/nonexistent:%s/path", f->folder), 1);
    assert_string_equal(tool_find(arena, "sometool", "TILEC_TOOL"), on_path);
    const char *in_cuda_path = script(f, "cuda2/bin/sometool", "");
    setenv("CUDA_PATH", str_format(arena, "%s/cuda2", f->folder), 1);
    assert_string_equal(tool_find(arena, "sometool", "TILEC_TOOL"), in_cuda_path);
    const char *in_home = script(f, "cuda/bin/sometool", "");
    setenv("CUDA_HOME", str_format(arena, "%s/cuda", f->folder), 1);
    assert_string_equal(tool_find(arena, "sometool", "TILEC_TOOL"), in_home);
    setenv("TILEC_TOOL", "/named/by/variable", 1);
    assert_string_equal(tool_find(arena, "sometool", "TILEC_TOOL"), "/named/by/variable");
    unsetenv("TILEC_TOOL");
    assert_null(tool_find(arena, "a-tool-that-nobody-has", NULL));
    /* What is not executable is no tool. */
    assert_int_equal(chmod(in_home, 0644), 0);
    assert_string_equal(tool_find(arena, "sometool", NULL), in_cuda_path);
}

static void ptxas_none_hides_it(void **state) {
    Fixture *f = *state;
    setenv("TILEC_PTXAS", "none", 1);
    assert_null(ptxas_find(&f->ctx->arena, NULL));
    assert_string_equal(ptxas_find(&f->ctx->arena, "/given"), "/given");
}

static int run(Fixture *f, const char *const *argv, double time_limit_ms, ProcessResult *result) {
    const ProcessRequest request = {.argv = argv, .time_limit_ms = time_limit_ms};
    return process_run(&f->ctx->arena, &request, result);
}

static void process_output_and_status(void **state) {
    Fixture *f = *state;
    ProcessResult result;
    const char *argv[] = {script(f, "both", "echo one; echo two >&2; cat; exit 7"), NULL};
    assert_int_equal(run(f, argv, 0, &result), 0);
    assert_int_equal(result.exit_code, 7);
    assert_true(str_is(result.output, "one\ntwo\n"));
    const char *killed[] = {script(f, "killed", "kill -9 $$"), NULL};
    assert_int_equal(run(f, killed, 0, &result), 0);
    assert_int_equal(result.signal, 9);
    const char *missing[] = {"/nonexistent/tool", NULL};
    assert_int_not_equal(run(f, missing, 0, &result), 0);
}

/* More than a pipe holds and more than is kept: the tool must not wait for a reader that is gone.
 */
static void process_with_much_output(void **state) {
    Fixture *f = *state;
    ProcessResult result;
    const char *argv[] = {script(f, "much", "head -c 3000000 /dev/zero; echo end"), NULL};
    assert_int_equal(run(f, argv, 0, &result), 0);
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(result.output.len, 1 << 20);
}

/* A host that ignores SIGCHLD, and one that waits for any child that ends. */
static void *wait_for_any(void *user) {
    atomic_bool *stop = user;
    while (!atomic_load(stop))
        if (waitpid(-1, NULL, 0) < 0)
            usleep(1000);
    return NULL;
}

static void process_status_in_any_host(void **state) {
    Fixture *f = *state;
    ProcessResult result;
    const char *argv[] = {script(f, "seven", "/bin/sh -c 'exit 3'; test $? = 3 && exit 7"), NULL};
    const struct sigaction handlers[] = {{.sa_handler = SIG_IGN},
                                         {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT}};
    struct sigaction before;
    for (size_t i = 0; i < 2; i++) {
        sigaction(SIGCHLD, &handlers[i], &before);
        assert_int_equal(run(f, argv, 0, &result), 0);
        sigaction(SIGCHLD, &before, NULL);
        assert_int_equal(result.exit_code, 7);
    }
    atomic_bool stop = false;
    pthread_t reaper;
    assert_int_equal(pthread_create(&reaper, NULL, wait_for_any, &stop), 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(run(f, argv, 0, &result), 0);
        assert_int_equal(result.exit_code, 7);
    }
    atomic_store(&stop, true);
    pthread_join(reaper, NULL);
    assert_int_equal(waitpid(-1, NULL, __WALL), -1); /* nothing is left behind */
}

static void process_without_standard_descriptors(void **state) {
    Fixture *f = *state;
    ProcessResult result = {0};
    const char *argv[] = {script(f, "talks", "echo out; echo err >&2; cat; exit 5"), NULL};
    int kept[3];
    for (int i = 0; i < 3; i++) {
        kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
        close(i);
    }
    int error = run(f, argv, 0, &result);
    for (int i = 0; i < 3; i++) {
        dup2(kept[i], i);
        close(kept[i]);
    }
    assert_int_equal(error, 0);
    assert_int_equal(result.exit_code, 5);
    assert_true(str_is(result.output, "out\nerr\n"));
}

/* One that has ended is there until its parent asks for its status: that of an orphan is whoever
 * adopts it. */
static bool has_ended(int id) {
    char path[32], state = 'X';
    if (kill(id, 0) < 0)
        return true;
    snprintf(path, sizeof path, "/proc/%d/stat", id);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 'X';
    if (file)
        fclose(file);
    return state == 'Z' || state == 'X';
}

/* True when the process whose id is in that file is gone, or going. */
static bool is_gone(Fixture *f, const char *file) {
    Str text;
    const char *path = str_format(&f->ctx->arena, "%s/%s", f->folder, file);
    for (int i = 0; i < 1000; i++) {
        if (file_read(&f->ctx->arena, path, 100, &text) == 0 && atoi(text.ptr) > 0 &&
            has_ended(atoi(text.ptr)))
            return true;
        usleep(10000);
    }
    return false;
}

/* The tool and what it started end when its time is over. */
static void process_time_limit(void **state) {
    Fixture *f = *state;
    ProcessResult result;
    const char *argv[] = {
        script(f, "slow", "cd $TMPDIR; sleep 100 & echo $! >child; echo begun; wait"), NULL};
    assert_int_equal(run(f, argv, 300, &result), 0);
    assert_true(result.timed_out);
    assert_int_equal(result.signal, SIGKILL);
    assert_true(str_is(result.output, "begun\n"));
    assert_true(is_gone(f, "child"));
}

typedef struct Hosted {
    Fixture *fixture;
    const char *const *argv;
} Hosted;

/* As compilations do it: the thread that called takes the signals. */
static void run_hosted(void *user) {
    const Hosted *hosted = user;
    ProcessResult result;
    run(hosted->fixture, hosted->argv, 0, &result);
}

/* The tool and what it started end with the process that runs it, however that ends. */
static void process_ends_with_its_host(void **state) {
    Fixture *f = *state;
    static const int signals[] = {SIGTERM, SIGKILL, SIGINT};
    const char *argv[] = {
        script(f, "slow", "cd $TMPDIR; echo $$ >tool; sleep 100 & echo $! >child; wait"), NULL};
    for (size_t i = 0; i < 3; i++) {
        pid_t host = fork();
        assert_true(host >= 0);
        if (!host) {
            Hosted hosted = {f, argv};
            stack_run(f->ctx, run_hosted, &hosted);
            _exit(0);
        }
        Str text;
        const char *child = str_format(&f->ctx->arena, "%s/child", f->folder);
        for (int j = 0; j < 200 && (file_read(&f->ctx->arena, child, 100, &text) || !text.len); j++)
            usleep(10000);
        kill(host, signals[i]);
        assert_int_equal(waitpid(host, NULL, 0), host);
        assert_true(is_gone(f, "tool"));
        assert_true(is_gone(f, "child"));
        unlink(child);
    }
}

static bool assemble(Fixture *f, const char *path, Str *cubin, Resources *resources) {
    const AssembleRequest request = {STR(".version 8.2\n"), STR("k"), target_by_capability(90),
                                     true, f->time_limit_ms};
    *resources = (Resources){0};
    return ptxas_assemble(f->ctx, path, &request, cubin, resources);
}

/* Arguments of ptxas: -v -O3 -arch sm_90a INPUT -o OUTPUT -lineinfo. */
static void assembles_and_reads_resources(void **state) {
    Fixture *f = *state;
    const char *path =
        script(f, "ptxas",
               "test \"$4\" = sm_90a -a \"$8\" = -lineinfo || exit 9\n"
               "cp $5 $7\n"
               "echo \"ptxas info    : Function properties for k\"\n"
               "echo '    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads'\n"
               "echo 'ptxas info    : Used 168 registers, used 1 barriers, 2048 bytes smem'");
    Str cubin;
    Resources resources;
    assert_true(assemble(f, path, &cubin, &resources));
    assert_true(str_is(cubin, ".version 8.2\n"));
    assert_true(resources.known);
    assert_int_equal(resources.registers, 168);
    assert_int_equal(resources.stack_bytes, 8);
    assert_int_equal(resources.spill_stores, 12);
    assert_int_equal(resources.spill_loads, 16);
    assert_int_equal(resources.static_shared, 2048);
    /* Nothing is left in TMPDIR but the script. */
    const char *argv[] = {"/bin/ls", f->folder, NULL};
    ProcessResult listing;
    assert_int_equal(run(f, argv, 0, &listing), 0);
    assert_true(str_is(listing.output, "ptxas\n"));
}

static void slow_assembler_is_stopped(void **state) {
    Fixture *f = *state;
    Str cubin;
    Resources resources;
    f->time_limit_ms = 200;
    assert_false(assemble(f, script(f, "ptxas", "sleep 100"), &cubin, &resources));
    assert_int_equal(f->ctx->diags.first->id, DIAG_tool_timeout);
    assert_int_equal(status_of(&f->ctx->diags), TILE_ERROR_TIME_LIMIT);
}

/* Folders of processes that were killed go when the next one assembles; those in use stay. */
static void abandoned_folders_are_removed(void **state) {
    Fixture *f = *state;
    Arena *arena = &f->ctx->arena;
    const char *parent = str_format(arena, "%s/tilec-%u", f->folder, (unsigned)geteuid());
    const char *path = script(f, "ptxas", "cp $5 $7");
    for (int i = 0; i < 2; i++) {
        const char *folder = str_format(arena, "%s/%s", parent, i ? "used00" : "left00");
        assert_int_equal(file_make_folder(arena, folder), 0);
        const char *file = str_format(arena, "%s/kernel.ptx", folder);
        assert_int_equal(file_write(arena, file, STR("x"), false), 0);
    }
    assert_int_equal(chmod(parent, 0700), 0);
    int lock = open(str_format(arena, "%s/used00", parent), O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    Str cubin;
    Resources resources;
    work_folder_sweep(parent, -1);
    assert_true(assemble(f, path, &cubin, &resources));
    assert_int_not_equal(access(str_format(arena, "%s/left00", parent), F_OK), 0);
    assert_int_equal(access(str_format(arena, "%s/used00/kernel.ptx", parent), F_OK), 0);
    close(lock);
}

static bool in_folder(Ctx *ctx, const WorkFolder *folder, void *user) {
    (void)user;
    return work_file_write(work_file(ctx, folder, "file"), STR("x")) == 0;
}

static void *use_folders(void *user) {
    size_t *refused = user;
    Ctx *ctx = ctx_create();
    for (int i = 0; i < 1000; i++)
        *refused += !work_folder_use(ctx, in_folder, NULL);
    ctx_destroy(ctx);
    return NULL;
}

/* Whoever ends last takes the parent away, which others are about to make their folder in. */
static void folders_come_and_go(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    size_t refused[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_folders, &refused[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(refused[i], 0);
    }
}

/* A folder that others may write to is not used. */
static void open_folder_is_refused(void **state) {
    Fixture *f = *state;
    const char *parent = str_format(&f->ctx->arena, "%s/tilec-%u", f->folder, (unsigned)geteuid());
    assert_int_equal(mkdir(parent, 0777), 0);
    assert_int_equal(chmod(parent, 0777), 0);
    Str cubin;
    Resources resources;
    assert_false(assemble(f, script(f, "ptxas", "cp $5 $7"), &cubin, &resources));
    assert_int_equal(f->ctx->diags.first->id, DIAG_folder_unwritable);
}

static void rejected_ptx_is_a_diagnostic(void **state) {
    Fixture *f = *state;
    const char *path = script(
        f, "ptxas",
        "echo \"ptxas kernel.ptx, line 4; warning : something odd\"\n"
        "echo \"ptxas kernel.ptx, line 4; error   : Not a name of any known instruction: 'rett'\"\n"
        "echo 'ptxas fatal   : Ptx assembly aborted due to errors'\nexit 255");
    Str cubin;
    Resources resources;
    assert_false(assemble(f, path, &cubin, &resources));
    assert_int_equal(f->ctx->diags.warnings, 1);
    assert_int_equal(f->ctx->diags.errors, 2);
    assert_non_null(
        strstr(f->ctx->diags.first->next->text, "Not a name of any known instruction: 'rett'"));
    assert_int_equal(status_of(&f->ctx->diags), TILE_ERROR_INTERNAL);
}

static void crash_of_ptxas_is_a_diagnostic(void **state) {
    Fixture *f = *state;
    Str cubin;
    Resources resources;
    assert_false(assemble(f, script(f, "ptxas", "kill -11 $$"), &cubin, &resources));
    assert_int_equal(f->ctx->diags.first->id, DIAG_ptxas_failed);
    assert_non_null(strstr(f->ctx->diags.first->text, "signal 11"));
}

static void ptxas_that_writes_nothing(void **state) {
    Fixture *f = *state;
    Str cubin;
    Resources resources;
    assert_false(assemble(f, script(f, "ptxas", "exit 0"), &cubin, &resources));
    assert_int_equal(f->ctx->diags.first->id, DIAG_file_unreadable);
}

static void ptxas_that_cannot_run(void **state) {
    Fixture *f = *state;
    Str cubin;
    Resources resources;
    setenv("TILEC_PTXAS", "/nonexistent/ptxas", 1);
    const char *path = ptxas_find(&f->ctx->arena, NULL);
    assert_false(assemble(f, path, &cubin, &resources));
    assert_int_equal(f->ctx->diags.first->id, DIAG_tool_unusable);
    assert_int_equal(status_of(&f->ctx->diags), TILE_ERROR_TOOL);
}

static void identity_changes_with_the_program(void **state) {
    Fixture *f = *state;
    Arena *arena = &f->ctx->arena;
    const char *path = script(f, "ptxas", "exit 0");
    const char *first = ptxas_identity(arena, path);
    assert_string_equal(first, ptxas_identity(arena, path));
    script(f, "ptxas", "exit 00");
    assert_string_not_equal(first, ptxas_identity(arena, path));
}

static void other_functions_are_not_the_kernel(void **state) {
    Resources resources = {0};
    const Str log = STR("ptxas info    : Function properties for my_k\n"
                        "    0 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
                        "ptxas info    : Used 99 registers\n");
    assert_false(resources_parse(log, STR("k"), &resources));
    assert_int_equal(resources.registers, 0);
}

/* Figures of NVIDIA's occupancy calculator. */
static void occupancy(void **state) {
    static const struct {
        int capability, threads, registers, shared, blocks;
        double occupancy;
    } cases[] = {
        {90, 128, 32, 0, 16, 1.0},      {90, 128, 255, 0, 2, 0.125},      {90, 1024, 64, 0, 1, 0.5},
        {90, 256, 40, 100000, 2, 0.25}, {90, 32, 16, 0, 32, 0.5},         {80, 256, 33, 0, 6, 0.75},
        {89, 128, 32, 0, 12, 1.0},      {90, 128, 32, 232448, 1, 0.0625},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Resources resources = {.known = true, .registers = cases[i].registers};
        resources_occupancy(&resources, target_by_capability(cases[i].capability), cases[i].threads,
                            cases[i].shared);
        if (resources.blocks_per_sm != cases[i].blocks || resources.occupancy != cases[i].occupancy)
            fail_msg("case %zu: %d blocks, occupancy %g", i, resources.blocks_per_sm,
                     resources.occupancy);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(search_order),
        TEST(ptxas_none_hides_it),
        TEST(process_output_and_status),
        TEST(process_with_much_output),
        TEST(process_status_in_any_host),
        TEST(process_without_standard_descriptors),
        TEST(process_time_limit),
        TEST(process_ends_with_its_host),
        TEST(slow_assembler_is_stopped),
        TEST(abandoned_folders_are_removed),
        TEST(folders_come_and_go),
        TEST(open_folder_is_refused),
        TEST(assembles_and_reads_resources),
        TEST(rejected_ptx_is_a_diagnostic),
        TEST(crash_of_ptxas_is_a_diagnostic),
        TEST(ptxas_that_writes_nothing),
        TEST(ptxas_that_cannot_run),
        TEST(identity_changes_with_the_program),
        TEST(other_functions_are_not_the_kernel),
        TEST(occupancy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
