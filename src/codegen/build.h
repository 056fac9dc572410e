/* Builds the LLVM function of cg->func in cg->module, which exist. False after an error was
 * reported; the module is unusable then. */
#ifndef TILEC_CODEGEN_BUILD_H
#define TILEC_CODEGEN_BUILD_H
#include "codegen/cg.h"

bool build_kernel(Cg *cg);
#endif
