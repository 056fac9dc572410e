/* The rules of the simplify pass that are no rows of rules.def, one function an op. Private to
 * src/passes.
 *
 * A rule looks at one op and its operands. True: it changed the IR, and `op` may be gone. A rule
 * builds nothing before it is sure to change something, so that "true" and "the text differs" stay
 * the same. */
#ifndef TILEC_PASSES_SIMPLIFY_SIMPLIFY_H
#define TILEC_PASSES_SIMPLIFY_SIMPLIFY_H
#include "passes/rewrite.h"

typedef bool SimplifyOp(Op *op);

#define SIMPLIFY_OPS(X)                                                                            \
    /* simplify_sums.c */                                                                          \
    X(addf) X(addi) X(divf) X(truncf)                                                                     \
    /* simplify_shape.c */                                                                         \
    X(range) X(splat) X(expand_dims) X(broadcast) X(reshape) X(transpose) X(split) X(join)         \
    X(convert_layout) X(reduce)                                                                    \
    /* simplify_memory.c: addresses, masks, hints */                                               \
    X(addptr) X(load) X(store) X(atomic_rmw) X(assume) X(assert)                                   \
    X(hint_divisible) X(hint_contiguous) X(hint_constant)                                          \
    /* simplify_control.c */                                                                       \
    X(for) X(while) X(if) X(map)

#define X(name) SimplifyOp simplify_##name;
SIMPLIFY_OPS(X)
#undef X

/* Ops without effect whose results nobody needs go, and carried values, results and arguments of
 * for, while and if with them. Marks from effects, so that a chain that only feeds itself around a
 * loop goes too. */
bool eliminate_dead(Func *func);
/* Equal pure ops become one where one dominates the other; loads too while nothing may have
 * written. */
bool eliminate_common(Func *func);
/* Values that facts prove: comparisons, remainders and minima decided by ranges and alignment. */
bool fold_by_facts(Func *func);
/* Loops with products count up. */
bool count_up(Func *func);
#endif
