/* The parser beyond the shape of trees: values of literals, places of nodes, single expressions,
 * limits, and that hostile sources take time in proportion to their size. */
#include "frontend/parse.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct Run {
    Arena arena;
    SourceMap sources;
    Diags diags;
    uint32_t file;
} Run;

static void start(Run *run, Str source) {
    *run = (Run){0};
    run->sources.arena = &run->arena;
    run->diags = (Diags){.arena = &run->arena, .sources = &run->sources};
    run->file = source_add(&run->sources, STR("t.py"), source);
}

static Expr *expression(Run *run, const char *source) {
    start(run, str_from(source));
    return parse_expression(&run->diags, run->file);
}

static void test_integers(void **state) {
    static const struct {
        const char *text;
        uint64_t hi, lo;
    } cases[] = {
        {"0", 0, 0},
        {"1_000", 0, 1000},
        {"0xFFFF_FFFF_FFFF_FFFF", 0, UINT64_MAX},
        {"18446744073709551616", 1, 0},
        {"0x80000000000000000000000000000000", (uint64_t)1 << 63, 0},
        {"340282366920938463463374607431768211455", UINT64_MAX, UINT64_MAX},
        {"0b1_0000_0001", 0, 257},
        {"0o777", 0, 511},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Run run;
        Expr *e = expression(&run, cases[i].text);
        assert_non_null(e);
        assert_int_equal(e->kind, EXPR_int);
        assert_true(e->u.integer.hi == cases[i].hi && e->u.integer.lo == cases[i].lo);
        arena_free(&run.arena);
    }
}

/* The reference is C's own reading of the literal, and for special values the value itself. */
static void test_floats(void **state) {
    static const char *const texts[] = {
        "0.0",
        "1.0",
        "1.",
        ".5",
        "0.1",
        "3.141592653589793",
        "1e0",
        "1e22",
        "1e23",
        "123.456e7",
        "4.9e-324",
        "2.2250738585072011e-308",
        "1.7976931348623157e308",
        "00012.50",
        "1E-5",
        "9007199254740993.0",
        "0.30000000000000004",
        "1.00000000000000011102230246251565",
        "100000000000000000000000000000000000000000000000000.0e-50",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        Run run;
        Expr *e = expression(&run, texts[i]);
        assert_non_null(e);
        assert_int_equal(e->kind, EXPR_float);
        double want = strtod(texts[i], NULL);
        assert_memory_equal(&e->u.number, &want, sizeof want);
        arena_free(&run.arena);
    }
    static const struct {
        const char *text;
        double value;
    } special[] = {
        {"1e400", INFINITY},
        {"1e99999999999999999999", INFINITY},
        {"1e-99999999999999999999", 0},
        {"0e99999999999999999999", 0},
        {"1_0.2_5e1_0", 10.25e10},
        {"1e-400", 0},
    };
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        Run run;
        Expr *e = expression(&run, special[i].text);
        assert_non_null(e);
        assert_true(e->u.number == special[i].value);
        arena_free(&run.arena);
    }
}

static void test_strings(void **state) {
    static const struct {
        const char *text;
        Str value;
    } cases[] = {
        {"'abc'", STR("abc")},
        {"''", STR("")},
        {"'a' \"b\" '''c'''", STR("abc")},
        {"'\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"'", STR("\a\b\f\n\r\t\v\\'\"")},
        {"'\\0\\1\\12\\123\\1234\\8'", STR("\0\1\nSS4\\8")},
        {"'\\x00\\xe9\\u20ac\\U0001F600'", STR("\0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80")},
        {"'\\777'", STR("\xc7\xbf")},
        {"'\\q\\ '", STR("\\q\\ ")},
        {"r'\\n\\''", STR("\\n\\'")},
        {"'a\\\nb'", STR("ab")},
        {"'a\\\r\nb'", STR("ab")},
        {"r'a\\\nb'", STR("a\\\nb")},
        {"'''a\r\nb\rc'''", STR("a\nb\nc")},
        {"'\xe4\xb8\xad'", STR("\xe4\xb8\xad")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Run run;
        Expr *e = expression(&run, cases[i].text);
        assert_non_null(e);
        assert_int_equal(e->kind, EXPR_string);
        assert_int_equal(e->u.string.len, cases[i].value.len);
        assert_memory_equal(e->u.string.ptr, cases[i].value.ptr, cases[i].value.len);
        arena_free(&run.arena);
    }
}

/* Expressions that are whole sources: values of -D, grids. */
static void test_expressions(void **state) {
    static const struct {
        const char *text;
        ExprKind kind;
    } good[] = {
        {"1024", EXPR_int},
        {"-1", EXPR_unary},
        {"None\n", EXPR_none},
        {"tl.float32", EXPR_attribute},
        {"cdiv(n, BLOCK), 1", EXPR_tuple},
        {"(cdiv(n, BLOCK),)", EXPR_tuple},
        {"[1, 2]", EXPR_list},
        {"(1 +\n 2)  # comment\n\n", EXPR_binary},
        {"lambda meta: (1,)", EXPR_lambda},
        {"'text'", EXPR_string},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        Run run;
        Expr *e = expression(&run, good[i].text);
        assert_non_null(e);
        assert_int_equal(e->kind, good[i].kind);
        assert_int_equal(run.diags.errors, 0);
        arena_free(&run.arena);
    }
    static const char *const bad[] = {"",  "\n",      "1 2", "x = 1", "1\n2", " 1",       "a b",
                                      "(", "if x: y", "1;",  "$",     "'a",   "x y: int", "*x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Run run;
        assert_null(expression(&run, bad[i]));
        assert_int_equal(run.diags.errors, 1);
        arena_free(&run.arena);
    }
}

static Str text_at(const Run *run, Span span) {
    const Source *source = source_get(&run->sources, span.file);
    return (Str){source->text.ptr + span.lo, span.hi - span.lo};
}

#define ASSERT_TEXT(run, span, text) assert_true(str_is(text_at(run, span), text))

static void test_places(void **state) {
    Run run;
    start(&run, STR("@jit\ndef f(a, *b: int, c=1) -> t:\n    x.y = g(a + b[1:2], k='v')\n"
                    "    if not (a): return (a,\n  b)\n    for i in range(3): pass\n"));
    const AstFile *ast = parse_file(&run.diags, run.file);
    assert_int_equal(run.diags.errors, 0);
    assert_int_equal(ast->file, run.file);
    assert_int_equal(ast->body.count, 1);
    const FuncDef *def = ast->body.items[0]->u.def;
    ASSERT_TEXT(&run, def->name_span, "f");
    ASSERT_TEXT(&run, def->span, "def f(a, *b: int, c=1) -> t");
    ASSERT_TEXT(&run, def->params[1].span, "*b");
    ASSERT_TEXT(&run, def->params[1].annotation->span, "int");
    ASSERT_TEXT(&run, def->params[2].default_value->span, "1");
    const Stmt *assign = def->body.items[0];
    ASSERT_TEXT(&run, assign->span, "x.y = g(a + b[1:2], k='v')");
    ASSERT_TEXT(&run, assign->u.assign.targets.items[0]->span, "x.y");
    ASSERT_TEXT(&run, assign->u.assign.targets.items[0]->u.attribute.name_span, "y");
    const Expr *call = assign->u.assign.value;
    ASSERT_TEXT(&run, call->span, "g(a + b[1:2], k='v')");
    const Expr *sum = call->u.call.args.items[0];
    ASSERT_TEXT(&run, sum->span, "a + b[1:2]");
    ASSERT_TEXT(&run, sum->u.binary.right->u.subscript.index->span, "1:2");
    ASSERT_TEXT(&run, call->u.call.keywords[0].span, "k='v'");
    const Stmt *branch = def->body.items[1];
    ASSERT_TEXT(&run, branch->span, "if not (a)");
    ASSERT_TEXT(&run, branch->u.branch.condition->span, "not (a)");
    ASSERT_TEXT(&run, branch->u.branch.body.items[0]->u.expr->span, "(a,\n  b)");
    ASSERT_TEXT(&run, def->body.items[2]->span, "for i in range(3)");
    arena_free(&run.arena);
}

static void test_places_in_fstrings(void **state) {
    Run run;
    Expr *e = expression(&run, "f'ab{x + 1}c{y!r:>{w}}'");
    assert_non_null(e);
    assert_int_equal(e->u.list.count, 4);
    ASSERT_TEXT(&run, e->u.list.items[1]->span, "x + 1");
    ASSERT_TEXT(&run, e->u.list.items[3]->span, "{y!r:>{w}}");
    ASSERT_TEXT(&run, e->u.list.items[3]->u.formatted.value->span, "y");
    ASSERT_TEXT(&run, e->u.list.items[3]->u.formatted.spec->span, ">{w}");
    arena_free(&run.arena);
}

static void add_repeated(StrBuf *out, const char *text, size_t count) {
    for (size_t i = 0; i < count; i++)
        strbuf_puts(out, text);
}

/* Parses head, `count` times repeated, middle, closing repeated as often, and tail. Returns the
 * first message's id or DIAG_COUNT. */
static DiagId parse_repeated(const char *head, const char *repeated, const char *middle,
                             const char *closing, size_t count) {
    Arena text_arena = {0};
    StrBuf text = strbuf(&text_arena);
    strbuf_puts(&text, head);
    add_repeated(&text, repeated, count);
    strbuf_puts(&text, middle);
    add_repeated(&text, closing, count);
    strbuf_puts(&text, "\n");
    Run run;
    start(&run, strbuf_str(&text));
    const AstFile *ast = parse_file(&run.diags, run.file);
    StrBuf out = strbuf(&run.arena);
    diag_print_all(&run.diags, &out);
    ast_print_file(ast, &out);
    DiagId id = run.diags.first ? run.diags.first->id : DIAG_COUNT;
    arena_free(&run.arena);
    arena_free(&text_arena);
    return id;
}

#define HEAD "@jit\ndef f(x):\n    "

static void test_limits(void **state) {
    static const struct {
        const char *repeated, *middle, *closing;
        size_t accepted, refused;
        DiagId id;
    } cases[] = {
        {"(", "x", ")", 199, 201, DIAG_parse_nesting},
        {"[", "x", "]", 199, 201, DIAG_parse_nesting},
        {"f(", "x", ")", 199, 201, DIAG_parse_nesting},
        {"x[", "x", "]", 199, 201, DIAG_parse_nesting},
        {"{1: ", "x", "}", 199, 201, DIAG_parse_nesting},
        {"- ", "x", "", 199, 200, DIAG_parse_nesting},
        {"not ", "x", "", 199, 200, DIAG_parse_nesting},
        {"x ** ", "x", "", 199, 200, DIAG_parse_nesting},
        {"lambda: ", "x", "", 199, 200, DIAG_parse_nesting},
        {"x if x else ", "x", "", 199, 200, DIAG_parse_nesting},
        {"yield ", "x", "", 199, 201, DIAG_parse_nesting},
        {"[x for x in ", "x", "]", 199, 201, DIAG_parse_nesting},
        {"x + ", "x", "", 499, 500, DIAG_parse_too_deep},
        {"1", "", "", 4300, 4301, DIAG_parse_int_range},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse_repeated(HEAD, cases[i].repeated, cases[i].middle, cases[i].closing,
                                        cases[i].accepted),
                         DIAG_COUNT);
        assert_int_equal(parse_repeated(HEAD, cases[i].repeated, cases[i].middle, cases[i].closing,
                                        cases[i].refused),
                         cases[i].id);
    }
    assert_int_equal(parse_repeated(HEAD "x", "", "", ".y", 499), DIAG_COUNT);
    assert_int_equal(parse_repeated(HEAD "x", "", "", ".y", 500), DIAG_parse_too_deep);
    assert_int_equal(parse_repeated(HEAD "x", "", "", "()[0]", 249), DIAG_COUNT);
    assert_int_equal(parse_repeated(HEAD "x", "", "", "()[0]", 250), DIAG_parse_too_deep);
    /* Flat lists have no limit. */
    assert_int_equal(parse_repeated(HEAD "x = [", "1, ", "]", "", 20000), DIAG_COUNT);
    assert_int_equal(parse_repeated(HEAD "x = y", "", "", " and z", 20000), DIAG_COUNT);
    /* Branches and blocks. */
    assert_int_equal(parse_repeated(HEAD "if x: pass\n", "    elif x: pass\n", "", "", 490),
                     DIAG_COUNT);
    assert_int_equal(parse_repeated(HEAD "if x: pass\n", "    elif x: pass\n", "", "", 600),
                     DIAG_parse_blocks_too_deep);
}

static DiagId parse_blocks(size_t depth) {
    Arena text_arena = {0};
    StrBuf text = strbuf(&text_arena);
    strbuf_puts(&text, "@jit\ndef f(x):\n");
    for (size_t i = 1; i <= depth; i++) {
        add_repeated(&text, " ", i);
        strbuf_puts(&text, "if x:\n");
    }
    add_repeated(&text, " ", depth + 1);
    strbuf_puts(&text, "pass\n");
    Run run;
    start(&run, strbuf_str(&text));
    parse_file(&run.diags, run.file);
    DiagId id = run.diags.first ? run.diags.first->id : DIAG_COUNT;
    arena_free(&run.arena);
    arena_free(&text_arena);
    return id;
}

static void test_block_limit(void **state) {
    assert_int_equal(parse_blocks(99), DIAG_COUNT);
    assert_int_equal(parse_blocks(100), DIAG_parse_blocks_too_deep);
    assert_int_equal(parse_blocks(3000), DIAG_parse_blocks_too_deep);
}

/* Each would take hours if reading were quadratic or exponential in the count, or overflow the
 * stack. */
static void test_hostile_sources(void **state) {
    static const struct {
        const char *head, *repeated, *middle, *closing;
    } cases[] = {
        {HEAD, "(", "", ""},
        {HEAD, ")", "", ""},
        {HEAD, "(\n", "", ""},
        {HEAD, "y = (\n    ", "", ""},
        {HEAD, "if x:\n    ", "", ""},
        {HEAD, "else (\n    ", "", ""},
        {HEAD, "- ", "", ""},
        {HEAD, "f'{", "", ""},
        {HEAD, "f'{f\"{", "x", "}\"}'"},
        {HEAD, "f'{\n", "", ""},
        {HEAD, "f'''{x:{", "", ""},
        {HEAD, "'''", "", ""},
        {HEAD, "'\n    ", "", ""},
        {HEAD, "lambda x, y=", "", ""},
        {HEAD, "[x for x in ", "", ""},
        {HEAD, "x if x else ", "x", ""},
        {HEAD, "with (", "", ""},
        {HEAD, "match x:\n    ", "", ""},
        {HEAD, "try: (\n    ", "", ""},
        {HEAD, "\\\n", "x", ""},
        {HEAD, "x = 1;", "", ""},
        {HEAD, "@a\n    ", "def f(): pass", ""},
        {"", "@a(\n", "", ""},
        {"", "@jit\n", "def f(): pass", ""},
        {"", "if x:\n", "", ""},
        {"", "if x: y = 1\n", "", ""},
        {"", "try: x = (\n", "", ""},
        {"", "def f(\n", "", ""},
        {"", "x = [\n", "", ""},
        {"", " ", "x", "\n"},
        {"", "\xff", "", ""},
        {"", "\t\n ", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        parse_repeated(cases[i].head, cases[i].repeated, cases[i].middle, cases[i].closing, 30000);
}

/* Deeper indentation on every line. */
static void test_hostile_indentation(void **state) {
    for (int decorated = 0; decorated < 2; decorated++) {
        Arena text_arena = {0};
        StrBuf text = strbuf(&text_arena);
        if (decorated)
            strbuf_puts(&text, "@jit\ndef f():\n");
        for (size_t i = 1; i < 1500; i++) {
            add_repeated(&text, " ", i);
            strbuf_puts(&text, i % 2 ? "x = 1\n" : "if x:\n");
        }
        Run run;
        start(&run, strbuf_str(&text));
        parse_file(&run.diags, run.file);
        arena_free(&run.arena);
        arena_free(&text_arena);
    }
}

static void test_error_limit(void **state) {
    Run run;
    StrBuf text;
    start(&run, STR(""));
    text = strbuf(&run.arena);
    strbuf_puts(&text, "@jit\ndef f(x):\n");
    add_repeated(&text, "    x = =\n", 100);
    uint32_t file = source_add(&run.sources, STR("u.py"), strbuf_str(&text));
    run.diags.max_errors = 7;
    parse_file(&run.diags, file);
    unsigned count = 0;
    for (const Diagnostic *d = run.diags.first; d; d = d->next) {
        assert_int_equal(d->id, DIAG_parse_expected);
        assert_int_equal(source_locate(source_get(&run.sources, file), d->span.lo).line, 3 + count);
        count++;
    }
    assert_int_equal(count, 7);
    arena_free(&run.arena);
}

static void parse_many(Arena *arena, Str text) {
    SourceMap sources = {.arena = arena};
    Diags diags = {.arena = arena, .sources = &sources};
    uint32_t file = source_add(&sources, STR("t.py"), text);
    assert_int_equal(parse_file(&diags, file)->body.items[0]->u.def->body.count, 200);
}

/* A compilation that runs out of memory comes back to whoever set the jump buffer. */
static void test_out_of_memory(void **state) {
    Arena source_arena = {0};
    StrBuf text = strbuf(&source_arena);
    strbuf_puts(&text, "@jit\ndef f(x):\n");
    add_repeated(&text, "    x = f'{x}' + (1, 2)\n", 200);
    bool finished = false;
    for (size_t limit = 1 << 12; !finished && limit < (size_t)1 << 28; limit *= 2) {
        jmp_buf oom;
        Arena arena = {.oom = &oom, .limit = limit};
        if (setjmp(oom) == 0) {
            parse_many(&arena, strbuf_str(&text));
            finished = true;
        }
        arena_free(&arena);
    }
    assert_true(finished);
    arena_free(&source_arena);
}

/* Sources that are no text, or end where they must not. */
static void test_broken_sources(void **state) {
    static const struct {
        Str source;
        DiagId wanted;
    } rows[] = {
        {STR("@jit\ndef f(x):\n    return 'gr\xf6 \xdf'\n"), DIAG_lex_invalid_utf8},
        {STR("@jit\ndef f(x):\n    return \xff\n"), DIAG_lex_invalid_utf8},
        {STR("@jit\ndef f(x):\n    return \0x\n"), DIAG_lex_nul_byte},
        {STR("@jit\ndef f(x):\n    return x + \\\n"), DIAG_parse_expected},
        {STR("@jit\ndef f(x):\n    return x + \\"), DIAG_lex_end_after_backslash},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Run run;
        start(&run, rows[i].source);
        parse_file(&run.diags, run.file);
        if (run.diags.errors != 1 || run.diags.first->id != rows[i].wanted)
            fail_msg("%s: %u errors, the first is %s", rows[i].source.ptr, run.diags.errors,
                     run.diags.first ? diag_name(run.diags.first->id) : "none");
        arena_free(&run.arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_strings),         cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_places),          cmocka_unit_test(test_places_in_fstrings),
        cmocka_unit_test(test_limits),          cmocka_unit_test(test_block_limit),
        cmocka_unit_test(test_hostile_sources), cmocka_unit_test(test_hostile_indentation),
        cmocka_unit_test(test_error_limit),     cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_broken_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
