/* Of two rings the first runs an iteration further ahead than the second.
 *
 * A product that is started an iteration early is done when its iteration begins, and gives its
 * slot back then: its ring needs no slot more than another. But the copies that fill both rings
 * share their mbarriers, and so come and go together. Here each ring gets mbarriers of its own, and
 * the copy to the first one that the next iteration would make is made at the end of this one,
 * where the slot that it fills was read:
 *
 *     expect %full[0], K and V bytes               expect %full[0], K bytes
 *     copy %K[0]; copy %V[0]                       copy %K[0]
 *                                                  expect %later[0], V bytes
 *                                                  copy %V[0]
 *                                                  expect %full[1]; copy %K[1] at %lo + 1, %runs
 *     for %i .. (%slot, %parity) {                 for %i .. (%slot, %parity) {
 *         mbarrier_wait %full[%slot]                   mbarrier_wait %full[%slot]
 *         expect %full[%slot + 1]             =>       .. wgmma %K[%slot]
 *         copy %K[%slot + 1] at %i + 1                 .. wgmma %V[%slot]
 *         copy %V[%slot + 1] at %i + 1                 expect %later[%slot + 1]
 *         .. wgmma %K[%slot]                           copy %V[%slot + 1] at %i + 1
 *         .. wgmma %V[%slot]                           expect %full[%slot]
 *     }                                                copy %K[%slot] at %i + 2, %more
 *                                                  }
 *
 * (with two slots; %more: the loop has another iteration, which would have made that copy.) What is
 * under way where the loop ends is what was before, so that a loop that goes on with the rings
 * stays as it is but for a wait more. */
#include "passes/schedule/rotate_ahead.h"
#include "passes/blocks/block_buffers.h"
#include "passes/rewrite.h"

enum { COPY_BUFFER = 1, COPY_BARRIER = 2, COPY_ON = 3 }; /* operands of copy_block */

/* Conditions */

static const Op *view_of(const Value *buffer) {
    return value_def(buffer, OP_local_view);
}

static bool is_same_slot(const Op *a, const Op *b) {
    return op_in(a, 1) == op_in(b, 1) && local_view_attrs(a)->ahead == local_view_attrs(b)->ahead;
}

/* The copy that brings the slot's part of the ring, where the op stands and when it does. */
static Op *copy_beside(const Op *expect, const Value *ring) {
    Op *found = NULL;
    block_for_each (op, expect->block) {
        if (op->code != OP_copy_block)
            continue;
        const Op *to = view_of(op_in(op, COPY_BUFFER)), *by = view_of(op_in(op, COPY_BARRIER));
        if (!to || op_in(to, 0) != ring || !by || !is_same_slot(to, by) ||
            !is_same_slot(by, view_of(op_in(expect, 0))) || op_in(op, COPY_ON) != op_in(expect, 1))
            continue;
        if (found)
            return NULL;
        found = op;
    }
    return found;
}

/* Does a phase consist of one copy to each ring? */
static bool are_pairs(Ahead *a) {
    vec_for_each (expect, &a->expects) {
        Op *first = copy_beside(*expect, a->first), *second = copy_beside(*expect, a->second);
        if (!first || !second ||
            mbarrier_expect_attrs(*expect)->bytes != local_bytes(a->first) + local_bytes(a->second))
            return false;
        vec_push(a->arena, &a->copies, second);
        if ((*expect)->block != a->loop->regions[0])
            continue;
        if (a->expect)
            return false;
        a->expect = *expect;
        a->copy = first;
    }
    return a->expect != NULL;
}

/* Sorts what names the mbarriers; false: a copy is none of the two rings'. */
static bool find_uses(Ahead *a) {
    size_t copies = 0;
    value_for_each_use (view, a->full) {
        if (view->user->code != OP_local_view)
            return false;
        value_for_each_use (use, op_out(view->user)) {
            if (use->user->code == OP_mbarrier_expect)
                vec_push(a->arena, &a->expects, use->user);
            else if (use->user->code == OP_mbarrier_wait)
                vec_push(a->arena, &a->waits, use->user);
            else
                copies++;
        }
    }
    return are_pairs(a) && copies == 2 * a->expects.len;
}

/* Do products alone read the second ring, where its copies are waited for? They can wait for
 * themselves then. */
static bool is_read_by_products(const Ahead *a) {
    value_for_each_use (view, a->second) {
        if (view->user->code != OP_local_view)
            return false;
        value_for_each_use (use, op_out(view->user)) {
            bool is_waited = false;
            vec_for_each (wait, &a->waits)
                is_waited |= (*wait)->block == use->user->block;
            if (use->user->code != OP_copy_block && (!op_is_wgmma(use->user) || !is_waited))
                return false;
        }
    }
    return true;
}

/* Can the value be computed for the iteration behind, where this one ends? `known`: ops whose
 * results can. */
static bool is_known_ahead(const Ahead *a, PtrSet *known, const Value *value) {
    if (value_is_outside(value, a->loop))
        return true;
    const Op *op = value->def;
    if (!op)
        return value->owner == a->loop->regions[0];
    if (ptr_set_has(known, op))
        return true;
    if (op->block != a->loop->regions[0] || !op_is_pure(op) || op->nregions)
        return false;
    for (uint32_t i = 0; i < op->nin; i++)
        if (!is_known_ahead(a, known, op_in(op, i)))
            return false;
    ptr_set_add(known, op);
    return true;
}

static bool is_of_buffers(uint32_t operand) {
    return operand == COPY_BUFFER || operand == COPY_BARRIER;
}

bool rotate_may_run_ahead(Ahead *a) {
    if (a->first == a->second || !find_uses(a) || !is_read_by_products(a))
        return false;
    const Op *view = view_of(op_in(a->expect, 0));
    if (op_in(view, 1) != a->slot || local_view_attrs(view)->ahead != local_copies(a->full) - 1)
        return false;
    PtrSet known = {.arena = a->arena};
    for (uint32_t i = 0; i < a->copy->nin; i++)
        if (!is_of_buffers(i) && !is_known_ahead(a, &known, op_in(a->copy, i)))
            return false;
    return true;
}

/* Rewriting */

/* Where the block first reads the slot of the second ring that is waited for. */
static Op *first_reader(const Ahead *a, Op *wait) {
    const Op *slot = view_of(op_in(wait, 0));
    for (Op *op = wait->next; op->next; op = op->next)
        for (uint32_t i = 0; i < op->nin && op->code != OP_copy_block; i++) {
            const Op *view = view_of(op_in(op, i));
            if (view && op_in(view, 0) == a->second && is_same_slot(view, slot))
                return op;
        }
    return wait->next;
}

static Value *slot_like(Builder *b, Value *buffer, const Op *view) {
    return build_local_view(b, buffer, op_in(view, 1), local_view_attrs(view)->ahead);
}

/* What came by one mbarrier comes by two. */
static void part(const Ahead *a, Value *later) {
    vec_for_each (expect, &a->expects)
        mbarrier_expect_attrs(*expect)->bytes = local_bytes(a->first);
    vec_for_each (copy, &a->copies) {
        Builder b = builder_before(*copy);
        b.span = (*copy)->span;
        Value *barrier = slot_like(&b, later, view_of(op_in(*copy, COPY_BARRIER)));
        build_mbarrier_expect(&b, barrier, op_in(*copy, COPY_ON), local_bytes(a->second));
        op_set_operand(*copy, COPY_BARRIER, barrier);
    }
    vec_for_each (wait, &a->waits) {
        if ((*wait)->block == a->loop->regions[0])
            continue;
        Builder b = builder_before(first_reader(a, *wait));
        b.span = (*wait)->span;
        Value *slot = slot_like(&b, later, view_of(op_in(*wait, 0)));
        build_mbarrier_wait(&b, slot, op_in(*wait, 1), (*wait)->nin > 2 ? op_in(*wait, 2) : NULL);
    }
}

/* The value for another iteration: `map` has what that finds in the arguments. */
static Value *computed(const Ahead *a, Builder *b, Value *value, ValueMap *map) {
    Value *known = value_map_get(map, value);
    if (known || value_is_outside(value, a->loop))
        return known ? known : value;
    for (uint32_t i = 0; i < value->def->nin; i++)
        value_map_set(map, op_in(value->def, i), computed(a, b, op_in(value->def, i), map));
    op_clone(b, value->def, map);
    return value_map_get(map, value);
}

/* The copy to the first ring that the iteration of these arguments makes, if `on`. */
static void copy_for(const Ahead *a, Builder *b, ValueMap *map, Value *on, Value *slot,
                     int64_t ahead) {
    b->span = a->copy->span;
    on = build_andi(b, on, computed(a, b, op_in(a->copy, COPY_ON), map));
    for (uint32_t i = COPY_ON + 1; i < a->copy->nin; i++)
        value_map_set(map, op_in(a->copy, i), computed(a, b, op_in(a->copy, i), map));
    value_map_set(map, op_in(a->copy, 0), computed(a, b, op_in(a->copy, 0), map));
    value_map_set(map, op_in(a->copy, COPY_ON), on);
    b->span = a->expect->span;
    Value *barrier = build_local_view(b, a->full, slot, ahead);
    build_mbarrier_expect(b, barrier, on, local_bytes(a->first));
    b->span = a->copy->span;
    value_map_set(map, op_in(a->copy, COPY_BARRIER), barrier);
    value_map_set(map, op_in(a->copy, COPY_BUFFER), build_local_view(b, a->first, slot, ahead));
    op_clone(b, a->copy, map);
}

/* What the first iteration would copy. It is started before anything is waited for. */
static void copy_before(const Ahead *a) {
    Op *loop = a->loop, *at = loop;
    while (at->prev && at->prev->code == OP_mbarrier_wait)
        at = at->prev;
    Builder b = builder_before(at);
    b.span = a->copy->span;
    ValueMap *map = value_map_create(a->arena);
    const Block *body = loop->regions[0];
    const uint32_t inits = FOR_FIXED_OPERANDS - 1; /* the index has none */
    value_map_set(map, &body->args[0], op_in(loop, 0));
    for (uint32_t i = 1; i < body->nargs; i++)
        value_map_set(map, &body->args[i], op_in(loop, inits + i));
    Value *runs = build_cmpi(&b, op_in(loop, 0), op_in(loop, 1), IPRED_SLT);
    Value *slot = op_in(loop, inits + a->slot->index);
    copy_for(a, &b, map, runs, slot, local_copies(a->full) - 1);
}

/* What the iteration behind this one would copy, into the slot that this one's product had. */
static void copy_inside(const Ahead *a) {
    Block *body = a->loop->regions[0];
    Op *end = body->last;
    Builder b = builder_before(end);
    b.span = a->copy->span;
    ValueMap *map = value_map_create(a->arena);
    Value *step = op_in(a->loop, 2);
    Value *left = build_subi(&b, op_in(a->loop, 1), &body->args[0]);
    Value *more = build_cmpi(&b, left, step, IPRED_UGT);
    value_map_set(map, &body->args[0], build_addi(&b, &body->args[0], step));
    for (uint32_t i = 1; i < body->nargs; i++)
        value_map_set(map, &body->args[i], op_in(end, i - 1));
    copy_for(a, &b, map, more, a->slot, 0);
}

Value *rotate_run_ahead(const Ahead *a) {
    Func *func = a->loop->block->func;
    Value *later = block_mbarrier(func, a->loop->span, local_copies(a->full), 0);
    part(a, later);
    copy_before(a);
    copy_inside(a);
    op_remove(a->copy);
    op_remove(a->expect);
    return later;
}
