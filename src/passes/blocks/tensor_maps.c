/* The conditions of tensor copies, one function each: see tensor_maps.h and docs/tma.md.
 *
 * Encoding wants a base, extents and strides that the launcher can compute, the copy an aligned
 * base and strides. A copy runs ahead of the program and past the caches, through the asynchronous
 * proxy: what it reads nobody may write meanwhile, what it writes nobody may read later. Different
 * parameters are taken to point at different memory, as pipelined loads take them. */
#include "passes/blocks/tensor_maps.h"
#include "ir/recipe.h"
#include "passes/analysis/pointer_origin.h"
#include "passes/layout/layout_rules.h"
#include "passes/rewrite.h"
#include "target/panels.h"

enum { REACH_BUDGET = 256 };

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

bool value_may_reach_dot(const Value *value) {
    unsigned budget = REACH_BUDGET;
    return reaches_dot(value, &budget) || !budget;
}

/* Conditions */

typedef struct Question {
    Func *func;
    const Facts *facts;
    Op *op;
    BlockAccess access;
    const Value *parameter;
    const char *why_not;
    bool passed; /* memory: the op itself was met on the walk */
} Question;

static Arena *arena_of(const Question *q) {
    return &func_ctx(q->func)->arena;
}

static bool refuse(Question *q, const char *why_not) {
    q->why_not = why_not;
    return false;
}

/* For messages: the source's name, behind conversions and sums of a pointer. */
static const char *value_name(Arena *arena, const Value *value) {
    while (!value->name.len && value->def &&
           (op_has(value->def, CONVERTS) || value->def->code == OP_addptr ||
            value->def->code == OP_muli))
        value = op_in(value->def, 0);
    if (value->name.len)
        return str_dup(arena, value->name);
    return value->def ? op_info[value->def->code].name : "carried by a loop";
}

static bool refuse_operand(Question *q, const char *what, int dim, const Value *value,
                           const char *wanted) {
    const char *name = value_name(arena_of(q), value), *space = *wanted ? " " : "";
    q->why_not = dim < 0 ? str_format(arena_of(q), "%s (%s)%s%s", what, name, space, wanted)
                         : str_format(arena_of(q), "%s of dimension %d (%s)%s%s", what, dim, name,
                                      space, wanted);
    return false;
}

const char *tensor_copy_obstacle(const Op *op) {
    BlockAccess access = block_access(op);
    if (op->code == OP_atomic_block)
        return "it is neither a load nor a store";
    if (!recipe_dtype(access.tile->dtype))
        return "tensor maps have no elements of its type";
    if (op_cache(op) != CACHE_NONE)
        return "it has a cache modifier";
    if (op_is_volatile(op))
        return "it is volatile";
    if (op->code == OP_load_block && load_block_attrs(op)->padding != PADDING_ZERO)
        return "its padding is not zero";
    return access.rank > RECIPE_MAX_RANK ? "it has more than five dimensions" : NULL;
}

static bool ordinary(Question *q) {
    if (q->func->no_tensor_copies)
        return refuse(q, "this form of the kernel has none");
    const char *why_not = tensor_copy_obstacle(q->op);
    return !why_not || refuse(q, why_not);
}

/* Is the value, or what only moves it, taken by an op of the block that is not among those before?
 */
static bool is_taken_behind(const Value *value, const Block *block, const PtrSet *before) {
    value_for_each_use (use, value) {
        Op *user = use->user;
        if (!ptr_set_has(before, op_ancestor_in(user, block)) ||
            (op_rearranges(user) && is_taken_behind(op_out(user), block, before)))
            return true;
    }
    return false;
}

static int64_t block_bytes(const Op *load) {
    const Type *tile = op_out(load)->type;
    return type_numel(tile) * type_element_bytes(tile);
}

/* What is loaded waits in a buffer, whole, beside others of its block of ops that wait too. A part
 * of the room is left to tiles that pass through shared memory meanwhile, in parts as small as that
 * asks (split-exchanges). */
static bool fits_beside(Question *q) {
    enum { PART_LEFT = 16 };
    const Op *load = q->op;
    if (load->code != OP_load_block)
        return true;
    PtrSet before = {.arena = arena_of(q)};
    int64_t bytes = block_bytes(load);
    block_for_each (op, load->block) {
        ptr_set_add(&before, op);
        if (op == load)
            break;
    }
    block_for_each (op, load->block) {
        if (op == load)
            break;
        if (op->code == OP_load_block && is_taken_behind(op_out(op), load->block, &before))
            bytes += block_bytes(op);
    }
    int64_t room = func_shared_room(q->func);
    return bytes <= room - room / PART_LEFT ||
           refuse(q, "shared memory has no room for it beside the blocks that wait there then");
}

static bool can_be_encoded(Question *q) {
    static const char wanted[] = "is not made of kernel parameters and constants";
    if (!launch_invariant(op_in(q->op, 0)))
        return refuse_operand(q, "the base", -1, op_in(q->op, 0), wanted);
    for (int d = 0; d < q->access.rank; d++) {
        Value *extent = op_in(q->op, q->access.shape + (uint32_t)d);
        Value *stride = op_in(q->op, q->access.strides + (uint32_t)d);
        int64_t constant;
        if (!launch_invariant(extent))
            return refuse_operand(q, "the extent", d, extent, wanted);
        if (!launch_invariant(stride))
            return refuse_operand(q, "the stride", d, stride, wanted);
        if (value_int_constant(extent, &constant) && constant <= 0)
            return refuse_operand(q, "the extent", d, extent, "is not positive");
        if (value_int_constant(stride, &constant) && constant <= 0)
            return refuse_operand(q, "the stride", d, stride, "is not positive");
    }
    return true;
}

static bool is_aligned(Question *q) {
    int bytes = dtype_bytes(q->access.tile->dtype), inner = tensor_copy_inner_dim(q->op);
    if (inner < 0)
        return refuse(q, "no stride is known to be 1");
    Panels panels;
    if (q->access.tile->shape[inner] * bytes < TENSOR_COPY_LEAST_BYTES)
        return refuse(q, "less than 32 bytes are adjacent");
    if (!panels_for(q->access.tile, inner, &panels))
        return refuse(q, "it has fewer than eight lines");
    Value *begin = op_in(q->op, q->access.offsets + (uint32_t)inner);
    if (facts_divisible(q->facts, begin) < TENSOR_COPY_ALIGNMENT / bytes)
        return refuse_operand(q, "the offset", inner, begin,
                              "is not known to be a multiple of 16 bytes");
    if (facts_divisible(q->facts, op_in(q->op, 0)) < TENSOR_COPY_ALIGNMENT)
        return refuse_operand(q, "the base", -1, op_in(q->op, 0),
                              "is not known to be a multiple of 16 bytes");
    /* Stores write whole units of 16 bytes at the end of a line. */
    Value *extent = op_in(q->op, q->access.shape + (uint32_t)inner);
    if (q->op->code == OP_store_block && block_checks(&q->access, inner) &&
        facts_divisible(q->facts, extent) < TENSOR_COPY_ALIGNMENT / bytes)
        return refuse_operand(q, "the extent", inner, extent,
                              "is not known to be a multiple of 16 bytes");
    for (int d = 0; d < q->access.rank; d++) {
        Value *stride = op_in(q->op, q->access.strides + (uint32_t)d);
        if (d != inner && facts_divisible(q->facts, stride) < TENSOR_COPY_ALIGNMENT / bytes)
            return refuse_operand(q, "the stride", d, stride,
                                  "is not known to be a multiple of 16 bytes");
    }
    return true;
}

/* The hardware brings zeros for negative coordinates, where a dimension that is not checked means
 * the memory in front of the base. A store that begins before the tensor ends the launch. An offset
 * of 32 bits is taken not to wrap, within its block either; one of 64 bits that is not checked must
 * be known to be one of 32. */
static bool begins_inside(Question *q) {
    bool stores = q->op->code == OP_store_block;
    for (int d = 0; d < q->access.rank; d++) {
        Value *begin = op_in(q->op, q->access.offsets + (uint32_t)d);
        const ValueFacts *facts = facts_of(q->facts, begin);
        bool may_be_before = facts->sign == SIGN_UNKNOWN;
        if (may_be_before && (stores || !block_checks(&q->access, d)))
            return refuse_operand(q, "the offset", d, begin,
                                  stores ? "may be negative, where no store can begin"
                                         : "may be negative and is not checked");
        if (begin->type->dtype == DT_I64 && !block_checks(&q->access, d) &&
            (!facts->has_range || facts->hi > INT32_MAX))
            return refuse_operand(q, "the offset", d, begin,
                                  "may be past 2^31, which no coordinate reaches");
    }
    return true;
}

/* Dots */

/* Dimension `dim` of the op's first operand in its result; -1: it is not to be found there. */
static int passed_dim(const Op *op, int dim) {
    const Type *from = op_in(op, 0)->type, *to = op->out[0].type;
    if (op->code == OP_transpose) {
        for (int i = 0; i < to->rank; i++)
            if (transpose_attrs(op)->order.ptr[i] == dim)
                return i;
        return -1;
    }
    if (op_adds_or_drops_ones(op)) {
        int64_t behind = type_numel(from);
        for (int i = 0; i <= dim; i++)
            behind /= from->shape[i];
        for (int64_t i = to->rank - 1, after = 1; i >= 0; after *= to->shape[i--])
            if (after == behind && to->shape[i] == from->shape[dim])
                return (int)i;
        return -1;
    }
    return op_has(op, ELEMENTWISE) && type_is_tile(to) ? dim : -1;
}

static const char too_many_uses[] = "it has more uses than are followed to its dots";

/* Why a dot would rather have the value otherwise than in panels; NULL: none would. In their
 * swizzle tensor cores find elements of 16 bits without conflicts whichever way they turn them,
 * others along K alone. What is narrowed to 16 bits threads read as it lies, and store anew. */
static const char *dot_obstacle(const Value *value, int inner, int bytes, unsigned *budget) {
    const char *why_not = NULL;
    value_for_each_use (use, value) {
        const Op *user = use->user;
        if (why_not)
            return why_not;
        if (*budget == 0)
            return too_many_uses;
        --*budget;
        if (user->code == OP_dot && use != &user->in[2]) {
            int k = value->type->rank - (use == &user->in[0] ? 1 : 2);
            if (value->type->dtype == DT_F32 && dot_attrs(user)->precision == PRECISION_IEEE)
                return "its dot is computed by multiply-adds";
            bool is_narrowed = type_element_bytes(value->type) == 2 && bytes == 4;
            if (bytes != 2 && !is_narrowed && (bytes > 4 || inner != k))
                return "its elements are not of 16 bits, and not adjacent along K of a dot";
        } else if (user->nout == 1 && !user->nregions && user->code != OP_dot) {
            int dim = passed_dim(user, inner);
            if (dim >= 0)
                why_not = dot_obstacle(&user->out[0], dim, bytes, budget);
            else if (bytes != 2 && value_may_reach_dot(&user->out[0]))
                return "its elements are not of 16 bits, and rearranged for a dot";
        }
    }
    return why_not;
}

/* Memory */

static bool is_loop(const Op *op) {
    return op_has(op, LOOP);
}

static Op *loop_of(const Op *op) {
    Op *parent = op->block->parent;
    while (parent && !is_loop(parent))
        parent = parent->block->parent;
    return parent;
}

/* A loop that stores tiles through pointers has threads do as much as copies would save, and CTAs
 * beside each other are worth more to it than rings: whoever describes a tensor wants copies. What
 * the loop writes is known then, and another parameter's (load_allows). */
static bool writes_memory(const Op *op, const void *user) {
    const Op *load = user;
    bool writes = !op->nregions && op_has(op, WRITES | SYNC) && !op_has(op, SAYS);
    return writes && !(load_block_attrs(load)->described && op_only_writes(op) &&
                       pointer_origin(op_in(op, 0)));
}

static bool share_a_loop(const Op *a, const Op *b) {
    for (const Op *loop = loop_of(a); loop; loop = loop_of(loop))
        for (uint32_t r = 0; r < loop->nregions; r++)
            if (op_ancestor_in((Op *)(uintptr_t)b, loop->regions[r]))
                return true;
    return false;
}

/* What PTX of the source is given may be an address, also as a number. */
static bool may_reach_parameter(const Question *q, const Op *op) {
    for (uint32_t i = 0; i < op->nin; i++) {
        const Type *type = op_in(op, i)->type;
        if (type_is_pointer(type)
                ? origins_meet(q->func, pointer_origin(op_in(op, i)), q->parameter)
                : type->dtype == DT_I64)
            return true;
    }
    return false;
}

/* Of an op with effects on global memory. */
static bool touches_parameter(const Question *q, const Op *op) {
    if (op_is_unseen(op))
        return may_reach_parameter(q, op);
    if (op->nin == 0 || !type_is_pointer(op_in(op, 0)->type))
        return false;
    return origins_meet(q->func, pointer_origin(op_in(op, 0)), q->parameter);
}

static bool load_allows(Op *op, void *user) {
    Question *q = user;
    if (op->nregions || !op_has(op, WRITES) || !touches_parameter(q, op))
        return true;
    return refuse_operand(q, "the kernel also writes through its pointer", -1, q->parameter, "");
}

static bool store_allows(Op *op, void *user) {
    Question *q = user;
    q->passed |= op == q->op;
    if (op == q->op || op->nregions || !op_has(op, READS | WRITES) || !touches_parameter(q, op))
        return true;
    if (op_has(op, WRITES))
        return op->code == OP_store_block ||
               refuse_operand(q, "the kernel writes through its pointer in another way too", -1,
                              q->parameter, "");
    bool later = q->passed || share_a_loop(op, q->op);
    return !later || refuse_operand(q, "the kernel may read what it writes, through its pointer",
                                    -1, q->parameter, "");
}

static bool memory_allows(Question *q) {
    q->parameter = pointer_origin(op_in(q->op, 0));
    if (!q->parameter)
        return refuse(q, "its pointer comes from several parameters");
    if (q->op->code == OP_store_block)
        return func_walk(q->func, store_allows, q), q->why_not == NULL;
    unsigned budget = REACH_BUDGET;
    if (!reaches_dot(op_out(q->op), &budget))
        return refuse(q, budget ? "no dot takes what it loads" : too_many_uses);
    budget = REACH_BUDGET;
    const char *why_not = dot_obstacle(op_out(q->op), tensor_copy_inner_dim(q->op),
                                       dtype_bytes(q->access.tile->dtype), &budget);
    if (why_not)
        return refuse(q, why_not);
    func_walk(q->func, load_allows, q);
    if (q->why_not)
        return false;
    const Op *loop = loop_of(q->op);
    for (uint32_t r = 0; loop && r < loop->nregions; r++)
        if (block_any(loop->regions[r], writes_memory, q->op))
            return refuse(q, "its loop writes memory");
    return true;
}

static bool take_apart(Op *op, void *user) {
    const Op *load = user;
    const Value *written = op_has(op, STORE | ATOMIC) ? pointer_origin(op_in(op, 0)) : NULL;
    if (written && share_a_loop(op, load))
        func_take_apart(op->block->func, pointer_origin(op_in(load, 0)), written);
    return true;
}

void tensor_copy_take_apart(Op *load) {
    func_walk(load->block->func, take_apart, load);
}

bool tma_takes_by(Func *func, const Facts *facts, Op *op, const char **why_not) {
    Question q = {.func = func, .facts = facts, .op = op, .access = block_access(op)};
    bool takes = ordinary(&q) && fits_beside(&q) && can_be_encoded(&q) && is_aligned(&q) &&
                 begins_inside(&q) && memory_allows(&q);
    if (why_not)
        *why_not = q.why_not;
    return takes;
}

bool tma_takes(Func *func, Op *op, const char **why_not) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    bool takes = tma_takes_by(func, facts_compute(func, arena), op, why_not);
    arena_rewind(arena, mark);
    return takes;
}
