/* Changing IR: operands, results, arguments, cloning, removing, moving.
 *
 * A use is an element of its op's operand array and linked into a list of its value, so an array
 * that moves takes its links along. */
#include "ir/build.h"
#include "support/ptrmap.h"

#include <assert.h>

/* Uses */

/* The use was copied to `to`: its neighbours in the list follow. */
static void use_moved(Use *to) {
    *to->link = to;
    if (to->next)
        to->next->link = &to->next;
}

/* The value was copied to `to`: its uses follow. */
static void value_moved(Value *to) {
    if (to->uses)
        to->uses->link = &to->uses;
    value_for_each_use (use, to)
        use->value = to;
}

void op_set_operand(Op *op, uint32_t index, Value *value) {
    assert(index < op->nin);
    use_unlink(&op->in[index]);
    use_link(&op->in[index], value);
}

void op_add_operand(Op *op, Value *value) {
    if (op->nin == ir_capacity(op->nin)) {
        Use *in = ARENA_ARRAY(&func_ctx(op->block->func)->arena, Use, ir_capacity(op->nin + 1));
        for (uint32_t i = 0; i < op->nin; i++) {
            in[i] = op->in[i];
            use_moved(&in[i]);
        }
        op->in = in;
    }
    Use *use = &op->in[op->nin++];
    *use = (Use){.user = op};
    use_link(use, value);
}

void op_remove_operand(Op *op, uint32_t index) {
    assert(index < op->nin);
    use_unlink(&op->in[index]);
    op->nin--;
    for (uint32_t i = index; i < op->nin; i++) {
        op->in[i] = op->in[i + 1];
        use_moved(&op->in[i]);
    }
}

/* Appends a value to an array of results or arguments. */
static Value *values_add(Arena *arena, Value **values, uint32_t *count, Value value) {
    if (*count == ir_capacity(*count)) {
        Value *grown = ARENA_ARRAY(arena, Value, ir_capacity(*count + 1));
        for (uint32_t i = 0; i < *count; i++) {
            grown[i] = (*values)[i];
            value_moved(&grown[i]);
        }
        *values = grown;
    }
    value.index = *count;
    (*values)[*count] = value;
    return &(*values)[(*count)++];
}

static void values_remove(Value *values, uint32_t *count, uint32_t index) {
    assert(index < *count && value_unused(&values[index]));
    --*count;
    for (uint32_t i = index; i < *count; i++) {
        values[i] = values[i + 1];
        values[i].index = i;
        value_moved(&values[i]);
    }
}

Value *op_add_result(Op *op, const Type *type) {
    return values_add(&func_ctx(op->block->func)->arena, &op->out, &op->nout,
                      (Value){.type = type, .def = op});
}

void op_remove_result(Op *op, uint32_t index) {
    values_remove(op->out, &op->nout, index);
}

Value *block_add_arg(Block *block, const Type *type) {
    return values_add(&func_ctx(block->func)->arena, &block->args, &block->nargs,
                      (Value){.type = type, .owner = block});
}

void block_remove_arg(Block *block, uint32_t index) {
    values_remove(block->args, &block->nargs, index);
}

void value_replace(Value *from, Value *to) {
    Use *last = NULL;
    if (from == to)
        return;
    value_for_each_use (use, from) {
        use->value = to;
        last = use;
    }
    if (!last)
        return;
    last->next = to->uses;
    if (to->uses)
        to->uses->link = &last->next;
    to->uses = from->uses;
    to->uses->link = &to->uses;
    from->uses = NULL;
}

/* Places */

static void drop_uses(Op *op) {
    for (uint32_t i = 0; i < op->nin; i++)
        use_unlink(&op->in[i]);
    for (uint32_t i = 0; i < op->nregions; i++)
        block_for_each (inner, op->regions[i])
            drop_uses(inner);
}

void op_remove(Op *op) {
    for (uint32_t i = 0; i < op->nout; i++)
        assert(value_unused(&op->out[i]));
    drop_uses(op);
    op_unlink(op);
}

void op_move_before(Op *op, Op *place) {
    assert(op != place);
    op_unlink(op);
    op_link(op, place->block, place);
}

/* Cloning */

struct ValueMap {
    PtrMap values;
};

ValueMap *value_map_create(Arena *arena) {
    ValueMap *map = ARENA_NEW(arena, ValueMap);
    map->values.arena = arena;
    return map;
}

void value_map_set(ValueMap *map, const Value *from, Value *to) {
    ptrmap_set(&map->values, from, to);
}

Value *value_map_get(const ValueMap *map, const Value *from) {
    return ptrmap_get(&map->values, from);
}

static void map_values(ValueMap *map, const Value *from, Value *to, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        to[i].type = from[i].type;
        to[i].name = from[i].name;
        value_map_set(map, &from[i], &to[i]);
    }
}

/* The arguments and ops of `from` in the empty block `to`. */
static void clone_block(Block *to, const Block *from, ValueMap *map) {
    const Type **types = ARENA_ARRAY(&func_ctx(to->func)->arena, const Type *, from->nargs);
    for (uint32_t i = 0; i < from->nargs; i++)
        types[i] = from->args[i].type;
    block_set_args(to, from->nargs, types);
    map_values(map, from->args, to->args, from->nargs);
    Builder builder = builder_at_end(to);
    block_for_each (op, from)
        op_clone(&builder, op, map);
}

Op *op_clone(Builder *builder, const Op *op, ValueMap *map) {
    Ctx *ctx = builder->ctx;
    Value **in = ARENA_ARRAY(&ctx->arena, Value *, op->nin);
    for (uint32_t i = 0; i < op->nin; i++) {
        Value *mapped = value_map_get(map, op_in(op, i));
        in[i] = mapped ? mapped : op_in(op, i);
    }
    Op *copy = op_create(builder, op->code, op->nin, in, op->nout, NULL);
    copy->span = op->span;
    /* Strings and arrays in attributes are never changed, so copies share them. */
    op_copy_attrs(copy, op);
    map_values(map, op->out, copy->out, op->nout);
    for (uint32_t i = 0; i < op->nregions; i++)
        clone_block(copy->regions[i], op->regions[i], map);
    return copy;
}

Func *func_clone(const Func *func) {
    Ctx *ctx = func_ctx(func);
    Func *copy = ARENA_NEW(&ctx->arena, Func);
    *copy = *func;
    copy->next = NULL;
    copy->body = block_create(copy, NULL);
    clone_block(copy->body, func->body, value_map_create(&ctx->arena));
    return copy;
}
