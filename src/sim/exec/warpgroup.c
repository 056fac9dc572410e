/* Warpgroups: four warps that execute a wgmma together, and their operations in flight.
 *
 * A warp waits at a wgmma until the other three have come; then each has the operation in its
 * queue. When the first warp waits for it the operation takes effect for all four, and its reads of
 * shared memory are over: the reader of the warpgroup is an actor of vector clocks whose epochs are
 * the numbers of its operations, so that who hears of the wait of any of the four warps knows it.
 * The registers of a warp are its own again when it has waited itself. */
#include "sim/state/warpgroup.h"
#include "sim/check/findings.h"
#include "sim/exec/matrix.h"
#include "sim/exec/wgmma.h"
#include "sim/state/program.h"

uint32_t wgmma_groups(const Machine *machine, const Cluster *cluster) {
    return machine->module->has_wgmma
               ? cluster->warp_count / cluster->size / WARPGROUP * cluster->size
               : 0;
}

WgmmaState *wgmma_state(Warp *warp) {
    if (!warp->wgmma) {
        warp->wgmma = ARENA_NEW(warp->machine->arena, WgmmaState);
        warp->wgmma->end = &warp->wgmma->first;
    }
    return warp->wgmma;
}

void wgmma_start_warp(Warp *warp) {
    WgmmaState *state = warp->wgmma;
    if (!state)
        return;
    *state->end = state->unused;
    state->unused = state->first;
    state->first = NULL;
    state->end = &state->first;
    state->groups = state->fences = 0;
}

void wgmma_start_program(Cta *cta) {
    for (unsigned i = 0; i < MAX_WARPS / WARPGROUP; i++)
        if (cta->warpgroups[i])
            cta->warpgroups[i]->ops = cta->warpgroups[i]->finished = cta->warpgroups[i]->arrived =
                0;
}

static Warpgroup *group_of(Warp *warp) {
    Cta *cta = warp->cta;
    unsigned index = warp->index / WARPGROUP, each = cta->warp_count / WARPGROUP;
    Warpgroup **group = &cta->warpgroups[index];
    if (*group)
        return *group;
    *group = ARENA_NEW(warp->machine->arena, Warpgroup);
    (*group)->warps = &cta->warps[index * WARPGROUP];
    (*group)->reader = cta->cluster->warp_count + cta->rank * each + index;
    return *group;
}

/* Those who wait go on behind the wgmma. */
static void go_on(Warpgroup *group, const Warp *but) {
    for (unsigned w = 0; w < WARPGROUP; w++) {
        Warp *warp = &group->warps[w];
        for (unsigned i = 0; i < MAX_SPLITS && warp != but; i++)
            if (warp->splits[i].used && warp->splits[i].wait == WAIT_WARPGROUP) {
                warp->splits[i].wait = WAIT_NONE;
                warp->splits[i].pc++;
            }
    }
    group->arrived = 0;
}

static void multiply(Warp *warp, const WgmmaOp *op) {
    const Insn *insn = op->insn;
    MatrixBlock block;
    block.kind = (MatrixKind){.a = (Type)insn->type[1],
                              .b = (Type)insn->type[2],
                              .d = (Type)insn->type[0],
                              .rows = MATRIX_ROWS,
                              .columns = wgmma_columns(insn),
                              .depth = wgmma_depth(insn),
                              .sm = warp->machine->module->sm,
                              .is_wgmma = true,
                              .saturates = insn_has(insn, WORD_satfinite)};
    /* Registers are those of the function that started it. */
    Split *current = warp->current, there = {.frame = op->frame};
    warp->current = &there;
    wgmma_read_operands(warp, op, &block);
    if (op->accumulates) {
        fragment_read_c(warp, &insn->operand[0], &block);
    } else {
        unsigned elements = block.kind.rows * block.kind.columns;
        memset(block.c, 0, elements * sizeof *block.c);
        memset(block.c_known, true, elements);
    }
    matrix_multiply(&block);
    fragment_write_d(warp, &insn->operand[0], &block);
    warp->current = current;
}

/* Operations up to that number take effect for all four warps. */
static void take_effect(Warpgroup *group, uint32_t number) {
    for (; group->finished < number; group->finished++)
        for (unsigned w = 0; w < WARPGROUP; w++) {
            Warp *warp = &group->warps[w];
            const WgmmaOp *op = warp->wgmma->first;
            while (op && op->number != group->finished + 1)
                op = op->next;
            if (op && !warp->machine->launch->early)
                multiply(warp, op);
        }
}

static void enqueue(Warp *warp, const WgmmaOp *start) {
    WgmmaState *state = wgmma_state(warp);
    WgmmaOp *op = state->unused;
    state->unused = op ? op->next : NULL;
    op = op ? op : ARENA_NEW(warp->machine->arena, WgmmaOp);
    *op = *start;
    *state->end = op;
    state->end = &op->next;
}

/* All four have come with the same instruction. */
static void start(Warpgroup *group) {
    const WgmmaOp *first = &group->waiting[0];
    bool found = true;
    group->ops++;
    for (unsigned w = 0; w < WARPGROUP; w++) {
        WgmmaOp *op = &group->waiting[w];
        Warp *warp = &group->warps[w];
        if (op->a != first->a || op->b != first->b || op->accumulates != first->accumulates)
            report(warp, op->insn, 0, sim_wgmma_operands, op->a, op->b, op->accumulates, first->a,
                   first->b, first->accumulates, group->warps[0].index);
        op->number = group->ops;
        found &= wgmma_take_operands(warp, op, group->reader);
    }
    for (unsigned w = 0; w < WARPGROUP; w++) {
        Warp *warp = &group->warps[w];
        wgmma_take_registers(warp, &group->waiting[w]);
        if (!found)
            wgmma_release_registers(&group->waiting[w]);
        else
            enqueue(warp, &group->waiting[w]);
        if (found && warp->machine->launch->early)
            multiply(warp, &group->waiting[w]);
    }
}

static void report_missing(Warp *warp, const Insn *insn, uint32_t other) {
    report(warp, insn, 0, sim_wgmma_missing, other);
}

/* Some of the four have exited, or wait at another wgmma; then nobody waits for them. */
static bool can_meet(Warpgroup *group, Warp *warp, const WgmmaOp *op) {
    for (unsigned w = 0; w < WARPGROUP; w++) {
        const Insn *other = group->waiting[w].insn;
        if (!group->warps[w].alive) {
            report_missing(warp, op->insn, group->warps[w].index);
            return false;
        }
        if (group->arrived >> w & 1 && other != op->insn) {
            if (report(warp, op->insn, 0, sim_wgmma_mismatch, group->warps[w].index))
                finding_other(
                    warp, insn_pc(warp, other),
                    str_format(&warp->machine->ctx->arena, "warp %u", group->warps[w].index),
                    "executes its wgmma");
            return false;
        }
    }
    return true;
}

ExecResult warpgroup_arrive(Warp *warp, const WgmmaOp *op) {
    Warpgroup *group = group_of(warp);
    unsigned own = warp->index % WARPGROUP;
    wgmma_state(warp);
    if (!can_meet(group, warp, op)) {
        go_on(group, warp);
        return EXEC_NEXT;
    }
    group->waiting[own] = *op;
    group->arrived |= 1u << own;
    if (group->arrived == (1u << WARPGROUP) - 1) {
        start(group);
        go_on(group, warp);
        return EXEC_NEXT;
    }
    warp->current->wait = WAIT_WARPGROUP;
    warp->current->wait_mask = warp->alive;
    warp->current->wait_member = group->arrived;
    return EXEC_WAIT;
}

void wgmma_warp_exits(Warp *warp) {
    Warpgroup *group = warp->cta->warpgroups[warp->index / WARPGROUP];
    if (!group || !group->arrived)
        return;
    unsigned first = (unsigned)__builtin_ctz(group->arrived);
    report_missing(&group->warps[first], group->waiting[first].insn, warp->index);
    go_on(group, warp);
}

void wgmma_finish_first(Warp *warp) {
    Warpgroup *group = group_of(warp);
    WgmmaState *state = warp->wgmma;
    WgmmaOp *op = state->first;
    take_effect(group, op->number);
    wgmma_release_registers(op);
    ClockEntry *known = &warp->clock.seen[group->reader];
    known->all = op->number > known->all ? op->number : known->all;
    state->first = op->next;
    if (!state->first)
        state->end = &state->first;
    op->next = state->unused;
    state->unused = op;
}
