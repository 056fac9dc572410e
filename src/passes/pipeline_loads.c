/* pipeline-loads: loads that feed dots in a loop are started iterations ahead.
 *
 * Of S stages, iteration i multiplies what was started in iteration i - S + 1. Each load gets a
 * ring of S buffers. What computes its addresses and mask, the slice, is run S - 1 iterations ahead
 * of the rest: before the loop for the first ones, then in the loop on carried values of its own.
 *
 *     for %i = %lo, %hi, %s (%acc = %z) {
 *         %p, %m = f(%i)
 *         %x = load %p, %m
 *         %y = convert_layout %x
 *         %r = dot %y, ..
 * -> (S = 3)
 *     %ring = local_alloc {copies = 3}
 *     async_copy f(%lo) to view 0, where %lo < %hi;           async_commit
 *     async_copy f(%lo + %s) to view 1, where that is < %hi;  async_commit
 *     for %i = %lo, %hi, %s (%acc = %z, %slot = 0) {
 *         async_wait {pending = 1}
 *         %y = local_load (local_view %ring, %slot)
 *         async_copy f(%i + 2 %s), local_view %ring, %slot {ahead = 2}, where that is < %hi
 *         async_commit
 *         %r = dot %y, ..
 *         yield %r, (%slot + 1) mod 3
 *     }
 *     async_wait {pending = 0}
 *
 * The barrier that place-barriers puts behind the first wait shows other threads what landed, and
 * lets what was read one iteration before be overwritten: there is no second one. Past the end of
 * the loop copies bring zeros, which nobody reads, so that a loop of any length is right, one that
 * does not run included; the last wait lets the buffers be used again.
 *
 * Blocks of tensors (load_block) come by tensor copies, into rings that lie as the hardware writes
 * them, for mbarriers instead of groups. Past the end nothing is copied and nothing waited for, so
 * that the next slot and the parity of its phase go on where the loop left them when it runs again:
 *
 *     for %i .. (%acc, %slot, %parity) {
 *         mbarrier_wait (local_view %full, %slot), %parity
 *         mbarrier_expect (local_view %full, %slot {ahead = 2}), %on {bytes = ..}
 *         copy_block .. (local_view %ring, %slot {ahead = 2}), (local_view %full, ..), %on
 *         ..
 *         yield .., (%slot + 1) mod 3, %parity ^ (%slot + 1 == 3)
 *     }
 *
 * Each thread that waits sees what landed, and the barrier that place-barriers puts in front of the
 * copies is for the slot that they take. Loops with both kinds of copies wait for both.
 *
 * Where warpgroups multiply (wgmma) the product of an iteration may be under way in the next. What
 * it reads is then overwritten one iteration later: rings have a buffer more, if there is room.
 *
 * What an operand is computed from (quantised weights and their scales) is fetched ahead as well.
 *
 * What cp.async cannot do goes through registers: elements of less than 4 bytes together, an
 * `other` that is not zero, cache operators. Such a tile is loaded at the top of an iteration and
 * stored at its end, which hides the latency of memory behind one iteration.
 *
 * Needs layouts. A loop is left alone where it has an inner loop, stores through an argument that
 * it loads through, or through any without num_stages of its own, writes memory otherwise or meets
 * at barriers, has no constant positive step, or where addresses depend on what it computes; a
 * remark says so, for a loop with an inner one or without such loads if it has num_stages of its
 * own. Sets the loop's num_stages to 1. */
#include "ir/ptrmap.h"
#include "passes/block_buffers.h"
#include "passes/layout_rules.h"
#include "passes/passes.h"
#include "passes/pointer_origin.h"
#include "passes/rewrite.h"
#include "passes/simplify.h"
#include "support/vec.h"
#include <math.h>

enum { LEAST_STAGES = 2, MOST_STAGES = 16, MAX_STEP = 1 << 20, REACH_BUDGET = 256 };

/* How a load's data come. */
typedef enum Means { BY_REGISTERS, BY_ASYNC_COPY, BY_TENSOR_COPY } Means;

typedef struct Staged {
    Op *load;
    Means means;
    int width;            /* elements of an asynchronous copy */
    const Type *buffer;   /* of a tensor copy */
    const Layout *shared; /* of the ring */
    Value *ring;
    Value *early; /* through registers: what this iteration loads */
} Staged;

typedef struct Pipelined {
    Ctx *ctx;
    Arena *arena;
    Op *loop;
    Block *body;
    VEC(Staged) loads;
    PtrSet written;        /* arguments through which the body stores */
    PtrSet slice;          /* ops of the body that addresses and masks need */
    VEC(uint32_t) carried; /* numbers of the body's arguments among what they need */
    int stages;
    int copies; /* of each ring: as many as stages, one more where products stay in flight */
    int64_t step;
    bool writes;    /* memory, through the arguments in `written` */
    bool async;     /* some load is an asynchronous copy */
    Value *full;    /* mbarriers of the tensor copies; NULL: there are none */
    int64_t bytes;  /* that tensor copies bring in an iteration */
    bool in_flight; /* the product of an iteration may be under way in the next */
} Pipelined;

/* Candidates */

static bool reaches_dot(const Value *value, unsigned *budget) {
    value_for_each_use (use, value) {
        const Op *user = use->user;
        if (user->code == OP_dot && use != &user->in[2])
            return true;
        if (*budget == 0 || !op_is_pure(user) || user->nregions)
            continue;
        --*budget;
        for (uint32_t i = 0; i < user->nout; i++)
            if (reaches_dot(&user->out[i], budget))
                return true;
    }
    return false;
}

/* The first layout to which a use converts the load; NULL: none does. */
static const Layout *wanted_layout(const Op *load) {
    const Layout *wanted = NULL;
    value_for_each_use (use, &load->out[0])
        if (use->user->code == OP_convert_layout &&
            layout_classify(op_out(use->user)->type->layout, op_out(load)->type->layout) >=
                CONVERT_SHUFFLES)
            wanted = op_out(use->user)->type->layout;
    return wanted;
}

/* Does an operand of a dot come from the value by what computes each element alone, or shapes? */
static bool reaches_operand(const Value *value, unsigned *budget) {
    value_for_each_use (use, value) {
        const Op *user = use->user;
        if (user->code == OP_dot && use != &user->in[2])
            return !dot_is_chained(user);
        bool passes =
            op_has(user, ELEMENTWISE) || user->code == OP_convert_layout || op_has(user, CHEAP);
        if (*budget == 0 || !op_is_pure(user) || !passes)
            continue;
        --*budget;
        if (reaches_operand(&user->out[0], budget))
            return true;
    }
    return false;
}

/* A load of what an operand is computed from, such as quantised weights and their scales: it is
 * fetched ahead too, and read from its ring as it would have been loaded. */
static bool is_ingredient(const Op *op) {
    unsigned budget = REACH_BUDGET;
    return op->code == OP_load && !op->attrs[2].i && type_is_tile(op_out(op)->type) &&
           op_out(op)->type->kind == TYPE_NUMBER && !wanted_layout(op) &&
           reaches_operand(&op->out[0], &budget);
}

static bool is_candidate(const Op *op) {
    unsigned budget = REACH_BUDGET;
    if (op->code == OP_load_block)
        return !op->attrs[4].i && reaches_dot(&op->out[0], &budget);
    return op->code == OP_load && !op->attrs[2].i && type_is_tile(op_out(op)->type) &&
           op_out(op)->type->kind == TYPE_NUMBER && wanted_layout(op) &&
           reaches_dot(&op->out[0], &budget);
}

static bool is_positive_zero(const Value *value) {
    double f;
    int64_t i;
    return (value_float_constant(value, &f) && f == 0 && !signbit(f)) ||
           (value_int_constant(value, &i) && i == 0);
}

/* Elements that the load takes at once. */
static int load_width(const Op *load) {
    return load->attrs[3].i > 1 ? (int)load->attrs[3].i : 1;
}

/* Elements that one asynchronous copy takes; 0 and why there can be none. */
static int copy_width(Ctx *ctx, const Staged *staged, const char **why) {
    const Op *load = staged->load;
    int bytes = type_element_bytes(op_out(load)->type);
    if (load->nin > 2 && !is_positive_zero(op_in(load, 2))) {
        *why = "its `other` is not zero";
        return 0;
    }
    if (load->attrs[0].i != CACHE_NONE && load->attrs[0].i != CACHE_CA &&
        load->attrs[0].i != CACHE_CG) {
        *why = "it has a cache modifier";
        return 0;
    }
    int width =
        layout_async_width(ctx, op_in(load, 0)->type->layout, staged->shared, load_width(load));
    *why = "fewer than 4 bytes are known to be consecutive and aligned";
    return width * bytes >= 4 ? width : 0;
}

/* Memory that the loop writes */

/* Notes through which arguments the loop stores. False where it writes otherwise, or meets at
 * barriers. */
static bool note_stores(Pipelined *p) {
    block_for_each (op, p->body) {
        bool says = op->code == OP_assert || op->code == OP_assume || op->code == OP_print;
        if (says || !(op_effects(op) & (WRITES | SYNC)))
            continue;
        const Value *origin = op->code == OP_store || op->code == OP_store_block
                                  ? pointer_origin(op_in(op, 0))
                                  : NULL;
        if (!origin)
            return false;
        ptr_set_add(&p->written, origin);
        p->writes = true;
    }
    return true;
}

/* Two arguments are taken to point to different memory. */
static bool may_be_written(const Pipelined *p, const Op *load) {
    const Value *origin = pointer_origin(op_in(load, 0));
    return p->writes && (!origin || ptr_set_has(&p->written, origin));
}

/* The slice */

static bool may_trap(const Op *op) {
    int64_t divisor;
    bool divides = op->code == OP_divsi || op->code == OP_divui || op->code == OP_remsi ||
                   op->code == OP_remui;
    return divides &&
           (!value_int_constant(op_in(op, 1), &divisor) || divisor == 0 || divisor == -1);
}

static bool add_to_slice(Pipelined *p, Value *value);

static bool add_operands(Pipelined *p, Op *op) {
    for (uint32_t i = 0; i < op->nin; i++)
        if (!add_to_slice(p, op_in(op, i)))
            return false;
    return true;
}

/* False where the value cannot be computed ahead of its iteration. */
static bool add_to_slice(Pipelined *p, Value *value) {
    if (value->owner == p->body) {
        if (value->index == 0)
            return true;
        vec_for_each (known, &p->carried)
            if (*known == value->index)
                return true;
        vec_push(p->arena, &p->carried, value->index);
        return add_to_slice(p, op_in(p->body->last, value->index - 1));
    }
    Op *op = value->def;
    if (!op || op->block != p->body || !ptr_set_add(&p->slice, op))
        return true;
    bool movable = op_is_pure(op)
                       ? op->code != OP_dot && !op->nregions && !may_trap(op)
                       : op->code == OP_load && !op->attrs[2].i && !may_be_written(p, op);
    return movable && add_operands(p, op);
}

/* Values */

static Value *int_constant(Builder *b, const Type *type, int64_t value) {
    return build_constant_int(b, value, type);
}

/* `mask` where `on`, with the conjunction as far inside broadcasts as it goes. */
static Value *mask_while(Builder *b, Value *mask, Value *on) {
    Op *op = mask->def;
    if (op && op->code == OP_broadcast)
        return build_broadcast(b, mask_while(b, op_in(op, 0), on), mask->type);
    if (op && op->code == OP_andi) {
        Op *second = op_in(op, 1)->def;
        uint32_t inner = second && second->code == OP_broadcast;
        return build_andi(b, op_in(op, 1 - inner), mask_while(b, op_in(op, inner), on));
    }
    return build_andi(b, mask, build_splat(b, on, mask->type));
}

static Value *guarded_mask(Builder *b, Value *mask, Value *on, const Type *pointers) {
    if (mask)
        return mask_while(b, mask, on);
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
        mask = guarded_mask(b, mask, on, ptr->type);
    else
        mask = mask ? build_andi(b, mask, on) : on;
    return build_load(b, ptr, mask, other, (CTYPE_OPT_CACHE)load->attrs[0].i,
                      (CTYPE_OPT_EVICT)load->attrs[1].i, false, load->attrs[3].i);
}

static void clone_slice(const Pipelined *p, Builder *b, ValueMap *map, Value *on) {
    block_for_each (op, p->body) {
        if (!ptr_set_has(&p->slice, op))
            continue;
        b->span = op->span;
        if (op->code == OP_load)
            value_map_set(map, op_out(op), load_like(b, op, map, on));
        else
            op_clone(b, op, map);
    }
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
            build_local_store(b, staged->early,
                              build_local_view(b, staged->ring, stage->slot, stage->ahead));
        return;
    }
    Value *ptr = mapped(map, op_in(load, 0));
    Value *mask = load->nin > 1 ? mapped(map, op_in(load, 1)) : NULL;
    Value *guarded = guarded_mask(b, mask, stage->on, ptr->type);
    Value *view = build_local_view(b, staged->ring, stage->slot, stage->ahead);
    build_async_copy(b, ptr, view, guarded, (CTYPE_OPT_CACHE)load->attrs[0].i,
                     (CTYPE_OPT_EVICT)load->attrs[1].i, staged->width);
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
        staged->ring = build_local_alloc(b, -1, p->copies, buffer);
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

/* The last two results of the loop are where the next one begins. */
static void leave_ring(Pipelined *p, uint32_t slot_result) {
    if (!p->full || !p->loop->block->parent)
        return;
    Builder b = builder_after(p->loop);
    b.span = p->loop->span;
    Value *copies = int_constant(&b, type_scalar(p->ctx, DT_I32), p->copies);
    Value *parity = build_muli(&b, &p->loop->out[slot_result + 1], copies);
    carry_out(p->loop, build_addi(&b, parity, &p->loop->out[slot_result]));
}

/* Stages 0 to S - 2 before the loop. `at` receives the carried values of iteration S - 1. */
static void emit_prologue(Pipelined *p, Builder *b, Value *slot, Value **at) {
    Value *lo = op_in(p->loop, 0), *hi = op_in(p->loop, 1);
    Value *runs = build_cmpi(b, lo, hi, IPRED_SLT), *distance = build_subi(b, hi, lo);
    for (size_t i = 0; i < p->carried.len; i++)
        at[i] = op_in(p->loop, FOR_FIXED_OPERANDS + p->carried.data[i] - 1);
    for (int j = 0; j < p->stages - 1; j++) {
        ValueMap *map = value_map_create(p->arena);
        for (size_t i = 0; i < p->carried.len; i++)
            value_map_set(map, carried_arg(p, i), at[i]);
        Stage stage = {.index = lo, .on = runs, .slot = slot, .ahead = j};
        if (j > 0) {
            Value *passed = int_constant(b, lo->type, j * p->step);
            stage.index = build_addi(b, lo, passed);
            stage.on = build_andi(b, runs, build_cmpi(b, distance, passed, IPRED_UGT));
        }
        emit_stage(p, b, map, &stage);
        for (size_t i = 0; i < p->carried.len; i++)
            at[i] = next_of(p, map, i);
    }
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
    Value *view = build_local_view(&b, staged->ring, slot, 0);
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
        rewrite_replace(convert, build_local_load(&at, view, 0, op_out(convert)->type));
    }
    if (!value_unused(op_out(load)))
        value_replace(op_out(load), build_local_load(&b, view, 0, op_out(load)->type));
    op_remove(load);
}

/* Where copies are started: behind the reads of the first operands, so that their addresses need no
 * registers while fragments arrive, and before the products, which hide them. Tensor copies have no
 * addresses to speak of. */
static Op *first_product(const Pipelined *p) {
    Op *op = p->body->first;
    while (op->next && op->code != OP_dot && (p->async || !p->full))
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

static void emit_steady_state(Pipelined *p, const Position *first, Value *const *at) {
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

    Value *index = &p->body->args[0], *hi = op_in(loop, 1);
    Builder b = builder_before(first_product(p)), top = builder_before(body_first);
    b.span = top.span = loop->span;
    if (p->full)
        build_mbarrier_wait(&top, build_local_view(&top, p->full, slot, 0), parity);
    if (p->async)
        build_async_wait(&top, p->stages - 2);
    Value *passed = int_constant(&b, index->type, (p->stages - 1) * p->step);
    Stage stage = {.index = build_addi(&b, index, passed),
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
                              build_local_view(&b, staged->ring, slot, p->stages - 1));
    pass_on(p, &b, slot, parity);
    for (size_t i = 0; i < p->carried.len; i++)
        op_add_operand(end, next_of(p, map, i));
    vec_for_each (staged, &p->loads)
        read_ring(p, staged, slot);
    loop->attrs[0].i = 1;
    leave_ring(p, first_arg - 1);
}

static void rewrite_loop(Pipelined *p) {
    Builder b = builder_before(p->loop), after = builder_after(p->loop);
    b.span = after.span = p->loop->span;
    Value **at = ARENA_ARRAY(p->arena, Value *, p->carried.len);
    if (p->bytes)
        p->full = block_mbarrier(p->loop->block->func, p->loop->span, p->copies);
    Position first = enter_ring(p);
    make_rings(p, &b);
    emit_prologue(p, &b, first.slot, at);
    if (p->async)
        build_async_wait(&after, 0);
    emit_steady_state(p, &first, at);
}

/* Choice */

static bool has_inner_loop(const Block *block) {
    block_for_each (op, block) {
        if (op->code == OP_for || op->code == OP_while)
            return true;
        for (uint32_t i = 0; i < op->nregions; i++)
            if (has_inner_loop(op->regions[i]))
                return true;
    }
    return false;
}

/* The two loops that unroll made of one stand behind each other and say it once. */
static bool refuse(Ctx *ctx, Op *loop, const char *why) {
    const Diagnostic *last = ctx->diags.last;
    bool said = last && last->id == DIAG_loop_not_pipelined && last->span.file == loop->span.file &&
                last->span.lo == loop->span.lo;
    if (!said)
        ctx_diag(ctx, loop->span, loop_not_pipelined, why);
    loop->attrs[0].i = 1;
    return true;
}

/* Is all that becomes of the load an operand of warpgroups? The last one, of several. */
static bool only_multiplied(const Op *load, DotOperand *operand) {
    value_for_each_use (use, &load->out[0]) {
        const Op *convert = use->user;
        if (convert->code != OP_convert_layout || value_unused(&convert->out[0]))
            return false;
        value_for_each_use (inner, &convert->out[0])
            if (!dot_operand_use(inner, operand))
                return false;
    }
    return !value_unused(&load->out[0]);
}

static void add_block(Pipelined *p, Op *load) {
    Staged staged = {
        .load = load, .means = BY_TENSOR_COPY, .buffer = block_buffer_type(p->ctx, load)};
    DotOperand operand;
    p->bytes += block_buffer_bytes(staged.buffer);
    p->in_flight |= only_multiplied(load, &operand) && dot_may_stay_in_flight(operand.dot);
    vec_push(p->arena, &p->loads, staged);
}

static void add_load(Pipelined *p, Op *load) {
    const Type *type = op_out(load)->type;
    Staged staged = {.load = load};
    DotOperand operand;
    bool carried = false;
    if (only_multiplied(load, &operand)) {
        staged.shared = layout_of_operand_buffer(p->ctx, &operand, type, load_width(load));
        carried = staged.shared && dot_may_stay_in_flight(operand.dot);
    }
    const Layout *wanted = wanted_layout(load);
    if (!staged.shared)
        staged.shared = layout_shared_exchange(p->ctx, type->layout, wanted ? wanted : type->layout,
                                               type_element_bytes(type), load_width(load));
    const char *why = NULL;
    staged.width = copy_width(p->ctx, &staged, &why);
    staged.means = staged.width ? BY_ASYNC_COPY : BY_REGISTERS;
    if (!staged.width && !wanted)
        return;
    if (!staged.width)
        ctx_diag(p->ctx, load->span, load_through_registers, why);
    p->async |= staged.width > 0;
    p->in_flight |= carried && staged.width > 0;
    vec_push(p->arena, &p->loads, staged);
}

static int64_t bytes_of(const Type *tile) {
    return type_numel(tile) * type_element_bytes(tile);
}

/* Its bytes are counted elsewhere. */
static bool has_buffer(const Pipelined *p, const Op *op) {
    while (op && op_adds_or_drops_ones(op))
        op = op_in(op, 0)->def;
    vec_for_each (staged, &p->loads)
        if (op == staged->load)
            return true;
    return op && op->code == OP_load_block;
}

/* What products read in the loop from buffers other than the rings: operands that are converted
 * before it, or in it from what is computed. Fragments that mma.sync takes may be converted within
 * warps. */
static int64_t bytes_beside_rings(const Pipelined *p) {
    int64_t bytes = 0;
    block_for_each (dot, p->body) {
        if (dot->code != OP_dot || dot->attrs[2].i == UNIT_FMA)
            continue;
        LayoutConversion least = dot->attrs[2].i == UNIT_WGMMA ? CONVERT_SHUFFLES : CONVERT_SHARED;
        for (uint32_t i = 0; i < 2; i++) {
            const Op *op = op_in(dot, i)->def;
            while (op && op->code == OP_transpose)
                op = op_in(op, 0)->def;
            if (op && op->code == OP_convert_layout && !has_buffer(p, op_in(op, 0)->def) &&
                layout_classify(op_out(op)->type->layout, op_in(op, 0)->type->layout) >= least)
                bytes += bytes_of(op_out(op)->type);
        }
    }
    return bytes;
}

static bool is_used_in(const Value *value, const Op *loop) {
    value_for_each_use (use, value) {
        bool moves = use->user->code == OP_convert_layout || use->user->code == OP_transpose ||
                     use->user->code == OP_reshape;
        if (op_ancestor_in(use->user, loop->regions[0]) ||
            (moves && is_used_in(op_out(use->user), loop)))
            return true;
    }
    return false;
}

/* Bytes of the blocks that are loaded before the loop and wait in buffers for it. */
static int64_t other_buffers(const Op *loop) {
    int64_t bytes = 0;
    for (const Op *around = loop; around; around = around->block->parent)
        block_for_each (op, around->block)
            if (op->code == OP_load_block && is_used_in(op_out(op), loop))
                bytes += bytes_of(op_out(op)->type);
    return bytes;
}

/* Of what the loop stores: tiles that cross warps on their way, blocks that tensor copies take. */
static int64_t bytes_of_stores(const Pipelined *p) {
    int64_t bytes = 0;
    block_for_each (op, p->body) {
        const Op *convert =
            op->code == OP_store && op->nin > 1 ? value_def(op_in(op, 1), OP_convert_layout) : NULL;
        if (op->code == OP_store_block)
            bytes += block_buffer_bytes(block_buffer_type(p->ctx, op));
        else if (convert && layout_classify(op_out(convert)->type->layout,
                                            op_in(convert, 0)->type->layout) >= CONVERT_SHARED)
            bytes += bytes_of(op_out(convert)->type);
    }
    return bytes;
}

/* As many stages as were asked for and shared memory has room for. */
static bool fit_stages(Pipelined *p, const Func *func) {
    int64_t bytes = 0, room = target_by_capability(func->capability)->shared_per_block;
    room -= bytes_beside_rings(p) + bytes_of_stores(p) + other_buffers(p->loop) +
            MOST_STAGES * MBARRIER_BYTES;
    vec_for_each (staged, &p->loads)
        bytes += bytes_of(op_out(staged->load)->type);
    int asked = p->stages;
    if (!p->async && !p->bytes)
        p->stages =
            LEAST_STAGES; /* a load in registers is one iteration ahead, however many there are */
    while (p->stages >= LEAST_STAGES && p->stages * bytes > room)
        p->stages--;
    p->copies = p->stages + (p->in_flight && (p->stages + 1) * bytes <= room);
    if (p->stages < asked && (p->async || p->bytes))
        ctx_diag(p->ctx, p->loop->span, fewer_stages, asked, (long long)(asked * bytes),
                 (long long)room, p->stages < LEAST_STAGES ? 1 : p->stages);
    return p->stages >= LEAST_STAGES;
}

/* Ingredients join where nothing stands against it: their own addresses, those of others. */
static void add_ingredients(Pipelined *p) {
    block_for_each (op, p->body) {
        if (!is_ingredient(op) || ptr_set_has(&p->slice, op) || may_be_written(p, op))
            continue;
        Pipelined alone = {.ctx = p->ctx,
                           .arena = p->arena,
                           .loop = p->loop,
                           .body = p->body,
                           .written = p->written,
                           .writes = p->writes};
        alone.slice.arena = p->arena;
        bool apart = add_operands(&alone, op);
        vec_for_each (staged, &p->loads)
            apart &= !ptr_set_has(&alone.slice, staged->load);
        if (apart && add_operands(p, op))
            add_load(p, op);
    }
}

static bool pipeline_loop(Func *func, Op *loop) {
    Ctx *ctx = func_ctx(func);
    Pipelined p = {.ctx = ctx, .arena = &ctx->scratch, .loop = loop, .body = loop->regions[0]};
    p.stages = (int)(loop->attrs[0].i ? loop->attrs[0].i : func->num_stages);
    p.stages = p.stages < MOST_STAGES ? p.stages : MOST_STAGES;
    p.slice.arena = p.written.arena = p.arena;
    bool any = false, inner = has_inner_loop(p.body);
    block_for_each (op, p.body)
        any |= is_candidate(op);
    if (p.stages < LEAST_STAGES)
        return false;
    if (!any || inner)
        return loop->attrs[0].i &&
               refuse(ctx, loop, inner ? "it has an inner loop" : "none of them feeds a dot");
    if (loop->attrs[0].i > MOST_STAGES)
        ctx_diag(ctx, loop->span, too_many_stages, (long long)loop->attrs[0].i, MOST_STAGES);
    if (!value_int_constant(op_in(loop, 2), &p.step) || p.step <= 0 || p.step > MAX_STEP)
        return refuse(ctx, loop, "its step is not a positive constant");
    if (!note_stores(&p))
        return refuse(ctx, loop, "it writes memory that the loads may read");
    /* What a store takes lives beside the operands of the next product: registers for all of it are
     * the program's choice. */
    if (p.writes && !loop->attrs[0].i)
        return refuse(ctx, loop, "it stores, and has no num_stages of its own");
    block_for_each (op, p.body) {
        if (!is_candidate(op))
            continue;
        if (may_be_written(&p, op))
            return refuse(ctx, loop, "it writes memory that the loads may read");
        if (!add_operands(&p, op))
            return refuse(ctx, loop, "an address depends on what the loop computes");
        if (op->code == OP_load_block)
            add_block(&p, op);
        else
            add_load(&p, op);
    }
    /* A load that others need for their addresses stays one of them. */
    vec_for_each (staged, &p.loads)
        if (ptr_set_has(&p.slice, staged->load))
            return refuse(ctx, loop, "an operand of a dot is also used for addresses");
    add_ingredients(&p);
    if (!fit_stages(&p, func)) {
        loop->attrs[0].i = 1;
        return true;
    }
    rewrite_loop(&p);
    return true;
}

static bool visit_block(Func *func, Block *block) {
    bool changed = false;
    block_for_each_safe (op, block) {
        for (uint32_t i = 0; i < op->nregions; i++)
            changed |= visit_block(func, op->regions[i]);
        if (op->code == OP_for) {
            ArenaMark mark = arena_mark(&func_ctx(func)->scratch);
            changed |= pipeline_loop(func, op);
            arena_rewind(&func_ctx(func)->scratch, mark);
        }
    }
    return changed;
}

bool pass_pipeline_loads(Func *func) {
    Ctx *ctx = func_ctx(func);
    if (!func->has_layouts)
        return ctx_diag(ctx, func->span, pass_needs, "pipeline-loads", "layouts", "choose-layouts");
    if (!target_by_capability(func->capability))
        return ctx_diag(ctx, func->span, pass_target, "pipeline-loads", func->capability);
    bool changed = visit_block(func, func->body);
    if (changed)
        eliminate_dead(func);
    return changed;
}
