/* Loads that may be delayed go to where a store needs them; see schedule.c. */
#ifndef TILEC_CODEGEN_LLVM_SCHEDULE_H
#define TILEC_CODEGEN_LLVM_SCHEDULE_H
#include "codegen/cg.h"

/* Marks a load or store of global memory. */
void schedule_mark(Cg *cg, Lv access, bool may_delay);
/* Puts marked loads to where they are needed. */
void schedule_function(Cg *cg);
#endif
