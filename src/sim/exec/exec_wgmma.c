/* wgmma.mma_async, wgmma.fence, wgmma.commit_group, wgmma.wait_group.
 *
 * The four warps of a warpgroup run each on its own; what they execute is compared operation by
 * operation, and what a warp never executed is found when it exits. */
#include "sim/check/findings.h"
#include "sim/exec/matrix.h"
#include "sim/exec/splits.h"
#include "sim/exec/wgmma.h"
#include "sim/parse/table.h"
#include "sim/report/counters.h"
#include "sim/state/program.h"
#include "sim/state/warpgroup.h"

/* Decoding. */

static const char *check_immediates(const Insn *insn) {
    for (unsigned i = 4; i < 6; i++)
        if (insn->operand[i].kind == OPERAND_NUMBER && insn->operand[i].offset != 1 &&
            insn->operand[i].offset != -1)
            return "imm-scale-a and imm-scale-b are 1 or -1";
    for (unsigned i = 6; i < 8; i++)
        if (insn->operand[i].kind == OPERAND_NUMBER && insn->operand[i].offset != 0 &&
            insn->operand[i].offset != 1)
            return "imm-trans-a and imm-trans-b are 0 or 1";
    return NULL;
}

/* 16-bit types have a transpose for each operand in shared memory. */
static const char *check_transposes(const Insn *insn) {
    bool has = type_info[insn->type[1]].bits == 16;
    unsigned given =
        (insn->operand[6].kind == OPERAND_NUMBER) + (insn->operand[7].kind == OPERAND_NUMBER);
    unsigned wanted = !has ? 0 : wgmma_a_in_registers(insn) ? 1 : 2;
    if (given == wanted)
        return NULL;
    return wanted == 2 ? "with A in shared memory imm-trans-a and imm-trans-b are wanted"
                       : "with A in registers imm-trans-b alone is wanted";
}

const char *check_wgmma(const Insn *insn) {
    const Operand *d = &insn->operand[0], *a = &insn->operand[1];
    unsigned n = insn->number, bits = type_info[insn->type[1]].bits;
    bool integers = insn->type[0] == TYPE_s32;
    if (n < 8 || n > 256 || n % 8 || (integers && n > 32 && n % 16))
        return integers ? "N is 8, 16, 24, 32 or a multiple of 16 up to 256"
                        : "N is a multiple of 8 from 8 to 256";
    if (wgmma_depth(insn) * bits != 256)
        return "K of the shape does not fit the type: 8 for tf32, 16 for 16 bits, 32 for 8 bits";
    if (d->count != fragment_registers(64 * n / WARPGROUP, (Type)insn->type[0]) || d->bits != 32)
        return "the accumulator needs N / 2 registers of 32 bits, N / 4 for f16";
    if (wgmma_a_in_registers(insn) && (a->count != 4 || a->bits != 32))
        return "A in registers has 4 registers of 32 bits";
    for (unsigned i = 0; i < d->count; i++)
        for (unsigned j = 0; j < i; j++)
            if (d->regs[i] == d->regs[j])
                return "the accumulator names a register twice";
    const char *problem = check_immediates(insn);
    return problem ? problem : check_transposes(insn);
}

const char *check_wgmma_wait(const Insn *insn) {
    return insn->operand[0].offset < 0 ? "the number of groups that may be pending is 0 or more"
                                       : NULL;
}

/* Executing. */

/* The value of an operand that all threads of the warp must agree on. */
static bool uniform(Warp *warp, const Insn *insn, const Operand *operand, const char *what,
                    uint64_t *value) {
    const Reg *reg = reg_of(warp, operand->reg);
    if (!reg_require(warp, insn, reg, ALL_LANES, what))
        return false;
    *value = reg->v[0];
    for (uint32_t lane = 1; lane < LANES; lane++)
        if (reg->v[lane] != *value) {
            report(warp, insn, lane, sim_wgmma_uniform, what, reg->v[lane], *value);
            return false;
        }
    return true;
}

static bool read_operands(Warp *warp, const Insn *insn, WgmmaOp *op) {
    uint64_t scale;
    if ((!wgmma_a_in_registers(insn) &&
         !uniform(warp, insn, &insn->operand[1], "the descriptor of A", &op->a)) ||
        !uniform(warp, insn, &insn->operand[2], "the descriptor of B", &op->b) ||
        !uniform(warp, insn, &insn->operand[3], "scale-d", &scale))
        return false;
    op->accumulates = (scale != 0) != insn->operand[3].negated;
    return true;
}

/* A whole warpgroup of whole warps exists. */
static bool whole_group(Warp *warp, const Insn *insn, uint32_t mask) {
    const Cta *cta = warp->cta;
    unsigned end = warp->index / WARPGROUP * WARPGROUP + WARPGROUP;
    if (!warp_converged(warp, insn, mask))
        return false;
    if (end * LANES <= cta->thread_count && mask == ALL_LANES)
        return true;
    report(warp, insn, (uint32_t)__builtin_ctz(mask), sim_wgmma_group, cta->thread_count, mask);
    return false;
}

ExecResult exec_wgmma(Warp *warp, const Insn *insn, uint32_t mask) {
    WgmmaOp op = {.insn = insn, .frame = warp->current->frame, .group = UINT32_MAX};
    if (!whole_group(warp, insn, mask) || !read_operands(warp, insn, &op))
        return EXEC_NEXT;
    count_tensor(warp->machine->counts, (Type)insn->type[1],
                 1ull * MATRIX_ROWS * wgmma_columns(insn) * wgmma_depth(insn));
    return warpgroup_arrive(warp, &op);
}

ExecResult exec_wgmma_fence(Warp *warp, const Insn *insn, uint32_t mask) {
    if (warp_converged(warp, insn, mask))
        wgmma_state(warp)->fences++;
    return EXEC_NEXT;
}

ExecResult exec_wgmma_commit(Warp *warp, const Insn *insn, uint32_t mask) {
    if (!warp_converged(warp, insn, mask))
        return EXEC_NEXT;
    WgmmaState *state = wgmma_state(warp);
    for (WgmmaOp *op = state->first; op; op = op->next)
        if (op->group == UINT32_MAX)
            op->group = state->groups;
    state->groups++;
    return EXEC_NEXT;
}

ExecResult exec_wgmma_wait(Warp *warp, const Insn *insn, uint32_t mask) {
    if (!warp_converged(warp, insn, mask))
        return EXEC_NEXT;
    WgmmaState *state = wgmma_state(warp);
    uint64_t keep = (uint64_t)insn->operand[0].offset;
    while (state->first && state->first->group != UINT32_MAX &&
           state->groups - state->first->group > keep)
        wgmma_finish_first(warp);
    return EXEC_NEXT;
}

/* Those older than the ones of the frame are done first, since they end in order. */
void wgmma_leave(Warp *warp, const Insn *insn, const Frame *frame) {
    const WgmmaOp *last = NULL;
    for (const WgmmaOp *op = warp->wgmma ? warp->wgmma->first : NULL; op; op = op->next)
        last = op->frame == frame ? op : last;
    if (!last)
        return;
    if (report(warp, insn, (uint32_t)__builtin_ctz(warp->alive), sim_wgmma_return,
               STR_ARG(frame->func->name)))
        finding_other(warp, insn_pc(warp, last->insn), "the warp", "started the wgmma");
    const uint32_t number = last->number;
    while (warp->wgmma->first && warp->wgmma->first->number <= number)
        wgmma_finish_first(warp);
}
