/* What the generated PTX is made of: the instructions a user counts on, and what is refused. */
#include "codegen_testing.h"

#include "../support/llvm_leaks.h"

#define LAYOUTS                                                                                    \
    "layout #V = {reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256]}\n"              \
    "layout #W = {reg = [1, 2], lane = [4, 8, 16, 32, 64]}\n"                                      \
    "layout #S = {reg = [], lane = [1, 2, 4, 8, 16], warp = [0, 0]}\n"

/* The body of a kernel over 1024 elements in #V with pointers %a made from %p. */
#define KERNEL(attributes, body)                                                                   \
    LAYOUTS "func @k(%p: ptr<f32> {divisible = 16}, %n: i32) {" attributes                         \
            ", has_layouts = true} {\n"                                                            \
            "%r = range {start = 0} : tile<1024xi32, #V>\n"                                        \
            "%s = splat %p : tile<1024xptr<f32>, #V>\n"                                            \
            "%a = addptr %s, %r : tile<1024xptr<f32>, #V>\n" body "return\n}\n"

static void contains(const char *ptx, const char *what) {
    if (!strstr(ptx, what))
        fail_msg("no '%s' in:\n%s", what, ptx);
}

static void lacks(const char *ptx, const char *what) {
    if (strstr(ptx, what))
        fail_msg("'%s' in:\n%s", what, ptx);
}

static void accesses_are_vectors_with_immediate_offsets(void **state) {
    Ctx *ctx = testing_ctx();
    const char *ptx =
        testing_ptx(ctx, KERNEL("num_warps = 4", "%x = load %a {width = 4} : tile<1024xf32, #V>\n"
                                                 "%y = addf %x, %x : tile<1024xf32, #V>\n"
                                                 "store %a, %y {width = 4}\n"));
    assert_int_equal(testing_count(ptx, "ld.global.v4.b32"), 2);
    assert_int_equal(testing_count(ptx, "st.global.v4.b32"), 2);
    contains(ptx, "+2048]");
    assert_int_equal(testing_count(ptx, "mul.wide"), 1);
    lacks(ptx, "@%p");
    contains(ptx, ".reqntid 128");
    contains(ptx, ".target sm_90a\n");
    ctx_destroy(ctx);
}

static void masked_accesses_are_predicated(void **state) {
    Ctx *ctx = testing_ctx();
    const char *ptx = testing_ptx(
        ctx, KERNEL("num_warps = 4",
                    "%ns = splat %n : tile<1024xi32, #V>\n"
                    "%m = cmpi %r, %ns {pred = slt} : tile<1024xi1, #V>\n"
                    "%x = load %a, %m {width = 4, cache = cg} : tile<1024xf32, #V>\n"
                    "%y = load %a, %m {width = 4, evict = evict_first} : tile<1024xf32, #V>\n"
                    "%z = addf %x, %y : tile<1024xf32, #V>\n"
                    "store %a, %z, %m {width = 4, cache = cs}\n"));
    assert_int_equal(testing_count(ptx, " ld.global.cg.v4.b32"), 2);
    assert_int_equal(testing_count(ptx, " ld.global.L1::evict_first.L2::cache_hint.v4.b32"), 2);
    assert_int_equal(testing_count(ptx, "createpolicy"), 1);
    assert_int_equal(testing_count(ptx, " st.global.cs.v4.b32"), 2);
    assert_int_equal(testing_count(ptx, "@%p"), 6);
    lacks(ptx, "bra");
    ctx_destroy(ctx);
}

static void narrow_elements_travel_packed(void **state) {
    Ctx *ctx = testing_ctx();
    const char *ptx = testing_ptx(
        ctx,
        "layout #H = {reg = [1, 2, 4], lane = [8, 16, 32, 64, 128]}\n"
        "func @k(%p: ptr<bf16> {divisible = 16}, %n: i32) {num_warps = 1, has_layouts = true} {\n"
        "%r = range {start = 0} : tile<256xi32, #H>\n"
        "%s = splat %p : tile<256xptr<bf16>, #H>\n"
        "%a = addptr %s, %r : tile<256xptr<bf16>, #H>\n"
        "%ns = splat %n : tile<256xi32, #H>\n"
        "%m = cmpi %r, %ns {pred = slt} : tile<256xi1, #H>\n"
        "%x = load %a, %m {width = 8} : tile<256xbf16, #H>\n"
        "%f = extf %x : tile<256xf32, #H>\n"
        "%g = sqrt %f : tile<256xf32, #H>\n"
        "%h = truncf %g : tile<256xbf16, #H>\n"
        "store %a, %h, %m {width = 8}\nreturn\n}\n");
    assert_int_equal(testing_count(ptx, "ld.global.v4.b32"), 1);
    assert_int_equal(testing_count(ptx, "st.global.v4.b32"), 1);
    assert_int_equal(testing_count(ptx, "cvt.rn.bf16x2.f32"), 4);
    ctx_destroy(ctx);
}

#define SUM(result, operand)                                                                       \
    result " = reduce " operand " {axis = 0} : f32 (%a1: f32, %b1: f32) {\n"                       \
           "%c1 = addf %a1, %b1 : f32\nyield %c1\n}\n"

static void reductions_use_a_tree_and_five_shuffles(void **state) {
    Ctx *ctx = testing_ctx();
    const char *ptx =
        testing_ptx(ctx, LAYOUTS "func @k(%p: ptr<f32>) {num_warps = 1, has_layouts = true} {\n"
                                 "%r = range {start = 0} : tile<128xi32, #W>\n"
                                 "%s = splat %p : tile<128xptr<f32>, #W>\n"
                                 "%a = addptr %s, %r : tile<128xptr<f32>, #W>\n"
                                 "%x = load %a {width = 4} : tile<128xf32, #W>\n" SUM(
                                     "%t", "%x") "store %p, %t\nreturn\n}\n");
    assert_int_equal(testing_count(ptx, "shfl.sync.bfly"), 5);
    assert_int_equal(testing_count(ptx, "add.f32"), 3 + 5);
    lacks(ptx, "bar.");
    /* A scalar is stored by one thread. */
    assert_int_equal(testing_count(ptx, "st.global"), 1);
    contains(ptx, "\t@%p1 st.global");
    ctx_destroy(ctx);
}

static void integer_reductions_of_a_warp_use_redux(void **state) {
    Ctx *ctx = testing_ctx();
    const char *ptx =
        testing_ptx(ctx, LAYOUTS "func @k(%p: ptr<i32>) {num_warps = 1, has_layouts = true} {\n"
                                 "%r = range {start = 0} : tile<128xi32, #W>\n"
                                 "%t = reduce %r {axis = 0} : i32 (%a1: i32, %b1: i32) {\n"
                                 "%c1 = maxsi %b1, %a1 : i32\nyield %c1\n}\n"
                                 "store %p, %t\nreturn\n}\n");
    assert_int_equal(testing_count(ptx, "redux.sync.max.s32"), 1);
    lacks(ptx, "shfl");
    ctx_destroy(ctx);
}

static void copies_store_once(void **state) {
    Ctx *ctx = testing_ctx();
    const char *ptx =
        testing_ptx(ctx, LAYOUTS "func @k(%p: ptr<i32>) {num_warps = 4, has_layouts = true} {\n"
                                 "%r = range {start = 0} : tile<32xi32, #S>\n"
                                 "%s = splat %p : tile<32xptr<i32>, #S>\n"
                                 "%a = addptr %s, %r : tile<32xptr<i32>, #S>\n"
                                 "store %a, %r\nreturn\n}\n");
    assert_int_equal(testing_count(ptx, "st.global"), 1);
    contains(ptx, "\t@%p1 st.global.b32");
    ctx_destroy(ctx);
}

static void programs_of_a_cta_have_barriers_of_their_own(void **state) {
    Ctx *ctx = testing_ctx();
    Func *func =
        testing_module(ctx, STR(KERNEL("num_warps = 4, programs_per_cta = 2",
                                       "barrier\n%y = program_id {axis = 0} : i32\n"
                                       "%g = num_programs {axis = 0} : i32\n"
                                       "%q = bitcast %p : ptr<i32>\nstore %q, %y\nstore %q, %g\n")))
            ->funcs;
    CodegenResult result = testing_codegen(func, 90, (CodegenOptions){0});
    assert_true(result.meta.has_grid_parameter);
    assert_int_equal(result.meta.threads, 256);
    contains(result.ptx.ptr, "k_param_2");
    lacks(result.ptx.ptr, "nctaid");
    lacks(result.ptx.ptr, "bar.sync 0");
    contains(result.ptx.ptr, " bar.sync 1, 128;");
    contains(result.ptx.ptr, " bar.sync 2, 128;");
    assert_int_equal(testing_count(result.ptx.ptr, "bar.sync"), 2);
    ctx_destroy(ctx);
}

static void lines_are_in_the_ptx(void **state) {
    Ctx *ctx = testing_ctx();
    Func *func = testing_module(ctx, STR(KERNEL("num_warps = 4",
                                                "%x = load %a {width = 4} : tile<1024xf32, #V>\n"
                                                "%y = addf %x, %x : tile<1024xf32, #V>\n"
                                                "store %a, %y {width = 4}\n")))
                     ->funcs;
    const char *with = testing_codegen(func, 90, (CodegenOptions){.line_info = true}).ptx.ptr;
    contains(with, "test.tir");
    contains(with, "\t.loc\t1 8 ");  /* the load */
    contains(with, "\t.loc\t1 10 "); /* the store */
    lacks(with, ", debug");
    testing_assemble(ctx, str_from(with), "sm_90a");
    lacks(testing_codegen(func, 90, (CodegenOptions){0}).ptx.ptr, ".loc");
    ctx_destroy(ctx);
}

static void options_are_honoured(void **state) {
    Ctx *ctx = testing_ctx();
    Func *func = testing_module(ctx, STR(KERNEL("num_warps = 4", "")))->funcs;
    CodegenResult result = testing_codegen(func, 90, (CodegenOptions){.keep_llvm = true});
    assert_non_null(strstr(result.llvm_before.ptr, "define ptx_kernel void @k"));
    assert_non_null(strstr(result.llvm_after.ptr, "define ptx_kernel void @k"));
    result = testing_codegen(func, 90, (CodegenOptions){.llvm_level = 3});
    assert_int_equal(result.llvm_before.len, 0);
    contains(result.ptx.ptr, ".entry k");
    ctx_destroy(ctx);
}

static void limit_is_taken_back(void **state) {
    Ctx *ctx = testing_ctx();
    Func *func = testing_module(ctx, STR(KERNEL("num_warps = 4, max_registers = 64", "")))->funcs;
    CodegenResult limited = testing_codegen(func, 90, (CodegenOptions){0});
    contains(limited.ptx.ptr, ".maxnreg 64");
    lacks(limited.ptx.ptr, ".minnctapersm");
    func->all_registers = true;
    CodegenResult freed = testing_codegen(func, 90, (CodegenOptions){0});
    contains(freed.ptx.ptr, ".minnctapersm 1");
    lacks(freed.ptx.ptr, ".maxnreg");
    ctx_destroy(ctx);
}

static void names_are_made_valid(void **state) {
    Ctx *ctx = testing_ctx();
    Func *func =
        testing_module(
            ctx, STR("func @\"0 \xc3\xa9\"() {num_warps = 1, has_layouts = true} {\nreturn\n}\n"))
            ->funcs;
    CodegenResult result = testing_codegen(func, 80, (CodegenOptions){0});
    assert_true(str_is(result.meta.name, "$30$20$c3$a9"));
    contains(result.ptx.ptr, ".entry $30$20$c3$a9(");
    testing_assemble(ctx, result.ptx, "sm_80");
    ctx_destroy(ctx);
}

static void refuses(const char *text, int capability, DiagId id) {
    Ctx *ctx = testing_ctx();
    Func *func = testing_module(ctx, str_from(text))->funcs;
    CodegenResult result;
    CodegenOptions options = {0};
    func->capability = capability;
    assert_false(codegen_ptx(func, &options, &result));
    assert_non_null(ctx->diags.first);
    if (ctx->diags.first->id != id || ctx->diags.first->next)
        fail_msg("wanted one %s: %s", diag_name(id), testing_messages(ctx));
    ctx_destroy(ctx);
}

static void what_cannot_be_generated_is_reported(void **state) {
    refuses("func @k() {num_warps = 4, has_layouts = true} {\nreturn\n}\n", 70,
            DIAG_codegen_launch);
    refuses("func @k() {num_warps = 4, num_ctas = 2, has_layouts = true} {\nreturn\n}\n", 90,
            DIAG_codegen_launch);
    refuses("func @k() {num_warps = 32, programs_per_cta = 2, has_layouts = true} {\nreturn\n}\n",
            90, DIAG_codegen_launch);
    refuses("func @k() {num_warps = 4, shared_bytes = 300000, has_layouts = true} {\nreturn\n}\n",
            90, DIAG_codegen_launch);
    refuses("func @k() {num_warps = 4} {\n%r = range {start = 0} : tile<64xi32>\nreturn\n}\n", 90,
            DIAG_codegen_no_layout);
    /* A reduction and a conversion across warps: split-reduces and stage-shared were left out. */
    refuses(LAYOUTS "func @k() {num_warps = 4, has_layouts = true} {\n"
                    "%r = range {start = 0} : tile<1024xi32, #V>\n"
                    "%t = reduce %r {axis = 0} : i32 (%a1: i32, %b1: i32) {\nyield %b1\n}\n"
                    "return\n}\n",
            90, DIAG_codegen_layout);
    refuses(LAYOUTS "func @k() {num_warps = 4, has_layouts = true} {\n"
                    "%r = range {start = 0} : tile<1024xi32, #V>\n"
                    "%t = convert_layout %r : tile<1024xi32, {reg = [128, 2, 512], lane = [4, 8, "
                    "16, 32, 64], warp = [1, 256]}>\n"
                    "return\n}\n",
            90, DIAG_codegen_layout);
    refuses(LAYOUTS
            "func @k() {num_warps = 4, has_layouts = true} {\n"
            "%r = range {start = 0} : tile<1024xi32, #V>\n"
            "%t = scan %r {axis = 0, reverse = false} : tile<1024xi32, #V> (%a1: i32, %b1: i32) "
            "{\nyield %b1\n}\n"
            "return\n}\n",
            90, DIAG_codegen_scan_layout);
    /* Operands that are to be one and do not lie in a row. */
    refuses(
        "layout #S = {reg = [1, 256, 8, 16], lane = [2, 4, 32, 64, 128], warp = [512, 1024]}\n"
        "func @k() {num_warps = 4, shared_bytes = 8192, has_layouts = true} {\n"
        "%a = local_alloc {offset = 0} : buffer<64x16xf16, {reg = [1, 2, 4, 8, 16, 32, 72, 128, "
        "256, 512]}>\n"
        "%b = local_alloc {offset = 2048} : buffer<16x32xf16, {reg = [1, 2, 4, 8, 16, 32, 72, "
        "144, 256]}>\n"
        "%c = local_alloc {offset = 4096} : buffer<16x32xf16, {reg = [1, 2, 4, 8, 16, 32, 72, "
        "144, 256]}>\n"
        "%x = constant_float {value = 0.0} : tile<64x32xf32, #S>\n"
        "%s, %t = wgmma_joint %a, %b, %c, %x, %x {adjacent = true} : tile<64x32xf32, #S>, "
        "tile<64x32xf32, #S>\n"
        "return\n}\n",
        90, DIAG_codegen_layout);
}

static void generate_until_memory_runs_out(Ctx *ctx) {
    Func *func = testing_module(ctx, STR(KERNEL("num_warps = 4", "")))->funcs;
    func->capability = 90;
    ctx->arena.limit = ctx->arena.reserved + 1;
    for (int i = 0; i < 1000; i++) {
        CodegenOptions options = {.keep_llvm = true};
        CodegenResult result;
        codegen_ptx(func, &options, &result);
    }
    fail_msg("the limit was never met");
}

static void running_out_of_memory_returns_to_the_context(void **state) {
    Ctx *ctx = ctx_create();
    assert_non_null(ctx);
    if (!setjmp(ctx->oom))
        generate_until_memory_runs_out(ctx);
    ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_are_vectors_with_immediate_offsets),
        cmocka_unit_test(masked_accesses_are_predicated),
        cmocka_unit_test(narrow_elements_travel_packed),
        cmocka_unit_test(reductions_use_a_tree_and_five_shuffles),
        cmocka_unit_test(integer_reductions_of_a_warp_use_redux),
        cmocka_unit_test(copies_store_once),
        cmocka_unit_test(programs_of_a_cta_have_barriers_of_their_own),
        cmocka_unit_test(lines_are_in_the_ptx),
        cmocka_unit_test(options_are_honoured),
        cmocka_unit_test(limit_is_taken_back),
        cmocka_unit_test(names_are_made_valid),
        cmocka_unit_test(what_cannot_be_generated_is_reported),
        cmocka_unit_test(running_out_of_memory_returns_to_the_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
