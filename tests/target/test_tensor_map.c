/* Recipes of tensor maps: expressions say what the IR says, text goes there and back, values that
 * no map can hold are refused. The interpreter is the reference for evaluation. */
#include "../ir/ir_testing.h"

#include "interp/interp.h"
#include "ir/recipe.h"

#include <inttypes.h>
#include <stdlib.h>

static bool find_store(Op *op, void *user) {
    if (op->code == OP_store)
        *(Value **)user = op_in(op, 1);
    return true;
}

/* The value stored by the last store of the function. */
static Value *stored_value(Func *func) {
    Value *value = NULL;
    func_walk(func, find_store, &value);
    assert_non_null(value);
    return value;
}

static Func *parse_body(Ctx *ctx, const char *body) {
    const char *text = str_format(&ctx->arena,
                                  "func @k(%%a: i8, %%b: i16, %%c: i32, %%d: i64, %%out: ptr<i64>, "
                                  "%%p: ptr<f16>, %%f: i1, %%x: f32) {\n%s    return\n}\n",
                                  body);
    return testing_parse_good(ctx, text)->funcs;
}

typedef struct Arguments {
    int8_t a;
    int16_t b;
    int32_t c;
    int64_t d;
    uint64_t out, p;
    uint8_t f;
    float x;
} Arguments;

static RecipeFault value_with(const RecipeExpr *expr, const Arguments *g, uint64_t *value) {
    const void *params[] = {&g->a, &g->b, &g->c, &g->d, &g->out, &g->p, &g->f, &g->x};
    return recipe_expr_value(expr, params, value);
}

/* Random expressions against the interpreter */

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint32_t below(uint64_t *state, uint32_t limit) {
    return (uint32_t)(next_random(state) >> 33) % limit;
}

/* Mostly small, at times extreme. */
static int64_t random_number(uint64_t *state) {
    static const int64_t special[] = {0, 1, -1, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX, 64};
    switch (below(state, 4)) {
    case 0:
        return special[below(state, 8)];
    case 1:
        return (int64_t)next_random(state);
    default:
        return (int64_t)below(state, 70) - 6;
    }
}

enum { WIDTHS = 5, POOL = 32 };
static const char *const width_names[WIDTHS] = {"i1", "i8", "i16", "i32", "i64"};

typedef struct Pool {
    int widths[POOL];
    uint32_t count;
} Pool;

static const char *const binary_names[] = {
#define NONE(...)
#define NAME(op, ...) #op,
    RECIPE_OPS(NONE, NAME, NONE, NONE)
#undef NAME
#undef NONE
};

enum { BINARIES = sizeof binary_names / sizeof *binary_names };

static int pool_pick(const Pool *pool, uint64_t *state, int width) {
    for (int tries = 0; tries < 64; tries++) {
        uint32_t i = below(state, pool->count);
        if (pool->widths[i] == width)
            return (int)i;
    }
    return -1;
}

/* Adds one op whose result is %v<count>; false if no operands fit. */
static bool add_random_op(StrBuf *body, Pool *pool, uint64_t *state) {
    uint32_t n = pool->count;
    int width = (int)below(state, WIDTHS), x = pool_pick(pool, state, width),
        y = pool_pick(pool, state, width);
    if (x < 0 || y < 0)
        return false;
    int to = (int)below(state, WIDTHS);
    switch (below(state, 4)) {
    case 0:
        to = width;
        strbuf_printf(body, "    %%v%u = constant_int {value = %" PRId64 "} : %s\n", n,
                      random_number(state), width_names[width]);
        break;
    case 1:
        if (to == width)
            return false;
        strbuf_printf(body, "    %%v%u = %s %%v%d : %s\n", n,
                      to < width        ? "trunci"
                      : below(state, 2) ? "extsi"
                                        : "extui",
                      x, width_names[to]);
        break;
    default:
        to = width;
        strbuf_printf(body, "    %%v%u = %s %%v%d, %%v%d : %s\n", n,
                      binary_names[below(state, BINARIES)], x, y, width_names[width]);
        break;
    }
    pool->widths[pool->count++] = to;
    return true;
}

static const char *random_body(Ctx *ctx, uint64_t *state) {
    StrBuf body = strbuf(&ctx->arena);
    Pool pool = {.widths = {1, 2, 3, 4, 0}, .count = 5};
    /* A sum with zero gives the parameters names that count on. */
    static const char *const params[] = {"a", "b", "c", "d", "f"};
    for (uint32_t i = 0; i < pool.count; i++)
        strbuf_printf(&body,
                      "    %%z%u = constant_int {value = 0} : %s\n"
                      "    %%v%u = addi %%%s, %%z%u : %s\n",
                      i, width_names[pool.widths[i]], i, params[i], i, width_names[pool.widths[i]]);
    for (uint32_t wanted = pool.count + 1 + below(state, 10), tries = 0;
         (pool.count < wanted || pool.widths[pool.count - 1] != 4) && pool.count < POOL &&
         tries < 1000;
         tries++)
        add_random_op(&body, &pool, state);
    uint32_t last = pool.count;
    while (pool.widths[last - 1] != 4)
        last--;
    strbuf_printf(&body, "    store %%out, %%v%u\n", last - 1);
    return body.ptr;
}

static void compare_with_interpreter(uint64_t *state, unsigned *defined, unsigned *undefined) {
    Ctx *ctx = testing_ctx();
    Func *func = parse_body(ctx, random_body(ctx, state));
    RecipeExpr expr;
    if (recipe_expr_build(&ctx->arena, stored_value(func), &expr)) {
        assert_true(launch_invariant(stored_value(func)));
        const Arguments g = {.a = (int8_t)random_number(state),
                             .b = (int16_t)random_number(state),
                             .c = (int32_t)random_number(state),
                             .d = random_number(state),
                             .f = below(state, 2) != 0};
        uint64_t stored = 0, value = 0;
        InterpArray out = {.name = STR("out"), .data = &stored, .bytes = sizeof stored};
        const InterpArg args[] = {{.i = g.a},         {.i = g.b},         {.i = g.c}, {.i = g.d},
                                  {.is_array = true}, {.is_array = true}, {.i = g.f}, {0}};
        const InterpOptions options = {.grid = {1, 1, 1}};
        bool ran = interp_run(func, args, &out, 1, &options);
        RecipeFault fault = value_with(&expr, &g, &value);
        assert_int_equal(fault, ran ? RECIPE_FINE : RECIPE_UNDEFINED);
        if (ran)
            assert_int_equal(value, stored);
        ++*(ran ? defined : undefined);
    }
    ctx_destroy(ctx);
}

static void test_interpreter(void **state) {
    uint64_t random = 88172645463325252u;
    unsigned defined = 0, undefined = 0;
    for (int i = 0; i < 3000; i++)
        compare_with_interpreter(&random, &defined, &undefined);
    assert_true(defined > 1000);
    assert_true(undefined > 100);
}

/* Addresses */

static void test_address(void **state) {
    Ctx *ctx = testing_ctx();
    Func *func = parse_body(ctx, "    %h = hint_divisible %c {values = [8]} : i32\n"
                                 "    %q = addptr %p, %h : ptr<f16>\n"
                                 "    %r = addptr %q, %d : ptr<f16>\n"
                                 "    %bytes = bitcast %r : ptr<i8>\n"
                                 "    %i = ptrtoint %bytes : i64\n"
                                 "    store %out, %i\n");
    RecipeExpr expr;
    assert_true(recipe_expr_build(&ctx->arena, stored_value(func), &expr));
    uint64_t value = 0;
    assert_int_equal(value_with(&expr, &(Arguments){.p = 4096, .c = -8, .d = 100}, &value),
                     RECIPE_FINE);
    assert_int_equal(value, 4096 + 2 * (100 - 8));
    assert_int_equal(value_with(&expr, &(Arguments){.p = 8, .c = -8}, &value), RECIPE_OVERFLOW);
    assert_int_equal(value_with(&expr, &(Arguments){.p = UINT64_MAX - 3, .c = 2}, &value),
                     RECIPE_OVERFLOW);
    assert_int_equal(value_with(&expr, &(Arguments){.p = 16, .d = INT64_MAX}, &value),
                     RECIPE_OVERFLOW);
    ctx_destroy(ctx);
}

/* What no expression is made of */

static void test_refused(void **state) {
    static const char *const bodies[] = {
        "    %v = load %out : i64\n    store %out, %v\n",
        "    %i = program_id {axis = 0} : i32\n    %v = extsi %i : i64\n    store %out, %v\n",
        "    %i = ftosi %x : i64\n    store %out, %i\n",
        "    %i = bitcast %x : i32\n    %v = extsi %i : i64\n    store %out, %v\n",
        "    %v = select %f, %d, %d : i64\n    store %out, %v\n",
        "    %r = for %c, %c, %c, %d : i64 (%i: i32, %e: i64) {\n        yield %e\n    }\n"
        "    store %out, %r\n",
        "    %r = for %c, %c, %c, %d : i64 (%i: i32, %e: i64) {\n        store %out, %e\n"
        "        yield %e\n    }\n",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        Ctx *ctx = testing_ctx();
        const Value *value = stored_value(parse_body(ctx, bodies[i]));
        RecipeExpr expr;
        assert_false(recipe_expr_build(&ctx->arena, value, &expr));
        assert_false(launch_invariant(value));
        ctx_destroy(ctx);
    }
}

/* A value and `count` - 1 ops on the last one, written by a format for "%vN = op %v(N-1)". */
static bool chain_builds(int count, const char *format) {
    Ctx *ctx = testing_ctx();
    StrBuf body = strbuf(&ctx->arena);
    strbuf_puts(&body, "    %v0 = addi %d, %d : i64\n");
    for (int i = 1; i < count; i++) {
        strbuf_printf(&body, "    %%v%d = ", i);
        for (const char *at = format; *at; at++) {
            if (*at == '@')
                strbuf_printf(&body, "%%v%d", i - 1);
            else
                strbuf_putc(&body, *at);
        }
        strbuf_puts(&body, " : i64\n");
    }
    strbuf_printf(&body, "    store %%out, %%v%d\n", count - 1);
    bool built = launch_invariant(stored_value(parse_body(ctx, body.ptr)));
    ctx_destroy(ctx);
    return built;
}

static void test_length(void **state) {
    assert_true(chain_builds(31, "addi @, %d")); /* 63 steps */
    assert_false(chain_builds(32, "addi @, %d"));
    assert_true(chain_builds(5, "addi @, @"));
    assert_false(chain_builds(60, "addi @, @")); /* 2^60 leaves */
    assert_true(chain_builds(9, "hint_divisible @ {values = [1]}"));
    assert_false(chain_builds(20000, "hint_divisible @ {values = [1]}"));
}

/* Text */

static const char *const good_text =
    "f16 swizzle 128 box 64 128 base param=0:i64 param=2:i32 addptr=2 extent param=5:i32 "
    "extsi:i64 extent constant_int=-4096:i64 param=3:i32 extui:i64 subi:i64 stride param=6:i64";

static void test_text(void **state) {
    Ctx *ctx = testing_ctx();
    TensorMapRecipe recipe, again;
    assert_true(recipe_parse(&ctx->arena, str_from(good_text), &recipe));
    assert_int_equal(recipe.dtype, DT_F16);
    assert_int_equal(recipe.rank, 2);
    assert_int_equal(recipe.box[1], 128);
    assert_int_equal(recipe.extents[1].steps[0].value, -4096);
    StrBuf out = strbuf(&ctx->arena);
    recipe_print(&recipe, &out);
    assert_string_equal(out.ptr, good_text);
    again = recipe_copy(&ctx->arena, &recipe);
    assert_true(recipe_equal(&recipe, &again));
    again.strides[1] = recipe_expr_constant(&ctx->arena, 64);
    assert_false(recipe_equal(&recipe, &again));
    again = recipe;
    again.box[1] = 64;
    assert_false(recipe_equal(&recipe, &again));
    ctx_destroy(ctx);
}

static void test_infix(void **state) {
    static const struct {
        const char *steps, *text;
    } cases[] = {
        {"param=0:i64 param=1:i32 addptr=2", "a + 2 * n"},
        {"param=0:i64 param=1:i32 param=1:i32 muli:i32 addptr=2", "a + 2 * (n * n)"},
        {"param=1:i32 constant_int=-1:i32 addi:i32 extsi:i64", "n + (-1)"},
        {"param=1:i32 extui:i64 param=2:i64 minsi:i64", "minsi(extui(n, i64), k)"},
        {"param=2:i64 trunci:i32 constant_int=64:i32 divsi:i32 extsi:i64", "trunci(k, i32) / 64"},
        {"param=2:i64 param=2:i64 shrui:i64 constant_int=3:i64 subi:i64", "shrui(k, k) - 3"},
    };
    const Str names[] = {STR("a"), STR("n"), STR("k")};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Ctx *ctx = testing_ctx();
        TensorMapRecipe recipe;
        const char *text = str_format(&ctx->arena, "f32 swizzle 0 box 4 base %s extent param=2:i64",
                                      cases[i].steps);
        assert_true(recipe_parse(&ctx->arena, str_from(text), &recipe));
        StrBuf out = strbuf(&ctx->arena);
        recipe_expr_print(&recipe.base, names, &out);
        assert_string_equal(out.ptr, cases[i].text);
        ctx_destroy(ctx);
    }
}

static void test_fits(void **state) {
    Ctx *ctx = testing_ctx();
    TensorMapRecipe recipe;
    assert_true(recipe_parse(&ctx->arena, str_from(good_text), &recipe));
    DType types[] = {DT_I64, DT_F32, DT_I32, DT_I32, DT_F32, DT_I32, DT_I64};
    assert_true(recipe_fits(&recipe, types, 7));
    assert_false(recipe_fits(&recipe, types, 6));
    types[3] = DT_I64;
    assert_false(recipe_fits(&recipe, types, 7));
    ctx_destroy(ctx);
}

/* Each once, by number and width. */
static void test_params(void **state) {
    Ctx *ctx = testing_ctx();
    TensorMapRecipe recipe;
    assert_true(recipe_parse(&ctx->arena,
                             STR("f16 swizzle 0 box 64 8 base param=7:i64 param=2:i16 extsi:i64 "
                                 "muli:i64 extent param=2:i16 extsi:i64 extent param=0:i8 "
                                 "extsi:i64 stride param=7:i64 param=4:i32 extsi:i64 addi:i64"),
                             &recipe));
    const RecipeParams params = recipe_params(&ctx->arena, &recipe);
    static const RecipeParam wanted[] = {{7, 8}, {2, 2}, {0, 1}, {4, 4}};
    assert_int_equal(params.len, 4);
    assert_memory_equal(params.data, wanted, sizeof wanted);
    ctx_destroy(ctx);
}

static void test_bad_text(void **state) {
    static const char *const texts[] = {
        "",
        "f16",
        "i1 swizzle 0 box 16 base param=0:i64 extent param=1:i64",   /* no such element */
        "f16 swizzle 48 box 16 base param=0:i64 extent param=1:i64", /* no such swizzle */
        "f16 swizzle 0 box 12 base param=0:i64 extent param=1:i64",  /* 24 bytes */
        "f16 swizzle 32 box 32 base param=0:i64 extent param=1:i64", /* 64 bytes */
        "f16 swizzle 0 box 512 base param=0:i64 extent param=1:i64", /* over 256 */
        "f16 swizzle 0 box base param=0:i64",                        /* rank 0 */
        "f16 swizzle 0 box 16 base param=0:i64",                     /* no extent */
        "f16 swizzle 0 box 16 base extent param=1:i64",              /* no base */
        "f16 swizzle 0 box 16 base param=0:i64 extent param=1:i32",  /* i32 */
        "f16 swizzle 0 box 16 base param=0:i64 param=0:i64 extent param=1:i64",
        "f16 swizzle 0 box 16 base param=0:i64 extent addi:i64",
        "f16 swizzle 0 box 16 base param=0:i64 extent param=1:i64 param=2:i32 addi:i64",
        "f16 swizzle 0 box 16 base param=0:i64 extent param=1:i64 extsi:i64",
        "f16 swizzle 0 box 16 base param=0:i64 extent param=-1:i64",
        "f16 swizzle 0 box 16 base param=0:i64 extent param:i64",
        "f16 swizzle 0 box 16 base param=0:i64 extent param=1",
        "f16 swizzle 0 box 16 base param=0:i64 extent param=1:f32",
        "f16 swizzle 0 box 16 base param=0:i64 extent param=1:i64 ",
        "f16 swizzle 0 box 16 base param=0:i64 extent param=1:i64 stride param=1:i64",
        "f16 swizzle 0 box 16 base param=0:i64 param=1:i64 addptr=9 extent param=1:i64",
        "f16 swizzle 0 box 16 base param=0:i64 extent constant_int=99999999999999999999:i64",
        "f16 swizzle 0 box 16 base param=0:i64 extent constant_int=300:i8 extsi:i64",
        "f16 swizzle 0 box 16 base param=0:i64 extent select:i64",
    };
    Ctx *ctx = testing_ctx();
    TensorMapRecipe recipe;
    assert_true(recipe_parse(
        &ctx->arena, STR("f16 swizzle 0 box 16 base param=0:i64 extent param=1:i64"), &recipe));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (recipe_parse(&ctx->arena, str_from(texts[i]), &recipe))
            fail_msg("taken: %s", texts[i]);
    for (size_t len = 0; len < strlen(good_text); len++) { /* every prefix ends without a crash */
        char *part = malloc(len + 1);
        memcpy(part, good_text, len);
        recipe_parse(&ctx->arena, (Str){part, len}, &recipe);
        free(part);
    }
    ctx_destroy(ctx);
}

/* Values */

static bool resolve_with(uint64_t base, int64_t rows, int64_t columns, int64_t stride,
                         TensorMapShape *shape, RecipeProblem *problem) {
    Ctx *ctx = testing_ctx();
    TensorMapRecipe recipe;
    assert_true(recipe_parse(&ctx->arena,
                             STR("f16 swizzle 128 box 64 128 base param=0:i64 extent param=2:i64 "
                                 "extent param=1:i64 stride param=3:i64"),
                             &recipe));
    const void *params[] = {&base, &rows, &columns, &stride};
    bool resolved = recipe_resolve(&recipe, params, shape, problem);
    ctx_destroy(ctx);
    return resolved;
}

static void test_resolve(void **state) {
    TensorMapShape shape;
    RecipeProblem problem;
    assert_true(resolve_with(0x7000, 1000, 300, 304, &shape, &problem));
    assert_int_equal(shape.address, 0x7000);
    assert_int_equal(shape.extents[0], 300);
    assert_int_equal(shape.extents[1], 1000);
    assert_int_equal(shape.extents[2], 1);
    assert_int_equal(shape.strides[0], 2);
    assert_int_equal(shape.strides[1], 608);
    assert_int_equal(shape.strides[2], 0);
    assert_true(resolve_with(16, INT64_C(1) << 31, 1, (INT64_C(1) << 39) - 8, &shape, &problem));
}

static void test_problems(void **state) {
    static const struct {
        uint64_t base;
        int64_t rows, columns, stride;
        const char *text;
    } cases[] = {
        {0x7008, 8, 8, 8, "the address is 0x7008: wanted a multiple of 16"},
        {16, 0, 8, 8, "the extent of dimension 1 is 0: wanted 1 to 2^31"},
        {16, 8, -1, 8, "the extent of dimension 0 is -1: wanted 1 to 2^31"},
        {16, 8, (INT64_C(1) << 31) + 1, 8,
         "the extent of dimension 0 is 2147483649: wanted 1 to 2^31"},
        {16, 8, 8, 513,
         "the stride of dimension 1 is 1026 bytes: wanted a multiple of 16 from 16 to 2^40 - 16"},
        {16, 8, 8, 0,
         "the stride of dimension 1 is 0 bytes: wanted a multiple of 16 from 16 to 2^40 - 16"},
        {16, 8, 8, -8,
         "the stride of dimension 1 is -16 bytes: wanted a multiple of 16 from 16 to 2^40 - 16"},
        {16, 8, 8, INT64_C(1) << 39,
         "the stride of dimension 1 is 1099511627776 bytes: wanted a multiple of 16 from 16 to "
         "2^40 "
         "- 16"},
        {16, 8, 8, INT64_C(1) << 62, "the stride of dimension 1 does not fit in 64 bits"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Ctx *ctx = testing_ctx();
        TensorMapShape shape;
        RecipeProblem problem;
        assert_false(resolve_with(cases[i].base, cases[i].rows, cases[i].columns, cases[i].stride,
                                  &shape, &problem));
        assert_string_equal(recipe_problem_text(&ctx->arena, &problem), cases[i].text);
        ctx_destroy(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interpreter), cmocka_unit_test(test_address),
        cmocka_unit_test(test_refused),     cmocka_unit_test(test_length),
        cmocka_unit_test(test_text),        cmocka_unit_test(test_bad_text),
        cmocka_unit_test(test_resolve),     cmocka_unit_test(test_problems),
        cmocka_unit_test(test_infix),       cmocka_unit_test(test_fits),
        cmocka_unit_test(test_params),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
