/* Clusters: which programs reach each other, and where each one's shared memory lies.
 *
 * In shared::cluster the program of rank r has its shared memory at (r + 1) << SIM_RANK_SHIFT; the
 * addresses of shared::cta, which lie below, are the own program's in both. */
#include "sim/machine.h"

Cta *cluster_peer(const Cta *cta, uint32_t rank) {
    return rank < cta->cluster->size ? &cta->cluster->ctas[rank] : NULL;
}

Cta *cluster_owner(Cta *cta, uint64_t address, uint64_t *own) {
    uint64_t window = address >> SIM_RANK_SHIFT;
    *own = address & bits_mask(SIM_RANK_SHIFT);
    if (!window)
        return cta;
    return window <= cta->cluster->size ? &cta->cluster->ctas[window - 1] : NULL;
}

uint64_t cluster_address(const Cta *cta, uint64_t own) {
    return (uint64_t)(cta->rank + 1) << SIM_RANK_SHIFT | own;
}
