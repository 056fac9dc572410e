/* Conversions in the form of which ptxas makes the fewest instructions; last before the back end,
 * as LLVM's passes know conversions, and would turn these back. */
#ifndef TILEC_CODEGEN_LLVM_RESPELL_H
#define TILEC_CODEGEN_LLVM_RESPELL_H
#include "codegen/cg.h"

void respell(const Cg *cg);
#endif
