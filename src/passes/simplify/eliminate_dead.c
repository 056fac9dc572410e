/* Dead code: marks what effects need, removes the rest.
 *
 * An op with effects is needed, its operands are, and so are the loops and branches around it. A
 * carried value is needed where its result or argument is: only then are its initial value and what
 * the region passes on. So a value that only feeds itself around a loop is not needed.
 *
 *     %r:2 = for %i = %lo, %hi, %step (%a = %x, %n = %z) {     %r = for .. (%a = %x) {
 *         %m = addi %n, %one                              =>       ..
 *         ..                                                       yield %b
 *         yield %b, %m                                         }
 *     }                    (second result not used) */
#include "passes/simplify/simplify.h"
#include "support/vec.h"

typedef struct Dead {
    Arena *arena;
    bool *live;    /* by Value.id */
    PtrSet needed; /* ops: for, while, if for their control; others for their effect or result */
    VEC(Value *) work;
    bool changed;
} Dead;

/* Ops that stay even if no one uses their results. Reads may go unless they are volatile. */
static bool has_own_effect(const Op *op) {
    uint32_t lasting = WRITES | LWRITES | SYNC;
    return op_has(op, lasting) || op_is_volatile(op);
}

static void mark_value(Dead *d, Value *value) {
    if (d->live[value->id])
        return;
    d->live[value->id] = true;
    vec_push(d->arena, &d->work, value);
}

static void mark_op(Dead *d, Op *op);

/* What decides whether and how often the regions of `op` run, and everything around it. */
static void mark_control(Dead *d, Op *op) {
    switch (op->code) {
    case OP_for:
        for (uint32_t i = 0; i < FOR_FIXED_OPERANDS; i++)
            mark_value(d, op_in(op, i));
        break;
    case OP_while:
        mark_value(d, op_in(op->regions[0]->last, 0));
        break;
    default: /* if */
        mark_value(d, op_in(op, 0));
        break;
    }
}

/* Every operand, and for a combining op what its region yields. */
static void mark_operands(Dead *d, Op *op) {
    for (uint32_t i = 0; i < op->nin; i++)
        mark_value(d, op_in(op, i));
    for (uint32_t i = 0; i < op->nregions; i++)
        mark_op(d, op->regions[i]->last);
}

/* Iterates outwards: an op in a region needs the ops around it. */
static void mark_op(Dead *d, Op *op) {
    for (; op && ptr_set_add(&d->needed, op); op = op->block->parent) {
        if (op->code == OP_yield && op_is_control(op->block->parent))
            continue;
        if (op_is_control(op))
            mark_control(d, op);
        else
            mark_operands(d, op);
    }
}

/* Carried value or result i of a control op, under all its names. */
static void mark_carried(Dead *d, Op *op, uint32_t i) {
    mark_op(d, op);
    mark_value(d, &op->out[i]);
    switch (op->code) {
    case OP_for:
        mark_value(d, op_in(op, FOR_FIXED_OPERANDS + i));
        mark_value(d, &op->regions[0]->args[i + 1]);
        mark_value(d, op_in(op->regions[0]->last, i));
        break;
    case OP_while:
        mark_value(d, op_in(op, i));
        mark_value(d, &op->regions[0]->args[i]);
        mark_value(d, op_in(op->regions[0]->last, i + 1));
        mark_value(d, &op->regions[1]->args[i]);
        mark_value(d, op_in(op->regions[1]->last, i));
        break;
    default: /* if */
        mark_value(d, op_in(op->regions[0]->last, i));
        mark_value(d, op_in(op->regions[1]->last, i));
        break;
    }
}

static void follow(Dead *d, Value *value) {
    Op *op = value->def ? value->def : value->owner->parent;
    if (!op)
        return; /* a parameter */
    if (!op_is_control(op)) {
        mark_op(d, op);
    } else if (value->def) {
        mark_carried(d, op, value->index);
    } else if (op->code == OP_for && value->index == 0) {
        mark_op(d, op);
    } else {
        mark_carried(d, op, value->index - (op->code == OP_for));
    }
}

static bool mark_effect(Op *op, void *user) {
    Dead *d = user;
    if (has_own_effect(op) || op->code == OP_return)
        mark_op(d, op);
    return true;
}

/* Sweeping */

static void sweep_block(Dead *d, Block *block);

/* Before the region is swept: what it passes on in vain. */
static void drop_passed_on(Dead *d, Op *op) {
    for (uint32_t region = 0; region < op->nregions; region++) {
        Op *terminator = op->regions[region]->last;
        uint32_t first = terminator->code == OP_condition;
        for (uint32_t i = op->nout; i-- > 0;)
            if (!d->live[op->out[i].id])
                op_remove_operand(terminator, first + i);
    }
}

static void drop_carried(Dead *d, Op *op) {
    uint32_t first_in = op->code == OP_for ? FOR_FIXED_OPERANDS : 0;
    uint32_t first_arg = op->code == OP_for;
    for (uint32_t i = op->nout; i-- > 0;) {
        if (d->live[op->out[i].id])
            continue;
        d->changed = true;
        if (op->code != OP_if) {
            for (uint32_t region = 0; region < op->nregions; region++)
                block_remove_arg(op->regions[region], first_arg + i);
            op_remove_operand(op, first_in + i);
        }
        op_remove_result(op, i);
    }
}

/* Users of a dead value are dead and come after it, so going backwards they are gone already. */
static void sweep_op(Dead *d, Op *op) {
    if (!ptr_set_has(&d->needed, op)) {
        op_remove(op);
        d->changed = true;
        return;
    }
    if (op_is_control(op))
        drop_passed_on(d, op);
    for (uint32_t i = op->nregions; i-- > 0;)
        sweep_block(d, op->regions[i]);
    if (op_is_control(op))
        drop_carried(d, op);
}

static void sweep_block(Dead *d, Block *block) {
    for (Op *op = block->last, *prev; op; op = prev) {
        prev = op->prev;
        if (!op_has(op, TERMINATOR))
            sweep_op(d, op);
    }
}

bool eliminate_dead(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    Dead d = {.arena = arena, .needed = {.arena = arena}};
    d.live = ARENA_ARRAY(arena, bool, func_number(func));
    func_walk(func, mark_effect, &d);
    while (d.work.len)
        follow(&d, d.work.data[--d.work.len]);
    sweep_block(&d, func->body);
    arena_rewind(arena, mark);
    return d.changed;
}
