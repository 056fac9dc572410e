/* Instructions of warps, barriers that reduce, atomics on pairs and vectors, special registers and
 * setmaxnreg: results against what a loop of the host gives; faults with their findings. */
#include "sim_test.h"

#include <stdio.h>
#include <string.h>

/* 64 threads; y has a word for each and 64 more, all 0 in the beginning, at %rd3. %r1 is the
 * thread, %r2 its lane; the result is %r9. */
#define KERNEL_FOR(header, body)                                                                   \
    header ".visible .entry k(.param .u64 y) {\n"                                                  \
           ".reg .pred %p<10>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>;\n"            \
           ".reg .f32 %f<9>; .reg .f64 %fd<9>; .reg .b128 %q<9>; .shared .align 16 .b8 "           \
           "buf[256];\n"                                                                           \
           "ld.param.u64 %rd1, [y]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; mov.u32 %r9, 0;\n"  \
           "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd1, %rd2; add.s64 %rd3, %rd1, 256;\n" body  \
           "st.global.u32 [%rd2], %r9; ret; }\n"
#define KERNEL(body) KERNEL_FOR(PTX_HEADER, body)
#define KERNEL_100(body) KERNEL_FOR(".version 8.6\n.target sm_100a\n.address_size 64\n", body)

#define VALUE(name, expression)                                                                    \
    static uint32_t name(uint32_t t) {                                                             \
        uint32_t warp = t / 32, lane = t % 32;                                                     \
        (void)warp, (void)lane;                                                                    \
        return (uint32_t)(expression);                                                             \
    }
VALUE(sum_of_lanes, 32 * 31 / 2 + warp * 32 * 32)
VALUE(least_signed, -16)
VALUE(greatest, warp * 32 + 31)
VALUE(masks, (lane < 8 ? 0xff : 0xffffff00) & (lane < 8 ? 0x55 : 0xffffffff))
VALUE(float_least, lane % 2 ? 0xc1f80000 : 0x41000000)
VALUE(elected, lane < 4 ? 7 : lane == 4 ? 104 : 4)
VALUE(active, lane % 2 ? 0xaaaaaaaa : 0x55555555)
VALUE(match_all, lane < 16 ? 0xffff + 1 : 0)
VALUE(votes, 1 + 4 + 8)
VALUE(halves, (lane < 16 ? 0x5555u + 120 : 0x55550000u + 376) + (lane ^ 1) +
                  ((0x55555555u << lane % 2) & (lane < 16 ? 0xffff : 0xffff0000)))
VALUE(left, 0x5555)
VALUE(quarters, lane < 16 ? 0x5555 : 0x55550000)
VALUE(found_bit, lane < 16 ? 2 * lane : UINT32_MAX)
VALUE(reductions, 40 + 1000 * 1 + 10000 * 0 + 100000 * 1)
VALUE(warp_reductions, warp ? 10 + 100 : 20)
VALUE(lane_masks, (1u << lane) ^ ((1u << lane) - 1) ^ ((2u << lane) - 1) ^ ~((1u << lane) - 1) ^
                      ~((2u << lane) - 1))
VALUE(sizes, 256 * 1 + 512 + 768)
VALUE(places, 1 + 2 + 4 + 8 + 16 + 32)
VALUE(vector_sum, 0x44800000) /* 1024 */
VALUE(two, 0x40000000)        /* 2 */
VALUE(half_pairs, 0x54005000)
VALUE(brain_pairs, 0x43004280)
VALUE(double_sum, 2016 / 2)
VALUE(wide_swap, 64)
VALUE(wide_exchange, 1)
VALUE(shared_pairs, 0x54005000)

/* %r3: the members of the own half of a warp; %p2: even lanes. */
#define HALVES                                                                                     \
    "setp.lt.u32 %p1, %r2, 16; selp.b32 %r3, 0xffff, 0xffff0000, %p1;\n"                           \
    "and.b32 %r4, %r2, 1; setp.eq.u32 %p2, %r4, 0;\n"

static const SimCase cases[] = {
    {"redux.add", KERNEL("redux.sync.add.u32 %r9, %r1, -1;\n"), sum_of_lanes},
    {"redux.min of signed numbers",
     KERNEL("sub.s32 %r3, 15, %r2; redux.sync.min.s32 %r9, %r3, -1;\n"), least_signed},
    {"redux.max", KERNEL("redux.sync.max.u32 %r9, %r1, -1;\n"), greatest},
    {"redux of masks and, or, xor",
     KERNEL("mov.u32 %r3, %lanemask_eq; setp.lt.u32 %p1, %r2, 8; @%p1 bra A; redux.sync.or.b32 "
            "%r4, %r3, 0xffffff00; not.b32 %r5, 0; redux.sync.and.b32 %r5, %r5, 0xffffff00; bra "
            "B;\n"
            "A: redux.sync.xor.b32 %r4, %r3, 0xff; or.b32 %r5, %r3, 0x55; and.b32 %r5, %r5, 0x55; "
            "redux.sync.and.b32 %r5, %r5, 0xff; B: and.b32 %r9, %r4, %r5;\n"),
     masks},
    {"redux of floats",
     KERNEL_100("cvt.rn.f32.u32 %f1, %r2; and.b32 %r3, %r2, 1; setp.eq.u32 %p1, %r3, 0; neg.f32 "
                "%f2, %f1;\n"
                "@%p1 bra A; redux.sync.min.f32 %f3, %f2, 0xaaaaaaaa; bra B;\n"
                "A: sub.f32 %f2, %f2, 0f41000000; redux.sync.min.abs.f32 %f3, %f2, 0x55555555; B: "
                "mov.b32 %r9, %f3;\n"),
     float_least},
    {"elect",
     KERNEL("setp.lt.u32 %p1, %r2, 4; mov.u32 %r9, 7; @%p1 bra A; elect.sync %r9|%p2, 0xfffffff0; "
            "@%p2 add.u32 %r9, %r9, 100; A:\n"),
     elected},
    {"activemask",
     KERNEL("and.b32 %r3, %r2, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra A; activemask.b32 %r9; bra B; "
            "A: activemask.b32 %r9; B:\n"),
     active},
    {"match.all",
     KERNEL("setp.lt.u32 %p1, %r2, 16; @%p1 bra A; match.all.sync.b32 %r9|%p2, %r2, 0xffff0000; "
            "@%p2 add.u32 %r9, %r9, 1; bra B;\n"
            "A: mov.u64 %rd4, 12345678901; match.all.sync.b64 %r9|%p2, %rd4, 0xffff; @%p2 add.u32 "
            "%r9, %r9, 1; B:\n"),
     match_all},
    {"members that differ from thread to thread",
     KERNEL(HALVES "vote.sync.ballot.b32 %r5, %p2, %r3; redux.sync.add.u32 %r6, %r2, %r3;\n"
                   "match.any.sync.b32 %r7, %r4, %r3; shfl.sync.bfly.b32 %r8, %r2, 1, 31, %r3;\n"
                   "bar.warp.sync %r3; add.u32 %r9, %r5, %r6; add.u32 %r9, %r9, %r7;\n"
                   "add.u32 %r9, %r9, %r8;\n"),
     halves},
    {"members that exit while others wait for them",
     KERNEL(HALVES "@!%p1 bra A; vote.sync.ballot.b32 %r9, %p2, -1; bra E;\n"
                   "A: add.u32 %r9, %r9, 1; setp.lt.u32 %p5, %r9, 200; @%p5 bra A;\n"
                   "st.global.u32 [%rd2], 0x5555; exit;\n"
                   "E:\n"),
     left},
    /* X ends nowhere that all threads come to, so that the quarters stay apart. */
    {"sets of members that come one after another",
     KERNEL(HALVES "shr.u32 %r6, %r2, 3; setp.eq.u32 %p3, %r2, 99; setp.eq.u32 %p4, %r6, 0;\n"
                   "@%p4 bra A; setp.eq.u32 %p4, %r6, 1; @%p4 bra B; setp.eq.u32 %p4, %r6, 2;\n"
                   "@%p4 bra C; @%p3 bra E; bra X;\n"
                   "A: @%p3 bra E; bra X;\n"
                   "B: add.u32 %r9, %r9, 1; setp.lt.u32 %p5, %r9, 200; @%p5 bra B;\n"
                   "@%p3 bra E; bra X;\n"
                   "C: @%p3 bra E; bra X;\n"
                   "X: vote.sync.ballot.b32 %r9, %p2, %r3;\n"
                   "E:\n"),
     quarters},
    {"vote",
     KERNEL("setp.lt.u32 %p1, %r2, 32; setp.lt.u32 %p2, %r2, 9; vote.sync.all.pred %p3, %p1, -1; "
            "vote.sync.all.pred %p4, %p2, -1;\n"
            "vote.sync.any.pred %p5, %p2, -1; vote.sync.uni.pred %p6, !%p1, -1; vote.sync.uni.pred "
            "%p7, %p2, -1;\n"
            "selp.u32 %r9, 1, 0, %p3; @%p4 add.u32 %r9, %r9, 2; @%p5 add.u32 %r9, %r9, 4; @%p6 "
            "add.u32 %r9, %r9, 8; @%p7 add.u32 %r9, %r9, 16;\n"),
     votes},
    {"fns", KERNEL("add.u32 %r3, %r2, 1; fns.b32 %r9, 0x55555555, 0, %r3;\n"), found_bit},
    {"barriers that reduce",
     KERNEL("setp.lt.u32 %p1, %r1, 40; bar.red.popc.u32 %r9, 1, 64, %p1; setp.lt.u32 %p2, %r1, 64; "
            "barrier.cta.red.and.pred %p3, 2, 64, %p2;\n"
            "@%p3 add.u32 %r9, %r9, 1000; barrier.red.aligned.and.pred %p4, 3, %p1; @%p4 add.u32 "
            "%r9, %r9, 10000;\n"
            "bar.cta.red.or.pred %p5, 0, !%p1; @%p5 add.u32 %r9, %r9, 100000;\n"),
     reductions},
    {"a barrier that reduces, of one warp",
     KERNEL("setp.gt.u32 %p1, %r1, 31; setp.lt.u32 %p2, %r2, 10; setp.lt.u32 %p3, %r2, 20; @%p1 "
            "bra A;\n"
            "barrier.cta.red.popc.u32 %r9, 1, 32, %p3; bra B;\n"
            "A: barrier.cta.red.popc.u32 %r9, 2, 32, %p2; bar.cta.red.or.pred %p4, 2, 32, %p2; "
            "@%p4 add.u32 %r9, %r9, 100; B:\n"),
     warp_reductions},
    {"masks of lanes",
     KERNEL("mov.u32 %r9, %lanemask_eq; mov.u32 %r3, %lanemask_lt; xor.b32 %r9, %r9, %r3; mov.u32 "
            "%r3, %lanemask_le; xor.b32 %r9, %r9, %r3;\n"
            "mov.u32 %r3, %lanemask_ge; xor.b32 %r9, %r9, %r3; mov.u32 %r3, %lanemask_gt; xor.b32 "
            "%r9, %r9, %r3;\n"),
     lane_masks},
    {"sizes of shared memory",
     KERNEL("mov.u32 %r3, %dynamic_smem_size; mov.u32 %r4, %total_smem_size; add.u32 %r9, %r3, "
            "%r4; add.u32 %r9, %r9, 256;\n"),
     sizes},
    {"places and clocks",
     KERNEL("mov.u64 %rd4, %clock64; mov.u64 %rd5, %globaltimer; nanosleep.u32 100; mov.u64 %rd6, "
            "%clock64; mov.u64 %rd7, %globaltimer;\n"
            "setp.gt.u64 %p1, %rd6, %rd4; @%p1 add.u32 %r9, %r9, 1; setp.gt.u64 %p2, %rd7, %rd5; "
            "@%p2 add.u32 %r9, %r9, 2;\n"
            "mov.u32 %r3, %smid; mov.u32 %r4, %nsmid; setp.lt.u32 %p3, %r3, %r4; @%p3 add.u32 %r9, "
            "%r9, 4;\n"
            "mov.u32 %r5, %warpid; mov.u32 %r6, %nwarpid; setp.lt.u32 %p4, %r5, %r6; @%p4 add.u32 "
            "%r9, %r9, 8;\n"
            "shr.u32 %r7, %r1, 5; setp.eq.u32 %p5, %r5, %r7; @%p5 add.u32 %r9, %r9, 16;\n"
            "griddepcontrol.wait; griddepcontrol.launch_dependents; mov.u32 %r3, %laneid; "
            "setp.eq.u32 %p6, %r3, %r2; @%p6 add.u32 %r9, %r9, 32;\n"),
     places},
    {"vectors of floats",
     /* Each thread adds 1, 2, 4, 8 to four words and 1, 1 to the first two. */
     KERNEL("mov.f32 %f1, 0f3f800000; mov.f32 %f2, 0f40000000; mov.f32 %f3, 0f40800000; mov.f32 "
            "%f4, 0f41000000;\n"
            "red.relaxed.gpu.global.add.v4.f32 [%rd3], {%f1, %f2, %f3, %f4}; "
            "red.global.add.v2.f32 [%rd3], {%f1, %f1};\n"
            "bar.sync 0; ld.global.v4.f32 {%f5, %f6, %f7, %f8}, [%rd3]; add.f32 %f5, %f5, %f6; "
            "add.f32 %f5, %f5, %f7; add.f32 %f5, %f5, %f8;\n"
            "add.f32 %f5, %f5, 0fc2800000; mov.b32 %r9, %f5;\n"),
     vector_sum},
    {"a vector whose results go where its values come from",
     KERNEL("mov.f32 %f1, 0f3f800000; mov.f32 %f2, 0f40000000; setp.eq.u32 %p1, %r1, 0;\n"
            "@%p1 atom.global.add.v2.f32 {%f2, %f1}, [%rd3], {%f1, %f2}; bar.sync 0;\n"
            "ld.global.u32 %r9, [%rd3+4];\n"),
     two},
    {"vectors of half pairs",
     KERNEL("mov.u32 %r3, 0x40003c00; red.global.add.noftz.v2.f16x2 [%rd3], {%r3, %r3}; bar.sync "
            "0; ld.global.u32 %r9, [%rd3+4]; sub.u32 %r9, %r9, 0x04000400;\n"),
     half_pairs},
    {"pairs of bfloats",
     KERNEL("mov.u32 %r3, 0x40003f80; atom.global.add.noftz.bf16x2 %r4, [%rd3], %r3; bar.sync 0; "
            "ld.global.u32 %r9, [%rd3];\n"),
     brain_pairs},
    {"doubles",
     KERNEL("cvt.rn.f64.u32 %fd1, %r1; mul.f64 %fd1, %fd1, 0d3fe0000000000000; "
            "atom.global.add.f64 %fd2, [%rd3], %fd1; bar.sync 0; ld.global.f64 %fd3, [%rd3]; "
            "cvt.rni.u32.f64 %r9, %fd3;\n"),
     double_sum},
    {"compare and swap of 128 bits",
     /* Every thread adds one to both halves. */
     KERNEL("ld.relaxed.gpu.global.u64 %rd4, [%rd3]; ld.relaxed.gpu.global.u64 %rd5, [%rd3+8];\n"
            "L: mov.b128 %q1, {%rd4, %rd5}; add.u64 %rd6, %rd4, 1; add.u64 %rd7, %rd5, 1; mov.b128 "
            "%q2, {%rd6, %rd7};\n"
            "atom.global.cas.b128 %q3, [%rd3], %q1, %q2; mov.b128 {%rd8, %rd9}, %q3;\n"
            "setp.ne.u64 %p1, %rd8, %rd4; setp.ne.or.u64 %p1, %rd9, %rd5, %p1; mov.u64 %rd4, %rd8; "
            "mov.u64 %rd5, %rd9; @%p1 bra L;\n"
            "bar.sync 0; ld.global.u64 %rd4, [%rd3]; ld.global.u64 %rd5, [%rd3+8]; min.u64 %rd4, "
            "%rd4, %rd5; cvt.u32.u64 %r9, %rd4;\n"),
     wide_swap},
    {"exchange of 128 bits",
     /* Each finds what another left, halves that belong together; one finds the zeros. */
     KERNEL("cvt.u64.u32 %rd4, %r1; not.b64 %rd5, %rd4; mov.b128 %q1, {%rd4, %rd5}; "
            "atom.global.exch.b128 %q2, [%rd3], %q1; mov.b128 {%rd6, %rd7}, %q2;\n"
            "not.b64 %rd8, %rd7; setp.eq.u64 %p1, %rd8, %rd6; or.b64 %rd9, %rd6, %rd7; "
            "setp.eq.or.u64 %p1, %rd9, 0, %p1; selp.u32 %r9, 1, 0, %p1;\n"),
     wide_exchange},
    {"half pairs in shared memory",
     KERNEL("st.shared.u32 [buf], 0; bar.sync 0; mov.u32 %r3, 0x40003c00; "
            "atom.shared.add.noftz.f16x2 %r4, [buf], %r3; bar.sync 0; ld.shared.u32 %r9, [buf]; "
            "sub.u32 %r9, %r9, 0x04000400;\n"),
     shared_pairs},
};

static void test_results(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool dynamic = strstr(cases[i].text, "dynamic") != NULL;
        sim_test_threads(&cases[i], (SimLaunch){.dynamic_shared = dynamic ? 512 : 0});
    }
}

/* setmaxnreg: 384 threads in three warpgroups, of which %r3 is the number. */
#define GROUPS_OF(directives, body)                                                                \
    PTX_HEADER ".visible .entry k(.param .u64 x, .param .u64 y) " directives " {\n"                \
               ".reg .pred %p<10>; .reg .b32 %r<40>; .reg .b64 %rd<20>;\n"                         \
               "mov.u32 %r1, %tid.x; shr.u32 %r3, %r1, 7; setp.eq.u32 %p1, %r3, 0;\n"              \
               "shr.u32 %r4, %r1, 5; setp.eq.u32 %p2, %r4, 1;\n" body "ret; }\n"
#define GROUPS(body) GROUPS_OF(".maxnreg 168", body)
#define ROLES(dec, inc)                                                                            \
    GROUPS("@%p1 bra P; setmaxnreg.inc.sync.aligned.u32 " inc                                      \
           "; bra E; P: setmaxnreg.dec.sync.aligned.u32 " dec "; E:\n")
#define TWICE(between)                                                                             \
    GROUPS("setmaxnreg.dec.sync.aligned.u32 96;\n" between "setmaxnreg.dec.sync.aligned.u32 "      \
           "64;\n")

static const SimFault faults[] = {
    {"more registers than there are", ROLES("24", "240"), ROLES("40", "240"), DIAG_sim_deadlock,
     "waits for 240 registers a thread and has 168; 8 are free", 384, 1, 0},
    {"registers that nobody gives up", GROUPS("setmaxnreg.dec.sync.aligned.u32 160;\n"),
     GROUPS("setmaxnreg.inc.sync.aligned.u32 176;\n"), DIAG_sim_deadlock, "0 are free", 384, 1, 0},
    {"a kernel whose registers are not known",
     GROUPS_OF(".reqntid 384 .minnctapersm 1", "setmaxnreg.dec.sync.aligned.u32 168;\n"),
     GROUPS_OF(".reqntid 384", "setmaxnreg.dec.sync.aligned.u32 168;\n"),
     DIAG_sim_registers_unknown, "wanted .maxnreg, or .minnctapersm", 384, 1, 0},
    {"more by dec", GROUPS("setmaxnreg.dec.sync.aligned.u32 168;\n"),
     GROUPS("setmaxnreg.dec.sync.aligned.u32 176;\n"), DIAG_sim_setmaxnreg_direction,
     "setmaxnreg.dec to 176 registers a thread, where the warp has 168", 384, 1, 0},
    {"in a diverged warp", GROUPS("setmaxnreg.dec.sync.aligned.u32 40;\n"),
     GROUPS("setp.eq.u32 %p3, %r1, 7; @%p3 bra A; setmaxnreg.dec.sync.aligned.u32 40; A:\n"),
     DIAG_sim_diverged, "'setmaxnreg' needs all threads", 384, 1, 0},
    {"not all warps of the warpgroup", GROUPS("setmaxnreg.dec.sync.aligned.u32 40;\n"),
     GROUPS("@%p2 bra A; setmaxnreg.dec.sync.aligned.u32 40; A:\n"), DIAG_sim_setmaxnreg_missing,
     "warp 1 exits without the setmaxnreg", 384, 1, 0},
    {"different ones in a warpgroup", GROUPS("setmaxnreg.dec.sync.aligned.u32 40;\n"),
     GROUPS("@%p2 bra A; setmaxnreg.dec.sync.aligned.u32 40; bra E; A: "
            "setmaxnreg.dec.sync.aligned.u32 48; E:\n"),
     DIAG_sim_setmaxnreg_differs, "must execute the same", 384, 1, 0},
    {"no barrier between two", TWICE("bar.sync 0;\n"), TWICE(""), DIAG_sim_setmaxnreg_again,
     "nothing orders it behind", 384, 1, 0},
    {"an incomplete warpgroup", GROUPS("bar.sync 0;\n"),
     GROUPS("setmaxnreg.dec.sync.aligned.u32 40;\n"), DIAG_sim_part_of_warpgroup,
     "leave this one incomplete", 96, 1, 0},
    {"an undefined time to sleep", GROUPS("nanosleep.u32 %r1;\n"), GROUPS("nanosleep.u32 %r9;\n"),
     DIAG_sim_undefined, "the time to sleep", 32, 1, 0},
    {"an undefined half of 128 bits",
     GROUPS(".reg .b128 %q<4>; ld.param.u64 %rd2, [y]; mov.u64 %rd3, 1; mov.b128 %q1, {%rd3, "
            "%rd3}; atom.global.exch.b128 %q2, [%rd2], %q1;\n"),
     GROUPS(".reg .b128 %q<4>; ld.param.u64 %rd2, [y]; mov.u64 %rd3, 1; mov.b128 %q1, {%rd3, "
            "%rd4}; atom.global.exch.b128 %q2, [%rd2], %q1;\n"),
     DIAG_sim_undefined, "an operand of the atomic operation", 32, 1, 0},
};

static void test_planted_faults(void **state) {
    sim_test_faults(faults, sizeof faults / sizeof *faults);
}

/* What a target does not have is refused when it is read. */
static void test_targets(void **state) {
    static const struct {
        const char *target, *insn;
        bool fits;
    } rows[] = {
        {"sm_100a", "redux.sync.min.f32 %f1, %f2, -1;", true},
        {"sm_100f", "redux.sync.min.f32 %f1, %f2, -1;", true},
        {"sm_100", "redux.sync.min.f32 %f1, %f2, -1;", false},
        {"sm_90a", "redux.sync.min.f32 %f1, %f2, -1;", false},
        {"sm_80", "redux.sync.min.u32 %r1, %r2, -1;", true},
        {"sm_75", "redux.sync.min.u32 %r1, %r2, -1;", false},
        {"sm_80", "elect.sync %r1|%p1, -1;", false},
        {"sm_90", "elect.sync %r1|%p1, -1;", true},
        {"sm_90", "setmaxnreg.dec.sync.aligned.u32 40;", false},
        {"sm_90a", "setmaxnreg.dec.sync.aligned.u32 40;", true},
        {"sm_90a", "setmaxnreg.dec.sync.aligned.u32 44;", false},
        {"sm_90a", "setmaxnreg.inc.sync.aligned.u32 264;", false},
        {"sm_80", "barrier.cluster.arrive;", false},
        {"sm_80", "mapa.shared::cluster.u32 %r1, %r2, 0;", false},
        {"sm_80", "red.global.add.v2.f32 [%rd1], {%f1, %f2};", false},
        {"sm_90", "red.global.add.v2.f32 [%rd1], {%f1, %f2};", true},
        {"sm_90", "ld.global.v8.f32 {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1}, [%rd1];", false},
        {"sm_100", "ld.global.v8.f32 {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1}, [%rd1];", true},
        {"sm_100", "ld.v8.f32 {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1}, [%rd1];", true},
        {"sm_100", "ld.shared.v8.f32 {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1}, [%r1];", false},
        {"sm_100", "st.global.v8.b32 [%rd1], {%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1};", true},
        {"sm_90", "st.global.v8.b32 [%rd1], {%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1};", false},
        {"sm_100", "ld.global.v8.b64 {%rd1, %rd1, %rd1, %rd1, %rd1, %rd1, %rd1, %rd1}, [%rd1];",
         false},
        {"sm_100", "ld.global.v8.b16 {%h1, %h1, %h1, %h1, %h1, %h1, %h1, %h1}, [%rd1];", false},
        {"sm_90", "ld.global.v4.b64 {%rd1, %rd1, %rd1, %rd1}, [%rd1];", false},
        {"sm_100", "ld.global.v4.b64 {%rd1, %rd1, %rd1, %rd1}, [%rd1];", true},
        {"sm_100", "st.shared.v4.b64 [%r1], {%rd1, %rd1, %rd1, %rd1};", false},
        {"sm_80", "ld.global.v4.f32 {%f1, %f1, %f1, %f1}, [%rd1];", true},
        {"sm_90", "red.global.add.noftz.v8.f16 [%rd1], {%h1, %h1, %h1, %h1, %h1, %h1, %h1, %h1};",
         true},
        {"sm_90", "red.global.add.v8.f32 [%rd1], {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1};", false},
        {"sm_90", "red.global.add.v4.f32 [%rd1], {%f1, %f1, %f1, %f1};", true},
        {"sm_90", "atom.global.add.b128 %q1, [%rd1], %q2;", false},
        {"sm_90", "atom.global.exch.b128 %q1, [%rd1], 1;", false},
        {"sm_80", "atom.global.exch.b128 %q1, [%rd1], %q2;", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1000];
        snprintf(text, sizeof text,
                 ".version 8.6\n.target %s\n.address_size 64\n.entry k() { .reg .pred %%p<3>; .reg "
                 ".b32 %%r<4>; .reg .f32 %%f<4>; .reg .b16 %%h<4>; .reg .b64 %%rd<4>; .reg .b128 "
                 "%%q<4>; %s ret; }\n",
                 rows[i].target, rows[i].insn);
        SimTest test = sim_test_begin();
        if ((sim_test_parse(&test, text) != NULL) != rows[i].fits)
            fail_msg("%s on %s: %s", rows[i].insn, rows[i].target, sim_test_messages(&test));
        sim_test_end(&test);
    }
}

/* isspacep of an address in each space: where shared memory, the own program's or the cluster's, is
 * global, local, constant and parameter memory. A parameter lies in global memory too, a .const
 * variable does not. */
static void test_spaces(void **state) {
    enum { SHARED = 1, CTA = 2, CLUSTER = 4, GLOBAL = 8, LOCAL = 16, CONST = 32, PARAM = 64 };
    static const char *const spaces[] = {
        "shared", "shared::cta", "shared::cluster", "global", "local", "const", "param"};
    static const struct {
        const char *address;
        uint32_t spaces;
    } rows[] = {
        {"mov.u64 %rd2, %rd1;", GLOBAL},
        {"mov.u64 %rd2, word; cvta.global.u64 %rd2, %rd2;", GLOBAL},
        {"mov.u64 %rd2, fixed; cvta.const.u64 %rd2, %rd2;", CONST},
        {"mov.u64 %rd2, depot; cvta.local.u64 %rd2, %rd2;", LOCAL},
        {"mov.u64 %rd2, buf; cvta.shared.u64 %rd2, %rd2;", SHARED | CTA | CLUSTER},
        {"mov.b64 %rd2, s; cvta.param.u64 %rd2, %rd2;", GLOBAL | PARAM},
        {"mov.u64 %rd2, 0;", GLOBAL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        SimTest test = sim_test_begin();
        StrBuf text = strbuf(&test.ctx->arena);
        strbuf_printf(&text,
                      PTX_HEADER ".global .u32 word; .const .align 4 .u32 fixed = 7;\n"
                                 ".visible .entry k(.param .u64 y, .param .align 8 .b8 s[8]) {\n"
                                 ".reg .pred %%p<2>; .reg .b32 %%r<4>; .reg .b64 %%rd<4>;\n"
                                 ".local .align 8 .b8 depot[8]; .shared .align 8 .b8 buf[8];\n"
                                 "ld.param.u64 %%rd1, [y]; mov.u32 %%r1, 0; %s\n",
                      rows[i].address);
        for (size_t s = 0; s < sizeof spaces / sizeof *spaces; s++)
            strbuf_printf(&text, "isspacep.%s %%p1, %%rd2; @%%p1 or.b32 %%r1, %%r1, %u;\n",
                          spaces[s], 1u << s);
        strbuf_puts(&text, "st.global.u32 [%rd1], %r1; ret; }\n");
        uint32_t y = 0, unused[2] = {0};
        SimArrayArg arrays[] = {{"y", &y, sizeof y, NULL}, {"s", unused, sizeof unused, NULL}};
        if (!sim_test_parse(&test, text.ptr) ||
            !sim_test_run(&test, (SimLaunch){.block = {1}}, arrays, 2))
            fail_msg("%s: %s", rows[i].address, sim_test_messages(&test));
        if (y != rows[i].spaces)
            fail_msg("%s: it is in %#x, wanted %#x", rows[i].address, y, rows[i].spaces);
        sim_test_end(&test);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_planted_faults),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_spaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
