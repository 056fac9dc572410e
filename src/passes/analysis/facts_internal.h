/* Between the data flow (facts.c) and the transfer functions (facts_int.c, facts_shape.c). */
#ifndef TILEC_PASSES_ANALYSIS_FACTS_INTERNAL_H
#define TILEC_PASSES_ANALYSIS_FACTS_INTERNAL_H
#include "passes/analysis/facts.h"
#include "support/bits.h"
#include "support/ptrmap.h"

/* What the source says of a value (tl.assume). */
typedef struct AssumedRange {
    int64_t lo, hi;
} AssumedRange;

struct Facts {
    ValueFacts *values;    /* by Value.id */
    bool *visited;         /* false: no facts yet, to be taken as the best possible */
    AssumedRange *assumed; /* by Value.id; NULL: nothing is assumed */
    PtrMap conditions;     /* what is assumed to the block of the assumption seen last */
    const bool *indices;   /* by Value.id: an address is computed from it */
};

/* The facts of the op's result from those of its operands; `out` starts as facts_unknown. */
typedef void Transfer(const Facts *facts, const Op *op, ValueFacts *out);

/* Transfer functions; NULL: facts_elementwise for elementwise ops, else nothing is known of the
 * results. */
extern Transfer *const facts_transfer[OP_COUNT];
/* Equal operands give equal results. */
Transfer facts_elementwise;

static inline const ValueFacts *facts_in(const Facts *facts, const Op *op, uint32_t index) {
    return &facts->values[op_in(op, index)->id];
}
/* Of each value, by its id, whether an address is computed from it, so that it is an index, whose
 * sums and products are taken not to wrap. `count`: of the function's values. */
bool *facts_find_indices(Func *func, Arena *arena, uint32_t count);

/* Dimensions that have facts. */
static inline int facts_dims(const Type *type) {
    return type->rank ? type->rank : 1;
}
/* The largest power of two that divides the value. */
static inline int64_t low_bit(int64_t value) {
    int64_t bit = (int64_t)((uint64_t)value & (0 - (uint64_t)value));
    return value == 0 || bit < 0 ? FACTS_MAX_DIVISIBLE : bit;
}

/* The sign that the range shows. What is not negative by a quotient stays so: the range may be one
 * that tl.assume gave it, and programs that store nothing break that. */
static inline void facts_sign_of_range(ValueFacts *facts) {
    if (facts->lo >= 0 && facts->sign == SIGN_UNKNOWN)
        facts->sign = SIGN_NONNEGATIVE;
}

/* Nothing known besides the type. */
ValueFacts facts_unknown(const Type *type);
/* Facts that hold for both: where control flow joins, and of a choice by element. */
ValueFacts facts_both(const Type *type, const ValueFacts *a, const ValueFacts *b);
/* Divisibility of the first elements of aligned runs of `run` elements along a dimension; `step` is
 * the distance of neighbours in a contiguous run: 1, for pointers bytes of an element. */
int64_t facts_divisible_at(const ValueFacts *facts, const Type *type, int dim, int64_t run);
/* Of every element. */
int64_t facts_divisible_each(const ValueFacts *facts, const Type *type);

// clang-format off
#define FACTS_SHAPE_OPS(X)                                                                         \
    X(splat) X(expand_dims) X(broadcast) X(reshape) X(transpose) X(join) X(convert_layout)         \
    X(hint_divisible) X(hint_contiguous) X(hint_constant) X(reduce)
// clang-format on
#define X(name) Transfer facts_##name;
FACTS_SHAPE_OPS(X)
#undef X
/* split has two results with the same facts. */
Transfer facts_split;
#endif
