/* simplify: loops with products, and recurrences over time, that count down.
 *
 *     for %i = %lo, %hi, -32 {        %l = subi 0, %lo; %h = subi 0, %hi
 *         %r = dot ..            ->   for %j = %l, %h, 32 {
 *     }                                   %i = subi 0, %j
 *                                         %r = dot ..
 *
 * What starts loads ahead, splits loops where masks cease, or hands blocks to tensor copies knows
 * loops that count up. Other loops stay: they would gain nothing for the subtraction.
 *
 * The least number of a type has no negative. As the start it means that the loop does not run,
 * which holds of the number above it too unless it is the end as well; of the end it has to be
 * known that it is another number. */
#include "passes/analysis/facts.h"
#include "passes/simplify/simplify.h"
#include "support/vec.h"

typedef struct Turned {
    Op *loop;
    bool may_start_least; /* its start may be the least number */
} Turned;

typedef struct Finder {
    Arena *arena;
    const Facts *facts;
    VEC(Turned) turned;
} Finder;

static int64_t least_of(const Type *type) {
    return type->dtype == DT_I32 ? INT32_MIN : INT64_MIN;
}

static bool multiplies(const Block *body) {
    block_for_each (op, body)
        if (op->code == OP_dot)
            return true;
    return false;
}

/* Does the loop load, and store what it makes of that and of a tile of floats that it carries? */
static bool recurs(const Block *body) {
    bool carries = false, loads = false, stores = false;
    for (uint32_t i = 1; i < body->nargs; i++)
        carries |= type_is_tile(body->args[i].type) && type_is_float(body->args[i].type);
    block_for_each (op, body) {
        loads |= op_is_load(op);
        stores |= op_has(op, STORE);
    }
    return carries && loads && stores;
}

static bool counts_down(const Op *op) {
    int64_t step;
    return op->code == OP_for && type_is_index(op_in(op, 0)->type) &&
           value_int_constant(op_in(op, 2), &step) && step < 0 &&
           step > least_of(op_in(op, 0)->type) &&
           (multiplies(op->regions[0]) || recurs(op->regions[0]));
}

static bool is_found(Op *op, void *user) {
    bool *found = user;
    *found |= counts_down(op);
    return !*found;
}

static bool decide(Op *op, void *user) {
    Finder *finder = user;
    if (!counts_down(op))
        return true;
    const Value *lo = op_in(op, 0), *hi = op_in(op, 1);
    int64_t least = least_of(lo->type);
    if (facts_of(finder->facts, hi)->lo > least)
        vec_push(finder->arena, &finder->turned,
                 ((Turned){op, facts_of(finder->facts, lo)->lo <= least}));
    return true;
}

static void turn(const Turned *turned) {
    Op *loop = turned->loop;
    Value *lo = op_in(loop, 0), *hi = op_in(loop, 1), *index = &loop->regions[0]->args[0];
    const Type *type = lo->type;
    int64_t step = 0;
    value_int_constant(op_in(loop, 2), &step);
    Builder b = builder_before(loop), head = builder_before(loop->regions[0]->first);
    b.span = head.span = loop->span;
    Value *zero = rewrite_int(&b, type, 0);
    if (turned->may_start_least)
        lo = build_maxsi(&b, lo, rewrite_int(&b, type, least_of(type) + 1));
    op_set_operand(loop, 0, build_subi(&b, zero, lo));
    op_set_operand(loop, 1, build_subi(&b, zero, hi));
    op_set_operand(loop, 2, rewrite_int(&b, type, -step));
    Value *down = build_subi(&head, zero, zero);
    value_replace(index, down);
    op_set_operand(down->def, 1, index);
}

bool count_up(Func *func) {
    bool found = false;
    func_walk(func, is_found, &found);
    if (!found)
        return false;
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    Finder finder = {.arena = arena, .facts = facts_compute(func, arena)};
    func_walk(func, decide, &finder);
    bool changed = finder.turned.len > 0;
    vec_for_each (turned, &finder.turned)
        turn(turned);
    arena_rewind(arena, mark);
    return changed;
}
