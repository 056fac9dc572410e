/* The part of rotate-dots that lets warpgroups drift apart. Private to src/passes. */
#ifndef TILEC_PASSES_SCHEDULE_ROTATE_RELEASE_H
#define TILEC_PASSES_SCHEDULE_ROTATE_RELEASE_H
#include "ir/ir.h"

/* A rotated loop: what its products read lies in rings that tensor copies fill. */
typedef struct Drift {
    Op *loop;
    Value *full;          /* mbarriers of the rings */
    Value *later;         /* those of the second product's, if it has its own; NULL: it has not */
    Value *slot, *parity; /* arguments of the body */
    Op *waited;           /* wgmma_wait, from which on the iteration before is done */
    Op *behind;           /* that of the last iteration, behind the loop; NULL: none */
    Op *begun;            /* wgmma before the loop, of its first iteration */
    Op *next;             /* wgmma of the next iteration, which begins where an i1 is on */
    Op *done;             /* wgmma_wait for that */
    Op *last;             /* the one behind it */
} Drift;

/* Gives slots back by mbarriers. False: nothing was changed, since the program has one warpgroup,
 * or others read the rings or fill them. */
bool rotate_release(const Drift *drift);

/* Lets two warpgroups take turns with starting the products, once they drift apart. False: nothing
 * was changed, since there are not two or they share rows. */
bool rotate_turns(const Drift *drift);
#endif
