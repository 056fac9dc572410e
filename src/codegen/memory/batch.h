/* Keeps together the loads that a program begins with; see batch.c. */
#ifndef TILEC_CODEGEN_MEMORY_BATCH_H
#define TILEC_CODEGEN_MEMORY_BATCH_H
#include "codegen/cg.h"

/* Decides which loads to keep together, before anything is lowered. */
void cg_find_batch(Cg *cg);
/* Behind each load. */
void cg_end_batch(Cg *cg, const Op *load);
#endif
