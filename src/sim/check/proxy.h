/* The asynchronous proxy, in shared memory. */
#ifndef TILEC_SIM_CHECK_PROXY_H
#define TILEC_SIM_CHECK_PROXY_H
#include "sim/state/mbarrier_object.h"
#include "sim/state/program.h"

/* A copy that the lane starts is about to write to, or to read, shared memory of the owner, at its
 * own address; false after a finding. `number` tells the reads of one copy from those of others. */
bool proxy_write_begin(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner, uint64_t address,
                       uint32_t size);
bool proxy_read_begin(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner, uint64_t address,
                      uint32_t size, uint32_t number);
/* It has: to be known with the phase of an mbarrier; without one to the lane. */
void proxy_write_end(Warp *warp, const Insn *insn, Cta *owner, uint64_t address, uint32_t size,
                     const Mbarrier *mbarrier);
void proxy_read_end(Warp *warp, uint32_t lane, Cta *owner, uint64_t address, uint32_t size,
                    uint32_t number, const Mbarrier *mbarrier);
#endif
