/* Tensor copies. */
#ifndef TILEC_CODEGEN_MEMORY_TMA_H
#define TILEC_CODEGEN_MEMORY_TMA_H
#include "codegen/cg.h"

/* At the kernel's entry: initialises mbarriers, prefetches maps. */
void cg_begin_tensor_copies(Cg *cg);
#endif
