/* Line tables: which line of the source an instruction comes from. */
#ifndef TILEC_CODEGEN_VALUES_DEBUG_INFO_H
#define TILEC_CODEGEN_VALUES_DEBUG_INFO_H
#include "codegen/cg.h"

void cg_debug_begin(Cg *cg);
/* Of the instructions that follow. */
void cg_debug_op(Cg *cg, Span span);
void cg_debug_end(Cg *cg);
#endif
