/* rotate-dots: of two products of a loop, the second of which multiplies what becomes of the first,
 * the first one is started an iteration early.
 *
 * A loop whose body multiplies, computes and multiplies (attention: scores, softmax, values) leaves
 * tensor cores idle while it computes, and has nothing to compute while they work. Here the product
 * that the next iteration begins with is started together with the one that this iteration ends
 * with, and only the former is waited for before the next iteration computes:
 *
 *     for %i .. (%acc, %slot, %parity) {           mbarrier_wait %full[first], .., %lo < %hi
 *         mbarrier_wait %full[%slot], %parity      %s0 = wgmma %q, %K[first], 0, %lo < %hi
 *         copy_block .. %K[%slot + 2]; .. %V       for %i .. (%acc, %slot, %parity, %s = %s0) {
 *         %s = wgmma %q, %K[%slot], 0                  %p = f(%s)
 *         %p = f(%s)                                   %b = mulf (wgmma_wait %acc), ..
 *         %b = mulf %acc, ..                 =>        mbarrier_wait %full[%slot + 1], .., %more
 *         %r = wgmma %p, %V[%slot], %b                 %n = wgmma %q, %K[%slot + 1], 0, %more
 *         yield %r, ..                                 %r = wgmma %p, %V[%slot], %b
 *     }                                                copy_block .. %K[%slot + 2]; .. %V
 *                                                      yield %r, .., (wgmma_wait %n {pending = 1})
 *                                                  }
 *                                                  %f = wgmma_wait %acc
 *
 * %n and %r are in flight together, %r on to the next iteration. Each iteration adds what it did,
 * in the same order: results are the same bits. The first operand is read one iteration early, so
 * that its copies must have been started two iterations ahead: the rings have three stages or more.
 * Two do where an SM has shared memory for one program alone, whose first ring then runs ahead of
 * the other (rotate_ahead.c); beside another program, which multiplies while this one computes,
 * two stages stay as they are.
 * What the second product of the iteration before read is free once that is waited for, in the
 * middle of an iteration; the copies stand at its end, behind the products, which run meanwhile.
 * There the wait for %n stands too: ptxas serialises what is waited for in another iteration than
 * it was started in, unless nothing else is under way.
 *
 * With more than one warpgroup what an iteration read is given back through mbarriers, so that they
 * need not meet before the copies (rotate_release.c).
 *
 * Left alone are loops that are expected to run a few times (LOOP_FEW), whose products would only
 * be started and stopped. Needs rings filled by tensor copies and products fed from them: comes
 * behind feed-wgmma and join-wgmma. A remark at the first product says what was done, or what stood
 * against it. */
#include "ir/registers.h"
#include "passes/analysis/pressure.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/schedule/rotate_ahead.h"
#include "passes/schedule/rotate_release.h"
#include "passes/shared/allocate_shared.h"
#include "passes/simplify/simplify.h"
#include "support/vec.h"
#include "target/target.h"

enum {
    LEAST_AHEAD = 2, /* stages that copies are ahead of what reads them */
};

typedef VEC(Op *) OpList;

/* What is known of a loop that is to be rotated. */
typedef struct Rotation {
    Op *loop;
    Block *body;
    Arena *arena;
    Op *first, *second; /* the products */
    Op *wait;           /* for what the iteration reads */
    Value *slot;        /* of the rings: argument of the body */
    uint32_t sum;       /* number of the argument that the second product adds to */
    OpList scaling;     /* what becomes of that argument before it does */
    OpList copies;      /* started in the iteration */
    bool runs_ahead;    /* two slots of each ring do, as the first one runs ahead: */
    Ahead ahead;
    Value *later; /* then: mbarriers of what the second product reads */
} Rotation;

/* Conditions */

/* The two products; false: there is another number of them, or one within a region. */
static bool find_products(Rotation *r) {
    block_for_each (op, r->body) {
        if (op_has(op, LOOP))
            return false;
        for (uint32_t i = 0; i < op->nregions; i++)
            block_for_each (inner, op->regions[i])
                if (inner->nregions || op_is_wgmma(inner))
                    return false;
        if (!op_is_wgmma(op))
            continue;
        if (op->code != OP_wgmma || r->second)
            return false;
        *(r->first ? &r->second : &r->first) = op;
    }
    return r->second != NULL;
}

/* Ops of the body that depend on the value. */
static PtrSet ops_behind(const Rotation *r, const Value *value) {
    PtrSet set = {.arena = r->arena};
    block_for_each (op, r->body)
        for (uint32_t i = 0; i < op->nin; i++) {
            const Value *in = op_in(op, i);
            if (in == value || (in->def && ptr_set_has(&set, in->def)))
                ptr_set_add(&set, op);
        }
    return set;
}

/* Is the second product one of what becomes of the first? */
static bool is_chain(const Rotation *r) {
    PtrSet behind = ops_behind(r, op_out(r->first));
    const Op *operand = op_in(r->second, 0)->def;
    return operand && ptr_set_has(&behind, operand);
}

static const Op *view_at(const Value *buffer, const Value *index, int64_t ahead) {
    const Op *view = value_def(buffer, OP_local_view);
    return view && op_in(view, 1) == index && local_view_attrs(view)->ahead == ahead ? view : NULL;
}

/* Is what the iteration reads waited for once, where it begins, and then read from the rings by the
 * products alone? */
static bool find_wait(Rotation *r) {
    block_for_each (op, r->body) {
        if (op->code == OP_mbarrier_wait && r->wait)
            return false;
        if (op->code == OP_mbarrier_wait)
            r->wait = op;
        else if (op->code == OP_async_wait || op->code == OP_wgmma_wait || op_has(op, SYNC) ||
                 (op_fills_buffer(op) && !op_has(op, TENSOR_COPY)))
            return false;
    }
    const Op *full = r->wait ? value_def(op_in(r->wait, 0), OP_local_view) : NULL;
    if (!full || op_in(full, 1)->owner != r->body || op_in(r->wait, 1)->owner != r->body)
        return false;
    r->slot = op_in(full, 1);
    return local_view_attrs(full)->ahead == 0 && view_at(op_in(r->first, 1), r->slot, 0) &&
           view_at(op_in(r->second, 1), r->slot, 0);
}

static bool brings(const Op *op, const Value *full) {
    uint32_t barrier = op->code == OP_copy_block ? 2 : 0;
    if (op->code != OP_mbarrier_expect && op->code != OP_copy_block)
        return false;
    const Op *view = value_def(op_in(op, barrier), OP_local_view);
    return view && op_in(view, 0) == full;
}

/* Collects the copies; false: one of them comes too late to be read an iteration early. */
static bool find_copies(Rotation *r) {
    block_for_each (op, r->body) {
        if (op->code != OP_mbarrier_expect && op->code != OP_copy_block)
            continue;
        const Op *view = op_in(op, op->code == OP_copy_block ? 1 : 0)->def;
        if (view->code != OP_local_view || op_in(view, 1) != r->slot ||
            local_view_attrs(view)->ahead < LEAST_AHEAD)
            return false;
        vec_push(r->arena, &r->copies, op);
    }
    return r->copies.len > 0;
}

/* Is what the second product gives for the next iteration alone, and what that makes of it for its
 * second product alone? */
static bool find_sum(Rotation *r) {
    const Use *use = op_out(r->second)->uses;
    if (!use || use->next || use->user != r->body->last)
        return false;
    r->sum = (uint32_t)(use - use->user->in) + 1;
    PtrSet behind = ops_behind(r, &r->body->args[r->sum]);
    block_for_each (op, r->body) {
        if (!ptr_set_has(&behind, op) || op == r->second || op == r->body->last)
            continue;
        if (!op_is_pure(op) || op->nregions)
            return false;
        for (uint32_t i = 0; i < op->nout; i++)
            value_for_each_use (inner, &op->out[i])
                if (inner->user->block != r->body || inner->user == r->body->last)
                    return false;
        vec_push(r->arena, &r->scaling, op);
    }
    value_for_each_use (inner, &r->body->args[r->sum])
        if (inner->user == r->body->last || inner->user->block != r->body)
            return false;
    return ptr_set_has(&behind, r->second) && op_in(r->second, 0)->type->kind != TYPE_BUFFER &&
           (!op_in(r->second, 0)->def || !ptr_set_has(&behind, op_in(r->second, 0)->def));
}

static bool is_started_alone(const Rotation *r) {
    value_for_each_use (use, op_out(r->first))
        if (use->user == r->body->last)
            return false;
    return value_is_outside(op_in(r->first, 0), r->loop) &&
           value_is_outside(op_in(r->first, 2), r->loop);
}

/* Both sums and what was made of the first are under way at once. */
static bool fits_registers(const Rotation *r) {
    const Func *func = r->body->func;
    return type_registers(op_out(r->first)->type) + type_registers(op_out(r->second)->type) +
               type_registers(op_in(r->second, 0)->type) + RESERVE_CHAINS <=
           func_register_room(func, func->num_warps);
}

/* Has an SM shared memory for one such CTA alone? Then nobody else multiplies while this one
 * computes. Where it has for two, registers may let two in only as long as one sum is in flight. */
static bool is_alone(const Rotation *r) {
    Func *func = r->body->func;
    const Target *target = target_by_capability(func->capability);
    PtrSet none = {.arena = r->arena};
    int64_t programs = func->programs_per_cta > 1 ? func->programs_per_cta : 1;
    int64_t bytes = shared_bytes_beside(func, &none) * programs;
    int32_t threads = (int32_t)(func->num_warps * programs * TARGET_WARP_SIZE);
    return target && bytes <= target->shared_per_block &&
           target_occupancy(target, 0, threads, (int32_t)bytes).ctas == 1;
}

/* Is what the first product reads copied early enough, or can it be? NULL: yes. */
static const char *why_late(Rotation *r) {
    if (find_copies(r))
        return NULL;
    if (!is_alone(r))
        return "copies that are read an iteration early take three stages where an SM has room for "
               "another program";
    r->ahead = (Ahead){.arena = r->arena,
                       .loop = r->loop,
                       .full = op_in(op_in(r->wait, 0)->def, 0),
                       .slot = r->slot,
                       .first = op_in(op_in(r->first, 1)->def, 0),
                       .second = op_in(op_in(r->second, 1)->def, 0)};
    r->runs_ahead = rotate_may_run_ahead(&r->ahead);
    return r->runs_ahead ? NULL : "copies that are read an iteration early take three stages";
}

/* Why not; NULL: it can be rotated. */
static const char *analyse(Rotation *r) {
    if (!find_wait(r))
        return "what they read is not all brought by tensor copies";
    if (!is_started_alone(r))
        return "the first one takes what the loop computes";
    if (!find_sum(r))
        return "the sum of the second one is used between the products";
    if (!fits_registers(r))
        return "a thread has too few registers for both";
    return why_late(r);
}

/* Rewriting */

/* The first product of an iteration, where `on`, once what it reads has landed. */
static Value *start(const Rotation *r, Builder *b, Value *on, Value *slot, int64_t ahead,
                    Value *parity, bool in_flight) {
    const Op *first = r->first;
    Value *full = op_in(op_in(r->wait, 0)->def, 0), *ring = op_in(op_in(first, 1)->def, 0);
    b->span = r->wait->span;
    build_mbarrier_wait(b, build_local_view(b, full, slot, ahead), parity, on);
    b->span = first->span;
    return build_wgmma(b, op_in(first, 0), build_local_view(b, ring, slot, ahead), op_in(first, 2),
                       on, wgmma_attrs(first)->transposed, in_flight, in_flight);
}

static Value *start_first(const Rotation *r) {
    Builder b = builder_before(r->loop);
    b.span = r->first->span;
    Value *runs = build_cmpi(&b, op_in(r->loop, 0), op_in(r->loop, 1), IPRED_SLT);
    const uint32_t inits = FOR_FIXED_OPERANDS - 1; /* the index has none */
    Value *slot = op_in(r->loop, inits + r->slot->index);
    Value *parity = op_in(r->loop, inits + op_in(r->wait, 1)->index);
    return start(r, &b, runs, slot, 0, parity, false);
}

static Value *start_next(const Rotation *r) {
    Builder b = builder_before(r->second);
    b.span = r->first->span;
    Value *left = build_subi(&b, op_in(r->loop, 1), &r->body->args[0]);
    Value *on = build_cmpi(&b, left, op_in(r->loop, 2), IPRED_UGT);
    Value *parity = op_in(r->body->last, op_in(r->wait, 1)->index - 1);
    return start(r, &b, on, r->slot, 1, parity, true);
}

/* Waits for a sum in flight; whoever used it takes what was waited for. */
static Op *wait_for_all(Builder *b, Value *sum) {
    Value *waited = build_wgmma_wait(b, sum, 0);
    for (Use *use = sum->uses, *next; use; use = next) {
        next = use->next;
        if (use->user != waited->def)
            op_set_operand(use->user, (uint32_t)(use - use->user->in), waited);
    }
    return waited->def;
}

/* The sum is scaled and the operand rounded where the second product stands: at the end. */
static Op *move_second(Rotation *r) {
    Op *end = r->body->last;
    vec_for_each (op, &r->scaling)
        op_move_before(*op, end);
    Op *operand = op_in(r->second, 0)->def;
    bool alone = operand && operand->block == r->body && op_has(operand, ELEMENTWISE) &&
                 value_has_one_use(op_out(operand));
    if (alone)
        op_move_before(operand, end);
    op_move_before(r->second, end);
    Builder b = builder_before(r->scaling.len ? r->scaling.data[0] : alone ? operand : r->second);
    b.span = r->second->span;
    Value *sum = &r->body->args[r->sum];
    return wait_for_all(&b, sum);
}

/* Behind the loop, for those who want the sum; NULL: nobody does. */
static Op *wait_behind(const Rotation *r) {
    Value *sum = &r->loop->out[r->sum - 1];
    if (value_unused(sum))
        return NULL;
    Builder b = builder_after(r->loop);
    b.span = r->second->span;
    return wait_for_all(&b, sum);
}

/* The copies of the first ring come first: they wait for less. */
static void run_ahead(Rotation *r) {
    r->later = rotate_run_ahead(&r->ahead);
    const Value *full[] = {r->ahead.full, r->later};
    r->copies.len = 0;
    for (int i = 0; i < 2; i++)
        block_for_each (op, r->body)
            if (brings(op, full[i]))
                vec_push(r->arena, &r->copies, op);
}

/* What the second product reads has landed too. */
static void wait_for_second(const Rotation *r) {
    Builder b = builder_before(r->second);
    b.span = r->wait->span;
    build_mbarrier_wait(&b, build_local_view(&b, r->later, r->slot, 0), op_in(r->wait, 1), NULL);
}

static void rotate(Rotation *r) {
    Op *loop = r->loop, *end = r->body->last;
    Drift drift = {.loop = loop, .full = op_in(op_in(r->wait, 0)->def, 0)};
    uint32_t slot = r->slot->index, parity = op_in(r->wait, 1)->index;
    if (r->runs_ahead)
        run_ahead(r);
    Value *begun = start_first(r);
    drift.waited = move_second(r);
    if (r->runs_ahead)
        wait_for_second(r);
    Value *next = start_next(r);
    struct wgmma_attrs *second = wgmma_attrs(r->second);
    second->in_flight = second->beside = true;
    vec_for_each (copy, &r->copies)
        op_move_before(*copy, end);
    op_remove(r->wait);
    Builder b = builder_before(end);
    b.span = r->first->span;
    Value *done = build_wgmma_wait(&b, next, 1);
    op_add_operand(end, done);
    op_add_operand(loop, begun);
    op_add_result(loop, begun->type);
    rewrite_replace(r->first, block_add_arg(r->body, begun->type));
    drift.slot = &r->body->args[slot];
    drift.parity = &r->body->args[parity];
    drift.behind = wait_behind(r);
    drift.later = r->later;
    drift.begun = begun->def;
    drift.next = next->def;
    drift.done = done->def;
    drift.last = r->second;
    if (!rotate_release(&drift))
        return;
    Ctx *ctx = func_ctx(loop->block->func);
    if (rotate_turns(&drift))
        ctx_diag(ctx, next->def->span, warpgroups_take_turns);
    else
        ctx_diag(ctx, next->def->span, warpgroups_drift);
}

static bool visit_loop(Op *loop, void *user) {
    Ctx *ctx = func_ctx(loop->block->func);
    Rotation r = {.loop = loop, .body = loop->regions[0], .arena = &ctx->scratch};
    if ((op_flags(loop) & LOOP_FEW) || !find_products(&r) || !is_chain(&r))
        return false;
    const char *why_not = analyse(&r);
    if (why_not) {
        ctx_diag(ctx, r.first->span, dots_not_rotated, why_not);
        return false;
    }
    ctx_diag(ctx, r.first->span, dots_rotated);
    rotate(&r);
    return true;
}

bool pass_rotate_dots(Func *func) {
    ArenaMark mark = arena_mark(&func_ctx(func)->scratch);
    bool changed = loops_inside_out(func->body, visit_loop, NULL);
    if (changed)
        eliminate_dead(func);
    arena_rewind(&func_ctx(func)->scratch, mark);
    return changed;
}
