/* `tilec run` of a kernel with tensor maps: on the simulator the maps that its recipes say, and
 * what happens where there are none. The kernel is written by hand. */
#include "cli/run_sim.h"
#include "support/file.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { ROWS = 20, COLUMNS = 28, STRIDE = 32 };

/* Of main.c: what kernels print is not looked at, and no command line is read. */
void cli_write(Str text) {}

int cli_usage_error(const char *format, ...) {
    fail();
    return STATUS_USAGE;
}

static void add_recipe(Ctx *ctx, KernelMeta *meta, int pointer) {
    const char *text =
        str_format(&ctx->arena,
                   "f32 swizzle 0 box 8 8 base param=%d:i64 extent param=3:i32 extsi:i64 extent "
                   "param=2:i32 extsi:i64 stride param=4:i32 extsi:i64",
                   pointer);
    TensorMapRecipe recipe;
    assert_true(recipe_parse(&ctx->arena, str_from(text), &recipe));
    vec_push(&ctx->arena, &meta->tensor_maps, recipe);
}

static Compiled *kernel(Ctx *ctx) {
    static const char *const names[] = {"x", "y", "rows", "columns", "stride"};
    Compiled *compiled = ARENA_NEW(&ctx->arena, Compiled);
    compiled->facts.meta = (KernelMeta){.name = STR("copy_boxes"),
                                        .target = target_by_capability(90),
                                        .num_warps = 1,
                                        .programs_per_cta = 1,
                                        .num_ctas = 1,
                                        .threads = 32};
    add_recipe(ctx, &compiled->facts.meta, 0);
    add_recipe(ctx, &compiled->facts.meta, 1);
    compiled->facts.param_count = 5;
    compiled->facts.params = ARENA_ARRAY(&ctx->arena, KernelParam, 5);
    for (int i = 0; i < 5; i++)
        compiled->facts.params[i].name = str_from(names[i]);
    assert_int_equal(file_read(&ctx->arena, TILEC_SOURCE_DIR "/tests/cli/Inputs/copy_boxes.ptx",
                               1 << 20, &compiled->outputs[OUTPUT_ptx]),
                     0);
    return compiled;
}

typedef struct Given {
    float x[ROWS * STRIDE], y[ROWS * STRIDE];
    RunArg args[5];
    RunArg *ordered[5];
} Given;

static Given *given(Ctx *ctx, int rows, int stride) {
    Given *g = ARENA_NEW(&ctx->arena, Given);
    for (int i = 0; i < ROWS * STRIDE; i++) {
        g->x[i] = (float)i;
        g->y[i] = -1;
    }
    float *data[] = {g->x, g->y};
    for (int i = 0; i < 2; i++)
        g->args[i] = (RunArg){
            .is_array = true,
            .array = {
                .elem = ELEM_F32, .count = ROWS * STRIDE, .bytes = sizeof g->x, .data = data[i]}};
    const int numbers[] = {rows, COLUMNS, stride};
    for (int i = 2; i < 5; i++)
        g->args[i] = (RunArg){.elem = ELEM_I32, .integer = numbers[i - 2]};
    for (int i = 0; i < 5; i++)
        g->ordered[i] = &g->args[i];
    return g;
}

static bool run(Ctx *ctx, Given *g, SimRun *sim) {
    static const uint32_t grid[] = {3, 1, 1};
    *sim = (SimRun){.compiled = kernel(ctx), .args = g->ordered, .arg_count = 5, .grid = grid};
    return run_on_sim(ctx, sim);
}

static void maps_follow_the_arguments(void **state) {
    Ctx *ctx = ctx_create();
    Given *g = given(ctx, ROWS - 3, STRIDE);
    SimRun sim;
    assert_true(run(ctx, g, &sim));
    assert_false(sim.other_form);
    for (int i = 0; i < ROWS * STRIDE; i++) {
        bool inside = i / STRIDE < ROWS - 3 && i % STRIDE < COLUMNS;
        assert_true(g->y[i] == (inside ? (float)i : -1));
    }
    ctx_destroy(ctx);
}

static void arguments_without_a_map(void **state) {
    Ctx *ctx = ctx_create();
    Given *g = given(ctx, ROWS, 30);
    SimRun sim;
    assert_false(run(ctx, g, &sim));
    assert_true(sim.other_form);
    assert_int_equal(ctx->diags.errors, 0);
    assert_int_equal(ctx->diags.first->id, DIAG_tensor_map_other_form);
    assert_string_equal(ctx->diags.first->text,
                        "kernel 'copy_boxes' runs without tensor copies here: the stride of "
                        "dimension 1 is 120 bytes: wanted a multiple of 16 from 16 to 2^40 - 16 "
                        "(stride = 30)");
    assert_int_equal(g->args[0].device, 0); /* for the run of the other form */
    assert_true(g->y[0] == -1);
    ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_follow_the_arguments),
        cmocka_unit_test(arguments_without_a_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
