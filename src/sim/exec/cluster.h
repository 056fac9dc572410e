/* Clusters: which programs reach each other, and where each one's shared memory lies. */
#ifndef TILEC_SIM_EXEC_CLUSTER_H
#define TILEC_SIM_EXEC_CLUSTER_H
#include "sim/state/program.h"

/* The program of that rank in the warp's cluster; NULL when the cluster has fewer. Its shared
 * memory is `shared` and `shared_def`, indexed by addresses of shared::cta, below `shared_end`. */
Cta *cluster_peer(const Cta *cta, uint32_t rank);
/* Splits an address of shared::cluster into the program it lies in and that program's own address;
 * NULL when the cluster has no such program. Addresses of shared::cta are the own program's. */
Cta *cluster_owner(Cta *cta, uint64_t address, uint64_t *own);
/* An access to the shared memory of another program of the cluster: it must have begun, and must
 * not end before. */
void cluster_note_access(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner);
/* Threads of the warp have exited. */
void cluster_exit(Warp *warp);
#endif
