/* choose-layouts, the data flow: where each value is at home.
 *
 * Cheap arithmetic on indices, and broadcasts, have no home: they are recomputed in every layout
 * that is asked for. All else is computed once, in its home. Homes flow forward from loads, dots
 * and reductions through elementwise ops and changes of shape; carried values take theirs from what
 * the loop passes on, else from their initial value, which comes first where the loop passes on
 * what it carries.
 *
 * Loads are decided in the order of their size, the largest first, each in its coalesced layout
 * unless what its users ask for costs less: so a row of weights or a column of scales is loaded as
 * the slice of the large tile that it is combined with. Demands flow backward from stores and from
 * the homes known by then.
 *
 * A value that enters a loop, computed in it from nothing but what is made in front of it and what
 * is recomputed, takes the layout that is asked for there rather than that of its operands, which
 * are then converted once and not in each iteration. What is asked for is what follows from the
 * homes that are known without such values. */
#include "ir/registers.h"
#include "passes/analysis/pressure.h"
#include "passes/layout/choose_layouts.h"
#include "passes/rewrite.h"
#include "target/target.h"
#include <assert.h>

static bool is_home(const Choice *choice, const Value *value) {
    return choice->origin[value->id] == ORIGIN_HOME;
}

static const Layout *home_of(const Choice *choice, const Value *value) {
    return is_home(choice, value) ? choice->home[value->id] : NULL;
}

/* Home if decided, else what is asked for. */
static const Layout *wanted_of(const Choice *choice, const Value *value) {
    const Layout *home = home_of(choice, value);
    return home ? home : choice->demand[value->id];
}

/* Origins */

/* Ops, from values at home on, that make what the op would be made again with; 0: none of these is
 * among what it is made from. What several operands share counts for each. */
static unsigned ops_from_home(const Choice *choice, const Op *op) {
    unsigned sum = 0;
    bool has_data = false;
    for (uint32_t i = 0; i < op->nin; i++) {
        const Value *value = op_in(op, i);
        has_data |= is_home(choice, value) || choice->remade[value->id];
        sum += choice->remade[value->id];
    }
    return has_data ? sum + 1 : 0;
}

/* Data that broadcasts repeat is so for a few ops: where each step of many makes the next one from
 * nothing else, all of them would be made again in every layout. */
static bool is_recomputed(const Choice *choice, const Op *op) {
    if (op->code == OP_broadcast)
        return true;
    if (!op_has(op, CHEAP) || op->nregions)
        return false;
    for (uint32_t i = 0; i < op->nin; i++)
        if (is_home(choice, op_in(op, i)))
            return false;
    return ops_from_home(choice, op) <= CHEAP_OPS;
}

/* Is the operand made once for all iterations of the loop that the op is part of? */
static bool is_invariant(const Op *op, const Value *operand) {
    const Op *loop = op_loop_around(op);
    return loop && value_is_outside(operand, loop);
}

/* Does the op of a loop compute from nothing but what is made in front of it, and what is
 * recomputed? */
static bool enters_loop(const Choice *choice, const Op *op) {
    if (!op_passes_layouts(op))
        return false;
    bool enters = false;
    for (uint32_t i = 0; i < op->nin; i++) {
        const Value *value = op_in(op, i);
        if (!is_home(choice, value))
            continue;
        if (!is_invariant(op, value) && !choice->enters[value->id])
            return false;
        enters = true;
    }
    return enters;
}

static void note_value(Choice *choice, Value *value, Origin origin) {
    choice->values[value->id] = value;
    choice->origin[value->id] = type_is_tile(value->type) ? origin : ORIGIN_NONE;
}

static void classify(Choice *choice, Block *block) {
    for (uint32_t i = 0; i < block->nargs; i++)
        note_value(choice, &block->args[i], ORIGIN_HOME);
    block_for_each (op, block) {
        for (uint32_t i = 0; i < op->nregions; i++)
            classify(choice, op->regions[i]);
        Origin origin = is_recomputed(choice, op) ? ORIGIN_RECOMPUTED : ORIGIN_HOME;
        bool enters = origin == ORIGIN_HOME && enters_loop(choice, op);
        unsigned remade = origin == ORIGIN_RECOMPUTED ? ops_from_home(choice, op) : 0;
        for (uint32_t i = 0; i < op->nout; i++) {
            note_value(choice, &op->out[i], origin);
            choice->remade[op->out[i].id] = (uint8_t)(remade < UINT8_MAX ? remade : UINT8_MAX);
            choice->enters[op->out[i].id] = enters;
            choice->some_enter |= enters;
        }
    }
}

/* Values that control flow makes one: result i of a loop, the arguments of its regions, what they
 * pass on, the initial value; for an if the results and what both regions pass on. */
typedef struct Tie {
    Value *same[3]; /* have one home: result and arguments */
    int nsame;
    Value *passed[2]; /* from the regions, the body's first */
    int npassed;
    Value *initial; /* NULL: none */
} Tie;

static Tie tie_of(const Op *op, uint32_t i) {
    Tie tie = {.same = {&op->out[i]}, .nsame = 1};
    if (op->code == OP_if) {
        tie.passed[tie.npassed++] = op_in(op->regions[0]->last, i);
        tie.passed[tie.npassed++] = op_in(op->regions[1]->last, i);
    } else if (op->code == OP_for) {
        tie.same[tie.nsame++] = &op->regions[0]->args[i + 1];
        tie.passed[tie.npassed++] = op_in(op->regions[0]->last, i);
        tie.initial = op_in(op, FOR_FIXED_OPERANDS + i);
    } else {
        tie.same[tie.nsame++] = &op->regions[0]->args[i];
        tie.same[tie.nsame++] = &op->regions[1]->args[i];
        tie.passed[tie.npassed++] = op_in(op->regions[1]->last, i);
        tie.passed[tie.npassed++] = op_in(op->regions[0]->last, i + 1);
        tie.initial = op_in(op, i);
    }
    return tie;
}

/* Forward */

static bool settle(Choice *choice, const Value *value, const Layout *layout) {
    if (!layout || !is_home(choice, value) || choice->home[value->id])
        return false;
    choice->home[value->id] = layout;
    return true;
}

static const Layout *first_home(const Choice *choice, const Op *op) {
    for (uint32_t i = 0; i < op->nin; i++)
        if (home_of(choice, op_in(op, i)))
            return home_of(choice, op_in(op, i));
    return NULL;
}

static int64_t registers_in(const Value *value, const Layout *layout) {
    return (int64_t)layout_owned_registers(layout) * ((type_element_bytes(value->type) + 3) / 4);
}

/* Does a user but `op` take the value in another layout, or may it? */
static bool has_other_use(const Choice *choice, const Op *op, const Value *value,
                          const Layout *layout) {
    value_for_each_use (use, value) {
        const Op *user = use->user;
        if (user == op)
            continue;
        const Layout *wanted = user->nout ? wanted_of(choice, &user->out[0]) : NULL;
        if (!wanted ||
            layout_of_operand(choice->ctx, user, (uint32_t)(use - user->in), wanted) != layout)
            return true;
    }
    return false;
}

/* Has a thread registers for the op's invariant operands as the layout of its result wants them?
 * It would keep them so while the loop runs. */
static bool fits_room(const Choice *choice, const Op *op, const Layout *result) {
    int64_t more = 0;
    for (uint32_t i = 0; i < op->nin && result; i++) {
        const Value *value = op_in(op, i);
        const Layout *home = home_of(choice, value);
        const Layout *wanted = layout_of_operand(choice->ctx, op, i, result);
        if (type_is_tile(value->type) && !wanted)
            return false;
        if (!home || home == wanted || !is_invariant(op, value))
            continue;
        more += registers_in(value, wanted);
        if (!has_other_use(choice, op, value, wanted))
            more -= registers_in(value, home);
    }
    return result && (more <= 0 || more <= choice->room);
}

/* The home that an op in a loop follows: that of an operand which the loop makes anew, since one
 * from in front of it is converted once, as long as a thread has room for it. While loads are
 * undecided, the former are waited for. */
static const Layout *leading_home(const Choice *choice, const Op *op) {
    const Layout *first = first_home(choice, op);
    bool undecided = false;
    for (uint32_t i = 0; first && i < op->nin; i++) {
        const Value *value = op_in(op, i);
        if (!is_home(choice, value) || is_invariant(op, value))
            continue;
        const Layout *home = home_of(choice, value);
        if (home)
            return fits_room(choice, op, layout_of_result(choice->ctx, op, home)) ? home : first;
        undecided = true;
    }
    return undecided && choice->waits ? NULL : first;
}

/* A value operand that is undecided may still bring a better layout than the access's own. */
static const Layout *written_layout(const Choice *choice, const Access *access) {
    const Value *value = op_in(access->op, access->op->code == OP_atomic_cas ? 2 : 1);
    if (is_home(choice, value) && !choice->home[value->id])
        return NULL;
    const Layout *home = home_of(choice, value);
    return home ? choose_to_write(choice, access, home) : access->coalesced;
}

/* A reduction's results where its operands lie in `operand`. */
static const Layout *reduced(Ctx *ctx, const Op *op, const Layout *operand) {
    const Type *type = op_in(op, 0)->type;
    assert(reduce_attrs(op)->keep == 0); /* only split-reduces keeps part of an axis */
    return layout_drop_bits(ctx, operand,
                            layout_dim_mask(type->rank, type->shape, (int)reduce_attrs(op)->axis));
}

/* The layout from which the results, if they have theirs by now, have them: operands that were
 * decided later do not change it. */
static const Layout *combined_before(const Choice *choice, const Op *op) {
    const Layout *result = home_of(choice, &op->out[0]);
    if (!result || op->code == OP_scan)
        return result;
    for (uint32_t i = 0; i < op->nin; i++) {
        const Layout *home = home_of(choice, op_in(op, i));
        if (home && reduced(choice->ctx, op, home) == result)
            return home;
    }
    return NULL;
}

const Layout *choose_working_layout(const Choice *choice, const Op *op) {
    const Access *access = choose_access(choice, op);
    if (access)
        return op->code == OP_load ? home_of(choice, op_out(op)) : written_layout(choice, access);
    const Type *type = op_in(op, 0)->type;
    bool undecided = false;
    for (uint32_t i = 0; i < op->nin; i++)
        undecided |= is_home(choice, op_in(op, i));
    const Layout *layout = combined_before(choice, op);
    if (layout)
        return layout;
    layout = first_home(choice, op);
    if (!layout && undecided)
        return NULL;
    if (!layout)
        layout = layout_default(choice->ctx, type, choice->num_warps);
    if (op->code == OP_scan)
        layout = layout_for_scan(choice->ctx, layout, op, choice->num_warps);
    return layout;
}

static const Layout *passed_on(Ctx *ctx, const Op *op, const Layout *operand) {
    const Layout *result = layout_of_result(ctx, op, operand);
    /* A split whose halves are in different threads: they are brought into one first. */
    return result || op->code != OP_split ? result : layout_halves(ctx, operand);
}

/* The store that alone takes what the op gives, by way of elementwise ops as narrow; NULL: none. */
static const Access *stored_by(const Choice *choice, const Op *op) {
    const Value *value = op_out(op);
    while (value_has_one_use(value)) {
        const Use *use = value->uses;
        const Op *user = use->user;
        if (op_has(user, STORE) && choose_access(choice, user) && use - user->in == 1)
            return choose_access(choice, user);
        if (!op_has(user, ELEMENTWISE) || user->nout != 1 || user->block != op->block ||
            type_element_bytes(op_out(user)->type) != type_element_bytes(value->type))
            return NULL;
        value = op_out(user);
    }
    return NULL;
}

/* What joins a loaded tile and is converted to be stored is converted before it joins: the load
 * then has the layout of the store, as all else up to it. NULL: no such op. */
static const Layout *joined_as_stored(const Choice *choice, const Op *op, const Layout *operand) {
    bool joins_load = false;
    for (uint32_t i = 0; i < op->nin; i++) {
        const Value *value = op_in(op, i);
        const Layout *home = home_of(choice, value);
        if (home && (home != operand ||
                     type_element_bytes(value->type) != type_element_bytes(op_out(op)->type)))
            return NULL;
        joins_load |= value_def(value, OP_load) && !home && value_has_one_use(value) &&
                      is_home(choice, value);
    }
    const Access *access = joins_load && op->nout == 1 ? stored_by(choice, op) : NULL;
    if (!access || !op_has(op, ELEMENTWISE))
        return NULL;
    const Layout *written = choose_to_write(choice, access, operand);
    return written != operand ? written : NULL;
}

static const Layout *forward_layout(const Choice *choice, const Op *op) {
    Ctx *ctx = choice->ctx;
    if (op->code == OP_gather)
        return home_of(choice, op_in(op, 1));
    if (op->code == OP_dot)
        return layout_of_accumulator(ctx, choice->facts, op, choice->num_warps);
    if (op->code == OP_scan || op_has(op, ATOMIC))
        return choose_working_layout(choice, op);
    if (op->code == OP_reduce) {
        const Layout *layout = choose_working_layout(choice, op);
        return layout ? reduced(ctx, op, layout) : NULL;
    }
    const Layout *operand = op_passes_layouts(op) ? leading_home(choice, op) : NULL;
    if (!operand)
        return NULL;
    if (choice->enters[op->out[0].id]) {
        if (choice->holds_entering)
            return NULL;
        const Layout *asked = choice->asked[op->out[0].id];
        if (fits_room(choice, op, asked))
            return asked;
    }
    const Layout *stored = joined_as_stored(choice, op, operand);
    return stored ? stored : passed_on(ctx, op, operand);
}

/* Is what the loop passes on made of what it carries alone, but for what is recomputed? Nothing
 * then decides where it is but where it comes from. */
static bool is_carried_on(const Choice *choice, const Tie *tie, const Value *value, int ops) {
    for (int i = 0; i < tie->nsame; i++)
        if (value == tie->same[i])
            return true;
    const Op *op = value->def;
    if (!ops || !op || op->nregions || !op_passes_layouts(op))
        return false;
    bool carried = false;
    for (uint32_t i = 0; i < op->nin; i++) {
        if (!is_home(choice, op_in(op, i)))
            continue;
        if (!is_carried_on(choice, tie, op_in(op, i), ops - 1))
            return false;
        carried = true;
    }
    return carried;
}

static bool settle_tie(Choice *choice, const Tie *tie, bool from_initial) {
    enum { CARRIED_OPS = 4 };
    const Layout *layout = NULL;
    for (int i = 0; i < tie->nsame && !layout; i++)
        layout = home_of(choice, tie->same[i]);
    for (int i = 0; i < tie->npassed && !layout; i++)
        layout = home_of(choice, tie->passed[i]);
    if (tie->initial && !from_initial)
        from_initial = is_carried_on(choice, tie, tie->passed[0], CARRIED_OPS);
    if (!layout && from_initial && tie->initial)
        layout = home_of(choice, tie->initial);
    bool changed = false;
    for (int i = 0; i < tie->nsame; i++)
        changed |= settle(choice, tie->same[i], layout);
    return changed;
}

static bool forward_block(Choice *choice, Block *block, bool from_initial) {
    bool changed = false;
    block_for_each (op, block) {
        if (op_is_control(op)) {
            for (uint32_t i = 0; i < op->nregions; i++)
                changed |= forward_block(choice, op->regions[i], from_initial);
            for (uint32_t i = 0; i < op->nout; i++) {
                Tie tie = tie_of(op, i);
                changed |= settle_tie(choice, &tie, from_initial);
            }
            continue;
        }
        bool open = false;
        for (uint32_t i = 0; i < op->nout; i++)
            open |= is_home(choice, &op->out[i]) && !choice->home[op->out[i].id];
        const Layout *layout = open ? forward_layout(choice, op) : NULL;
        for (uint32_t i = 0; i < op->nout; i++)
            changed |= settle(choice, &op->out[i], layout);
    }
    return changed;
}

static void forward_all(Choice *choice, bool from_initial) {
    while (forward_block(choice, choice->func->body, from_initial)) {
    }
}

/* Backward */

/* True if nobody asked for the value before. */
static bool ask(Choice *choice, const Value *value, const Layout *layout) {
    if (!layout || !type_is_tile(value->type) || choice->demand[value->id])
        return false;
    choice->demand[value->id] = layout;
    return true;
}

/* A scan's operands in runs, made of what accesses to its shape would like for themselves. */
static void ask_for_scan(Choice *choice, const Op *op, bool wishes) {
    const Layout *layout = choose_working_layout(choice, op);
    const Layout *lies = choose_coalesced(choice, op_in(op, 0)->type);
    if (!layout && wishes && lies)
        layout = layout_for_scan(choice->ctx, lies, op, choice->num_warps);
    for (uint32_t i = 0; i < op->nin; i++)
        ask(choice, op_in(op, i), layout);
}

static void ask_operands(Choice *choice, const Op *op, bool wishes) {
    const Layout *layout = NULL;
    if (op->code == OP_scan) {
        ask_for_scan(choice, op, wishes);
        return;
    }
    if (choose_access(choice, op)) {
        layout = choose_working_layout(choice, op);
        /* What a store would like is a wish even while its value is undecided. */
        if (!layout && wishes && op->code != OP_load)
            layout = choose_access(choice, op)->coalesced;
        for (uint32_t i = 0; i < op->nin; i++)
            ask(choice, op_in(op, i), layout);
        return;
    }
    if (op->code == OP_gather) {
        ask(choice, op_in(op, 1), wanted_of(choice, op_out(op)));
        return;
    }
    if (!op_passes_layouts(op) || op->nout == 0)
        return;
    layout = wanted_of(choice, &op->out[0]);
    for (uint32_t i = 0; i < op->nin; i++)
        ask(choice, op_in(op, i), layout_of_operand(choice->ctx, op, i, layout));
}

/* Where nobody asks, staying where the initial value is spares a conversion. */
static const Layout *wanted_of_tie(const Choice *choice, const Tie *tie, bool wishes) {
    for (int i = 0; i < tie->nsame; i++) {
        const Value *value = tie->same[i];
        const Layout *wanted = wishes ? wanted_of(choice, value) : home_of(choice, value);
        if (wanted)
            return wanted;
    }
    return wishes && tie->initial ? home_of(choice, tie->initial) : NULL;
}

/* True if something is asked for that was not. */
static bool ask_ties(Choice *choice, const Op *op, bool wishes) {
    bool asked = false;
    for (uint32_t i = 0; i < op->nout; i++) {
        Tie tie = tie_of(op, i);
        const Layout *layout = wanted_of_tie(choice, &tie, wishes);
        for (int j = 0; j < tie.nsame; j++)
            asked |= ask(choice, tie.same[j], layout);
        for (int j = 0; j < tie.npassed; j++)
            asked |= ask(choice, tie.passed[j], layout);
        if (tie.initial)
            asked |= ask(choice, tie.initial, layout);
    }
    return asked;
}

static void backward_block(Choice *choice, Block *block, bool wishes) {
    for (Op *op = block->last; op; op = op->prev) {
        if (!op_is_control(op)) {
            ask_operands(choice, op, wishes);
            continue;
        }
        ask_ties(choice, op, wishes);
        /* Once more where what a body asks of its arguments reaches what it passes on. A value is
         * asked for once, so however deep control flow is, few bodies are gone through again. */
        do
            for (uint32_t i = op->nregions; i-- > 0;)
                backward_block(choice, op->regions[i], wishes);
        while (ask_ties(choice, op, wishes));
    }
}

/* With what scans, stores and carried values would like, or only what follows from homes. */
static void backward(Choice *choice, bool wishes) {
    memset(choice->demand, 0, choice->nvalues * sizeof *choice->demand);
    backward_block(choice, choice->func->body, wishes);
}

/* Into loops */

/* What values that enter loops are asked for by what is decided without them. */
static void ask_entering(Choice *choice) {
    size_t bytes = choice->nvalues * sizeof *choice->home;
    ArenaMark mark = arena_mark(choice->arena);
    const Layout **decided = ARENA_ARRAY(choice->arena, const Layout *, choice->nvalues);
    memcpy(decided, choice->home, bytes);
    choice->holds_entering = true;
    forward_all(choice, false);
    choice->holds_entering = false;
    backward(choice, false);
    memcpy(choice->asked, choice->demand, bytes);
    memcpy(choice->home, decided, bytes);
    arena_rewind(choice->arena, mark);
}

static void forward(Choice *choice, bool from_initial) {
    if (choice->some_enter)
        ask_entering(choice);
    forward_all(choice, from_initial);
}

/* Decisions */

/* Decides the undecided loads of the largest tile; false if there is none. */
static bool decide_loads(Choice *choice) {
    int largest = -1;
    for (uint32_t i = 0; i < choice->naccesses; i++) {
        const Access *access = &choice->accesses[i];
        if (access->op->code == OP_load && !home_of(choice, op_out(access->op)) &&
            access->type->log2_numel > largest)
            largest = access->type->log2_numel;
    }
    if (largest < 0)
        return false;
    backward(choice, true);
    for (uint32_t i = 0; i < choice->naccesses; i++) {
        const Access *access = &choice->accesses[i];
        if (access->op->code != OP_load || access->type->log2_numel != largest)
            continue;
        const Layout *demand = choice->demand[op_out(access->op)->id];
        settle(choice, op_out(access->op),
               choose_prefers(choice, access, demand) ? demand : access->coalesced);
    }
    return true;
}

/* A pair that is joined lies in one thread, and the halves of a split in the same ones, whoever
 * asks for them otherwise. */
static bool settle_as_asked(Choice *choice, const Value *value) {
    Ctx *ctx = choice->ctx;
    const Op *op = value->def;
    const Layout *layout = choice->demand[value->id];
    if (!layout) {
        /* A block lies in its buffer as in memory. */
        int inner = op && op->code == OP_load_block ? tensor_copy_inner_dim(op) : -1;
        int fastest = inner < 0 ? value->type->rank - 1 : inner;
        layout = layout_default_along(ctx, value->type, fastest, choice->num_warps);
    }
    if (op && op->code == OP_join)
        layout = layout_join(ctx, layout_halves(ctx, layout));
    bool changed = settle(choice, value, layout);
    for (uint32_t i = 0; op && op->code == OP_split && i < op->nout; i++)
        changed |= settle(choice, &op->out[i], layout);
    return changed;
}

/* What no load, dot or reduction reaches: as its users ask, carried values first. */
static bool decide_rest(Choice *choice) {
    backward(choice, true);
    const Value *first = NULL;
    bool settled = false;
    for (uint32_t id = 0; id < choice->nvalues; id++) {
        const Value *value = choice->values[id];
        if (!value || !is_home(choice, value) || choice->home[id])
            continue;
        first = first ? first : value;
        if ((!value->def || op_is_control(value->def)) && choice->demand[id])
            settled |= settle(choice, value, choice->demand[id]);
        if (settled)
            return true;
    }
    return first && settle_as_asked(choice, first);
}

static int64_t free_registers(Func *func) {
    uint64_t threads = (uint64_t)func->num_warps * TARGET_WARP_SIZE;
    return func_register_room(func, func->num_warps) - (int64_t)(pressure_most(func) / threads);
}

void choose_tile_layouts(Choice *choice) {
    classify(choice, choice->func->body);
    choice->room = free_registers(choice->func);
    choice->waits = true;
    forward(choice, false);
    while (decide_loads(choice))
        forward(choice, false);
    choice->waits = false;
    do
        forward(choice, true);
    while (decide_rest(choice));
}
