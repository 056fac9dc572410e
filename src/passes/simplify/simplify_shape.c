/* simplify: rules of shape ops. A shape op of a uniform tile is a splat of the result's type;
 * chains of the same op become one. Types carry layouts once these are chosen, so results of equal
 * type are interchangeable and others are built with the type of the op they replace. */
#include "passes/simplify/simplify.h"

/* The op's result is uniform because its operand is. */
static bool replace_by_splat(Op *op) {
    if (!value_is_uniform(op_in(op, 0)))
        return false;
    Builder b = builder_before(op);
    Value *scalar = value_uniform_scalar(&b, op_in(op, 0));
    return rewrite_replace(op, build_splat(&b, scalar, op->out[0].type));
}

static bool replace_if_same_type(Op *op) {
    return op_in(op, 0)->type == op->out[0].type && rewrite_replace(op, op_in(op, 0));
}

bool simplify_range(Op *op) {
    const Type *type = op->out[0].type;
    if (type->log2_numel)
        return false;
    Builder b = builder_before(op);
    return rewrite_replace(op, rewrite_int(&b, type, range_attrs(op)->start));
}

/* Of a constant: a constant tile. */
bool simplify_splat(Op *op) {
    const Op *constant = op_in(op, 0)->def;
    if (!constant || !op_has(constant, CONSTANT))
        return false;
    Builder b = builder_before(op);
    return rewrite_replace(op, rewrite_like(&b, constant, 0, NULL, op->out[0].type));
}

bool simplify_expand_dims(Op *op) {
    return replace_by_splat(op);
}

bool simplify_broadcast(Op *op) {
    if (replace_if_same_type(op) || replace_by_splat(op))
        return true;
    Op *inner = value_def(op_in(op, 0), OP_broadcast);
    if (!inner)
        return false;
    Builder b = builder_before(op);
    return rewrite_replace(op, build_broadcast(&b, op_in(inner, 0), op->out[0].type));
}

bool simplify_reshape(Op *op) {
    if (replace_if_same_type(op) || replace_by_splat(op))
        return true;
    Op *inner = value_def(op_in(op, 0), OP_reshape);
    if (!inner)
        inner = value_def(op_in(op, 0), OP_expand_dims);
    if (!inner)
        return false;
    Builder b = builder_before(op);
    return rewrite_replace(op, build_reshape(&b, op_in(inner, 0), op->out[0].type));
}

bool simplify_transpose(Op *op) {
    if (replace_by_splat(op))
        return true;
    Ints order = transpose_attrs(op)->order;
    bool identity = true;
    for (uint32_t i = 0; i < order.len; i++)
        identity &= order.ptr[i] == i;
    if (identity)
        return replace_if_same_type(op);
    Op *inner = value_def(op_in(op, 0), OP_transpose);
    if (!inner)
        return false;
    int64_t combined[MAX_RANK];
    for (uint32_t i = 0; i < order.len; i++)
        combined[i] = transpose_attrs(inner)->order.ptr[order.ptr[i]];
    Builder b = builder_before(op);
    return rewrite_replace(op, build_transpose(&b, op_in(inner, 0), (Ints){combined, order.len}));
}

bool simplify_split(Op *op) {
    Value *x = op_in(op, 0);
    Op *join = value_def(x, OP_join);
    if (join) {
        Value *halves[] = {op_in(join, 0), op_in(join, 1)};
        return halves[0]->type == op->out[0].type && rewrite_replace_all(op, halves);
    }
    if (!value_is_uniform(x))
        return false;
    Builder b = builder_before(op);
    Value *scalar = value_uniform_scalar(&b, x), *halves[2];
    for (int i = 0; i < 2; i++)
        halves[i] = op->out[i].type->rank ? build_splat(&b, scalar, op->out[i].type) : scalar;
    return rewrite_replace_all(op, halves);
}

bool simplify_join(Op *op) {
    Value *a = op_in(op, 0), *b = op_in(op, 1);
    Op *split = value_def(a, OP_split);
    if (split && a == &split->out[0] && b == &split->out[1])
        return op_in(split, 0)->type == op->out[0].type && rewrite_replace(op, op_in(split, 0));
    return a == b && replace_by_splat(op);
}

bool simplify_convert_layout(Op *op) {
    if (replace_if_same_type(op) || replace_by_splat(op))
        return true;
    Op *inner = value_def(op_in(op, 0), OP_convert_layout);
    if (!inner)
        return false;
    Builder b = builder_before(op);
    return rewrite_replace(op, build_convert_layout(&b, op_in(inner, 0), op->out[0].type));
}

/* Over an axis of size 1 nothing is combined: only the axis goes. */
bool simplify_reduce(Op *op) {
    const Type *type = op_in(op, 0)->type;
    if (type->shape[reduce_attrs(op)->axis] != 1 || type->rank == 1)
        return false;
    for (uint32_t i = 0; i < op->nin; i++)
        if (op->out[i].type->layout != op_in(op, i)->type->layout)
            return false;
    Builder b = builder_before(op);
    Value **shaped = ARENA_ARRAY(&b.ctx->arena, Value *, op->nin);
    for (uint32_t i = 0; i < op->nin; i++)
        shaped[i] = build_reshape(&b, op_in(op, i), op->out[i].type);
    return rewrite_replace_all(op, shaped);
}
