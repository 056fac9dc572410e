/* Two kernels side by side: loops of control-flow graphs, which of them are the same, limits, what
 * is saved and read again. Expected numbers are counted by hand from the texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "inspect/compare_parts.h"

#define HEADER ".version 8.6\n.target sm_80\n.address_size 64\n.file 1 \"kernel.tile\"\n"
#define DECLARE                                                                                    \
    ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<99>; .reg .f32 %f<9>; .reg .b64 %rd<9>;\n"
#define KERNEL(body) HEADER ".visible .entry k() .reqntid 64,1,1 {" DECLARE body "}\n"
#define LOC(line) "\n.loc 1 " #line " 1\n"

static Ctx *begin(void) {
    Ctx *ctx = ctx_create();
    assert_non_null(ctx);
    if (setjmp(ctx->oom))
        fail_msg("out of memory");
    return ctx;
}

static const char *messages(Ctx *ctx) {
    StrBuf out = strbuf(&ctx->arena);
    diag_print_all(&ctx->diags, &out);
    strbuf_putc(&out, 0);
    return out.ptr;
}

static CodeFacts inspect(Ctx *ctx, const char *text) {
    CodeFacts facts;
    CodeRequest request = {.path = "test.ptx", .ptxas = "none", .dynamic_shared = -1};
    request.file = source_add(&ctx->sources, STR("test.ptx"), str_from(text));
    if (!code_inspect(ctx, &request, &facts))
        fail_msg("%s", messages(ctx));
    return facts;
}

/* Loops. */

/* "1(2 2) 1": depths in order, of those within one in brackets; with the instructions of each. */
static const char *loops_text(Arena *arena, const CodeFacts *facts) {
    StrBuf out = strbuf(arena);
    vec_for_each (loop, &facts->loops) {
        const ptrdiff_t parent = loop->parent;
        strbuf_printf(&out, "%s%u:%u", out.len ? " " : "", loop->depth, loop->instructions);
        if (parent >= 0)
            strbuf_printf(&out, "<%td", parent);
    }
    strbuf_putc(&out, 0);
    return out.ptr;
}

static void test_loops(void **state) {
    static const struct {
        const char *text, *loops;
    } cases[] = {
        {KERNEL("ret;"), ""},
        {KERNEL("L: add.u32 %r1, %r1, 1; @%p1 bra L; ret;"), "1:2"},
        /* A loop that is left in its middle, with a branch back at its end. */
        {KERNEL("L: add.u32 %r1, %r1, 1; @%p1 bra E; add.u32 %r2, %r2, 1; bra L; E: ret;"), "1:4"},
        {KERNEL("A: add.u32 %r1, %r1, 1; B: add.u32 %r2, %r2, 1; @%p1 bra B; @%p2 bra A; ret;"),
         "1:4 2:2<0"},
        /* Two loops within one, and one behind it. */
        {KERNEL("A: mov.u32 %r1, 0; B: @%p1 bra B; C: mov.u32 %r2, 1; @%p2 bra C; @%p3 bra A;\n"
                "D: mov.u32 %r2, 2; @%p3 bra D; ret;"),
         "1:5 2:1<0 2:2<0 1:2"},
        /* `continue`: two branches back to one header are one loop. */
        {KERNEL("L: mov.u32 %r1, 0; @%p1 bra L; mov.u32 %r1, 1; @%p2 bra L; ret;"), "1:4"},
        /* Three within each other. */
        {KERNEL("A: mov.u32 %r1, 0; B: mov.u32 %r1, 1; C: mov.u32 %r1, 2; @%p1 bra C; @%p2 bra B;\n"
                "@%p3 bra A; ret;"),
         "1:6 2:4<0 3:2<1"},
        /* Entered at two places. */
        {KERNEL("@%p1 bra B; A: mov.u32 %r1, 0; B: mov.u32 %r1, 1; @%p2 bra A; ret;"), "1:3"},
        /* Code that never ends is a loop as well. */
        {KERNEL("L: bra L;"), "1:1"},
        /* Waiting is none that counts. */
        {KERNEL("L: mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0; @!%p1 bra L; ret;"), "1:2"},
        /* Of a function that is called. */
        {HEADER ".func f(.reg .b32 %i) { .reg .pred %p1; L: @%p1 bra L; ret; }\n"
                ".visible .entry k() .reqntid 64,1,1 {" DECLARE "M: mov.u32 %r1, 1; call f, (%r1); "
                "@%p1 bra M; ret; }",
         "1:3 1:1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Ctx *ctx = begin();
        const CodeFacts facts = inspect(ctx, cases[i].text);
        const char *found = loops_text(&ctx->arena, &facts);
        if (strcmp(found, cases[i].loops) != 0)
            fail_msg("%s: loops %s, not %s", cases[i].text, found, cases[i].loops);
        ctx_destroy(ctx);
    }
}

static void test_counts(void **state) {
    static const char text[] = KERNEL(
        "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\n"
        "ld.global.v2.b32 {%r1, %r2}, [%rd1]; ld.global.b64 %rd2, [%rd1];\n"
        "st.shared.u16 [%r1], %h1; ld.b32 %r1, [%rd1];\n"
        "L: fma.rn.f32 %f1, %f1, %f2, %f3; fma.rn.ftz.f32 %f1, %f1, %f2, %f3;\n"
        "mul.wide.u32 %rd3, %r1, 4; mul.lo.u32 %r3, %r1, 4; cvt.rn.f16x2.f32 %r4, %f1, %f2;\n"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, "
        "%r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};\n"
        "cp.async.cg.shared.global [%r1], [%rd1], 16; shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;\n"
        "bar.sync 0; atom.global.add.f32 %f1, [%rd1], %f2; @%p1 bra L; ret;");
    static const struct {
        const char *form;
        uint32_t count;
    } forms[] = {
        {"ld.global.b128", 1},
        {"ld.global.b64", 2},
        {"st.shared.b16", 1},
        {"ld.generic.b32", 1},
        {"fma.f32", 2},
        {"mul.wide.u32", 1},
        {"mul.lo.u32", 1},
        {"cvt.f16x2.f32", 1},
        {"cp.async.16", 1},
        {"mma.m16n8k16.f32.f16.f16.f32", 1},
        {"shfl.bfly.b32", 1},
        {"bar.sync", 1},
        {"bra", 1},
        {"atom.global.add.f32", 1},
        {"ret", 1},
    };
    static const struct {
        Measure measure;
        int64_t value;
    } measures[] = {
        {MEASURE_instructions, 17}, {MEASURE_loops, 1},          {MEASURE_loop_instructions, 11},
        {MEASURE_float, 2},         {MEASURE_global_loads, 3},   {MEASURE_shared_stores, 1},
        {MEASURE_tensor, 1},        {MEASURE_shuffles, 1},       {MEASURE_warps, 2},
        {MEASURE_shared, 0},        {MEASURE_other_accesses, 1}, {MEASURE_inner_instructions, 11},
    };
    (void)state;
    Ctx *ctx = begin();
    const CodeFacts facts = inspect(ctx, text);
    assert_int_equal(facts.forms.len, sizeof forms / sizeof *forms);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        uint32_t count = 0;
        vec_for_each (form, &facts.forms)
            count += str_is(form->form, forms[i].form) ? form->count : 0;
        if (count != forms[i].count)
            fail_msg("%u of %s, not %u", count, forms[i].form, forms[i].count);
    }
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++) {
        const MeasureValue *value = &facts.measures[measures[i].measure];
        if (value->state != MEASURED || value->value != measures[i].value)
            fail_msg("%s is %d, not %d", measure_info[measures[i].measure].name, (int)value->value,
                     (int)measures[i].value);
    }
    assert_int_equal(facts.measures[MEASURE_registers].state, MEASURED_ESTIMATE);
    assert_int_equal(facts.measures[MEASURE_spills].state, MEASURED_NOT);
    ctx_destroy(ctx);
}

static void test_launch(void **state) {
    (void)state;
    Ctx *ctx = begin();
    const CodeFacts open =
        inspect(ctx, HEADER ".extern .shared .align 16 .b8 pool[];\n.visible .entry k() {" DECLARE
                            "mov.u32 %r1, pool; st.shared.b32 [%r1], %r1; ret; }");
    assert_int_equal(open.measures[MEASURE_dynamic_shared].state, MEASURED_NOT);
    assert_int_equal(open.measures[MEASURE_warps].state, MEASURED_NOT);
    assert_int_equal(open.measures[MEASURE_ctas].state, MEASURED_NOT);
    const CodeFacts most = inspect(ctx, HEADER ".visible .entry k() .maxntid 96,1,1 { ret; }");
    assert_int_equal(most.measures[MEASURE_warps].state, MEASURED_ESTIMATE);
    assert_int_equal(most.measures[MEASURE_warps].value, 3);
    ctx_destroy(ctx);
}

/* What is inlined from another file belongs to the line of the kernel's own that calls it, what is
 * inlined from the same file to its own line. */
static void test_inlined(void **state) {
    static const char text[] =
        HEADER ".file 2 \"library.py\"\n.visible .entry k() .reqntid 64,1,1 {" DECLARE
               ".loc 1 20 3\nmov.u32 %r1, 0;\n"
               ".loc 2 70 1, function_name $name, inlined_at 1 21 5\nmov.u32 %r2, 0;\n"
               ".loc 2 60 1, function_name $name, inlined_at 2 70 1\nmov.u32 %r3, 0;\n"
               ".loc 1 10 1, function_name $name, inlined_at 1 22 5\nmov.u32 %r3, 0;\n"
               ".loc 2 60 1, function_name $name, inlined_at 1 10 1\nmov.u32 %r3, 0; ret; }\n";
    static const char commented[] =
        HEADER ".file 2 \"/lib/library.py\"\n.visible .entry k() .reqntid 64,1,1 {" DECLARE
               ".loc 1 20 3 // kernel.tile:20:3\nmov.u32 %r1, 0;\n"
               ".loc 2 70 1 // library.py:70:1 @[ kernel.tile:21:5 ]\nmov.u32 %r2, 0;\n"
               ".loc 2 60 1\t// library.py:60:1 @[ library.py:70:1 @[ kernel.tile:21:5 ] ]\r\n"
               "mov.u32 %r3, 0;\n"
               ".loc 1 10 1 // kernel.tile:10:1 @[ kernel.tile:22:5 ]\nmov.u32 %r3, 0;\n"
               ".loc 2 60 1 // library.py:60:1 @[ kernel.tile:10:1 @[ kernel.tile:22:5 ] ]\n"
               "mov.u32 %r3, 0; ret; }\n";
    static const uint32_t wanted[][2] = {{10, 3}, {20, 1}, {21, 2}};
    const char *const texts[] = {text, commented};
    (void)state;
    for (size_t t = 0; t < 2; t++) {
        Ctx *ctx = begin();
        const CodeFacts facts = inspect(ctx, texts[t]);
        assert_int_equal(facts.lines.len, sizeof wanted / sizeof *wanted);
        for (size_t i = 0; i < facts.lines.len; i++) {
            assert_true(str_is(facts.lines.data[i].file, "kernel.tile"));
            assert_int_equal(facts.lines.data[i].line, wanted[i][0]);
            assert_int_equal(facts.lines.data[i].count, wanted[i][1]);
        }
        ctx_destroy(ctx);
    }
}

/* A comment that says something else, or of files that are not there, says nothing. */
static void test_comments(void **state) {
    static const char *const comments[] = {
        "",
        "// kernel.tile",
        "// library.py:60:2 @[ kernel.tile:21:5 ]",
        "// library.py:60:1 @[ other.py:21:5 ]",
        "// library.py:60:1 @[ kernel.tile:x:5 ]",
        "// library.py:60:1 @[ :21:5 ]",
        "// library.py:60:1 @[",
        "// library.py:60:1 @[ kernel.tile:99999999999:5 ]",
        "// :60:1",
    };
    (void)state;
    for (size_t i = 0; i < sizeof comments / sizeof *comments; i++) {
        Ctx *ctx = begin();
        const char *text =
            str_format(&ctx->arena,
                       HEADER ".file 2 \"library.py\"\n.visible .entry k() .reqntid 64,1,1 { "
                              ".reg .b32 %%r<9>;\n.loc 2 60 1 %s\nmov.u32 %%r1, 0; ret; }\n",
                       comments[i]);
        const CodeFacts facts = inspect(ctx, text);
        assert_int_equal(facts.lines.len, 1);
        assert_true(str_is(facts.lines.data[0].file, "library.py"));
        assert_int_equal(facts.lines.data[0].line, 60);
        ctx_destroy(ctx);
    }
}

/* Alignment. */

/* "0=1 1=-": the loops of A, what is the same in B, and what B has alone. */
static const char *pairs_text(Arena *arena, const CodePairs *pairs) {
    StrBuf out = strbuf(arena);
    vec_for_each (pair, pairs) {
        if (out.len)
            strbuf_putc(&out, ' ');
        if (pair->a >= 0)
            strbuf_printf(&out, "%d", pair->a);
        strbuf_putc(&out, '=');
        if (pair->b >= 0)
            strbuf_printf(&out, "%d", pair->b);
    }
    strbuf_putc(&out, 0);
    return out.ptr;
}

#define FLOATS(label)                                                                              \
    label ": fma.rn.f32 %f1, %f1, %f2, %f3; fma.rn.f32 %f1, %f1, %f2, %f3; "                       \
          "@%p1 bra " label ";\n"
#define INTEGERS(label) label ": add.u32 %r1, %r1, 1; xor.b32 %r1, %r1, 1; @%p1 bra " label ";\n"
#define LOADS(label)                                                                               \
    label ": ld.global.b32 %r1, [%rd1]; ld.global.b32 %r2, [%rd1]; "                               \
          "@%p1 bra " label ";\n"

static void test_align(void **state) {
    static const struct {
        const char *a, *b, *loops;
    } cases[] = {
        /* By order and similarity, where there are no lines. */
        {KERNEL(FLOATS("A") INTEGERS("B") "ret;"), KERNEL(FLOATS("A") INTEGERS("B") "ret;"),
         "0=0 1=1"},
        {KERNEL(FLOATS("A") INTEGERS("B") "ret;"), KERNEL(INTEGERS("B") "ret;"), "0= 1=0"},
        {KERNEL(INTEGERS("A") "ret;"), KERNEL(LOADS("A") FLOATS("B") INTEGERS("C") "ret;"),
         "=0 =1 0=2"},
        /* One loop more around it. */
        {KERNEL(FLOATS("A") "ret;"),
         KERNEL("O: mov.u32 %r1, 1; " FLOATS("A") INTEGERS("B") LOADS("C") "@%p2 bra O; ret;"),
         "=0 0=1 =2 =3"},
        /* By the line that they stand at, in another order, of other instructions. */
        {KERNEL(LOC(5) FLOATS("A") LOC(9) INTEGERS("B") "ret;"),
         KERNEL(LOC(9) LOADS("A") LOC(5) FLOATS("B") "ret;"), "0=1 1=0"},
        /* Within a loop that the other one has not. */
        {KERNEL(LOC(5) FLOATS("A") "ret;"),
         KERNEL(LOC(3) "O: mov.u32 %r1, 1;" LOC(5) FLOATS("A") LOC(3) "@%p2 bra O; ret;"),
         "=0 0=1"},
        /* Of two loops of one line the one that is made alike. */
        {KERNEL(LOC(5) FLOATS("A") "ret;"), KERNEL(LOC(5) INTEGERS("A") FLOATS("B") "ret;"),
         "=0 0=1"},
        /* Other lines, but nothing of them is the same. */
        {KERNEL(LOC(5) FLOATS("A") "ret;"), KERNEL(LOC(6) FLOATS("A") LOC(5) "ret;"), "0= =0"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Ctx *ctx = begin();
        const CodeFacts a = inspect(ctx, cases[i].a), b = inspect(ctx, cases[i].b);
        const CodePairs lines = align_lines(&ctx->arena, &a, &b);
        const CodePairs loops = align_loops(&ctx->arena, &a, &b, &lines);
        const char *found = pairs_text(&ctx->arena, &loops);
        if (strcmp(found, cases[i].loops) != 0)
            fail_msg("case %zu: loops %s, not %s", i, found, cases[i].loops);
        ctx_destroy(ctx);
    }
}

/* Facts that are nothing but lines "1:text" with an instruction each. */
static CodeFacts of_lines(Arena *arena, const char *file, const char *const *texts) {
    CodeFacts facts = {0};
    for (; *texts; texts++) {
        char *end;
        const uint32_t line = (uint32_t)strtoul(*texts, &end, 10);
        vec_push(arena, &facts.lines, ((CodeLine){str_from(file), line, str_from(end + 1), 1}));
    }
    return facts;
}

static void test_lines(void **state) {
    static const struct {
        const char *file_a, *a[6], *file_b, *b[6], *lines;
    } cases[] = {
        /* One version: by number, though a text is there twice. */
        {"k.py", {"1:x", "2:y", "5:x"}, "k.py", {"2:y", "5:x"}, "0= 1=0 2=1"},
        /* Another version, whose lines are further down and in a file of another folder. */
        {"old/k.py", {"1:a", "2:b", "3:c"}, "new/k.py", {"4:a", "5:new", "6: c "}, "0=0 1=1 2=2"},
        /* Where there are more of them than before, none of them is one of those. */
        {"k.py",
         {"1:a", "2:b", "3:c"},
         "k.py",
         {"4:a", "5:new", "6:newer", "7:c"},
         "0=0 1= =1 =2 2=3"},
        /* A file of another name, the only one of each. */
        {"old.py", {"1:a", "2:b"}, "new.py", {"2:a", "3:b"}, "0=0 1=1"},
        /* No texts: by number. */
        {"k.py", {"1:", "2:", "3:"}, "k.py", {"2:", "4:"}, "0= 1=0 2= =1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Ctx *ctx = begin();
        const CodeFacts a = of_lines(&ctx->arena, cases[i].file_a, cases[i].a);
        const CodeFacts b = of_lines(&ctx->arena, cases[i].file_b, cases[i].b);
        const CodePairs lines = align_lines(&ctx->arena, &a, &b);
        const char *found = pairs_text(&ctx->arena, &lines);
        if (strcmp(found, cases[i].lines) != 0)
            fail_msg("case %zu: lines %s, not %s", i, found, cases[i].lines);
        ctx_destroy(ctx);
    }
}

/* Limits. */

static void test_limits(void **state) {
    static const struct {
        const char *limit;
        int64_t a, b;
        int holds; /* -1: the limit is none */
    } cases[] = {
        {"instructions=0", 100, 100, 1},
        {"instructions=0", 100, 101, 0},
        {"instructions=0", 100, 90, 1},
        {"instructions=+16", 100, 116, 1},
        {"instructions=16", 100, 117, 0},
        {"instructions=5%", 100, 105, 1},
        {"instructions=5%", 100, 106, 0},
        {"instructions=+5%", 100, 105, 1},
        {"instructions=2.5%", 40, 41, 1},
        {"instructions=2.5%", 40, 42, 0},
        {"instructions=50%", 0, 1, 0},
        {"ctas=0", 8, 7, 0},
        {"ctas=0", 8, 9, 1},
        {"ctas=-1", 8, 7, 1},
        {"ctas=1", 8, 6, 0},
        {"tensor=0", 4, 3, 0},
        {"tensor=1", 4, 3, 1},
        {"tensor=0", 4, 4, 1},
        {"live-registers=0", 30, 31, 0},
        {"instructions", 0, 0, -1},
        {"instructions=", 0, 0, -1},
        {"instructions=-1", 0, 0, -1},
        {"instructions=x", 0, 0, -1},
        {"instructions=1.5", 0, 0, -1},
        {"instructions=5%%", 0, 0, -1},
        {"ctas=+1", 0, 0, -1},
        {"tensor=+1", 0, 0, -1},
        {"instruction=0", 0, 0, -1},
        {"=0", 0, 0, -1},
        {"instructions=1e999%", 0, 0, -1},
    };
    (void)state;
    Ctx *ctx = begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        MeasureLimit limit;
        LimitResult result;
        const char *problem = NULL;
        const bool parsed = limit_parse(&ctx->arena, cases[i].limit, &limit, &problem);
        if (parsed != (cases[i].holds >= 0))
            fail_msg("%s: %s", cases[i].limit, parsed ? "taken" : problem);
        if (!parsed)
            continue;
        CodeFacts a = {0}, b = {0};
        a.measures[limit.measure] = (MeasureValue){MEASURED, cases[i].a, NULL};
        b.measures[limit.measure] = (MeasureValue){MEASURED, cases[i].b, NULL};
        assert_true(limit_check(&ctx->arena, &limit, &a, &b, &result, &problem));
        if (result.holds != cases[i].holds)
            fail_msg("%s of %d and %d: %d", cases[i].limit, (int)cases[i].a, (int)cases[i].b,
                     result.holds);
        /* What is not measured, or guessed, passes no limit. */
        b.measures[limit.measure] = (MeasureValue){MEASURED_NOT, 0, "none"};
        assert_false(limit_check(&ctx->arena, &limit, &a, &b, &result, &problem));
        b.measures[limit.measure] = (MeasureValue){MEASURED_ESTIMATE, cases[i].b, "none"};
        assert_false(limit_check(&ctx->arena, &limit, &b, &b, &result, &problem));
    }
    ctx_destroy(ctx);
}

/* JSON. */

static const char *json_of(Ctx *ctx, const CodeFacts *facts) {
    StrBuf out = strbuf(&ctx->arena);
    code_json(facts, &out);
    strbuf_putc(&out, 0);
    return out.ptr;
}

static const char saved_kernel[] = KERNEL(LOC(5) FLOATS("A") LOC(7) "O: mov.u32 %r1, 1;" LOC(
    9) INTEGERS("B") LOC(7) "ld.global.b32 %r1, [%rd1]; @%p2 bra O; ret;");

static void test_saved(void **state) {
    (void)state;
    Ctx *ctx = begin();
    const CodeFacts facts = inspect(ctx, saved_kernel);
    const char *text = json_of(ctx, &facts);
    CodeFacts read;
    const uint32_t file = source_add(&ctx->sources, STR("saved.json"), str_from(text));
    if (!code_read(ctx, file, "test.ptx", &read))
        fail_msg("%s", messages(ctx));
    assert_string_equal(text, json_of(ctx, &read));
    assert_true(compare_code(&ctx->arena, &facts, &read).same);
    ctx_destroy(ctx);
}

/* Whatever becomes of the text, it is read or refused with a message. */
static void test_damaged(void **state) {
    static const char replaced[] = "0,]}\"n-9";
    (void)state;
    Ctx *first = begin();
    const CodeFacts facts = inspect(first, saved_kernel);
    const char *text = json_of(first, &facts);
    const size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        Ctx *ctx = begin();
        char *damaged = str_dup(&ctx->arena, str_from(text));
        CodeFacts read;
        damaged[i] = replaced[i % (sizeof replaced - 1)];
        const size_t kept = i % 7 == 0 ? i : len;
        const uint32_t file = source_add(&ctx->sources, STR("saved.json"), (Str){damaged, kept});
        if (code_read(ctx, file, "saved.json", &read)) {
            const CodeComparison c = compare_code(&ctx->arena, &facts, &read);
            StrBuf out = strbuf(&ctx->arena);
            compare_print(&c, &(CompareView){true, true}, &out);
            compare_json(&c, &out);
        } else {
            assert_int_not_equal(ctx->diags.errors, 0);
        }
        ctx_destroy(ctx);
    }
    ctx_destroy(first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops),    cmocka_unit_test(test_counts),
        cmocka_unit_test(test_launch),   cmocka_unit_test(test_inlined),
        cmocka_unit_test(test_comments), cmocka_unit_test(test_align),
        cmocka_unit_test(test_lines),    cmocka_unit_test(test_limits),
        cmocka_unit_test(test_saved),    cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
