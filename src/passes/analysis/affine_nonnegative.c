/* What is known not to be negative at a place: see affine.h.
 *
 * A sum is not negative when its terms are not, or when it still is not after a multiple of
 * something known has been taken from it. Known are, besides facts, comparisons that hold at the
 * place: an assume before it, the condition of a branch it is in, and of a for loop around it with
 * a positive step
 *
 *     %i - %lo >= 0,    %hi - %i - 1 >= 0,    likewise for a and b where %hi is min(a, b) */
#include "passes/analysis/affine_internal.h"
#include "passes/analysis/fold.h"
#include "passes/rewrite.h"

enum { MAX_KNOWN = 32, MAX_ATOM_DEPTH = 6, BUDGET = 400 };

typedef struct Sign {
    Affines *a;
    const Op *at;
    int budget; /* of atoms looked at */
    int count;
    const Poly *known[MAX_KNOWN]; /* at least zero */
} Sign;

static void know(Sign *s, const Poly *poly) {
    if (poly && s->count < MAX_KNOWN)
        s->known[s->count++] = poly;
}

/* larger - smaller - strict >= 0 */
static void know_order(Sign *s, Value *larger, Value *smaller, bool strict) {
    Arena *arena = s->a->arena;
    const Poly *difference =
        poly_sum(arena, affine_of(s->a, larger)->offset, affine_of(s->a, smaller)->offset, -1);
    know(s, poly_sum(arena, difference, poly_constant(arena, strict), -1));
    const Op *op = larger->def;
    if (op && op->code == OP_minsi) {
        know_order(s, op_in(op, 0), smaller, strict);
        know_order(s, op_in(op, 1), smaller, strict);
    }
}

static void know_comparison(Sign *s, const Op *op, bool holds) {
    Value *a = op_in(op, 0), *b = op_in(op, 1);
    IntPredicate pred = cmpi_attrs(op)->pred;
    if (!type_is_int(a->type) || a->type->rank || a->type->dtype == DT_I1)
        return;
    switch (holds ? pred : predicate_invert(pred)) {
    case IPRED_SLT:
        know_order(s, b, a, true);
        break;
    case IPRED_SLE:
        know_order(s, b, a, false);
        break;
    case IPRED_SGT:
        know_order(s, a, b, true);
        break;
    case IPRED_SGE:
        know_order(s, a, b, false);
        break;
    case IPRED_EQ:
        know_order(s, a, b, false);
        know_order(s, b, a, false);
        break;
    case IPRED_NE:
    case IPRED_ULT:
    case IPRED_ULE:
    case IPRED_UGT:
    case IPRED_UGE:
    case IPRED_COUNT:
        break;
    }
}

static void know_condition(Sign *s, const Value *condition, bool holds) {
    const Op *op = condition->def;
    if (op && op->code == OP_cmpi)
        know_comparison(s, op, holds);
    if (op && op->code == (holds ? OP_andi : OP_ori)) {
        know_condition(s, op_in(op, 0), holds);
        know_condition(s, op_in(op, 1), holds);
    }
}

static void know_loop(Sign *s, const Op *loop) {
    int64_t step;
    Value *index = &loop->regions[0]->args[0];
    if (!value_int_constant(op_in(loop, 2), &step) || step <= 0)
        return;
    know_order(s, index, loop_first_index(loop), false);
    know_order(s, op_in(loop, 1), index, true);
}

/* Everything that holds at `at`. */
static void gather(Sign *s) {
    for (const Block *block = s->at->block; block->parent; block = block->parent->block) {
        const Op *parent = block->parent;
        if (parent->code == OP_for)
            know_loop(s, parent);
        else if (parent->code == OP_if)
            know_condition(s, op_in(parent, 0), block == parent->regions[0]);
        else if (parent->code == OP_while && block == parent->regions[1])
            know_condition(s, op_in(parent->regions[0]->last, 0), true);
    }
    vec_for_each (assume, &s->a->assumptions) {
        const Op *place = op_ancestor_in((Op *)(uintptr_t)s->at, (*assume)->block);
        for (const Op *op = place; op; op = op->prev)
            if (op == *assume)
                know_condition(s, op_in(op, 0), true);
    }
}

static bool atom_is_nonnegative(Sign *s, Value *atom, int depth);

/* Term by term, times -1 if `negated`. */
static bool terms_are_nonnegative(Sign *s, const Poly *poly, bool negated, int depth) {
    for (int i = 0; i < poly->count; i++) {
        if ((poly->terms[i].factor < 0) != negated)
            return false;
        for (int k = 0; k < poly->terms[i].degree; k++)
            if (!atom_is_nonnegative(s, poly->terms[i].atoms[k], depth))
                return false;
    }
    return true;
}

/* One of the known is c * atom + rest >= 0 with c > 0 and rest <= 0. */
static bool atom_is_bounded(Sign *s, const Value *atom, int depth) {
    for (int i = 0; i < s->count; i++) {
        const Poly *poly = s->known[i];
        for (int k = 0; k < poly->count; k++) {
            const Term *term = &poly->terms[k];
            if (term->degree != 1 || term->atoms[0] != atom || term->factor <= 0)
                continue;
            const Poly *rest = poly_sum(s->a->arena, poly, poly_of_term(s->a->arena, term), -1);
            if (rest && terms_are_nonnegative(s, rest, true, depth))
                return true;
        }
    }
    return false;
}

/* The known thing times a whole number, so that its first term cancels one of the polynomial's. */
static const Poly *without_multiple(Sign *s, const Poly *poly, const Poly *known) {
    for (int i = 0; known->count && i < poly->count; i++) {
        Term quotient;
        if (term_quotient(&poly->terms[i], &known->terms[0], &quotient) && quotient.degree == 0 &&
            quotient.factor > 0)
            return poly_sum(s->a->arena, poly, known, -quotient.factor);
    }
    return NULL;
}

static bool sum_is_nonnegative(Sign *s, const Poly *poly, int depth) {
    if (terms_are_nonnegative(s, poly, false, depth))
        return true;
    for (int i = 0; i < s->count && s->budget > 0; i++) {
        const Poly *rest = without_multiple(s, poly, s->known[i]);
        if (rest && terms_are_nonnegative(s, rest, false, depth))
            return true;
    }
    return false;
}

static bool value_is_nonnegative(Sign *s, Value *value, int depth) {
    return sum_is_nonnegative(s, affine_of(s->a, value)->offset, depth);
}

static bool atom_is_nonnegative(Sign *s, Value *atom, int depth) {
    if (facts_of(s->a->facts, atom)->sign != SIGN_UNKNOWN)
        return true;
    if (depth == 0 || s->budget-- <= 0)
        return false;
    if (atom_is_bounded(s, atom, depth - 1))
        return true;
    const Op *op = atom->def;
    if (!op)
        return false;
    /* Divided, or the rest of that, by what is not negative; see SIGN_BY_QUOTIENT. */
    if (op_has(op, QUOTIENT | MAY_TRAP))
        return value_is_nonnegative(s, op_in(op, 0), depth - 1);
    switch (op->code) {
    case OP_minsi:
        return value_is_nonnegative(s, op_in(op, 0), depth - 1) &&
               value_is_nonnegative(s, op_in(op, 1), depth - 1);
    case OP_maxsi:
        return value_is_nonnegative(s, op_in(op, 0), depth - 1) ||
               value_is_nonnegative(s, op_in(op, 1), depth - 1);
    case OP_select:
        return value_is_nonnegative(s, op_in(op, 1), depth - 1) &&
               value_is_nonnegative(s, op_in(op, 2), depth - 1);
    default:
        return false;
    }
}

bool poly_is_nonnegative(Affines *affines, const Poly *poly, const Op *at) {
    Sign s = {.a = affines, .at = at, .budget = BUDGET};
    if (!poly)
        return false;
    if (terms_are_nonnegative(&s, poly, false, 0))
        return true;
    gather(&s);
    return sum_is_nonnegative(&s, poly, MAX_ATOM_DEPTH);
}
