/* Elements that a masked load without `other` leaves undefined, where they are taken: by a
 * reduction along a dimension in which the mask differs, by a product that sums over it, as
 * addresses, or stored without a mask along it.
 *
 *     %x = load %p, %mask             %mask differs along dimension 0
 *     %s = reduce %x {axis = 0}       elements where it is off take part
 *
 * The elements are followed by the dimensions along which they lie: those of all loads together,
 * and only where some are taken those of each load by itself, to say of which. A choice, a logical
 * operation or a product with a 0 or 1 made of a mask that differs along all of them is taken to
 * leave them out; so is a later access under one. */
#include "passes/analysis/facts.h"
#include "passes/lint/lint.h"

typedef struct Load {
    const LintInput *input;
    const Op *op; /* NULL: all of them */
} Load;

static uint32_t varies(const Load *load, const Value *value) {
    return load->input->varies[value->id];
}

/* Does an i1 that has nothing undefined itself tell the elements apart? */
static bool tells_apart(const Flow *flow, const Value *condition, uint32_t dims) {
    return type_is_bool(condition->type) && !flow_of(flow, condition) &&
           !(dims & ~varies(flow->user, condition));
}

/* A number made of an i1. */
static bool is_zero_or_one(const Flow *flow, const Value *value, uint32_t dims) {
    const Op *op = value->def;
    while (op && op->nin == 1 && !type_is_bool(op_in(op, 0)->type))
        op = op_in(op, 0)->def;
    return op && op->nin == 1 && !flow_of(flow, value) && !(dims & ~varies(flow->user, value));
}

static uint32_t through_elementwise(const Flow *flow, const Op *op) {
    uint32_t dims = flow_of_operands(flow, op);
    if (op->code == OP_select && tells_apart(flow, op_in(op, 0), dims))
        return 0;
    for (uint32_t i = 0; i < 2 && op->nin == 2 && dims; i++) {
        const Value *other = op_in(op, i);
        bool is_logical = op->code == OP_andi || op->code == OP_ori;
        bool is_product = op->code == OP_mulf || op->code == OP_muli;
        if ((is_logical && tells_apart(flow, other, dims)) ||
            (is_product && is_zero_or_one(flow, other, dims)))
            return 0;
    }
    return dims;
}

static int summed_dim(const Op *dot, uint32_t operand) {
    int rank = op_in(dot, operand)->type->rank;
    return operand == 0 ? rank - 1 : rank - 2;
}

/* The dimensions along which a load leaves elements undefined: its mask differs. */
static uint32_t undefined_dims(const LintInput *input, const Op *op) {
    const Value *mask = op->code == OP_load ? op_mask(op) : NULL;
    if (!mask || op->nin > 2)
        return 0;
    const ValueFacts *facts = facts_of(affines_facts(input->affines), mask);
    return facts->has_range && facts->lo == 1 ? 0 : input->varies[mask->id];
}

static uint32_t undefined_of(const Flow *flow, const Op *op, uint32_t index) {
    const Load *load = flow->user;
    uint32_t moved;
    if (op->code == OP_load)
        return !load->op || load->op == op ? undefined_dims(load->input, op) : 0;
    if (op->nin && lint_move_dims(op, flow_of(flow, op_in(op, 0)), &moved))
        return moved;
    if (op_has(op, ELEMENTWISE))
        return through_elementwise(flow, op);
    if (op->code == OP_reduce)
        return lint_drop_dim(flow_of_operands(flow, op), (int)reduce_attrs(op)->axis);
    if (op->code == OP_dot) {
        uint32_t dims = flow_of(flow, op_in(op, 2));
        for (uint32_t i = 0; i < 2; i++)
            dims |= flow_of(flow, op_in(op, i)) & ~(1u << summed_dim(op, i));
        return dims;
    }
    return 0;
}

static const char *taken_by_access(const Flow *flow, const Op *op) {
    const Value *pointer = lint_pointer(op), *mask = op_mask(op);
    uint32_t guarded = mask ? varies(flow->user, mask) : 0;
    if (!pointer)
        return NULL;
    if (flow_of(flow, pointer) & ~guarded)
        return "they make addresses";
    for (uint32_t i = 1; op->code != OP_load && i < op->nin; i++)
        if (op_in(op, i) != mask && flow_of(flow, op_in(op, i)) & ~guarded)
            return "they are stored";
    return NULL;
}

/* How the op takes undefined elements for defined ones; NULL: it does not. */
static const char *taken_by(const Flow *flow, const Op *op) {
    if (op->code == OP_reduce && flow_of_operands(flow, op) >> reduce_attrs(op)->axis & 1)
        return "a reduction takes them";
    for (uint32_t i = 0; op->code == OP_dot && i < 2; i++)
        if (flow_of(flow, op_in(op, i)) >> summed_dim(op, i) & 1)
            return "a product sums over them";
    if (op->code == OP_store_block &&
        flow_of(flow, op_in(op, 1)) & ~(uint32_t)store_block_attrs(op)->checked)
        return "they are stored";
    return taken_by_access(flow, op);
}

static bool is_not_taken(Op *op, void *user) {
    return !taken_by(user, op);
}

static bool report_if_taken(Op *op, void *user) {
    const Flow *flow = user;
    Load *load = flow->user;
    const char *how = taken_by(flow, op);
    if (!how)
        return true;
    Diags *diags = &func_ctx(load->input->func)->diags;
    diag(diags, load->op->span, undefined_elements, how);
    diag_note(diags, op->span, "here");
    diag_hint(diags, "give the load other=.., or choose by its mask with tl.where");
    return false;
}

/* Follows the undefined elements of a load, or of all, and calls `visit` with what is found. */
static bool follow(const LintInput *input, const Op *op, OpVisitor *visit) {
    Load load = {input, op};
    ArenaMark mark = arena_mark(input->arena);
    Flow flow = {.transfer = undefined_of, .user = &load};
    flow_solve(&flow, input->func, input->arena);
    bool done = func_walk(input->func, visit, &flow);
    arena_rewind(input->arena, mark);
    return done;
}

/* A function with more such loads is told of the first ones: each takes a walk over all of it. */
enum { MOST_REPORTED = 32 };

typedef struct Reports {
    const LintInput *input;
    int count;
} Reports;

static bool check_load(Op *op, void *user) {
    Reports *reports = user;
    const LintInput *input = reports->input;
    if (!undefined_dims(input, op) || follow(input, op, report_if_taken))
        return true;
    if (++reports->count < MOST_REPORTED)
        return true;
    diag_note(&func_ctx(input->func)->diags, op->span, "loads behind this one are not looked at");
    return false;
}

void lint_undefined(const LintInput *input) {
    Reports reports = {.input = input};
    if (!follow(input, NULL, is_not_taken))
        func_walk(input->func, check_load, &reports);
}
