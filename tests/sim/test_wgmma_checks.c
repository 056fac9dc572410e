/* The rules of wgmma: each planted fault is found with both of its sides, the sound version gives
 * nothing. */
#include "sim_test.h"

#include <string.h>

/* Shared memory: A of 64 rows and B of 16 columns, 128 bytes each, swizzled by 128; every thread
 * writes 64 bytes of A and, of the first 128, 16 bytes of B. %da and %db are the descriptors; %d0
 * to %d7 accumulators of n16, %e0 to %e7 others, %a0 to %a3 registers of A; %rd3 is the thread's
 * place in y. */
#define HEAD                                                                                       \
    PTX_HEADER                                                                                     \
    ".visible .entry k(.param .u64 y) {\n"                                                         \
    ".reg .pred %p, %q, %yes; .reg .b32 %r<20>, %d<8>, %e<8>, %a<4>; .reg .b64 %rd<9>, "           \
    "%da, %db;\n"                                                                                  \
    ".shared .align 1024 .b8 buf[10240];\n"                                                        \
    "ld.param.u64 %rd1, [y]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 64;\n"                   \
    "add.u64 %rd3, %rd1, %rd2; mov.u32 %r2, buf; shl.b32 %r3, %r1, 6;\n"                           \
    "shl.b32 %r4, %r1, 4; add.u32 %r3, %r3, %r2; add.u32 %r4, %r4, %r2;\n"                         \
    "mov.b64 %rd4, 0x4000004000010000; shr.u32 %r5, %r2, 4; cvt.u64.u32 %rd5, %r5;\n"              \
    "or.b64 %da, %rd4, %rd5; add.u64 %db, %da, 512; setp.eq.u32 %yes, 0, 0;\n"                     \
    "mov.u32 %r6, 0x3f803f80; mov.u32 %a0, %r6; mov.u32 %a1, %r6; mov.u32 %a2, %r6;\n"             \
    "mov.u32 %a3, %r6; mov.u32 %r7, 0;\n"
#define FILL_A                                                                                     \
    "st.shared.v4.b32 [%r3], {%r6,%r6,%r6,%r6}; st.shared.v4.b32 [%r3+16], {%r6,%r6,%r6,%r6};\n"   \
    "st.shared.v4.b32 [%r3+32], {%r6,%r6,%r6,%r6}; st.shared.v4.b32 [%r3+48], "                    \
    "{%r6,%r6,%r6,%r6};\n"
#define FILL_B "st.shared.v4.b32 [%r4+8192], {%r6,%r6,%r6,%r6};\n"
#define PROXY "fence.proxy.async.shared::cta;\n"
#define BARRIER "bar.sync 0;\n"
#define ZERO(x)                                                                                    \
    "mov.u32 " x "0, 0; mov.u32 " x "1, 0; mov.u32 " x "2, 0; mov.u32 " x "3, 0;\n"                \
    "mov.u32 " x "4, 0; mov.u32 " x "5, 0; mov.u32 " x "6, 0; mov.u32 " x "7, 0;\n"
#define FENCE "wgmma.fence.sync.aligned;\n"
#define COMMIT "wgmma.commit_group.sync.aligned;\n"
#define WAIT "wgmma.wait_group.sync.aligned 0;\n"
#define WAIT_ALL_BUT_ONE "wgmma.wait_group.sync.aligned 1;\n"
#define REGS(x) "{" x "0," x "1," x "2," x "3," x "4," x "5," x "6," x "7}"
#define MMA_OF(d, a, b)                                                                            \
    "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 " REGS(d) ", " a ", " b                  \
                                                                    ", %yes, 1, 1, 0, 0;\n"
#define MMA MMA_OF("%d", "%da", "%db")
#define MMA_A(a)                                                                                   \
    "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 " REGS("%d") ", " a                      \
                                                                       ", %db, %yes, 1, 1, 0;\n"
#define MMA_NARROW                                                                                 \
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%d0,%d1,%d2,%d3}, %da, %db, %yes, 1, "   \
    "1, 0, 0;\n"
#define REGISTERS_A "{%a0,%a1,%a2,%a3}"
#define STORE                                                                                      \
    "st.global.v4.b32 [%rd3], {%d0,%d1,%d2,%d3}; st.global.v4.b32 [%rd3+16], {%d4,%d5,%d6,%d7};\n"
#define STORE_E "st.global.v4.b32 [%rd3+32], {%e0,%e1,%e2,%e3};\n"
#define END "ret;\n}\n"
#define FILLED HEAD FILL_A FILL_B PROXY BARRIER
#define KERNEL(body) FILLED ZERO("%d") body END
#define TWO(first, last)                                                                           \
    KERNEL(ZERO("%e") FENCE MMA COMMIT MMA_OF("%e", "%da", "%db") COMMIT first STORE last STORE_E)
#define CALLEE(body)                                                                               \
    PTX_HEADER                                                                                     \
    ".func f(.param .b64 a, .param .b64 b) {\n"                                                    \
    ".reg .b32 %d<8>; .reg .b64 %da, %db; .reg .pred %yes;\n"                                      \
    "ld.param.u64 %da, [a]; ld.param.u64 %db, [b]; setp.eq.u32 %yes, 0, 0;\n" ZERO("%d")           \
        FENCE MMA COMMIT body "ret;\n}\n"
/* HEAD without its header, behind a function. */
#define WITH_CALL(body) CALLEE(body) MAIN_OF_CALL
#define MAIN_OF_CALL                                                                               \
    ".visible .entry k(.param .u64 y) {\n"                                                         \
    ".reg .b32 %r<9>; .reg .b64 %da, %db, %rd<9>; .shared .align 1024 .b8 buf[10240];\n"           \
    "mov.u32 %r1, %tid.x; mov.u32 %r2, buf; shl.b32 %r3, %r1, 6; shl.b32 %r4, %r1, 4;\n"           \
    "add.u32 %r3, %r3, %r2; add.u32 %r4, %r4, %r2; mov.u32 %r6, 0;\n" FILL_A FILL_B PROXY BARRIER  \
    "mov.b64 %rd4, 0x4000004000010000; shr.u32 %r5, %r2, 4; cvt.u64.u32 %rd5, %r5;\n"              \
    "or.b64 %da, %rd4, %rd5; add.u64 %db, %da, 512;\n"                                             \
    "{ .param .b64 p0; .param .b64 p1; st.param.b64 [p0], %da; st.param.b64 [p1], %db;\n"          \
    "call.uni f, (p0, p1); }\nret;\n}\n"

/* Another warpgroup writes A when the first has multiplied. */
#define OTHERS(barrier)                                                                            \
    HEAD "setp.lt.u32 %p, %r1, 128; @!%p bra wait;\n" FILL_A FILL_B PROXY                          \
         "wait: bar.sync 0; @!%p bra over;\n" ZERO("%d") FENCE MMA COMMIT WAIT STORE               \
        "over:\n" barrier "@%p bra out; add.u32 %r3, %r3, -8192;\n" FILL_A "out:\n" END

typedef struct Case {
    const char *name, *sound, *faulty;
    DiagId id;
    const char *message; /* part of what is said, with the other side */
    uint32_t threads;
} Case;

static const Case cases[] = {
    {"no fence at all", KERNEL(FENCE MMA COMMIT WAIT STORE), KERNEL(MMA COMMIT WAIT STORE),
     DIAG_sim_wgmma_first_fence, "without a wgmma.fence", 128},
    {"accumulator written behind the fence",
     KERNEL("mov.u32 %d3, 0;\n" FENCE MMA COMMIT WAIT STORE),
     KERNEL(FENCE "mov.u32 %d3, 0;\n" MMA COMMIT WAIT STORE), DIAG_sim_wgmma_fence,
     "note: the warp wrote it here", 128},
    {"accumulator read between two",
     KERNEL(FENCE MMA COMMIT WAIT STORE FENCE MMA COMMIT WAIT STORE),
     KERNEL(FENCE MMA COMMIT WAIT STORE MMA COMMIT WAIT STORE), DIAG_sim_wgmma_fence,
     "note: the warp read it here", 128},
    {"A written behind the fence",
     KERNEL("mov.u32 %a1, %r6;\n" FENCE MMA_A(REGISTERS_A) COMMIT WAIT STORE),
     KERNEL(FENCE "mov.u32 %a1, %r6;\n" MMA_A(REGISTERS_A) COMMIT WAIT STORE), DIAG_sim_wgmma_fence,
     "register of A", 128},
    {"wait removed", KERNEL(FENCE MMA MMA COMMIT WAIT STORE), KERNEL(FENCE MMA MMA COMMIT STORE),
     DIAG_sim_wgmma_in_flight, "note: the warp started the wgmma here", 128},
    {"commit removed", KERNEL(FENCE MMA COMMIT WAIT STORE), KERNEL(FENCE MMA WAIT STORE),
     DIAG_sim_wgmma_in_flight, "'st' reads a register of the accumulator", 128},
    {"wait too low", TWO(WAIT_ALL_BUT_ONE, WAIT), TWO(WAIT_ALL_BUT_ONE, WAIT_ALL_BUT_ONE),
     DIAG_sim_wgmma_in_flight, "note: the warp started the wgmma here", 128},
    {"accumulator written in flight", KERNEL(FENCE MMA COMMIT WAIT "mov.u32 %d2, 0;\n" STORE),
     KERNEL(FENCE MMA COMMIT "mov.u32 %d2, 0;\n" WAIT STORE), DIAG_sim_wgmma_in_flight,
     "'mov' writes a register of the accumulator", 128},
    {"A written in flight", KERNEL(FENCE MMA_A(REGISTERS_A) COMMIT WAIT "mov.u32 %a2, 0;\n" STORE),
     KERNEL(FENCE MMA_A(REGISTERS_A) COMMIT "mov.u32 %a2, 0;\n" WAIT STORE),
     DIAG_sim_wgmma_in_flight, "'mov' writes a register of A", 128},
    {"another shape in flight", KERNEL(FENCE MMA COMMIT WAIT FENCE MMA_NARROW COMMIT WAIT STORE),
     KERNEL(FENCE MMA COMMIT MMA_NARROW COMMIT WAIT STORE), DIAG_sim_wgmma_in_flight,
     "'wgmma' accumulates in a register of the accumulator", 128},
    {"accumulator as A in flight",
     KERNEL(ZERO("%e") FENCE MMA_OF("%e", "%da", "%db") COMMIT WAIT FENCE MMA_A("{%e0,%e1,%e2,%e3}")
                COMMIT WAIT STORE),
     KERNEL(ZERO("%e") FENCE MMA_OF("%e", "%da", "%db") COMMIT MMA_A("{%e0,%e1,%e2,%e3}")
                COMMIT WAIT STORE),
     DIAG_sim_wgmma_in_flight, "'wgmma' reads as A a register of the accumulator", 128},
    {"return in flight", WITH_CALL(WAIT), WITH_CALL(""), DIAG_sim_wgmma_return,
     "'f' returns while a wgmma", 128},
    {"diverged warp",
     KERNEL("setp.lt.u32 %p, %r1, 128; @!%p bra over;\n" FENCE MMA COMMIT WAIT "over:\n"),
     KERNEL("setp.lt.u32 %p, %r1, 112; @!%p bra over;\n" FENCE MMA COMMIT WAIT "over:\n"),
     DIAG_sim_diverged, "'wgmma' needs all threads of the warp", 128},
    {"a warp is missing",
     KERNEL("setp.lt.u32 %p, %r1, 128; @!%p bra over;\n" FENCE MMA COMMIT WAIT "over:\n"),
     KERNEL("setp.lt.u32 %p, %r1, 96; @!%p bra over;\n" FENCE MMA COMMIT WAIT "over:\n"),
     DIAG_sim_wgmma_missing, "warp 3 of its warpgroup has exited without it", 128},
    {"a warp waits elsewhere",
     KERNEL("setp.lt.u32 %p, %r1, 128; @!%p bra over;\n" FENCE MMA COMMIT WAIT
            "over:\nbar.sync 0;\n"),
     KERNEL("setp.lt.u32 %p, %r1, 96; @!%p bra over;\n" FENCE MMA COMMIT WAIT
            "over:\nbar.sync 0;\n"),
     DIAG_sim_deadlock, "warp 0 waits at a wgmma for the other warps of its warpgroup", 128},
    {"three warps", KERNEL(FENCE MMA COMMIT WAIT STORE), HEAD FENCE MMA COMMIT WAIT END,
     DIAG_sim_wgmma_group, "the program has 96 threads", 96},
    {"different instructions",
     KERNEL("setp.lt.u32 %p, %r1, 128;\n" FENCE "@%p bra one;\n" MMA "bra.uni two;\none:\n" MMA
            "two:\n" COMMIT WAIT STORE),
     KERNEL("setp.lt.u32 %p, %r1, 64;\n" FENCE "@%p bra one;\n" MMA "bra.uni two;\none:\n" MMA
            "two:\n" COMMIT WAIT STORE),
     DIAG_sim_wgmma_mismatch, "executes its wgmma here", 128},
    {"different descriptors", KERNEL(FENCE MMA COMMIT WAIT STORE),
     KERNEL("shr.u32 %r9, %r1, 5; shl.b32 %r9, %r9, 1; cvt.u64.u32 %rd7, %r9;\n"
            "add.u64 %da, %da, %rd7;\n" FENCE MMA COMMIT WAIT STORE),
     DIAG_sim_wgmma_operands, "in warp 0 of the warpgroup", 128},
    {"lanes disagree", KERNEL(FENCE MMA COMMIT WAIT STORE),
     KERNEL("setp.ne.u32 %yes, %r1, 5;\n" FENCE MMA COMMIT WAIT STORE), DIAG_sim_wgmma_uniform,
     "scale-d of wgmma is 0x0", 128},
    {"reserved bits", KERNEL(FENCE MMA COMMIT WAIT STORE),
     KERNEL("or.b64 %da, %da, 0x0010000000000000;\n" FENCE MMA COMMIT WAIT STORE),
     DIAG_sim_descriptor_bits, "has the reserved bits 0x10000000000000 set", 128},
    {"pattern misaligned", KERNEL("add.u64 %da, %da, 2;\n" FENCE MMA COMMIT WAIT STORE),
     KERNEL("add.u64 %da, %da, 8;\n" FENCE MMA COMMIT WAIT STORE), DIAG_sim_descriptor_phase,
     "not a multiple of 1024 as its 128-byte swizzle wants", 128},
    {"outside shared memory", KERNEL(FENCE MMA COMMIT WAIT STORE),
     KERNEL("add.u64 %db, %db, 64;\n" FENCE MMA COMMIT WAIT STORE), DIAG_sim_shared_bounds,
     "load of 16 bytes", 128},
    {"undefined operand", KERNEL(FENCE MMA COMMIT WAIT STORE),
     HEAD FILL_A PROXY BARRIER ZERO("%d") FENCE MMA COMMIT WAIT STORE END, DIAG_sim_undefined,
     "the stored value is undefined", 128},
    {"proxy fence removed", KERNEL(FENCE MMA COMMIT WAIT STORE),
     HEAD FILL_A FILL_B BARRIER ZERO("%d") FENCE MMA COMMIT WAIT STORE END, DIAG_sim_matrix_proxy,
     "stored here", 128},
    {"proxy fence before the store", KERNEL(FENCE MMA COMMIT WAIT STORE),
     HEAD FILL_A PROXY FILL_B BARRIER ZERO("%d") FENCE MMA COMMIT WAIT STORE END,
     DIAG_sim_matrix_proxy, "stored here", 128},
    {"barrier removed", KERNEL(FENCE MMA COMMIT WAIT STORE),
     HEAD FILL_A FILL_B PROXY ZERO("%d") FENCE MMA COMMIT WAIT STORE END, DIAG_sim_shared_race,
     "races with a store", 128},
    {"overwritten in flight", KERNEL(FENCE MMA COMMIT WAIT BARRIER FILL_B STORE),
     KERNEL(FENCE MMA COMMIT FILL_B WAIT STORE), DIAG_sim_matrix_race,
     "note: warpgroup 0 started the wgmma here", 128},
    {"overwritten by others without a barrier", OTHERS("bar.sync 0;\n"), OTHERS(""),
     DIAG_sim_shared_race, "races with", 256},
};

static void run(const Case *one, const char *text, bool early, SimTest *test) {
    static uint32_t y[128 * 16];
    *test = sim_test_begin();
    if (!sim_test_parse(test, text))
        fail_msg("%s: %s", one->name, sim_test_messages(test));
    SimArrayArg array = {"y", y, sizeof y, NULL};
    sim_test_run(test, (SimLaunch){.block = {one->threads}, .early = early}, &array, 1);
}

static void test_faults(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned early = 0; early < 2; early++) {
            SimTest test;
            Case sound = cases[i];
            sound.threads = sound.threads < 128 ? 128 : sound.threads;
            run(&sound, sound.sound, early, &test);
            if (*sim_test_messages(&test))
                fail_msg("%s: the sound version: %s", sound.name, sim_test_messages(&test));
            sim_test_end(&test);
            run(&cases[i], cases[i].faulty, early, &test);
            if (!sim_test_has(&test, cases[i].id) ||
                !strstr(sim_test_messages(&test), cases[i].message))
                fail_msg("%s: wanted \"%s\", got: %s", cases[i].name, cases[i].message,
                         sim_test_messages(&test));
            sim_test_end(&test);
        }
}

/* Texts that are refused, and why. */
static void test_refused(void **state) {
#define REFUSED(name, operands) FILLED "wgmma.mma_async." name " " operands ";\n" END
    static const char *const texts[][2] = {
        {REFUSED("sp.sync.aligned.m64n16k32.f32.bf16.bf16",
                 "{%d0}, %da, %db, %r1, 0, %yes, 1, 1, 0, 0"),
         "sparse forms (`.sp`) of `wgmma` are not simulated"},
        {REFUSED("sync.aligned.m64n12k16.f32.bf16.bf16",
                 "{%d0,%d1,%d2,%d3,%d4,%d5}, %da, %db, %yes, 1, 1, 0, 0"),
         "N is a multiple of 8 from 8 to 256"},
        {REFUSED("sync.aligned.m64n40k32.s32.s8.s8", "{%d0}, %da, %db, %yes"),
         "N is 8, 16, 24, 32 or a multiple of 16"},
        {REFUSED("sync.aligned.m64n16k8.f32.bf16.bf16", REGS("%d") ", %da, %db, %yes, 1, 1, 0, 0"),
         "does not fit here"},
        {REFUSED("sync.aligned.m64n016k16.f32.bf16.bf16",
                 REGS("%d") ", %da, %db, %yes, 1, 1, 0, 0"),
         "does not fit here"},
        {REFUSED("sync.aligned.m64n16k16.f16.bf16.bf16", REGS("%d") ", %da, %db, %yes, 1, 1, 0, 0"),
         "does not fit here"},
        {REFUSED("sync.aligned.m64n16k16.f32.bf16.bf16",
                 "{%d0,%d1,%d2,%d3}, %da, %db, %yes, 1, 1, 0, 0"),
         "the accumulator needs N / 2 registers"},
        {REFUSED("sync.aligned.m64n8k16.f32.bf16.bf16",
                 "{%d0,%d1,%d2,%d0}, %da, %db, %yes, 1, 1, 0, 0"),
         "names a register twice"},
        {REFUSED("sync.aligned.m64n16k16.f32.bf16.bf16", REGS("%d") ", %da, %db, %yes, 1, 2, 0, 0"),
         "imm-scale-a and imm-scale-b are 1 or -1"},
        {REFUSED("sync.aligned.m64n16k16.f32.bf16.bf16", REGS("%d") ", %da, %db, %yes, 1, 1, 0, 2"),
         "imm-trans-a and imm-trans-b are 0 or 1"},
        {REFUSED("sync.aligned.m64n16k16.f32.bf16.bf16", REGS("%d") ", %da, %db, %yes, 1, 1, 0"),
         "imm-trans-a and imm-trans-b are wanted"},
        {REFUSED("sync.aligned.m64n16k16.f32.bf16.bf16",
                 REGS("%d") ", {%a0,%a1,%a2,%a3}, %db, %yes, 1, 1, 0, 0"),
         "imm-trans-b alone is wanted"},
        {REFUSED("sync.aligned.m64n16k16.f32.bf16.bf16",
                 REGS("%d") ", {%a0,%a1}, %db, %yes, 1, 1, 0"),
         "A in registers has 4 registers"},
        {REFUSED("sync.aligned.m64n16k16.f32.bf16.bf16", REGS("%d") ", %r1, %db, %yes, 1, 1, 0, 0"),
         "has 32 bits"},
        {FILLED "wgmma.wait_group.sync.aligned -1;\n" END, "is 0 or more"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        SimTest test = sim_test_begin();
        if (sim_test_parse(&test, texts[i][0]) || !strstr(sim_test_messages(&test), texts[i][1]))
            fail_msg("wanted \"%s\", got: %s", texts[i][1], sim_test_messages(&test));
        sim_test_end(&test);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_faults),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
