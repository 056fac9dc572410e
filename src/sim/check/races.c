/* Races in shared memory: accesses of different threads to a byte, one of them a write, that
 * nothing orders.
 *
 * Warps have vector clocks that barriers join. An access lies in its warp's epoch;
 * another warp is behind it once its clock has reached that epoch. Lanes of one warp are ordered by
 * the end of an epoch (a barrier, bar.warp.sync). Global memory: races_global.c. */
#include "sim/check/races.h"

#include "sim/check/clock.h"
#include "sim/check/findings.h"
#include "sim/state/program.h"
#include "sim/state/warpgroup.h"

const char *race_thread_name(Warp *warp, const SharedCell *cell) {
    const Cluster *cluster = warp->cta->cluster;
    if (cell->actor >= cluster->warp_count && cell->actor < cluster->reader_count)
        return str_format(&warp->machine->ctx->arena, "warpgroup %u",
                          (cell->actor - cluster->warp_count) % (warp->cta->warp_count / 4));
    if (cell->actor >= cluster->reader_count)
        return "an asynchronous copy";
    const Warp *other = &warp->cta->cluster->warps[cell->actor];
    const uint32_t *id = other->cta->id;
    Arena *arena = &warp->machine->ctx->arena;
    if (other->cta == warp->cta)
        return str_format(arena, "warp %u, lane %u", other->index, cell->lane);
    return str_format(arena, "program (%u, %u, %u), warp %u, lane %u", id[0], id[1], id[2],
                      other->index, cell->lane);
}

/* Whether an access of the cell comes before what `lane` of the warp does now. */
static bool is_ordered(const Warp *warp, uint32_t lane, const SharedCell *cell) {
    return (cell->actor == warp->clock_index && cell->lane == lane && !cell->several) ||
           clock_has_seen(warp, lane, cell);
}

/* Whether the cell holds an access of another lane of the warp that not all its lanes know of. */
static bool is_of_others(const Warp *warp, uint32_t lane, const SharedCell *cell) {
    return cell->actor == warp->clock_index && (cell->lane != lane || cell->several) &&
           cell->epoch > warp->clock.seen[warp->clock_index].all;
}

SharedCell *race_reads_of(Warp *warp, Cta *owner) {
    SharedCell **reads = &owner->reads[warp->clock_index];
    if (!*reads)
        *reads = ARENA_ARRAY(warp->machine->arena, SharedCell, owner->shared_end);
    return *reads;
}

static bool report_copying(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address,
                           const SharedCell *cell) {
    if (report(warp, insn, lane, sim_copy_race, address))
        finding_other(warp, cell->pc, race_thread_name(warp, cell), "started the copy");
    return false;
}

/* Against the last write; false after a finding. */
bool race_against_write(Warp *warp, const Insn *insn, uint32_t lane, const Cta *owner,
                        uint64_t address, AccessKind kind, const uint8_t *value) {
    const SharedCell *cell = &owner->writes[address];
    if (!cell->epoch)
        return true;
    if (cell->kind == CELL_COPYING)
        return report_copying(warp, insn, lane, address, cell);
    if (is_ordered(warp, lane, cell) || (cell->kind == CELL_ATOMIC && kind == ACCESS_ATOMIC))
        return true;
    /* Writing what is there already changes nothing for anybody. */
    if (kind == ACCESS_WRITE && value && *value == owner->shared[address])
        return true;
    const char *did = kind == ACCESS_READ ? "load" : "store";
    if (report(warp, insn, lane, sim_shared_race, did, address, "a store"))
        finding_other(warp, cell->pc, race_thread_name(warp, cell), "stored");
    return false;
}

/* Whether the cell is a read of a wgmma that no warp has waited for. */
static bool is_in_flight(const Cta *cta, const SharedCell *cell) {
    uint32_t warps = cta->cluster->warp_count, each = cta->warp_count / WARPGROUP;
    if (cell->actor < warps || cell->actor >= cta->cluster->reader_count)
        return false;
    const Warpgroup *group = cta->warpgroups[(cell->actor - warps) % each];
    return group && cell->epoch > group->finished;
}

/* Against the last read of each warp; false after a finding. */
bool race_against_reads(Warp *warp, const Insn *insn, uint32_t lane, const Cta *owner,
                        uint64_t address) {
    for (uint32_t w = 0; w < owner->cluster->reader_count; w++) {
        const SharedCell *cell = owner->reads[w] ? &owner->reads[w][address] : NULL;
        if (!cell || !cell->epoch)
            continue;
        if (cell->kind == CELL_READING) {
            if (report(warp, insn, lane, sim_bulk_source, address))
                finding_other(warp, cell->pc, race_thread_name(warp, cell), "started the copy");
            return false;
        }
        if (is_ordered(warp, lane, cell))
            continue;
        if (is_in_flight(owner, cell)) {
            if (report(warp, insn, lane, sim_matrix_race, address))
                finding_other(warp, cell->pc, race_thread_name(warp, cell), "started the wgmma");
            return false;
        }
        if (report(warp, insn, lane, sim_shared_race, "store", address, "a load"))
            finding_other(warp, cell->pc, race_thread_name(warp, cell), "loaded");
        return false;
    }
    return true;
}

static void note_access(SharedCell *cell, Warp *warp, const Insn *insn, uint32_t lane,
                        CellKind kind) {
    bool several = is_of_others(warp, lane, cell);
    *cell = (SharedCell){.epoch = warp->epoch,
                         .pc = insn_pc(warp, insn),
                         .actor = (uint16_t)warp->clock_index,
                         .lane = (uint8_t)lane,
                         .several = several && kind != CELL_PLAIN,
                         .kind = (unsigned)kind & 0x7f};
}

void race_shared(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner, uint64_t address,
                 uint32_t size, AccessKind kind, const uint8_t *value) {
    for (uint64_t at = address; at < address + size; at++) {
        bool ok = race_against_write(warp, insn, lane, owner, at, kind,
                                     value ? value + (at - address) : NULL);
        if (kind == ACCESS_READ) {
            SharedCell *cell = &race_reads_of(warp, owner)[at];
            if (cell->kind == CELL_READING)
                continue;
            bool several = is_of_others(warp, lane, cell);
            note_access(cell, warp, insn, lane, CELL_PLAIN);
            cell->several = several;
        } else {
            ok = ok && race_against_reads(warp, insn, lane, owner, at);
            note_access(&owner->writes[at], warp, insn, lane,
                        kind == ACCESS_ATOMIC ? CELL_ATOMIC : CELL_PLAIN);
        }
        /* One finding is enough for an access. */
        if (!ok)
            break;
    }
}

void race_shared_async(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address, uint32_t size,
                       bool done) {
    Cta *cta = warp->cta;
    if (!done)
        race_shared(warp, insn, lane, cta, address, size, ACCESS_WRITE, NULL);
    for (uint64_t at = address; at < address + size; at++)
        note_access(&cta->writes[at], warp, insn, lane, done ? CELL_PLAIN : CELL_COPYING);
}

static bool same_access(const SharedCell *a, const SharedCell *b) {
    return a->epoch == b->epoch && a->pc == b->pc && a->actor == b->actor && a->lane == b->lane &&
           a->several == b->several && a->kind == b->kind;
}

void race_matrix_read(Warp *warp, const Insn *insn, uint64_t address, uint32_t size) {
    const SharedCell *cells = warp->cta->writes;
    for (uint64_t at = address; at < address + size; at++) {
        const SharedCell *cell = &cells[at];
        /* Neighbours mostly have the same history. */
        if (!cell->epoch || (at > address && same_access(cell, cell - 1)))
            continue;
        bool own = cell->actor == warp->clock_index && cell->kind != CELL_COPYING;
        if (!own && !race_against_write(warp, insn, 0, warp->cta, at, ACCESS_READ, NULL))
            return;
        if (!race_is_generic(warp, cell) || clock_has_fenced(warp, 0, cell))
            continue;
        if (report(warp, insn, 0, sim_matrix_proxy, at))
            finding_other(warp, cell->pc, race_thread_name(warp, cell), "stored");
        return;
    }
}

void race_matrix_note(Cta *cta, const Insn *insn, uint32_t reader, uint64_t address, uint32_t size,
                      uint32_t op) {
    Machine *machine = cta->machine;
    if (!cta->reads[reader])
        cta->reads[reader] = ARENA_ARRAY(machine->arena, SharedCell, cta->shared_end);
    const SharedCell cell = {.epoch = op,
                             .pc = (uint32_t)(insn - machine->module->insns.data),
                             .actor = (uint16_t)reader};
    for (uint64_t at = address; at < address + size; at++)
        cta->reads[reader][at] = cell;
}
