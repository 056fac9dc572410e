/* cp.async: copies of 4, 8 or 16 bytes from global to shared memory that their thread does not wait
 * for.
 *
 * By default a copy is carried out by the wait that covers it, the latest moment the rules allow;
 * with the option `early` when it is issued. Either way its destination belongs to it until that
 * wait. */
#include "sim/exec/exec_async.h"

#include "sim/check/findings.h"
#include "sim/check/races.h"
#include "sim/check/races_global.h"
#include "sim/exec/memory.h"
#include "sim/exec/shared_accesses.h"
#include "sim/parse/table.h"
#include "sim/state/host_memory.h"
#include "sim/state/warp.h"

static void carry_out(Warp *warp, const Copy *copy) {
    Target from, to;
    uint8_t bytes[16] = {0}, defined[16];
    memset(defined, BYTE_DEFINED, sizeof defined);
    if (copy->source_size && memory_find(warp, copy->insn, copy->lane, SPACE_generic, copy->src,
                                         copy->size, ACCESS_READ, &from)) {
        host_load(warp->machine, from.data, bytes, copy->source_size);
        if (from.defined)
            host_load(warp->machine, from.defined, defined, copy->source_size);
    }
    if (!memory_find(warp, copy->insn, copy->lane, SPACE_shared, copy->dst, copy->size,
                     ACCESS_WRITE, &to))
        return;
    memcpy(to.data, bytes, copy->size);
    memcpy(to.defined, defined, copy->size);
}

static bool valid_size(Warp *warp, const Insn *insn, uint32_t lane, int64_t size) {
    bool fits = size == 16 || (!insn_has(insn, WORD_cg) && (size == 4 || size == 8));
    if (!fits)
        report(warp, insn, lane, sim_copy_size, size);
    return fits;
}

/* How much is read; the rest of the destination becomes zero. */
static uint32_t source_size(Warp *warp, const Insn *insn, uint32_t lane, uint32_t size) {
    const Operand *operand = &insn->operand[3];
    if (operand->kind != OPERAND_REG)
        return size;
    const Reg *reg = reg_of(warp, operand->reg);
    if (reg->def[lane] != DEFINED)
        report(warp, insn, lane, sim_undefined, "the size of a copy");
    uint32_t value = (uint32_t)reg->v[lane];
    if (value > size)
        report(warp, insn, lane, sim_copy_source, value, size);
    return value > size ? size : value;
}

/* Checks both ends when the copy is issued. Its destination becomes an offset in the program's
 * memory, also where the address was one of the cluster's window. */
static bool check_ends(Warp *warp, const Insn *insn, Copy *copy) {
    Target target;
    if (copy->source_size) {
        if (!memory_find(warp, insn, copy->lane, SPACE_generic, copy->src, copy->size, ACCESS_READ,
                         &target))
            return false;
        if (target.space == SPACE_global)
            race_global(warp, insn, copy->lane, &target, copy->source_size, ACCESS_READ, false,
                        NULL);
    }
    if (!memory_find(warp, insn, copy->lane, SPACE_shared, copy->dst, copy->size, ACCESS_WRITE,
                     &target))
        return false;
    copy->dst = target.offset;
    return true;
}

ExecResult exec_cp_async(Warp *warp, const Insn *insn, uint32_t mask) {
    Machine *machine = warp->machine;
    InsnCounts *counts = &machine->counts->insns[insn_pc(warp, insn)];
    uint64_t sources[LANES] = {0}, dests[LANES] = {0};
    uint32_t read = 0, written = 0;
    int64_t size = insn->operand[2].offset;
    if (!valid_size(warp, insn, (uint32_t)__builtin_ctz(mask), size))
        return EXEC_NEXT;
    FOR_LANES(lane, mask) {
        Copy copy = {.insn = insn,
                     .lane = lane,
                     .group = UINT32_MAX,
                     .number = warp->copy_count,
                     .size = (uint32_t)size};
        copy.dst = memory_address(warp, insn, &insn->operand[0], lane);
        copy.src = memory_address(warp, insn, &insn->operand[1], lane);
        copy.source_size = source_size(warp, insn, lane, copy.size);
        if (!check_ends(warp, insn, &copy))
            continue;
        sources[lane] = copy.src;
        dests[lane] = copy.dst;
        read |= (uint32_t)(copy.source_size > 0) << lane;
        written |= 1u << lane;
        race_shared_async(warp, insn, lane, copy.dst, copy.size, false);
        if (machine->launch->early)
            carry_out(warp, &copy);
        Copy *kept = machine->free_copies ? machine->free_copies : ARENA_NEW(machine->arena, Copy);
        machine->free_copies = machine->free_copies ? machine->free_copies->next : NULL;
        *kept = copy;
        kept->next = warp->copies;
        warp->copies = kept;
    }
    warp->copy_count++;
    if (read)
        count_global(counts, sources, read, (uint32_t)size);
    if (written) {
        const InsnCounts before = *counts;
        counts->requests += !read; /* which fills with zeros alone: no byte of global memory */
        count_wavefronts(counts, dests, written, (uint32_t)size);
        note_shared(warp, insn, dests, written, (uint32_t)size, SHARED_WRITE, &before);
    }
    return EXEC_NEXT;
}

ExecResult exec_cp_commit(Warp *warp, const Insn *insn, uint32_t mask) {
    for (Copy *copy = warp->copies; copy; copy = copy->next)
        if (mask >> copy->lane & 1 && copy->group == UINT32_MAX)
            copy->group = warp->groups[copy->lane];
    FOR_LANES(lane, mask)
    warp->groups[lane]++;
    return EXEC_NEXT;
}

/* Oldest first: the list is newest first. */
static void finish(Warp *warp, Copy *copy) {
    if (!warp->machine->launch->early)
        carry_out(warp, copy);
    race_shared_async(warp, copy->insn, copy->lane, copy->dst, copy->size, true);
}

/* Carries out those of the lane's copies that `covered` chooses, oldest first. */
static void finish_covered(Warp *warp, uint32_t lane,
                           bool (*covered)(const Warp *, const Copy *, uint32_t), uint32_t limit) {
    Copy *pending = NULL, **at = &warp->copies;
    while (*at) {
        Copy *copy = *at;
        if (copy->lane != lane || !covered(warp, copy, limit)) {
            at = &copy->next;
            continue;
        }
        *at = copy->next;
        copy->next = pending;
        pending = copy;
    }
    while (pending) {
        Copy *next = pending->next;
        finish(warp, pending);
        pending->next = warp->machine->free_copies;
        warp->machine->free_copies = pending;
        pending = next;
    }
}

static bool is_beyond_groups(const Warp *warp, const Copy *copy, uint32_t keep) {
    return keep == UINT32_MAX ||
           (copy->group != UINT32_MAX && warp->groups[copy->lane] - copy->group > keep);
}

static bool is_older(const Warp *warp, const Copy *copy, uint32_t number) {
    return copy->number < number;
}

/* Carries out the lane's copies but those of its last `keep` groups; keep UINT32_MAX: also those
 * not committed. */
static void copies_finish(Warp *warp, uint32_t lane, uint32_t keep) {
    finish_covered(warp, lane, is_beyond_groups, keep);
}

void copies_finish_before(Warp *warp, uint32_t lane, uint32_t number) {
    finish_covered(warp, lane, is_older, number);
}

ExecResult exec_cp_wait(Warp *warp, const Insn *insn, uint32_t mask) {
    bool all = insn_has(insn, WORD_wait_all);
    FOR_LANES(lane, mask)
    copies_finish(warp, lane, all ? UINT32_MAX : (uint32_t)insn->operand[0].offset);
    return EXEC_NEXT;
}
