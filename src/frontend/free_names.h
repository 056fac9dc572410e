/* The names that a function has from elsewhere: what units bind. */
#ifndef TILEC_FRONTEND_FREE_NAMES_H
#define TILEC_FRONTEND_FREE_NAMES_H
#include "frontend/ast.h"

typedef enum NamePlace {
    NAME_IN_BODY,
    NAME_IN_DEFAULT, /* of a parameter */
    NAME_IN_ANNOTATION,
    NAME_IN_DECORATOR
} NamePlace;

typedef struct FreeName {
    Str name; /* dotted as far as attributes go */
    NamePlace place;
    Span span; /* the first */
} FreeName;

typedef VEC(FreeName) FreeNames;

/* Each once for each kind of place, in the order of their first. A name that is assigned counts as
 * a variable behind its first assignment; before that, and in the other branch of an `if`, it is
 * what it is elsewhere, as in Triton. */
void free_names(Arena *arena, const FuncDef *def, FreeNames *out);
#endif
