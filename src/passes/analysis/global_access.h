/* Accesses of a program's threads to global memory, and which of them a barrier has to order.
 *
 * A program sees its own accesses in the order of the source (docs/language.md). Its threads are
 * not in step, so a barrier has to stand between two that may touch one byte from different
 * threads, one of which writes. Used by place-barriers. Private to src/passes. */
#ifndef TILEC_PASSES_ANALYSIS_GLOBAL_ACCESS_H
#define TILEC_PASSES_ANALYSIS_GLOBAL_ACCESS_H
#include "passes/analysis/affine.h"
#include "support/ptrmap.h"

typedef struct GlobalAccess {
    const Op *op;
    Value *pointer;      /* a scalar or a tile; of a block the address of its first element */
    const Value *origin; /* the argument it counts from; NULL: not known to be one */
    bool writes;
    bool by_all;   /* each element by all threads that hold it; otherwise by the first of them,
                      as stores, atomics, loads that say so (own-loads) and volatile ones
                      that several warps want (ir/scratch.h) */
    bool anywhere; /* a copy, of threads unknown: anywhere in what the origin points to */
} GlobalAccess;

/* Those of a function whose tiles have layouts. Begins with the function and an arena for the map;
 * holds as long as no value of the function changes. */
typedef struct GlobalAccesses {
    Func *func;
    PtrMap known;     /* Op to GlobalAccess */
    Affines *affines; /* NULL: not needed so far */
    Arena *pairs;     /* of one comparison; NULL likewise */
} GlobalAccesses;

/* What the op accesses through operand `i`; NULL: nothing, or what is in order anyway: blocks that
 * tensor copies bring, since nothing in the function writes there (tensor_maps.h). */
const GlobalAccess *global_access(GlobalAccesses *accesses, const Op *op, uint32_t i);

/* May both touch one byte, from different threads, one of them writing? `past`: the loop of which
 * `earlier` belongs to an iteration that is over, if its address is computed there; NULL: there is
 * none, and what both addresses are computed from is the same. */
bool global_accesses_meet(GlobalAccesses *accesses, const GlobalAccess *earlier, const Op *past,
                          const GlobalAccess *later);

/* What `past` of an access is once an iteration of `loop` is over. */
const Op *global_access_past(const GlobalAccess *access, const Op *past, const Op *loop);
#endif
