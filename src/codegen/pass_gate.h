/* Leaves out passes of LLVM's back end that cost much and find nothing in this compiler's code. */
#ifndef TILEC_CODEGEN_PASS_GATE_H
#define TILEC_CODEGEN_PASS_GATE_H
#include <llvm-c/Types.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on; passes that are not optional always run. Without reduce_loops neither does loop
 * strength reduction. */
void pass_gate_install(LLVMContextRef context, bool reduce_loops);

#ifdef __cplusplus
}
#endif
#endif
