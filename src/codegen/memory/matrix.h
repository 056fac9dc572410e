/* Matrices of 8 x 8 between shared memory and registers. */
#ifndef TILEC_CODEGEN_MEMORY_MATRIX_H
#define TILEC_CODEGEN_MEMORY_MATRIX_H
#include "codegen/values/plans.h"
#include "types/layout.h"

/* A local_load by ldmatrix. */
typedef struct MatrixLoad {
    LayoutMatrices matrices;
    const Plan *rows; /* of the rows' offsets */
    uint32_t first;   /* offset of the part that is loaded */
} MatrixLoad;
/* False if the layouts do not allow it. */
bool cg_find_matrix_load(Cg *cg, const Op *op, MatrixLoad *load);
/* What instruction `index` makes of the rows' offsets. */
uint32_t cg_matrix_load_image(const MatrixLoad *load, uint32_t index);
/* Lowers a local_load by ldmatrix; false, and nothing emitted, if the layouts do not allow it. */
bool cg_load_matrices(Cg *cg, const Op *op);
/* Stores by stmatrix the registers `regs` of `values`, by register of a layout of the buffer's
 * indices in which all threads have elements of their own, `first` being the offset of the first;
 * false, and nothing emitted, if the layouts do not allow it. */
bool cg_store_matrices(Cg *cg, const Layout *layout, const uint32_t *regs, uint32_t first,
                       const Lv *values, const Value *to);
#endif
