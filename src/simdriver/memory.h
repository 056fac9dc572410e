/* Device memory of the primary context. */
#ifndef TILEC_SIMDRIVER_MEMORY_H
#define TILEC_SIMDRIVER_MEMORY_H
#include "simdriver/state.h"

/* Frees all that was allocated and not freed. */
void blocks_destroy(Primary *primary);
#endif
