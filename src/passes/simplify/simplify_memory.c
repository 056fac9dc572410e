/* simplify: rules of addresses, memory accesses and hints.
 *
 * Addresses are brought to the form
 *
 *     addptr(splat(addptr(base, scalar part)), tile part)
 *
 * so that a program's position is added once, to a scalar, and what differs between elements is the
 * same for all programs and iterations and can be shared or encoded in the access. Moving the
 * scalar part of an i32 index from the index to the pointer assumes that the sum does not wrap, the
 * assumption that contiguity makes too (facts.h): a program whose index wraps addresses memory 2^32
 * elements away from what its source says. Sums of narrower numbers stay as they are. */
#include "passes/analysis/facts.h"
#include "passes/analysis/fold.h"
#include "passes/simplify/simplify.h"

enum { MAX_INDEX_DEPTH = 8, MAX_NARROWED = 3 };

/* A tile of indices as `scalar` (of the tile's element type) + `tile`; NULL: that part is zero. */
typedef struct IndexParts {
    Value *scalar, *tile;
} IndexParts;

/* True if some addend of the index is uniform, so that it can be split. */
static bool has_scalar_part(const Value *index, int depth) {
    if (depth == 0 || index->type->rank == 0)
        return false;
    if (value_is_uniform(index))
        return true;
    const Op *op = index->def;
    if (!op)
        return false;
    if ((op_has(op, MOVES) && op->nin == 1 && op->nout == 1) || op->code == OP_extsi)
        return has_scalar_part(op_in(op, 0), depth - 1);
    switch (op->code) {
    case OP_addi:
        return type_is_index(index->type) && (has_scalar_part(op_in(op, 0), depth - 1) ||
                                              has_scalar_part(op_in(op, 1), depth - 1));
    case OP_muli:
        return type_is_index(index->type) && value_is_uniform(op_in(op, 1)) &&
               has_scalar_part(op_in(op, 0), depth - 1);
    default: /* any other op is a tile part as a whole */
        return false;
    }
}

static Value *add_parts(Builder *b, Value *x, Value *y) {
    return x && y ? build_addi(b, x, y) : x ? x : y;
}

static IndexParts split_index(Builder *b, Value *index, int depth);

/* Splits below a product by a uniform factor. */
static IndexParts split_product(Builder *b, const Op *op, int depth) {
    IndexParts parts = split_index(b, op_in(op, 0), depth);
    Value *factor = op_in(op, 1);
    if (parts.scalar)
        parts.scalar = build_muli(b, parts.scalar, value_uniform_scalar(b, factor));
    if (parts.tile)
        parts.tile = build_muli(b, parts.tile, factor);
    return parts;
}

/* Splits below an op with one operand and applies it to the tile part; a conversion to the scalar
 * part too. */
static IndexParts split_unary(Builder *b, const Op *op, int depth) {
    IndexParts parts = split_index(b, op_in(op, 0), depth);
    if (parts.tile)
        parts.tile = rewrite_like(b, op, 1, &parts.tile, op->out[0].type);
    if (parts.scalar && op->code == OP_extsi)
        parts.scalar = rewrite_like(b, op, 1, &parts.scalar, type_element(b->ctx, op->out[0].type));
    return parts;
}

/* As has_scalar_part; builds ops only where it is true. */
static IndexParts split_index(Builder *b, Value *index, int depth) {
    if (!has_scalar_part(index, depth))
        return (IndexParts){.tile = index};
    if (value_is_uniform(index))
        return (IndexParts){.scalar = value_uniform_scalar(b, index)};
    const Op *op = index->def;
    if (op->code == OP_muli)
        return split_product(b, op, depth - 1);
    if (op->code != OP_addi)
        return split_unary(b, op, depth - 1);
    IndexParts x = split_index(b, op_in(op, 0), depth - 1);
    IndexParts y = split_index(b, op_in(op, 1), depth - 1);
    Value *scalar = add_parts(b, x.scalar, y.scalar);
    return (IndexParts){scalar, add_parts(b, x.tile, y.tile)};
}

/* addptr(P, index) with a scalar part s in the index: addptr(addptr(P, splat s), tile part). */
static bool split_tile_index(Op *op) {
    Value *index = op_in(op, 1);
    if (value_is_uniform(index) || !has_scalar_part(index, MAX_INDEX_DEPTH))
        return false;
    Builder b = builder_before(op);
    IndexParts parts = split_index(&b, index, MAX_INDEX_DEPTH);
    Value *base = build_addptr(&b, op_in(op, 0), build_splat(&b, parts.scalar, index->type));
    return rewrite_replace(op, parts.tile ? build_addptr(&b, base, parts.tile) : base);
}

/* Index of the wider of two types; both widened to it must be constants. */
static bool combine_constant_indices(Op *op, Op *inner) {
    Scalar a, b;
    Value *first = op_in(inner, 1), *second = op_in(op, 1);
    int64_t sum;
    if (!scalar_of_value(first, &a) || !scalar_of_value(second, &b) ||
        __builtin_add_overflow(a.i, b.i, &sum))
        return false;
    bool wide = first->type->dtype == DT_I64 || second->type->dtype == DT_I64 ||
                sum != int_wrap(DT_I32, sum);
    Builder at = builder_before(op);
    const Type *type = type_with_dtype(at.ctx, first->type, wide ? DT_I64 : DT_I32);
    Value *index = rewrite_int(&at, type, sum);
    return rewrite_replace(op, build_addptr(&at, op_in(inner, 0), index));
}

/* addptr(addptr(P, tile), uniform) is addptr(addptr(P, uniform), tile). */
static bool move_uniform_inward(Op *op, Op *inner) {
    Value *tile = op_in(inner, 1), *uniform = op_in(op, 1);
    if (!value_is_uniform(uniform) || value_is_uniform(tile))
        return false;
    Builder b = builder_before(op);
    Value *base = build_addptr(&b, op_in(inner, 0), uniform);
    return rewrite_replace(op, build_addptr(&b, base, tile));
}

/* addptr(broadcast(P), uniform) is broadcast(addptr(P, uniform)); expand_dims likewise. */
static bool move_uniform_below_shape(Op *op) {
    Value *uniform = op_in(op, 1);
    Op *shape = value_def(op_in(op, 0), OP_broadcast);
    if (!shape)
        shape = value_def(op_in(op, 0), OP_expand_dims);
    if (!shape || !value_is_uniform(uniform))
        return false;
    Builder b = builder_before(op);
    Value *small = op_in(shape, 0), *scalar = value_uniform_scalar(&b, uniform);
    const Type *index = type_with_element(b.ctx, small->type, TYPE_NUMBER, uniform->type->dtype);
    Value *moved = build_addptr(&b, small, build_splat(&b, scalar, index));
    return rewrite_replace(op, rewrite_like(&b, shape, 1, &moved, op->out[0].type));
}

bool simplify_addptr(Op *op) {
    if (value_is_int(op_in(op, 1), 0))
        return rewrite_replace(op, op_in(op, 0));
    if (op->out[0].type->rank && move_uniform_below_shape(op))
        return true;
    Op *inner = value_def(op_in(op, 0), OP_addptr);
    if (inner && (combine_constant_indices(op, inner) ||
                  (op->out[0].type->rank && move_uniform_inward(op, inner))))
        return true;
    return op->out[0].type->rank && split_tile_index(op);
}

/* Masks */

static void remove_operands_from(Op *op, uint32_t first) {
    while (op->nin > first)
        op_remove_operand(op, op->nin - 1);
}

/* What is equal along dimensions */

/* Dimensions, as bits, along which all elements are known to be equal. */
static uint32_t equal_along(const Value *value, int depth) {
    const Op *op = value->def;
    if (value_is_uniform(value))
        return UINT32_MAX;
    if (!op || depth == 0)
        return 0;
    uint32_t dims = 0;
    if (op->code == OP_broadcast)
        for (int d = 0; d < value->type->rank; d++)
            dims |= (uint32_t)(op_in(op, 0)->type->shape[d] == 1) << d;
    else if (op_has(op, ELEMENTWISE) && op_is_pure(op) && op->nin <= MAX_NARROWED)
        dims = UINT32_MAX;
    for (uint32_t i = 0; dims && op->code != OP_broadcast && i < op->nin; i++)
        dims &= equal_along(op_in(op, i), depth - 1);
    return dims;
}

/* The value, with one element for each of the dimensions that are left out of `shape`. */
static Value *narrowed(Builder *b, Value *value, const Type *shape) {
    const Op *op = value->def;
    const Type *type = type_with_element(b->ctx, shape, value->type->kind, value->type->dtype);
    if (!value->type->rank)
        return value;
    if (value_is_uniform(value))
        return build_splat(b, value_uniform_scalar(b, value), type);
    if (op->code == OP_broadcast)
        return build_broadcast(b, op_in(op, 0), type);
    Value *in[MAX_NARROWED];
    for (uint32_t i = 0; i < op->nin; i++)
        in[i] = narrowed(b, op_in(op, i), shape);
    return rewrite_like(b, op, op->nin, in, type);
}

/* A load of the same places along a dimension (`p + rows + zeros`) loads them once: each thread
 * then has them where it needs them, where one of the whole tile, coalesced along what does vary,
 * would be exchanged. Not beside products, whose operands are copied to shared memory as they are.
 */
static bool load_once(Op *op) {
    const Type *type = op_out(op)->type;
    if (!type->rank || type->layout || type->kind != TYPE_NUMBER || load_attrs(op)->is_volatile)
        return false;
    uint32_t dims = UINT32_MAX;
    for (uint32_t i = 0; dims && i < op->nin; i++)
        dims &= equal_along(op_in(op, i), MAX_INDEX_DEPTH);
    int64_t shape[MAX_RANK];
    bool any = false;
    for (int d = 0; d < type->rank; d++) {
        any |= (dims >> d & 1) && type->shape[d] > 1;
        shape[d] = dims >> d & 1 ? 1 : type->shape[d];
    }
    if (!any || block_multiplies(op->block->func->body))
        return false;
    Builder b = builder_before(op);
    const Type *narrow = type_with_shape(b.ctx, type, type->rank, shape);
    Value *in[MAX_NARROWED];
    for (uint32_t i = 0; i < op->nin; i++)
        in[i] = narrowed(&b, op_in(op, i), narrow);
    Value *loaded = rewrite_like(&b, op, op->nin, in, narrow);
    return rewrite_replace(op, build_broadcast(&b, loaded, type));
}

bool simplify_load(Op *op) {
    if (load_once(op))
        return true;
    if (op->nin < 2)
        return false;
    if (value_is_int(op_in(op, 1), 1)) {
        remove_operands_from(op, 1);
        return true;
    }
    return op->nin == 3 && value_is_int(op_in(op, 1), 0) && rewrite_replace(op, op_in(op, 2));
}

bool simplify_store(Op *op) {
    if (op->nin < 3)
        return false;
    if (value_is_int(op_in(op, 2), 1)) {
        remove_operands_from(op, 2);
        return true;
    }
    if (!value_is_int(op_in(op, 2), 0))
        return false;
    op_remove(op);
    return true;
}

bool simplify_atomic_rmw(Op *op) {
    if (op->nin < 3)
        return false;
    if (value_is_int(op_in(op, 2), 1)) {
        remove_operands_from(op, 2);
        return true;
    }
    if (!value_is_int(op_in(op, 2), 0) || !value_unused(op_out(op)))
        return false;
    op_remove(op);
    return true;
}

static bool remove_if_true(Op *op) {
    if (!value_is_int(op_in(op, 0), 1))
        return false;
    op_remove(op);
    return true;
}

bool simplify_assume(Op *op) {
    return remove_if_true(op);
}

bool simplify_assert(Op *op) {
    return remove_if_true(op);
}

/* A hint that says nothing, or one about a constant, which says everything itself. */
static bool simplify_hint(Op *op) {
    Scalar scalar;
    bool says_something = false;
    Ints values = op_values(op);
    for (uint32_t i = 0; i < values.len; i++)
        says_something |= values.ptr[i] > 1;
    if (says_something && !scalar_of_value(op_in(op, 0), &scalar))
        return false;
    return rewrite_replace(op, op_in(op, 0));
}

bool simplify_hint_divisible(Op *op) {
    return simplify_hint(op);
}

bool simplify_hint_contiguous(Op *op) {
    return simplify_hint(op);
}

bool simplify_hint_constant(Op *op) {
    return simplify_hint(op);
}
