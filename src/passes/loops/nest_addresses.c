/* nest-addresses: addresses of a tile that a loop moves along are summed up dimension by dimension.
 *
 * What the elements of a tile are apart is the same in all iterations: a sum of lines, one a
 * dimension, that licm has moved in front of the loop. There each register of the tile has a sum of
 * its own, which waits for the next iteration in two registers; where no dimension is contiguous a
 * thread holds more of those than numbers to compute with. So where an iteration adds them to an
 * address of its own, and they are many, it adds the lines instead, shortest first: the few of one
 * dimension to the address, and those of the next to each of these. That is hardly an addition
 * more, and what waits are lines: of equal strides, which codegen steps along by as many distances
 * as the line's registers have bits (docs/codegen.md). LOOP_NESTED says so of the loop.
 *
 *     %t = addi (broadcast %r), (broadcast %c)        for .. {
 *     for .. {                                  =>        %q = addptr (splat %p), %c
 *         %at = addptr (splat %p), %t                     %b = broadcast %q
 *                                                         %at = addptr %b, (broadcast %r)
 *
 * Where the same sums are added to addresses outside of the loop too, as in what is peeled off it,
 * lines are added there as well, so that no sum waits.
 *
 * Needs layouts. It stands at the end, for no other pass asks how an address is summed up, and
 * moves no access. */
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/simplify/simplify.h"
#include "support/vec.h"

enum {
    MOST_LINES = 4,
    MANY_SUMS = 16, /* in a thread: 32 registers */
};

typedef struct Lines {
    Value *list[MOST_LINES]; /* tiles with the elements of one dimension, shortest first */
    uint32_t count;
} Lines;

static int registers_of(const Value *value) {
    return layout_owned_registers(value->type->layout);
}

static bool add_line(Lines *lines, Value *line) {
    if (lines->count == MOST_LINES)
        return false;
    uint32_t at = lines->count++;
    for (; at > 0 && registers_of(line) < registers_of(lines->list[at - 1]); at--)
        lines->list[at] = lines->list[at - 1];
    lines->list[at] = line;
    return true;
}

/* The index as a sum of smaller tiles. */
static bool add_lines(Lines *lines, const Value *index) {
    const Op *def = index->def;
    if (def && def->code == OP_addi)
        return add_lines(lines, op_in(def, 0)) && add_lines(lines, op_in(def, 1));
    return def && def->code == OP_broadcast && add_line(lines, op_in(def, 0));
}

/* Are elements of the line apart by what is known here? Those of a thread are one sum then, and a
 * constant in each access. */
static bool has_known_distances(const Value *line) {
    const Op *def = line->def;
    if (value_is_uniform(line))
        return true;
    if (!def)
        return false;
    if (def->code == OP_range)
        return true;
    int64_t number;
    if (def->code == OP_muli)
        return (value_int_constant(op_in(def, 1), &number) && has_known_distances(op_in(def, 0))) ||
               (value_int_constant(op_in(def, 0), &number) && has_known_distances(op_in(def, 1)));
    if (def->code == OP_addi)
        return has_known_distances(op_in(def, 0)) && has_known_distances(op_in(def, 1));
    return (def->code == OP_expand_dims || op_has(def, CONVERTS)) &&
           has_known_distances(op_in(def, 0));
}

/* Sums of lines that wait in a thread. */
static int sums_of(const Lines *lines) {
    int sums = 1;
    for (uint32_t i = 0; i < lines->count; i++)
        sums *= has_known_distances(lines->list[i]) ? 1 : registers_of(lines->list[i]);
    return sums;
}

/* Is what the op adds to one address made in front of the loop that makes the address? */
static bool adds_what_waits(const Op *op) {
    const Op *loop = op_loop_around(op), *splat = value_def(op_in(op, 0), OP_splat);
    return loop && loop->code == OP_for && splat && !value_is_outside(op_in(splat, 0), loop) &&
           value_is_outside(op_in(op, 1), loop);
}

/* Do only such sums with one address take the index? Else it waits all the same. */
static bool is_index_alone(const Value *index) {
    value_for_each_use (use, index) {
        const Op *user = use->user;
        if (user->code != OP_addptr || op_in(user, 1) != index ||
            !value_def(op_in(user, 0), OP_splat))
            return false;
    }
    return true;
}

typedef struct Indices {
    Arena *arena;
    VEC(Value *) list;
} Indices;

static bool note_index(Op *op, void *user) {
    Indices *indices = user;
    Lines lines = {.count = 0};
    if (op->code != OP_addptr || !type_is_tile(op->out[0].type) || !adds_what_waits(op) ||
        !add_lines(&lines, op_in(op, 1)) || lines.count < 2 || sums_of(&lines) < MANY_SUMS ||
        !is_index_alone(op_in(op, 1)))
        return true;
    vec_push(indices->arena, &indices->list, op_in(op, 1));
    return true;
}

static void nest(Op *op) {
    Lines lines = {.count = 0};
    add_lines(&lines, op_in(op, 1));
    Builder b = builder_before(op);
    const Type *type = op->out[0].type;
    const Type *few = type_with_element(b.ctx, lines.list[0]->type, TYPE_POINTER, type->dtype);
    Value *start = build_splat(&b, op_in(op_in(op, 0)->def, 0), few);
    Value *at = build_broadcast(&b, build_addptr(&b, start, lines.list[0]), type);
    for (uint32_t i = 1; i < lines.count; i++) {
        const Type *index = type_with_element(b.ctx, type, TYPE_NUMBER, lines.list[i]->type->dtype);
        at = build_addptr(&b, at, build_broadcast(&b, lines.list[i], index));
    }
    Op *loop = op_loop_around(op);
    if (loop && adds_what_waits(op))
        op_set_flags(loop, op_flags(loop) | LOOP_NESTED);
    rewrite_replace(op, at);
}

bool pass_nest_addresses(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    Indices indices = {.arena = arena};
    func_walk(func, note_index, &indices);
    bool changed = indices.list.len > 0;
    vec_for_each (index, &indices.list)
        while (!value_unused(*index))
            nest((*index)->uses->user);
    /* What else takes a line decides how its addresses are made: the sums are no longer there. */
    if (changed)
        eliminate_dead(func);
    arena_rewind(arena, mark);
    return changed;
}
