/* Masks as conjunctions of comparisons of one dimension's index: see affine.h.
 *
 * A comparison a < b is the sign of b - a, whose form has at most one dimension if the mask bounds
 * a rectangle:
 *
 *     splat(%k) + %i < splat(%K)     %K - %k - i_0 > 0     i_0 < %K - %k */
#include "passes/analysis/affine_internal.h"
#include "passes/rewrite.h"

enum { MAX_PARTS = 64 }; /* of a mask; what two parts share counts for both */

typedef struct Masks {
    Affines *a;
    const Op *at;
    Constraints *out;
    int parts; /* that may still be looked at */
} Masks;

static void unknown(Masks *m, const char *why) {
    if (!m->out->why)
        m->out->why = why;
}

static void demand(Masks *m, int dim, bool is_upper, const Poly *bound) {
    if (!bound || m->out->count == MAX_CONSTRAINTS)
        unknown(m, "the mask has too many conditions");
    else
        m->out->list[m->out->count++] = (Constraint){dim, is_upper, bound};
}

/* An index taken modulo something is below it. */
static bool is_below_modulus(const Affine *distance, const AffineDim *dim, int64_t stride) {
    return stride == -1 && poly_equal(distance->offset, dim->wrap->modulus);
}

/* distance > 0 */
static void demand_positive(Masks *m, const Affine *distance, const int *place) {
    Arena *arena = m->a->arena;
    int along = -1;
    if (distance->why)
        return unknown(m, "the mask compares what is no sum of counts");
    for (int d = 0; d < distance->rank; d++) {
        if (poly_is_zero(distance->dims[d].stride))
            continue;
        if (along >= 0)
            return unknown(m, "the mask compares indices of two dimensions");
        along = d;
    }
    const Poly *one = poly_constant(arena, 1), *less = poly_sum(arena, distance->offset, one, -1);
    if (along < 0) {
        if (!poly_is_nonnegative(m->a, less, m->at))
            unknown(m, "the mask has a condition on the whole tile");
        return;
    }
    const AffineDim *dim = &distance->dims[along];
    int64_t stride;
    if (!poly_is_constant(dim->stride, &stride) || (stride != 1 && stride != -1))
        return unknown(m, "the mask compares the multiple of an index");
    if (dim->wrap) {
        if (!is_below_modulus(distance, dim, stride))
            unknown(m, "the mask compares a wrapped index");
        return;
    }
    if (stride < 0)
        demand(m, place[along], true, distance->offset); /* offset - i > 0 */
    else
        demand(m, place[along], false,
               poly_sum(arena, one, distance->offset, -1)); /* offset + i > 0 */
}

static bool are_nonnegative(Masks *m, const Op *op) {
    for (uint32_t i = 0; i < 2; i++)
        if (facts_of(m->a->facts, op_in(op, i))->sign != SIGN_NONNEGATIVE)
            return false;
    return true;
}

static void add_comparison(Masks *m, const Op *op, const int *place) {
    IntPredicate pred = cmpi_attrs(op)->pred;
    const Affine *a = affine_of(m->a, op_in(op, 0)), *b = affine_of(m->a, op_in(op, 1));
    bool swaps = pred == IPRED_SGT || pred == IPRED_SGE || pred == IPRED_UGT || pred == IPRED_UGE;
    bool strict = pred == IPRED_SLT || pred == IPRED_SGT || pred == IPRED_ULT || pred == IPRED_UGT;
    if (pred == IPRED_EQ || pred == IPRED_NE || !type_is_int(op_in(op, 0)->type))
        return unknown(m, "the mask compares for equality");
    if (pred >= IPRED_ULT && !are_nonnegative(m, op))
        return unknown(m, "the mask compares without sign what may be negative");
    const Affine *distance = swaps ? affine_sum(m->a, a, b, -1) : affine_sum(m->a, b, a, -1);
    if (!distance->why && !strict) {
        Affine *more = ARENA_NEW(m->a->arena, Affine);
        *more = *distance;
        more->offset = poly_sum(m->a->arena, more->offset, poly_constant(m->a->arena, 1), 1);
        distance = more;
    }
    demand_positive(m, distance, place);
}

/* place[d]: the tile's dimension that dimension d of `mask` is, -1 where it has none. */
static void add_conditions(Masks *m, Value *mask, const int *place) {
    const Op *op = mask->def;
    int source[MAX_RANK], inner[MAX_RANK];
    if (value_is_int(mask, 1))
        return;
    if (m->parts-- <= 0)
        return unknown(m, "the mask has too many conditions");
    if (op && op->code == OP_andi) {
        add_conditions(m, op_in(op, 0), place);
        add_conditions(m, op_in(op, 1), place);
    } else if (op && op_has(op, HINT)) {
        add_conditions(m, op_in(op, 0), place);
    } else if (op && op->code == OP_cmpi) {
        add_comparison(m, op, place);
    } else if (op && op->nin == 1 && shape_sources(op, source)) {
        for (int d = 0; d < op_in(op, 0)->type->rank; d++)
            inner[d] = -1;
        for (int d = 0; d < mask->type->rank; d++)
            if (source[d] >= 0)
                inner[source[d]] = place[d];
        add_conditions(m, op_in(op, 0), inner);
    } else {
        unknown(m, "the mask has a condition that is no comparison of integers");
    }
}

void mask_constraints(Affines *affines, Value *mask, const Op *at, Constraints *out) {
    Masks m = {affines, at, out, MAX_PARTS};
    int place[MAX_RANK];
    *out = (Constraints){0};
    if (!mask)
        return;
    for (int d = 0; d < mask->type->rank; d++)
        place[d] = d;
    add_conditions(&m, mask, place);
}

bool mask_bounds(Affines *affines, Value *mask, const Op *at, int dim, const Poly *bound) {
    Constraints constraints;
    mask_constraints(affines, mask, at, &constraints);
    for (int i = 0; i < constraints.count; i++) {
        const Constraint *c = &constraints.list[i];
        if (c->dim == dim && c->is_upper &&
            poly_is_nonnegative(affines, poly_sum(affines->arena, bound, c->bound, -1), at))
            return true;
    }
    return false;
}
