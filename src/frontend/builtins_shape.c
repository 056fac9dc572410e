/* Builtins that make tiles and change their shape. */
#include "frontend/builtins.h"
#include "frontend/language.h"

Val builtin_program_id(Call *call) {
    int64_t axis;
    if (!call_int(call, 0, &axis))
        return val_error();
    if (axis < 0 || axis > 2)
        return elab_fail(call->e, call->spans[0], elab_grid_axis, call->builtin->name,
                         (long long)axis);
    Builder *b = &call->e->builder;
    Value *ir = call_id(call) == BUILTIN_program_id ? build_program_id(b, axis)
                                                    : build_num_programs(b, axis);
    return val_tile(ir, scalar_number(ELEM_I32));
}

Val builtin_arange(Call *call) {
    Elab *e = call->e;
    int64_t start, end;
    if (!call_int(call, 0, &start) || !call_int(call, 1, &end))
        return val_error();
    if (end <= start || start < INT32_MIN || end > (int64_t)INT32_MAX + 1) {
        elab_fail(e, call->span, elab_arange_bounds, (long long)start, (long long)end);
        return val_error();
    }
    int64_t size = end - start;
    if (size & (size - 1)) {
        elab_fail(e, call->span, elab_arange_size);
        hint_power_of_two(e, size);
        return val_error();
    }
    if (!shape_check(e, call->span, 1, &size))
        return val_error();
    const Type *type = type_get(e->ctx, TYPE_NUMBER, DT_I32, 1, &size, NULL);
    return val_tile(build_range(&e->builder, start, type), scalar_number(ELEM_I32));
}

Val builtin_full(Call *call) {
    Elab *e = call->e;
    int rank;
    int64_t shape[MAX_RANK];
    ScalarType type;
    if (!call_shape(call, 0, &rank, shape) || !call_type(call, 2, &type))
        return val_error();
    Val value = call->args[1];
    if (val_is_tile(value)) {
        if (val_has_shape(value) && type_numel(val_ir_type(value)) != 1)
            return elab_fail(e, call->spans[1], elab_argument, "full", "value", "a scalar",
                             elab_type_text(e, value));
        value = op_cast(e, call->spans[1], op_unsplat(e, value), type, ROUND_RTNE);
        return val_failed(value) ? value : op_broadcast_to(e, call->span, value, rank, shape);
    }
    bool bad_float = value.kind == VAL_FLOAT && !type.pointer && elem_is_int(type.elem) &&
                     !(value.f >= -0x1p63 && value.f < 0x1p63);
    if (!val_is_number(value) || type.pointer || bad_float)
        return elab_fail(e, call->spans[1], elab_argument, "full", "value",
                         bad_float ? "a number that fits the dtype" : "a number",
                         bad_float ? val_text(e->arena, value) : elab_type_text(e, value));
    if (elem_is_int(type.elem) && type.elem != ELEM_I1 && value.kind != VAL_FLOAT &&
        (value.i < -elem_max(type.elem) - 1 ||
         value.i > elem_max(elem_int(elem_bits(type.elem), false))))
        return elab_fail(e, call->spans[1], elab_int_too_big, val_text(e->arena, value),
                         elem_info[type.elem].text);
    /* One constant of the tile's type: the IR has splatted constants. */
    Val scalar = op_constant(e, value, type.elem);
    return op_broadcast_to(e, call->span, scalar, rank, shape);
}

Val builtin_broadcast(Call *call) {
    Val both[2];
    if (!call_tile(call, 0, &both[0]) || !call_tile(call, 1, &both[1]) ||
        !op_broadcast(call->e, call->span, &both[0], &both[1]))
        return val_error();
    Val *items = ARENA_ARRAY(call->e->arena, Val, 2);
    items[0] = both[0];
    items[1] = both[1];
    return val_tuple(items, 2);
}

Val builtin_broadcast_to(Call *call) {
    Val x;
    int rank;
    int64_t shape[MAX_RANK];
    if (!call_tile(call, 0, &x) || !call_shape(call, 1, &rank, shape))
        return val_error();
    return op_broadcast_to(call->e, call->span, x, rank, shape);
}

/* "[0, 2]" */
static const char *axes_text(Arena *arena, const int64_t *axes, int count) {
    StrBuf text = strbuf(arena);
    for (int i = 0; i < count; i++)
        strbuf_printf(&text, "%s%lld", i ? ", " : "[", (long long)axes[i]);
    strbuf_puts(&text, "]");
    return text.ptr;
}

Val builtin_expand_dims(Call *call) {
    Elab *e = call->e;
    Val x;
    int count;
    int64_t axes[MAX_RANK];
    if (!call_tile(call, 0, &x) || !call_ints(call, 1, &count, axes, MAX_RANK))
        return val_error();
    int rank = val_ir_type(x)->rank + count;
    if (rank > MAX_RANK)
        return elab_fail(e, call->span, elab_rank, MAX_RANK);
    unsigned wanted = 0;
    for (int i = 0; i < count; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis < 0 || axis >= rank)
            return elab_fail(e, call->spans[1], elab_axis, (long long)axes[i], rank);
        axes[i] = axis;
        if (wanted >> axis & 1)
            return elab_fail(e, call->spans[1], elab_axis_twice, axes_text(e->arena, axes, i + 1));
        wanted |= 1u << axis;
    }
    for (int axis = 0; axis < rank; axis++)
        if (wanted >> axis & 1)
            x = op_expand_dims(e, x, axis);
    return x;
}

Val builtin_item(Call *call) {
    Val x;
    if (!call_tile(call, 0, &x))
        return val_error();
    if (type_numel(val_ir_type(x)) != 1)
        return elab_fail(call->e, call->span, elab_item, elab_type_text(call->e, x));
    return op_unsplat(call->e, x);
}

Val builtin_reshape(Call *call) {
    Elab *e = call->e;
    Val x;
    int rank;
    int64_t shape[MAX_RANK], numel = 1;
    if (!call_tile(call, 0, &x) || !call_shape(call, 1, &rank, shape))
        return val_error();
    for (int i = 0; i < rank; i++)
        numel *= shape[i];
    if (numel != type_numel(val_ir_type(x)))
        return elab_fail(e, call->span, elab_reshape, elab_type_text(e, x),
                         (long long)type_numel(val_ir_type(x)), (long long)numel);
    if (rank == 0)
        return op_unsplat(e, x);
    if (!val_has_shape(x))
        return op_broadcast_to(e, call->span, x, rank, shape);
    return op_reshape(e, x, rank, shape);
}

Val op_transpose(Elab *e, Val v) {
    uint32_t rank = (uint32_t)val_ir_type(v)->rank;
    int64_t *order = ARENA_ARRAY(e->arena, int64_t, rank);
    for (uint32_t i = 0; i < rank; i++)
        order[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return op_like(build_transpose(&e->builder, v.tile.ir, (Ints){order, rank}), v);
}

Val builtin_permute(Call *call) {
    Elab *e = call->e;
    Val x;
    int count;
    int64_t order[MAX_RANK];
    if (!call_tile(call, 0, &x) || !call_ints(call, 1, &count, order, MAX_RANK))
        return val_error();
    int rank = val_ir_type(x)->rank;
    if (count == 0 && call_id(call) == BUILTIN_trans && rank >= 2)
        return op_transpose(e, x);
    unsigned seen = 0;
    for (int i = 0; i < count; i++) {
        order[i] += order[i] < 0 ? rank : 0;
        if (order[i] >= 0 && order[i] < rank)
            seen |= 1u << order[i];
    }
    if (count != rank || rank == 0 || seen != (1u << rank) - 1)
        return elab_fail(e, call->span, elab_permutation, rank, elab_type_text(e, x));
    int64_t *kept = ARENA_ARRAY(e->arena, int64_t, (size_t)rank);
    memcpy(kept, order, (size_t)rank * sizeof *kept);
    return op_like(build_transpose(&e->builder, x.tile.ir, (Ints){kept, (uint32_t)rank}), x);
}

/* Two integers of one width become what the first is, as in Triton. */
static bool same_elements(Call *call, Val a, Val *other) {
    const Val b = *other;
    if (scalar_equal(a.tile.scalar, b.tile.scalar))
        return true;
    if (scalar_is_int(a.tile.scalar) && scalar_is_int(b.tile.scalar) &&
        elem_bits(a.tile.scalar.elem) == elem_bits(b.tile.scalar.elem)) {
        other->tile.scalar = a.tile.scalar;
        return true;
    }
    elab_fail(call->e, call->span, elab_operands, call->builtin->name, elab_type_text(call->e, a),
              elab_type_text(call->e, b));
    elab_hint(call->e, "cast one with .to()");
    return false;
}

Val builtin_join(Call *call) {
    Elab *e = call->e;
    Val a, b;
    if (!call_tile(call, 0, &a) || !call_tile(call, 1, &b) || !same_elements(call, a, &b) ||
        !op_broadcast(e, call->span, &a, &b))
        return val_error();
    bool scalars = !val_has_shape(a);
    if (scalars) {
        a = op_expand_dims(e, a, 0);
        b = op_expand_dims(e, b, 0);
    }
    if (val_ir_type(a)->rank == MAX_RANK)
        return elab_fail(e, call->span, elab_rank, MAX_RANK);
    const Type *type = val_ir_type(a);
    int64_t shape[MAX_RANK];
    memcpy(shape, type->shape, sizeof shape);
    shape[type->rank] = 2;
    if (!shape_check(e, call->span, type->rank + 1, shape))
        return val_error();
    Val joined = op_like(build_join(&e->builder, a.tile.ir, b.tile.ir), a);
    int64_t two = 2;
    return scalars ? op_reshape(e, joined, 1, &two) : joined;
}

Val builtin_split(Call *call) {
    Elab *e = call->e;
    Val x;
    if (!call_tile(call, 0, &x))
        return val_error();
    const Type *type = val_ir_type(x);
    if (type->rank == 0 || type->shape[type->rank - 1] != 2)
        return elab_fail(e, call->span, elab_split, elab_type_text(e, x));
    const Type *half = type->rank == 1 ? scalar_ir(e->ctx, x.tile.scalar, NULL)
                                       : type_with_shape(e->ctx, type, type->rank - 1, type->shape);
    const Type *types[2] = {half, half};
    Op *op = build_split(&e->builder, x.tile.ir, 2, types);
    Val *items = ARENA_ARRAY(e->arena, Val, 2);
    items[0] = op_like(&op->out[0], x);
    items[1] = op_like(&op->out[1], x);
    return val_tuple(items, 2);
}

/* a then b along `dim`: joined in a new dimension before that, with which it becomes one. Elements
 * keep their order, which can_reorder would give up. */
Val builtin_cat(Call *call) {
    Elab *e = call->e;
    Val a, b;
    bool can_reorder;
    int64_t dim, shape[MAX_RANK], order[MAX_RANK + 1];
    if (!call_tile(call, 0, &a) || !call_tile(call, 1, &b) || !call_flag(call, 2, &can_reorder) ||
        !call_int(call, 3, &dim) || !same_elements(call, a, &b) ||
        (!can_reorder && !elab_has_feature(e, call->span, LANGUAGE_HAS_cat_order)))
        return val_error();
    const Type *type = val_ir_type(a);
    int rank = type->rank;
    if (rank == 0 || val_ir_type(b) != type)
        return elab_fail(e, call->span, elab_cat, elab_type_text(e, a), elab_type_text(e, b));
    if (dim < -rank || dim >= rank)
        return elab_fail(e, call->spans[3], elab_axis, (long long)dim, rank);
    if (rank == MAX_RANK)
        return elab_fail(e, call->span, elab_rank, MAX_RANK);
    dim += dim < 0 ? rank : 0;
    memcpy(shape, type->shape, sizeof shape);
    shape[dim] *= 2;
    if (!shape_check(e, call->span, rank, shape))
        return val_error();
    for (int i = 0; i <= rank; i++)
        order[i] = i < dim ? i : i == dim ? rank : i - 1;
    int64_t *kept = ARENA_ARRAY(e->arena, int64_t, (size_t)rank + 1);
    memcpy(kept, order, ((size_t)rank + 1) * sizeof *kept);
    Value *joined = build_join(&e->builder, a.tile.ir, b.tile.ir);
    Value *turned = build_transpose(&e->builder, joined, (Ints){kept, (uint32_t)rank + 1});
    return op_reshape(e, op_like(turned, a), rank, shape);
}
