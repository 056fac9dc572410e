/* Mbarriers: objects in shared memory that count arrivals and bytes, phase by phase.
 *
 * The state is kept beside the memory, which holds an image of it: a store that changes the image
 * is found at the next operation. A wait that does not succeed puts its threads to sleep until the
 * phase ends; when nothing else can run, mbarrier.try_wait times out, as it may, and after many
 * rounds of that without anything new the threads are in a deadlock. Copies and late arrivals are
 * carried out when somebody waits for them. For vector clocks an mbarrier is an actor: data that
 * the asynchronous proxy has written is known to whoever knows the end of the phase. */
#include "sim/exec/mbarrier.h"

#include "sim/check/clock.h"
#include "sim/check/findings.h"
#include "sim/check/races.h"
#include "sim/exec/bulk.h"
#include "sim/exec/exec_async.h"
#include "sim/exec/memory.h"
#include "sim/parse/table.h"
#include "sim/report/counters.h"
#include "sim/state/mbarrier_object.h"
#include "sim/state/program.h"
#include "sim/time/timing.h"

enum {
    MAX_COUNT = (1 << 20) - 1,
    COUNT_BITS = 20,
    PHASE_BITS = 22,
    TIMEOUT_ROUNDS = 64,
    RELEASE_ROUND = TIMEOUT_ROUNDS / 2
};
#define IMAGE_VALID (UINT64_C(1) << 62)

/* The image in memory, which is also the state that an arrival gives. */
static uint64_t image_of(const Mbarrier *mbarrier) {
    uint64_t phase = mbarrier->phase & bits_mask(PHASE_BITS);
    return IMAGE_VALID | phase << (2 * COUNT_BITS) | (uint64_t)mbarrier->expected << COUNT_BITS |
           mbarrier->pending;
}

static void write_image(Mbarrier *mbarrier) {
    uint64_t image = image_of(mbarrier);
    memcpy(mbarrier->cta->shared + mbarrier->address, &image, sizeof image);
}

void mbarrier_reset(Cta *cta) {
    for (uint32_t i = 0; i < cta->mbarrier_count; i++)
        cta->mbarrier_at[cta->mbarriers.data[i]->address / 8] = 0;
    cta->mbarrier_count = 0;
}

static Mbarrier *object_at(const Cta *cta, uint64_t own) {
    unsigned number = cta->mbarrier_at ? cta->mbarrier_at[own / 8] : 0;
    return number ? cta->mbarriers.data[number - 1] : NULL;
}

/* A new object; its clocks know nothing. */
static Mbarrier *object_add(Machine *machine, Cta *cta, uint64_t own) {
    Cluster *cluster = cta->cluster;
    if (!cta->mbarrier_at)
        cta->mbarrier_at = ARENA_ARRAY(machine->arena, uint16_t, cta->shared_end / 8 + 1);
    if (cta->mbarrier_count == cta->mbarriers.len) {
        Mbarrier *fresh = ARENA_NEW(machine->arena, Mbarrier);
        vec_push(machine->arena, &cta->mbarriers, fresh);
        fresh->arriving = clock_create(machine, cluster);
        fresh->done = clock_create(machine, cluster);
    }
    Mbarrier *mbarrier = cta->mbarriers.data[cta->mbarrier_count++];
    cta->mbarrier_at[own / 8] = (uint16_t)cta->mbarrier_count;
    *mbarrier = (Mbarrier){
        .cta = cta,
        .address = own,
        .actor = cluster->actor_count < cluster->max_actors ? cluster->actor_count++ : NO_ACTOR,
        .arriving = mbarrier->arriving,
        .done = mbarrier->done,
        .time_pc = NO_PC,
        .ended_pc = {NO_PC, NO_PC}};
    return mbarrier;
}

/* The object must be in shared memory, and in the own program's unless the instruction says
 * .shared::cluster. */
static bool find_place(Warp *warp, const Insn *insn, uint32_t lane, SpaceKind space,
                       uint64_t address, Target *target) {
    if (!memory_find(warp, insn, lane, space, address, 8, ACCESS_ATOMIC, target))
        return false;
    if (target->space != SPACE_shared) {
        report(warp, insn, lane, sim_mbarrier_space, address);
        return false;
    }
    if (target->cta == warp->cta || insn_has(insn, WORD_shared_cluster))
        return true;
    report(warp, insn, lane, sim_not_own_shared, "mbarrier operation", 8, address,
           target->cta->rank);
    return false;
}

static const char *lane_name(const Warp *warp, const SharedCell *cell) {
    return str_format(&warp->machine->ctx->arena, "warp %u, lane %u",
                      warp->cta->cluster->warps[cell->actor].index, cell->lane);
}

Mbarrier *mbarrier_in(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner, uint64_t own) {
    Mbarrier *mbarrier = object_at(owner, own);
    uint64_t image;
    if (!mbarrier || !mbarrier->live) {
        report(warp, insn, lane, sim_mbarrier_none, own);
        return NULL;
    }
    memcpy(&image, owner->shared + own, sizeof image);
    if (image != image_of(mbarrier)) {
        const SharedCell *cell = &owner->writes[own];
        if (report(warp, insn, lane, sim_mbarrier_overwritten, own) && cell->epoch &&
            cell->actor < owner->cluster->warp_count)
            finding_other(warp, cell->pc, lane_name(warp, cell), "wrote to it");
        return NULL;
    }
    bool own_lane = mbarrier->init.actor == warp->clock_index && mbarrier->init.lane == lane;
    if (!own_lane && !clock_has_seen(warp, lane, &mbarrier->init) &&
        report(warp, insn, lane, sim_mbarrier_unordered, own))
        finding_other(warp, mbarrier->init.pc, lane_name(warp, &mbarrier->init), "initialised it");
    return mbarrier;
}

Mbarrier *mbarrier_find(Warp *warp, const Insn *insn, uint32_t lane, SpaceKind space,
                        uint64_t address) {
    Target target;
    if (!find_place(warp, insn, lane, space, address, &target))
        return NULL;
    return mbarrier_in(warp, insn, lane, target.cta, target.offset);
}

/* Phases. */

/* The waits of a warp at the mbarrier run again. */
static void wake_warp(Mbarrier *mbarrier, Warp *warp) {
    for (unsigned i = 0; i < MAX_SPLITS; i++) {
        Split *split = &warp->splits[i];
        if (split->used && split->wait == WAIT_MBARRIER && split->mbarrier == mbarrier)
            split->wait = WAIT_NONE;
    }
}

static void wake(Mbarrier *mbarrier) {
    FOR_LANES(w, mbarrier->waiting)
    wake_warp(mbarrier, &mbarrier->cta->warps[w]);
}

/* Who was woken for an earlier phase and has not looked since will not see that it ended. */
static void check_overrun(Mbarrier *mbarrier) {
    FOR_LANES(w, mbarrier->waiting) {
        Warp *warp = &mbarrier->cta->warps[w];
        for (unsigned i = 0; i < MAX_SPLITS; i++) {
            const Split *split = &warp->splits[i];
            if (!split->used || split->mbarrier != mbarrier ||
                split->mbarrier_phase == mbarrier->phase)
                continue;
            const Insn *insn = &warp->machine->module->insns.data[split->pc];
            uint32_t lane = (uint32_t)__builtin_ctz(split->wait_mask);
            if (report(warp, insn, lane, sim_mbarrier_overrun, mbarrier->address,
                       split->mbarrier_phase))
                finding_other(warp, mbarrier->last_pc, "the last arrival or copy", "ended it");
        }
    }
}

/* Ends the phase when all have arrived and all bytes have come. */
static bool end_phase(Mbarrier *mbarrier) {
    if (mbarrier->pending || mbarrier->tx || !mbarrier->live)
        return false;
    const Cluster *cluster = mbarrier->cta->cluster;
    check_overrun(mbarrier);
    mbarrier->ended[mbarrier->phase & 1] = mbarrier->time;
    mbarrier->ended_pc[mbarrier->phase & 1] = mbarrier->time_pc;
    mbarrier->time = 0;
    mbarrier->time_pc = NO_PC;
    clock_join(cluster, &mbarrier->done, &mbarrier->arriving);
    mbarrier->phase++;
    mbarrier->pending = mbarrier->expected;
    if (mbarrier->actor != NO_ACTOR)
        mbarrier->done.seen[mbarrier->actor].all = mbarrier->phase;
    write_image(mbarrier);
    mbarrier->cta->cluster->events++;
    wake(mbarrier);
    return true;
}

static void change_tx(Mbarrier *mbarrier, Warp *warp, const Insn *insn, uint32_t lane,
                      int64_t bytes) {
    int64_t tx = mbarrier->tx + bytes;
    mbarrier->last_pc = insn_pc(warp, insn);
    if (tx < -MAX_COUNT || tx > MAX_COUNT) {
        report(warp, insn, lane, sim_mbarrier_tx, mbarrier->address, tx);
        return;
    }
    mbarrier->tx = tx;
}

void mbarrier_complete_tx(Mbarrier *mbarrier, Warp *warp, const Insn *insn, uint32_t lane,
                          int64_t bytes) {
    mbarrier->cta->cluster->events++;
    change_tx(mbarrier, warp, insn, lane, -bytes);
    end_phase(mbarrier);
}

void mbarrier_comes(Mbarrier *mbarrier, double time, uint32_t pc) {
    if (time < mbarrier->time)
        return;
    mbarrier->time = time;
    mbarrier->time_pc = pc;
}

static void arrive_late(Mbarrier *mbarrier, const Completion *one) {
    copies_finish_before(one->warp, one->lane, one->number);
    clock_release(one->warp, 1u << one->lane, &mbarrier->arriving);
    mbarrier->last_pc = insn_pc(one->warp, one->insn);
    mbarrier->late_arrivals--;
    mbarrier->pending--;
    mbarrier_comes(mbarrier, one->time, one->time_pc);
    write_image(mbarrier);
    end_phase(mbarrier);
}

/* Carries out what has been queued, as long as that can end the phase. */
static void advance(Mbarrier *mbarrier) {
    uint32_t phase = mbarrier->phase;
    while (mbarrier->first && mbarrier->phase == phase &&
           mbarrier->pending <= mbarrier->late_arrivals) {
        Completion *one = mbarrier->first;
        mbarrier->first = one->next;
        if (one->bulk)
            bulk_complete(one->bulk);
        else
            arrive_late(mbarrier, one);
    }
}

void mbarrier_queue(Mbarrier *mbarrier, Completion completion) {
    Machine *machine = mbarrier->cta->machine;
    Completion *kept = ARENA_NEW(machine->arena, Completion);
    *kept = completion;
    kept->next = NULL;
    if (!mbarrier->first)
        mbarrier->end = &mbarrier->first;
    *mbarrier->end = kept;
    mbarrier->end = &kept->next;
    mbarrier->late_arrivals += !completion.bulk;
    mbarrier->cta->cluster->events++;
    if (machine->launch->early)
        advance(mbarrier);
    else
        wake(mbarrier);
}

/* Instructions. */

static bool read_count(Warp *warp, const Insn *insn, const Operand *operand, uint32_t lane,
                       uint32_t *value) {
    const Reg *reg = reg_of(warp, operand->reg);
    *value = (uint32_t)reg->v[lane];
    if (reg->def[lane] == DEFINED)
        return true;
    report(warp, insn, lane, sim_undefined, "the operand of an mbarrier operation");
    return false;
}

static void initialise(Warp *warp, const Insn *insn, uint32_t lane, const Target *target,
                       uint32_t count) {
    Mbarrier *mbarrier = object_at(target->cta, target->offset);
    if (mbarrier && mbarrier->live) {
        if (report(warp, insn, lane, sim_mbarrier_reinit, target->offset))
            finding_other(warp, mbarrier->init.pc, lane_name(warp, &mbarrier->init),
                          "initialised it");
        return;
    }
    race_shared(warp, insn, lane, target->cta, target->offset, 8, ACCESS_WRITE, NULL);
    if (!mbarrier) {
        mbarrier = object_add(warp->machine, target->cta, target->offset);
        clock_reset(target->cta->cluster, &mbarrier->arriving);
        clock_reset(target->cta->cluster, &mbarrier->done);
    }
    mbarrier->live = true;
    mbarrier->init = target->cta->writes[target->offset];
    mbarrier->init_fenced = false;
    mbarrier->pending = mbarrier->expected = count;
    /* An object that begins again goes on at an even phase, since clocks count them. */
    mbarrier->phase += mbarrier->phase & 1;
    write_image(mbarrier);
    memset(target->defined, BYTE_DEFINED, 8);
}

ExecResult exec_mbarrier_init(Warp *warp, const Insn *insn, uint32_t mask) {
    FOR_LANES(lane, mask) {
        Target target;
        uint32_t count;
        uint64_t address = memory_address(warp, insn, &insn->operand[0], lane);
        if (!find_place(warp, insn, lane, insn_space(insn), address, &target) ||
            !read_count(warp, insn, &insn->operand[1], lane, &count))
            continue;
        if (!count || count > MAX_COUNT)
            report(warp, insn, lane, sim_mbarrier_expected, count);
        else
            initialise(warp, insn, lane, &target, count);
    }
    return EXEC_NEXT;
}

static void check_no_waiters(Warp *warp, const Insn *insn, uint32_t lane,
                             const Mbarrier *mbarrier) {
    FOR_LANES(w, mbarrier->waiting) {
        const Warp *other = &mbarrier->cta->warps[w];
        for (unsigned i = 0; i < MAX_SPLITS; i++)
            if (other->splits[i].used && other->splits[i].mbarrier == mbarrier)
                report(warp, insn, lane, sim_mbarrier_inval, mbarrier->address, w,
                       other->splits[i].mbarrier_phase);
    }
}

ExecResult exec_mbarrier_inval(Warp *warp, const Insn *insn, uint32_t mask) {
    FOR_LANES(lane, mask) {
        uint64_t address = memory_address(warp, insn, &insn->operand[0], lane);
        Mbarrier *mbarrier = mbarrier_find(warp, insn, lane, insn_space(insn), address);
        if (!mbarrier)
            continue;
        check_no_waiters(warp, insn, lane, mbarrier);
        mbarrier->live = false;
        mbarrier->first = NULL;
        mbarrier->late_arrivals = 0;
        mbarrier->tx = 0;
        mbarrier->phase++;
        mbarrier->cta->cluster->events++;
        race_shared(warp, insn, lane, mbarrier->cta, mbarrier->address, 8, ACCESS_WRITE, NULL);
        memset(mbarrier->cta->shared_def + mbarrier->address, 0, 8);
    }
    return EXEC_NEXT;
}

const char *check_remote_arrive(const Insn *insn) {
    return insn->operand[0].reg == REG_SINK
               ? NULL
               : "an arrival at an mbarrier of shared::cluster gives no state: wanted _";
}

typedef struct Arrival {
    uint32_t count;
    int64_t tx;
    bool drops, completes;
} Arrival;

static bool read_arrival(Warp *warp, const Insn *insn, uint32_t lane, Arrival *arrival) {
    const Operand *operand = &insn->operand[2];
    uint32_t value;
    *arrival = (Arrival){.count = 1,
                         .drops = insn_has(insn, WORD_arrive_drop),
                         .completes = !insn_has(insn, WORD_noComplete)};
    if (operand->kind == OPERAND_NONE)
        return true;
    if (!read_count(warp, insn, operand, lane, &value))
        return false;
    if (insn_has(insn, WORD_expect_tx)) {
        arrival->tx = value;
        return true;
    }
    arrival->count = value;
    if (value && value <= MAX_COUNT)
        return true;
    report(warp, insn, lane, sim_mbarrier_expected, value);
    return false;
}

/* One thread's arrival; gives the state before it. */
static uint64_t arrive(Warp *warp, const Insn *insn, uint32_t lane, Mbarrier *mbarrier) {
    Arrival arrival;
    uint64_t state = image_of(mbarrier);
    if (!read_arrival(warp, insn, lane, &arrival))
        return state;
    change_tx(mbarrier, warp, insn, lane, arrival.tx);
    if (warp->machine->timing)
        mbarrier_comes(mbarrier, timing_now(warp), insn_pc(warp, insn));
    if (arrival.count > mbarrier->pending - mbarrier->late_arrivals)
        advance(mbarrier);
    state = image_of(mbarrier);
    if (arrival.count > mbarrier->pending) {
        if (report(warp, insn, lane, sim_mbarrier_count, arrival.count, mbarrier->address,
                   mbarrier->phase, mbarrier->pending, mbarrier->expected))
            finding_other(warp, mbarrier->init.pc, lane_name(warp, &mbarrier->init),
                          "initialised it");
        return state;
    }
    mbarrier->pending -= arrival.count;
    if (arrival.drops)
        mbarrier->expected -= arrival.count;
    if (!arrival.completes && !mbarrier->pending && !mbarrier->tx)
        report(warp, insn, lane, sim_mbarrier_no_complete, mbarrier->address, mbarrier->phase);
    write_image(mbarrier);
    if (!end_phase(mbarrier) && mbarrier->first && mbarrier->pending <= mbarrier->late_arrivals)
        wake(mbarrier);
    return state;
}

/* The threads whose operand is the mbarrier of the first one. */
static uint32_t lanes_with(Warp *warp, const Insn *insn, uint32_t mask, uint64_t address) {
    uint32_t same = 0;
    FOR_LANES(lane, mask)
    same |= (uint32_t)(memory_address(warp, insn, &insn->operand[1], lane) == address) << lane;
    return same;
}

ExecResult exec_mbarrier_arrive(Warp *warp, const Insn *insn, uint32_t mask) {
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    warp->cta->cluster->events++;
    for (uint32_t left = mask; left;) {
        uint32_t first = (uint32_t)__builtin_ctz(left);
        uint64_t address = memory_address(warp, insn, &insn->operand[1], first);
        uint32_t same = lanes_with(warp, insn, left, address) | 1u << first;
        left &= ~same;
        Mbarrier *mbarrier = mbarrier_find(warp, insn, first, insn_space(insn), address);
        if (mbarrier && !insn_has(insn, WORD_relaxed))
            clock_release(warp, same, &mbarrier->arriving);
        FOR_LANES(lane, same) {
            dest->v[lane] = mbarrier ? arrive(warp, insn, lane, mbarrier) : 0;
            dest->def[lane] = mbarrier ? DEFINED : 0;
        }
    }
    return EXEC_NEXT;
}

ExecResult exec_mbarrier_tx(Warp *warp, const Insn *insn, uint32_t mask) {
    bool expects = insn_has(insn, WORD_expect_tx);
    FOR_LANES(lane, mask) {
        uint64_t address = memory_address(warp, insn, &insn->operand[0], lane);
        Mbarrier *mbarrier = mbarrier_find(warp, insn, lane, insn_space(insn), address);
        uint32_t bytes;
        if (!mbarrier || !read_count(warp, insn, &insn->operand[1], lane, &bytes))
            continue;
        if (expects)
            change_tx(mbarrier, warp, insn, lane, bytes);
        else
            mbarrier_complete_tx(mbarrier, warp, insn, lane, bytes);
    }
    return EXEC_NEXT;
}

ExecResult exec_mbarrier_pending(Warp *warp, const Insn *insn, uint32_t mask) {
    const Reg *state = reg_of(warp, insn->operand[1].reg);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    FOR_LANES(lane, mask) {
        dest->v[lane] = state->v[lane] & bits_mask(COUNT_BITS);
        dest->def[lane] = state->def[lane];
    }
    return EXEC_NEXT;
}

ExecResult exec_cp_async_arrive(Warp *warp, const Insn *insn, uint32_t mask) {
    FOR_LANES(lane, mask) {
        uint64_t address = memory_address(warp, insn, &insn->operand[0], lane);
        Mbarrier *mbarrier = mbarrier_find(warp, insn, lane, insn_space(insn), address);
        if (!mbarrier)
            continue;
        /* Without .noinc the arrival is one more than the phase waits for. */
        if (!insn_has(insn, WORD_noinc)) {
            mbarrier->pending++;
            write_image(mbarrier);
        }
        if (mbarrier->pending <= mbarrier->late_arrivals)
            advance(mbarrier);
        if (mbarrier->pending <= mbarrier->late_arrivals) {
            report(warp, insn, lane, sim_mbarrier_count, 1, mbarrier->address, mbarrier->phase, 0,
                   mbarrier->expected);
            continue;
        }
        mbarrier_queue(mbarrier, (Completion){.warp = warp,
                                              .insn = insn,
                                              .lane = lane,
                                              .number = warp->copy_count,
                                              .time = timing_copied(warp),
                                              .time_pc = timing_copied_pc(warp, insn)});
    }
    return EXEC_NEXT;
}

/* Waits. */

/* The phase that a lane waits to see end: the one now, or one that has ended. */
static bool wanted_phase(Warp *warp, const Insn *insn, uint32_t lane, const Mbarrier *mbarrier,
                         uint32_t *phase) {
    const Reg *reg = reg_of(warp, insn->operand[2].reg);
    uint64_t value = reg->v[lane];
    uint32_t now = mbarrier->phase;
    if (reg->def[lane] != DEFINED) {
        report(warp, insn, lane, sim_undefined, "the phase to wait for");
        return false;
    }
    if (insn_has(insn, WORD_parity)) {
        if (value > 1)
            report(warp, insn, lane, sim_mbarrier_parity, (uint32_t)value);
        *phase = (now & 1) == (value & 1) ? now : now - 1;
        return value <= 1;
    }
    uint32_t past = (uint32_t)((now - (value >> (2 * COUNT_BITS))) & bits_mask(PHASE_BITS));
    *phase = now - past;
    if (past <= 1 && value >> 62 == 1)
        return true;
    report(warp, insn, lane, sim_mbarrier_state, value, mbarrier->address, now);
    return false;
}

/* Whether the warp polls there again, and nothing has happened since. */
static bool polls_again(const Warp *warp, const Insn *insn) {
    return warp->poll_pc == insn_pc(warp, insn) && warp->poll_events == warp->cta->cluster->events;
}

static bool is_adversarial(const Warp *warp) {
    return warp->machine->launch->schedule == SIM_ADVERSARIAL;
}

/* Whether the lane's phase has ended; with `mbarrier` NULL after a finding. */
static bool has_ended(Warp *warp, const Insn *insn, uint32_t lane, Mbarrier **mbarrier,
                      uint32_t *phase) {
    uint64_t address = memory_address(warp, insn, &insn->operand[1], lane);
    *mbarrier = mbarrier_find(warp, insn, lane, insn_space(insn), address);
    if (!*mbarrier || !wanted_phase(warp, insn, lane, *mbarrier, phase)) {
        *mbarrier = NULL;
        return true;
    }
    /* To an adversary the time of try_wait is over before what it waits for is done. */
    if (*phase == (*mbarrier)->phase && (!is_adversarial(warp) || polls_again(warp, insn)))
        advance(*mbarrier);
    return *phase != (*mbarrier)->phase;
}

/* A second poll that finds nothing new need not be repeated until there is. */
static bool must_sleep(Warp *warp, const Insn *insn) {
    if (warp->current->timed_out)
        return false;
    if (insn_has(insn, WORD_try_wait) && !is_adversarial(warp))
        return true;
    bool again = polls_again(warp, insn);
    warp->poll_pc = insn_pc(warp, insn);
    warp->poll_events = warp->cta->cluster->events;
    return again;
}

static void sleep_at(Warp *warp, uint32_t mask, Mbarrier *mbarrier, uint32_t phase) {
    Split *split = warp->current;
    split->wait = WAIT_MBARRIER;
    split->wait_mask = mask;
    split->mbarrier = mbarrier;
    split->mbarrier_phase = phase;
    mbarrier->waiting |= 1u << warp->index;
    warp->polled = true;
    warp->machine->counts->barrier_waits++;
}

/* The split has looked at what it waited for. */
static void end_sleep(Warp *warp) {
    Mbarrier *mbarrier = warp->current->mbarrier;
    if (!mbarrier)
        return;
    warp->current->mbarrier = NULL;
    bool others = false;
    for (unsigned i = 0; i < MAX_SPLITS; i++)
        others |= warp->splits[i].used && warp->splits[i].mbarrier == mbarrier;
    if (!others)
        mbarrier->waiting &= ~(1u << warp->index);
}

ExecResult exec_mbarrier_wait(Warp *warp, const Insn *insn, uint32_t mask) {
    uint32_t ended = 0, phase = 0, maker = NO_PC;
    double time = 0;
    Mbarrier *mbarrier[LANES], *awaited = NULL;
    FOR_LANES(lane, mask) {
        if (has_ended(warp, insn, lane, &mbarrier[lane], &phase))
            ended |= 1u << lane;
        else
            awaited = mbarrier[lane];
    }
    end_sleep(warp);
    if (!ended && must_sleep(warp, insn)) {
        sleep_at(warp, mask, awaited, phase);
        return EXEC_WAIT;
    }
    warp->current->timed_out = false;
    FOR_LANES(lane, ended) {
        if (!mbarrier[lane] || mbarrier[lane]->ended[phase & 1] < time)
            continue;
        time = mbarrier[lane]->ended[phase & 1];
        maker = mbarrier[lane]->ended_pc[phase & 1];
    }
    if (warp->machine->timing && ended)
        timing_resume(warp, time + warp->machine->timing->costs->figures.mbarrier, maker);
    for (uint32_t left = insn_has(insn, WORD_relaxed) ? 0 : ended; left;) {
        Mbarrier *one = mbarrier[__builtin_ctz(left)];
        uint32_t same = 0;
        FOR_LANES(lane, left)
        same |= (uint32_t)(mbarrier[lane] == one) << lane;
        left &= ~same;
        if (one)
            clock_acquire(warp, same, &one->done);
    }
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    FOR_LANES(lane, mask) {
        dest->v[lane] = ended >> lane & 1;
        dest->def[lane] = DEFINED;
    }
    return ended ? EXEC_NEXT : EXEC_YIELD;
}

/* Time-outs and deadlock. */

bool mbarrier_time_out(Cluster *cluster) {
    bool any = false;
    if (cluster->events != cluster->timeout_events)
        cluster->timeouts = 0;
    cluster->timeout_events = cluster->events;
    if (++cluster->timeouts > TIMEOUT_ROUNDS)
        return false;
    for (uint32_t w = 0; w < cluster->warp_count; w++) {
        Warp *warp = &cluster->warps[w];
        for (unsigned i = 0; i < MAX_SPLITS; i++) {
            Split *split = &warp->splits[i];
            if (!split->used || split->wait != WAIT_MBARRIER)
                continue;
            split->wait = WAIT_NONE;
            split->timed_out = true;
            any = true;
            /* Others of the warp may wait to meet these threads: they go on alone. */
            if (cluster->timeouts == RELEASE_ROUND)
                warp->last_meeting = warp->executed - SPIN_LIMIT - 1;
        }
    }
    return any;
}

void mbarrier_describe_wait(Warp *warp, const Split *split) {
    Machine *machine = warp->machine;
    const Mbarrier *mbarrier = split->mbarrier;
    const Insn *insn = &machine->module->insns.data[split->pc];
    diag_note(&machine->ctx->diags, finding_span(machine, insn),
              "warp %u waits at the mbarrier at 0x%" PRIx64
              " for phase %u (parity %u) to end: %u of %u arrivals and %" PRId64
              " bytes are missing",
              warp->index, mbarrier->address, mbarrier->phase, mbarrier->phase & 1,
              mbarrier->pending - mbarrier->late_arrivals, mbarrier->expected, mbarrier->tx);
}

/* What the lanes have initialised the asynchronous proxy may use. */
static void fence_init(Warp *warp, uint32_t mask) {
    for (uint32_t i = 0; i < warp->cta->mbarrier_count; i++) {
        Mbarrier *mbarrier = warp->cta->mbarriers.data[i];
        const SharedCell *init = &mbarrier->init;
        if (init->actor == warp->clock_index && mask >> init->lane & 1)
            mbarrier->init_fenced = true;
    }
}

ExecResult exec_mbarrier_fence(Warp *warp, const Insn *insn, uint32_t mask) {
    fence_init(warp, mask);
    clock_fence(warp, mask);
    return EXEC_NEXT;
}
