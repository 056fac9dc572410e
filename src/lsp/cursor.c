/* See cursor.h. */
#include "lsp/cursor.h"

#include "lsp/text.h"

enum { MOST_BRACKETS = 64 };

typedef struct Bracket {
    size_t open;  /* offset */
    size_t begin; /* of the argument, or what a comma ends */
    uint32_t commas;
    VEC(Str) given;
} Bracket;

typedef struct Scan {
    Arena *arena;
    Str text;
    size_t at, end;
    Bracket brackets[MOST_BRACKETS];
    uint32_t depth; /* may be more than there is room for */
    bool in_text;
} Scan;

static char peek(const Scan *s, size_t ahead) {
    return s->at + ahead < s->end ? s->text.ptr[s->at + ahead] : 0;
}

static void skip_string(Scan *s) {
    const char quote = peek(s, 0);
    const bool is_triple = peek(s, 1) == quote && peek(s, 2) == quote;
    s->at += is_triple ? 3 : 1;
    for (; s->at < s->end; s->at++) {
        const char c = peek(s, 0);
        if (c == '\\') {
            s->at++;
        } else if (c == quote && (!is_triple || (peek(s, 1) == quote && peek(s, 2) == quote))) {
            s->at += is_triple ? 3 : 1;
            return;
        } else if (c == '\n' && !is_triple) {
            return; /* it does not end: the next line is code again */
        }
    }
    s->at = s->end;
    s->in_text = true;
}

static void skip_comment(Scan *s) {
    while (s->at < s->end && peek(s, 0) != '\n')
        s->at++;
    s->in_text = s->at == s->end;
}

/* A line that begins with one of these is in no bracket: one further above was not closed yet. */
static bool begins_statement(const Scan *s) {
    static const char *const words[] = {"def",  "class", "return", "while",  "with",     "import",
                                        "pass", "break", "raise",  "assert", "continue", "global"};
    if (peek(s, 0) == '@')
        return s->at == 0 || s->text.ptr[s->at - 1] == '\n';
    size_t length = 0;
    while (text_is_word(peek(s, length)))
        length++;
    for (size_t i = 0; i < sizeof words / sizeof *words && length; i++)
        if (str_is((Str){s->text.ptr + s->at, length}, words[i]))
            return !text_is_word(peek(s, length)) && s->at + length < s->end;
    return false;
}

static Bracket *innermost(Scan *s) {
    return s->depth && s->depth <= MOST_BRACKETS ? &s->brackets[s->depth - 1] : NULL;
}

static Str trimmed(Str text) {
    while (text.len && strchr(" \t\r\n\\", text.ptr[0]) && text.ptr[0])
        text = (Str){text.ptr + 1, text.len - 1};
    while (text.len && strchr(" \t\r\n\\", text.ptr[text.len - 1]) && text.ptr[text.len - 1])
        text.len--;
    return text;
}

static bool is_name(Str text) {
    for (size_t i = 0; i < text.len; i++)
        if (!text_is_word(text.ptr[i]))
            return false;
    return text.len > 0;
}

/* NAME = of an argument */
static void note_keyword(Scan *s) {
    Bracket *bracket = innermost(s);
    if (!bracket || peek(s, 1) == '=')
        return;
    const Str name = trimmed((Str){s->text.ptr + bracket->begin, s->at - bracket->begin});
    if (is_name(name))
        vec_push(s->arena, &bracket->given, name);
}

static void scan_char(Scan *s) {
    const char c = peek(s, 0);
    Bracket *bracket = innermost(s);
    s->at++;
    if (c == '(' || c == '[' || c == '{') {
        if (s->depth < MOST_BRACKETS)
            s->brackets[s->depth] = (Bracket){.open = s->at - 1, .begin = s->at};
        s->depth++;
    } else if (c == ')' || c == ']' || c == '}') {
        s->depth -= s->depth > 0;
    } else if (c == ',' && bracket) {
        bracket->commas++;
        bracket->begin = s->at;
    }
}

static void scan(Scan *s) {
    bool line_begins = true;
    while (s->at < s->end) {
        const char c = peek(s, 0);
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            line_begins |= c == '\n';
            s->at++;
            continue;
        }
        if (line_begins && s->depth && begins_statement(s))
            s->depth = 0;
        line_begins = false;
        if (c == '#') {
            skip_comment(s);
        } else if (c == '"' || c == '\'') {
            skip_string(s);
        } else if (text_is_word(c)) {
            while (s->at < s->end && text_is_word(peek(s, 0)))
                s->at++;
        } else {
            if (c == '=')
                note_keyword(s);
            scan_char(s);
        }
    }
}

/* The dotted name that ends at `end`, with a leading point where it goes on from an expression. */
static Str dotted_before(Str text, size_t end) {
    size_t at = end;
    for (;;) {
        const size_t stop = at;
        while (at > 0 && text_is_word(text.ptr[at - 1]))
            at--;
        if (at == stop)
            return (Str){text.ptr + at, end - at};
        if (at == 0 || text.ptr[at - 1] != '.')
            return (Str){text.ptr + at, end - at};
        at--;
    }
}

/* The bracket around that is the parenthesis of a call: `f(a, (b, [c` is in that of f. */
static const Bracket *call_around(Scan *s, Str *callee) {
    for (uint32_t i = s->depth < MOST_BRACKETS ? s->depth : MOST_BRACKETS; i-- > 0;) {
        const Bracket *bracket = &s->brackets[i];
        if (s->text.ptr[bracket->open] != '(')
            continue;
        const Str head = trimmed((Str){s->text.ptr, bracket->open});
        *callee = dotted_before(s->text, head.len);
        size_t word = head.len - callee->len;
        while (word > 0 && s->text.ptr[word - 1] == ' ')
            word--;
        const bool is_definition = word >= 3 && !memcmp(s->text.ptr + word - 3, "def", 3);
        if (callee->len && !is_definition)
            return bracket;
        if (is_definition)
            return NULL;
    }
    return NULL;
}

Cursor cursor_at(Arena *arena, Str text, uint32_t offset) {
    Cursor cursor = {0};
    Scan *s = ARENA_NEW(arena, Scan);
    *s = (Scan){.arena = arena, .text = text, .end = offset < text.len ? offset : text.len};
    scan(s);
    cursor.in_text = s->in_text;
    size_t begin = s->end;
    while (begin > 0 && text_is_word(text.ptr[begin - 1]))
        begin--;
    cursor.prefix = (Str){text.ptr + begin, s->end - begin};
    cursor.is_member = begin > 0 && text.ptr[begin - 1] == '.';
    if (cursor.is_member)
        cursor.base = dotted_before(text, begin - 1);
    const Bracket *call = call_around(s, &cursor.callee);
    if (!call)
        return cursor;
    cursor.in_call = true;
    cursor.argument = call->commas;
    const Str argument = {text.ptr + call->begin, s->end - call->begin};
    cursor.begins = trimmed(argument).len == cursor.prefix.len && call == innermost(s);
    for (size_t i = 0; i < call->given.len; i++) {
        const bool is_here = call->given.data[i].ptr >= argument.ptr;
        if (is_here)
            cursor.keyword = call->given.data[i];
        else
            vec_push(arena, &cursor.given, call->given.data[i]);
    }
    return cursor;
}
