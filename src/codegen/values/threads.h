/* Which thread this is, within its warp, program, team and CTA. */
#ifndef TILEC_CODEGEN_VALUES_THREADS_H
#define TILEC_CODEGEN_VALUES_THREADS_H
#include "codegen/cg.h"

/* At the kernel's entry, into `cg`: the numbers of threads, and of the program that they run. */
void cg_begin_threads(Cg *cg);
/* Ends the entry block, behind what layouts compute once: threads of programs past the grid end
 * there, the others go on in `body`. */
void cg_end_entry(Cg *cg, LLVMBasicBlockRef body);
/* The number of the team, the same in all threads of a warp. */
Lv cg_team(Cg *cg);
/* The number of the thread's warpgroup in its program, as cg_uniform gives it. */
Lv cg_warpgroup(Cg *cg);
#endif
