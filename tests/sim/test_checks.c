/* Every check finds its planted fault, names both sides, and says nothing about the sound version.
 */
#include "sim_test.h"

#include <string.h>

/* A kernel of two arrays, x and y of 64 words each: %rd1 and %rd2 their addresses, %r1 the thread,
 * %r2 its byte offset, %rd3 and %rd4 its elements; shared memory `buf` of 256 bytes, %r3 the
 * thread's place there. */
#define KERNEL(body)                                                                               \
    PTX_HEADER ".visible .entry k(.param .u64 x, .param .u64 y) {\n"                               \
               ".reg .pred %p<10>; .reg .b16 %h<10>; .reg .b32 %r<40>; .reg .b64 %rd<20>;\n"       \
               ".shared .align 16 .b8 buf[256];\n"                                                 \
               "ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];\n"                                 \
               "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; cvt.u64.u32 %rd5, %r2;\n"                \
               "add.s64 %rd3, %rd1, %rd5; add.s64 %rd4, %rd2, %rd5;\n"                             \
               "mov.u32 %r3, buf; add.u32 %r3, %r3, %r2;\n" body "ret;\n}\n"

#define EXCHANGE(barrier)                                                                          \
    KERNEL("st.shared.u32 [%r3], %r1;\n" barrier                                                   \
           "xor.b32 %r4, %r2, 128; mov.u32 %r5, buf; add.u32 %r5, %r5, %r4; ld.shared.u32 %r6, "   \
           "[%r5];\n"                                                                              \
           "st.global.u32 [%rd4], %r6;\n")
#define NEIGHBOUR(barrier)                                                                         \
    KERNEL("st.shared.u32 [%r3], %r1;\n" barrier "xor.b32 %r4, %r2, 4; mov.u32 %r5, buf; add.u32 " \
           "%r5, %r5, %r4; ld.shared.u32 %r6, [%r5];\n"                                            \
           "st.global.u32 [%rd4], %r6;\n")
#define OVERWRITE(barrier)                                                                         \
    KERNEL("st.shared.u32 [%r3], %r1; bar.sync 0;\n"                                               \
           "xor.b32 %r4, %r2, 128; mov.u32 %r5, buf; add.u32 %r5, %r5, %r4; ld.shared.u32 %r6, "   \
           "[%r5];\n" barrier "st.shared.u32 [%r3], 7; st.global.u32 [%rd4], %r6;\n")
#define COPY(wait)                                                                                 \
    KERNEL("cvt.u64.u32 %rd6, %r2; cp.async.ca.shared.global [%r3], [%rd3], 4;\n"                  \
           "cp.async.commit_group;\n" wait                                                         \
           "ld.shared.u32 %r6, [%r3]; st.global.u32 [%rd4], %r6;\n")
#define PROGRAMS(offset)                                                                           \
    KERNEL("mov.u32 %r4, %ctaid.x; shl.b32 %r4, %r4, " offset "; cvt.u64.u32 %rd6, %r4;\n"         \
           "add.s64 %rd7, %rd4, %rd6; st.global.u32 [%rd7], %r4;\n")
#define PAIRS(first, second)                                                                       \
    KERNEL("setp.ge.u32 %p1, %r1, 64; @%p1 bra S;\n" first "bra E;\nS:\n" second "E:\n")
#define GUARDED(guard) KERNEL("setp.lt.u32 %p1, %r1, 64;\n" guard "st.global.u32 [%rd4], %r1;\n")

/* Warp 0 writes and sets a flag, warp 1 polls it and reads. */
#define FLAG(store, load)                                                                          \
    KERNEL(".shared .b32 flag; .shared .b32 other; setp.ne.u32 %p2, %r1, 0; @%p2 bra N; "          \
           "st.shared.u32 [flag], 0; st.shared.u32 [other], 0; N: bar.sync 0; setp.gt.u32 %p1, "   \
           "%r1, 31; @%p1 bra C; @%p2 bra E; st.shared.u32 [buf], 7;\n" store "bra E; C:\n" load   \
           "setp.eq.u32 %p2, %r7, 0; @%p2 bra C; ld.shared.u32 %r6, [buf]; "                       \
           "st.global.u32 [%rd4], %r6; E:\n")
#define ACQUIRE "ld.acquire.cta.shared.u32 %r7, [flag];\n"

/* Two programs change elements next to each other, or with `mask` 0 one. */
#define ELEMENTS(type, bytes, mask)                                                                \
    KERNEL("mov.u32 %r4, %ctaid.x; and.b32 %r4, %r4, " mask "; mul.wide.u32 %rd6, %r4, " bytes     \
           "; add.s64 %rd7, %rd2, %rd6; ld.global." type " %r9, [%rd7]; add.u32 %r9, %r9, 1; "     \
           "st.global." type " [%rd7], %r9;\n")
/* Threads of a program exchange words of y. */
#define GLOBAL_EXCHANGE(other, barrier)                                                            \
    KERNEL("st.global.u32 [%rd4], %r1;\n" barrier "xor.b32 %r4, %r2, " other                       \
           "; cvt.u64.u32 %rd6, %r4; add.s64 %rd7, %rd2, %rd6; ld.global.u32 %r6, [%rd7]; "        \
           "st.global.u32 [%rd3], %r6;\n")
#define GLOBAL_ROTATION(other, barrier)                                                            \
    KERNEL("xor.b32 %r4, %r2, " other "; cvt.u64.u32 %rd6, %r4; add.s64 %rd7, %rd2, %rd6; "        \
           "ld.global.u32 %r6, [%rd7];\n" barrier                                                  \
           "add.u32 %r6, %r6, 1; st.global.u32 [%rd4], %r6;\n")
/* All threads read a word that the first one writes then. */
#define GLOBAL_BROADCAST(barrier)                                                                  \
    KERNEL("ld.global.u32 %r6, [%rd2+4]; setp.ne.u32 %p1, %r1, 0;\n" barrier                       \
           "@%p1 bra E; st.global.u32 [%rd2+4], 77; E:\n")
/* All threads write a word and read it. */
#define GLOBAL_SAME(value)                                                                         \
    KERNEL("st.global.u32 [%rd2], " value "; ld.global.u32 %r6, [%rd2]; st.global.u32 [%rd3], "    \
           "%r6;\n")
/* The first and the second warp write one value, then the first another one. */
#define GLOBAL_AGAIN(barrier)                                                                      \
    KERNEL("setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 32;\n"                                  \
           "@%p1 st.global.u32 [%rd2], 7; bar.sync 0; @%p2 st.global.u32 [%rd2], 7;\n" barrier     \
           "@%p1 st.global.u32 [%rd2], 9;\n")
#define GLOBAL_ATOMIC(barrier)                                                                     \
    KERNEL("red.global.add.u32 [%rd2], 1;\n" barrier                                               \
           "ld.global.u32 %r6, [%rd2]; st.global.u32 [%rd3], %r6;\n")
/* The first warp writes y[1] and then the flag y[0], the second one polls it. */
#define GLOBAL_FLAG(store, load)                                                                   \
    KERNEL("setp.gt.u32 %p1, %r1, 31; and.b32 %r4, %r1, 31; setp.ne.u32 %p2, %r4, 0; @%p2 bra E; " \
           "@%p1 bra C; st.global.u32 [%rd2+4], 7;\n" store "bra E; C:\n" load                     \
           "setp.eq.u32 %p2, %r7, 0; @%p2 bra C; ld.global.u32 %r6, [%rd2+4]; "                    \
           "st.global.u32 [%rd1], %r6; E:\n")
#define GLOBAL_ACQUIRE "ld.acquire.cta.global.u32 %r7, [%rd2];\n"
#define INSIDE "another thread: no barrier lies between"

static const SimFault faults[] = {
    {"barrier removed", EXCHANGE("bar.sync 0;\n"), EXCHANGE(""), DIAG_sim_shared_race,
     "races with a store", 64, 1, 0},
    {"barrier of a warp removed", NEIGHBOUR("bar.warp.sync -1;\n"), NEIGHBOUR(""),
     DIAG_sim_shared_race, "no barrier lies between", 32, 1, 0},
    {"write after read", OVERWRITE("bar.sync 0;\n"), OVERWRITE(""), DIAG_sim_shared_race,
     "races with a load", 64, 1, 0},
    {"barrier of other threads", EXCHANGE("bar.sync 1, 64;\n"),
     EXCHANGE("shr.u32 %r20, %r1, 5; add.u32 %r20, %r20, 1; bar.sync %r20, 32;\n"),
     DIAG_sim_shared_race, "races with a store", 64, 1, 0},
    {"wait removed", COPY("cp.async.wait_group 0;\n"), COPY(""), DIAG_sim_copy_race,
     "no wait has covered", 64, 1, 0},
    {"wait too low", COPY("cp.async.wait_group 0;\n"), COPY("cp.async.wait_group 1;\n"),
     DIAG_sim_copy_race, "no wait has covered", 64, 1, 0},
    {"guard removed", GUARDED("@%p1 "), GUARDED(""), DIAG_sim_out_of_bounds,
     "behind the end of 'y' (256 bytes", 96, 1, 0},
    {"past the end", KERNEL("st.global.u32 [%rd2+252], 1;\n"),
     KERNEL("st.global.v2.u32 [%rd2+248], {1, 1};\n"
            "st.global.u64 [%rd2+248], 1; st.global.v4.u32 [%rd2+256], {1, 1, 1, 1};\n"),
     DIAG_sim_out_of_bounds, "0 bytes behind the end", 1, 1, 0},
    {"before the beginning", KERNEL("st.global.u32 [%rd2], 1;\n"),
     KERNEL("st.global.u32 [%rd2+-4], 1;\n"), DIAG_sim_before_begin,
     "4 bytes before the beginning of 'y' (256 bytes", 1, 1, 0},
    {"misaligned", KERNEL("st.global.u64 [%rd2+8], 1;\n"), KERNEL("st.global.u64 [%rd2+4], 1;\n"),
     DIAG_sim_misaligned, "not a multiple of 8", 1, 1, 0},
    {"no memory", KERNEL("ld.global.u32 %r9, [%rd1];\n"),
     KERNEL("mov.u64 %rd9, 16; ld.global.u32 %r9, [%rd9];\n"), DIAG_sim_no_memory,
     "where no memory is", 1, 1, 0},
    {"shared bounds", KERNEL("ld.shared.u32 %r9, [buf+252];\n"),
     KERNEL("ld.shared.u32 %r9, [buf+256];\n"), DIAG_sim_shared_bounds, "256 bytes at 0x400", 1, 1,
     0},
    {"past a variable into the next",
     KERNEL(".shared .b32 next[64]; st.shared.u32 [next], 1; st.shared.u32 [buf+252], 1;\n"),
     KERNEL(".shared .b32 next[64]; st.shared.u32 [next], 1; st.shared.u32 [buf+256], 1;\n"),
     DIAG_sim_shared_bounds, "ends 4 bytes behind 'buf' (256 bytes at 0x400)", 1, 1, 0},
    {"across the end of a variable",
     KERNEL(".shared .align 16 .b32 a[6]; .shared .align 16 .b32 b[6]; st.shared.v2.u32 [a+16], "
            "{%r1, %r1}; st.shared.u32 [b], 1;\n"),
     KERNEL(".shared .align 16 .b32 a[6]; .shared .align 16 .b32 b[6]; st.shared.v4.u32 [a+16], "
            "{%r1, %r1, %r1, %r1}; st.shared.u32 [b], 1;\n"),
     DIAG_sim_shared_bounds, "ends 8 bytes behind 'a' (24 bytes", 1, 1, 0},
    {"in front of shared memory", KERNEL("ld.shared.u32 %r9, [buf];\n"),
     KERNEL("ld.shared.u32 %r9, [buf+-4];\n"), DIAG_sim_shared_nowhere, "where no variable is", 1,
     1, 0},
    {"undefined register", KERNEL("mov.u32 %r9, 1; st.global.u32 [%rd4], %r9;\n"),
     KERNEL("st.global.u32 [%rd4], %r9;\n"), DIAG_sim_undefined, "the stored value is undefined", 1,
     1, 0},
    {"undefined shared memory",
     KERNEL("st.shared.u32 [%r3], 1; ld.shared.u32 %r9, [%r3]; st.global.u32 [%rd4], %r9;\n"),
     KERNEL("ld.shared.u32 %r9, [%r3]; add.u32 %r9, %r9, 1; st.global.u32 [%rd4], %r9;\n"),
     DIAG_sim_undefined, "the stored value is undefined", 1, 1, 0},
    {"undefined half",
     KERNEL("mov.u16 %h1, 1; mov.b32 %r9, {%h1, %h2}; mov.b32 {%h3, %h4}, %r9;\n"
            "st.global.u16 [%rd4], %h3;\n"),
     KERNEL("mov.u16 %h1, 1; mov.b32 %r9, {%h1, %h2}; mov.b32 {%h3, %h4}, %r9;\n"
            "st.global.u16 [%rd4], %h4;\n"),
     DIAG_sim_undefined, "the stored value is undefined", 1, 1, 0},
    {"undefined branch", KERNEL("setp.eq.u32 %p1, %r1, 0; @%p1 bra L; add.u32 %r9, %r1, 1; L:\n"),
     KERNEL("@%p1 bra L; add.u32 %r9, %r1, 1; L:\n"), DIAG_sim_undefined,
     "the condition of a branch", 1, 1, 0},
    {"undefined address", KERNEL("ld.global.u32 %r9, [%rd1];\n"),
     KERNEL("ld.global.u32 %r9, [%rd15];\n"), DIAG_sim_undefined, "the address is undefined", 1, 1,
     0},
    {"programs overlap", PROGRAMS("6"), PROGRAMS("5"), DIAG_sim_global_race,
     "races with a store of another program", 16, 2, 0},
    {"atomic made plain", KERNEL("red.global.add.u32 [%rd2], 1;\n"),
     KERNEL("ld.global.u32 %r9, [%rd2]; add.u32 %r9, %r9, 1; st.global.u32 [%rd2], %r9;\n"),
     DIAG_sim_global_race, "of another program", 1, 2, 0},
    {"barrier in a branch", KERNEL("bar.sync 0;\n"),
     KERNEL("setp.lt.u32 %p1, %r1, 16; @%p1 bra L; bar.sync 0; L:\n"), DIAG_sim_diverged,
     "needs all threads", 32, 1, 0},
    {"barrier count", KERNEL("bar.sync 1, 64;\n"), KERNEL("bar.sync 1, 48;\n"),
     DIAG_sim_barrier_count, "multiple of 32", 64, 1, 0},
    {"barrier mismatch", KERNEL("bar.sync 1, 96;\n"),
     KERNEL("shr.u32 %r9, %r1, 5; shl.b32 %r9, %r9, 5; add.u32 %r9, %r9, 32; setp.lt.u32 %p1, %r1, "
            "32;\n"
            "@%p1 bra A; bar.sync 1, 96; bra B; A: bar.sync 1, 64; B:\n"),
     DIAG_sim_barrier_mismatch, "where others arrived for", 96, 1, 0},
    {"one barrier for two groups", PAIRS("bar.sync 1, 64;\n", "bar.sync 2, 64;\n"),
     PAIRS("bar.sync 1, 64;\n", "bar.sync 1, 64;\n"), DIAG_sim_barrier_phase,
     "nothing orders that behind the phase before", 128, 1, 0},
    {"a group told to come before the other is through",
     PAIRS("bar.sync 1, 64; bar.arrive 3, 128;\n", "bar.sync 3, 128; bar.sync 1, 64;\n"),
     PAIRS("bar.arrive 3, 128; bar.sync 1, 64;\n", "bar.sync 3, 128; bar.sync 1, 64;\n"),
     DIAG_sim_barrier_phase, "waited in that phase", 128, 1, 0},
    {"deadlock", KERNEL("bar.sync 1, 64;\n"),
     KERNEL("setp.lt.u32 %p1, %r1, 32; @%p1 bra A; bar.sync 1, 64; A:\n"), DIAG_sim_deadlock,
     "32 of 64 threads have arrived", 64, 1, 0},
    {"not a member", KERNEL("shfl.sync.idx.b32 %r9, %r1, 0, 31, -1;\n"),
     KERNEL("shfl.sync.idx.b32 %r9, %r1, 0, 31, 1;\n"), DIAG_sim_not_member,
     "member mask 0x00000001", 32, 1, 0},
    {"missing member", KERNEL("shfl.sync.idx.b32 %r9, %r1, 0, 31, -1;\n"),
     KERNEL("setp.lt.u32 %p1, %r1, 16; @%p1 bra A; shfl.sync.idx.b32 %r9, %r1, 0, 31, -1; A:\n"),
     DIAG_sim_deadlock, "wait for threads 0x0000ffff", 32, 1, 0},
    {"trap", KERNEL("mov.u32 %r9, 1;\n"), KERNEL("trap;\n"), DIAG_sim_trap, "'trap' executed", 1, 1,
     0},
    {"a flag that does not release", FLAG("st.release.cta.shared.u32 [flag], 1;\n", ACQUIRE),
     FLAG("st.relaxed.cta.shared.u32 [flag], 1;\n", ACQUIRE), DIAG_sim_shared_race,
     "races with a store", 64, 1, 0},
    {"a flag that is not acquired",
     FLAG("fence.acq_rel.cta; st.relaxed.cta.shared.u32 [flag], 1;\n",
          "ld.relaxed.cta.shared.u32 %r7, [flag]; fence.acq_rel.cta;\n"),
     FLAG("fence.acq_rel.cta; st.relaxed.cta.shared.u32 [flag], 1;\n",
          "ld.relaxed.cta.shared.u32 %r7, [flag];\n"),
     DIAG_sim_shared_race, "races with a store", 64, 1, 0},
    {"another flag",
     FLAG("membar.cta; atom.shared.exch.b32 %r8, [flag], 1;\n",
          "atom.acquire.cta.shared.or.b32 %r7, [flag], 0;\n"),
     FLAG("atom.release.cta.shared.exch.b32 %r8, [other], 1; st.relaxed.cta.shared.u32 [flag], "
          "1;\n",
          ACQUIRE),
     DIAG_sim_shared_race, "races with a store", 64, 1, 0},
    {"bytes of a word", ELEMENTS("u8", "1", "1"), ELEMENTS("u8", "1", "0"), DIAG_sim_global_race,
     "of another program", 1, 2, 0},
    {"halves of a word", ELEMENTS("u16", "2", "1"), ELEMENTS("u16", "2", "0"), DIAG_sim_global_race,
     "of another program", 1, 2, 0},
    {"words through global memory", GLOBAL_EXCHANGE("128", "bar.sync 0;\n"),
     GLOBAL_EXCHANGE("128", ""), DIAG_sim_global_race, INSIDE, 64, 1, 0},
    {"the same with a barrier of the warp", GLOBAL_EXCHANGE("128", "bar.sync 0;\n"),
     GLOBAL_EXCHANGE("128", "bar.warp.sync -1;\n"), DIAG_sim_global_race, INSIDE, 64, 1, 0},
    {"words through global memory in a warp", GLOBAL_EXCHANGE("4", "bar.warp.sync -1;\n"),
     GLOBAL_EXCHANGE("4", ""), DIAG_sim_global_race, INSIDE, 32, 1, 0},
    {"the own word", GLOBAL_EXCHANGE("0", ""), GLOBAL_EXCHANGE("4", ""), DIAG_sim_global_race,
     INSIDE, 32, 1, 0},
    {"loaded, then written by others", GLOBAL_ROTATION("128", "bar.sync 0;\n"),
     GLOBAL_ROTATION("128", ""), DIAG_sim_global_race, INSIDE, 64, 1, 0},
    {"loaded by all", GLOBAL_BROADCAST("bar.sync 0;\n"), GLOBAL_BROADCAST(""), DIAG_sim_global_race,
     INSIDE, 64, 1, 0},
    {"one value by all", GLOBAL_SAME("7"), GLOBAL_SAME("%r1"), DIAG_sim_global_race, INSIDE, 64, 1,
     0},
    {"one value again", GLOBAL_AGAIN("bar.sync 0;\n"), GLOBAL_AGAIN(""), DIAG_sim_global_race,
     INSIDE, 64, 1, 0},
    {"atomics, then a load", GLOBAL_ATOMIC("bar.sync 0;\n"), GLOBAL_ATOMIC(""),
     DIAG_sim_global_race, INSIDE, 64, 1, 0},
    {"a global flag of the program that does not release",
     GLOBAL_FLAG("st.release.cta.global.u32 [%rd2], 1;\n", GLOBAL_ACQUIRE),
     GLOBAL_FLAG("st.relaxed.cta.global.u32 [%rd2], 1;\n", GLOBAL_ACQUIRE), DIAG_sim_global_race,
     INSIDE, 64, 1, 0},
    {"a global flag of the program that is not acquired",
     GLOBAL_FLAG("fence.acq_rel.cta; atom.relaxed.gpu.global.exch.b32 %r8, [%rd2], 1;\n",
                 "ld.relaxed.cta.global.u32 %r7, [%rd2]; fence.acq_rel.cta;\n"),
     GLOBAL_FLAG("fence.acq_rel.cta; atom.relaxed.gpu.global.exch.b32 %r8, [%rd2], 1;\n",
                 "ld.relaxed.cta.global.u32 %r7, [%rd2];\n"),
     DIAG_sim_global_race, INSIDE, 64, 1, 0},
};

static void test_planted_faults(void **state) {
    sim_test_faults(faults, sizeof faults / sizeof *faults);
}

static void test_both_sides_and_places(void **state) {
    SimTest test = sim_test_begin();
    assert_false(sim_test_version(&test, &faults[0], faults[0].faulty, SIM_ROUND_ROBIN));
    const char *messages = sim_test_messages(&test);
    assert_non_null(strstr(messages, "kernel k, program (0, 0, 0), thread ("));
    assert_non_null(strstr(messages, "ld.shared.u32 %r6, [%r5];"));
    assert_non_null(strstr(messages, "note: warp"));
    assert_non_null(strstr(messages, "stored here"));
    assert_non_null(strstr(messages, "st.shared.u32 [%r3], %r1;"));
    sim_test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planted_faults),
        cmocka_unit_test(test_both_sides_and_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
