/* Modules of the primary context. */
#ifndef TILEC_SIMDRIVER_MODULE_H
#define TILEC_SIMDRIVER_MODULE_H
#include "simdriver/state.h"

/* Frees all of them, before the memory that their variables are mapped in. */
void modules_destroy(Primary *primary);
#endif
