/* Who owns which register: accumulators and registers of A belong to a wgmma until a wait covers
 * it, and a fence must lie between any other access and the wgmma.
 *
 * Only registers that some wgmma of a function names are followed (parse/matrix_registers.c). */
#include "sim/check/findings.h"
#include "sim/exec/wgmma.h"
#include "sim/state/program.h"
#include "sim/state/warpgroup.h"

static const char *role_name(MatrixRole role) {
    return role == ROLE_A ? "A" : "the accumulator";
}

static const WgmmaOp *op_of(const Warp *warp, uint32_t number) {
    const WgmmaOp *op = warp->wgmma ? warp->wgmma->first : NULL;
    while (op && op->number != number)
        op = op->next;
    return op;
}

/* Reports the use of a register that an operation in flight owns. */
static void report_owned(Warp *warp, const Insn *insn, const MatrixReg *reg, const char *use) {
    const WgmmaOp *owner = op_of(warp, reg->op);
    if (owner && report(warp, insn, (uint32_t)__builtin_ctz(warp->alive), sim_wgmma_in_flight,
                        insn->row->name, use, role_name((MatrixRole)reg->role)))
        finding_other(warp, insn_pc(warp, owner->insn), "the warp", "started the wgmma");
}

static void touch(Warp *warp, const Insn *insn, RegRef ref, bool write) {
    Frame *frame = warp->current->frame;
    if (!is_frame_register(frame->func, ref) || !frame->func->matrix_regs[ref])
        return;
    MatrixReg *reg = &frame->matrix[ref];
    if (reg->op)
        report_owned(warp, insn, reg, write ? "writes" : "reads");
    reg->touched = (warp->wgmma ? warp->wgmma->fences : 0) + 1;
    reg->pc = insn_pc(warp, insn);
    reg->written = write;
}

static void touch_operand(Warp *warp, const Insn *insn, const Operand *operand, bool write) {
    if (operand->kind == OPERAND_VECTOR)
        for (uint32_t i = 0; i < operand->count; i++)
            touch(warp, insn, operand->regs[i], write);
    else if (operand->kind == OPERAND_REG || operand->kind == OPERAND_ADDRESS)
        touch(warp, insn, operand->reg, write);
}

void wgmma_touch(Warp *warp, const Insn *insn) {
    bool writes = insn->row->operands[0] == '=';
    /* Sources first: an instruction that reads and writes a register is remembered as writing. */
    for (unsigned i = insn->operand_count; i-- > 0;)
        touch_operand(warp, insn, &insn->operand[i], writes && i == 0);
    const Call *call = insn->call;
    for (uint32_t i = 0; call && i < call->arg_count; i++)
        touch_operand(warp, insn, &call->args[i], false);
    for (uint32_t i = 0; call && i < call->result_count; i++)
        touch_operand(warp, insn, &call->results[i], true);
}

/* Operations of one shape may follow each other on the same accumulators, and may share registers
 * of A. */
static bool may_share(const WgmmaOp *op, const WgmmaOp *owner, const MatrixReg *reg,
                      MatrixRole role, unsigned index) {
    if (reg->role != role)
        return false;
    if (role == ROLE_A)
        return true;
    return owner && reg->index == index && op->insn->number == owner->insn->number &&
           op->insn->type[0] == owner->insn->type[0];
}

static void take(Warp *warp, const WgmmaOp *op, RegRef ref, MatrixRole role, unsigned index) {
    if (!is_frame_register(op->frame->func, ref))
        return;
    MatrixReg *reg = &op->frame->matrix[ref];
    uint32_t lane = (uint32_t)__builtin_ctz(warp->alive);
    if (reg->op && !may_share(op, op_of(warp, reg->op), reg, role, index)) {
        report_owned(warp, op->insn, reg, role == ROLE_A ? "reads as A" : "accumulates in");
    } else if (!reg->op && reg->touched > warp->wgmma->fences) {
        if (report(warp, op->insn, lane, sim_wgmma_fence, role_name(role)))
            finding_other(warp, reg->pc, "the warp", reg->written ? "wrote it" : "read it");
    }
    reg->op = op->number;
    reg->role = (uint8_t)role;
    reg->index = (uint16_t)index;
}

void wgmma_take_registers(Warp *warp, const WgmmaOp *op) {
    const Operand *d = &op->insn->operand[0], *a = &op->insn->operand[1];
    if (!warp->wgmma->fences) {
        report(warp, op->insn, (uint32_t)__builtin_ctz(warp->alive), sim_wgmma_first_fence);
        /* Said once. */
        warp->wgmma->fences = 1;
    }
    if (a->kind == OPERAND_VECTOR)
        for (unsigned i = 0; i < a->count; i++)
            take(warp, op, a->regs[i], ROLE_A, i);
    for (unsigned i = 0; i < d->count; i++)
        take(warp, op, d->regs[i], ROLE_ACCUMULATOR, i);
}

static void release(const WgmmaOp *op, const Operand *operand) {
    if (operand->kind != OPERAND_VECTOR)
        return;
    for (unsigned i = 0; i < operand->count; i++)
        if (is_frame_register(op->frame->func, operand->regs[i]) &&
            op->frame->matrix[operand->regs[i]].op == op->number)
            op->frame->matrix[operand->regs[i]].op = 0;
}

void wgmma_release_registers(const WgmmaOp *op) {
    release(op, &op->insn->operand[0]);
    release(op, &op->insn->operand[1]);
}
