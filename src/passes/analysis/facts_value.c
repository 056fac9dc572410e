/* Facts of one value: what its type alone tells, what runs of elements share, what holds for both
 * of two. See facts_internal.h. */
#include "passes/analysis/facts_internal.h"
#include "passes/rewrite.h"

ValueFacts facts_unknown(const Type *type) {
    ValueFacts facts = {0};
    for (int i = 0; i < facts_dims(type); i++)
        facts.contiguous[i] = facts.divisible[i] = facts.constant[i] = 1;
    if (type_is_int(type)) {
        facts.has_range = true;
        facts.lo = int_lowest(type->dtype);
        facts.hi = int_highest(type->dtype);
        facts_sign_of_range(&facts);
    }
    return facts;
}

static int64_t element_step(const Type *type) {
    return type_is_pointer(type) ? dtype_bytes(type->dtype) : 1;
}

int64_t facts_divisible_at(const ValueFacts *facts, const Type *type, int dim, int64_t run) {
    if (run >= facts->contiguous[dim])
        return facts->divisible[dim];
    return min_i64(facts->divisible[dim], run * element_step(type));
}

int64_t facts_divisible_each(const ValueFacts *facts, const Type *type) {
    int64_t best = 1;
    for (int i = 0; i < facts_dims(type); i++)
        best = max_i64(best, facts_divisible_at(facts, type, i, 1));
    return best;
}

ValueFacts facts_both(const Type *type, const ValueFacts *a, const ValueFacts *b) {
    ValueFacts out = facts_unknown(type);
    for (int i = 0; i < facts_dims(type); i++) {
        int64_t run = min_i64(a->contiguous[i], b->contiguous[i]);
        out.contiguous[i] = run;
        out.constant[i] = min_i64(a->constant[i], b->constant[i]);
        out.divisible[i] =
            min_i64(facts_divisible_at(a, type, i, run), facts_divisible_at(b, type, i, run));
    }
    if (out.has_range) {
        out.lo = min_i64(a->lo, b->lo);
        out.hi = max_i64(a->hi, b->hi);
        out.sign = a->sign < b->sign ? a->sign : b->sign;
    }
    return out;
}
