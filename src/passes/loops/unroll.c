/* unroll: copies of loop bodies instead of iterations.
 *
 * A loop with constant bounds, few iterations and a small body is replaced by copies of its body,
 * one that reads memory also where what changes from one iteration to the next is few instructions:
 * the loads of all copies are under way together (the windows of pooling).
 * One with attribute `unroll` N (tl.range(loop_unroll_factor=N)) gets N copies per iteration; the
 * iterations that are left over stay in the old loop, which starts where the new one ends. Inner
 * loops first. `unroll` 1 forbids both and is what unrolled loops are left with, so that the pass
 * does not unroll them again.
 *
 *     for %i = %lo, %hi, %c1 {unroll = 2} {         for %i = %lo, %mid, %c2 {unroll = 1} {
 *         B(%i)                                         B(%i)
 *     }                                       =>        B(%i + 1)
 *                                                   }
 *                                                   for %i = %mid, %hi, %c1 {unroll = 1} { B(%i) }
 */
#include "passes/passes.h"
#include "passes/rewrite.h"

enum {
    FULL_TRIPS = 4,       /* iterations of a loop that is unrolled without being asked */
    FULL_OPS = 48,        /* ops of its body */
    FULL_COST = 512,      /* instructions of a thread, in all copies of a loop that reads */
    FULL_LOADED = 48,     /* registers of a thread for what all copies of it load */
    USUAL_WARPS = 4,      /* of a program, where nothing is said yet */
    MAX_COPIED_OPS = 4096 /* that one loop may grow to */
};

static uint64_t count_ops(const Block *block) {
    uint64_t count = 0;
    block_for_each (op, block) {
        count++;
        for (uint32_t r = 0; r < op->nregions; r++)
            count += count_ops(op->regions[r]);
    }
    return count;
}

static bool has_loop(const Block *block) {
    block_for_each (op, block)
        if (op_has(op, LOOP))
            return true;
    return false;
}

static Value *index_constant(Builder *b, const Op *loop, int64_t value) {
    return rewrite_int(b, op_in(loop, 0)->type, value);
}

/* One copy of the body at the builder's place; `carried` is replaced by what the copy passes on. */
static void copy_body(Builder *b, const Op *loop, Value *index, Value **carried) {
    Arena *arena = &b->ctx->arena;
    const Block *body = loop->regions[0];
    ValueMap *map = value_map_create(arena);
    value_map_set(map, &body->args[0], index);
    for (uint32_t i = 0; i < loop->nout; i++)
        value_map_set(map, &body->args[i + 1], carried[i]);
    for (const Op *op = body->first; op != body->last; op = op->next)
        op_clone(b, op, map);
    for (uint32_t i = 0; i < loop->nout; i++) {
        Value *passed = value_map_get(map, op_in(body->last, i));
        carried[i] = passed ? passed : op_in(body->last, i);
    }
}

static Value **initial_values(const Op *loop) {
    Arena *arena = &func_ctx(loop->block->func)->arena;
    Value **values = ARENA_ARRAY(arena, Value *, loop->nout + 1);
    for (uint32_t i = 0; i < loop->nout; i++)
        values[i] = op_in(loop, FOR_FIXED_OPERANDS + i);
    return values;
}

static bool unroll_fully(Op *loop, int64_t trips) {
    int64_t lo = 0, step = 0;
    value_int_constant(op_in(loop, 0), &lo);
    value_int_constant(op_in(loop, 2), &step);
    Value **carried = initial_values(loop);
    Builder b = builder_before(loop);
    for (int64_t i = 0; i < trips; i++)
        copy_body(&b, loop, index_constant(&b, loop, lo + i * step), carried);
    return rewrite_replace_all(loop, carried);
}

/* Where the last full group of `factor` iterations ends. The number of iterations is taken as
 * unsigned, so that no difference of bounds overflows; without a rest it is `hi` itself, for the
 * same reason. */
static Value *end_of_groups(Builder *b, const Op *loop, int64_t step, int64_t factor) {
    Value *lo = op_in(loop, 0), *hi = op_in(loop, 1);
    Value *zero = index_constant(b, loop, 0), *one = index_constant(b, loop, 1);
    Value *stride = index_constant(b, loop, step);
    Value *before_last = build_subi(b, build_subi(b, hi, lo), one);
    Value *if_any = build_addi(b, build_divui(b, before_last, stride), one);
    Value *count = build_select(b, build_cmpi(b, lo, hi, IPRED_SLT), if_any, zero);
    Value *rest = build_remui(b, count, index_constant(b, loop, factor));
    Value *span = build_muli(b, build_subi(b, count, rest), stride);
    Value *end = build_addi(b, lo, span);
    return build_select(b, build_cmpi(b, rest, zero, IPRED_EQ), hi, end);
}

static void copy_loop_attrs(Op *to, const Op *from) {
    op_copy_attrs(to, from);
    for_attrs(to)->unroll = 1;
}

static bool unroll_by(Op *loop, int64_t step, int64_t factor) {
    Builder b = builder_before(loop);
    Value *end = end_of_groups(&b, loop, step, factor);
    Value *stride = index_constant(&b, loop, step * factor);
    Op *groups = build_for(&b, op_in(loop, 0), end, stride, loop->nout, initial_values(loop));
    copy_loop_attrs(groups, loop);
    Block *body = groups->regions[0];
    Builder in = builder_at_end(body);
    in.span = loop->span;
    Value **carried = initial_values(loop);
    for (uint32_t i = 0; i < body->nargs; i++)
        body->args[i].name = loop->regions[0]->args[i].name;
    for (uint32_t i = 0; i < loop->nout; i++)
        carried[i] = &body->args[i + 1];
    for (int64_t k = 0; k < factor; k++) {
        Value *index = &body->args[0];
        if (k)
            index = build_addi(&in, index, index_constant(&in, loop, k * step));
        copy_body(&in, loop, index, carried);
    }
    build_yield(&in, loop->nout, carried);
    op_set_operand(loop, 0, end);
    for (uint32_t i = 0; i < loop->nout; i++)
        op_set_operand(loop, FOR_FIXED_OPERANDS + i, &groups->out[i]);
    for_attrs(loop)->unroll = 1;
    return true;
}

static bool refuse(Op *loop, const char *why) {
    return ctx_diag(func_ctx(loop->block->func), loop->span, pass_not_unrolled, why);
}

static bool unroll_as_asked(Op *loop, int64_t trips, uint64_t ops) {
    int64_t factor = for_attrs(loop)->unroll, step;
    int64_t copies = trips >= 0 && trips < factor ? trips : factor;
    if ((uint64_t)copies > MAX_COPIED_OPS / ops)
        return refuse(loop, "the copies of its body would be too large");
    if (copies == trips)
        return unroll_fully(loop, trips);
    if (!value_int_constant(op_in(loop, 2), &step) || step <= 0)
        return refuse(loop, "its step is not a positive constant");
    if (step > int_highest(op_in(loop, 2)->type->dtype) / factor)
        return refuse(loop, "its step is too large");
    return unroll_by(loop, step, factor);
}

/* Loads are better started ahead beside products, and inner loops have their own time. */
static bool only_reads(const Block *body) {
    block_for_each (op, body)
        if (op->code == OP_dot || (op->nregions && op_effects(op)))
            return false;
    return true;
}

/* What the loop's iterations do not share: instructions of a thread, an element of its part of a
 * tile each, and registers for what it loads. */
typedef struct Varying {
    uint64_t cost, loaded;
} Varying;

static Varying varying_part(const Op *loop) {
    const Func *func = loop->block->func;
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    PtrSet varying = {.arena = arena};
    const Block *body = loop->regions[0];
    int64_t threads = (func->num_warps ? func->num_warps : USUAL_WARPS) * TARGET_WARP_SIZE;
    Varying part = {0};
    for (uint32_t i = 0; i < body->nargs; i++)
        ptr_set_add(&varying, &body->args[i]);
    block_for_each (op, body) {
        bool varies = op->nregions || op_effects(op);
        for (uint32_t i = 0; i < op->nin; i++)
            varies |= ptr_set_has(&varying, op_in(op, i));
        if (!varies)
            continue;
        int64_t elements = 1;
        for (uint32_t i = 0; i < op->nout; i++) {
            ptr_set_add(&varying, &op->out[i]);
            int64_t numel = type_numel(op->out[i].type);
            elements = numel > elements ? numel : elements;
        }
        uint64_t share = (uint64_t)((elements + threads - 1) / threads);
        part.cost += share;
        part.loaded += op_has(op, READS) ? share : 0;
    }
    arena_rewind(arena, mark);
    return part;
}

/* Reads memory in few iterations, whose copies together are small. */
static bool is_window(const Op *loop, int64_t trips) {
    if (!(op_effects(loop) & READS) || !only_reads(loop->regions[0]))
        return false;
    Varying part = varying_part(loop);
    return part.cost * (uint64_t)trips <= FULL_COST && part.loaded * (uint64_t)trips <= FULL_LOADED;
}

static bool unroll_loop(Op *loop, void *user) {
    int64_t trips = loop_trip_count(loop), wanted = for_attrs(loop)->unroll;
    uint64_t ops = count_ops(loop->regions[0]);
    if (wanted > 1)
        return unroll_as_asked(loop, trips, ops);
    if (wanted != 0 || for_attrs(loop)->num_stages > 1 || trips < 0 || trips > FULL_TRIPS ||
        has_loop(loop->regions[0]))
        return false;
    bool small = ops * (uint64_t)trips <= FULL_OPS * 2 && ops <= FULL_OPS;
    return (small || is_window(loop, trips)) && unroll_fully(loop, trips);
}

bool pass_unroll(Func *func) {
    return loops_inside_out(func->body, unroll_loop, NULL);
}
