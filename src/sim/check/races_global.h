/* Races in global memory. */
#ifndef TILEC_SIM_CHECK_RACES_GLOBAL_H
#define TILEC_SIM_CHECK_RACES_GLOBAL_H
#include "sim/state/program.h"

/* An access of a thread to global memory; `strong`: to those of its program at least, and by the
 * instruction's scope to others. `value`: what is written; NULL: not known. */
void race_global(Warp *warp, const Insn *insn, uint32_t lane, const Target *target, uint32_t size,
                 AccessKind kind, bool strong, const uint8_t *value);
/* Accesses to global memory by the asynchronous proxy, for a lane: at their start, and at the wait
 * that covers a write. */
void race_global_async(Warp *warp, const Insn *insn, uint32_t lane, const Target *target,
                       uint32_t size, AccessKind kind);
void race_global_written(Warp *warp, const Target *target, uint32_t size);
#endif
