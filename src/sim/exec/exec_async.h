/* Asynchronous copies of threads. */
#ifndef TILEC_SIM_EXEC_EXEC_ASYNC_H
#define TILEC_SIM_EXEC_EXEC_ASYNC_H
#include "sim/state/warp.h"

/* Carries out the lane's copies with numbers below `number`. */
void copies_finish_before(Warp *warp, uint32_t lane, uint32_t number);
#endif
