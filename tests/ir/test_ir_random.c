/* Random functions: they verify, survive printing and parsing, run cleanly in the interpreter, and
 * compute the same after a round trip through text and after cloning. */
#include "ir_testing.h"

#include "interp/interp.h"
#include "random_ir.h"

enum { SEEDS = 150 };

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

static bool run(Ctx *ctx, Func *func, Arrays *arrays) {
    InterpArray memory[] = {
        {.name = STR("in_i"),
         .data = arrays->in_i,
         .bytes = sizeof arrays->in_i,
         .read_only = true},
        {.name = STR("in_f"),
         .data = arrays->in_f,
         .bytes = sizeof arrays->in_f,
         .read_only = true},
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

static void assert_same_results(const Arrays *a, const Arrays *b, uint64_t seed) {
    for (size_t i = 0; i < RANDOM_IR_ELEMENTS; i++) {
        bool both_nan = a->out_f[i] != a->out_f[i] && b->out_f[i] != b->out_f[i];
        if (a->out_i[i] != b->out_i[i] || (!both_nan && memcmp(&a->out_f[i], &b->out_f[i], 4) != 0))
            fail_msg("seed %llu: element %zu differs", (unsigned long long)seed, i);
    }
}

static void clone_body(Func *from, Func *to) {
    ValueMap *map = value_map_create(&func_ctx(from)->arena);
    for (uint32_t i = 0; i < from->body->nargs; i++)
        value_map_set(map, &from->body->args[i], &to->body->args[i]);
    Builder builder = builder_at_end(to->body);
    block_for_each (op, from->body)
        op_clone(&builder, op, map);
}

static Func *clone_func(Ctx *ctx, Func *func) {
    const Type *types[RANDOM_IR_PARAMS];
    for (uint32_t i = 0; i < RANDOM_IR_PARAMS; i++)
        types[i] = func->body->args[i].type;
    Func *copy = func_create(module_create(ctx), func->name, RANDOM_IR_PARAMS, func->params, types);
    clone_body(func, copy);
    return copy;
}

static void test_random_functions(void **state) {
    Arrays *arrays = test_malloc(3 * sizeof *arrays);
    size_t stored = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        Ctx *ctx = testing_ctx();
        Module *module = module_create(ctx);
        Func *func = random_ir(module, seed, 0);
        if (!module_verify(module))
            fail_msg("seed %llu:\n%s", (unsigned long long)seed, testing_messages(ctx));
        const char *text = testing_print(module);
        Module *again = testing_parse_good(ctx, text);
        assert_string_equal(testing_print(again), text);
        Func *copy = clone_func(ctx, func);
        assert_true(module_verify(copy->module));
        assert_string_equal(testing_print(copy->module), text);
        Func *const funcs[] = {func, again->funcs, copy};
        for (int i = 0; i < 3; i++) {
            fill_arrays(&arrays[i], seed);
            if (!run(ctx, funcs[i], &arrays[i]))
                fail_msg("seed %llu:\n%s\n%s", (unsigned long long)seed, testing_messages(ctx),
                         text);
            assert_same_results(&arrays[0], &arrays[i], seed);
        }
        for (size_t i = 0; i < RANDOM_IR_ELEMENTS; i++)
            stored += arrays[0].out_i[i] != 0;
        ctx_destroy(ctx);
    }
    /* The comparison is of something. */
    assert_true(stored > SEEDS * 10);
    test_free(arrays);
}

static void test_same_seed_same_function(void **state) {
    Ctx *ctx = testing_ctx();
    Module *a = module_create(ctx), *b = module_create(ctx), *c = module_create(ctx);
    random_ir(a, 5, 100);
    random_ir(b, 5, 100);
    random_ir(c, 6, 100);
    assert_string_equal(testing_print(a), testing_print(b));
    assert_string_not_equal(testing_print(a), testing_print(c));
    ctx_destroy(ctx);
}

static bool mark_code(Op *op, void *user) {
    ((bool *)user)[op->code] = true;
    return true;
}

/* A generator that has stopped making some op is noticed. */
static void test_variety(void **state) {
    Ctx *ctx = testing_ctx();
    bool seen[OP_COUNT] = {0};
    int count = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        func_walk(random_ir(module_create(ctx), seed, 0), mark_code, seen);
    for (int i = 0; i < OP_COUNT; i++)
        count += seen[i];
    assert_true(seen[OP_for] && seen[OP_while] && seen[OP_if] && seen[OP_reduce] && seen[OP_scan]);
    assert_true(seen[OP_dot] && seen[OP_load] && seen[OP_store] && seen[OP_join]);
    assert_true(seen[OP_load_block] && seen[OP_store_block]);
    assert_true(count > 55);
    ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_functions),
        cmocka_unit_test(test_same_seed_same_function),
        cmocka_unit_test(test_variety),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
