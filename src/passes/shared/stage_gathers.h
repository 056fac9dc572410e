/* Choices by index from shared memory: see stage_gathers.c. */
#ifndef TILEC_PASSES_SHARED_STAGE_GATHERS_H
#define TILEC_PASSES_SHARED_STAGE_GATHERS_H
#include "ir/ir.h"

/* Makes local_gather of every gather; true if there was one. */
bool stage_gathers(Func *func);
#endif
