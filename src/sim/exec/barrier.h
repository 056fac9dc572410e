/* Barriers of a program, and what one that cannot go on waits for. */
#ifndef TILEC_SIM_EXEC_BARRIER_H
#define TILEC_SIM_EXEC_BARRIER_H
#include "sim/state/program.h"

/* Threads have exited: a barrier may be complete. */
void barrier_recheck(Cta *cta);
/* Nothing of the cluster can run: reports what its warps wait for and stops. */
void cluster_deadlock(Cluster *cluster);
#endif
