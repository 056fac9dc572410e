/* Undefined bits follow the algebra of the instructions: what is the same whatever they are is
 * defined, and nothing else is. Each row has a sound version, which stores such a result, and a
 * faulty one, next to it, which stores one that depends on bits never written. */
#include "sim_test.h"

/* %r9, %h9, %rd9, %f9 and %p9 are never written; %r8 is stored. */
#define KERNEL(body)                                                                               \
    PTX_HEADER ".visible .entry k(.param .u64 x, .param .u64 y) {\n"                               \
               ".reg .pred %p<10>; .reg .b16 %h<10>; .reg .b32 %r<20>; .reg .b64 %rd<10>;\n"       \
               ".reg .f32 %f<10>; .reg .f64 %d<10>;\n"                                             \
               "ld.param.u64 %rd1, [y];\n" body "st.global.u32 [%rd1], %r8;\nret;\n}\n"
#define ROW(name, sound, faulty)                                                                   \
    {                                                                                              \
        name, KERNEL(sound "\n"), KERNEL(faulty "\n"), DIAG_sim_undefined,                         \
            "the stored value is undefined", 1, 1, 0                                               \
    }
/* Of a predicate. */
#define CHOSEN(setp) setp " selp.u32 %r8, 1, 2, %p1;"
/* %r4: its low half is 3, the upper one is undefined. */
#define HALF "mov.u16 %h1, 3; mov.b32 %r4, {%h1, %h9}; "
#define LOW " cvt.u16.u32 %h2, %r5; cvt.u32.u16 %r8, %h2;"

static const SimFault rows[] = {
    ROW("and", "and.b32 %r8, %r9, 0;", "and.b32 %r8, %r9, 1;"),
    ROW("or", "or.b32 %r8, -1, %r9;", "or.b32 %r8, -2, %r9;"),
    ROW("xor", HALF "xor.b32 %r5, %r4, 1;" LOW, HALF "xor.b32 %r8, %r4, 1;"),
    ROW("bits of a byte", "or.b32 %r5, %r9, 4; and.b32 %r8, %r5, 4;",
        "or.b32 %r5, %r9, 4; and.b32 %r8, %r5, 6;"),
    ROW("and of predicates", CHOSEN("setp.eq.u32 %p2, 0, 1; and.pred %p1, %p9, %p2;"),
        CHOSEN("setp.eq.u32 %p2, 0, 0; and.pred %p1, %p9, %p2;")),
    ROW("or of predicates", CHOSEN("setp.eq.u32 %p2, 0, 0; or.pred %p1, %p2, %p9;"),
        CHOSEN("setp.eq.u32 %p2, 0, 1; or.pred %p1, %p2, %p9;")),
    ROW("predicates as words",
        "setp.eq.u32 %p2, 0, 1; selp.b32 %r4, 1, 0, %p9; selp.b32 %r5, 1, 0, %p2; "
        "and.b32 %r6, %r4, %r5; setp.ne.u32 %p1, %r6, 0; selp.u32 %r8, 1, 2, %p1;",
        "setp.eq.u32 %p2, 0, 0; selp.b32 %r4, 1, 0, %p9; selp.b32 %r5, 1, 0, %p2; "
        "and.b32 %r6, %r4, %r5; setp.ne.u32 %p1, %r6, 0; selp.u32 %r8, 1, 2, %p1;"),
    ROW("setp and", CHOSEN("setp.eq.u32 %p2, 0, 1; setp.eq.and.u32 %p1, %r9, 0, %p2;"),
        CHOSEN("setp.eq.u32 %p2, 0, 0; setp.eq.and.u32 %p1, %r9, 0, %p2;")),
    ROW("setp and what is undefined", CHOSEN("setp.eq.and.u32 %p1, 1, 0, %p9;"),
        CHOSEN("setp.eq.and.u32 %p1, 0, 0, %p9;")),
    ROW("setp or what is undefined", CHOSEN("setp.eq.or.u32 %p1, 0, 0, %p9;"),
        CHOSEN("setp.eq.or.u32 %p1, 0, 1, %p9;")),
    ROW("the second predicate", CHOSEN("setp.eq.and.u32 %p3|%p1, 0, 0, %p9;"),
        CHOSEN("setp.eq.and.u32 %p1|%p3, 0, 0, %p9;")),
    ROW("below zero", CHOSEN("setp.lt.u32 %p1, %r9, 0;"), CHOSEN("setp.lt.s32 %p1, %r9, 0;")),
    ROW("above the greatest", CHOSEN("setp.gt.s32 %p1, %r9, 0x7fffffff;"),
        CHOSEN("setp.ge.s32 %p1, %r9, 0x7fffffff;")),
    ROW("a byte below 256", CHOSEN("and.b32 %r5, %r9, 255; setp.lt.u32 %p1, %r5, 256;"),
        CHOSEN("and.b32 %r5, %r9, 255; setp.lt.u32 %p1, %r5, 255;")),
    ROW("an odd number that is not 4", CHOSEN("or.b32 %r5, %r9, 1; setp.eq.u32 %p1, %r5, 4;"),
        CHOSEN("or.b32 %r5, %r9, 1; setp.eq.u32 %p1, %r5, 5;")),
    ROW("with NaN", CHOSEN("setp.gt.f32 %p1, %f9, 0f7fffffff;"),
        CHOSEN("setp.gt.f32 %p1, %f9, 0f00000000;")),
    ROW("above infinity", CHOSEN("setp.gt.f32 %p1, %f9, 0f7f800000;"),
        CHOSEN("setp.gtu.f32 %p1, %f9, 0f7f800000;")),
    ROW("equal to infinity", CHOSEN("setp.ltu.f32 %p1, 0f7f800000, 0f7fffffff;"),
        CHOSEN("setp.eq.f32 %p1, %f9, 0f7f800000;")),
    ROW("selp of equals", "selp.b32 %r8, 5, 5, %p9;", "selp.b32 %r8, 5, 4, %p9;"),
    ROW("selp of equal bits", "selp.b32 %r5, 5, 4, %p9; and.b32 %r8, %r5, 6;",
        "selp.b32 %r5, 5, 4, %p9; and.b32 %r8, %r5, 7;"),
    ROW("slct", "slct.u32.s32 %r8, %r9, 5, -1;", "slct.u32.s32 %r8, %r9, 5, 1;"),
    ROW("product with zero", "mul.lo.u32 %r8, %r9, 0;", "mul.lo.u32 %r8, %r9, 2;"),
    ROW("the zeros of a product", "mul.lo.u32 %r5, %r9, 8; and.b32 %r8, %r5, 7;",
        "mul.lo.u32 %r5, %r9, 8; and.b32 %r8, %r5, 8;"),
    ROW("mad", "mad.lo.s32 %r8, %r9, 0, 5;", "mad.lo.s32 %r8, %r9, 1, 5;"),
    ROW("wide product", "mul.wide.u32 %rd2, %r9, 0; cvt.u32.u64 %r8, %rd2;",
        "mul.wide.u32 %rd2, %r9, 1; cvt.u32.u64 %r8, %rd2;"),
    ROW("low bits of a sum", "shl.b32 %r4, %r9, 8; add.u32 %r5, %r4, 7; and.b32 %r8, %r5, 255;",
        "shl.b32 %r4, %r9, 8; add.u32 %r5, %r4, 7; and.b32 %r8, %r5, 511;"),
    ROW("a carry that cannot be", "and.b32 %r4, %r9, 3; add.u32 %r5, %r4, 4; shr.u32 %r8, %r5, 3;",
        "and.b32 %r4, %r9, 3; add.u32 %r5, %r4, 5; shr.u32 %r8, %r5, 3;"),
    ROW("difference", "shl.b32 %r4, %r9, 8; sub.u32 %r5, 3, %r4; and.b32 %r8, %r5, 255;",
        "shl.b32 %r4, %r9, 7; sub.u32 %r5, 3, %r4; and.b32 %r8, %r5, 255;"),
    ROW("minimum", "min.u32 %r8, %r9, 0;", "min.u32 %r8, %r9, 1;"),
    ROW("signed maximum", "max.s32 %r8, 0x7fffffff, %r9;", "max.u32 %r8, 0x7fffffff, %r9;"),
    ROW("minimum of ranges", "or.b32 %r4, %r9, 16; min.u32 %r8, %r4, 15;",
        "or.b32 %r4, %r9, 14; min.u32 %r8, %r4, 15;"),
    ROW("minimum of floats", "min.f32 %f1, %f9, 0fff800000; mov.b32 %r8, %f1;",
        "min.NaN.f32 %f1, %f9, 0fff800000; mov.b32 %r8, %f1;"),
    ROW("maximum with NaN", "max.NaN.f32 %f1, 0f7fffffff, %f9; mov.b32 %r8, %f1;",
        "max.f32 %f1, 0f7fffffff, %f9; mov.b32 %r8, %f1;"),
    ROW("half of a packed sum",
        "mov.u16 %h1, 0; mov.b32 %r4, {%h1, %h9}; add.f16x2 %r5, %r4, %r4;" LOW,
        "mov.u16 %h1, 0; mov.b32 %r4, {%h9, %h1}; add.f16x2 %r5, %r4, %r4;" LOW),
    ROW("shift", HALF "shl.b32 %r8, %r4, 16;", HALF "shl.b32 %r8, %r4, 15;"),
    ROW("shift by bits", "and.b32 %r4, %r9, 7; shr.u32 %r8, %r4, 3;",
        "and.b32 %r4, %r9, 7; shr.u32 %r8, %r4, 2;"),
    ROW("signs", HALF "shr.u32 %r8, %r4, 32;", HALF "shr.s32 %r8, %r4, 32;"),
    ROW("funnel shift", HALF "shf.l.wrap.b32 %r5, %r9, %r4, 0; and.b32 %r8, %r5, 65535;",
        HALF "shf.l.wrap.b32 %r5, %r9, %r4, 1; and.b32 %r8, %r5, 65535;"),
    ROW("field", HALF "bfe.u32 %r8, %r4, 1, 15;", HALF "bfe.u32 %r8, %r4, 2, 15;"),
    ROW("field put in",
        "mov.u32 %r4, 7; prmt.b32 %r5, %r4, %r9, 0x4440; bfi.b32 %r6, %r4, %r5, 24, 8; "
        "prmt.b32 %r8, %r6, 0, 0x7770;",
        "mov.u32 %r4, 7; prmt.b32 %r5, %r4, %r9, 0x4440; bfi.b32 %r6, %r4, %r5, 24, 8; "
        "prmt.b32 %r8, %r6, 0, 0x7710;"),
    ROW("field over undefined bits", "bfi.b32 %r5, 9, %r9, 4, 6; bfe.u32 %r8, %r5, 4, 6;",
        "bfi.b32 %r5, 9, %r9, 4, 6; bfe.u32 %r8, %r5, 4, 7;"),
    ROW("permutation", HALF "prmt.b32 %r8, %r4, 0, 0x4410;", HALF "prmt.b32 %r8, %r4, 0, 0x4420;"),
    ROW("replicated sign", "or.b32 %r4, %r9, 128; prmt.b32 %r8, %r4, 0, 0x8888;",
        "or.b32 %r4, %r9, 64; prmt.b32 %r8, %r4, 0, 0x8888;"),
    ROW("reversal", HALF "brev.b32 %r5, %r4; shr.u32 %r8, %r5, 16;",
        HALF "brev.b32 %r5, %r4; shr.u32 %r8, %r5, 15;"),
    ROW("lop3 as and", "mov.u32 %r4, 0; lop3.b32 %r8, %r9, %r4, %r9, 0x80;",
        "mov.u32 %r4, 1; lop3.b32 %r8, %r9, %r4, %r9, 0x80;"),
    ROW("lop3 that leaves one out", "mov.u32 %r4, 6; lop3.b32 %r8, %r9, %r4, %r9, 0xcc;",
        "mov.u32 %r4, 6; lop3.b32 %r8, %r9, %r4, %r9, 0xca;"),
    ROW("conversion", HALF "cvt.u32.u16 %r8, %h1;", HALF "cvt.u32.u16 %r8, %h9;"),
    ROW("sign extension", "or.b32 %r4, %r9, 128; cvt.s32.s8 %r5, %r4; shr.u32 %r8, %r5, 7;",
        "or.b32 %r4, %r9, 64; cvt.s32.s8 %r5, %r4; shr.u32 %r8, %r5, 7;"),
    ROW("bits through shared memory",
        ".shared .b32 word; or.b32 %r4, %r9, 2; st.shared.u32 [word], %r4; ld.shared.u32 %r5, "
        "[word]; and.b32 %r8, %r5, 2;",
        ".shared .b32 word; or.b32 %r4, %r9, 2; st.shared.u32 [word], %r4; ld.shared.u32 %r5, "
        "[word]; and.b32 %r8, %r5, 3;"),
    ROW("ballot", "vote.sync.ballot.b32 %r5, %p9, 1; and.b32 %r8, %r5, 2;",
        "vote.sync.ballot.b32 %r5, %p9, 1; and.b32 %r8, %r5, 1;"),
};

static void test_algebra(void **state) {
    sim_test_faults(rows, sizeof rows / sizeof *rows);
}

/* A thread whose predicate is known decides for those whose predicates are not. */
#define VOTE(mode, known)                                                                          \
    KERNEL("mov.u32 %r4, %tid.x; setp.ne.u32 %p2, %r4, 0; @%p2 bra L; setp." known ".u32 %p9, 0, " \
           "0; L: vote.sync." mode ".pred %p1, %p9, 3; selp.u32 %r8, 1, 2, %p1;\n")

static const SimFault votes[] = {
    {"any", VOTE("any", "eq"), VOTE("any", "ne"), DIAG_sim_undefined,
     "the stored value is undefined", 2, 1, 0},
    {"all", VOTE("all", "ne"), VOTE("all", "eq"), DIAG_sim_undefined,
     "the stored value is undefined", 2, 1, 0},
};

static void test_votes(void **state) {
    sim_test_faults(votes, sizeof votes / sizeof *votes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_algebra),
        cmocka_unit_test(test_votes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
