/* The barrier of a cluster. */
#ifndef TILEC_SIM_EXEC_CLUSTER_BARRIER_H
#define TILEC_SIM_EXEC_CLUSTER_BARRIER_H
#include "sim/state/program.h"

/* Notes what a warp that waits at the barrier of the cluster waits for. */
void cluster_describe_wait(Warp *warp, const Insn *insn);
/* Threads have exited. */
void cluster_recheck(Cluster *cluster);
#endif
