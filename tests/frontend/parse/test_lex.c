/* The lexer against Python's lexical rules: what each piece of text becomes, written as one line of
 * kinds. */
#include "frontend/lex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *const error_name[] = {
#define X(name) #name,
    LEX_ERRORS(X)
#undef X
};

static void add_token(StrBuf *out, const Lexer *lexer, Token token) {
    Str text = lex_text(lexer, token);
    switch ((TokenKind)token.kind) {
    case TOK_end:
        strbuf_puts(out, "END");
        break;
    case TOK_newline:
        strbuf_puts(out, "NEWLINE");
        break;
    case TOK_indent:
        strbuf_puts(out, "INDENT");
        break;
    case TOK_dedent:
        strbuf_puts(out, "DEDENT");
        break;
    case TOK_error:
        strbuf_printf(out, "ERROR:%s", error_name[token.error]);
        break;
    case TOK_name:
        strbuf_printf(out, "%.*s", STR_ARG(text));
        break;
    case TOK_int:
        strbuf_printf(out, "INT:%.*s", STR_ARG(text));
        break;
    case TOK_float:
        strbuf_printf(out, "FLOAT:%.*s", STR_ARG(text));
        break;
    case TOK_string:
        strbuf_printf(out, "STR:%.*s", STR_ARG(text));
        break;
    case TOK_fstring:
        strbuf_printf(out, "FSTR:%.*s", STR_ARG(text));
        break;
    default:
        strbuf_printf(out, "%s", lex_kind_text[token.kind]);
        /* The table's text of a keyword or operator is what stands in the source. */
        assert_int_equal(text.len, strlen(lex_kind_text[token.kind]));
        assert_memory_equal(text.ptr, lex_kind_text[token.kind], text.len);
        break;
    }
}

static const char *lex_all(Arena *arena, Str text) {
    SourceMap sources = {.arena = arena};
    uint32_t file = source_add(&sources, STR("t.py"), text);
    Lexer lexer;
    StrBuf out = strbuf(arena);
    lex_init(&lexer, arena, source_get(&sources, file), file);
    for (bool more = true; more;) {
        lex_line(&lexer);
        assert_true(lexer.tokens.len > 0);
        vec_for_each (token, &lexer.tokens) {
            if (out.len)
                strbuf_putc(&out, ' ');
            add_token(&out, &lexer, *token);
            more = token->kind != TOK_end;
        }
    }
    return out.ptr;
}

typedef struct Case {
    const char *source, *tokens;
} Case;

static void check_cases(const Case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        Arena arena = {0};
        assert_string_equal(lex_all(&arena, str_from(cases[i].source)), cases[i].tokens);
        arena_free(&arena);
    }
}
#define CHECK_CASES(cases) check_cases(cases, sizeof(cases) / sizeof *(cases))

static void test_numbers(void **state) {
    static const Case cases[] = {
        {"0", "INT:0 NEWLINE END"},
        {"00_0", "INT:00_0 NEWLINE END"},
        {"7", "INT:7 NEWLINE END"},
        {"1_000_000", "INT:1_000_000 NEWLINE END"},
        {"0xFf_09", "INT:0xFf_09 NEWLINE END"},
        {"0X_1f", "INT:0X_1f NEWLINE END"},
        {"0o17 0O7", "INT:0o17 INT:0O7 NEWLINE END"},
        {"0b1_01 0B0", "INT:0b1_01 INT:0B0 NEWLINE END"},
        {"1.", "FLOAT:1. NEWLINE END"},
        {".5", "FLOAT:.5 NEWLINE END"},
        {"1.5", "FLOAT:1.5 NEWLINE END"},
        {"1e5 1E+5 1e-5", "FLOAT:1e5 FLOAT:1E+5 FLOAT:1e-5 NEWLINE END"},
        {"1.5e1_0", "FLOAT:1.5e1_0 NEWLINE END"},
        {"1_0.0_1", "FLOAT:1_0.0_1 NEWLINE END"},
        {"010.5 09e1", "FLOAT:010.5 FLOAT:09e1 NEWLINE END"},
        {"1..real", "FLOAT:1. . real NEWLINE END"},
        {"-1", "- INT:1 NEWLINE END"},
        {"1if 0x1for x", "INT:1 if INT:0x1f or x NEWLINE END"},
        {"012", "ERROR:leading_zeros NEWLINE END"},
        {"1j 1.5J 00j 1e3j", "ERROR:imaginary ERROR:imaginary ERROR:imaginary ERROR:imaginary "
                             "NEWLINE END"},
        {"0x", "ERROR:bad_number NEWLINE END"},
        {"0xg", "ERROR:bad_number NEWLINE END"},
        {"0b12", "ERROR:bad_number NEWLINE END"},
        {"0o8", "ERROR:bad_number NEWLINE END"},
        {"1_", "ERROR:bad_number NEWLINE END"},
        {"1__0", "ERROR:bad_number NEWLINE END"},
        {"12abc + 1", "ERROR:bad_number + INT:1 NEWLINE END"},
        {"1.0f", "ERROR:bad_number NEWLINE END"},
        {"1e", "ERROR:bad_number NEWLINE END"},
        {"1e+", "ERROR:bad_number + NEWLINE END"},
    };
    CHECK_CASES(cases);
}

static void test_strings(void **state) {
    static const Case cases[] = {
        {"'a' \"b\"", "STR:'a' STR:\"b\" NEWLINE END"},
        {"''", "STR:'' NEWLINE END"},
        {"'''a'b''c'''", "STR:'''a'b''c''' NEWLINE END"},
        {"\"\"\"a\nb\"\"\"", "STR:\"\"\"a\nb\"\"\" NEWLINE END"},
        {"'\\''", "STR:'\\'' NEWLINE END"},
        {"'\\\\' 'a'", "STR:'\\\\' STR:'a' NEWLINE END"},
        {"r'\\' 'a'", "STR:r'\\' ' a ERROR:unterminated_string NEWLINE END"},
        {"'a\\\nb'", "STR:'a\\\nb' NEWLINE END"},
        {"'a\\\r\nb'", "STR:'a\\\r\nb' NEWLINE END"},
        {"r'' R'' u'' U'' b'' B'' br'' rB'' Rb''",
         "STR:r'' STR:R'' STR:u'' STR:U'' STR:b'' STR:B'' STR:br'' STR:rB'' STR:Rb'' NEWLINE END"},
        {"f'' F'' fr'' rF''", "FSTR:f'' FSTR:F'' FSTR:fr'' FSTR:rF'' NEWLINE END"},
        {"ub''", "ub STR:'' NEWLINE END"},
        {"f'{a}'", "FSTR:f'{a}' NEWLINE END"},
        {"f'{{'", "FSTR:f'{{' NEWLINE END"},
        {"f'{d['k']}'", "FSTR:f'{d['k']}' NEWLINE END"},
        {"f'{f'{f'{1}'}'}' x", "FSTR:f'{f'{f'{1}'}'}' x NEWLINE END"},
        {"f'{a:>{w}.{p}}' x", "FSTR:f'{a:>{w}.{p}}' x NEWLINE END"},
        {"f'{ {1: 2}[1] }'", "FSTR:f'{ {1: 2}[1] }' NEWLINE END"},
        {"f'''{\na # }\n}'''", "FSTR:f'''{\na # }\n}''' NEWLINE END"},
        {"f'{\na}'", "FSTR:f'{\na}' NEWLINE END"},
        {"f'\\{a}'", "FSTR:f'\\{a}' NEWLINE END"},
        {"'a\nb", "ERROR:unterminated_string NEWLINE b NEWLINE END"},
        {"x = 'a", "x = ERROR:unterminated_string NEWLINE END"},
        {"'''a\nb", "ERROR:unterminated_triple NEWLINE END"},
        {"'a\\", "ERROR:unterminated_string NEWLINE END"},
        {"f'{a\nb", "ERROR:unterminated_fstring NEWLINE b NEWLINE END"},
        {"f'a\nb", "ERROR:unterminated_string NEWLINE b NEWLINE END"},
    };
    CHECK_CASES(cases);
}

static void test_words_and_operators(void **state) {
    static const Case cases[] = {
        {"None True False not_ _x x1", "None True False not_ _x x1 NEWLINE END"},
        {"match case type _", "match case type _ NEWLINE END"},
        {"\xcf\x80 \xc3\xa9t\xc3\xa9 x\xcc\x81",
         "\xcf\x80 \xc3\xa9t\xc3\xa9 x\xcc\x81 NEWLINE END"},
        {"a->b:=c...d", "a -> b := c ... d NEWLINE END"},
        {"**= //= <<= >>= @= != == <= >=", "**= //= <<= >>= @= != == <= >= NEWLINE END"},
        {"a<>b", "a < > b NEWLINE END"},
        {"a.b", "a . b NEWLINE END"},
        {"a..b", "a . . b NEWLINE END"},
        {"!x", "ERROR:exclamation x NEWLINE END"},
        {"a ? b", "a ERROR:unexpected_character b NEWLINE END"},
        {"\xe2\x80\x9cx\xe2\x80\x9d", "ERROR:unexpected_character x ERROR:unexpected_character "
                                      "NEWLINE END"},
        {"a\xff"
         "b",
         "a ERROR:invalid_utf8 b NEWLINE END"},
        {"\xed\xa0\x80", "ERROR:invalid_utf8 ERROR:invalid_utf8 ERROR:invalid_utf8 NEWLINE END"},
        {"a\x01", "a ERROR:unexpected_character NEWLINE END"},
    };
    CHECK_CASES(cases);
    Arena arena = {0};
    assert_string_equal(lex_all(&arena, STR("a\0b")), "a ERROR:nul_byte b NEWLINE END");
    assert_string_equal(lex_all(&arena, STR("# a\0b\nc")),
                        "ERROR:nul_byte b NEWLINE c NEWLINE END");
    arena_free(&arena);
}

static void test_lines(void **state) {
    static const Case cases[] = {
        {"", "END"},
        {"\n\n", "END"},
        {"   ", "END"},
        {"# only\n  # comments", "END"},
        {"a", "a NEWLINE END"},
        {"a # b", "a NEWLINE END"},
        {"a\n\n  # x\nb\n", "a NEWLINE b NEWLINE END"},
        {"a\r\nb\rc\n", "a NEWLINE b NEWLINE c NEWLINE END"},
        {"\xef\xbb\xbf"
         "a",
         "a NEWLINE END"},
        {"a; b", "a ; b NEWLINE END"},
        {"a \\\n + b", "a + b NEWLINE END"},
        {"a \\\r\n + b", "a + b NEWLINE END"},
        {"a \\ \n b", "a ERROR:stray_backslash NEWLINE INDENT b NEWLINE DEDENT END"},
        {"a \\", "a ERROR:end_after_backslash NEWLINE END"},
        {"(a\n b)\nc", "( a b ) NEWLINE c NEWLINE END"},
        {"[a,\n\n # c\nb\n]", "[ a , b ] NEWLINE END"},
        {"{(\n[\n1]\n)\n}", "{ ( [ INT:1 ] ) } NEWLINE END"},
        {"(a]\nb", "( a ] NEWLINE b NEWLINE END"},
        {")\na", ") NEWLINE a NEWLINE END"},
        {"a\f\n\fb", "a NEWLINE b NEWLINE END"},
    };
    CHECK_CASES(cases);
}

static void test_indentation(void **state) {
    static const Case cases[] = {
        {"if a:\n  b\nc", "if a : NEWLINE INDENT b NEWLINE DEDENT c NEWLINE END"},
        {"if a:\n  b", "if a : NEWLINE INDENT b NEWLINE DEDENT END"},
        {"a\n  b\n    c\nd",
         "a NEWLINE INDENT b NEWLINE INDENT c NEWLINE DEDENT DEDENT d NEWLINE END"},
        {"a\n\tb\n        c", "a NEWLINE INDENT b NEWLINE ERROR:mixed_tabs c NEWLINE DEDENT END"},
        {"a\n \tb\n \tc", "a NEWLINE INDENT b NEWLINE c NEWLINE DEDENT END"},
        {"a\n\tb\n\t  c\n\td",
         "a NEWLINE INDENT b NEWLINE INDENT c NEWLINE DEDENT d NEWLINE DEDENT END"},
        {"a\n    b\n  c\nd\n",
         "a NEWLINE INDENT b NEWLINE ERROR:inconsistent_dedent c NEWLINE DEDENT d NEWLINE END"},
        {"a\n      b\n    c\nd\n",
         "a NEWLINE INDENT b NEWLINE ERROR:lone_indent c NEWLINE DEDENT d NEWLINE END"},
        {"a\n    b\n  c\n  d\n",
         "a NEWLINE INDENT b NEWLINE ERROR:lone_indent c NEWLINE d NEWLINE DEDENT END"},
        {"a\n    b\n    c\n  d\n    e\nf\n", "a NEWLINE INDENT b NEWLINE c NEWLINE "
                                             "ERROR:inconsistent_dedent d NEWLINE e NEWLINE DEDENT "
                                             "f NEWLINE END"},
        {"a\n    b\n  c\n    d\n",
         "a NEWLINE INDENT b NEWLINE ERROR:inconsistent_dedent c NEWLINE d NEWLINE DEDENT END"},
        {"a\n  b\n\n# c\n      # d\n  e", "a NEWLINE INDENT b NEWLINE e NEWLINE DEDENT END"},
        {"  a", "INDENT a NEWLINE DEDENT END"},
        {"a\n  (b\nc)\n  d", "a NEWLINE INDENT ( b c ) NEWLINE d NEWLINE DEDENT END"},
        {"a\n  \"\"\"x\ny\"\"\"\n  d",
         "a NEWLINE INDENT STR:\"\"\"x\ny\"\"\" NEWLINE d NEWLINE DEDENT END"},
        {"a\n  \f  b\n  c", "a NEWLINE INDENT b NEWLINE c NEWLINE DEDENT END"},
        {"a\n  \\\n    b\n  c", "a NEWLINE INDENT b NEWLINE c NEWLINE DEDENT END"},
    };
    CHECK_CASES(cases);
}

/* A bracket that stays open must not hide the definitions behind it. */
static void test_unclosed_brackets(void **state) {
    static const Case cases[] = {
        {"a = (1\ndef f(): pass",
         "a = ( INT:1 ERROR:unclosed_bracket NEWLINE def f ( ) : pass NEWLINE END"},
        {"a = [(1\n@triton.jit\ndef f(): pass", "a = [ ( INT:1 ERROR:unclosed_bracket NEWLINE @ "
                                                "triton . jit NEWLINE def f ( ) : pass NEWLINE "
                                                "END"},
        {"(a\n@ b)", "( a @ b ) NEWLINE END"},
        {"(a if b\nelse c\nfor x\nin y)", "( a if b else c for x in y ) NEWLINE END"},
        {"a\n  f(\n  return x",
         "a NEWLINE INDENT f ( ERROR:unclosed_bracket NEWLINE return x NEWLINE "
         "DEDENT END"},
        {"f(", "f ( ERROR:unclosed_bracket NEWLINE END"},
        {"f(return)", "f ( return ) NEWLINE END"},
    };
    CHECK_CASES(cases);
}

static void test_spans(void **state) {
    Arena arena = {0};
    SourceMap sources = {.arena = &arena};
    uint32_t file =
        source_add(&sources, STR("t.py"), STR("\xef\xbb\xbfif a:\n\tb = 'c' \\\n  + 10\n"));
    static const char *const texts[] = {"if",  "a", ":",  "\n", "", "b", "=",
                                        "'c'", "+", "10", "\n", "", ""};
    Lexer lexer;
    lex_init(&lexer, &arena, source_get(&sources, file), file);
    size_t i = 0;
    for (bool more = true; more;) {
        lex_line(&lexer);
        vec_for_each (token, &lexer.tokens) {
            Span span = lex_span(&lexer, *token);
            assert_int_equal(span.file, file);
            assert_true(i < sizeof texts / sizeof *texts);
            Str in_source = {source_get(&sources, file)->text.ptr + span.lo, span.hi - span.lo};
            assert_true(str_is(in_source, texts[i]));
            i++;
            more = token->kind != TOK_end;
        }
    }
    assert_int_equal(i, sizeof texts / sizeof *texts);
    /* At the end it stays there. */
    lex_line(&lexer);
    assert_int_equal(lexer.tokens.len, 1);
    assert_int_equal(lexer.tokens.data[0].kind, TOK_end);
    arena_free(&arena);
}

static void test_utf8(void **state) {
    static const struct {
        const char *bytes;
        size_t length;
    } cases[] = {
        {"a", 1},
        {"\xc3\xa9", 2},
        {"\xe2\x82\xac", 3},
        {"\xf0\x9f\x98\x80", 4},
        {"\x80", 0},
        {"\xc0\x80", 0},
        {"\xc1\xbf", 0},
        {"\xe0\x9f\xbf", 0},
        {"\xe0\xa0\x80", 3},
        {"\xed\x9f\xbf", 3},
        {"\xed\xa0\x80", 0},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
        {"\xe2\x82", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *end = cases[i].bytes + strlen(cases[i].bytes);
        assert_int_equal(lex_utf8_length(cases[i].bytes, end), cases[i].length);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_words_and_operators),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_indentation),
        cmocka_unit_test(test_unclosed_brackets),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
