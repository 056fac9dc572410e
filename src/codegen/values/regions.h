/* Lowering the ops of a region, for those that own one. */
#ifndef TILEC_CODEGEN_VALUES_REGIONS_H
#define TILEC_CODEGEN_VALUES_REGIONS_H
#include "codegen/cg.h"

/* Lowers the ops of a block up to its terminator, which is returned. */
const Op *cg_lower_block(Cg *cg, const Block *block);
/* Lowers a region of scalars given the values of its arguments; out: what it yields. */
void cg_inline_region(Cg *cg, const Block *block, const Lv *args, uint32_t nargs, Lv *out,
                      uint32_t nout);
#endif
