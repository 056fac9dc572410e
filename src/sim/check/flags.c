/* Flags in shared memory, and in global memory for the threads of a cluster: strong stores and
 * atomics by which threads tell others that they have written, and strong loads that find them.
 *
 * A word that is written by a release, or by a strong access behind a fence that releases, gets a
 * vector clock: what the writer knew. An acquire of that word, or a fence that acquires behind a
 * strong load of it, knows it too. Of more words than are followed the others share a clock: a race
 * may be missed, none is made up. */
#include "sim/check/flags.h"

#include "sim/check/clock.h"
#include "sim/state/program.h"

enum { MAX_FLAGS = 64 };

struct Flag {
    const void *owner; /* of the word: a program or an allocation */
    uint64_t address;
    Clock clock;
};

static const void *owner_of(const Target *target) {
    return target->cta ? (const void *)target->cta : target->allocation;
}

/* The flag at a place; NULL when nothing was published there. */
static Flag *find_flag(const Cluster *cluster, const Target *target) {
    for (uint32_t i = 0; i < cluster->flag_count; i++) {
        Flag *flag = &cluster->flags[i];
        if (i == MAX_FLAGS - 1 ||
            (flag->owner == owner_of(target) && flag->address == target->offset))
            return flag;
    }
    return NULL;
}

static Flag *add_flag(Machine *machine, Cluster *cluster, const Target *target) {
    if (!cluster->flags)
        cluster->flags = ARENA_ARRAY(machine->arena, Flag, MAX_FLAGS);
    Flag *flag = &cluster->flags[cluster->flag_count++];
    flag->owner = owner_of(target);
    flag->address = target->offset;
    if (!flag->clock.seen)
        flag->clock = clock_create(machine, cluster);
    return flag;
}

void flags_reset(Cluster *cluster) {
    for (uint32_t i = 0; i < cluster->flag_count; i++)
        clock_reset(cluster, &cluster->flags[i].clock);
    cluster->flag_count = 0;
}

void flag_write(Warp *warp, const Insn *insn, uint32_t lane, const Target *target) {
    Cluster *cluster = warp->cta->cluster;
    bool releases = insn_has(insn, WORD_release) || insn_has(insn, WORD_acq_rel);
    if (!releases && !(warp->fence_lanes >> lane & 1))
        return;
    Flag *flag = find_flag(cluster, target);
    if (!flag)
        flag = add_flag(warp->machine, cluster, target);
    if (releases)
        clock_release(warp, 1u << lane, &flag->clock);
    else
        clock_join(cluster, &flag->clock, &warp->fence_clock);
}

void flag_read(Warp *warp, const Insn *insn, uint32_t lane, const Target *target) {
    const Flag *flag = find_flag(warp->cta->cluster, target);
    if (!flag)
        return;
    if (insn_has(insn, WORD_acquire) || insn_has(insn, WORD_acq_rel)) {
        clock_acquire(warp, 1u << lane, &flag->clock);
        return;
    }
    if (!warp->flag_clock.seen)
        warp->flag_clock = clock_create(warp->machine, warp->cta->cluster);
    clock_join(warp->cta->cluster, &warp->flag_clock, &flag->clock);
    warp->flag_lanes |= 1u << lane;
}

void flags_acquire(Warp *warp, uint32_t mask) {
    if (!(warp->flag_lanes & mask))
        return;
    clock_acquire(warp, mask, &warp->flag_clock);
    warp->flag_lanes &= ~mask;
    if (!warp->flag_lanes)
        clock_reset(warp->cta->cluster, &warp->flag_clock);
}
