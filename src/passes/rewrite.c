#include "passes/rewrite.h"
#include "support/ptrmap.h"

#include <math.h>

int64_t int_wrap(DType dtype, int64_t value) {
    int bits = dtype_info[dtype].bits;
    if (bits == 1)
        return value & 1;
    return bits == 64 ? value : (int64_t)((uint64_t)value << (64 - bits)) >> (64 - bits);
}

uint64_t int_unsigned(DType dtype, int64_t value) {
    int bits = dtype_info[dtype].bits;
    return bits == 64 ? (uint64_t)value : (uint64_t)value & (((uint64_t)1 << bits) - 1);
}

int64_t int_lowest(DType dtype) {
    int bits = dtype_info[dtype].bits;
    return bits == 1 ? 0 : -1 - int_highest(dtype);
}

int64_t int_highest(DType dtype) {
    int bits = dtype_info[dtype].bits;
    return bits == 1 ? 1 : (int64_t)(UINT64_MAX >> (65 - bits));
}

const Type *type_element(Ctx *ctx, const Type *type) {
    return type_get(ctx, type->kind, type->dtype, 0, NULL, NULL);
}

bool rewrite_replace_all(Op *op, Value *const *to) {
    for (uint32_t i = 0; i < op->nout; i++) {
        if (!to[i]->name.len)
            to[i]->name = op->out[i].name;
        value_replace(&op->out[i], to[i]);
    }
    op_remove(op);
    return true;
}

bool rewrite_replace(Op *op, Value *to) {
    return rewrite_replace_all(op, &to);
}

Value *rewrite_int(Builder *builder, const Type *type, int64_t value) {
    return build_constant_int(builder, int_wrap(type->dtype, value), type);
}

Value *rewrite_float(Builder *builder, const Type *type, double value) {
    return build_constant_float(builder, value, type);
}

Value *rewrite_like(Builder *builder, const Op *op, uint32_t nin, Value *const *in,
                    const Type *type) {
    Op *copy = op_create(builder, op->code, nin, in, 1, &type);
    op_copy_attrs(copy, op);
    return op_out(copy);
}

static bool is_constant_op(const Op *op) {
    return op && op_has(op, CONSTANT);
}

bool value_is_uniform(const Value *value) {
    return value->type->rank == 0 || value_def(value, OP_splat) || is_constant_op(value->def);
}

Value *value_uniform_scalar(Builder *builder, Value *value) {
    if (value->type->rank == 0)
        return value;
    if (value->def->code == OP_splat)
        return op_in(value->def, 0);
    const Type *element = type_element(builder->ctx, value->type);
    return rewrite_like(builder, value->def, 0, NULL, element);
}

static size_t ptr_slot(const PtrSet *set, const void *pointer) {
    size_t i = (size_t)(((uint64_t)(uintptr_t)pointer >> 4) * 0x9E3779B97F4A7C15u >> 20);
    for (i &= set->cap - 1; set->slots[i] && set->slots[i] != pointer;)
        i = (i + 1) & (set->cap - 1);
    return i;
}

bool ptr_set_has(const PtrSet *set, const void *pointer) {
    return set->cap && set->slots[ptr_slot(set, pointer)];
}

bool ptr_set_add(PtrSet *set, const void *pointer) {
    if (2 * (set->len + 1) > set->cap) {
        PtrSet old = *set;
        set->cap = old.cap ? 2 * old.cap : 64;
        set->slots = ARENA_ARRAY(set->arena, const void *, set->cap);
        for (size_t i = 0; i < old.cap; i++)
            if (old.slots[i])
                set->slots[ptr_slot(set, old.slots[i])] = old.slots[i];
    }
    size_t slot = ptr_slot(set, pointer);
    if (set->slots[slot])
        return false;
    set->slots[slot] = pointer;
    set->len++;
    return true;
}

bool value_is_outside(const Value *value, const Op *op) {
    for (const Block *block = value_block(value); block;) {
        if (block->parent == op)
            return false;
        block = block->parent ? block->parent->block : NULL;
    }
    return true;
}

bool op_comes_before(const Op *op, const Op *other) {
    for (const Op *next = op->next; next; next = next->next)
        if (next == other)
            return true;
    return false;
}

bool op_any(const Op *op, OpTest *test, const void *user) {
    if (test(op, user))
        return true;
    for (uint32_t i = 0; i < op->nregions; i++)
        if (block_any(op->regions[i], test, user))
            return true;
    return false;
}

bool block_any(const Block *block, OpTest *test, const void *user) {
    block_for_each (op, block)
        if (op_any(op, test, user))
            return true;
    return false;
}

static bool has_traits(const Op *op, const void *user) {
    const uint32_t *traits = user;
    return op_has(op, *traits);
}

bool op_contains(const Op *op, uint32_t traits) {
    return op_any(op, has_traits, &traits);
}

static bool is_product(const Op *op, const void *user) {
    return op->code == OP_dot || op_is_wgmma(op);
}

bool block_multiplies(const Block *block) {
    return block_any(block, is_product, NULL);
}

Op *op_outermost_loop(const Op *op) {
    Op *outermost = op_loop_around(op);
    while (outermost && op_loop_around(outermost))
        outermost = op_loop_around(outermost);
    return outermost;
}

bool block_has_loop(const Block *block) {
    const uint32_t loop = LOOP;
    return block_any(block, has_traits, &loop);
}

bool loops_inside_out(Block *block, LoopVisitor *visit, void *user) {
    bool changed = false;
    block_for_each_safe (op, block) {
        for (uint32_t i = 0; i < op->nregions; i++)
            changed |= loops_inside_out(op->regions[i], visit, user);
        if (op->code == OP_for)
            changed |= visit(op, user);
    }
    return changed;
}

bool value_is_positive_zero(const Value *value) {
    double f;
    int64_t i;
    return (value_float_constant(value, &f) && f == 0 && !signbit(f)) ||
           (value_int_constant(value, &i) && i == 0);
}

/* The number of the CTA, or of its team's first program: that and something added to it. */
static bool is_first_program(const Value *value) {
    const Op *sum = value_def(value, OP_addi);
    return value_def(sum ? op_in(sum, 0) : value, OP_cta_id);
}

Op *loop_over_programs(const Func *func) {
    if (func->is_persistent)
        block_for_each (op, func->body)
            if (op->code == OP_for && is_first_program(op_in(op, 0)))
                return op;
    return NULL;
}

int64_t loop_trip_count(const Op *loop) {
    int64_t lo, hi, step;
    if (!value_int_constant(op_in(loop, 0), &lo) || !value_int_constant(op_in(loop, 1), &hi) ||
        !value_int_constant(op_in(loop, 2), &step) || step == 0)
        return -1;
    if (step > 0 ? lo >= hi : lo <= hi)
        return 0;
    uint64_t distance = step > 0 ? (uint64_t)hi - (uint64_t)lo : (uint64_t)lo - (uint64_t)hi;
    uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
    uint64_t trips = distance / stride + (distance % stride != 0);
    return trips > INT64_MAX ? -1 : (int64_t)trips;
}

static void copy_region(const Op *from, Op *to, Arena *arena) {
    ValueMap *map = value_map_create(arena);
    const Block *source = from->regions[0];
    Block *target = to->regions[0];
    for (uint32_t i = 0; i < source->nargs; i++)
        value_map_set(map, &source->args[i], &target->args[i]);
    Builder builder = builder_at_end(target);
    block_for_each (op, source)
        op_clone(&builder, op, map);
}

Op *rewrite_scan(Builder *builder, const Op *scan, Value *const *in, int64_t axis, bool reverse,
                 bool exclusive) {
    Op *copy = build_scan(builder, scan->nin, in, axis, reverse, exclusive);
    copy_region(scan, copy, &builder->ctx->arena);
    return copy;
}

Op *rewrite_reduce(Builder *builder, const Op *reduce, Value *const *in, int64_t keep) {
    Op *copy = build_reduce(builder, reduce->nin, in, reduce_attrs(reduce)->axis, keep);
    copy_region(reduce, copy, &builder->ctx->arena);
    return copy;
}
