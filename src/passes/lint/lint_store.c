/* Stores that all programs make to the same place: what they store depends on which program it is,
 * and neither where nor whether they do.
 *
 *     %pid = program_id {axis = 0}
 *     %x   = load (addptr %p, %pid)
 *     store %out, %x                  every program stores its own element to %out
 *
 * A place that depends on one axis of the grid is trusted with the others: kernels have axes along
 * which launches put one program; one that asks for no program's number at all is written for a
 * launch of one. What a kernel reads may say which program it is, or that it is the last one: an
 * address, a mask or a branch that depends on memory is trusted too. */
#include "passes/lint/lint.h"

enum { FROM_MEMORY = 1 << 3 /* beside a bit for each axis */ };

static uint32_t programs_of(const Flow *flow, const Op *op, uint32_t index) {
    uint32_t operands = flow_of_operands(flow, op);
    if (op->code == OP_program_id)
        return 1u << program_id_attrs(op)->axis;
    if (op_has(op, ATOMIC)) /* the old value is another for each program */
        return operands | FROM_MEMORY | (FROM_MEMORY - 1);
    return op_is_load(op) ? operands | FROM_MEMORY : operands;
}

/* What decides where a store goes, and whether it is made, but for the branches around it. */
static uint32_t place_of(const Flow *programs, const Op *store) {
    uint32_t place = 0;
    for (uint32_t i = 0; i < store->nin; i++)
        place |= i == 1 ? 0 : flow_of(programs, op_in(store, i));
    return place;
}

static void check_store(const LintInput *input, const Flow *programs, const Op *store,
                        uint32_t control) {
    uint32_t value = flow_of(programs, op_in(store, 1)) & ~(uint32_t)FROM_MEMORY;
    if (place_of(programs, store) | control || !value)
        return;
    ctx_diag(func_ctx(input->func), store->span, store_by_programs);
    diag_hint(
        &func_ctx(input->func)->diags,
        "add tl.program_id(%d) to the address, store under a mask that one program passes, or "
        "use an atomic operation",
        __builtin_ctz(value));
}

static void check_block(const LintInput *input, const Flow *programs, const Block *block,
                        uint32_t control) {
    block_for_each (op, block) {
        if (op_has(op, STORE))
            check_store(input, programs, op, control);
        uint32_t inner = control;
        if (op->code == OP_if)
            inner |= flow_of(programs, op_in(op, 0));
        for (uint32_t i = 0; op->code == OP_for && i < 3; i++)
            inner |= flow_of(programs, op_in(op, i));
        if (op->code == OP_while)
            inner |= flow_of(programs, op_in(op->regions[0]->last, 0));
        for (uint32_t r = 0; r < op->nregions; r++)
            check_block(input, programs, op->regions[r], inner);
    }
}

static bool asks_for_no_program(Op *op, void *user) {
    return op->code != OP_program_id;
}

void lint_store(const LintInput *input) {
    if (func_walk(input->func, asks_for_no_program, NULL))
        return;
    Flow programs = {.transfer = programs_of, .follows_control = true};
    flow_solve(&programs, input->func, input->arena);
    check_block(input, &programs, input->func->body, 0);
}
