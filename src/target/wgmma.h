/* The wgmma instructions of sm_90a, and the layouts of what they take and give.
 *
 * A warpgroup, four warps from a multiple of four on, computes D[64 x n] = A[64 x k] * B[k x n] + D
 * from shared memory; k is 32 bytes. Each warp has 16 rows of D, held as by mma.sync
 * (target/mma.h):
 *
 *     D   reg column 1, row 8, columns 8, 16 ..   lane column 2, column 4, row 1, 2, 4
 *         warp row 16, row 32, then warpgroups
 *
 * An operand of rank 2 lies in panels (target/panels.h). K-major means that their lines run along
 * K, MN-major that they run along M or N, which those of types of 16 bits may. */
#ifndef TILEC_TARGET_WGMMA_H
#define TILEC_TARGET_WGMMA_H
#include "target/panels.h"

enum {
    WGMMA_WARPS = 4,
    WGMMA_M = 64,
    WGMMA_LEAST_N = 16, /* a line of 32 bytes of 16-bit elements */
    WGMMA_GROUP_N =
        64, /* that a warpgroup has at least where several share N: a line of 128 bytes */
    WGMMA_MAX_N = 256,
    WGMMA_K_BYTES = 32,
    WGMMA_WORD_BYTES = 4,
    WGMMA_MAX_REGISTERS = 128 /* of the accumulator, in each thread */
};

/* Instructions of this capability exist and take these elements. */
bool wgmma_takes(DType a, DType b, DType acc, int capability);
/* The element type of an operand as instructions name it; NULL: none takes it. */
const char *wgmma_type_name(DType operand);
/* May lines of this operand's buffer run along M or N? */
bool wgmma_takes_mn_major(const Type *operand);

/* The accumulator with groups[0] x groups[1] warpgroups along M and N, each with a contiguous part;
 * of the `warp_bits`, at least 2, those beyond repeat the tile. */
const Layout *layout_wgmma_accumulator(Ctx *ctx, const Type *acc, const int64_t groups[2],
                                       int warp_bits);
/* Warpgroups along M and N that such a layout has; false if it is none. */
bool wgmma_grouping(Ctx *ctx, const Type *acc, int64_t groups[2]);

/* The most warpgroups that share an accumulator of this shape. */
int64_t wgmma_most_groups(const Type *acc);
/* Operand a held in registers for this accumulator: as by mma.sync. NULL: there is no such. */
const Layout *wgmma_operand_in_registers(Ctx *ctx, const Type *acc, const Type *operand);

/* Is this an operand's buffer: one of rank 2 whose layout is that of panels? */
bool wgmma_takes_buffer(Ctx *ctx, const Type *buffer, Panels *out);
/* Does one instruction take these operands b as one, if they lie one behind the other? Dimension
 * `k` of each is K; `acc` are their sums, one for each. */
bool wgmma_joins(Ctx *ctx, uint32_t count, const Type *const *b, const Type *const *acc, int k);
/* The layout for an operand of rank 2 that is written in layout `src`, by accesses of `width`
 * elements if possible: the one that costs the writer least. Dimension `k` of the buffer is K, the
 * other has `extent` elements that one instruction may take at once. NULL: none fits, or the writer
 * has its vectors along M or N where lines run along K. */
const Layout *layout_wgmma_operand(Ctx *ctx, const Type *type, const Layout *src, int k,
                                   int64_t extent, int width);
#endif
