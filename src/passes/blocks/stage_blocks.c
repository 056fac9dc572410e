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
 * What is loaded is started before what others wait for (start_loads.c) and waited for where it is
 * first used; changes of layout and shape go there with it. Where the kernel tells others (atomics,
 * barriers, PTX of the source with effects) before that, it is waited for there: they may write
 * where it was loaded. The parity of the phase alternates from one time to the next, through the
 * loops around. A store is waited for at the end of the block that it stands in: until its buffer
 * was read. Where the kernel goes on to tell others behind it, memory has it before that, and all
 * threads know: behind the loops around in which it tells nobody, or where it does so in the
 * store's block, or at the block's end; then its buffer is waited for at once.
 *
 * Copies are not ordered among each other. So a store waits for the ones before it through the same
 * parameter, but for those to other parts of one tensor: then only where its rows overlap, which
 * the kernel finds out.
 *
 * A store that may begin before its tensor in programs that store nothing, those past the last tile
 * of a grouped order of programs, is guarded: the hardware ends a launch for such a place.
 *
 * Needs layouts, and of blocks those that tensor copies take (lower-blocks). Leaves none. */
#include "passes/analysis/pointer_origin.h"
#include "passes/blocks/block_buffers.h"
#include "passes/blocks/start_loads.h"
#include "passes/blocks/tensor_maps.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/simplify/simplify.h"
#include "support/vec.h"

typedef VEC(Op *) OpList;

/* A copy to memory, and the parameter that its pointer is made from. */
typedef struct Stored {
    const Value *parameter;
    const Op *copy;
} Stored;

/* A block access; of a store: what its copy is to have, whether the program may tell others behind
 * it, and the outermost loop around it in which it tells nobody; NULL: there is none. */
typedef struct Access {
    Op *op;
    bool guarded, told;
    Op *quiet;
} Access;

typedef struct Stage {
    Func *func;
    Arena *arena;
    const Facts *facts;
    VEC(Access) accesses;
    VEC(Stored) stored;   /* so far, that memory may not have yet */
    const Block *ordered; /* where a store waited for all that was stored when it ran before */
} Stage;

/* Loads */

/* The ops in the block of `load` that only move its value, and in `users` who takes it from them.
 */
static void collect_moves(Stage *stage, const Op *load, const Value *value, OpList *moves,
                          PtrSet *users) {
    value_for_each_use (use, value) {
        Op *user = use->user;
        if (op_rearranges(user) && user->block == load->block) {
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

static bool releases(const Op *op, const void *user) {
    (void)user;
    return op_releases(op);
}

/* The first op behind `load` in its block that tells others; NULL: there is none. */
static Op *release_behind(const Op *load) {
    Op *op = load->next;
    while (op && !op_any(op, releases, NULL))
        op = op->next;
    return op;
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

static void stage_load(Stage *stage, Op *load) {
    Builder b = builder_before(load);
    b.span = load->span;
    const Type *i32 = type_scalar(b.ctx, DT_I32), *type = block_buffer_type(b.ctx, load);
    Value *full = block_mbarrier(stage->func, load->span, 0, 0);
    bool again = op_loop_around(load) != NULL;
    Value *parity = again ? carry_in(load, i32, 0) : rewrite_int(&b, i32, 0);
    if (again)
        carry_out(load, build_xori(&b, parity, rewrite_int(&b, i32, 1)));
    Value *buffer = build_local_alloc(&b, -1, 0, 0, type);
    Value *on = rewrite_int(&b, type_scalar(b.ctx, DT_I1), 1);
    build_mbarrier_expect(&b, full, on, block_buffer_bytes(type));
    build_block_copy(&b, load, NULL, buffer, full, on);
    Op *release = release_behind(load), *place = delay(stage, load);
    Builder at = builder_before(release && op_comes_before(release, place) ? release : place);
    at.span = load->span;
    build_mbarrier_wait(&at, full, parity, NULL);
    op_move_before(load, place);
    block_read_from(load, buffer);
}

/* Stores */

/* The wait at the end of the block is the last one's for all of them. */
static bool waits_at_end(const Op *op) {
    const Op *last = op->block->last;
    return last->prev && last->prev->code == OP_store_wait;
}

static void wait_until_read(Op *store, bool at_once) {
    if (!at_once && waits_at_end(store))
        return;
    Builder b = at_once ? builder_after(store) : builder_before(store->block->last);
    b.span = store->span;
    build_store_wait(&b, 0, true);
}

static bool waits_for_memory(const Op *op) {
    return op && op->code == OP_store_wait && !op_pending(op) && !store_wait_attrs(op)->read;
}

/* Memory has what was stored in front of `op`, and all threads know. */
static void wait_for_memory(Op *op, Span span) {
    if (waits_for_memory(op) || waits_for_memory(op->prev))
        return;
    Builder b = builder_before(op);
    b.span = span;
    build_store_wait(&b, 0, false);
    if (op->code != OP_barrier)
        build_barrier(&b, false, false);
}

/* Where memory has it at the latest: behind the loops in which nobody is told, else in front of
 * what tells in the store's block, and at its end. */
static Op *place_to_wait(Op *store, const Op *quiet) {
    Op *release = quiet ? NULL : release_behind(store);
    return quiet ? quiet->next : release ? release : store->block->last;
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

/* `value` less a constant that was added to it; NULL: it is the constant. */
static const Value *less_constant(const Value *value, int64_t *constant) {
    *constant = 0;
    if (value_int_constant(value, constant))
        return NULL;
    const Op *sum = value_def(value, OP_addi);
    for (uint32_t i = 0; sum && i < 2; i++)
        if (value_int_constant(op_in(sum, i), constant))
            return op_in(sum, 1 - i);
    return value;
}

/* Along which dimension the blocks, of one tensor, have no place in common; -1: none. */
static int apart_along(const Op *first, const Op *second) {
    BlockAccess a = block_access(first), b = block_access(second);
    if (a.rank != b.rank || op_in(first, 0) != op_in(second, 0))
        return -1;
    int found = -1;
    for (int d = 0; d < a.rank; d++) {
        uint32_t at = (uint32_t)d;
        int64_t from[2];
        if (op_in(first, a.shape + at) != op_in(second, b.shape + at) ||
            op_in(first, a.strides + at) != op_in(second, b.strides + at))
            return -1;
        const Value *base = less_constant(op_in(first, a.offsets + at), &from[0]);
        if (base != less_constant(op_in(second, b.offsets + at), &from[1]))
            continue;
        if (from[0] + a.tile->shape[d] <= from[1] || from[1] + b.tile->shape[d] <= from[0])
            found = d;
    }
    return found;
}

/* i1: can two places of the tensor, in the blocks of the stores, be one element of memory? NULL: it
 * is not known. Rows no longer than from one to the next do not overlap. */
static Value *overlaps(Builder *b, const Op *first, const Op *second) {
    int along = apart_along(first, second);
    BlockAccess a = block_access(first), c = block_access(second);
    Value *extent = NULL, *stride = NULL;
    int rows = 0;
    for (int d = 0; d < a.rank && along >= 0; d++) {
        uint32_t at = (uint32_t)d;
        bool same = op_in(first, a.offsets + at) == op_in(second, c.offsets + at);
        if (value_is_int(op_in(second, c.strides + at), 1))
            extent = op_in(second, c.shape + at);
        else if (a.tile->shape[d] > 1 || c.tile->shape[d] > 1 || !same) {
            stride = op_in(second, c.strides + at);
            rows++;
        }
    }
    return extent && rows == 1 ? build_cmpi(b, extent, stride, IPRED_SGT) : NULL;
}

/* In one program: the loop over them stands in no other. */
static bool runs_again(const Op *store) {
    const Op *loop = op_loop_around(store);
    return loop && loop != loop_over_programs(store->block->func);
}

/* Orders the store behind those before it through the same parameter, and behind itself where the
 * program runs it again: unless memory has it by then (`once`). Where one in front of it in its
 * block, which runs as often, has waited for all, it waits for buffers alone, which others then may
 * take. */
static void wait_for_others(Stage *stage, Builder *b, const Op *store, bool once) {
    const Value *parameter = pointer_origin(op_in(store, 0));
    Value *meet = NULL;
    bool first = true, all = false;
    vec_for_each (other, &stage->stored) {
        if (!origins_meet(stage->func, other->parameter, parameter))
            continue;
        bool compares = other->parameter == parameter && other->copy->block == store->block && !all;
        Value *overlap = compares ? overlaps(b, other->copy, store) : NULL;
        all |= !overlap;
        meet = first ? overlap : overlap && meet ? build_ori(b, meet, overlap) : NULL;
        first = false;
    }
    bool again = first && !once && runs_again(store);
    if (all || again) {
        bool ordered = !all && stage->ordered == store->block;
        build_store_wait(b, 0, ordered);
        stage->ordered = store->block;
    } else if (meet) {
        Op *branch = build_if(b, meet, 0, NULL);
        Builder inside = builder_at_end(branch->regions[0]),
                other = builder_at_end(branch->regions[1]);
        inside.span = other.span = store->span;
        build_store_wait(&inside, 0, false);
        build_yield(&inside, 0, NULL);
        build_yield(&other, 0, NULL);
    }
}

/* May the block begin before the tensor? See SIGN_BY_QUOTIENT, and `begins_inside` of
 * tensor_maps.c. */
static bool needs_guard(const Stage *stage, const Op *store) {
    BlockAccess access = block_access(store);
    for (int d = 0; d < access.rank && store->code == OP_store_block; d++)
        if (facts_of(stage->facts, op_in(store, access.offsets + (uint32_t)d))->sign !=
            SIGN_NONNEGATIVE)
            return true;
    return false;
}

static void stage_store(Stage *stage, Access access) {
    Op *store = access.op;
    Builder b = builder_before(store);
    b.span = store->span;
    const Type *type = block_buffer_type(b.ctx, store);
    Value *value = stored_value(&b, store, type);
    Value *buffer = build_local_alloc(&b, -1, 0, 0, type);
    build_local_store(&b, value, buffer, 0);
    bool once = access.told && !access.quiet; /* before it runs again, memory has it */
    wait_for_others(stage, &b, store, once);
    Op *copy = build_block_copy(&b, store, NULL, buffer, NULL, NULL);
    store_block_from_attrs(copy)->guarded = access.guarded;
    vec_push(stage->arena, &stage->stored, ((Stored){pointer_origin(op_in(store, 0)), copy}));
    op_remove(store);
    if (access.told)
        wait_for_memory(place_to_wait(copy, access.quiet), copy->span);
    if (!waits_for_memory(copy->next))
        wait_until_read(copy, once);
}

static Op *quiet_loop(const Op *op) {
    Op *found = NULL;
    for (Op *loop = op_loop_around(op); loop && !op_any(loop, releases, NULL);
         loop = op_loop_around(loop))
        found = loop;
    return found;
}

/* Ops come in the order of the text: what tells others does so behind all stores before it, and
 * behind those of the outermost loop that it stands in. */
static bool collect(Op *op, void *user) {
    Stage *stage = user;
    const Op *around = op_outermost_loop(op);
    if (op_releases(op))
        vec_for_each (access, &stage->accesses)
            access->told = true;
    if (op_is_block_access(op) && !op_has(op, ATOMIC)) {
        bool told = around && op_any(around, releases, NULL);
        vec_push(stage->arena, &stage->accesses,
                 ((Access){op, needs_guard(stage, op), told, quiet_loop(op)}));
    }
    return true;
}

bool pass_stage_blocks(Func *func) {
    Ctx *ctx = func_ctx(func);
    ArenaMark mark = arena_mark(&ctx->scratch);
    start_loads(func);
    Stage stage = {
        .func = func, .arena = &ctx->scratch, .facts = facts_compute(func, &ctx->scratch)};
    func_walk(func, collect, &stage);
    vec_for_each (access, &stage.accesses)
        if (access->op->code == OP_load_block)
            stage_load(&stage, access->op);
        else
            stage_store(&stage, *access);
    bool changed = stage.accesses.len > 0;
    if (changed)
        eliminate_dead(func);
    arena_rewind(&ctx->scratch, mark);
    return changed;
}
