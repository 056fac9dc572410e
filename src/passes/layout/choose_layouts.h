/* What the files of choose-layouts share: the accesses of a function and the layouts decided so
 * far. Private to src/passes. */
#ifndef TILEC_PASSES_LAYOUT_CHOOSE_LAYOUTS_H
#define TILEC_PASSES_LAYOUT_CHOOSE_LAYOUTS_H
#include "passes/analysis/facts.h"
#include "passes/layout/layout_rules.h"
#include "support/ptrmap.h"

enum { FOLLOWED_OPS = 64 }; /* from an access, or to it */

/* A load, store or atomic of a tile. */
typedef struct Access {
    Op *op;
    const Type *type;        /* of the pointers */
    int fastest;             /* dimension along which addresses are consecutive */
    int width;               /* elements along it that one access may take */
    bool scattered;          /* addresses are consecutive along no dimension */
    bool along_kept;         /* fastest is what a reduction keeps */
    const Layout *coalesced; /* best for the access alone */
} Access;

/* How a tile value gets its layout. */
typedef enum Origin {
    ORIGIN_NONE,       /* not a tile */
    ORIGIN_RECOMPUTED, /* made again in every layout that is asked for */
    ORIGIN_HOME        /* computed in one layout, converted where another is asked for */
} Origin;

typedef struct Choice {
    Ctx *ctx;
    Func *func;
    Arena *arena;
    int num_warps;
    const Facts *facts;
    Access *accesses;
    uint32_t naccesses;
    PtrMap access_of;    /* op to Access */
    VEC(Op *) combining; /* reductions, scans and products */
    /* By value id: */
    Value **values;
    uint32_t nvalues;
    Origin *origin;
    uint8_t *remade; /* of values made again: ops between it and values at home; 0: it has no data
                        of those */
    bool *enters; /* computed in a loop from what is made in front of it, and what is recomputed */
    const Layout **home;   /* NULL: undecided */
    const Layout **asked;  /* of values that enter: what a user of its loop asks for */
    const Layout **demand; /* what a user asks for, the last in the program; NULL: nothing */
    bool some_enter;       /* some value does */
    bool holds_entering;   /* values that enter wait until the others are decided */
    bool waits;   /* ops in loops for operands that the loop makes; while loads are decided */
    int64_t room; /* registers of a thread that tiles leave free */
} Choice;

/* Finds the accesses and their coalesced layouts. */
void choose_accesses(Choice *choice);
/* What accesses to tiles of this shape would like for themselves; NULL: there are none. */
const Layout *choose_coalesced(const Choice *choice, const Type *type);
/* The load would rather be made in `demand`, where its users are, than in its coalesced layout with
 * a conversion. */
bool choose_prefers(const Choice *choice, const Access *access, const Layout *demand);
/* The layout in which a store or atomic costs least whose value is in `home`, the conversion
 * counted: home, a layout that each warp has by shuffling what it holds, or the coalesced one,
 * through shared memory. */
const Layout *choose_to_write(const Choice *choice, const Access *access, const Layout *home);
/* What threads hold, in `layout`, of what is repeated to tiles of this shape, and load or compute
 * for it, in instructions; a thread has `vector` neighbours. */
int64_t choose_repeated_cost(const Choice *choice, const Type *type, int64_t vector,
                             const Layout *layout);
/* Elements per instruction in this layout. */
int choose_width(const Access *access, const Layout *layout);

/* Decides origin and home of every tile value. */
void choose_tile_layouts(Choice *choice);
/* The layout a store, atomic, reduce or scan wants its operands in; NULL while that is undecided.
 */
const Layout *choose_working_layout(const Choice *choice, const Op *op);

/* Retypes values, recomputes and converts operands. */
void choose_materialise(Choice *choice);

static inline Access *choose_access(const Choice *choice, const Op *op) {
    return op_is_pointer_access(op) ? ptrmap_get(&choice->access_of, op) : NULL;
}
#endif
