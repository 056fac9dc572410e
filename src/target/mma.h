/* The mma.sync instructions (mma.def), and the layouts of the tiles they take and give.
 *
 * A warp computes D[m x n] = A[m x k] * B[k x n] + C from registers of 32 bits (f64: 64) that hold
 * w = 32 / bits consecutive elements along k. With g = lane / 4 and q = lane % 4 (PTX ISA, "Matrix
 * Fragments for mma"):
 *
 *     A   row g (+ 8), k = w q .. w q + w - 1 (+ 4 w)      B   k likewise, column g
 *     C   row g (+ 8), columns 2 q and 2 q + 1
 *
 * As bases, from the lowest:
 *
 *     A   reg k 1 .. w/2, row 8, k 4w     lane k w, k 2w, row 1, row 2, row 4
 *     B   reg k 1 .. w/2, k 4w            lane k w, k 2w, column 1, 2, 4
 *     C   reg column 1, row 8             lane column 2, column 4, row 1, 2, 4
 *
 * A tile is made of such fragments: registers enumerate those of one warp, warps tile M x N. Sides
 * shorter than the instruction's are replicated: rows and columns that do not exist repeat those
 * that do. */
#ifndef TILEC_TARGET_MMA_H
#define TILEC_TARGET_MMA_H
#include "types/type.h"

typedef struct Mma {
    DType a, b, acc;
    int capability;
    int m, n, k;
    const char *name; /* behind mma.sync.aligned. in PTX */
} Mma;

/* The instruction for these element types on a device of this capability; NULL: none. */
const Mma *mma_find(DType a, DType b, DType acc, int capability);
/* Elements along k in one register. */
static inline int mma_word(const Mma *mma) {
    int bits = dtype_info[mma->a].bits;
    return bits >= 32 ? 1 : 32 / bits;
}
/* The least K: what the lanes of one register hold. Up to the instruction's k, registers beyond K
 * are zero. */
static inline int mma_least_k(const Mma *mma) {
    return 4 * mma_word(mma);
}

/* The accumulator of this type with warps[d] warps along dimension d (powers of two, each at most
 * the tile's size in fragments); `warp_bits` of them in all, the remaining ones repeat the tile. */
const Layout *layout_mma_accumulator(Ctx *ctx, const Mma *mma, const Type *acc,
                                     const int64_t warps[MAX_RANK], int warp_bits);
/* Operand 0 or 1 for an accumulator of this layout: in every warp the rows or columns it needs and
 * all of K. */
const Layout *layout_mma_operand(Ctx *ctx, const Mma *mma, const Type *acc,
                                 const Layout *acc_layout, const Type *operand, int index);
#endif
