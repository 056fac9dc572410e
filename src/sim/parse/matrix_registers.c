/* Registers that some wgmma of a function names, and the instructions that name such a register:
 * found once, so that the simulator follows those alone. */
#include "sim/parse/parser.h"

static void mark_vector(const Func *func, const Operand *operand) {
    if (operand->kind != OPERAND_VECTOR)
        return;
    for (uint32_t i = 0; i < operand->count; i++)
        if (is_frame_register(func, operand->regs[i]))
            func->matrix_regs[operand->regs[i]] = true;
}

static bool names_marked(const Func *func, const Operand *operand) {
    if (operand->kind == OPERAND_VECTOR) {
        for (uint32_t i = 0; i < operand->count; i++)
            if (is_frame_register(func, operand->regs[i]) && func->matrix_regs[operand->regs[i]])
                return true;
        return false;
    }
    return (operand->kind == OPERAND_REG || operand->kind == OPERAND_ADDRESS) &&
           is_frame_register(func, operand->reg) && func->matrix_regs[operand->reg];
}

static bool insn_names_marked(const Func *func, const Insn *insn) {
    for (unsigned i = 0; i < insn->operand_count; i++)
        if (names_marked(func, &insn->operand[i]))
            return true;
    const Call *call = insn->call;
    for (uint32_t i = 0; call && i < call->arg_count; i++)
        if (names_marked(func, &call->args[i]))
            return true;
    for (uint32_t i = 0; call && i < call->result_count; i++)
        if (names_marked(func, &call->results[i]))
            return true;
    return false;
}

void ptx_mark_matrix_registers(SimModule *module, Func *func) {
    Insn *insns = module->insns.data;
    for (uint32_t pc = func->begin; pc < func->end; pc++) {
        if (!insn_has(&insns[pc], WORD_mma_async))
            continue;
        if (!func->matrix_regs)
            func->matrix_regs = ARENA_ARRAY(&module->ctx->arena, bool, func->regs);
        mark_vector(func, &insns[pc].operand[0]);
        mark_vector(func, &insns[pc].operand[1]);
    }
    if (!func->matrix_regs)
        return;
    module->has_wgmma = true;
    for (uint32_t pc = func->begin; pc < func->end; pc++)
        insns[pc].touches_matrix =
            !insn_has(&insns[pc], WORD_mma_async) && insn_names_marked(func, &insns[pc]);
}
