/* Which integers addresses are computed from: see facts_internal.h.
 *
 * Goes back from offsets of pointers and blocks, by what a sum of places comes by: sums, products,
 * quotients and remainders, choices, shapes, control flow. Bits that are combined or cut off and
 * absolute values are made of numbers that may well have wrapped (hashes), and what is loaded or
 * reduced is no sum; it ends there.
 *
 * An address has what all programs' threads share added to its pointer, and what elements are apart
 * to that: the sum of both, where something else needs it, is an index as its parts are. */
#include "passes/analysis/facts_internal.h"
#include "support/vec.h"

typedef struct Search {
    Arena *arena;
    bool *found;
    VEC(const Value *) pending;
} Search;

static void meet(Search *s, const Value *value) {
    if (!type_is_index(value->type) || s->found[value->id])
        return;
    s->found[value->id] = true;
    vec_push(s->arena, &s->pending, value);
}

static bool meet_offsets(Op *op, void *user) {
    Search *s = user;
    if (op->code == OP_addptr)
        meet(s, op_in(op, 1));
    else if (op_has(op, BLOCK))
        for (uint32_t i = 0; i < op->nin; i++)
            meet(s, op_in(op, i));
    return true;
}

/* What leaves a block of the op as its number `i`. */
static void meet_yielded(Search *s, const Op *op, uint32_t i) {
    if (op->code == OP_while) {
        meet(s, op_in(op->regions[0]->last, i + 1));
        meet(s, op_in(op->regions[1]->last, i));
    } else {
        for (uint32_t r = 0; r < op->nregions; r++)
            meet(s, op_in(op->regions[r]->last, i));
    }
}

/* What comes into the op, or around it, as its number `i`. */
static void meet_carried(Search *s, const Op *op, uint32_t i) {
    meet_yielded(s, op, i);
    if (op->code != OP_if)
        meet(s, op_in(op, op->code == OP_for ? FOR_FIXED_OPERANDS + i : i));
}

static void meet_source_of_argument(Search *s, const Value *arg) {
    const Op *op = arg->owner->parent;
    if (!op || !op_is_control(op))
        return;
    uint32_t number = (uint32_t)(arg - arg->owner->args);
    if (op->code == OP_for && number == 0)
        for (uint32_t i = 0; i < FOR_FIXED_OPERANDS; i++)
            meet(s, op_in(op, i));
    else
        meet_carried(s, op, op->code == OP_for ? number - 1 : number);
}

static bool passes_on(const Op *op) {
    if (op_has(op, CONVERTS))
        return op->code != OP_trunci;
    bool adds = op->code == OP_addi || op->code == OP_subi;
    bool multiplies = op->code == OP_muli || op->code == OP_shli;
    return adds || multiplies || op->code == OP_shrsi || op->code == OP_select ||
           op_has(op, MOVES | HINT | EXTREMUM | MAY_TRAP);
}

static void meet_sources(Search *s, const Value *value) {
    const Op *op = value->def;
    if (!op)
        meet_source_of_argument(s, value);
    else if (op_is_control(op))
        meet_carried(s, op, (uint32_t)(value - op->out));
    else if (passes_on(op))
        for (uint32_t i = 0; i < op->nin; i++)
            meet(s, op_in(op, i));
}

/* What elements count, or one number: sums of an index with it stay one. */
static bool is_count(const Value *value) {
    const Op *op = value->def;
    while (op && op_has(op, MOVES) && op->nin == 1)
        op = op_in(op, 0)->def;
    return op && (op->code == OP_range || op_has(op, CONSTANT));
}

static bool is_found(const Search *s, const Value *value) {
    return s->found[value->id];
}

static bool find_sum(Op *op, void *user) {
    const Search *s = user;
    if (op->nout != 1 || !op->nin || !type_is_index(op->out[0].type))
        return true;
    const Value *a = op_in(op, 0), *b = op->nin > 1 ? op_in(op, 1) : NULL;
    if (op->nin == 1 && (op_has(op, MOVES | HINT) || op->code == OP_extsi))
        s->found[op->out[0].id] |= is_found(s, a);
    else if (op->code == OP_addi)
        s->found[op->out[0].id] |= (is_found(s, a) || is_found(s, b)) &&
                                   (is_found(s, a) || is_count(a)) &&
                                   (is_found(s, b) || is_count(b));
    return true;
}

bool *facts_find_indices(Func *func, Arena *arena, uint32_t count) {
    Search s = {.arena = arena, .found = ARENA_ARRAY(arena, bool, count)};
    func_walk(func, meet_offsets, &s);
    while (s.pending.len)
        meet_sources(&s, s.pending.data[--s.pending.len]);
    func_walk(func, find_sum, &s);
    return s.found;
}
