/* Deep sums in parts. LLVM's strength reduction proves of each sum that it might take for another
 * that it is no poison, and walks up its operands for that, all ways, six instructions deep: what
 * lies deeper costs the whole walk and is not proven. A frozen value is proven at once. */
#ifndef TILEC_CODEGEN_LLVM_ANCHOR_SUMS_H
#define TILEC_CODEGEN_LLVM_ANCHOR_SUMS_H
#include "codegen/cg.h"

/* Freezes sums of the entry block that are the program's own, where it begins in memory, wherever
 * another few instructions have passed since the last one. Those that are made of the thread's
 * number, or a constant away from others, stay visible to LLVM, and so does all in loops. No
 * instruction of PTX comes of it. */
void anchor_sums(const Cg *cg);
#endif
