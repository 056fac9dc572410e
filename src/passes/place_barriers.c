/* place-barriers: barriers between accesses to shared memory that conflict, and only there.
 *
 *     local_store %a, %s                   local_store %a, %s
 *     %b = local_load %s           ->      barrier
 *                                          %b = local_load %s
 *
 * Two accesses conflict if their bytes overlap, at least one writes, and no barrier is between
 * them. Those of one buffer in one layout that holds nothing twice do not: each thread meets only
 * what it wrote itself. Accesses that no barrier has ordered yet are pending; they flow forward
 * through the structured control flow and around loops to a fixed point. A barrier goes right
 * before an access that conflicts with a pending one. What is pending when a loop is entered and
 * conflicts with an access in it is ordered by a barrier before the loop, not by one in every
 * iteration. Last, each barrier without which nothing conflicts is taken away again.
 *
 * An asynchronous copy writes when it starts, for those who read before it, and once more where it
 * is waited for, for those who read after it. Copies of a ring at a known distance are apart.
 *
 * Needs offsets (allocate-shared); buffers without one are taken as apart from all others. */
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/vec.h"

typedef struct Pending {
    const Op *alloc;
    int64_t first, end; /* bytes */
    bool writes;
    const Layout *own; /* where each thread has elements of its own, these; else NULL */
    /* One copy of a ring, index + ahead; NULL: any. Of two with one index their distance is known
     * as long as it has one value: within an iteration. */
    const Value *index;
    int64_t ahead;
} Pending;

typedef VEC(Pending) PendingSet;

typedef struct Placement {
    Arena *arena;
    VEC(Op *) placed;
    VEC(const Op *) copied; /* local_allocs with asynchronous copies */
    /* While a barrier is being judged: nothing is placed, and this one orders nothing. */
    const Op *judged;
    bool conflict;
} Placement;

static bool overlap(const Pending *a, const Pending *b) {
    if (a->alloc == b->alloc && a->own && a->own == b->own)
        return false;
    if (a->alloc == b->alloc && a->index && a->index == b->index && a->ahead != b->ahead)
        return false;
    if (a->first < 0 || b->first < 0)
        return a->alloc == b->alloc;
    return a->first < b->end && b->first < a->end;
}

static bool conflicts(const PendingSet *set, const Pending *access) {
    for (size_t i = 0; i < set->len; i++)
        if ((set->data[i].writes || access->writes) && overlap(&set->data[i], access))
            return true;
    return false;
}

/* True if it was not there. */
static bool add(Placement *placement, PendingSet *set, Pending access) {
    for (size_t i = 0; i < set->len; i++)
        if (set->data[i].alloc == access.alloc && set->data[i].writes == access.writes &&
            set->data[i].own == access.own && set->data[i].index == access.index &&
            set->data[i].ahead == access.ahead)
            return false;
    vec_push(placement->arena, set, access);
    return true;
}

static bool add_all(Placement *placement, PendingSet *set, const PendingSet *more) {
    bool grew = false;
    for (size_t i = 0; i < more->len; i++)
        grew |= add(placement, set, more->data[i]);
    return grew;
}

static PendingSet copy_of(Placement *placement, const PendingSet *set) {
    PendingSet copy = {0};
    add_all(placement, &copy, set);
    return copy;
}

/* The layout of the tile that goes to or from the buffer, if no two threads hold the same of it. */
static const Layout *own_elements(const Op *op) {
    const Type *type = op->code == OP_local_store  ? op_in(op, 0)->type
                       : op->code == OP_local_load ? op_out(op)->type
                                                   : NULL;
    if (!type || !type->layout)
        return NULL;
    uint32_t repeated = layout_free_bits(type->layout) >> type->layout->bits[LAYOUT_REG];
    return repeated ? NULL : type->layout;
}

static Pending whole_buffer(const Op *alloc, bool writes) {
    const Value *buffer = &alloc->out[0];
    int64_t offset = alloc->attrs[0].i;
    int64_t bytes =
        type_numel(buffer->type) * type_element_bytes(buffer->type) * local_copies(buffer);
    return (Pending){.alloc = alloc, .first = offset, .end = offset + bytes, .writes = writes};
}

/* The buffer that operand `i` of an op is and the op touches; false if none. */
static bool access_of(const Op *op, uint32_t i, Pending *access) {
    if (!op_has(op, LREADS | LWRITES) || op_has(op, SYNC))
        return false;
    const Value *buffer = op_in(op, i);
    if (buffer->type->kind != TYPE_BUFFER)
        return false;
    *access = whole_buffer(local_alloc_of(buffer), op_has(op, LWRITES));
    access->own = own_elements(op);
    if (buffer->def->code == OP_local_view) {
        access->index = op_in(buffer->def, 1);
        access->ahead = buffer->def->attrs[0].i;
    }
    return true;
}

/* Accesses that may run before any barrier when the block is entered; true if one may leave it so.
 */
static bool exposed(Placement *placement, Block *block, PendingSet *set) {
    block_for_each (op, block) {
        Pending access;
        if (op_has(op, SYNC) && op != placement->judged)
            return false;
        for (uint32_t i = 0; i < op->nin; i++)
            if (access_of(op, i, &access))
                add(placement, set, access);
        if (op->code == OP_if) {
            bool first = exposed(placement, op->regions[0], set);
            bool second = exposed(placement, op->regions[1], set);
            if (!first && !second)
                return false;
        } else if (op->code == OP_while) {
            /* The first region always runs. */
            if (!exposed(placement, op->regions[0], set))
                return false;
            exposed(placement, op->regions[1], set);
        } else if (op->code == OP_for) {
            exposed(placement, op->regions[0], set);
        }
    }
    return true;
}

static void barrier_before(Placement *placement, Op *op, PendingSet *pending) {
    if (placement->judged) {
        placement->conflict = true;
        return;
    }
    Builder builder = builder_before(op);
    vec_push(placement->arena, &placement->placed, build_barrier(&builder));
    pending->len = 0;
}

static void place_in_block(Placement *placement, Block *block, PendingSet *pending);

/* What a copy number defined in the loop meant is over with the iteration. */
static void forget_indices(PendingSet *set, const Op *loop) {
    for (size_t i = 0; i < set->len; i++)
        if (set->data[i].index && !value_is_outside(set->data[i].index, loop))
            set->data[i].index = NULL;
}

/* One way around the loop: what is pending where it starts again, and where it is left. */
typedef struct Round {
    PendingSet again, exit;
} Round;

static Round go_around(Placement *placement, Op *loop, const PendingSet *entry) {
    Round round = {.again = copy_of(placement, entry)};
    place_in_block(placement, loop->regions[0], &round.again);
    round.exit = copy_of(placement, &round.again);
    if (loop->code == OP_while)
        place_in_block(placement, loop->regions[1], &round.again);
    forget_indices(&round.again, loop);
    forget_indices(&round.exit, loop);
    return round;
}

/* First what one iteration leaves to the next, then what stands before the loop. */
static void place_in_loop(Placement *placement, Op *loop, PendingSet *pending) {
    PendingSet carried = {0};
    Round round;
    do
        round = go_around(placement, loop, &carried);
    while (add_all(placement, &carried, &round.again));
    PendingSet met = {0};
    bool passes = exposed(placement, loop->regions[0], &met);
    if (loop->code == OP_while && passes)
        exposed(placement, loop->regions[1], &met);
    for (size_t i = 0; i < met.len; i++)
        if (conflicts(pending, &met.data[i])) {
            barrier_before(placement, loop, pending);
            break;
        }
    /* What did not conflict stays pending on the paths that meet no barrier. */
    PendingSet entry = copy_of(placement, pending);
    add_all(placement, &entry, &carried);
    round = go_around(placement, loop, &entry);
    if (loop->code == OP_while)
        pending->len = 0; /* the condition has run at least once */
    add_all(placement, pending, &round.exit);
}

/* All buffers of one op are behind the barrier, if it needs one. */
static void place_at(Placement *placement, Op *op, PendingSet *pending) {
    Pending access;
    for (uint32_t i = 0; i < op->nin; i++)
        if (access_of(op, i, &access) && conflicts(pending, &access)) {
            barrier_before(placement, op, pending);
            break;
        }
    for (uint32_t i = 0; i < op->nin; i++)
        if (access_of(op, i, &access))
            add(placement, pending, access);
}

static void place_in_block(Placement *placement, Block *block, PendingSet *pending) {
    block_for_each (op, block) {
        if (op_has(op, SYNC)) {
            pending->len = op == placement->judged ? pending->len : 0;
        } else if (op->code == OP_async_wait) {
            /* What landed is now for others to see. */
            vec_for_each (ring, &placement->copied)
                add(placement, pending, whole_buffer(*ring, true));
        } else if (op->code == OP_if) {
            PendingSet other = copy_of(placement, pending);
            place_in_block(placement, op->regions[0], pending);
            place_in_block(placement, op->regions[1], &other);
            add_all(placement, pending, &other);
        } else if (op->code == OP_for || op->code == OP_while) {
            place_in_loop(placement, op, pending);
        } else {
            place_at(placement, op, pending);
        }
    }
}

/* One placed for what comes around a loop may make one that was placed before it superfluous. */
static void remove_superfluous(Placement *placement, Func *func) {
    vec_for_each (barrier, &placement->placed) {
        PendingSet pending = {0};
        placement->judged = *barrier;
        placement->conflict = false;
        place_in_block(placement, func->body, &pending);
        if (!placement->conflict)
            op_remove(*barrier);
    }
}

static bool note_copied(Op *op, void *user) {
    Placement *placement = user;
    if (op->code != OP_async_copy)
        return true;
    const Op *alloc = local_alloc_of(op_in(op, 1));
    vec_for_each (known, &placement->copied)
        if (*known == alloc)
            return true;
    vec_push(placement->arena, &placement->copied, alloc);
    return true;
}

bool pass_place_barriers(Func *func) {
    Ctx *ctx = func_ctx(func);
    ArenaMark mark = arena_mark(&ctx->scratch);
    Placement placement = {.arena = &ctx->scratch};
    PendingSet pending = {0};
    func_walk(func, note_copied, &placement);
    place_in_block(&placement, func->body, &pending);
    remove_superfluous(&placement, func);
    bool changed = placement.placed.len > 0;
    arena_rewind(&ctx->scratch, mark);
    return changed;
}
