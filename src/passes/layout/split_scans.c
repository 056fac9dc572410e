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
 * Where a thread has runs of at least four neighbours, what lanes have before a run and what warps
 * have before it are combined first, so that an element is combined with what is before it once:
 *
 *     %p = scan (reshape %x : tile<4x32x8xi32>) {axis = 2}     each run, in registers
 *     %r = slice %p {at = 7} : tile<4x32xi32>                  what each has in all
 *     %l = scan %r {axis = 1, exclusive = true}                before it, of its warp
 *     %c, as above, of the last of %l and then %r
 *     %b = %c and then %l; in the first warp %l, in front of a warp's first run %c
 *     %y = reshape (select (first run of all), %p, %b and then %p)
 *
 * A reduction of the same line by the same region, behind the scan (the sum of a block whose places
 * are scanned), is what all warps have: it takes %t, and needs no exchange of its own.
 *
 * Needs layouts in which scans meet their axis in order, as choose-layouts puts them. Leaves no
 * scan whose axis is held by warps. */
#include "passes/layout/layout_rules.h"
#include "passes/layout/tile_parts.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

/* Of a shorter run combining its elements once is no less than what goes before: the last of a
 * warp, and what precedes runs, combined with each other. */
enum { LEAST_RUN_BITS = 2 };

enum { LINE_DEPTH = 8 }; /* of what a line is computed by, where it is compared with another */

typedef struct Split {
    Ctx *ctx;
    Op *scan;
    Builder b;
    int axis;
    bool reverse;
    uint32_t sections, within; /* index bits of the axis: of warps, of what each has */
    uint32_t runs;             /* of those within, the lowest: of neighbours in a thread */
    int64_t count, length;     /* of sections, of one */
    const Layout *layout;
} Split;

/* The lowest index bits of the axis that registers alone hold, one each. */
static uint32_t run_bits(const Layout *layout, uint32_t axis) {
    uint32_t runs = 0;
    for (uint32_t bit = axis & -axis, held = 1; held && bit & axis; bit <<= 1) {
        held = 0;
        for (int i = 0; i < layout_in_bits(layout); i++)
            if (layout->basis[i] & bit)
                held = i < layout->bits[LAYOUT_REG] && layout->basis[i] == bit ? bit : 0;
        runs |= held;
    }
    return runs;
}

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
    s->runs = run_bits(s->layout, s->within);
    bool short_runs = __builtin_popcount(s->runs) < LEAST_RUN_BITS || s->runs == s->within;
    if (short_runs || type->rank + 3 > MAX_RANK)
        s->runs = 0;
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
        length == s->length ? s->layout : layout_drop_bits(s->ctx, s->layout, s->within);
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

/* Reductions of what is scanned */

/* The same elements, in whatever layouts: converted, or computed in both of them. */
static bool is_same_line(const Value *a, const Value *b, int depth) {
    for (const Op *op; (op = value_def(a, OP_convert_layout));)
        a = op_in(op, 0);
    for (const Op *op; (op = value_def(b, OP_convert_layout));)
        b = op_in(op, 0);
    if (a == b)
        return true;
    const Op *of_a = a->def, *of_b = b->def;
    if (!of_a || !of_b || depth == 0 || !op_is_pure(of_a) || of_a->nregions || of_a->nout != 1 ||
        !op_attributes_alike(of_a, of_b) ||
        type_with_layout(func_ctx(of_a->block->func), a->type, NULL) !=
            type_with_layout(func_ctx(of_a->block->func), b->type, NULL))
        return false;
    for (uint32_t i = 0; i < of_a->nin; i++)
        if (!is_same_line(op_in(of_a, i), op_in(of_b, i), depth - 1))
            return false;
    return true;
}

/* Does the op reduce the line that is scanned? Scans whose order shows do not cross warps. */
static bool reduces_scanned(const Split *s, const Op *op) {
    const Op *scan = s->scan;
    if (op->code != OP_reduce || op->nin != scan->nin || op_in(op, 0)->type->rank != 1 ||
        reduce_attrs(op)->keep || s->reverse)
        return false;
    for (uint32_t i = 0; i < op->nin; i++)
        if (!is_same_line(op_in(op, i), op_in(scan, i), LINE_DEPTH))
            return false;
    return op_regions_alike(op, scan);
}

/* `gathered`: what each section has in all. */
static void reduce_gathered(Split *s, Value *const *gathered, uint32_t n) {
    Value **in = ARENA_ARRAY(&s->ctx->arena, Value *, n);
    Value **out = ARENA_ARRAY(&s->ctx->arena, Value *, n);
    for (Op *op = s->scan->next, *next; op; op = next) {
        next = op->next;
        if (!reduces_scanned(s, op))
            continue;
        for (uint32_t i = 0; i < n; i++) {
            const Type *line = type_with_shape(s->ctx, gathered[i]->type, 1, &s->count);
            in[i] = build_reshape(&s->b, gathered[i], line);
        }
        Op *reduce = rewrite_reduce(&s->b, op, in, 0);
        for (uint32_t i = 0; i < n; i++)
            out[i] = &reduce->out[i];
        rewrite_replace_all(op, out);
    }
}

/* i1, of the shape of `whole`: is the element the one along `dim` that the scan meets first? */
static Value *is_first(Split *s, const Type *whole, int dim) {
    const Type *i32 = type_scalar(s->ctx, DT_I32);
    uint32_t all = (uint32_t)(type_numel(whole) - 1);
    int64_t count = whole->shape[dim];
    uint32_t own = layout_dim_mask(whole->rank, whole->shape, dim);
    const Layout *layout = layout_drop_bits(s->ctx, whole->layout, all & ~own);
    const Type *line = type_get(s->ctx, TYPE_NUMBER, DT_I32, 1, &count, layout);
    Value *first = rewrite_int(&s->b, i32, s->reverse ? count - 1 : 0);
    Value *everywhere = build_splat(&s->b, first, line);
    Value *found = build_cmpi(&s->b, build_range(&s->b, 0, line), everywhere, IPRED_EQ);
    int64_t shape[MAX_RANK];
    for (int d = 0; d < whole->rank; d++)
        shape[d] = d == dim ? count : 1;
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

/* What the sections before each have in all, for each of its elements; `scanned`: those of a
 * section. Nothing that is defined in the first. */
static void before_sections(Split *s, Value *const *scanned, uint32_t n, Value **out) {
    gather(s, scanned, n, out);
    reduce_gathered(s, out, n);
    Op *sums = rewrite_scan(&s->b, s->scan, out, s->axis, s->reverse, true);
    for (uint32_t i = 0; i < n; i++) {
        const Type *type = sectioned(s, op_in(s->scan, i)->type, 1);
        out[i] = build_broadcast(&s->b, build_convert_layout(&s->b, &sums->out[i], type),
                                 scanned[i]->type);
    }
}

static void choose(Split *s, Value *on, Value *const *a, Value *const *b, uint32_t n, Value **out) {
    for (uint32_t i = 0; i < n; i++)
        out[i] = build_select(&s->b, on, a[i], b[i]);
}

static void split_whole(Split *s, Value *const *in, uint32_t n, Value **out) {
    Value **before = ARENA_ARRAY(&s->ctx->arena, Value *, n);
    Op *own = rewrite_scan(&s->b, s->scan, in, s->axis + 1, s->reverse, false);
    Value **scanned = ARENA_ARRAY(&s->ctx->arena, Value *, n);
    for (uint32_t i = 0; i < n; i++)
        scanned[i] = &own->out[i];
    before_sections(s, scanned, n, before);
    combine(s, before, scanned, n, out);
    choose(s, is_first(s, in[0]->type, s->axis), scanned, out, n, out);
}

/* What is before each run, `totals` being what each has in all; of the first of all nothing that is
 * defined. */
static void before_runs(Split *s, Value *const *totals, uint32_t n, Value **out) {
    Value **own = ARENA_ARRAY(&s->ctx->arena, Value *, n);
    Value **others = ARENA_ARRAY(&s->ctx->arena, Value *, n);
    Op *scan = rewrite_scan(&s->b, s->scan, totals, s->axis + 1, s->reverse, true);
    for (uint32_t i = 0; i < n; i++)
        own[i] = &scan->out[i];
    combine(s, own, totals, n, out);
    before_sections(s, out, n, others);
    combine(s, others, own, n, out);
    choose(s, is_first(s, totals[0]->type, s->axis), own, out, n, out);
    choose(s, is_first(s, totals[0]->type, s->axis + 1), others, out, n, out);
}

/* `value` with a dimension of `count` behind the one of a section's elements, which are taken
 * apart, or without that dimension (0). */
static Value *with_runs(Split *s, Value *value, int64_t count) {
    const Type *type = value->type;
    int rank = type->rank + (count ? 1 : -1), behind = s->axis + 2;
    int64_t shape[MAX_RANK];
    for (int d = 0; d < rank; d++)
        shape[d] = type->shape[d < behind ? d : count ? d - 1 : d + 1];
    if (count) {
        shape[behind - 1] /= count;
        shape[behind] = count;
    }
    return build_reshape(&s->b, value, type_with_shape(s->ctx, type, rank, shape));
}

/* `value`, that has one element for each run, for all elements of a tile of `type`'s shape. */
static Value *for_elements(Split *s, Value *value, const Type *type) {
    const Type *own = value->type;
    int64_t shape[MAX_RANK];
    for (int d = 0; d < type->rank; d++)
        shape[d] = d == s->axis + 2 ? 1 : type->shape[d];
    value = build_reshape(&s->b, value, type_with_shape(s->ctx, own, type->rank, shape));
    return build_broadcast(&s->b, value, type_with_element(s->ctx, type, own->kind, own->dtype));
}

/* The same sections, of a tile that has one element for each run. */
static Split sections_of_runs(const Split *s, const Type *type) {
    Split of = *s;
    of.layout = type->layout;
    of.sections = layout_dim_mask(type->rank, type->shape, s->axis);
    of.within = layout_dim_mask(type->rank, type->shape, s->axis + 1);
    of.length = type->shape[s->axis + 1];
    return of;
}

static void split_runs(Split *s, Value *const *in, uint32_t n, Value **out) {
    Arena *arena = &s->ctx->arena;
    Value **scanned = ARENA_ARRAY(arena, Value *, n), **totals = ARENA_ARRAY(arena, Value *, n);
    Value **before = ARENA_ARRAY(arena, Value *, n);
    int64_t length = INT64_C(1) << __builtin_popcount(s->runs);
    for (uint32_t i = 0; i < n; i++)
        scanned[i] = with_runs(s, in[i], length);
    Op *own = rewrite_scan(&s->b, s->scan, scanned, s->axis + 2, s->reverse, false);
    Part last = {s->axis + 2, s->reverse ? 0 : length - 1, 1};
    for (uint32_t i = 0; i < n; i++) {
        scanned[i] = &own->out[i];
        totals[i] = with_runs(s, part_by_slice(&s->b, scanned[i], last), 0);
    }
    Split of = sections_of_runs(s, totals[0]->type);
    before_runs(&of, totals, n, before);
    Value *first = build_andi(&s->b, is_first(&of, totals[0]->type, s->axis),
                              is_first(&of, totals[0]->type, s->axis + 1));
    for (uint32_t i = 0; i < n; i++)
        before[i] = for_elements(s, before[i], scanned[i]->type);
    combine(s, before, scanned, n, out);
    choose(s, for_elements(s, first, scanned[0]->type), scanned, out, n, out);
}

static void split(Split *s) {
    Op *op = s->scan;
    uint32_t n = op->nin;
    Value **in = ARENA_ARRAY(&s->ctx->arena, Value *, n);
    for (uint32_t i = 0; i < n; i++) {
        Value *value = op_in(op, i);
        in[i] = build_reshape(&s->b, value, sectioned(s, value->type, s->length));
    }
    if (s->runs)
        split_runs(s, in, n, in);
    else
        split_whole(s, in, n, in);
    for (uint32_t i = 0; i < n; i++)
        in[i] = build_reshape(&s->b, in[i], op->out[i].type);
    rewrite_replace_all(op, in);
}

typedef struct Scans {
    Arena *arena;
    VEC(Op *) found;
} Scans;

static bool collect_scan(Op *op, void *user) {
    Scans *scans = user;
    if (op->code == OP_scan)
        vec_push(scans->arena, &scans->found, op);
    return true;
}

/* All scans are found first: a reduction behind one, which the walk would go on with, may go. */
bool pass_split_scans(Func *func) {
    Scans scans = {.arena = &func_ctx(func)->scratch};
    bool changed = false;
    func_walk(func, collect_scan, &scans);
    vec_for_each (scan, &scans.found) {
        Split s;
        if (!describe(&s, *scan))
            continue;
        split(&s);
        changed = true;
    }
    return changed;
}
