/* Loads that may be delayed go to where a store needs them; see schedule.c. */
#ifndef TILEC_CODEGEN_LLVM_SCHEDULE_H
#define TILEC_CODEGEN_LLVM_SCHEDULE_H
#include "codegen/cg.h"

/* Kinds of LLVM's attributes that say what a call does. */
typedef struct Purity {
    unsigned memory, convergent;
} Purity;

Purity purity_kinds(void);
/* May the instruction stand anywhere between its operands and its uses? */
bool inst_is_pure(const Purity *purity, Lv inst);

/* Marks a load or store of global memory. */
void schedule_mark(Cg *cg, Lv access, bool may_delay);
/* Puts marked loads to where they are needed. */
void schedule_function(Cg *cg);
#endif
