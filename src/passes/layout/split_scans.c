/* split-scans: scans that cross warps become a scan within each warp, an exchange of what each warp
 * has in all, and one combination more of each element with what the warps before it have.
 *
 *     %y = scan %x {axis = 0} : tile<1024xi32>
 * ->
 *     %p = scan (reshape %x : tile<4x256xi32>) {axis = 1}
 *     local_store %p, %s {at = 255}                            : buffer<4x1xi32>, the last of each
 *     %t = local_load %s : tile<4x1xi32, {reg = [1, 2], ..}>
 *     %e = scan %t {axis = 0, exclusive = true}
 *     %c = convert_layout %e : tile<4x1xi32, {.., warp = [1, 2]}>
 *     %b = scan (join (broadcast %c), %p) {axis = 2}           one combination: %c, then %p
 *     %y = reshape (select (first warp), %p, (split %b)[1])
 *
 * Warps hold the highest bits of the axis, so that each has a section of it.
 *
 * Needs layouts in which scans meet their axis in order, as choose-layouts puts them. Leaves no
 * scan whose axis is held by warps. */
#include "passes/layout/layout_rules.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

typedef struct Split {
    Ctx *ctx;
    Op *scan;
    Builder b;
    int axis;
    bool reverse;
    uint32_t sections, within; /* index bits of the axis: of warps, of what each has */
    int64_t count, length;     /* of sections, of one */
    const Layout *layout;
} Split;

static bool describe(Split *s, Op *op) {
    const Type *type = op_in(op, 0)->type;
    *s = (Split){.ctx = func_ctx(op->block->func), .scan = op, .b = builder_before(op)};
    s->b.span = op->span;
    s->axis = (int)scan_attrs(op)->axis;
    s->reverse = scan_attrs(op)->reverse;
    s->layout = type->layout;
    uint32_t axis = layout_dim_mask(type->rank, type->shape, s->axis);
    for (int i = 0; i < s->layout->bits[LAYOUT_WARP]; i++)
        s->sections |= layout_bases(s->layout, LAYOUT_WARP)[i] & axis;
    s->within = axis & ~s->sections;
    s->count = INT64_C(1) << __builtin_popcount(s->sections);
    s->length = type->shape[s->axis] / s->count;
    return s->sections > s->within && !scan_attrs(op)->exclusive && type->rank + 2 <= MAX_RANK;
}

/* The operand's type with a dimension for the sections, and `length` elements of each. */
static const Type *sectioned(const Split *s, const Type *type, int64_t length) {
    int64_t shape[MAX_RANK];
    for (int d = 0; d <= type->rank; d++)
        shape[d] = type->shape[d > s->axis ? d - 1 : d];
    shape[s->axis] = s->count;
    shape[s->axis + 1] = length;
    const Layout *layout =
        length == s->length ? type->layout : layout_drop_bits(s->ctx, type->layout, s->within);
    return type_get(s->ctx, type->kind, type->dtype, type->rank + 1, shape, layout);
}

/* Every thread gets what all sections have: the last element of each as it is scanned. */
static void gather(Split *s, Value *const *scanned, uint32_t n, Value **out) {
    Value **buffers = ARENA_ARRAY(&s->ctx->arena, Value *, n);
    const Layout *others = layout_drop_bits(s->ctx, s->layout, s->sections | s->within);
    const Layout *all = layout_insert_bits(s->ctx, others, __builtin_ctz(s->sections | s->within),
                                           __builtin_popcount(s->sections));
    for (uint32_t i = 0; i < n; i++) {
        const Type *part = sectioned(s, op_in(s->scan, i)->type, 1);
        const Layout *shared =
            layout_shared_for(s->ctx, part->layout, all, type_element_bytes(part), 1);
        buffers[i] = build_local_alloc(
            &s->b, -1, 0, 0,
            type_get(s->ctx, TYPE_BUFFER, part->dtype, part->rank, part->shape, shared));
        int64_t below = 1;
        for (int d = s->axis + 2; d < part->rank; d++)
            below *= part->shape[d];
        build_local_store(&s->b, scanned[i], buffers[i], s->reverse ? 0 : (s->length - 1) * below);
    }
    for (uint32_t i = 0; i < n; i++) {
        const Type *part = sectioned(s, op_in(s->scan, i)->type, 1);
        out[i] = build_local_load(&s->b, buffers[i], NULL, 0, type_with_layout(s->ctx, part, all));
    }
}

/* i1, of the shape of the sectioned tile: is this the section that nothing comes before? */
static Value *is_first(Split *s, const Type *whole) {
    const Type *i32 = type_scalar(s->ctx, DT_I32);
    uint32_t all = (uint32_t)(type_numel(whole) - 1);
    const Layout *layout = layout_drop_bits(s->ctx, s->layout, all & ~s->sections);
    const Type *line = type_get(s->ctx, TYPE_NUMBER, DT_I32, 1, &s->count, layout);
    Value *first = rewrite_int(&s->b, i32, s->reverse ? s->count - 1 : 0);
    Value *everywhere = build_splat(&s->b, first, line);
    Value *found = build_cmpi(&s->b, build_range(&s->b, 0, line), everywhere, IPRED_EQ);
    int64_t shape[MAX_RANK];
    for (int d = 0; d < whole->rank; d++)
        shape[d] = d == s->axis ? s->count : 1;
    const Type *bits = type_with_element(s->ctx, whole, TYPE_NUMBER, DT_I1);
    found = build_reshape(&s->b, found, type_with_shape(s->ctx, found->type, whole->rank, shape));
    return build_broadcast(&s->b, found, bits);
}

/* before[i] and then after[i], element by element. */
static void combine(Split *s, Value *const *before, Value *const *after, uint32_t n, Value **out) {
    Value **pairs = ARENA_ARRAY(&s->ctx->arena, Value *, n);
    for (uint32_t i = 0; i < n; i++)
        pairs[i] = build_join(&s->b, before[i], after[i]);
    Op *scan = rewrite_scan(&s->b, s->scan, pairs, after[0]->type->rank, false, false);
    for (uint32_t i = 0; i < n; i++) {
        const Type *half[] = {after[i]->type, after[i]->type};
        out[i] = &build_split(&s->b, &scan->out[i], 2, half)->out[1];
    }
}

static void split(Split *s) {
    Op *op = s->scan;
    Arena *arena = &s->ctx->arena;
    uint32_t n = op->nin;
    Value **scanned = ARENA_ARRAY(arena, Value *, n), **before = ARENA_ARRAY(arena, Value *, n);
    for (uint32_t i = 0; i < n; i++) {
        Value *value = op_in(op, i);
        scanned[i] = build_reshape(&s->b, value, sectioned(s, value->type, s->length));
    }
    Op *own = rewrite_scan(&s->b, op, scanned, s->axis + 1, s->reverse, false);
    for (uint32_t i = 0; i < n; i++)
        scanned[i] = &own->out[i];
    gather(s, scanned, n, before);
    Op *sums = rewrite_scan(&s->b, op, before, s->axis, s->reverse, true);
    for (uint32_t i = 0; i < n; i++) {
        const Type *type = sectioned(s, op_in(op, i)->type, 1);
        before[i] = build_broadcast(&s->b, build_convert_layout(&s->b, &sums->out[i], type),
                                    scanned[i]->type);
    }
    Value **joined = ARENA_ARRAY(arena, Value *, n);
    combine(s, before, scanned, n, joined);
    Value *first = is_first(s, scanned[0]->type);
    for (uint32_t i = 0; i < n; i++) {
        Value *value = build_select(&s->b, first, scanned[i], joined[i]);
        joined[i] = build_reshape(&s->b, value, op->out[i].type);
    }
    rewrite_replace_all(op, joined);
}

static bool split_block(Block *block) {
    bool changed = false;
    block_for_each_safe (op, block) {
        Split s;
        for (uint32_t i = 0; i < op->nregions && op->code != OP_scan; i++)
            changed |= split_block(op->regions[i]);
        if (op->code != OP_scan || !describe(&s, op))
            continue;
        split(&s);
        changed = true;
    }
    return changed;
}

bool pass_split_scans(Func *func) {
    return split_block(func->body);
}
