/* fence-copies: what other programs have made known comes before tensor copies behind it.
 *
 *     while { %f = atomic_cas %flag .. {sem = acquire} .. }      while { .. }
 *     for .. {                                                   fence_copies
 *         copy_block %p, ..                               =>     for .. {
 *     }                                                              copy_block %p, ..
 *                                                                }
 *
 * Others write through the generic proxy, and what a program acquires is ordered before its own
 * accesses through that one. Tensor copies reach global memory through the asynchronous proxy: for
 * them a fence between both must lie on the way, behind the acquire and in the CTA of the copy
 * (docs/tma.md). That goes for what they bring and for what they overwrite.
 *
 * The fence stands as late as it may: in front of the copy, or of the outermost loop around it that
 * acquires nothing. There the thread that starts the copy knows what any other of its program has
 * acquired, where it has to know it; a loop that waits is left first; and of several copies behind
 * one acquire the first one's fence does for all. What is acquired flows forward through the
 * structured control flow, and around loops.
 *
 * The producer's warp starts copies whatever the others learn; a function in which that would
 * matter has none (specialise-warps).
 *
 * Stands behind all passes that make or move tensor copies. */
#include "passes/shared/fence_copies.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/ptrmap.h"

typedef struct Fencing {
    bool places; /* false: it is only found out whether fences are missing */
    bool missing;
    PtrMap *tried; /* of loops, what was found out: bits of Tried */
} Fencing;

/* From bit 0 where nothing acquired is without a fence in front of the loop, else from bit 3: that
 * it is known, whether so it is behind the loop, whether a fence is missing in it. Around each of
 * nested loops is gone twice, once to find out: what is not kept doubles with each. */
typedef enum Tried { TRIED = 1, TRIED_ACQUIRED = 2, TRIED_MISSING = 4 } Tried;

static bool acquires(const Op *op, const void *user) {
    (void)user;
    return op_acquires(op);
}

static bool starts_copies(const Op *op) {
    return op_contains(op, TENSOR_COPY);
}

static void fence_before(Fencing *f, Op *op) {
    f->missing = true;
    if (!f->places)
        return;
    Builder b = builder_before(op);
    b.span = op->span;
    build_fence_copies(&b);
}

static bool fence_block(Fencing *f, Block *block, bool acquired);

/* One way around: whether something acquired is without a fence at the end of a region. */
static bool go_around(Fencing *f, Op *loop, bool acquired) {
    for (uint32_t i = 0; i < loop->nregions; i++)
        acquired = fence_block(f, loop->regions[i], acquired);
    return acquired;
}

/* A loop that acquires begins each time with what the time before has left. */
static bool fence_ways(Fencing *f, Op *loop, bool acquired) {
    bool acquires_again = op_any(loop, acquires, NULL);
    if (!starts_copies(loop))
        return acquired || acquires_again;
    Fencing trial = {.tried = f->tried};
    bool again = acquired | go_around(&trial, loop, acquired);
    if (acquires_again)
        return go_around(f, loop, again) || again || loop->code == OP_while;
    if (!trial.missing)
        return acquired;
    fence_before(f, loop);
    return false;
}

static bool fence_loop(Fencing *f, Op *loop, bool acquired) {
    if (f->places)
        return fence_ways(f, loop, acquired);
    const unsigned at = acquired ? 3 : 0;
    uintptr_t kept = (uintptr_t)ptrmap_get(f->tried, loop);
    if (!(kept >> at & TRIED)) {
        Fencing alone = {.tried = f->tried};
        unsigned found = TRIED;
        if (fence_ways(&alone, loop, acquired))
            found |= TRIED_ACQUIRED;
        if (alone.missing)
            found |= TRIED_MISSING;
        kept |= (uintptr_t)found << at;
        ptrmap_set(f->tried, loop, (void *)kept);
    }
    f->missing |= (kept >> at & TRIED_MISSING) != 0;
    return kept >> at & TRIED_ACQUIRED;
}

/* Whether at the end something acquired is without a fence; `acquired`: so it is at the beginning.
 */
static bool fence_block(Fencing *f, Block *block, bool acquired) {
    block_for_each (op, block) {
        if (op->code == OP_fence_copies) {
            acquired = false;
        } else if (op->code == OP_producer) {
            continue;
        } else if (op_has(op, LOOP)) {
            acquired = fence_loop(f, op, acquired);
        } else if (op->code == OP_if) {
            bool first = fence_block(f, op->regions[0], acquired);
            bool second = fence_block(f, op->regions[1], acquired);
            acquired = first || second;
        } else if (op_has(op, TENSOR_COPY) && acquired) {
            fence_before(f, op);
            acquired = false;
        }
        acquired |= op_acquires(op);
    }
    return acquired;
}

static bool fence_function(Func *func, bool places) {
    PtrMap tried = {.arena = &func_ctx(func)->scratch};
    Fencing f = {.places = places, .tried = &tried};
    fence_block(&f, func->body, false);
    return f.missing;
}

bool copies_are_fenced(Func *func) {
    return !fence_function(func, false);
}

bool pass_fence_copies(Func *func) {
    return fence_function(func, true);
}
