/* The upper half of a word of two bf16, as f32: the word without its lower half, one instruction,
 * for ptxas' two, which takes the half out and shifts it back. Last before the back end, as LLVM's
 * passes know conversions, and bits no longer as such. */
#ifndef TILEC_CODEGEN_LLVM_WIDEN_HALVES_H
#define TILEC_CODEGEN_LLVM_WIDEN_HALVES_H
#include "codegen/cg.h"

void widen_halves(const Cg *cg);
#endif
