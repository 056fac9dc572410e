/* What the files of wgmma share: operations in flight, and who owns which register.
 *
 * Each warp of a warpgroup multiplies its own 16 rows, when a wait covers the operation (or at once
 * with the option `early`). Until that wait the accumulators, the registers of A and the operands
 * in shared memory belong to the operation. */
#ifndef TILEC_SIM_EXEC_WGMMA_H
#define TILEC_SIM_EXEC_WGMMA_H
#include "sim/exec/matrix.h"
#include "sim/state/program.h"
#include "sim/state/warpgroup.h"

static inline bool wgmma_a_in_registers(const Insn *insn) {
    return insn->operand[1].kind == OPERAND_VECTOR;
}
/* N and K of its shape. */
static inline unsigned wgmma_columns(const Insn *insn) {
    return insn->number;
}
static inline unsigned wgmma_depth(const Insn *insn) {
    switch ((Word)insn->field[FIELD_SHAPE]) {
    case WORD_m64nk8:
        return 8;
    case WORD_m64nk16:
        return 16;
    default:
        return 32;
    }
}

/* Warpgroups (warpgroup.c). */
/* How many warpgroups of a cluster may execute wgmma. */
uint32_t wgmma_groups(const Machine *machine, const Cluster *cluster);
/* Forget what an earlier program left in the slot. */
void wgmma_start_program(Cta *cta);
void wgmma_start_warp(Warp *warp);
/* All threads of the warp have exited: nobody waits for it. */
void wgmma_warp_exits(Warp *warp);
WgmmaState *wgmma_state(Warp *warp);
/* The warp has come to a wgmma: starts it when it is the last of the four. */
ExecResult warpgroup_arrive(Warp *warp, const WgmmaOp *op);
/* The oldest operation of the warp is over. */
void wgmma_finish_first(Warp *warp);

/* The function returns: its registers are gone (exec_wgmma.c). */
void wgmma_leave(Warp *warp, const Insn *insn, const Frame *frame);

/* Registers (wgmma_registers.c). */
/* Reports registers of the operation that belong to another one or that an instruction accessed
 * after the last fence, and gives them to the operation. */
void wgmma_take_registers(Warp *warp, const WgmmaOp *op);
void wgmma_release_registers(const WgmmaOp *op);
/* Another instruction than wgmma accesses registers that wgmma uses. */
void wgmma_touch(Warp *warp, const Insn *insn);

/* The operands in shared memory (wgmma_operands.c). */
/* Checks the descriptors and what they lead to, and notes that the reader reads it; false after a
 * finding that leaves nothing to multiply. */
bool wgmma_take_operands(Warp *warp, const WgmmaOp *op, uint32_t reader);
void wgmma_read_operands(Warp *warp, const WgmmaOp *op, MatrixBlock *block);
#endif
