/* Python's format specifications: https://docs.python.org/3/library/string.html#formatspec */
#include "frontend/value_format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_WIDTH = 4096, MAX_PRECISION = 300 };

typedef struct Spec {
    Str fill;       /* one character of UTF-8 */
    char align;     /* < > = ^, or 0 */
    char sign;      /* + - or a space */
    char grouping;  /* , _ or 0 */
    char type;      /* or 0 */
    bool alternate; /* # */
    bool zeros; /* 0 in front of the width: after the sign of numbers, unless `align` says else */
    int32_t width;     /* 0: as wide as it is */
    int32_t precision; /* -1: not given */
} Spec;

/* What is formatted, in the parts between which fillings go. */
typedef struct Formatted {
    Str sign, prefix, digits, rest; /* digits: those that are grouped */
} Formatted;

static bool is_align(char c) {
    return c == '<' || c == '>' || c == '=' || c == '^';
}

static size_t character_length(Str text) {
    size_t n = 1;
    while (n < text.len && ((unsigned char)text.ptr[n] & 0xC0) == 0x80)
        n++;
    return n;
}

static uint32_t characters(Str text) {
    uint32_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += ((unsigned char)text.ptr[i] & 0xC0) != 0x80;
    return n;
}

static char next_of(Str *text, const char *allowed) {
    if (!text->len || !strchr(allowed, text->ptr[0]))
        return 0;
    text->len--;
    return *text->ptr++;
}

/* -1: there is no number. */
static int32_t number_of(Str *text) {
    int32_t n = -1;
    for (char c; (c = next_of(text, "0123456789"));)
        n = n > 100000 ? n : (n < 0 ? 0 : n) * 10 + (c - '0');
    return n;
}

static bool parse_spec(Str text, Spec *spec) {
    *spec = (Spec){.fill = STR(" "), .sign = '-', .precision = -1};
    const size_t first = text.len ? character_length(text) : 0;
    const bool has_fill = text.len > first && is_align(text.ptr[first]);
    if (has_fill) {
        spec->fill = (Str){text.ptr, first};
        spec->align = text.ptr[first];
        text = (Str){text.ptr + first + 1, text.len - first - 1};
    } else if (text.len && is_align(text.ptr[0])) {
        spec->align = next_of(&text, "<>=^");
    }
    const char sign = next_of(&text, "+- ");
    spec->sign = sign ? sign : '-';
    spec->alternate = next_of(&text, "#");
    if (text.len && text.ptr[0] == '0') {
        next_of(&text, "0");
        if (!has_fill)
            spec->fill = STR("0");
        spec->zeros = true;
    }
    const int32_t width = number_of(&text);
    spec->width = width < 0 ? 0 : width;
    spec->grouping = next_of(&text, ",_");
    if (next_of(&text, ".") && (spec->precision = number_of(&text)) < 0)
        return false;
    spec->type = next_of(&text, "bcdeEfFgGnosxX%");
    return text.len == 0;
}

/* Digits in groups from the right. */
static Str grouped(Arena *arena, Str digits, char separator, size_t group) {
    StrBuf out = strbuf(arena);
    for (size_t i = 0; i < digits.len; i++) {
        if (separator && i && (digits.len - i) % group == 0)
            strbuf_putc(&out, separator);
        strbuf_putc(&out, digits.ptr[i]);
    }
    return strbuf_str(&out);
}

static Str digits_of(Arena *arena, Val v, unsigned base, bool upper) {
    const Str digits = big_digits(arena, val_as_big(arena, v), base);
    char *out = ARENA_ARRAY(arena, char, digits.len + 1);
    for (size_t i = 0; i < digits.len; i++)
        out[i] = upper && digits.ptr[i] >= 'a' ? (char)(digits.ptr[i] - 'a' + 'A') : digits.ptr[i];
    return (Str){out, digits.len};
}

static bool format_int(Arena *arena, Val v, const Spec *spec, Formatted *out, const char **why) {
    if (spec->precision >= 0) {
        *why = "a precision is not allowed of an int";
        return false;
    }
    static const struct {
        char type;
        unsigned base;
        Str prefix;
    } bases[] = {
        {'b', 2, {"0b", 2}}, {'o', 8, {"0o", 2}}, {'x', 16, {"0x", 2}}, {'X', 16, {"0X", 2}}};
    unsigned base = 10;
    Str prefix = STR("");
    for (size_t b = 0; b < sizeof bases / sizeof *bases; b++)
        if (bases[b].type == spec->type)
            base = bases[b].base, prefix = bases[b].prefix;
    if (base != 10 && spec->grouping == ',') {
        *why = "`,` is of decimal digits";
        return false;
    }
    out->prefix = spec->alternate ? prefix : STR("");
    out->digits = grouped(arena, digits_of(arena, v, base, spec->type == 'X'), spec->grouping,
                          base == 10 ? 3 : 4);
    return true;
}

/* Without a type, but with a precision: as `g`, but with an exponent from one digit less on, since
 * one is kept behind the point. */
static bool wants_exponent(double magnitude, int precision) {
    char buffer[MAX_PRECISION + 32];
    snprintf(buffer, sizeof buffer, "%.*e", precision > 0 ? precision - 1 : 0, magnitude);
    return atoi(strchr(buffer, 'e') + 1) + 1 > precision - 1;
}

/* 1.200e+03 as 1.2e+03 */
static void strip_zeros(char *text) {
    char *e = strchr(text, 'e'), *end = e;
    if (!e || !memchr(text, '.', (size_t)(e - text)))
        return;
    while (end[-1] == '0')
        end--;
    end -= end[-1] == '.';
    memmove(end, e, strlen(e) + 1);
}

/* What C's printf makes of it, and of repr() where nothing is asked for. */
static Str float_text(Arena *arena, double magnitude, const Spec *spec) {
    const char type = spec->type == '%' ? 'f' : spec->type == 'n' ? 'g' : spec->type;
    StrBuf out = strbuf(arena);
    if (!type && spec->precision < 0) {
        print_double(magnitude, &out);
        return strbuf_str(&out);
    }
    int precision = spec->precision < 0 ? 6 : spec->precision;
    if (!type && isfinite(magnitude) && wants_exponent(magnitude, precision)) {
        Spec exponent = *spec;
        exponent.type = 'e';
        exponent.precision = precision > 0 ? precision - 1 : 0;
        char *stripped = str_dup(arena, float_text(arena, magnitude, &exponent));
        if (!spec->alternate)
            strip_zeros(stripped);
        return str_from(stripped);
    }
    const char form[] = {'%', '.', '*', type ? type : 'g', 0};
    const char alternate[] = {'%', '#', '.', '*', type ? type : 'g', 0};
    char buffer[MAX_PRECISION + 400];
    /* The format is one of those above. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(buffer, sizeof buffer, spec->alternate ? alternate : form, precision, magnitude);
#pragma GCC diagnostic pop
    strbuf_puts(&out, buffer);
    if (!type && isfinite(magnitude) && !strpbrk(buffer, ".e"))
        strbuf_puts(&out, ".0");
    return strbuf_str(&out);
}

static void format_float(Arena *arena, double value, const Spec *spec, Formatted *out) {
    const double magnitude = fabs(value) * (spec->type == '%' ? 100 : 1);
    const bool upper = spec->type == 'E' || spec->type == 'F' || spec->type == 'G';
    Str text = float_text(arena, magnitude, spec);
    if (!isfinite(value))
        text = isnan(value) ? (upper ? STR("NAN") : STR("nan")) : (upper ? STR("INF") : STR("inf"));
    size_t whole = 0;
    while (whole < text.len && text.ptr[whole] >= '0' && text.ptr[whole] <= '9')
        whole++;
    out->digits = grouped(arena, (Str){text.ptr, whole}, spec->grouping, 3);
    out->rest = (Str){text.ptr + whole, text.len - whole};
    if (spec->type == '%')
        out->rest = str_from(str_format(arena, "%.*s%%", STR_ARG(out->rest)));
}

static bool format_text(Str text, const Spec *spec, Formatted *out, const char **why) {
    if ((spec->type && spec->type != 's') || spec->align == '=' || spec->alternate ||
        spec->grouping || spec->sign != '-') {
        *why = "that is not for strings";
        return false;
    }
    size_t at = 0;
    for (int32_t n = 0; at < text.len && (spec->precision < 0 || n < spec->precision); n++)
        at += character_length((Str){text.ptr + at, text.len - at});
    out->rest = (Str){text.ptr, at};
    return true;
}

static void pad(StrBuf *out, Str fill, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        strbuf_add(out, fill.ptr, fill.len);
}

static void append(const Formatted *f, const Spec *spec, bool is_text, StrBuf *out) {
    const uint32_t taken =
        characters(f->sign) + characters(f->prefix) + characters(f->digits) + characters(f->rest);
    const uint32_t room = (uint32_t)spec->width > taken ? (uint32_t)spec->width - taken : 0;
    const char align = spec->align ? spec->align : is_text ? '<' : spec->zeros ? '=' : '>';
    const uint32_t before = align == '>' ? room : align == '^' ? room / 2 : 0;
    pad(out, spec->fill, before);
    strbuf_add(out, f->sign.ptr, f->sign.len);
    strbuf_add(out, f->prefix.ptr, f->prefix.len);
    pad(out, spec->fill, align == '=' ? room : 0);
    strbuf_add(out, f->digits.ptr, f->digits.len);
    strbuf_add(out, f->rest.ptr, f->rest.len);
    pad(out, spec->fill, align == '<' || align == '^' ? room - before : 0);
}

bool format_value(Arena *arena, Val v, Str text, StrBuf *out, const char **why) {
    Spec spec;
    Formatted formatted = {STR(""), STR(""), STR(""), STR("")};
    if (text.len == 0) {
        val_print(v, false, out);
        return true;
    }
    *why = "that is no format specification";
    if (!parse_spec(text, &spec) || spec.width > MAX_WIDTH || spec.precision > MAX_PRECISION)
        return false;
    if (spec.grouping && spec.fill.ptr[0] == '0' && (spec.align == '=' || spec.zeros)) {
        *why = "zeros in groups are not supported";
        return false;
    }
    const bool is_text = v.kind == VAL_STRING;
    const bool as_float = v.kind == VAL_FLOAT || (spec.type && strchr("eEfFgG%", spec.type));
    if (!is_text && !val_is_number(v) && v.kind != VAL_BIGINT) {
        *why = "only numbers and strings are formatted so";
        return false;
    }
    if (!is_text && (spec.type == 's' || spec.type == 'c' ||
                     (v.kind == VAL_FLOAT && spec.type && strchr("bdoxX", spec.type)))) {
        *why = "that is not for this type";
        return false;
    }
    const double f = v.kind == VAL_BIGINT ? big_to_double(arena, *v.big)
                     : is_text            ? 0
                                          : val_as_double(v);
    if (v.kind == VAL_BIGINT && isinf(f) && as_float) {
        *why = "the int is too large for a float";
        return false;
    }
    if (!is_text && as_float)
        format_float(arena, f, &spec, &formatted);
    else if (is_text ? !format_text(v.s, &spec, &formatted, why)
                     : !format_int(arena, v, &spec, &formatted, why))
        return false;
    const bool negative = !is_text && (as_float               ? signbit(f) != 0 && !isnan(f)
                                       : v.kind == VAL_BIGINT ? v.big->negative
                                                              : v.i < 0);
    if (!is_text)
        formatted.sign = negative           ? STR("-")
                         : spec.sign == '-' ? STR("")
                         : spec.sign == '+' ? STR("+")
                                            : STR(" ");
    append(&formatted, &spec, is_text, out);
    return true;
}
