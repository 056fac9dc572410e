/* raise-pointers: loads and stores through tiles of pointers become block accesses.
 *
 * A load that feeds a dot, and a store of what a dot made, become load_block and store_block where
 * the hardware can then copy the block (tma_takes). The pointers are taken apart (affine.h):
 *
 *     pointer = base + offset + sum over dimensions d of stride_d * i_d
 *     mask    = conjunction of i_d < bound_d
 *
 * and put together again as a tensor whose extents and strides depend on the launch alone, and the
 * place of the block in it:
 *
 *  - A dimension with a bound has the bound's part that depends on the launch as extent, and what
 * is taken from it as place: i < K - k is the block at k of a tensor of extent K. Only the mask of
 *    the access itself gives extents: whatever else is compared with %M guards something else.
 *  - A dimension taken modulo M has extent M; see below.
 *  - A dimension without a bound takes the products of offset and its stride as place, and is not
 *    checked. Its extent is any that covers it: the program promises that it is inside.
 *  - What is left of the offset and depends on the program becomes dimensions of their own, of one
 *    element: batch * stride_b is place `batch` along a dimension of stride `stride_b`. What
 * depends on the launch alone goes to the base.
 *
 * The hardware fills with zeros what lies before the tensor, which pointers would read: places must
 * be known not to be negative, unless the mask says so too.
 *
 * Rows modulo M: a block has zeros from row M on, the pointers reach rows again from 0. Either is
 * right if nobody looks, which rows_are_unobserved proves. Where M and the place are multiples of
 * the tile the rows are (place mod M) + i, and nothing has to be proved.
 *
 * Behind a barrier of the source a program may read what it stored before: a tensor copy would be
 * waited for until memory has it, as long as a load takes, where threads that store go on. Small
 * stores with a barrier behind them stay.
 *
 * Where a loop that stores nothing multiplies only what threads compute from its loads, and not
 * what they convert alone, these stay: blocks would go through shared memory twice, and their
 * buffers take the place of other CTAs.
 *
 * A block whose base depends on the program, from a block pointer or a descriptor, gets dimensions
 * for what does in the same way.
 *
 * Needs no layouts, and simplified IR: equal scalars must be one value. Each access that stays gets
 * a remark.
 *
 *     %rows = addi (splat %m), (range 0..63)        %depth = range 0..31
 *     %p = addptr (splat %a), (%rows * splat %s)    %q = addptr %p, (%depth + splat %k)
 *     %t = load %q, %rows < splat %M & %depth < splat (%K - %k), 0.0
 *  =>
 *     %t = load_block %a, %M, %K, %s, 1, %m, %k {checked = 3} */
#include "ir/recipe.h"
#include "passes/blocks/block_plan.h"
#include "passes/blocks/tensor_maps.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/simplify/simplify.h"
#include "support/vec.h"
#include "target/target.h"

enum {
    ORIGIN_BUDGET = 256,
    SMALL_BYTES = 4096, /* of a tile whose store is not worth a wait */
};

/* An access and what was built for it. The old load stays until the new one is taken; an old store
 * cannot, since both would write. */
typedef struct Raised {
    Op *op;
    bool met; /* the threads of the program may meet behind it, in the source */
    BlockPlan plan;
    const char *why_not;
    Op *first, *block;
    Value *value; /* of a load: the tile in its own shape */
    uint32_t nin; /* operands of a store that was removed */
    Value **in;
    Span span;
} Raised;

typedef struct Raise {
    Func *func;
    Arena *arena;
    VEC(Raised) accesses;
} Raise;

/* Candidates */

static bool comes_from_dot(const Value *value, PtrSet *seen);

/* What a loop carries comes from one: it enters the loop, or an iteration gives it to the next. */
static bool carried_from_dot(const Op *loop, uint32_t index, PtrSet *seen) {
    return comes_from_dot(op_in(loop, FOR_FIXED_OPERANDS + index), seen) ||
           comes_from_dot(op_in(loop->regions[0]->last, index), seen);
}

/* The value is made of a dot's. */
static bool comes_from_dot(const Value *value, PtrSet *seen) {
    const Op *op = value->def;
    if (seen->len > ORIGIN_BUDGET || !ptr_set_add(seen, value))
        return false;
    if (!op) {
        const Op *loop = value->owner->parent;
        return loop && loop->code == OP_for && value->index > 0 &&
               carried_from_dot(loop, value->index - 1, seen);
    }
    if (op->code == OP_dot)
        return true;
    if (op->code == OP_for)
        return carried_from_dot(op, value->index, seen);
    if (op->code == OP_if) {
        for (uint32_t r = 0; r < op->nregions; r++)
            if (comes_from_dot(op_in(op->regions[r]->last, value->index), seen))
                return true;
        return false;
    }
    for (uint32_t i = 0; op_is_pure(op) && i < op->nin; i++)
        if (comes_from_dot(op_in(op, i), seen))
            return true;
    return false;
}

/* Blocks are candidates where their base depends on the program. */
static bool is_candidate(Raise *r, Op *op) {
    bool is_block = op_is_block_access(op);
    if (!op_is_load(op) && !op_has(op, STORE))
        return false;
    const Type *tile = op_is_load(op) ? op_out(op)->type : op_in(op, 1)->type;
    if (tile->rank < 2 || tile->kind != TYPE_NUMBER || (is_block && launch_invariant(op_in(op, 0))))
        return false;
    if (op_is_load(op))
        return value_may_reach_dot(op_out(op));
    PtrSet seen = {.arena = r->arena};
    return comes_from_dot(op_in(op, 1), &seen);
}

/* Barriers come behind all accesses before them in the text, and in the loops around. */
static bool collect(Op *op, void *user) {
    Raise *r = user;
    const Op *around = op_outermost_loop(op);
    if (op_has(op, SYNC))
        vec_for_each (access, &r->accesses)
            access->met = true;
    if (is_candidate(r, op)) {
        bool met = around && op_contains(around, SYNC);
        vec_push(r->arena, &r->accesses, ((Raised){.op = op, .met = met, .span = op->span}));
    }
    return true;
}

/* A small store that memory would have to have before threads meet. */
static bool is_waited_for(const Raised *access) {
    return access->met && op_has(access->op, STORE) && !op_is_block_access(access->op) &&
           type_bytes(op_in(access->op, 1)->type) <= SMALL_BYTES;
}

/* Is the operand of a dot what the block loads, rearranged or converted at most? */
static bool is_loaded_in(const Value *operand, const Block *block) {
    while (operand->def && (op_rearranges(operand->def) || op_has(operand->def, CONVERTS)))
        operand = op_in(operand->def, 0);
    return operand->def && operand->def->block == block && op_is_load(operand->def);
}

/* Threads compute all operands of the loop's dots from what it loads, and it stores nothing: what
 * they take comes into their registers, where its loads move up past the work of other iterations.
 * Buffers between would cost a way through shared memory, and CTAs of the SM. */
static bool is_for_threads(const Op *load) {
    const Op *loop = load->block->parent;
    if (load->code != OP_load || !loop || loop->code != OP_for || for_attrs(loop)->num_stages ||
        op_contains(loop, WRITES))
        return false;
    bool multiplies = false;
    block_for_each (dot, load->block) {
        if (dot->code != OP_dot)
            continue;
        multiplies = true;
        if (is_loaded_in(op_in(dot, 0), load->block) || is_loaded_in(op_in(dot, 1), load->block))
            return false;
    }
    return multiplies;
}

/* Building */

static DType place_dtype(const BlockPlan *plan) {
    for (int d = 0; d < plan->rank; d++)
        if (poly_dtype(plan->dims[d].place) == DT_I64)
            return DT_I64;
    return DT_I32;
}

static Value *build_sum(Builder *b, const BlockDim *dim, const Type *type) {
    Value *found = dim->found;
    if (!found || (found->type != type && found->type->dtype == DT_I64))
        return poly_build(b, dim->place, type);
    if (found->type != type)
        found = build_extsi(b, found, type);
    return poly_is_zero(dim->not_found) ? found
                                        : build_addi(b, found, poly_build(b, dim->not_found, type));
}

static Value *build_place(Builder *b, const BlockDim *dim, const Type *type) {
    Value *place = build_sum(b, dim, type);
    return dim->wraps ? build_remsi(b, place, poly_build(b, dim->extent, type)) : place;
}

static Value *build_base(Builder *b, const BlockPlan *plan) {
    if (poly_is_zero(plan->base_offset))
        return plan->base;
    const Type *type = type_scalar(b->ctx, DT_I64);
    return build_addptr(b, plan->base, poly_build(b, plan->base_offset, type));
}

static const Type *block_type(Ctx *ctx, const BlockPlan *plan, DType dtype) {
    int64_t shape[RECIPE_MAX_RANK];
    for (int d = 0; d < plan->rank; d++)
        shape[d] = plan->dims[d].side;
    return type_get(ctx, TYPE_NUMBER, dtype, plan->rank, shape, NULL);
}

/* The value of a store is brought into the block's shape, that of a load out of it. */
static Op *build_block(Builder *b, const BlockPlan *plan, OpCode code, Value *stored,
                       const Type *tile) {
    Value *shape[RECIPE_MAX_RANK], *strides[RECIPE_MAX_RANK], *places[RECIPE_MAX_RANK];
    const Type *wide = type_scalar(b->ctx, DT_I64);
    const Type *type = type_scalar(b->ctx, place_dtype(plan)),
               *block = block_type(b->ctx, plan, tile->dtype);
    Value *base = build_base(b, plan);
    int64_t checked = 0;
    for (int d = 0; d < plan->rank; d++) {
        shape[d] = poly_build(b, plan->dims[d].extent, wide);
        strides[d] = poly_build(b, plan->dims[d].stride, wide);
        places[d] = build_place(b, &plan->dims[d], type);
        checked |= (int64_t)plan->dims[d].checked << d;
    }
    if (stored && block != tile)
        stored = build_reshape(b, stored, block);
    return build_block_access(b, code, base, stored, shape, strides, places, checked, block);
}

/* The attributes of blocks but `checked`, of pointers and blocks alike. */
static void copy_attributes(const Op *from, Op *block) {
    int64_t checked = op_checked(block);
    op_copy_attrs(block, from);
    op_set_checked(block, checked);
}

static void replace_load(Builder *b, Raised *access) {
    const Type *tile = op_out(access->op)->type;
    access->block = build_block(b, &access->plan, OP_load_block, NULL, tile);
    copy_attributes(access->op, access->block);
    access->value = op_out(access->block);
    if (access->value->type != tile)
        access->value = build_reshape(b, access->value, tile);
    value_replace(op_out(access->op), access->value);
}

static void replace_store(Raise *r, Builder *b, Raised *access) {
    Op *store = access->op;
    Value *stored = op_in(store, 1);
    access->nin = store->nin;
    access->in = ARENA_ARRAY(r->arena, Value *, store->nin);
    for (uint32_t i = 0; i < store->nin; i++)
        access->in[i] = op_in(store, i);
    access->block = build_block(b, &access->plan, OP_store_block, stored, stored->type);
    copy_attributes(store, access->block);
    op_remove(store);
}

static void build_access(Raise *r, Raised *access) {
    Builder b = builder_before(access->op);
    Op *before = access->op->prev;
    Block *block = access->op->block;
    b.span = access->span;
    if (op_is_load(access->op))
        replace_load(&b, access);
    else
        replace_store(r, &b, access);
    access->first = before ? before->next : block->first;
}

/* Taking back */

static void remove_built(Raised *access) {
    Op *last = access->value ? access->value->def : access->block;
    for (bool more = true; more;) {
        Op *op = last;
        more = op != access->first;
        last = op->prev;
        op_remove(op);
    }
}

static void take_back(Raised *access) {
    if (access->value) {
        value_replace(access->value, op_out(access->op));
    } else {
        Builder b = builder_before(access->first);
        b.span = access->span;
        const Op *removed = access->op;
        access->op = op_create(&b, removed->code, access->nin, access->in, 0, NULL);
        op_copy_attrs(access->op, removed);
    }
    remove_built(access);
}

static void keep(Raised *access) {
    if (!access->value)
        return;
    if (!access->value->name.len)
        access->value->name = op_out(access->op)->name;
    op_remove(access->op);
}

/* Plans first, of the unchanged function; then the blocks, of which tma_takes is asked. */
static bool raise_all(Raise *r) {
    Affines *affines = affines_create(r->func, r->arena);
    bool any = false;
    vec_for_each (access, &r->accesses)
        if (is_waited_for(access))
            access->why_not = "it is small, and memory would have to have it before a barrier";
        else if (is_for_threads(access->op))
            access->why_not = "threads compute all operands of this loop's products from its loads";
        else
            block_plan(affines, access->op, &access->plan, &access->why_not);
    vec_for_each (access, &r->accesses)
        if (!access->why_not)
            build_access(r, access);
    const Facts *facts = facts_compute(r->func, r->arena);
    vec_for_each (access, &r->accesses)
        if (access->block)
            tma_takes_by(r->func, facts, access->block, &access->why_not);
    vec_for_each (access, &r->accesses) {
        bool kept = !access->why_not;
        if (kept)
            keep(access);
        else if (access->block)
            take_back(access);
        any |= kept;
        if (!kept && !op_is_block_access(access->op)) /* lower-blocks tells of blocks */
            ctx_diag(func_ctx(r->func), access->span, access_not_raised,
                     op_is_load(access->op) ? "load" : "store", access->why_not);
    }
    return any;
}

bool pass_raise_pointers(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    Raise r = {.func = func, .arena = arena};
    if (target_has(func->capability, FEATURE_TENSOR_COPIES) && !func->no_tensor_copies)
        func_walk(func, collect, &r);
    bool changed = r.accesses.len > 0 && raise_all(&r);
    if (changed)
        eliminate_dead(func);
    arena_rewind(arena, mark);
    return changed;
}
