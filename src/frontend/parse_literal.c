/* Numbers and strings: the values of literal tokens, and the fields of f-strings. */
#include "frontend/parser.h"

#include <stdlib.h>

/* Python's limit of decimal digits. */
enum { MAX_INT_DIGITS = 4300 };

static unsigned digit_value(char c) {
    return c >= '0' && c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

static Expr *parse_int(Parser *p) {
    Token token = parse_take(p);
    Str text = lex_text(p->lexer, token);
    Expr *expr = parse_new_expr(p, EXPR_int, token.lo);
    unsigned radix = 10;
    size_t i = 0;
    if (text.len > 1 && text.ptr[0] == '0') {
        char letter = (char)(text.ptr[1] | 0x20);
        radix = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
        i = radix == 10 ? 0 : 2;
    }
    unsigned __int128 value = 0;
    const unsigned __int128 most = ~(unsigned __int128)0;
    if (text.len > MAX_INT_DIGITS) {
        parse_error(p, lex_span(p->lexer, token), parse_int_range, MAX_INT_DIGITS);
        parse_abandon(p);
    }
    for (; i < text.len; i++) {
        if (text.ptr[i] == '_')
            continue;
        unsigned digit = digit_value(text.ptr[i]);
        if (value > (most - digit) / radix) {
            value = most;
            break;
        }
        value = value * radix + digit;
    }
    expr->u.integer.text = text;
    expr->u.integer.lo = (uint64_t)value;
    expr->u.integer.hi = (uint64_t)(value >> 64);
    return parse_finish(p, expr);
}

/* strtod reads the decimal point of the process's locale, so it is given none: digits without the
 * point, and the exponent moved by as many places. */
static double float_value(Arena *arena, Str text) {
    StrBuf digits = strbuf(arena);
    long places = 0, exponent = 0;
    bool fraction = false;
    size_t i = 0;
    for (; i < text.len && (text.ptr[i] | 0x20) != 'e'; i++) {
        if (text.ptr[i] == '.') {
            fraction = true;
        } else if (text.ptr[i] != '_') {
            strbuf_putc(&digits, text.ptr[i]);
            places += fraction;
        }
    }
    bool negative = i + 1 < text.len && text.ptr[i + 1] == '-';
    for (i++; i < text.len; i++)
        if (text.ptr[i] >= '0' && text.ptr[i] <= '9' && exponent < 100000000)
            exponent = exponent * 10 + (text.ptr[i] - '0');
    strbuf_printf(&digits, "e%ld", (negative ? -exponent : exponent) - places);
    return strtod(digits.ptr, NULL);
}

static Expr *parse_float(Parser *p) {
    Token token = parse_take(p);
    Expr *expr = parse_new_expr(p, EXPR_float, token.lo);
    expr->u.number = float_value(p->arena, lex_text(p->lexer, token));
    return parse_finish(p, expr);
}

static void add_utf8(StrBuf *out, uint32_t code) {
    if (code < 0x80) {
        strbuf_putc(out, (char)code);
    } else if (code < 0x800) {
        strbuf_putc(out, (char)(0xc0 | code >> 6));
        strbuf_putc(out, (char)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        strbuf_putc(out, (char)(0xe0 | code >> 12));
        strbuf_putc(out, (char)(0x80 | (code >> 6 & 0x3f)));
        strbuf_putc(out, (char)(0x80 | (code & 0x3f)));
    } else {
        strbuf_putc(out, (char)(0xf0 | code >> 18));
        strbuf_putc(out, (char)(0x80 | (code >> 12 & 0x3f)));
        strbuf_putc(out, (char)(0x80 | (code >> 6 & 0x3f)));
        strbuf_putc(out, (char)(0x80 | (code & 0x3f)));
    }
}

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static Span text_span(const Parser *p, const char *lo, const char *hi) {
    return (Span){p->lexer->file, (uint32_t)(lo - p->lexer->base), (uint32_t)(hi - p->lexer->base)};
}

/* \xhh, \uhhhh, \Uhhhhhhhh; `at` is behind the letter. */
static const char *add_hex_escape(Parser *p, const char *at, const char *end, size_t digits,
                                  StrBuf *out) {
    uint32_t code = 0;
    for (size_t i = 0; i < digits; i++) {
        if (at + i >= end || !is_hex(at[i])) {
            parse_error(p, text_span(p, at - 2, at + i), parse_short_escape, at[-1], (int)digits);
            parse_abandon(p);
        }
        code = code << 4 | digit_value(at[i]);
    }
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
        parse_error(p, text_span(p, at - 2, at + digits), parse_escape_range, code);
        parse_abandon(p);
    }
    add_utf8(out, code);
    return at + digits;
}

/* One escape sequence; `at` is at its backslash. Unknown ones stand for themselves, as in Python.
 */
static const char *add_escape(Parser *p, const char *at, const char *end, StrBuf *out) {
    static const char letters[] = "abfnrtv\\'\"", values[] = "\a\b\f\n\r\t\v\\'\"";
    char c = at[1];
    const char *simple = c ? strchr(letters, c) : NULL;
    if (simple) {
        strbuf_putc(out, values[simple - letters]);
        return at + 2;
    }
    switch (c) {
    case '\r':
        return at + (at + 2 < end && at[2] == '\n' ? 3 : 2);
    case '\n':
        return at + 2;
    case 'x':
        return add_hex_escape(p, at + 2, end, 2, out);
    case 'u':
        return add_hex_escape(p, at + 2, end, 4, out);
    case 'U':
        return add_hex_escape(p, at + 2, end, 8, out);
    case 'N':
        parse_error(p, text_span(p, at, at + 2), parse_named_escape);
        parse_hint(p, "write the character itself, or \\u and four hexadecimal digits");
        parse_abandon(p);
    default:
        break;
    }
    if (c >= '0' && c <= '7') {
        uint32_t code = 0;
        const char *digit = at + 1;
        for (; digit < end && digit < at + 4 && *digit >= '0' && *digit <= '7'; digit++)
            code = code * 8 + (uint32_t)(*digit - '0');
        add_utf8(out, code);
        return digit;
    }
    strbuf_putc(out, '\\');
    return at + 1;
}

/* Bytes of literal text, from `at`: an escape, a newline, or a character. Returns the place behind
 * it. */
static const char *add_character(Parser *p, const char *at, const char *end, bool raw,
                                 StrBuf *out) {
    if (*at == '\\' && !raw && at + 1 < end)
        return add_escape(p, at, end, out);
    if (*at == '\r') {
        strbuf_putc(out, '\n');
        return at + (at + 1 < end && at[1] == '\n' ? 2 : 1);
    }
    size_t length = lex_utf8_length(at, end);
    if (length == 0 || *at == 0) {
        if (length)
            parse_error(p, text_span(p, at, at + 1), lex_nul_byte);
        else
            parse_error(p, text_span(p, at, at + 1), lex_invalid_utf8, (unsigned char)*at);
        parse_abandon(p);
    }
    strbuf_add(out, at, length);
    return at + length;
}

/* The parts of a string literal. */
typedef struct Quoted {
    const char *begin, *end; /* between the quotes */
    bool raw, bytes, formatted;
} Quoted;

static Quoted split_quoted(Str text) {
    Quoted quoted = {0};
    const char *c = text.ptr;
    for (; *c != '\'' && *c != '"'; c++) {
        char letter = (char)(*c | 0x20);
        quoted.raw |= letter == 'r';
        quoted.bytes |= letter == 'b';
        quoted.formatted |= letter == 'f';
    }
    size_t left = text.len - (size_t)(c - text.ptr);
    size_t quotes = left >= 6 && c[1] == c[0] && c[2] == c[0] ? 3 : 1;
    quoted.begin = c + quotes;
    quoted.end = text.ptr + text.len - quotes;
    return quoted;
}

/* Strings and f-strings being joined into one. */
typedef struct Joined {
    uint32_t lo;
    uint32_t text_lo; /* where the literal text in `text` began */
    StrBuf text;
    ExprVec parts;
    bool bytes;
} Joined;

static void flush_text(Parser *p, Joined *joined) {
    if (joined->text.len == 0)
        return;
    Expr *part = parse_new_expr(p, EXPR_string, joined->text_lo);
    part->u.string = strbuf_str(&joined->text);
    part->height = 1;
    part->span.hi = joined->text_lo;
    vec_push(p->arena, &joined->parts, part);
    joined->text = strbuf(p->arena);
}

static const char *parse_format_spec(Parser *p, const char *at, const char *end, bool raw,
                                     Expr **spec);

/* fstring_replacement_field: '{' star_expressions ['='] ['!' NAME] [':' format_spec] '}'
 * `at` is behind the brace. The field has a lexer of its own, for the time of its expression. */
static const char *parse_field(Parser *p, const char *at, const char *end, bool raw,
                               Joined *joined) {
    Lexer *outer = p->lexer;
    size_t outer_next = p->next;
    Token outer_previous = p->previous;
    Lexer field;
    lex_init_field(&field, outer, (uint32_t)(at - outer->base));
    if (outer == &p->file_lexer)
        p->file_next = p->next;
    lex_field(&field);
    p->lexer = &field;
    p->next = 0;
    if (parse_at(p, TOK_end)) {
        parse_error(p, text_span(p, at - 1, at), parse_empty_field);
        parse_hint(p, "write `{{` for a brace");
        parse_abandon(p);
    }
    parse_enter(p);
    Expr *value = parse_star_expressions(p);
    parse_leave(p);
    char conversion = 0;
    bool shows_text = parse_accept(p, OP_assign);
    if (!parse_at(p, TOK_end))
        parse_fail_expected(p, "`}` after the expression of the field");
    const char *behind = field.cursor;
    p->lexer = outer;
    p->next = outer_next;
    p->previous = outer_previous;
    if (shows_text)
        strbuf_add(&joined->text, at, (size_t)(behind - at));
    flush_text(p, joined);
    if (*behind == '!') {
        conversion = behind[1];
        if (!conversion || !strchr("rsa", conversion) || (behind[2] != '}' && behind[2] != ':')) {
            parse_error(p, text_span(p, behind, behind + 1), parse_bad_conversion);
            parse_hint(p, "write `!r`, `!s` or `!a`");
            parse_abandon(p);
        }
        behind += 2;
    } else if (shows_text && *behind != ':') {
        conversion = 'r';
    }
    Expr *spec = NULL;
    if (*behind == ':')
        behind = parse_format_spec(p, behind + 1, end, raw, &spec);
    if (behind >= end || *behind != '}') {
        parse_error(p, text_span(p, at - 1, at), lex_unterminated_fstring);
        parse_abandon(p);
    }
    if (conversion || spec) {
        Expr *formatted = parse_new_expr(p, EXPR_formatted, (uint32_t)(at - 1 - p->lexer->base));
        formatted->u.formatted.value = value;
        formatted->u.formatted.spec = spec;
        formatted->u.formatted.conversion = conversion;
        value = parse_finish(p, formatted);
        value->span.hi = (uint32_t)(behind + 1 - p->lexer->base);
    }
    vec_push(p->arena, &joined->parts, value);
    return behind + 1;
}

/* Literal text and fields from `at` to `end`, or to the `}` that ends a format spec. */
static const char *parse_formatted_text(Parser *p, const char *at, const char *end, bool raw,
                                        bool is_spec, Joined *joined) {
    while (at < end) {
        if (joined->text.len == 0)
            joined->text_lo = (uint32_t)(at - p->lexer->base);
        if (*at == '}' && is_spec)
            return at;
        bool doubled = at + 1 < end && at[1] == at[0] && !is_spec;
        if ((*at == '{' || *at == '}') && doubled) {
            strbuf_putc(&joined->text, *at);
            at += 2;
        } else if (*at == '{') {
            at = parse_field(p, at + 1, end, raw, joined);
        } else if (*at == '}') {
            parse_error(p, text_span(p, at, at + 1), parse_single_brace);
            parse_hint(p, "write `}}` for a brace");
            parse_abandon(p);
        } else {
            at = add_character(
                p, at, end, raw || (*at == '\\' && at + 1 < end && (at[1] == '{' || at[1] == '}')),
                &joined->text);
        }
    }
    return at;
}

static const char *parse_format_spec(Parser *p, const char *at, const char *end, bool raw,
                                     Expr **spec) {
    parse_enter(p);
    uint32_t lo = (uint32_t)(at - p->lexer->base);
    Joined joined = {.lo = lo, .text_lo = lo, .text = strbuf(p->arena)};
    at = parse_formatted_text(p, at, end, raw, true, &joined);
    flush_text(p, &joined);
    *spec = parse_new_expr(p, EXPR_fstring, lo);
    (*spec)->u.list = parse_list(&joined.parts);
    parse_finish(p, *spec);
    (*spec)->span.hi = (uint32_t)(at - p->lexer->base);
    parse_leave(p);
    return at;
}

static void join_string(Parser *p, Joined *joined) {
    Token token = parse_take(p);
    Quoted quoted = split_quoted(lex_text(p->lexer, token));
    if (token.lo != joined->lo && quoted.bytes != joined->bytes) {
        parse_error(p, lex_span(p->lexer, token), parse_mixed_bytes);
        parse_abandon(p);
    }
    joined->bytes = quoted.bytes;
    if (quoted.formatted) {
        parse_formatted_text(p, quoted.begin, quoted.end, quoted.raw, false, joined);
        return;
    }
    if (joined->text.len == 0)
        joined->text_lo = token.lo;
    for (const char *at = quoted.begin; at < quoted.end;)
        at = add_character(p, at, quoted.end, quoted.raw, &joined->text);
}

/* strings: (STRING | FSTRING)+ ; adjacent ones are one literal */
static Expr *parse_strings(Parser *p) {
    Token first = parse_peek(p);
    Joined joined = {.lo = first.lo, .text_lo = first.lo, .text = strbuf(p->arena)};
    bool formatted = false;
    while (parse_at(p, TOK_string) || parse_at(p, TOK_fstring)) {
        formatted |= parse_at(p, TOK_fstring);
        join_string(p, &joined);
    }
    ExprKind kind = joined.bytes ? EXPR_unsupported : formatted ? EXPR_fstring : EXPR_string;
    Expr *expr = parse_new_expr(p, kind, first.lo);
    if (kind == EXPR_unsupported) {
        expr->u.construct = CONSTRUCT_bytes;
    } else if (kind == EXPR_string) {
        expr->u.string = strbuf_str(&joined.text);
    } else {
        flush_text(p, &joined);
        expr->u.list = parse_list(&joined.parts);
    }
    return parse_finish(p, expr);
}

Expr *parse_atom_literal(Parser *p) {
    switch (parse_peek(p).kind) {
    case TOK_int:
        return parse_int(p);
    case TOK_float:
        return parse_float(p);
    default:
        return parse_strings(p);
    }
}
