/* Pieces of the race checks, for those who check accesses of another kind. */
#ifndef TILEC_SIM_CHECK_RACES_H
#define TILEC_SIM_CHECK_RACES_H
#include "sim/machine.h"

/* Who made the access of a cell, in words. */
const char *race_thread_name(Warp *warp, const SharedCell *cell);
/* Threads write through the generic proxy; what has another actor came through the asynchronous
 * one. */
static inline bool race_is_generic(const Warp *warp, const SharedCell *cell) {
    return cell->actor < warp->cta->cluster->warp_count;
}
/* The lane's access to a byte of the owner's shared memory against the last write to it, and
 * against the last reads of every actor; false after a finding. `value`: what is written. */
bool race_against_write(Warp *warp, const Insn *insn, uint32_t lane, const Cta *owner,
                        uint64_t address, AccessKind kind, const uint8_t *value);
bool race_against_reads(Warp *warp, const Insn *insn, uint32_t lane, const Cta *owner,
                        uint64_t address);
/* The reads of a warp, by byte of the owner's shared memory. */
SharedCell *race_reads_of(Warp *warp, Cta *owner);
#endif
