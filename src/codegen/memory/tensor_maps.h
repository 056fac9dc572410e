/* Tensor maps of a kernel: recipes and parameters. */
#ifndef TILEC_CODEGEN_MEMORY_TENSOR_MAPS_H
#define TILEC_CODEGEN_MEMORY_TENSOR_MAPS_H
#include "codegen/cg.h"

/* Recipes for all tensor copies of the function, in cg->meta. False after a report. */
bool cg_collect_tensor_maps(Cg *cg);
/* The parameter of the first map; the others follow. */
unsigned cg_first_tensor_map(const Cg *cg);
/* Makes parameter `param` one that is passed by value and never copied. */
void cg_declare_tensor_map(Cg *cg, unsigned param);
Lv cg_tensor_map(Cg *cg, const Op *op);
/* What one thread copies of the block, by the shape of a tile: all, or the part of a warpgroup
 * along the first of the last two dimensions, which are the buffer's. */
enum { STORED_RANK = 2 };
const Type *cg_copied_part(Cg *cg, const Op *op);
#endif
