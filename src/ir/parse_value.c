/* Tokens, numbers, strings, types, layouts and attribute values of the textual Tile IR. */
#define _GNU_SOURCE /* newlocale, strtod_l */
#include "ir/parse.h"

#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>

/* Tokens */

Str parse_token_text(const Parser *p) {
    return (Str){p->text.ptr + p->token.lo, p->token.hi - p->token.lo};
}

Span parse_token_span(const Parser *p) {
    return (Span){p->file, p->token.lo, p->token.hi};
}

IrToken ir_parse_peek(const Parser *p) {
    return ir_lex(p->text.ptr, (uint32_t)p->text.len, p->token.hi);
}

void parse_advance(Parser *p) {
    p->last_hi = p->token.hi;
    p->token = ir_parse_peek(p);
}

bool parse_is(const Parser *p, char punct) {
    return p->token.kind == TOKEN_PUNCT && p->token.punct == punct;
}

bool ir_parse_accept(Parser *p, char punct) {
    if (!parse_is(p, punct))
        return false;
    parse_advance(p);
    return true;
}

bool parse_accept_name(Parser *p, const char *name) {
    if (p->token.kind != TOKEN_NAME || !str_is(parse_token_text(p), name))
        return false;
    parse_advance(p);
    return true;
}

bool parse_expected(Parser *p, const char *wanted) {
    enum { SHOWN = 40 };
    Str found = parse_token_text(p);
    const char *text;
    if (p->token.kind == TOKEN_END)
        text = "the end of the file";
    else if (p->token.kind == TOKEN_UNKNOWN && ((uint8_t)*found.ptr < ' ' || *found.ptr & 0x80))
        text = str_format(p->scratch, "byte 0x%02x", (uint8_t)*found.ptr);
    else
        text = str_format(p->scratch, "'%.*s%s'", (int)(found.len > SHOWN ? SHOWN : found.len),
                          found.ptr, found.len > SHOWN ? ".." : "");
    if (p->token.kind == TOKEN_UNCLOSED)
        return ctx_diag(p->ctx, parse_token_span(p), ir_string, "the closing quote is missing");
    return ctx_diag(p->ctx, parse_token_span(p), ir_expected, wanted, text);
}

bool parse_want(Parser *p, char punct) {
    char wanted[] = {'\'', punct, '\'', 0};
    return ir_parse_accept(p, punct) || parse_expected(p, wanted);
}

bool parse_want_kind(Parser *p, IrTokenKind kind, const char *wanted, Str *text) {
    if (p->token.kind != kind)
        return parse_expected(p, wanted);
    Str found = parse_token_text(p);
    if (kind == TOKEN_SYMBOL && found.ptr[1] == '"') {
        p->token.lo++;
        return parse_string(p, text);
    }
    size_t sigil = kind == TOKEN_VALUE || kind == TOKEN_SYMBOL || kind == TOKEN_ALIAS;
    *text = ctx_intern(p->ctx, (Str){found.ptr + sigil, found.len - sigil});
    parse_advance(p);
    return true;
}

bool parse_unknown(Parser *p, Span span, const char *what, Str word, const Str *candidates,
                   size_t count) {
    ctx_diag(p->ctx, span, ir_unknown, what, STR_ARG(word));
    int nearest = str_nearest(word, candidates, count);
    if (nearest >= 0)
        diag_hint(&p->ctx->diags, "did you mean '%.*s'?", STR_ARG(candidates[nearest]));
    return false;
}

/* Numbers and strings */

static bool decode_integer(Str text, int64_t *value) {
    bool negative = text.len && *text.ptr == '-';
    size_t i = negative;
    uint64_t magnitude = 0, base = 10;
    if (text.len > i + 1 && text.ptr[i] == '0' && text.ptr[i + 1] == 'x') {
        base = 16;
        i += 2;
    }
    for (; i < text.len; i++) {
        char c = text.ptr[i];
        uint64_t digit = (uint64_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
        if (__builtin_mul_overflow(magnitude, base, &magnitude) ||
            __builtin_add_overflow(magnitude, digit, &magnitude))
            return false;
    }
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *value = (int64_t)(negative ? -magnitude : magnitude);
    return true;
}

bool parse_integer(Parser *p, int64_t min, int64_t max, int64_t *value) {
    if (p->token.kind != TOKEN_INT)
        return parse_expected(p, "an integer");
    if (!decode_integer(parse_token_text(p), value) || *value < min || *value > max)
        return ctx_diag(p->ctx, parse_token_span(p), ir_number, STR_ARG(parse_token_text(p)),
                        (long long)min, (long long)max);
    parse_advance(p);
    return true;
}

/* strtod in the C locale, whatever the host program set. */
static double decode_double(Arena *scratch, Str text) {
    char *copy = str_dup(scratch, text);
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value = locale ? strtod_l(copy, NULL, locale) : strtod(copy, NULL);
    if (locale)
        freelocale(locale);
    return value;
}

/* nan(0x7ff8000000000001): the bits of a NaN other than the default one. */
static bool parse_nan(Parser *p, double *value) {
    uint64_t bits = UINT64_C(0x7ff8000000000000);
    parse_advance(p);
    if (ir_parse_accept(p, '(')) {
        Span span = parse_token_span(p);
        Str text = parse_token_text(p);
        char *end, *copy = str_dup(p->scratch, text);
        bool ok = p->token.kind == TOKEN_INT && text.len > 2 && text.len <= 18 && copy[1] == 'x';
        bits = ok ? strtoull(copy, &end, 16) : 0;
        if ((bits & INT64_MAX) <= UINT64_C(0x7ff0000000000000))
            return ctx_diag(p->ctx, span, ir_expected, "the 64 bits of a NaN in hexadecimal", copy);
        parse_advance(p);
        if (!parse_want(p, ')'))
            return false;
    }
    memcpy(value, &bits, sizeof bits);
    return true;
}

static bool parse_float(Parser *p, double *value) {
    Str text = parse_token_text(p);
    if (p->token.kind == TOKEN_NAME && str_is(text, "nan"))
        return parse_nan(p, value);
    bool infinite = p->token.kind == TOKEN_NAME && str_is(text, "inf");
    if (p->token.kind != TOKEN_FLOAT && p->token.kind != TOKEN_INT && !infinite)
        return parse_expected(p, "a float");
    *value = decode_double(p->scratch, text);
    bool named = infinite || str_is(text, "-inf");
    if (!named && __builtin_isinf(*value))
        return ctx_diag(p->ctx, parse_token_span(p), ir_float_range, STR_ARG(text));
    parse_advance(p);
    return true;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool parse_string(Parser *p, Str *value) {
    Span span = parse_token_span(p);
    Str text = parse_token_text(p);
    if (text.len < 2 || text.ptr[0] != '"' || p->token.kind == TOKEN_UNCLOSED)
        return parse_expected(p, "a string");
    char *out = ARENA_ARRAY(p->scratch, char, text.len);
    size_t len = 0;
    for (size_t i = 1; i + 1 < text.len; i++) {
        char c = text.ptr[i];
        if (c == '\\') {
            c = text.ptr[++i];
            int high = c == 'x' ? hex_digit(text.ptr[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(text.ptr[i + 2]) : -1;
            if (low >= 0) {
                c = (char)(high * 16 + low);
                i += 2;
            } else if (c == 'n') {
                c = '\n';
            } else if (c != '"' && c != '\\') {
                span.lo += (uint32_t)i - 1;
                return ctx_diag(p->ctx, span, ir_string,
                                "wanted \\\\, \\\", \\n or \\x and two hexadecimal digits");
            }
        }
        out[len++] = c;
    }
    *value = ctx_intern(p->ctx, (Str){out, len});
    parse_advance(p);
    return true;
}

/* Attributes */

static bool parse_ints(Parser *p, int64_t min, int64_t max, size_t limit, Ints *ints) {
    VEC(int64_t) list = {0};
    if (!parse_want(p, '['))
        return false;
    while (!parse_is(p, ']')) {
        int64_t value;
        if (list.len == limit)
            return parse_expected(p, "']' (the list is too long)");
        if ((list.len && !parse_want(p, ',')) || !parse_integer(p, min, max, &value))
            return false;
        vec_push(&p->ctx->arena, &list, value);
    }
    *ints = (Ints){list.data, (uint32_t)list.len};
    return parse_want(p, ']');
}

static bool parse_enum(Parser *p, AttrKind kind, int64_t *value) {
    StrBuf wanted = strbuf(p->scratch);
    Str text = parse_token_text(p);
    const char *name;
    for (int64_t i = 0; (name = attr_enum_text(kind, i)); i++) {
        if (p->token.kind == TOKEN_NAME && str_is(text, name)) {
            *value = i;
            parse_advance(p);
            return true;
        }
        strbuf_printf(&wanted, "%s%s", i ? ", " : "one of ", name);
    }
    return parse_expected(p, wanted.ptr);
}

bool parse_attr_value(Parser *p, AttrKind kind, Attr *attr) {
    enum { MAX_INTS = 1024 };
    switch (kind) {
    case ATTR_I64:
        return parse_integer(p, INT64_MIN, INT64_MAX, &attr->i);
    case ATTR_F64:
        return parse_float(p, &attr->f);
    case ATTR_BOOL:
        attr->i = parse_accept_name(p, "true");
        return attr->i || parse_accept_name(p, "false") || parse_expected(p, "true or false");
    case ATTR_STR:
        return parse_string(p, &attr->s);
    case ATTR_INTS:
        return parse_ints(p, INT64_MIN, INT64_MAX, MAX_INTS, &attr->ints);
#define ENUM(kind, c_type) case ATTR_##kind:
#define VALUE(kind, id, text)
#define END(kind)
#include "ir/attrs.def"
        return parse_enum(p, kind, &attr->i);
    case ATTR_KIND_COUNT:
        break;
    }
    return false;
}

/* Layouts and types */

static const char *const layout_dim_names[LAYOUT_DIMS] = {"reg", "lane", "warp", "block"};

bool parse_layout(Parser *p, Layout *layout) {
    Ints bases[LAYOUT_DIMS] = {0};
    if (!parse_want(p, '{'))
        return false;
    for (bool first = true; !parse_is(p, '}'); first = false) {
        if (!first && !parse_want(p, ','))
            return false;
        int dim = 0;
        while (dim < LAYOUT_DIMS &&
               !(p->token.kind == TOKEN_NAME && str_is(parse_token_text(p), layout_dim_names[dim])))
            dim++;
        if (dim == LAYOUT_DIMS)
            return parse_expected(p, "reg, lane, warp or block");
        if (bases[dim].len)
            return ctx_diag(p->ctx, parse_token_span(p), ir_redefined,
                            STR_ARG(parse_token_text(p)));
        parse_advance(p);
        if (!parse_want(p, '=') || !parse_ints(p, 0, INT32_MAX, LAYOUT_MAX_BASES, &bases[dim]))
            return false;
    }
    memset(layout, 0, sizeof *layout);
    uint32_t total = 0;
    for (int dim = 0; dim < LAYOUT_DIMS; dim++) {
        layout->bits[dim] = (uint8_t)bases[dim].len;
        for (uint32_t i = 0; i < bases[dim].len; i++, total++) {
            if (total == LAYOUT_MAX_BASES)
                return ctx_diag(p->ctx, parse_token_span(p), ir_layout, "more than 32 bases");
            layout->basis[total] = (uint32_t)bases[dim].ptr[i];
        }
    }
    return parse_want(p, '}');
}

/* After the comma: the layout of a tile or buffer with 2^out_bits elements. */
static bool parse_type_layout(Parser *p, int out_bits, const Layout **result) {
    Span span = parse_token_span(p);
    Layout layout;
    Str alias;
    if (p->token.kind == TOKEN_ALIAS) {
        if (!parse_want_kind(p, TOKEN_ALIAS, "a layout", &alias))
            return false;
        const Layout *named = ptrmap_get(&p->aliases, alias.ptr);
        if (!named)
            return parse_unknown(p, span, "layout", alias, NULL, 0);
        layout = *named;
    } else if (!parse_layout(p, &layout)) {
        return false;
    }
    span.hi = p->last_hi;
    layout.out_bits = (uint8_t)out_bits;
    for (int i = 0; i < LAYOUT_MAX_BASES; i++)
        if (layout.basis[i] >> out_bits)
            return ctx_diag(p->ctx, span, ir_layout, "a base lies outside the tile");
    *result = layout_get(p->ctx, &layout);
    return true;
}

static bool parse_dtype(Parser *p, DType *dtype) {
    Str candidates[DT_COUNT], text = parse_token_text(p);
    for (int i = 0; i < DT_COUNT; i++)
        candidates[i] = str_from(dtype_info[i].text);
    if (p->token.kind != TOKEN_NAME)
        return parse_expected(p, "an element type");
    for (int i = 0; i < DT_COUNT; i++) {
        if (str_eq(candidates[i], text)) {
            *dtype = (DType)i;
            parse_advance(p);
            return true;
        }
    }
    return parse_unknown(p, parse_token_span(p), "type", text, candidates, DT_COUNT);
}

static bool parse_element(Parser *p, TypeKind *kind, DType *dtype) {
    if (!parse_accept_name(p, "ptr"))
        return parse_dtype(p, dtype);
    *kind = TYPE_POINTER;
    return parse_want(p, '<') && parse_dtype(p, dtype) && parse_want(p, '>');
}

static bool parse_shape(Parser *p, int *rank, int64_t *shape, int *bits) {
    *rank = *bits = 0;
    for (; p->token.kind == TOKEN_SIZE; parse_advance(p)) {
        Str text = parse_token_text(p);
        int64_t size;
        text.len--; /* the x */
        if (*rank == MAX_RANK)
            return ctx_diag(p->ctx, parse_token_span(p), ir_shape, "more than 16 dimensions");
        if (!decode_integer(text, &size) || size <= 0 || (size & (size - 1)))
            return ctx_diag(p->ctx, parse_token_span(p), ir_shape,
                            "a dimension that is no power of two");
        int log2 = __builtin_ctzll((uint64_t)size);
        if (log2 > MAX_TILE_BITS || (*bits += log2) > MAX_TILE_BITS)
            return ctx_diag(p->ctx, parse_token_span(p), ir_shape, "more than 1048576 elements");
        shape[(*rank)++] = size;
    }
    return *rank > 0 || parse_expected(p, "a dimension, such as 64x");
}

bool parse_type(Parser *p, const Type **type) {
    TypeKind kind = TYPE_NUMBER;
    DType dtype;
    int64_t shape[MAX_RANK];
    int rank = 0, bits = 0;
    const Layout *layout = NULL;
    bool buffer = parse_accept_name(p, "buffer");
    if (!buffer && !parse_accept_name(p, "tile")) {
        if (!parse_element(p, &kind, &dtype))
            return false;
        *type = type_get(p->ctx, kind, dtype, 0, NULL, NULL);
        return true;
    }
    if (!parse_want(p, '<') || !parse_shape(p, &rank, shape, &bits))
        return false;
    if (buffer) {
        kind = TYPE_BUFFER;
        if (!parse_dtype(p, &dtype))
            return false;
    } else if (!parse_element(p, &kind, &dtype)) {
        return false;
    }
    if ((ir_parse_accept(p, ',') && !parse_type_layout(p, bits, &layout)) || !parse_want(p, '>'))
        return false;
    *type = type_get(p->ctx, kind, dtype, rank, shape, layout);
    return true;
}

/* Places */

static bool parse_place(Parser *p, const Source *source, uint32_t *offset) {
    int64_t line, column;
    Span span = parse_token_span(p);
    if (!parse_integer(p, 1, UINT32_MAX, &line) || !parse_want(p, ':') ||
        !parse_integer(p, 1, UINT32_MAX, &column))
        return false;
    if (!source)
        return true;
    span.hi = p->last_hi;
    *offset = source_offset(source, (LineColumn){(uint32_t)line, (uint32_t)column});
    return *offset != UINT32_MAX || ctx_diag(p->ctx, span, ir_place_outside, STR_ARG(source->path));
}

bool parse_loc(Parser *p, Span *span) {
    Str path;
    if (!parse_accept_name(p, "loc"))
        return true;
    if (!parse_want(p, '(') || !parse_string(p, &path) || !parse_want(p, ':'))
        return false;
    uint32_t file = (uint32_t)(uintptr_t)ptrmap_get(&p->files, path.ptr);
    const Source *source = source_get(&p->ctx->sources, file);
    Span named = {.file = file};
    if (!parse_place(p, source, &named.lo))
        return false;
    named.hi = named.lo;
    if (parse_accept_name(p, "to") && !parse_place(p, source, &named.hi))
        return false;
    if (source)
        *span = named;
    return parse_want(p, ')');
}
