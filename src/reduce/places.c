/* See edits.h: where a source may be changed, by kinds; of these the ones that go by lines,
 * comments among them, are here. */
#include "reduce/edits.h"

const char *const edits_name[EDITS_COUNT] = {
#define EDITS(id, name) name,
#include "reduce/edits.def"
};

/* ---- comments, blank lines, lines within brackets ---- */

static bool is_blank(Str text, size_t lo, size_t hi) {
    for (; lo < hi; lo++)
        if (!strchr(" \t\r\f", text.ptr[lo]))
            return false;
    return true;
}

/* Between tokens from `lo` to `hi`: comments, and lines that have nothing else. */
static void clean_gap(Finder *finder, uint32_t lo, uint32_t hi, Edit *edit) {
    const Str text = finder->syntax->text;
    for (uint32_t line = lo, end; line < hi; line = end + 1) {
        for (end = line; end < hi && text.ptr[end] != '\n';)
            end++;
        uint32_t comment = line;
        while (comment < end && text.ptr[comment] != '#')
            comment++;
        const bool whole = (line > lo || line == 0) && end < hi && is_blank(text, line, comment);
        while (!whole && comment > line && strchr(" \t\r\f", text.ptr[comment - 1]) && end < hi)
            comment--;
        const uint32_t from = whole ? line : comment, to = whole ? end + 1 : end;
        if (from < to && (whole || comment < end))
            vec_push(finder->arena, &edit->parts, (Replacement){from, to, STR("")});
    }
}

static bool opens(uint8_t kind) {
    return kind == OP_lparen || kind == OP_lbracket || kind == OP_lbrace;
}

static bool closes(uint8_t kind) {
    return kind == OP_rparen || kind == OP_rbracket || kind == OP_rbrace;
}

/* Lines that a bracket joins become one; next to the brackets there is no blank. */
static bool join_lines(Finder *finder, const Token *before, const Token *after, Edit *edit) {
    const Str text = finder->syntax->text;
    if (!memchr(text.ptr + before->hi, '\n', after->lo - before->hi))
        return false;
    const bool is_tight = opens(before->kind) || closes(after->kind);
    vec_push(finder->arena, &edit->parts,
             (Replacement){before->hi, after->lo, is_tight ? STR("") : STR(" ")});
    return true;
}

/* All of them are one choice, so that what hangs on lines takes one run to see. */
static void find_layout(Finder *finder) {
    const Syntax *syntax = finder->syntax;
    Edit edit = {0};
    uint32_t at = 0;
    size_t depth = 0;
    vec_for_each (token, &syntax->tokens) {
        if (!depth || !join_lines(finder, token - 1, token, &edit))
            clean_gap(finder, at, token->lo, &edit);
        at = token->hi;
        depth += opens(token->kind);
        depth -= depth && closes(token->kind);
    }
    clean_gap(finder, at, (uint32_t)syntax->text.len, &edit);
    if (edit.parts.len)
        edits_add_edit(finder, &edit);
}

/* A text that does not parse has lines at least. */
static void find_lines(Finder *finder) {
    const Str text = finder->syntax->text;
    if (!finder->syntax->mistakes || !text.len)
        return;
    Place *place = edits_add_place(finder);
    place->empty = "";
    for (uint32_t lo = 0, hi; lo < text.len; lo = hi + 1) {
        for (hi = lo; hi < text.len && text.ptr[hi] != '\n';)
            hi++;
        vec_push(finder->arena, &place->items, (Span){0, lo, hi});
    }
}

void edits_find(const Syntax *syntax, EditKind kind, Places *places) {
    Finder finder = {syntax, syntax->arena, kind, places};
    *places = (Places){0};
    if (kind == EDITS_LAYOUT)
        find_layout(&finder);
    else if (kind == EDITS_LINES)
        find_lines(&finder);
    else if (kind <= EDITS_DECORATORS)
        edits_statements(&finder);
    else if (kind <= EDITS_PARENS)
        edits_expressions(&finder);
    else
        edits_names(&finder);
}
