/* narrow-compares: comparisons of tiles of places in 64 bits compare places in the tile, in 32.
 *
 *     %rows = addi (splat %base), (extsi %i)                %d = subi %n, %base
 *     %m = cmpi %rows, (splat %n) {slt}            =>       %e = trunci (min (max %d, 0), 64)
 *                                                           %m = cmpi %i, (splat %e) {slt}
 *
 *     %r = rows: %base + %i
 *     %c = columns: %base + %j
 *     %m = cmpi %r, %c                             =>       %m = cmpi (rows: %i), (columns: %j)
 *
 *     %r = rows: %b + %i                                    %d = subi (subi %b, %c), %n
 *     %q = subi %r, (columns: %c + %j)                      %e = trunci (min (max %d, ..), ..)
 *     %m = cmpi %q, (splat %n) {slt}               =>       %s = rows: %i + %e
 *                                                           %m = cmpi %s, (columns: %j) {slt}
 *
 * Of 64 bits each element takes two instructions and two registers, and a program's own place hides
 * what is known of rows and columns of a tile: that in half of a causal block no row is beyond a
 * column. Sides of a comparison are sums of scalars and at most one tile of 32 bits, widened, or
 * the difference of two such. By the ranges of all parts nothing wraps.
 *
 * What is left of the scalars is cut off to what the tile's elements and their neighbours may be.
 *
 * With only one tile those scalars pay where the mask chooses among many elements of a thread
 * (FEW_ELEMENTS), or guards many accesses of one (FEW_GUARDS): it is compared once for the elements
 * of each, rows of a tile once for those that are beside each other in a row. Others are narrowed
 * where the bound is there already, cut off by lower-blocks. With a tile on both sides, what their
 * scalars differ by is added to one of them before it is repeated along the other, where a thread
 * compares MANY_ELEMENTS or more. As many of any numbers of 32 bits, widened, are compared with one
 * number of 64 that is cut off to 32, whose being beyond them decides for all.
 *
 * Needs num_warps. Comes behind the passes that look for places and sizes in masks. */
#include "passes/analysis/facts.h"
#include "passes/analysis/fold.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/simplify/simplify.h"
#include "support/bits.h"
#include "support/vec.h"

enum {
    FEW_ELEMENTS = 4,
    FEW_GUARDS =
        8, /* comparisons of a thread: what scalars cost is two or three for each of these */
    MANY_ELEMENTS = 16,
    MAX_SCALARS = 6,
    MAX_SHAPES = 8,
    MAX_SUM_BITS = 58 /* of each part, so that 64 bits hold all of them together */
};

/* leaf + scalars + constant, the leaf in the shape that `shapes` give it, the last one first. */
typedef struct Side {
    Value *leaf; /* i32; NULL: there is none */
    const Op *shapes[MAX_SHAPES];
    int shape_count;
    struct SideScalar {
        Value *value;
        int64_t sign;
    } scalars[MAX_SCALARS];
    int count;
    int64_t constant;
} Side;

typedef struct Range {
    int64_t lo, hi;
} Range;

typedef struct Narrowed {
    Op *compare;
    bool widened; /* a tile of any numbers of 32 bits beside a scalar: the sides are not known */
    Side side[2];
} Narrowed;

typedef struct Narrower {
    const Facts *facts;
    Arena *arena;
    int64_t threads;
    VEC(Narrowed) narrowed;
} Narrower;

/* Sides */

static bool fits(int64_t value) {
    return value < (int64_t)1 << MAX_SUM_BITS && value > -((int64_t)1 << MAX_SUM_BITS);
}

static Range range_of(const Narrower *n, const Value *value) {
    const ValueFacts *facts = facts_of(n->facts, value);
    return (Range){facts->lo, facts->hi};
}

/* Both values, and with them their sum and difference, are far from wrapping. */
static bool is_exact(const Narrower *n, const Op *op) {
    for (uint32_t i = 0; i < 2; i++) {
        Range range = range_of(n, op_in(op, i));
        if (!fits(range.lo) || !fits(range.hi))
            return false;
    }
    return true;
}

static bool add_scalar(const Narrower *n, Side *side, Value *value, int64_t sign) {
    Range range = range_of(n, value);
    if (side->count == MAX_SCALARS || value->type->dtype != DT_I64 || !fits(range.lo) ||
        !fits(range.hi))
        return false;
    side->scalars[side->count++] = (struct SideScalar){value, sign};
    return true;
}

static bool take_apart(const Narrower *n, Value *value, int64_t sign, Side *side) {
    Scalar constant;
    const Op *op = value->def;
    if (scalar_of_value(value, &constant)) {
        side->constant += sign * constant.i;
        return fits(constant.i) && fits(side->constant);
    }
    if (!op)
        return false;
    switch (op->code) {
    case OP_splat:
        return add_scalar(n, side, op_in(op, 0), sign);
    case OP_expand_dims:
    case OP_broadcast:
        /* Scalars have no shape; so a side without a tile yet can only get one further down. */
        if (side->shape_count == MAX_SHAPES || side->leaf)
            return false;
        side->shapes[side->shape_count++] = op;
        return take_apart(n, op_in(op, 0), sign, side);
    case OP_extsi:
        if (side->leaf || sign < 0 || op_in(op, 0)->type->dtype != DT_I32)
            return false;
        side->leaf = op_in(op, 0);
        return true;
    case OP_addi:
    case OP_subi: {
        /* The part with the tile last: the shapes around it are the ones that are kept. */
        uint32_t last = value_is_uniform(op_in(op, 1)) ? 0 : 1;
        int64_t signs[2] = {sign, op->code == OP_subi ? -sign : sign};
        return is_exact(n, op) && value_is_uniform(op_in(op, 1 - last)) &&
               take_apart(n, op_in(op, 1 - last), signs[1 - last], side) &&
               take_apart(n, op_in(op, last), signs[last], side);
    }
    default:
        return false;
    }
}

/* Comparisons */

/* The scalars of both sides are the same: their difference is that of the constants. */
static bool scalars_cancel(const Side *a, const Side *b) {
    bool taken[MAX_SCALARS] = {false};
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++) {
        int k = 0;
        while (k < b->count && (taken[k] || a->scalars[i].value != b->scalars[k].value ||
                                a->scalars[i].sign != b->scalars[k].sign))
            k++;
        if (k == b->count)
            return false;
        taken[k] = true;
    }
    return true;
}

/* With its neighbours within 32 bits. */
static bool leaf_fits(const Narrower *n, const Value *leaf) {
    Range range = range_of(n, leaf);
    return range.lo > int_lowest(DT_I32) && range.hi < int_highest(DT_I32);
}

/* What the scalars and constants of `other` less those of `side` may come to. */
static Range bound_range(const Narrower *n, const Side *side, const Side *other) {
    const Side *sides[2] = {other, side};
    Range sum = {0, 0};
    for (int64_t s = 0, sign = 1; s < 2; s++, sign = -1) {
        sum.lo += sign * sides[s]->constant;
        sum.hi += sign * sides[s]->constant;
        for (int i = 0; i < sides[s]->count; i++) {
            Range range = range_of(n, sides[s]->scalars[i].value);
            bool adds = sides[s]->scalars[i].sign * sign > 0;
            sum.lo += adds ? range.lo : -range.hi;
            sum.hi += adds ? range.hi : -range.lo;
        }
    }
    return sum;
}

/* Beyond these the comparison gives the same; a multiple of the tile's size stays one. */
static Range cut_range(const Narrower *n, const Side *side, IntPredicate pred) {
    Range range = range_of(n, side->leaf);
    return (Range){pred == IPRED_SLT || pred == IPRED_SGE ? range.lo : range.lo - 1,
                   pred == IPRED_SGT || pred == IPRED_SLE ? range.hi : range.hi + 1};
}

/* How often a thread compares what guards an access and is different along the dimensions in
 * `varying`. Threads lie along a line of memory first, as many as it has accesses for. */
static int64_t guards_of(const Narrower *n, const Op *access, uint32_t varying) {
    const Type *type = op_in(access, 0)->type;
    int axis = facts_fastest_dim(n->facts, op_in(access, 0));
    int width = facts_access_width(n->facts, op_in(access, 0), op_mask(access), axis);
    int64_t line = max_i64(type->shape[axis] / width, 1),
            lines = type_numel(type) / type->shape[axis];
    int64_t beside = min_i64(line, n->threads), guards = 1, others = 1;
    if (varying >> axis & 1)
        guards = line / beside;
    for (int d = 0; d < type->rank; d++)
        if (d != axis && varying >> d & 1)
            others *= type->shape[d];
    return guards * min_i64(others, max_i64(lines * beside / n->threads, 1));
}

/* Which dimensions of a result are those that are set in `varying` of the operand. */
static uint32_t varying_behind(const Op *op, uint32_t varying) {
    if (op->code != OP_expand_dims)
        return varying;
    uint32_t axis = (uint32_t)expand_dims_attrs(op)->axis, below = varying & ((1u << axis) - 1);
    return below | (varying & ~below) << 1;
}

static uint32_t long_dims(const Type *type) {
    uint32_t dims = 0;
    for (int d = 0; d < type->rank; d++)
        dims |= (uint32_t)(type->shape[d] > 1) << d;
    return dims;
}

/* The dimensions along which the tile of a side is different. */
static uint32_t varying_of(const Side *side) {
    uint32_t varying = long_dims(side->leaf->type);
    for (int i = side->shape_count - 1; i >= 0; i--)
        varying = varying_behind(side->shapes[i], varying);
    return varying;
}

static bool guards_many(const Narrower *n, const Value *mask, uint32_t varying) {
    value_for_each_use (use, mask) {
        const Op *user = use->user;
        if (op_is_pointer_access(user) && op_mask(user) == mask &&
            guards_of(n, user, varying) >= FEW_GUARDS)
            return true;
        bool keeps =
            user->code == OP_expand_dims || user->code == OP_broadcast || op_has(user, ELEMENTWISE);
        if (keeps && user->nout == 1 && user->out[0].type->dtype == DT_I1 &&
            guards_many(n, op_out(user), varying_behind(user, varying)))
            return true;
    }
    return false;
}

/* Does the mask choose among elements, in a tile of which a thread has many? */
static bool chooses_many(const Narrower *n, const Value *mask) {
    value_for_each_use (use, mask) {
        const Op *user = use->user;
        if (user->code == OP_select && op_in(user, 0) == mask)
            return type_numel(mask->type) >= FEW_ELEMENTS * n->threads;
        if (user->nout == 1 && user->out[0].type->dtype == DT_I1 &&
            op_has(user, MOVES | ELEMENTWISE) && chooses_many(n, op_out(user)))
            return true;
    }
    return false;
}

static bool is_same_place(const Side *a, const Side *b) {
    return scalars_cancel(a, b) && a->constant == b->constant;
}

/* What the scalars of the first side may be more than those of the second, by which the comparison
 * of both tiles can give something else. */
static Range between(const Narrower *n, const Side *a, const Side *b) {
    Range first = range_of(n, a->leaf), second = range_of(n, b->leaf);
    return (Range){second.lo - first.hi - 1, second.hi - first.lo + 1};
}

/* Would a thread that compares many elements of two tiles add few of what their scalars differ by,
 * within 32 bits? */
static bool shift_pays(const Narrower *n, const Narrowed *found) {
    const Side *a = &found->side[0], *b = &found->side[1];
    if (!leaf_fits(n, a->leaf) || !leaf_fits(n, b->leaf))
        return false;
    Range shift = between(n, a, b), leaf = range_of(n, a->leaf);
    int64_t elements = type_numel(op_in(found->compare, 0)->type);
    return leaf.lo + shift.lo > int_lowest(DT_I32) && leaf.hi + shift.hi < int_highest(DT_I32) &&
           shift.lo > int_lowest(DT_I32) && shift.hi < int_highest(DT_I32) &&
           elements >= MANY_ELEMENTS * n->threads &&
           elements >= FEW_ELEMENTS * type_numel(a->leaf->type);
}

static bool pays(const Narrower *n, const Narrowed *found, IntPredicate pred) {
    const Side *a = &found->side[0], *b = &found->side[1];
    if (a->leaf && b->leaf)
        return is_same_place(a, b) || shift_pays(n, found);
    if (!a->leaf) {
        a = b;
        b = &found->side[0];
        pred = predicate_swap(pred);
    }
    if (!a->leaf || !leaf_fits(n, a->leaf))
        return false;
    Range bound = bound_range(n, a, b), cut = cut_range(n, a, pred);
    bool is_there = !a->count && b->count == 1 && a->constant == b->constant;
    return (is_there && cut.lo <= bound.lo && bound.hi <= cut.hi) ||
           chooses_many(n, op_out(found->compare)) ||
           guards_many(n, op_out(found->compare), varying_of(a));
}

/* Both sides; x - y compared with something that is the same everywhere is x compared with that and
 * y. */
static bool find_sides(const Narrower *n, const Op *compare, Side *side) {
    const Op *difference = value_def(op_in(compare, 0), OP_subi);
    bool apart = difference && !value_is_uniform(op_in(difference, 0)) &&
                 !value_is_uniform(op_in(difference, 1)) && value_is_uniform(op_in(compare, 1));
    if (!apart)
        return take_apart(n, op_in(compare, 0), 1, &side[0]) &&
               take_apart(n, op_in(compare, 1), 1, &side[1]);
    return is_exact(n, difference) && is_exact(n, compare) &&
           take_apart(n, op_in(difference, 0), 1, &side[0]) &&
           take_apart(n, op_in(compare, 1), 1, &side[1]) &&
           take_apart(n, op_in(difference, 1), 1, &side[1]) && side[0].leaf && side[1].leaf;
}

/* Are elements of 32 bits, widened, compared with one number of 64, and so many that the scalars
 * pay? */
static bool is_widened(const Narrower *n, const Op *compare) {
    const Op *first = value_def(op_in(compare, 0), OP_extsi);
    const Op *second = value_def(op_in(compare, 1), OP_extsi);
    const Op *tile = first ? first : second;
    if (!tile || op_in(tile, 0)->type->dtype != DT_I32 ||
        !value_is_uniform(op_in(compare, first ? 1 : 0)))
        return false;
    return type_numel(op_out(tile)->type) >= MANY_ELEMENTS * n->threads &&
           chooses_many(n, op_out(compare));
}

static bool note(Op *op, void *user) {
    Narrower *n = user;
    Narrowed found = {.compare = op};
    if (op->code != OP_cmpi || !type_is_tile(op_in(op, 0)->type) ||
        op_in(op, 0)->type->dtype != DT_I64)
        return true;
    IntPredicate pred = cmpi_attrs(op)->pred;
    if (pred != IPRED_EQ && pred != IPRED_NE && pred != IPRED_SLT && pred != IPRED_SLE &&
        pred != IPRED_SGT && pred != IPRED_SGE)
        return true;
    found.widened = !find_sides(n, op, found.side) || !pays(n, &found, pred);
    if (!found.widened || is_widened(n, op))
        vec_push(n->arena, &n->narrowed, found);
    return true;
}

/* Rewriting */

/* The leaf, or what stands for it, in the shape of the comparison. */
static Value *shaped(Builder *b, const Side *side, Value *value) {
    for (int i = side->shape_count - 1; i >= 0; i--) {
        const Op *shape = side->shapes[i];
        const Type *type = type_with_dtype(b->ctx, op_out(shape)->type, side->leaf->type->dtype);
        value = rewrite_like(b, shape, 1, &value, type);
    }
    return value;
}

/* `sum`, NULL for 0, and the scalars of a side. */
static Value *sum_of(Builder *b, Value *sum, const Side *side, int64_t sign) {
    for (int i = 0; i < side->count; i++) {
        Value *value = side->scalars[i].value;
        bool adds = side->scalars[i].sign * sign > 0;
        if (!sum && adds)
            sum = value;
        else if (adds)
            sum = build_addi(b, sum, value);
        else
            sum = build_subi(b, sum ? sum : rewrite_int(b, value->type, 0), value);
    }
    return sum;
}

/* What the scalars of `side` have more than those of `other`, as an i32 within `cut`; `range` is
 * where it is. */
static Value *scalars_between(Builder *b, const Side *side, const Side *other, Range range,
                              Range cut) {
    const Type *i64 = type_scalar(b->ctx, DT_I64), *i32 = type_scalar(b->ctx, DT_I32);
    int64_t constant = side->constant - other->constant;
    if (range.lo == range.hi && range.lo >= cut.lo && range.lo <= cut.hi)
        return rewrite_int(b, i32, range.lo);
    Value *sum = sum_of(b, sum_of(b, NULL, side, 1), other, -1);
    if (!sum || constant) {
        Value *number = rewrite_int(b, i64, constant);
        sum = sum ? build_addi(b, sum, number) : number;
    }
    if (range.lo < cut.lo)
        sum = build_maxsi(b, sum, rewrite_int(b, i64, cut.lo));
    if (range.hi > cut.hi)
        sum = build_minsi(b, sum, rewrite_int(b, i64, cut.hi));
    return build_trunci(b, sum, i32);
}

/* What the leaf of `side` is compared with: the other side less what is beside the leaf. */
static Value *bound_of(const Narrower *n, Builder *b, const Side *side, const Side *other,
                       IntPredicate pred) {
    return scalars_between(b, other, side, bound_range(n, side, other), cut_range(n, side, pred));
}

/* The first leaf, with what the scalars beside it are more than those of the other side. */
static Value *shifted(const Narrower *n, Builder *b, const Side *side, const Side *other) {
    if (is_same_place(side, other))
        return side->leaf;
    int64_t constant = side->constant - other->constant;
    Range range =
        scalars_cancel(side, other) ? (Range){constant, constant} : bound_range(n, other, side);
    Range cut = between(n, side, other);
    if (range.lo == range.hi)
        range.lo = range.hi = max_i64(min_i64(range.lo, cut.hi), cut.lo);
    Value *shift = scalars_between(b, side, other, range, cut);
    return build_addi(b, side->leaf, build_splat(b, shift, side->leaf->type));
}

/* Elements of 32 bits are compared with a number cut off to as many, and the whole is what it is
 * where that number is beyond them: `x < n` is (x < cut) or (n > highest). */
static void narrow_widened(Op *op) {
    Builder b = builder_before(op);
    b.span = op->span;
    IntPredicate pred = cmpi_attrs(op)->pred;
    bool swapped = !value_def(op_in(op, 0), OP_extsi);
    Value *tile = op_in(op_in(op, swapped)->def, 0);
    Value *number = value_uniform_scalar(&b, op_in(op, !swapped));
    pred = swapped ? predicate_swap(pred) : pred;
    const Type *i64 = number->type, *i32 = type_scalar(b.ctx, DT_I32);
    Value *low = rewrite_int(&b, i64, int_lowest(DT_I32));
    Value *high = rewrite_int(&b, i64, int_highest(DT_I32));
    bool equals = pred == IPRED_EQ || pred == IPRED_NE;
    bool either = pred == IPRED_NE || pred == IPRED_SLT || pred == IPRED_SGT;
    Value *cut = number, *beyond;
    if (!equals)
        cut = build_minsi(&b, build_maxsi(&b, number, low), high);
    cut = build_trunci(&b, cut, i32);
    if (equals)
        beyond = build_cmpi(&b, build_extsi(&b, cut, i64), number, pred);
    else if (pred == IPRED_SLT || pred == IPRED_SGE)
        beyond = build_cmpi(&b, number, high, either ? IPRED_SGT : IPRED_SLE);
    else
        beyond = build_cmpi(&b, number, low, either ? IPRED_SLT : IPRED_SGE);
    Value *mask = build_cmpi(&b, tile, build_splat(&b, cut, tile->type), pred);
    Value *all = build_splat(&b, beyond, mask->type);
    rewrite_replace(op, either ? build_ori(&b, mask, all) : build_andi(&b, mask, all));
}

static void narrow(const Narrower *n, const Narrowed *narrowed) {
    Op *op = narrowed->compare;
    if (narrowed->widened) {
        narrow_widened(op);
        return;
    }
    Builder b = builder_before(op);
    b.span = op->span;
    const Side *first = &narrowed->side[0], *second = &narrowed->side[1];
    IntPredicate pred = cmpi_attrs(op)->pred;
    if (!first->leaf) {
        const Side *other = first;
        first = second;
        second = other;
        pred = predicate_swap(pred);
    }
    Value *a = shaped(&b, first, second->leaf ? shifted(n, &b, first, second) : first->leaf);
    Value *c = second->leaf ? shaped(&b, second, second->leaf)
                            : build_splat(&b, bound_of(n, &b, first, second, pred), a->type);
    rewrite_replace(op, build_cmpi(&b, a, c, pred));
}

bool pass_narrow_compares(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    Narrower n = {.facts = facts_compute(func, arena),
                  .arena = arena,
                  .threads = (int64_t)func->num_warps * TARGET_WARP_SIZE};
    func_walk(func, note, &n);
    vec_for_each (narrowed, &n.narrowed)
        narrow(&n, narrowed);
    bool changed = n.narrowed.len > 0;
    arena_rewind(arena, mark);
    if (changed)
        eliminate_dead(func);
    return changed;
}
