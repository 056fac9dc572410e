/* Says what became of a dot. */
#ifndef TILEC_CODEGEN_PRODUCTS_DOT_REMARK_H
#define TILEC_CODEGEN_PRODUCTS_DOT_REMARK_H
#include "codegen/cg.h"
#include "target/mma.h"

/* By mma.sync. */
void cg_dot_remark(Cg *cg, const Op *op, const Mma *mma);
void cg_wgmma_remark(Cg *cg, const Op *op);
#endif
