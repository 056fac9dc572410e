/* See syntax.h. Tokens say where expressions are: the parser leaves parentheses out of their spans.
 */
#include "reduce/syntax.h"

static void read_tokens(Syntax *syntax, const Source *source, uint32_t file) {
    Lexer lexer;
    lex_init(&lexer, syntax->arena, source, file);
    for (bool is_end = false; !is_end;) {
        lex_line(&lexer);
        vec_for_each (token, &lexer.tokens) {
            is_end |= token->kind == TOK_end;
            if (token->kind != TOK_end && token->kind != TOK_newline && token->kind != TOK_indent &&
                token->kind != TOK_dedent && token->hi > token->lo)
                vec_push(syntax->arena, &syntax->tokens, *token);
        }
    }
}

/* Mistakes that the parser of kernels finds and the silent one of modules passes over. */
static uint32_t count_errors(Arena *arena, Str text) {
    SourceMap sources = {.arena = arena};
    Diags diags = {.arena = arena, .sources = &sources};
    parse_file(&diags, source_add(&sources, STR("source"), text));
    return diags.errors;
}

void syntax_read(Arena *arena, Str text, Syntax *syntax) {
    SourceMap *sources = ARENA_NEW(arena, SourceMap);
    Diags *diags = ARENA_NEW(arena, Diags);
    *sources = (SourceMap){.arena = arena};
    *diags = (Diags){.arena = arena, .sources = sources};
    const uint32_t file = source_add(sources, STR("source"), text);
    *syntax = (Syntax){.arena = arena, .text = source_get(sources, file)->text};
    read_tokens(syntax, source_get(sources, file), file);
    syntax->module = parse_module(diags, file, &syntax->module_count);
    for (uint32_t i = 0; i < syntax->module_count; i++)
        syntax->mistakes += syntax->module[i].mistakes;
    syntax->mistakes += count_errors(arena, text);
}

/* ---- measures ---- */

/* 0.0 and 1.0 are the least floats. */
static double float_weight(Str text) {
    return str_is(text, "0.0") ? 0.5 : str_is(text, "1.0") ? 1.25 : 1.5;
}

/* Hexadecimal digits and the like count as the text that they are: what is tried instead is
 * decimal, and of less. */
static double int_weight(Str text) {
    double value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return 1e300;
        value = 10 * value + (text.ptr[i] - '0');
    }
    return value;
}

Measure syntax_measure(const Syntax *syntax) {
    Measure measure = {{(double)syntax->tokens.len, 0, 0, (double)syntax->text.len}};
    vec_for_each (token, &syntax->tokens) {
        const Str text = {syntax->text.ptr + token->lo, token->hi - token->lo};
        measure.part[1] +=
            token->kind == TOK_name || token->kind == TOK_string || token->kind == TOK_fstring;
        if (token->kind == TOK_int)
            measure.part[2] += int_weight(text);
        else if (token->kind == TOK_float)
            measure.part[2] += float_weight(text);
    }
    return measure;
}

int measure_order(const Measure *a, const Measure *b) {
    for (int i = 0; i < MEASURE_PARTS; i++)
        if (a->part[i] < b->part[i] || a->part[i] > b->part[i])
            return a->part[i] < b->part[i] ? -1 : 1;
    return 0;
}

/* ---- places ---- */

size_t syntax_token_at(const Syntax *syntax, uint32_t offset) {
    size_t lo = 0, hi = syntax->tokens.len;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (syntax->tokens.data[mid].lo < offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

uint32_t syntax_end_before(const Syntax *syntax, uint32_t offset) {
    size_t at = syntax_token_at(syntax, offset);
    while (at && syntax->tokens.data[at - 1].kind == OP_semicolon)
        at--;
    return at ? syntax->tokens.data[at - 1].hi : 0;
}

static bool opens(uint8_t kind) {
    return kind == OP_lparen || kind == OP_lbracket || kind == OP_lbrace;
}

static bool closes(uint8_t kind) {
    return kind == OP_rparen || kind == OP_rbracket || kind == OP_rbrace;
}

bool syntax_balanced(const Syntax *syntax, Span span, Span *balanced) {
    size_t begin = syntax_token_at(syntax, span.lo), end = syntax_token_at(syntax, span.hi);
    size_t missing = 0, open = 0;
    for (size_t i = begin; i < end; i++) {
        const uint8_t kind = syntax->tokens.data[i].kind;
        open += opens(kind);
        if (closes(kind) && open)
            open--;
        else
            missing += closes(kind);
    }
    for (; missing; missing--)
        if (!begin-- || !opens(syntax->tokens.data[begin].kind))
            return false;
    for (; open; open--)
        if (end == syntax->tokens.len || !closes(syntax->tokens.data[end++].kind))
            return false;
    if (begin == end)
        return false;
    *balanced = (Span){span.file, syntax->tokens.data[begin].lo, syntax->tokens.data[end - 1].hi};
    return true;
}

/* Whether a parenthesis behind this token is a call's, a definition's or a class's. */
static bool is_called(const Token *token) {
    return token->kind == TOK_name || token->kind == TOK_string || token->kind == TOK_fstring ||
           closes(token->kind);
}

bool syntax_outer(const Syntax *syntax, Span span, Span *outer) {
    if (!syntax_balanced(syntax, span, outer))
        return false;
    for (;;) {
        const size_t begin = syntax_token_at(syntax, outer->lo);
        const size_t end = syntax_token_at(syntax, outer->hi);
        const Token *tokens = syntax->tokens.data;
        if (!begin || end == syntax->tokens.len || tokens[begin - 1].kind != OP_lparen ||
            tokens[end].kind != OP_rparen || (begin > 1 && is_called(&tokens[begin - 2])))
            return true;
        outer->lo = tokens[begin - 1].lo;
        outer->hi = tokens[end].hi;
    }
}

Str syntax_text(const Syntax *syntax, Span span) {
    return (Str){syntax->text.ptr + span.lo, span.hi - span.lo};
}
