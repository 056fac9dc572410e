/* release-slots: warpgroups give back for themselves what their products have read.
 *
 * The copies of an iteration fill a slot that the one before it read. A barrier in front of them,
 * which place-barriers would place, says that all warpgroups are done with it, and keeps them in
 * step: all multiply, then all compute, and tensor cores have nothing to do meanwhile. Here each
 * warpgroup arrives at an mbarrier once the last product that reads the slot is done, and only the
 * warp that starts copies waits there.
 *
 *     for %i .. (%acc, %slot, %parity) {       for %i .. (%acc, %slot, %parity) {
 *         mbarrier_wait %full[%slot]               mbarrier_wait %full[%slot]
 *         (barrier)                                %s = wgmma %q, %K[%slot]
 *         mbarrier_expect %full[%slot + 1]         mbarrier_wait %empty[%slot + 1], its parity ^ 1
 *         copy_block .. %K[%slot + 1]; .. %V   =>  mbarrier_expect %full[%slot + 1]
 *         %s = wgmma %q, %K[%slot]                 copy_block .. %K[%slot + 1]; .. %V
 *         %p = f(%s)                               %p = f(%s)
 *         %r = wgmma %p, %V[%slot], %acc           %r = wgmma %p, %V[%slot], %acc
 *         yield %r, ..                             mbarrier_arrive %empty[%slot]
 *     }                                            yield %r, ..
 *                                              }
 *
 * The copies stand behind the first product: their warpgroup is done with that when the others have
 * to be done with the iteration before, so that these may be that far behind it. They may be ahead
 * as far as what was copied allows. Loops that follow each other and share the ring do all so, and
 * a new mbarrier is past the phase that the first copies would wait for: each use of a slot has one
 * arrival of each warpgroup.
 *
 * Done where the function has more than two warpgroups, an SM has room for one CTA of it (of two
 * the other one multiplies while this one meets), nobody but products reads the rings, each of
 * which is waited for in its iteration, and no loop stands around. Two warpgroups lose by it more
 * than their meeting takes, as the first one waits for the other before it starts copies. Of
 * products in flight rotate-dots and specialise-warps know when they are done. Comes behind
 * rotate-dots. */
#include "ir/registers.h"
#include "passes/analysis/pressure.h"
#include "passes/blocks/block_buffers.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/schedule/rotate_release.h"
#include "passes/shared/allocate_shared.h"
#include "support/vec.h"
#include "target/target.h"
#include "target/wgmma.h"

/* A loop whose iterations read slots of the rings. */
typedef struct Reader {
    Op *loop;
    Op *wait;    /* for what the iteration reads */
    Op *last;    /* product that reads the slot */
    int expects; /* phases that an iteration starts */
} Reader;

typedef struct Slots {
    Arena *arena;
    Value *full; /* mbarriers of the rings */
    VEC(Reader) readers;
    VEC(Value *) rings;
} Slots;

static Reader *reader_of(const Slots *s, const Block *body) {
    vec_for_each (reader, &s->readers)
        if (reader->loop->regions[0] == body)
            return reader;
    return NULL;
}

static Value *slot_of(const Reader *reader) {
    return op_in(op_in(reader->wait, 0)->def, 1);
}

/* The wait of an iteration for the slot that it stands at; collects the loop. */
static bool add_reader(Slots *s, Op *wait) {
    Op *loop = wait->block->parent;
    const Op *view = op_in(wait, 0)->def;
    if (!loop || loop->code != OP_for || op_loop_around(loop) || wait->nin > 2 ||
        op_in(view, 1)->owner != wait->block || op_in(wait, 1)->owner != wait->block ||
        local_view_attrs(view)->ahead || reader_of(s, wait->block))
        return false;
    vec_push(s->arena, &s->readers, ((Reader){.loop = loop, .wait = wait}));
    return true;
}

/* Collects the ring that the copy fills. */
static bool add_ring(Slots *s, const Op *copy) {
    const Op *view = value_def(op_in(copy, 1), OP_local_view);
    if (!view || local_copies(op_in(view, 0)) != local_copies(s->full))
        return false;
    vec_for_each (ring, &s->rings)
        if (*ring == op_in(view, 0))
            return true;
    vec_push(s->arena, &s->rings, op_in(view, 0));
    return true;
}

/* Collects who waits at the mbarriers and what arrives there. */
static bool find_users(Slots *s) {
    value_for_each_use (view, s->full) {
        if (view->user->code != OP_local_view)
            return false;
        value_for_each_use (use, op_out(view->user)) {
            Op *op = use->user;
            bool waits = op->code == OP_mbarrier_wait;
            if (waits ? !add_reader(s, op)
                      : op->code != OP_mbarrier_expect && op->code != OP_copy_block)
                return false;
            if (op->code == OP_copy_block && !add_ring(s, op))
                return false;
        }
    }
    return s->readers.len > 0;
}

/* The loops stand in one block, each but the first one goes on with slot and parity of another. */
static bool follow_each_other(const Slots *s) {
    const uint32_t inits = FOR_FIXED_OPERANDS - 1; /* the index has none */
    int first = 0;
    vec_for_each (reader, &s->readers) {
        const Op *loop = reader->loop;
        const Value *slot = slot_of(reader), *parity = op_in(reader->wait, 1);
        const Op *before = op_in(loop, inits + slot->index)->def;
        if (loop->block != s->readers.data[0].loop->block)
            return false;
        if (!before || !before->nregions || !reader_of(s, before->regions[0])) {
            first++;
            continue;
        }
        const Reader *other = reader_of(s, before->regions[0]);
        const Value *slot_before = slot_of(other);
        if (op_in(loop, inits + slot->index) != &before->out[slot_before->index - 1] ||
            op_in(loop, inits + parity->index) != &before->out[op_in(other->wait, 1)->index - 1])
            return false;
    }
    return first == 1;
}

static bool comes_before(const Op *op, const Op *other) {
    while (other && other != op)
        other = other->prev;
    return other == op;
}

/* What is started in a loop is for the slot that the iteration before read, by one phase; what is
 * started in front of all of them fills new slots. */
static bool check_starts(const Slots *s) {
    value_for_each_use (view, s->full)
        value_for_each_use (use, op_out(view->user)) {
            const Op *op = use->user;
            if (op->code == OP_mbarrier_wait)
                continue;
            Reader *reader = reader_of(s, op->block);
            if (reader && (op_in(view->user, 1) != slot_of(reader) ||
                           local_view_attrs(view->user)->ahead != local_copies(s->full) - 1))
                return false;
            if (reader && op->code == OP_mbarrier_expect && reader->expects++)
                return false;
            vec_for_each (other, &s->readers)
                if (!reader && (op->block != other->loop->block || !comes_before(op, other->loop)))
                    return false;
        }
    return true;
}

/* Notes a product that reads the slot. */
static bool add_product(const Slots *s, const Op *view, Op *op) {
    Reader *reader = reader_of(s, op->block);
    if (!op_is_wgmma(op) || op_in_flight(op) || !reader || op_in(view, 1) != slot_of(reader) ||
        local_view_attrs(view)->ahead)
        return false;
    if (!reader->last || comes_before(reader->last, op))
        reader->last = op;
    return true;
}

/* Products alone read the rings, those of the iteration that waits for the slot. */
static bool find_products(const Slots *s) {
    vec_for_each (ring, &s->rings)
        value_for_each_use (view, *ring) {
            if (view->user->code != OP_local_view)
                return false;
            value_for_each_use (use, op_out(view->user))
                if (use->user->code != OP_copy_block && !add_product(s, view->user, use->user))
                    return false;
        }
    vec_for_each (reader, &s->readers)
        if (!reader->last || reader->expects != 1)
            return false;
    return true;
}

/* Rewriting */

static bool starts_copies(const Op *op) {
    return op->code == OP_mbarrier_expect || op->code == OP_copy_block;
}

static bool is_for(const Slots *s, const Op *op) {
    const Op *view = op_in(op, op->code == OP_copy_block ? 2 : 0)->def;
    return view->code == OP_local_view && op_in(view, 0) == s->full;
}

/* May what is started stand behind the op? */
static bool lets_pass(const Op *op) {
    return op_is_wgmma(op) || starts_copies(op) || op->code == OP_mbarrier_wait ||
           !(op_effects(op) & (WRITES | LWRITES | SYNC));
}

/* The first product of the iteration, if what is started may come behind it. */
static Op *place_of(const Reader *reader, const Op *start) {
    for (Op *op = start->next; op; op = op->next) {
        if (!lets_pass(op))
            return NULL;
        if (op_is_wgmma(op))
            return op_in_flight(op) ? NULL : op;
        if (op == reader->last)
            return NULL;
    }
    return NULL;
}

/* Behind the first product, in order. */
static void start_later(const Slots *s, const Reader *reader) {
    VEC(Op *) starts = {0};
    block_for_each (op, reader->loop->regions[0])
        if (starts_copies(op) && is_for(s, op))
            vec_push(s->arena, &starts, op);
    Op *product = place_of(reader, starts.data[0]), *place = product ? product->next : NULL;
    vec_for_each (op, &starts)
        if (place)
            op_move_before(*op, place);
}

static void release(const Slots *s, const Reader *reader, Value *empty) {
    Block *body = reader->loop->regions[0];
    start_later(s, reader);
    block_for_each_safe (op, body)
        if (op->code == OP_mbarrier_expect && is_for(s, op))
            wait_until_free(empty, op, op_in(reader->wait, 1), false);
    Builder b = builder_after(reader->last);
    b.span = reader->last->span;
    build_mbarrier_arrive(&b, build_local_view(&b, empty, slot_of(reader), 0),
                          rewrite_int(&b, type_scalar(func_ctx(body->func), DT_I1), 1));
}

static bool visit_barrier(Op *alloc, Arena *arena) {
    Func *func = alloc->block->func;
    Slots s = {.arena = arena, .full = op_out(alloc)};
    if (mbarrier_arrivals(s.full) || local_copies(s.full) < 2 || !find_users(&s) ||
        !follow_each_other(&s) || !check_starts(&s) || !find_products(&s))
        return false;
    Value *empty =
        block_mbarrier(func, alloc->span, local_copies(s.full), func->num_warps / WGMMA_WARPS);
    vec_for_each (reader, &s.readers) {
        release(&s, reader, empty);
        ctx_diag(func_ctx(func), reader->last->span, warpgroups_drift);
    }
    return true;
}

/* Has an SM room for one CTA alone? Of registers a thread takes what waits for its products and is
 * made of one of them. */
static bool is_alone(Func *func) {
    const Target *target = target_by_capability(func->capability);
    PtrSet none = {.arena = &func_ctx(func)->scratch};
    int32_t threads = (int32_t)func->num_warps * TARGET_WARP_SIZE;
    int32_t room = func_register_room(func, func->num_warps);
    int32_t registers = (int32_t)pressure_summed_in_thread(func) + RESERVE_SCALARS;
    int64_t bytes = shared_bytes_beside(func, &none);
    return target && bytes <= target->shared_per_block &&
           target_occupancy(target, registers < room ? registers : room, threads, (int32_t)bytes)
                   .ctas == 1;
}

bool pass_release_slots(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    bool changed = false;
    if (func->num_warps > 2 * WGMMA_WARPS && func->programs_per_cta <= 1 && is_alone(func))
        block_for_each_safe (op, func->body)
            if (op->code == OP_mbarrier_alloc)
                changed |= visit_barrier(op, arena);
    arena_rewind(arena, mark);
    return changed;
}
