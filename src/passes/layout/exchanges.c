/* What layouts take through shared memory: see layout_rules.h. */
#include "ir/build.h"
#include "passes/layout/layout_rules.h"
#include "passes/rewrite.h"
#include "types/lane_move.h"

/* Cycles in which a thread's warp issues. A shuffle and a word of a shared access take the same
 * pipe, a cycle of an SM or two of one of its quarters (32 lanes in a cycle: CUDA C++ Programming
 * Guide, arithmetic instructions); a selection takes two of a quarter. Beside products, which take
 * shared memory for their operands and issue slots of their own, one of the two goes to others;
 * else integers are what a program waits for as a rule, and both count. What goes through shared
 * memory waits for a store, a barrier of all warps and a load. */
enum {
    PIPE_COST = 2,
    SELECT_COST = 2,
    SELECT_COST_BY_PRODUCTS = 1,
    ROUND_TRIP_COST = 24,
    BARRIER_COST = 24
};

enum { LEAST_SHUFFLED_WORDS = 16 /* of a thread's fragments, from which a buffer costs less */ };

/* Is the value an operand of a product by mma.sync, turned perhaps? */
static bool is_fragment(const Value *value) {
    value_for_each_use (use, value) {
        const Op *user = use->user;
        if ((user->code == OP_dot && use != &user->in[2] && dot_attrs(user)->unit == UNIT_MMA) ||
            (user->code == OP_transpose && is_fragment(op_out(user))))
            return true;
    }
    return false;
}

/* Matrix loads bring four words of a fragment at once, step by step, and the whole need not be in
 * registers twice. */
static bool is_dear_fragment(const Op *op) {
    const Type *type = op_in(op, 0)->type;
    return type_is_tile(type) && type->kind == TYPE_NUMBER && is_fragment(op_out(op)) &&
           type_registers(type) >= LEAST_SHUFFLED_WORDS;
}

/* Is the way through shared memory the shorter one? */
static bool is_dear_by_shuffles(const Op *op, LaneMoveCost cost) {
    Func *func = op->block->func;
    uint64_t staged =
        PIPE_COST * cost.words + ROUND_TRIP_COST + BARRIER_COST * (uint64_t)func->num_warps;
    uint64_t shuffles = PIPE_COST * cost.shuffles;
    if (shuffles + SELECT_COST_BY_PRODUCTS * cost.selects > staged)
        return true;
    return shuffles + SELECT_COST * cost.selects > staged && !block_multiplies(func->body);
}

bool convert_is_staged(const Op *op) {
    if (op->code != OP_convert_layout)
        return false;
    const Type *from = op_in(op, 0)->type;
    const Layout *dst = op->out[0].type->layout;
    LayoutConversion kind = layout_classify(dst, from->layout);
    if (kind != CONVERT_SHUFFLES)
        return kind > CONVERT_SHUFFLES;
    if (is_dear_fragment(op))
        return true;
    return is_dear_by_shuffles(op, lane_move_cost(from, dst, from->layout));
}

const Type *convert_exchanged(Ctx *ctx, const Op *op) {
    if (!convert_is_staged(op))
        return NULL;
    const Type *type = op_in(op, 0)->type;
    return type_is_pointer(type) ? type_with_element(ctx, type, TYPE_NUMBER, DT_I64) : type;
}

const Type *reduce_exchanged(Ctx *ctx, const Op *op, uint32_t index) {
    if (!reduce_crossing_bits(op))
        return NULL;
    return reduce_result_type(ctx, op_in(op, index)->type, (int)reduce_attrs(op)->axis,
                              reduce_kept_by_warps(op));
}

Op *dot_operand_source(const Op *dot, int index, bool *transposed) {
    Op *op = op_in(dot, (uint32_t)index)->def;
    *transposed = false;
    for (; op && op->code == OP_transpose; op = op_in(op, 0)->def)
        *transposed = !*transposed;
    return op;
}

bool dot_operand_is_exchanged(const Op *dot, const Op *source) {
    if (!source || source->code != OP_convert_layout)
        return false;
    if (dot_attrs(dot)->unit != UNIT_WGMMA)
        return convert_is_staged(source);
    return layout_classify(op_out(source)->type->layout, op_in(source, 0)->type->layout) >=
           CONVERT_SHUFFLES;
}
