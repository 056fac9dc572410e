/* Races in shared memory. */
#ifndef TILEC_SIM_CHECK_RACES_H
#define TILEC_SIM_CHECK_RACES_H
#include "sim/state/program.h"

/* An access to the shared memory of `owner`, a program of the warp's cluster, at its own address.
 */
void race_shared(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner, uint64_t address,
                 uint32_t size, AccessKind kind, const uint8_t *value);
void race_shared_async(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address, uint32_t size,
                       bool done);
/* wgmma of the warp is about to read bytes of its program's shared memory through the asynchronous
 * proxy. */
void race_matrix_read(Warp *warp, const Insn *insn, uint64_t address, uint32_t size);
/* Notes that a reader, the warpgroup as an actor of vector clocks, reads bytes with its operation
 * `op`. */
void race_matrix_note(Cta *cta, const Insn *insn, uint32_t reader, uint64_t address, uint32_t size,
                      uint32_t op);

/* For those who check accesses of another kind. */
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
