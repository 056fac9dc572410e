/* setmaxnreg: warps give registers back to their program and take them from it.
 *
 * A program begins with as many registers a thread as the kernel was compiled for, which directives
 * must say. setmaxnreg.dec puts what a warp gives up into the program's pool; setmaxnreg.inc waits
 * until the pool holds what it asks for. All warps of a warpgroup execute the same setmaxnreg, and
 * meet before the next one. */
#include "sim/exec/registers.h"

#include "sim/check/findings.h"
#include "sim/exec/splits.h"
#include "sim/parse/table.h"
#include "sim/state/program.h"

enum {
    REGISTERS_OF_SM = 65536,
    REGISTER_STEP = 8,
    MIN_REGISTERS = 24,
    MAX_REGISTERS = 256,
    GROUP_WARPS = 4
};

uint32_t registers_at_entry(const Machine *machine) {
    const Func *kernel = machine->kernel;
    uint32_t threads = machine->block[0] * machine->block[1] * machine->block[2];
    if (kernel->max_regs)
        return (kernel->max_regs + REGISTER_STEP - 1) / REGISTER_STEP * REGISTER_STEP;
    if (!kernel->min_ctas || !(kernel->reqntid[0] || kernel->maxntid[0]))
        return 0;
    uint32_t count = REGISTERS_OF_SM / threads / kernel->min_ctas / REGISTER_STEP * REGISTER_STEP;
    return count < MAX_REGISTERS ? count : MAX_REGISTERS;
}

/* Whether the program's pool gives the warp what it asked for. */
static bool grant(Warp *warp, uint32_t wanted) {
    uint32_t more = wanted - warp->registers;
    if (more > warp->cta->register_pool)
        return false;
    warp->cta->register_pool -= more;
    warp->registers = wanted;
    return true;
}

static void grant_waiting(Cta *cta) {
    for (uint32_t w = 0; w < cta->warp_count; w++) {
        Warp *warp = &cta->warps[w];
        for (unsigned i = 0; i < MAX_SPLITS; i++) {
            Split *split = &warp->splits[i];
            if (!split->used || split->wait != WAIT_REGISTERS ||
                !grant(warp, warp->registers_wanted))
                continue;
            split->wait = WAIT_NONE;
            split->pc++;
            cta->cluster->events++;
        }
    }
}

static bool knows_change_of(const Warp *warp, const Warp *other) {
    return warp->clock.seen[other->clock_index].all >= other->register_epoch;
}

/* All warps of a warpgroup do the same, and have met since the last time. */
static bool check_group(Warp *warp, const Insn *insn, uint32_t lane) {
    Cta *cta = warp->cta;
    uint32_t first = warp->index / GROUP_WARPS * GROUP_WARPS;
    if (first + GROUP_WARPS > cta->warp_count) {
        report(warp, insn, lane, sim_part_of_warpgroup, cta->thread_count);
        return false;
    }
    for (uint32_t w = first; w < first + GROUP_WARPS; w++) {
        const Warp *other = &cta->warps[w];
        if (other == warp)
            continue;
        if (other->register_changes == warp->register_changes + 1 && other->register_insn != insn) {
            if (report(warp, insn, lane, sim_setmaxnreg_differs))
                finding_other(warp, insn_pc(warp, other->register_insn),
                              str_format(&warp->machine->ctx->arena, "warp %u", other->index),
                              "does another one");
            return false;
        }
        if (other->register_changes < warp->register_changes ||
            (warp->register_changes && other->register_changes == warp->register_changes &&
             !knows_change_of(warp, other))) {
            report(warp, insn, lane, sim_setmaxnreg_again, other->index);
            return false;
        }
    }
    return true;
}

static bool check_count(Warp *warp, const Insn *insn, uint32_t lane, uint32_t count) {
    bool more = insn_has(insn, WORD_inc);
    if (!warp->registers) {
        report(warp, insn, lane, sim_registers_unknown);
        return false;
    }
    if (more ? count < warp->registers : count > warp->registers) {
        report(warp, insn, lane, sim_setmaxnreg_direction, more ? "inc" : "dec", count,
               warp->registers);
        return false;
    }
    return true;
}

ExecResult exec_setmaxnreg(Warp *warp, const Insn *insn, uint32_t mask) {
    uint32_t lane = (uint32_t)__builtin_ctz(mask), count = (uint32_t)insn->operand[0].offset;
    if (!warp_converged(warp, insn, mask) || !check_group(warp, insn, lane))
        return EXEC_NEXT;
    warp->register_changes++;
    warp->register_insn = insn;
    warp->register_epoch = warp->epoch;
    if (!check_count(warp, insn, lane, count))
        return EXEC_NEXT;
    if (insn_has(insn, WORD_dec)) {
        warp->cta->register_pool += warp->registers - count;
        warp->registers = count;
        grant_waiting(warp->cta);
        return EXEC_NEXT;
    }
    if (grant(warp, count))
        return EXEC_NEXT;
    warp->registers_wanted = count;
    warp->current->wait = WAIT_REGISTERS;
    warp->current->wait_mask = mask;
    return EXEC_WAIT;
}

const char *check_setmaxnreg(const Insn *insn) {
    int64_t count = insn->operand[0].offset;
    return count < MIN_REGISTERS || count > MAX_REGISTERS || count % REGISTER_STEP
               ? "setmaxnreg takes a multiple of 8 from 24 to 256"
               : NULL;
}

void registers_exit(Warp *warp) {
    Cta *cta = warp->cta;
    uint32_t first = warp->index / GROUP_WARPS * GROUP_WARPS;
    const Warp *most = warp;
    for (uint32_t w = first; w < first + GROUP_WARPS && w < cta->warp_count; w++) {
        const Warp *other = &cta->warps[w];
        if (other->alive)
            return;
        most = other->register_changes > most->register_changes ? other : most;
    }
    for (uint32_t w = first; w < first + GROUP_WARPS && w < cta->warp_count; w++)
        if (cta->warps[w].register_changes < most->register_changes) {
            report(warp, most->register_insn, 0, sim_setmaxnreg_missing, w, most->index);
            return;
        }
}

void registers_describe_wait(Warp *warp, const Insn *insn) {
    diag_note(&warp->machine->ctx->diags, finding_span(warp->machine, insn),
              "warp %u waits for %u registers a thread and has %u; %u are free", warp->index,
              warp->registers_wanted, warp->registers, warp->cta->register_pool);
}
