/* Row independence: see unobserved.h.
 *
 * Follows the tile to all that is made of it. Each value so met has one dimension along which the
 * elements from the bound on may be anything, the others being what they would be anyway. Ops keep
 * that up where an element of their result depends on operands of the same row alone: elementwise
 * ops, changes of shape, reductions and scans along other dimensions, dots that do not sum over it.
 * It ends well at an effect whose mask has the row below the bound, and at a choice by such a mask.
 * Anything else fails.
 *
 *     %a = load ..            rows from %M - %first on are unknown
 *     %c = dot %a, %b, %z     .. of the product too, along dimension 0
 *     store %p, %c, %mask     %mask: %first + i_0 < %M
 *
 * The bound is made of scalars. Where a value goes around a loop they must be those of the next
 * iteration as well, so come from outside. */
#include "passes/analysis/unobserved.h"
#include "passes/analysis/affine_internal.h"
#include "passes/rewrite.h"

typedef struct Follow {
    Affines *a;
    const Poly *bound;
    PtrMap dims;          /* Value to its dimension plus one */
    VEC(Value *) pending; /* met, uses not yet followed */
    const char *why;
} Follow;

static bool seen_by(Follow *f, const char *why) {
    f->why = why;
    return false;
}

static bool meet(Follow *f, Value *value, int dim) {
    uintptr_t known = (uintptr_t)ptrmap_get(&f->dims, value);
    if (known)
        return known == (uintptr_t)dim + 1 ||
               seen_by(f, "its rows become rows and columns of one tile");
    ptrmap_set(&f->dims, value, (void *)((uintptr_t)dim + 1));
    vec_push(f->a->arena, &f->pending, value);
    return true;
}

static bool meet_results(Follow *f, Op *op, int dim) {
    for (uint32_t i = 0; i < op->nout; i++)
        if (!meet(f, &op->out[i], dim))
            return false;
    return true;
}

/* To the next iteration of the loop. */
static bool meet_around(Follow *f, const Op *loop, Value *arg, int dim) {
    if (!poly_is_outside(f->bound, loop))
        return seen_by(f, "a loop carries its rows to iterations with other bounds");
    return meet(f, arg, dim);
}

/* Dimension d of the result is `source[d]` of the operand. */
static bool follow_shape(Follow *f, Op *op, const int *source, int dim) {
    for (int d = 0; d < op->out[0].type->rank; d++)
        if (source[d] == dim)
            return meet(f, op_out(op), d);
    return seen_by(f, "its rows are reshaped");
}

static bool follow_dot(Follow *f, Op *op, uint32_t index, int dim) {
    int rank = op_out(op)->type->rank, summed = index == 0 ? rank - 1 : rank - 2;
    if (index < 2 && dim == summed)
        return seen_by(f, "a dot sums over its rows");
    return meet(f, op_out(op), dim);
}

static bool divides_by_rows(Follow *f) {
    return seen_by(f, "integers are divided by its rows");
}

static bool follow_reduction(Follow *f, Op *op, int dim) {
    int axis = (int)op_axis(op);
    if (dim == axis)
        return seen_by(f, "a reduction combines its rows");
    block_for_each (inner, op->regions[0])
        if (op_has(inner, MAY_TRAP))
            return divides_by_rows(f);
    return meet_results(f, op, op->code == OP_reduce && dim > axis ? dim - 1 : dim);
}

static bool follow_choice(Follow *f, Op *op, uint32_t index, int dim) {
    Value *condition = op_in(op, 0);
    if (index == 1 && condition->type->rank && mask_bounds(f->a, condition, op, dim, f->bound) &&
        op_in(op, 1) != op_in(op, 2))
        return true;
    return meet(f, op_out(op), dim);
}

static bool follow_yield(Follow *f, const Op *yield, uint32_t index, int dim) {
    Op *parent = yield->block->parent;
    switch (parent->code) {
    case OP_if:
        return meet(f, &parent->out[index], dim);
    case OP_for:
        return meet_around(f, parent, &parent->regions[0]->args[index + 1], dim) &&
               meet(f, &parent->out[index], dim);
    case OP_while:
        return meet_around(f, parent, &parent->regions[0]->args[index], dim);
    default:
        return seen_by(f, "its rows are combined");
    }
}

static bool follow_condition(Follow *f, const Op *condition, uint32_t index, int dim) {
    Op *loop = condition->block->parent;
    if (index == 0)
        return seen_by(f, "a branch depends on its rows");
    return meet(f, &loop->regions[1]->args[index - 1], dim) && meet(f, &loop->out[index - 1], dim);
}

static bool follow_loop(Follow *f, Op *op, uint32_t index, int dim) {
    if (op->code == OP_while)
        return meet(f, &op->regions[0]->args[index], dim);
    if (index < FOR_FIXED_OPERANDS)
        return seen_by(f, "a loop depends on its rows");
    index -= FOR_FIXED_OPERANDS;
    return meet(f, &op->regions[0]->args[index + 1], dim) && meet(f, &op->out[index], dim);
}

static bool follow_effect(Follow *f, Op *op, int dim) {
    Value *mask = op->nin > 2 ? op_in(op, 2) : NULL;
    if (!mask || !mask_bounds(f->a, mask, op, dim, f->bound))
        return seen_by(f, op->code == OP_store ? "a store of its rows has no mask that leaves them "
                                                 "out"
                                               : "an atomic operation has no mask that leaves its "
                                                 "rows out");
    return meet_results(f, op, dim);
}

static bool follow_block(Follow *f, Op *op, uint32_t index, int dim) {
    BlockAccess access = block_access(op);
    if (index == 1 && block_checks(&access, dim)) {
        Arena *arena = f->a->arena;
        const Poly *extent = affine_of(f->a, op_in(op, access.shape + (uint32_t)dim))->offset;
        const Poly *begin = affine_of(f->a, op_in(op, access.offsets + (uint32_t)dim))->offset;
        const Poly *inside = poly_sum(arena, extent, begin, -1);
        if (poly_is_nonnegative(f->a, poly_sum(arena, f->bound, inside, -1), op))
            return true;
    }
    return seen_by(f, "a block that is stored is not checked along its rows");
}

static bool follow_use(Follow *f, const Use *use, int dim) {
    Op *op = use->user;
    uint32_t index = (uint32_t)(use - op->in);
    if (op_has(op, MAY_TRAP) && index == 1)
        return divides_by_rows(f);
    if (op_has(op, ELEMENTWISE | HINT) && op->code != OP_select)
        return meet(f, op_out(op), dim);
    int source[MAX_RANK];
    if (shape_sources(op, source))
        return follow_shape(f, op, source, dim);
    switch (op->code) {
    case OP_reshape:
        return seen_by(f, "its rows are reshaped");
    case OP_join:
        return meet(f, op_out(op), dim);
    case OP_split:
        return dim == op_in(op, 0)->type->rank - 1 ? seen_by(f, "its rows are split")
                                                   : meet_results(f, op, dim);
    case OP_select:
        return follow_choice(f, op, index, dim);
    case OP_dot:
        return follow_dot(f, op, index, dim);
    case OP_reduce:
    case OP_scan:
        return follow_reduction(f, op, dim);
    case OP_yield:
        return follow_yield(f, op, index, dim);
    case OP_condition:
        return follow_condition(f, op, index, dim);
    case OP_for:
    case OP_while:
        return follow_loop(f, op, index, dim);
    case OP_store:
    case OP_atomic_rmw:
        return follow_effect(f, op, dim);
    case OP_store_block:
    case OP_atomic_block:
        return follow_block(f, op, index, dim);
    default:
        return seen_by(f, str_format(f->a->arena, "%s may see its rows", op_info[op->code].name));
    }
}

bool rows_are_unobserved(Affines *affines, Value *tile, int dim, const Poly *bound,
                         const char **why) {
    Follow f = {.a = affines, .bound = bound, .dims = {.arena = affines->arena}};
    bool unobserved = bound && meet(&f, tile, dim);
    while (unobserved && f.pending.len > 0) {
        Value *value = f.pending.data[--f.pending.len];
        int at = (int)(uintptr_t)ptrmap_get(&f.dims, value) - 1;
        for (Use *use = value->uses; unobserved && use; use = use->next)
            unobserved = follow_use(&f, use, at);
    }
    *why = f.why;
    return unobserved;
}
