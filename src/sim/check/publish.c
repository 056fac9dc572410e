/* What programs have made known to each other: releases and acquires are fences before and behind
 * an access. A fence exports what its threads know: by the vector clock of their warp what they did
 * themselves, and others of the program before a barrier. A strong write publishes what its thread
 * has exported: it is known from the machine's time on, and the written word has that time. A
 * strong read finds the time of its word, and a fence behind it acquires that. What is exported,
 * found and acquired lies in the vector clocks, so that barriers hand it on. An access is ordered
 * after another one when what was published until the time that its thread has acquired has it. By
 * such times more may seem known than is, what others published elsewhere at that time: a race may
 * be missed, none is made up. */
#include "sim/check/publish.h"

#include "sim/check/clock.h"
#include "sim/check/global.h"
#include "sim/state/program.h"
#include "sim/state/team.h"

static void lock_order(Machine *machine) {
    if (machine->team)
        team_lock_order(machine);
}

static void unlock_order(Machine *machine) {
    if (machine->team)
        team_unlock_order(machine);
}

static Publications **all_published(const Machine *machine) {
    return __atomic_load_n(&machine->order->published, __ATOMIC_ACQUIRE);
}

/* Since when the access of a thread is published; UINT64_MAX: it is not. */
static uint64_t known_since(const Publications *all, uint32_t lane, uint32_t epoch) {
    size_t lo = 0, hi = all->len;
    while (lo < hi) {
        size_t middle = (lo + hi) / 2;
        if (clock_entry_knows(&all->data[middle].known, lane, epoch))
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo < all->len ? all->data[lo].time : UINT64_MAX;
}

/* In the same cluster its barrier and mbarriers order as well. */
static bool seen_in_cluster(const Warp *warp, uint32_t lane, const GlobalMark *mark) {
    const Cluster *cluster = warp->cta->cluster;
    for (uint32_t rank = 0; rank < cluster->size; rank++) {
        const Cta *cta = &cluster->ctas[rank];
        SharedCell access = {.epoch = mark->epoch, .lane = (uint8_t)(mark->thread % LANES)};
        access.actor = (uint16_t)(rank * cta->warp_count + mark->thread / LANES);
        if (cta->number + 1 == mark->program)
            return clock_has_seen(warp, lane, &access);
    }
    return false;
}

/* Whether it is known by that time. */
static bool is_known(const Warp *warp, uint32_t lane, const GlobalMark *mark, uint64_t time) {
    Machine *machine = warp->machine;
    uint64_t since = UINT64_MAX;
    if (all_published(machine)) {
        lock_order(machine);
        const Publications *all = machine->order->published[mark->program - 1];
        since = all ? known_since(&all[mark->thread / LANES], mark->thread % LANES, mark->epoch)
                    : UINT64_MAX;
        unlock_order(machine);
    }
    return since <= time || seen_in_cluster(warp, lane, mark);
}

bool publish_orders(const Warp *warp, uint32_t lane, const GlobalMark *mark) {
    uint64_t acquired = warp->clock.acquired;
    if (warp->extra_lanes >> lane & 1 && warp->extra.acquired > acquired)
        acquired = warp->extra.acquired;
    return is_known(warp, lane, mark, acquired);
}

bool publish_is_fenced(const Warp *warp, uint32_t lane, const GlobalMark *mark) {
    uint64_t proxied = warp->clock.proxied;
    if (warp->extra_lanes >> lane & 1 && warp->extra.proxied > proxied)
        proxied = warp->extra.proxied;
    return is_known(warp, lane, mark, proxied);
}

/* Publications; `order` is locked. */

static SyncWord *sync_place(SyncWord *words, size_t cap, uint64_t address) {
    size_t at = (size_t)(address * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (cap - 1);
    while (words[at].address && words[at].address != address)
        at = (at + 1) & (cap - 1);
    return &words[at];
}

/* The time of a word; 0: nothing was published there. */
static uint64_t sync_time(const GlobalOrder *order, uint64_t address) {
    return order->sync_cap ? sync_place(order->sync_words, order->sync_cap, address)->time : 0;
}

static void sync_note(Machine *machine, uint64_t address, uint64_t time) {
    GlobalOrder *order = machine->order;
    if (2 * order->sync_count >= order->sync_cap) {
        size_t cap = order->sync_cap ? 2 * order->sync_cap : 64;
        SyncWord *words = ARENA_ARRAY(machine->arena, SyncWord, cap);
        for (size_t i = 0; i < order->sync_cap; i++)
            if (order->sync_words[i].address)
                *sync_place(words, cap, order->sync_words[i].address) = order->sync_words[i];
        order->sync_words = words;
        order->sync_cap = cap;
    }
    SyncWord *word = sync_place(order->sync_words, order->sync_cap, address);
    order->sync_count += !word->address;
    *word = (SyncWord){address, time};
}

static Publications *publications_of(Machine *machine, const Cta *cta) {
    GlobalOrder *order = machine->order;
    if (!order->published)
        __atomic_store_n(&order->published,
                         ARENA_ARRAY(machine->arena, Publications *, machine->program_count),
                         __ATOMIC_RELEASE);
    Publications **all = &order->published[cta->number];
    if (!*all)
        *all = ARENA_ARRAY(machine->arena, Publications, cta->warp_count);
    return *all;
}

/* What the lane has exported is there for those who find the time that is returned; 0: it has
 * nothing. */
static uint64_t publish(Warp *warp, uint32_t lane) {
    Machine *machine = warp->machine;
    Cta *cta = warp->cta;
    bool any = false;
    clock_export(warp, lane, cta->published);
    for (uint32_t w = 0; w < cta->warp_count; w++)
        any |= cta->published[w].all || cta->published[w].some;
    if (!any)
        return 0;
    Publications *all = publications_of(machine, cta);
    uint64_t time = ++machine->order->time;
    for (uint32_t w = 0; w < cta->warp_count; w++) {
        const ClockEntry *known = &cta->published[w];
        Publications *own = &all[w];
        if (own->len && !memcmp(&own->data[own->len - 1].known, known, sizeof *known))
            continue;
        vec_push(machine->arena, own, ((Publication){.time = time, .known = *known}));
    }
    return time;
}

void publish_access(Warp *warp, uint32_t lane, uint64_t address, uint32_t size, AccessKind kind) {
    Machine *machine = warp->machine;
    uint64_t first = address / 4, last = (address + size - 1) / 4, time = 0;
    bool reads = kind != ACCESS_WRITE, writes = kind != ACCESS_READ;
    if (!writes && !all_published(machine))
        return;
    lock_order(machine);
    for (uint64_t word = first; word <= last && reads; word++) {
        uint64_t found = sync_time(machine->order, word);
        time = found > time ? found : time;
    }
    uint64_t now = writes ? publish(warp, lane) : 0;
    for (uint64_t word = first; word <= last && now; word++)
        sync_note(machine, word, now);
    unlock_order(machine);
    if (time)
        clock_find(warp, lane, time);
}

bool race_reaches_programs(const Warp *warp, const Insn *insn) {
    return !insn_has(insn, WORD_cta) &&
           !(insn_has(insn, WORD_cluster) && warp->cta->cluster->size == 1);
}

void race_release(Warp *warp, const Insn *insn, uint32_t mask) {
    if (warp->machine->program_count > 1 && race_reaches_programs(warp, insn))
        clock_program_fence(warp, mask);
}

void race_acquire(Warp *warp, const Insn *insn, uint32_t mask) {
    Clock *now = &warp->cta->cluster->scratch;
    uint64_t found = warp->clock.found;
    if (warp->extra_lanes & mask && warp->extra.found > found)
        found = warp->extra.found;
    if (found <= warp->clock.acquired || !race_reaches_programs(warp, insn))
        return;
    clock_reset(warp->cta->cluster, now);
    now->acquired = found;
    clock_acquire(warp, mask, now);
}
