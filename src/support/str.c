#include "support/str.h"

#include <stdio.h>

char *str_dup(Arena *arena, Str s) {
    return arena_grow(arena, s.ptr, s.len, s.len + 1);
}

char *str_format(Arena *arena, const char *format, ...) {
    StrBuf buf = strbuf(arena);
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&buf, format, args);
    va_end(args);
    return buf.ptr;
}

/* Levenshtein distance over at most 64 characters, giving up above `limit`. */
static int edit_distance(Str a, Str b, int limit) {
    enum { MAX = 64 };
    if (a.len > MAX || b.len > MAX)
        return limit + 1;
    int row[MAX + 1];
    for (size_t j = 0; j <= b.len; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= a.len; i++) {
        int diagonal = row[0], best = row[0] = (int)i;
        for (size_t j = 1; j <= b.len; j++) {
            int above = row[j];
            int cost = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);
            if (above + 1 < cost)
                cost = above + 1;
            if (row[j - 1] + 1 < cost)
                cost = row[j - 1] + 1;
            diagonal = above;
            row[j] = cost;
            if (cost < best)
                best = cost;
        }
        if (best > limit)
            return limit + 1;
    }
    return row[b.len];
}

int str_nearest(Str word, const Str *candidates, size_t count) {
    int best = -1, best_distance = word.len < 4 ? 1 : (int)(word.len / 3) + 1;
    for (size_t i = 0; i < count; i++) {
        int distance = edit_distance(word, candidates[i], best_distance);
        if (distance < best_distance || (distance == best_distance && best < 0)) {
            best = (int)i;
            best_distance = distance;
        }
    }
    return best;
}

static void reserve(StrBuf *buf, size_t extra) {
    size_t need = buf->len + extra + 1;
    if (need <= buf->cap)
        return;
    size_t cap = buf->cap ? 2 * buf->cap : 64;
    if (cap < need)
        cap = need;
    buf->ptr = arena_grow(buf->arena, buf->ptr, buf->len, cap);
    buf->cap = cap;
}

void strbuf_add(StrBuf *buf, const void *data, size_t len) {
    reserve(buf, len);
    if (len)
        memcpy(buf->ptr + buf->len, data, len);
    buf->len += len;
    buf->ptr[buf->len] = 0;
}

void strbuf_puts(StrBuf *buf, const char *text) {
    strbuf_add(buf, text, strlen(text));
}

void strbuf_putc(StrBuf *buf, char c) {
    strbuf_add(buf, &c, 1);
}

void strbuf_vprintf(StrBuf *buf, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    reserve(buf, 96);
    int n = vsnprintf(buf->ptr + buf->len, buf->cap - buf->len, format, args);
    if (n > 0 && (size_t)n >= buf->cap - buf->len) {
        reserve(buf, (size_t)n);
        vsnprintf(buf->ptr + buf->len, buf->cap - buf->len, format, again);
    }
    if (n > 0)
        buf->len += (size_t)n;
    va_end(again);
}

void strbuf_printf(StrBuf *buf, const char *format, ...) {
    va_list args;
    va_start(args, format);
    strbuf_vprintf(buf, format, args);
    va_end(args);
}

size_t str_utf8_length(Str text, size_t at) {
    const unsigned char *p = (const unsigned char *)text.ptr + at;
    const size_t left = text.len - at;
    if (p[0] < 0x80)
        return 1;
    size_t n = p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 0;
    if (p[0] >= 0xf5 || n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))
        return 0;
    return n;
}

void strbuf_json(StrBuf *buf, Str s) {
    strbuf_putc(buf, '"');
    for (size_t i = 0; i < s.len;) {
        unsigned char c = (unsigned char)s.ptr[i];
        size_t n = str_utf8_length(s, i);
        if (c == '"' || c == '\\')
            strbuf_printf(buf, "\\%c", c);
        else if (c == '\n')
            strbuf_puts(buf, "\\n");
        else if (c < 0x20 || c == 0x7f)
            strbuf_printf(buf, "\\u%04x", c);
        else if (n == 0)
            strbuf_puts(buf, "\\ufffd");
        else
            strbuf_add(buf, s.ptr + i, n);
        i += n ? n : 1;
    }
    strbuf_putc(buf, '"');
}

bool str_next_word(Arena *arena, Str text, size_t *at, StrWord *word) {
    size_t i = *at;
    char quote = 0;
    while (i < text.len && str_is_blank(text.ptr[i]))
        i++;
    *word = (StrWord){.begin = i};
    StrBuf out = strbuf(arena);
    strbuf_puts(&out, "");
    for (; i < text.len && (quote || !str_is_blank(text.ptr[i])); i++) {
        const char c = text.ptr[i];
        if (quote ? c == quote : c == '"' || c == '\'')
            quote = quote ? 0 : c;
        else if (c == '\\' && quote != '\'' && i + 1 < text.len)
            strbuf_putc(&out, text.ptr[++i]);
        else
            strbuf_putc(&out, c);
    }
    word->text = strbuf_str(&out);
    word->is_open = quote != 0;
    word->end = *at = i;
    return word->begin < word->end;
}
