/* Transfer functions of integer and pointer arithmetic, and the table of all of them.
 *
 * A sum of runs: along a dimension where a is contiguous by c and b constant by k, a + b is
 * contiguous by min(c, k). Its runs may be shorter than a's; then they begin inside a's runs, which
 * facts_divisible_at takes into account. All runs are aligned powers of two, so "shorter" is
 * "divides".
 *
 * Ranges are computed in 128 bits; a result that may leave its type wraps, and nothing is known of
 * it. */
#include "ir/recipe.h"
#include "passes/analysis/facts_internal.h"
#include "passes/analysis/fold.h"
#include "passes/rewrite.h"
#include "target/grid_limits.h"

typedef __int128 Wide;

/* One operand and its type, to keep the functions below short. */
typedef struct In {
    const ValueFacts *facts;
    const Type *type;
} In;

static In operand(const Facts *facts, const Op *op, uint32_t index) {
    return (In){facts_in(facts, op, index), op_in(op, index)->type};
}

static int64_t divisible_at(In in, int dim, int64_t run) {
    return facts_divisible_at(in.facts, in.type, dim, run);
}

static int64_t divisible_each(In in) {
    return facts_divisible_each(in.facts, in.type);
}

static int64_t saturating_product(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) || product > FACTS_MAX_DIVISIBLE
               ? FACTS_MAX_DIVISIBLE
               : product;
}

static void set_range(ValueFacts *out, const Type *type, Wide lo, Wide hi) {
    if (!type_is_int(type) || lo > hi || lo < int_lowest(type->dtype) ||
        hi > int_highest(type->dtype))
        return;
    out->lo = (int64_t)lo;
    out->hi = (int64_t)hi;
    facts_sign_of_range(out);
}

static FactsSign sign_of(In in) {
    return in.facts->sign;
}

/* The sign of a sum or product, `sign` unless it wraps: only what addresses are computed from is
 * taken not to. */
static FactsSign sign_unless_wrapped(const Facts *facts, const Op *op, FactsSign sign) {
    return facts->indices[op->out[0].id] ? sign : SIGN_UNKNOWN;
}

static FactsSign weaker_sign(In a, In b) {
    return sign_of(a) < sign_of(b) ? sign_of(a) : sign_of(b);
}

static FactsSign stronger_sign(In a, In b) {
    return sign_of(a) < sign_of(b) ? sign_of(b) : sign_of(a);
}

/* Elementwise with two operands, and nothing but constancy and a common divisor known. */
static void pair_defaults(In a, In b, ValueFacts *out) {
    int64_t divisor = min_i64(divisible_each(a), divisible_each(b));
    for (int i = 0; i < facts_dims(a.type); i++) {
        out->contiguous[i] = 1;
        out->constant[i] = min_i64(a.facts->constant[i], b.facts->constant[i]);
        out->divisible[i] = divisor;
    }
}

/* Any elementwise op: equal operands give equal results. */
void facts_elementwise(const Facts *facts, const Op *op, ValueFacts *out) {
    for (int dim = 0; dim < facts_dims(op->out[0].type); dim++) {
        int64_t run = op->out[0].type->rank ? op->out[0].type->shape[dim] : 1;
        for (uint32_t i = 0; i < op->nin; i++)
            if (op_in(op, i)->type->rank)
                run = min_i64(run, facts_in(facts, op, i)->constant[dim]);
        out->constant[dim] = run;
    }
}

static void facts_constant_int(const Facts *facts, const Op *op, ValueFacts *out) {
    const Type *type = op->out[0].type;
    int64_t value = int_wrap(type->dtype, constant_int_attrs(op)->value);
    for (int i = 0; i < facts_dims(type); i++) {
        out->constant[i] = type->rank ? type->shape[i] : 1;
        out->divisible[i] = low_bit(value);
    }
    set_range(out, type, value, value);
}

static void facts_constant_float(const Facts *facts, const Op *op, ValueFacts *out) {
    for (int i = 0; i < op->out[0].type->rank; i++)
        out->constant[i] = op->out[0].type->shape[i];
}

static int64_t grid_limit(const Op *op) {
    return target_max_grid((uint32_t)op_axis(op));
}

static void facts_program_id(const Facts *facts, const Op *op, ValueFacts *out) {
    set_range(out, op->out[0].type, 0, grid_limit(op) - 1);
}

static void facts_num_programs(const Facts *facts, const Op *op, ValueFacts *out) {
    set_range(out, op->out[0].type, 1, grid_limit(op));
}

/* The launcher has no more programs than INT32_MAX, and no more CTAs than programs. */
static void facts_cta_id(const Facts *facts, const Op *op, ValueFacts *out) {
    set_range(out, op->out[0].type, 0, INT32_MAX - 1);
}

static void facts_cta_count(const Facts *facts, const Op *op, ValueFacts *out) {
    set_range(out, op->out[0].type, 1, INT32_MAX);
}

static void facts_team_id(const Facts *facts, const Op *op, ValueFacts *out) {
    set_range(out, op->out[0].type, 0, op->block->func->teams - 1);
}

static void facts_team_count(const Facts *facts, const Op *op, ValueFacts *out) {
    set_range(out, op->out[0].type, 1, op->block->func->teams);
}

static void facts_range(const Facts *facts, const Op *op, ValueFacts *out) {
    const Type *type = op->out[0].type;
    int64_t start = range_attrs(op)->start;
    out->contiguous[0] = type->shape[0];
    out->divisible[0] = low_bit(start);
    set_range(out, type, start, (Wide)start + type->shape[0] - 1);
}

/* Sums */

/* a + b, where b counts `scale` units of a for each of its own (addptr: the bytes of an element).
 */
static void sum_runs(In a, In b, int64_t scale, ValueFacts *out) {
    for (int i = 0; i < facts_dims(a.type); i++) {
        int64_t run = max_i64(min_i64(a.facts->contiguous[i], b.facts->constant[i]),
                              min_i64(a.facts->constant[i], b.facts->contiguous[i]));
        out->contiguous[i] = run;
        out->constant[i] = min_i64(a.facts->constant[i], b.facts->constant[i]);
        out->divisible[i] =
            min_i64(divisible_at(a, i, run), saturating_product(divisible_at(b, i, run), scale));
    }
}

static void facts_addi(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0), b = operand(facts, op, 1);
    sum_runs(a, b, 1, out);
    out->sign = sign_unless_wrapped(facts, op, weaker_sign(a, b));
    set_range(out, a.type, (Wide)a.facts->lo + b.facts->lo, (Wide)a.facts->hi + b.facts->hi);
}

static void facts_subi(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0), b = operand(facts, op, 1);
    for (int i = 0; i < facts_dims(a.type); i++) {
        /* b's runs count downwards in the difference: only constant runs of it help. */
        int64_t run = min_i64(a.facts->contiguous[i], b.facts->constant[i]);
        out->contiguous[i] = run;
        out->constant[i] = min_i64(a.facts->constant[i], b.facts->constant[i]);
        out->divisible[i] = min_i64(divisible_at(a, i, run), divisible_at(b, i, run));
    }
    set_range(out, a.type, (Wide)a.facts->lo - b.facts->hi, (Wide)a.facts->hi - b.facts->lo);
}

static void facts_addptr(const Facts *facts, const Op *op, ValueFacts *out) {
    In pointer = operand(facts, op, 0), index = operand(facts, op, 1);
    sum_runs(pointer, index, dtype_bytes(pointer.type->dtype), out);
}

/* Products */

static void facts_muli(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0), b = operand(facts, op, 1);
    pair_defaults(a, b, out);
    int64_t divisor = saturating_product(divisible_each(a), divisible_each(b));
    for (int i = 0; i < facts_dims(a.type); i++)
        out->divisible[i] = divisor;
    out->sign = sign_unless_wrapped(facts, op, weaker_sign(a, b));
    Wide lo = (Wide)a.facts->lo * b.facts->lo, hi = lo;
    Wide corners[] = {(Wide)a.facts->lo * b.facts->hi, (Wide)a.facts->hi * b.facts->lo,
                      (Wide)a.facts->hi * b.facts->hi};
    for (int i = 0; i < 3; i++) {
        lo = corners[i] < lo ? corners[i] : lo;
        hi = corners[i] > hi ? corners[i] : hi;
    }
    set_range(out, a.type, lo, hi);
}

/* The amount of a shift by one constant; -1: none, or an undefined shift. */
static int64_t shift_amount(In b) {
    bool constant = b.facts->lo == b.facts->hi && b.facts->lo >= 0 &&
                    b.facts->lo < dtype_info[b.type->dtype].bits;
    return constant ? b.facts->lo : -1;
}

static void facts_shli(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0), b = operand(facts, op, 1);
    int64_t amount = shift_amount(b);
    pair_defaults(a, b, out);
    for (int i = 0; i < facts_dims(a.type); i++)
        out->divisible[i] =
            saturating_product(divisible_each(a), amount > 0 && amount < 62 ? 1LL << amount : 1);
    out->sign = sign_unless_wrapped(facts, op, sign_of(a));
    if (amount >= 0)
        set_range(out, a.type, (Wide)a.facts->lo * ((Wide)1 << amount),
                  (Wide)a.facts->hi * ((Wide)1 << amount));
}

/* Quotients */

/* Aligned blocks of the result's argument lie between two multiples of `divisor` along a dimension:
 * the quotient is constant over them and the remainder counts up. */
static int64_t blocks_within(In a, int dim, int64_t divisor, int64_t divisor_run) {
    int64_t block = min_i64(a.facts->contiguous[dim], min_i64(divisor_run, divisor));
    return min_i64(block, a.facts->divisible[dim]);
}

/* Constancy and divisibility of a quotient by b, whose multiples are those of `divisor` at least.
 */
static void quotient_runs(In a, In b, int64_t divisor, bool floors, ValueFacts *out) {
    pair_defaults(a, b, out);
    bool exact = b.facts->lo == b.facts->hi && b.facts->lo > 0 && b.facts->lo == divisor;
    int64_t quotient = exact ? max_i64(divisible_each(a) / divisor, 1) : 1;
    for (int i = 0; i < facts_dims(a.type); i++) {
        out->divisible[i] = quotient;
        if (floors)
            out->constant[i] =
                max_i64(out->constant[i], blocks_within(a, i, divisor, b.facts->constant[i]));
    }
}

static FactsSign sign_of_quotient(In a, In b, const Value *divisor) {
    const Op *splat = value_def(divisor, OP_splat);
    bool is_size = launch_invariant(splat ? op_in(splat, 0) : divisor);
    return sign_of(a) == SIGN_UNKNOWN || is_size || b.facts->lo > 0 ? sign_of(a) : SIGN_BY_QUOTIENT;
}

static void facts_divsi(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0), b = operand(facts, op, 1);
    quotient_runs(a, b, divisible_each(b), sign_of(a) != SIGN_UNKNOWN, out);
    out->sign = sign_of_quotient(a, b, op_in(op, 1));
    if (b.facts->lo <= 0)
        return;
    Wide lo = a.facts->lo >= 0 ? a.facts->lo / b.facts->hi : a.facts->lo / b.facts->lo;
    Wide hi = a.facts->hi >= 0 ? a.facts->hi / b.facts->lo : a.facts->hi / b.facts->hi;
    set_range(out, a.type, lo, hi);
}

static void facts_divui(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0), b = operand(facts, op, 1);
    quotient_runs(a, b, divisible_each(b), true, out);
    if (a.facts->lo >= 0 && b.facts->lo > 0)
        set_range(out, a.type, a.facts->lo / b.facts->hi, a.facts->hi / b.facts->lo);
}

static void remainder_runs(In a, In b, bool floors, ValueFacts *out) {
    pair_defaults(a, b, out);
    int64_t divisor = divisible_each(b);
    for (int i = 0; i < facts_dims(a.type) && floors; i++) {
        int64_t run = blocks_within(a, i, divisor, b.facts->constant[i]);
        if (run <= 1)
            continue;
        out->contiguous[i] = run;
        out->divisible[i] = min_i64(divisible_at(a, i, run), divisor);
    }
}

static void facts_remsi(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0), b = operand(facts, op, 1);
    remainder_runs(a, b, sign_of(a) != SIGN_UNKNOWN, out);
    out->sign = sign_of(a);
    if (b.facts->lo <= 0)
        return;
    Wide largest = b.facts->hi - 1;
    Wide lo = a.facts->lo >= 0 ? 0 : a.facts->lo > -largest ? a.facts->lo : -largest;
    Wide hi = a.facts->hi <= 0 ? 0 : a.facts->hi < largest ? a.facts->hi : largest;
    set_range(out, a.type, lo, hi);
}

static void facts_remui(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0), b = operand(facts, op, 1);
    remainder_runs(a, b, true, out);
    if (b.facts->lo <= 0)
        return;
    Wide largest = b.facts->hi - 1;
    set_range(out, a.type, 0, a.facts->lo >= 0 && a.facts->hi < largest ? a.facts->hi : largest);
}

static void shift_right(const Facts *facts, const Op *op, bool is_signed, ValueFacts *out) {
    In a = operand(facts, op, 0), b = operand(facts, op, 1);
    int64_t amount = shift_amount(b);
    pair_defaults(a, b, out);
    out->sign = sign_of(a);
    for (int i = 0; i < facts_dims(a.type); i++) {
        out->divisible[i] = 1;
        if (amount < 0 || amount >= 62)
            continue;
        out->divisible[i] = max_i64(divisible_each(a) >> amount, 1);
        out->constant[i] =
            max_i64(out->constant[i], blocks_within(a, i, 1LL << amount, b.facts->constant[i]));
    }
    if (amount >= 0 && (is_signed || a.facts->lo >= 0) && a.type->dtype != DT_I1)
        set_range(out, a.type, a.facts->lo >> amount, a.facts->hi >> amount);
}

static void facts_shrsi(const Facts *facts, const Op *op, ValueFacts *out) {
    shift_right(facts, op, true, out);
}

static void facts_shrui(const Facts *facts, const Op *op, ValueFacts *out) {
    shift_right(facts, op, false, out);
}

/* Bits */

static void facts_andi(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0), b = operand(facts, op, 1);
    pair_defaults(a, b, out);
    int64_t divisor = max_i64(divisible_each(a), divisible_each(b));
    for (int i = 0; i < facts_dims(a.type); i++)
        out->divisible[i] = divisor;
    out->sign = stronger_sign(a, b);
    if (a.facts->lo >= 0 || b.facts->lo >= 0) {
        int64_t hi_a = a.facts->lo >= 0 ? a.facts->hi : INT64_MAX;
        int64_t hi_b = b.facts->lo >= 0 ? b.facts->hi : INT64_MAX;
        set_range(out, a.type, 0, min_i64(hi_a, hi_b));
    }
    /* With a mask of low bits: the remainder by a power of two, of any sign. */
    int64_t mask = b.facts->lo;
    if (mask != b.facts->hi || mask <= 0 || mask >= FACTS_MAX_DIVISIBLE || (mask & (mask + 1)))
        return;
    for (int i = 0; i < facts_dims(a.type); i++) {
        int64_t run = blocks_within(a, i, mask + 1, b.facts->constant[i]);
        if (run <= 1)
            continue;
        out->contiguous[i] = run;
        out->divisible[i] = divisible_at(a, i, run);
    }
}

/* Bits below the alignment of the other operand are added. */
static void disjoint_bits(In a, In b, ValueFacts *out) {
    if (b.facts->lo >= 0 && b.facts->hi < divisible_each(a))
        sum_runs(a, b, 1, out);
    else if (a.facts->lo >= 0 && a.facts->hi < divisible_each(b))
        sum_runs(b, a, 1, out);
}

static void facts_ori(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0), b = operand(facts, op, 1);
    pair_defaults(a, b, out);
    disjoint_bits(a, b, out);
    out->sign = weaker_sign(a, b);
    if (a.facts->lo >= 0 && b.facts->lo >= 0) {
        int64_t bits = a.facts->hi | b.facts->hi; /* no result has a higher bit than these */
        for (int shift = 1; shift < 64; shift *= 2)
            bits |= bits >> shift;
        set_range(out, a.type, max_i64(a.facts->lo, b.facts->lo), bits);
    }
}

static void facts_xori(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0), b = operand(facts, op, 1);
    pair_defaults(a, b, out);
    disjoint_bits(a, b, out);
    out->sign = weaker_sign(a, b);
    if (a.facts->lo >= 0 && b.facts->lo >= 0) {
        int64_t bits = a.facts->hi | b.facts->hi;
        for (int shift = 1; shift < 64; shift *= 2)
            bits |= bits >> shift;
        set_range(out, a.type, 0, bits);
    }
}

/* Choice */

static void facts_minsi(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0), b = operand(facts, op, 1);
    pair_defaults(a, b, out);
    out->sign = weaker_sign(a, b);
    if (a.type->dtype != DT_I1)
        set_range(out, a.type, min_i64(a.facts->lo, b.facts->lo),
                  min_i64(a.facts->hi, b.facts->hi));
}

static void facts_maxsi(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0), b = operand(facts, op, 1);
    pair_defaults(a, b, out);
    out->sign = stronger_sign(a, b);
    if (a.type->dtype != DT_I1)
        set_range(out, a.type, max_i64(a.facts->lo, b.facts->lo),
                  max_i64(a.facts->hi, b.facts->hi));
}

static void facts_minui(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0), b = operand(facts, op, 1);
    pair_defaults(a, b, out);
    if (a.facts->lo >= 0 && b.facts->lo >= 0)
        set_range(out, a.type, min_i64(a.facts->lo, b.facts->lo),
                  min_i64(a.facts->hi, b.facts->hi));
}

static void facts_maxui(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0), b = operand(facts, op, 1);
    pair_defaults(a, b, out);
    if (a.facts->lo >= 0 && b.facts->lo >= 0)
        set_range(out, a.type, max_i64(a.facts->lo, b.facts->lo),
                  max_i64(a.facts->hi, b.facts->hi));
}

static void facts_absi(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0);
    pair_defaults(a, a, out);
    if (a.type->dtype == DT_I1)
        return;
    Wide lo = a.facts->lo, hi = a.facts->hi;
    Wide largest = -lo > hi ? -lo : hi;
    set_range(out, a.type, lo > 0 ? lo : hi < 0 ? -hi : 0, largest);
}

static void facts_select(const Facts *facts, const Op *op, ValueFacts *out) {
    In cond = operand(facts, op, 0), a = operand(facts, op, 1), b = operand(facts, op, 2);
    *out = facts_both(a.type, a.facts, b.facts);
    if (cond.type->rank == 0)
        return;
    for (int i = 0; i < facts_dims(a.type); i++) {
        int64_t run = min_i64(out->contiguous[i], cond.facts->constant[i]);
        out->divisible[i] = min_i64(divisible_at(a, i, run), divisible_at(b, i, run));
        out->contiguous[i] = run;
        out->constant[i] = min_i64(out->constant[i], cond.facts->constant[i]);
    }
}

/* Comparison: an aligned block of consecutive values that begins at a multiple of its length has no
 * multiple of its length inside it, so all of it is below a bound that is such a multiple, or none
 * is. */
static int64_t compared_run(In counting, In bound, int dim) {
    int64_t run = blocks_within(counting, dim, divisible_each(bound), bound.facts->constant[dim]);
    return max_i64(run, 1);
}

static bool compare_is_decided(IntPredicate pred, In a, In b, bool *result) {
    const ValueFacts *x = a.facts, *y = b.facts;
    if (!type_is_int(a.type) || a.type->dtype == DT_I1)
        return false;
    bool is_unsigned = pred >= IPRED_ULT;
    if (is_unsigned && (x->lo < 0 || y->lo < 0))
        return false;
    bool always_less = x->hi < y->lo, never_less = x->lo >= y->hi;
    bool always_greater = x->lo > y->hi, never_greater = x->hi <= y->lo;
    switch (pred) {
    case IPRED_EQ:
    case IPRED_NE:
        *result = pred == IPRED_NE;
        return always_less || always_greater;
    case IPRED_SLT:
    case IPRED_ULT:
        *result = always_less;
        return always_less || never_less;
    case IPRED_SGE:
    case IPRED_UGE:
        *result = never_less;
        return always_less || never_less;
    case IPRED_SGT:
    case IPRED_UGT:
        *result = always_greater;
        return always_greater || never_greater;
    case IPRED_SLE:
    case IPRED_ULE:
        *result = never_greater;
        return always_greater || never_greater;
    case IPRED_COUNT:
        break;
    }
    return false;
}

static void facts_cmpi(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0), b = operand(facts, op, 1);
    IntPredicate pred = cmpi_attrs(op)->pred;
    bool splits_below =
        pred == IPRED_SLT || pred == IPRED_SGE || pred == IPRED_ULT || pred == IPRED_UGE;
    bool splits_above =
        pred == IPRED_SGT || pred == IPRED_SLE || pred == IPRED_UGT || pred == IPRED_ULE;
    for (int i = 0; i < facts_dims(a.type); i++) {
        int64_t run = min_i64(a.facts->constant[i], b.facts->constant[i]);
        if (splits_below && type_is_int(a.type)) /* a < bound: a counts */
            run = max_i64(run, compared_run(a, b, i));
        if (splits_above && type_is_int(a.type)) /* bound > b: b counts */
            run = max_i64(run, compared_run(b, a, i));
        out->constant[i] = run;
    }
    bool result;
    if (compare_is_decided(pred, a, b, &result))
        set_range(out, op->out[0].type, result, result);
}

/* Conversions */

static void keep_runs(In a, ValueFacts *out) {
    for (int i = 0; i < facts_dims(a.type); i++) {
        out->contiguous[i] = a.facts->contiguous[i];
        out->constant[i] = a.facts->constant[i];
        out->divisible[i] = a.facts->divisible[i];
    }
}

static void facts_extsi(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0);
    if (a.type->dtype == DT_I1) {
        facts_elementwise(facts, op, out);
        set_range(out, op->out[0].type, -a.facts->hi, -a.facts->lo);
        return;
    }
    keep_runs(a, out);
    out->sign = a.facts->sign;
    set_range(out, op->out[0].type, a.facts->lo, a.facts->hi);
}

static void facts_extui(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0);
    keep_runs(a, out);
    out->sign = SIGN_NONNEGATIVE;
    if (a.facts->lo >= 0)
        set_range(out, op->out[0].type, a.facts->lo, a.facts->hi);
    else
        set_range(out, op->out[0].type, 0, (Wide)int_highest(a.type->dtype) * 2 + 1);
}

static void facts_trunci(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0);
    if (op->out[0].type->dtype == DT_I1) {
        facts_elementwise(facts, op, out);
        return;
    }
    DType dtype = op->out[0].type->dtype;
    keep_runs(a, out);
    if (a.facts->lo < int_lowest(dtype) || a.facts->hi > int_highest(dtype))
        return; /* what is cut off may leave a negative number */
    out->sign = a.facts->sign;
    set_range(out, op->out[0].type, a.facts->lo, a.facts->hi);
}

/* Of pointers: the address stays, what counts as consecutive changes with the element's size. */
static void facts_bitcast(const Facts *facts, const Op *op, ValueFacts *out) {
    In a = operand(facts, op, 0);
    const Type *type = op->out[0].type;
    bool keeps = type_is_int(a.type) && type_is_int(type);
    if (type_is_pointer(type))
        keeps = dtype_bytes(a.type->dtype) == dtype_bytes(type->dtype);
    if (keeps) {
        *out = *a.facts;
        return;
    }
    facts_elementwise(facts, op, out);
    if (type_is_pointer(type))
        for (int i = 0; i < facts_dims(type); i++)
            out->divisible[i] = divisible_each(a);
}

static void facts_ptrtoint(const Facts *facts, const Op *op, ValueFacts *out) {
    facts_elementwise(facts, op, out);
    for (int i = 0; i < facts_dims(op->out[0].type); i++)
        out->divisible[i] = divisible_each(operand(facts, op, 0));
}

Transfer *const facts_transfer[OP_COUNT] = {
#define X(name) [OP_##name] = facts_##name,
    FACTS_SHAPE_OPS(X) X(split) X(constant_int) X(constant_float) X(program_id) X(num_programs)
        X(cta_id) X(cta_count) X(team_id) X(team_count) X(range) X(addi) X(subi) X(addptr) X(muli)
            X(shli) X(divsi) X(divui) X(remsi) X(remui) X(shrsi) X(shrui) X(andi) X(ori) X(xori)
                X(minsi) X(maxsi) X(minui) X(maxui) X(absi) X(select) X(cmpi) X(extsi) X(extui)
                    X(trunci) X(bitcast) X(ptrtoint)
#undef X
                        [OP_inttoptr] = facts_ptrtoint,
};
