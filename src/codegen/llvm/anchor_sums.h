/* Deep sums in parts. LLVM's strength reduction proves of each sum that it might take for another
 * that it is no poison, and walks up its operands for that, all ways, six instructions deep: what
 * lies deeper costs the whole walk and is not proven. A frozen value is proven at once. */
#ifndef TILEC_CODEGEN_LLVM_ANCHOR_SUMS_H
#define TILEC_CODEGEN_LLVM_ANCHOR_SUMS_H
#include "codegen/cg.h"

/* Freezes sums of the entry block that are the program's own, where it begins in memory, wherever
 * another few instructions have passed since the last one. Those that are made of the thread's
 * number, or a constant away from others, stay visible to LLVM. No instruction of PTX comes of it.
 * Where loops have loops in them all blocks but those of the innermost are as the entry block is: a
 * persistent kernel begins anew with each tile.
 * `everywhere`: in all blocks, loops too, and of the thread's numbers what is made of quotients,
 * remainders and products of them, which are no constants apart any more. That costs small kernels
 * registers, and pays where there are many addresses: each is compared with each other. */
void anchor_sums(const Cg *cg, bool everywhere);
#endif
