/* Loads that come as what takes them does; see stream.c. */
#ifndef TILEC_CODEGEN_LLVM_STREAM_H
#define TILEC_CODEGEN_LLVM_STREAM_H
#include "codegen/cg.h"

/* Marks a load of global memory whose element is taken at once, with `ahead` registers of such
 * loads under way. */
void stream_mark(Cg *cg, Lv load, int64_t ahead);
/* Orders the stretches that marked loads stand in. */
void stream_function(Cg *cg);
#endif
