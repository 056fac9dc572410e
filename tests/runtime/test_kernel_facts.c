/* Facts of a kernel as text and JSON: tensor maps and pairs of pointers there and back, damage
 * found out. */
#include "runtime/launch/facts.h"
#include "support/ctx.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char head[] = "name matmul\n"
                           "target sm_90a\n"
                           "num_warps 4\n"
                           "programs_per_cta 1\n"
                           "num_ctas 1\n"
                           "threads 128\n"
                           "shared_bytes 1024\n"
                           "registers 0\n"
                           "stack_bytes 0\n"
                           "spill_stores 0\n"
                           "spill_loads 0\n"
                           "static_shared 0\n"
                           "grid_parameter 0\n"
                           "assembled 0\n";
static const char params[] = "param 16 0 0 0 a *fp16\n"
                             "param 1 2 0 0 BLOCK 64\n"
                             "param 1 0 0 0 scale fp32\n"
                             "param 16 0 0 0 m i32\n"
                             "param 16 0 0 0 k u32\n";
static const char map[] =
    "tensor_map f16 swizzle 128 box 64 128 base param=0:i64 extent param=3:i32 "
    "extsi:i64 extent param=2:i32 extsi:i64 stride param=3:i32 extsi:i64\n";

static bool read_text(Ctx *ctx, const char *lines, const char *maps, KernelFacts *facts) {
    *facts = (KernelFacts){0};
    return facts_read(&ctx->arena, str_from(str_format(&ctx->arena, "%s%s%s", head, lines, maps)),
                      facts);
}

static void tensor_maps_come_back(void **state) {
    Ctx *ctx = ctx_create();
    KernelFacts facts;
    assert_true(read_text(ctx, params, map, &facts));
    assert_int_equal(facts.meta.tensor_maps.len, 1);
    assert_int_equal(facts.meta.tensor_maps.data[0].box[1], 128);
    StrBuf out = strbuf(&ctx->arena);
    facts_write(&facts, &out);
    assert_non_null(strstr(out.ptr, map));
    KernelFacts again = {0};
    assert_true(facts_read(&ctx->arena, strbuf_str(&out), &again));
    assert_non_null(strstr(out.ptr, params));
    assert_true(again.params[1].is_constexpr && again.params[1].is_default);
    assert_true(recipe_equal(facts.meta.tensor_maps.data, again.meta.tensor_maps.data));
    ctx_destroy(ctx);
}

static void tensor_maps_in_json(void **state) {
    Ctx *ctx = ctx_create();
    KernelFacts facts;
    assert_true(read_text(ctx, params, map, &facts));
    StrBuf out = strbuf(&ctx->arena);
    facts_json(&facts, &out);
    assert_non_null(strstr(out.ptr,
                           "\"tensor_maps\": [{\"dtype\": \"f16\", \"swizzle\": 128, "
                           "\"box\": [64, 128], \"base\": \"a\", \"extents\": [\"k\", \"m\"], "
                           "\"strides\": [\"k\"], \"recipe\": \"f16 swizzle 128 box 64 128 "));
    assert_true(read_text(ctx, params, "", &facts));
    out.len = 0;
    facts_json(&facts, &out);
    assert_non_null(strstr(out.ptr, "\"tensor_maps\": []"));
    ctx_destroy(ctx);
}

/* Numbers are of what is passed: BLOCK is not. */
static void pairs_come_back(void **state) {
    static const char pointers[] = "param 16 0 0 0 a *fp16\n"
                                   "param 1 2 0 0 BLOCK 64\n"
                                   "param 1 0 0 0 scale fp32\n"
                                   "param 16 0 0 0 b *fp16\n";
    static const char *const wrong[] = {"apart 0\n",    "apart 0 1\n",   "apart 0 3\n",
                                        "apart -1 0\n", "apart 0 2 0\n", "apart 0 9999999\n"};
    Ctx *ctx = ctx_create();
    KernelFacts facts, again = {0};
    assert_true(read_text(ctx, pointers, "apart 0 2\n", &facts));
    StrBuf out = strbuf(&ctx->arena), json = strbuf(&ctx->arena);
    facts_write(&facts, &out);
    assert_true(facts_read(&ctx->arena, strbuf_str(&out), &again));
    const KernelFacts copy = facts_copy(&ctx->arena, &again);
    assert_int_equal(copy.meta.apart.len, 1);
    assert_int_equal(copy.meta.apart.data[0].loaded, 0);
    assert_int_equal(copy.meta.apart.data[0].stored, 2);
    facts_json(&copy, &json);
    assert_non_null(strstr(json.ptr, "\"apart\": [[\"a\", \"b\"]]"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (read_text(ctx, pointers, wrong[i], &facts))
            fail_msg("taken: %s", wrong[i]);
    ctx_destroy(ctx);
}

static void damage_is_found(void **state) {
    static const char *const maps[] = {
        "tensor_map\n",
        "tensor_map f16 swizzle 128 box 64 base param=0:i64\n",
        /* no such parameter; a constexpr has no number */
        "tensor_map f16 swizzle 128 box 64 base param=4:i64 extent param=0:i64\n",
        /* of another width, or a float */
        "tensor_map f16 swizzle 128 box 64 base param=0:i64 extent param=2:i64\n",
        "tensor_map f16 swizzle 128 box 64 base param=0:i64 extent param=1:i32 extsi:i64\n",
    };
    Ctx *ctx = ctx_create();
    KernelFacts facts;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (read_text(ctx, params, maps[i], &facts))
            fail_msg("taken: %s", maps[i]);
    StrBuf many = strbuf(&ctx->arena);
    for (int i = 0; i < RECIPE_MAX_MAPS; i++)
        strbuf_puts(&many, map);
    assert_true(read_text(ctx, params, many.ptr, &facts));
    strbuf_puts(&many, map);
    assert_false(read_text(ctx, params, many.ptr, &facts));
    ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_maps_come_back),
        cmocka_unit_test(tensor_maps_in_json),
        cmocka_unit_test(pairs_come_back),
        cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
