/* Register pressure of tiles, by liveness over the structured control flow. */
#include "passes/analysis/pressure.h"
#include "target/target.h"

uint64_t pressure_of(const Type *type) {
    if (!type_is_tile(type))
        return 0;
    int bytes = type_element_bytes(type);
    return (uint64_t)type_numel(type) * (uint64_t)(bytes > 4 ? bytes / 4 : 1);
}

uint64_t pressure_in_thread(const Type *type) {
    if (!type_is_tile(type) || !type->layout)
        return 0;
    uint64_t registers = (uint64_t)layout_owned_registers(type->layout);
    return (registers * (uint64_t)type_element_bytes(type) + 3) / 4;
}

/* Liveness: ops are numbered in order of appearance, before those in their regions. */

/* What is computed element by element, and so never all there. */
typedef enum Streams {
    STREAMS_NONE,
    STREAMS_CHAINS, /* of elementwise ops */
    STREAMS_SUMS,   /* those, also into sums, from loads on, and into what loops begin with;
                       operands of products in fragments; and what can wait until what it is
                       computed from is done with */
} Streams;

typedef struct Liveness {
    uint64_t (*measure)(const Type *type);
    uint32_t *last_use;  /* by Value.id: number of the last op of its block that needs it */
    uint32_t *first_use; /* and of the first */
    uint64_t *ends;      /* by op number: registers that are free after it, in all */
    uint32_t next;
    uint64_t now, most;
    Streams streams;
} Liveness;

/* The op that is visited in each block on the way in. */
typedef struct Frame {
    const Block *block;
    uint32_t op;
    const struct Frame *outer;
} Frame;

static bool is_added_up(const Value *value) {
    return value->uses->user->code == OP_reduce && !value->uses->next;
}

/* Does the value, computed or part of another, go into elementwise and cheap ops of its block
 * alone, or into nothing but a sum, with nothing between that must not move? */
static bool is_passing(const Liveness *live, const Value *value) {
    const Op *def = value->def;
    if (!def || !(op_has(def, ELEMENTWISE) || def->code == OP_slice) || value_unused(value))
        return false;
    bool added = live->streams == STREAMS_SUMS && is_added_up(value);
    uint32_t uses = 0, found = 0;
    value_for_each_use (use, value)
        uses++;
    for (const Op *op = def->next;
         op && op_is_pure(op) && (added || !op->nregions) && !op_is_control(op) && found < uses;
         op = op->next)
        for (uint32_t i = 0; i < op->nin && (added || op_has(op, ELEMENTWISE | CHEAP)); i++)
            found += op_in(op, i) == value;
    return found == uses;
}

/* Do products alone take it, or what becomes of it element by element, with nothing between that a
 * load from shared memory must not pass? */
static bool goes_into_dots(const Value *value) {
    uint32_t uses = 0, found = 0;
    value_for_each_use (use, value)
        uses++;
    for (const Op *op = value->def->next;
         op && !op->nregions && !op_has(op, SYNC | LWRITES) && found < uses; op = op->next) {
        bool takes = op->code == OP_dot || (op_has(op, ELEMENTWISE) && !value_unused(op_out(op)));
        for (uint32_t i = 0; i < op->nin && takes; i++)
            found += op_in(op, i) == value && (op->code == OP_dot || goes_into_dots(op_out(op)));
    }
    return found == uses;
}

/* Operands of products by mma.sync and by threads come from shared memory in fragments. */
static bool is_in_fragments(const Liveness *live, const Value *value) {
    const Op *def = value->def;
    return live->streams == STREAMS_SUMS && def && !value_unused(value) &&
           (def->code == OP_local_load ||
            (op_has(def, ELEMENTWISE) && def->nin && op_in(def, 0)->def &&
             op_in(def, 0)->def->code == OP_local_load)) &&
           goes_into_dots(value);
}

/* A load that may be as late as what takes it. */
static bool is_late(const Op *op) {
    return op->code == OP_load && !(op_effects(op) & SYNC) && !load_attrs(op)->ends_batch;
}

enum { SUMMED_SOON = 4 /* ops from a load to the sum */ };

/* Do sums alone take it, or what becomes of it element by element in few ops, with nothing between
 * but loads that must not move? */
static bool goes_into_sums(const Value *value, int soon) {
    uint32_t uses = 0, found = 0;
    value_for_each_use (use, value)
        uses++;
    for (const Op *op = value->def->next;
         op && (op_is_pure(op) || is_late(op)) && !op_is_control(op) && found < uses;
         op = op->next) {
        uint32_t taken = 0;
        for (uint32_t i = 0; i < op->nin; i++)
            taken += op_in(op, i) == value;
        if (taken && op->code != OP_reduce &&
            (!soon || !op_has(op, ELEMENTWISE) || !goes_into_sums(op_out(op), soon - 1)))
            return false;
        found += taken;
    }
    return uses && found == uses;
}

/* What is loaded and added up at once comes as the sums take it. */
static bool comes_late(const Liveness *live, const Value *value) {
    const Op *def = value->def;
    return live->streams == STREAMS_SUMS && def && (is_late(def) || op_has(def, ELEMENTWISE)) &&
           goes_into_sums(value, SUMMED_SOON);
}

/* What is cheap is computed again where it is needed, or is the same in all threads. */
static uint64_t held_registers(const Liveness *live, const Value *value) {
    bool cheap = value->def && op_has(value->def, CHEAP);
    bool passes = live->streams && (is_passing(live, value) || is_in_fragments(live, value) ||
                                    comes_late(live, value));
    return cheap || passes ? 0 : live->measure(value->type);
}

static void note_use(Liveness *live, const Frame *frame, const Value *value) {
    const Block *home = value_block(value);
    while (frame->block != home)
        frame = frame->outer;
    if (!live->first_use[value->id])
        live->first_use[value->id] = frame->op;
    live->last_use[value->id] = frame->op;
}

/* What a chain is computed from is needed until all of it is. */
static void keep_operands(Liveness *live, const Op *op) {
    uint32_t last = live->last_use[op_out(op)->id];
    for (uint32_t i = 0; i < op->nin; i++) {
        const Value *in = op_in(op, i);
        if (value_block(in) == op->block && live->last_use[in->id] < last)
            live->last_use[in->id] = last;
    }
}

/* A value from outside a loop is needed until the loop ends. */
static void note_uses(Liveness *live, const Block *block, const Frame *outer) {
    Frame frame = {block, 0, outer};
    block_for_each (op, block) {
        frame.op = ++live->next;
        for (uint32_t i = 0; i < op->nout; i++)
            live->last_use[op->out[i].id] = frame.op;
        for (uint32_t i = 0; i < op->nin; i++)
            note_use(live, &frame, op_in(op, i));
        for (uint32_t r = 0; r < op->nregions; r++) {
            const Block *region = op->regions[r];
            for (uint32_t i = 0; i < region->nargs; i++)
                live->last_use[region->args[i].id] = frame.op;
            note_uses(live, region, &frame);
        }
    }
    for (const Op *op = block->last; op && live->streams; op = op->prev)
        if (op->nout == 1 && (op_has(op, CHEAP) || is_passing(live, op_out(op)) ||
                              is_in_fragments(live, op_out(op)) || comes_late(live, op_out(op))))
            keep_operands(live, op);
}

enum { NEAR = 8 /* ops of a chain that nobody holds */ };

/* Adds to `only` the tile that an op is computed from, of those that are held. False: there is
 * another, or it is too far to tell. */
static bool add_source(const Liveness *live, const Op *op, const Value **only, int near) {
    for (uint32_t i = 0; i < op->nin; i++) {
        const Value *in = op_in(op, i);
        if (in == *only || !type_is_tile(in->type))
            continue;
        if (!held_registers(live, in)) {
            bool is_here = in->def && in->def->block == op->block && in->def->nin;
            if (is_here && (!near || !add_source(live, in->def, only, near - 1)))
                return false;
            continue;
        }
        if (*only)
            return false;
        *only = in;
    }
    return true;
}

/* What is computed element by element from one tile, and taken when others are done with that, is
 * computed then: one of both is held. The op that is the last of them; 0: it is not so. */
static uint32_t begins_after(const Liveness *live, const Value *value) {
    const Op *def = value->def;
    bool soon = live->first_use[value->id] <= live->next + 1;
    if (live->streams != STREAMS_SUMS || soon || !def || !op_has(def, ELEMENTWISE))
        return 0;
    const Value *from = NULL;
    if (!add_source(live, def, &from, NEAR) || !from || value_block(from) != def->block ||
        live->last_use[from->id] >= live->first_use[value->id] ||
        live->last_use[from->id] <= live->next)
        return 0;
    return held_registers(live, from) >= held_registers(live, value) ? live->last_use[from->id] : 0;
}

static void note_most(Liveness *live) {
    if (live->now > live->most)
        live->most = live->now;
}

static void add_value(Liveness *live, const Value *value) {
    uint64_t held = held_registers(live, value);
    uint32_t after = held ? begins_after(live, value) : 0;
    live->ends[live->last_use[value->id]] += held;
    if (after) {
        live->ends[after] -= held;
        return;
    }
    live->now += held;
    note_most(live);
}

static bool is_needed_within(const Op *op, const Value *value) {
    value_for_each_use (use, value)
        if (use->user->block != op->block)
            return true;
    return false;
}

/* The arguments of a loop take the place of initial values that nobody else needs; where those
 * stream, of what they are computed from. */
static void hand_over(Liveness *live, const Op *op, const Value *value, uint32_t number) {
    bool sums = live->streams == STREAMS_SUMS;
    if (live->last_use[value->id] != number || value_block(value) != op->block ||
        (sums ? is_needed_within(op, value) : value->uses->next != NULL))
        return;
    uint64_t held = held_registers(live, value);
    live->now -= held;
    live->ends[number] -= held;
    if (!sums)
        return;
    live->last_use[value->id] = 0; /* once */
    for (uint32_t i = 0; !held && value->def && i < value->def->nin; i++)
        hand_over(live, op, op_in(value->def, i), number);
}

static void sweep_block(Liveness *live, const Block *block) {
    for (uint32_t i = 0; i < block->nargs; i++)
        add_value(live, &block->args[i]);
    block_for_each (op, block) {
        uint32_t number = ++live->next;
        for (uint32_t i = 0; i < op->nin && op_has(op, LOOP); i++)
            hand_over(live, op, op_in(op, i), number);
        for (uint32_t r = 0; r < op->nregions; r++)
            sweep_block(live, op->regions[r]);
        /* Element by element, a result takes the place of an operand, and a product's of its sum.
         */
        bool in_place = op_has(op, ELEMENTWISE | ACCUMULATES);
        uint64_t ended = in_place ? live->ends[number] : 0;
        live->now -= ended;
        for (uint32_t i = 0; i < op->nout; i++)
            add_value(live, &op->out[i]);
        live->now -= live->ends[number] - ended;
        note_most(live);
    }
}

static uint64_t most_alive(Func *func, uint64_t (*measure)(const Type *type), Streams streams) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    Liveness live = {.measure = measure, .streams = streams};
    live.last_use = ARENA_ARRAY(arena, uint32_t, func_number(func));
    live.first_use = ARENA_ARRAY(arena, uint32_t, func_number(func));
    note_uses(&live, func->body, NULL);
    live.ends = ARENA_ARRAY(arena, uint64_t, (size_t)live.next + 1);
    live.next = 0;
    sweep_block(&live, func->body);
    arena_rewind(arena, mark);
    return live.most;
}

uint64_t pressure_most(Func *func) {
    return most_alive(func, pressure_of, STREAMS_NONE);
}

uint64_t pressure_most_in_thread(Func *func) {
    return most_alive(func, pressure_in_thread, STREAMS_NONE);
}

uint64_t pressure_streamed_in_thread(Func *func) {
    return most_alive(func, pressure_in_thread, STREAMS_CHAINS);
}

uint64_t pressure_summed_in_thread(Func *func) {
    return most_alive(func, pressure_in_thread, STREAMS_SUMS);
}
