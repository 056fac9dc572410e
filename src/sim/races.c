/* Races: accesses of different threads to a byte, one of them a write, that nothing orders.
 *
 * Shared memory: warps have vector clocks that barriers join. An access lies in its warp's epoch;
 * another warp is behind it once its clock has reached that epoch. Lanes of one warp are ordered by
 * the end of an epoch (a barrier, bar.warp.sync). Global memory: see docs/simulator.md. */
#include "sim/races.h"

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
        if (wgmma_in_flight(owner, cell)) {
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

/* Global memory. */

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

static ReleaseTimes *all_releases(const Machine *machine) {
    return __atomic_load_n(&machine->order->releases, __ATOMIC_ACQUIRE);
}

static ReleaseTimes *releases_of(const Machine *machine, uint32_t program) {
    ReleaseTimes *all = all_releases(machine);
    return all ? &all[program] : NULL;
}

/* The other program has released after its epoch, and this one acquired after that. */
static bool is_behind(const Cta *cta, uint32_t other, uint32_t epoch) {
    const ReleaseTimes *times = releases_of(cta->machine, other - 1);
    if (!times)
        return false;
    lock_order(cta->machine);
    bool behind = epoch < times->len && times->data[epoch] < cta->acquired;
    unlock_order(cta->machine);
    return behind;
}

static uint32_t epoch_of(const Cta *cta) {
    const ReleaseTimes *times = releases_of(cta->machine, cta->number);
    return times ? (uint32_t)times->len : 0;
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
        !is_behind(cta, cell->writer, cell->write_epoch)) {
        report_global(warp, insn, lane, target, did, "a store", cell->writer, cell->write_thread,
                      cell->write_pc);
        return true;
    }
    if (kind == ACCESS_READ || !cell->reader || cell->reader == me || !(cell->read_bytes & bytes) ||
        (strong && cell->read_strong) || (kind == ACCESS_WRITE && same))
        return false;
    /* Of several readers the epochs are not known: once anybody has released they are taken to be
     * ordered. */
    bool ordered = cell->reader == UINT32_MAX ? all_releases(warp->machine) != NULL
                                              : is_behind(cta, cell->reader, cell->read_epoch);
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
        cell->read_epoch = epoch_of(warp->cta);
        cell->read_pc = insn_pc(warp, insn);
        cell->read_thread = thread;
        return;
    }
    bool mine = cell->writer == me;
    cell->write_bytes = (uint8_t)(mine ? cell->write_bytes | bytes : bytes);
    cell->writer = me;
    cell->write_strong = strong;
    cell->write_epoch = epoch_of(warp->cta);
    cell->write_pc = insn_pc(warp, insn);
    cell->write_thread = thread;
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

void race_release(Warp *warp, const Insn *insn) {
    Machine *machine = warp->machine;
    GlobalOrder *order = machine->order;
    lock_order(machine);
    if (!order->releases)
        __atomic_store_n(&order->releases,
                         ARENA_ARRAY(machine->arena, ReleaseTimes, machine->program_count),
                         __ATOMIC_RELEASE);
    ReleaseTimes *times = &order->releases[warp->cta->number];
    order->time++;
    vec_push(machine->arena, times, order->time);
    unlock_order(machine);
}

void race_acquire(Warp *warp, const Insn *insn) {
    lock_order(warp->machine);
    warp->cta->acquired = ++warp->machine->order->time;
    unlock_order(warp->machine);
}
