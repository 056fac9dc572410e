/* simplify: rules of for, while and if. Regions that surely run once are inlined, ones that never
 * run go, and carried values that never change become what they start as. What is carried but not
 * needed is left to eliminate_dead. A map without control flow becomes ops of tiles. */
#include "passes/simplify/simplify.h"
#include "support/ptrmap.h"

/* Moves the ops of a region, without its terminator, before `place`. */
static void inline_region(Block *region, Op *place) {
    while (region->first != region->last)
        op_move_before(region->first, place);
}

/* The op is replaced by its terminator's operands, from `first` on. */
static bool replace_by_passed_on(Op *op, const Op *terminator, uint32_t first) {
    Value **results = ARENA_ARRAY(&func_ctx(op->block->func)->arena, Value *, op->nout + 1);
    for (uint32_t i = 0; i < op->nout; i++)
        results[i] = op_in(terminator, first + i);
    return rewrite_replace_all(op, results);
}

static void name_after(Value *value, const Value *other) {
    if (!value->name.len)
        value->name = other->name;
}

static bool run_once(Op *loop) {
    Block *body = loop->regions[0];
    name_after(op_in(loop, 0), &body->args[0]);
    value_replace(&body->args[0], op_in(loop, 0));
    for (uint32_t i = 1; i < body->nargs; i++)
        value_replace(&body->args[i], op_in(loop, FOR_FIXED_OPERANDS - 1 + i));
    inline_region(body, loop);
    return replace_by_passed_on(loop, body->last, 0);
}

static bool run_never(Op *loop) {
    Value **inits = ARENA_ARRAY(&func_ctx(loop->block->func)->arena, Value *, loop->nout + 1);
    for (uint32_t i = 0; i < loop->nout; i++)
        inits[i] = op_in(loop, FOR_FIXED_OPERANDS + i);
    return rewrite_replace_all(loop, inits);
}

/* Carried value i passes itself, or its first value, on. */
static bool replace_unchanging(Op *loop, uint32_t i) {
    Value *arg = &loop->regions[0]->args[i + 1], *init = op_in(loop, FOR_FIXED_OPERANDS + i);
    const Value *next = op_in(loop->regions[0]->last, i);
    if ((next != arg && next != init) || (value_unused(arg) && value_unused(&loop->out[i])))
        return false;
    /* The only use may be the yield of itself, which stays in place until the value is removed. */
    if (next == arg && value_unused(&loop->out[i]) && !arg->uses->next)
        return false;
    value_replace(arg, init);
    value_replace(&loop->out[i], init);
    return true;
}

/* The scalar by which carried tile i advances in every iteration: it passes on itself plus a
 * uniform tile. */
static Value *uniform_advance(Op *loop, uint32_t i) {
    const Value *arg = &loop->regions[0]->args[i + 1];
    const Op *next = op_in(loop->regions[0]->last, i)->def;
    if (arg->type->rank == 0 || !next || (next->code != OP_addptr && next->code != OP_addi) ||
        op_in(next, 0) != arg)
        return NULL;
    Value *by = op_in(next, 1);
    if (!value_is_uniform(by))
        return NULL;
    Builder b = builder_before(loop->regions[0]->last);
    Value *scalar = value_uniform_scalar(&b, by);
    if (next->code == OP_addi || scalar->type->dtype == DT_I64)
        return scalar;
    return build_extsi(&b, scalar, type_scalar(b.ctx, DT_I64));
}

/* first + offset, for a tile of integers or pointers and a scalar offset. */
static Value *advanced(Builder *b, Value *first, Value *offset) {
    const Type *type = type_with_element(b->ctx, first->type, TYPE_NUMBER, offset->type->dtype);
    Value *offsets = build_splat(b, offset, type);
    return type_is_pointer(first->type) ? build_addptr(b, first, offsets)
                                        : build_addi(b, first, offsets);
}

/* Of a tile of integers that is a uniform one plus another: the other, and the scalar in `*from`.
 * What else there is of the first value is then not added again in every iteration. */
static Value *without_uniform(Builder *b, Value *first, Value **from) {
    const Op *sum = first->def;
    for (uint32_t i = 0; sum && sum->code == OP_addi && i < 2; i++)
        if (value_is_uniform(op_in(sum, i))) {
            *from = value_uniform_scalar(b, op_in(sum, i));
            return op_in(sum, !i);
        }
    return first;
}

/* A tile that advances uniformly is its first value plus a carried scalar: what differs between its
 * elements is then the same in all iterations. The sum is exact: pointers advance in 64 bits and
 * integers wrap either way. */
static bool carry_scalar(Op *loop, uint32_t i) {
    Value *advance = uniform_advance(loop, i);
    if (!advance)
        return false;
    Block *body = loop->regions[0];
    Builder before = builder_before(loop), after = builder_after(loop);
    Value *first = op_in(loop, FOR_FIXED_OPERANDS + i);
    const Type *type = advance->type;
    Value *from = rewrite_int(&before, type, 0);
    first = without_uniform(&before, first, &from);
    op_add_operand(loop, from);
    op_add_result(loop, type);
    /* Arguments move when one is added, and the advance may be one: an operand follows it. */
    Builder head = builder_before(body->first), tail = builder_before(body->last);
    Value *next = build_addi(&tail, advance, advance);
    Value *offset = block_add_arg(body, type);
    op_set_operand(next->def, 0, offset);
    op_add_operand(body->last, next);
    value_replace(&body->args[i + 1], advanced(&head, first, offset));
    if (!value_unused(&loop->out[i]))
        value_replace(&loop->out[i], advanced(&after, first, &loop->out[loop->nout - 1]));
    return true;
}

bool simplify_for(Op *op) {
    int64_t trips = loop_trip_count(op);
    if (trips == 0)
        return run_never(op);
    if (trips == 1)
        return run_once(op);
    bool changed = false;
    for (uint32_t i = 0; i < op->nout; i++)
        changed |= replace_unchanging(op, i) || carry_scalar(op, i);
    return changed;
}

/* A while whose condition is false at once: its first region runs, the second never does. */
bool simplify_while(Op *op) {
    Block *head = op->regions[0];
    if (!value_is_int(op_in(head->last, 0), 0))
        return false;
    for (uint32_t i = 0; i < head->nargs; i++)
        value_replace(&head->args[i], op_in(op, i));
    inline_region(head, op);
    return replace_by_passed_on(op, head->last, 1);
}

/* Result i is the same on both ways. */
static bool replace_joined(Op *op, uint32_t i) {
    Value *result = &op->out[i];
    Value *a = op_in(op->regions[0]->last, i), *b = op_in(op->regions[1]->last, i);
    if (value_unused(result))
        return false;
    if (a == b && value_is_outside(a, op)) {
        value_replace(result, a);
        return true;
    }
    int64_t ca, cb;
    if (!type_is_int(result->type) || !value_int_constant(a, &ca) || !value_int_constant(b, &cb) ||
        ca != cb)
        return false;
    Builder builder = builder_before(op);
    value_replace(result, rewrite_int(&builder, result->type, ca));
    return true;
}

enum { MAX_SPECULATED = 8 };

/* Few cheap scalar ops that may run whichever way is taken. LLVM may assume that a division is
 * defined. */
static bool can_speculate(const Block *region) {
    int count = 0;
    for (const Op *op = region->first; op != region->last; op = op->next) {
        if (!op_is_pure(op) || !op_has(op, CHEAP) || op_has(op, MAY_TRAP) ||
            op->out[0].type->rank || ++count > MAX_SPECULATED)
            return false;
    }
    return true;
}

/* if (c) x else y, for scalars: both are computed and one is chosen, without a branch. */
static bool replace_by_selects(Op *op) {
    bool scalars = op->nout > 0;
    for (uint32_t i = 0; i < op->nout; i++)
        scalars &= op->out[i].type->rank == 0;
    if (!scalars || !can_speculate(op->regions[0]) || !can_speculate(op->regions[1]))
        return false;
    for (uint32_t r = 0; r < 2; r++)
        inline_region(op->regions[r], op);
    Builder b = builder_before(op);
    Value **chosen = ARENA_ARRAY(&b.ctx->arena, Value *, op->nout);
    for (uint32_t i = 0; i < op->nout; i++)
        chosen[i] = build_select(&b, op_in(op, 0), op_in(op->regions[0]->last, i),
                                 op_in(op->regions[1]->last, i));
    return rewrite_replace_all(op, chosen);
}

bool simplify_if(Op *op) {
    for (int taken = 0; taken < 2; taken++) {
        if (!value_is_int(op_in(op, 0), taken))
            continue;
        Block *region = op->regions[taken ? 0 : 1];
        inline_region(region, op);
        return replace_by_passed_on(op, region->last, 0);
    }
    bool changed = false;
    for (uint32_t i = 0; i < op->nout; i++)
        changed |= replace_joined(op, i);
    return changed || replace_by_selects(op);
}

/* Each op of the region computes an element and does nothing else. */
static bool is_elementwise(const Block *region) {
    for (const Op *op = region->first; op != region->last; op = op->next)
        if (!op_is_pure(op) || op->nregions || op->nout != 1 || !op_has(op, ELEMENTWISE | CONSTANT))
            return false;
    return true;
}

/* What a value of the region is for all elements at once. */
static Value *tile_of(Builder *b, const PtrMap *tiles, Value *value, const Type *shape) {
    Value *tile = ptrmap_get(tiles, value);
    return tile ? tile
                : build_splat(b, value,
                              type_get(b->ctx, value->type->kind, value->type->dtype, shape->rank,
                                       shape->shape, shape->layout));
}

bool simplify_map(Op *op) {
    const Block *region = op->regions[0];
    if (!is_elementwise(region))
        return false;
    Builder b = builder_before(op);
    Arena *arena = &b.ctx->arena;
    const Type *shape = op_in(op, 0)->type;
    PtrMap tiles = {.arena = arena};
    for (uint32_t i = 0; i < op->nin; i++)
        ptrmap_set(&tiles, &region->args[i], op_in(op, i));
    for (Op *inner = region->first; inner != region->last; inner = inner->next) {
        Value **in = ARENA_ARRAY(arena, Value *, (size_t)inner->nin + 1);
        for (uint32_t i = 0; i < inner->nin; i++)
            in[i] = tile_of(&b, &tiles, op_in(inner, i), shape);
        const Type *scalar = op_out(inner)->type;
        const Type *type =
            type_get(b.ctx, scalar->kind, scalar->dtype, shape->rank, shape->shape, shape->layout);
        ptrmap_set(&tiles, op_out(inner), rewrite_like(&b, inner, inner->nin, in, type));
    }
    Value **results = ARENA_ARRAY(arena, Value *, (size_t)op->nout + 1);
    for (uint32_t i = 0; i < op->nout; i++)
        results[i] = tile_of(&b, &tiles, op_in(region->last, i), shape);
    return rewrite_replace_all(op, results);
}
