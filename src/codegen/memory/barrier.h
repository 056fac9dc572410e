/* Barriers of a program. */
#ifndef TILEC_CODEGEN_MEMORY_BARRIER_H
#define TILEC_CODEGEN_MEMORY_BARRIER_H
#include "codegen/cg.h"

/* The program's threads meet, without its producer. */
void cg_barrier(Cg *cg);
#endif
