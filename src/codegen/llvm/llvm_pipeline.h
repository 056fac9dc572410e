/* Which of LLVM's passes a kernel goes through, and which back end. */
#ifndef TILEC_CODEGEN_LLVM_LLVM_PIPELINE_H
#define TILEC_CODEGEN_LLVM_LLVM_PIPELINE_H
#include "codegen/cg.h"

/* Chooses for the module, runs the passes and readies cg->machine for emission. False after an
 * error was reported. */
bool llvm_pipeline_run(Cg *cg);
#endif
