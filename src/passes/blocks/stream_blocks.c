/* stream-blocks: tensors that a launch reads about once go through the L2 cache without displacing
 * what lies there.
 *
 * Every block that is copied takes lines of the L2 cache, and what these held is written back first
 * where it was dirty: reading costs writing. Lines that are marked as the first to go make room for
 * each other instead. It pays where each element is read by so few programs that they do so at
 * about the same time, as the weights of a product of few rows are, and where the tensor is too
 * large to be there still when the next kernel wants it. Both depend on the sizes of the launch, so
 * the program reckons them: elements read by all programs, and elements of the tensor.
 *
 *     for %k = 0, %K, 64 (..) {                 %reads = num_programs * iterations * 64 * 128
 *         %b = load_block %p, %K, %N, ..        %streamed = %reads <= 4 * %K * %N & ..
 *         ..                             =>     %policy = cache_policy %streamed {evict = ..}
 *     }                                         for %k = 0, %K, 64 (..) {
 *                                                   %b = load_block %p, %K, %N, .., %policy
 *                                                   ..
 *                                               }
 *
 * Takes blocks in loops of the function's body whose bounds are known in front of them, of tensors
 * that all programs have in common, whose extents are known, and of which the source says nothing
 * (eviction_policy). It is a hint: results do not depend on it. Needs no layouts. */
#include "ir/recipe.h"
#include "passes/blocks/block_plan.h"
#include "passes/blocks/tensor_maps.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "target/target.h"

enum {
    AXES = 3,
    MAX_READS = 4,              /* of an element, on average */
    MIN_TENSOR_BYTES = 16 << 20 /* the L2 caches of the targets hold 24 to 126 MB */
};

typedef struct Streams {
    Func *func;
    bool asked[AXES]; /* axes of which some program asks its number: others repeat the same work */
    bool changed;
} Streams;

static bool note_axis(Op *op, void *user) {
    Streams *s = user;
    if (op->code == OP_program_id)
        s->asked[program_id_attrs(op)->axis] = true;
    return true;
}

static Value *build_wide(Builder *b, Value *value) {
    const Type *wide = type_scalar(b->ctx, DT_I64);
    return value->type == wide ? value : build_extsi(b, value, wide);
}

static Value *build_constant(Builder *b, int64_t value) {
    return rewrite_int(b, type_scalar(b->ctx, DT_I64), value);
}

/* Iterations of the loop; some more where it has none. */
static Value *build_trips(Builder *b, const Op *loop, int64_t step) {
    Value *lo = build_wide(b, op_in(loop, 0)), *hi = build_wide(b, op_in(loop, 1));
    Value *span = build_subi(b, hi, lo);
    Value *rounded = build_addi(b, span, build_constant(b, step - 1));
    return build_divsi(b, rounded, build_constant(b, step));
}

/* The loops around the block, and nothing else, are such whose iterations can be counted in front
 * of them. */
static bool is_countable(const Op *block) {
    Op *outermost = op_outermost_loop(block);
    for (const Op *loop = block->block->parent; loop; loop = loop->block->parent) {
        int64_t step;
        if (loop->code != OP_for || !value_int_constant(op_in(loop, 2), &step) || step <= 0)
            return false;
        for (uint32_t i = 0; i < 2; i++)
            if (!value_is_outside(op_in(loop, i), outermost))
                return false;
    }
    return outermost != NULL;
}

/* The tensor is the same for all programs and its extents are what they seem. */
static bool is_common_tensor(const Op *block, const Op *loop) {
    BlockAccess access = block_access(block);
    if (!launch_invariant(op_in(block, 0)))
        return false;
    for (uint32_t i = access.shape; i < access.strides; i++) {
        int64_t extent;
        const Value *value = op_in(block, i);
        bool known = value_int_constant(value, &extent);
        if (!value_is_outside(value, loop) || (known && extent >= BLOCK_ANY_EXTENT))
            return false;
    }
    return true;
}

static const Value *without_width(const Value *value) {
    const Op *extend = value_def(value, OP_extsi);
    return extend ? op_in(extend, 0) : value;
}

/* A loop around the block over all of an extent of the tensor, from 0 on: the extent is in both
 * numbers and need not be multiplied. Programs reckon before they start anything. */
typedef struct Whole {
    const Op *loop; /* NULL: there is none */
    uint32_t extent;
    int64_t step;
} Whole;

static Whole whole_extent(const Op *block) {
    BlockAccess access = block_access(block);
    for (const Op *loop = block->block->parent; loop; loop = loop->block->parent) {
        int64_t step;
        if (!value_is_int(op_in(loop, 0), 0) || !value_int_constant(op_in(loop, 2), &step) ||
            type_numel(access.tile) % step)
            continue;
        for (uint32_t i = access.shape; i < access.strides; i++)
            if (without_width(op_in(block, i)) == without_width(op_in(loop, 1)))
                return (Whole){loop, i, step};
    }
    return (Whole){0};
}

static Value *build_reads(Builder *b, const Streams *s, const Op *block, const Whole *whole) {
    int64_t elements = type_numel(op_out(block)->type);
    Value *reads = build_constant(b, whole->loop ? elements / whole->step : elements);
    for (int axis = 0; axis < AXES; axis++)
        if (s->asked[axis])
            reads = build_muli(b, reads, build_wide(b, build_num_programs(b, axis)));
    for (const Op *loop = block->block->parent; loop; loop = loop->block->parent) {
        int64_t step = 1;
        if (loop == whole->loop)
            continue;
        value_int_constant(op_in(loop, 2), &step);
        reads = build_muli(b, reads, build_trips(b, loop, step));
    }
    return reads;
}

static Value *times(Builder *b, Value *product, Value *factor) {
    return product ? build_muli(b, product, factor) : factor;
}

static Value *build_policy(Builder *b, const Streams *s, const Op *block) {
    BlockAccess access = block_access(block);
    Whole whole = whole_extent(block);
    Value *size = NULL, *others = NULL;
    for (uint32_t i = access.shape; i < access.strides; i++) {
        size = times(b, size, op_in(block, i));
        others = !whole.loop         ? size
                 : i == whole.extent ? others
                                     : times(b, others, op_in(block, i));
    }
    Value *most = times(b, others, build_constant(b, MAX_READS));
    int64_t least = MIN_TENSOR_BYTES / type_element_bytes(op_out(block)->type);
    Value *few = build_cmpi(b, build_reads(b, s, block, &whole), most, IPRED_SLE);
    Value *large = build_cmpi(b, size, build_constant(b, least), IPRED_SGE);
    return build_cache_policy(b, build_andi(b, few, large), EVICT_FIRST);
}

/* By the source, or by this pass when it ran before. */
static bool is_decided(const Op *block) {
    return op_evict(block) != EVICT_NORMAL || block_access_policy(block);
}

static bool visit(Op *op, void *user) {
    Streams *s = user;
    if (op->code != OP_load_block || is_decided(op) || !is_countable(op))
        return true;
    Op *loop = op_outermost_loop(op);
    if (!is_common_tensor(op, loop))
        return true;
    Builder b = builder_before(loop);
    b.span = op->span;
    op_add_operand(op, build_policy(&b, s, op));
    s->changed = true;
    return true;
}

bool pass_stream_blocks(Func *func) {
    Streams s = {.func = func};
    if (!target_has(func->capability, FEATURE_TENSOR_COPIES))
        return false;
    func_walk(func, note_axis, &s);
    func_walk(func, visit, &s);
    return s.changed;
}
