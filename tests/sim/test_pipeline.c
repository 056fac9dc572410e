/* A matrix product as it is written for sm_90a: a warp loads tiles by tensor maps into a ring of
 * stages, a warpgroup multiplies them by wgmma and stores tiles of the result by a tensor map,
 * mbarriers and named barriers between them. The sound kernel gives the exact product and no
 * finding in every schedule, with asynchronous operations early and late; each edit that takes away
 * what orders it is found. */
#include "matrix_test.h"

#include <stdio.h>
#include <string.h>

enum { M = 192, N = 64, K = 256, THREADS = 160 };

/* Stage s: 64 rows of A and then of B, 128 bytes each, at buf + s * 16384; the result at buf +
 * 32768. Barriers: full 0 and 1, then empty 0 and 1. %it counts blocks of 64 along k over all
 * tiles, %s is its stage, %ph the phase. */
static const char before[] = PTX_HEADER
    ".visible .entry k(.param .align 64 .b8 ta[128], .param .align 64 .b8 tb[128],\n"
    ".param .align 64 .b8 tc[128])\n.reqntid 160\n{\n"
    ".reg .pred %p, %first, %one, %acc; .reg .b32 %t, %it, %kb, %row, %s, %ph, %bar, %at, %a, %b;\n"
    ".reg .b32 %buf, %c, %v, %w, %x, %d<32>; .reg .b64 %ta, %tb, %tc, %da, %db, %la;\n"
    ".shared .align 1024 .b8 buf[40960]; .shared .align 8 .b64 bars[4];\n"
    "mov.b64 %ta, ta; cvta.param.u64 %ta, %ta; mov.b64 %tb, tb; cvta.param.u64 %tb, %tb;\n"
    "mov.b64 %tc, tc; cvta.param.u64 %tc, %tc; mov.u32 %buf, buf; mov.u32 %t, %tid.x;\n"
    "setp.ne.u32 %p, %t, 0; @%p bra ready;\n"
    "mbarrier.init.shared::cta.b64 [bars], 1; mbarrier.init.shared::cta.b64 [bars+8], 1;\n"
    "mbarrier.init.shared::cta.b64 [bars+16], 1; mbarrier.init.shared::cta.b64 [bars+24], 1;\n"
    "fence.mbarrier_init.release.cluster;\n"
    "ready: bar.sync 0; mov.u32 %it, 0; mov.u32 %row, 0;\n"
    "setp.lt.u32 %p, %t, 128; @%p bra multiply; setp.ne.u32 %p, %t, 128; @%p bra out;\n"
    "load: mov.u32 %kb, 0;\n"
    "load_k: and.b32 %s, %it, 1; shr.u32 %ph, %it, 1; and.b32 %ph, %ph, 1; xor.b32 %ph, %ph, 1;\n"
    "mov.u32 %bar, bars; mad.lo.u32 %bar, %s, 8, %bar; mad.lo.u32 %at, %s, 16384, %buf;\n"
    "we: mbarrier.try_wait.parity.shared::cta.b64 %p, [%bar+16], %ph; @!%p bra we;\n"
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 16384;\n"
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%at], [%ta, "
    "{%kb, %row}], [%bar];\n"
    "add.u32 %at, %at, 8192;\n"
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%at], [%tb, "
    "{%kb, 0}], [%bar];\n"
    "add.u32 %it, %it, 1; add.u32 %kb, %kb, 64; setp.lt.u32 %p, %kb, 256; @%p bra load_k;\n"
    "add.u32 %row, %row, 64; setp.lt.u32 %p, %row, 192; @%p bra load; bra.uni out;\n"
    "multiply: setp.eq.u32 %one, %t, 0; shr.u32 %v, %t, 5; and.b32 %w, %t, 31; shr.u32 %x, %w, 2;\n"
    "mad.lo.u32 %v, %v, 16, %x; and.b32 %w, %w, 3; mad.lo.u32 %c, %v, 128, %buf;\n"
    "mad.lo.u32 %c, %w, 4, %c; add.u32 %c, %c, 32768;\n"
    "tile: mov.u32 %kb, 0;\n"
    "block: and.b32 %s, %it, 1; shr.u32 %ph, %it, 1; and.b32 %ph, %ph, 1;\n"
    "mov.u32 %bar, bars; mad.lo.u32 %bar, %s, 8, %bar; mad.lo.u32 %at, %s, 16384, %buf;\n"
    "shr.u32 %a, %at, 4; cvt.u64.u32 %la, %a; or.b64 %da, %la, 0x4000004000010000;\n"
    "add.u64 %db, %da, 512; setp.ne.u32 %acc, %kb, 0;\n"
    "wf: mbarrier.try_wait.parity.shared::cta.b64 %p, [%bar], %ph; @!%p bra wf;\n"
    "wgmma.fence.sync.aligned;\n";
static const char after[] =
    "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
    "@%one mbarrier.arrive.release.cta.shared::cta.b64 _, [%bar+16];\n"
    "add.u32 %it, %it, 1; add.u32 %kb, %kb, 64; setp.lt.u32 %p, %kb, 256; @%p bra block;\n"
    "@%one cp.async.bulk.wait_group.read 0;\nbar.sync 1, 128;\n";
static const char last[] =
    "fence.proxy.async.shared::cta;\nbar.sync 2, 128;\n"
    "@!%one bra next; add.u32 %at, %buf, 32768;\n"
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%tc, {0, %row}], [%at];\n"
    "cp.async.bulk.commit_group;\n"
    "next: add.u32 %row, %row, 64; setp.lt.u32 %p, %row, 192; @%p bra tile;\n"
    "@%one cp.async.bulk.wait_group 0;\nout: ret;\n}\n";

static const char *kernel(Arena *arena) {
    StrBuf out = strbuf(arena);
    strbuf_puts(&out, before);
    for (unsigned step = 0; step < 4; step++) {
        strbuf_puts(&out, "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 ");
        for (unsigned i = 0; i < 32; i++)
            strbuf_printf(&out, "%s%%d%u", i ? "," : "{", i);
        strbuf_puts(&out, "}, %da, %db, %acc, 1, 1, 0, 0;\n");
        strbuf_puts(&out, "setp.eq.u32 %acc, 0, 0; add.u64 %da, %da, 2; add.u64 %db, %db, 2;\n");
    }
    strbuf_puts(&out, after);
    for (unsigned j = 0; j < 16; j++)
        strbuf_printf(&out, "cvt.rn.bf16x2.f32 %%v, %%d%u, %%d%u; st.shared.b32 [%%c+%u], %%v;\n",
                      2 * j + 1, 2 * j, j % 2 * 1024 + j / 2 * 16);
    strbuf_puts(&out, last);
    return out.ptr;
}

static uint16_t A[M][K], B[N][K], C[M][N];
static uint8_t C_defined[M][N][2];

static SimTensorMap map_of(Ctx *ctx, uint64_t address, uint64_t columns, uint64_t rows,
                           SimTensorSwizzle swizzle) {
    SimTensorMap map;
    const uint64_t dims[] = {columns, rows}, strides[] = {columns * 2};
    const uint32_t box[] = {64, 64}, ones[] = {1, 1};
    assert_true(sim_tensor_map_encode(ctx, &map, SIM_TENSOR_BF16, 2, address, dims, strides, box,
                                      ones, SIM_INTERLEAVE_NONE, swizzle, SIM_PROMOTION_NONE,
                                      SIM_FILL_ZERO));
    return map;
}

static bool run(SimTest *test, const char *text, SimSchedule schedule, bool early) {
    uint32_t state = 11;
    for (unsigned i = 0; i < M * K; i++)
        A[i / K][i % K] = (uint16_t)number_bits(&bf16_, small_integer(&state, 1));
    for (unsigned i = 0; i < N * K; i++)
        B[i / K][i % K] = (uint16_t)number_bits(&bf16_, small_integer(&state, 1));
    memset(C_defined, 0, sizeof C_defined);
    if (!sim_test_parse(test, text))
        fail_msg("%s", sim_test_messages(test));
    SimMemory *memory = sim_memory_create(test->ctx);
    uint64_t a = sim_map(memory, STR("A"), A, sizeof A, NULL, true);
    uint64_t b = sim_map(memory, STR("B"), B, sizeof B, NULL, true);
    uint64_t c = sim_map(memory, STR("C"), C, sizeof C, &C_defined[0][0][0], false);
    const SimTensorMap maps[] = {map_of(test->ctx, a, K, M, SIM_SWIZZLE_128B),
                                 map_of(test->ctx, b, K, N, SIM_SWIZZLE_128B),
                                 map_of(test->ctx, c, N, M, SIM_SWIZZLE_NONE)};
    const void *params[] = {&maps[0], &maps[1], &maps[2]};
    return sim_launch(test->module, memory,
                      &(SimLaunch){.grid = {1, 1, 1},
                                   .block = {THREADS, 1, 1},
                                   .params = params,
                                   .param_count = 3,
                                   .schedule = schedule,
                                   .seed = 5,
                                   .early = early},
                      &test->counts);
}

static void test_product(void **unused) {
    for (unsigned i = 0; i < 6; i++) {
        SimTest test = sim_test_begin();
        if (!run(&test, kernel(&test.ctx->arena), (SimSchedule)(i % 3), i / 3))
            fail_msg("schedule %u: %s", i % 3, sim_test_messages(&test));
        for (unsigned m = 0; m < M; m++)
            for (unsigned n = 0; n < N; n++) {
                double sum = 0;
                for (unsigned k = 0; k < K; k++)
                    sum += number_value(&bf16_, A[m][k]) * number_value(&bf16_, B[n][k]);
                if (!C_defined[m][n][0] || number_value(&bf16_, C[m][n]) != sum)
                    fail_msg("schedule %u: row %u, column %u is %g, wanted %g", i % 3, m, n,
                             number_value(&bf16_, C[m][n]), sum);
            }
        sim_test_end(&test);
    }
}

/* `from` is replaced once; the finding, in any schedule. */
typedef struct Edit {
    const char *name, *from, *to;
    DiagId id;
} Edit;

static const Edit edits[] = {
    {"no wait for a free stage",
     "mbarrier.try_wait.parity.shared::cta.b64 %p, [%bar+16], %ph; @!%p bra we;", "",
     DIAG_sim_mbarrier_count},
    {"no wait for a full stage",
     "mbarrier.try_wait.parity.shared::cta.b64 %p, [%bar], %ph; @!%p bra wf;", "",
     DIAG_sim_copy_race},
    {"other phase of a free stage", "xor.b32 %ph, %ph, 1;", "", DIAG_sim_deadlock},
    {"fewer bytes expected", "[%bar], 16384;", "[%bar], 8192;", DIAG_sim_copy_race},
    {"more bytes expected", "[%bar], 16384;", "[%bar], 16400;", DIAG_sim_deadlock},
    {"stage never freed", "@%one mbarrier.arrive.release.cta.shared::cta.b64 _, [%bar+16];", "",
     DIAG_sim_deadlock},
    {"stage freed by all", "@%one mbarrier.arrive.release.cta", "mbarrier.arrive.release.cta",
     DIAG_sim_mbarrier_overrun},
    {"barriers not fenced", "fence.mbarrier_init.release.cluster;", "", DIAG_sim_mbarrier_unfenced},
    {"no wgmma.fence", "wgmma.fence.sync.aligned;", "", DIAG_sim_wgmma_first_fence},
    {"no commit", "wgmma.commit_group.sync.aligned;", "", DIAG_sim_matrix_race},
    {"no wait", "wgmma.wait_group.sync.aligned 0;", "", DIAG_sim_matrix_race},
    {"wait lowered", "wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;",
     DIAG_sim_matrix_race},
    {"stage freed before the wait",
     "wgmma.wait_group.sync.aligned 0;\n@%one mbarrier.arrive.release.cta.shared::cta.b64 _, "
     "[%bar+16];",
     "@%one mbarrier.arrive.release.cta.shared::cta.b64 _, [%bar+16];\n"
     "wgmma.wait_group.sync.aligned 0;",
     DIAG_sim_shared_race},
    {"result overwritten while it is stored", "@%one cp.async.bulk.wait_group.read 0;", "",
     DIAG_sim_bulk_source},
    {"no barrier behind that", "bar.sync 1, 128;", "", DIAG_sim_bulk_source},
    {"no proxy fence", "fence.proxy.async.shared::cta;", "", DIAG_sim_proxy_fence},
    {"no barrier before the store", "bar.sync 2, 128;", "", DIAG_sim_shared_race},
    {"exit before the result is stored", "@%one cp.async.bulk.wait_group 0;", "",
     DIAG_sim_bulk_exit},
};

static const char *edited(Arena *arena, const char *text, const Edit *edit) {
    const char *at = strstr(text, edit->from);
    assert_non_null(at);
    return str_format(arena, "%.*s%s%s", (int)(at - text), text, edit->to, at + strlen(edit->from));
}

static void test_edits(void **unused) {
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        bool found = false;
        for (unsigned schedule = 0; schedule < 3; schedule++) {
            SimTest test = sim_test_begin();
            if (run(&test, edited(&test.ctx->arena, kernel(&test.ctx->arena), &edits[i]),
                    (SimSchedule)schedule, false))
                fail_msg("%s: schedule %u finds nothing", edits[i].name, schedule);
            found |= sim_test_has(&test, edits[i].id);
            if (schedule == 2 && !found)
                fail_msg("%s: %s", edits[i].name, sim_test_messages(&test));
            sim_test_end(&test);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_product),
                                       cmocka_unit_test(test_edits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
