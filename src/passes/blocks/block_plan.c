/* How the parts of an address become dimensions of a tensor: see raise_pointers.c. */
#include "passes/blocks/block_plan.h"
#include "ir/recipe.h"
#include "passes/analysis/affine_internal.h"
#include "passes/analysis/unobserved.h"
#include "passes/blocks/tensor_maps.h"
#include "passes/rewrite.h"

/* What is known of one dimension of the tile before it is given a place. */
typedef struct Bound {
    const Poly *upper; /* the index is below this; NULL: no bound */
    const Poly *lower; /* the index is at least this; NULL: no bound, or none that matters */
    const Wrap *wrap;
} Bound;

typedef struct Planner {
    Affines *a;
    Arena *arena; /* of polynomials */
    Op *op;
    BlockPlan *plan;
    const Type *tile;
    const Poly *rest; /* of the offset, what has no dimension yet */
    const char *why_not;
    BlockDim dims[MAX_RANK]; /* of the tile */
    BlockDim extra[RECIPE_MAX_RANK];
    Bound bounds[MAX_RANK];
} Planner;

static const char too_long[] = "its index is too long a sum";

static bool give_up(Planner *p, const char *why_not) {
    p->why_not = why_not;
    return false;
}

static bool give_up_sum(Planner *p, const char *what, const Poly *poly) {
    StrBuf text = strbuf(&func_ctx(p->op->block->func)->arena);
    strbuf_printf(&text, "%s: ", what);
    if (poly)
        poly_print(poly, &text);
    return give_up(p, text.ptr);
}

/* Of a dimension of the tile; `poly`, which may be NULL, is shown. */
static bool give_up_at(Planner *p, const char *what, int dim, const Poly *poly) {
    Arena *arena = &func_ctx(p->op->block->func)->arena;
    const char *full = str_format(arena, "%s, along dimension %d", what, dim);
    return poly ? give_up_sum(p, full, poly) : give_up(p, full);
}

static const Poly *zero(Planner *p) {
    return poly_constant(p->arena, 0);
}

static bool term_is_invariant(const Term *term) {
    for (int i = 0; i < term->degree; i++)
        if (!launch_invariant(term->atoms[i]))
            return false;
    return true;
}

static bool poly_is_invariant(const Poly *poly) {
    for (int i = 0; i < poly->count; i++)
        if (!term_is_invariant(&poly->terms[i]))
            return false;
    return true;
}

static bool is_nonnegative(Planner *p, const Poly *poly) {
    return poly_is_nonnegative(p->a, poly, p->op);
}

/* Pointers and mask */

static bool read_pointers(Planner *p) {
    const Affine *form = affine_of(p->a, op_in(p->op, 0));
    if (form->why)
        return give_up(p, form->why);
    if (!launch_invariant(form->base))
        return give_up(p, "its pointer is not made of kernel parameters alone");
    p->plan->base = form->base;
    p->rest = form->offset;
    for (int d = 0; d < p->tile->rank; d++) {
        p->dims[d] = (BlockDim){.stride = form->dims[d].stride, .side = p->tile->shape[d]};
        p->bounds[d].wrap = form->dims[d].wrap;
        if (p->tile->shape[d] == 1) /* any aligned stride will do */
            p->dims[d] = (BlockDim){.stride = poly_constant(p->arena, TENSOR_COPY_ALIGNMENT),
                                    .extent = poly_constant(p->arena, 1),
                                    .place = poly_constant(p->arena, 0),
                                    .side = 1};
        else if (!poly_is_invariant(form->dims[d].stride))
            return give_up_at(p, "the program and not only the launch decides a stride", d,
                              form->dims[d].stride);
    }
    return true;
}

/* The stricter of two bounds, if one is. */
static const Poly *stricter(Planner *p, const Poly *a, const Poly *b) {
    if (!a || is_nonnegative(p, poly_sum(p->arena, a, b, -1)))
        return b;
    return is_nonnegative(p, poly_sum(p->arena, b, a, -1)) ? a : NULL;
}

static bool take_constraint(Planner *p, const Constraint *c) {
    Bound *bound = &p->bounds[c->dim];
    if (c->is_upper) {
        bound->upper = stricter(p, bound->upper, c->bound);
        return bound->upper || give_up_at(p, "the mask has two bounds", c->dim, c->bound);
    }
    if (is_nonnegative(p, poly_sum(p->arena, zero(p), c->bound, -1)))
        return true;
    if (bound->lower && !poly_equal(bound->lower, c->bound))
        return give_up_at(p, "the mask has two lower bounds", c->dim, c->bound);
    bound->lower = c->bound;
    return true;
}

static bool read_mask(Planner *p) {
    bool loads = p->op->code == OP_load;
    uint32_t index = loads ? 1 : 2;
    if (p->op->nin <= index)
        return true;
    if (loads && p->op->nin > 2 && !value_is_positive_zero(op_in(p->op, 2)))
        return give_up(p, "its `other` is not zero");
    Constraints mask;
    mask_constraints(p->a, op_in(p->op, index), p->op, &mask);
    if (mask.why)
        return give_up(p, mask.why);
    for (int i = 0; i < mask.count; i++)
        if (!take_constraint(p, &mask.list[i]))
            return false;
    return true;
}

/* Rows modulo something */

static bool is_multiple(Planner *p, const Poly *poly, int64_t side) {
    for (int i = 0; i < poly->count; i++) {
        int64_t factor = poly->terms[i].factor, divisor = factor % side ? factor & -factor : side;
        for (int k = 0; k < poly->terms[i].degree && divisor < side; k++)
            divisor *= facts_divisible(affines_facts(p->a), poly->terms[i].atoms[k]) < side
                           ? facts_divisible(affines_facts(p->a), poly->terms[i].atoms[k])
                           : side;
        if (divisor < side)
            return false;
    }
    return true;
}

/* The index (i + offset) mod modulus becomes i + offset: nothing wraps where the mask is on, or
 * nobody sees what does, or the tile wraps as a whole. */
static bool unwrap(Planner *p, int d) {
    Bound *bound = &p->bounds[d];
    const Wrap *wrap = bound->wrap;
    BlockDim *dim = &p->dims[d];
    const Poly *upper = poly_sum(p->arena, wrap->modulus, wrap->offset, -1);
    const char *why;
    if (!upper)
        return give_up_at(p, too_long, d, NULL);
    if (!poly_is_invariant(wrap->modulus))
        return give_up_at(p, "the program and not only the launch decides what its index wraps at",
                          d, wrap->modulus);
    if (!is_nonnegative(p, wrap->offset))
        return give_up_at(p, "what wraps may be negative", d, wrap->offset);
    if (!bound->upper || !is_nonnegative(p, poly_sum(p->arena, upper, bound->upper, -1))) {
        bool is_load = p->op->code == OP_load;
        bool unobserved = is_load && rows_are_unobserved(p->a, op_out(p->op), d, upper, &why);
        /* Second choice: a division, which a loop cannot always do ahead of its iterations. */
        if (!unobserved && !bound->upper && !bound->lower &&
            is_multiple(p, wrap->modulus, dim->side) && is_multiple(p, wrap->offset, dim->side)) {
            dim->extent = wrap->modulus;
            dim->place = wrap->offset;
            dim->wraps = true;
            return true;
        }
        if (!is_load)
            return give_up_at(p, "the indices of a store wrap", d, wrap->modulus);
        if (!unobserved)
            return give_up_at(p, str_format(p->arena, "its index wraps, and %s", why), d,
                              wrap->modulus);
        bound->upper = bound->upper ? stricter(p, bound->upper, upper) : upper;
        if (!bound->upper)
            return give_up_at(p, "its index wraps at another bound than its mask", d, upper);
    }
    p->rest = poly_sum(p->arena, p->rest, poly_product(p->arena, dim->stride, wrap->offset), 1);
    return p->rest || give_up_at(p, too_long, d, NULL);
}

/* One row again and again, as what is taken modulo 1: the first is enough if nobody sees the
 * others.
 */
static bool repeat(Planner *p, int d) {
    BlockDim *dim = &p->dims[d];
    const Poly *one = poly_constant(p->arena, 1);
    const char *why = "it is a store";
    bool bounded = p->bounds[d].upper || p->bounds[d].lower;
    if (bounded || p->op->code != OP_load ||
        !rows_are_unobserved(p->a, op_out(p->op), d, one, &why))
        return give_up_at(
            p, str_format(p->arena, "it repeats elements, and %s", bounded ? "masks them" : why), d,
            NULL);
    dim->stride = poly_constant(p->arena, TENSOR_COPY_ALIGNMENT);
    dim->extent = one;
    dim->place = zero(p);
    dim->checked = true;
    return true;
}

/* Dimensions of the tile */

/* Every term of `part` is one of `whole`. */
static bool has_terms(Planner *p, const Poly *whole, const Poly *part) {
    const Poly *left = poly_sum(p->arena, whole, part, -1);
    return left && left->count == whole->count - part->count;
}

/* index < upper is index < extent - place. The extent gets what is positive, which must not depend
 * on the program. What is taken away from it is the place; but a part that the launch decides is
 * the place's only where the pointer moves along with it. */
static bool split_bound(Planner *p, int d) {
    BlockDim *dim = &p->dims[d];
    const Poly *upper = p->bounds[d].upper;
    dim->extent = dim->place = zero(p);
    for (int i = 0; i < upper->count; i++) {
        const Poly *term = poly_of_term(p->arena, &upper->terms[i]);
        const Poly *moved = poly_product(p->arena, poly_product(p->arena, term, dim->stride),
                                         poly_constant(p->arena, -1));
        bool invariant = term_is_invariant(&upper->terms[i]);
        bool adds = upper->terms[i].factor > 0;
        if (adds && !invariant)
            return give_up_at(p, "the program and not only the launch decides its extent", d,
                              upper);
        if (adds || (invariant && !(moved && has_terms(p, p->rest, moved))))
            dim->extent = poly_sum(p->arena, dim->extent, term, 1);
        else
            dim->place = poly_sum(p->arena, dim->place, term, -1);
    }
    return (dim->extent && dim->place) || give_up_at(p, too_long, d, NULL);
}

static bool place_bounded(Planner *p, int d) {
    BlockDim *dim = &p->dims[d];
    const Bound *bound = &p->bounds[d];
    dim->checked = true;
    if (bound->upper) {
        if (!split_bound(p, d))
            return false;
    } else {
        dim->extent = poly_constant(p->arena, BLOCK_ANY_EXTENT);
        dim->place = poly_sum(p->arena, zero(p), bound->lower, -1);
    }
    p->rest = poly_sum(p->arena, p->rest, poly_product(p->arena, dim->stride, dim->place), -1);
    if (!p->rest)
        return give_up_at(p, too_long, d, NULL);
    const Poly *start = bound->lower ? poly_sum(p->arena, dim->place, bound->lower, 1) : NULL;
    if (bound->lower && !poly_is_zero(start))
        return give_up_at(p, "its lower bound is not that of a tensor", d, bound->lower);
    return bound->lower || is_nonnegative(p, dim->place) ||
           give_up_at(p, "its index may be negative where its mask is on", d, dim->place);
}

/* Products of the stride in the rest of the offset. What the launch decides stays there; along the
 * dimension of stride 1 so does what has a stride of its own. */
static bool place_free(Planner *p, int d) {
    BlockDim *dim = &p->dims[d];
    int64_t side;
    dim->place = zero(p);
    for (int i = 0; dim->stride->count == 1 && i < p->rest->count; i++) {
        const Term *term = &p->rest->terms[i], *stride = &dim->stride->terms[0];
        Term quotient;
        bool own = stride->degree == 0 && stride->factor == 1;
        for (int k = 0; k < term->degree; k++)
            own = own && !launch_invariant(term->atoms[k]);
        if (term_is_invariant(term) || (stride->degree == 0 && stride->factor == 1 && !own) ||
            !term_quotient(term, stride, &quotient))
            continue;
        dim->place = poly_sum(p->arena, dim->place, poly_of_term(p->arena, &quotient), 1);
    }
    p->rest = poly_sum(p->arena, p->rest, poly_product(p->arena, dim->stride, dim->place), -1);
    bool fixed = poly_is_constant(dim->place, &side);
    dim->extent = poly_constant(p->arena, fixed ? side + dim->side : BLOCK_ANY_EXTENT);
    return (p->rest && is_nonnegative(p, dim->place)) ||
           give_up_at(p, "its index may be negative, which no mask forbids", d, dim->place);
}

/* Dimensions of one element */

typedef struct Split {
    Term stride, place;
} Split;

/* A term as a stride, which the launch decides, times a place. */
static Split split_term(const Term *term) {
    Split split = {{.factor = 1}, {.factor = term->factor}};
    for (int i = 0; i < term->degree; i++) {
        Term *to = launch_invariant(term->atoms[i]) ? &split.stride : &split.place;
        to->atoms[to->degree++] = term->atoms[i];
    }
    return split;
}

/* Not negative, but for 2^63, which no sum can be divided by. */
static int64_t common_divisor(int64_t first, int64_t second) {
    uint64_t a = first < 0 ? -(uint64_t)first : (uint64_t)first;
    uint64_t b = second < 0 ? -(uint64_t)second : (uint64_t)second;
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return (int64_t)a;
}

/* The terms of `rest` with the same stride as `first`, as one dimension. */
static bool add_dimension(Planner *p, const Term *first) {
    Split like = split_term(first);
    BlockDim *dim = &p->extra[p->plan->extra];
    const Poly *place = zero(p), *stride = poly_of_term(p->arena, &like.stride);
    int64_t scale = 0;
    if (p->plan->extra + p->tile->rank == RECIPE_MAX_RANK)
        return give_up(p, "its address has more than five independent parts");
    for (int i = 0; i < p->rest->count; i++) {
        Split split = split_term(&p->rest->terms[i]);
        if (term_is_invariant(&p->rest->terms[i]) ||
            !poly_equal(poly_of_term(p->arena, &split.stride), stride))
            continue;
        scale = common_divisor(split.place.factor, scale);
        place = poly_sum(p->arena, place, poly_of_term(p->arena, &split.place), 1);
    }
    *dim = (BlockDim){.side = 1, .extent = poly_constant(p->arena, BLOCK_ANY_EXTENT)};
    dim->stride = poly_product(p->arena, stride, poly_constant(p->arena, scale));
    dim->place = poly_quotient(p->arena, place, scale);
    p->rest = poly_sum(p->arena, p->rest, poly_product(p->arena, dim->stride, dim->place), -1);
    p->plan->extra++;
    if (!p->rest || !dim->place)
        return give_up(p, "its address is too long a sum");
    return is_nonnegative(p, dim->place) ||
           give_up_sum(p, "a part of its address may be negative, which no mask forbids",
                       dim->place);
}

static bool place_rest(Planner *p) {
    for (int i = 0; i < p->rest->count;) {
        if (term_is_invariant(&p->rest->terms[i])) {
            i++;
            continue;
        }
        if (!add_dimension(p, &p->rest->terms[i]))
            return false;
        i = 0;
    }
    p->plan->base_offset = p->rest;
    return true;
}

/* All */

static bool is_unit(const BlockDim *dim) {
    int64_t stride;
    return poly_is_constant(dim->stride, &stride) && stride == 1;
}

static bool place_dimensions(Planner *p) {
    int rank = p->tile->rank;
    if (rank > RECIPE_MAX_RANK)
        return give_up(p, "it has more than five dimensions");
    for (int d = 0; d < rank; d++)
        if (poly_is_zero(p->dims[d].stride) ? !repeat(p, d) : p->bounds[d].wrap && !unwrap(p, d))
            return false;
    for (int d = 0; d < rank; d++)
        if (!p->dims[d].place && (p->bounds[d].upper || p->bounds[d].lower) && !place_bounded(p, d))
            return false;
    for (int unit = 0; unit < 2; unit++)
        for (int d = 0; d < rank; d++)
            if (!p->dims[d].place && is_unit(&p->dims[d]) == (unit == 1) && !place_free(p, d))
                return false;
    return place_rest(p);
}

/* A block already, but its base depends on the program: what does becomes dimensions. */
static bool read_block(Planner *p) {
    BlockAccess access = block_access(p->op);
    const Affine *base = affine_of(p->a, op_in(p->op, 0));
    if (!launch_invariant(base->base))
        return give_up(p, "its pointer is not made of kernel parameters alone");
    p->plan->base = base->base;
    p->rest = base->offset;
    for (uint32_t d = 0; d < (uint32_t)access.rank; d++)
        p->dims[d] = (BlockDim){.extent = affine_of(p->a, op_in(p->op, access.shape + d))->offset,
                                .stride = affine_of(p->a, op_in(p->op, access.strides + d))->offset,
                                .place = affine_of(p->a, op_in(p->op, access.offsets + d))->offset,
                                .checked = block_checks(&access, (int)d),
                                .side = access.tile->shape[d]};
    return true;
}

/* The source has mostly computed the place already, or all of it but the loop's index. */
static void find_place(Planner *p, BlockDim *dim) {
    dim->not_found = zero(p);
    dim->found = affines_find(p->a, dim->place, p->op);
    for (int i = 0; !dim->found && dim->place->count > 1 && i < dim->place->count; i++) {
        dim->not_found = poly_of_term(p->arena, &dim->place->terms[i]);
        dim->found = affines_find(p->a, poly_sum(p->arena, dim->place, dim->not_found, -1), p->op);
    }
    if (!dim->found)
        dim->not_found = dim->place;
}

bool block_plan(Affines *affines, Op *access, BlockPlan *plan, const char **why_not) {
    bool loads = op_is_load(access);
    Planner p = {.a = affines,
                 .arena = affines->arena,
                 .op = access,
                 .plan = plan,
                 .tile = loads ? op_out(access)->type : op_in(access, 1)->type};
    *plan = (BlockPlan){0};
    bool found = op_is_block_access(access)
                     ? p.tile->rank <= RECIPE_MAX_RANK && read_block(&p) && place_rest(&p)
                     : read_pointers(&p) && read_mask(&p) && place_dimensions(&p);
    *why_not = p.why_not;
    plan->rank = plan->extra + p.tile->rank;
    for (int d = 0; found && d < plan->rank; d++) {
        plan->dims[d] = d < plan->extra ? p.extra[d] : p.dims[d - plan->extra];
        find_place(&p, &plan->dims[d]);
    }
    return found;
}
