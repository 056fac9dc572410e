/* choose-dots: what computes each dot.
 *
 * Tensor cores take pairs of f16, bf16, f32 rounded to tf32, f64, i8, and from capability 89 on f8
 * (target/mma.def). Other dots are first brought into that form: f8 operands become f16 where the
 * device has no f8 products, and f32 products of higher precision become three of lower,
 *
 *     %r = dot %a, %b, %acc {precision = tf32x3}
 * ->
 *     %ah = bitcast (andi (addi (bitcast %a), 4096), -8192)     rounded to tf32, where finite
 *     %al = subf %a, %ah                                        and the rest; likewise for %b
 *     %s = dot %al, %bh, 0 {unit = mma}
 *     %t = dot %ah, %bl, %s {unit = mma}
 *     %u = dot %ah, %bh, (%t where it is no NaN, else 0) {unit = mma}
 *     %r = addf %acc, %u
 *
 * where a NaN stems from an infinity whose rest is taken times zero. bf16x3 and bf16x6 are the same
 * with parts in bf16. f8 products are summed by tensor cores with less precision than f32: where
 * fewer than K may be (max_imprecise) they become f16 too, and where K may be they are summed apart
 * from acc. Sums of f16 in one column are summed in f32.
 *
 * Warpgroups (wgmma) read operand b from shared memory, a from registers too. Where b is computed,
 * or lies otherwise than they read it, and a is fit for its place, they compute the transposed
 * product:
 *
 *     %r = dot %a, %b, %acc   ->   %r = transpose (dot (transpose %b), (transpose %a),
 *                                                  (transpose %acc) {unit = wgmma})
 *
 * What else is computed for b is stored to shared memory for them (feed-wgmma), if its elements
 * have 16 bits, of which they read lines along either dimension: mma.sync would have it stored as
 * well, as other warps need it, and read by each warp to registers.
 *
 * Everything else is left to multiply-adds, and a remark says why.
 *
 * Needs func->capability; no layouts. Leaves attribute `unit` of every dot as it will be computed.
 */
#include "passes/dots/choose_dots.h"
#include "passes/analysis/facts.h"
#include "passes/blocks/tensor_maps.h"
#include "passes/layout/layout_rules.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "target/mma.h"
#include "target/target.h"
#include "target/wgmma.h"
#include <math.h>

enum {
    TF32_KEPT_BITS = -8192, /* sign, exponent and 10 bits of the fraction */
    TF32_HALF_UNIT = 4096,
    IMPRECISE_ALL = 1 << 30, /* of max_imprecise: the accumulator too */
    LEAST_COPY_BYTES = 4     /* of an asynchronous copy */
};

static bool is_f8(const Value *value) {
    return value->type->dtype == DT_F8E4M3 || value->type->dtype == DT_F8E5M2;
}

static Value *cast(Builder *b, Value *x, DType dtype, bool widen) {
    const Type *type = type_with_dtype(b->ctx, x->type, dtype);
    return widen ? build_extf(b, x, type) : build_truncf(b, x, ROUND_RTNE, type);
}

/* f32 operands as sums of narrower parts, each of what the parts before left over, and the products
 * of parts that are added besides that of the first two, smallest first (interp/interp_dot.c). */
enum { MAX_PARTS = 3, MAX_SMALL = 5 };

typedef struct Split {
    int parts, nsmall;
    DType dtype;
    struct {
        uint8_t a, b;
    } small[MAX_SMALL];
} Split;

static const Split splits[PRECISION_COUNT] = {
    [PRECISION_TF32X3] = {2, 2, DT_F32, {{1, 0}, {0, 1}}},
    [PRECISION_BF16X3] = {2, 2, DT_BF16, {{1, 0}, {0, 1}}},
    [PRECISION_BF16X6] = {3, 5, DT_BF16, {{1, 1}, {2, 0}, {0, 2}, {1, 0}, {0, 1}}},
};

/* As cvt.rna.tf32.f32: to nearest, ties away from zero. */
static Value *round_tf32(Builder *b, Value *x) {
    const Type *bits = type_with_dtype(b->ctx, x->type, DT_I32);
    Value *half_unit = rewrite_int(b, bits, TF32_HALF_UNIT);
    Value *up = build_addi(b, build_bitcast(b, x, bits), half_unit);
    Value *kept = build_andi(b, up, rewrite_int(b, bits, TF32_KEPT_BITS));
    Value *infinite = rewrite_float(b, x->type, INFINITY);
    Value *finite = build_cmpf(b, build_absf(b, x), infinite, FPRED_OLT);
    return build_select(b, finite, build_bitcast(b, kept, x->type), x);
}

static void split_operand(Builder *b, const Split *split, Value *x, Value *parts[MAX_PARTS]) {
    for (int i = 0; i < split->parts; i++) {
        bool bf16 = split->dtype == DT_BF16, last = i + 1 == split->parts;
        /* The instruction itself drops the bits that tf32 does not keep. */
        parts[i] = bf16 ? cast(b, x, DT_BF16, false) : last ? x : round_tf32(b, x);
        if (!last)
            x = build_subf(b, x, bf16 ? cast(b, parts[i], DT_F32, true) : parts[i]);
    }
}

static Value *product(Builder *b, Value *x, Value *y, Value *sum) {
    return build_dot(b, x, y, sum, PRECISION_TF32, 0, UNIT_MMA);
}

static void expand(Op *dot, const Split *split) {
    Builder b = builder_before(dot);
    Value *x[MAX_PARTS], *y[MAX_PARTS];
    split_operand(&b, split, op_in(dot, 0), x);
    split_operand(&b, split, op_in(dot, 1), y);
    Value *acc = op_in(dot, 2), *zero = rewrite_float(&b, acc->type, 0), *small = zero;
    for (int i = 0; i < split->nsmall; i++)
        small = product(&b, x[split->small[i].a], y[split->small[i].b], small);
    Value *defined = build_select(&b, build_cmpf(&b, small, small, FPRED_OEQ), small, zero);
    rewrite_replace(dot, build_addf(&b, acc, product(&b, x[0], y[0], defined)));
}

static int64_t depth_of(const Op *dot) {
    const Type *a = op_in(dot, 0)->type;
    return a->shape[a->rank - 1];
}

/* The products of this dot may be summed imprecisely, those of others in acc may not. */
static void sum_apart(Op *dot, DotUnit unit) {
    Builder b = builder_before(dot);
    Value *acc = op_in(dot, 2);
    Value *sum = product(&b, op_in(dot, 0), op_in(dot, 1), rewrite_float(&b, acc->type, 0));
    struct dot_attrs *attrs = dot_attrs(sum->def);
    attrs->max_imprecise = IMPRECISE_ALL;
    attrs->unit = unit;
    rewrite_replace(dot, build_addf(&b, acc, sum));
}

/* Why the tensor cores cannot compute it; NULL: they can. `mma` multiplies the operands as they
 * are. */
static const char *obstacle(const Op *dot, const Mma *mma) {
    const bool f32 = op_in(dot, 0)->type->dtype == DT_F32;
    if (f32 && dot_attrs(dot)->precision == PRECISION_IEEE)
        return "input_precision is ieee, and tensor cores round fp32 to tf32";
    if (f32 && splits[dot_attrs(dot)->precision].dtype == DT_BF16)
        mma = mma_find(DT_BF16, DT_BF16, DT_F32, dot->block->func->capability);
    if (!mma)
        return "no tensor-core instruction takes these types";
    return depth_of(dot) < mma_least_k(mma) ? "K is less than the tensor-core instruction takes"
                                            : NULL;
}

/* The adjacent dimension of a block with two dimensions of more than one element. */
static int inner_of_two(const Op *load) {
    return tensor_copy_inner_dim(load) - (op_out(load)->type->rank - 2);
}

/* As it is, turned perhaps. */
static bool comes_from_memory(const Value *b) {
    const Op *op = b->def;
    while (op && (op->code == OP_transpose || op_adds_or_drops_ones(op)))
        op = op_in(op, 0)->def;
    return op && op_is_load(op);
}

/* Operand b comes from memory as it is, turned perhaps, and lies there as warpgroups read it; `k`:
 * the dimension that is K. */
static const char *b_obstacle(const Facts *facts, const Value *b, int k) {
    const Op *op = b->def;
    for (; op && (op->code == OP_transpose || op_adds_or_drops_ones(op)); op = op_in(op, 0)->def)
        k = op->code == OP_transpose ? 1 - k : k;
    if (!op || !op_is_load(op))
        return "operand b is computed";
    if (wgmma_takes_mn_major(b->type))
        return NULL;
    if (op->code == OP_load_block && k == inner_of_two(op))
        return NULL;
    const Value *ptr = op_in(op, 0), *mask = op->nin > 1 ? op_in(op, 1) : NULL;
    int bytes = type_element_bytes(b->type);
    if (op->code == OP_load && facts_fastest_dim(facts, ptr) == k &&
        facts_access_width(facts, ptr, mask, k) * bytes >= LEAST_COPY_BYTES)
        return NULL;
    return "operand b is not known to be contiguous along K, as types other than of 16 bits must "
           "be";
}

/* Why warpgroups cannot compute what has the shape of it; NULL: they can. */
static const char *shape_obstacle(const Func *func, const Op *dot) {
    const Type *acc = dot->out[0].type;
    if (func->num_warps && func->num_warps < WGMMA_WARPS)
        return "the program has fewer than four warps";
    if (acc->rank != 2)
        return "it is batched";
    if (acc->shape[0] < WGMMA_M)
        return "M is less than 64";
    if (acc->shape[1] < WGMMA_LEAST_N)
        return "N is less than 16";
    if (func->num_warps / WGMMA_WARPS > dot_most_warpgroups(dot))
        return dot_keeps_rows(dot) ? "its rows are those of another dot, and four warps have "
                                     "fewer than 64"
                                   : "four warps have less than 64 x 64 elements of it";
    if (depth_of(dot) * type_element_bytes(op_in(dot, 0)->type) < WGMMA_K_BYTES)
        return "K is less than the instruction takes";
    return NULL;
}

/* Why warpgroups cannot compute it; NULL: they can. */
static const char *wgmma_obstacle(const Func *func, const Facts *facts, const Op *dot) {
    const char *why_not = shape_obstacle(func, dot);
    const Value *b = op_in(dot, 1);
    if (why_not)
        return why_not;
    bool is_stored = !comes_from_memory(b) && wgmma_takes_mn_major(b->type);
    return is_stored ? NULL : b_obstacle(facts, b, 0);
}

/* Where results are to be the same bits with any number of warps, and for all targets of a family,
 * those products are left to warps that some launches would leave to them. */
static bool may_use_warpgroups(const Func *func) {
    return !func->deterministic;
}

/* Do the tensor cores multiply f8 operands as they are? Not where they must not in this family's
 * first targets, which lack that. */
static bool takes_f8(const Op *dot, const Mma *mma) {
    return mma && dot_attrs(dot)->max_imprecise >= depth_of(dot) &&
           !dot->block->func->deterministic;
}

static const char needs_same_bits[] = "launches of less than four warps are to give the same bits";

static bool is_type_for_warpgroups(const Func *func, const Op *dot) {
    return wgmma_takes(op_in(dot, 0)->type->dtype, op_in(dot, 1)->type->dtype,
                       dot->out[0].type->dtype, func->capability);
}

static DotUnit tensor_unit(Func *func, const Facts *facts, const Op *dot) {
    if (!is_type_for_warpgroups(func, dot))
        return UNIT_MMA;
    const char *why_not =
        may_use_warpgroups(func) ? wgmma_obstacle(func, facts, dot) : needs_same_bits;
    /* Of a chain it is not settled yet. */
    if (why_not && !(dot_is_chained(dot) && !shape_obstacle(func, dot)))
        ctx_diag(func_ctx(func), dot->span, dot_without_wgmma, why_not);
    return why_not ? UNIT_MMA : UNIT_WGMMA;
}

/* Is operand b one that warpgroups cannot read, and a one that they can in its place? */
static bool wants_turning(const Func *func, const Facts *facts, const Op *dot) {
    const Type *acc = dot->out[0].type;
    return may_use_warpgroups(func) &&
           wgmma_takes(op_in(dot, 0)->type->dtype, op_in(dot, 1)->type->dtype, acc->dtype,
                       func->capability) &&
           acc->rank == 2 && acc->shape[0] >= WGMMA_M && acc->shape[1] >= WGMMA_M &&
           !dot_is_chained(dot) && b_obstacle(facts, op_in(dot, 1), 0) &&
           !b_obstacle(facts, op_in(dot, 0), 1);
}

static Value *transposed(Builder *b, Value *x) {
    int64_t order[] = {1, 0};
    return build_transpose(b, x, (Ints){order, 2});
}

/* a * b = (b^T * a^T)^T: what is computed may stay in registers as operand a. */
static Op *turn(Op *dot) {
    Builder b = builder_before(dot);
    b.span = dot->span;
    Value *acc = transposed(&b, op_in(dot, 2)), *right = transposed(&b, op_in(dot, 0));
    Value *product =
        build_dot(&b, transposed(&b, op_in(dot, 1)), right, acc, dot_attrs(dot)->precision,
                  dot_attrs(dot)->max_imprecise, dot_attrs(dot)->unit);
    rewrite_replace(dot, transposed(&b, product));
    return product->def;
}

/* Sums of f16 are pairs of columns in a register, and there is one column. */
static bool lacks_pairs(const Op *dot) {
    const Type *acc = op_out(dot)->type;
    return acc->dtype == DT_F16 && acc->shape[acc->rank - 1] == 1;
}

/* Sums in f32 what is summed in f16: the new dot. */
static Op *widen_sums(Op *dot) {
    Builder b = builder_before(dot);
    b.span = dot->span;
    Value *acc = cast(&b, op_in(dot, 2), DT_F32, true);
    Value *sums = build_dot(&b, op_in(dot, 0), op_in(dot, 1), acc, dot_attrs(dot)->precision,
                            dot_attrs(dot)->max_imprecise, UNIT_FMA);
    rewrite_replace(dot, cast(&b, sums, DT_F16, false));
    return sums->def;
}

bool dot_is_chosen(const Op *dot) {
    int32_t capability = dot->block->func->capability;
    const Value *a = op_in(dot, 0), *b = op_in(dot, 1);
    const Mma *mma = mma_find(a->type->dtype, b->type->dtype, dot->out[0].type->dtype, capability);
    bool widened = is_f8(a) && is_f8(b) && !takes_f8(dot, mma);
    return dot_attrs(dot)->unit != UNIT_FMA || !target_by_capability(capability) ||
           (!widened && !lacks_pairs(dot) && obstacle(dot, mma));
}

static bool visit_dot(Func *func, const Facts *facts, Op *dot) {
    if (dot_attrs(dot)->unit != UNIT_FMA)
        return false;
    bool changed = lacks_pairs(dot);
    if (changed)
        dot = widen_sums(dot);
    Value *a = op_in(dot, 0), *b = op_in(dot, 1);
    DType acc = op_out(dot)->type->dtype;
    const Mma *mma = mma_find(a->type->dtype, b->type->dtype, acc, func->capability);
    bool f8 = is_f8(a) && is_f8(b);
    if (f8 && !takes_f8(dot, mma)) {
        Builder builder = builder_before(dot);
        op_set_operand(dot, 0, cast(&builder, a, DT_F16, true));
        op_set_operand(dot, 1, cast(&builder, b, DT_F16, true));
        mma = mma_find(DT_F16, DT_F16, acc, func->capability);
        changed = true;
    }
    const char *why_not = obstacle(dot, mma);
    if (why_not) {
        ctx_diag(func_ctx(func), dot->span, dot_without_tensor_cores, why_not);
        return changed;
    }
    const Split *split = &splits[dot_attrs(dot)->precision];
    if (a->type->dtype == DT_F32 && split->parts)
        expand(dot, split);
    else if (f8 && is_f8(op_in(dot, 0)) && dot_attrs(dot)->max_imprecise < IMPRECISE_ALL)
        sum_apart(dot, tensor_unit(func, facts, dot));
    else {
        if (wants_turning(func, facts, dot))
            dot = turn(dot);
        dot_attrs(dot)->unit = tensor_unit(func, facts, dot);
    }
    return true;
}

static bool visit_block(Func *func, const Facts *facts, Block *block) {
    bool changed = false;
    block_for_each_safe (op, block) {
        if (op->code == OP_dot)
            changed |= visit_dot(func, facts, op);
        for (uint32_t i = 0; i < op->nregions; i++)
            changed |= visit_block(func, facts, op->regions[i]);
    }
    return changed;
}

/* Dots whose rows are each other's have their rows in the same warps. So all of them are computed
 * by warpgroups, or none is; or some are whose operand b warpgroups do not read. These have sums as
 * the others have them, which mma.sync takes over (feed-wgmma), where the others are half of the
 * work.
 */

typedef struct Chained {
    Func *func;
    const Facts *facts;
    double warpgroups, followers; /* products of each */
    bool others;
} Chained;

/* Could its sums be those of warpgroups? */
static bool may_follow(const Func *func, const Op *dot) {
    return dot_attrs(dot)->unit == UNIT_MMA && is_type_for_warpgroups(func, dot) &&
           !shape_obstacle(func, dot);
}

static bool add_chained(Op *op, void *user) {
    Chained *chained = user;
    if (op->code != OP_dot || !dot_is_chained(op))
        return true;
    double products = (double)type_numel(op_out(op)->type) * (double)depth_of(op);
    if (dot_attrs(op)->unit == UNIT_WGMMA)
        chained->warpgroups += products;
    else if (may_follow(chained->func, op))
        chained->followers += products;
    else
        chained->others = true;
    return true;
}

static bool leave_to_warps(Op *op, void *user) {
    const Chained *chained = user;
    Func *func = chained->func;
    if (op->code != OP_dot || !dot_is_chained(op))
        return true;
    const char *why_not = NULL;
    if (dot_attrs(op)->unit == UNIT_WGMMA)
        why_not = "its rows are those of another dot that is not";
    else if (may_follow(func, op) && may_use_warpgroups(func))
        why_not = wgmma_obstacle(func, chained->facts, op);
    else if (may_follow(func, op))
        why_not = needs_same_bits;
    if (why_not)
        ctx_diag(func_ctx(func), op->span, dot_without_wgmma, why_not);
    if (dot_attrs(op)->unit == UNIT_WGMMA)
        dot_attrs(op)->unit = UNIT_MMA;
    return true;
}

static bool let_follow(Op *op, void *user) {
    const Chained *chained = user;
    if (op->code == OP_dot && dot_is_chained(op) && may_follow(chained->func, op))
        dot_attrs(op)->unit = UNIT_WGMMA;
    return true;
}

static void settle_chains(Func *func, const Facts *facts) {
    Chained chained = {.func = func, .facts = facts};
    func_walk(func, add_chained, &chained);
    if (!chained.others && !(chained.followers > 0))
        return;
    bool follow = !chained.others && chained.followers <= chained.warpgroups;
    func_walk(func, follow ? let_follow : leave_to_warps, &chained);
}

bool pass_choose_dots(Func *func) {
    Arena *scratch = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(scratch);
    const Facts *facts =
        target_has(func->capability, FEATURE_WGMMA) ? facts_compute(func, scratch) : NULL;
    bool changed = visit_block(func, facts, func->body);
    settle_chains(func, facts);
    arena_rewind(scratch, mark);
    return changed;
}
