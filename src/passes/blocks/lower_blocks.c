/* lower-blocks: load_block, store_block and atomic_block become accesses through tiles of pointers.
 *
 * The tile's pointers are the block's first element, a scalar, plus what the tile alone decides, so
 * that in a loop over blocks only the scalar changes. A dimension that is checked gives a mask:
 * where the tile's own index lies between the places at which the tensor begins and ends within the
 * block, which are scalars clamped to the block's length.
 *
 * Needs: nothing. Leaves no block access but those that tensor copies take, on targets that have
 * them; a load that a dot takes and a store get a remark that says what they lack for that.
 *
 *     %t = load_block %p, %n, %s, %o {checked = 1} : tile<64xf32>
 *  =>
 *     %i = range {start = 0} : tile<64xi32>
 *     %first = addptr %p, (%o * %s)
 *     %ptrs = addptr splat(%first), (i64 of %i * %s)
 *     %end = i32 of min(max(%n - %o, 0), 64)        %begin = i32 of min(max(0 - %o, 0), 64)
 *     %mask = %i < splat(%end) & %i >= splat(%begin)
 *     %t = load %ptrs, %mask, splat(0)
 */
#include "passes/blocks/tensor_maps.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/vec.h"
#include "target/target.h"
#include "target/tensor_map.h"

#include <math.h>

typedef struct Lowering {
    Builder b;
    Op *op;
    BlockAccess access;
    const Type *i64; /* scalar */
} Lowering;

/* A tile of rank 1 along dimension d of the block, as a tile of the block's shape. */
static Value *along(Lowering *l, Value *line, int d) {
    for (int axis = 0; axis < l->access.rank; axis++)
        if (axis != d)
            line = build_expand_dims(&l->b, line, axis);
    const Type *to = type_with_element(l->b.ctx, l->access.tile, TYPE_NUMBER, line->type->dtype);
    return line->type == to ? line : build_broadcast(&l->b, line, to);
}

static Value *line_splat(Lowering *l, Value *scalar, int d) {
    int64_t length = l->access.tile->shape[d];
    const Type *type = type_get(l->b.ctx, TYPE_NUMBER, scalar->type->dtype, 1, &length, NULL);
    return build_splat(&l->b, scalar, type);
}

static Value *block_range(Lowering *l, int d) {
    int64_t length = l->access.tile->shape[d];
    return build_range(&l->b, 0, type_get(l->b.ctx, TYPE_NUMBER, DT_I32, 1, &length, NULL));
}

static Value *operand(const Lowering *l, uint32_t group, int d) {
    return op_in(l->op, group + (uint32_t)d);
}

/* The begin of dimension d, as i64. */
static Value *begin_of(Lowering *l, int d) {
    Value *begin = operand(l, l->access.offsets, d);
    return begin->type == l->i64 ? begin : build_extsi(&l->b, begin, l->i64);
}

static Value *block_pointers(Lowering *l) {
    Value *first = op_in(l->op, 0), *index = NULL;
    const Type *tile = l->access.tile;
    for (int d = 0; d < l->access.rank; d++) {
        Value *stride = operand(l, l->access.strides, d), *line = block_range(l, d);
        first = build_addptr(&l->b, first, build_muli(&l->b, begin_of(l, d), stride));
        const Type *wide = type_with_element(l->b.ctx, line->type, TYPE_NUMBER, DT_I64);
        line = build_extsi(&l->b, line, wide);
        if (!value_is_int(stride, 1))
            line = build_muli(&l->b, line, line_splat(l, stride, d));
        line = along(l, line, d);
        index = index ? build_addi(&l->b, index, line) : line;
    }
    const Type *pointers = type_with_element(l->b.ctx, tile, TYPE_POINTER, first->type->dtype);
    return build_addptr(&l->b, build_splat(&l->b, first, pointers), index);
}

/* An i64 between 0 and the length of dimension d, as i32. */
static Value *clamped(Lowering *l, Value *value, int d) {
    Value *zero = build_constant_int(&l->b, 0, l->i64);
    Value *length = build_constant_int(&l->b, l->access.tile->shape[d], l->i64);
    value = build_minsi(&l->b, build_maxsi(&l->b, value, zero), length);
    return build_trunci(&l->b, value, type_scalar(l->b.ctx, DT_I32));
}

static Value *dimension_mask(Lowering *l, int d) {
    Value *begin = begin_of(l, d), *extent = operand(l, l->access.shape, d);
    Value *zero = build_constant_int(&l->b, 0, l->i64), *line = block_range(l, d);
    Value *from = clamped(l, build_subi(&l->b, zero, begin), d);
    Value *to = clamped(l, build_subi(&l->b, extent, begin), d);
    Value *below = build_cmpi(&l->b, line, line_splat(l, to, d), IPRED_SLT);
    Value *above = build_cmpi(&l->b, line, line_splat(l, from, d), IPRED_SGE);
    return along(l, build_andi(&l->b, below, above), d);
}

/* NULL: no dimension is checked. */
static Value *block_mask(Lowering *l) {
    Value *mask = NULL;
    for (int d = 0; d < l->access.rank; d++) {
        if (!block_checks(&l->access, d))
            continue;
        Value *part = dimension_mask(l, d);
        mask = mask ? build_andi(&l->b, mask, part) : part;
    }
    return mask;
}

static void lower_access(Op *op) {
    Lowering l = {.b = builder_before(op),
                  .op = op,
                  .access = block_access(op),
                  .i64 = type_scalar(func_ctx(op->block->func), DT_I64)};
    l.b.span = op->span;
    const Type *tile = l.access.tile;
    Value *pointers = block_pointers(&l), *mask = block_mask(&l);
    if (op->code == OP_load_block) {
        const struct load_block_attrs *attrs = load_block_attrs(op);
        Value *other = NULL;
        if (mask)
            other = type_is_float(tile)
                        ? rewrite_float(&l.b, tile, attrs->padding == PADDING_NAN ? (double)NAN : 0)
                        : rewrite_int(&l.b, tile, 0);
        rewrite_replace(op, build_load(&l.b, pointers, mask, other, attrs->cache, attrs->evict,
                                       attrs->is_volatile, 0, false, false, false, 0));
        return;
    }
    if (op->code == OP_store_block)
        build_store(&l.b, pointers, op_in(op, 1), mask, op_cache(op), op_evict(op), 0);
    else
        build_atomic_rmw(&l.b, pointers, op_in(op, 1), mask, atomic_block_attrs(op)->kind,
                         SEM_RELAXED, SCOPE_GPU, 0);
    op_remove(op);
}

typedef struct Blocks {
    Func *func;
    Arena *arena;
    VEC(Op *) all, lowered;
    VEC(const Op *) maps; /* accesses that take a tensor map each */
} Blocks;

static bool collect(Op *op, void *user) {
    Blocks *blocks = user;
    if (op_is_block_access(op))
        vec_push(blocks->arena, &blocks->all, op);
    return true;
}

/* Accesses to one tensor by blocks of one shape share a tensor map. */
static bool share_map(const Op *a, const Op *b) {
    BlockAccess x = block_access(a), y = block_access(b);
    if (x.tile != y.tile || x.checked != y.checked || op_in(a, 0) != op_in(b, 0))
        return false;
    for (uint32_t i = 0; i < 2 * (uint32_t)x.rank; i++)
        if (op_in(a, x.shape + i) != op_in(b, y.shape + i))
            return false;
    return true;
}

static bool has_map(Blocks *blocks, const Op *op, const char **why_not) {
    vec_for_each (other, &blocks->maps)
        if (share_map(*other, op))
            return true;
    if (blocks->maps.len == RECIPE_MAX_MAPS) {
        *why_not = "the kernel has as many tensor maps as it can";
        return false;
    }
    vec_push(blocks->arena, &blocks->maps, op);
    return true;
}

/* Questions of a round are asked of the function as it is. Nobody expects a copy of what no dot
 * takes. */
static void choose(Blocks *blocks) {
    Ctx *ctx = func_ctx(blocks->func);
    const Facts *facts = facts_compute(blocks->func, blocks->arena);
    vec_for_each (op, &blocks->all) {
        const char *why_not;
        if (tma_takes_by(blocks->func, facts, *op, &why_not) && has_map(blocks, *op, &why_not)) {
            if ((*op)->code == OP_load_block)
                tensor_copy_take_apart(*op);
            continue;
        }
        vec_push(blocks->arena, &blocks->lowered, *op);
        if ((*op)->code == OP_load_block && value_may_reach_dot(op_out(*op)))
            ctx_diag(ctx, (*op)->span, access_not_raised, "load", why_not);
        if ((*op)->code == OP_store_block)
            ctx_diag(ctx, (*op)->span, access_not_raised, "store", why_not);
    }
}

/* True if that may change what tma_takes says of those that stay: it takes stores that only others
 * of their kind stand beside. */
static bool lower_round(Func *func, Arena *arena, bool *changed) {
    Blocks blocks = {.func = func, .arena = arena};
    bool stores = false;
    func_walk(func, collect, &blocks);
    if (blocks.all.len && target_has(func->capability, FEATURE_TENSOR_COPIES))
        choose(&blocks);
    else
        vec_for_each (op, &blocks.all)
            vec_push(arena, &blocks.lowered, *op);
    vec_for_each (op, &blocks.lowered) {
        stores |= (*op)->code == OP_store_block;
        lower_access(*op);
    }
    *changed |= blocks.lowered.len > 0;
    return stores;
}

bool pass_lower_blocks(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    const uint32_t apart = func->apart.len;
    bool changed = false;
    while (lower_round(func, arena, &changed))
        ;
    arena_rewind(arena, mark);
    return changed || func->apart.len != apart;
}
