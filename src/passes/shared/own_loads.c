/* own-loads: what a thread loads for its own stores alone, no other thread loads.
 *
 *     %x = load %p : i32                           %x = load %p {by_owner = true} : i32
 *     %sum = addi %sum0, %x                  =>    %sum = addi %sum0, %x
 *     store %p, %sum                               store %p, %sum
 *
 * A scalar, or a tile of fewer elements than threads, is held by several threads. All of them load
 * it, and the first of them, its owner, stores it. Where such a load and a store may be of one
 * place a barrier has to keep the others from loading what the owner has stored since, or before it
 * does: in a loop that counts in memory, twice an iteration. It need not be there if what the
 * others load is never looked at: the owner's own loads and stores are in order by themselves
 * (global_access.h), and one thread's are less work for the memory.
 *
 * Another thread's copy of a value is asked for by everything but what is listed here: operands of
 * stores and atomics, which the owner alone carries out (a result of an atomic goes from there to
 * all); and operands of elementwise ops, of loads, and values that loops and branches pass on, if
 * somebody asks for another thread's copy of what is made of them, in the same layout. Bounds and
 * conditions are asked for by all, so that threads go the same way. What the others have is
 * anything: neither may they divide by it, nor load where it says. So if one load is made by the
 * owner alone, all are of which nobody asks for more.
 *
 * In functions that write, through an argument or a pointer from elsewhere, where such a load may
 * read; and where such a load is a volatile one, whose result would else be handed round
 * (ir/scratch.h). Needs layouts; comes before place-barriers, which makes use of it. */
#include "ir/scratch.h"
#include "passes/analysis/pointer_origin.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/vec.h"

/* Where the carried values of a for loop begin: operands behind the bounds, arguments behind the
 * index. */
enum { FOR_INITS = 3, FOR_CARRIED = 1 };

/* Elements that a thread holds of such a tile at most: a barrier is little beside more accesses,
 * each of which would have a predicate of its own. */
enum { MOST_ELEMENTS = 4 };

typedef struct OwnLoads {
    Func *func;
    Arena *arena;
    PtrSet asked;         /* values of which copies of threads that are no owners are looked at */
    VEC(Value *) pending; /* of these, what they are made of has yet to be */
    VEC(Op *) loads;      /* that owners may make alone */
    VEC(Op *) writes;
} OwnLoads;

static void ask(OwnLoads *own, Value *value) {
    if (ptr_set_add(&own->asked, value))
        vec_push(own->arena, &own->pending, value);
}

static bool is_asm(const Op *op) {
    return op_has_attr(op, ATTR_NAME_asm_text);
}

static bool may_own(const OwnLoads *own, const Op *op) {
    return op->code == OP_load && !op_may_delay(op) &&
           type_repeating_threads(op->out[0].type, own->func->num_warps) != 0 &&
           (!type_is_tile(op->out[0].type) ||
            layout_owned_registers(op->out[0].type->layout) <= MOST_ELEMENTS);
}

static bool in_one_layout(const Op *op) {
    const Type *out = op->out[0].type;
    for (uint32_t i = 0; i < op->nin; i++) {
        const Type *in = op_in(op, i)->type;
        if (type_is_tile(in) != type_is_tile(out) ||
            (type_is_tile(in) && in->layout != out->layout))
            return false;
    }
    return true;
}

/* Each thread computes its copies of the results from its copies of the operands, and does nothing
 * that some of them might make go wrong. */
static bool is_by_thread(const OwnLoads *own, const Op *op) {
    if (may_own(own, op))
        return in_one_layout(op);
    return op->nout == 1 && op_is_pure(op) && op_has(op, ELEMENTWISE | HINT) &&
           !op_has(op, MAY_TRAP) && !is_asm(op) && in_one_layout(op);
}

/* The op that yields from the region, if what it yields is known to be its results. */
static Op *passed_on_by(const Op *yield) {
    Op *parent = yield->code == OP_yield ? yield->block->parent : NULL;
    return parent && (parent->code == OP_for || parent->code == OP_if) ? parent : NULL;
}

/* Does the op ask for operand `i` of all threads, whatever is asked of its results? */
static bool asks_all(const OwnLoads *own, const Op *op, uint32_t i) {
    if (op_is_pointer_access(op) && op_has(op, WRITES))
        return false;
    if (op->code == OP_for)
        return i < FOR_INITS;
    return !passed_on_by(op) && !is_by_thread(own, op);
}

static bool note(Op *op, void *user) {
    OwnLoads *own = user;
    for (uint32_t i = 0; i < op->nin; i++)
        if (asks_all(own, op, i))
            ask(own, op_in(op, i));
    if (may_own(own, op) && in_one_layout(op))
        vec_push(own->arena, &own->loads, op);
    if (op_has(op, WRITES) && !op_has(op, SYNC | SAYS))
        vec_push(own->arena, &own->writes, op);
    return true;
}

static void ask_carried(OwnLoads *own, Op *loop, uint32_t i) {
    Block *body = loop->regions[0];
    ask(own, op_in(loop, FOR_INITS + i));
    ask(own, &body->args[FOR_CARRIED + i]);
    ask(own, op_in(body->last, i));
    ask(own, &loop->out[i]);
}

static void ask_behind(OwnLoads *own, Value *value) {
    Op *op = value->def;
    Op *loop = op ? op : value->owner->parent;
    if (!op && !(loop && loop->code == OP_for))
        return; /* what others pass on was asked for */
    uint32_t i = value->index;
    if (loop->code == OP_for && (op || i >= FOR_CARRIED)) {
        ask_carried(own, loop, op ? i : i - FOR_CARRIED);
    } else if (op && op->code == OP_if) {
        for (int region = 0; region < 2; region++)
            ask(own, op_in(op->regions[region]->last, i));
    } else if (op && is_by_thread(own, op)) {
        for (uint32_t k = 0; k < op->nin; k++)
            ask(own, op_in(op, k));
    }
}

/* The function may write where the load reads. */
static bool may_be_written(const OwnLoads *own, const Op *load) {
    const Value *origin = pointer_origin(op_in(load, 0));
    vec_for_each (write, &own->writes) {
        bool somewhere = op_is_pointer_access(*write);
        const Value *written = somewhere ? pointer_origin(op_in(*write, 0)) : NULL;
        if (origins_meet(own->func, origin, written))
            return true;
    }
    return false;
}

static bool pays(const OwnLoads *own) {
    vec_for_each (load, &own->loads)
        if (op_scratch_bytes(*load, own->func->num_warps) || may_be_written(own, *load))
            return true;
    return false;
}

static void keep_unasked(OwnLoads *own) {
    size_t kept = 0;
    for (size_t i = 0; i < own->loads.len; i++)
        if (!ptr_set_has(&own->asked, op_out(own->loads.data[i])))
            own->loads.data[kept++] = own->loads.data[i];
    own->loads.len = kept;
}

static bool mark(const OwnLoads *own) {
    bool changed = false;
    vec_for_each (load, &own->loads) {
        changed |= !load_attrs(*load)->by_owner;
        load_attrs(*load)->by_owner = true;
    }
    return changed;
}

static bool is_scalar(const Type *type) {
    return type->kind != TYPE_BUFFER && !type_is_tile(type);
}

/* Has no tile, and does nothing that is to be done once for every thread. */
static bool suits_one_thread(Op *op, void *user) {
    bool suits = !is_asm(op) && !op_has(op, LREADS | LWRITES) &&
                 (!op->nregions || op_has(op, LOOP) || op->code == OP_if);
    *(bool *)user |= op_has(op, READS | WRITES);
    for (uint32_t i = 0; i < op->nin; i++)
        suits &= is_scalar(op_in(op, i)->type);
    for (uint32_t i = 0; i < op->nout; i++)
        suits &= is_scalar(op->out[i].type);
    return suits;
}

bool pass_own_loads(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    if (func_producer(func) || func->one_thread) /* the producer has another owner */
        return false;
    bool acts = false;
    bool suits = !func->is_persistent && func_walk(func, suits_one_thread, &acts);
    func->one_thread = suits && acts;
    if (func->one_thread)
        return true;
    ArenaMark at = arena_mark(arena);
    OwnLoads own = {.func = func, .arena = arena, .asked = {.arena = arena}};
    func_walk(func, note, &own);
    while (own.pending.len)
        ask_behind(&own, own.pending.data[--own.pending.len]);
    keep_unasked(&own);
    bool changed = pays(&own) && mark(&own);
    arena_rewind(arena, at);
    return changed;
}
