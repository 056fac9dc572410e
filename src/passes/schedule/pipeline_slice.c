/* What pipeline-loads computes ahead of its iteration: the slice of a loop, namely the ops that its
 * early loads need. */
#include "passes/analysis/pointer_origin.h"
#include "passes/rewrite.h"
#include "passes/schedule/pipeline_loads.h"

bool pipeline_may_be_written(const Pipelined *p, const Op *load) {
    const Value *origin = pointer_origin(op_in(load, 0));
    return p->writes && (!origin || ptr_set_has(&p->written, origin));
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
    bool movable = op_is_pure(op) ? op->code != OP_dot && !op->nregions && !may_trap(op)
                                  : op->code == OP_load && !load_attrs(op)->is_volatile &&
                                        !pipeline_may_be_written(p, op);
    return movable && pipeline_add_operands(p, op);
}
