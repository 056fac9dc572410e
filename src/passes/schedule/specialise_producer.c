/* The producer's role of specialise-warps: a copy of the function that only starts copies.
 *
 * All effects but the waits and copies of the rings are taken from the copy, and then what is dead.
 * A slice of scalars and loops must be left. It starts the copies of an iteration in that iteration
 * itself, so what was carried to run ahead goes back by as many steps: the loop's index, which had
 * the distance added, and values that grow by an amount that the loop does not change. Of the
 * latter the loop leaves what it left before.
 *
 *     for %k .. (%at, %slot, %parity) {             for %k .. (%at - ahead, %slot, %parity) {
 *         mbarrier_wait %full[%slot], %parity           mbarrier_wait %empty[%slot], %parity ^ 1
 *         expect, copies at %k + ahead, %at     ->      expect, copies at %k, %at
 *         %r = wgmma ..                                 yield %at + step, next slot, parity
 *         yield %at + step, next slot, parity       }
 *     }
 */
#include "passes/blocks/block_buffers.h"
#include "passes/schedule/specialise.h"
#include "passes/simplify/simplify.h"
#include "target/wgmma.h"

bool specialise_starts_copies(const Op *op) {
    return op->code == OP_copy_block || op->code == OP_mbarrier_expect;
}

/* The mbarrier at which `op` waits or arrives, or which its copy completes. */
static Value *barrier_of(const Op *op) {
    return op_in(op, op->code == OP_copy_block ? 2 : 0);
}

static const Ring *ring_of_copy(const Specialise *s, const Op *op) {
    const Value *full = &local_alloc_of(barrier_of(op))->out[0];
    vec_for_each (ring, &s->rings)
        if (value_map_get(s->map, op_out((*ring)->full)) == full)
            return *ring;
    return NULL;
}

/* The wait for what copies bring becomes one for what they take. */
static void wait_for_empty(const Ring *ring, Op *wait) {
    Builder b = builder_before(wait);
    b.span = ring->loop->span;
    Value *parity = op_in(wait, 1), *slot = op_in(op_in(wait, 0)->def, 1);
    Value *before = build_xori(&b, parity, rewrite_int(&b, parity->type, 1));
    build_mbarrier_wait(&b, build_local_view(&b, ring->empty, slot, 0), before, NULL);
    op_remove(wait);
}

/* The op goes, or stays if others need what it makes. */
static void strip_op(const Specialise *s, Op *op) {
    if (op->code == OP_mbarrier_wait || specialise_starts_copies(op)) {
        const Ring *ring = ring_of_copy(s, op);
        bool inside = ring && op->block->parent == ring->loop_of_producer;
        if (inside && op->code == OP_mbarrier_wait)
            wait_for_empty(ring, op);
        else if (!inside)
            op_remove(op);
    } else if (op_is_wgmma(op)) {
        for (uint32_t i = 0; i < wgmma_products(op); i++)
            value_replace(&op->out[i], op_in(op, wgmma_sum_operand(op, i)));
        op_remove(op);
    } else if (op->code == OP_wgmma_wait) {
        rewrite_replace(op, op_in(op, 0));
    } else if (op->code == OP_grid_wait) {
        /* What the copies bring may come from a launch that runs. */
    } else if (!op->nregions && !op_is_pure(op) && !op_has(op, TERMINATOR)) {
        for (uint32_t i = 0; i < op->nout; i++)
            if (!value_unused(&op->out[i]))
                return;
        if (!op_has(op, ALLOCATES))
            op_remove(op);
    }
}

static void strip_block(const Specialise *s, Block *block) {
    for (Op *op = block->last, *prev; op; op = prev) {
        prev = op->prev;
        for (uint32_t i = 0; i < op->nregions; i++)
            strip_block(s, op->regions[i]);
        strip_op(s, op);
    }
}

/* Copies start whenever an iteration comes. */
static void always(Specialise *s, Block *block) {
    block_for_each (op, block) {
        for (uint32_t i = 0; i < op->nregions; i++)
            always(s, op->regions[i]);
        if (!specialise_starts_copies(op))
            continue;
        Builder b = builder_before(op);
        op_set_operand(op, op->code == OP_copy_block ? 3 : 1,
                       rewrite_int(&b, type_scalar(s->ctx, DT_I1), 1));
    }
}

static void build_role(Specialise *s) {
    Builder b = builder_before(s->func->body->first);
    b.span = s->func->span;
    vec_for_each (ring, &s->rings)
        (*ring)->empty =
            block_mbarrier(s->func, (*ring)->loop->span, local_copies(op_out((*ring)->full)),
                           s->func->num_warps / WGMMA_WARPS);
    s->producer = build_producer(&b);
    s->map = value_map_create(s->arena);
    Builder inner = builder_at_end(s->producer->regions[0]);
    for (Op *op = s->producer->next; !op_has(op, TERMINATOR); op = op->next) {
        inner.span = op->span;
        op_clone(&inner, op, s->map);
    }
    inner.span = s->func->span;
    build_yield(&inner, 0, NULL);
    vec_for_each (ring, &s->rings)
        (*ring)->loop_of_producer = value_map_get(s->map, &(*ring)->loop->out[0])->def;
    strip_block(s, s->producer->regions[0]);
    always(s, s->producer->regions[0]);
    eliminate_dead(s->func);
}

/* What the copies of an iteration are computed from, `ahead` iterations before as well. */

static bool adds_constant(const Op *op, const Value *value, int64_t wanted) {
    int64_t constant;
    return op->code == OP_addi && op_in(op, 0) == value &&
           value_int_constant(op_in(op, 1), &constant) && constant == wanted;
}

static int64_t distance_of(const Ring *ring) {
    int64_t step = 0;
    value_int_constant(op_in(ring->loop, 2), &step);
    return ring->ahead * step;
}

/* The amount that a carried value grows by in an iteration; NULL: not known. */
static Value *growth_of(const Op *loop, const Value *arg) {
    const Op *next = op_in(loop->regions[0]->last, arg->index - 1)->def;
    if (!next || next->code != OP_addi)
        return NULL;
    for (uint32_t i = 0; i < 2; i++)
        if (op_in(next, i) == arg && value_is_outside(op_in(next, 1 - i), loop))
            return op_in(next, 1 - i);
    return NULL;
}

/* The slot places copies, and what the parity was the round before is waited for: both count
 * iterations themselves. */
static bool counts_ring(const Value *arg) {
    value_for_each_use (use, arg) {
        const Op *user = use->user;
        if (user->code == OP_local_view && op_in(user, 1) == arg)
            return true;
        if (user->code != OP_xori)
            continue;
        value_for_each_use (wait, op_out(user))
            if (wait->user->code == OP_mbarrier_wait)
                return true;
    }
    return false;
}

static bool can_go_back(const Ring *ring) {
    const Op *loop = ring->loop_of_producer;
    const Block *body = loop->regions[0];
    value_for_each_use (use, &body->args[0])
        if (!adds_constant(use->user, &body->args[0], distance_of(ring)))
            return false;
    for (uint32_t i = 1; i < body->nargs; i++)
        if (!counts_ring(&body->args[i]) && !growth_of(loop, &body->args[i]))
            return false;
    return true;
}

/* Behind the loop it is what it was: what stands there goes on from it, such as another loop over
 * what an unrolled one leaves. */
static void go_back_by(Op *loop, uint32_t i, int64_t ahead) {
    Value *arg = &loop->regions[0]->args[i], *result = &loop->out[i - 1];
    Builder b = builder_before(loop), behind = builder_before(loop->next);
    b.span = behind.span = loop->span;
    Value *init = op_in(loop, FOR_FIXED_OPERANDS + i - 1);
    Value *grown = build_muli(&b, growth_of(loop, arg), rewrite_int(&b, arg->type, ahead));
    op_set_operand(loop, FOR_FIXED_OPERANDS + i - 1, build_subi(&b, init, grown));
    if (value_unused(result))
        return;
    Value *was = build_addi(&behind, result, grown);
    value_replace(result, was);
    op_set_operand(was->def, 0, result);
}

static void go_back(const Ring *ring) {
    Op *loop = ring->loop_of_producer;
    Block *body = loop->regions[0];
    for (Use *use = body->args[0].uses, *next; use; use = next) {
        next = use->next;
        rewrite_replace(use->user, &body->args[0]);
    }
    for (uint32_t i = 1; i < body->nargs; i++)
        if (!counts_ring(&body->args[i]))
            go_back_by(loop, i, ring->ahead);
    block_for_each (op, body)
        if (op->code == OP_local_view)
            local_view_attrs(op)->ahead = 0;
}

/* Ops of scalars, loops and copies are left: none that reads memory or holds tiles. */
static bool is_no_slice(const Op *op, const void *user) {
    for (uint32_t i = 0; i < op->nout; i++)
        if (type_is_tile(op->out[i].type))
            return true;
    return !op_suits_one_warp(op) && !op_has(op, ALLOCATES);
}

static void drop_producer(Specialise *s) {
    op_remove(s->producer);
    vec_for_each (ring, &s->rings)
        op_remove((*ring)->empty->def);
}

static bool can_place_all(const Specialise *s) {
    vec_for_each (ring, &s->rings)
        vec_for_each (copy, &(*ring)->copies)
            if (!specialise_can_place(s->arena, *copy))
                return false;
    return true;
}

bool specialise_make_producer(Specialise *s) {
    if (!can_place_all(s))
        return false;
    build_role(s);
    bool can = !block_any(s->producer->regions[0], is_no_slice, NULL);
    vec_for_each (ring, &s->rings)
        can = can && can_go_back(*ring);
    if (!can) {
        drop_producer(s);
        return false;
    }
    vec_for_each (ring, &s->rings)
        go_back(*ring);
    return true;
}
