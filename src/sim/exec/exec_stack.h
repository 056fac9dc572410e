/* The stack that alloca takes from. */
#ifndef TILEC_SIM_EXEC_EXEC_STACK_H
#define TILEC_SIM_EXEC_EXEC_STACK_H
#include "sim/state/warp.h"

/* The threads of `mask` leave the function: what it allocated is gone. */
void stack_leave(Warp *warp, const Frame *frame, uint32_t mask);
#endif
