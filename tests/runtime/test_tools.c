/* Tools: where they are found, how they are run, what their output means. ptxas is played by shell
 * scripts. */
#include "ir/ctx.h"
#include "runtime/process.h"
#include "runtime/ptxas.h"
#include "runtime/status.h"
#include "support/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Fixture {
    Ctx *ctx;
    char folder[64];
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

static void process_output_and_status(void **state) {
    Fixture *f = *state;
    ProcessResult result;
    const char *argv[] = {script(f, "both", "echo one; echo two >&2; cat; exit 7"), NULL};
    assert_int_equal(process_run(&f->ctx->arena, argv, &result), 0);
    assert_int_equal(result.exit_code, 7);
    assert_true(str_is(result.output, "one\ntwo\n"));
    const char *killed[] = {script(f, "killed", "kill -9 $$"), NULL};
    assert_int_equal(process_run(&f->ctx->arena, killed, &result), 0);
    assert_int_equal(result.signal, 9);
    const char *missing[] = {"/nonexistent/tool", NULL};
    assert_int_not_equal(process_run(&f->ctx->arena, missing, &result), 0);
}

/* More than a pipe holds and more than is kept: the tool must not wait for a reader that is gone.
 */
static void process_with_much_output(void **state) {
    Fixture *f = *state;
    ProcessResult result;
    const char *argv[] = {script(f, "much", "head -c 3000000 /dev/zero; echo end"), NULL};
    assert_int_equal(process_run(&f->ctx->arena, argv, &result), 0);
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(result.output.len, 1 << 20);
}

static bool assemble(Fixture *f, const char *path, Str *cubin, Resources *resources) {
    const AssembleRequest request = {STR(".version 8.2\n"), STR("k"), target_by_capability(90),
                                     true};
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
    assert_int_equal(process_run(&f->ctx->arena, argv, &listing), 0);
    assert_true(str_is(listing.output, "ptxas\n"));
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
