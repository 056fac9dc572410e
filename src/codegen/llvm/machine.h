/* LLVM as a process has it: its target machine, modules to text, and a guard around what it would
 * abort the process for. */
#ifndef TILEC_CODEGEN_LLVM_MACHINE_H
#define TILEC_CODEGEN_LLVM_MACHINE_H
#include "codegen/cg.h"

/* Runs `body` and releases LLVM's objects; what LLVM would abort the process for becomes a
 * diagnostic and false. */
bool machine_guard(Cg *cg, bool (*body)(Cg *cg));

/* The rest is for `body`. False after errors were reported. */

/* A context, a module and the machine that optimises. */
bool machine_create(Cg *cg);
/* The machine anew, with the back end of that level. */
bool machine_set_level(Cg *cg, LLVMCodeGenOptLevel level);
bool machine_emit(Cg *cg, Str *ptx);
Str machine_text(Cg *cg); /* the module as LLVM IR */
/* What LLVM says of an error, which is freed. False. */
bool machine_report(Cg *cg, char *text);
/* Between runs of LLVM: leaves by the arena's jump where there is no more memory for it, or nobody
 * wants what it makes. */
void machine_leave_if_due(Cg *cg);
#endif
