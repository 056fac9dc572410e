/* stage-blocks: block accesses outside of pipelines become tensor copies through buffers.
 *
 *     %x = load_block ..                 %s = local_alloc
 *     ..                         ->      mbarrier_expect %full, true {bytes = ..}
 *     use %x                             copy_block .., %s, %full, true
 *                                        ..
 *                                        mbarrier_wait %full, %parity
 *                                        %x = local_load %s
 *                                        use %x
 *
 *     store_block .., %v         ->      local_store %v, %s
 *                                        store_block_from .., %s
 *                                        ..
 *                                        store_wait {pending = 0, read = true}
 *
 * What is loaded is waited for where it is first used; changes of layout and shape go there with
 * it. The parity of the phase alternates from one time to the next, through the loops around. A
 * store is waited for at the end of the block that it stands in: until its buffer was read, or,
 * where the kernel goes on to tell others (atomics, barriers), until memory has it, and all threads
 * with it.
 *
 * Needs layouts. Leaves no load_block and no store_block. */
#include "passes/block_buffers.h"
#include "passes/passes.h"
#include "passes/pointer_origin.h"
#include "passes/rewrite.h"
#include "passes/simplify.h"
#include "passes/tensor_maps.h"
#include "support/vec.h"

typedef VEC(Op *) OpList;

typedef struct Stage {
    Func *func;
    Arena *arena;
    OpList accesses;
    VEC(const Value *) stored; /* pointers of stores so far */
    bool tells;                /* others, by atomics or barriers */
} Stage;

/* Loads */

static bool only_moves(const Op *op) {
    return op->code == OP_convert_layout || op->code == OP_reshape || op->code == OP_transpose;
}

/* The ops in the block of `load` that only move its value, and in `users` who takes it from them.
 */
static void collect_moves(Stage *stage, const Op *load, const Value *value, OpList *moves,
                          PtrSet *users) {
    value_for_each_use (use, value) {
        Op *user = use->user;
        if (only_moves(user) && user->block == load->block) {
            vec_push(stage->arena, moves, user);
            collect_moves(stage, load, op_out(user), moves, users);
        } else {
            ptr_set_add(users, op_ancestor_in(user, load->block));
        }
    }
}

static Op *first_of(const PtrSet *users, Op *from) {
    while (from->next && !ptr_set_has(users, from))
        from = from->next;
    return from;
}

/* Moves what only moves the value to where it is first used, and returns that place. */
static Op *delay(Stage *stage, Op *load) {
    OpList moves = {0};
    PtrSet users = {.arena = stage->arena};
    collect_moves(stage, load, op_out(load), &moves, &users);
    Op *place = first_of(&users, load->next);
    vec_for_each (move, &moves)
        op_move_before(*move, place);
    return moves.len ? moves.data[0] : place;
}

static bool in_loop(const Op *op) {
    for (const Op *parent = op->block->parent; parent; parent = parent->block->parent)
        if (parent->code != OP_if)
            return true;
    return false;
}

static void stage_load(Stage *stage, Op *load) {
    Builder b = builder_before(load);
    b.span = load->span;
    const Type *i32 = type_scalar(b.ctx, DT_I32), *type = block_buffer_type(b.ctx, load);
    Value *full = block_mbarrier(stage->func, load->span, 0);
    bool again = in_loop(load);
    Value *parity = again ? carry_in(load, i32, 0) : rewrite_int(&b, i32, 0);
    if (again)
        carry_out(load, build_xori(&b, parity, rewrite_int(&b, i32, 1)));
    Value *buffer = build_local_alloc(&b, -1, 0, 0, type);
    Value *on = rewrite_int(&b, type_scalar(b.ctx, DT_I1), 1);
    build_mbarrier_expect(&b, full, on, block_buffer_bytes(type));
    build_block_copy(&b, load, NULL, buffer, full, on);
    Op *place = delay(stage, load);
    Builder at = builder_before(place);
    at.span = load->span;
    build_mbarrier_wait(&at, full, parity);
    op_move_before(load, place);
    block_read_from(load, buffer);
}

/* Stores */

/* The wait at the end of the block is the last one's for all of them. */
static bool waits_at_end(const Op *op) {
    const Op *last = op->block->last;
    return last->prev && last->prev->code == OP_store_wait;
}

static void wait_for_store(Stage *stage, Op *store) {
    if (stage->tells) {
        Builder b = builder_after(store);
        b.span = store->span;
        build_store_wait(&b, 0, false);
        build_barrier(&b, false);
    } else if (!waits_at_end(store)) {
        Builder b = builder_before(store->block->last);
        b.span = store->span;
        build_store_wait(&b, 0, true);
    }
}

/* The value without leading dimensions of one element. */
static Value *stored_value(Builder *b, const Op *store, const Type *buffer) {
    Value *value = op_in(store, 1);
    const Type *type = type_with_shape(b->ctx, value->type, buffer->rank, buffer->shape);
    const Op *reshape = value_def(value, OP_reshape);
    if (type == value->type)
        return value;
    return reshape && op_in(reshape, 0)->type == type ? op_in(reshape, 0)
                                                      : build_reshape(b, value, type);
}

/* The parameter that the store's pointer is made from was stored through before, perhaps. */
static bool follows_another(Stage *stage, const Op *store) {
    const Value *parameter = pointer_origin(op_in(store, 0));
    vec_for_each (known, &stage->stored)
        if (*known == parameter)
            return true;
    vec_push(stage->arena, &stage->stored, parameter);
    return in_loop(store);
}

static void stage_store(Stage *stage, Op *store) {
    Builder b = builder_before(store);
    b.span = store->span;
    const Type *type = block_buffer_type(b.ctx, store);
    Value *value = stored_value(&b, store, type);
    Value *buffer = build_local_alloc(&b, -1, 0, 0, type);
    build_local_store(&b, value, buffer);
    if (follows_another(stage, store) && !stage->tells)
        build_store_wait(&b, 0, false);
    wait_for_store(stage, build_block_copy(&b, store, NULL, buffer, NULL, NULL));
    op_remove(store);
}

static bool collect(Op *op, void *user) {
    Stage *stage = user;
    stage->tells |= op->code == OP_atomic_rmw || op->code == OP_atomic_cas || op_has(op, SYNC);
    if (op->code == OP_load_block || op->code == OP_store_block)
        vec_push(stage->arena, &stage->accesses, op);
    return true;
}

bool pass_stage_blocks(Func *func) {
    Ctx *ctx = func_ctx(func);
    if (!func->has_layouts)
        return ctx_diag(ctx, func->span, pass_needs, "stage-blocks", "layouts", "choose-layouts");
    ArenaMark mark = arena_mark(&ctx->scratch);
    Stage stage = {.func = func, .arena = &ctx->scratch};
    func_walk(func, collect, &stage);
    vec_for_each (access, &stage.accesses)
        if ((*access)->code == OP_load_block)
            stage_load(&stage, *access);
        else
            stage_store(&stage, *access);
    bool changed = stage.accesses.len > 0;
    if (changed)
        eliminate_dead(func);
    arena_rewind(&ctx->scratch, mark);
    return changed;
}
