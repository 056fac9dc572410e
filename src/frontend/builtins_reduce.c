/* Reductions, scans and maps: ops with a function of single elements. */
#include "frontend/builtins.h"

enum { MAX_PACK = 64 };

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

/* The region is made of scalars, and does nothing but say things. `function`: the argument. */
static bool only_scalars(Call *call, int function, Block *block) {
    Elab *e = call->e;
    for (Op *op = block->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->nregions; i++)
            if (!only_scalars(call, function, op->regions[i]))
                return false;
        if (!op_has_only(op, 0) && !op_has(op, SAYS)) {
            elab_fail(e, call->spans[function], elab_combine_effect, call->builtin->name);
            diag_note(&e->ctx->diags, op->span, "memory is touched here, or others are met");
            elab_hint(e, "the function computes with what it is given; load before the call and "
                         "store behind it");
            return false;
        }
        for (uint32_t i = 0; i < op->nout; i++) {
            if (op->out[i].type->rank == 0)
                continue;
            elab_fail(e, call->spans[function], elab_combine_tile, call->builtin->name);
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
    if (ok && !only_scalars(call, 2, op->regions[0]))
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

/* tl.gather, whose operands std.tile has looked at. */
Val builtin_choose(Call *call) {
    Val src, index;
    int axis;
    if (!call_tile(call, 0, &src) || !call_tile(call, 2, &index) ||
        !call_axis(call, val_ir_type(src)->rank, &axis))
        return val_error();
    return op_like(build_gather(&call->e->builder, src.tile.ir, index.tile.ir, axis, 0), src);
}

/* tl.histogram, likewise. */
Val builtin_count(Call *call) {
    Elab *e = call->e;
    Val x;
    int64_t bins;
    if (!call_tile(call, 0, &x) || !call_int(call, 1, &bins) ||
        !shape_check(e, call->spans[1], 1, &bins))
        return val_error();
    const Type *type = type_get(e->ctx, TYPE_NUMBER, DT_I32, 1, &bins, NULL);
    return val_tile(build_histogram(&e->builder, x.tile.ir, type), scalar_number(ELEM_I32));
}

/* Maps */

/* A tile in `count` parts, of which part j has elements j, j + count, .. in row-major order. */
static void deal(Elab *e, Val v, uint32_t count, Val *parts, uint32_t step) {
    int64_t numel = type_numel(val_ir_type(v));
    if (count == 1) {
        parts[0] = op_reshape(e, v, 1, &numel);
        return;
    }
    int64_t pairs[2] = {numel / 2, 2};
    Val paired = op_reshape(e, v, 2, pairs);
    const Type *half = type_with_shape(e->ctx, val_ir_type(paired), 1, pairs),
               *types[2] = {half, half};
    Op *split = build_split(&e->builder, paired.tile.ir, 2, types);
    for (uint32_t i = 0; i < 2; i++)
        deal(e, op_like(&split->out[i], v), count / 2, parts + i * step, 2 * step);
}

/* The tile that deal() makes these of. */
static Val gather_parts(Elab *e, const Val *parts, uint32_t count, uint32_t step) {
    if (count == 1)
        return parts[0];
    Val even = gather_parts(e, parts, count / 2, 2 * step);
    Val odd = gather_parts(e, parts + step, count / 2, 2 * step);
    int64_t numel = 2 * type_numel(val_ir_type(even));
    Value *joined = build_join(&e->builder, even.tile.ir, odd.tile.ir);
    return op_reshape(e, op_like(joined, even), 1, &numel);
}

/* The inputs as run-time values of one shape. */
static bool map_inputs(Call *call, Val *inputs) {
    Elab *e = call->e;
    if (call->rest_count == 0 || call->rest_count > MAX_PARAMS) {
        elab_fail(e, call->span, elab_map_inputs, call->rest_count, MAX_PARAMS);
        return false;
    }
    for (uint32_t i = 0; i < call->rest_count; i++) {
        inputs[i] = op_to_tensor(e, call->spans[1], call->rest[i]);
        if (val_failed(inputs[i]))
            return false;
    }
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 1; i < call->rest_count; i++)
            if (!op_broadcast(e, call->spans[1], &inputs[0], &inputs[i]))
                return false;
    return true;
}

static bool map_pack(Call *call, Val input, int64_t *pack) {
    if (!call_int(call, 2, pack))
        return false;
    int64_t numel = type_numel(val_ir_type(input));
    if (*pack >= 1 && *pack <= MAX_PACK && !(*pack & (*pack - 1)) && *pack <= numel)
        return true;
    elab_fail(call->e, call->spans[2], elab_map_pack, (long long)*pack,
              (long long)(numel < MAX_PACK ? numel : MAX_PACK));
    return false;
}

/* What the function gives as run-time scalars, `pack` of one type one behind the other. */
static bool map_results(Call *call, Val result, int64_t pack, Val *parts, uint32_t *count) {
    Elab *e = call->e;
    const Val *given = result.kind == VAL_TUPLE ? result.tuple.items : &result;
    *count = result.kind == VAL_TUPLE ? result.tuple.count : 1;
    bool ok = *count && *count <= MAX_PARAMS * MAX_PACK && *count % pack == 0;
    for (uint32_t i = 0; i < *count && ok; i++) {
        ok = val_is_number(given[i]) || (val_is_tile(given[i]) && !val_has_shape(given[i]));
        if (ok)
            parts[i] = op_to_tensor(e, call->spans[0], given[i]);
        ok = ok && !val_failed(parts[i]) &&
             scalar_equal(parts[i].tile.scalar, parts[i - i % (uint32_t)pack].tile.scalar);
    }
    if (ok)
        return true;
    elab_fail(e, call->spans[0], elab_map_results, (long long)pack, elab_type_text(e, result));
    return false;
}

/* Fills the region with the function; `parts`: what it gives, as results of the op. */
static bool fill_map(Call *call, Op *op, const Val *inputs, int64_t pack, Val *parts,
                     uint32_t *count, bool *single) {
    Elab *e = call->e;
    Block *region = op->regions[0];
    Val *args = ARENA_ARRAY(e->arena, Val, op->nin);
    for (uint32_t i = 0; i < op->nin; i++)
        args[i] = val_tile(&region->args[i], inputs[i / pack].tile.scalar);
    Builder outer = e->builder;
    e->builder = builder_at_end(region);
    e->builder.span = outer.span;
    Val result = elab_call_values(e, call->span, call->args[0], args, op->nin);
    bool ok = !val_failed(result) && map_results(call, result, pack, parts, count);
    if (ok) {
        Value **values = ARENA_ARRAY(e->arena, Value *, *count);
        for (uint32_t i = 0; i < *count; i++) {
            values[i] = parts[i].tile.ir;
            op_add_result(op, type_with_element(e->ctx, op_in(op, 0)->type, values[i]->type->kind,
                                                values[i]->type->dtype));
        }
        build_yield(&e->builder, *count, values);
        *single = result.kind != VAL_TUPLE;
    }
    e->builder = outer;
    if (!ok)
        return false;
    for (uint32_t i = 0; i < *count; i++)
        parts[i] = op_like(&op->out[i], parts[i]);
    remove_dead(region);
    return only_scalars(call, 0, region);
}

Val builtin_map_elementwise(Call *call) {
    Elab *e = call->e;
    Val inputs[MAX_PARAMS];
    int64_t pack;
    if (!map_inputs(call, inputs) || !map_pack(call, inputs[0], &pack))
        return val_error();
    uint32_t n = call->rest_count, count = 0;
    bool single = false;
    if (!val_has_shape(inputs[0]))
        return elab_call_values(e, call->span, call->args[0], inputs, n);
    const Type *shape = val_ir_type(inputs[0]);
    Val *dealt = ARENA_ARRAY(e->arena, Val, n * (size_t)pack);
    Value **values = ARENA_ARRAY(e->arena, Value *, n * (size_t)pack);
    for (uint32_t i = 0; i < n; i++) {
        if (pack > 1)
            deal(e, inputs[i], (uint32_t)pack, dealt + i * pack, 1);
        else
            dealt[i] = inputs[i];
    }
    for (uint32_t i = 0; i < n * pack; i++)
        values[i] = dealt[i].tile.ir;
    Op *op = build_map(&e->builder, n * (uint32_t)pack, values);
    Val *parts = ARENA_ARRAY(e->arena, Val, MAX_PARAMS * MAX_PACK);
    if (!fill_map(call, op, inputs, pack, parts, &count, &single))
        return val_error();
    Val *results = ARENA_ARRAY(e->arena, Val, count);
    for (uint32_t i = 0; i < count / pack; i++) {
        results[i] = gather_parts(e, parts + i * pack, (uint32_t)pack, 1);
        if (pack > 1)
            results[i] = op_reshape(e, results[i], shape->rank, shape->shape);
    }
    return single ? results[0] : val_tuple(results, count / (uint32_t)pack);
}
