/* Passes on random functions: each leaves them valid, says truly whether it changed them, and the
 * function computes the same bits; simplify has nothing left to do after itself. */
#include "../ir/ir_testing.h"
#include "../ir/random_ir.h"

#include "interp/interp.h"
#include "passes/passes.h"

enum { SEEDS = 120, LARGE_SEEDS = 12, LARGE_SIZE = 200 };

typedef struct Arrays {
    int32_t in_i[RANDOM_IR_ELEMENTS], out_i[RANDOM_IR_ELEMENTS];
    float in_f[RANDOM_IR_ELEMENTS], out_f[RANDOM_IR_ELEMENTS];
} Arrays;

static void fill_arrays(Arrays *arrays, uint64_t seed) {
    memset(arrays, 0, sizeof *arrays);
    for (size_t i = 0; i < RANDOM_IR_ELEMENTS; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        arrays->in_i[i] = (int32_t)(seed >> 33) >> (seed >> 20 & 31);
        arrays->in_f[i] = (float)arrays->in_i[i] / 64;
    }
}

static bool run(Func *func, Arrays *arrays) {
    InterpArray memory[] = {
        {.name = STR("in_i"), .data = arrays->in_i, .bytes = sizeof arrays->in_i},
        {.name = STR("in_f"), .data = arrays->in_f, .bytes = sizeof arrays->in_f},
        {.name = STR("out_i"), .data = arrays->out_i, .bytes = sizeof arrays->out_i},
        {.name = STR("out_f"), .data = arrays->out_f, .bytes = sizeof arrays->out_f}};
    InterpArg args[RANDOM_IR_PARAMS] = {{.is_array = true, .array = 0},
                                        {.is_array = true, .array = 1},
                                        {.is_array = true, .array = 2},
                                        {.is_array = true, .array = 3},
                                        {.i = 37},
                                        {.f = 1.5}};
    InterpOptions options = {.grid = {1, 1, 1}};
    return interp_run(func, args, memory, 4, &options);
}

static bool same_results(const Arrays *a, const Arrays *b) {
    for (size_t i = 0; i < RANDOM_IR_ELEMENTS; i++) {
        bool both_nan = a->out_f[i] != a->out_f[i] && b->out_f[i] != b->out_f[i];
        if (a->out_i[i] != b->out_i[i] || (!both_nan && memcmp(&a->out_f[i], &b->out_f[i], 4) != 0))
            return false;
    }
    return true;
}

typedef struct Sequence {
    const char *name;
    unsigned count;
    PassId passes[6];
} Sequence;

static const Sequence sequences[] = {
    {"simplify", 1, {PASS_simplify}},
    {"licm", 1, {PASS_licm}},
    {"unroll", 1, {PASS_unroll}},
    {"unroll, simplify, licm, simplify", 4, {PASS_unroll, PASS_simplify, PASS_licm, PASS_simplify}},
};

typedef struct Case {
    const Sequence *sequence;
    uint64_t seed;
    unsigned size;
} Case;

static void run_case(const Case *c, Arrays *before, Arrays *after) {
    Ctx *ctx = testing_ctx();
    Module *module = module_create(ctx);
    Func *func = random_ir(module, c->seed, c->size);
    const char *original = testing_print(module);
    fill_arrays(before, c->seed);
    *after = *before;
    assert_true(run(func, before));
    for (unsigned i = 0; i < c->sequence->count; i++) {
        const char *old = testing_print(module);
        PassId pass = c->sequence->passes[i];
        bool changed = pass_info[pass].run(func);
        if (changed != (strcmp(old, testing_print(module)) != 0))
            fail_msg("seed %llu: %s returned %d:\n%s", (unsigned long long)c->seed,
                     pass_info[pass].name, changed, old);
        if (!module_verify(module))
            fail_msg("seed %llu: after %s: %s\n%s", (unsigned long long)c->seed,
                     pass_info[pass].name, testing_messages(ctx), old);
        if (pass == PASS_simplify && pass_simplify(func))
            fail_msg("seed %llu: simplify again changed\n%s", (unsigned long long)c->seed,
                     testing_print(module));
    }
    if (!run(func, after) || !same_results(before, after))
        fail_msg("seed %llu: '%s' changes the result; %s\n%s\nbecomes\n%s",
                 (unsigned long long)c->seed, c->sequence->name, testing_messages(ctx), original,
                 testing_print(module));
    ctx_destroy(ctx);
}

static bool does_not_keep(Op *op, void *user) {
    return op->code != OP_reduce || reduce_attrs(op)->keep == 0;
}

/* The pipeline as a compilation runs it, for 1, 4 or as many warps as it chooses. Reductions that
 * keep part of an axis are made by split-reduces only. */
static void run_pipeline(uint64_t seed, Arrays *before, Arrays *after) {
    Ctx *ctx = testing_ctx();
    Module *module = module_create(ctx);
    Func *func = random_ir(module, seed, 0);
    const char *original = testing_print(module);
    if (!func_walk(func, does_not_keep, NULL)) {
        ctx_destroy(ctx);
        return;
    }
    func->capability = 90;
    func->num_warps = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 1 : 4;
    fill_arrays(before, seed);
    *after = *before;
    assert_true(run(func, before));
    if (!pipeline_run(func, NULL) || !module_verify(module))
        fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, testing_messages(ctx), original);
    if (!run(func, after) || !same_results(before, after))
        fail_msg("seed %llu: the pipeline changes the result; %s\n%s\nbecomes\n%s",
                 (unsigned long long)seed, testing_messages(ctx), original, testing_print(module));
    ctx_destroy(ctx);
}

static void test_pipeline(void **state) {
    Arrays *arrays = test_malloc(2 * sizeof *arrays);
    for (uint64_t seed = 1; seed <= SEEDS; seed += TILEC_TEST_PART)
        run_pipeline(seed, &arrays[0], &arrays[1]);
    test_free(arrays);
}

static void test_sequences(void **state) {
    Arrays *arrays = test_malloc(2 * sizeof *arrays);
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed += TILEC_TEST_PART)
            run_case(&(Case){&sequences[i], seed, 0}, &arrays[0], &arrays[1]);
        /* Once wrong: minimum of i1 constants, whose sign is their only bit. */
        run_case(&(Case){&sequences[i], 900, 0}, &arrays[0], &arrays[1]);
        for (uint64_t seed = 1; seed <= LARGE_SEEDS; seed += TILEC_TEST_PART)
            run_case(&(Case){&sequences[i], 1000 + seed, LARGE_SIZE}, &arrays[0], &arrays[1]);
    }
    test_free(arrays);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sequences),
                                       cmocka_unit_test(test_pipeline)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
