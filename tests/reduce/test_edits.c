/* Every edit of every kind, of the repository's kernels and of files with all forms: most results
 * parse, and those that are smaller are another text. Commands for arguments. */
#include "reduce/arguments.h"
#include "reduce/edits.h"
#include "support/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
/* cmocka.h needs those above */
#include <cmocka.h>

static const char *const files[] = {"tests/reduce/Inputs/large.py", "tests/reduce/Inputs/forms.py",
                                    "kernels/matmul.tile", "kernels/softmax.tile",
                                    "kernels/attention.tile"};

typedef struct Counts {
    size_t edits, parse, smaller;
} Counts;

static void try_edit(Ctx *ctx, const Syntax *syntax, const Edit *edit, Counts *counts) {
    const ArenaMark mark = arena_mark(&ctx->scratch);
    Syntax after;
    vec_for_each (part, &edit->parts)
        assert_true(part->lo <= part->hi && part->hi <= syntax->text.len);
    const Str text = edits_apply(&ctx->scratch, syntax->text, edit);
    syntax_read(&ctx->scratch, text, &after);
    const Measure a = syntax_measure(&after), b = syntax_measure(syntax);
    counts->edits++;
    counts->parse += after.mistakes <= syntax->mistakes;
    counts->smaller += measure_order(&a, &b) < 0;
    if (measure_order(&a, &b) < 0)
        assert_false(str_eq(text, syntax->text));
    arena_rewind(&ctx->scratch, mark);
}

static void try_place(Ctx *ctx, const Syntax *syntax, const Place *place, Counts *counts) {
    Edit edit;
    vec_for_each (choice, &place->choices)
        try_edit(ctx, syntax, choice, counts);
    for (size_t part = place->items.len; part; part /= 2)
        for (size_t begin = 0; begin + part <= place->items.len; begin += part)
            if (edits_delete(&ctx->arena, place, begin, begin + part, &edit))
                try_edit(ctx, syntax, &edit, counts);
}

static void test_all_edits(void **state) {
    for (int kind = 0; kind < EDITS_COUNT; kind++) {
        Counts counts = {0};
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
            Ctx *ctx = ctx_create();
            Str text;
            Syntax syntax;
            Places places;
            const char *path = str_format(&ctx->arena, "%s/%s", TILEC_SOURCE_DIR, files[i]);
            assert_int_equal(file_read(&ctx->arena, path, 1 << 20, &text), 0);
            syntax_read(&ctx->arena, text, &syntax);
            assert_int_equal(syntax.mistakes, 0);
            edits_find(&syntax, (EditKind)kind, &places);
            vec_for_each (place, &places)
                try_place(ctx, &syntax, place, &counts);
            ctx_destroy(ctx);
        }
        printf("%s: %zu edits, %zu parse, %zu smaller\n", edits_name[kind], counts.edits,
               counts.parse, counts.smaller);
        assert_true(counts.edits || kind == EDITS_LINES);
        assert_true(10 * counts.parse >= 9 * counts.edits);
        assert_true(2 * counts.smaller >= counts.edits);
    }
}

static Words words_of(Arena *arena, const char *text) {
    Words words = {0};
    for (char *at = str_dup(arena, str_from(text)), *word; (word = strsep(&at, " "));)
        vec_push(arena, &words, word);
    return words;
}

static const char *joined(Arena *arena, const Words *words) {
    StrBuf out = strbuf(arena);
    for (size_t i = 0; i < words->len; i++)
        strbuf_printf(&out, "%s%s", i ? " " : "", words->data[i]);
    return str_dup(arena, strbuf_str(&out));
}

static void test_without(void **state) {
    static const struct {
        const char *words, *parameter;
        uint32_t index;
        const char *expected; /* NULL: nothing is said of it */
    } cases[] = {
        {"t {} -a x=i32 -D N=4", "N", 1, "t {} -a x=i32"},
        {"t {} -a x=i32 -D N=4", "x", 0, "t {} -D N=4"},
        {"t {} -DN=4 -k f", "N", 1, "t {} -k f"},
        {"t {} -s *fp32,(i32,i32),64", "y", 1, "t {} -s *fp32,64"},
        {"t {} -s *fp32,i32", "x", 0, "t {} -s i32"},
        {"t {} -s *fp32,i32", "y", 1, "t {} -s *fp32"},
        {"t {} -s *fp32", "x", 0, "t {} -s "},
        {"t {} --signature=*fp32,i32", "y", 1, "t {} --signature=*fp32"},
        {"t {} -s *fp32", "z", 2, NULL},
        {"t -s *fp32 {}", "x", 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Ctx *ctx = ctx_create();
        Words without;
        const Words words = words_of(&ctx->arena, cases[i].words);
        const bool changed = arguments_without(&ctx->arena, &words, str_from(cases[i].parameter),
                                               cases[i].index, &without);
        assert_int_equal(changed, cases[i].expected != NULL);
        if (changed)
            assert_string_equal(joined(&ctx->arena, &without), cases[i].expected);
        ctx_destroy(ctx);
    }
}

/* What is tried, in this order; numbers of names are none. */
static void test_smaller(void **state) {
    static const char *const expected[] = {
        "t {} -a x=randn:fp32[6]:16",
        "t {} -a x=randn:fp32[6]:16 sm_90a",
        "t {} -t sm_90a",
        "t {} x=randn:fp32[6]:16 -t sm_90a",
        "t {} -a x=randn:fp32[6] -t sm_90a",
        "t {} -a x=randn:fp32[1]:16 -t sm_90a",
        "t {} -a x=randn:fp32[4]:16 -t sm_90a",
        "t {} -a x=randn:fp32[3]:16 -t sm_90a",
        "t {} -a x=randn:fp32[6]:1 -t sm_90a",
        "t {} -a x=randn:fp32[6]:8 -t sm_90a",
    };
    Ctx *ctx = ctx_create();
    WordsList list = {0};
    const Words words = words_of(&ctx->arena, "t {} -a x=randn:fp32[6]:16 -t sm_90a");
    arguments_smaller(&ctx->arena, &words, &list);
    assert_int_equal(list.len, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < list.len; i++)
        assert_string_equal(joined(&ctx->arena, &list.data[i]), expected[i]);
    ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_edits),
                                       cmocka_unit_test(test_without),
                                       cmocka_unit_test(test_smaller)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
