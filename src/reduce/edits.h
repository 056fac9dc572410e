/* What may be left out of a source, or made smaller, by the grammar.
 *
 * A place is either a list of which any part may go, as statements of a block or arguments of a
 * call, or something that may be replaced in one of several ways. Places are found anew after every
 * change, always in the same order: that of the source, what encloses before what is within. */
#ifndef TILEC_REDUCE_EDITS_H
#define TILEC_REDUCE_EDITS_H
#include "reduce/syntax.h"

typedef struct Replacement {
    uint32_t lo, hi; /* of the text */
    Str text;        /* instead of that */
} Replacement;

typedef VEC(Replacement) Replacements;

/* Replacements that go together and do not overlap; in any order. */
typedef struct Edit {
    Replacements parts;
    /* A parameter that goes: arguments of the command for it go, too. */
    Str function, parameter; /* empty: it is no such */
    uint32_t parameter_index;
} Edit;

typedef struct Place {
    VEC(Span) items;   /* of a list */
    const char *empty; /* what is there when all of them are gone; NULL: one has to stay */
    uint32_t end; /* of the last item, with a comma that is only there for it; 0: it has none */
    VEC(Edit) choices; /* else; the smallest result first */
} Place;

typedef VEC(Place) Places;

typedef enum EditKind {
#define EDITS(id, name) EDITS_##id,
#include "reduce/edits.def"
    EDITS_COUNT
} EditKind;
extern const char *const edits_name[EDITS_COUNT];

/* The places of a kind, in the syntax's arena. */
void edits_find(const Syntax *syntax, EditKind kind, Places *places);

/* Without items begin to end - 1 of a list. False: they cannot all go. */
bool edits_delete(Arena *arena, const Place *place, size_t begin, size_t end, Edit *edit);
/* The text after the edit. */
Str edits_apply(Arena *arena, Str text, const Edit *edit);

/* The finders of edits.def; each is told what its kind asks for. */
typedef struct Finder {
    const Syntax *syntax;
    Arena *arena;
    EditKind kind;
    Places *places;
} Finder;
void edits_statements(Finder *finder);
void edits_expressions(Finder *finder);
/* Renames: `names`. */
void edits_names(Finder *finder);

/* The end of a list whose last item ends at `hi`: behind a comma there. */
uint32_t edits_list_end(const Syntax *syntax, uint32_t hi);

/* A new place; it stays where it is until the next one is added. */
Place *edits_add_place(Finder *finder);
/* One with this choice alone. */
void edits_add_edit(Finder *finder, const Edit *edit);
/* A further choice, which replaces the span by the text. */
void edits_add_choice(const Finder *finder, Place *place, Span span, Str text);
#endif
