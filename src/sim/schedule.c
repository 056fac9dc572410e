/* Warps take turns, splits of a warp take turns, instructions run. A split that waits at a barrier
 * or for other threads does not keep the others from running. */
#include "sim/schedule.h"

#include "sim/check/findings.h"
#include "sim/exec/barrier.h"
#include "sim/exec/mbarrier.h"
#include "sim/exec/splits.h"
#include "sim/exec/wgmma.h"
#include "sim/parse/table.h"
#include "sim/report/counters.h"
#include "sim/state/program.h"
#include "sim/state/team.h"
#include "sim/time/timing.h"

enum { SPLIT_TURN = 2048, ROUND_ROBIN_TURN = 16 };

static uint32_t guarded(Warp *warp, const Insn *insn, uint32_t mask) {
    if (insn->guard == NO_REG)
        return mask;
    const Reg *guard = reg_of(warp, insn->guard);
    uint32_t active = 0;
    FOR_LANES(lane, mask)
    active |= (uint32_t)((guard->v[lane] != 0) != insn->guard_negated) << lane;
    if (insn->is_branch)
        reg_require(warp, insn, guard, mask, "the condition of a branch");
    else
        reg_require(warp, insn, guard, mask, "the guard");
    return active;
}

static void read_clock(Warp *warp) {
    uint64_t now = warp->cta->cluster->steps;
    static const Special low[] = {SPECIAL_clock, SPECIAL_clock64, SPECIAL_globaltimer,
                                  SPECIAL_globaltimer_lo};
    static const Special high[] = {SPECIAL_clock_hi, SPECIAL_globaltimer_hi};
    for (uint32_t lane = 0; lane < LANES; lane++) {
        for (size_t i = 0; i < sizeof low / sizeof *low; i++)
            warp->special[low[i]].v[lane] = special_info[low[i]].bits == 32 ? (uint32_t)now : now;
        for (size_t i = 0; i < sizeof high / sizeof *high; i++)
            warp->special[high[i]].v[lane] = now >> 32;
    }
}

static void count_insn(Warp *warp, const Insn *insn, uint32_t mask) {
    InsnCounts *own = &warp->machine->counts->insns[insn_pc(warp, insn)];
    own->warps++;
    own->threads += (unsigned)__builtin_popcount(mask);
    own->divergent += mask != warp->alive;
}

static bool at_end(const Split *split) {
    return split->parent && split->pc == split->rpc && split->frame == split->rframe;
}

static bool needs_all(const Insn *insn) {
    return insn_has(insn, WORD_aligned) ||
           (insn->row->class == CLASS_BARRIER && !strcmp(insn->row->name, "bar") &&
            !insn_has(insn, WORD_warp));
}

/* Runs a split until it must wait, ends, or its turn is over. */
static void run_split(Warp *warp, Split *split, uint64_t turn) {
    Machine *machine = warp->machine;
    warp->current = split;
    while (turn-- && !machine->stop) {
        if (at_end(split)) {
            split_end(warp, split);
            return;
        }
        const Insn *insn = &machine->module->insns.data[split->pc];
        machine->steps++;
        warp->cta->cluster->steps++;
        warp->executed++;
        if (insn->reads_clock)
            read_clock(warp);
        if (warp->released && split->mask != warp->alive && needs_all(insn) &&
            !split_meet_again(warp, split))
            return;
        uint32_t mask = guarded(warp, insn, split->mask);
        if (!mask && !insn->is_branch) {
            if (machine->timing)
                timing_skip(warp, insn);
            split->pc++;
            continue;
        }
        /* The exit of a function is not an instruction of the text: its rets are counted. */
        if (insn->row->exec != exec_return)
            count_insn(warp, insn, mask);
        if (insn->touches_matrix)
            wgmma_touch(warp, insn);
        ExecResult result =
            machine->timing ? timing_execute(warp, insn, mask) : insn->row->exec(warp, insn, mask);
        if (result == EXEC_WAIT)
            return;
        if (result == EXEC_NEXT || result == EXEC_YIELD)
            split->pc++;
        if (result == EXEC_YIELD || !split->used || split->wait != WAIT_NONE)
            return;
    }
}

static bool runnable(const Split *split) {
    return split->used && split->wait == WAIT_NONE;
}

/* The next split of the warp that can run; NULL when all wait. */
static Split *next_split(Warp *warp) {
    for (unsigned i = 0; i < MAX_SPLITS; i++) {
        Split *split = &warp->splits[(warp->turn + i) % MAX_SPLITS];
        if (!runnable(split))
            continue;
        warp->turn = (unsigned)(split - warp->splits);
        return split;
    }
    return NULL;
}

static bool run_warp(Warp *warp, uint64_t turn) {
    bool progress = false;
    for (uint64_t left = turn; left;) {
        Split *split = next_split(warp);
        if (!split || warp->machine->stop)
            return progress;
        uint64_t before = warp->executed, part = left < SPLIT_TURN ? left : SPLIT_TURN;
        run_split(warp, split, part);
        uint64_t used = warp->executed - before;
        left -= used < left ? (used ? used : 1) : left;
        progress = true;
        if (warp->polled && warp->executed - warp->last_meeting > SPIN_LIMIT)
            splits_release(warp);
        /* Others of the warp have their turn after a long one. */
        if (used >= part)
            warp->turn = (warp->turn + 1) % MAX_SPLITS;
    }
    return progress;
}

static uint64_t next_random(Cluster *cluster) {
    uint64_t x = cluster->random += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static bool warp_runnable(Warp *warp) {
    return warp->alive && next_split(warp) != NULL;
}

/* Does it only look for what others do? It may poll several words, which cannot be told from work
 * if it stores something meanwhile: so after very many polls it does in any case. */
static bool seems_to_spin(const Warp *warp) {
    enum { SPINS = 64, POLLS = 4096 };
    return warp->spins > SPINS || warp->polls > POLLS;
}

/* To an adversary the furthest warp that can run; those that only spin stand back until the others
 * spin as well or must wait, since these may be what they spin for. */
static Warp *furthest_warp(Cluster *cluster) {
    Warp *best = NULL, *spinning = NULL;
    for (unsigned i = 0; i < cluster->warp_count; i++) {
        Warp *warp = &cluster->warps[(cluster->next_warp + i) % cluster->warp_count];
        Warp **kind = seems_to_spin(warp) ? &spinning : &best;
        if (warp_runnable(warp) && (!*kind || warp->executed > (*kind)->executed))
            *kind = warp;
    }
    for (unsigned i = 0; i < cluster->warp_count && !best; i++)
        cluster->warps[i].spins = cluster->warps[i].polls = 0;
    return best ? best : spinning;
}

/* The warp to run next, and for how long; NULL when none can. */
static Warp *choose_warp(Cluster *cluster, uint64_t *turn) {
    Machine *machine = cluster->machine;
    unsigned start = cluster->next_warp;
    *turn = ROUND_ROBIN_TURN;
    if (machine->launch->schedule == SIM_ADVERSARIAL) {
        *turn = SPLIT_TURN;
        return furthest_warp(cluster);
    }
    if (machine->launch->schedule == SIM_RANDOM) {
        start = (unsigned)(next_random(cluster) % cluster->warp_count);
        *turn = 1 + next_random(cluster) % 64;
    }
    for (unsigned i = 0; i < cluster->warp_count; i++) {
        Warp *warp = &cluster->warps[(start + i) % cluster->warp_count];
        if (!warp_runnable(warp))
            continue;
        cluster->next_warp = (warp->clock_index + 1) % cluster->warp_count;
        return warp;
    }
    return NULL;
}

bool cluster_run(Cluster *cluster, uint64_t quantum) {
    Machine *machine = cluster->machine;
    uint64_t end = machine->steps + quantum, limit = machine->launch->max_steps;
    while (machine->steps < end && !machine->stop) {
        uint64_t turn;
        machine->stop = machine->team && team_abandoned(machine);
        Warp *warp = choose_warp(cluster, &turn);
        if (!warp && mbarrier_time_out(cluster))
            continue;
        if (!warp)
            break;
        run_warp(warp, turn);
        if (limit && machine->steps >= limit && warp->alive && !machine->stop) {
            Split *split = next_split(warp);
            const Insn *insn =
                split ? &machine->module->insns.data[split->pc] : machine->module->insns.data;
            report(warp, insn, (uint32_t)__builtin_ctz(warp->alive), sim_step_limit, limit);
            machine->stop = true;
        }
    }
    cluster->done = true;
    bool can_run = false;
    for (unsigned i = 0; i < cluster->warp_count; i++) {
        cluster->done &= !cluster->warps[i].alive;
        can_run |= warp_runnable(&cluster->warps[i]);
    }
    if (!cluster->done && !can_run && !machine->stop)
        cluster_deadlock(cluster);
    return cluster->done;
}
