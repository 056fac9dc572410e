/* Every op lowers, and ptxas takes the result, for every target; wgmma is of sm_90a alone, tensor
 * copies from there on. */
#include "codegen_testing.h"

static Str file_text(Ctx *ctx, const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    StrBuf text = strbuf(&ctx->arena);
    char chunk[4096];
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, file)) > 0;)
        strbuf_add(&text, chunk, n);
    fclose(file);
    return strbuf_str(&text);
}

static bool mark(Op *op, void *user) {
    ((bool *)user)[op->code] = true;
    return true;
}

static void every_op_is_in_the_file(void **state) {
    Ctx *ctx = testing_ctx();
    Module *module =
        testing_module(ctx, file_text(ctx, TILEC_SOURCE_DIR "/tests/codegen/Inputs/all_ops.tir"));
    bool seen[OP_COUNT] = {false};
    for (Func *func = module->funcs; func; func = func->next)
        func_walk(func, mark, seen);
    /* lower-blocks leaves none of these. */
    seen[OP_load_block] = seen[OP_store_block] = seen[OP_atomic_block] = true;
    for (int code = 0; code < OP_COUNT; code++)
        if (!seen[code])
            fail_msg("no '%s' in all_ops.tir", op_info[code].name);
    ctx_destroy(ctx);
}

static void compile_all(const char *name) {
    Ctx *ctx = testing_ctx();
    const Target *target = target_by_name(str_from(name));
    Module *module =
        testing_module(ctx, file_text(ctx, TILEC_SOURCE_DIR "/tests/codegen/Inputs/all_ops.tir"));
    for (Func *func = module->funcs; func; func = func->next) {
        if ((str_is(func->name, "warpgroup") || str_is(func->name, "teams")) &&
            target->capability != 90)
            continue;
        if ((str_is(func->name, "tensor_copies") || str_is(func->name, "producer")) &&
            target->capability < 90)
            continue;
        CodegenResult result =
            testing_codegen(func, target->capability, (CodegenOptions){.line_info = true});
        const char *log = testing_assemble(ctx, result.ptx, name);
        /* Without addresses taken on the stack nothing but spills would use it; vprintf does. */
        if (log && !str_is(func->name, "debug") && !strstr(log, "0 bytes spill stores"))
            fail_msg("%.*s on %s spills: %s", STR_ARG(func->name), name, log);
    }
    ctx_destroy(ctx);
}

#define TARGET_TEST(name)                                                                          \
    static void compiles_for_##name(void **state) {                                                \
        compile_all(#name);                                                                        \
    }
TARGET_TEST(sm_80)
TARGET_TEST(sm_86)
TARGET_TEST(sm_89)
TARGET_TEST(sm_90a)
TARGET_TEST(sm_100a)
TARGET_TEST(sm_120a)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_is_in_the_file), cmocka_unit_test(compiles_for_sm_80),
        cmocka_unit_test(compiles_for_sm_86),      cmocka_unit_test(compiles_for_sm_89),
        cmocka_unit_test(compiles_for_sm_90a),     cmocka_unit_test(compiles_for_sm_100a),
        cmocka_unit_test(compiles_for_sm_120a),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
