/* setmaxnreg and the pool of registers. */
#ifndef TILEC_SIM_EXEC_REGISTERS_H
#define TILEC_SIM_EXEC_REGISTERS_H
#include "sim/state/warp.h"

/* Registers of a thread when a kernel begins, as its directives make known; 0: they do not. */
uint32_t registers_at_entry(const Machine *machine);
/* All threads of the warp have exited. */
void registers_exit(Warp *warp);
void registers_describe_wait(Warp *warp, const Insn *insn);
#endif
