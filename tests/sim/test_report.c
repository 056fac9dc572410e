/* Sums of a report: registers that live at once, bytes touched, tensor-core work, occupancy. The
 * expected numbers are counted by hand from the texts. */
#include "sim_test.h"

#include "sim/parse/module.h"
#include "sim/report/live.h"
#include "sim/report/report.h"
#include "target/target.h"

#define DECLARE                                                                                    \
    ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<99>; .reg .b64 %rd<9>; .reg .b128 %q<3>;\n"
#define KERNEL(body) PTX_HEADER ".visible .entry k() .reqntid 32,1,1 {" DECLARE body "}\n"

static uint32_t live(SimTest *test, const char *text) {
    if (!sim_test_parse(test, text))
        fail_msg("%s", sim_test_messages(test));
    const SimModule *module = test->module;
    vec_for_each (func, &module->funcs)
        if ((*func)->is_entry)
            return live_registers(module, *func, &test->ctx->scratch);
    return UINT32_MAX;
}

static void test_live(void **state) {
    static const struct {
        const char *text;
        uint32_t registers;
    } cases[] = {
        {KERNEL("ret;"), 0},
        /* A dead value still has a place while it is written. */
        {KERNEL("mov.u32 %r1, 1; ret;"), 1},
        {KERNEL("mov.u32 %r1, 1; mov.u32 %r2, 2; add.u32 %r3, %r1, %r2; ret;"), 2},
        {KERNEL("mov.u64 %rd1, 1; mov.u64 %rd2, 2; add.u64 %rd3, %rd1, %rd2; ret;"), 4},
        {KERNEL("mov.b16 %h1, 1; mov.b32 %r1, {%h1, %h1}; ret;"), 1},
        /* Predicates have registers of their own. */
        {KERNEL("setp.eq.u32 %p1, 1, 2; setp.eq.u32 %p2, 1, 2; and.pred %p3, %p1, %p2; ret;"), 0},
        /* Around a loop both the counter and the sum live, and the bound that is read in it. */
        {KERNEL("mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 9;\n"
                "L: add.u32 %r2, %r2, %r1; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r3; @%p1 "
                "bra L; ret;"),
         3},
        /* A guarded write leaves the old value to threads that do not write. */
        {KERNEL("mov.u32 %r1, 1; setp.eq.u32 %p1, 1, 2; mov.u32 %r2, 5; @%p1 mov.u32 %r1, 2;\n"
                "add.u32 %r3, %r1, %r2; ret;"),
         2},
        /* A vector, its address, and nothing for what is not used. */
        {KERNEL(
             "mov.u64 %rd1, 0; ld.global.v4.u32 {%r1, %r2, %r3, _}, [%rd1]; add.u32 %r4, %r1, %r2;"
             " add.u32 %r4, %r4, %r3; ret;"),
         3},
        /* What lives across a call, and what the callee needs besides. */
        {PTX_HEADER ".func (.reg .b32 %o) f(.reg .b32 %i) { .reg .b32 %a<3>; add.u32 %a1, %i, 1; "
                    "add.u32 %a2, %i, 2; add.u32 %o, %a1, %a2; ret; }\n"
                    ".visible .entry k() {" DECLARE
                    "mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r3, 3; call (%r4), f, (%r1);\n"
                    "add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; ret; }",
         5},
        /* A function that calls itself counts once. */
        {PTX_HEADER ".func f(.reg .b32 %i) { .reg .b32 %a<3>; add.u32 %a1, %i, 1; call f, (%a1); "
                    "ret; }\n.visible .entry k() {" DECLARE "call f, (7); ret; }",
         1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SimTest test = sim_test_begin();
        uint32_t found = live(&test, cases[i].text);
        if (found != cases[i].registers)
            fail_msg("case %zu: %u registers, not %u:\n%s", i, found, cases[i].registers,
                     cases[i].text);
        sim_test_end(&test);
    }
}

/* Machines that share a launch see one allocation: a byte that both touch is one byte. */
static void test_counts_add(void **state) {
    SimTest test = sim_test_begin();
    SimCounts *all = counts_create(&test.ctx->arena, &test.ctx->scratch, 2, 2);
    SimCounts *part = counts_create(&test.ctx->arena, &test.ctx->scratch, 2, 2);
    count_bytes(all, 0, 0, 1000, 60, 8, true, false);
    count_bytes(part, 0, 0, 1000, 64, 8, true, false);
    count_bytes(part, 1, 1, 300, 0, 300, true, true);
    count_tensor(part, TYPE_f16, 4096);
    all->insns[1].threads = 5;
    part->insns[1].threads = 7;
    part->barrier_waits = 3;
    counts_add(all, part);
    counts_finish(all);
    assert_int_equal(all->distinct_read, 312);
    assert_int_equal(all->distinct_written, 300);
    assert_int_equal(all->insns[1].threads, 12);
    assert_true(all->insns[1].writes && !all->insns[0].writes);
    assert_int_equal(all->barrier_waits, 3);
    assert_int_equal(all->multiply_adds[TYPE_f16], 4096);
    sim_test_end(&test);
}

static void test_totals(void **state) {
    uint32_t y[32];
    SimTest test = sim_test_begin();
    assert_non_null(sim_test_parse(
        &test,
        PTX_HEADER ".visible .entry k(.param .u64 y) .reqntid 32,1,1 {" DECLARE
                   "mov.u32 %r1, 0; ld.param.u64 %rd1, [y];\n"
                   "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r2,%r3,%r4,%r5}, "
                   "{%r1,%r1,%r1,%r1}, {%r1,%r1}, {%r1,%r1,%r1,%r1};\n"
                   "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r2,%r3,%r4,%r5}, "
                   "{%r1,%r1,%r1,%r1}, {%r1,%r1}, {%r2,%r3,%r4,%r5};\n"
                   "atom.global.add.u32 %r6, [%rd1], 1; red.global.add.u32 [%rd1+4], 1; ret; }"));
    memset(y, 0, sizeof y);
    assert_true(sim_test_run(&test, (SimLaunch){.grid = {3, 1, 1}},
                             (SimArrayArg[]){{"y", y, sizeof y, NULL}}, 1));
    assert_int_equal(y[0], 96);
    assert_int_equal(test.counts->multiply_adds[TYPE_f16], 3 * 16 * 8 * 16);
    assert_int_equal(test.counts->multiply_adds[TYPE_tf32], 3 * 16 * 8 * 8);
    Totals totals = report_totals(test.module, test.counts);
    assert_int_equal(totals.multiply_adds, 3 * 16 * 8 * 24);
    /* An atomic access moves its bytes both ways. */
    assert_int_equal(totals.read.distinct, 8);
    assert_int_equal(totals.written.distinct, 8);
    assert_int_equal(totals.read.moved, 6 * 32);
    assert_int_equal(totals.written.moved, 6 * 32);
    assert_int_equal(totals.classes[CLASS_TENSOR], 2 * 96);
    assert_int_equal(totals.classes[CLASS_PARAM], 96);
    assert_true(totals.registers_estimated);
    assert_int_equal(sim_thread_instructions(test.counts), 7 * 96);
    /* 168 registers a thread: 12 warps of one CTA each. */
    sim_set_registers(test.counts, 168);
    totals = report_totals(test.module, test.counts);
    assert_false(totals.registers_estimated);
    assert_int_equal(totals.registers, 168);
    assert_int_equal(totals.occupancy.ctas, 12);
    assert_int_equal(totals.occupancy.limit, OCCUPANCY_REGISTERS);
    sim_test_end(&test);
}

/* A copy of which nothing is read fills shared memory with zeros: it uses no byte of global memory,
 * however large it would be. */
static void test_copy_of_nothing(void **state) {
    uint32_t x[128] = {0};
    SimTest test = sim_test_begin();
    assert_non_null(sim_test_parse(
        &test, PTX_HEADER ".visible .entry k(.param .u64 x) .reqntid 32,1,1 {" DECLARE
                          ".shared .align 16 .b8 kept[512];\n"
                          "ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mov.u32 %r2, kept;\n"
                          "mad.lo.u32 %r3, %r1, 16, %r2; mul.wide.u32 %rd2, %r1, 16;\n"
                          "add.u64 %rd3, %rd1, %rd2; mov.u32 %r4, %ctaid.x; shl.b32 %r4, %r4, 4;\n"
                          "cp.async.cg.shared.global [%r3], [%rd3], 16, %r4;\n"
                          "cp.async.commit_group; cp.async.wait_group 0; ret; }"));
    assert_true(sim_test_run(&test, (SimLaunch){.grid = {2, 1, 1}},
                             (SimArrayArg[]){{"x", x, sizeof x, NULL}}, 1));
    const Totals totals = report_totals(test.module, test.counts);
    assert_int_equal(totals.read.moved, 512); /* of the second program */
    assert_int_equal(totals.read.used, 512);
    assert_int_equal(totals.read.distinct, 512);
    assert_int_equal(totals.sum.wavefronts, 8);
    sim_test_end(&test);
}

/* A bulk copy is one request, and moves a sector once though it comes in pieces. */
static void test_stream(void **state) {
    InsnCounts counts = {0};
    StreamCount stream = {0};
    for (unsigned i = 0; i < 64; i++)
        count_stream(&counts, &stream, 0x1000 + 16 * i, 16);
    assert_int_equal(counts.requests, 1);
    assert_int_equal(counts.sectors, 32);
    assert_int_equal(counts.ideal_sectors, 32);
    assert_int_equal(counts.bytes_used, 1024);
    /* Rows of 16 bytes, 128 apart, from the middle of a sector: each has a sector of its own. */
    stream = (StreamCount){0};
    for (unsigned i = 0; i < 8; i++)
        count_stream(&counts, &stream, 0x2010 + 128 * i, 16);
    assert_int_equal(counts.requests, 2);
    assert_int_equal(counts.sectors, 32 + 8);
    assert_int_equal(counts.ideal_sectors, 32 + 4);
}

/* What limits the CTAs of an SM, by the tables of the CUDA C++ programming guide. */
static void test_occupancy(void **state) {
    static const struct {
        const char *target;
        int registers, threads, shared, ctas, warps;
        OccupancyLimit limit;
    } cases[] = {
        {"sm_80", 32, 32, 0, 32, 32, OCCUPANCY_CTAS},
        {"sm_86", 32, 32, 0, 16, 16, OCCUPANCY_CTAS},
        {"sm_87", 32, 32, 0, 16, 16, OCCUPANCY_CTAS},
        {"sm_87", 32, 128, 50000, 3, 12, OCCUPANCY_SHARED},
        {"sm_89", 32, 32, 0, 24, 24, OCCUPANCY_CTAS},
        {"sm_86", 16, 512, 0, 3, 48, OCCUPANCY_THREADS},
        {"sm_90a", 32, 1024, 0, 2, 64, OCCUPANCY_THREADS},
        {"sm_90a", 128, 256, 0, 2, 16, OCCUPANCY_REGISTERS},
        {"sm_100a", 255, 512, 0, 0, 0, OCCUPANCY_REGISTERS},
        {"sm_120a", 32, 128, 50000, 2, 8, OCCUPANCY_SHARED},
        {"sm_103a", 32, 32, 0, 32, 32, OCCUPANCY_CTAS},
        {"sm_103a", 32, 128, 116000, 1, 4, OCCUPANCY_SHARED},
        {"sm_121a", 32, 32, 0, 24, 24, OCCUPANCY_CTAS},
        {"sm_121a", 32, 512, 0, 3, 48, OCCUPANCY_THREADS},
        {"sm_80", 32, 128, 166912, 1, 4, OCCUPANCY_SHARED},
        {"sm_90", 0, 128, 0, 16, 64, OCCUPANCY_THREADS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Target *target = target_by_name(str_from(cases[i].target));
        assert_non_null(target);
        Occupancy found =
            target_occupancy(target, cases[i].registers, cases[i].threads, cases[i].shared);
        if (found.ctas != cases[i].ctas || found.warps != cases[i].warps ||
            found.limit != cases[i].limit)
            fail_msg("case %zu: %d CTAs, %d warps, limited by %s", i, found.ctas, found.warps,
                     occupancy_limit_name(found.limit));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_live),      cmocka_unit_test(test_counts_add),
        cmocka_unit_test(test_totals),    cmocka_unit_test(test_stream),
        cmocka_unit_test(test_occupancy), cmocka_unit_test(test_copy_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
