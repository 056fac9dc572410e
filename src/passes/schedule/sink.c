/* sink: moves loads, and what widens their elements, down to where the result is first needed.
 *
 * Kernels load everything at the top. That is right while registers last: all loads are in flight
 * together. A program whose tiles do not fit them so pays with spills, or with fewer programs on an
 * SM, for values that wait through reductions: layernorm's weights are needed only once mean and
 * variance are known. So where more is alive at once in a thread than CROWDED_REGISTERS, each load
 * moves down to the first op that uses it, but never past a write, which it might see, nor into a
 * loop or branch. Writes move first, down to the next op with effects, and so give the loads above
 * them room; but none takes a tile along that would else be done with, unless those loads are as
 * large. Outside of loops a line, which takes few registers, does not move past products and
 * loops: memory would be waited for once more behind them. When that is enough for a large CTA, its
 * registers are limited so that an SM holds two.
 *
 * Needs: num_warps. Leaves the same ops in another order; ops with effects keep theirs, but loads
 * among themselves.
 *
 *     %w = load %pw                                    %m, .. = reduce %x ..
 *     %v = extf %w                                     %w = load %pw
 *     %m, .. = reduce %x ..                     =>     %v = extf %w
 *     store %pm, %m                                    %y = mulf %x, %v
 *     %y = mulf %x, %v                                 store %pm, %m
 *     store %py, %y                                    store %py, %y
 */
#include "ir/registers.h"
#include "passes/analysis/pressure.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

enum {
    CROWDED_REGISTERS = 64, /* of a thread, for tiles; below, loads early are worth more */
    SHARED_REGISTERS = 64,  /* a thread's limit that lets an SM hold two of the CTAs below */
    SHARED_LEAST_WARPS = 8,
    SHARED_MOST_WARPS = 16,
    FEW_REGISTERS = 2, /* of a thread: what a line takes */
};

static uint64_t registers_in_thread(const Func *func, uint64_t pressure) {
    return pressure / ((uint64_t)func->num_warps * TARGET_WARP_SIZE);
}

static bool is_line(const Func *func, const Type *type) {
    return registers_in_thread(func, pressure_of(type)) <= FEW_REGISTERS;
}

static bool may_sink(const Op *op) {
    if (op->code == OP_store)
        return true;
    if (op->nout != 1 || op->nregions || !type_is_tile(op->out[0].type))
        return false;
    if (op->code == OP_load)
        return !load_attrs(op)->is_volatile;
    return op_has(op, CONVERTS) && op->code != OP_truncf && type_is_float(op->out[0].type);
}

/* What `op` must not pass, whoever uses its result. */
static uint32_t blocking_effects(const Op *op) {
    if (op_has(op, WRITES))
        return READS | WRITES | SYNC;
    return op_has(op, READS) ? WRITES | SYNC : 0;
}

/* Takes as long as memory does, or longer. */
static bool is_long(const Op *op, const void *user) {
    return op->code == OP_dot || op_has(op, LOOP);
}

/* The ops of the block that take the value, in themselves or in their regions. */
static PtrSet users_in(Arena *arena, const Value *value, const Block *block) {
    PtrSet users = {.arena = arena};
    value_for_each_use (use, value) {
        Op *user = op_ancestor_in(use->user, block);
        if (user)
            ptr_set_add(&users, user);
    }
    return users;
}

/* Is there something long between the op and the first of its users? */
static bool is_behind_long(const Op *op, const PtrSet *users) {
    for (const Op *next = op->next; next && !ptr_set_has(users, next); next = next->next)
        if (op_any(next, is_long, NULL))
            return true;
    return false;
}

/* Where `op` goes: before the first op that needs its result, in itself or in its regions, or that
 * it must not pass. An op without effects or uses stays, and so does a line behind whose place
 * something long comes before what uses it. */
static Op *sink_place(Op *op) {
    Func *func = op->block->func;
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    PtrSet users = {0};
    if (op->nout)
        users = users_in(arena, op_out(op), op->block);
    uint32_t blocking = blocking_effects(op);
    bool stays = op->code == OP_load && !op_loop_around(op) && is_line(func, op_out(op)->type) &&
                 is_behind_long(op, &users);
    Op *place = op->next;
    if (!stays && (users.len || op_has(op, WRITES)))
        while (!op_has(place, TERMINATOR) && !ptr_set_has(&users, place) &&
               !(op_effects(place) & blocking))
            place = place->next;
    arena_rewind(arena, mark);
    return place;
}

/* Whether the value is alive at `place` of the block without what stands in front of it: an op from
 * there on takes it, in itself or in its regions, or it comes from outside of the block. */
static bool is_alive_at(const Value *value, const Op *place) {
    if (value_block(value) != place->block)
        return true;
    Arena *arena = &func_ctx(place->block->func)->scratch;
    ArenaMark mark = arena_mark(arena);
    PtrSet users = users_in(arena, value, place->block);
    while (place && !ptr_set_has(&users, place))
        place = place->next;
    arena_rewind(arena, mark);
    return place;
}

/* Whether what a store puts into memory is there at `place` without it, or hardly takes room. Of a
 * conversion that is what it is made of. */
static bool keeps_little(const Op *store, const Op *place) {
    const Value *value = op_in(store, 1);
    const Op *def = value->def;
    return !type_is_tile(value->type) || is_line(place->block->func, value->type) ||
           is_alive_at(value, place) ||
           (def && op_has(def, CONVERTS) && is_alive_at(op_in(def, 0), place));
}

/* Whether the value, or what it is widened to, is first needed behind `op`. */
static bool is_needed_behind(const Value *value, const Op *op) {
    value_for_each_use (use, value) {
        const Op *user = op_ancestor_in(use->user, op->block), *at = op;
        while (at && at != user)
            at = at->next;
        bool widens = user && op_has(user, CONVERTS) && may_sink(user);
        if (!at && !(widens && is_needed_behind(op_out(user), op)))
            return false;
    }
    return true;
}

/* What loads in front of the store bring that is first needed behind it: they may follow it. */
static uint64_t pressure_waiting(const Op *store) {
    uint64_t waiting = 0;
    block_for_each (op, store->block) {
        if (op == store)
            break;
        if (op->code == OP_load && may_sink(op) && is_needed_behind(op_out(op), store))
            waiting += pressure_of(op_out(op)->type);
    }
    return waiting;
}

/* Nothing but elementwise ops stands between: tiles are then computed and stored vector by vector
 * (codegen/llvm/schedule.c), and none is held. */
static bool is_streamed(const Op *store, const Op *place) {
    for (const Op *op = store->next; op != place; op = op->next)
        if (op->nregions || op->code == OP_dot)
            return false;
    return true;
}

/* `carried`: by stores that have moved already. */
static bool store_may_move(const Op *store, const Op *place, uint64_t *carried) {
    if (is_streamed(store, place) || keeps_little(store, place))
        return true;
    uint64_t pressure = *carried + pressure_of(op_in(store, 1)->type);
    if (pressure > pressure_waiting(store))
        return false;
    *carried = pressure;
    return true;
}

static bool sink_block(Block *block) {
    bool changed = false;
    uint64_t carried = 0;
    for (Op *op = block->last, *prev; op; op = prev) {
        prev = op->prev;
        for (uint32_t r = 0; r < op->nregions; r++)
            changed |= sink_block(op->regions[r]);
        if (!may_sink(op))
            continue;
        Op *place = sink_place(op);
        if (place == op->next || (op->code == OP_store && !store_may_move(op, place, &carried)))
            continue;
        op_move_before(op, place);
        changed = true;
    }
    return changed;
}

static uint64_t registers_of_thread(Func *func) {
    return registers_in_thread(func, pressure_most(func));
}

/* Accumulators of dots fill the registers whatever else is sunk. */
static void aim_at_registers(Func *func) {
    if (func->register_request || block_multiplies(func->body) ||
        func->num_warps < SHARED_LEAST_WARPS || func->num_warps > SHARED_MOST_WARPS ||
        registers_of_thread(func) > CROWDED_REGISTERS)
        return;
    func_lower_register_goal(func, SHARED_REGISTERS);
}

bool pass_sink(Func *func) {
    if (registers_of_thread(func) <= CROWDED_REGISTERS || !sink_block(func->body))
        return false;
    aim_at_registers(func);
    return true;
}
