/* Loads that may be delayed go to where a store needs them; see schedule.c. */
#ifndef TILEC_CODEGEN_LLVM_SCHEDULE_H
#define TILEC_CODEGEN_LLVM_SCHEDULE_H
#include "codegen/cg.h"
#include "support/ptrmap.h"
#include "support/vec.h"

/* Kinds of LLVM's attributes that say what a call does. */
typedef struct Purity {
    unsigned memory, convergent;
} Purity;

Purity purity_kinds(void);
/* May the instruction stand anywhere between its operands and its uses? */
bool inst_is_pure(const Purity *purity, Lv inst);

/* Instructions of a block that are given an order anew. */
typedef struct InstOrder {
    Arena *arena;
    PtrMap pending; /* those that may move and have no place yet */
    VEC(Lv) placed, stack;
} InstOrder;

bool inst_is_pending(const InstOrder *order, Lv inst);
/* The instruction comes next. */
void inst_append(InstOrder *order, Lv inst);
/* Appends the instruction, behind what it needs and has no place yet; `append` is inst_append, or
 * does that and more: it may place others. */
void inst_place(InstOrder *order, Lv root, void (*append)(void *user, Lv inst), void *user);
/* Puts the instructions at the end of the block, in this order. */
void insts_move_to_end(LLVMBuilderRef builder, LLVMBasicBlockRef block, const Lv *insts,
                       size_t count);

/* Marks a load or store of global memory. */
void schedule_mark(Cg *cg, Lv access, bool may_delay);
/* Puts marked loads to where they are needed. */
void schedule_function(Cg *cg);
#endif
