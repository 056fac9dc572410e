/* The rules of the simplify pass, one function an op. Private to src/passes.
 *
 * A rule looks at one op and its operands. True: it changed the IR, and `op` may be gone. A rule
 * builds nothing before it is sure to change something, so that "true" and "the text differs" stay
 * the same. */
#ifndef TILEC_PASSES_SIMPLIFY_SIMPLIFY_H
#define TILEC_PASSES_SIMPLIFY_SIMPLIFY_H
#include "passes/rewrite.h"

typedef bool Rule(Op *op);

#define SIMPLIFY_RULES(X)                                                                          \
    /* simplify_int.c */                                                                           \
    X(addi) X(subi) X(muli) X(mulhui) X(divsi) X(divui) X(remsi) X(remui) X(andi) X(ori)           \
    X(xori) X(shli) X(shrsi) X(shrui) X(minsi) X(maxsi) X(minui) X(maxui) X(absi) X(cmpi)          \
    /* simplify_value.c: floats, choice, conversions */                                            \
    X(subf) X(mulf) X(divf) X(divf_rn) X(fma) X(minf) X(maxf) X(minf_nan) X(maxf_nan) X(negf)      \
    X(absf) X(floor) X(ceil) X(addf)                                                               \
    X(select) X(trunci) X(extsi) X(extui) X(truncf) X(extf) X(sitof) X(uitof) X(bitcast)           \
    X(ptrtoint) X(inttoptr)                                                                        \
    /* simplify_shape.c */                                                                         \
    X(range) X(splat) X(expand_dims) X(broadcast) X(reshape) X(transpose) X(split) X(join)         \
    X(convert_layout) X(reduce)                                                                    \
    /* simplify_memory.c: addresses, masks, hints */                                               \
    X(addptr) X(load) X(store) X(atomic_rmw) X(assume) X(assert)                                   \
    X(hint_divisible) X(hint_contiguous) X(hint_constant)                                          \
    /* simplify_control.c */                                                                       \
    X(for) X(while) X(if)

#define X(name) Rule simplify_##name;
SIMPLIFY_RULES(X)
#undef X
/* Of addf and addi: dot(a, b, 0) + c becomes dot(a, b, c) where c is a sum so far and nothing else
 * uses the product. */
Rule simplify_sum_of_dot;
/* simplify_gelu.c. Of mulf: 0.5 * x * (1 + erf(x / sqrt 2)) is one op. Of truncf: a gelu that is
 * only rounded to 16 bits need not be more exact. */
Rule simplify_gelu, simplify_rounded_gelu;

/* Ops without effect whose results nobody needs go, and carried values, results and arguments of
 * for, while and if with them. Marks from effects, so that a chain that only feeds itself around a
 * loop goes too. */
bool eliminate_dead(Func *func);
/* Equal pure ops become one where one dominates the other; loads too while nothing may have
 * written. */
bool eliminate_common(Func *func);
/* Values that facts prove: comparisons, remainders and minima decided by ranges and alignment. */
bool fold_by_facts(Func *func);
#endif
