/* Warpgroups: the operations of wgmma in flight, and what they use. */
#ifndef TILEC_SIM_STATE_WARPGROUP_H
#define TILEC_SIM_STATE_WARPGROUP_H
#include "sim/state/warp.h"

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

/* Four warps that execute a wgmma together (exec/warpgroup.c). */
typedef struct Warpgroup {
    Warp *warps; /* the four */
    uint32_t reader;
    uint32_t ops, finished; /* operations started, and those that took effect */
    uint32_t arrived;       /* bit by bit the warps that wait */
    WgmmaOp waiting[WARPGROUP];
} Warpgroup;
#endif
