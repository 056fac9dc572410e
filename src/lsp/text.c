/* See text.h. */
#include "lsp/text.h"

#include "frontend/lex.h"

/* How far the line's end is, and how long: 0 at the end of the text. */
static uint32_t line_end(Str bytes, size_t at, size_t *end) {
    while (at < bytes.len && bytes.ptr[at] != '\n' && bytes.ptr[at] != '\r')
        at++;
    *end = at;
    if (at == bytes.len)
        return 0;
    return bytes.ptr[at] == '\r' && at + 1 < bytes.len && bytes.ptr[at + 1] == '\n' ? 2 : 1;
}

Text text_split(Arena *arena, Str bytes, bool utf8) {
    VEC(uint32_t) starts = {0};
    size_t end = 0, at = 0;
    vec_push(arena, &starts, 0);
    for (uint32_t length; (length = line_end(bytes, at, &end)); at = end + length)
        vec_push(arena, &starts, (uint32_t)(end + length));
    return (Text){bytes, starts.data, (uint32_t)starts.len, utf8};
}

Str text_line(const Text *text, uint32_t line) {
    if (line >= text->count)
        return (Str){text->bytes.ptr + text->bytes.len, 0};
    size_t end;
    line_end(text->bytes, text->starts[line], &end);
    return (Str){text->bytes.ptr + text->starts[line], end - text->starts[line]};
}

/* The character at `at` in bytes and in UTF-16 units; what is no UTF-8 is one of each. */
static size_t character(Str line, size_t at, uint32_t *units) {
    const size_t length = str_utf8_length(line, at);
    *units = length == 4 ? 2 : 1;
    return length ? length : 1;
}

Place text_place(const Text *text, uint32_t offset) {
    uint32_t low = 0, high = text->count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (text->starts[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    const Str line = text_line(text, low);
    size_t bytes = offset - text->starts[low];
    if (bytes > line.len)
        bytes = line.len;
    if (text->utf8)
        return (Place){low, (uint32_t)bytes};
    uint32_t units = 0, more;
    for (size_t at = 0; at < bytes; units += more)
        at += character(line, at, &more);
    return (Place){low, units};
}

uint32_t text_offset(const Text *text, Place place) {
    if (place.line >= text->count)
        return (uint32_t)text->bytes.len;
    const Str line = text_line(text, place.line);
    const uint32_t start = text->starts[place.line];
    if (text->utf8) {
        size_t at = place.character < line.len ? place.character : line.len;
        while (at > 0 && at < line.len && ((unsigned char)line.ptr[at] & 0xc0) == 0x80)
            at--; /* no place is within a character */
        return start + (uint32_t)at;
    }
    size_t at = 0;
    for (uint32_t units = 0, more; at < line.len && units < place.character;) {
        const size_t length = character(line, at, &more);
        if (units + more > place.character)
            break;
        units += more;
        at += length;
    }
    return start + (uint32_t)at;
}

bool text_is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static const char *const keywords[] = {
#define X(word) #word,
    LEX_KEYWORDS(X)
#undef X
};

enum { KEYWORD_COUNT = sizeof keywords / sizeof *keywords };

const char *text_keyword(size_t index) {
    return index < KEYWORD_COUNT ? keywords[index] : NULL;
}

bool text_is_keyword(Str word) {
    for (size_t i = 0; i < KEYWORD_COUNT; i++)
        if (str_is(word, keywords[i]))
            return true;
    return false;
}

Str text_word(Str bytes, uint32_t offset, uint32_t *begin) {
    size_t lo = offset < bytes.len ? offset : bytes.len, hi = lo;
    while (lo > 0 && text_is_word(bytes.ptr[lo - 1]))
        lo--;
    while (hi < bytes.len && text_is_word(bytes.ptr[hi]))
        hi++;
    *begin = (uint32_t)lo;
    return (Str){bytes.ptr + lo, hi - lo};
}

/* How much both begin with, and end with behind that. */
static void common_ends(Str before, Str after, size_t *head, size_t *tail) {
    const size_t shorter = before.len < after.len ? before.len : after.len;
    *head = *tail = 0;
    while (*head < shorter && before.ptr[*head] == after.ptr[*head])
        ++*head;
    while (*tail < shorter - *head &&
           before.ptr[before.len - 1 - *tail] == after.ptr[after.len - 1 - *tail])
        ++*tail;
}

bool text_follow(Str before, Str after, uint32_t offset, uint32_t *moved) {
    size_t head, tail;
    common_ends(before, after, &head, &tail);
    if (offset < head || (offset == head && head == before.len && head == after.len)) {
        *moved = offset;
        return true;
    }
    if (offset < before.len - tail || offset > before.len)
        return false;
    *moved = (uint32_t)(offset + after.len - before.len);
    return true;
}

uint32_t text_near(Str before, Str after, uint32_t offset) {
    uint32_t moved;
    size_t head, tail;
    if (text_follow(before, after, offset, &moved))
        return moved;
    common_ends(before, after, &head, &tail);
    return (uint32_t)head;
}
