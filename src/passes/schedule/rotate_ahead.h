/* The part of rotate-dots that lets one ring run ahead of another. Private to src/passes. */
#ifndef TILEC_PASSES_SCHEDULE_ROTATE_AHEAD_H
#define TILEC_PASSES_SCHEDULE_ROTATE_AHEAD_H
#include "ir/ir.h"
#include "support/vec.h"

/* Two rings that share their mbarriers, in a loop that copies an iteration's part of both. */
typedef struct Ahead {
    Arena *arena;
    Op *loop;
    Value *full;           /* the mbarriers */
    Value *slot;           /* argument of the body */
    Value *first, *second; /* rings: the first one is to run an iteration further ahead */
    /* Of all loops and what stands before them: what names the mbarriers. */
    VEC(Op *) expects, waits, copies; /* copies: to the second ring alone */
    Op *expect, *copy;                /* those of the body, to the first ring */
} Ahead;

/* Can it? The copies of an iteration must be as far ahead as slots allow, and what places those to
 * the first ring known an iteration earlier. Fills the lists. */
bool rotate_may_run_ahead(Ahead *ahead);

/* Gives the second ring mbarriers of its own, which are the result, and copies to the first one an
 * iteration earlier. What the second ring's reader in the loop waits for is left to the caller. */
Value *rotate_run_ahead(const Ahead *ahead);
#endif
