/* Moving an op up in its block, with what it is computed from. Private to src/passes. */
#ifndef TILEC_PASSES_MOVE_UP_H
#define TILEC_PASSES_MOVE_UP_H
#include "ir/ir.h"
#include "support/vec.h"

typedef struct MoveRules {
    bool (*stops)(const Op *op);   /* the op passes no such op */
    bool (*follows)(const Op *op); /* one that the op is computed from moves with it */
    bool (*waits)(const Op *op);   /* the op goes before the first of these, or stays */
} MoveRules;

typedef struct MoveUp {
    Op *op, *place;    /* NULL: nothing that waits is passed */
    VEC(Op *) carried; /* what moves along, the last one first */
} MoveUp;

MoveUp move_up_find(Arena *arena, Op *op, const MoveRules *rules);
void move_up(const MoveUp *move);

/* Has effects on more than the program's own memory, or regions with effects. */
bool op_ends_moves(const Op *op);
#endif
