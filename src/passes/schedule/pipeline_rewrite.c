/* The rewriting of pipeline-loads: rings, the copies before the loop and in it, waits. See
 * pipeline_loads.c for what comes out. */
#include "passes/analysis/pointer_origin.h"
#include "passes/blocks/block_buffers.h"
#include "passes/layout/layout_rules.h"
#include "passes/schedule/pipeline_loads.h"
#include "passes/simplify/simplify.h"
#include <assert.h>

/* Values */

static Value *int_constant(Builder *b, const Type *type, int64_t value) {
    return build_constant_int(b, value, type);
}

/* For how many of a thread's accesses, of 2^skip registers each, the mask is computed before it is
 * repeated for the others. */
static int computed_accesses(const Value *mask, int skip) {
    const Layout *layout = mask->type->layout;
    const Op *op = mask->def;
    uint32_t repeated = 0;
    for (int d = 0; op && op->code == OP_broadcast && d < mask->type->rank; d++)
        if (op_in(op, 0)->type->shape[d] != mask->type->shape[d])
            repeated |= layout_dim_mask(mask->type->rank, mask->type->shape, d);
    int bits = 0;
    for (int i = skip; i < layout->bits[LAYOUT_REG]; i++)
        bits += (layout->basis[i] & ~repeated) != 0;
    return bits;
}

/* `mask` where `on`, with the conjunction as far inside broadcasts as it goes, and there where it
 * is computed for the fewest accesses. */
static Value *mask_while(Builder *b, Value *mask, Value *on, int skip) {
    Op *op = mask->def;
    if (op && op->code == OP_broadcast)
        return build_broadcast(b, mask_while(b, op_in(op, 0), on, 0), mask->type);
    if (op && op->code == OP_andi) {
        uint32_t inner =
            computed_accesses(op_in(op, 1), skip) <= computed_accesses(op_in(op, 0), skip);
        return build_andi(b, op_in(op, 1 - inner), mask_while(b, op_in(op, inner), on, skip));
    }
    return build_andi(b, mask, build_splat(b, on, mask->type));
}

/* Of accesses of `width` elements. */
static Value *guarded_mask(Builder *b, Value *mask, Value *on, const Type *pointers,
                           int64_t width) {
    if (mask)
        return mask_while(b, mask, on, width > 1 ? __builtin_ctzll((uint64_t)width) : 0);
    return build_splat(b, on, type_with_element(b->ctx, pointers, TYPE_NUMBER, DT_I1));
}

static Value *mapped(const ValueMap *map, Value *value) {
    Value *to = value_map_get(map, value);
    return to ? to : value;
}

/* Carried value `i` of the slice as the body knows it, and one iteration later. */
static Value *carried_arg(const Pipelined *p, size_t i) {
    return &p->body->args[p->carried.data[i]];
}

static Value *next_of(const Pipelined *p, const ValueMap *map, size_t i) {
    return mapped(map, op_in(p->body->last, p->carried.data[i] - 1));
}

/* One stage: the slice for one iteration, then the loads' copies of it. */
typedef struct Stage {
    Value *index; /* of the iteration */
    Value *on;    /* i1: there is such an iteration */
    Value *slot;
    int ahead;
    bool in_loop;
} Stage;

static Value *load_like(Builder *b, const Op *load, const ValueMap *map, Value *on) {
    Value *ptr = mapped(map, op_in(load, 0));
    Value *mask = load->nin > 1 ? mapped(map, op_in(load, 1)) : NULL;
    Value *other = load->nin > 2 ? mapped(map, op_in(load, 2)) : NULL;
    if (type_is_tile(ptr->type))
        mask = guarded_mask(b, mask, on, ptr->type, load_attrs(load)->width);
    else
        mask = mask ? build_andi(b, mask, on) : on;
    return build_load(b, ptr, mask, other, load_attrs(load)->cache, load_attrs(load)->evict, false,
                      load_attrs(load)->width, false, false, false, 0);
}

/* A branch, of iterations that there are: past the end it might divide by zero. */
static void clone_branch(Builder *b, const Op *op, ValueMap *map, Value *on) {
    Op *branch = op_clone(b, op, map);
    Builder before = builder_before(branch);
    before.span = op->span;
    op_set_operand(branch, 0, build_andi(&before, op_in(branch, 0), on));
}

static void clone_slice(const Pipelined *p, Builder *b, ValueMap *map, Value *on) {
    block_for_each (op, p->body) {
        if (!ptr_set_has(&p->slice, op))
            continue;
        b->span = op->span;
        if (op->code == OP_load)
            value_map_set(map, op_out(op), load_like(b, op, map, on));
        else if (op->code == OP_if)
            clone_branch(b, op, map, on);
        else
            op_clone(b, op, map);
    }
}

typedef struct StoreSearch {
    const Op *loop;
    const Value *origin;
    bool found;
} StoreSearch;

static bool find_store(Op *op, void *user) {
    StoreSearch *search = user;
    if (op == search->loop)
        return false;
    search->found |= op_has(op, STORE) && pointer_origin(op_in(op, 0)) == search->origin;
    return !search->found;
}

/* What the program itself has stored is in L1, which copies of 16 bytes pass by unless they are
 * told not to: an iteration need not be as long as the way to L2. */
static CacheModifier copied_by_way_of(const Pipelined *p, const Op *load) {
    CacheModifier cache = load_attrs(load)->cache;
    StoreSearch search = {.loop = p->loop, .origin = pointer_origin(op_in(load, 0))};
    if (cache == CACHE_NONE && search.origin)
        func_walk(p->body->func, find_store, &search);
    return search.found ? CACHE_CA : cache;
}

/* A buffer of the ring, which is the ring where it has no other. */
static Value *buffer_of(const Pipelined *p, Builder *b, Value *ring, const Stage *stage) {
    return p->copies > 1 ? build_local_view(b, ring, stage->slot, stage->ahead) : ring;
}

static void fetch(const Pipelined *p, Builder *b, const ValueMap *map, const Stage *stage,
                  Staged *staged) {
    const Op *load = staged->load;
    b->span = load->span;
    if (staged->means == BY_TENSOR_COPY) {
        Value *view = build_local_view(b, staged->ring, stage->slot, stage->ahead);
        Value *barrier = build_local_view(b, p->full, stage->slot, stage->ahead);
        build_block_copy(b, load, map, view, barrier, stage->on);
        return;
    }
    if (staged->means == BY_REGISTERS) {
        staged->early = load_like(b, load, map, stage->on);
        if (!stage->in_loop)
            build_local_store(b, staged->early, buffer_of(p, b, staged->ring, stage), 0);
        return;
    }
    Value *ptr = mapped(map, op_in(load, 0));
    Value *mask = load->nin > 1 ? mapped(map, op_in(load, 1)) : NULL;
    Value *guarded = guarded_mask(b, mask, stage->on, ptr->type, staged->width);
    if (staged->copied != ptr->type->layout) {
        ptr = value_recompute(ptr, staged->copied, UINT32_MAX);
        guarded = value_recompute(guarded, staged->copied, UINT32_MAX);
        assert(ptr && guarded);
    }
    Value *view = buffer_of(p, b, staged->ring, stage);
    build_async_copy(b, ptr, view, guarded, copied_by_way_of(p, load), staged->width);
}

static void emit_stage(Pipelined *p, Builder *b, ValueMap *map, const Stage *stage) {
    value_map_set(map, &p->body->args[0], stage->index);
    clone_slice(p, b, map, stage->on);
    b->span = p->loop->span;
    if (p->full)
        build_mbarrier_expect(b, build_local_view(b, p->full, stage->slot, stage->ahead), stage->on,
                              p->bytes);
    vec_for_each (staged, &p->loads)
        fetch(p, b, map, stage, staged);
    b->span = p->loop->span;
    if (p->async)
        build_async_commit(b);
}

/* Rewriting */

static void make_rings(Pipelined *p, Builder *b) {
    vec_for_each (staged, &p->loads) {
        const Type *type = op_out(staged->load)->type, *buffer = staged->buffer;
        if (!buffer)
            buffer =
                type_get(p->ctx, TYPE_BUFFER, type->dtype, type->rank, type->shape, staged->shared);
        b->span = staged->load->span;
        staged->ring = build_local_alloc(b, -1, p->copies, 0, buffer);
    }
}

/* Where a ring with mbarriers stands when the loop begins: a number below twice its copies, which
 * tells the slot and the parity of its phase. */
typedef struct Position {
    Value *slot, *parity;
} Position;

static Position enter_ring(Pipelined *p) {
    const Type *i32 = type_scalar(p->ctx, DT_I32);
    if (!p->full || !p->loop->block->parent) {
        Builder b = builder_before(p->loop);
        b.span = p->loop->span;
        Value *zero = int_constant(&b, i32, 0);
        return (Position){zero, zero};
    }
    Value *at = carry_in(p->loop, i32, 0);
    Builder b = builder_before(p->loop);
    b.span = p->loop->span;
    Value *copies = int_constant(&b, i32, p->copies);
    Value *second = build_cmpi(&b, at, copies, IPRED_SGE);
    Value *slot = build_select(&b, second, build_subi(&b, at, copies), at);
    return (Position){slot, build_extui(&b, second, i32)};
}

static void leave_ring(const Pipelined *p, Position at) {
    if (!p->full || !p->loop->block->parent)
        return;
    Builder b = builder_after(p->loop);
    b.span = p->loop->span;
    Value *copies = int_constant(&b, type_scalar(p->ctx, DT_I32), p->copies);
    carry_out(p->loop, build_addi(&b, build_muli(&b, at.parity, copies), at.slot));
}

/* Stages 0 to S - 2 before the loop, in a block where `runs` holds. `at` becomes the carried values
 * of iteration S - 1. */
static void emit_first_stages(Pipelined *p, Builder *b, Value *runs, Value *slot, Value **at) {
    Value *lo = op_in(p->loop, 0), *hi = op_in(p->last, 1), *first = loop_first_index(p->loop);
    Value *distance = build_subi(b, hi, lo);
    for (int j = 0; j < p->stages - 1; j++) {
        ValueMap *map = value_map_create(p->arena);
        for (size_t i = 0; i < p->carried.len; i++)
            value_map_set(map, carried_arg(p, i), at[i]);
        Stage stage = {.index = first, .on = runs, .slot = slot, .ahead = j};
        if (j > 0) {
            Value *passed = int_constant(b, lo->type, j * p->step);
            stage.index = build_addi(b, first, passed);
            stage.on = build_andi(b, runs, build_cmpi(b, distance, passed, IPRED_UGT));
        }
        emit_stage(p, b, map, &stage);
        for (size_t i = 0; i < p->carried.len; i++)
            at[i] = next_of(p, map, i);
    }
}

/* A loop that is the end of another one, or that a program without a tile passes by, runs no
 * iteration as often as not. For each copy a thread computes an address and a mask, which tensor
 * copies do without: so many take longer than the branch around them. */
static bool is_often_passed(const Pipelined *p) {
    enum { FIRST_COPIES = 16 };
    return !p->full && for_attrs(p->loop)->flags & (LOOP_FEW | LOOP_GOES_ON | LOOP_SKIPS) &&
           (p->stages - 1) * pipeline_thread_copies(p) >= FIRST_COPIES;
}

/* `at` receives the carried values of iteration S - 1. */
static void emit_prologue(Pipelined *p, Builder *b, Value *slot, Value **at) {
    Value *runs = build_cmpi(b, op_in(p->loop, 0), op_in(p->last, 1), IPRED_SLT);
    uint32_t count = (uint32_t)p->carried.len;
    for (uint32_t i = 0; i < count; i++)
        at[i] = op_in(p->loop, FOR_FIXED_OPERANDS + p->carried.data[i] - 1);
    if (!is_often_passed(p)) {
        emit_first_stages(p, b, runs, slot, at);
        return;
    }
    const Type **types = ARENA_ARRAY(p->arena, const Type *, count);
    for (uint32_t i = 0; i < count; i++)
        types[i] = at[i]->type;
    Op *branch = build_if(b, runs, count, types);
    Builder inside = builder_at_end(branch->regions[0]), other = builder_at_end(branch->regions[1]);
    inside.span = other.span = b->span;
    build_yield(&other, count, at);
    Value *yes = int_constant(&inside, runs->type, 1);
    emit_first_stages(p, &inside, yes, slot, at);
    build_yield(&inside, count, at);
    for (uint32_t i = 0; i < count; i++)
        at[i] = &branch->out[i];
}

/* Arguments move when one is added. */
static void carry(Op *loop, Value *init) {
    op_add_operand(loop, init);
    op_add_result(loop, init->type);
    block_add_arg(loop->regions[0], init->type);
}

/* What was loaded in this iteration is read from the ring. */
static void read_ring(Pipelined *p, const Staged *staged, Value *slot) {
    Op *load = staged->load;
    Builder b = builder_before(load);
    Value *view = slot ? build_local_view(&b, staged->ring, slot, 0) : staged->ring;
    if (staged->means == BY_TENSOR_COPY) {
        block_read_from(load, view);
        return;
    }
    for (Use *use = load->out[0].uses, *next; use; use = next) {
        next = use->next;
        Op *convert = use->user;
        if (convert->code != OP_convert_layout)
            continue;
        Builder at = builder_before(convert);
        rewrite_replace(convert, build_local_load(&at, view, NULL, 0, op_out(convert)->type));
    }
    if (!value_unused(op_out(load)))
        value_replace(op_out(load), build_local_load(&b, view, NULL, 0, op_out(load)->type));
    op_remove(load);
}

/* Where copies are started: behind the reads of the first operands, so that their addresses need no
 * registers while fragments arrive, and before the products, which hide them. Tensor copies have no
 * addresses to speak of, and a loop without products has nothing to read before. */
static Op *first_product(const Pipelined *p) {
    Op *op = p->body->first;
    while (!p->lines && op->next && op->code != OP_dot && (p->async || !p->full))
        op = op->next;
    return op;
}

/* The slot of the next iteration, and the parity of its phase. */
static void pass_on(Pipelined *p, Builder *b, Value *slot, Value *parity) {
    const Type *i32 = slot->type;
    Op *end = p->body->last;
    Value *last = int_constant(b, i32, p->copies - 1);
    Value *around = build_cmpi(b, slot, last, IPRED_EQ);
    Value *next = build_addi(b, slot, int_constant(b, i32, 1));
    op_add_operand(end, build_select(b, around, int_constant(b, i32, 0), next));
    if (p->full)
        op_add_operand(end, build_xori(b, parity, build_extui(b, around, i32)));
}

/* Returns where the loop leaves its ring. */
static Position emit_steady_state(Pipelined *p, const Position *first, Value *const *at) {
    Op *loop = p->loop;
    Op *body_first = p->body->first;
    uint32_t first_arg = p->body->nargs;
    carry(loop, first->slot);
    if (p->full)
        carry(loop, first->parity);
    for (size_t i = 0; i < p->carried.len; i++)
        carry(loop, at[i]);
    Value *slot = &p->body->args[first_arg];
    Value *parity = p->full ? slot + 1 : NULL, *ahead = slot + 1 + (p->full != NULL);
    ValueMap *map = value_map_create(p->arena);
    for (size_t i = 0; i < p->carried.len; i++)
        value_map_set(map, carried_arg(p, i), &ahead[i]);

    Value *index = &p->body->args[0], *hi = op_in(p->last, 1);
    Builder b = builder_before(first_product(p)), top = builder_before(body_first);
    b.span = top.span = loop->span;
    if (p->full)
        build_mbarrier_wait(&top, build_local_view(&top, p->full, slot, 0), parity, NULL);
    if (p->async)
        build_async_wait(&top, p->stages - 2);
    Value *passed = int_constant(&b, index->type, (p->stages - 1) * p->step);
    Value *next = build_addi(&b, index, passed);
    Stage stage = {.index = next,
                   .on = build_cmpi(&b, build_subi(&b, hi, index), passed, IPRED_UGT),
                   .slot = slot,
                   .ahead = p->stages - 1,
                   .in_loop = true};
    emit_stage(p, &b, map, &stage);

    Op *end = p->body->last;
    b = builder_before(end);
    b.span = loop->span;
    vec_for_each (staged, &p->loads)
        if (staged->means == BY_REGISTERS)
            build_local_store(&b, staged->early,
                              build_local_view(&b, staged->ring, slot, p->stages - 1), 0);
    pass_on(p, &b, slot, parity);
    for (size_t i = 0; i < p->carried.len; i++)
        op_add_operand(end, next_of(p, map, i));
    vec_for_each (staged, &p->loads)
        read_ring(p, staged, slot);
    for_attrs(loop)->num_stages = 1;
    return (Position){&loop->out[first_arg - 1], p->full ? &loop->out[first_arg] : NULL};
}

/* The loop finds its first copies under way. */
static Position go_on(Pipelined *p, const Pipelined *before, const Position *at) {
    p->full = before->full;
    p->bytes = before->bytes;
    p->stages = before->stages;
    p->copies = before->copies;
    for (size_t i = 0; i < p->loads.len; i++)
        p->loads.data[i].ring = before->loads.data[i].ring;
    return emit_steady_state(p, at, NULL);
}

static bool reads_ring(const Op *op, const void *user) {
    const Pipelined *p = user;
    vec_for_each (staged, &p->loads)
        if (op->code == OP_local_load && op_in(op, 0) == staged->ring)
            return true;
    return false;
}

/* The first op of the body that reads a ring. */
static Op *first_read(const Pipelined *p) {
    block_for_each (op, p->body)
        if (op_any(op, reads_ring, p))
            return op;
    return p->body->last;
}

/* Rings of one buffer: what an iteration has read it fills anew when it ends, and the next one
 * waits where it reads first. */
static void emit_refilled_state(Pipelined *p, Value *const *at) {
    Op *loop = p->loop;
    uint32_t first_arg = p->body->nargs;
    for (size_t i = 0; i < p->carried.len; i++)
        carry(loop, at[i]);
    ValueMap *map = value_map_create(p->arena);
    for (size_t i = 0; i < p->carried.len; i++)
        value_map_set(map, carried_arg(p, i), &p->body->args[first_arg + i]);
    Value *index = &p->body->args[0], *hi = op_in(loop, 1);
    Builder b = builder_before(p->body->last);
    b.span = loop->span;
    Value *passed = int_constant(&b, index->type, p->step);
    Stage stage = {.index = build_addi(&b, index, passed),
                   .on = build_cmpi(&b, build_subi(&b, hi, index), passed, IPRED_UGT),
                   .in_loop = true};
    emit_stage(p, &b, map, &stage);
    b.span = loop->span;
    vec_for_each (staged, &p->loads)
        if (staged->means == BY_REGISTERS)
            build_local_store(&b, staged->early, staged->ring, 0);
    for (size_t i = 0; i < p->carried.len; i++)
        op_add_operand(p->body->last, next_of(p, map, i));
    vec_for_each (staged, &p->loads)
        read_ring(p, staged, NULL);
    Builder wait = builder_before(first_read(p));
    wait.span = loop->span;
    build_async_wait(&wait, 0);
    for_attrs(loop)->num_stages = 1;
}

void pipeline_rewrite(Pipelined *p) {
    Builder b = builder_before(p->loop), after = builder_after(p->loop);
    b.span = after.span = p->loop->span;
    Value **at = ARENA_ARRAY(p->arena, Value *, p->carried.len);
    if (p->bytes)
        p->full = block_mbarrier(p->loop->block->func, p->loop->span, p->copies, 0);
    Position first = enter_ring(p);
    make_rings(p, &b);
    emit_prologue(p, &b, first.slot, at);
    if (p->async)
        build_async_wait(&after, 0);
    if (p->copies == 1) {
        emit_refilled_state(p, at);
        return;
    }
    Position left = emit_steady_state(p, &first, at);
    for (; p->next; p = p->next)
        left = go_on(p->next, p, &left);
    leave_ring(p, left);
}
