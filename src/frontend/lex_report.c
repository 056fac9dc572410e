/* What is said of tokens: the message of each LexError with its remedy, and how a message names a
 * token.
 *
 * A TOK_error carries a LexError and its place only; the words are found here when the parser meets
 * it. */
#include "frontend/lex.h"

const char *const lex_kind_text[TOK_COUNT] = {[TOK_end] = "end of file",
                                              [TOK_newline] = "end of line",
                                              [TOK_indent] = "indentation",
                                              [TOK_dedent] = "end of block",
                                              [TOK_error] = "error",
                                              [TOK_name] = "name",
                                              [TOK_int] = "integer",
                                              [TOK_float] = "number",
                                              [TOK_string] = "string",
                                              [TOK_fstring] = "f-string",
#define X(name) [KW_##name] = #name,
                                              LEX_KEYWORDS(X)
#undef X
#define X(name, text) [OP_##name] = text,
                                                  LEX_OPERATORS(X)
#undef X
};

/* Characters that look like Python's and come from word processors, with what to write. */
static const char *plain_character(Str character) {
    static const struct {
        const char *found, *plain;
    } table[] = {
        {"\u201c", "\""},      {"\u201d", "\""},      {"\u2018", "'"},  {"\u2019", "'"},
        {"\u2212", "-"},       {"\u2013", "-"},       {"\u2014", "-"},  {"\u00d7", "*"},
        {"\u00f7", "/"},       {"\u2264", "<="},      {"\u2265", ">="}, {"\u2260", "!="},
        {"\u00a0", "a space"}, {"\u3000", "a space"}, {"\uff08", "("},  {"\uff09", ")"},
        {"\uff0c", ","},       {"\uff1a", ":"},       {"\uff1d", "="},  {"\u200b", "nothing"},
        {"\ufeff", "nothing"}, {"\u2192", "->"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (str_is(character, table[i].found))
            return table[i].plain;
    return NULL;
}

static void report_character(const Lexer *lexer, Diags *diags, Span span, Str text) {
    unsigned char c = (unsigned char)text.ptr[0];
    if (c < 0x20 || c == 0x7f) {
        diag(diags, span, lex_control_character, c);
        return;
    }
    diag(diags, span, lex_unexpected_character, STR_ARG(text));
    const char *plain = plain_character(text);
    if (plain && plain[0] >= 'a')
        diag_hint(diags, "write %s", plain);
    else if (plain)
        diag_hint(diags, "write `%s`", plain);
    else if (c == '?')
        diag_hint(diags, "write `a if condition else b`");
}

static void report_number(Diags *diags, Span span, Str text) {
    diag(diags, span, lex_bad_number, STR_ARG(text));
    bool underscore = text.ptr[text.len - 1] == '_';
    for (size_t i = 0; i + 1 < text.len; i++)
        underscore |= text.ptr[i] == '_' && text.ptr[i + 1] == '_';
    char last = text.ptr[text.len - 1];
    if (underscore)
        diag_hint(diags, "put single underscores between digits only");
    else if (text.len > 1 && (last == 'f' || last == 'F') && text.ptr[1] != 'x' &&
             text.ptr[1] != 'X')
        diag_hint(diags, "Python has no suffixes: write `%.*s`", (int)text.len - 1, text.ptr);
    else if (text.len > 1 && strchr("uUlL", last))
        diag_hint(diags, "Python has no suffixes; give the type with `tl.full` or `.to(...)`");
}

void lex_report(const Lexer *lexer, Diags *diags, Token token) {
    Span span = lex_span(lexer, token);
    Str text = lex_text(lexer, token);
    Span first = {span.file, span.lo, span.lo + 1};
    Span opener = {span.file, span.lo, span.lo + (uint32_t)(strcspn(text.ptr, "'\"") + 3)};
    switch ((LexError)token.error) {
    case LEX_nul_byte:
        diag(diags, span, lex_nul_byte);
        break;
    case LEX_invalid_utf8:
        diag(diags, span, lex_invalid_utf8, (unsigned char)text.ptr[0]);
        diag_hint(diags, "save the file as UTF-8");
        break;
    case LEX_unexpected_character:
        report_character(lexer, diags, span, text);
        break;
    case LEX_exclamation:
        diag(diags, span, lex_unexpected_character, STR_ARG(text));
        diag_hint(diags, "write `not` to negate, `!=` to compare");
        break;
    case LEX_unterminated_string:
        diag(diags, span, lex_unterminated_string);
        diag_hint(diags, "end it with the quote it began with; text of several lines needs \"\"\"");
        break;
    case LEX_unterminated_triple:
        diag(diags, opener, lex_unterminated_triple);
        break;
    case LEX_unterminated_fstring:
        diag(diags, first, lex_unterminated_fstring);
        diag_hint(diags, "close the field with `}`, or write `{{` for a brace");
        break;
    case LEX_fstring_nesting:
        diag(diags, first, lex_fstring_nesting, LEX_MAX_STRINGS);
        break;
    case LEX_leading_zeros: {
        size_t zeros = strspn(text.ptr, "0_");
        diag(diags, span, lex_leading_zeros, STR_ARG(text));
        diag_hint(diags, "write `%.*s`, or `0o%.*s` for octal", (int)(text.len - zeros),
                  text.ptr + zeros, (int)(text.len - zeros), text.ptr + zeros);
        break;
    }
    case LEX_imaginary:
        diag(diags, span, lex_imaginary, STR_ARG(text));
        break;
    case LEX_bad_number:
        report_number(diags, span, text);
        break;
    case LEX_stray_backslash:
        diag(diags, span, lex_stray_backslash);
        diag_hint(diags, "a backslash continues a line only as its last character");
        break;
    case LEX_end_after_backslash:
        diag(diags, span, lex_end_after_backslash);
        break;
    case LEX_lone_indent:
        diag(diags, span, lex_lone_indent);
        diag_hint(diags, "indent all lines of a block alike");
        break;
    case LEX_inconsistent_dedent:
        diag(diags, span, lex_inconsistent_dedent);
        diag_hint(diags, "align the line with the block that it belongs to");
        break;
    case LEX_mixed_tabs:
        diag(diags, span, lex_mixed_tabs);
        diag_hint(diags, "indent with spaces only");
        break;
    case LEX_unclosed_bracket:
        diag(diags, span, lex_unclosed_bracket, text.ptr[0]);
        break;
    }
}

const char *lex_describe(const Lexer *lexer, Token token, Arena *arena) {
    Str text = lex_text(lexer, token);
    int shown = text.len > 40 ? 40 : (int)text.len;
    switch ((TokenKind)token.kind) {
    case TOK_name:
    case TOK_int:
    case TOK_float:
        return str_format(arena, "`%.*s%s`", shown, text.ptr, text.len > 40 ? "..." : "");
    case TOK_end:
    case TOK_newline:
    case TOK_indent:
    case TOK_dedent:
    case TOK_error:
        return lex_kind_text[token.kind];
    case TOK_string:
    case TOK_fstring:
        return str_format(arena, "a%s %s", token.kind == TOK_fstring ? "n" : "",
                          lex_kind_text[token.kind]);
#define X(name) case KW_##name:
        LEX_KEYWORDS(X)
#undef X
#define X(name, text) case OP_##name:
        LEX_OPERATORS(X)
#undef X
        return str_format(arena, "`%s`", lex_kind_text[token.kind]);
    case TOK_COUNT:
        break;
    }
    return "";
}
