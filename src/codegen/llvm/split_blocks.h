/* Very long blocks in parts: LLVM selects instructions block by block, and looks for what uses a
 * value among all of its uses in one, in time that grows with the square of their number. Values
 * that come from another block are looked up in none. ptxas joins the parts again. */
#ifndef TILEC_CODEGEN_LLVM_SPLIT_BLOCKS_H
#define TILEC_CODEGEN_LLVM_SPLIT_BLOCKS_H
#include "codegen/cg.h"

void split_blocks(const Cg *cg);
#endif
