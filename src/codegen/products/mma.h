/* Products by mma.sync. */
#ifndef TILEC_CODEGEN_PRODUCTS_MMA_H
#define TILEC_CODEGEN_PRODUCTS_MMA_H
#include "codegen/products/piece.h"

/* Lowers `op`, a product by mma.sync or a load of its operands, with what lies between it and the
 * last product that can be part of one piece of PTX (piece_ops.c); that one. `alone` lowers what is
 * to be in front. NULL, and nothing emitted: `op` is none of those. */
const Op *cg_lower_products(Cg *cg, const Op *op, LowerAlone *alone);
#endif
