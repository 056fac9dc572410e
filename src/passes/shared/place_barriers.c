/* place-barriers: barriers between accesses to memory that conflict, and only there.
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
 * Accesses to global memory go the same way; whether two of them conflict is told by
 * global_access.h. Where the lowering of an atomic has threads meet, they have nothing left
 * pending.
 *
 * An asynchronous copy writes when it starts, for those who read before it, and once more where it
 * is waited for, for those who read after it. Copies of a ring at a known distance are apart. In
 * the same way a product in flight reads when it starts, and once more where it is waited for:
 * until then a barrier does not tell others that it has.
 *
 * A tensor copy to a buffer leaves nothing to order: whoever waits for its mbarrier sees what it
 * brought, and nothing touches the buffer before. It must come after what others did there: behind
 * a wait for arrivals at the slot that it fills (mbarrier_arrive) it comes after the products that
 * read the slot. One from a buffer reads until a store_wait, after which a barrier shows others
 * that it has. Threads on one side, wgmma and tensor copies on the other, reach shared memory
 * through two proxies: a barrier behind what threads did, and before what the others do with the
 * same bytes, has `proxy` set. Of several such barriers in a row the last one does for all: its
 * fence holds for everything that a thread did, and costs a thread tens of clocks.
 *
 * Needs offsets (allocate-shared); buffers without one are taken as apart from all others. */
#include "passes/shared/place_barriers.h"
#include "ir/scratch.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/shared/pending.h"
#include "support/ptrmap.h"
#include "support/vec.h"

/* What wgmma or a tensor copy accesses. */
typedef struct Proxied {
    Pending access;
    const Op *op;
} Proxied;

typedef VEC(const Op *) OpList;

/* Numbers of what one op accesses. */
typedef struct Accesses {
    uint32_t count;
    uint32_t numbers[];
} Accesses;

/* A loop as what stands around it sees it. */
typedef struct Summary {
    PendingSet carried; /* what iterations leave to each other, whatever stands before the loop */
    PendingSet exit;    /* what they leave pending behind it */
    PendingSet met;     /* what may run in it before any barrier */
    bool passes;        /* what is pending before the loop may be so behind it */
    bool settled;       /* this is so with the barriers that are in the loop now */
} Summary;

typedef struct Placement {
    Arena *arena;
    VEC(Op *) placed;
    OpList copied;  /* local_allocs with asynchronous copies */
    OpList stored;  /* ... that tensor copies read */
    OpList flown;   /* ... that products in flight read */
    OpList fetched; /* asynchronous copies */
    GlobalAccesses global;
    PendingTable pending;
    PtrMap accesses;    /* by op: Accesses */
    const Op *programs; /* the loop over them, which are not ordered; NULL: there is none */
    VEC(Proxied) proxied;
    PtrMap summaries; /* by loop: Summary, so that inner loops are not gone around anew */
    /* While a barrier is being judged: nothing is placed, and this one orders nothing. */
    const Op *judged;
    bool conflict;
    bool marking; /* all are placed: `proxy` of those that need it is being set */
    VEC(Op *) marked;
    PtrMap order; /* of barriers and of what `proxied` names: their place in the text, from 1 */
    uintptr_t numbered;
} Placement;

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
    int64_t offset = local_alloc_attrs(alloc)->offset;
    return (Pending){.alloc = alloc,
                     .first = offset,
                     .end = offset + local_extent(buffer),
                     .bytes = local_bytes(buffer),
                     .stride = local_stride(buffer),
                     .writes = writes};
}

static Actor actor_of(const Op *op) {
    if (op_is_wgmma(op))
        return BY_WGMMA;
    return op_has(op, TENSOR_COPY) ? BY_COPIES : BY_THREADS;
}

/* Is the access over, as far as barriers go, as soon as it begins? */
static bool leaves_nothing(const Op *op) {
    return actor_of(op) == BY_COPIES;
}

/* Does the copy stand behind a wait for arrivals at the slot that it fills? */
static bool is_released(const Op *copy, const Op *view) {
    if (copy->code != OP_copy_block)
        return false;
    for (const Op *op = copy->prev; op; op = op->prev) {
        if (op->code != OP_mbarrier_wait || !mbarrier_arrivals(op_in(op, 0)))
            continue;
        const Op *slot = value_def(op_in(op, 0), OP_local_view);
        bool same = slot && op_in(slot, 1) == op_in(view, 1) &&
                    local_view_attrs(slot)->ahead == local_view_attrs(view)->ahead;
        if (same && (op->nin < 3 || op_in(op, 2) == op_in(copy, 3)))
            return true;
    }
    return false;
}

/* What the op touches through operand `i`, a buffer or global memory; false if nothing. */
static bool access_of(Placement *placement, const Op *op, uint32_t i, Pending *access) {
    *access = (Pending){.global = global_access(&placement->global, op, i)};
    if (access->global)
        return true;
    if (!op_has(op, LREADS | LWRITES) || op_has(op, SYNC))
        return false;
    const Value *buffer = op_in(op, i);
    if (buffer->type->kind != TYPE_BUFFER || local_alloc_of(buffer)->code == OP_mbarrier_alloc)
        return false;
    *access = whole_buffer(local_alloc_of(buffer), op_has(op, LWRITES));
    access->actor = actor_of(op);
    access->own = own_elements(op);
    access->part = access->own ? op_at(op) : 0;
    if (buffer->def->code == OP_local_view) {
        access->index = op_in(buffer->def, 1);
        access->ahead = local_view_attrs(buffer->def)->ahead;
        access->released = is_released(op, buffer->def);
    }
    return true;
}

static const Accesses *accesses_of(Placement *placement, const Op *op) {
    static const Accesses none;
    if (!op_has(op, READS | WRITES | LREADS | LWRITES))
        return &none;
    Accesses *known = ptrmap_get(&placement->accesses, op);
    if (known)
        return known;
    known = arena_alloc(placement->arena, sizeof *known + op->nin * sizeof *known->numbers);
    known->count = 0;
    Pending access;
    for (uint32_t i = 0; i < op->nin; i++)
        if (access_of(placement, op, i, &access))
            known->numbers[known->count++] = pending_number(&placement->pending, &access);
    ptrmap_set(&placement->accesses, op, known);
    return known;
}

static void add_accesses(Placement *placement, PendingSet *set, const Op *op) {
    const Accesses *accesses = accesses_of(placement, op);
    for (uint32_t i = 0; i < accesses->count; i++)
        pending_add(&placement->pending, set, accesses->numbers[i]);
}

static void add(Placement *placement, PendingSet *set, Pending access) {
    pending_add(&placement->pending, set, pending_number(&placement->pending, &access));
}

static const Summary *summary_of(Placement *placement, Op *loop);

/* Accesses that may run before any barrier when the block is entered; true if one may leave it so.
 */
static bool exposed(Placement *placement, Block *block, PendingSet *set) {
    block_for_each (op, block) {
        if (op_has(op, SYNC) && op != placement->judged)
            return false;
        add_accesses(placement, set, op);
        if (op->code == OP_if) {
            bool first = exposed(placement, op->regions[0], set);
            bool second = exposed(placement, op->regions[1], set);
            if (!first && !second)
                return false;
        } else if (op_has(op, LOOP)) {
            const Summary *summary = summary_of(placement, op);
            pending_add_all(&placement->pending, set, &summary->met);
            if (!summary->passes)
                return false;
        }
    }
    return true;
}

/* The loops around the op have a barrier more or less. */
static void unsettle_around(Placement *placement, const Op *op) {
    for (const Op *loop = op->block->parent; loop; loop = loop->block->parent) {
        Summary *summary = ptrmap_get(&placement->summaries, loop);
        if (summary)
            summary->settled = false;
    }
}

static void barrier_before(Placement *placement, Op *op, PendingSet *pending) {
    if (placement->judged) {
        placement->conflict = true;
        return;
    }
    if (placement->marking)
        return;
    Builder builder = builder_before(op);
    vec_push(placement->arena, &placement->placed, build_barrier(&builder, false, false));
    unsettle_around(placement, op);
    pending_clear(pending);
}

static void place_in_block(Placement *placement, Block *block, PendingSet *pending);

/* What a copy number defined in the loop meant is over with the iteration. */
static void forget_indices(Placement *placement, PendingSet *set, const Op *loop) {
    PendingSet before = pending_copy(&placement->pending, set);
    pending_clear(set);
    pending_for_each (number, &before) {
        Pending pending = placement->pending.all.data[number];
        if (pending.index && !value_is_outside(pending.index, loop))
            pending.index = NULL;
        if (pending.global)
            pending.past = global_access_past(pending.global, pending.past, loop);
        add(placement, set, pending);
    }
    pending_release(&placement->pending, &before);
}

/* Other threads have seen what was done to global memory. */
static void forget_global(Placement *placement, PendingSet *set) {
    PendingSet before = pending_copy(&placement->pending, set);
    pending_clear(set);
    pending_for_each (number, &before)
        if (!placement->pending.all.data[number].global)
            pending_add(&placement->pending, set, (uint32_t)number);
    pending_release(&placement->pending, &before);
}

/* One way around the loop: what is pending where it starts again, and where it is left. */
typedef struct Round {
    PendingSet again, exit;
} Round;

static Round go_around(Placement *placement, Op *loop, const PendingSet *entry) {
    Round round = {.again = pending_copy(&placement->pending, entry)};
    place_in_block(placement, loop->regions[0], &round.again);
    round.exit = pending_copy(&placement->pending, &round.again);
    if (loop->code == OP_while)
        place_in_block(placement, loop->regions[1], &round.again);
    forget_indices(placement, &round.again, loop);
    forget_indices(placement, &round.exit, loop);
    if (loop == placement->programs)
        forget_global(placement, &round.again);
    return round;
}

static void go_around_until_settled(Placement *placement, Op *loop, Summary *summary) {
    Round round;
    do {
        summary->settled = true; /* until a barrier is placed in the loop */
        pending_clear(&summary->carried);
        bool grew;
        do {
            round = go_around(placement, loop, &summary->carried);
            grew = pending_add_all(&placement->pending, &summary->carried, &round.again);
            pending_release(&placement->pending, &round.again);
            pending_release(&placement->pending, &summary->exit);
            summary->exit = round.exit;
        } while (grew);
    } while (!summary->settled);
}

/* Places what accesses of the loop need among themselves, if that has not been done. */
static const Summary *summary_of(Placement *placement, Op *loop) {
    Summary *summary = ptrmap_get(&placement->summaries, loop);
    if (!summary) {
        summary = ARENA_NEW(placement->arena, Summary);
        ptrmap_set(&placement->summaries, loop, summary);
    }
    if (summary->settled)
        return summary;
    go_around_until_settled(placement, loop, summary);
    if (placement->conflict) { /* found half-way around */
        summary->settled = false;
        return summary;
    }
    pending_clear(&summary->met);
    bool first_passes = exposed(placement, loop->regions[0], &summary->met);
    if (loop->code == OP_while && first_passes)
        exposed(placement, loop->regions[1], &summary->met);
    /* The first region of a while always runs. */
    summary->passes = loop->code == OP_for || first_passes;
    return summary;
}

/* First what one iteration leaves to the next, then what stands before the loop. */
static void place_in_loop(Placement *placement, Op *loop, PendingSet *pending) {
    const Summary *summary = summary_of(placement, loop);
    pending_for_each (number, &summary->met)
        if (pending_conflicts(&placement->pending, pending, (uint32_t)number)) {
            barrier_before(placement, loop, pending);
            break;
        }
    if (placement->marking) {
        PendingSet entry = pending_copy(&placement->pending, pending);
        pending_add_all(&placement->pending, &entry, &summary->carried);
        Round round = go_around(placement, loop, &entry);
        pending_release(&placement->pending, &round.again);
        pending_release(&placement->pending, &round.exit);
        pending_release(&placement->pending, &entry);
    }
    /* What did not conflict stays pending on the paths that meet no barrier. */
    if (!summary->passes)
        pending_clear(pending);
    pending_add_all(&placement->pending, pending, &summary->exit);
}

/* All that one op touches is behind the barrier, if it needs one. Where the lowering of an atomic
 * has threads meet, global memory needs no other barrier. */
static void place_at(Placement *placement, Op *op, PendingSet *pending) {
    if (atomic_meets_before(op))
        forget_global(placement, pending);
    const Accesses *accesses = accesses_of(placement, op);
    for (uint32_t i = 0; i < accesses->count; i++)
        if (pending_conflicts(&placement->pending, pending, accesses->numbers[i])) {
            barrier_before(placement, op, pending);
            break;
        }
    if (!leaves_nothing(op))
        add_accesses(placement, pending, op);
    if (atomic_meets_after(op) || op_scratch_bytes(op, placement->global.func->num_warps))
        forget_global(placement, pending);
}

static uintptr_t order_of(const Placement *placement, const Op *op) {
    return (uintptr_t)ptrmap_get(&placement->order, op);
}

static bool stands_in(const Op *op, const Op *around) {
    while (op && op != around)
        op = op->block->parent;
    return op;
}

/* May `op` run behind the barrier? What the producer's warp runs has no order with barriers. */
static bool may_come_behind(const Placement *placement, const Op *op, const Op *barrier) {
    if (order_of(placement, op) > order_of(placement, barrier))
        return true;
    for (const Op *loop = op_loop_around(barrier); loop; loop = op_loop_around(loop))
        if (stands_in(op, loop))
            return true;
    const Op *outermost = op;
    while (outermost->block->parent)
        outermost = outermost->block->parent;
    return outermost->code == OP_producer;
}

/* Does another proxy access what threads did, behind this barrier? */
static bool crosses_proxies(const Placement *placement, const Op *barrier,
                            const PendingSet *pending) {
    pending_for_each (number, pending)
        for (size_t k = 0; k < placement->proxied.len; k++) {
            const Pending *done = &placement->pending.all.data[number],
                          *other = &placement->proxied.data[k].access;
            bool same = done->alloc == other->alloc ||
                        (done->first >= 0 && done->first < other->end && other->first < done->end);
            if (!done->global && done->actor == BY_THREADS && same &&
                (done->writes || other->writes) &&
                may_come_behind(placement, placement->proxied.data[k].op, barrier))
                return true;
        }
    return false;
}

static void meet(Placement *placement, Op *op, PendingSet *pending) {
    if (op == placement->judged)
        return;
    if (placement->marking && !barrier_attrs(op)->proxy &&
        crosses_proxies(placement, op, pending)) {
        barrier_attrs(op)->proxy = true;
        vec_push(placement->arena, &placement->marked, op);
    }
    pending_clear(pending);
}

/* From `first` to the end of its block, or to `end`; while a barrier is judged, to a conflict. */
static void place_from(Placement *placement, Op *first, const Op *end, PendingSet *pending) {
    for (Op *op = first; op != end && !placement->conflict; op = op->next) {
        if (op_has(op, SYNC)) {
            meet(placement, op, pending);
        } else if (op->code == OP_store_wait) {
            vec_for_each (buffer, &placement->stored) {
                Pending read = whole_buffer(*buffer, false);
                read.actor = BY_COPIES;
                add(placement, pending, read);
            }
        } else if (op->code == OP_wgmma_wait) {
            vec_for_each (buffer, &placement->flown) {
                Pending read = whole_buffer(*buffer, false);
                read.actor = BY_WGMMA;
                add(placement, pending, read);
            }
        } else if (op->code == OP_async_wait) {
            /* What landed is now for others to see, and what was read may be written. */
            vec_for_each (ring, &placement->copied)
                add(placement, pending, whole_buffer(*ring, true));
            vec_for_each (copy, &placement->fetched)
                add(placement, pending,
                    (Pending){.global = global_access(&placement->global, *copy, 0)});
        } else if (op->code == OP_if) {
            PendingSet other = pending_copy(&placement->pending, pending);
            place_in_block(placement, op->regions[0], pending);
            place_in_block(placement, op->regions[1], &other);
            pending_add_all(&placement->pending, pending, &other);
            pending_release(&placement->pending, &other);
        } else if (op_has(op, LOOP)) {
            place_in_loop(placement, op, pending);
        } else {
            place_at(placement, op, pending);
        }
    }
}

static void place_in_block(Placement *placement, Block *block, PendingSet *pending) {
    place_from(placement, block->first, NULL, pending);
}

static Op *sync_before(const Op *op) {
    Op *found = op->prev;
    while (found && !op_has(found, SYNC))
        found = found->prev;
    return found;
}

static Op *sync_behind(const Op *op) {
    Op *found = op->next;
    while (found && !op_has(found, SYNC))
        found = found->next;
    return found;
}

/* Would anything conflict without the barrier? Outside of loops each place is passed once, so that
 * no later barrier stands between the accesses for which one was placed. Of the blocks around it,
 * in the innermost that has barriers on both sides these order all else. */
static bool is_needed(Placement *placement, const Op *barrier) {
    const Op *at = barrier;
    if (!op_loop_around(barrier))
        return true;
    Op *first = sync_before(at), *end = sync_behind(at);
    while (at->block->parent && !(first && end)) {
        at = at->block->parent;
        first = sync_before(at);
        end = sync_behind(at);
    }
    PendingSet pending = {0};
    placement->judged = barrier;
    placement->conflict = false;
    unsettle_around(placement, barrier);
    place_from(placement, first ? first : at->block->first, end, &pending);
    unsettle_around(placement, barrier);
    pending_release(&placement->pending, &pending);
    bool needed = placement->conflict;
    placement->conflict = false;
    return needed;
}

/* One placed for what comes around a loop may make one that was placed before it superfluous. */
static void remove_superfluous(Placement *placement) {
    vec_for_each (barrier, &placement->placed)
        if (!is_needed(placement, *barrier))
            op_remove(*barrier);
}

static void add_once(Placement *placement, OpList *list, const Op *op) {
    vec_for_each (known, list)
        if (*known == op)
            return;
    vec_push(placement->arena, list, op);
}

static bool note_copied(Op *op, void *user) {
    Placement *placement = user;
    if (op->code == OP_async_copy) {
        add_once(placement, &placement->copied, local_alloc_of(op_in(op, 1)));
        add_once(placement, &placement->fetched, op);
    }
    if (op->code == OP_store_block_from)
        add_once(placement, &placement->stored, local_alloc_of(op_in(op, 1)));
    for (uint32_t i = 0; i < op->nin && actor_of(op) != BY_THREADS; i++) {
        Pending access;
        if (!access_of(placement, op, i, &access) || access.global)
            continue;
        vec_push(placement->arena, &placement->proxied, ((Proxied){access, op}));
        if (op_is_wgmma(op) && op_in_flight(op))
            add_once(placement, &placement->flown, access.alloc);
    }
    return true;
}

static bool number(Op *op, void *user) {
    Placement *placement = user;
    placement->numbered++;
    if (op->code == OP_barrier || actor_of(op) != BY_THREADS)
        ptrmap_set(&placement->order, op, (void *)placement->numbered); /* NOLINT */
    return true;
}

/* Is there something for another proxy to do between the barrier and the next one, which stands in
 * the same block and has a fence of its own? */
static bool is_last_before_proxies(const Placement *placement, const Op *barrier) {
    const Op *next = barrier->next;
    while (next && !(next->code == OP_barrier && barrier_attrs(next)->proxy))
        next = next->next;
    if (!next)
        return true;
    vec_for_each (other, &placement->proxied) {
        uintptr_t at = order_of(placement, other->op);
        if (at > order_of(placement, barrier) && at < order_of(placement, next))
            return true;
    }
    return false;
}

/* The producer's warp goes by mbarriers alone: beside it each barrier keeps its fence. */
static void keep_last_proxies(Placement *placement) {
    vec_for_each (other, &placement->proxied)
        for (const Op *op = other->op; op; op = op->block->parent)
            if (op->code == OP_producer)
                return;
    vec_for_each (barrier, &placement->marked)
        if (!is_last_before_proxies(placement, *barrier))
            barrier_attrs(*barrier)->proxy = false;
}

static void mark_proxies(Placement *placement, Func *func) {
    PendingSet pending = {0};
    if (!placement->proxied.len)
        return;
    placement->judged = NULL;
    placement->marking = true;
    func_walk(func, number, placement);
    place_in_block(placement, func->body, &pending);
    keep_last_proxies(placement);
}

static bool count_proxies(Op *op, void *user) {
    *(unsigned *)user += op->code == OP_barrier && barrier_attrs(op)->proxy;
    return true;
}

static Placement *placement_begin(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    Placement *placement = ARENA_NEW(arena, Placement);
    *placement = (Placement){.arena = arena,
                             .global = {.func = func, .known = {.arena = arena}},
                             .pending = {.arena = arena, .global = &placement->global},
                             .accesses = {.arena = arena},
                             .programs = loop_over_programs(func),
                             .summaries = {.arena = arena},
                             .order = {.arena = arena}};
    func_walk(func, note_copied, placement);
    return placement;
}

static bool is_of_threads(Op *op, void *user) {
    return op->code != OP_barrier || !barrier_attrs(op)->warpgroups;
}

bool barriers_are_placed(Func *func) {
    Ctx *ctx = func_ctx(func);
    if (!func_walk(func, is_of_threads, NULL))
        return true;
    ArenaMark mark = arena_mark(&ctx->scratch);
    Placement *placement = placement_begin(func);
    PendingSet pending = {0};
    const Op none = {0};
    placement->judged = &none;
    place_in_block(placement, func->body, &pending);
    arena_rewind(&ctx->scratch, mark);
    return !placement->conflict;
}

bool pass_place_barriers(Func *func) {
    Ctx *ctx = func_ctx(func);
    ArenaMark mark = arena_mark(&ctx->scratch);
    Placement *placement = placement_begin(func);
    PendingSet pending = {0};
    unsigned before = 0, after = 0;
    func_walk(func, count_proxies, &before);
    place_in_block(placement, func->body, &pending);
    remove_superfluous(placement);
    mark_proxies(placement, func);
    func_walk(func, count_proxies, &after);
    bool changed = placement->placed.len > 0 || before != after;
    arena_rewind(&ctx->scratch, mark);
    return changed;
}
