/* Loops that go on where another ends keep its rings.
 *
 * split-loops makes several loops of one, with bodies that copy the same blocks and indices that
 * follow on each other. A pipeline of its own for each would drain and fill between them. With one
 * for all of them the last iterations of a loop start the first copies of the next one: copies go
 * on to the end of the last loop, and slot and parity from one loop to the next.
 *
 *     for %i = %lo, %mid, 64 {             for %i = %lo, %mid, 64 (.., %slot, %parity) {
 *         load_block .. at %i                  copies at %i + 2 * 64, where that is below %hi
 *         ..                                   ..
 *     }                            =>      }
 *     for %i = %mid, %hi, 64 {             for %i = %mid, %hi, 64 (.., %slot, %parity) {
 *         load_block .. at %i                  copies at %i + 2 * 64, where that is below %hi
 *     }                                    }
 */
#include "passes/schedule/pipeline_loads.h"

enum { MOST_OPS = 64 }; /* that place a copy */

/* The bounds of loops in a row are there before the first of them. */
static bool is_known_before(const Value *value, const Op *first, const Op *loop) {
    for (const Op *op = first; op != loop; op = op->next)
        if (value->def == op)
            return false;
    return true;
}

Op *pipeline_next_loop(const Pipelined *first, const Pipelined *last) {
    Op *op = last->loop->next;
    while (op && op->code != OP_for && op_is_pure(op))
        op = op->next;
    bool goes_on = op && op->code == OP_for && (op_flags(op) & LOOP_GOES_ON) &&
                   op_in(op, 0) == op_in(last->loop, 1);
    return goes_on && is_known_before(op_in(op, 1), first->loop, op) ? op : NULL;
}

typedef struct Comparison {
    const Block *a, *b;
    int budget;
} Comparison;

static bool is_same(Comparison *c, const Value *a, const Value *b);

static bool is_same_op(Comparison *c, const Op *a, const Op *b) {
    if (c->budget-- <= 0 || !op_is_alike(a, b))
        return false;
    for (uint32_t i = 0; i < a->nin; i++)
        if (!is_same(c, op_in(a, i), op_in(b, i)))
            return false;
    return true;
}

/* At one index both loops compute the same. */
static bool is_same(Comparison *c, const Value *a, const Value *b) {
    if (a == b)
        return true;
    if (a->owner == c->a && b->owner == c->b)
        return a->index == 0 && b->index == 0;
    return a->def && b->def && a->def->block == c->a && b->def->block == c->b &&
           a->index == b->index && op_is_pure(a->def) && !a->def->nregions &&
           is_same_op(c, a->def, b->def);
}

bool pipeline_goes_on(const Pipelined *last, const Pipelined *next) {
    Comparison c = {last->body, next->body, MOST_OPS};
    if (last->loads.len != next->loads.len || last->step != next->step || last->writes ||
        next->writes)
        return false;
    for (size_t i = 0; i < last->loads.len; i++) {
        const Staged *a = &last->loads.data[i], *b = &next->loads.data[i];
        if (a->means != BY_TENSOR_COPY || b->means != BY_TENSOR_COPY ||
            !is_same_op(&c, a->load, b->load))
            return false;
    }
    return true;
}
