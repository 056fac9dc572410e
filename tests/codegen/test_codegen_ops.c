/* Every op lowers, and ptxas takes the result, for every target; wgmma is of sm_90a alone, tensor
 * copies from there on. */
#include "codegen_testing.h"

#include <llvm-c/Core.h>

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
    /* stage-shared leaves none of these. */
    seen[OP_gather] = seen[OP_histogram] = true;
    for (int code = 0; code < OP_COUNT; code++)
        if (!seen[code])
            fail_msg("no '%s' in all_ops.tir", op_info[code].name);
    ctx_destroy(ctx);
}

static void compiles_for_target(void **state) {
    const Target *target = *state;
    unsigned llvm;
    LLVMGetVersion(&llvm, NULL, NULL);
    if ((int)llvm < target->first_llvm)
        skip();
    Ctx *ctx = testing_ctx();
    Module *module =
        testing_module(ctx, file_text(ctx, TILEC_SOURCE_DIR "/tests/codegen/Inputs/all_ops.tir"));
    for (Func *func = module->funcs; func; func = func->next) {
        if ((str_is(func->name, "warpgroup") || str_is(func->name, "teams")) &&
            !target_has(target->capability, FEATURE_WGMMA))
            continue;
        if ((str_is(func->name, "tensor_copies") || str_is(func->name, "producer")) &&
            !target_has(target->capability, FEATURE_TENSOR_COPIES))
            continue;
        CodegenResult result =
            testing_codegen(func, target->capability, (CodegenOptions){.line_info = true});
        const char *log = testing_assemble(ctx, result.ptx, target->name);
        /* Without addresses taken on the stack nothing but spills would use it; vprintf does. */
        if (log && !str_is(func->name, "debug") && !strstr(log, "0 bytes spill stores"))
            fail_msg("%.*s on %s spills: %s", STR_ARG(func->name), target->name, log);
    }
    ctx_destroy(ctx);
}

int main(void) {
    enum { TARGETS = 32 };
    struct CMUnitTest tests[1 + TARGETS] = {cmocka_unit_test(every_op_is_in_the_file)};
    assert_true(target_count <= TARGETS);
    for (int i = 0; i < target_count; i++)
        tests[1 + i] = (struct CMUnitTest){.name = target_table[i].name,
                                           .test_func = compiles_for_target,
                                           .initial_state = (void *)&target_table[i]};
    return _cmocka_run_group_tests("codegen_ops", tests, (size_t)(1 + target_count), NULL, NULL);
}
