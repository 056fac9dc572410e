/* The asynchronous proxy: what bulk copies do to shared memory, against what threads do.
 *
 * From its start to its end a copy owns what it writes, and what it reads must not change. What
 * threads wrote before must be ordered before the start, with a fence.proxy.async on the way; what
 * they read must be ordered. What a copy has written is known to whoever knows that the phase of
 * its mbarrier has ended. */
#include "sim/check/proxy.h"

#include "sim/check/clock.h"
#include "sim/check/findings.h"
#include "sim/check/races.h"
#include "sim/state/mbarrier_object.h"
#include "sim/state/program.h"

/* What a thread stored must be visible to the proxy. */
static bool is_fenced(Warp *warp, const Insn *insn, uint32_t lane, const SharedCell *cell,
                      uint64_t address, const char *did) {
    if (!race_is_generic(warp, cell) || clock_has_fenced(warp, lane, cell))
        return true;
    if (report(warp, insn, lane, sim_proxy_fence, did, address))
        finding_other(warp, cell->pc, race_thread_name(warp, cell), "stored");
    return false;
}

bool proxy_write_begin(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner, uint64_t address,
                       uint32_t size) {
    SharedCell *cells = owner->writes;
    for (uint64_t at = address; at < address + size; at++) {
        SharedCell *cell = &cells[at];
        if (cell->epoch && (!race_against_write(warp, insn, lane, owner, at, ACCESS_WRITE, NULL) ||
                            !is_fenced(warp, insn, lane, cell, at, "writes")))
            return false;
        if (!race_against_reads(warp, insn, lane, owner, at))
            return false;
    }
    const SharedCell mark = {.epoch = warp->epoch,
                             .pc = insn_pc(warp, insn),
                             .actor = (uint16_t)warp->clock_index,
                             .lane = (uint8_t)lane,
                             .kind = CELL_COPYING};
    for (uint64_t at = address; at < address + size; at++)
        cells[at] = mark;
    return true;
}

void proxy_write_end(Warp *warp, const Insn *insn, Cta *owner, uint64_t address, uint32_t size,
                     const Mbarrier *mbarrier) {
    /* An mbarrier that clocks do not follow: its data is taken to be ordered. */
    bool followed = mbarrier->actor != NO_ACTOR;
    const SharedCell mark = {.epoch = followed ? mbarrier->phase + 1 : 0,
                             .pc = insn_pc(warp, insn),
                             .actor = followed ? (uint16_t)mbarrier->actor : 0,
                             .kind = CELL_PLAIN};
    for (uint64_t at = address; at < address + size; at++)
        owner->writes[at] = mark;
}

bool proxy_read_begin(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner, uint64_t address,
                      uint32_t size, uint32_t number) {
    SharedCell *reads = race_reads_of(warp, owner);
    const SharedCell mark = {.epoch = number,
                             .pc = insn_pc(warp, insn),
                             .actor = (uint16_t)warp->clock_index,
                             .lane = (uint8_t)lane,
                             .kind = CELL_READING};
    bool ok = true;
    for (uint64_t at = address; at < address + size; at++) {
        const SharedCell *cell = &owner->writes[at];
        if (ok && cell->epoch)
            ok = race_against_write(warp, insn, lane, owner, at, ACCESS_READ, NULL) &&
                 is_fenced(warp, insn, lane, cell, at, "reads");
        reads[at] = mark;
    }
    return ok;
}

/* With an mbarrier the end of its phase tells of the end of the read, otherwise the thread knows.
 */
void proxy_read_end(Warp *warp, uint32_t lane, Cta *owner, uint64_t address, uint32_t size,
                    uint32_t number, const Mbarrier *mbarrier) {
    SharedCell *reads = race_reads_of(warp, owner);
    bool followed = mbarrier && mbarrier->actor != NO_ACTOR;
    for (uint64_t at = address; at < address + size; at++) {
        SharedCell *cell = &reads[at];
        if (cell->kind != CELL_READING || cell->epoch != number)
            continue;
        cell->kind = CELL_PLAIN;
        cell->lane = (uint8_t)lane;
        cell->epoch = followed ? mbarrier->phase + 1 : mbarrier ? 0 : warp->epoch;
        cell->actor = (uint16_t)(followed ? mbarrier->actor : warp->clock_index);
    }
}
