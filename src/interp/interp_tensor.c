/* Tensor copies and mbarriers. A copy to a buffer reads global memory when it starts and writes the
 * buffer when its phase is waited for; a copy from a buffer reads it when that is waited for, and
 * writes global memory when that is. In between the elements of the former are undefined and those
 * of the latter are found as they are at last, so that a missing wait shows.
 *
 * The word of an mbarrier is the state of its phase. Waiting for a phase twice, or for one that
 * nobody began, would not end on hardware or would let pass what comes too early: it is reported.
 *
 * The region of a producer depends on nothing that the program's warps do but on the mbarriers at
 * which they arrive. So it is run at once, and from the first of its waits that is not over what it
 * does is put off, in order; each arrival lets it go on as far as it may. Copies so start as early
 * as on any hardware: where a wait is missing they take buffers that are still to be read. */
#include "interp/interp_internal.h"

typedef struct Phase {
    uint32_t expected : 31; /* bytes, once a thread has arrived */
    uint32_t arrived : 1;
    uint32_t started : 31; /* bytes of copies */
    uint32_t parity : 1;
} Phase;

_Static_assert(sizeof(Phase) == sizeof(uint64_t), "the word of an mbarrier");

static Phase phase_of(const Slot *barrier) {
    Phase phase;
    memcpy(&phase, barrier->data, sizeof phase);
    return phase;
}

static void set_phase(const Slot *barrier, Phase phase) {
    memcpy(barrier->data, &phase, sizeof phase);
}

static const char *place(Run *run) {
    return finding_place(run, type_scalar(run->ctx, DT_I1), 0);
}

/* Does mbarrier_arrive end its phases? */
static bool has_arrivals(const Op *op) {
    return mbarrier_arrivals(op_in(op, 0)) > 0;
}

/* The i1 operand `index`; off where it is not defined. */
static bool is_on(Run *run, const Op *op, uint32_t index) {
    return require_defined(run, op, index, 0, "whether to copy") &&
           slot_int(in_slot(run, op, index), op_in(op, index)->type, 0);
}

void interp_mbarrier_alloc(Run *run, const Inst *inst) {
    const Value *barrier = op_out(inst->op);
    uint32_t n = (uint32_t)local_copies(barrier);
    Slot *out = value_slot(run, barrier);
    memset(slot_new(run, out, n, sizeof(Phase)), 0, n * sizeof(Phase));
    slot_new_undef(run, out);
}

/* Producers */

/* A wait that is not over: the phase of this parity is the one that the mbarrier is in. */
static bool must_wait(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    if (op->code != OP_mbarrier_wait || !has_arrivals(op) || (op->nin > 2 && !is_on(run, op, 2)))
        return false;
    return slot_int(in_slot(run, op, 1), op_in(op, 1)->type, 0) ==
           phase_of(in_slot(run, op, 0)).parity;
}

/* True if the producer has to do this later. */
static bool put_off(Run *run, const Inst *inst) {
    if (!run->producing || (run->resumed == run->deferred.len && !must_wait(run, inst)))
        return false;
    const Op *op = inst->op;
    Deferred later = {inst, ARENA_ARRAY(run->arena, Slot, op->nin)};
    for (uint32_t i = 0; i < op->nin; i++)
        slot_share(run, &later.in[i], in_slot(run, op, i));
    vec_push(run->arena, &run->deferred, later);
    return true;
}

/* Makes the operands what they were; from the last one on `back`, since one may stand twice. */
static void swap_operands(Run *run, Deferred *later, bool back) {
    const Op *op = later->inst->op;
    for (uint32_t k = 0; k < op->nin; k++) {
        uint32_t i = back ? op->nin - 1 - k : k;
        Slot *slot = in_slot(run, op, i), held = *slot;
        *slot = later->in[i];
        later->in[i] = held;
    }
}

static void deferred_clear(Run *run, Deferred *later) {
    for (uint32_t i = 0; i < later->inst->op->nin; i++)
        slot_clear(run, &later->in[i]);
}

static void resume_producer(Run *run) {
    bool blocked = false;
    while (run->resumed < run->deferred.len && !blocked && !run_halted(run)) {
        Deferred *later = &run->deferred.data[run->resumed];
        swap_operands(run, later, false);
        blocked = must_wait(run, later->inst);
        if (!blocked)
            later->inst->run(run, later->inst);
        swap_operands(run, later, true);
        if (!blocked) {
            deferred_clear(run, later);
            run->resumed++;
        }
    }
}

void interp_producer(Run *run, const Inst *inst) {
    run->producing = true;
    const Inst *end = run_block(run, &inst->regions[0]);
    run->producing = false;
    if (end)
        release_dead(run, end);
}

/* What was put off and not reached, when the program ends. */
static void end_producer(Run *run) {
    if (run->resumed < run->deferred.len && (!run_halted(run) || run->returned)) {
        const Op *op = run->deferred.data[run->resumed].inst->op;
        finding(run, op, interp_phase, "was still waited for by the producer at the end",
                place(run));
    }
    for (; run->resumed < run->deferred.len; run->resumed++)
        deferred_clear(run, &run->deferred.data[run->resumed]);
    run->deferred.len = run->resumed = 0;
}

/* Phases */

/* All threads at once. What the producer has not waited for it would take for the phase after. */
void interp_mbarrier_arrive(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    const Slot *barrier = in_slot(run, op, 0);
    Phase phase = phase_of(barrier);
    if (!is_on(run, op, 1))
        return;
    if (phase.arrived)
        finding(run, op, interp_phase, "has arrivals already that nobody waited for", place(run));
    set_phase(barrier, (Phase){.arrived = 1, .parity = !phase.parity});
    resume_producer(run);
}

/* A new mbarrier is past the phase before its first, of parity 1. */
static void wait_for_arrivals(Run *run, const Inst *inst) {
    const Slot *barrier = in_slot(run, inst->op, 0);
    if (must_wait(run, inst))
        finding(run, inst->op, interp_phase, "is waited for in a phase that no thread arrived for",
                place(run));
    set_phase(barrier, (Phase){.parity = phase_of(barrier).parity});
}

/* Both warpgroups at once: the second may wait for what the first passes on behind its own wait. */
void interp_turn_wait(Run *run, const Inst *inst) {
    if (run->func->teams > 1) /* one team has all turns */
        return;
    if (run->turns[0] < 1 || run->turns[1] < 0)
        finding(run, inst->op, interp_turn, run->turns[0] < 1 ? "first" : "second", "does not come",
                place(run));
    run->turns[0]--;
    run->turns[1]--;
}

void interp_turn_pass(Run *run, const Inst *inst) {
    if (run->func->teams > 1)
        return;
    for (uint32_t from = 0; from < 2; from++) {
        if (!is_on(run, inst->op, from))
            continue;
        if (run->turns[1 - from] > 0)
            finding(run, inst->op, interp_turn, from ? "first" : "second",
                    "comes before it has taken the one it has", place(run));
        run->turns[1 - from]++;
    }
}

void interp_mbarrier_expect(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    const Slot *barrier = in_slot(run, op, 0);
    Phase phase = phase_of(barrier);
    if (put_off(run, inst) || !is_on(run, op, 1))
        return;
    if (phase.arrived)
        finding(run, op, interp_phase, "has an arrival in this phase already", place(run));
    phase.arrived = 1;
    phase.expected = (uint32_t)mbarrier_expect_attrs(op)->bytes;
    set_phase(barrier, phase);
}

void interp_copy_block(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    if (put_off(run, inst) || !is_on(run, op, 3))
        return;
    Slot *to = in_slot(run, op, 1), *barrier = in_slot(run, op, 2);
    const Type *type = op_in(op, 1)->type;
    uint32_t n = (uint32_t)type_numel(type), bytes = (uint32_t)type_element_bytes(type);
    BlockFetch fetch = {.op = op};
    slot_new(run, &fetch.from, n, bytes);
    BlockLanes lanes = block_lanes(run, op);
    interp_read_block(run, op, &lanes, 0, &fetch.from);
    block_lanes_release(run, &lanes);
    memset(to->undef, origin_of(run, op, UNDEF_UNDER_WAY), n);
    Phase phase = phase_of(barrier);
    phase.started += n * bytes;
    set_phase(barrier, phase);
    slot_share(run, &fetch.to, to);
    slot_share(run, &fetch.barrier, barrier);
    vec_push(run->arena, &run->fetches, fetch);
}

static void fetch_clear(Run *run, BlockFetch *fetch) {
    slot_clear(run, &fetch->from);
    slot_clear(run, &fetch->to);
    slot_clear(run, &fetch->barrier);
}

static void land(Run *run, BlockFetch *fetch) {
    uint32_t n = fetch->from.n;
    size_t bytes = (size_t)type_element_bytes(op_in(fetch->op, 1)->type);
    memcpy(fetch->to.data, fetch->from.data, n * bytes);
    if (fetch->from.undef)
        memcpy(fetch->to.undef, fetch->from.undef, n);
    else
        memset(fetch->to.undef, 0, n);
    fetch_clear(run, fetch);
}

static void land_phase(Run *run, const Slot *barrier) {
    size_t kept = 0;
    for (size_t i = 0; i < run->fetches.len; i++) {
        BlockFetch *fetch = &run->fetches.data[i];
        if (fetch->barrier.data == barrier->data)
            land(run, fetch);
        else
            run->fetches.data[kept++] = *fetch;
    }
    run->fetches.len = kept;
}

void interp_mbarrier_wait(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    const Slot *barrier = in_slot(run, op, 0);
    if (put_off(run, inst) || (op->nin > 2 && !is_on(run, op, 2)) ||
        !require_defined(run, op, 1, 0, "the parity"))
        return;
    if (has_arrivals(op)) {
        wait_for_arrivals(run, inst);
        return;
    }
    Phase phase = phase_of(barrier);
    int64_t parity = slot_int(in_slot(run, op, 1), op_in(op, 1)->type, 0);
    if (parity != phase.parity) {
        finding(run, op, interp_phase,
                phase.parity ? "is in a phase of parity 1, not the one that is waited for"
                             : "is in a phase of parity 0, not the one that is waited for",
                place(run));
        return;
    }
    if (!phase.arrived) {
        finding(run, op, interp_phase, "is waited for in a phase that no thread arrived for",
                place(run));
        return;
    }
    if (phase.expected != phase.started)
        finding(run, op, interp_phase_bytes, (long long)phase.expected, (long long)phase.started,
                place(run));
    land_phase(run, barrier);
    set_phase(barrier, (Phase){.parity = !phase.parity});
}

static int64_t block_operand(Run *run, const Op *op, uint32_t first, int dim) {
    uint32_t i = first + (uint32_t)dim;
    return slot_int(in_slot(run, op, i), op_in(op, i)->type, 0);
}

/* The hardware ends a launch for a store that begins before its tensor; one that is guarded is not
 * made where all of it lies behind the tensor. */
static void check_begin(Run *run, const Op *op) {
    BlockAccess access = block_access(op);
    for (int d = 0; d < access.rank && op_guarded(op); d++)
        if (block_checks(&access, d) &&
            block_operand(run, op, access.offsets, d) >= block_operand(run, op, access.shape, d))
            return;
    for (int d = 0; d < access.rank; d++) {
        int64_t begin = block_operand(run, op, access.offsets, d);
        if (begin < 0)
            finding(run, op, interp_store_begins, (long long)begin, d, place(run));
    }
}

void interp_store_block_from(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    check_begin(run, op);
    BlockStore store = {.op = op, .lanes = block_lanes(run, op)};
    slot_share(run, &store.from, in_slot(run, op, 1));
    vec_push(run->arena, &run->stores, store);
}

/* What the buffer holds now is what is stored. */
static void store_read(Run *run, BlockStore *store) {
    Slot held = {0};
    uint32_t n = store->from.n;
    size_t bytes = (size_t)type_element_bytes(store->lanes.tile);
    if (store->was_read)
        return;
    memcpy(slot_new(run, &held, n, bytes), store->from.data, n * bytes);
    memcpy(slot_new_undef(run, &held), store->from.undef, n);
    slot_settle(run, &held);
    slot_clear(run, &store->from);
    store->from = held;
    store->was_read = true;
}

static void store_clear(Run *run, BlockStore *store) {
    block_lanes_release(run, &store->lanes);
    slot_clear(run, &store->from);
}

void interp_store_wait(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    size_t pending = (size_t)store_wait_attrs(op)->pending, count = run->stores.len;
    size_t done = count > pending ? count - pending : 0;
    if (!done)
        return;
    for (size_t i = 0; i < done; i++)
        store_read(run, &run->stores.data[i]);
    if (store_wait_attrs(op)->read)
        return;
    for (size_t i = 0; i < done; i++) {
        BlockStore *store = &run->stores.data[i];
        interp_write_block(run, store->op, &store->lanes, &store->from);
        store_clear(run, store);
    }
    memmove(run->stores.data, run->stores.data + done, (count - done) * sizeof *run->stores.data);
    run->stores.len = count - done;
}

/* Stores whose buffers were read reach memory by themselves. */
void interp_tensor_end(Run *run) {
    end_producer(run);
    run->turns[0] = run->turns[1] = 0;
    vec_for_each (fetch, &run->fetches) {
        if (!run_halted(run) || run->returned)
            finding(run, fetch->op, interp_copy_left, place(run));
        fetch_clear(run, fetch);
    }
    vec_for_each (store, &run->stores) {
        if (!store->was_read && (!run_halted(run) || run->returned))
            finding(run, store->op, interp_copy_left, place(run));
        store_read(run, store);
        interp_write_block(run, store->op, &store->lanes, &store->from);
        store_clear(run, store);
    }
    run->fetches.len = run->products.len = 0;
    run->stores.len = 0;
}
