/* Races in global memory: accesses of different programs to a byte, one of them a write, that
 * nothing orders.
 *
 * Each word remembers its last write and read: program, thread, and the epoch of the thread's warp.
 *
 * Releases and acquires are fences before and behind an access. A fence exports what its threads
 * know: by the vector clock of their warp what they did themselves, and others of the program
 * before a barrier. A strong write publishes what its thread has exported: it is known from the
 * machine's time on, and the written word has that time. A strong read finds the time of its word,
 * and a fence behind it acquires that. What is exported, found and acquired lies in the vector
 * clocks, so that barriers hand it on. An access is ordered after another one when what was
 * published until the time that its thread has acquired has it. By such times more may seem known
 * than is, what others published elsewhere at that time: a race may be missed, none is made up. */
#include "sim/machine.h"

static void lock_order(Machine *machine) {
    if (machine->team)
        team_lock_order(machine);
}

static void unlock_order(Machine *machine) {
    if (machine->team)
        team_unlock_order(machine);
}

static GlobalCell *cells_of(Machine *machine, const Allocation *allocation) {
    size_t index = (size_t)(allocation - machine->memory->allocations.data);
    GlobalCell **at = &machine->order->cells[index], *cells = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    if (cells)
        return cells;
    lock_order(machine);
    if (!*at)
        __atomic_store_n(at, ARENA_ARRAY(machine->arena, GlobalCell, allocation->size / 4 + 1),
                         __ATOMIC_RELEASE);
    cells = *at;
    unlock_order(machine);
    return cells;
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
static bool seen_in_cluster(const Warp *warp, uint32_t lane, uint32_t program, uint32_t thread,
                            uint32_t epoch) {
    const Cluster *cluster = warp->cta->cluster;
    for (uint32_t rank = 0; rank < cluster->size; rank++) {
        const Cta *cta = &cluster->ctas[rank];
        SharedCell access = {.epoch = epoch, .lane = (uint8_t)(thread % LANES)};
        access.actor = (uint16_t)(rank * cta->warp_count + thread / LANES);
        if (cta->number == program)
            return clock_has_seen(warp, lane, &access);
    }
    return false;
}

/* Whether what a thread of another program (its number + 1) did in an epoch of its warp is before
 * what `lane` does now. */
static bool is_behind(const Warp *warp, uint32_t lane, uint32_t other, uint32_t thread,
                      uint32_t epoch) {
    Machine *machine = warp->machine;
    uint64_t acquired = warp->clock.acquired, since = UINT64_MAX;
    if (warp->extra_lanes >> lane & 1 && warp->extra.acquired > acquired)
        acquired = warp->extra.acquired;
    if (all_published(machine)) {
        lock_order(machine);
        const Publications *all = machine->order->published[other - 1];
        since = all ? known_since(&all[thread / LANES], thread % LANES, epoch) : UINT64_MAX;
        unlock_order(machine);
    }
    return since <= acquired || seen_in_cluster(warp, lane, other - 1, thread, epoch);
}

static void report_global(Warp *warp, const Insn *insn, uint32_t lane, const Target *target,
                          const char *did, const char *other, uint32_t program, uint32_t thread,
                          uint32_t pc) {
    const Machine *machine = warp->machine;
    const Allocation *allocation = target->allocation;
    uint32_t number = program - 1, x = machine->grid[0], y = machine->grid[1];
    if (!report(warp, insn, lane, sim_global_race, did, allocation->base + target->offset,
                STR_ARG(allocation->name), target->offset, other))
        return;
    const char *who = program == UINT32_MAX
                          ? "another program"
                          : str_format(&machine->ctx->arena, "program (%u, %u, %u), thread %u",
                                       number % x, number / x % y, number / x / y, thread);
    finding_other(warp, pc, who, other[2] == 's' ? "stored" : "loaded");
}

static bool word_races(Warp *warp, const Insn *insn, uint32_t lane, const Target *target,
                       GlobalCell *cell, uint8_t bytes, AccessKind kind, bool strong, bool same) {
    Cta *cta = warp->cta;
    uint32_t me = cta->number + 1;
    const char *did = kind == ACCESS_READ ? "load" : "store";
    if (cell->writer && cell->writer != me && cell->write_bytes & bytes &&
        !(strong && cell->write_strong) && !(kind == ACCESS_WRITE && same) &&
        !is_behind(warp, lane, cell->writer, cell->write_thread, cell->write_epoch)) {
        report_global(warp, insn, lane, target, did, "a store", cell->writer, cell->write_thread,
                      cell->write_pc);
        return true;
    }
    if (kind == ACCESS_READ || !cell->reader || cell->reader == me || !(cell->read_bytes & bytes) ||
        (strong && cell->read_strong) || (kind == ACCESS_WRITE && same))
        return false;
    /* Of several readers the epochs are not known: once anybody has published they are taken to
     * be ordered. */
    bool ordered = cell->reader == UINT32_MAX
                       ? all_published(warp->machine) != NULL
                       : is_behind(warp, lane, cell->reader, cell->read_thread, cell->read_epoch);
    if (ordered)
        return false;
    report_global(warp, insn, lane, target, did, "a load", cell->reader, cell->read_thread,
                  cell->read_pc);
    return true;
}

static void note_word(Warp *warp, const Insn *insn, uint32_t lane, GlobalCell *cell, uint8_t bytes,
                      AccessKind kind, bool strong) {
    uint32_t me = warp->cta->number + 1;
    uint16_t thread = (uint16_t)(warp->index * LANES + lane);
    if (kind == ACCESS_READ) {
        bool others = cell->reader && cell->reader != me;
        cell->read_bytes = (uint8_t)(cell->reader ? cell->read_bytes | bytes : bytes);
        cell->read_strong = strong && (!cell->reader || cell->read_strong);
        cell->reader = others ? UINT32_MAX : me;
        cell->read_epoch = warp->epoch;
        cell->read_pc = insn_pc(warp, insn);
        cell->read_thread = thread;
        return;
    }
    /* Once there are publications what was written before it is told from what is written now. */
    bool mine =
        cell->writer == me && (cell->write_epoch == warp->epoch || !all_published(warp->machine));
    cell->write_bytes = (uint8_t)(mine ? cell->write_bytes | bytes : bytes);
    cell->writer = me;
    cell->write_strong = strong;
    cell->write_epoch = warp->epoch;
    cell->write_pc = insn_pc(warp, insn);
    cell->write_thread = thread;
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

/* A strong access of a lane: finds what is published at the words, then publishes there. */
static void synchronise(Warp *warp, uint32_t lane, uint64_t address, uint32_t size,
                        AccessKind kind) {
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

/* Who accesses global memory, and how. */
typedef struct GlobalAccess {
    Warp *warp;
    const Insn *insn;
    uint32_t lane;
    const Target *target;
    AccessKind kind;
    bool strong, same, by_proxy;
} GlobalAccess;

/* Against what the asynchronous proxy, or for it the program's threads, did to the word. */
static bool proxy_races(const GlobalAccess *access, const GlobalCell *cell) {
    Warp *warp = access->warp;
    const Target *target = access->target;
    if (cell->writer != warp->cta->number + 1)
        return false;
    uint64_t address = target->allocation->base + target->offset;
    if (cell->is_pending && !(access->by_proxy && access->kind != ACCESS_READ)) {
        if (report(warp, access->insn, access->lane, sim_bulk_global, address,
                   STR_ARG(target->allocation->name), target->offset))
            finding_other(warp, cell->write_pc, "a thread", "started the copy");
        return true;
    }
    if (!access->by_proxy || cell->write_async || cell->write_fences != warp->cta->proxy_fences + 1)
        return false;
    if (report(warp, access->insn, access->lane, sim_proxy_global, address,
               STR_ARG(target->allocation->name), target->offset))
        finding_other(warp, cell->write_pc, "a thread", "stored");
    return true;
}

static void access_global(const GlobalAccess *access, uint32_t size) {
    Warp *warp = access->warp;
    Machine *machine = warp->machine;
    if ((machine->program_count == 1 && !machine->module->has_bulk) || !size)
        return;
    const Target *target = access->target;
    GlobalCell *cells = cells_of(machine, target->allocation);
    uint64_t begin = target->offset, end = begin + size;
    bool raced = false;
    for (uint64_t word = begin / 4; word <= (end - 1) / 4; word++) {
        unsigned lo = begin > word * 4 ? (unsigned)(begin - word * 4) : 0;
        unsigned hi = end < word * 4 + 4 ? (unsigned)(end - word * 4) : 4;
        uint8_t bytes = (uint8_t)((1u << hi) - (1u << lo));
        GlobalCell *cell = &cells[word];
        if (machine->team)
            team_hold_cell(machine, cell);
        if (!raced)
            raced = word_races(warp, access->insn, access->lane, target, cell, bytes, access->kind,
                               access->strong, access->same) ||
                    proxy_races(access, cell);
        note_word(warp, access->insn, access->lane, cell, bytes, access->kind, access->strong);
        if (access->kind == ACCESS_READ)
            continue;
        cell->write_async = cell->is_pending = access->by_proxy;
        cell->write_fences = warp->cta->proxy_fences + 1;
    }
    if (machine->team)
        team_release_cell(machine);
    if (access->strong && !access->by_proxy && machine->program_count > 1)
        synchronise(warp, access->lane, target->allocation->base + begin, size, access->kind);
}

void race_global(Warp *warp, const Insn *insn, uint32_t lane, const Target *target, uint32_t size,
                 AccessKind kind, bool strong, const uint8_t *value) {
    bool same = value && host_equal(warp->machine, target->data, value, size);
    access_global(&(GlobalAccess){warp, insn, lane, target, kind, strong, same, false}, size);
}

void race_global_async(Warp *warp, const Insn *insn, uint32_t lane, const Target *target,
                       uint32_t size, AccessKind kind) {
    bool strong = kind == ACCESS_ATOMIC;
    access_global(&(GlobalAccess){warp, insn, lane, target, kind, strong, false, true}, size);
}

void race_global_written(Warp *warp, const Target *target, uint32_t size) {
    Machine *machine = warp->machine;
    GlobalCell *cells = cells_of(machine, target->allocation);
    for (uint64_t word = target->offset / 4; word <= (target->offset + size - 1) / 4; word++) {
        if (machine->team)
            team_hold_cell(machine, &cells[word]);
        cells[word].is_pending = false;
    }
    if (machine->team)
        team_release_cell(machine);
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
