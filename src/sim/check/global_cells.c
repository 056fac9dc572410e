/* Cells of global memory: who accessed a piece of it last.
 *
 * Memory is followed in pieces of GLOBAL_PIECE bytes, each of which is split in four, and those
 * again down to single bytes, when an access is to a part of it: so what different threads do to
 * different bytes is kept apart, and wide accesses cost little. Of reads two are kept, of different
 * warps and if possible of different programs, so that whoever writes finds one that is not its
 * own; of further ones a race may be missed. */
#include "sim/check/global_cells.h"

#include "sim/check/clock.h"
#include "sim/check/global.h"
#include "sim/check/publish.h"
#include "sim/state/program.h"
#include "sim/state/team.h"

/* Several machines may come first. */
static GlobalCell *cells_of(Machine *machine, const Allocation *allocation) {
    size_t index = (size_t)(allocation - machine->memory->allocations.data);
    GlobalCell **at = &machine->order->cells[index], *cells = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    if (cells)
        return cells;
    if (machine->team)
        team_lock_order(machine);
    if (!*at)
        __atomic_store_n(
            at, ARENA_ARRAY(machine->arena, GlobalCell, allocation->size / GLOBAL_PIECE + 1),
            __ATOMIC_RELEASE);
    cells = *at;
    if (machine->team)
        team_unlock_order(machine);
    return cells;
}

static void split(Machine *machine, GlobalCell *cell) {
    GlobalCell *parts = ARENA_ARRAY(machine->arena, GlobalCell, GLOBAL_PARTS);
    for (unsigned i = 0; i < GLOBAL_PARTS; i++)
        parts[i] = *cell;
    cell->parts = parts;
    cell->is_split = true;
}

/* The bytes from `begin` to `end` of a cell that stands for `size` bytes at `offset`. */
static void visit_cell(const GlobalAccess *access, GlobalCell *cell, uint64_t offset, uint32_t size,
                       uint64_t begin, uint64_t end, CellVisitor *visit) {
    bool whole = begin <= offset && end >= offset + size;
    if (whole && !cell->is_split) {
        visit(access, cell, offset, size);
        return;
    }
    if (!cell->is_split)
        split(access->warp->machine, cell);
    uint32_t part = size / GLOBAL_PARTS;
    for (unsigned i = 0; i < GLOBAL_PARTS; i++, offset += part)
        if (begin < offset + part && end > offset)
            visit_cell(access, &cell->parts[i], offset, part, begin, end, visit);
}

void global_visit(const GlobalAccess *access, uint64_t offset, uint64_t size, CellVisitor *visit) {
    Machine *machine = access->warp->machine;
    if (machine->timing) /* one cluster alone, on arrays that are mostly not there */
        return;
    GlobalCell *cells = cells_of(machine, access->target->allocation);
    uint64_t end = offset + size;
    for (uint64_t piece = offset / GLOBAL_PIECE; piece * GLOBAL_PIECE < end; piece++) {
        if (machine->team)
            team_hold_cell(machine, &cells[piece]);
        visit_cell(access, &cells[piece], piece * GLOBAL_PIECE, GLOBAL_PIECE, offset, end, visit);
    }
    if (machine->team)
        team_release_cell(machine);
}

static uint32_t program_of(const GlobalAccess *access) {
    return access->warp->cta->number + 1;
}

bool global_is_ordered(const GlobalAccess *access, const GlobalMark *mark) {
    const Warp *warp = access->warp;
    if (mark->program != program_of(access))
        return publish_orders(warp, access->lane, mark);
    uint32_t lane = mark->thread % LANES, first = warp->clock_index - warp->index;
    if (mark->thread == warp->index * LANES + access->lane && !mark->several)
        return true;
    SharedCell done = {.epoch = mark->epoch,
                       .actor = (uint16_t)(first + mark->thread / LANES),
                       .lane = (uint8_t)lane,
                       .several = mark->several};
    return clock_has_seen(warp, access->lane, &done);
}

static GlobalMark mark_of(const GlobalAccess *access) {
    const Warp *warp = access->warp;
    return (GlobalMark){.program = program_of(access),
                        .epoch = warp->epoch,
                        .pc = insn_pc(warp, access->insn),
                        .thread = (uint16_t)(warp->index * LANES + access->lane) & 0x7ff,
                        .strong = access->strong,
                        .strong_inside = access->strong_inside,
                        .by_proxy = access->by_proxy};
}

/* Takes the place of a read that stands for no more than this one does. */
static bool replace_read(const GlobalAccess *access, GlobalMark *old, GlobalMark mark) {
    const Warp *warp = access->warp;
    bool same_warp = old->program == mark.program && old->thread / LANES == mark.thread / LANES;
    bool weaker = (mark.strong && !old->strong) || (mark.strong_inside && !old->strong_inside);
    if (!same_warp || weaker || old->by_proxy != mark.by_proxy)
        return false;
    mark.several = (old->thread != mark.thread || old->several) &&
                   old->epoch > warp->clock.seen[warp->clock_index].all;
    *old = mark;
    return true;
}

static void note_read(const GlobalAccess *access, GlobalCell *cell) {
    GlobalMark mark = mark_of(access), *reads = cell->reads;
    for (unsigned i = 0; i < 2; i++)
        if (replace_read(access, &reads[i], mark))
            return;
    if (reads[1].program) {
        bool drops_newer = global_is_ordered(access, &reads[1]) ||
                           (reads[1].program == mark.program && reads[0].program != mark.program);
        if (!drops_newer)
            reads[0] = reads[1];
    } else if (!reads[0].program) {
        reads[0] = mark;
        return;
    }
    reads[1] = mark;
}

static void note_write(const GlobalAccess *access, GlobalCell *cell, bool same) {
    const Warp *warp = access->warp;
    uint32_t warp_bit = UINT32_C(1) << warp->index, lane_bit = UINT32_C(1) << access->lane;
    cell->is_pending = access->by_proxy;
    cell->write_fences = warp->cta->proxy_fences + 1;
    if (same && cell->write.program == program_of(access)) {
        cell->again = mark_of(access);
        cell->same_warps |= warp_bit;
        cell->same_lanes |= lane_bit;
        return;
    }
    cell->write = mark_of(access);
    cell->again = (GlobalMark){0};
    cell->same_warps = warp_bit;
    cell->same_lanes = lane_bit;
}

void global_note(const GlobalAccess *access, GlobalCell *cell, bool same) {
    if (access->kind == ACCESS_READ)
        note_read(access, cell);
    else
        note_write(access, cell, same);
}
