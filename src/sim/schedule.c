/* Warps take turns, splits of a warp take turns, instructions run.
 *
 * The splits of a warp are the leaves and inner nodes of a tree: a branch whose threads disagree
 * makes its split wait and gives it children that end where the threads meet. A split that waits at
 * a barrier or for other threads does not keep the others from running. */
#include "sim/exec/wgmma.h"

enum { SPLIT_TURN = 2048, ROUND_ROBIN_TURN = 16 };

static Split *new_split(Warp *warp, Split parent) {
    for (unsigned i = 0; i < MAX_SPLITS; i++) {
        if (warp->splits[i].used)
            continue;
        warp->splits[i] = parent;
        warp->splits[i].used = true;
        return &warp->splits[i];
    }
    return NULL;
}

/* The split is done: its parent goes on when this was its last child. */
void split_end(Warp *warp, Split *split) {
    warp->last_meeting = warp->executed;
    warp->polled = false;
    while (split) {
        Split *parent = split->parent;
        split->used = false;
        if (!parent || --parent->children)
            return;
        parent->wait = WAIT_NONE;
        /* A parent whose threads have all exited is done as well. */
        if (parent->mask)
            return;
        split = parent;
    }
}

void warp_exit(Warp *warp, Split *split, uint32_t mask) {
    warp->alive &= ~mask;
    for (Split *at = split; at; at = at->parent)
        at->mask &= ~mask;
    if (!split->mask)
        split_end(warp, split);
    if (!warp->alive) {
        wgmma_warp_exits(warp);
        bulk_warp_exit(warp);
        barrier_recheck(warp->cta);
        registers_exit(warp);
    }
    if (warp->cta->cluster->size > 1)
        cluster_exit(warp);
}

static void add_child(Warp *warp, Split *parent, uint32_t mask, uint32_t pc, uint32_t reconverge) {
    /* Who is already where the threads meet waits there in the parent. */
    if (pc == reconverge)
        return;
    Split *child = new_split(warp, (Split){.pc = pc,
                                           .mask = mask,
                                           .rpc = reconverge,
                                           .frame = parent->frame,
                                           .rframe = parent->frame,
                                           .parent = parent});
    if (child)
        parent->children++;
}

void split_branch(Warp *warp, uint32_t taken, uint32_t mask, uint32_t target, uint32_t reconverge) {
    Split *split = warp->current;
    uint32_t rest = split->mask & ~taken;
    if (!taken || !rest) {
        split->pc = taken ? target : split->pc + 1;
        return;
    }
    warp->machine->counts->divergent_branches++;
    uint32_t fall = split->pc + 1;
    split->pc = reconverge;
    add_child(warp, split, rest, fall, reconverge);
    add_child(warp, split, taken, target, reconverge);
    if (split->children)
        split->wait = WAIT_CHILDREN;
}

Frame *frame_open(Warp *warp, const Func *func, Frame *caller, const Insn *call) {
    Machine *machine = warp->machine;
    Frame *frame = machine->free_frames[func->address - 1];
    if (frame) {
        machine->free_frames[func->address - 1] = frame->caller;
    } else {
        frame = ARENA_NEW(machine->arena, Frame);
        frame->regs = ARENA_ARRAY(machine->arena, Reg, func->regs);
    }
    for (uint32_t i = 0; i < func->regs; i++)
        memset(frame->regs[i].def, 0, sizeof frame->regs[i].def);
    if (func->matrix_regs) {
        if (!frame->matrix)
            frame->matrix = ARENA_ARRAY(machine->arena, MatrixReg, func->regs);
        memset(frame->matrix, 0, func->regs * sizeof *frame->matrix);
    }
    if (frame->stack_begin)
        memset(frame->stack_begin, 0xff, LANES * sizeof *frame->stack_begin);
    frame->func = func;
    frame->caller = caller;
    frame->call = call;
    frame->depth = caller ? caller->depth + 1 : 0;
    frame->local_base =
        caller ? caller->local_base + (caller->func->frame_bytes + 15) / 16 * 16 : 0;
    memory_grow_local(warp, frame->local_base + func->frame_bytes);
    vec_for_each (at, &func->frame_addresses) {
        Reg *reg = &frame->regs[at->reg];
        memset(reg->def, BYTE_DEFINED, sizeof reg->def);
        for (uint32_t lane = 0; lane < LANES; lane++)
            reg->v[lane] = frame->local_base + at->offset;
    }
    return frame;
}

void frame_close(Warp *warp, Frame *frame) {
    Frame **list = &warp->machine->free_frames[frame->func->address - 1];
    frame->caller = *list;
    *list = frame;
}

bool warp_converged(Warp *warp, const Insn *insn, uint32_t mask) {
    if (mask == warp->alive)
        return true;
    report(warp, insn, (uint32_t)__builtin_ctz(mask), sim_diverged, insn->row->name, mask,
           warp->alive);
    return false;
}

bool split_gather(Warp *warp, const Insn *insn, uint32_t mask, uint32_t member,
                  uint32_t *together) {
    Split *self = warp->current;
    uint32_t need = member & warp->alive, here = mask;
    *together = mask;
    if (!(need & ~mask))
        return true;
    for (unsigned i = 0; i < MAX_SPLITS; i++) {
        const Split *split = &warp->splits[i];
        if (split->used && split != self && split->wait == WAIT_LANES && split->pc == self->pc &&
            split->frame == self->frame)
            here |= split->wait_mask;
    }
    if (need & ~here) {
        self->wait = WAIT_LANES;
        self->wait_mask = mask;
        self->wait_member = member;
        return false;
    }
    for (unsigned i = 0; i < MAX_SPLITS; i++) {
        Split *split = &warp->splits[i];
        if (split->used && split != self && split->wait == WAIT_LANES && split->pc == self->pc &&
            split->frame == self->frame) {
            split->wait = WAIT_NONE;
            split->pc++;
        }
    }
    *together = here;
    return true;
}

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

/* Threads that spin on what others must do, who wait to meet them: those go on alone, up to where
 * the split around them ends. Only within the kernel itself, since a frame ends once. */
static void release_waiting(Warp *warp) {
    for (unsigned i = 0; i < MAX_SPLITS; i++) {
        Split *split = &warp->splits[i];
        if (!split->used || split->wait != WAIT_CHILDREN || split->frame->caller)
            continue;
        uint32_t arrived = split->mask;
        for (unsigned c = 0; c < MAX_SPLITS; c++)
            if (warp->splits[c].used && warp->splits[c].parent == split)
                arrived &= ~warp->splits[c].mask;
        Split alone = *split;
        alone.mask = arrived;
        alone.wait = WAIT_NONE;
        alone.children = 0;
        split->mask &= ~arrived;
        /* Where they stand at the end of those around as well, as in a loop that they leave one by
         * one. */
        while (alone.parent && alone.pc == alone.rpc) {
            alone.rpc = alone.parent->rpc;
            alone.parent->mask &= ~arrived;
            alone.parent = alone.parent->parent;
        }
        if (!arrived || !new_split(warp, alone)) {
            for (Split *at = split; at != alone.parent; at = at->parent)
                at->mask |= arrived;
            continue;
        }
        if (alone.parent)
            alone.parent->children++;
        warp->released = true;
    }
    warp->last_meeting = warp->executed;
    warp->polled = false;
}

static bool needs_all(const Insn *insn) {
    return insn_has(insn, WORD_aligned) ||
           (insn->row->class == CLASS_BARRIER && !strcmp(insn->row->name, "bar") &&
            !insn_has(insn, WORD_warp));
}

/* After a release threads may come to an instruction that needs the whole warp one after another:
 * they wait there, and those that come last take the others in. False: the split waits. */
static bool meet_again(Warp *warp, Split *split) {
    for (unsigned i = 0; i < MAX_SPLITS; i++) {
        Split *other = &warp->splits[i];
        if (!other->used || other == split || other->wait != WAIT_LANES || other->pc != split->pc ||
            other->frame != split->frame || other->parent != split->parent)
            continue;
        split->mask |= other->mask;
        other->used = false;
        if (split->parent)
            split->parent->children--;
    }
    if (split->mask == warp->alive)
        return true;
    split->wait = WAIT_LANES;
    split->wait_mask = split->mask;
    split->wait_member = warp->alive;
    return false;
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
            !meet_again(warp, split))
            return;
        uint32_t mask = guarded(warp, insn, split->mask);
        if (!mask && !insn->is_branch) {
            split->pc++;
            continue;
        }
        /* The exit of a function is not an instruction of the text: its rets are counted. */
        if (insn->row->exec != exec_return)
            count_insn(warp, insn, mask);
        if (insn->touches_matrix)
            wgmma_touch(warp, insn);
        ExecResult result = insn->row->exec(warp, insn, mask);
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
            release_waiting(warp);
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
