/* Flags in shared memory, and in global memory for the threads of a cluster. */
#ifndef TILEC_SIM_CHECK_FLAGS_H
#define TILEC_SIM_CHECK_FLAGS_H
#include "sim/state/program.h"

/* A strong access of the lane writes or reads what may be a flag. */
void flag_write(Warp *warp, const Insn *insn, uint32_t lane, const Target *target);
void flag_read(Warp *warp, const Insn *insn, uint32_t lane, const Target *target);
/* A fence of the lanes of `mask` that acquires. */
void flags_acquire(Warp *warp, uint32_t mask);
/* The cluster begins. */
void flags_reset(Cluster *cluster);
#endif
