/* What the files of wgmma share: operations in flight, and who owns which register.
 *
 * Each warp of a warpgroup multiplies its own 16 rows, when a wait covers the operation (or at once
 * with the option `early`). Until that wait the accumulators, the registers of A and the operands
 * in shared memory belong to the operation. */
#ifndef TILEC_SIM_EXEC_WGMMA_H
#define TILEC_SIM_EXEC_WGMMA_H
#include "sim/exec/matrix.h"
#include "sim/exec/wgmma_descriptor.h"

enum { WARPGROUP = 4 };

typedef enum MatrixRole { ROLE_A, ROLE_ACCUMULATOR } MatrixRole;

/* A register of a frame that some wgmma of its function uses. */
typedef struct MatrixReg {
    uint32_t op; /* the last operation in flight that uses it; 0: none */
    uint32_t
        touched;    /* 1 + fences of the warp when another instruction last accessed it; 0: never */
    uint32_t pc;    /* of that access */
    uint16_t index; /* in the vector of the operation */
    uint8_t role;
    bool written; /* by that access */
} MatrixReg;

typedef struct WgmmaOp {
    struct WgmmaOp *next;
    const Insn *insn;
    Frame *frame;
    uint64_t a, b;   /* descriptors */
    uint32_t number; /* counts the operations of the warpgroup from 1 */
    uint32_t group;  /* UINT32_MAX: not committed */
    bool accumulates;
} WgmmaOp;

/* Of a warp. */
typedef struct WgmmaState {
    WgmmaOp *first, **end; /* in flight, oldest first */
    WgmmaOp *unused;
    uint32_t groups, fences;
} WgmmaState;

static inline bool wgmma_a_in_registers(const Insn *insn) {
    return insn->operand[1].kind == OPERAND_VECTOR;
}
unsigned wgmma_columns(const Insn *insn);
unsigned wgmma_depth(const Insn *insn);

/* Warpgroups (warpgroup.c). */
WgmmaState *wgmma_state(Warp *warp);
/* The warp has come to a wgmma: starts it when it is the last of the four. */
ExecResult warpgroup_arrive(Warp *warp, const WgmmaOp *op);
/* The oldest operation of the warp is over. */
void wgmma_finish_first(Warp *warp);

/* Registers (wgmma_registers.c). */
/* Reports registers of the operation that belong to another one or that an instruction accessed
 * after the last fence, and gives them to the operation. */
void wgmma_take_registers(Warp *warp, const WgmmaOp *op);
void wgmma_release_registers(const WgmmaOp *op);

/* The operands in shared memory (wgmma_operands.c). */
/* Checks the descriptors and what they lead to, and notes that the reader reads it; false after a
 * finding that leaves nothing to multiply. */
bool wgmma_take_operands(Warp *warp, const WgmmaOp *op, uint32_t reader);
void wgmma_read_operands(Warp *warp, const WgmmaOp *op, MatrixBlock *block);
#endif
