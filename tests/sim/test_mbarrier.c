/* Mbarriers: every form runs, waits sleep, and every check finds its planted fault. */
#include "sim_test.h"

#include <string.h>

/* A kernel of two arrays, x and y: %rd1 and %rd2 their addresses, %r1 the thread, %r2 its byte
 * offset, %rd3 and %rd4 its elements; shared memory `buf`, %r3 the thread's place there and %r4
 * that of the thread 32 further or before; mbarriers `bar`, `bar2`. %p1: thread 0; %p2: warp 0;
 * %p3: lane 0. */
#define KERNEL(body)                                                                               \
    PTX_HEADER ".visible .entry k(.param .u64 x, .param .u64 y) {\n"                               \
               ".reg .pred %p<10>; .reg .b32 %r<40>; .reg .b64 %rd<30>;\n"                         \
               ".shared .align 16 .b8 buf[256]; .shared .align 8 .b64 bar; .shared .b64 bar2;\n"   \
               "ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];\n"                                 \
               "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; cvt.u64.u32 %rd5, %r2;\n"                \
               "add.s64 %rd3, %rd1, %rd5; add.s64 %rd4, %rd2, %rd5;\n"                             \
               "mov.u32 %r3, buf; xor.b32 %r4, %r2, 128; add.u32 %r4, %r3, %r4; add.u32 %r3, "     \
               "%r3, %r2;\n"                                                                       \
               "mov.u32 %r5, %laneid; setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r1, 32; "         \
               "setp.eq.u32 %p3, %r5, 0;\n" body "ret;\n}\n"
#define INIT(count) "@%p1 mbarrier.init.shared::cta.b64 [bar], " count "; bar.sync 0;\n"
#define WAIT(parity)                                                                               \
    "W" parity ": mbarrier.try_wait.parity.shared::cta.b64 %p4, [bar], " parity                    \
    "; @!%p4 bra W" parity ";\n"
/* Warp 0 writes and arrives, warp 1 waits and reads. */
#define PASS(count, arrive, wait)                                                                  \
    KERNEL(INIT(count) "@!%p2 bra R; st.shared.u32 [%r3], %r1;\n" arrive "bra E;\n"                \
                       "R:\n" wait "ld.shared.u32 %r6, [%r4]; st.global.u32 [%rd4], %r6;\nE:\n")
#define ALL_ARRIVE "mbarrier.arrive.shared::cta.b64 _, [bar];\n"
#define ONE_ARRIVES "@%p3 mbarrier.arrive.release.cta.shared::cta.b64 _, [bar];\n"
#define ALONE(body) KERNEL("@!%p1 bra E;\n" body "E:\n")
#define ALONE_INIT(count) "mbarrier.init.shared.b64 [bar], " count ";\n"
#define COPY(arrive)                                                                               \
    KERNEL(INIT("64") "cp.async.ca.shared.global [%r3], [%rd3], 4;\n" arrive WAIT(                 \
        "0") "ld.shared.u32 %r6, [%r4]; st.global.u32 [%rd4], %r6;\n")

static const SimFault faults[] = {
    {"wait removed", PASS("32", ALL_ARRIVE, WAIT("0")), PASS("32", ALL_ARRIVE, ""),
     DIAG_sim_shared_race, "races with a", 64, 1, 0},
    {"arrival of one lane before the others have met it",
     PASS("1", "bar.warp.sync -1;\n" ONE_ARRIVES, WAIT("0")), PASS("1", ONE_ARRIVES, WAIT("0")),
     DIAG_sim_shared_race, "races with a store", 64, 1, 0},
    {"wait of one lane that the others do not meet",
     PASS("32", ALL_ARRIVE, "@!%p3 bra M;\n" WAIT("0") "M: bar.warp.sync -1;\n"),
     PASS("32", ALL_ARRIVE, "@!%p3 bra M;\n" WAIT("0") "M:\n"), DIAG_sim_shared_race,
     "races with a store", 64, 1, 0},
    {"relaxed arrival",
     PASS("32", "mbarrier.arrive.release.cta.shared::cta.b64 _, [bar];\n", WAIT("0")),
     PASS("32", "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar];\n", WAIT("0")),
     DIAG_sim_shared_race, "races with a store", 64, 1, 0},
    {"relaxed wait",
     PASS("32", ALL_ARRIVE,
          "W: mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p4, [bar], 0; @!%p4 bra W;\n"),
     PASS("32", ALL_ARRIVE,
          "W: mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 %p4, [bar], 0; @!%p4 bra W;\n"),
     DIAG_sim_shared_race, "races with a store", 64, 1, 0},
    {"count too high", PASS("32", ALL_ARRIVE, WAIT("0")), PASS("33", ALL_ARRIVE, WAIT("0")),
     DIAG_sim_deadlock, "phase 0 (parity 0) to end: 1 of 33 arrivals and 0 bytes are missing", 64,
     1, 0},
    {"bytes that do not come",
     ALONE(
         ALONE_INIT("1") "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n"
                         "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;\n" WAIT("0")),
     ALONE(
         ALONE_INIT("1") "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n"
                         "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 12;\n" WAIT("0")),
     DIAG_sim_deadlock, "0 of 1 arrivals and 4 bytes are missing", 32, 1, 0},
    {"arrival too many",
     ALONE(ALONE_INIT("1") "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n"
                           "mbarrier.complete_tx.shared::cta.b64 [bar], 16;\n"
                           "mbarrier.arrive.shared::cta.b64 _, [bar];\n"),
     ALONE(ALONE_INIT("1") "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n"
                           "mbarrier.arrive.shared::cta.b64 _, [bar];\n"),
     DIAG_sim_mbarrier_count, "phase 0 waits for 0 more of 1 arrivals", 32, 1, 0},
    {"count of an arrival too high",
     ALONE(ALONE_INIT("3") "mbarrier.arrive.shared::cta.b64 %rd10, [bar], 3;\n"),
     ALONE(ALONE_INIT("3") "mbarrier.arrive.shared::cta.b64 %rd10, [bar], 4;\n"),
     DIAG_sim_mbarrier_count, "arrives for 4", 32, 1, 0},
    {"initialisation removed", ALONE(ALONE_INIT("1") "mbarrier.arrive.shared::cta.b64 _, [bar];\n"),
     ALONE("mbarrier.arrive.shared::cta.b64 _, [bar];\n"), DIAG_sim_mbarrier_none,
     "no initialised mbarrier", 32, 1, 0},
    {"use after the end",
     ALONE(ALONE_INIT("1") "mbarrier.inval.shared::cta.b64 [bar];\n" ALONE_INIT(
         "1") "mbarrier.arrive.shared::cta.b64 _, [bar];\n"),
     ALONE(ALONE_INIT("1") "mbarrier.inval.shared::cta.b64 [bar];\n"
                           "mbarrier.arrive.shared::cta.b64 _, [bar];\n"),
     DIAG_sim_mbarrier_none, "no initialised mbarrier", 32, 1, 0},
    {"initialised twice",
     ALONE(ALONE_INIT("1") "mbarrier.inval.shared::cta.b64 [bar];\n" ALONE_INIT("2")),
     ALONE(ALONE_INIT("1") ALONE_INIT("2")), DIAG_sim_mbarrier_reinit, "initialised it here", 32, 1,
     0},
    {"overwritten",
     ALONE(ALONE_INIT("1") "st.shared.b64 [bar2], 0; mbarrier.arrive.shared.b64 _, [bar];\n"),
     ALONE(ALONE_INIT("1") "st.shared.b64 [bar], 0; mbarrier.arrive.shared.b64 _, [bar];\n"),
     DIAG_sim_mbarrier_overwritten, "wrote to it here", 32, 1, 0},
    {"initialisation that nobody waits for",
     KERNEL(INIT("64") "mbarrier.arrive.shared::cta.b64 _, [bar];\n"),
     KERNEL("@%p1 mbarrier.init.shared::cta.b64 [bar], 64; nanosleep.u32 100;\n"
            "@%p2 bra A; nanosleep.u32 100; A:\n"
            "@!%p1 bra B; mbarrier.arrive.shared::cta.b64 _, [bar]; B:\n"
            "setp.eq.u32 %p5, %r1, 1; @%p5 mbarrier.arrive.shared::cta.b64 _, [bar];\n"),
     DIAG_sim_mbarrier_unordered, "initialised it here", 64, 1, 0},
    {"no arrivals expected", ALONE(ALONE_INIT("1048575")), ALONE(ALONE_INIT("0")),
     DIAG_sim_mbarrier_expected, "0 is no number of arrivals", 32, 1, 0},
    {"misaligned", ALONE("mbarrier.init.shared.b64 [buf+8], 1;\n"),
     ALONE("mbarrier.init.shared.b64 [buf+4], 1;\n"), DIAG_sim_misaligned, "not a multiple of 8",
     32, 1, 0},
    {"in global memory",
     ALONE("mov.u32 %r9, bar; cvt.u64.u32 %rd9, %r9; cvta.shared.u64 %rd9, %rd9;\n"
           "mbarrier.init.b64 [%rd9], 1;\n"),
     ALONE("mbarrier.init.b64 [%rd1], 1;\n"), DIAG_sim_mbarrier_space, "not in shared memory", 32,
     1, 0},
    {"state of an old phase",
     ALONE(ALONE_INIT("1") "mbarrier.arrive.shared.b64 %rd9, [bar];\n"
                           "W: mbarrier.try_wait.shared.b64 %p4, [bar], %rd9; @!%p4 bra W;\n"
                           "mbarrier.arrive.shared.b64 _, [bar];\n"),
     ALONE(ALONE_INIT("1") "mbarrier.arrive.shared.b64 %rd9, [bar];\n"
                           "mbarrier.arrive.shared.b64 _, [bar];\n"
                           "W: mbarrier.try_wait.shared.b64 %p4, [bar], %rd9; @!%p4 bra W;\n"),
     DIAG_sim_mbarrier_state, "is no state of the mbarrier", 32, 1, 0},
    {"number that is no state",
     ALONE(ALONE_INIT("1") "mbarrier.arrive_drop.shared.b64 %rd9, [bar];\n"
                           "mbarrier.test_wait.shared.b64 %p4, [bar], %rd9;\n"),
     ALONE(ALONE_INIT("1") "mbarrier.test_wait.shared.b64 %p4, [bar], 0;\n"),
     DIAG_sim_mbarrier_state, "is no state of the mbarrier", 32, 1, 0},
    {"phase that an arrival must not end",
     ALONE(ALONE_INIT("2") "mbarrier.arrive.noComplete.shared.b64 %rd9, [bar], 1;\n"),
     ALONE(ALONE_INIT("2") "mbarrier.arrive.noComplete.shared.b64 %rd9, [bar], 2;\n"),
     DIAG_sim_mbarrier_no_complete, "that would end", 32, 1, 0},
    {"too many bytes",
     ALONE(ALONE_INIT("1") "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 1048575;\n"),
     ALONE(ALONE_INIT("1") "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 1048576;\n"),
     DIAG_sim_mbarrier_tx, "would be 1048576 bytes", 32, 1, 0},
    {"parity that is a phase",
     ALONE(ALONE_INIT("1") "mbarrier.test_wait.parity.shared.b64 %p4, [bar], 1;\n"),
     ALONE(ALONE_INIT("1") "mbarrier.test_wait.parity.shared.b64 %p4, [bar], 2;\n"),
     DIAG_sim_mbarrier_parity, "2 is no parity", 32, 1, 0},
    {"copies that no arrival follows", COPY("cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"),
     COPY("mbarrier.arrive.shared::cta.b64 _, [bar];\n"), DIAG_sim_copy_race,
     "no wait has covered yet", 64, 1, 0},
    {"arrival of copies that counts twice",
     COPY("cp.async.mbarrier.arrive.shared.b64 [bar];\n"
          "mbarrier.arrive.shared::cta.b64 _, [bar];\n"),
     COPY("cp.async.mbarrier.arrive.shared.b64 [bar];\n"), DIAG_sim_deadlock,
     "64 of 64 arrivals and 0 bytes", 64, 1, 0},
};

static void test_faults(void **state) {
    sim_test_faults(faults, sizeof faults / sizeof *faults);
}

typedef struct Result {
    uint32_t y[64];
    bool ok;
} Result;

static Result run(SimTest *test, const char *text, SimSchedule schedule, bool early) {
    static uint32_t x[64];
    Result result = {.ok = sim_test_parse(test, text) != NULL};
    for (uint32_t i = 0; i < 64; i++)
        x[i] = 1000 + i;
    if (!result.ok)
        fail_msg("%s", sim_test_messages(test));
    SimLaunch launch = {.block = {64}, .schedule = schedule, .early = early, .max_steps = 100000};
    result.ok = sim_test_run(test, launch,
                             (SimArrayArg[]){{"x", x, 256, NULL}, {"y", result.y, 256, NULL}}, 2);
    return result;
}

/* Likewise, of a text that must run without findings. */
static Result run_clean(SimTest *test, const char *text, SimSchedule schedule, bool early) {
    Result result = run(test, text, schedule, early);
    if (!result.ok)
        fail_msg("%s", sim_test_messages(test));
    return result;
}

/* Two warps hand a buffer to each other ten times: full and empty barriers, phases by parity. */
static const char ping_pong[] = KERNEL(
    "@%p1 mbarrier.init.shared::cta.b64 [bar], 32; @%p1 mbarrier.init.shared::cta.b64 [bar2], 32; "
    "bar.sync 0;\n"
    "mov.u32 %r10, 0; mov.u32 %r11, 0; @!%p2 bra R;\n"
    "P: and.b32 %r12, %r10, 1; xor.b32 %r13, %r12, 1;\n"
    "PW: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p4, [bar2], %r13, 1000; @!%p4 bra "
    "PW;\n"
    "add.u32 %r14, %r10, %r1; st.shared.u32 [%r3], %r14;\n"
    "mbarrier.arrive.release.cta.shared::cta.b64 %rd9, [bar];\n"
    "mbarrier.pending_count.b64 %r15, %rd9;\n"
    "add.u32 %r10, %r10, 1; setp.lt.u32 %p5, %r10, 10; @%p5 bra P;\n"
    "st.global.u32 [%rd4], %r15; bra E;\n"
    "R: and.b32 %r12, %r10, 1;\n"
    "RW: mbarrier.test_wait.parity.shared.b64 %p4, [bar], %r12; @!%p4 bra RW;\n"
    "ld.shared.u32 %r14, [%r4]; add.u32 %r11, %r11, %r14;\n"
    "mbarrier.arrive.shared.b64 %rd9, [bar2], 1;\n"
    "add.u32 %r10, %r10, 1; setp.lt.u32 %p5, %r10, 10; @%p5 bra R;\n"
    "st.global.u32 [%rd4], %r11;\nE:\n");

static void test_phases(void **state) {
    for (int schedule = SIM_ROUND_ROBIN; schedule <= SIM_ADVERSARIAL; schedule++) {
        SimTest test = sim_test_begin();
        Result result = run_clean(&test, ping_pong, (SimSchedule)schedule, false);
        for (uint32_t i = 0; i < 32; i++) {
            assert_int_equal(result.y[i], 32 - i);
            assert_int_equal(result.y[32 + i], 45 + 10 * i);
        }
        sim_test_end(&test);
    }
}

/* Threads that leave, one phase that waits for fewer. */
static const char dropping[] = KERNEL(
    INIT("64") "@!%p2 bra R; mbarrier.arrive_drop.shared::cta.b64 _, [bar]; bra E;\n"
               "R: mbarrier.arrive.shared::cta.b64 %rd9, [bar];\n"
               "W: mbarrier.try_wait.shared::cta.b64 %p4, [bar], %rd9; @!%p4 bra W;\n"
               "mbarrier.arrive.shared::cta.b64 %rd9, [bar];\n"
               "V: mbarrier.test_wait.acquire.cta.shared::cta.b64 %p4, [bar], %rd9; @!%p4 bra V;\n"
               "st.global.u32 [%rd4], 5;\nE:\n");

static void test_drop(void **state) {
    SimTest test = sim_test_begin();
    Result result = run_clean(&test, dropping, SIM_ROUND_ROBIN, false);
    assert_int_equal(result.y[40], 5);
    sim_test_end(&test);
}

/* cp.async arrives, late and early. */
static void test_copies(void **state) {
    for (int early = 0; early <= 1; early++) {
        SimTest test = sim_test_begin();
        Result result = run(&test, COPY("cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"),
                            SIM_RANDOM, early);
        if (!result.ok)
            fail_msg("%s", sim_test_messages(&test));
        for (uint32_t i = 0; i < 64; i++)
            assert_int_equal(result.y[i], 1000 + (i ^ 32));
        sim_test_end(&test);
    }
}

/* A thread that tries a few times and then does what the others wait for is not in a deadlock. */
static const char impatient[] = KERNEL(
    INIT("33") "@%p2 bra A; mov.u32 %r10, 0;\n"
               "T: mbarrier.test_wait.parity.shared.b64 %p4, [bar], 0; add.u32 %r10, %r10, 1;\n"
               "setp.lt.u32 %p5, %r10, 20; @%p5 bra T;\n"
               "setp.eq.u32 %p6, %r1, 40; @%p6 mbarrier.arrive.shared.b64 _, [bar]; bra W;\n"
               "A: mbarrier.arrive.shared.b64 _, [bar];\n"
               "W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;\n"
               "st.global.u32 [%rd4], 9;\n");

static void test_time_out(void **state) {
    SimTest test = sim_test_begin();
    Result result = run_clean(&test, impatient, SIM_ROUND_ROBIN, false);
    assert_int_equal(result.y[0] + result.y[63], 18);
    sim_test_end(&test);
}

/* What a fault leads to may depend on who comes first: a race, a phase that is missed, or a
 * deadlock.
 */
static void test_faults_by_schedule(void **state) {
    static const char *const texts[] = {
        PASS("32", ALL_ARRIVE ALL_ARRIVE, WAIT("0")), /* the phase after it ends as well */
        PASS("32", ALL_ARRIVE, WAIT("1")),            /* the phase before */
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (int schedule = SIM_ROUND_ROBIN; schedule <= SIM_ADVERSARIAL; schedule++) {
            SimTest test = sim_test_begin();
            assert_false(run(&test, texts[i], (SimSchedule)schedule, false).ok);
            assert_true(sim_test_has(&test, DIAG_sim_mbarrier_overrun) ||
                        sim_test_has(&test, DIAG_sim_shared_race) ||
                        sim_test_has(&test, DIAG_sim_deadlock));
            sim_test_end(&test);
        }
    }
}

/* Warp 1 sleeps when warp 0 ends two phases. */
static void test_overrun(void **state) {
    SimTest test = sim_test_begin();
    assert_false(run(&test,
                     KERNEL(INIT("1") "@%p2 bra A;\n" WAIT(
                         "0") "bra E;\n"
                              "A: nanosleep.u32 100; nanosleep.u32 100;\n"
                              "bar.warp.sync -1; @!%p3 bra E;\n" ALL_ARRIVE ALL_ARRIVE "E:\n"),
                     SIM_ROUND_ROBIN, false)
                     .ok);
    assert_true(sim_test_has(&test, DIAG_sim_mbarrier_overrun));
    assert_non_null(strstr(sim_test_messages(&test), "ended it here"));
    sim_test_end(&test);
}

static void test_unknown_forms(void **state) {
    static const SimRefusal refusals[] = {
        {"mbarrier.arrive.shared::cluster.b64 %rd9, [%r3];", "gives no state: wanted _"},
        {"mbarrier.wait.shared.b64 %p1, [bar], 0;", "`.wait` does not fit"},
        {"mbarrier.try_wait.parity.shared::cluster.b64 %p1, [bar], 0;", "`.shared::cluster`"},
        {"mbarrier.init.shared.b32 [bar], 1;", "`.b32` does not fit"},
        {"mbarrier.arrive.expect_tx.shared.b64 _, [bar];", "operands"},
    };
    sim_test_refusals(".reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<20>; .shared .b64 bar;",
                      refusals, sizeof refusals / sizeof *refusals);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_drop),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_time_out),
        cmocka_unit_test(test_overrun),
        cmocka_unit_test(test_faults_by_schedule),
        cmocka_unit_test(test_unknown_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
