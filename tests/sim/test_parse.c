/* Malformed PTX: each message with its place and text. What compilers write is read whole. */
#include "sim_test.h"

#include <stdio.h>
#include <string.h>

#define BODY(statements)                                                                           \
    PTX_HEADER ".entry k(.param .u64 x) {\n.reg .pred %p<3>; .reg .b16 %h<3>; .reg .b32 %r<9>; "   \
               ".reg .b64 %rd<5>;\n" statements "\nret;\n}\n"

typedef struct Case {
    const char *text;
    const char *message; /* line:column: error: text; statements of BODY are on line 6 */
} Case;

static const Case cases[] = {
    {BODY("frobnicate.b32 %r1, %r2;"), "6:1: error: unknown instruction `frobnicate`"},
    {BODY("add.rni.s32 %r1, %r2, 3;"),
     "6:4: error: `.rni` does not fit here in an instruction `add`"},
    {BODY("add %r1, %r2, 3;"),
     "6:1: error: `add` lacks .u16, .s16, .u32, .s32, .u64, .s64, .u16x2 or .s16x2"},
    {BODY("mul.s32 %r1, %r2, 3;"), "6:1: error: `mul` lacks .lo or .hi"},
    {BODY("shfl.bfly.b32 %r1, %r2, 1, 31, -1;"), "6:1: error: `shfl` lacks .sync"},
    {BODY("add.s32 %r1, %r2;"), "6:1: error: `add` takes 3 operands here, not 2"},
    {BODY("add.s32 %r1, %rd2, 3;"), "6:14: error: the register `%rd2` has 64 bits, wanted 32"},
    {BODY("add.s32 %r1, %r99, 3;"), "6:14: error: `%r99` is not declared"},
    {BODY("add.s32 3, %r1, 3;"), "6:9: error: expected a register, found `3`"},
    {BODY("add.s32 %tid.x, %r1, 3;"), "6:9: error: `%tid` cannot be written"},
    {BODY("add.f64 %rd1, %rd2, 0f3F800000;"),
     "6:21: error: the literal `0f3F800000` is no value of 64 bits"},
    {BODY("add.s32 %r1, %r2, 99999999999999999999;"), "6:19: error: the number is out of range"},
    {BODY("bra NOWHERE;"), "6:5: error: there is no label `NOWHERE` in this function"},
    {BODY("L: L: add.s32 %r1, %r1, 1;"), "6:4: error: `L` is declared twice"},
    {BODY(".reg .b32 %r<3>;"), "6:11: error: `%r` is declared twice"},
    {BODY(".reg .b32 %r1;"), "6:11: error: `%r1` is declared twice"},
    {BODY(".reg .b32 q1; .reg .b16 q<2>;"), "6:25: error: `q1` is declared twice"},
    {BODY(".reg .b32 q<2>; mov.b32 %r1, q;"), "6:30: error: `q` is not declared"},
    {BODY("{ .reg .b16 %r1; mov.b32 %r1, 1; }"),
     "6:26: error: the register `%r1` has 16 bits, wanted 32"},
    {BODY(".reg .b16 q1; { .reg .b32 q<2>; mov.b16 q1, 1; }"),
     "6:41: error: the register `q1` has 32 bits, wanted 16"},
    {BODY("ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];"),
     "6:18: error: the vector has 3 elements, wanted 2"},
    {BODY("ld.global.v8.f64 {%rd1,%rd1,%rd1,%rd1,%rd1,%rd1,%rd1,%rd1}, [%rd1];"),
     "6:1: error: an access has at most 32 bytes"},
    {BODY("st.const.u32 [%rd1], %r1;"), "6:1: error: this state space cannot be written"},
    {BODY("mov.b32 %r1, {%h1, %h2, %h1, %h2};"), "error: the register `%h1` has 16 bits, wanted 8"},
    {BODY("mov.b64 {%r1, %r2}, {%r3, %r4};"), "6:1: error: mov takes a vector on one side only"},
    {BODY("add.s32 %r1, _, 3;"), "6:14: error: `_` can be written only"},
    {BODY("@%r1 add.s32 %r1, %r1, 3;"), "6:2: error: the register `%r1` has 32 bits, wanted 1"},
    {BODY("call nothing, ();"), "6:6: error: `nothing` is not declared"},
    {BODY("atom.global.max.b32 %r1, [%rd1], 3;"), "6:1: error: arithmetic takes a type of numbers"},
    {BODY("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2}, [%rd1];"),
     "6:1: error: the vector needs one register for each matrix: 1, 2 or 4"},
    {BODY("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r1,%r2,%r3,%r4}, {%r1,%r2}, "
          "{%r1,%r2}, "
          "{%r1,%r2,%r3,%r4};"),
     "6:1: error: the number of registers of a matrix does not fit its shape and type"},
    {BODY("add.s32 %r1, %r2, 3"), "7:1: error: expected `;`, found `ret`"},
    {BODY(".frob 3;"), "6:1: error: unknown directive `.frob`"},
    {PTX_HEADER ".entry k() { ret; ", "error: expected `}`, found the end of the file"},
    {PTX_HEADER ".entry k(.reg .u64 x) { ret; }", "error: expected a parameter, found `.reg`"},
    {PTX_HEADER ".entry k() { \001 ret; }",
     "error: byte 0x01 begins no token of PTX; expected an instruction"},
    {PTX_HEADER ".func f();\n.entry k() { call f, (); ret; }",
     "5:14: error: the function `f` has no body, and is none the simulator knows"},
    {PTX_HEADER ".global .u8 v[2] = {1, 2, 3};\n",
     "4:27: error: the initialiser is longer than the variable's 2 bytes"},
    {PTX_HEADER ".global .align 3 .u8 v;\n",
     "4:16: error: an alignment is a power of two up to 65536, not 3"},
    {".target sm_90\n", "error: the file has no .version directive"},
    {".version 4.0\n", "1:10: error: PTX version 4.0 is not read; 6.0 to 9.x are"},
    {".version 8.0\n.target nothing\n", "2:9: error: `nothing` is no target"},
    {".version 8.0\n.address_size 32\n", "2:15: error: only 64-bit addresses are simulated"},
};

static void test_messages(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SimTest test = sim_test_begin();
        SimModule *module = sim_test_parse(&test, cases[i].text);
        const char *messages = sim_test_messages(&test);
        if (module || !strstr(messages, cases[i].message))
            fail_msg("wanted %s, found:\n%s", cases[i].message, messages);
        sim_test_end(&test);
    }
}

/* Reading goes on behind an error: one run reports several. */
static void test_several_errors(void **state) {
    SimTest test = sim_test_begin();
    assert_null(sim_test_parse(
        &test, BODY("add.x32 {%r1, %r2}, 3;\nsub.y32 %r1;\nadd.s32 %r1, %r1, 1;\nmul.z %r1;")));
    assert_int_equal(test.ctx->diags.errors, 3);
    sim_test_end(&test);
}

static const char accepted[] =
    ".version 8.7\n.target sm_90a, debug\n.address_size 64\n.file 1 \"/a/k.tile\", 1234, 56\n"
    ".extern .shared .align 128 .b8 dyn[];\n.const .align 4 .f32 c[2] = {0f3F800000, 2.5};\n"
    ".global .align 8 .u64 pointers[2] = {generic(c), c+4};\n.visible .global .align 1 .b8 text[3] "
    "= {104, 105};\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".visible .entry k(.param .u64 .ptr .global .align 16 x, .param .align 4 .b8 s[12])\n"
    ".maxntid 128, 1, 1\n.minnctapersm 2\n.maxnreg 64\n.pragma \"nounroll\";\n{\n"
    ".reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .f32 %f1, %f2;\n"
    "$L__func_begin0:\n.loc 1 3 5, function_name $L__info_string0, inlined_at 1 9 2\n"
    "ld.param.b32 %r1, [s+8]; mov.b64 %rd1, dyn; mov.u32 %r2, %laneid; // comment\n/* another */\n"
    "{ .reg .b32 t; mov.u32 t, 3; add.s32 %r3, t, WARP_SZ; }\n{ .reg .b32 t; mov.u32 t, 4; }\n"
    "{ .reg .b32 t; .reg .b16 t<2>, t2; mov.b32 t, 4; mov.b32 {t0, t1}, t; cvt.bf16.f16 t2, t0; }\n"
    "{ .reg .b32 t<12>, t1<2>; mov.u32 t10, 4; { .reg .b16 t<2>; mov.u16 t1, 4; } }\n"
    "ld.global.relaxed.gpu.L1::no_allocate.L2::128B.v2.b32 {%r4, _}, [%rd1 + 16];\n"
    "createpolicy.fractional.L2::evict_first.b64 %rd2, 1.0;\n"
    "ld.global.L1::evict_last.L2::cache_hint.v4.b32 {%r1,%r2,%r3,%r4}, [%rd1], %rd2;\n"
    "atom.global.gpu.acq_rel.add.f32 %f1, [%rd1], %f2; red.relaxed.gpu.global.add.s32 [%rd1], 1;\n"
    "setp.lt.s32 %p1, %r1, -5; @!%p1 bra.uni $L__done;\nts: .branchtargets $L__a, $L__done;\n"
    "brx.idx %r1, ts;\n$L__a:\n$L__done:\nret;\n$L__tmp:\n}\n"
    ".section .debug_str\n{\n$L__info_string0:\n.b8 107, 0\n}\n";

static void test_accepted(void **state) {
    SimTest test = sim_test_begin();
    if (!sim_test_parse(&test, accepted))
        fail_msg("%s", sim_test_messages(&test));
    SimKernel kernel;
    assert_true(sim_find_kernel(test.module, STR("k"), &kernel));
    assert_int_equal(kernel.param_count, 2);
    assert_int_equal(sim_param_bytes(test.module, STR("k"), 1), 12);
    assert_int_equal(kernel.maxntid[0], 128);
    assert_false(sim_find_kernel(test.module, STR("other"), &kernel));
    sim_test_end(&test);
}

/* Names of a function's results and its own name may share a bucket of the table of names: leaving
 * the function must not lose either. */
static void test_many_functions(void **state) {
    SimTest test = sim_test_begin();
    StrBuf text = strbuf(&test.ctx->arena);
    strbuf_puts(&text, PTX_HEADER);
    for (int i = 0; i < 3000; i++)
        strbuf_printf(&text, ".func (.param .b32 result) f%d(.param .b32 argument) { ret; }\n", i);
    strbuf_puts(&text, ".visible .entry k() {.reg .b32 %r<2>; mov.u32 %r1, 0;\n");
    for (int i = 0; i < 3000; i++)
        strbuf_printf(&text,
                      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %%r1; call (b), f%d, (a); "
                      "}\n",
                      i);
    strbuf_puts(&text, "ret; }\n");
    if (!sim_test_parse(&test, text.ptr))
        fail_msg("%s", sim_test_messages(&test));
    sim_test_end(&test);
}

#define TRIPLE                                                                                     \
    ".func (.param .b32 r) triple(.param .b32 v) { .reg .b32 %r<3>; ld.param.b32 %r1, [v];\n"      \
    "mul.lo.u32 %r2, %r1, 3; st.param.b32 [r], %r2; ret; }\n"

/* An alias is called, and its address taken, as the function it stands for. */
/* Shared variables of a kernel's body count for that kernel; those of the module for all. */
static void test_shared_of_kernels(void **state) {
    SimTest test = sim_test_begin();
    const char *text = PTX_HEADER
        ".shared .align 16 .b8 all[64];\n"
        ".visible .entry a() { .shared .align 16 .b8 own[200000];\n"
        "st.shared.u32 [own+199996], 1; ret; }\n"
        ".visible .entry b() { .shared .align 16 .b8 first[16]; .shared .b8 own[160000];\n"
        "st.shared.u32 [first+12], 1; st.shared.u32 [all+60], 2; ret; }\n";
    static const uint64_t wanted[] = {64 + 200000, 64 + 16 + 160000};
    if (!sim_test_parse(&test, text))
        fail_msg("%s", sim_test_messages(&test));
    for (uint32_t i = 0; i < 2; i++) {
        SimKernel kernel = sim_kernel(test.module, i);
        assert_int_equal(kernel.static_shared, wanted[i]);
        SimLaunch launch = {.kernel = kernel.name, .grid = {1, 1, 1}, .block = {1, 1, 1}};
        if (!sim_launch(test.module, sim_memory_create(test.ctx), &launch, &test.counts))
            fail_msg("%s", sim_test_messages(&test));
    }
    sim_test_end(&test);
}

static void test_alias(void **state) {
    uint32_t y[2] = {0};
    SimTest test = sim_test_begin();
    if (!sim_test_parse(
            &test, PTX_HEADER
            ".func (.param .b32 r) other(.param .b32 v);\n"
            ".global .align 8 .u64 pointer = other;\n" TRIPLE ".alias other, triple;\n"
            ".visible .entry k(.param .u64 y) { .reg .b32 %r<5>; .reg .b64 %rd<5>;\n"
            "ld.param.u64 %rd1, [y]; { .param .b32 a; .param .b32 b; st.param.b32 [a], 5;\n"
            "call (b), other, (a); ld.param.b32 %r1, [b]; } st.global.u32 [%rd1], %r1;\n"
            "ld.global.u64 %rd2, [pointer]; { .param .b32 a; .param .b32 b; st.param.b32 [a], 7;\n"
            "p: .callprototype (.param .b32 _) _ (.param .b32 _); call (b), %rd2, (a), p;\n"
            "ld.param.b32 %r2, [b]; } st.global.u32 [%rd1+4], %r2; ret; }\n"))
        fail_msg("%s", sim_test_messages(&test));
    if (!sim_test_run(&test, (SimLaunch){.block = {32}}, (SimArrayArg[]){{"y", y, sizeof y, NULL}},
                      1))
        fail_msg("%s", sim_test_messages(&test));
    assert_int_equal(y[0], 15);
    assert_int_equal(y[1], 21);
    sim_test_end(&test);
}

static void test_alias_errors(void **state) {
    static const char *const aliases[][2] = {
        {TRIPLE ".alias other, triple;\n", "6:8: error: `other` is no device function"},
        {TRIPLE ".func (.param .b32 r) other(.param .b32 v);\n.alias other, k;\n",
         "error: `k` is no device function"},
        {TRIPLE ".alias triple, triple;\n", "error: `triple` cannot be an alias of `triple`"},
        {".func a(); .func b();\n.alias a, b; .alias b, a;\n",
         "5:8: error: `a` cannot be an alias of `b`"},
        {TRIPLE ".alias triple;\n", "6:14: error: expected `,`, found `;`"},
    };
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        SimTest test = sim_test_begin();
        const char *text =
            str_format(&test.ctx->arena, PTX_HEADER "%s.entry k() { ret; }\n", aliases[i][0]);
        assert_null(sim_test_parse(&test, text));
        if (!strstr(sim_test_messages(&test), aliases[i][1]))
            fail_msg("case %zu: wanted %s\n%s", i, aliases[i][1], sim_test_messages(&test));
        sim_test_end(&test);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),          cmocka_unit_test(test_several_errors),
        cmocka_unit_test(test_accepted),          cmocka_unit_test(test_many_functions),
        cmocka_unit_test(test_shared_of_kernels), cmocka_unit_test(test_alias),
        cmocka_unit_test(test_alias_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
