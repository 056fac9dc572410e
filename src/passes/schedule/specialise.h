/* What the two roles of specialise-warps share: the rings whose copies a producer warp starts.
 * Private to specialise_*.c. */
#ifndef TILEC_PASSES_SCHEDULE_SPECIALISE_H
#define TILEC_PASSES_SCHEDULE_SPECIALISE_H
#include "ir/ir.h"
#include "passes/rewrite.h"
#include "support/vec.h"

enum {
    SPECIALISE_TEAMS = 2,
};

/* A loop whose operands come by tensor copies. */
typedef struct Ring {
    Op *loop;
    Op *full;          /* mbarrier_alloc */
    Op *wait;          /* for a phase, in the loop */
    Op *product;       /* the last of an iteration */
    int64_t ahead;     /* iterations that copies are started ahead */
    VEC(Op *) buffers; /* local_allocs that they fill */
    VEC(Op *) copies;  /* and expects, in the loop and before it */
    Value *empty;      /* mbarriers */
    Op *loop_of_producer;
} Ring;

typedef struct Specialise {
    Ctx *ctx;
    Func *func;
    Arena *arena;
    VEC(Ring *) rings;
    VEC(Op *) stores; /* by tensor copies */
    Op *producer;
    ValueMap *map; /* of the function to the producer's copy of it */
} Specialise;

/* Does it start copies or say how many bytes they bring? */
bool specialise_starts_copies(const Op *op);
/* Puts a copy of the function, of which only the waits and copies of the rings are left, into a
 * `producer` in front of everything, and makes the rings' `empty` mbarriers. False: what places the
 * copies is no slice of scalars and loops that can be followed back to the iteration that reads
 * them; the function is then as it was. */
bool specialise_make_producer(Specialise *s);

/* Asked by pipeline-loads too, which sizes rings for what will lie beside them. */

/* Has a CTA of the function place for a producer? */
bool specialise_has_place(const Func *func);
/* Do arguments and program ids alone, and nothing that is loaded, say where a copy (load_block or
 * copy_block) goes, and how the loops and branches around it run? */
bool specialise_can_place(Arena *arena, const Op *copy);
/* May two teams of warps take the programs of a CTA in turn, if there is room? Each stores through
 * buffers of its own. */
bool specialise_wants_teams(const Func *func);
/* Are CTAs that take so many bytes of `room`, before they have teams, alone on their SM? Teams are
 * for such. */
bool specialise_is_alone(int64_t bytes, int64_t room);
/* Registers that a thread has to spare where a CTA has two teams and a producer; negative: it has
 * not what it needs. */
int64_t specialise_team_spare(Func *func);
/* Registers that a thread has to spare beside one warp more, or one team more; negative: it has not
 * what it needs. */
int64_t specialise_spare_registers(Func *func);
/* What the end of a tile loads is loaded before its products where a thread has the registers. */
void specialise_load_early(Specialise *s, const Ring *ring);
/* Behind all else, two teams take the tiles in turn where that is possible. A remark at the loop
 * over K says that they do, or why not. */
void specialise_teams(Specialise *s);
#endif
