/* The clock: what must take longer takes longer, figures come from the table of machines, and a
 * prediction leaves results as a launch does. */
#include "sim_test.h"

#include "target/machine.h"

#include <math.h>

enum { WORDS = 1 << 22, THREADS = 128 };

#define DECLARE                                                                                    \
    ".reg .pred %p<9>; .reg .b32 %r<99>; .reg .b64 %rd<9>; .reg .f32 %f<9>;\n"                     \
    ".shared .align 16 .b8 s[4096];\n"
/* rd3: the thread's word of an array of as many words as the launch has threads; r1: the thread. */
#define KERNEL_FOR(target, body)                                                                   \
    ".version 8.6\n.target " target "\n.address_size 64\n"                                         \
    ".visible .entry k(.param .u64 a) .reqntid 128,1,1 {" DECLARE                                  \
    "ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"                        \
    "mad.lo.u32 %r3, %r2, 128, %r1; mul.wide.u32 %rd2, %r3, 4; add.u64 %rd3, %rd1, %rd2;\n"        \
    "mov.f32 %f1, 0f3F800000; mov.u32 %r4, 0;\n" body "ret; }\n"
#define KERNEL(body) KERNEL_FOR("sm_90a", body)
#define TWICE(text) text text
#define TIMES_8(text) TWICE(TWICE(TWICE(text)))
#define TIMES_64(text) TIMES_8(TIMES_8(text))
/* The thread's word, once the load before is there. */
#define LOAD_NEXT(load)                                                                            \
    load " %r5, [%rd3]; and.b32 %r6, %r5, 0; cvt.u64.u32 %rd4, %r6; add.u64 %rd3, %rd3, %rd4; "
#define STORE "st.global.f32 [%rd3], %f1; "

static uint32_t words[WORDS];

static SimTime predict(const char *text, uint32_t programs, SimTimeOptions options) {
    SimTest test = sim_test_begin();
    SimMemory *memory = sim_memory_create(test.ctx);
    uint64_t address = sim_map(memory, STR("a"), words, sizeof words, NULL, false);
    const void *params[] = {&address};
    SimLaunch launch = {
        .grid = {programs, 1, 1}, .block = {THREADS, 1, 1}, .params = params, .param_count = 1};
    SimTime time = {0};
    memset(words, 0, sizeof words);
    if (!sim_test_parse(&test, text) ||
        !sim_predict(test.module, memory, &launch, &options, &time) || test.ctx->diags.errors)
        fail_msg("%s", sim_test_messages(&test));
    sim_test_end(&test);
    return time;
}

static double time_of(const char *text, uint32_t programs) {
    return predict(text, programs, (SimTimeOptions){.registers = 32}).us;
}

/* The faster of two kernels, and what takes longer. */
static void test_order(void **state) {
    static const struct {
        const char *what, *faster, *slower;
    } cases[] = {
        {"more instructions", KERNEL(TIMES_64("fma.rn.f32 %f2, %f1, %f1, %f1; ") STORE),
         KERNEL(TWICE(TIMES_64("fma.rn.f32 %f2, %f1, %f1, %f1; ")) STORE)},
        {"that depend on each other", KERNEL(TIMES_64("fma.rn.f32 %f2, %f1, %f1, %f1; ") STORE),
         KERNEL(TIMES_64("fma.rn.f32 %f1, %f1, %f1, %f1; ") STORE)},
        {"loads that L1 does not serve", KERNEL(TIMES_8(LOAD_NEXT("ld.global.u32")) STORE),
         KERNEL(TIMES_8(LOAD_NEXT("ld.global.cv.u32")) STORE)},
        {"of a unit of lower rate", KERNEL(TIMES_64("fma.rn.f32 %f2, %f1, %f1, %f1; ") STORE),
         KERNEL(TIMES_64("ex2.approx.ftz.f32 %f2, %f1; ") STORE)},
        {"that become several",
         KERNEL(TIMES_64("add.u32 %r5, %r1, %r2; ") "st.global.u32 [%rd3], %r5;"),
         KERNEL(TIMES_64("div.u32 %r5, %r1, %r2; ") "st.global.u32 [%rd3], %r5;")},
        {"a loop that runs longer",
         KERNEL("L: add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 50; @%p1 bra L; " STORE),
         KERNEL("L: add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 60; @%p1 bra L; " STORE)},
        {"more barriers", KERNEL("bar.sync 0; " STORE), KERNEL(TIMES_8("bar.sync 0; ") STORE)},
        {"scattered sectors", KERNEL(STORE),
         KERNEL("mul.wide.u32 %rd4, %r3, 64; add.u64 %rd5, %rd1, %rd4; st.global.f32 [%rd5], "
                "%f1;")},
        {"bank conflicts",
         KERNEL("mov.u32 %r5, s; shl.b32 %r6, %r1, 2; add.u32 %r5, %r5, %r6; " TIMES_64(
             "st.shared.u32 [%r5], %r1; ")),
         KERNEL("mov.u32 %r5, s; shl.b32 %r6, %r1, 7; and.b32 %r6, %r6, 4095; add.u32 %r5, %r5, "
                "%r6; and.b32 %r7, %r1, 31; setp.eq.u32 %p1, %r7, %r1; @%p1 " TIMES_64(
                    "st.shared.u32 [%r5], %r4; "))},
        {"loads that wait for each other",
         KERNEL("ld.global.u32 %r5, [%rd3]; ld.global.u32 %r6, [%rd3+4096]; add.u32 %r7, %r5, %r6; "
                "st.global.u32 [%rd3], %r7;"),
         KERNEL("ld.global.u32 %r5, [%rd3]; cvt.u64.u32 %rd4, %r5; add.u64 %rd5, %rd3, %rd4; "
                "ld.global.u32 %r6, [%rd5+4096]; add.u32 %r7, %r5, %r6; st.global.u32 [%rd3], "
                "%r7;")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double faster = time_of(cases[i].faster, 1056), slower = time_of(cases[i].slower, 1056);
        if (!(slower > faster))
            fail_msg("%s: %f is not longer than %f us", cases[i].what, slower, faster);
    }
}

static void test_grid(void **state) {
    const char *text = KERNEL(TIMES_64("fma.rn.f32 %f1, %f1, %f1, %f1; ") STORE);
    double before = 0;
    for (uint32_t programs = 1; programs <= 1 << 15; programs *= 8) {
        double us = time_of(text, programs);
        assert_true(us >= before);
        before = us;
    }
    assert_true(before > 2 * time_of(text, 1));
}

/* Fewer CTAs of an SM, and spills. */
static void test_occupancy(void **state) {
    const char *text = KERNEL(TIMES_64("fma.rn.f32 %f1, %f1, %f1, %f1; ") STORE);
    SimTime many = predict(text, 8192, (SimTimeOptions){.registers = 32});
    SimTime few = predict(text, 8192, (SimTimeOptions){.registers = 255});
    SimTime spilled = predict(text, 8192, (SimTimeOptions){.registers = 255, .spilled = 4096});
    assert_true(few.ctas_per_sm < many.ctas_per_sm);
    assert_true(few.us > many.us);
    assert_true(spilled.us > few.us);
}

/* The parts of a launch's time add up to it, and it is no less than what an empty launch and any of
 * the least times take. */
static void check_parts(const SimTime *time) {
    const SimParts *parts = &time->parts;
    const double sum = parts->launch + parts->longest + parts->beside + parts->uneven + parts->code;
    const double bounds[] = {time->latency_us, time->unit_us, time->l2_us, time->dram_us};
    const char *name = NULL;
    assert_true(fabs(sum - time->us) < 1e-6);
    assert_true(parts->beside >= 0 && parts->uneven >= 0 && parts->code >= 0);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        assert_true(time->us >= parts->launch + bounds[i] - 1e-6);
    assert_true(fabs(sim_longest(time, &name) - parts->longest) < 1e-6 && name);
}

/* Without nothing the launch takes what it takes, without everything what an empty one does, and
 * in between the less the more is saved. */
static void check_savings(const SimTime *time, uint32_t insns) {
    SimSaving saving = {0};
    double before = sim_time_without(time, &saving).us;
    assert_true(before > time->us - 1e-6 && before < time->us + 1e-6);
    for (int step = 0; step < 2; step++) {
        saving.clocks += time->cta_clocks / 2;
        for (unsigned unit = 0; unit < SIM_UNITS; unit++)
            for (uint32_t pc = 0; pc < insns; pc++)
                saving.units.clocks[unit] += time->units[pc].clocks[unit] / 2;
        const SimTime after = sim_time_without(time, &saving);
        assert_true(after.us < before);
        check_parts(&after);
        before = after.us;
    }
    saving = (SimSaving){.clocks = 1e9, .sectors = 1};
    for (unsigned unit = 0; unit < SIM_UNITS; unit++)
        saving.units.clocks[unit] = 1e9;
    assert_true(sim_time_without(time, &saving).us < before + 1e-6);
    /* What tensor cores do instead takes as long as they take. */
    saving.tensor = 4 * time->cta_clocks + 4 * time->program_clocks;
    const SimTime instead = sim_time_without(time, &saving);
    assert_true(instead.us > time->us && instead.latency_us > time->latency_us);
}

static bool begins(const SimModule *module, uint32_t number, const char *name) {
    const Str text = sim_insn(module, number).text;
    return text.len >= strlen(name) && !memcmp(text.ptr, name, strlen(name));
}

/* Clocks that the instruction which begins with `name` waits for the one which begins with `maker`,
 * NULL: for any; together no more than it waits. */
static double waits_in(const SimModule *module, const SimTime *time, const char *name,
                       const char *maker) {
    double found = 0, all = 0, most = 0;
    for (uint32_t i = 0; i < time->wait_count; i++) {
        const SimWait *wait = &time->waits[i];
        if (!begins(module, wait->insn, name))
            continue;
        all += wait->clocks;
        found += !maker || begins(module, wait->maker, maker) ? wait->clocks : 0;
    }
    for (uint32_t i = 0; i < sim_insn_count(module); i++)
        most += begins(module, i, name) ? time->spent[i].waits : 0;
    assert_true(all <= most + 1e-6);
    return found;
}

/* What the instruction that begins with `name` takes; what all take is the life of a warp, or what
 * its program's units are busy if that is longer. `maker`: who makes it wait so long as `waits`
 * says then; NULL: anybody. */
static SimSpent spent_for(const char *text, const char *name, const char *maker, double *waits) {
    SimTest test = sim_test_begin();
    SimMemory *memory = sim_memory_create(test.ctx);
    uint64_t address = sim_map(memory, STR("a"), words, sizeof words, NULL, false);
    const void *params[] = {&address};
    const SimTimeOptions options = {.registers = 32, .spent = true};
    SimLaunch launch = {
        .grid = {8, 1, 1}, .block = {THREADS, 1, 1}, .params = params, .param_count = 1};
    SimTime time = {0};
    SimSpent found = {0};
    double all = 0;
    memset(words, 0, sizeof words);
    if (!sim_test_parse(&test, text) ||
        !sim_predict(test.module, memory, &launch, &options, &time) || !time.spent)
        fail_msg("%s", sim_test_messages(&test));
    for (uint32_t i = 0; i < sim_insn_count(test.module); i++) {
        all += time.spent[i].cycles;
        assert_true(time.spent[i].waits + time.spent[i].queued <= time.spent[i].cycles + 1e-6);
        if (begins(test.module, i, name))
            found = time.spent[i];
    }
    if (!(all > time.program_clocks - 1 && all < time.program_clocks + 1))
        fail_msg("instructions take %f clocks, the program %f", all, time.program_clocks);
    check_parts(&time);
    check_savings(&time, sim_insn_count(test.module));
    *waits = waits_in(test.module, &time, name, maker);
    sim_test_end(&test);
    return found;
}

static SimSpent spent_at(const char *text, const char *name) {
    double waits;
    return spent_for(text, name, NULL, &waits);
}

static double waits_at(const char *text, const char *name, const char *maker) {
    double waits;
    spent_for(text, name, maker, &waits);
    return waits;
}

/* For whom: who makes an operand, copies, or ends a phase. */
static void test_waits(void **state) {
    const double latency = target_figure(target_by_name(STR("sm_90a")), FIGURE_LATENCY_L2);
    const char *load = KERNEL("ld.global.u32 %r5, [%rd3]; sub.u32 %r6, %r5, %r1; "
                              "st.global.u32 [%rd3], %r6;");
    assert_true(waits_at(load, "sub.u32", "ld.global") > latency / 2);
    assert_true(waits_at(load, "sub.u32", NULL) - waits_at(load, "sub.u32", "ld.global") < 1);
    const char *copy = KERNEL("mov.u32 %r5, s; shl.b32 %r6, %r1, 4; add.u32 %r5, %r5, %r6; "
                              "shl.b32 %r7, %r1, 4; cvt.u64.u32 %rd4, %r7; add.u64 %rd5, %rd1, "
                              "%rd4; cp.async.cg.shared.global [%r5], [%rd5], 16; "
                              "cp.async.commit_group; cp.async.wait_group 0; bar.sync 0; " STORE);
    assert_true(waits_at(copy, "cp.async.wait_group", "cp.async.cg") > latency / 2);
    const char *phase =
        KERNEL("mov.u32 %r5, s; setp.eq.u32 %p1, %r1, 0; "
               "@%p1 mbarrier.init.shared.b64 [%r5], 32; bar.sync 0; setp.ge.u32 %p2, %r1, 32; "
               "@%p2 bra wait; ld.global.u32 %r6, [%rd3]; setp.eq.u32 %p3, %r6, 99; "
               "@%p3 bra wait; mbarrier.arrive.shared.b64 _, [%r5]; "
               "wait: mbarrier.try_wait.parity.shared.b64 %p4, [%r5], 0; @!%p4 bra wait; " STORE);
    assert_true(waits_at(phase, "mbarrier.try_wait", "mbarrier.arrive") > latency / 4);
}

/* Who takes the time, and who waits for whom. */
static void test_spent(void **state) {
    const char *load = KERNEL("ld.global.u32 %r5, [%rd3]; bar.sync 0; sub.u32 %r6, %r5, %r1; "
                              "st.global.u32 [%rd3], %r6;");
    const SimSpent loaded = spent_at(load, "ld.global"), used = spent_at(load, "sub.u32");
    const double latency = target_figure(target_by_name(STR("sm_90a")), FIGURE_LATENCY_L2);
    assert_true(loaded.awaited > latency / 2);
    assert_true(used.waits >= loaded.awaited - 1 && used.waits <= loaded.awaited + 1);
    assert_true(loaded.waits < latency / 4 && used.awaited < latency / 2);
    /* The units were busy: that is not the barrier's, at which all warps come at once. */
    const char *conflicts = KERNEL("mov.u32 %r5, s; shl.b32 %r6, %r1, 7; and.b32 %r6, %r6, 4095; "
                                   "add.u32 %r5, %r5, %r6; bar.sync 0; " TIMES_8(
                                       "st.shared.u32 [%r5], %r4; ") "bar.sync 1; " STORE);
    assert_true(8 * spent_at(conflicts, "st.shared").cycles >
                10 * spent_at(conflicts, "bar.sync 1").waits);
    assert_true(spent_at(conflicts, "st.shared").cycles > 4 * 31);
    /* What all warps wait for there is told apart from what each executes, and is none of a wait.
     */
    const SimSpent at_barrier = spent_at(conflicts, "st.shared");
    assert_true(at_barrier.queued > 31 && at_barrier.queued > at_barrier.crowded);
    assert_true(at_barrier.cycles - at_barrier.queued - at_barrier.waits > 24);
    /* The same at the end of the program, where no barrier lets warps meet. */
    const char *unmet = KERNEL("mov.u32 %r5, s; shl.b32 %r6, %r1, 7; and.b32 %r6, %r6, 4095; "
                               "add.u32 %r5, %r5, %r6; " TIMES_8("st.shared.u32 [%r5], %r4; "));
    const SimSpent crowded = spent_at(unmet, "st.shared");
    assert_true(crowded.crowded > 2 * 31 && crowded.cycles > crowded.crowded + 24);
    assert_true(crowded.queued > crowded.crowded - 1e-6);
    assert_true(spent_at(conflicts, "st.shared").crowded < 31);
    assert_true(loaded.held == 0 && used.held == 0);
    /* Copies are waited for where that is said. */
    const char *copy = KERNEL("mov.u32 %r5, s; shl.b32 %r6, %r1, 4; add.u32 %r5, %r5, %r6; "
                              "shl.b32 %r7, %r1, 4; cvt.u64.u32 %rd4, %r7; add.u64 %rd5, %rd1, "
                              "%rd4; cp.async.cg.shared.global [%r5], [%rd5], 16; "
                              "cp.async.commit_group; cp.async.wait_group 0; bar.sync 0; " STORE);
    assert_true(spent_at(copy, "cp.async.wait_group").waits > latency / 2);
    assert_true(spent_at(copy, "cp.async.wait_group").held > latency / 2);
    assert_true(spent_at(copy, "bar.sync").waits < latency / 2);
}

/* What the table says of a machine is what its clock counts by. */
static void test_table(void **state) {
    static const char *const texts[] = {
        KERNEL_FOR("sm_80", TIMES_64("fma.rn.f32 %f2, %f1, %f1, %f1; ")),
        KERNEL_FOR("sm_86", TIMES_64("fma.rn.f32 %f2, %f1, %f1, %f1; ")),
        KERNEL_FOR("sm_89", TIMES_64("fma.rn.f32 %f2, %f1, %f1, %f1; ")),
        KERNEL_FOR("sm_90a", TIMES_64("fma.rn.f32 %f2, %f1, %f1, %f1; ")),
        KERNEL_FOR("sm_120a", TIMES_64("fma.rn.f32 %f2, %f1, %f1, %f1; ")),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(time_of(texts[i], 1056) > 0);
    SimTime h200 = predict(texts[3], 1056, (SimTimeOptions){.device = STR("H200")});
    SimTime h100 = predict(texts[3], 1056, (SimTimeOptions){.device = STR("H100")});
    assert_true(h200.us == h100.us); /* they differ in memory only */
    assert_true(time_of(texts[3], 1056) >
                target_device(target_by_name(STR("sm_90a")))->launch_ns / 1e3);
}

/* Bytes: each thread's word, once; a launch that has no room in L2 comes from DRAM. */
static void test_bytes(void **state) {
    const char *text = KERNEL("ld.global.u32 %r5, [%rd3]; st.global.u32 [%rd3], %r5;");
    SimTime time = predict(text, 1024, (SimTimeOptions){.registers = 32});
    double bytes = 1024.0 * THREADS * 4;
    assert_true(time.footprint > 0.9 * bytes && time.footprint < 1.1 * bytes);
    assert_true(time.dram_us == 0);
    const char *wide = KERNEL("mul.wide.u32 %rd4, %r3, 128; add.u64 %rd5, %rd1, %rd4; "
                              "ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd5]; st.global.u32 "
                              "[%rd5+64], %r5;");
    assert_true(predict(wide, 1024, (SimTimeOptions){.registers = 32}).moved > 2 * time.moved);
}

static void test_device(void **state) {
    SimTest test = sim_test_begin();
    SimLaunch launch = {.grid = {1, 1, 1}, .block = {THREADS, 1, 1}};
    SimTime time;
    SimTimeOptions options = {.device = STR("A100")};
    assert_non_null(sim_test_parse(&test, KERNEL("")));
    assert_false(sim_predict(test.module, sim_memory_create(test.ctx), &launch, &options, &time));
    assert_non_null(strstr(sim_test_messages(&test), "A100"));
    sim_test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),     cmocka_unit_test(test_grid),
        cmocka_unit_test(test_occupancy), cmocka_unit_test(test_spent),
        cmocka_unit_test(test_table),     cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_device),    cmocka_unit_test(test_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
