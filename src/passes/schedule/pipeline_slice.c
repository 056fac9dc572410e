/* What pipeline-loads computes ahead of its iteration: the slice of a loop, namely the ops that its
 * early loads need. */
#include "passes/analysis/pointer_origin.h"
#include "passes/rewrite.h"
#include "passes/schedule/pipeline_loads.h"

bool pipeline_may_be_written(const Pipelined *p, const Op *load) {
    const Value *origin = pointer_origin(op_in(load, 0));
    const Func *func = p->body->func;
    const bool in_order = !p->asked && (func->in_place || func->plain_abi);
    return p->writes && (!origin || in_order || ptr_set_has(&p->written, origin));
}

/* From what the body stores through, all of which note_stores has looked at. */
static void take_apart(const Op *load, const Block *body) {
    block_for_each (op, body)
        if (op_only_writes(op))
            func_take_apart(body->func, pointer_origin(op_in(load, 0)),
                            pointer_origin(op_in(op, 0)));
}

void pipeline_take_apart(const Pipelined *p) {
    if (!p->writes || p->asked)
        return;
    vec_for_each (staged, &p->loads)
        take_apart(staged->load, p->body);
    block_for_each (op, p->body)
        if (op->code == OP_load && ptr_set_has(&p->slice, op))
            take_apart(op, p->body);
}

static bool may_trap(const Op *op) {
    int64_t divisor;
    return op_has(op, MAY_TRAP) &&
           (!value_int_constant(op_in(op, 1), &divisor) || divisor == 0 || divisor == -1);
}

static bool add_to_slice(Pipelined *p, Value *value);

bool pipeline_add_operands(Pipelined *p, Op *op) {
    for (uint32_t i = 0; i < op->nin; i++)
        if (!add_to_slice(p, op_in(op, i)))
            return false;
    return true;
}

/* May the branch run ahead? Past the end of the loop it does not run where `guarded`. */
static bool is_movable(const Block *block, bool guarded) {
    block_for_each (op, block) {
        if (op_has(op, TERMINATOR))
            continue;
        if (op->code == OP_if) {
            if (!is_movable(op->regions[0], guarded) || !is_movable(op->regions[1], guarded))
                return false;
        } else if (!op_is_pure(op) || op->nregions || op->code == OP_dot ||
                   (!guarded && may_trap(op))) {
            return false;
        }
    }
    return true;
}

/* What ops in the regions of a branch take from the body. */
static bool add_captured(Pipelined *p, const Block *block) {
    block_for_each (op, block) {
        for (uint32_t i = 0; i < op->nin; i++)
            if (value_block(op_in(op, i)) == p->body && !add_to_slice(p, op_in(op, i)))
                return false;
        for (uint32_t i = 0; i < op->nregions; i++)
            if (!add_captured(p, op->regions[i]))
                return false;
    }
    return true;
}

static bool add_branch(Pipelined *p, Op *branch) {
    return p->branches && is_movable(branch->regions[0], true) &&
           is_movable(branch->regions[1], false) && add_captured(p, branch->regions[0]) &&
           add_captured(p, branch->regions[1]) && pipeline_add_operands(p, branch);
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
    if (op->code == OP_if)
        return add_branch(p, op);
    bool movable = op_is_pure(op) ? op->code != OP_dot && !op->nregions && !may_trap(op)
                                  : op->code == OP_load && !load_attrs(op)->is_volatile &&
                                        !pipeline_may_be_written(p, op);
    return movable && pipeline_add_operands(p, op);
}
