/* skip-unseen: loops and products whose results nobody sees are not computed.
 *
 *     %r = for %lo, %hi, %s (..) {              %out = cmpi (extsi %m), %M {pred = sge}
 *         load; load; dot                       %begin = select %out, %hi, %lo
 *     }                                  =>     %r = for %begin, %hi, %s (..) { .. }
 *     store_block %p, %r, %M, .., %m            store_block %p, %r, %M, .., %m
 *
 * A launch may have more programs than a tensor has tiles: grids are made for the longest of
 * several sequences, or rounded up. Of those beyond the end the source masks what they store, and
 * they would load and multiply for nothing.
 *
 * A loop is one of them if it only loads, and what it gives ends, by way of ops that only load
 * either, in stores that are masked, but is no address on the way, no divisor and no bound: what it
 * carries at first need not be one. What is true where a mask is off for all elements is told from
 * scalars, by loop_bounds.h, or for blocks from where they begin. Where that holds of all stores
 * the loop begins where it ends; they stay, and write nothing. A mask that is partly understood
 * will do: `a and b` is off where a is. It is the begin that changes, which nobody asks for once
 * the loop runs (loop_first_index): the end is asked for in each iteration, and is mostly a
 * parameter, which takes no register.
 *
 * The condition is in the bound and not a branch around all: what copies run ahead of, and who
 * waits for them, follows from the bounds anyway, whatever passes make of the loop. Comes after
 * persist and order-programs, which ask whether programs have as many iterations as each other, and
 * after those that want bounds that are constant. Who needs as many iterations in all programs and
 * comes later may take it back (`flags` 64): nobody sees the difference.
 *
 * Where products stand in no loop, as those of short ones that were unrolled, or a loop goes on
 * with what was loaded before it (substitution row by row), and all that has effects is stores that
 * are masked, a branch goes around everything from the first op on that asks memory for something,
 * as where the source returns early: such a program ends at once.
 *
 *     %x = load ..                               if %out {
 *     %r = dot ..                          =>    } else {
 *     store_block %p, %r, %M, .., %m                 %x = load ..; %r = dot ..; store_block ..
 *     return                                     }
 *                                                return */
#include "passes/analysis/loop_bounds.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/simplify/simplify.h"
#include "support/ptrmap.h"
#include "support/vec.h"

enum {
    MAX_STORES = 8,
    MAX_PARTS = 32, /* of a mask; what two parts share counts for both */
};

typedef struct Unseen {
    Facts *facts;
    Arena *arena;
    Op *loop;      /* or the first op of what is skipped */
    PtrMap behind; /* the ops of its block from it on */
    Builder b;     /* in front of it */
    int parts;     /* of the mask that is looked at that may still be */
    const Op *stores[MAX_STORES];
    uint32_t store_count;
} Unseen;

/* Who sees what the loop gives */

static bool is_no_load(const Op *op, const void *user) {
    return op->code == OP_while || op_is_volatile(op) ||
           op_has(op, WRITES | LREADS | LWRITES | SYNC);
}

/* Loads at most, and comes to an end. */
static bool only_loads(const Op *op) {
    return !op_any(op, is_no_load, NULL);
}

static bool add_store(Unseen *u, const Op *store) {
    if (u->store_count == MAX_STORES)
        return false;
    u->stores[u->store_count++] = store;
    return true;
}

/* Everything that depends on the results of `op` and has effects is one of `stores`. */
static bool collect_stores(Unseen *u, PtrSet *seen, Op *op) {
    for (uint32_t i = 0; i < op->nout; i++)
        value_for_each_use (use, &op->out[i]) {
            Op *user = op_ancestor_in(use->user, u->loop->block);
            if (!user || op_has(user, TERMINATOR))
                return false;
            if (!ptr_set_add(seen, user))
                continue;
            if (op_only_writes(user) ? !add_store(u, user)
                                     : !only_loads(user) || !collect_stores(u, seen, user))
                return false;
        }
    return true;
}

/* What a program whose loops were skipped would do with initial values in their results' place */

typedef VEC(Value *) Values;

static bool goes_on_at(const Op *op, const Value *end) {
    return op->code == OP_for && (op_flags(op) & LOOP_GOES_ON) && op_in(op, 0) == end;
}

/* Loops that end where they begin whenever this one does. */
static PtrSet loops_of_chain(const Unseen *u, const Op *loop) {
    PtrSet chain = {.arena = u->arena};
    const Value *end = op_in(loop, 1);
    for (const Op *op = loop->next; op; op = op->next)
        if (goes_on_at(op, end)) {
            ptr_set_add(&chain, op);
            end = op_in(op, 1);
        }
    return chain;
}

/* Would another value be an address that there is not, or make the op trap, or run for long? What
 * stores are masked off touches nothing. */
static bool relies_on(const Op *op, uint32_t operand) {
    enum { OTHER = 2 };
    if (op_is_load(op))
        return op->code != OP_load || operand != OTHER;
    if (op->code == OP_for)
        return operand < FOR_FIXED_OPERANDS;
    if (op->code == OP_if)
        return op_effects(op) & READS;
    return op_contains(op, MAY_TRAP);
}

static void follow(const Unseen *u, Values *pending, PtrSet *seen, Value *value) {
    if (ptr_set_add(seen, value))
        vec_push(u->arena, pending, value);
}

/* What becomes of operand `i`. */
static void follow_use(const Unseen *u, Values *pending, PtrSet *seen, const PtrSet *chain, Op *op,
                       uint32_t i) {
    Op *passed_to = op_has(op, TERMINATOR) ? op->block->parent : op->code == OP_for ? op : NULL;
    if (!passed_to || (passed_to->code != OP_for && passed_to->code != OP_if)) {
        for (uint32_t k = 0; k < op->nout; k++)
            follow(u, pending, seen, &op->out[k]);
        return;
    }
    uint32_t number = passed_to == op ? i - FOR_FIXED_OPERANDS : i;
    follow(u, pending, seen, &passed_to->out[number]);
    if (passed_to->code == OP_for && !ptr_set_has(chain, passed_to))
        follow(u, pending, seen, &passed_to->regions[0]->args[1 + number]);
}

/* May what follows the loop have what it carries at first in the place of its results? */
static bool may_give_initial(const Unseen *u, Op *loop) {
    const PtrSet chain = loops_of_chain(u, loop);
    PtrSet seen = {.arena = u->arena};
    Values pending = {0};
    for (uint32_t i = 0; i < loop->nout; i++)
        follow(u, &pending, &seen, &loop->out[i]);
    while (pending.len)
        value_for_each_use (use, pending.data[--pending.len]) {
            uint32_t operand = (uint32_t)(use - use->user->in);
            if (relies_on(use->user, operand))
                return false;
            follow_use(u, &pending, &seen, &chain, use->user, operand);
        }
    return true;
}

/* Scalars in front of the loop */

static void note_behind(Unseen *u) {
    u->behind = (PtrMap){.arena = u->arena};
    for (Op *op = u->loop; op; op = op->next)
        ptrmap_set(&u->behind, op, op);
}

/* The value is there when the loop begins. */
static bool is_there(const Unseen *u, const Value *value) {
    return !value->def || !ptrmap_get(&u->behind, value->def);
}

/* The value is there when the loop begins, or can be computed by then. */
static bool can_come_before(const Unseen *u, const Value *value, int depth) {
    const Op *op = value->def;
    if (is_there(u, value))
        return true;
    if (!depth || !op_is_pure(op) || op->nregions || value->type->rank)
        return false;
    for (uint32_t i = 0; i < op->nin; i++)
        if (!can_come_before(u, op_in(op, i), depth - 1))
            return false;
    return true;
}

static bool is_early(const Unseen *u, const Value *value) {
    enum { DEPTH = 8 };
    return can_come_before(u, value, DEPTH);
}

static void bring_before(Unseen *u, const Value *value) {
    Op *op = value->def;
    if (is_there(u, value))
        return;
    for (uint32_t i = 0; i < op->nin; i++)
        bring_before(u, op_in(op, i));
    op_move_before(op, u->loop);
    ptrmap_set(&u->behind, op, NULL);
}

/* Conditions: an i1 that is only true where nothing is stored. Each function answers whether one is
 * known, and builds it in front of the loop if there is a place for it, `off`. */

static void either(Unseen *u, Value **off, Value *condition) {
    *off = *off ? build_ori(&u->b, *off, condition) : condition;
}

static void both(Unseen *u, Value **off, Value *condition) {
    *off = *off ? build_andi(&u->b, *off, condition) : condition;
}

static bool bound_is_early(const Unseen *u, const LoopBound *bound) {
    for (int k = 0; k < bound->sum.count; k++)
        if (bound->sum.index || !is_early(u, bound->sum.terms[k].value))
            return false;
    return true;
}

static Value *bound_holds(Unseen *u, const LoopBound *bound) {
    for (int k = 0; k < bound->sum.count; k++)
        bring_before(u, bound->sum.terms[k].value);
    Value *slack = loop_bound_slack(&u->b, bound);
    return build_cmpi(&u->b, slack, rewrite_int(&u->b, slack->type, 0), IPRED_SGE);
}

/* All elements of a comparison are false. */
static bool comparison_is_off(Unseen *u, Value *mask, Value **off) {
    LoopBounds bounds = {.facts = u->facts, .loop = u->loop};
    if (!loop_bounds_add(&bounds, mask, false) || bounds.impossible || !bounds.bound_count)
        return false;
    for (int i = 0; i < bounds.bound_count; i++)
        if (!bound_is_early(u, &bounds.bounds[i]))
            return false;
    for (int i = 0; off && i < bounds.bound_count; i++)
        both(u, off, bound_holds(u, &bounds.bounds[i]));
    return true;
}

/* One side of an `and` is enough, if it is known, of an `or` both are needed. */
static bool mask_is_off(Unseen *u, Value *mask, Value **off) {
    const Op *op = mask->def;
    if (!op || u->parts-- <= 0)
        return false;
    if (op_has(op, MOVES) && op->nin == 1)
        return mask_is_off(u, op_in(op, 0), off);
    if (op->code == OP_cmpi)
        return comparison_is_off(u, mask, off);
    if (op->code != OP_andi && op->code != OP_ori)
        return false;
    Value *a = NULL, *b = NULL;
    bool a_known = mask_is_off(u, op_in(op, 0), off ? &a : NULL);
    bool b_known = mask_is_off(u, op_in(op, 1), off ? &b : NULL);
    bool known = op->code == OP_andi ? a_known || b_known : a_known && b_known;
    if (!off || !known)
        return known;
    if (a)
        *off = a;
    if (b && op->code == OP_andi)
        either(u, off, b);
    else if (b)
        both(u, off, b);
    return true;
}

/* Whether it can be told along this dimension that the block begins behind the tensor's end. */
static bool tells_outside(const Unseen *u, const Op *store, const BlockAccess *access, int d) {
    const Value *extent = op_in(store, access->shape + (uint32_t)d);
    const Value *begin = op_in(store, access->offsets + (uint32_t)d);
    return block_checks(access, d) && is_early(u, extent) && is_early(u, begin) &&
           !value_is_int(begin, 0);
}

/* The block begins behind the end of its tensor. */
static bool block_is_outside(Unseen *u, const Op *store, Value **off) {
    BlockAccess access = block_access(store);
    const Type *type = type_scalar(func_ctx(store->block->func), DT_I64);
    bool known = false;
    for (int d = 0; d < access.rank; d++) {
        if (!tells_outside(u, store, &access, d))
            continue;
        known = true;
        if (!off)
            continue;
        Value *extent = op_in(store, access.shape + (uint32_t)d);
        Value *begin = op_in(store, access.offsets + (uint32_t)d);
        bring_before(u, extent);
        bring_before(u, begin);
        Value *wide = begin->type == type ? begin : build_extsi(&u->b, begin, type);
        either(u, off, build_cmpi(&u->b, wide, extent, IPRED_SGE));
    }
    return known;
}

static bool is_not_stored(Unseen *u, const Op *store, Value **off) {
    Value *mask = op_mask(store);
    u->parts = MAX_PARTS;
    return op_has(store, BLOCK) ? block_is_outside(u, store, off)
                                : mask && mask_is_off(u, mask, off);
}

/* Whether the stores have masks that tell. */
static bool may_be_unseen(Unseen *u) {
    for (uint32_t i = 0; i < u->store_count; i++)
        if (!is_not_stored(u, u->stores[i], NULL))
            return false;
    return true;
}

/* Nothing is stored, where the stores have such masks. */
static Value *nothing_is_stored(Unseen *u) {
    Value *nothing = NULL;
    for (uint32_t i = 0; i < u->store_count; i++) {
        Value *off = NULL;
        is_not_stored(u, u->stores[i], &off);
        both(u, &nothing, off);
    }
    return nothing;
}

/* Loops */

/* Others do little where their loads are masked, which those of tiles beyond the end are. */
static bool is_candidate(const Op *op) {
    return op->code == OP_for && (op_effects(op) & READS) && only_loads(op) &&
           block_multiplies(op->regions[0]);
}

/* The end of the last loop of those that go on where `loop` ends whose end is there in front of it.
 */
static Value *last_end(const Unseen *u, const Op *loop) {
    Value *end = op_in(loop, 1);
    for (const Op *op = loop->next; op; op = op->next)
        if (goes_on_at(op, end) && is_there(u, op_in(op, 1)))
            end = op_in(op, 1);
    return end;
}

/* All begin and end at `last` where nobody sees them: each begins where the one before ends, which
 * passes look for. A loop whose end comes too late for that ends where it begins. */
static void begin_at_end(Unseen *u, Op *loop, Value *unseen) {
    Value *last = last_end(u, loop), *end = op_in(loop, 1);
    op_set_operand(loop, 0, build_select(&u->b, unseen, last, op_in(loop, 0)));
    for_attrs(loop)->flags |= LOOP_SKIPS;
    Value *new_end = end == last ? end : build_select(&u->b, unseen, last, end);
    op_set_operand(loop, 1, new_end);
    bool is_behind = end == last;
    for (Op *op = loop->next; op; op = op->next) {
        if (!goes_on_at(op, end))
            continue;
        Builder later = builder_before(op);
        later.span = op->span;
        end = op_in(op, 1);
        op_set_operand(op, 0, new_end);
        new_end = is_behind     ? build_select(&later, unseen, new_end, end)
                  : end == last ? end
                                : build_select(&u->b, unseen, last, end);
        op_set_operand(op, 1, new_end);
        is_behind |= end == last;
    }
}

static bool skip(Unseen *u, Op *loop) {
    if (!is_candidate(loop) || (op_flags(loop) & LOOP_GOES_ON))
        return false;
    u->loop = loop;
    u->store_count = 0;
    PtrSet seen = {.arena = u->arena};
    if (!collect_stores(u, &seen, loop) || !u->store_count)
        return false;
    note_behind(u);
    if (!may_be_unseen(u) || !may_give_initial(u, loop))
        return false;
    u->b = builder_before(loop);
    u->b.span = loop->span;
    begin_at_end(u, loop, nothing_is_stored(u));
    return true;
}

/* What stands in no loop with products */

/* The first op that a program need not come to; NULL: none. */
static Op *first_to_skip(const Func *func) {
    block_for_each (op, func->body)
        if (!op_has(op, TERMINATOR | SAYS) && (op->nregions || op_effects(op)))
            return op;
    return NULL;
}

/* Masked loads spare no work: products, and loops over what is there already. */
static bool is_work(const Op *op) {
    return op->code == OP_dot || (op->code == OP_for && !op_effects(op));
}

/* Everything from the first op on that asks memory for something and has effects is one of
 * `stores`, and masked loads do not spare the work. */
static bool collect_all(Unseen *u, Func *func) {
    bool works = false;
    u->loop = first_to_skip(func);
    u->store_count = 0;
    for (Op *op = u->loop; op; op = op->next) {
        works |= is_work(op);
        for (uint32_t i = 0; i < op->nregions; i++)
            if (block_multiplies(op->regions[i]))
                return false;
        if (op_only_writes(op)
                ? !add_store(u, op)
                : !op_has(op, TERMINATOR) && op->code != OP_barrier && !only_loads(op))
            return false;
    }
    return works && u->store_count;
}

/* A program whose stores are all off ends at once. */
static bool skip_all(Unseen *u, Func *func) {
    note_behind(u);
    if (!may_be_unseen(u))
        return false;
    u->b = builder_before(u->loop);
    u->b.span = func->span;
    Value *unseen = nothing_is_stored(u);
    Op *branch = build_if(&u->b, unseen, 0, NULL);
    Builder skipped = builder_at_end(branch->regions[0]), done = builder_at_end(branch->regions[1]);
    skipped.span = done.span = func->span;
    build_yield(&skipped, 0, NULL);
    Op *yield = build_yield(&done, 0, NULL);
    for (Op *op = branch->next, *next; !op_has(op, TERMINATOR); op = next) {
        next = op->next;
        op_move_before(op, yield);
    }
    return true;
}

typedef VEC(Op *) Loops;

static bool collect(Op *op, void *user) {
    Loops *loops = user;
    if (op->code == OP_for)
        vec_push(&func_ctx(op->block->func)->scratch, loops, op);
    return true;
}

bool pass_skip_unseen(Func *func) {
    Ctx *ctx = func_ctx(func);
    ArenaMark mark = arena_mark(&ctx->scratch);
    Loops loops = {0};
    func_walk(func, collect, &loops);
    Unseen u = {.arena = &ctx->scratch};
    bool all = !func->is_persistent && collect_all(&u, func);
    if (loops.len || all)
        u.facts = facts_compute(func, &ctx->scratch);
    bool changed = all && skip_all(&u, func);
    if (!changed)
        vec_for_each (loop, &loops)
            changed |= skip(&u, *loop);
    if (changed)
        eliminate_dead(func);
    arena_rewind(&ctx->scratch, mark);
    return changed;
}
