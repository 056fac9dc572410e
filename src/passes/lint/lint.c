/* Runs every analysis: see lint.h. */
#include "passes/lint/lint.h"

static uint32_t all_dims(const Type *type) {
    uint32_t dims = 0;
    for (int d = 0; d < type->rank; d++)
        dims |= (uint32_t)(type->shape[d] > 1) << d;
    return dims;
}

/* Along which dimensions the elements of a result differ. */
static uint32_t varies_of(const Flow *flow, const Op *op, uint32_t index) {
    const Type *type = op->out[index].type;
    uint32_t moved, all = all_dims(type);
    if (type->rank == 0 || op_has(op, CONSTANT))
        return 0;
    if (op->nin && lint_move_dims(op, flow_of(flow, op_in(op, 0)), &moved))
        return moved;
    if (op->code == OP_reduce)
        return lint_drop_dim(flow_of_operands(flow, op), (int)reduce_attrs(op)->axis) & all;
    if (op_has(op, ELEMENTWISE | HINT) || op->code == OP_load)
        return flow_of_operands(flow, op) & all;
    return all;
}

void lint_func(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    Flow varies = {.transfer = varies_of};
    flow_solve(&varies, func, arena);
    LintInput input = {func, arena, affines_create(func, arena), varies.sets};
#define LINT(name, summary) lint_##name(&input);
#include "passes/lint/lints.def"
    arena_rewind(arena, mark);
}
