/* See extent.h. Of Python's tokens only those count that hide the end of a line: strings, brackets,
 * comments, backslashes. A block ends before the first line that is indented no more than its
 * header; blank lines and comments at its end are not of it. */
#include "frontend/extent.h"

enum { MOST_NESTED_STRINGS = 64 };

typedef struct Scan {
    const char *at, *end;
    const char *line_begin;
    uint32_t line;
    uint32_t strings; /* that are open */
} Scan;

static char peek(const Scan *s, size_t ahead) {
    return (size_t)(s->end - s->at) > ahead ? s->at[ahead] : 0;
}

static bool at_newline(const Scan *s) {
    return s->at < s->end && (*s->at == '\n' || *s->at == '\r');
}

static void take_newline(Scan *s) {
    s->at += *s->at == '\r' && peek(s, 1) == '\n' ? 2 : 1;
    s->line++;
    s->line_begin = s->at;
}

/* A character, or the end of a line. */
static void take(Scan *s) {
    if (at_newline(s))
        take_newline(s);
    else
        s->at++;
}

static void skip_comment(Scan *s) {
    while (s->at < s->end && !at_newline(s))
        s->at++;
}

static bool is_word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (c & 0x80);
}

/* Does a string's prefix, which ends at the quote, say that it has fields? */
static bool has_fields(const Scan *s) {
    bool fields = false;
    for (const char *c = s->at; c > s->line_begin && is_word_byte(c[-1]); c--)
        fields |= c[-1] == 'f' || c[-1] == 'F' || c[-1] == 't' || c[-1] == 'T';
    return fields;
}

typedef struct Quotes {
    char quote;
    bool triple;
} Quotes;

static bool at_quotes(const Scan *s, Quotes q) {
    return peek(s, 0) == q.quote && (!q.triple || (peek(s, 1) == q.quote && peek(s, 2) == q.quote));
}

static void skip_string(Scan *s);

/* The rest of {value:spec}. In what follows the colon quotes are characters. */
static void skip_field(Scan *s, Quotes outer) {
    size_t brackets = 0;
    for (bool spec = false; s->at < s->end;) {
        const char c = *s->at;
        if (c == '}' && !brackets) {
            s->at++;
            return;
        }
        if (spec && (at_quotes(s, outer) || (at_newline(s) && !outer.triple)))
            return;
        if ((c == '"' || c == '\'') && !spec) {
            skip_string(s);
            continue;
        }
        spec |= c == ':' && !brackets;
        brackets += c == '(' || c == '[' || c == '{';
        brackets -= brackets && (c == ')' || c == ']' || c == '}');
        take(s);
    }
}

/* From its quotes on; one that does not end on its line ends there. */
static void skip_string(Scan *s) {
    const char quote = *s->at;
    const Quotes q = {quote, peek(s, 1) == quote && peek(s, 2) == quote};
    const bool fields = has_fields(s) && s->strings < MOST_NESTED_STRINGS;
    s->at += q.triple ? 3 : 1;
    s->strings++;
    while (s->at < s->end && !at_quotes(s, q)) {
        if (at_newline(s) && !q.triple)
            break;
        if (fields && *s->at == '{' && peek(s, 1) != '{') {
            s->at++;
            skip_field(s, q);
            continue;
        }
        const bool doubled = *s->at == '\\' || (fields && *s->at == '{');
        take(s);
        if (doubled && s->at < s->end)
            take(s);
    }
    s->strings--;
    if (at_quotes(s, q))
        s->at += q.triple ? 3 : 1;
}

/* The rest of a logical line, with its end. */
static void skip_line(Scan *s) {
    for (size_t brackets = 0; s->at < s->end;) {
        const char c = *s->at;
        if (c == '#') {
            skip_comment(s);
        } else if (c == '"' || c == '\'') {
            skip_string(s);
        } else if (at_newline(s)) {
            take_newline(s);
            if (!brackets)
                return;
        } else {
            brackets += c == '(' || c == '[' || c == '{';
            brackets -= brackets && (c == ')' || c == ']' || c == '}');
            s->at++;
            if (c == '\\' && at_newline(s))
                take_newline(s);
        }
    }
}

/* To the first token of the next line that has one; its indentation as Python counts it. False:
 * there is none. */
static bool next_line(Scan *s, uint32_t *indentation) {
    for (; s->at < s->end; take_newline(s)) {
        *indentation = 0;
        for (; peek(s, 0) == ' ' || peek(s, 0) == '\t' || peek(s, 0) == '\f'; s->at++)
            *indentation = *s->at == ' '    ? *indentation + 1
                           : *s->at == '\t' ? (*indentation / 8 + 1) * 8
                                            : 0;
        if (peek(s, 0) == '#')
            skip_comment(s);
        if (!at_newline(s))
            return s->at < s->end;
    }
    return false;
}

static bool at_word(const Scan *s, const char *word) {
    const size_t len = strlen(word);
    return (size_t)(s->end - s->at) > len && memcmp(s->at, word, len) == 0 &&
           !is_word_byte(s->at[len]);
}

/* The line that ends last. */
static uint32_t last_line(const Scan *s) {
    return s->line - (s->at == s->line_begin);
}

bool extent_find(Str text, uint32_t line, Extent *extent) {
    Scan s = {text.ptr, text.ptr + text.len, text.ptr, 1, 0};
    uint32_t indentation, deeper;
    while (s.line < line && s.at < s.end)
        take(&s);
    if (s.line != line || !next_line(&s, &indentation) || s.line != line)
        return false;
    extent->first_line = line;
    while (peek(&s, 0) == '@') {
        skip_line(&s);
        if (!next_line(&s, &deeper) || deeper != indentation)
            return false;
    }
    if (!at_word(&s, "def") && !at_word(&s, "async") && !at_word(&s, "class"))
        return false;
    extent->def_line = s.line;
    extent->column = (uint32_t)(s.at - s.line_begin) + 1;
    do {
        skip_line(&s);
        extent->end_line = last_line(&s);
    } while (next_line(&s, &deeper) && deeper > indentation);
    return true;
}
