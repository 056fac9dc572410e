/* Loops that wait for memory.
 *
 *     while tl.load(flag) == 0:          v = tl.load(flag)
 *         pass                           while v == 0:
 *                                            v = tl.load(flag)
 *
 * A load from a place that the loop does not move, on which it depends whether the loop goes on, is
 * about what others write meanwhile: another program, the host, or stores of the loop itself. It is
 * made in each iteration, as a volatile one. Else one load in front of the loop would do, and a
 * loop without effects that never ends be taken not to be there. */
#include "frontend/elaborate.h"
#include "support/ptrmap.h"

typedef struct Waits {
    Arena *arena;
    const Op *loop;
    PtrMap moved; /* values that may be others in each iteration, but for what is loaded */
    PtrMap asked; /* values on which it depends whether the loop goes on */
    VEC(Value *) pending;
    VEC(Op *) loads; /* of values that are asked for */
} Waits;

static void meet(Waits *w, PtrMap *met, Value *value) {
    if (ptrmap_get(met, value))
        return;
    ptrmap_set(met, value, value);
    vec_push(w->arena, &w->pending, value);
}

/* Forward: what is made of values that the loop carries */

static void move_all_of(Waits *w, Op *op) {
    for (uint32_t i = 0; i < op->nout; i++)
        meet(w, &w->moved, &op->out[i]);
    for (uint32_t r = 0; r < op->nregions; r++)
        for (uint32_t i = 0; i < op->regions[r]->nargs; i++)
            meet(w, &w->moved, &op->regions[r]->args[i]);
}

static void find_moved(Waits *w) {
    for (uint32_t r = 0; r < w->loop->nregions; r++)
        for (uint32_t i = 0; i < w->loop->regions[r]->nargs; i++)
            meet(w, &w->moved, &w->loop->regions[r]->args[i]);
    while (w->pending.len)
        value_for_each_use (use, w->pending.data[--w->pending.len]) {
            Op *user = op_has(use->user, TERMINATOR) ? use->user->block->parent : use->user;
            if (user != w->loop)
                move_all_of(w, user);
        }
}

/* Back: what the condition is made of */

static void ask_operands(Waits *w, const Op *op) {
    for (uint32_t i = 0; i < op->nin; i++)
        meet(w, &w->asked, op_in(op, i));
    for (uint32_t r = 0; r < op->nregions; r++)
        for (uint32_t i = 0; i < op->regions[r]->last->nin; i++)
            meet(w, &w->asked, op_in(op->regions[r]->last, i));
}

static void ask_behind_argument(Waits *w, const Value *arg) {
    const Op *op = arg->owner->parent;
    const Block *test = w->loop->regions[0], *body = w->loop->regions[1];
    if (arg->owner == test)
        meet(w, &w->asked, op_in(body->last, arg->index));
    else if (arg->owner == body)
        meet(w, &w->asked, op_in(test->last, arg->index + 1));
    else
        ask_operands(w, op);
}

static bool is_within(const Waits *w, const Value *value) {
    const Block *block = value->def ? value->def->block : value->owner;
    while (block->parent && block->parent != w->loop)
        block = block->parent->block;
    return block->parent == w->loop;
}

static void find_asked(Waits *w) {
    meet(w, &w->asked, op_in(w->loop->regions[0]->last, 0));
    while (w->pending.len) {
        Value *value = w->pending.data[--w->pending.len];
        if (!is_within(w, value))
            continue;
        if (!value->def) {
            ask_behind_argument(w, value);
            continue;
        }
        ask_operands(w, value->def);
        if (value->def->code == OP_load || value->def->code == OP_load_block)
            vec_push(w->arena, &w->loads, value->def);
    }
}

static bool stays(const Waits *w, const Op *load) {
    uint32_t places = load->code == OP_load ? 1 : load->nin;
    for (uint32_t i = 0; i < places; i++)
        if (ptrmap_get(&w->moved, op_in(load, i)))
            return false;
    return true;
}

void elab_mark_waits(Elab *e, Op *loop) {
    Waits w = {.arena = e->arena,
               .loop = loop,
               .moved = {.arena = e->arena},
               .asked = {.arena = e->arena}};
    find_asked(&w);
    if (!w.loads.len)
        return;
    find_moved(&w);
    vec_for_each (load, &w.loads)
        if (!stays(&w, *load))
            continue;
        else if ((*load)->code == OP_load)
            load_attrs(*load)->is_volatile = true;
        else
            load_block_attrs(*load)->is_volatile = true;
}
