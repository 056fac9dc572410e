/* Clusters: which programs reach each other, and where each one's shared memory lies.
 *
 * In shared::cluster the program of rank r has its shared memory at (r + 1) << SIM_RANK_SHIFT; the
 * addresses of shared::cta, which lie below, are the own program's in both. */
#include "sim/exec/cluster.h"

#include "sim/check/clock.h"
#include "sim/check/findings.h"
#include "sim/exec/cluster_barrier.h"
#include "sim/parse/table.h"
#include "sim/state/program.h"

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

/* The address in shared::cluster of an address of the program's own shared memory. */
static uint64_t cluster_address(const Cta *cta, uint64_t own) {
    return (uint64_t)(cta->rank + 1) << SIM_RANK_SHIFT | own;
}

/* Addresses. */

/* The offset in shared::cluster of an address as the instruction takes it; false after a finding.
 */
static bool shared_offset(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address,
                          uint64_t *offset) {
    bool generic = insn_space(insn) == SPACE_generic;
    *offset = generic ? address - SIM_SHARED_BASE : address;
    if (*offset < SIM_WINDOW)
        return true;
    report(warp, insn, lane, sim_not_shared_address, insn->row->name, address);
    return false;
}

ExecResult exec_mapa(Warp *warp, const Insn *insn, uint32_t mask) {
    const Reg *source = reg_of(warp, insn->operand[1].reg);
    const Reg *rank = reg_of(warp, insn->operand[2].reg);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    FOR_LANES(lane, mask) {
        uint64_t offset, own, result = 0;
        uint64_t known = source->def[lane] == DEFINED && rank->def[lane] == DEFINED ? DEFINED : 0;
        const Cta *peer = cluster_peer(warp->cta, (uint32_t)rank->v[lane]);
        if (known && !peer)
            report(warp, insn, lane, sim_cta_rank, (uint32_t)rank->v[lane],
                   warp->cta->cluster->size);
        else if (known && shared_offset(warp, insn, lane, source->v[lane], &offset)) {
            cluster_owner(warp->cta, offset, &own);
            result = cluster_address(peer, own);
            result += insn_space(insn) == SPACE_generic ? SIM_SHARED_BASE : 0;
        }
        dest->v[lane] = result;
        dest->def[lane] = known;
    }
    return EXEC_NEXT;
}

ExecResult exec_getctarank(Warp *warp, const Insn *insn, uint32_t mask) {
    const Reg *source = reg_of(warp, insn->operand[1].reg);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    FOR_LANES(lane, mask) {
        uint64_t offset, own;
        uint32_t rank = 0;
        uint64_t known = source->def[lane] == DEFINED ? DEFINED : 0;
        if (known && shared_offset(warp, insn, lane, source->v[lane], &offset)) {
            const Cta *owner = cluster_owner(warp->cta, offset, &own);
            rank = owner ? owner->rank : (uint32_t)(offset >> SIM_RANK_SHIFT) - 1;
            if (!owner)
                report(warp, insn, lane, sim_cta_rank, rank, warp->cta->cluster->size);
        }
        dest->v[lane] = rank;
        dest->def[lane] = known;
    }
    return EXEC_NEXT;
}

ExecResult exec_isspacep_shared(Warp *warp, const Insn *insn, uint32_t mask) {
    const Reg *source = reg_of(warp, insn->operand[1].reg);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    FOR_LANES(lane, mask) {
        uint64_t own, offset = source->v[lane] - SIM_SHARED_BASE;
        const Cta *owner = offset < SIM_WINDOW ? cluster_owner(warp->cta, offset, &own) : NULL;
        dest->v[lane] = owner && (owner == warp->cta || insn_has(insn, WORD_shared_cluster));
        dest->def[lane] = source->def[lane] == DEFINED ? DEFINED : 0;
    }
    return EXEC_NEXT;
}

/* Lifetimes. */

static bool is_known(const Clock *clock, uint32_t actor) {
    return clock->seen[actor].all || clock->seen[actor].some;
}

static bool has_begun(const Warp *warp, const Cta *owner) {
    for (uint32_t w = 0; w < owner->warp_count; w++)
        if (is_known(&warp->clock, owner->warps[w].clock_index) ||
            (warp->extra_lanes && is_known(&warp->extra, owner->warps[w].clock_index)))
            return true;
    return false;
}

void cluster_note_access(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner) {
    const uint32_t *id = owner->id;
    if (owner->exited)
        report(warp, insn, lane, sim_cluster_exited, id[0], id[1], id[2]);
    else if (!has_begun(warp, owner))
        report(warp, insn, lane, sim_cluster_start, id[0], id[1], id[2]);
    RemoteAccess *last = &owner->remote[warp->clock_index];
    *last = (RemoteAccess){.epoch = warp->epoch,
                           .pc = insn_pc(warp, insn),
                           .lane = lane,
                           .several = last->epoch && (last->several || last->lane != lane)};
}

/* The program has ended: some thread of it must have known of every access to its memory. */
static void check_remote(Warp *warp) {
    Cta *cta = warp->cta;
    const Insn *insn = &warp->machine->module->insns.data[warp->current->pc];
    for (uint32_t w = 0; w < cta->cluster->warp_count; w++) {
        const RemoteAccess *access = &cta->remote[w];
        const ClockEntry *known = &cta->exit_clock.seen[w];
        if (!access->epoch || access->epoch <= known->all ||
            (access->epoch <= known->some && (access->several || known->lanes >> access->lane & 1)))
            continue;
        const Warp *other = &cta->cluster->warps[w];
        const uint32_t *id = other->cta->id;
        if (report(warp, insn, 0, sim_cluster_exit))
            finding_other(warp, access->pc,
                          str_format(&warp->machine->ctx->arena,
                                     "program (%u, %u, %u), warp %u, lane %u", id[0], id[1], id[2],
                                     other->index, access->lane),
                          "accessed it");
        return;
    }
}

void cluster_exit(Warp *warp) {
    Cta *cta = warp->cta;
    bool any = false;
    clock_join(cta->cluster, &cta->exit_clock, &warp->clock);
    if (warp->extra_lanes)
        clock_join(cta->cluster, &cta->exit_clock, &warp->extra);
    for (uint32_t w = 0; w < cta->warp_count; w++)
        any |= cta->warps[w].alive != 0;
    if (!any && !cta->exited) {
        cta->exited = true;
        check_remote(warp);
    }
    cluster_recheck(cta->cluster);
}
