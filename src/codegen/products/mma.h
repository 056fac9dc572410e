/* Products by mma.sync. */
#ifndef TILEC_CODEGEN_PRODUCTS_MMA_H
#define TILEC_CODEGEN_PRODUCTS_MMA_H
#include "codegen/cg.h"

/* Lowers the dots by mma.sync that follow `op`, which one of them or a load of their operands is,
 * together; the last of them. NULL, and nothing emitted: `op` is none of those. */
const Op *cg_lower_products(Cg *cg, const Op *op);
#endif
