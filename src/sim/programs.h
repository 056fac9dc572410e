/* Programs and clusters of them, made and started. */
#ifndef TILEC_SIM_PROGRAMS_H
#define TILEC_SIM_PROGRAMS_H
#include "sim/state/program.h"

/* Room for a cluster of the launch, in the machine's arena; to be used again when one has ended. */
Cluster *cluster_create(Machine *machine);
/* The cluster of that number begins. */
void cluster_start(Cluster *cluster, uint64_t number);
#endif
