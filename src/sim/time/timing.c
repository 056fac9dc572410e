/* The clock of a cluster that runs alone on an SM.
 *
 * Between barriers, branches and waits ptxas moves instructions as their operands allow. So a
 * warp's instructions form stretches: within one each issues when its operands are ready, whatever
 * the order of the text, and the stretch takes the longest of the last one's issue and of what its
 * instructions occupy each unit of the warp's partition. Results of loads are not waited for but by
 * those who read them, in later stretches too. At a barrier of the program all warps together take
 * at least what they occupied the SM's units since the barrier before. */
#include "sim/time/timing.h"

#include "sim/report/counters.h"
#include "sim/state/program.h"

Timing *timing_create(const Costs *costs, Arena *arena, uint32_t insn_count, bool spent) {
    Timing *timing = ARENA_NEW(arena, Timing);
    *timing =
        (Timing){.costs = costs, .arena = arena, .seen = ARENA_ARRAY(arena, bool, insn_count + 1)};
    timing->insn_count = insn_count;
    timing->turns.arena = arena;
    if (spent) {
        timing->spent = ARENA_ARRAY(arena, SimSpent, insn_count + 1);
        timing->units_of = ARENA_ARRAY(arena, SimUnits, insn_count + 1);
        waits_create(&timing->waits, arena, insn_count);
    }
    return timing;
}

static void make_room(Timing *timing, uint32_t ctas, uint32_t warps) {
    if (warps > timing->warp_count) {
        uint32_t regs = timing->costs->reg_count + 1;
        timing->warps = ARENA_ARRAY(timing->arena, WarpTime, warps);
        for (uint32_t i = 0; i < warps; i++) {
            timing->warps[i].ready = ARENA_ARRAY(timing->arena, double, regs);
            if (timing->spent)
                timing->warps[i].maker = ARENA_ARRAY(timing->arena, uint32_t, regs);
            if (timing->spent && !timing->turns.done)
                timing->warps[i].window.ready = ARENA_ARRAY(timing->arena, double, regs);
        }
        timing->warp_count = warps;
    }
    if (ctas > timing->cta_count) {
        timing->ctas = ARENA_ARRAY(timing->arena, CtaTime, ctas);
        for (uint32_t i = 0; i < ctas && timing->spent; i++)
            timing->ctas[i].users =
                ARENA_ARRAY(timing->arena, double, (size_t)TIME_UNITS * timing->insn_count + 1);
        timing->cta_count = ctas;
    }
}

static void forget_users(CtaTime *cta) {
    vec_for_each (at, &cta->used)
        cta->users[*at] = 0;
    cta->used.len = 0;
}

void timing_start(Timing *timing, uint32_t ctas, uint32_t warps) {
    make_room(timing, ctas, warps);
    for (uint32_t i = 0; i < timing->warp_count; i++) {
        double *ready = timing->warps[i].ready;
        memset(ready, 0, (timing->costs->reg_count + 1) * sizeof *ready);
        timing->warps[i] = (WarpTime){.ready = ready,
                                      .maker = timing->warps[i].maker,
                                      .shares = timing->warps[i].shares,
                                      .window = {.ready = timing->warps[i].window.ready,
                                                 .regs = timing->costs->reg_count + 1}};
        timing->warps[i].shares.len = 0;
        timing->warps[i].window.branch = NO_PC;
        if (timing->warps[i].window.ready)
            memset(timing->warps[i].window.ready, 0, timing->warps[i].window.regs * sizeof(double));
    }
    if (timing->spent) {
        memset(timing->spent, 0, (timing->insn_count + 1) * sizeof *timing->spent);
        memset(timing->units_of, 0, (timing->insn_count + 1) * sizeof *timing->units_of);
        waits_clear(&timing->waits);
    }
    for (uint32_t i = 0; i < timing->cta_count; i++) {
        CtaTime *cta = &timing->ctas[i];
        forget_users(cta);
        *cta = (CtaTime){.users = cta->users, .used = cta->used};
    }
    sectors_clear(&timing->sectors);
    timing->end = timing->loaded = 0;
    memset(timing->units, 0, sizeof timing->units);
}

static WarpTime *time_of(Warp *warp) {
    return &warp->machine->timing->warps[warp->clock_index];
}

/* For pictures of loops: what the warp issues, by its own clocks. */
static void note(Warp *warp, const Cost *cost, TimeEvent event) {
    Timing *timing = warp->machine->timing;
    if (!timing->spent || timing->turns.done)
        return;
    event.pc = time_of(warp)->pc;
    turns_issue(&timing->turns, &time_of(warp)->window, timing->costs, cost, event);
}

/* The same of what holds it up. */
static void note_hold(Warp *warp, TimeEvent event) {
    Timing *timing = warp->machine->timing;
    if (timing->turns.done)
        return;
    event.pc = time_of(warp)->pc;
    turns_hold(&timing->turns, &time_of(warp)->window, event);
}

/* What instructions take: the units' share of a stretch goes to those that occupy them, and what is
 * longer than that to those whose operands came late. */

static TimeShare *share_of(Timing *timing, WarpTime *time) {
    if (!time->shares.len || time->shares.data[time->shares.len - 1].pc != time->pc)
        vec_push(timing->arena, &time->shares, (TimeShare){.pc = time->pc, .maker = NO_PC});
    return &time->shares.data[time->shares.len - 1];
}

static double part_of(double all, double part, double sum) {
    return sum > 0 ? all * part / sum : 0;
}

/* The stretch took `clocks`, of which the busiest unit needed `busy`: those go by for who occupies
 * it, whatever else goes on meanwhile. */
static void spend_stretch(Timing *timing, WarpTime *time, double clocks, int busiest, double busy) {
    double all_waits = 0, idle = clocks > busy ? clocks - busy : 0;
    vec_for_each (share, &time->shares)
        all_waits += share->waits;
    vec_for_each (share, &time->shares) {
        SimSpent *spent = &timing->spent[share->pc];
        double waits = part_of(idle, share->waits, all_waits);
        spent->waits += waits;
        if (share->maker != NO_PC)
            timing->spent[share->maker].awaited += waits;
        waits_add(&timing->waits, share->pc, share->maker, waits);
        spent->cycles += waits + part_of(clocks - idle, share->busy[busiest], busy);
    }
    time->shares.len = 0;
}

/* The instruction that made the operand which is ready last. */
static uint32_t last_maker(const Warp *warp, const Cost *cost) {
    const WarpTime *time = time_of((Warp *)warp);
    const RegRef *reads = warp->machine->timing->costs->regs + cost->read_at;
    uint32_t maker = NO_PC;
    double latest = time->start;
    for (uint32_t i = 0; i < cost->read_count; i++)
        if (time->ready[reads[i]] > latest) {
            latest = time->ready[reads[i]];
            maker = time->maker[reads[i]];
        }
    return maker;
}

/* The instruction is issued at `start`, if nothing before it in the stretch is later. */
static void issue_at(Warp *warp, const Cost *cost, double start) {
    Timing *timing = warp->machine->timing;
    WarpTime *time = time_of(warp);
    if (timing->spent && start > time->last) {
        TimeShare *share = share_of(timing, time);
        share->waits += start - time->last;
        share->maker = last_maker(warp, cost);
    }
    time->last = timing_later(time->last, start);
}

static void occupy_cta(Warp *warp, TimeUnit unit, double clocks) {
    Timing *timing = warp->machine->timing;
    CtaTime *cta = &timing->ctas[warp->cta->rank];
    const uint32_t at = (uint32_t)unit * timing->insn_count + time_of(warp)->pc;
    cta->units[unit] += clocks;
    timing->units[unit] += clocks;
    if (!cta->users || clocks <= 0)
        return;
    timing->units_of[time_of(warp)->pc].clocks[unit] += clocks;
    if (cta->users[at] == 0)
        vec_push(timing->arena, &cta->used, at);
    cta->users[at] += clocks;
}

/* The units of a program were busy `clocks` longer than its warps were: so many warps waited for
 * those who used the busiest; at the end of the program if `ends`. */
static void spend_users(Timing *timing, const CtaTime *cta, TimeUnit unit, double clocks,
                        bool ends) {
    vec_for_each (at, &cta->used) {
        SimSpent *spent = &timing->spent[*at % timing->insn_count];
        const double part = part_of(clocks, cta->users[*at], cta->units[unit]);
        if (*at / timing->insn_count != (uint32_t)unit)
            continue;
        spent->cycles += part;
        spent->queued += part;
        spent->crowded += ends ? part : 0;
    }
}

static int busiest_of(const CtaTime *cta) {
    int busiest = 0;
    for (int unit = 1; unit < TIME_UNITS; unit++)
        busiest = cta->units[unit] > cta->units[busiest] ? unit : busiest;
    return busiest;
}

/* As at a barrier, but that the clock itself does not go on: predictions add up units anyway. */
void timing_end(Timing *timing, uint32_t ctas, uint32_t warps) {
    timing->crowded = TIME_UNITS;
    for (uint32_t i = 0; i < ctas && timing->spent; i++) {
        CtaTime *cta = &timing->ctas[i];
        const int busiest = busiest_of(cta);
        const double beyond = cta->since + cta->units[busiest] - timing->end;
        if (beyond <= 0)
            continue;
        timing->crowded = (unsigned)busiest;
        spend_users(timing, cta, (TimeUnit)busiest, beyond * warps, true);
    }
}

static void occupy(Warp *warp, TimeUnit unit, double clocks) {
    Timing *timing = warp->machine->timing;
    bool of_partition = unit < TIME_PARTITIONED;
    double of_warp = clocks * (of_partition ? timing->costs->figures.partitions : 1);
    time_of(warp)->units[unit] += of_warp;
    if (timing->spent)
        share_of(timing, time_of(warp))->busy[unit] += of_warp;
    occupy_cta(warp, unit, clocks);
}

static void issue(Warp *warp, const Cost *cost) {
    occupy(warp, TIME_ISSUE, cost->issues / warp->machine->timing->costs->figures.partitions);
    if (cost->busy > 0)
        occupy(warp, (TimeUnit)cost->unit, cost->busy);
}

/* When the operands are ready. */
static double operands_ready(Warp *warp, const Cost *cost) {
    const WarpTime *time = time_of(warp);
    const RegRef *reads = warp->machine->timing->costs->regs + cost->read_at;
    double ready = time->start;
    for (uint32_t i = 0; i < cost->read_count; i++)
        ready = timing_later(ready, time->ready[reads[i]]);
    return ready;
}

static void results_at(Warp *warp, const Cost *cost, double when) {
    const RegRef *writes = warp->machine->timing->costs->regs + cost->written_at;
    WarpTime *time = time_of(warp);
    for (uint32_t i = 0; i < cost->written_count; i++) {
        time->ready[writes[i]] = when;
        if (time->maker)
            time->maker[writes[i]] = time->pc;
    }
}

/* Ends the stretch. */
double timing_now(Warp *warp) {
    Timing *timing = warp->machine->timing;
    WarpTime *time = time_of(warp);
    int busiest = 0;
    for (int unit = 1; unit < TIME_UNITS; unit++)
        busiest = time->units[unit] > time->units[busiest] ? unit : busiest;
    const double busy = time->units[busiest];
    memset(time->units, 0, sizeof time->units);
    double end = timing_later(time->last, time->start + busy);
    if (timing->spent)
        spend_stretch(timing, time, end - time->start, busiest, busy);
    time->start = time->last = end;
    timing->end = timing_later(timing->end, end);
    return end;
}

static void resume(Warp *warp, double when, bool waits, uint32_t maker) {
    Timing *timing = warp->machine->timing;
    WarpTime *time = time_of(warp);
    double now = timing_now(warp), then = timing_later(now, when);
    time->start = time->last = then;
    timing->end = timing_later(timing->end, then);
    if (!timing->spent)
        return;
    /* A barrier's parts are noted already. */
    if (!waits || time->window.floor < then)
        note_hold(warp, (TimeEvent){.ready = now, .end = then, .waits = waits});
    timing->spent[time->pc].cycles += then - now;
    timing->spent[time->pc].waits += waits ? then - now : 0;
    timing->spent[time->pc].held += waits ? then - now : 0;
    waits_add(&timing->waits, time->pc, maker, waits ? then - now : 0);
}

void timing_resume(Warp *warp, double when, uint32_t maker) {
    resume(warp, when, true, maker);
}

double timing_barrier(Cta *cta, double last, bool whole, uint32_t warps) {
    Timing *timing = cta->machine->timing;
    CtaTime *time = &timing->ctas[cta->rank];
    time->beyond = 0;
    if (!whole)
        return last + timing->costs->figures.barrier;
    const int busiest = busiest_of(time);
    double end = timing_later(last, time->since + time->units[busiest]);
    time->beyond = end - last;
    time->busiest = (TimeUnit)busiest;
    if (timing->spent) {
        spend_users(timing, time, (TimeUnit)busiest, time->beyond * warps, false);
        forget_users(time);
    }
    memset(time->units, 0, sizeof time->units);
    time->since = end;
    return end + timing->costs->figures.barrier;
}

void timing_pass(Warp *warp, double when) {
    Timing *timing = warp->machine->timing;
    const CtaTime *cta = &timing->ctas[warp->cta->rank];
    const double beyond = cta->beyond;
    if (timing->spent && beyond > 0) {
        const double now = timing_now(warp);
        note_hold(warp, (TimeEvent){.ready = now, .end = when - beyond, .waits = true});
        note_hold(
            warp,
            (TimeEvent){.ready = when - beyond, .end = when, .queues = true, .unit = cta->busiest});
    }
    resume(warp, when, true, NO_PC);
    if (!timing->spent)
        return;
    SimSpent *spent = &timing->spent[time_of(warp)->pc];
    spent->cycles -= beyond;
    spent->waits -= beyond;
    spent->held -= beyond;
}

/* What an access of memory took, by what it was counted as. */
typedef struct Access {
    uint64_t sectors, wavefronts, fresh, ideal;
} Access;

static Access counted(const Warp *warp, uint32_t pc) {
    const InsnCounts *counts = &warp->machine->counts->insns[pc];
    return (Access){counts->sectors, counts->wavefronts, warp->machine->timing->sectors.fresh,
                    counts->ideal_wavefronts};
}

enum { SECTORS_OF_LINE = 4 };

/* L1 gives as many sectors in a clock, of one line or of several. */
static double lines_of(const Access *access) {
    return (double)access->sectors / SECTORS_OF_LINE;
}

static double access_latency(const Timing *timing, const Insn *insn, const Cost *cost,
                             const Access *access) {
    const TimeFigures *figures = &timing->costs->figures;
    double further = timing->cold ? figures->global : figures->l2;
    if (cost->kind == COST_ATOMIC)
        return access->sectors ? figures->l2 : figures->atomic_shared + (double)access->wavefronts;
    if (!access->sectors)
        return access->wavefronts ? figures->shared + (double)access->wavefronts - 1 : figures->l1;
    bool passes_l1 = insn_has(insn, WORD_cg) || insn_has(insn, WORD_cv) ||
                     insn_has(insn, WORD_relaxed) || insn_has(insn, WORD_acquire) ||
                     insn_has(insn, WORD_volatile);
    if (access->fresh)
        return further + (double)access->fresh * figures->sector_clocks;
    return passes_l1 ? figures->l2 : figures->l1 + lines_of(access);
}

/* Of global memory what is new to the program comes from L2, and all that is stored goes there. */
static void occupy_memory(Warp *warp, const Insn *insn, const Cost *cost, const Access *access) {
    double each = warp->machine->timing->costs->figures.sector_clocks;
    bool whole = cost->kind != COST_ACCESS || !cost->loads || insn_has(insn, WORD_cg);
    bool is_copy = cost->kind == COST_COPY && !insn_has(insn, WORD_bulk);
    uint64_t moved = whole && !is_copy ? access->sectors : access->fresh;
    occupy(warp, TIME_SHARED, (double)access->wavefronts);
    if (!insn_has(insn, WORD_bulk))
        occupy(warp, TIME_SHARED, lines_of(access));
    occupy(warp, TIME_L2, (double)moved * each);
    if (!whole)
        warp->machine->timing->loaded += (double)moved * each;
}

/* What is in no group yet of the queue ends then. */
static void open_until(WarpTime *time, const Cost *cost, double when) {
    TimeGroups *groups = &time->queues[cost->queue];
    if (when < groups->open)
        return;
    groups->open = when;
    groups->open_pc = time->pc;
}

static ExecResult execute_access(Warp *warp, const Insn *insn, const Cost *cost, uint32_t mask) {
    Timing *timing = warp->machine->timing;
    WarpTime *time = time_of(warp);
    uint32_t pc = insn_pc(warp, insn);
    Access before = counted(warp, pc);
    double start = operands_ready(warp, cost);
    ExecResult result = insn->row->exec(warp, insn, mask);
    Access access = counted(warp, pc);
    access = (Access){access.sectors - before.sectors, access.wavefronts - before.wavefronts,
                      access.fresh - before.fresh, access.ideal - before.ideal};
    double latency = access_latency(timing, insn, cost, &access);
    issue(warp, cost);
    occupy_memory(warp, insn, cost, &access);
    issue_at(warp, cost, start);
    if (cost->kind == COST_COPY) {
        latency += insn_has(insn, WORD_bulk) ? timing->costs->figures.tma : 0;
        open_until(time, cost, start + latency);
    }
    results_at(warp, cost, start + latency);
    note(warp, cost,
         (TimeEvent){.ready = start,
                     .end = start + latency,
                     .issues = cost->issues,
                     .busy = (double)access.wavefronts +
                             (insn_has(insn, WORD_bulk) ? 0 : lines_of(&access)),
                     .replays = (double)(access.wavefronts - access.ideal),
                     .unit = TIME_SHARED,
                     .in_groups = cost->kind == COST_COPY});
    return result;
}

/* Products of a warpgroup follow each other; its four warps occupy a quarter each. */
static ExecResult execute_wgmma(Warp *warp, const Insn *insn, const Cost *cost, uint32_t mask) {
    enum { WARPS = 4 };
    WarpTime *time = time_of(warp);
    double start = operands_ready(warp, cost);
    TimeGroups *groups = &time->queues[QUEUE_PRODUCTS];
    double clocks = cost->busy;
    Timing *timing = warp->machine->timing;
    occupy(warp, TIME_ISSUE, 1 / timing->costs->figures.partitions);
    occupy_cta(warp, TIME_TENSOR, clocks);
    issue_at(warp, cost, start);
    groups->open = timing_later(groups->open, start) + clocks * WARPS;
    groups->open_pc = time->pc;
    note(warp, cost,
         (TimeEvent){.ready = start, .end = groups->open, .issues = 1, .in_groups = true});
    return insn->row->exec(warp, insn, mask);
}

static void commit(Warp *warp, const Cost *cost) {
    TimeGroups *groups = &time_of(warp)->queues[cost->queue];
    double tail = cost->queue == QUEUE_PRODUCTS ? warp->machine->timing->costs->figures.wgmma : 0;
    groups->pcs[groups->count % TIME_GROUPS] = groups->open_pc;
    groups->ends[groups->count++ % TIME_GROUPS] = groups->open + tail;
}

static void wait_for_groups(Warp *warp, const Insn *insn, const Cost *cost) {
    TimeGroups *groups = &time_of(warp)->queues[cost->queue];
    if (insn_has(insn, WORD_wait_all)) {
        timing_resume(warp, groups->open, groups->open_pc);
        return;
    }
    uint64_t pending = (uint64_t)insn->operand[0].offset;
    const uint64_t last = (groups->count - 1 - pending) % TIME_GROUPS;
    if (groups->count > pending && pending < TIME_GROUPS)
        timing_resume(warp, groups->ends[last], groups->pcs[last]);
}

static ExecResult execute_wait(Warp *warp, const Insn *insn, const Cost *cost, uint32_t mask) {
    Timing *timing = warp->machine->timing;
    WarpTime *time = time_of(warp);
    issue_at(warp, cost, operands_ready(warp, cost));
    issue(warp, cost);
    if (cost->kind == COST_COMMIT) {
        commit(warp, cost);
        return insn->row->exec(warp, insn, mask);
    }
    timing_now(warp);
    if (cost->kind == COST_WAIT_GROUP)
        wait_for_groups(warp, insn, cost);
    else if (insn->row->class == CLASS_CONTROL)
        resume(warp, time->start + timing->costs->figures.branch, false, NO_PC);
    else if (cost->latency > 0)
        resume(warp, time->start + cost->latency, false, NO_PC);
    results_at(warp, cost, time->start + timing->costs->figures.simple);
    if (timing->spent && !timing->turns.done && insn->is_branch && insn->target < time->pc)
        turns_back(&timing->turns, &time->window, mask != 0, warp, time->start);
    return insn->row->exec(warp, insn, mask);
}

static void fetch(Timing *timing, uint32_t pc, const Cost *cost) {
    if (timing->seen[pc])
        return;
    timing->seen[pc] = true;
    timing->fetched += (uint64_t)(cost->issues + 0.5f);
}

ExecResult timing_execute(Warp *warp, const Insn *insn, uint32_t mask) {
    Timing *timing = warp->machine->timing;
    uint32_t pc = insn_pc(warp, insn);
    const Cost *cost = &timing->costs->insns[pc];
    time_of(warp)->pc = pc;
    fetch(timing, pc, cost);
    switch ((CostKind)cost->kind) {
    case COST_NOTHING:
        return insn->row->exec(warp, insn, mask);
    case COST_ACCESS:
    case COST_ATOMIC:
    case COST_COPY:
        return execute_access(warp, insn, cost, mask);
    case COST_WGMMA:
        return execute_wgmma(warp, insn, cost, mask);
    case COST_COMMIT:
    case COST_WAIT_GROUP:
    case COST_WAIT:
        return execute_wait(warp, insn, cost, mask);
    case COST_PLAIN:
        break;
    }
    double start = operands_ready(warp, cost);
    issue(warp, cost);
    issue_at(warp, cost, start);
    results_at(warp, cost, start + cost->latency);
    note(
        warp, cost,
        (TimeEvent){.ready = start,
                    .end = start + cost->latency,
                    .issues = cost->issues,
                    .busy = cost->busy *
                            (cost->unit < TIME_PARTITIONED ? timing->costs->figures.partitions : 1),
                    .unit = (TimeUnit)cost->unit});
    return insn->row->exec(warp, insn, mask);
}

void timing_skip(Warp *warp, const Insn *insn) {
    const uint32_t pc = insn_pc(warp, insn);
    const Cost *cost = &warp->machine->timing->costs->insns[pc];
    time_of(warp)->pc = pc;
    if (cost->issues > 0)
        occupy(warp, TIME_ISSUE, 1 / warp->machine->timing->costs->figures.partitions);
}

double timing_copied(Warp *warp) {
    if (!warp->machine->timing)
        return 0;
    return timing_later(timing_now(warp), time_of(warp)->queues[QUEUE_COPIES].open);
}

uint32_t timing_copied_pc(Warp *warp, const Insn *insn) {
    if (!warp->machine->timing)
        return NO_PC;
    const TimeGroups *groups = &time_of(warp)->queues[QUEUE_COPIES];
    return groups->open > timing_now(warp) ? groups->open_pc : insn_pc(warp, insn);
}

double timing_bulk(Warp *warp, uint64_t bytes) {
    const Timing *timing = warp->machine->timing;
    if (!timing)
        return 0;
    const TimeFigures *figures = &timing->costs->figures;
    double further = timing->cold ? figures->global : figures->l2;
    double sectors = (double)bytes / TARGET_SECTOR_BYTES;
    return timing_now(warp) + figures->tma + further + sectors * figures->sector_clocks;
}
