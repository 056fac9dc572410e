/* See edits.h: what edits are made of, and what they make of a text. */
#include "reduce/edits.h"

#include <stdlib.h>

Place *edits_add_place(Finder *finder) {
    vec_push(finder->arena, finder->places, (Place){0});
    return &finder->places->data[finder->places->len - 1];
}

void edits_add_edit(Finder *finder, const Edit *edit) {
    Place *place = edits_add_place(finder);
    vec_push(finder->arena, &place->choices, *edit);
}

uint32_t edits_list_end(const Syntax *syntax, uint32_t hi) {
    const size_t at = syntax_token_at(syntax, hi);
    return at < syntax->tokens.len && syntax->tokens.data[at].kind == OP_comma
               ? syntax->tokens.data[at].hi
               : hi;
}

void edits_add_choice(const Finder *finder, Place *place, Span span, Str text) {
    Edit edit = {0};
    vec_push(finder->arena, &edit.parts, (Replacement){span.lo, span.hi, text});
    vec_push(finder->arena, &place->choices, edit);
}

static int by_offset(const void *a, const void *b) {
    const Replacement *x = a, *y = b;
    return (x->lo > y->lo) - (x->lo < y->lo);
}

Str edits_apply(Arena *arena, Str text, const Edit *edit) {
    StrBuf out = strbuf(arena);
    uint32_t at = 0;
    Replacements parts = {0};
    vec_for_each (part, &edit->parts)
        vec_push(arena, &parts, *part);
    if (parts.len)
        qsort(parts.data, parts.len, sizeof *parts.data, by_offset);
    vec_for_each (part, &parts) {
        if (part->lo < at)
            continue;
        strbuf_add(&out, text.ptr + at, part->lo - at);
        strbuf_add(&out, part->text.ptr, part->text.len);
        at = part->hi;
    }
    strbuf_add(&out, text.ptr + at, text.len - at);
    return strbuf_str(&out);
}

/* Up to the next item that stays, or from the end of the one before: with what separates them. */
bool edits_delete(Arena *arena, const Place *place, size_t begin, size_t end, Edit *edit) {
    const Span *items = place->items.data;
    const size_t count = place->items.len;
    Replacement gone = {items[begin].lo, items[end - 1].hi, STR("")};
    *edit = (Edit){0};
    if (begin == 0 && end == count) {
        if (!place->empty)
            return false;
        gone.text = str_from(place->empty);
        gone.hi = place->end > gone.hi ? place->end : gone.hi;
    } else if (end < count) {
        gone.hi = items[end].lo;
    } else {
        gone.lo = items[begin - 1].hi;
    }
    vec_push(arena, &edit->parts, gone);
    return true;
}
