/* Quotients and remainders of 64 bits whose operands mostly fit into 32: an instruction of 64 bits
 * is a call of some hundred to ptxas, one of 32 a dozen. Numbers are indices as a rule, and what
 * they are is looked at when the kernel runs. LLVM's optimising back end does so for each quotient
 * by itself; here those that follow each other, as elements of a tile do, are asked for together.
 */
#ifndef TILEC_CODEGEN_LLVM_SHORT_QUOTIENTS_H
#define TILEC_CODEGEN_LLVM_SHORT_QUOTIENTS_H
#include "codegen/cg.h"

void short_quotients(const Cg *cg);
#endif
