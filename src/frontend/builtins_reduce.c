/* Reductions and scans. */
#include "frontend/builtins.h"

/* The tiles to combine: one, or a tuple of several of one shape. */
static bool call_inputs(Call *call, Val *items, uint32_t *count) {
    Elab *e = call->e;
    Val given = call->args[0];
    const Val *from = given.kind == VAL_TUPLE ? given.tuple.items : &call->args[0];
    *count = given.kind == VAL_TUPLE ? given.tuple.count : 1;
    if (*count == 0 || *count > MAX_PARAMS) {
        elab_fail(e, call->spans[0], elab_argument, call->builtin->name, "input",
                  "a tile or a tuple of tiles", elab_type_text(e, given));
        return false;
    }
    for (uint32_t i = 0; i < *count; i++) {
        items[i] = op_to_tensor(e, call->spans[0], from[i]);
        if (val_failed(items[i]))
            return false;
        if (!type_same_shape(val_ir_type(items[i]), val_ir_type(items[0]))) {
            elab_fail(e, call->spans[0], elab_reduce_shapes, call->builtin->name,
                      elab_type_text(e, items[0]), elab_type_text(e, items[i]));
            return false;
        }
        int64_t one = 1;
        if (!val_has_shape(items[i]))
            items[i] = op_broadcast_to(e, call->span, items[i], 1, &one);
    }
    return true;
}

static bool call_axis(Call *call, int rank, int *axis) {
    int64_t given;
    if (!call_int(call, 1, &given))
        return false;
    *axis = (int)(given < 0 ? given + rank : given);
    if (given >= -rank && given < rank)
        return true;
    elab_fail(call->e, call->spans[1], elab_axis, (long long)given, rank);
    return false;
}

/* Drops ops without use, such as tiles made only to look at their dtype. */
static void remove_dead(Block *block) {
    for (Op *op = block->last, *previous; op; op = previous) {
        previous = op->prev;
        bool used = !op_is_pure(op) || op_has(op, TERMINATOR);
        for (uint32_t i = 0; i < op->nout; i++)
            used |= !value_unused(&op->out[i]);
        if (!used)
            op_remove(op);
    }
}

static bool only_scalars(Call *call, Block *block) {
    Elab *e = call->e;
    for (Op *op = block->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->nout; i++) {
            if (op->out[i].type->rank == 0)
                continue;
            elab_fail(e, call->spans[2], elab_combine_tile, call->builtin->name);
            diag_note(&e->ctx->diags, op->span, "a tile is made here");
            elab_hint(e, "the function works on scalars: use scalar constants and arithmetic only");
            return false;
        }
    }
    return true;
}

/* The region: the combine function inlined on two sets of scalars. */
static bool fill_region(Call *call, Op *op, const Val *inputs, uint32_t count) {
    Elab *e = call->e;
    Val args[2 * MAX_PARAMS];
    for (uint32_t i = 0; i < 2 * count; i++)
        args[i] = val_tile(&op->regions[0]->args[i], inputs[i % count].tile.scalar);
    Builder outer = e->builder;
    e->builder = builder_at_end(op->regions[0]);
    e->builder.span = outer.span;
    Val result = elab_call_values(e, call->span, call->args[2], args, 2 * count);
    Value *values[MAX_PARAMS];
    bool ok = !val_failed(result);
    const Val *parts = result.kind == VAL_TUPLE ? result.tuple.items : &result;
    uint32_t n = result.kind == VAL_TUPLE ? result.tuple.count : 1;
    bool same = ok && n == count;
    for (uint32_t i = 0; i < count && same; i++) {
        same = val_is_tile(parts[i]) && scalar_equal(parts[i].tile.scalar, inputs[i].tile.scalar) &&
               !val_has_shape(parts[i]);
        values[i] = same ? parts[i].tile.ir : NULL;
    }
    if (same)
        build_yield(&e->builder, count, values);
    e->builder = outer;
    remove_dead(op->regions[0]);
    if (ok && !only_scalars(call, op->regions[0]))
        return false;
    if (ok && !same) {
        uint32_t bad = 0;
        while (n == count && bad + 1 < n && val_is_tile(parts[bad]) &&
               scalar_equal(parts[bad].tile.scalar, inputs[bad].tile.scalar))
            bad++;
        elab_fail(e, call->spans[2], elab_combine, call->builtin->name,
                  scalar_text(e->arena, inputs[bad].tile.scalar),
                  n == count ? elab_type_text(e, parts[bad]) : elab_type_text(e, result));
        elab_hint(
            e, "the function takes two sets of the inputs' scalars and returns one such set; cast "
               "inside it with .to()");
    }
    return same;
}

static Val results_of(Call *call, Op *op, const Val *inputs, uint32_t count) {
    Val *items = ARENA_ARRAY(call->e->arena, Val, count);
    for (uint32_t i = 0; i < count; i++)
        items[i] = op_like(&op->out[i], inputs[i]);
    return call->args[0].kind == VAL_TUPLE ? val_tuple(items, count) : items[0];
}

static Val keep_dims(Call *call, Val result, int rank, int axis, bool all) {
    Elab *e = call->e;
    if (result.kind == VAL_TUPLE) {
        Val *items = ARENA_ARRAY(e->arena, Val, result.tuple.count);
        for (uint32_t i = 0; i < result.tuple.count; i++)
            items[i] = keep_dims(call, result.tuple.items[i], rank, axis, all);
        return val_tuple(items, result.tuple.count);
    }
    for (int i = 0; i < (all ? rank : 1); i++)
        result = op_expand_dims(e, result, all ? 0 : axis);
    return result;
}

static bool inputs_values(const Val *inputs, uint32_t count, Value **out) {
    for (uint32_t i = 0; i < count; i++)
        out[i] = inputs[i].tile.ir;
    return true;
}

Val builtin_reduce(Call *call) {
    Elab *e = call->e;
    Val inputs[MAX_PARAMS];
    uint32_t count;
    bool keep, all = val_missing(call->args[1]);
    if (!call_inputs(call, inputs, &count) || !call_flag(call, 3, &keep))
        return val_error();
    int rank = val_ir_type(inputs[0])->rank, axis = 0;
    if (!all && !call_axis(call, rank, &axis))
        return val_error();
    if (all) {
        for (uint32_t i = 0; i < count; i++) {
            int64_t numel = type_numel(val_ir_type(inputs[i]));
            inputs[i] = op_reshape(e, inputs[i], 1, &numel);
        }
    }
    Value *values[MAX_PARAMS];
    inputs_values(inputs, count, values);
    Op *op = build_reduce(&e->builder, count, values, axis, 0);
    if (!fill_region(call, op, inputs, count))
        return val_error();
    Val result = results_of(call, op, inputs, count);
    return keep ? keep_dims(call, result, rank, axis, all) : result;
}

Val builtin_scan(Call *call) {
    Elab *e = call->e;
    Val inputs[MAX_PARAMS];
    uint32_t count;
    bool reverse;
    int axis;
    if (!call_inputs(call, inputs, &count) || !call_flag(call, 3, &reverse) ||
        !call_axis(call, val_ir_type(inputs[0])->rank, &axis))
        return val_error();
    Value *values[MAX_PARAMS];
    inputs_values(inputs, count, values);
    Op *op = build_scan(&e->builder, count, values, axis, reverse, false);
    if (!fill_region(call, op, inputs, count))
        return val_error();
    return results_of(call, op, inputs, count);
}
