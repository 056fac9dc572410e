/* Clusters: what their programs see of each other, and every check of them with its planted fault.
 */
#include "sim_test.h"

#include <stdio.h>
#include <string.h>

/* A kernel of two arrays, x and y: %rd1 and %rd2 their addresses, %r1 the thread, %r2 its byte
 * offset, %rd4 its element of y; %r8 the rank, %r9 that of the other program of a pair, %r3 the
 * thread's place in `buf`, %r4 the same place in the other program. */
#define KERNEL_OF(directives, body)                                                                \
    PTX_HEADER                                                                                     \
    ".visible .entry k(.param .u64 x, .param .u64 y) " directives " {\n"                           \
    ".reg .pred %p<10>; .reg .b32 %r<40>; .reg .b64 %rd<20>;\n"                                    \
    ".shared .align 16 .b8 buf[256];\n"                                                            \
    "ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];\n"                                            \
    "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r8, %cluster_ctarank; xor.b32 %r9, %r8, "  \
    "1;\n"                                                                                         \
    "mov.u32 %r10, %ntid.x; mov.u32 %r11, %ctaid.x; mad.lo.u32 %r10, %r11, %r10, %r1;\n"           \
    "mul.wide.u32 %rd5, %r10, 4; add.s64 %rd4, %rd2, %rd5;\n"                                      \
    "mov.u32 %r3, buf; add.u32 %r3, %r3, %r2;\n" body "ret;\n}\n"
#define KERNEL(body) KERNEL_OF("", body)
#define SYNC "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"
#define PEER "mapa.shared::cluster.u32 %r4, %r3, %r9;\n"

/* Each program writes, meets the other, reads what that wrote, meets it again. */
#define EXCHANGE(first, read, last)                                                                \
    KERNEL("mad.lo.u32 %r5, %r8, 1000, %r1; st.shared.u32 [%r3], %r5;\n" PEER first read           \
           "st.global.u32 [%rd4], %r6;\n" last)
#define LOAD "ld.shared::cluster.u32 %r6, [%r4];\n"
/* One program after the start adds to the other's memory. */
#define PRODUCE(first, write, last)                                                                \
    KERNEL("st.shared.u32 [%r3], 0;\n" PEER first write last                                       \
           "ld.shared.u32 %r6, [%r3]; st.global.u32 [%rd4], %r6;\n")

/* Each thread stores into the other program, whose mbarrier counts 4 bytes of each of 32. */
#define SEND(store, wait)                                                                          \
    KERNEL(".shared .align 8 .b64 bar; setp.ne.u32 %p1, %r1, 0; @%p1 bra I; "                      \
           "mbarrier.init.shared::cta.b64 [bar], 1; \n"                                            \
           "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128; I: st.shared.u32 [%r3], "     \
           "5;\n" SYNC PEER                                                                        \
           "mapa.shared::cluster.u32 %r12, bar, %r9; mov.u32 %r13, bar;\n" store wait              \
           "ld.shared.u32 %r6, [%r3]; st.global.u32 [%rd4], %r6;\n" SYNC)
#define STORE(to, mbarrier)                                                                        \
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [" to "], %r1, [" mbarrier     \
    "];\n"
#define WAIT "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra W;\n"

static const SimFault faults[] = {
    {"no wait for an asynchronous store", SEND(STORE("%r4", "%r12"), WAIT),
     SEND(STORE("%r4", "%r12"), ""), DIAG_sim_shared_race, "races with a", 32, 2, 2},
    {"counted in another program", SEND(STORE("%r4", "%r12"), WAIT), SEND(STORE("%r4", "%r13"), ""),
     DIAG_sim_store_mbarrier, "that counts it lies in", 32, 2, 2},
    {"an asynchronous reduction too few",
     SEND("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r4], "
          "%r1, [%r12];\n",
          WAIT),
     SEND("setp.eq.u32 %p3, %r1, 9; @%p3 bra S; "
          "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r4], "
          "%r1, [%r12]; S:\n",
          WAIT),
     DIAG_sim_deadlock, "", 32, 2, 2},
    {"barrier of the cluster removed", EXCHANGE(SYNC, LOAD, SYNC),
     EXCHANGE(SYNC "add.u32 %r5, %r5, 1; st.shared.u32 [%r3], %r5;\n", LOAD, SYNC),
     DIAG_sim_shared_race, "races with a", 32, 2, 2},
    {"barrier of the program instead", PRODUCE(SYNC, "st.shared::cluster.u32 [%r4], 7;\n", SYNC),
     PRODUCE(SYNC, "st.shared::cluster.u32 [%r4], 7;\n",
             "bar.sync 0; ld.shared.u32 %r6, [%r3];\n" SYNC),
     DIAG_sim_shared_race, "program (", 32, 2, 2},
    {"relaxed arrival",
     EXCHANGE("fence.acq_rel.cluster; barrier.cluster.arrive.relaxed.aligned; "
              "barrier.cluster.wait.aligned;\n",
              LOAD, SYNC),
     EXCHANGE("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;\n", LOAD,
              SYNC),
     DIAG_sim_shared_race, "races with a store", 32, 2, 2},
    {"exit before the other has read", EXCHANGE(SYNC, LOAD, SYNC), EXCHANGE(SYNC, LOAD, ""),
     DIAG_sim_cluster_exit, "accessed it here", 32, 2, 2},
    {"access before the other has begun",
     KERNEL(PEER SYNC "st.shared::cluster.u32 [%r4], 7;\n" SYNC),
     KERNEL(PEER "st.shared::cluster.u32 [%r4], 7;\n" SYNC), DIAG_sim_cluster_start,
     "may not have begun", 32, 2, 2},
    {"shared::cta of another program", EXCHANGE(SYNC, LOAD, SYNC),
     EXCHANGE(SYNC, "mov.u32 %r6, 1; ld.shared::cta.u32 %r6, [%r4];\n", SYNC),
     DIAG_sim_not_own_shared, "reaches only that of its own program", 32, 2, 2},
    {"no such program", KERNEL(PEER), KERNEL("mapa.shared::cluster.u32 %r4, %r3, 2;\n"),
     DIAG_sim_cta_rank, "no program of rank 2 in a cluster of 2", 32, 2, 2},
    {"no such window", KERNEL(PEER SYNC LOAD SYNC),
     KERNEL(PEER SYNC "add.u32 %r4, %r4, 0x4000000;\n" LOAD SYNC), DIAG_sim_cluster_rank,
     "the cluster has no such program", 32, 2, 2},
    {"behind the other's shared memory", EXCHANGE(SYNC, LOAD, SYNC),
     EXCHANGE(SYNC, "ld.shared::cluster.u32 %r6, [%r4+256];\n", SYNC), DIAG_sim_shared_bounds,
     "bytes behind 'buf' (256 bytes at 0x400)", 32, 2, 2},
    {"mapa of global memory",
     KERNEL("mov.u64 %rd6, buf; cvta.shared.u64 %rd6, %rd6;\n"
            "mapa.u64 %rd7, %rd6, 1;\n"),
     KERNEL("mapa.u64 %rd7, %rd1, 1;\n"), DIAG_sim_not_shared_address,
     "'mapa' takes an address of shared memory", 1, 2, 2},
    {"arrives twice", KERNEL(SYNC), KERNEL("barrier.cluster.arrive.aligned;\n" SYNC),
     DIAG_sim_cluster_arrival, "arrives at the barrier of the cluster again", 32, 2, 2},
    {"waits without an arrival", KERNEL(SYNC), KERNEL("barrier.cluster.wait.aligned;\n"),
     DIAG_sim_cluster_arrival, "without having arrived", 32, 2, 2},
    {"aligned in a branch",
     KERNEL("setp.lt.u32 %p1, %r1, 16; @%p1 bra L; barrier.cluster.arrive; bra M; L: "
            "barrier.cluster.arrive; M: barrier.cluster.wait;\n"),
     KERNEL("setp.lt.u32 %p1, %r1, 16; @%p1 bra L; barrier.cluster.arrive.aligned; bra M; L: "
            "barrier.cluster.arrive; M: barrier.cluster.wait;\n"),
     DIAG_sim_diverged, "needs all threads", 32, 2, 2},
    {"one program waits alone", KERNEL("bar.sync 1, 64;\n" SYNC),
     KERNEL("setp.eq.u32 %p1, %r8, 0; setp.gt.or.u32 %p1, %r1, 31, %p1; @%p1 bra L; bar.sync 1, "
            "64; L:\n" SYNC),
     DIAG_sim_deadlock, "where 96 of 128 threads have arrived", 64, 2, 2},
    {"an undefined rank is no address", KERNEL(PEER SYNC LOAD SYNC),
     KERNEL("mapa.shared::cluster.u32 %r4, %r3, %r20;\n" SYNC LOAD SYNC), DIAG_sim_undefined,
     "the address is undefined", 32, 2, 2},
};

static void test_planted_faults(void **state) {
    sim_test_faults(faults, sizeof faults / sizeof *faults);
}

/* Results. */

typedef struct Case {
    const char *name, *text;
    uint32_t grid[3], cluster[3];
    /* of the program at `id` in a grid of 4 x 2 in clusters of 2 x 2, and its thread */
    uint32_t (*expect)(uint32_t x, uint32_t y, uint32_t thread);
} Case;

static uint32_t rank_of(uint32_t x, uint32_t y) {
    return x % 2 + 2 * (y % 2);
}
static uint32_t next_rank(uint32_t x, uint32_t y, uint32_t t) {
    return 100 * ((rank_of(x, y) + 1) % 4) + t + 1000 * (x / 2);
}
static uint32_t own_rank(uint32_t x, uint32_t y, uint32_t t) {
    return 100 * rank_of(x, y) + t;
}
static uint32_t specials(uint32_t x, uint32_t y, uint32_t t) {
    return x / 2 + 10 * (y / 2) + 100 * 2 + 1000 * 1 + 10000 * (x % 2) + 100000 * (y % 2) +
           1000000 * 2 + 10000000 * rank_of(x, y) + 100000000 * 4;
}
static uint32_t summed(uint32_t x, uint32_t y, uint32_t t) {
    return 4 * t + 10 * (0 + 1 + 2 + 3);
}
static uint32_t ranks(uint32_t x, uint32_t y, uint32_t t) {
    return 3 + 10 * rank_of(x, y) + 100 + 1000 + 20000;
}

static uint32_t sent(uint32_t x, uint32_t y, uint32_t t) {
    return 100 * ((rank_of(x, y) + 3) % 4) + (t & ~3u) / 4 + 10 * (t % 4) + 7 * (t % 4 < 2);
}

#define RESULT(body)                                                                               \
    PTX_HEADER                                                                                     \
    ".visible .entry k(.param .u64 y) .explicitcluster {\n"                                        \
    ".reg .pred %p<10>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .shared .align 16 .b8 buf[256];\n"    \
    "ld.param.u64 %rd2, [y]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r8, "              \
    "%cluster_ctarank;\n"                                                                          \
    "mov.u32 %r10, %ctaid.y; mov.u32 %r11, %nctaid.x; mov.u32 %r12, %ctaid.x; mad.lo.u32 %r10, "   \
    "%r10, %r11, %r12;\n"                                                                          \
    "mad.lo.u32 %r10, %r10, 32, %r1; mul.wide.u32 %rd5, %r10, 4; add.s64 %rd4, %rd2, %rd5;\n"      \
    "mov.u32 %r3, buf; add.u32 %r3, %r3, %r2;\n" body "st.global.u32 [%rd4], %r9; ret;\n}\n"
#define NEXT "add.u32 %r5, %r8, 1; and.b32 %r5, %r5, 3;\n"
#define FILL                                                                                       \
    "mov.u32 %r6, %clusterid.x; mad.lo.u32 %r6, %r6, 1000, %r1; mad.lo.u32 %r6, %r8, 100, %r6; "   \
    "st.shared.u32 [%r3], %r6;\n" SYNC
#define DIGIT(reg) "mov.u32 %r5, " reg "; mad.lo.u32 %r9, %r5, %r7, %r9; mul.lo.u32 %r7, %r7, 10;\n"

static const Case cases[] = {
    {"what another wrote",
     RESULT(FILL NEXT "mapa.shared::cluster.u32 %r4, %r3, %r5; ld.shared::cluster.u32 %r9, "
                      "[%r4];\n" SYNC),
     {4, 2, 1},
     {2, 2, 1},
     next_rank},
    {"at a generic address",
     RESULT(FILL NEXT
            "cvt.u64.u32 %rd6, %r3; cvta.shared.u64 %rd6, %rd6; mapa.u64 %rd7, %rd6, %r5;\n"
            "ld.u32 %r9, [%rd7];\n" SYNC),
     {4, 2, 1},
     {2, 2, 1},
     next_rank},
    {"copied to the own program by its address in the cluster",
     RESULT("mad.lo.u32 %r6, %r8, 100, %r1; st.global.u32 [%rd4], %r6; mapa.shared::cluster.u32 "
            "%r4, %r3, %r8;\n"
            "cp.async.ca.shared.global [%r4], [%rd4], 4; cp.async.wait_all; ld.shared.u32 %r9, "
            "[%r3];\n"),
     {4, 2, 1},
     {2, 2, 1},
     own_rank},
    {"special registers",
     RESULT("mov.u32 %r9, 0; mov.u32 %r7, 1;\n" DIGIT("%clusterid.x") DIGIT("%clusterid.y") DIGIT(
         "%nclusterid.x") DIGIT("%nclusterid.y") DIGIT("%cluster_ctaid.x") DIGIT("%cluster_ctaid.y")
                DIGIT("%cluster_nctaid.x") DIGIT("%cluster_ctarank") DIGIT("%cluster_nctarank")),
     {4, 2, 1},
     {2, 2, 1},
     specials},
    {"atomics into every program",
     RESULT("st.shared.u32 [%r3], 0; mov.u32 %r4, 0;\n" SYNC
            "L: mapa.shared::cluster.u32 %r5, %r3, %r4; mad.lo.u32 %r6, %r8, 10, %r1;\n"
            "red.relaxed.cluster.shared::cluster.add.u32 [%r5], %r6; add.u32 %r4, %r4, 1; "
            "setp.lt.u32 %p1, %r4, 4; @%p1 bra L;\n" SYNC "ld.shared.u32 %r9, [%r3];\n"),
     {4, 2, 1},
     {2, 2, 1},
     summed},
    {"asynchronous vectors and reductions",
     /* Eight threads send four words each to the next program, then two of them add 7. */
     RESULT(".shared .align 8 .b64 bar; setp.ne.u32 %p1, %r1, 0; @%p1 bra I; "
            "mbarrier.init.shared::cta.b64 [bar], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, "
            "[bar], 192; I:\n" SYNC NEXT
            "setp.gt.u32 %p2, %r1, 7; @%p2 bra W; shl.b32 %r12, %r1, 4; mov.u32 %r13, buf; add.u32 "
            "%r12, %r12, %r13; mapa.shared::cluster.u32 %r14, %r12, %r5; mapa.shared::cluster.u32 "
            "%r15, bar, %r5;\n"
            "mad.lo.u32 %r16, %r8, 100, %r1; add.u32 %r17, %r16, 10; add.u32 %r18, %r16, 20; "
            "add.u32 %r19, %r16, 30;\n"
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r14], {%r16, %r17, "
            "%r18, %r19}, [%r15];\n"
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 "
            "[%r14], 0x700000007, [%r15];\n"
            "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0; @!%p3 bra W; ld.shared.u32 "
            "%r9, [%r3];\n" SYNC),
     {4, 2, 1},
     {2, 2, 1},
     sent},
    {"ranks and spaces of addresses",
     RESULT("mapa.shared::cluster.u32 %r4, buf, 3; getctarank.shared::cluster.u32 %r9, %r4;\n"
            "getctarank.shared::cluster.u32 %r5, buf; mad.lo.u32 %r9, %r5, 10, %r9;\n"
            "mov.u64 %rd6, buf; cvta.shared.u64 %rd6, %rd6; isspacep.shared::cta %p1, %rd6;\n"
            "@%p1 add.u32 %r9, %r9, 100; mapa.u64 %rd7, %rd6, 2; isspacep.shared::cluster %p2, "
            "%rd7; @%p2 add.u32 %r9, %r9, 1000;\n"
            "getctarank.u64 %r5, %rd7; mad.lo.u32 %r9, %r5, 10000, %r9; xor.b32 %r6, %r8, 1;\n"
            "mapa.u64 %rd7, %rd6, %r6; isspacep.shared::cta %p3, %rd7; @%p3 add.u32 %r9, %r9, 5;\n"
            "isspacep.global %p4, %rd7; @%p4 add.u32 %r9, %r9, 7;\n"),
     {4, 2, 1},
     {2, 2, 1},
     ranks},
};

static void test_results(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int schedule = SIM_ROUND_ROBIN; schedule <= SIM_ADVERSARIAL; schedule++) {
            uint32_t y[8 * 32] = {0};
            SimTest test = sim_test_begin();
            SimLaunch launch = {.block = {32}, .schedule = (SimSchedule)schedule, .seed = 5};
            memcpy(launch.grid, cases[i].grid, sizeof launch.grid);
            memcpy(launch.cluster, cases[i].cluster, sizeof launch.cluster);
            if (!sim_test_parse(&test, cases[i].text) ||
                !sim_test_run(&test, launch, (SimArrayArg[]){{"y", y, sizeof y, NULL}}, 1))
                fail_msg("%s: %s", cases[i].name, sim_test_messages(&test));
            for (uint32_t p = 0; p < 8; p++)
                for (uint32_t t = 0; t < 32; t++)
                    if (y[p * 32 + t] != cases[i].expect(p % 4, p / 4, t))
                        fail_msg("%s: program %u, thread %u has %u, wanted %u", cases[i].name, p, t,
                                 y[p * 32 + t], cases[i].expect(p % 4, p / 4, t));
            sim_test_end(&test);
        }
    }
}

/* A launch must fit what the kernel's directives say. */

static void refuse(const char *directives, uint32_t programs, uint32_t cluster, DiagId id) {
    static uint32_t y[4096];
    char text[1200];
    snprintf(text, sizeof text,
             PTX_HEADER ".entry k(.param .u64 y) %s { .reg .b64 %%rd<2>; ld.param.u64 %%rd1, "
                        "[y]; st.global.u32 [%%rd1], 1; ret; }\n",
             directives);
    SimTest test = sim_test_begin();
    assert_non_null(sim_test_parse(&test, text));
    SimLaunch launch = {.grid = {programs}, .block = {1}, .cluster = {cluster}};
    bool ok = sim_test_run(&test, launch, (SimArrayArg[]){{"y", y, sizeof y, NULL}}, 1);
    if (ok != (id == DIAG_COUNT) || (id != DIAG_COUNT && !sim_test_has(&test, id)))
        fail_msg("%s, %u in clusters of %u: %s", directives, programs, cluster,
                 sim_test_messages(&test));
    sim_test_end(&test);
}

static void test_launches(void **state) {
    refuse(".reqnctapercluster 2", 4, 0, DIAG_COUNT);
    refuse(".reqnctapercluster 2", 4, 2, DIAG_COUNT);
    refuse(".reqnctapercluster 2", 4, 4, DIAG_sim_cluster_required);
    refuse(".reqnctapercluster 2", 3, 0, DIAG_sim_cluster_grid);
    refuse(".reqntid 1 .reqnctapercluster 2 .blocksareclusters", 3, 0, DIAG_COUNT);
    refuse(".explicitcluster", 4, 0, DIAG_sim_cluster_wanted);
    refuse(".explicitcluster", 4, 4, DIAG_COUNT);
    refuse(".maxclusterrank 4", 8, 8, DIAG_sim_cluster_size);
    refuse(".maxclusterrank 4", 8, 4, DIAG_COUNT);
    refuse("", 16, 16, DIAG_COUNT);
    refuse("", 32, 32, DIAG_sim_cluster_size);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planted_faults),
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
