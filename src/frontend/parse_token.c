/* The parser's window of tokens, and its messages: what was expected, and the remedies for the
 * mistakes that are made most. */
#include "frontend/parser.h"

Token parse_peek(Parser *p) {
    if (p->next >= p->lexer->tokens.len) {
        lex_line(p->lexer);
        p->next = 0;
    }
    return p->lexer->tokens.data[p->next];
}

Token parse_peek_second(Parser *p) {
    parse_peek(p);
    if (p->next + 1 < p->lexer->tokens.len)
        return p->lexer->tokens.data[p->next + 1];
    return (Token){.kind = TOK_end};
}

Token parse_take(Parser *p) {
    p->previous = parse_peek(p);
    if (p->previous.kind != TOK_end)
        p->next++;
    return p->previous;
}

bool parse_at(Parser *p, TokenKind kind) {
    return parse_peek(p).kind == kind;
}

bool parse_accept(Parser *p, TokenKind kind) {
    if (!parse_at(p, kind))
        return false;
    parse_take(p);
    return true;
}

Token parse_expect(Parser *p, TokenKind kind, const char *wanted) {
    if (!parse_at(p, kind))
        parse_fail_expected(p, wanted);
    return parse_take(p);
}

bool parse_at_name(Parser *p, const char *name) {
    Token token = parse_peek(p);
    return token.kind == TOK_name && str_is(lex_text(p->lexer, token), name);
}

/* Names point into the lexer's copy of the text, which lives as long as the tree. */
Str parse_intern(Parser *p, Token token) {
    return lex_text(p->lexer, token);
}

Span parse_span_from(Parser *p, uint32_t lo) {
    uint32_t hi = p->previous.hi > lo ? p->previous.hi : lo;
    return (Span){p->lexer->file, lo, hi};
}

/* Errors */

_Noreturn void parse_abandon(Parser *p) {
    p->abandoned++;
    longjmp(*p->recover, 1);
}

void parse_enter(Parser *p) {
    if (++p->nesting <= PARSE_MAX_NESTING)
        return;
    parse_error(p, lex_span(p->lexer, parse_peek(p)), parse_nesting, (int)PARSE_MAX_NESTING);
    parse_hint(p, "name the inner parts");
    parse_abandon(p);
}

void parse_leave(Parser *p) {
    p->nesting--;
}

/* True at a closing bracket that no opening one of the line belongs to. */
static bool at_unmatched_closer(Parser *p) {
    const Lexer *lexer = p->lexer;
    size_t depth = 0;
    if (!parse_at(p, OP_rparen) && !parse_at(p, OP_rbracket) && !parse_at(p, OP_rbrace))
        return false;
    for (size_t i = 0; i < p->next; i++) {
        TokenKind kind = lexer->tokens.data[i].kind;
        depth += kind == OP_lparen || kind == OP_lbracket || kind == OP_lbrace;
        depth -= depth && (kind == OP_rparen || kind == OP_rbracket || kind == OP_rbrace);
    }
    return depth == 0;
}

/* `x++` reads as x + (+ ...) until the line ends. */
static bool after_increment(Parser *p, Span *span) {
    if (p->next < 2 || (!parse_at(p, TOK_newline) && !parse_at(p, OP_semicolon)))
        return false;
    Token second = p->lexer->tokens.data[p->next - 1], first = p->lexer->tokens.data[p->next - 2];
    *span = (Span){p->lexer->file, first.lo, second.hi};
    return first.kind == second.kind && first.hi == second.lo &&
           (first.kind == OP_plus || first.kind == OP_minus);
}

static bool is_keyword(TokenKind kind) {
    switch (kind) {
#define X(name) case KW_##name:
        LEX_KEYWORDS(X)
#undef X
        return true;
    default:
        return false;
    }
}

/* What cannot be parsed stands in a later line of text that a bracket joins which is never closed:
 * that is the mistake. */
static bool after_unclosed(Parser *p, Token *unclosed) {
    const Lexer *lexer = p->lexer;
    const size_t count = lexer->tokens.len;
    if (count < 2 || p->next >= count)
        return false;
    *unclosed = lexer->tokens.data[count - 2];
    if (unclosed->kind != TOK_error || unclosed->error != LEX_unclosed_bracket)
        return false;
    for (size_t i = p->next + 1; i-- > 0 && lexer->tokens.data[i].lo > unclosed->lo;)
        if (lexer->tokens.data[i].starts_line)
            return true;
    return false;
}

_Noreturn void parse_fail_expected(Parser *p, const char *wanted) {
    Token token = parse_peek(p), unclosed;
    Span span = lex_span(p->lexer, token), increment;
    if (p->silent)
        parse_abandon(p);
    if (token.kind == TOK_error) {
        lex_report(p->lexer, p->diags, token);
    } else if (after_unclosed(p, &unclosed)) {
        lex_report(p->lexer, p->diags, unclosed);
        parse_note(p, span, "wanted %s, found %s", wanted, lex_describe(p->lexer, token, p->arena));
    } else if (at_unmatched_closer(p)) {
        parse_error(p, span, parse_unmatched_closer, lex_kind_text[token.kind]);
    } else if (after_increment(p, &increment)) {
        char sign = p->lexer->base[increment.lo];
        parse_error(p, increment, parse_increment, sign, sign);
        parse_hint(p, "write `x %c= 1`", sign);
    } else {
        bool in_field = token.kind == TOK_end && p->lexer != &p->file_lexer;
        const char *found =
            in_field ? "the end of the field" : lex_describe(p->lexer, token, p->arena);
        parse_error(p, span, parse_expected, wanted, found);
        bool keyword_name = is_keyword(token.kind) && strstr(wanted, "name");
        if (keyword_name)
            parse_hint(p, "`%s` is a keyword; choose another name", lex_kind_text[token.kind]);
        else if (token.kind == OP_assign)
            parse_hint(p, "write `==` to compare");
        else if (token.kind == TOK_newline && wanted[1] == ':')
            parse_hint(p, "end the line with `:`");
        else if (token.kind == TOK_indent)
            parse_hint(p, "align the line with the one above");
    }
    parse_abandon(p);
}

_Noreturn void parse_fail_in_brackets(Parser *p, Token opener, const char *wanted) {
    Token token = parse_peek(p);
    if (p->silent)
        parse_abandon(p);
    Span span = lex_span(p->lexer, token), open_span = lex_span(p->lexer, opener);
    char open = p->lexer->base[opener.lo];
    bool mismatched = (token.kind == OP_rparen && open != '(') ||
                      (token.kind == OP_rbracket && open != '[') ||
                      (token.kind == OP_rbrace && open != '{');
    Token unclosed;
    if (token.kind == TOK_error || after_unclosed(p, &unclosed))
        parse_fail_expected(p, wanted);
    if (mismatched) {
        parse_error(p, span, parse_mismatched_bracket, lex_kind_text[token.kind], open);
        parse_note(p, open_span, "the `%c`", open);
    } else if (token.starts_line) {
        parse_error(p, open_span, lex_unclosed_bracket, open);
        parse_note(p, span, "wanted %s before this", wanted);
    } else {
        parse_error(p, span, parse_expected, wanted, lex_describe(p->lexer, token, p->arena));
        parse_note(p, open_span, "within this `%c`", open);
        if (token.kind == OP_assign)
            parse_hint(p, "write `==` to compare, `:=` to name a value");
    }
    parse_abandon(p);
}

void parse_close(Parser *p, Token opener, TokenKind closer) {
    if (parse_accept(p, closer))
        return;
    parse_fail_in_brackets(p, opener, str_format(p->arena, "`%s`", lex_kind_text[closer]));
}
