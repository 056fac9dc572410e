/* Slots of a rotated loop are given back by each warpgroup for itself.
 *
 * Before a slot is filled again all that read it must be done. A barrier in every iteration says
 * so, and keeps warpgroups in step: all compute, then all multiply. Here each warpgroup arrives at
 * an mbarrier once it has waited for its product, and only the warp that starts copies waits there;
 * the others go on as far as what was copied allows.
 *
 *     for %i .. (%acc, %slot, %parity) {       for %i .. (%acc, %slot, %parity) {
 *         %a = wgmma_wait %acc                     %a = wgmma_wait %acc
 *         ..                                       mbarrier_arrive %empty[%slot - 1], %i != %lo
 *         wgmma ..; wgmma ..                       ..
 *         barrier                         =>       wgmma ..; wgmma ..
 *         mbarrier_expect %full[%slot + 2]         mbarrier_wait %empty[%slot + 2], its parity ^ 1
 *         copy_block .. %K[%slot + 2]              mbarrier_expect %full[%slot + 2]
 *     }                                            copy_block .. %K[%slot + 2]
 *                                              }
 *
 * (the barrier is what place-barriers would place). Each use of a slot has an arrival of each
 * warpgroup and each copy to it waits for those of the use before, which a new mbarrier is past.
 * In a loop that runs once the copies before it find new slots, and the last uses are not
 * waited for by anyone: there is nothing to do for them.
 *
 * Two warpgroups that drift may still come to their products at the same time, and then to what
 * lies between them. They take turns: each starts the products of an iteration when the other has
 * started its own, the first one first.
 *
 *     turn_pass off, %lo < %hi          the first has its turn
 *     for ..
 *         ..
 *         turn_wait
 *         wgmma ..; wgmma ..
 *         turn_pass on, %more           the second begins no further round behind the last
 */
#include "passes/schedule/rotate_release.h"
#include "passes/blocks/block_buffers.h"
#include "passes/rewrite.h"
#include "support/vec.h"
#include "target/wgmma.h"

typedef VEC(Op *) Expects;

/* What the value is where the loop begins. */
static Value *entry_of(const Drift *d, const Value *arg) {
    return op_in(d->loop, FOR_FIXED_OPERANDS + arg->index - 1);
}

/* In a loop behind this one, which goes on with the rings: before its first copies all warpgroups
 * meet (place-barriers), behind what they read here. */
static bool is_behind(const Drift *d, const Block *block) {
    const Op *op = block->parent;
    if (!op || op->block != d->loop->block)
        return false;
    while (op && op != d->loop)
        op = op->prev;
    return op != NULL;
}

/* Products alone read the buffer, in the loop, right before it or in one behind it. */
static bool is_read_by_products(const Drift *d, const Value *ring) {
    value_for_each_use (view, ring) {
        if (view->user->code != OP_local_view)
            return false;
        value_for_each_use (use, op_out(view->user)) {
            const Block *block = use->user->block;
            if (use->user->code != OP_copy_block &&
                (!op_is_wgmma(use->user) ||
                 (block != d->loop->regions[0] && block != d->loop->block && !is_behind(d, block))))
                return false;
        }
    }
    return true;
}

/* Collects what fills the rings: false if that is not all in the loop, before it in order, or in
 * one behind it and the loop runs once. */
static bool find_fills(const Drift *d, const Value *full, bool again, Arena *arena,
                       Expects *expects) {
    value_for_each_use (view, full) {
        if (view->user->code != OP_local_view)
            return false;
        value_for_each_use (use, op_out(view->user)) {
            Op *op = use->user;
            bool inside = op->block == d->loop->regions[0];
            if (!inside && !again && is_behind(d, op->block))
                continue;
            if (!inside && op->block != d->loop->block)
                return false;
            if (op->code == OP_copy_block) {
                const Op *to = value_def(op_in(op, 1), OP_local_view);
                if (!to || !is_read_by_products(d, op_in(to, 0)))
                    return false;
            }
            if (op->code != OP_mbarrier_expect)
                continue;
            if (op_in(view->user, 1) != (inside ? d->slot : entry_of(d, d->slot)))
                return false;
            vec_push(arena, expects, op);
        }
    }
    return expects->len > 0;
}

/* Waits until what was read from the slot that is about to be filled is done. A copy into the slot
 * that the iteration itself stands at is for the iteration that comes to it next. */
static void wait_for_slot(const Drift *d, Value *empty, Op *expect) {
    const Op *view = op_in(expect, 0)->def;
    bool inside = expect->block == d->loop->regions[0];
    Value *slot = op_in(view, 1), *phase = inside ? d->parity : entry_of(d, d->parity);
    int64_t ahead = local_view_attrs(view)->ahead, copies = local_copies(empty);
    Builder b = builder_before(expect);
    b.span = expect->span;
    if (ahead) {
        Value *turn = rewrite_int(&b, slot->type, copies - ahead);
        Value *turned = build_cmpi(&b, slot, turn, IPRED_SGE);
        phase = build_xori(&b, phase, build_extui(&b, turned, phase->type));
    }
    bool is_around = inside && !ahead;
    Value *before = is_around ? phase : build_xori(&b, phase, rewrite_int(&b, phase->type, 1));
    build_mbarrier_wait(&b, build_local_view(&b, empty, slot, ahead), before, op_in(expect, 1));
}

static Value *wait_for_slots(const Drift *d, const Value *full, bool again,
                             const Expects *expects) {
    Func *func = d->loop->block->func;
    Value *empty =
        block_mbarrier(func, d->loop->span, local_copies(full), func->num_warps / WGMMA_WARPS);
    vec_for_each (expect, expects)
        if (again || (*expect)->block == d->loop->regions[0])
            wait_for_slot(d, empty, *expect);
    return empty;
}

static void arrive_behind(Op *op, Value *empty, Value *slot, Value *first, Value *other,
                          IntPredicate is_used) {
    Builder b = builder_after(op);
    b.span = op->span;
    Value *on = build_cmpi(&b, first, other, is_used);
    Value *view = build_local_view(&b, empty, slot, local_copies(empty) - 1);
    build_mbarrier_arrive(&b, view, on);
}

/* The first product's ring, where it has mbarriers of its own: its slot is free as soon as the
 * product has been waited for, before its iteration begins. */
static void give_back_early(const Drift *d, Value *empty) {
    Builder b = builder_after(d->begun);
    b.span = d->begun->span;
    build_mbarrier_arrive(&b, build_local_view(&b, empty, entry_of(d, d->slot), 0),
                          op_in(d->begun, 3));
    b = builder_after(d->done);
    b.span = d->done->span;
    build_mbarrier_arrive(&b, build_local_view(&b, empty, d->slot, 1), op_in(d->next, 3));
}

bool rotate_release(const Drift *d) {
    Func *func = d->loop->block->func;
    Arena *arena = &func_ctx(func)->scratch;
    bool again = op_loop_around(d->loop);
    Expects expects = {0}, later = {0};
    if (func->num_warps < 2 * WGMMA_WARPS || (again && !d->behind) ||
        !find_fills(d, d->full, again, arena, &expects) ||
        (d->later && !find_fills(d, d->later, again, arena, &later)))
        return false;
    Value *empty = wait_for_slots(d, d->full, again, &expects);
    if (d->later) {
        give_back_early(d, empty);
        empty = wait_for_slots(d, d->later, again, &later);
    }
    Value *lo = op_in(d->loop, 0), *hi = op_in(d->loop, 1);
    arrive_behind(d->waited, empty, d->slot, &d->loop->regions[0]->args[0], lo, IPRED_NE);
    if (again)
        arrive_behind(d->behind, empty, &d->loop->out[d->slot->index - 1], lo, hi, IPRED_SLT);
    return true;
}

/* Does each warpgroup have rows of its own? */
static bool are_apart(const Value *sum) {
    const Layout *layout = sum->type->layout;
    int bit = layout->bits[LAYOUT_REG] + layout->bits[LAYOUT_LANE] + __builtin_ctz(WGMMA_WARPS);
    uint32_t columns = (uint32_t)sum->type->shape[sum->type->rank - 1];
    return layout->basis[bit] >= columns && layout->basis[bit] % columns == 0;
}

bool rotate_turns(const Drift *d) {
    const Func *func = d->loop->block->func;
    if (func->num_warps != 2 * WGMMA_WARPS || func->programs_per_cta > 1 ||
        !are_apart(op_out(d->next)) || !are_apart(op_out(d->last)))
        return false;
    Builder b = builder_before(d->loop);
    b.span = d->next->span;
    Value *runs = build_cmpi(&b, op_in(d->loop, 0), op_in(d->loop, 1), IPRED_SLT);
    build_turn_pass(&b, rewrite_int(&b, runs->type, 0), runs);
    b = builder_before(d->next);
    b.span = d->next->span;
    build_turn_wait(&b);
    b = builder_after(d->last);
    b.span = d->last->span;
    build_turn_pass(&b, rewrite_int(&b, runs->type, 1), op_in(d->next, 3));
    return true;
}
