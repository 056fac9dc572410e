/* Arenas, strings, sources and diagnostics: what every other part takes for granted. */
#include "support/ctx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_arena_blocks(void **state) {
    Arena arena = {0};
    unsigned char *blocks[200];
    for (size_t i = 0; i < 200; i++) {
        size_t size = i * i;
        blocks[i] = arena_alloc(&arena, size);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t b = 0; b < size; b++)
            assert_int_equal(blocks[i][b], 0);
        memset(blocks[i], (int)i, size);
    }
    for (size_t i = 0; i < 200; i++)
        for (size_t b = 0; b < i * i; b++)
            assert_int_equal(blocks[i][b], i);
    char *grown = arena_grow(&arena, "abc", 3, 10);
    assert_memory_equal(grown, "abc\0\0\0\0\0\0\0", 10);
    arena_free(&arena);
    assert_int_equal(arena.reserved, 0);
    memset(arena_alloc(&arena, 100), 1, 100);
    arena_free(&arena);
}

static void test_arena_marks(void **state) {
    Arena arena = {0};
    char *before = arena_alloc(&arena, 100);
    memset(before, 7, 100);
    ArenaMark mark = arena_mark(&arena);
    size_t reserved = arena.reserved;
    for (size_t i = 0; i < 100; i++)
        memset(arena_alloc(&arena, 10000), 1, 10000);
    arena_rewind(&arena, mark);
    assert_int_equal(arena.reserved, reserved);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(before[i], 7);
    /* Memory that is used again is zeroed again. */
    unsigned char *again = arena_alloc(&arena, 64);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(again[i], 0);
    arena_free(&arena);
}

static void allocate_to_the_limit(Arena *arena, volatile size_t *taken) {
    for (;;) {
        arena_alloc(arena, 1000);
        *taken += 1000;
    }
}

static void test_arena_limit(void **state) {
    jmp_buf oom;
    Arena arena = {.oom = &oom, .limit = 1 << 20};
    volatile size_t taken = 0;
    if (setjmp(oom) == 0)
        allocate_to_the_limit(&arena, &taken);
    assert_true(taken > 1 << 18);
    assert_true(arena.reserved <= 1 << 20);
    volatile bool jumped = false;
    if (setjmp(oom) == 0)
        arena_array(&arena, SIZE_MAX / 4, 8);
    else
        jumped = true;
    assert_true(jumped);
    arena_free(&arena);
}

typedef struct Held {
    Ctx *ctx;
    bool jumps, from_scratch;
    int released;
} Held;

static void work_with(void *user) {
    const Held *held = user;
    Cancel cancel = {.requested = held->jumps, .event = -1};
    ctx_cancel_with(held->ctx, &cancel);
    arena_alloc(held->from_scratch ? &held->ctx->scratch : &held->ctx->arena, 1);
    ctx_cancel_with(held->ctx, NULL);
}

static void release(void *user) {
    Held *held = user;
    ctx_cancel_with(held->ctx, NULL);
    held->released++;
}

static bool ends_by_a_jump(Held *held) {
    if (setjmp(held->ctx->oom))
        return true;
    ctx_finally(held->ctx, work_with, release, held);
    return false;
}

/* Whichever arena the work is left from, what it held is released once, and the jump goes on. */
static void test_context_finally(void **state) {
    for (int i = 0; i < 4; i++) {
        Held held = {.ctx = ctx_create(), .jumps = i & 1, .from_scratch = i & 2};
        assert_non_null(held.ctx);
        assert_int_equal(ends_by_a_jump(&held), held.jumps);
        assert_int_equal(held.released, 1);
        assert_ptr_equal(held.ctx->arena.oom, &held.ctx->oom);
        assert_ptr_equal(held.ctx->scratch.oom, &held.ctx->oom);
        ctx_destroy(held.ctx);
    }
}

static void test_strings(void **state) {
    Arena arena = {0};
    assert_true(str_eq(STR(""), (Str){NULL, 0}));
    assert_true(str_is(STR("ab"), "ab"));
    assert_false(str_is(STR("ab"), "abc"));
    assert_string_equal(str_dup(&arena, (Str){"abcdef", 3}), "abc");
    assert_string_equal(str_format(&arena, "%s-%05d", "x", 42), "x-00042");
    StrBuf buf = strbuf(&arena);
    assert_int_equal(strbuf_str(&buf).len, 0);
    char want[3001];
    for (size_t i = 0; i < 1000; i++) {
        strbuf_printf(&buf, "%03zu", i);
        snprintf(want + 3 * i, 4, "%03zu", i);
    }
    strbuf_puts(&buf, "");
    assert_int_equal(buf.len, 3000);
    assert_string_equal(buf.ptr, want);
    arena_free(&arena);
}

static void test_json_strings(void **state) {
    static const struct {
        Str text;
        const char *json;
    } cases[] = {
        {STR("abc"), "\"abc\""},
        {STR(""), "\"\""},
        {STR("a\"b\\c\n\t\0"), "\"a\\\"b\\\\c\\n\\u0009\\u0000\""},
        {STR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {STR("\xff"
             "a\xc3"),
         "\"\\ufffda\\ufffd\""},
        {STR("\x7f\x1b"), "\"\\u007f\\u001b\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena = {0};
        StrBuf buf = strbuf(&arena);
        strbuf_json(&buf, cases[i].text);
        assert_string_equal(buf.ptr, cases[i].json);
        arena_free(&arena);
    }
}

static void check_words(Arena *arena, const char *text, const char *const *wanted) {
    const Str all = str_from(text);
    size_t at = 0;
    StrWord word;
    for (; *wanted; wanted++) {
        assert_true(str_next_word(arena, all, &at, &word));
        assert_string_equal(word.text.ptr, *wanted);
        assert_true(word.begin < word.end && word.end == at && !word.is_open);
    }
    assert_false(str_next_word(arena, all, &at, &word));
    assert_int_equal(at, all.len);
}

/* As sh splits them. */
static void test_words(void **state) {
    (void)state;
    Ctx *ctx = ctx_create();
    Arena *arena = &ctx->arena;
    check_words(arena, "", (const char *[]){NULL});
    check_words(arena, " \t\r\n", (const char *[]){NULL});
    check_words(arena, "-t sm_90a\t-D  'A=1 2' ",
                (const char *[]){"-t", "sm_90a", "-D", "A=1 2", NULL});
    check_words(arena, "a\"b 'c\"d'e \"f' '' \"\"", (const char *[]){"ab 'cde \"f", "", "", NULL});
    check_words(arena, "a\\ b \"c\\\"d\" 'e\\f' g\\",
                (const char *[]){"a b", "c\"d", "e\\f", "g\\", NULL});
    StrWord word;
    size_t at = 0;
    assert_true(str_next_word(arena, STR("  'a b"), &at, &word));
    assert_true(word.is_open);
    assert_int_equal(word.begin, 2);
    ctx_destroy(ctx);
}

static void test_nearest(void **state) {
    const Str names[] = {STR("program_id"), STR("num_programs"), STR("load"),
                         STR("store"),      STR("maximum"),      STR("minimum")};
    assert_int_equal(str_nearest(STR("progam_id"), names, 6), 0);
    assert_int_equal(str_nearest(STR("laod"), names, 6), 2);
    assert_int_equal(str_nearest(STR("stor"), names, 6), 3);
    assert_int_equal(str_nearest(STR("maximun"), names, 6), 4);
    assert_int_equal(str_nearest(STR("something_else"), names, 6), -1);
    assert_int_equal(str_nearest(STR("x"), names, 0), -1);
}

static void test_sources(void **state) {
    Arena arena = {0};
    SourceMap map = {.arena = &arena};
    uint32_t file = source_add(&map, STR("a.py"), STR("ab\n\ncd\r\nlast"));
    uint32_t empty = source_add(&map, STR("b.py"), STR(""));
    assert_int_equal(file, 1);
    assert_int_equal(empty, 2);
    assert_null(source_get(&map, 0));
    assert_null(source_get(&map, 3));
    const Source *source = source_get(&map, file);
    static const struct {
        uint32_t offset, line, column;
    } places[] = {{0, 1, 1}, {1, 1, 2}, {2, 1, 3}, {3, 2, 1},
                  {4, 3, 1}, {6, 3, 3}, {8, 4, 1}, {12, 4, 5}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        LineColumn at = source_locate(source, places[i].offset);
        assert_int_equal(at.line, places[i].line);
        assert_int_equal(at.column, places[i].column);
    }
    static const char *const lines[] = {"", "ab", "", "cd", "last", ""};
    for (uint32_t line = 0; line < 6; line++)
        assert_true(str_is(source_line(source, line), lines[line]));
    assert_int_equal(source_locate(source_get(&map, empty), 0).line, 1);
    Span a = {1, 4, 6}, b = {1, 0, 2}, nowhere = {0, 0, 0}, other = {2, 0, 0};
    assert_int_equal(span_join(a, b).lo, 0);
    assert_int_equal(span_join(a, b).hi, 6);
    assert_int_equal(span_join(a, nowhere).lo, 4);
    assert_int_equal(span_join(nowhere, a).hi, 6);
    assert_int_equal(span_join(a, other).file, 1);
    arena_free(&arena);
}

typedef struct Fixture {
    Arena arena;
    SourceMap sources;
    Diags diags;
} Fixture;

static void start(Fixture *f) {
    *f = (Fixture){0};
    f->sources.arena = &f->arena;
    f->diags = (Diags){.arena = &f->arena, .sources = &f->sources};
}

static void test_diagnostics_as_text(void **state) {
    Fixture f;
    start(&f);
    uint32_t file = source_add(&f.sources, STR("dir/k.py"), STR("x = 1\n\ty = \xc3\xa9 + z\n"));
    Span z = {file, 16, 17}, y = {file, 7, 13};
    assert_false(diag(&f.diags, z, parse_expected, "a name", "`z`"));
    diag_note(&f.diags, y, "within %s", "this");
    diag_hint(&f.diags, "write `%d`", 2);
    Span nowhere = {0};
    diag(&f.diags, nowhere, file_unreadable, "a.py", "no such file");
    StrBuf out = strbuf(&f.arena);
    diag_print_all(&f.diags, &out);
    assert_string_equal(out.ptr, "dir/k.py:2:11: error: expected a name, found `z`\n"
                                 "    2 | \ty = \xc3\xa9 + z\n"
                                 "      | \t        ^\n"
                                 "dir/k.py:2:2: note: within this\n"
                                 "    2 | \ty = \xc3\xa9 + z\n"
                                 "      | \t^~~~~\n"
                                 "      = hint: write `2`\n"
                                 "tilec: error: cannot read 'a.py': no such file\n");
    arena_free(&f.arena);
}

/* A source cannot make the terminal do anything. */
static void test_control_characters(void **state) {
    Fixture f;
    start(&f);
    uint32_t file = source_add(&f.sources, STR("k.py"), STR("a = '\x1b[31m\x07-\x7f'\tb\n"));
    Span b = {file, 15, 16};
    diag(&f.diags, b, parse_expected, "a name", "`b`");
    StrBuf out = strbuf(&f.arena);
    diag_print_all(&f.diags, &out);
    assert_string_equal(out.ptr, "k.py:1:16: error: expected a name, found `b`\n"
                                 "    1 | a = '?[31m?-?'\tb\n"
                                 "      |               \t^\n");
    arena_free(&f.arena);
}

static void test_diagnostics_as_json(void **state) {
    Fixture f;
    start(&f);
    StrBuf out = strbuf(&f.arena);
    diag_json(&f.diags, &out);
    assert_string_equal(out.ptr, "[]");
    uint32_t file = source_add(&f.sources, STR("k \"1\".py"), STR("ab\ncd"));
    diag(&f.diags, ((Span){file, 1, 4}), parse_expected, "a \"name\"", "x");
    diag_hint(&f.diags, "h");
    diag(&f.diags, ((Span){0}), lex_nul_byte);
    out = strbuf(&f.arena);
    diag_json(&f.diags, &out);
    assert_string_equal(out.ptr,
                        "[{\"severity\": \"error\", \"id\": \"parse_expected\", \"message\": "
                        "\"expected a \\\"name\\\", found x\", \"file\": \"k \\\"1\\\".py\", "
                        "\"line\": 1, \"column\": 2, "
                        "\"end_line\": 2, \"end_column\": 2, \"notes\": [{\"kind\": \"hint\", "
                        "\"message\": \"h\"}]}, "
                        "{\"severity\": \"error\", \"id\": \"lex_nul_byte\", \"message\": \"NUL "
                        "byte in the source\", "
                        "\"notes\": []}]");
    arena_free(&f.arena);
}

/* What an attempt said goes with it, the first thing said too. */
static void test_diagnostics_rewound(void **state) {
    Fixture f;
    const Span nowhere = {0};
    start(&f);
    for (int i = 0; i < 2; i++) {
        const DiagMark mark = diag_mark(&f.diags);
        assert_false(diag_said_since(&f.diags, mark));
        diag(&f.diags, nowhere, file_unreadable, "a.py", "dropped");
        diag(&f.diags, nowhere, lex_nul_byte);
        assert_true(diag_said_since(&f.diags, mark));
        diag_rewind(&f.diags, mark);
        assert_false(diag_said_since(&f.diags, mark));
        diag(&f.diags, nowhere, file_unreadable, "b.py", i ? "second" : "first");
    }
    StrBuf out = strbuf(&f.arena);
    diag_print_all(&f.diags, &out);
    assert_null(strstr(out.ptr, "dropped"));
    assert_true(strstr(out.ptr, "first") < strstr(out.ptr, "second"));
    assert_int_equal(f.diags.errors, 2);
    arena_free(&f.arena);
}

static void test_diagnostics_limit(void **state) {
    Fixture f;
    start(&f);
    Span nowhere = {0};
    for (int i = 0; i < 25; i++) {
        assert_int_equal(diag_full(&f.diags), i >= 20);
        diag(&f.diags, nowhere, lex_nul_byte);
        if (i >= 20)
            diag_hint(&f.diags, "of a message that is not kept");
    }
    assert_null(f.diags.last->notes);
    assert_int_equal(f.diags.errors, 25);
    unsigned kept = 0;
    for (const Diagnostic *d = f.diags.first; d; d = d->next)
        kept++;
    assert_int_equal(kept, 20);
    StrBuf out = strbuf(&f.arena);
    diag_print_all(&f.diags, &out);
    assert_non_null(strstr(out.ptr, "tilec: 25 errors, the first 20 shown\n"));
    for (int id = 0; id < DIAG_COUNT; id++)
        assert_true(strlen(diag_name((DiagId)id)) > 0);
    arena_free(&f.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena_blocks),
        cmocka_unit_test(test_arena_marks),
        cmocka_unit_test(test_arena_limit),
        cmocka_unit_test(test_context_finally),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_json_strings),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_diagnostics_as_text),
        cmocka_unit_test(test_control_characters),
        cmocka_unit_test(test_diagnostics_as_json),
        cmocka_unit_test(test_diagnostics_rewound),
        cmocka_unit_test(test_diagnostics_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
