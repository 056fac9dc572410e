/* batch-loads: the loads that a program begins with are under way together.
 *
 *     %a = load %p                                  %a = load %p
 *     %e = exp %a                                   %q = addptr ..
 *     %q = addptr ..                        =>      %b = load %q {ends_batch = true}
 *     %b = load %q                                  %e = exp %a
 *     %y = mulf %e, %b                              %y = mulf %e, %b
 *
 * ptxas would rather use what is there first before it loads the next, which needs fewer registers
 * for a while: it aims at so few that an SM is full of warps, and waits for memory once for each
 * load, or each register of a tile. In the first wave of CTAs, and in launches of few, nothing
 * covers that latency. So what such loads need comes first, and behind the last of them stands what
 * ptxas moves no load past (codegen, cg_keep_order). A load that needs what another loads belongs
 * to a batch of its own behind that one's.
 *
 * That is done once on each path, in the first stretch of ops that loads tiles: up to what writes,
 * meets, loops, multiplies or reduces. All that it loads has to fit the registers that leave an SM
 * some warps. Two cases:
 * - What is computed from it is more than a few ops for each element (less ptxas leaves alone), and
 *   no products, which fill the registers, come later.
 * - A row is reduced, and another tile waits for that. Then every load of the function is to be in
 *   the stretch, and all registers may be filled; nothing is moved.
 * Loads that may be delayed stay where they are and do not count.
 *
 * So it is in each iteration of a loop that computes much, where all that is alive at once leaves
 * an SM as many warps. A short loop ptxas unrolls, which puts loads of several iterations together;
 * it would not if something stood between them.
 *
 * Needs layouts. It stands at the end, so that no pass moves the loads apart again. */
#include "ir/registers.h"
#include "passes/analysis/pressure.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/ptrmap.h"

enum {
    MOST_LEVELS = 4,  /* the last one: and all behind it */
    WORTH_OPS = 4,    /* for each element loaded; of fewer ptxas loads all first by itself */
    SPECIAL_OPS = 8,  /* a function's, in such ops */
    LOOP_OPS = 192,   /* of an iteration: ptxas does not unroll it */
    LEAST_WARPS = 16, /* that an SM is to hold all the same */
};

/* The ops from `first` up to `end`, which ends the stretch. */
typedef struct Stretch {
    Arena *arena;
    Op *first, *end;
    PtrMap levels; /* of its ops: most loads one behind the other up to the operands, and 1 */
    PtrSet needed; /* what the batch that is put together takes */
    uint32_t accesses[MOST_LEVELS], tiles[MOST_LEVELS]; /* loads', and loaded ones */
    uint64_t elements, registers, ops;                  /* loaded by a thread; computed from them */
} Stretch;

static bool is_batched(const Op *op) {
    return op->code == OP_load && !op_is_volatile(op) && !op_may_delay(op);
}

static bool ends_stretch(const Op *op) {
    return op_has(op, COMBINES | ACCUMULATES | TERMINATOR) || op_contains(op, LOOP) ||
           (op_effects(op) & (op->nregions ? ~0u : WRITES | LREADS | LWRITES | SYNC)) ||
           op_is_volatile(op);
}

static uint32_t level_of(const Stretch *s, const Op *op) {
    return (uint32_t)(uintptr_t)ptrmap_get(&s->levels, op);
}

/* Of each op of the stretch that gives `op` something, in itself or through `inner` in its
 * regions. */
typedef void VisitNeeded(Stretch *s, Op *op, Op *needed);
static void each_needed(Stretch *s, Op *op, const Op *inner, VisitNeeded *visit) {
    for (uint32_t i = 0; i < inner->nin; i++) {
        Op *def = op_in(inner, i)->def;
        if (def && level_of(s, def))
            visit(s, op, def);
    }
    for (uint32_t r = 0; r < inner->nregions; r++)
        block_for_each (nested, inner->regions[r])
            each_needed(s, op, nested, visit);
}

static void raise_level(Stretch *s, Op *op, Op *needed) {
    uintptr_t level = level_of(s, needed) + (needed->code == OP_load);
    if (level > level_of(s, op))
        ptrmap_set(&s->levels, op, (void *)level);
}

static uint32_t elements_of(const Type *type) {
    return type_is_tile(type) ? (uint32_t)layout_owned_registers(type->layout) : 1;
}

static uint32_t accesses_of(const Op *load) {
    uint32_t count = elements_of(load->out[0].type) / (uint32_t)op_access_width(load);
    return count ? count : 1;
}

static uint32_t ops_of(const Op *op) {
    if (!op->nout || op_has(op, CONSTANT | HINT | MOVES | READS | CONVERTS))
        return 0;
    return elements_of(op->out[0].type) *
           (op_has(op, COST_SPECIAL | TRANSCENDENTAL) ? SPECIAL_OPS : 1);
}

static void count_op(Stretch *s, const Op *op) {
    uint32_t level = level_of(s, op) - 1;
    if (!is_batched(op)) {
        s->ops += level ? ops_of(op) : 0;
        return;
    }
    const Type *type = op->out[0].type;
    s->elements += elements_of(type);
    s->registers += type_is_tile(type) ? pressure_in_thread(type) : 1;
    level = level < MOST_LEVELS ? level : MOST_LEVELS - 1;
    s->accesses[level] += accesses_of(op);
    s->tiles[level] += type_is_tile(type);
}

static Stretch stretch_from(Arena *arena, Op *first) {
    Stretch s = {.arena = arena,
                 .first = first,
                 .end = first,
                 .levels = {.arena = arena},
                 .needed = {.arena = arena}};
    for (; !ends_stretch(s.end); s.end = s.end->next) {
        ptrmap_set(&s.levels, s.end, (void *)(uintptr_t)1);
        each_needed(&s, s.end, s.end, raise_level);
        count_op(&s, s.end);
    }
    return s;
}

/* A row that another tile waits for */

static void need(Stretch *s, Op *op, Op *needed) {
    ptr_set_add(&s->needed, needed);
}

/* Adds what the needed ops up to `last` need. */
static void need_before(Stretch *s, Op *last) {
    for (Op *op = last; op != s->first->prev; op = op->prev)
        if (ptr_set_has(&s->needed, op))
            each_needed(s, op, op, need);
}

static bool count_tile_load(Op *op, void *user) {
    *(uint32_t *)user += op->code == OP_load && type_is_tile(op->out[0].type);
    return true;
}

static uint64_t register_room(const Func *func, int32_t least_warps) {
    int32_t programs = func->programs_per_cta > 0 ? func->programs_per_cta : 1;
    int32_t warps = func->num_warps * programs;
    return (uint64_t)func_register_room(func, warps < least_warps ? least_warps : warps);
}

/* The last load; NULL: no other tile waits for a reduction, or they do not fit. */
static Op *last_beside_row(Func *func, Stretch *s) {
    if (s->end->code != OP_reduce || s->first != func->body->first)
        return NULL;
    each_needed(s, s->end, s->end, need);
    need_before(s, s->end->prev);
    uint32_t all = 0, loads = 0, feeding = 0, waiting = 0;
    uint64_t registers = RESERVE_SCALARS;
    Op *last = NULL;
    for (Op *op = s->first; op != s->end; op = op->next) {
        if (op->code != OP_load || !type_is_tile(op->out[0].type))
            continue;
        bool feeds = ptr_set_has(&s->needed, op);
        loads++;
        feeding += feeds;
        waiting += !feeds && !op_may_delay(op);
        registers += pressure_in_thread(op->out[0].type);
        last = op;
    }
    s->needed = (PtrSet){.arena = s->arena};
    func_walk(func, count_tile_load, &all);
    return feeding && waiting && loads == all && registers <= register_room(func, 1) ? last : NULL;
}

/* Loads that much is computed from */

static bool end_batch(Op *last) {
    bool changed = !load_attrs(last)->ends_batch;
    load_attrs(last)->ends_batch = true;
    return changed;
}

/* Puts the loads of the level, and what they need, first in the rest of the stretch. */
static bool put_batch(Stretch *s, uint32_t level) {
    Op *last = NULL;
    for (Op *op = s->first; op != s->end; op = op->next)
        if (is_batched(op) && level_of(s, op) == level + 1 && ptr_set_add(&s->needed, op))
            last = op;
    assert(last);
    need_before(s, last);
    Op *place = s->first;
    bool changed = false;
    for (Op *op = s->first, *next; op != s->end; op = next) {
        next = op->next;
        if (!ptr_set_has(&s->needed, op))
            continue;
        if (op == place) {
            place = next;
        } else {
            op_move_before(op, place);
            changed = true;
        }
    }
    s->first = place;
    return end_batch(last) || changed;
}

static bool is_no_product(Op *op, void *user) {
    return !op_has(op, ACCUMULATES);
}

static bool batch_stretch(Func *func, Stretch *s) {
    Op *last = last_beside_row(func, s);
    if (last)
        return end_batch(last);
    bool is_short = op_loop_around(s->end) && s->ops < LOOP_OPS;
    if (is_short || !func_walk(func, is_no_product, NULL) || s->ops < WORTH_OPS * s->elements ||
        s->registers + RESERVE_SCALARS > register_room(func, LEAST_WARPS))
        return false;
    bool changed = false;
    for (uint32_t level = 0; level + 1 < MOST_LEVELS; level++)
        if (s->tiles[level] && s->accesses[level] > 1)
            changed |= put_batch(s, level);
    return changed;
}

typedef struct Batches {
    Func *func;
    bool changed;
} Batches;

/* Goes through the stretches of the block and of its branches, until one has tiles. True: there is
 * none, nor a loop or product. */
static bool batch_block(Batches *batches, Block *block) {
    Arena *arena = &func_ctx(batches->func)->scratch;
    for (Op *op = block->first; op;) {
        ArenaMark mark = arena_mark(arena);
        Stretch s = stretch_from(arena, op);
        batches->changed |= batch_stretch(batches->func, &s);
        uint32_t tiles = 0;
        for (uint32_t level = 0; level < MOST_LEVELS; level++)
            tiles += s.tiles[level];
        Op *end = s.end;
        arena_rewind(arena, mark);
        bool goes_on = !tiles && !op_has(end, LOOP | ACCUMULATES);
        if (goes_on && end->code == OP_if)
            for (uint32_t r = 0; r < end->nregions; r++)
                goes_on &= batch_block(batches, end->regions[r]);
        if (!goes_on)
            return false;
        op = end->next;
    }
    return true;
}

/* Of each iteration, the first loads. */
static bool batch_loop(Op *loop, void *user) {
    Batches *batches = user;
    batch_block(batches, loop->regions[0]);
    return false;
}

bool pass_batch_loads(Func *func) {
    Batches batches = {.func = func};
    batch_block(&batches, func->body);
    if (pressure_most_in_thread(func) + RESERVE_SCALARS <= register_room(func, LEAST_WARPS))
        loops_inside_out(func->body, batch_loop, &batches);
    return batches.changed;
}
