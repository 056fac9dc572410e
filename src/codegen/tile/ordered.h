/* Reductions and scans whose order is that of the elements' indices: ir/order.h. */
#ifndef TILEC_CODEGEN_TILE_ORDERED_H
#define TILEC_CODEGEN_TILE_ORDERED_H
#include "codegen/cg.h"

/* Of ops that op_keeps_order; the scan is inclusive. */
void cg_reduce_in_order(Cg *cg, const Op *op);
void cg_scan_in_order(Cg *cg, const Op *op);
#endif
