/* Very long blocks in parts: LLVM selects instructions block by block, and looks for what uses a
 * value among all of its uses in one, in time that grows with the square of their number. Values
 * that come from another block are looked up in none. ptxas joins the parts again. */
#ifndef TILEC_CODEGEN_LLVM_SPLIT_BLOCKS_H
#define TILEC_CODEGEN_LLVM_SPLIT_BLOCKS_H
#include "codegen/cg.h"

void split_blocks(const Cg *cg);

/* Moves what stands in front of an instruction into a block of its own, which all that led to
 * `block` then leads to, and leaves the builder at its end, to say where it leads. The rest stays
 * in `block`: it is what the phis of its successors name. */
void split_before(const Cg *cg, LLVMBuilderRef builder, LLVMBasicBlockRef block, Lv end);
#endif
