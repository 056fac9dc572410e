/* persist on the interpreter: whatever the grid, and however many CTAs share it, a persistent
 * product stores the bits that one program a tile stores, counts each program once, and one CTA
 * goes through the programs in the order of their numbers. So does what the whole pipeline makes of
 * it. */
#include "../../ir/ir_testing.h"
#include "types/float_bits.h"

#include "interp/interp.h"
#include "passes/passes.h"

enum { MAX_PROGRAMS = 48, DEPTH = 96, RUNS = 60, PIPELINE_RUNS = 3 };

/* The grid's axes that a program asks for; the others are the same program again. */
enum { ALL_AXES = 3 };

/* A tile of SIDE x SIDE for each program, its products multiplied by 1 + its number; %log has how
 * many programs ran, then their numbers as they came; %tally counts them by atomics. */
static const char program[] =
    "func @product(%%a: ptr<f16> {divisible = 16}, %%b: ptr<f16> {divisible = 16}, "
    "%%c: ptr<f32> {divisible = 16}, %%log: ptr<i32>, %%tally: ptr<i32>, "
    "%%k: i32 {divisible = 16}) {num_warps = 4, capability = 90} {\n"
    "    %%zero = constant_int {value = 0} : i32\n"
    "    %%one = constant_int {value = 1} : i32\n"
    "    %%step = constant_int {value = %d} : i32\n"
    "    %%wide0 = constant_int {value = 0} : i64\n"
    "    %%wide1 = constant_int {value = 1} : i64\n"
    "    %%side = constant_int {value = %d} : i64\n"
    "    %%some = cmpi %%k, %%zero {pred = sge} : i1\n"
    "    assume %%some\n"
    "    %%depth = extsi %%k : i64\n"
    "    %%x = program_id {axis = 0} : i32\n"
    "    %%nx = num_programs {axis = 0} : i32\n"
    "    %%ny = num_programs {axis = 1} : i32\n"
    "%s"
    "    %%none = constant_float {value = 0} : tile<%dx%dxf32>\n"
    "    %%acc = for %%zero, %%k, %%step, %%none : tile<%dx%dxf32> (%%i: i32, %%sum: "
    "tile<%dx%dxf32>) {\n"
    "        %%l = load_block %%a, %%side, %%depth, %%depth, %%wide1, %%zero, %%i {checked = 2} : "
    "tile<%dx%dxf16>\n"
    "        %%r = load_block %%b, %%depth, %%side, %%side, %%wide1, %%i, %%zero {checked = 1} : "
    "tile<%dx%dxf16>\n"
    "        %%next = dot %%l, %%r, %%sum {unit = wgmma} : tile<%dx%dxf32>\n"
    "        yield %%next\n"
    "    }\n"
    "    %%weight = addi %%number, %%one : i32\n"
    "    %%factor = sitof %%weight : f32\n"
    "    %%factors = splat %%factor : tile<%dx%dxf32>\n"
    "    %%tile = mulf %%acc, %%factors : tile<%dx%dxf32>\n"
    "    %%rows = muli %%number, %%tall : i32\n"
    "    %%huge = constant_int {value = 65536} : i64\n"
    "    store_block %%c, %%tile, %%huge, %%side, %%side, %%wide1, %%rows, %%zero {checked = 0}\n"
    "%s%s"
    "    return\n"
    "}\n";

/* The order in which programs come is the launch's to choose: a function that writes it down is not
 * what the contract of passes speaks of. */
static const char log_entry[] = "    %before = load %log : i32\n"
                                "    %after = addi %before, %one : i32\n"
                                "    %at = addptr %log, %after : ptr<i32>\n"
                                "    store %at, %number\n"
                                "    store %log, %after\n";

/* The program's number along the axes that it asks for. */
static const char *const numbers[] = {"    %number = addi %x, %zero : i32\n",
                                      "    %y = program_id {axis = 1} : i32\n"
                                      "    %line = muli %y, %nx : i32\n"
                                      "    %number = addi %x, %line : i32\n",
                                      "    %y = program_id {axis = 1} : i32\n"
                                      "    %z = program_id {axis = 2} : i32\n"
                                      "    %plane = muli %z, %ny : i32\n"
                                      "    %lines = addi %y, %plane : i32\n"
                                      "    %line = muli %lines, %nx : i32\n"
                                      "    %number = addi %x, %line : i32\n"};

typedef struct Shape {
    int side, depth; /* of the tile, of one step */
    int axes;        /* that are asked for */
    bool logs;
    bool counts; /* by atomics */
} Shape;

static Func *make(Ctx *ctx, const Shape *shape) {
    int s = shape->side, d = shape->depth;
    StrBuf number = strbuf(&ctx->arena), text = strbuf(&ctx->arena);
    strbuf_puts(&number, numbers[shape->axes - 1]);
    strbuf_printf(&number, "    %%tall = constant_int {value = %d} : i32\n", s);
    strbuf_printf(&text, program, d, s, number.ptr, s, s, s, s, s, s, s, d, d, s, s, s, s, s, s, s,
                  shape->logs ? log_entry : "",
                  shape->counts ? "    %old = atomic_rmw %tally, %one {kind = add} : i32\n" : "");
    return testing_parse_good(ctx, text.ptr)->funcs;
}

typedef struct Memory {
    uint16_t a[64 * DEPTH], b[64 * DEPTH];
    float c[MAX_PROGRAMS * 64 * 64];
    int32_t log[1 + MAX_PROGRAMS], tally;
} Memory;

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void run(Func *func, const uint32_t grid[3], uint32_t ctas, int32_t k, Memory *m) {
    memset(m->c, 0, sizeof m->c);
    memset(m->log, 0, sizeof m->log);
    m->tally = 0;
    InterpArray memory[] = {{.name = STR("a"), .data = m->a, .bytes = sizeof m->a},
                            {.name = STR("b"), .data = m->b, .bytes = sizeof m->b},
                            {.name = STR("c"), .data = m->c, .bytes = sizeof m->c},
                            {.name = STR("log"), .data = m->log, .bytes = sizeof m->log},
                            {.name = STR("tally"), .data = &m->tally, .bytes = sizeof m->tally}};
    InterpArg args[6] = {{.is_array = true}};
    for (uint32_t i = 1; i < 5; i++)
        args[i] = (InterpArg){.is_array = true, .array = i};
    args[5].i = k;
    InterpOptions options = {.grid = {grid[0], grid[1], grid[2]}, .ctas = ctas};
    if (!interp_run(func, args, memory, 5, &options))
        fail_msg("grid (%u, %u, %u), %u CTAs, k = %d: %s", grid[0], grid[1], grid[2], ctas, (int)k,
                 testing_messages(func_ctx(func)));
}

static Memory *random_memory(Ctx *ctx, uint64_t *state) {
    Memory *m = ARENA_NEW(&ctx->arena, Memory);
    for (int i = 0; i < 64 * DEPTH; i++) {
        m->a[i] = (uint16_t)float_to_bits(DT_F16, (double)(next_random(state) % 17) - 8);
        m->b[i] = (uint16_t)float_to_bits(DT_F16, (double)(next_random(state) % 17) - 8);
    }
    return m;
}

static void compare(const Shape *shape, const uint32_t grid[3], uint32_t ctas, const Memory *wanted,
                    const Memory *got) {
    uint32_t programs = grid[0] * grid[1] * grid[2];
    uint32_t distinct = grid[0] * (shape->axes > 1 ? grid[1] : 1) * (shape->axes > 2 ? grid[2] : 1);
    if (memcmp(wanted->c, got->c, sizeof wanted->c) != 0)
        fail_msg("grid (%u, %u, %u), %u CTAs: other results", grid[0], grid[1], grid[2], ctas);
    /* All programs count where they do, else those that differ. */
    uint32_t ran = shape->counts ? programs : distinct;
    assert_int_equal(got->log[0], shape->logs ? ran : 0);
    assert_int_equal(got->tally, shape->counts ? programs : 0);
    for (uint32_t i = 0, at = 1; shape->logs && i < (ctas < ran ? ctas : ran); i++)
        for (uint32_t number = i; number < ran; number += ctas)
            assert_int_equal(got->log[at++], number % distinct);
}

/* Grids of one to three dimensions, any number of CTAs up to more than there are programs. */
static void check_grid(const Shape *shape, Func *plain, Func *persistent, Memory *m[2],
                       uint64_t *state) {
    uint32_t grid[] = {1 + (uint32_t)next_random(state) % 4, 1 + (uint32_t)next_random(state) % 4,
                       1 + (uint32_t)next_random(state) % 3};
    uint32_t programs = grid[0] * grid[1] * grid[2];
    uint32_t ctas = 1 + (uint32_t)next_random(state) % (programs + 2);
    int32_t k = 16 * (int32_t)(next_random(state) % (DEPTH / 16 + 1));
    run(plain, grid, 0, k, m[0]);
    run(persistent, grid, ctas, k, m[1]);
    compare(shape, grid, ctas, m[0], m[1]);
    run(persistent, grid, 0, k, m[1]);
    compare(shape, grid, programs, m[0], m[1]);
}

static void each_program_runs_once(void **state) {
    Ctx *ctx = testing_ctx();
    uint64_t random = 1;
    Memory *m[] = {random_memory(ctx, &random), ARENA_NEW(&ctx->arena, Memory)};
    memcpy(m[1], m[0], sizeof *m[0]);
    for (int axes = 1; axes <= ALL_AXES; axes++)
        for (int counts = 0; counts < 2; counts++) {
            Shape shape = {.side = 16, .depth = 16, .axes = axes, .logs = true, .counts = counts};
            Func *plain = make(ctx, &shape), *persistent = make(ctx, &shape);
            assert_true(pass_persist(persistent));
            assert_true(persistent->is_persistent);
            assert_false(pass_persist(persistent));
            assert_true(module_verify(persistent->module));
            for (int i = 0; i < RUNS; i++)
                check_grid(&shape, plain, persistent, m, &random);
        }
    ctx_destroy(ctx);
}

/* Rings, mbarriers and what is in flight go on from one program to the next. */
static void rings_go_on(void **state) {
    Ctx *ctx = testing_ctx();
    uint64_t random = 2;
    Memory *m[] = {random_memory(ctx, &random), ARENA_NEW(&ctx->arena, Memory)};
    memcpy(m[1], m[0], sizeof *m[0]);
    for (int axes = 1; axes <= ALL_AXES; axes++) {
        Shape shape = {.side = 64, .depth = 32, .axes = axes, .counts = axes == 2};
        Func *plain = make(ctx, &shape), *persistent = make(ctx, &shape);
        plain->no_persistence = true;
        if (!pipeline_run(plain, NULL) || !pipeline_run(persistent, NULL))
            fail_msg("%s", testing_messages(ctx));
        assert_false(plain->is_persistent);
        assert_true(persistent->is_persistent);
        assert_non_null(strstr(testing_print(persistent->module), "in_flight = true"));
        for (int i = 0; i < PIPELINE_RUNS; i++)
            check_grid(&shape, plain, persistent, m, &random);
    }
    ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_program_runs_once),
                                       cmocka_unit_test(rings_go_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
