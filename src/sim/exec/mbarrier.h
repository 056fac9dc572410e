/* Mbarriers: finding them, counting at them, waiting for them. */
#ifndef TILEC_SIM_EXEC_MBARRIER_H
#define TILEC_SIM_EXEC_MBARRIER_H
#include "sim/state/mbarrier_object.h"
#include "sim/state/program.h"

/* Finds the mbarrier at an address for an operation of the lane; NULL after a finding. */
Mbarrier *mbarrier_find(Warp *warp, const Insn *insn, uint32_t lane, SpaceKind space,
                        uint64_t address);
/* The same at an own address of a program of the cluster. */
Mbarrier *mbarrier_in(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner, uint64_t own);
/* By the clock, the phase does not end before that, for what the instruction at `pc` did. */
void mbarrier_comes(Mbarrier *mbarrier, double time, uint32_t pc);
/* Bytes have come, or fewer are expected. */
void mbarrier_complete_tx(Mbarrier *mbarrier, Warp *warp, const Insn *insn, uint32_t lane,
                          int64_t bytes);
/* Something to be carried out when the mbarrier is waited at; owned by the launch's arena. */
void mbarrier_queue(Mbarrier *mbarrier, Completion completion);
/* Nothing can run: waits that may time out do. False when they have done so for long enough. */
bool mbarrier_time_out(Cluster *cluster);
void mbarrier_describe_wait(Warp *warp, const Split *split);
void mbarrier_reset(Cta *cta);
#endif
