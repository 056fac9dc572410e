/* Any bytes as PTX. Beyond not crashing: what is refused has a message inside the text; what is
 * accepted runs, with an array for every parameter, until it ends, is found wrong, or has had its
 * steps. The bytes also damage a small kernel that uses most kinds of statement, which gets further
 * than random bytes do. */
#include "fuzz.h"
#include "sim/sim.h"

#include <string.h>

static const char kernel[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n.file 1 \"k.tile\"\n"
    ".extern .shared .align 16 .b8 dyn[];\n.global .align 4 .u32 table[4] = {1, 2, 3, 4};\n"
    ".func (.param .b32 r) twice(.param .b32 v) { .reg .b32 %r<3>; ld.param.b32 %r1, [v]; shl.b32 "
    "%r2, %r1, 1;\n"
    "st.param.b32 [r], %r2; ret; }\n"
    ".visible .entry k(.param .u64 x, .param .u64 y) .reqntid 64, 1, 1 {\n"
    ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .local .align 8 .b8 "
    "depot[16];\n"
    ".loc 1 1 1\nld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mov.u32 %r1, %tid.x;\n"
    "mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3; mov.u32 %r7, "
    "dyn;\n"
    "setp.lt.u32 %p1, %r1, 40; @%p1 bra L; ld.global.v2.u32 {%r2, %r3}, [%rd1+8]; mov.b32 {%h1, "
    "%h2}, %r2; bra M;\n"
    "L: ld.global.u32 %r2, [%rd4]; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2;\n"
    "call.uni (b), twice, (a); ld.param.b32 %r3, [b]; }\nM: shl.b32 %r8, %r1, 2; add.s32 %r8, %r8, "
    "%r7;\n"
    "st.shared.u32 [%r8], %r2; bar.sync 0; cp.async.ca.shared.global [%r8], [%rd4], 4; "
    "cp.async.commit_group;\n"
    "cp.async.wait_group 0; ld.shared.u32 %r4, [%r8]; shfl.sync.bfly.b32 %r5|%p2, %r4, 1, 31, -1;\n"
    "fma.rn.f32 %r6, %r4, %r5, 0f3F800000; cvt.rn.bf16x2.f32 %r6, %r6, %r5; mov.u64 %rd6, depot;\n"
    "st.local.u32 [%rd6+4], %r6; ld.local.u32 %r9, [%rd6+4]; atom.global.add.u32 %r10, [table+4], "
    "1;\n"
    "mov.u32 %r11, 0; N: add.u32 %r11, %r11, 1; setp.lt.u32 %p3, %r11, %r1; @%p3 bra N;\n"
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r12,%r13,%r14,%r15}, {%r1,%r2,%r3,%r4}, "
    "{%r5,%r6},\n"
    "{%r1,%r2,%r3,%r4}; st.global.u32 [%rd5], %r9; ret; }\n";

static void run(Ctx *ctx, SimModule *module, uint32_t index) {
    static uint32_t data[2][256];
    SimKernel info = sim_kernel(module, index);
    SimMemory *memory = sim_memory_create(ctx);
    uint64_t addresses[2];
    for (int i = 0; i < 2; i++)
        addresses[i] = sim_map(memory, STR("array"), data[i], sizeof data[i], NULL, false);
    uint8_t *large = arena_alloc(&ctx->arena, 65536);
    const void *params[64];
    for (uint32_t i = 0; i < info.param_count && i < 64; i++)
        params[i] =
            sim_param_bytes(module, info.name, i) <= 8 ? (const void *)&addresses[i & 1] : large;
    StrBuf output = strbuf(&ctx->arena);
    SimLaunch launch = {.kernel = info.name,
                        .grid = {2, 1, 1},
                        .block = {64, 1, 1},
                        .dynamic_shared = 1024,
                        .params = params,
                        .param_count = info.param_count,
                        .max_steps = 20000,
                        .output = &output};
    if (info.reqntid[0])
        memset(launch.block, 0, sizeof launch.block);
    SimCounts *counts = NULL;
    unsigned errors = ctx->diags.errors;
    bool ok = info.param_count <= 64 && sim_launch(module, memory, &launch, &counts);
    FUZZ_CHECK(ok || info.param_count > 64 || ctx->diags.errors > errors);
    StrBuf text = strbuf(&ctx->arena);
    if (counts) {
        sim_print_counts(module, counts, &text);
        sim_json_counts(module, counts, &text);
    }
}

static void check(Ctx *ctx, Str text) {
    uint32_t file = source_add(&ctx->sources, STR("fuzz.ptx"), text);
    SimModule *module = sim_parse(ctx, file);
    if (!module) {
        FUZZ_CHECK(ctx->diags.errors > 0);
        for (const Diagnostic *d = ctx->diags.first; d; d = d->next)
            FUZZ_CHECK(d->span.file == file && d->span.lo <= d->span.hi && d->span.hi <= text.len);
    }
    for (uint32_t i = 0; module && i < sim_kernel_count(module) && i < 4; i++)
        run(ctx, module, i);
    StrBuf messages = strbuf(&ctx->arena);
    diag_print_all(&ctx->diags, &messages);
}

static void check_text(Ctx *ctx, const uint8_t *data, size_t size) {
    check(ctx, (Str){(const char *)data, size});
}

/* Each three bytes replace one of the kernel by another. */
static void check_damaged(Ctx *ctx, const uint8_t *data, size_t size) {
    char *changed = str_dup(&ctx->arena, (Str){kernel, sizeof kernel - 1});
    for (size_t i = 0; i + 2 < size && i < 30; i += 3)
        changed[(size_t)(data[i] << 8 | data[i + 1]) % (sizeof kernel - 1)] = (char)data[i + 2];
    check(ctx, (Str){changed, sizeof kernel - 1});
}

/* In a context of its own, with a limit on what the input may take. */
static void check_in_context(void (*check_input)(Ctx *, const uint8_t *, size_t),
                             const uint8_t *data, size_t size) {
    Ctx *ctx = ctx_create();
    FUZZ_CHECK(ctx);
    if (setjmp(ctx->oom) == 0) {
        ctx->arena.limit = ctx->scratch.limit = (size_t)1 << 29;
        check_input(ctx, data, size);
    }
    ctx_destroy(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    check_in_context(check_text, data, size);
    check_in_context(check_damaged, data, size);
    return 0;
}
