/* What the analyses share: how properties flow, dimensions, operands of accesses. See lint.h. */
#include "passes/analysis/affine_internal.h"
#include "passes/lint/lint.h"

/* Flow */

uint32_t flow_of_operands(const Flow *flow, const Op *op) {
    uint32_t all = 0;
    for (uint32_t i = 0; i < op->nin; i++)
        all |= flow_of(flow, op_in(op, i));
    return all;
}

static void add(Flow *flow, const Value *value, uint32_t set) {
    flow->changed |= (flow->sets[value->id] | set) != flow->sets[value->id];
    flow->sets[value->id] |= set;
}

static void add_passed(Flow *flow, const Op *from, uint32_t first, Value *to, uint32_t count,
                       uint32_t control) {
    for (uint32_t i = 0; i < count; i++)
        add(flow, &to[i], flow_of(flow, op_in(from, first + i)) | control);
}

static void flow_block(Flow *flow, const Block *block);

static void flow_for(Flow *flow, const Op *op) {
    Block *body = op->regions[0];
    uint32_t bounds = 0;
    for (uint32_t i = 0; i < 3; i++)
        bounds |= flow_of(flow, op_in(op, i));
    uint32_t control = flow->follows_control ? bounds : 0;
    add(flow, &body->args[0], bounds);
    add_passed(flow, op, 3, body->args + 1, op->nout, control);
    flow_block(flow, body);
    add_passed(flow, body->last, 0, body->args + 1, op->nout, control);
    for (uint32_t i = 0; i < op->nout; i++)
        add(flow, &op->out[i], flow_of(flow, &body->args[i + 1]));
}

static void flow_while(Flow *flow, const Op *op) {
    Block *test = op->regions[0], *body = op->regions[1];
    add_passed(flow, op, 0, test->args, test->nargs, 0);
    flow_block(flow, test);
    uint32_t control = flow->follows_control ? flow_of(flow, op_in(test->last, 0)) : 0;
    add_passed(flow, test->last, 1, body->args, body->nargs, control);
    for (uint32_t i = 0; i < op->nout; i++)
        add(flow, &op->out[i], flow_of(flow, op_in(test->last, i + 1)) | control);
    flow_block(flow, body);
    add_passed(flow, body->last, 0, test->args, test->nargs, control);
}

static void flow_if(Flow *flow, const Op *op) {
    uint32_t control = flow->follows_control ? flow_of(flow, op_in(op, 0)) : 0;
    for (uint32_t r = 0; r < op->nregions; r++) {
        flow_block(flow, op->regions[r]);
        for (uint32_t i = 0; i < op->nout; i++)
            add(flow, &op->out[i], flow_of(flow, op_in(op->regions[r]->last, i)) | control);
    }
}

static void flow_block(Flow *flow, const Block *block) {
    block_for_each (op, block) {
        if (op->code == OP_for)
            flow_for(flow, op);
        else if (op->code == OP_while)
            flow_while(flow, op);
        else if (op->code == OP_if)
            flow_if(flow, op);
        else
            for (uint32_t i = 0; i < op->nout; i++)
                add(flow, &op->out[i], flow->transfer(flow, op, i));
    }
}

void flow_solve(Flow *flow, Func *func, Arena *arena) {
    flow->sets = ARENA_ARRAY(arena, uint32_t, func_number(func) + 1);
    do {
        flow->changed = false;
        flow_block(flow, func->body);
    } while (flow->changed);
}

/* Dimensions */

uint32_t lint_drop_dim(uint32_t dims, int axis) {
    uint32_t below = dims & ((1u << axis) - 1);
    return below | (dims >> (axis + 1)) << axis;
}

bool lint_move_dims(const Op *op, uint32_t dims, uint32_t *moved) {
    int source[MAX_RANK];
    *moved = 0;
    if (op->nin != 1 || op->nout != 1 || !shape_sources(op, source))
        return false;
    for (int d = 0; d < op->out[0].type->rank; d++)
        if (source[d] >= 0 && dims >> source[d] & 1)
            *moved |= 1u << d;
    return true;
}

Value *lint_pointer(const Op *op) {
    return op_is_pointer_access(op) ? op_in(op, 0) : NULL;
}
