/* Scheduling the warps of a cluster. */
#ifndef TILEC_SIM_SCHEDULE_H
#define TILEC_SIM_SCHEDULE_H
#include "sim/state/program.h"

/* Runs the cluster for about `quantum` warp instructions; true when all its threads have exited. */
bool cluster_run(Cluster *cluster, uint64_t quantum);
#endif
