/* Programs on several threads of the host: the same results, counts and findings as on one, and
 * programs that signal each other. */
#include "sim_test.h"

#include <stdio.h>
#include <string.h>

enum { PROGRAMS = 48, THREADS = 64, WORDS = PROGRAMS * THREADS };

/* A kernel of two arrays of a word for each thread; %rd1 and %rd2 are their addresses, %r1 is the
 * thread, %r2 the program, %r3 the element, %rd3 and %rd4 where it is. */
#define KERNEL_OF(directives, body)                                                                \
    PTX_HEADER ".visible .entry k(.param .u64 x, .param .u64 y) " directives " {\n"                \
               ".reg .pred %p<10>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<9>;\n"        \
               ".reg .b128 %q<9>; .shared .align 16 .b8 buf[256];\n"                               \
               "ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mov.u32 %r1, %tid.x; mov.u32 "     \
               "%r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"                                            \
               "mad.lo.u32 %r3, %r2, %r3, %r1; mul.wide.u32 %rd5, %r3, 4; add.s64 %rd3, %rd1, "    \
               "%rd5; add.s64 %rd4, %rd2, %rd5;\n" body "ret; }\n"
#define KERNEL(body) KERNEL_OF("", body)

/* What a run left. */
typedef struct Result {
    bool ok;
    _Alignas(16) uint32_t x[WORDS], y[WORDS];
    char messages[8192], counts[65536];
} Result;

static void run(const char *text, SimLaunch launch, unsigned threads, Result *result) {
    SimTest test = sim_test_begin();
    for (uint32_t i = 0; i < WORDS; i++) {
        result->x[i] = i;
        result->y[i] = 0;
    }
    launch.threads = threads;
    launch.block[0] = THREADS;
    launch.grid[0] = launch.grid[0] ? launch.grid[0] : PROGRAMS;
    if (!sim_test_parse(&test, text))
        fail_msg("%s", sim_test_messages(&test));
    result->ok = sim_test_run(&test, launch,
                              (SimArrayArg[]){{"x", result->x, sizeof result->x, NULL},
                                              {"y", result->y, sizeof result->y, NULL}},
                              2);
    StrBuf json = strbuf(&test.ctx->arena);
    sim_json_counts(test.module, test.counts, &json);
    snprintf(result->counts, sizeof result->counts, "%s", json.ptr);
    snprintf(result->messages, sizeof result->messages, "%s", sim_test_messages(&test));
    sim_test_end(&test);
}

/* The same on 1, 2 and 5 threads. */
static void check_same(const char *name, const char *text, SimLaunch launch, bool sound) {
    static Result one, many;
    run(text, launch, 1, &one);
    if (one.ok != sound)
        fail_msg("%s: %s", name, one.messages);
    for (unsigned threads = 2; threads <= 5; threads += 3) {
        run(text, launch, threads, &many);
        if (many.ok != one.ok)
            fail_msg("%s on %u threads: %s", name, threads, many.messages);
        if (memcmp(one.y, many.y, sizeof one.y) != 0)
            fail_msg("%s: other results on %u threads", name, threads);
        assert_string_equal(one.messages, many.messages);
        assert_string_equal(one.counts, many.counts);
    }
}

/* Each thread reads what another of its program wrote, as often as its program's number. */
#define EXCHANGE(barrier)                                                                          \
    KERNEL("mov.u32 %r4, buf; shl.b32 %r5, %r1, 2; add.u32 %r6, %r4, %r5; xor.b32 %r7, %r5, 128; " \
           "add.u32 %r7, %r7, %r4; ld.global.u32 %r8, [%rd3]; mov.u32 %r9, 0;\n"                   \
           "L: st.shared.u32 [%r6], %r8;\n" barrier "ld.shared.u32 %r10, [%r7];\n" barrier         \
           "mad.lo.u32 %r8, %r10, 3, %r8; add.u32 %r9, %r9, 1; setp.le.u32 %p1, %r9, %r2; @%p1 "   \
           "bra L;\n"                                                                              \
           "st.global.u32 [%rd4], %r8;\n")

static void test_same_as_one_thread(void **state) {
    for (int schedule = SIM_ROUND_ROBIN; schedule <= SIM_ADVERSARIAL; schedule++) {
        SimLaunch launch = {.schedule = (SimSchedule)schedule, .seed = 11};
        check_same("exchange", EXCHANGE("bar.sync 0;\n"), launch, true);
        check_same("exchange without barriers", EXCHANGE(""), launch, false);
    }
    check_same("past the end",
               KERNEL("setp.lt.u32 %p1, %r2, 40; @%p1 bra L; add.s64 %rd4, %rd4, 4096; L: "
                      "st.global.u32 [%rd4], %r2;\n"),
               (SimLaunch){.grid = {0}}, false);
    check_same("several findings",
               KERNEL("st.global.u32 [%rd4], %r2; setp.ne.u32 %p1, %r2, 7; @%p1 bra A; "
                      "st.global.u32 [%rd4], %r20; A: setp.ne.u32 %p1, %r2, 5; @%p1 bra B; "
                      "ld.global.u32 %r4, [%rd1+-8]; B: setp.ne.u32 %p1, %r2, 41; @%p1 bra C; "
                      "trap; C:\n"),
               (SimLaunch){.grid = {0}}, false);
    check_same("programs that overlap",
               KERNEL("shl.b32 %r4, %r1, 2; cvt.u64.u32 %rd6, %r4; add.s64 %rd6, %rd2, %rd6; "
                      "st.global.u32 [%rd6], %r2;\n"),
               (SimLaunch){.grid = {0}}, false);
    check_same("a limit of steps",
               KERNEL("L: add.u32 %r4, %r3, 1; st.global.u32 [%rd4], %r4; bra L;\n"),
               (SimLaunch){.max_steps = 500}, false);
    check_same("clusters",
               KERNEL_OF(".reqnctapercluster 4",
                         "mov.u32 %r4, %cluster_ctarank; add.u32 %r5, %r4, 1; and.b32 %r5, %r5, 3; "
                         "mov.u32 %r6, buf; shl.b32 %r7, %r1, 2; add.u32 %r6, %r6, %r7; "
                         "st.shared.u32 [%r6], %r3; mapa.shared::cluster.u32 %r8, %r6, %r5;\n"
                         "barrier.cluster.arrive; barrier.cluster.wait; ld.shared::cluster.u32 "
                         "%r9, [%r8]; barrier.cluster.arrive; barrier.cluster.wait; st.global.u32 "
                         "[%rd4], %r9;\n"),
               (SimLaunch){.grid = {0}}, true);
}

/* Programs that depend on each other. */

#define TURN "setp.ne.u32 %p1, %r1, 0; @%p1 bra E;\n"

static uint32_t counted(uint32_t i) {
    return i ? 0 : WORDS;
}
static uint32_t locked(uint32_t i) {
    return i == 1 ? PROGRAMS * (PROGRAMS - 1) / 2 : 0;
}
static uint32_t chained(uint32_t i) {
    return i % THREADS == 0 ? i / THREADS + 1 : i % THREADS == 1 ? 3 * (i / THREADS) + 1 : 0;
}
static uint32_t swapped(uint32_t i) {
    return i == 0 || i == 2 ? WORDS : 0;
}
static uint32_t summed(uint32_t i) {
    /* as floats: every thread adds 1, 2 */
    return i == 0 ? 0x45400000 : i == 1 ? 0x45c00000 : 0;
}

static void check_signals(const char *name, const char *text, uint32_t (*expect)(uint32_t)) {
    static Result result;
    for (unsigned threads = 1; threads <= 4; threads++) {
        run(text, (SimLaunch){.max_steps = 50000000}, threads, &result);
        if (!result.ok)
            fail_msg("%s on %u threads: %s", name, threads, result.messages);
        for (uint32_t i = 0; i < WORDS; i++)
            if (result.y[i] != expect(i))
                fail_msg("%s on %u threads: word %u is %u, wanted %u", name, threads, i,
                         result.y[i], expect(i));
    }
}

static void test_signals(void **state) {
    check_signals("a counter", KERNEL("red.global.add.u32 [%rd2], 1;\n"), counted);
    check_signals("a lock",
                  KERNEL(TURN "L: atom.acquire.gpu.global.cas.b32 %r4, [%rd2], 0, 1; setp.ne.u32 "
                              "%p1, %r4, 0; @%p1 bra L;\n"
                              "ld.global.u32 %r5, [%rd2+4]; add.u32 %r5, %r5, %r2; st.global.u32 "
                              "[%rd2+4], %r5; st.release.gpu.global.u32 [%rd2], 0; E:\n"),
                  locked);
    check_signals("a chain of flags",
                  /* Each program waits for the one before it and reads what that left. */
                  KERNEL(TURN "mov.u32 %r5, 1; setp.eq.u32 %p2, %r2, 0; @%p2 bra W; L: "
                              "ld.acquire.gpu.global.u32 %r4, [%rd4+-256]; setp.ne.u32 %p1, %r4, "
                              "%r2; @%p1 bra L;\n"
                              "ld.global.u32 %r5, [%rd4+-252]; add.u32 %r5, %r5, 3; W: "
                              "st.global.u32 [%rd4+4], %r5; add.u32 %r6, %r2, 1; "
                              "st.release.gpu.global.u32 [%rd4], %r6; E:\n"),
                  chained);
    check_signals(
        "compare and swap of 128 bits",
        KERNEL("mov.u64 %rd6, 0; mov.u64 %rd7, 0;\n"
               "L: mov.b128 %q1, {%rd6, %rd7}; add.u64 %rd8, %rd6, 1; add.u64 %rd9, %rd7, 1; "
               "mov.b128 %q2, {%rd8, %rd9}; atom.global.cas.b128 %q3, [%rd2], %q1, %q2;\n"
               "mov.b128 {%rd8, %rd9}, %q3; setp.ne.u64 %p1, %rd8, %rd6; setp.ne.or.u64 %p1, "
               "%rd9, %rd7, %p1; mov.u64 %rd6, %rd8; mov.u64 %rd7, %rd9; @%p1 bra L;\n"),
        swapped);
    check_signals("sums of vectors",
                  KERNEL("mov.f32 %f1, 0f3f800000; mov.f32 %f2, 0f40000000; red.global.add.v2.f32 "
                         "[%rd2], {%f1, %f2};\n"),
                  summed);
}

/* Short launches and those that print stay on one thread, and every launch may ask for it. */
static void test_many_threads_for_few_programs(void **state) {
    static Result one, many;
    const char *text = KERNEL("st.global.u32 [%rd4], %r3;\n");
    run(text, (SimLaunch){.grid = {3}}, 1, &one);
    run(text, (SimLaunch){.grid = {3}}, 500, &many);
    assert_true(one.ok && many.ok);
    assert_memory_equal(one.y, many.y, sizeof one.y);
    run(text, (SimLaunch){.grid = {3}}, 0, &many);
    assert_memory_equal(one.y, many.y, sizeof one.y);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_one_thread),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_many_threads_for_few_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
