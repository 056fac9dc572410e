/* Text: `Str` is a pointer and a length, not terminated; `StrBuf` builds text in an arena. */
#ifndef TILEC_SUPPORT_STR_H
#define TILEC_SUPPORT_STR_H
#include "support/arena.h"
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

typedef struct Str {
    const char *ptr;
    size_t len;
} Str;

#define STR(literal) ((Str){"" literal, sizeof(literal) - 1})
/* For "%.*s". */
#define STR_ARG(s) (int)(s).len, (s).ptr

static inline Str str_from(const char *text) {
    return (Str){text, strlen(text)};
}
static inline bool str_eq(Str a, Str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool str_begins(Str text, const char *word) {
    const size_t len = strlen(word);
    return text.len >= len && !memcmp(text.ptr, word, len);
}
static inline bool str_is(Str a, const char *text) {
    return str_eq(a, str_from(text));
}
/* Below, at or above zero, as strcmp says it of bytes. */
static inline int str_order(Str a, Str b) {
    const size_t common = a.len < b.len ? a.len : b.len;
    const int order = common ? memcmp(a.ptr, b.ptr, common) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}
/* A terminated copy in the arena. */
char *str_dup(Arena *arena, Str s);
static inline Str str_keep(Arena *arena, Str s) {
    return (Str){str_dup(arena, s), s.len};
}
char *str_format(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The candidate nearest to `word` by edit distance, or -1 when none is near enough to suggest. */
int str_nearest(Str word, const Str *candidates, size_t count);

static inline bool str_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
/* A word of a text as a shell splits it: at blanks, but for what is between quotes of either kind
 * or behind a backslash, which within '..' is one itself. */
typedef struct StrWord {
    Str text;          /* without its quotes; terminated */
    size_t begin, end; /* of it in the text, with them */
    bool is_open;      /* a quote is not closed */
} StrWord;
/* The word at or behind byte `at`, which moves past it, in the arena. False: there is none. */
bool str_next_word(Arena *arena, Str text, size_t *at, StrWord *word);

typedef struct StrBuf {
    Arena *arena;
    char *ptr; /* terminated once anything was added */
    size_t len, cap;
} StrBuf;

static inline StrBuf strbuf(Arena *arena) {
    return (StrBuf){.arena = arena};
}
void strbuf_add(StrBuf *buf, const void *data, size_t len);
void strbuf_puts(StrBuf *buf, const char *text);
void strbuf_putc(StrBuf *buf, char c);
void strbuf_printf(StrBuf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vprintf(StrBuf *buf, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
static inline Str strbuf_str(const StrBuf *buf) {
    return (Str){buf->ptr ? buf->ptr : "", buf->len};
}
/* Length of the well-formed UTF-8 sequence that begins at byte `at`, which there is; 0: it is none
 * (RFC 3629). */
size_t str_utf8_length(Str text, size_t at);
/* `s` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void strbuf_json(StrBuf *buf, Str s);
#endif
