/* Registers that live at once. */
#ifndef TILEC_SIM_REPORT_LIVE_H
#define TILEC_SIM_REPORT_LIVE_H
#include "sim/parse/module.h"

/* The most 32-bit registers that values of the function, and of those it calls, hold at once: what
 * a thread needs at least if nothing is spilled or computed again. */
uint32_t live_registers(const SimModule *module, const Func *func, Arena *scratch);
/* The same at each instruction, by program counter, of that function and those it calls; zeros for
 * others, and where a function is too large to look at. */
void live_registers_at(const SimModule *module, const Func *func, Arena *scratch, uint32_t *at);
#endif
