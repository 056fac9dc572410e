/* Ops that rearrange elements without touching them. */
#ifndef TILEC_CODEGEN_TILE_SHAPE_H
#define TILEC_CODEGEN_TILE_SHAPE_H
#include "codegen/cg.h"

/* Of a slice, transpose, expand_dims, broadcast or convert_layout: the register of the operand that
 * each register of the result is. NULL: it is none, or not the same one in all threads. */
const uint32_t *cg_renamed_registers(Cg *cg, const Op *op);
#endif
