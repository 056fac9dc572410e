/* specialise-warps: one warp more than the program's starts the tensor copies of its loops.
 *
 * A loop over K inside a loop over tiles starts its copies ahead, but not beyond its own end: while
 * a tile is finished nothing is under way for the next one. A warp that does nothing but start
 * copies goes on to the next tile as soon as there is a free buffer.
 *
 *     for %tile .. (%at) {                      producer {
 *         expect, copies of k < S - 1               for %tile .. (%at) {
 *         for %k .. (%acc, %slot, %parity) {            for %k .. (%slot, %parity) {
 *             mbarrier_wait %full                           mbarrier_wait %empty, %parity ^ 1
 *             expect, copies of k + S - 1                   expect, copies of k
 *             %r = wgmma .., %acc {in_flight}               yield next slot, parity
 *             yield %r, next slot, parity               }
 *         }                               ->            yield next %at
 *         %c = wgmma_wait %r                        }
 *         ..                                    }
 *     }                                         for %tile .. (%at) {
 *                                                   for %k .. (%acc, %slot, %parity) {
 *                                                       mbarrier_wait %full, %parity
 *                                                       %r = wgmma .., %acc {in_flight}
 *                                                       mbarrier_arrive %empty of k - 1, %k != %lo
 *                                                       yield %r, next slot, parity
 *                                                   }
 *                                                   %c = wgmma_wait %r
 *                                                   mbarrier_arrive %empty of the last k, %lo < %hi
 *                                                   ..
 *                                               }
 *
 * A slot of a ring is free once the product that read it is waited for: each warpgroup then arrives
 * at `empty`, a second ring of mbarriers, and the producer waits there before it fills the slot
 * again. It waits for the parity of the round before, which a new mbarrier is past.
 *
 * The producer is a copy of the function, from which all that has effects but these waits and
 * copies is taken, and then what is dead: a slice of scalars and loops, or the loop stays as it
 * was. What was carried to run ahead goes back by as many steps. Rings live as long as the loops
 * over tiles; so do the buffers of stores by tensor copies then, whose reads are waited for before
 * the next tile is written to them.
 *
 * A program of one warpgroup then gets a second one, which takes every other tile: see
 * specialise_teams.c.
 *
 * Needs layouts, wgmma (feed-wgmma) and all buffers but their offsets (stage-shared). A remark says
 * why a loop inside another is not specialised. */
#include "ir/registers.h"
#include "passes/analysis/pressure.h"
#include "passes/blocks/block_buffers.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/schedule/specialise.h"
#include "passes/shared/allocate_shared.h"
#include "passes/simplify/simplify.h"
#include "target/panels.h"
#include "target/wgmma.h"

static bool refuse(Specialise *s, const Ring *ring, const char *why) {
    ctx_diag(s->ctx, ring->loop->span, not_specialised, why);
    return false;
}

/* Rings */

static bool is_argument_of(const Value *value, const Op *loop) {
    return value->owner == loop->regions[0] && value->index > 0;
}

/* The wait of a pipelined loop inside another loop, for a phase of a ring that it goes around. */
static bool waits_for_ring(const Op *op) {
    if (op->code != OP_mbarrier_wait || op_in(op, 0)->def->code != OP_local_view)
        return false;
    const Op *loop = op->block->parent;
    return loop && loop->code == OP_for && op_loop_around(loop) &&
           is_argument_of(op_in(op_in(op, 0)->def, 1), loop) &&
           is_argument_of(op_in(op, 1), loop) && !mbarrier_arrivals(op_in(op, 0));
}

static bool find_ring(Op *op, void *user) {
    Specialise *s = user;
    if (!waits_for_ring(op))
        return true;
    Ring *ring = ARENA_NEW(s->arena, Ring);
    *ring = (Ring){.loop = op->block->parent, .full = op_in(op_in(op, 0)->def, 0)->def, .wait = op};
    vec_push(s->arena, &s->rings, ring);
    return true;
}

static void add_buffer(Specialise *s, Ring *ring, const Op *copy) {
    Op *alloc = (Op *)local_alloc_of(op_in(copy, 1));
    vec_for_each (known, &ring->buffers)
        if (*known == alloc)
            return;
    vec_push(s->arena, &ring->buffers, alloc);
}

static bool collect_copies(Specialise *s, Ring *ring) {
    value_for_each_use (view, op_out(ring->full)) {
        if (view->user->code != OP_local_view)
            return refuse(s, ring, "its mbarriers are not a ring");
        value_for_each_use (use, op_out(view->user)) {
            Op *op = use->user;
            bool inside = op->block == ring->loop->regions[0];
            if (op == ring->wait)
                continue;
            if (!specialise_starts_copies(op) || (!inside && op->block != ring->loop->block))
                return refuse(s, ring, "others wait for its copies");
            if (inside)
                ring->ahead = local_view_attrs(view->user)->ahead;
            if (op->code == OP_copy_block)
                add_buffer(s, ring, op);
            vec_push(s->arena, &ring->copies, op);
        }
    }
    return ring->ahead > 0 || refuse(s, ring, "its copies are not started ahead");
}

/* wgmma alone reads what the copies bring, in the loop's own block. */
static bool check_readers(Specialise *s, const Ring *ring) {
    vec_for_each (alloc, &ring->buffers)
        value_for_each_use (view, &(*alloc)->out[0]) {
            if (view->user->code != OP_local_view)
                return refuse(s, ring, "its buffers are not rings");
            value_for_each_use (use, op_out(view->user))
                if (use->user->code != OP_copy_block &&
                    (!op_is_wgmma(use->user) || use->user->block != ring->loop->regions[0]))
                    return refuse(s, ring, "an operand is read by threads");
        }
    return true;
}

static bool check_body(Specialise *s, Ring *ring) {
    bool in_flight = false;
    block_for_each (op, ring->loop->regions[0]) {
        if (op->code == OP_async_copy || op->code == OP_async_wait)
            return refuse(s, ring, "threads copy other operands");
        if (!op_is_wgmma(op))
            continue;
        if (in_flight || (op->code == OP_wgmma && (wgmma_attrs(op)->beside || op->nin > 3)))
            return refuse(s, ring, "more than one product is under way");
        in_flight = op_in_flight(op);
        ring->product = op;
    }
    return ring->product || refuse(s, ring, "its dots are not computed by warpgroups");
}

/* Behind the loop the sums that were under way are waited for at once. */
static Op *wait_behind(const Ring *ring) {
    Op *last = NULL;
    for (Op *op = ring->loop->next; op && op->code == OP_wgmma_wait; op = op->next)
        if (op_in(op, 0)->def == ring->loop && !wgmma_wait_attrs(op)->pending)
            last = op;
    return last;
}

static bool check_ring(Specialise *s, Ring *ring) {
    if (!collect_copies(s, ring) || !check_readers(s, ring) || !check_body(s, ring))
        return false;
    return !op_in_flight(ring->product) || wait_behind(ring) ||
           refuse(s, ring, "its last product is not waited for behind it");
}

static bool is_volatile(const Op *op, const void *user) {
    return op_is_volatile(op);
}

static bool is_unseen(const Op *op, const void *user) {
    (void)user;
    return op_is_unseen(op);
}

/* A warp that only starts copies would go on past what others have to say. */
static bool check_order(Specialise *s, const Ring *ring) {
    if (block_any(s->func->body, is_unseen, NULL))
        return refuse(s, ring, "PTX of the source may wait for what its copies bring");
    return !block_any(s->func->body, is_volatile, NULL) ||
           refuse(s, ring, "it has a volatile load, which copies must not pass");
}

/* Room */

bool specialise_has_place(const Func *func) {
    return func->programs_per_cta <= 1 && !func->launched_warps &&
           func->num_warps < TARGET_MAX_WARPS;
}

/* Is there room for one warp more in a CTA, and are there registers for its threads? */
static bool check_threads(Specialise *s, const Ring *ring) {
    if (!specialise_has_place(s->func))
        return refuse(s, ring, "a CTA cannot have one warp more");
    uint64_t room = (uint64_t)func_register_room(s->func, s->func->num_warps + 1);
    return pressure_most_in_thread(s->func) + RESERVE_COPIES <= room ||
           (specialise_wants_teams(s->func) && specialise_team_spare(s->func) >= 0) ||
           refuse(s, ring, "its threads need the registers that one warp more would take");
}

static int64_t bytes_of(const Op *alloc) {
    const Value *buffer = &alloc->out[0];
    int64_t bytes = local_bytes(buffer) * local_copies(buffer);
    return (bytes + PANEL_ALIGNMENT - 1) / PANEL_ALIGNMENT * PANEL_ALIGNMENT;
}

/* Of the rings, with their mbarriers. Nothing else may lie there, since copies for the next tile
 * are under way at any time. */
static int64_t bytes_of_rings(const Specialise *s, PtrSet *allocs) {
    int64_t bytes = 0;
    vec_for_each (ring, &s->rings) {
        bytes += 2 * MBARRIER_BYTES * local_copies(op_out((*ring)->full));
        vec_for_each (alloc, &(*ring)->buffers) {
            bytes += bytes_of(*alloc);
            ptr_set_add(allocs, *alloc);
        }
    }
    return bytes;
}

static bool check_room(Specialise *s, const Ring *ring) {
    PtrSet rings = {.arena = s->arena};
    int64_t room = func_shared_room(s->func);
    int64_t bytes = bytes_of_rings(s, &rings);
    return bytes + shared_bytes_beside(s->func, &rings) <= room ||
           refuse(s, ring, "shared memory has no room for its buffers beside all others");
}

/* Both roles use the same buffers, which are there from the beginning. */
static void share_buffer(Specialise *s, Op *alloc) {
    Op *copy = value_map_get(s->map, op_out(alloc))->def;
    op_move_before(alloc, s->producer);
    rewrite_replace(copy, op_out(alloc));
}

/* The others */

static void arrive(Builder *b, const Ring *ring, Value *slot, int64_t ahead, Value *on) {
    b->span = ring->loop->span;
    build_mbarrier_arrive(b, build_local_view(b, ring->empty, slot, ahead), on);
}

/* A slot is free once the product that read it is done: at once, or an iteration later. */
static void release_slots(Specialise *s, const Ring *ring) {
    Op *loop = ring->loop;
    Value *slot = op_in(op_in(ring->wait, 0)->def, 1);
    int64_t before = local_copies(op_out(ring->full)) - 1;
    Builder b = builder_after(ring->product);
    b.span = loop->span;
    if (!op_in_flight(ring->product)) {
        arrive(&b, ring, slot, 0, rewrite_int(&b, type_scalar(s->ctx, DT_I1), 1));
        return;
    }
    Value *follows = build_cmpi(&b, &loop->regions[0]->args[0], loop_first_index(loop), IPRED_NE);
    arrive(&b, ring, slot, before, follows);
    Builder after = builder_after(wait_behind(ring));
    after.span = loop->span;
    Value *ran = build_cmpi(&after, op_in(loop, 0), op_in(loop, 1), IPRED_SLT);
    arrive(&after, ring, &loop->out[slot->index - 1], before, ran);
}

static bool is_wait_for_reads(const Op *op) {
    return op->code == OP_store_wait && store_wait_attrs(op)->read &&
           !store_wait_attrs(op)->pending;
}

static bool collect_store(Op *op, void *user) {
    Specialise *s = user;
    if (op->code == OP_store_block_from)
        vec_push(s->arena, &s->stores, op);
    return true;
}

/* The write of the buffer that the store copies, in its block. */
static Op *write_of(const Op *store) {
    Op *write = store->prev;
    while (write && (write->code != OP_local_store || op_in(write, 1) != op_in(store, 1)))
        write = write->prev;
    return write;
}

/* All stores of the function stand in the block, each with its buffer and the write of it. */
static bool stores_in(const Specialise *s, const Block *body) {
    vec_for_each (store, &s->stores)
        if ((*store)->block != body || local_alloc_of(op_in(*store, 1))->block != body ||
            !write_of(*store))
            return false;
    return s->stores.len > 0;
}

/* Reads of what is stored are waited for in front of the first write of the next tile, and behind
 * the loop. Where a tile's stores come after those of the tile before, that is waited for there. */
static void delay_store_wait(Specialise *s, Block *body, Op *wait) {
    Op *first = s->stores.data[0], *write = write_of(first), *full = first->prev;
    op_move_before(wait, body->parent->next);
    if (full->code == OP_store_wait && !store_wait_attrs(full)->read &&
        !store_wait_attrs(full)->pending) {
        op_move_before(full, write);
    } else {
        Builder b = builder_before(write);
        b.span = wait->span;
        build_store_wait(&b, 0, true);
    }
    vec_for_each (store, &s->stores)
        op_move_before((Op *)local_alloc_of(op_in(*store, 1)), s->producer);
}

/* If all stores of the function are right in a loop over tiles and all buffers can lie apart. */
static void delay_stores(Specialise *s) {
    int64_t room = func_shared_room(s->func);
    func_walk(s->func, collect_store, s);
    if (shared_bytes_apart(s->func) > room)
        return;
    block_for_each_safe (loop, s->func->body) {
        if (loop->code != OP_for || !stores_in(s, loop->regions[0]))
            continue;
        Op *wait = loop->regions[0]->last->prev;
        if (wait && is_wait_for_reads(wait))
            delay_store_wait(s, loop->regions[0], wait);
    }
}

static void take_copies(const Ring *ring) {
    vec_for_each (op, &ring->copies)
        op_remove(*op);
}

static bool specialise(Specialise *s) {
    Ring *first = s->rings.data[0];
    if (!check_order(s, first))
        return false;
    vec_for_each (ring, &s->rings)
        if (!check_ring(s, *ring))
            return false;
    if (!check_threads(s, first) || !check_room(s, first))
        return false;
    if (!specialise_make_producer(s))
        return refuse(s, first, "what places its copies is not computed from scalars alone");
    vec_for_each (ring, &s->rings) {
        share_buffer(s, (*ring)->full);
        vec_for_each (alloc, &(*ring)->buffers)
            share_buffer(s, *alloc);
        release_slots(s, *ring);
        take_copies(*ring);
    }
    delay_stores(s);
    vec_for_each (ring, &s->rings)
        specialise_load_early(s, *ring);
    specialise_teams(s);
    eliminate_dead(s->func);
    return true;
}

bool pass_specialise_warps(Func *func) {
    Ctx *ctx = func_ctx(func);
    if (func_producer(func) || func->programs_per_cta > 1)
        return false;
    ArenaMark mark = arena_mark(&ctx->scratch);
    Specialise s = {.ctx = ctx, .func = func, .arena = &ctx->scratch};
    bool changed = false;
    func_walk(func, find_ring, &s);
    if (s.rings.len) {
        changed = eliminate_dead(func);
        changed |= specialise(&s);
    }
    arena_rewind(&ctx->scratch, mark);
    return changed;
}
