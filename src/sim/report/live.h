/* Registers that live at once. */
#ifndef TILEC_SIM_REPORT_LIVE_H
#define TILEC_SIM_REPORT_LIVE_H
#include "sim/parse/module.h"

/* The most 32-bit registers that values of the function, and of those it calls, hold at once: what
 * a thread needs at least if nothing is spilled or computed again. */
uint32_t live_registers(const SimModule *module, const Func *func, Arena *scratch);
#endif
