/* Divergence, calls, warp instructions, barriers, printf, matrices and counters: results against
 * what a thread alone, or a loop of the host, gives. */
#include "sim_test.h"

#include <string.h>

#define KERNEL(body)                                                                               \
    PTX_HEADER                                                                                     \
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"                       \
    ".global .align 1 .b8 format[9] = {37, 100, 58, 37, 46, 49, 102, 10};\n"                       \
    ".func (.param .b32 r) fact(.param .b32 n) { .reg .pred %p; .reg .b32 %a<5>;\n"                \
    "ld.param.b32 %a1, [n]; mov.u32 %a2, 1; setp.lt.u32 %p, %a1, 2; @%p bra E; sub.u32 %a3, "      \
    "%a1, 1;\n"                                                                                    \
    "{ .param .b32 in; .param .b32 out; st.param.b32 [in], %a3; call (out), fact, (in);\n"         \
    "ld.param.b32 %a2, [out]; } mul.lo.u32 %a2, %a2, %a1; E: st.param.b32 [r], %a2; ret; }\n"      \
    ".visible .entry k(.param .u64 y) {\n"                                                         \
    ".reg .pred %p<10>; .reg .b32 %r<40>; .reg .b64 %rd<9>; .local .align 8 .b8 depot[32];\n"      \
    ".shared .align 16 .b8 buf[1024];\n"                                                           \
    "ld.param.u64 %rd1, [y]; mov.u32 %r1, %tid.x; mov.u32 %r9, 0;\n"                               \
    "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd1, %rd2;\n" body                                  \
    "st.global.u32 [%rd2], %r9; ret; }\n"

static uint32_t collatz(uint32_t t) {
    uint32_t steps = 0;
    for (uint32_t n = t + 1; n != 1; steps++)
        n = n & 1 ? 3 * n + 1 : n / 2;
    return steps;
}
static uint32_t factorial(uint32_t t) {
    uint32_t f = 1;
    for (uint32_t i = 2; i <= t % 9; i++)
        f *= i;
    return f;
}
static uint32_t nested(uint32_t t) {
    return (t & 1 ? (t & 2 ? 3 : 2) : 1) + 100 * (0xffffffffu == 0xffffffffu);
}
static uint32_t butterfly(uint32_t t) {
    return 16 * (2 * (t & ~31u) + 31);
}
static uint32_t ballot(uint32_t t) {
    return 0x55555555;
}
static uint32_t matched(uint32_t t) {
    return 0x11111111u << (t & 3);
}
static uint32_t spin(uint32_t t) {
    return 32;
}
static uint32_t table_entry(uint32_t t) {
    static const uint32_t values[] = {10, 20, 30, 20};
    return values[t & 3];
}
static uint32_t reduced(uint32_t t) {
    return 21 + 1000;
}
static uint32_t early(uint32_t t) {
    return t < 8 ? 7 : 0;
}
static uint32_t produced(uint32_t t) {
    return t < 32 ? 0 : t - 32 + 5;
}
static uint32_t guarded_call(uint32_t t) {
    return t & 1 ? 24 : 1;
}

static const SimCase cases[] = {
    {"a loop of different lengths",
     KERNEL("add.u32 %r2, %r1, 1; L: setp.eq.u32 %p1, %r2, 1; @%p1 bra E; and.b32 %r3, %r2, 1; "
            "setp.eq.u32 %p2, %r3, 1;\n"
            "@%p2 bra O; shr.u32 %r2, %r2, 1; bra N; O: mad.lo.u32 %r2, %r2, 3, 1; N: add.u32 %r9, "
            "%r9, 1; bra L; E:\n"),
     collatz},
    {"recursion",
     KERNEL("rem.u32 %r2, %r1, 9; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call (b), "
            "fact, (a);\n"
            "ld.param.b32 %r9, [b]; }\n"),
     factorial},
    {"a guarded call",
     KERNEL("and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 1; { .param .b32 a; .param .b32 b; mov.u32 "
            "%r3, 4;\n"
            "st.param.b32 [a], %r3; st.param.b32 [b], 1; @%p1 call (b), fact, (a); ld.param.b32 "
            "%r9, [b]; }\n"),
     guarded_call},
    {"nested branches meet",
     KERNEL("and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; mov.u32 %r9, 1; @%p1 bra E; and.b32 "
            "%r3, %r1, 2;\n"
            "setp.eq.u32 %p2, %r3, 0; mov.u32 %r9, 2; @%p2 bra E; mov.u32 %r9, 3; E: "
            "activemask.b32 %r4;\n"
            "setp.eq.u32 %p3, %r4, -1; @%p3 add.u32 %r9, %r9, 100;\n"),
     nested},
    {"butterfly sum",
     KERNEL(
         "mov.u32 %r9, %r1;\n"
         "shfl.sync.bfly.b32 %r2, %r9, 1, 31, -1; add.u32 %r9, %r9, %r2; shfl.sync.bfly.b32 %r2, "
         "%r9, 2, 31, -1;\n"
         "add.u32 %r9, %r9, %r2; shfl.sync.bfly.b32 %r2, %r9, 4, 31, -1; add.u32 %r9, %r9, %r2;\n"
         "shfl.sync.bfly.b32 %r2, %r9, 8, 31, -1; add.u32 %r9, %r9, %r2; shfl.sync.bfly.b32 %r2, "
         "%r9, 16, 31, -1;\n"
         "add.u32 %r9, %r9, %r2;\n"),
     butterfly},
    {"ballot",
     KERNEL("and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; vote.sync.ballot.b32 %r9, %p1, -1;\n"),
     ballot},
    {"match", KERNEL("and.b32 %r2, %r1, 3; match.any.sync.b32 %r9, %r2, -1;\n"), matched},
    {"a lock within a warp",
     /* Each thread adds one under a lock; those that spin must not starve the one that holds it. */
     KERNEL("st.shared.u32 [buf], 0; st.shared.u32 [buf+4], 0; bar.sync 0; setp.gt.u32 %p5, %r1, "
            "31; @%p5 bra D;\n"
            "L: atom.shared.cas.b32 %r2, [buf], 0, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra L;\n"
            "atom.shared.add.u32 %r3, [buf+4], 1; atom.shared.exch.b32 %r4, [buf], 0; D:\n"
            "bar.sync 0; ld.shared.u32 %r9, [buf+4];\n"),
     spin},
    {"a branch by a table",
     KERNEL("and.b32 %r2, %r1, 3; T: .branchtargets A, B, C, B; brx.idx %r2, T; A: mov.u32 %r9, "
            "10; bra E;\n"
            "B: mov.u32 %r9, 20; bra E; C: mov.u32 %r9, 30; E:\n"),
     table_entry},
    {"barrier reductions",
     KERNEL("setp.lt.u32 %p1, %r1, 21; bar.red.popc.u32 %r9, 0, %p1; setp.lt.u32 %p2, %r1, 64; "
            "bar.red.and.pred %p3, 0, %p2;\n"
            "@%p3 add.u32 %r9, %r9, 1000;\n"),
     reduced},
    {"some exit", KERNEL("setp.gt.u32 %p1, %r1, 7; @%p1 exit; mov.u32 %r9, 7;\n"), early},
    {"arrive and sync",
     KERNEL("mul.lo.u32 %r3, %r1, 4; mov.u32 %r4, buf; add.u32 %r4, %r4, %r3; setp.gt.u32 %p1, "
            "%r1, 31; @%p1 bra C;\n"
            "add.u32 %r5, %r1, 5; st.shared.u32 [%r4], %r5; bar.arrive 2, 64; bra E;\n"
            "C: bar.sync 2, 64; ld.shared.u32 %r9, [%r4+-128]; E:\n"),
     produced},
};

static void test_results(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        sim_test_threads(&cases[i], (SimLaunch){0});
}

/* A warp polls two words in turn, which two other warps set. */
#define POLLS(loads)                                                                               \
    KERNEL("setp.eq.u32 %p3, %r1, 32; setp.eq.u32 %p4, %r1, 64; st.shared.u32 [buf], 0;\n"         \
           "st.shared.u32 [buf+4], 0; bar.sync 0; setp.ge.u32 %p1, %r1, 32; @%p1 bra S;\n"         \
           "L: " loads " and.b32 %r4, %r2, %r3; setp.eq.u32 %p2, %r4, 0; @%p2 bra L;\n"            \
           "mov.u32 %r9, 7; bra E;\n"                                                              \
           "S: @%p3 st.relaxed.cta.shared.u32 [buf], 1;\n"                                         \
           "@%p3 st.relaxed.gpu.global.u32 [%rd1+512], 1;\n"                                       \
           "@%p4 st.relaxed.cta.shared.u32 [buf+4], 1;\n"                                          \
           "@%p4 st.relaxed.gpu.global.u32 [%rd1+516], 1; E:\n")

/* Under no schedule does it keep them from that, whatever it stores meanwhile. */
static void test_polling(void **state) {
    enum { THREADS = 96, WORDS = 130 };
    static const char *const texts[] = {
        POLLS("ld.relaxed.cta.shared.u32 %r2, [buf]; ld.relaxed.cta.shared.u32 %r3, [buf+4];"),
        POLLS("ld.relaxed.gpu.global.u32 %r2, [%rd1+512]; ld.relaxed.gpu.global.u32 %r3, "
              "[%rd1+516]; st.global.u32 [%rd2], %r9;"),
        POLLS("atom.global.or.b32 %r2, [%rd1+512], 0; ld.volatile.global.u32 %r3, [%rd1+516]; "
              "st.shared.u32 [buf+8], 5;"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int schedule = SIM_ROUND_ROBIN; schedule <= SIM_ADVERSARIAL; schedule++) {
            uint32_t y[WORDS] = {0};
            SimTest test = sim_test_begin();
            assert_non_null(sim_test_parse(&test, texts[i]));
            SimLaunch launch = {.block = {THREADS},
                                .schedule = (SimSchedule)schedule,
                                .seed = 3,
                                .max_steps = 1000000};
            if (!sim_test_run(&test, launch, (SimArrayArg[]){{"y", y, sizeof y, NULL}}, 1))
                fail_msg("%zu, schedule %d: %s", i, schedule, sim_test_messages(&test));
            for (unsigned t = 0; t < THREADS; t++)
                assert_int_equal(y[t], t < 32 ? 7 : 0);
            sim_test_end(&test);
        }
}

static void test_printf(void **state) {
    uint32_t y[2];
    SimTest test = sim_test_begin();
    assert_non_null(sim_test_parse(
        &test, KERNEL("mov.u64 %rd3, depot; cvta.local.u64 %rd4, %rd3; st.local.u32 [depot], -7;\n"
                      "st.local.u64 [depot+8], 0d4004000000000000; mov.u64 %rd5, format; "
                      "cvta.global.u64 %rd5, %rd5;\n"
                      "{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd5; "
                      "st.param.b64 [a], %rd4;\n"
                      "call (r), vprintf, (f, a); ld.param.b32 %r9, [r]; }\n")));
    SimLaunch launch = {.block = {2}};
    assert_true(sim_test_run(&test, launch, (SimArrayArg[]){{"y", y, sizeof y, NULL}}, 1));
    assert_string_equal(test.output.ptr, "-7:2.5\n-7:2.5\n");
    sim_test_end(&test);
}

/* d = a b + c of m16n8k8 with tf32, fragments filled from the places that the PTX ISA's figures
 * give. */
static void test_mma(void **state) {
    uint32_t y[32 * 4];
    SimTest test = sim_test_begin();
    /* a[row][k] = row + 2 k, b[k][n] = k - n, c[row][n] = row n; all small integers, exact in tf32.
     */
    assert_non_null(sim_test_parse(
        &test,
        KERNEL(
            "shr.u32 %r2, %r1, 2; and.b32 %r3, %r1, 3; add.u32 %r4, %r2, 8; add.u32 %r5, %r3, 4;\n"
            "mad.lo.u32 %r10, %r3, 2, %r2; mad.lo.u32 %r11, %r3, 2, %r4; mad.lo.u32 %r12, %r5, 2, "
            "%r2;\n"
            "mad.lo.u32 %r13, %r5, 2, %r4; sub.u32 %r14, %r3, %r2; sub.u32 %r15, %r5, %r2;\n"
            "shl.b32 %r6, %r3, 1; add.u32 %r7, %r6, 1; mul.lo.u32 %r16, %r2, %r6; mul.lo.u32 %r17, "
            "%r2, %r7;\n"
            "mul.lo.u32 %r18, %r4, %r6; mul.lo.u32 %r19, %r4, %r7; cvt.rn.f32.s32 %r10, %r10;\n"
            "cvt.rn.f32.s32 %r11, %r11; cvt.rn.f32.s32 %r12, %r12; cvt.rn.f32.s32 %r13, %r13;\n"
            "cvt.rn.f32.s32 %r14, %r14; cvt.rn.f32.s32 %r15, %r15; cvt.rn.f32.s32 %r16, %r16;\n"
            "cvt.rn.f32.s32 %r17, %r17; cvt.rn.f32.s32 %r18, %r18; cvt.rn.f32.s32 %r19, %r19;\n"
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r16,%r17,%r18,%r19},\n"
            "{%r10,%r11,%r12,%r13}, {%r14,%r15}, {%r16,%r17,%r18,%r19};\n"
            "mul.wide.u32 %rd2, %r1, 16; add.s64 %rd2, %rd1, %rd2; mov.u32 %r9, %r16;\n"
            "st.global.v4.u32 [%rd2], {%r16,%r17,%r18,%r19};\n")));
    assert_true(sim_test_run(&test, (SimLaunch){.block = {32}},
                             (SimArrayArg[]){{"y", y, sizeof y, NULL}}, 1));
    for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < 4; i++) {
            int row = lane / 4 + 8 * (i / 2), n = lane % 4 * 2 + i % 2, sum = row * n;
            for (int k = 0; k < 8; k++)
                sum += (row + 2 * k) * (k - n);
            float got;
            memcpy(&got, &y[4 * lane + i], 4);
            assert_true(got == (float)sum);
        }
    }
    sim_test_end(&test);
}

/* Element (row, column) of a matrix is its number; ldmatrix gives each lane two of a row, with
 * .trans of a column. */
static void test_ldmatrix(void **state) {
    for (int trans = 0; trans < 2; trans++) {
        uint32_t y[32];
        SimTest test = sim_test_begin();
        static const char *const texts[] = {
            KERNEL("mad.lo.u32 %r2, %r1, 0x00020002, 0x00010000; shl.b32 %r3, %r1, 2; mov.u32 %r4, "
                   "buf;\n"
                   "add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], %r2; bar.warp.sync -1; and.b32 "
                   "%r5, %r1, 7;\n"
                   "mad.lo.u32 %r5, %r5, 16, %r4; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r9}, "
                   "[%r5];\n"),
            KERNEL("mad.lo.u32 %r2, %r1, 0x00020002, 0x00010000; shl.b32 %r3, %r1, 2; mov.u32 %r4, "
                   "buf;\n"
                   "add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], %r2; bar.warp.sync -1; and.b32 "
                   "%r5, %r1, 7;\n"
                   "mad.lo.u32 %r5, %r5, 16, %r4; ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 "
                   "{%r9}, [%r5];\n"),
        };
        assert_non_null(sim_test_parse(&test, texts[trans]));
        if (!sim_test_run(&test, (SimLaunch){.block = {32}},
                          (SimArrayArg[]){{"y", y, sizeof y, NULL}}, 1))
            fail_msg("%s", sim_test_messages(&test));
        for (uint32_t lane = 0; lane < 32; lane++)
            for (uint32_t half = 0; half < 2; half++) {
                uint32_t row = lane / 4, column = lane % 4 * 2 + half;
                uint32_t want = trans ? column * 8 + row : row * 8 + column;
                assert_int_equal(y[lane] >> (16 * half) & 0xffff, want);
            }
        sim_test_end(&test);
    }
}

/* Counts of an access pattern that is known: every second word, so 8 sectors for 4; and a bank
 * conflict of 32. */
static void test_counters(void **state) {
    uint32_t y[96];
    SimTest test = sim_test_begin();
    assert_non_null(sim_test_parse(
        &test,
        KERNEL(
            "mul.wide.u32 %rd3, %r1, 8; add.s64 %rd3, %rd1, %rd3; st.global.u32 [%rd3+128], %r1;\n"
            "and.b32 %r2, %r1, 7; shl.b32 %r2, %r2, 7; mov.u32 %r3, buf; add.u32 %r3, %r3, %r2;\n"
            "st.shared.u32 [%r3], 1; bra E; E:\n")));
    assert_true(sim_test_run(&test, (SimLaunch){.block = {32}},
                             (SimArrayArg[]){{"y", y, sizeof y, NULL}}, 1));
    StrBuf json = strbuf(&test.ctx->arena);
    sim_json_counts(test.module, test.counts, &json);
    assert_non_null(strstr(json.ptr, "\"requests\": 1, \"sectors\": 8, \"ideal_sectors\": 4"));
    assert_non_null(strstr(json.ptr, "\"wavefronts\": 8, \"ideal_wavefronts\": 1"));
    sim_test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),  cmocka_unit_test(test_polling),
        cmocka_unit_test(test_printf),   cmocka_unit_test(test_mma),
        cmocka_unit_test(test_ldmatrix), cmocka_unit_test(test_counters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
