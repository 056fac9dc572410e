/* The barrier of a cluster: barrier.cluster.arrive and barrier.cluster.wait.
 *
 * Each thread arrives, then waits. A phase is complete when all threads of the cluster that have
 * not exited have arrived; a thread cannot arrive again before it has waited, so that one phase at
 * a time is incomplete. Arrivals with .release, which is the default, and those behind a fence
 * order what came before them before what comes behind the wait. */
#include "sim/exec/cluster_barrier.h"

#include "sim/check/clock.h"
#include "sim/check/findings.h"
#include "sim/exec/splits.h"
#include "sim/parse/table.h"
#include "sim/report/counters.h"
#include "sim/state/program.h"

static bool is_complete(const Cluster *cluster) {
    for (uint32_t w = 0; w < cluster->warp_count; w++)
        if (cluster->warps[w].alive & ~cluster->warps[w].cluster_arrived)
            return false;
    return cluster->barrier_used;
}

/* Lets a split go on whose threads may all pass. */
static bool pass(Warp *warp, Split *split) {
    if (split->wait_mask & ~warp->cluster_passed)
        return false;
    warp->cluster_passed &= ~split->wait_mask;
    clock_acquire(warp, split->wait_mask, &warp->cta->cluster->passed_clock);
    split->wait = WAIT_NONE;
    return true;
}

static void complete(Cluster *cluster) {
    Clock clock = cluster->passed_clock;
    cluster->passed_clock = cluster->arrived_clock;
    cluster->arrived_clock = clock;
    clock_reset(cluster, &cluster->arrived_clock);
    cluster->barrier_used = false;
    cluster->events++;
    for (uint32_t w = 0; w < cluster->warp_count; w++) {
        Warp *warp = &cluster->warps[w];
        warp->cluster_passed |= warp->cluster_arrived & warp->alive;
        warp->cluster_arrived = 0;
        for (unsigned i = 0; i < MAX_SPLITS; i++) {
            Split *split = &warp->splits[i];
            if (split->used && split->wait == WAIT_CLUSTER && pass(warp, split))
                split->pc++;
        }
    }
}

void cluster_recheck(Cluster *cluster) {
    if (is_complete(cluster))
        complete(cluster);
}

ExecResult exec_cluster_arrive(Warp *warp, const Insn *insn, uint32_t mask) {
    Cluster *cluster = warp->cta->cluster;
    uint32_t again = mask & (warp->cluster_arrived | warp->cluster_passed);
    if (insn_has(insn, WORD_aligned) && !warp_converged(warp, insn, mask))
        return EXEC_NEXT;
    if (again) {
        report(warp, insn, (uint32_t)__builtin_ctz(again), sim_cluster_arrival, "arrives at",
               "again without having waited for it");
        return EXEC_NEXT;
    }
    warp->cluster_arrived |= mask;
    cluster->barrier_used = true;
    if (!insn_has(insn, WORD_relaxed)) {
        clock_release(warp, mask, &cluster->arrived_clock);
    } else if (warp->fence_lanes & mask) {
        clock_join(cluster, &cluster->arrived_clock, &warp->fence_clock);
    }
    cluster_recheck(cluster);
    return EXEC_NEXT;
}

ExecResult exec_cluster_wait(Warp *warp, const Insn *insn, uint32_t mask) {
    uint32_t absent = mask & ~(warp->cluster_arrived | warp->cluster_passed);
    Split *split = warp->current;
    if (insn_has(insn, WORD_aligned) && !warp_converged(warp, insn, mask))
        return EXEC_NEXT;
    if (absent) {
        report(warp, insn, (uint32_t)__builtin_ctz(absent), sim_cluster_arrival, "waits at",
               "without having arrived");
        return EXEC_NEXT;
    }
    warp->machine->counts->barrier_waits++;
    split->wait_mask = mask;
    if (pass(warp, split))
        return EXEC_NEXT;
    split->wait = WAIT_CLUSTER;
    return EXEC_WAIT;
}

void cluster_describe_wait(Warp *warp, const Insn *insn) {
    const Cluster *cluster = warp->cta->cluster;
    const uint32_t *id = warp->cta->id;
    uint32_t arrived = 0, alive = 0;
    for (uint32_t w = 0; w < cluster->warp_count; w++) {
        arrived += (uint32_t)__builtin_popcount(cluster->warps[w].cluster_arrived);
        alive += (uint32_t)__builtin_popcount(cluster->warps[w].alive);
    }
    diag_note(&warp->machine->ctx->diags, finding_span(warp->machine, insn),
              "warp %u of program (%u, %u, %u) waits at the barrier of the cluster, where %u of %u "
              "threads have arrived",
              warp->index, id[0], id[1], id[2], arrived, alive);
}
