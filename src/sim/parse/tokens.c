/* Taking tokens: what the next one is, what is expected of it, and what integers stand for. */
#include "sim/parse/parser.h"

void ptx_next(Parser *parser) {
    parser->last_hi = parser->token.hi;
    parser->token = ptx_lex(parser->text, parser->length, parser->token.hi);
}

Str ptx_text(const Parser *parser, PtxToken token) {
    return (Str){parser->text + token.lo, token.hi - token.lo};
}

Span ptx_span(const Parser *parser, uint32_t lo, uint32_t hi) {
    return (Span){parser->file, lo, hi};
}

bool ptx_at(const Parser *parser, char punct) {
    return parser->token.kind == PTX_PUNCT && parser->token.punct == punct;
}

bool ptx_at_word(const Parser *parser, const char *word) {
    return parser->token.kind == PTX_WORD && str_is(ptx_text(parser, parser->token), word);
}

bool ptx_take(Parser *parser, char punct) {
    if (!ptx_at(parser, punct))
        return false;
    ptx_next(parser);
    return true;
}

bool ptx_take_word(Parser *parser, const char *word) {
    if (!ptx_at_word(parser, word))
        return false;
    ptx_next(parser);
    return true;
}

bool ptx_wanted(Parser *parser, const char *wanted) {
    PtxToken token = parser->token;
    Str text = ptx_text(parser, token);
    if (token.kind == PTX_END)
        return ptx_error(parser, token.lo, token.hi, ptx_expected_end, wanted);
    if (token.kind == PTX_BAD)
        return ptx_error(parser, token.lo, token.hi, ptx_bad_byte, (unsigned char)text.ptr[0],
                         wanted);
    return ptx_error(parser, token.lo, token.hi, ptx_expected, wanted, STR_ARG(text));
}

bool ptx_expect(Parser *parser, char punct) {
    const char wanted[] = {'`', punct, '`', 0};
    return ptx_take(parser, punct) || ptx_wanted(parser, wanted);
}

bool ptx_int_value(Str text, uint64_t *value) {
    if (text.len && text.ptr[text.len - 1] == 'U')
        text.len--;
    unsigned base = 10;
    size_t at = 0;
    if (text.len > 1 && text.ptr[0] == '0') {
        char mark = text.ptr[1] | 0x20;
        base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
        at = base == 8 ? 1 : 2;
    }
    uint64_t sum = 0;
    for (; at < text.len; at++) {
        char c = text.ptr[at];
        unsigned digit = c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
        if (digit >= base || sum > (UINT64_MAX - digit) / base)
            return false;
        sum = sum * base + digit;
    }
    *value = sum;
    return true;
}

bool ptx_expect_int(Parser *parser, int64_t *value) {
    bool negative = ptx_take(parser, '-');
    uint64_t magnitude;
    if (parser->token.kind != PTX_INT)
        return ptx_wanted(parser, "an integer");
    if (!ptx_int_value(ptx_text(parser, parser->token), &magnitude))
        return ptx_error(parser, parser->token.lo, parser->token.hi, ptx_int_range);
    ptx_next(parser);
    *value = (int64_t)(negative ? -magnitude : magnitude);
    return true;
}

bool ptx_expect_name(Parser *parser, Str *name) {
    if (parser->token.kind != PTX_NAME)
        return ptx_wanted(parser, "a name");
    *name = ptx_text(parser, parser->token);
    ptx_next(parser);
    return true;
}
