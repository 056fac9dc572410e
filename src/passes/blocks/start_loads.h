/* Where stage-blocks starts the copies of blocks that are loaded. Private to src/passes. */
#ifndef TILEC_PASSES_BLOCKS_START_LOADS_H
#define TILEC_PASSES_BLOCKS_START_LOADS_H
#include "ir/ir.h"

/* Moves each load_block of the function up to where its copy may start; see start_loads.c. */
bool start_loads(Func *func);
#endif
