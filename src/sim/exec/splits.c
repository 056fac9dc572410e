/* The splits of a warp: threads that share a program counter.
 *
 * They are the leaves and inner nodes of a tree: a branch whose threads disagree makes its split
 * wait and gives it children that end where the threads meet. */
#include "sim/exec/splits.h"

#include "sim/check/findings.h"
#include "sim/report/counters.h"
#include "sim/state/warpgroup.h"

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

/* Local memory grows with the frames that are open. */
static void grow_local(Warp *warp, uint64_t bytes) {
    if (bytes <= warp->local_bytes)
        return;
    uint64_t size = (bytes + 255) / 256 * 256 * 2;
    uint8_t *data = arena_alloc(warp->machine->arena, size * LANES);
    uint8_t *defined = arena_alloc(warp->machine->arena, size * LANES);
    for (uint32_t lane = 0; lane < LANES && warp->local_bytes; lane++) {
        memcpy(data + lane * size, warp->local + lane * warp->local_bytes, warp->local_bytes);
        memcpy(defined + lane * size, warp->local_def + lane * warp->local_bytes,
               warp->local_bytes);
    }
    warp->local = data;
    warp->local_def = defined;
    warp->local_bytes = size;
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
    grow_local(warp, frame->local_base + func->frame_bytes);
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

/* Does the split wait at the instruction where this one has come? */
static bool waits_there(const Split *split, const Split *self) {
    return split->used && split != self && split->wait == WAIT_LANES && split->pc == self->pc &&
           split->frame == self->frame;
}

/* Adds a split of threads that are needed beside `self`, with those whom it waits for; false: none
 * has come. */
static bool take_in(const Warp *warp, const Split *self, uint32_t *need, uint32_t *here) {
    for (unsigned i = 0; i < MAX_SPLITS; i++) {
        const Split *split = &warp->splits[i];
        if (!waits_there(split, self) || !(split->wait_mask & *need & ~*here))
            continue;
        *here |= split->wait_mask;
        *need |= split->wait_member & warp->alive;
        return true;
    }
    return false;
}

bool split_gather(Warp *warp, const Insn *insn, uint32_t mask, uint32_t member,
                  uint32_t *together) {
    Split *self = warp->current;
    uint32_t need = member & warp->alive, here = mask;
    *together = mask;
    while (need & ~here && take_in(warp, self, &need, &here))
        ;
    if (need & ~here) {
        self->wait = WAIT_LANES;
        self->wait_mask = mask;
        self->wait_member = member;
        return false;
    }
    for (unsigned i = 0; i < MAX_SPLITS; i++) {
        Split *split = &warp->splits[i];
        if (waits_there(split, self) && split->wait_mask & here) {
            split->wait = WAIT_NONE;
            split->pc++;
        }
    }
    *together = here;
    return true;
}

void splits_recheck(Warp *warp) {
    for (unsigned i = 0; i < MAX_SPLITS; i++) {
        Split *split = &warp->splits[i];
        uint32_t need = split->wait_member & warp->alive, here = split->wait_mask;
        if (!split->used || split->wait != WAIT_LANES)
            continue;
        while (need & ~here && take_in(warp, split, &need, &here))
            ;
        if (!(need & ~here))
            split->wait = WAIT_NONE; /* it executes the instruction again */
    }
}

void splits_release(Warp *warp) {
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

bool split_meet_again(Warp *warp, Split *split) {
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
