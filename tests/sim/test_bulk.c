/* Bulk copies and the asynchronous proxy: what they move, and every check with its planted fault.
 */
#include "sim_test.h"

#include <string.h>

/* A kernel of two arrays x and y of 64 words: %rd1 and %rd2 their addresses, %r1 the thread, %r2
 * its byte offset, %rd4 its element of y; shared memory `buf`, %r3 the thread's place there; an
 * mbarrier `bar`. %p1: thread 0. */
#define KERNEL(body)                                                                               \
    PTX_HEADER ".visible .entry k(.param .u64 x, .param .u64 y) {\n"                               \
               ".reg .pred %p<10>; .reg .b16 %h<4>; .reg .b32 %r<40>; .reg .b64 %rd<30>;\n"        \
               ".shared .align 128 .b8 buf[256]; .shared .align 128 .b8 other[256];\n"             \
               ".shared .align 8 .b64 bar;\n"                                                      \
               "ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];\n"                                 \
               "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; cvt.u64.u32 %rd5, %r2;\n"                \
               "add.s64 %rd3, %rd1, %rd5; add.s64 %rd4, %rd2, %rd5;\n"                             \
               "mov.u32 %r3, buf; add.u32 %r3, %r3, %r2; mov.u32 %r4, other; add.u32 %r4, %r4, "   \
               "%r2;\n"                                                                            \
               "setp.eq.u32 %p1, %r1, 0;\n" body "ret;\n}\n"
#define INIT_WITH(fence)                                                                           \
    "@!%p1 bra I; mbarrier.init.shared::cta.b64 [bar], 1;\n" fence "I: bar.sync 0;\n"
#define INIT INIT_WITH("fence.mbarrier_init.release.cluster;\n")
#define LOAD_OF(address, bytes)                                                                    \
    "{ @!%p1 bra L; mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], " bytes ";\n"              \
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [buf], [" address           \
    "], " bytes ", [bar];\nL: }\n"
#define LOAD LOAD_OF("%rd1", "256")
#define WAIT(parity)                                                                               \
    "W" parity ": mbarrier.try_wait.parity.shared::cta.b64 %p4, [bar], " parity                    \
    "; @!%p4 bra W" parity ";\n"
#define OUT "ld.shared.u32 %r6, [%r3]; st.global.u32 [%rd4], %r6;\n"
#define PUT "st.shared.u32 [%r3], %r1;\n"
#define STORE                                                                                      \
    "@!%p1 bra S; cp.async.bulk.global.shared::cta.bulk_group [%rd2], [buf], 256;\n"               \
    "cp.async.bulk.commit_group;\n"
#define STORE_WAIT(wait) STORE wait "S:\n"
#define FENCE "fence.proxy.async.shared::cta;\n"
#define READ0 "cp.async.bulk.wait_group.read 0;\n"
#define WAIT0 "cp.async.bulk.wait_group 0;\n"

/* Of two programs the first stores and tells by a word of `flag`, the second one's first thread
 * waits for that. */
#define HAND_OVER(stored, flag, learned, then)                                                     \
    KERNEL("mov.u32 %r10, %ctaid.x; setp.ne.u32 %p2, %r10, 0; @%p2 bra TAKER;\n"                   \
           "st.global.u32 [" stored "], 7; bar.sync 0;\n"                                          \
           "@%p1 red.release.gpu.global.add.u32 [" flag "], 1; bra END;\nTAKER:\n" learned then    \
           "END:\n")
#define SPIN(flag)                                                                                 \
    "@!%p1 bra HERE; MORE: ld.acquire.gpu.global.u32 %r11, [" flag "];\n"                          \
    "setp.eq.u32 %p3, %r11, 0; @%p3 bra MORE;\n"
#define FENCE_GLOBAL "fence.proxy.async.global;\n"
#define TAKE(learned)                                                                              \
    HAND_OVER("%rd3", "%rd2", INIT learned, LOAD WAIT("0") "ld.shared.u32 %r6, [%r3];\n")
#define OVERWRITE(learned) HAND_OVER("%rd4", "%rd1", PUT FENCE learned, STORE_WAIT(WAIT0))
#define ACQUIRED "the acquire of a store of another program"

static const SimFault faults[] = {
    {"wait for a load removed", KERNEL(INIT LOAD WAIT("0") OUT),
     KERNEL(INIT LOAD "bar.sync 0;\n" OUT), DIAG_sim_copy_race, "no wait has covered yet", 64, 1,
     0},
    {"too few bytes expected", KERNEL(INIT LOAD WAIT("0") OUT),
     KERNEL(INIT "@!%p1 bra L; mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;\n"
                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [buf], [%rd1], "
                 "256, [bar];\nL:\n" WAIT("0") OUT),
     DIAG_sim_deadlock, "0 of 1 arrivals and -128 bytes are missing", 64, 1, 0},
    {"fence of the mbarrier removed", KERNEL(INIT LOAD WAIT("0") OUT),
     KERNEL(INIT_WITH("") LOAD WAIT("0") OUT), DIAG_sim_mbarrier_unfenced, "fence.mbarrier_init",
     64, 1, 0},
    {"load of memory that threads wrote", KERNEL(INIT PUT FENCE "bar.sync 0;\n" LOAD WAIT("0") OUT),
     KERNEL(INIT PUT "bar.sync 0;\n" LOAD WAIT("0") OUT), DIAG_sim_proxy_fence,
     "no fence.proxy.async lies between a store", 64, 1, 0},
    {"load of memory that threads still read",
     KERNEL(INIT LOAD WAIT("0") OUT "bar.sync 0;\n" LOAD WAIT("1") OUT),
     KERNEL(INIT LOAD WAIT("0") OUT LOAD WAIT("1") OUT), DIAG_sim_shared_race, "races with a load",
     64, 1, 0},
    {"load that nobody waits for", KERNEL(INIT LOAD WAIT("0")), KERNEL(INIT LOAD),
     DIAG_sim_bulk_exit, "exits while the copy writes shared memory", 64, 1, 0},
    {"fence before a store removed", KERNEL(PUT FENCE "bar.sync 0;\n" STORE_WAIT(WAIT0)),
     KERNEL(PUT "bar.sync 0;\n" STORE_WAIT(WAIT0)), DIAG_sim_proxy_fence, "reads the byte at", 64,
     1, 0},
    {"fence of one thread only", KERNEL(PUT FENCE "bar.sync 0;\n" STORE_WAIT(WAIT0)),
     KERNEL(PUT "@%p1 " FENCE "bar.sync 0;\n" STORE_WAIT(WAIT0)), DIAG_sim_proxy_fence,
     "reads the byte at", 64, 1, 0},
    {"fence behind the barrier", KERNEL(PUT FENCE "bar.sync 0;\n" STORE_WAIT(WAIT0)),
     KERNEL(PUT "bar.sync 0;\n" FENCE STORE_WAIT(WAIT0)), DIAG_sim_proxy_fence, "reads the byte at",
     64, 1, 0},
    {"fence behind the barrier before a load",
     KERNEL(INIT PUT FENCE "bar.sync 0;\n" LOAD WAIT("0") OUT),
     KERNEL(INIT PUT "bar.sync 0;\n" FENCE LOAD WAIT("0") OUT), DIAG_sim_proxy_fence,
     "writes the byte at", 64, 1, 0},
    {"barrier before a store removed", KERNEL(PUT FENCE "bar.sync 0;\n" STORE_WAIT(WAIT0)),
     KERNEL(PUT FENCE STORE_WAIT(WAIT0)), DIAG_sim_shared_race, "races with a store", 64, 1, 0},
    {"wait for the read of a store removed",
     KERNEL(PUT FENCE "bar.sync 0;\n" STORE_WAIT(READ0) "bar.sync 0; st.shared.u32 [%r3], 7;\n"),
     KERNEL(PUT FENCE "bar.sync 0;\n" STORE_WAIT("") "bar.sync 0; st.shared.u32 [%r3], 7;\n"),
     DIAG_sim_bulk_source, "which a bulk copy reads", 64, 1, 0},
    {"wait lowered",
     KERNEL(PUT FENCE "bar.sync 0;\n" STORE_WAIT(READ0) "bar.sync 0; st.shared.u32 [%r3], 7;\n"),
     KERNEL(PUT FENCE "bar.sync 0;\n" STORE_WAIT(
         "cp.async.bulk.wait_group.read 1;\n") "bar.sync 0; st.shared.u32 [%r3], 7;\n"),
     DIAG_sim_bulk_source, "which a bulk copy reads", 64, 1, 0},
    {"commit removed", KERNEL(PUT FENCE "bar.sync 0;\n" STORE_WAIT(WAIT0)),
     KERNEL(PUT FENCE "bar.sync 0;\n@!%p1 bra S; cp.async.bulk.global.shared::cta.bulk_group "
                      "[%rd2], [buf], 256; cp.async.bulk.wait_group 0; S:\n"),
     DIAG_sim_bulk_exit, "exits while the copy reads shared memory", 64, 1, 0},
    {"read of what a store has not written",
     KERNEL(PUT FENCE "bar.sync 0;\n" STORE WAIT0 "ld.global.u32 %r6, [%rd2]; S:\n"),
     KERNEL(PUT FENCE "bar.sync 0;\n" STORE READ0 "ld.global.u32 %r6, [%rd2]; S:\n"),
     DIAG_sim_bulk_global, "to which a bulk copy writes", 64, 1, 0},
    {"load of global memory that threads wrote",
     KERNEL(INIT "st.global.u32 [%rd3], 5; fence.proxy.async; bar.sync 0;\n" LOAD WAIT("0") OUT),
     KERNEL(INIT "st.global.u32 [%rd3], 5; bar.sync 0;\n" LOAD WAIT("0") OUT),
     DIAG_sim_proxy_global, "no fence.proxy.async lies between a store of the program", 64, 1, 0},
    {"fence behind an acquire removed", TAKE(SPIN("%rd2") "HERE: bar.sync 0;\n" FENCE_GLOBAL),
     TAKE(SPIN("%rd2") "HERE: bar.sync 0;\n"), DIAG_sim_proxy_global, ACQUIRED, 64, 2, 0},
    {"fence before the acquire",
     TAKE(SPIN("%rd2") FENCE_GLOBAL "HERE: bar.sync 0;\n"), /* by who acquires */
     TAKE(FENCE_GLOBAL SPIN("%rd2") "HERE: bar.sync 0;\n"), DIAG_sim_proxy_global, ACQUIRED, 64, 2,
     0},
    {"fence of shared memory", TAKE(SPIN("%rd2") "HERE: bar.sync 0;\nfence.proxy.async;\n"),
     TAKE(SPIN("%rd2") "HERE: bar.sync 0;\n" FENCE), DIAG_sim_proxy_global, ACQUIRED, 64, 2, 0},
    {"acquire removed", TAKE(SPIN("%rd2") "HERE: bar.sync 0;\n" FENCE_GLOBAL),
     TAKE("@!%p1 bra HERE; MORE: ld.relaxed.gpu.global.u32 %r11, [%rd2]; setp.eq.u32 %p3, %r11, "
          "0; @%p3 bra MORE;\nHERE: bar.sync 0;\n" FENCE_GLOBAL),
     DIAG_sim_global_race, "races with a store of another program", 64, 2, 0},
    {"fence before overwriting removed", OVERWRITE(SPIN("%rd1") "HERE: bar.sync 0;\n" FENCE_GLOBAL),
     OVERWRITE(SPIN("%rd1") "HERE: bar.sync 0;\n"), DIAG_sim_proxy_global, ACQUIRED, 64, 2, 0},
    {"size", KERNEL(INIT LOAD_OF("%rd1", "240") WAIT("0")),
     KERNEL(INIT LOAD_OF("%rd1", "248") WAIT("0")), DIAG_sim_bulk_size, "of 248 bytes", 64, 1, 0},
    {"alignment", KERNEL(INIT LOAD_OF("%rd1+16", "240") WAIT("0")),
     KERNEL(INIT LOAD_OF("%rd1+8", "240") WAIT("0")), DIAG_sim_bulk_align, "not a multiple of 16",
     64, 1, 0},
    {"past the end", KERNEL(INIT LOAD_OF("%rd1+16", "240") WAIT("0")),
     KERNEL(INIT LOAD_OF("%rd1+16", "256") WAIT("0")), DIAG_sim_out_of_bounds,
     "behind the end of 'x'", 64, 1, 0},
    {"undefined bytes", KERNEL(PUT FENCE "bar.sync 0;\n" STORE_WAIT(WAIT0)),
     KERNEL(FENCE "bar.sync 0;\n" STORE_WAIT(WAIT0)), DIAG_sim_undefined, "the stored value", 64, 1,
     0},
};

static void test_faults(void **state) {
    sim_test_faults(faults, sizeof faults / sizeof *faults);
}

typedef struct Result {
    uint32_t y[128];
} Result;

static Result run(const char *text, uint32_t programs, uint32_t cluster, bool early) {
    SimTest test = sim_test_begin();
    uint32_t x[64];
    Result result;
    for (uint32_t i = 0; i < 64; i++)
        x[i] = 1000 + i;
    for (uint32_t i = 0; i < 128; i++)
        result.y[i] = i;
    if (!sim_test_parse(&test, text))
        fail_msg("%s", sim_test_messages(&test));
    SimLaunch launch = {.grid = {programs},
                        .block = {64},
                        .cluster = {cluster, 1, 1},
                        .early = early,
                        .schedule = SIM_RANDOM,
                        .max_steps = 100000};
    if (!sim_test_run(&test, launch,
                      (SimArrayArg[]){{"x", x, 256, NULL}, {"y", result.y, 512, NULL}}, 2))
        fail_msg("%s", sim_test_messages(&test));
    sim_test_end(&test);
    return result;
}

static void test_load_and_store(void **state) {
    for (int early = 0; early <= 1; early++) {
        Result result = run(KERNEL(INIT LOAD WAIT("0") OUT), 1, 0, early);
        for (uint32_t i = 0; i < 64; i++)
            assert_int_equal(result.y[i], 1000 + i);
        result = run(KERNEL("add.u32 %r7, %r1, 5; st.shared.u32 [%r3], %r7;\n" FENCE
                            "bar.sync 0;\n" STORE_WAIT(READ0)),
                     1, 0, early);
        for (uint32_t i = 0; i < 64; i++)
            assert_int_equal(result.y[i], 5 + i);
    }
}

#define REDUCE(operation)                                                                          \
    KERNEL("add.u32 %r7, %r1, 5; st.shared.u32 [%r3], %r7;\n" FENCE "bar.sync 0;\n@!%p1 bra S; "   \
           "cp.reduce.async.bulk.global.shared::cta.bulk_group." operation                         \
           " [%rd2], [buf], 256; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; S:\n")

static void test_reductions(void **state) {
    Result sum = run(REDUCE("add.u32"), 2, 0, false), most = run(REDUCE("max.s32"), 2, 0, true),
           both = run(REDUCE("xor.b64"), 1, 0, false);
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(sum.y[i], i + 2 * (5 + i));
        assert_int_equal(most.y[i], 5 + i);
        assert_int_equal(both.y[i], i ^ (5 + i));
    }
}

#define CLUSTER_SYNC                                                                               \
    "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"
#define CLUSTER_INIT                                                                               \
    "@%p1 mbarrier.init.shared::cta.b64 [bar], 1; @%p1 fence.mbarrier_init.release.cluster;\n"     \
    "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;\n" CLUSTER_SYNC                 \
    "mov.u32 %r8, %cluster_ctarank; xor.b32 %r9, %r8, 1; mov.u32 %r10, %ctaid.x;\n"                \
    "mul.wide.u32 %rd6, %r10, 256; add.s64 %rd4, %rd4, %rd6;\n"

/* One program loads for both; one program sends to the other. */
static void test_cluster(void **state) {
    Result result = run(
        KERNEL(CLUSTER_INIT
               "setp.eq.u32 %p5, %r8, 0; and.pred %p5, %p5, %p1; mov.u16 %h1, 3;\n"
               "@%p5 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
               "multicast::cluster [buf], [%rd1], 256, [bar], %h1;\n" WAIT("0") OUT CLUSTER_SYNC),
        2, 2, false);
    for (uint32_t i = 0; i < 128; i++)
        assert_int_equal(result.y[i], 1000 + i % 64);
    result = run(
        KERNEL(
            CLUSTER_INIT
            "mad.lo.u32 %r11, %r8, 100, %r1; st.shared.u32 [%r4], %r11;\n" FENCE "bar.sync 0;\n"
            "mov.u32 %r12, buf; mapa.shared::cluster.u32 %r12, %r12, %r9;\n"
            "mov.u32 %r13, bar; mapa.shared::cluster.u32 %r13, %r13, %r9; mov.u32 %r14, other;\n"
            "@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r12], "
            "[%r14], 256, [%r13];\n" WAIT("0") OUT CLUSTER_SYNC),
        2, 2, false);
    for (uint32_t i = 0; i < 128; i++)
        assert_int_equal(result.y[i], (i < 64 ? 100 : 0) + i % 64);
}

/* What a copy that is refused half-way would have touched is not found again where it is waited for
 * and used. */
static void test_one_finding(void **state) {
    static const char *const texts[] = {
        KERNEL(INIT LOAD_OF("%rd1+128", "256") WAIT("0") OUT PUT),
        KERNEL(PUT FENCE "bar.sync 0;\n@!%p1 bra S; cp.async.bulk.global.shared::cta.bulk_group "
                         "[%rd2+128], [buf], 256; cp.async.bulk.commit_group;\n" WAIT0
                         "S: bar.sync 0;\n" PUT),
    };
    for (size_t i = 0; i < 2 * sizeof texts / sizeof *texts; i++) {
        uint32_t x[64] = {0}, y[64] = {0};
        SimTest test = sim_test_begin();
        const SimLaunch launch = {.grid = {1}, .block = {64}, .early = i % 2, .max_steps = 100000};
        assert_non_null(sim_test_parse(&test, texts[i / 2]));
        assert_false(sim_test_run(&test, launch,
                                  (SimArrayArg[]){{"x", x, 256, NULL}, {"y", y, 256, NULL}}, 2));
        if (test.ctx->diags.errors != 1 || !sim_test_has(&test, DIAG_sim_out_of_bounds))
            fail_msg("%s", sim_test_messages(&test));
        sim_test_end(&test);
    }
}

static void test_unknown_forms(void **state) {
    static const SimRefusal refusals[] = {
        {"cp.async.bulk.global.shared::cluster.mbarrier::complete_tx::bytes [%rd1], [%r1], 16, "
         "[%r2];",
         "does not fit"},
        {"cp.async.bulk.shared::cluster.global.bulk_group [%r1], [%rd1], 16;", "does not fit"},
        {"cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
         "[%r1], [%rd1, {%r1, %r2}], [%r2];",
         "`.im2col` does not fit"},
        {"cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], "
         "[%rd1, {%r1, %r2}], [%r2];",
         "2 coordinates"},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%rd1], [%r1], 16;", "noftz"},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.s32 [%rd1], [%r1], 16;",
         "inc and dec take .u32"},
    };
    sim_test_refusals(".reg .b32 %r<9>; .reg .b64 %rd<20>;", refusals,
                      sizeof refusals / sizeof *refusals);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),      cmocka_unit_test(test_load_and_store),
        cmocka_unit_test(test_reductions),  cmocka_unit_test(test_cluster),
        cmocka_unit_test(test_one_finding), cmocka_unit_test(test_unknown_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
