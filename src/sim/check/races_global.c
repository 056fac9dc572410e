/* Races in global memory: accesses of different threads to a byte, one of them a write, that
 * nothing orders. Threads of one program are ordered as in shared memory (races.c), those of
 * different ones by what their programs have published (publish.c). */
#include "sim/check/races_global.h"

#include "sim/check/findings.h"
#include "sim/check/flags.h"
#include "sim/check/global.h"
#include "sim/check/global_cells.h"
#include "sim/check/publish.h"
#include "sim/state/host_memory.h"
#include "sim/state/program.h"

static bool is_mine(const GlobalAccess *access, const GlobalMark *mark) {
    return mark->program == access->warp->cta->number + 1;
}

static void report_global(const GlobalAccess *access, uint64_t offset, const char *other,
                          const GlobalMark *mark) {
    Warp *warp = access->warp;
    const Machine *machine = warp->machine;
    const Allocation *allocation = access->target->allocation;
    uint32_t number = mark->program - 1, x = machine->grid[0], y = machine->grid[1];
    const char *did = access->kind == ACCESS_READ ? "load" : "store";
    bool mine = is_mine(access, mark);
    if (!report(warp, access->insn, access->lane, sim_global_race, did, allocation->base + offset,
                STR_ARG(allocation->name), offset, other,
                mine ? "another thread: no barrier lies between" : "another program"))
        return;
    Arena *arena = &machine->ctx->arena;
    const char *who =
        mine ? str_format(arena, "warp %u, lane %u", mark->thread / LANES, mark->thread % LANES)
             : str_format(arena, "program (%u, %u, %u), thread %u", number % x, number / x % y,
                          number / x / y, mark->thread);
    finding_other(warp, mark->pc, who, other[2] == 's' ? "stored" : "loaded");
}

/* Whether the access and a marked one, of which one writes, may come in either order. */
static bool may_conflict(const GlobalAccess *access, const GlobalMark *mark) {
    bool mine = is_mine(access, mark);
    bool strong =
        mine ? access->strong_inside && mark->strong_inside : access->strong && mark->strong;
    return mark->program && !strong && !global_is_ordered(access, mark);
}

/* Threads that have written a value find it, whoever of its program has written it, too. */
static bool has_written_same(const GlobalAccess *access, const GlobalCell *cell) {
    return cell->again.program && cell->same_warps >> access->warp->index & 1 &&
           (cell->same_lanes >> access->lane & 1 ||
            cell->write.thread / LANES != access->warp->index);
}

static bool load_races(const GlobalAccess *access, const GlobalCell *cell, uint64_t offset) {
    if (!may_conflict(access, &cell->write))
        return false;
    if (is_mine(access, &cell->write) &&
        (has_written_same(access, cell) ||
         (cell->again.program && !may_conflict(access, &cell->again))))
        return false;
    report_global(access, offset, "a store", &cell->write);
    return true;
}

/* What a bulk copy of the program reads an mbarrier orders, which is not followed here. */
static bool store_races(const GlobalAccess *access, GlobalCell *cell, uint64_t offset) {
    const GlobalMark *writes[] = {&cell->again, &cell->write};
    for (unsigned i = 0; i < 2; i++)
        if (may_conflict(access, writes[i])) {
            report_global(access, offset, "a store", writes[i]);
            return true;
        }
    for (unsigned i = 0; i < 2; i++) {
        GlobalMark *read = &cell->reads[i];
        if (!read->program || (is_mine(access, read) && read->by_proxy))
            continue;
        if (may_conflict(access, read)) {
            report_global(access, offset, "a load", read);
            return true;
        }
    }
    return false;
}

static bool report_proxy(const GlobalAccess *access, const GlobalCell *cell, uint64_t offset,
                         const char *between, const char *who) {
    Warp *warp = access->warp;
    const Allocation *allocation = access->target->allocation;
    if (report(warp, access->insn, access->lane, sim_proxy_global, allocation->base + offset,
               STR_ARG(allocation->name), offset, between))
        finding_other(warp, cell->write.pc, who, "stored");
    return true;
}

/* What other programs wrote, through either proxy, the generic one has where it was acquired. Where
 * nothing orders it at all the race is the finding. */
static bool proxy_races_others(const GlobalAccess *access, const GlobalCell *cell,
                               uint64_t offset) {
    const GlobalMark *write = &cell->write;
    if (!access->by_proxy || !write->program || !global_is_ordered(access, write) ||
        publish_is_fenced(access->warp, access->lane, write))
        return false;
    return report_proxy(access, cell, offset, "the acquire of a store of another program",
                        "another program");
}

/* Against what the asynchronous proxy, or for it threads, did to the piece. */
static bool proxy_races(const GlobalAccess *access, const GlobalCell *cell, uint64_t offset) {
    Warp *warp = access->warp;
    const Allocation *allocation = access->target->allocation;
    const GlobalMark *write = &cell->write;
    if (!is_mine(access, write))
        return proxy_races_others(access, cell, offset);
    uint64_t address = allocation->base + offset;
    if (cell->is_pending && !(access->by_proxy && access->kind != ACCESS_READ)) {
        if (report(warp, access->insn, access->lane, sim_bulk_global, address,
                   STR_ARG(allocation->name), offset))
            finding_other(warp, write->pc, "a thread", "started the copy");
        return true;
    }
    if (!access->by_proxy || write->by_proxy || cell->write_fences != warp->cta->proxy_fences + 1)
        return false;
    return report_proxy(access, cell, offset, "a store of the program", "a thread");
}

static bool writes_same(const GlobalAccess *access, uint64_t offset, uint32_t size) {
    uint64_t at = offset - access->target->offset;
    return access->value &&
           host_equal(access->warp->machine, access->target->data + at, access->value + at, size);
}

/* One finding is enough for an instruction. */
static void check_cell(const GlobalAccess *access, GlobalCell *cell, uint64_t offset,
                       uint32_t size) {
    bool same = writes_same(access, offset, size);
    bool raced = proxy_races(access, cell, offset);
    if (access->kind == ACCESS_READ)
        raced = raced || load_races(access, cell, offset);
    else if (!same || access->kind == ACCESS_ATOMIC)
        raced = raced || store_races(access, cell, offset);
    global_note(access, cell, same);
}

static void access_global(const GlobalAccess *access, uint32_t size) {
    const Warp *warp = access->warp;
    const Machine *machine = warp->machine;
    bool alone = machine->program_count == 1 && warp->cta->thread_count == 1;
    if ((alone && !machine->module->has_bulk) || !size)
        return;
    global_visit(access, access->target->offset, size, check_cell);
    if (access->strong && !access->by_proxy && machine->program_count > 1)
        publish_access(access->warp, access->lane,
                       access->target->allocation->base + access->target->offset, size,
                       access->kind);
}

void race_global(Warp *warp, const Insn *insn, uint32_t lane, const Target *target, uint32_t size,
                 AccessKind kind, bool strong, const uint8_t *value) {
    access_global(&(GlobalAccess){.warp = warp,
                                  .insn = insn,
                                  .lane = lane,
                                  .target = target,
                                  .kind = kind,
                                  .strong = strong && race_reaches_programs(warp, insn),
                                  .strong_inside = strong,
                                  .value = value},
                  size);
    if (!strong)
        return;
    if (kind != ACCESS_WRITE)
        flag_read(warp, insn, lane, target);
    if (kind != ACCESS_READ)
        flag_write(warp, insn, lane, target);
}

void race_global_async(Warp *warp, const Insn *insn, uint32_t lane, const Target *target,
                       uint32_t size, AccessKind kind) {
    bool strong = kind == ACCESS_ATOMIC;
    access_global(&(GlobalAccess){.warp = warp,
                                  .insn = insn,
                                  .lane = lane,
                                  .target = target,
                                  .kind = kind,
                                  .strong = strong,
                                  .strong_inside = strong,
                                  .by_proxy = true},
                  size);
}

/* A wait has covered the copy: its thread has written now. */
static void end_write(const GlobalAccess *access, GlobalCell *cell, uint64_t offset,
                      uint32_t size) {
    cell->is_pending = false;
    if (is_mine(access, &cell->write) && cell->write.by_proxy)
        cell->write.epoch = access->warp->epoch;
}

void race_global_written(Warp *warp, const Target *target, uint32_t size) {
    global_visit(&(GlobalAccess){.warp = warp, .target = target}, target->offset, size, end_write);
}
