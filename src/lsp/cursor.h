/* What a text is like in front of a place, whether or not it parses: for what is asked while it is
 * typed. */
#ifndef TILEC_LSP_CURSOR_H
#define TILEC_LSP_CURSOR_H
#include "support/str.h"
#include "support/vec.h"

typedef struct Cursor {
    bool in_text;      /* in a string or a comment */
    Str prefix;        /* of the name that is being written */
    bool is_member;    /* behind a point */
    Str base;          /* in front of it, "tl.math"; empty: no name but an expression */
    bool in_call;      /* within the parentheses of one */
    Str callee;        /* its dotted name; of an expression's method what is behind it, ".sum" */
    uint32_t argument; /* from 0 */
    Str keyword;       /* of the argument that is being written; empty: it has none */
    bool begins;       /* nothing of the argument but `prefix` is there */
    VEC(Str) given;    /* keywords of arguments before it */
} Cursor;

Cursor cursor_at(Arena *arena, Str text, uint32_t offset);
#endif
