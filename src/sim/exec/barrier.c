/* Barriers of a program, fences, and what a program that cannot go on waits for. */
#include "sim/exec/barrier.h"

#include "sim/check/clock.h"
#include "sim/check/findings.h"
#include "sim/check/flags.h"
#include "sim/check/publish.h"
#include "sim/check/races.h"
#include "sim/exec/cluster_barrier.h"
#include "sim/exec/mbarrier.h"
#include "sim/exec/registers.h"
#include "sim/exec/splits.h"
#include "sim/parse/table.h"
#include "sim/report/counters.h"
#include "sim/state/program.h"
#include "sim/time/timing.h"

typedef enum Arrival { ARRIVE_SYNC, ARRIVE_ONLY, ARRIVE_REDUCE } Arrival;

static Arrival arrival_of(const Insn *insn) {
    if (insn->operand_count > 2)
        return ARRIVE_REDUCE;
    return insn->field[FIELD_OPERATION] == WORD_arrive ? ARRIVE_ONLY : ARRIVE_SYNC;
}

static uint32_t threads_alive(const Cta *cta) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < cta->warp_count; i++)
        count += cta->warps[i].alive ? LANES : 0;
    return count;
}

/* Gives bar.red its result: how many predicates hold, or whether any or all do. */
static void reduce(Warp *warp, const Insn *insn, uint32_t mask, const Barrier *barrier) {
    if (arrival_of(insn) != ARRIVE_REDUCE)
        return;
    uint64_t result = barrier->count;
    /* The operation is the last of the words red, popc, and, or. */
    if (insn_has(insn, WORD_and))
        result = barrier->count == barrier->arrived_threads;
    else if (insn_has(insn, WORD_or))
        result = barrier->count != 0;
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    FOR_LANES(lane, mask) {
        dest->v[lane] = result;
        dest->def[lane] = DEFINED;
    }
}

static uint32_t waiting(const Cta *cta, uint32_t id) {
    uint32_t warps = 0;
    for (uint32_t w = 0; w < cta->warp_count; w++)
        for (unsigned i = 0; i < MAX_SPLITS; i++) {
            const Split *split = &cta->warps[w].splits[i];
            warps += split->used && split->wait == WAIT_BARRIER && split->barrier == id;
        }
    return warps;
}

/* All are here: those who wait go on, and know what the others did before. */
static void complete(Cta *cta, uint32_t id) {
    Barrier *barrier = &cta->barriers[id], next = {0};
    double time = 0;
    if (cta->machine->timing)
        time = timing_barrier(cta, barrier->time, barrier->whole, waiting(cta, id));
    for (uint32_t w = 0; w < cta->warp_count; w++) {
        Warp *warp = &cta->warps[w];
        for (unsigned i = 0; i < MAX_SPLITS; i++) {
            Split *split = &warp->splits[i];
            if (!split->used || split->wait != WAIT_BARRIER || split->barrier != id)
                continue;
            Split *current = warp->current;
            warp->current = split;
            reduce(warp, &cta->machine->module->insns.data[split->pc], split->wait_mask, barrier);
            warp->current = current;
            next.went_on |= 1u << w;
            next.passed[w] = (SharedCell){.epoch = warp->epoch,
                                          .pc = split->pc,
                                          .actor = (uint16_t)warp->clock_index,
                                          .lane = (uint8_t)__builtin_ctz(split->wait_mask)};
            split->wait = WAIT_NONE;
            split->pc++;
            if (cta->machine->timing)
                timing_pass(warp, time);
            clock_acquire(warp, split->wait_mask, &barrier->clock);
        }
    }
    cta->cluster->events++;
    clock_reset(cta->cluster, &barrier->clock);
    next.clock = barrier->clock;
    *barrier = next;
}

static bool is_complete(const Cta *cta, const Barrier *barrier) {
    uint32_t expected = barrier->whole ? threads_alive(cta) : barrier->expected;
    return barrier->arrived && barrier->arrived >= expected;
}

void barrier_recheck(Cta *cta) {
    for (uint32_t id = 0; id < BARRIERS; id++)
        if (is_complete(cta, &cta->barriers[id]))
            complete(cta, id);
}

static bool read_number(Warp *warp, const Insn *insn, const Operand *operand, uint32_t mask,
                        uint32_t *value) {
    const Reg *reg = reg_of(warp, operand->reg);
    uint32_t first = (uint32_t)__builtin_ctz(mask);
    if (!reg_require(warp, insn, reg, mask, "the barrier's number or count"))
        return false;
    *value = (uint32_t)reg->v[first];
    FOR_LANES(lane, mask)
    if ((uint32_t)reg->v[lane] != *value) {
        report(warp, insn, lane, sim_barrier_operand, (uint32_t)reg->v[lane], *value);
        return false;
    }
    return true;
}

/* The barrier and how many threads it expects; false after a finding. */
static bool read_operands(Warp *warp, const Insn *insn, uint32_t mask, uint32_t *id,
                          uint32_t *expected) {
    unsigned first = arrival_of(insn) == ARRIVE_REDUCE ? 1 : 0;
    uint32_t lane = (uint32_t)__builtin_ctz(mask);
    *expected = 0;
    if (!read_number(warp, insn, &insn->operand[first], mask, id))
        return false;
    if (*id >= BARRIERS) {
        report(warp, insn, lane, sim_barrier_number, *id, (int)BARRIERS - 1);
        return false;
    }
    if (insn->operand[first + 1].kind == OPERAND_NONE)
        return true;
    if (!read_number(warp, insn, &insn->operand[first + 1], mask, expected))
        return false;
    if (*expected == 0 || *expected % LANES || *expected > warp->cta->warp_count * LANES) {
        report(warp, insn, lane, sim_barrier_count, *id, *expected, warp->cta->thread_count);
        return false;
    }
    return true;
}

static void count_predicates(Warp *warp, const Insn *insn, uint32_t mask, Barrier *barrier) {
    if (arrival_of(insn) != ARRIVE_REDUCE)
        return;
    const Operand *operand = &insn->operand[3];
    const Reg *p = reg_of(warp, operand->reg);
    reg_require(warp, insn, p, mask, "the predicate of a barrier");
    FOR_LANES(lane, mask)
    barrier->count += predicate(operand, p, lane);
    barrier->arrived_threads += (uint32_t)__builtin_popcount(mask);
}

/* Who did not wait in the phase before must know of somebody who did that it is over: else the
 * hardware may count the arrival there, whatever this schedule does. */
static void check_phase(Warp *warp, const Insn *insn, uint32_t mask, uint32_t id) {
    const Barrier *barrier = &warp->cta->barriers[id];
    uint32_t lane = (uint32_t)__builtin_ctz(mask), others = barrier->went_on;
    if (!others || others >> warp->index & 1)
        return;
    for (uint32_t rest = others; rest; rest &= rest - 1)
        if (clock_has_seen(warp, lane, &barrier->passed[__builtin_ctz(rest)]))
            return;
    const SharedCell *other = &barrier->passed[__builtin_ctz(others)];
    if (report(warp, insn, lane, sim_barrier_phase, id))
        finding_other(warp, other->pc, race_thread_name(warp, other), "waited in that phase");
}

ExecResult exec_barrier(Warp *warp, const Insn *insn, uint32_t mask) {
    Cta *cta = warp->cta;
    uint32_t id, expected;
    bool aligned = insn->row->name[3] == 0 || insn_has(insn, WORD_aligned);
    if ((aligned && !warp_converged(warp, insn, mask)) ||
        !read_operands(warp, insn, mask, &id, &expected))
        return EXEC_NEXT;
    Barrier *barrier = &cta->barriers[id];
    if (barrier->arrived && (barrier->whole ? 0 : barrier->expected) != expected) {
        if (report(warp, insn, (uint32_t)__builtin_ctz(mask), sim_barrier_mismatch, id, expected,
                   barrier->whole ? cta->thread_count : barrier->expected))
            finding_other(warp, insn_pc(warp, barrier->insn), "another warp",
                          "is there with the other count");
    }
    check_phase(warp, insn, mask, id);
    barrier->insn = insn;
    if (cta->machine->timing)
        barrier->time = timing_later(barrier->time, timing_now(warp));
    barrier->whole = expected == 0;
    barrier->expected = expected;
    barrier->arrived += mask == warp->alive ? LANES : (uint32_t)__builtin_popcount(mask);
    count_predicates(warp, insn, mask, barrier);
    /* What this warp did so far is before what the others do after the barrier. */
    if (arrival_of(insn) != ARRIVE_ONLY)
        clock_meet(warp, mask);
    clock_release(warp, mask, &barrier->clock);
    cta->machine->counts->barrier_waits += arrival_of(insn) != ARRIVE_ONLY;
    if (arrival_of(insn) == ARRIVE_ONLY) {
        if (is_complete(cta, barrier))
            complete(cta, id);
        return EXEC_NEXT;
    }
    warp->current->wait = WAIT_BARRIER;
    warp->current->wait_mask = mask;
    warp->current->barrier = id;
    if (is_complete(cta, barrier)) {
        complete(cta, id);
        return EXEC_JUMPED;
    }
    return EXEC_WAIT;
}

/* Within a program barriers order accesses; a fence orders them towards other programs. */
ExecResult exec_fence(Warp *warp, const Insn *insn, uint32_t mask) {
    if (!insn_has(insn, WORD_acquire))
        clock_fence(warp, mask);
    if (!insn_has(insn, WORD_release))
        flags_acquire(warp, mask);
    race_release(warp, insn, mask);
    race_acquire(warp, insn, mask);
    return EXEC_NEXT;
}

ExecResult exec_proxy_fence(Warp *warp, const Insn *insn, uint32_t mask) {
    if (!insn_has(insn, WORD_global))
        clock_proxy_fence(warp, mask);
    if (insn_has(insn, WORD_global) || !insn->field[FIELD_SPACE]) {
        clock_proxy_fence_global(warp, mask);
        warp->cta->proxy_fences++;
    }
    return EXEC_NEXT;
}

/* Deadlock. */

static void describe_wait(Warp *warp, const Split *split) {
    Machine *machine = warp->machine;
    const Insn *insn = &machine->module->insns.data[split->pc];
    const Barrier *barrier = &warp->cta->barriers[split->barrier];
    uint32_t expected = barrier->whole ? threads_alive(warp->cta) : barrier->expected;
    if (split->wait == WAIT_BARRIER)
        diag_note(&machine->ctx->diags, finding_span(machine, insn),
                  "warp %u waits at barrier %u, where %u of %u threads have arrived", warp->index,
                  split->barrier, barrier->arrived, expected);
    else if (split->wait == WAIT_CLUSTER)
        cluster_describe_wait(warp, insn);
    else if (split->wait == WAIT_REGISTERS)
        registers_describe_wait(warp, insn);
    else if (split->wait == WAIT_WARPGROUP)
        diag_note(&machine->ctx->diags, finding_span(machine, insn),
                  "warp %u waits at a wgmma for the other warps of its warpgroup", warp->index);
    else if (split->wait == WAIT_MBARRIER)
        mbarrier_describe_wait(warp, split);
    else
        diag_note(&machine->ctx->diags, finding_span(machine, insn),
                  "threads 0x%08x of warp %u wait for threads 0x%08x", split->wait_mask,
                  warp->index, split->wait_member & warp->alive & ~split->wait_mask);
}

void cluster_deadlock(Cluster *cluster) {
    Machine *machine = cluster->machine;
    bool reported = false, noted = false;
    for (uint32_t w = 0; w < cluster->warp_count; w++) {
        Warp *warp = &cluster->warps[w];
        for (unsigned i = 0; i < MAX_SPLITS; i++) {
            Split *split = &warp->splits[i];
            if (!split->used || split->wait == WAIT_NONE || split->wait == WAIT_CHILDREN)
                continue;
            const Insn *insn = &machine->module->insns.data[split->pc];
            if (!reported)
                noted = report(warp, insn, (uint32_t)__builtin_ctz(split->wait_mask), sim_deadlock);
            reported = true;
            if (noted)
                describe_wait(warp, split);
        }
    }
    /* The others of these programs cannot be reached any more. */
    cluster->done = true;
    machine->stop = true;
}
