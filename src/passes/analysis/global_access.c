/* See global_access.h.
 *
 * Two accesses are known not to meet where one of these holds:
 *
 *   - they count from different arguments, which are taken to point to different memory, or, in the
 *     form for launches in place, to one array or different ones;
 *   - their bytes are apart, by the affine forms of the addresses (affine.h);
 *   - each byte belongs to one thread in both: of one layout that holds nothing in two threads, the
 *     addresses are the same, or lines that begin a multiple of the layout's period apart;
 *   - both are of one element, and made by the first of the threads that hold it, wherever it is;
 *   - they are atomic operations that may be exchanged.
 *
 * The later address less the earlier one is first + k * step: k is 0 if what both are computed from
 * is the same, and any number from 1 on if so many iterations of a loop lie between them.
 *
 * Where rows of a tile lie as many elements apart as the launch says, elements of different rows
 * are taken to be at different places, also beyond the tile: so strides of tensors make them. */
#include "passes/analysis/global_access.h"
#include "ir/scratch.h"
#include "passes/analysis/pointer_origin.h"
#include "passes/rewrite.h"

#include <stdlib.h>

enum { MOST_DIVISIBLE = 1 << 20, MOST_DISTANCE = 1 << 30, COINCIDE_BUDGET = 1000 };

static bool touches_memory(const Op *op) {
    return op_has(op, READS | WRITES) && !op_has(op, SYNC) && !op_has(op, SAYS) &&
           op->code != OP_copy_block && op->nin > 0 && type_is_pointer(op_in(op, 0)->type);
}

const GlobalAccess *global_access(GlobalAccesses *accesses, const Op *op, uint32_t i) {
    if (i != 0 || !touches_memory(op))
        return NULL;
    GlobalAccess *access = ptrmap_get(&accesses->known, op);
    if (access)
        return access;
    access = ARENA_NEW(accesses->known.arena, GlobalAccess);
    *access = (GlobalAccess){.op = op,
                             .pointer = op_in(op, 0),
                             .origin = pointer_origin(op_in(op, 0)),
                             .writes = op_has(op, WRITES),
                             .by_all = op->code == OP_load && !op_by_owner(op) &&
                                       !op_scratch_bytes(op, accesses->func->num_warps),
                             .anywhere = op_has(op, LREADS | LWRITES)};
    ptrmap_set(&accesses->known, op, access);
    return access;
}

const Op *global_access_past(const GlobalAccess *access, const Op *past, const Op *loop) {
    bool inside = false; /* `past`, which says more */
    for (const Op *op = loop; op && past && !inside; op = op->block->parent)
        inside = op == past;
    return inside || value_is_outside(access->pointer, loop) ? past : loop;
}

/* Distances */

/* A pair whose addresses are compared. */
typedef struct Pair {
    Affines *affines;
    Arena *arena;
    const GlobalAccess *earlier, *later;
    const Affine *a, *b; /* their forms */
    const Op *past;
    const Poly *first, *step; /* the distance; one is NULL: it is not known */
} Pair;

/* The terms that iterations of `past` have a part in, or the others. */
static const Poly *terms_of(const Pair *p, const Poly *poly, bool moved) {
    const Poly *sum = poly_constant(p->arena, 0);
    for (int i = 0; i < poly->count; i++) {
        const Poly *term = poly_of_term(p->arena, &poly->terms[i]);
        if ((p->past && !poly_is_outside(term, p->past)) == moved)
            sum = poly_sum(p->arena, sum, term, 1);
    }
    return sum;
}

/* What the terms have of each number of the loop's index; NULL: they have something else. */
static const Poly *by_index(const Pair *p, const Poly *moved) {
    Term index = {.factor = 1, .degree = 1, .atoms = {&p->past->regions[0]->args[0]}};
    const Poly *sum = poly_constant(p->arena, 0);
    for (int i = 0; i < moved->count; i++) {
        Term rest;
        if (!term_quotient(&moved->terms[i], &index, &rest))
            return NULL;
        sum = poly_sum(p->arena, sum, poly_of_term(p->arena, &rest), 1);
    }
    return sum && poly_is_outside(sum, p->past) ? sum : NULL;
}

/* What the later access is computed from is there; of the earlier one only the index is known, to
 * be k steps behind. */
static void find_distance(Pair *p) {
    const Poly *moved = terms_of(p, p->a->offset, true);
    p->first = poly_sum(p->arena, p->b->offset, p->a->offset, -1);
    p->step = poly_constant(p->arena, 0);
    if (poly_is_zero(moved))
        return;
    bool counted = p->past->code == OP_for &&
                   op_ancestor_in((Op *)(uintptr_t)p->later->op, p->past->regions[0]);
    p->step = counted && moved ? poly_product(p->arena, by_index(p, moved),
                                              affine_of(p->affines, op_in(p->past, 2))->offset)
                               : NULL;
}

static bool has_strides(const Pair *p, const Affine *form) {
    for (int d = 0; d < form->rank; d++)
        if (form->dims[d].wrap || (p->past && !poly_is_outside(form->dims[d].stride, p->past)))
            return false;
    return true;
}

/* In a launch in place two arguments may be one array, which is then what both count from. */
static bool same_base(const Pair *p) {
    const Value *a = p->a->base, *b = p->b->base;
    const Func *func = p->earlier->op->block->func;
    return a == b || (func->in_place && a->owner == func->body && b->owner == func->body &&
                      a->type == b->type);
}

/* False: nothing is known of the addresses. */
static bool compare_forms(Pair *p) {
    p->a = affine_of(p->affines, p->earlier->pointer);
    p->b = affine_of(p->affines, p->later->pointer);
    if (p->a->why || p->b->why || !same_base(p) || !has_strides(p, p->a) || !has_strides(p, p->b) ||
        (p->past && !value_is_outside(p->a->base, p->past)))
        return false;
    find_distance(p);
    return true;
}

/* Bytes apart */

/* Along what a tile's elements lie from its offset on: lo to hi. */
typedef struct Reach {
    const Poly *lo, *hi;
    const Poly *known; /* at least zero where there are elements at all */
} Reach;

static bool never_negative(const Pair *p, const Poly *poly) {
    return poly_is_nonnegative(p->affines, poly, p->later->op);
}

/* The last index of dimension `d` at which the mask is on, as it says; NULL: it does not say. */
static const Poly *last_index(const Pair *p, const GlobalAccess *access, int d) {
    Constraints constraints;
    mask_constraints(p->affines, op_mask(access->op), access->op, &constraints);
    for (int i = 0; i < constraints.count; i++) {
        const Constraint *c = &constraints.list[i];
        bool holds = !p->past || access == p->later || poly_is_outside(c->bound, p->past);
        if (c->dim == d && c->is_upper && holds)
            return poly_sum(p->arena, c->bound, poly_constant(p->arena, 1), -1);
    }
    return NULL;
}

static bool find_reach(const Pair *p, const GlobalAccess *access, const Affine *form, bool masked,
                       Reach *reach) {
    const Poly *zero = poly_constant(p->arena, 0);
    *reach = (Reach){zero, zero, zero};
    for (int d = 0; d < form->rank; d++) {
        int64_t last = access->pointer->type->shape[d] - 1;
        const Poly *stride = form->dims[d].stride,
                   *bound = masked ? last_index(p, access, d) : NULL;
        if (!last)
            continue;
        const Poly *way =
            poly_product(p->arena, stride, bound ? bound : poly_constant(p->arena, last));
        reach->known = bound ? bound : reach->known;
        if (never_negative(p, stride))
            reach->hi = poly_sum(p->arena, reach->hi, way, 1);
        else if (never_negative(p, poly_sum(p->arena, zero, stride, -1)))
            reach->lo = poly_sum(p->arena, reach->lo, way, 1);
        else
            return false;
    }
    return true;
}

/* Not negative where the masks let both touch something. */
static bool grows(const Pair *p, const Reach *a, const Reach *b, const Poly *poly) {
    return never_negative(p, poly) || never_negative(p, poly_sum(p->arena, poly, a->known, -1)) ||
           never_negative(p, poly_sum(p->arena, poly, b->known, -1));
}

/* Does the later one lie behind the earlier one, or before it, whatever k is? */
static bool ranges_apart(const Pair *p, bool masked) {
    Arena *arena = p->arena;
    Reach a, b;
    if (!find_reach(p, p->earlier, p->a, masked, &a) || !find_reach(p, p->later, p->b, masked, &b))
        return false;
    const Poly *one = poly_constant(arena, 1), *zero = poly_constant(arena, 0);
    const Poly *least = poly_sum(arena, p->first, p->step, p->past != NULL);
    const Poly *behind = poly_sum(arena, poly_sum(arena, b.lo, a.hi, -1), one, -1);
    const Poly *before = poly_sum(arena, poly_sum(arena, a.lo, b.hi, -1), one, -1);
    return (grows(p, &a, &b, p->step) && never_negative(p, poly_sum(arena, behind, least, 1))) ||
           (grows(p, &a, &b, poly_sum(arena, zero, p->step, -1)) &&
            never_negative(p, poly_sum(arena, before, least, -1)));
}

/* Takes the multiple of `stride`, one product, out of `poly`. */
static const Poly *take_multiple(const Pair *p, const Poly *poly, const Term *stride,
                                 int64_t *multiple) {
    *multiple = 0;
    for (int i = 0; i < poly->count; i++) {
        Term quotient;
        if (!term_quotient(&poly->terms[i], stride, &quotient) || quotient.degree)
            continue;
        *multiple = quotient.factor;
        return poly_sum(p->arena, poly, poly_of_term(p->arena, stride), -quotient.factor);
    }
    return poly;
}

/* Is there still a number of such rows in it that is no constant? */
static bool has_multiple(const Poly *poly, const Term *stride) {
    Term row = *stride, times;
    row.factor = 1;
    for (int i = 0; poly && i < poly->count; i++)
        if (term_quotient(&poly->terms[i], &row, &times))
            return true;
    return false;
}

/* Constant strides of both tiles, the longest first, and how far an element of the earlier one may
 * be behind an element of the later one along each: -before to behind. */
typedef struct Grid {
    int count, budget;
    int64_t stride[MAX_RANK], before[MAX_RANK], behind[MAX_RANK];
} Grid;

static void add_line(Grid *grid, int64_t stride, int64_t before, int64_t behind) {
    bool turned = stride < 0;
    int at = grid->count++;
    for (stride = llabs(stride); at > 0 && grid->stride[at - 1] < stride; at--) {
        grid->stride[at] = grid->stride[at - 1];
        grid->before[at] = grid->before[at - 1];
        grid->behind[at] = grid->behind[at - 1];
    }
    grid->stride[at] = stride;
    grid->before[at] = turned ? behind : before;
    grid->behind[at] = turned ? before : behind;
}

static int64_t floor_quotient(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* Are two elements, one of each tile, at one place, the later tile being `distance` behind? Yes if
 * that takes too long to find out. */
static bool may_coincide(Grid *grid, int from, int64_t distance) {
    if (from == grid->count)
        return distance == 0;
    int64_t stride = grid->stride[from], lo = 0, hi = 0;
    for (int i = from + 1; i < grid->count; i++) {
        lo -= grid->stride[i] * grid->before[i];
        hi += grid->stride[i] * grid->behind[i];
    }
    if (stride == 0)
        return may_coincide(grid, from + 1, distance);
    int64_t first = -floor_quotient(hi - distance, stride),
            last = floor_quotient(distance - lo, stride);
    first = first > -grid->before[from] ? first : -grid->before[from];
    last = last < grid->behind[from] ? last : grid->behind[from];
    for (int64_t rows = first; rows <= last; rows++)
        if (grid->budget-- <= 0 || may_coincide(grid, from + 1, distance - rows * stride))
            return true;
    return false;
}

static bool grid_apart(const Pair *p, Grid *grid, int64_t first, int64_t step) {
    int64_t lo = 0, hi = 0;
    for (int i = 0; i < grid->count; i++) {
        lo -= grid->stride[i] * grid->before[i];
        hi += grid->stride[i] * grid->behind[i];
    }
    for (int64_t at = first + (p->past ? step : 0);; at += step) {
        if ((step > 0 && at > hi) || (step < 0 && at < lo))
            return true;
        if (grid->budget-- <= 0 || may_coincide(grid, 0, at))
            return false;
        if (step == 0)
            return true;
    }
}

/* Elements of a dimension of which the mask lets any be touched, by a constant. */
static int64_t touched(const Pair *p, const GlobalAccess *access, int d) {
    int64_t size = access->pointer->type->shape[d], last;
    const Poly *bound = size > 1 ? last_index(p, access, d) : NULL;
    return bound && poly_is_constant(bound, &last) && last >= 0 && last < size ? last + 1 : size;
}

static bool both_store(const Pair *p) {
    return p->earlier->op->code == OP_store && p->later->op->code == OP_store;
}

/* In different rows along a dimension whose stride the launch says; or apart by constants, with
 * such dimensions only where both store: a load that is a constant away may be of the next row. */
static bool rows_apart(const Pair *p) {
    const Poly *first = p->first, *step = p->step;
    Grid grid = {.budget = COINCIDE_BUDGET};
    int64_t constant, at, advance;
    bool by_launch = false;
    if (p->a->rank != p->b->rank)
        return false;
    for (int d = 0; d < p->a->rank; d++) {
        const Poly *stride = p->a->dims[d].stride;
        int64_t rows_a = touched(p, p->earlier, d), rows_b = touched(p, p->later, d);
        if (p->earlier->pointer->type->shape[d] == 1 && p->later->pointer->type->shape[d] == 1)
            continue;
        if (!poly_equal(stride, p->b->dims[d].stride))
            return false;
        if (poly_is_constant(stride, &constant)) {
            if (llabs(constant) > MOST_DIVISIBLE)
                return false;
            add_line(&grid, constant, rows_b - 1, rows_a - 1);
            continue;
        }
        if (stride->count != 1 || rows_a == 1 || rows_b == 1)
            return false;
        by_launch = true;
        first = take_multiple(p, first, &stride->terms[0], &at);
        step = take_multiple(p, step, &stride->terms[0], &advance);
        if (has_multiple(first, &stride->terms[0]) || has_multiple(step, &stride->terms[0]))
            return false;
        int64_t least = at + (p->past ? advance : 0);
        if ((advance >= 0 && least >= rows_a) || (advance <= 0 && least <= -rows_b))
            return true;
    }
    return (!by_launch || both_store(p)) && poly_is_constant(first, &at) &&
           poly_is_constant(step, &advance) && llabs(at) <= MOST_DISTANCE &&
           llabs(advance) <= MOST_DISTANCE && grid_apart(p, &grid, at, advance);
}

/* A dimension of the tile has rows that lie as far apart. */
static bool has_rows(const GlobalAccess *access, const Affine *form, const Term *apart) {
    Term times;
    for (int d = 0; d < form->rank; d++) {
        const Poly *stride = form->dims[d].stride;
        for (int i = 0; i < stride->count && access->pointer->type->shape[d] > 1; i++)
            if (term_quotient(&stride->terms[i], apart, &times) && !times.degree)
                return true;
    }
    return false;
}

/* Stores in different iterations, of rows as far apart as the launch says. Tiles of such rows may
 * have one row at different places: of these rows_apart knows. */
static bool rows_stored(const Pair *p) {
    int64_t at, rest, advance;
    if (!both_store(p) || p->step->count != 1 || !p->step->terms[0].degree)
        return false;
    Term row = p->step->terms[0];
    advance = row.factor;
    row.factor = 1;
    return !has_rows(p->earlier, p->a, &row) && !has_rows(p->later, p->b, &row) &&
           poly_is_constant(take_multiple(p, p->first, &row, &at), &rest) &&
           (advance > 0 ? at + advance > 0 : at + advance < 0);
}

/* Bytes of one thread */

/* Elements of a tile are at places of their own. Strides that are no constants see to that. */
static bool names_once(const Pair *p, const Affine *form) {
    int64_t reached = 0, stride[MAX_RANK], span[MAX_RANK];
    const Type *type = p->earlier->pointer->type;
    int count = 0;
    for (int d = 0; d < form->rank; d++) {
        int64_t constant;
        if (type->shape[d] == 1 || !poly_is_constant(form->dims[d].stride, &constant))
            continue;
        int at = count++;
        for (constant = llabs(constant); at > 0 && stride[at - 1] > constant; at--) {
            stride[at] = stride[at - 1];
            span[at] = span[at - 1];
        }
        stride[at] = constant;
        span[at] = constant * (type->shape[d] - 1);
    }
    for (int i = 0; i < count; reached += span[i++])
        if (stride[i] <= reached)
            return false;
    return true;
}

static bool same_strides(const Pair *p) {
    if (p->earlier->pointer->type != p->later->pointer->type)
        return false;
    for (int d = 0; d < p->a->rank; d++)
        if (!poly_equal(p->a->dims[d].stride, p->b->dims[d].stride))
            return false;
    return true;
}

/* Elements of a line after which its layout begins again with the first thread, for lines of any
 * number of periods; 0: it is none of a thread's elements side by side. */
static int64_t period_of(const Type *type) {
    const Layout *layout = type->layout;
    int64_t period = 1;
    for (int i = 0; i < layout_in_bits(layout); i++) {
        uint32_t basis = layout->basis[i];
        if (basis & (basis - 1))
            return 0;
        if (i >= layout->bits[LAYOUT_REG] && 2 * (int64_t)basis > period)
            period = 2 * (int64_t)basis;
    }
    return period;
}

static bool terms_divide(const Pair *p, const Poly *poly, int64_t by) {
    for (int i = 0; poly && i < poly->count; i++) {
        const Term *term = &poly->terms[i];
        int64_t product = term->factor % by;
        for (int k = 0; k < term->degree; k++) {
            int64_t divisible = facts_divisible(affines_facts(p->affines), term->atoms[k]);
            product = product * (divisible < MOST_DIVISIBLE ? divisible : MOST_DIVISIBLE) % by;
        }
        if (product)
            return false;
    }
    return poly != NULL;
}

/* Lines of one dimension, whose offsets differ by periods of the layout. */
static bool in_phase(const Pair *p) {
    const Type *type = p->earlier->pointer->type;
    int64_t stride = 0;
    for (int d = 0; d < type->rank; d++)
        if (type->shape[d] > 1 &&
            (stride || !poly_is_constant(p->a->dims[d].stride, &stride) || stride == 0))
            return false;
    int64_t period = stride && type->layout ? period_of(type) : 0, by;
    if (!period || __builtin_mul_overflow(llabs(stride), period, &by) || by > MOST_DIVISIBLE)
        return false;
    const Poly *a = p->a->offset, *b = p->b->offset;
    return terms_divide(p, poly_sum(p->arena, terms_of(p, b, false), terms_of(p, a, false), -1),
                        by) &&
           terms_divide(p, terms_of(p, a, true), by) && terms_divide(p, terms_of(p, b, true), by);
}

static bool one_thread(const Pair *p) {
    bool all = p->earlier->by_all || p->later->by_all;
    const Func *func = p->earlier->op->block->func;
    if (!same_strides(p) || !names_once(p, p->a) ||
        (all && type_repeating_threads(p->earlier->pointer->type, func->num_warps)))
        return false;
    return (poly_is_zero(p->first) && poly_is_zero(p->step)) || in_phase(p);
}

static bool by_first_thread(const GlobalAccess *access) {
    const Type *type = access->pointer->type;
    return !access->by_all && (!type_is_tile(type) || type_numel(type) == 1);
}

/* Sums, bits and extremes, of which nobody looks at what was there. */
static bool may_be_exchanged(const Op *a, const Op *b) {
    return a->code == OP_atomic_rmw && b->code == OP_atomic_rmw &&
           atomic_rmw_attrs(a)->kind == atomic_rmw_attrs(b)->kind &&
           atomic_rmw_attrs(a)->kind != RMW_XCHG && value_unused(&a->out[0]) &&
           value_unused(&b->out[0]);
}

static bool may_meet(Pair *p) {
    if (!compare_forms(p))
        return true;
    bool apart =
        p->first && p->step &&
        (ranges_apart(p, false) || ranges_apart(p, true) || rows_apart(p) || rows_stored(p));
    return !apart && !one_thread(p);
}

bool global_accesses_meet(GlobalAccesses *accesses, const GlobalAccess *earlier, const Op *past,
                          const GlobalAccess *later) {
    if (!(earlier->writes || later->writes) || accesses->func->one_thread ||
        !origins_meet(accesses->func, earlier->origin, later->origin) ||
        may_be_exchanged(earlier->op, later->op))
        return false;
    if (earlier->anywhere || later->anywhere)
        return true;
    if (by_first_thread(earlier) && by_first_thread(later))
        return false;
    if (!accesses->affines) {
        accesses->affines = affines_create(accesses->func, accesses->known.arena);
        accesses->pairs = arena_within(accesses->known.arena);
        arena_alloc(accesses->pairs, 1); /* the chunk that all comparisons use */
    }
    const ArenaMark mark = arena_mark(accesses->pairs);
    Pair p = {.affines = accesses->affines,
              .arena = accesses->pairs,
              .earlier = earlier,
              .later = later,
              .past = past};
    const bool meet = may_meet(&p);
    arena_rewind(accesses->pairs, mark);
    return meet;
}
