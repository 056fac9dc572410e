/* pipeline-loads, recurrences over time: branches of the body that do nothing but load.
 *
 *     %o = if %later {                           %a = load %p, .., where %later
 *         %a = load %p                           %b = load %q, .., where not %later
 *         yield %a                       =>      %o = select %later, %a, %b
 *     } else {
 *         %b = load %q
 *         yield %b
 *     }
 *
 * A loop whose last iteration begins with a state from elsewhere has such a branch. Its loads are
 * as good as others: they can come ahead, and what is masked off reads no memory. */
#include "passes/rewrite.h"
#include "passes/schedule/pipeline_loads.h"

enum { MOST_OPS = 16 /* of a region */ };

/* Loads, and what computes their addresses and what they yield. */
static bool may_run_always(const Pipelined *p, const Block *block, int *loads) {
    int ops = 0;
    block_for_each (op, block) {
        if (op_has(op, TERMINATOR))
            continue;
        bool load = op->code == OP_load && pipeline_is_line(p, op);
        bool pure = op_is_pure(op) && !op->nregions && op->code != OP_dot && !op_has(op, MAY_TRAP);
        if ((!load && !pure) || ++ops > MOST_OPS)
            return false;
        *loads += load;
    }
    return true;
}

static bool only_loads(const Pipelined *p, const Op *branch) {
    int loads = 0;
    for (uint32_t i = 0; i < branch->nout; i++)
        if (branch->out[i].type->kind != TYPE_NUMBER)
            return false;
    return may_run_always(p, branch->regions[0], &loads) &&
           may_run_always(p, branch->regions[1], &loads) && loads > 0;
}

static Value *mapped(const ValueMap *map, Value *value) {
    Value *to = value_map_get(map, value);
    return to ? to : value;
}

/* The load, where `on`. */
static Value *load_where(Builder *b, const Op *load, const ValueMap *map, Value *on) {
    Value *ptr = mapped(map, op_in(load, 0));
    Value *mask = load->nin > 1 ? mapped(map, op_in(load, 1)) : NULL;
    Value *other = load->nin > 2 ? mapped(map, op_in(load, 2)) : NULL;
    if (type_is_tile(ptr->type))
        on = build_splat(b, on, type_with_element(b->ctx, ptr->type, TYPE_NUMBER, DT_I1));
    mask = mask ? build_andi(b, mask, on) : on;
    return build_load(b, ptr, mask, other, load_attrs(load)->cache, load_attrs(load)->evict, false,
                      load_attrs(load)->width, false, false, false, 0);
}

static void clone_where(Builder *b, const Block *block, ValueMap *map, Value *on) {
    block_for_each (op, block) {
        b->span = op->span;
        if (op->code == OP_load)
            value_map_set(map, op_out(op), load_where(b, op, map, on));
        else if (!op_has(op, TERMINATOR))
            op_clone(b, op, map);
    }
}

static void flatten(const Pipelined *p, Op *branch) {
    Builder b = builder_before(branch);
    b.span = branch->span;
    Value *on = op_in(branch, 0);
    Value *off = build_xori(&b, on, build_constant_int(&b, 1, on->type));
    ValueMap *map = value_map_create(p->arena);
    clone_where(&b, branch->regions[0], map, on);
    clone_where(&b, branch->regions[1], map, off);
    b.span = branch->span;
    for (uint32_t i = 0; i < branch->nout; i++) {
        Value *first = mapped(map, op_in(branch->regions[0]->last, i));
        Value *second = mapped(map, op_in(branch->regions[1]->last, i));
        value_replace(&branch->out[i], build_select(&b, on, first, second));
    }
    op_remove(branch);
}

/* Are the other loads lines too? Else nothing will come ahead, and a branch costs less. */
static bool all_are_lines(const Pipelined *p) {
    block_for_each (op, p->body)
        if (op->code == OP_load && !pipeline_is_line(p, op))
            return false;
    return true;
}

bool pipeline_flatten_branches(const Pipelined *p) {
    bool changed = false;
    if (!all_are_lines(p))
        return false;
    block_for_each_safe (op, p->body) {
        if (op->code != OP_if || !only_loads(p, op))
            continue;
        flatten(p, op);
        changed = true;
    }
    return changed;
}
