/* Vector clocks: what a warp, a barrier or a copy knows of what others have done.
 *
 * An actor is a warp of the cluster, or an mbarrier of one of its programs, whose epochs are its
 * phases. An entry says how far an actor is known: all accesses up to epoch `all`, and those of the
 * lanes `lanes` up to epoch `some`, since threads that arrive somewhere speak for themselves only.
 * What is known is kept twice: `seen`, and `fenced`, what its threads have fenced with a
 * fence.proxy.async on the way here and so may be touched by the asynchronous proxy. A third time
 * as `exported`: what has come before a fence that other programs see. What these have published is
 * known by times: those that strong reads have found, that fences have acquired, and of the latter
 * those behind which the asynchronous proxy may touch global memory. A warp has one clock for
 * what all its lanes know and another for what some of them know besides. Where sets of lanes would
 * have to be kept apart they are united: a race may be missed, none is made up. */
#include "sim/check/clock.h"

#include "sim/state/program.h"

enum { MAX_TRACKED_MBARRIERS = 64 }; /* of a program */

Clock clock_create(Machine *machine, const Cluster *cluster) {
    ClockEntry *entries = ARENA_ARRAY(machine->arena, ClockEntry, 3 * (size_t)cluster->max_actors);
    return (Clock){.seen = entries,
                   .fenced = entries + cluster->max_actors,
                   .exported = entries + 2 * (size_t)cluster->max_actors};
}

uint32_t clock_max_actors(const Machine *machine, const Cluster *cluster) {
    return cluster->reader_count +
           (machine->module->has_mbarriers ? MAX_TRACKED_MBARRIERS * cluster->size : 0);
}

void clock_reset(const Cluster *cluster, Clock *clock) {
    memset(clock->seen, 0, cluster->actor_count * sizeof *clock->seen);
    memset(clock->fenced, 0, cluster->actor_count * sizeof *clock->fenced);
    memset(clock->exported, 0, cluster->actor_count * sizeof *clock->exported);
    clock->found = clock->acquired = clock->proxied = 0;
}

static void join_entry(ClockEntry *to, const ClockEntry *from) {
    if (from->all > to->all)
        to->all = from->all;
    if (from->some > to->some)
        to->some = from->some;
    to->lanes |= from->lanes;
    if (to->lanes == ALL_LANES && to->some > to->all)
        to->all = to->some;
    if (to->some <= to->all)
        to->some = to->lanes = 0;
}

static void join(const Cluster *cluster, ClockEntry *to, const ClockEntry *from) {
    for (uint32_t i = 0; i < cluster->actor_count; i++)
        join_entry(&to[i], &from[i]);
}

void clock_join(const Cluster *cluster, Clock *to, const Clock *from) {
    join(cluster, to->seen, from->seen);
    join(cluster, to->fenced, from->fenced);
    join(cluster, to->exported, from->exported);
    to->found = from->found > to->found ? from->found : to->found;
    to->acquired = from->acquired > to->acquired ? from->acquired : to->acquired;
    to->proxied = from->proxied > to->proxied ? from->proxied : to->proxied;
}

/* What the lanes know and did, without ending the epoch. */
static void tell(const Warp *warp, uint32_t mask, Clock *to) {
    const Cluster *cluster = warp->cta->cluster;
    bool whole = mask == warp->alive;
    clock_join(cluster, to, &warp->clock);
    if (warp->extra_lanes & mask)
        clock_join(cluster, to, &warp->extra);
    ClockEntry own = {
        .all = whole ? warp->epoch : 0, .some = whole ? 0 : warp->epoch, .lanes = whole ? 0 : mask};
    join_entry(&to->seen[warp->clock_index], &own);
}

void clock_release(Warp *warp, uint32_t mask, Clock *to) {
    tell(warp, mask, to);
    warp->epoch++;
}

void clock_fence(Warp *warp, uint32_t mask) {
    if (!warp->fence_clock.seen)
        warp->fence_clock = clock_create(warp->machine, warp->cta->cluster);
    if (!(warp->fence_lanes & ~mask))
        clock_reset(warp->cta->cluster, &warp->fence_clock);
    warp->fence_lanes |= mask;
    clock_release(warp, mask, &warp->fence_clock);
}

void clock_acquire(Warp *warp, uint32_t mask, const Clock *from) {
    const Cluster *cluster = warp->cta->cluster;
    if (mask == warp->alive) {
        clock_join(cluster, &warp->clock, from);
        return;
    }
    if (!warp->extra_lanes)
        clock_reset(cluster, &warp->extra);
    warp->extra_lanes |= mask;
    clock_join(cluster, &warp->extra, from);
}

void clock_meet(Warp *warp, uint32_t mask) {
    Clock *all = &warp->cta->cluster->scratch;
    clock_reset(warp->cta->cluster, all);
    clock_release(warp, mask, all);
    if (mask == warp->alive)
        warp->extra_lanes = 0;
    clock_acquire(warp, mask, all);
}

/* The fence is for the accesses of its own threads, and of those of the warp that they know of:
 * what other warps wrote they must have fenced themselves. */
void clock_proxy_fence(Warp *warp, uint32_t mask) {
    const Cluster *cluster = warp->cta->cluster;
    Clock *known = &warp->cta->cluster->scratch;
    clock_reset(cluster, known);
    clock_release(warp, mask, known);
    join_entry(&known->fenced[warp->clock_index], &known->seen[warp->clock_index]);
    memset(known->seen, 0, cluster->actor_count * sizeof *known->seen);
    clock_acquire(warp, mask, known);
}

void clock_proxy_fence_global(Warp *warp, uint32_t mask) {
    Clock *known = &warp->cta->cluster->scratch;
    clock_reset(warp->cta->cluster, known);
    known->proxied = warp->clock.acquired;
    if (warp->extra_lanes & mask && warp->extra.acquired > known->proxied)
        known->proxied = warp->extra.acquired;
    clock_acquire(warp, mask, known);
}

void clock_program_fence(Warp *warp, uint32_t mask) {
    const Cluster *cluster = warp->cta->cluster;
    Clock *known = &warp->cta->cluster->scratch;
    clock_reset(cluster, known);
    clock_release(warp, mask, known);
    join(cluster, known->exported, known->seen);
    memset(known->seen, 0, cluster->actor_count * sizeof *known->seen);
    clock_acquire(warp, mask, known);
}

void clock_export(const Warp *warp, uint32_t lane, ClockEntry *to) {
    uint32_t count = warp->cta->warp_count, first = warp->cta->rank * count;
    for (uint32_t w = 0; w < count; w++) {
        join_entry(&to[w], &warp->clock.exported[first + w]);
        if (warp->extra_lanes >> lane & 1)
            join_entry(&to[w], &warp->extra.exported[first + w]);
    }
}

void clock_find(Warp *warp, uint32_t lane, uint64_t time) {
    if (time <= warp->clock.found)
        return;
    if (!warp->extra_lanes)
        clock_reset(warp->cta->cluster, &warp->extra);
    warp->extra_lanes |= 1u << lane;
    warp->extra.found = time > warp->extra.found ? time : warp->extra.found;
}

static bool entry_knows(const ClockEntry *entry, const SharedCell *cell) {
    return cell->epoch <= entry->all ||
           (cell->epoch <= entry->some && !cell->several && entry->lanes >> cell->lane & 1);
}

bool clock_entry_knows(const ClockEntry *entry, uint32_t lane, uint32_t epoch) {
    return entry_knows(entry, &(SharedCell){.epoch = epoch, .lane = (uint8_t)lane});
}

bool clock_has_seen(const Warp *warp, uint32_t lane, const SharedCell *cell) {
    return entry_knows(&warp->clock.seen[cell->actor], cell) ||
           (warp->extra_lanes >> lane & 1 && entry_knows(&warp->extra.seen[cell->actor], cell));
}

bool clock_has_fenced(const Warp *warp, uint32_t lane, const SharedCell *cell) {
    return entry_knows(&warp->clock.fenced[cell->actor], cell) ||
           (warp->extra_lanes >> lane & 1 && entry_knows(&warp->extra.fenced[cell->actor], cell));
}
