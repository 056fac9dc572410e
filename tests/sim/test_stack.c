/* What alloca gives a thread: its own, as large as it asked for, until the function returns. */
#include "sim_test.h"

#include <string.h>

#define KERNEL(functions, body)                                                                    \
    PTX_HEADER functions                                                                           \
        ".visible .entry k(.param .u64 y) { .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 "         \
        "%rd<9>;\n"                                                                                \
        "ld.param.u64 %rd1, [y]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;\n"                \
        "add.s64 %rd1, %rd1, %rd2; cvt.u64.u32 %rd3, %r1; mul.lo.u64 %rd3, %rd3, 8;\n"             \
        "add.s64 %rd3, %rd3, 8;\n" body " ret; }\n"

static void run(const char *text, uint32_t *y, bool sound, DiagId wanted) {
    SimTest test = sim_test_begin();
    if (!sim_test_parse(&test, text))
        fail_msg("%s", sim_test_messages(&test));
    bool ok = sim_test_run(&test, (SimLaunch){.block = {32}},
                           (SimArrayArg[]){{"y", y, 32 * sizeof *y, NULL}}, 1);
    if (ok != sound || (!sound && !sim_test_has(&test, wanted)))
        fail_msg("%s\n%s", text, sim_test_messages(&test));
    sim_test_end(&test);
}

/* Threads ask for different sizes, write both ends of theirs, and keep what they wrote. */
static void test_own(void **state) {
    uint32_t y[32];
    run(KERNEL("",
               "alloca.u64 %rd4, %rd3, 16; st.local.u32 [%rd4], 1000; add.s64 %rd5, %rd4, %rd3;\n"
               "st.local.u32 [%rd5+-4], %r1; alloca.u64 %rd6, 64; st.local.u32 [%rd6], 7;\n"
               "cvta.local.u64 %rd4, %rd4; ld.u32 %r2, [%rd4]; ld.local.u32 %r3, [%rd5+-4];\n"
               "ld.local.u32 %r4, [%rd6]; add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4;\n"
               "st.global.u32 [%rd1], %r2;"),
        y, true, DIAG_COUNT);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(y[i], 1007 + i);
}

/* A loop that gives back what it took may run any number of times; so may one that calls. */
static void test_given_back(void **state) {
    uint32_t y[32];
    run(KERNEL("", "mov.u32 %r2, 0; L: stacksave.u64 %rd4; alloca.u64 %rd5, 1000; st.local.u32 "
                   "[%rd5], %r2;\n"
                   "stackrestore.u64 %rd4; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 500;\n"
                   "@%p1 bra L; st.global.u32 [%rd1], %r2;"),
        y, true, DIAG_COUNT);
    assert_int_equal(y[31], 500);
    run(KERNEL(".func f(.reg .b64 size) { .reg .b64 %a<3>; alloca.u64 %a1, size; st.local.u32 "
               "[%a1], 3; ret; }\n",
               "mov.u32 %r2, 0; L: call f, (%rd3); add.u32 %r2, %r2, 1;\n"
               "setp.lt.u32 %p1, %r2, 2000; @%p1 bra L; st.global.u32 [%rd1], %r2;"),
        y, true, DIAG_COUNT);
    assert_int_equal(y[31], 2000);
}

static void test_findings(void **state) {
    uint32_t y[32];
    /* Behind its end; thread 1 has more than thread 0. */
    run(KERNEL("", "alloca.u64 %rd4, %rd3; st.local.u32 [%rd4+12], 1;"), y, false,
        DIAG_sim_local_bounds);
    /* Kept longer than the function ran. */
    run(KERNEL(".func (.reg .b64 r) f() { alloca.u64 r, 16; ret; }\n",
               "call (%rd4), f, (); st.local.u32 [%rd4], 1;"),
        y, false, DIAG_sim_local_bounds);
    run(KERNEL("", "alloca.u64 %rd4, 16; ld.local.u32 %r2, [%rd4]; st.global.u32 [%rd1], %r2;"), y,
        false, DIAG_sim_undefined);
    run(KERNEL("", "alloca.u64 %rd4, 1000000;"), y, false, DIAG_sim_stack);
    run(KERNEL("", "alloca.u64 %rd4, -1;"), y, false, DIAG_sim_stack);
    run(KERNEL("", "stacksave.u64 %rd4; add.s64 %rd4, %rd4, 8; stackrestore.u64 %rd4;"), y, false,
        DIAG_sim_stack_restore);
    run(KERNEL("", "stackrestore.u64 3;"), y, false, DIAG_sim_stack_restore);
    run(KERNEL("", "alloca.u64 %rd4, %rd8;"), y, false, DIAG_sim_undefined);
}

/* A pointer to no function, and to one with other parameters. */
static void test_indirect_calls(void **state) {
    uint32_t y[32];
    run(KERNEL(".func f(.param .b32 a) { ret; }\n",
               "mov.u64 %rd4, f; mov.u64 %rd5, 0; setp.eq.u32 %p1, %r1, 9; selp.b64 %rd4, %rd5, "
               "%rd4, %p1;\n"
               "p: .callprototype _ (.param .b32 _); { .param .b32 a; st.param.b32 [a], 1; call "
               "%rd4, (a), p; }"),
        y, false, DIAG_sim_call_target);
    run(KERNEL(".func f(.param .b32 a) { ret; }\n",
               "mov.u64 %rd4, f; p: .callprototype _ (); call %rd4, (), p;"),
        y, false, DIAG_sim_call_shape);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_given_back),
        cmocka_unit_test(test_findings),
        cmocka_unit_test(test_indirect_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
