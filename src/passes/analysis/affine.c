/* Forms of scalars and tiles: see affine.h. Masks are in affine_mask.c, signs in
 * affine_nonnegative.c.
 *
 * Scalars always have a form: what is not taken apart is an atom. Tiles may have none; then `why`
 * says what stood in the way, and goes up to all that is made of them.
 *
 * A value carried by a loop is looked up through a stand-in: while the value passed on is taken
 * apart, the carried one is its initial value's form with itself as offset. What was found with
 * the help of a stand-in is forgotten when the stand-in goes. */
#include "passes/analysis/affine_internal.h"
#include "passes/rewrite.h"

static bool collect_scalar(Op *op, void *user) {
    Affines *a = user;
    if (op_is_pure(op) && op->nout == 1 && op->out[0].type->rank == 0 &&
        type_is_index(op->out[0].type))
        vec_push(a->arena, &a->scalars, op_out(op));
    return true;
}

static bool collect_assumption(Op *op, void *user) {
    Affines *a = user;
    if (op->code == OP_assume)
        vec_push(a->arena, &a->assumptions, op);
    return true;
}

Affines *affines_create(Func *func, Arena *arena) {
    Affines *affines = ARENA_NEW(arena, Affines);
    *affines = (Affines){.arena = arena, .forms = {.arena = arena}};
    affines->facts = facts_compute(func, arena);
    func_walk(func, collect_assumption, affines);
    func_walk(func, collect_scalar, affines);
    return affines;
}

const Facts *affines_facts(const Affines *affines) {
    return affines->facts;
}

/* Forms */

static Affine *form_create(Affines *a, const Type *type) {
    Affine *form = ARENA_NEW(a->arena, Affine);
    *form = (Affine){.rank = type->rank, .offset = poly_constant(a->arena, 0)};
    for (int d = 0; d < type->rank; d++)
        form->dims[d].stride = form->offset;
    return form;
}

static const Affine *fail(Affines *a, const char *why) {
    Affine *form = ARENA_NEW(a->arena, Affine);
    *form = (Affine){.why = why};
    return form;
}

/* Of a scalar that is not taken apart. */
static const Affine *opaque_form(Affines *a, Value *scalar) {
    Affine *form = form_create(a, scalar->type);
    if (type_is_pointer(scalar->type))
        form->base = scalar;
    else
        form->offset = poly_atom(a->arena, scalar);
    return form;
}

static const char too_large[] = "an index is a sum of too many products";

/* x + scale * y of one dimension; a wrapped count and another one have no sum. */
static bool add_dim(Affines *a, AffineDim *x, const AffineDim *y, int64_t scale) {
    if (poly_is_zero(y->stride))
        return true;
    bool same =
        x->wrap == y->wrap || (x->wrap && y->wrap && poly_equal(x->wrap->offset, y->wrap->offset) &&
                               poly_equal(x->wrap->modulus, y->wrap->modulus));
    if (!same && !poly_is_zero(x->stride))
        return false;
    x->wrap = y->wrap;
    x->stride = poly_sum(a->arena, x->stride, y->stride, scale);
    return true;
}

/* The base is that of x. */
const Affine *affine_sum(Affines *a, const Affine *x, const Affine *y, int64_t scale) {
    if (x->why || y->why)
        return x->why ? x : y;
    Affine *form = ARENA_NEW(a->arena, Affine);
    *form = *x;
    form->offset = poly_sum(a->arena, x->offset, y->offset, scale);
    bool fits = form->offset != NULL;
    for (int d = 0; d < x->rank; d++) {
        if (!add_dim(a, &form->dims[d], &y->dims[d], scale))
            return fail(a, "an index is the sum of a wrapped and another count of one dimension");
        fits &= form->dims[d].stride != NULL;
    }
    return fits ? form : fail(a, too_large);
}

static bool is_uniform(const Affine *form) {
    for (int d = 0; d < form->rank; d++)
        if (!poly_is_zero(form->dims[d].stride))
            return false;
    return true;
}

static const Affine *affine_product(Affines *a, const Affine *x, const Affine *y) {
    if (x->why || y->why)
        return x->why ? x : y;
    const Affine *tile = is_uniform(y) ? x : y, *scale = is_uniform(y) ? y : x;
    if (!is_uniform(scale))
        return fail(a, "an index is the product of two counts");
    Affine *form = ARENA_NEW(a->arena, Affine);
    *form = *tile;
    form->offset = poly_product(a->arena, tile->offset, scale->offset);
    bool fits = form->offset != NULL;
    for (int d = 0; d < form->rank; d++) {
        form->dims[d].stride = poly_product(a->arena, tile->dims[d].stride, scale->offset);
        fits &= form->dims[d].stride != NULL;
    }
    return fits ? form : fail(a, too_large);
}

/* x mod modulus, where x counts one dimension. */
static const Affine *affine_remainder(Affines *a, const Affine *x, const Poly *modulus) {
    static const char why[] = "an index is the remainder of more than a count of one dimension";
    int along = -1;
    if (x->why)
        return x;
    for (int d = 0; d < x->rank; d++) {
        if (poly_is_zero(x->dims[d].stride))
            continue;
        int64_t stride;
        if (along >= 0 || x->dims[d].wrap || !poly_is_constant(x->dims[d].stride, &stride) ||
            stride != 1)
            return fail(a, why);
        along = d;
    }
    if (along < 0)
        return fail(a, why);
    Affine *form = ARENA_NEW(a->arena, Affine);
    Wrap *wrap = ARENA_NEW(a->arena, Wrap);
    *wrap = (Wrap){x->offset, modulus};
    *form = *x;
    form->offset = poly_constant(a->arena, 0);
    form->dims[along].wrap = wrap;
    return form;
}

/* Ops on scalars and tiles alike */

static const Affine *operand_form(Affines *a, const Op *op, uint32_t index) {
    return affine_of(a, op_in(op, index));
}

static bool is_nonnegative(const Affines *a, const Value *value) {
    return facts_of(a->facts, value)->sign == SIGN_NONNEGATIVE;
}

/* NULL: the op is none that has a form of its own. */
static const Affine *arithmetic_form(Affines *a, const Op *op) {
    int64_t constant;
    switch (op->code) {
    case OP_addi:
        return affine_sum(a, operand_form(a, op, 0), operand_form(a, op, 1), 1);
    case OP_subi:
        return affine_sum(a, operand_form(a, op, 0), operand_form(a, op, 1), -1);
    case OP_muli:
        return affine_product(a, operand_form(a, op, 0), operand_form(a, op, 1));
    case OP_shli: {
        if (!value_int_constant(op_in(op, 1), &constant) || constant < 0 || constant > 61)
            return NULL;
        const Type *scalar = type_scalar(func_ctx(op->block->func), DT_I64);
        Affine *scale = form_create(a, scalar);
        scale->offset = poly_constant(a->arena, (int64_t)1 << constant);
        return affine_product(a, operand_form(a, op, 0), scale);
    }
    case OP_extsi:
        return type_is_index(op_in(op, 0)->type) ? operand_form(a, op, 0) : NULL;
    case OP_extui:
        return type_is_index(op_in(op, 0)->type) && is_nonnegative(a, op_in(op, 0))
                   ? operand_form(a, op, 0)
                   : NULL;
    case OP_constant_int: {
        Affine *form = form_create(a, op->out[0].type);
        form->offset = poly_constant(
            a->arena, int_wrap(op->out[0].type->dtype, constant_int_attrs(op)->value));
        return form;
    }
    default:
        return NULL;
    }
}

/* Tiles */

static const Affine *remainder_form(Affines *a, const Op *op) {
    int64_t mask;
    if (op->code == OP_andi) { /* what simplify makes of a remainder by a power of two */
        if (!value_int_constant(op_in(op, 1), &mask) || mask < 0 || (mask & (mask + 1)))
            return NULL;
        return affine_remainder(a, operand_form(a, op, 0), poly_constant(a->arena, mask + 1));
    }
    const Affine *modulus = operand_form(a, op, 1);
    if (modulus->why || !is_uniform(modulus))
        return fail(a, "an index is a remainder by different numbers");
    return affine_remainder(a, operand_form(a, op, 0), modulus->offset);
}

/* Dimensions of `from` taken over in the order of `source`; -1: a dimension of size 1. */
static const Affine *reorder(Affines *a, const Affine *from, const Type *to, const int *source) {
    if (from->why)
        return from;
    Affine *form = form_create(a, to);
    form->base = from->base;
    form->offset = from->offset;
    for (int d = 0; d < to->rank; d++)
        if (source[d] >= 0)
            form->dims[d] = from->dims[source[d]];
    return form;
}

/* Dimensions of size 1 come and go in a reshape; the others stay in order, or it fails. */
static bool match_dims(const Type *from, const Type *to, int *source) {
    int at = 0;
    for (int d = 0; d < to->rank; d++) {
        source[d] = -1;
        if (to->shape[d] == 1)
            continue;
        while (at < from->rank && from->shape[at] == 1)
            at++;
        if (at == from->rank || from->shape[at] != to->shape[d])
            return false;
        source[d] = at++;
    }
    return true;
}

bool shape_sources(const Op *op, int *source) {
    if (!op_has(op, MOVES))
        return false;
    const Type *to = op->out[0].type, *from = op_in(op, 0)->type;
    switch (op->code) {
    case OP_expand_dims:
        for (int d = 0, next = 0; d < to->rank; d++)
            source[d] = d == expand_dims_attrs(op)->axis ? -1 : next++;
        return true;
    case OP_transpose:
        for (int d = 0; d < to->rank; d++)
            source[d] = (int)transpose_attrs(op)->order.ptr[d];
        return true;
    case OP_broadcast:
        for (int d = 0; d < to->rank; d++)
            source[d] = from->shape[d] == to->shape[d] ? d : -1;
        return true;
    case OP_splat:
        for (int d = 0; d < to->rank; d++)
            source[d] = -1;
        return true;
    case OP_convert_layout:
        for (int d = 0; d < to->rank; d++)
            source[d] = d;
        return true;
    case OP_reshape:
        return match_dims(from, to, source);
    default:
        return false;
    }
}

static const Affine *range_form(Affines *a, const Op *op) {
    Affine *form = form_create(a, op->out[0].type);
    form->offset = poly_constant(a->arena, range_attrs(op)->start);
    form->dims[0].stride = poly_constant(a->arena, op->out[0].type->shape[0] > 1);
    return form;
}

static const Affine *pointer_sum(Affines *a, const Op *op) {
    return affine_sum(a, operand_form(a, op, 0), operand_form(a, op, 1), 1);
}

/* For messages: what the index comes from. */
static const char *opaque_reason(Affines *a, const Op *op) {
    if (op->code == OP_load)
        return "an index was loaded from memory";
    if (op->code == OP_reshape)
        return "an index has been reshaped";
    if (op_has(op, QUOTIENT))
        return "an index is a quotient";
    if (op->code == OP_select || op_has(op, EXTREMUM))
        return "an index is chosen by element";
    return str_format(a->arena, "an index is made by %s", op_info[op->code].name);
}

static const Affine *tile_form(Affines *a, const Op *op) {
    const Affine *form = NULL;
    int source[MAX_RANK];
    if (op->code == OP_range)
        return range_form(a, op);
    if (op->code == OP_addptr)
        return pointer_sum(a, op);
    if (op_has(op, HINT))
        return operand_form(a, op, 0);
    if (shape_sources(op, source))
        return reorder(a, operand_form(a, op, 0), op->out[0].type, source);
    bool is_rest = op_has(op, MAY_TRAP) && !op_has(op, QUOTIENT);
    if (is_rest || op->code == OP_andi)
        form = remainder_form(a, op);
    else if (type_is_index(op->out[0].type))
        form = arithmetic_form(a, op);
    return form ? form : fail(a, opaque_reason(a, op));
}

static const Affine *scalar_form(Affines *a, Value *value) {
    const Affine *form = NULL;
    const Op *op = value->def;
    if (op && op_has(op, HINT))
        form = operand_form(a, op, 0);
    else if (op && op->code == OP_addptr)
        form = pointer_sum(a, op);
    else if (op && type_is_index(value->type))
        form = arithmetic_form(a, op);
    return form && !form->why ? form : opaque_form(a, value);
}

/* Carried values */

static void forget_since(Affines *a, size_t mark) {
    while (a->trail.len > mark)
        ptrmap_set(&a->forms, a->trail.data[--a->trail.len], NULL);
}

/* What one iteration adds: `next` less the stand-in; NULL: it is no fixed amount. */
static const Poly *increment(Affines *a, const Affine *start, const Affine *next, Value *arg,
                             const Op *loop) {
    if (start->why || next->why || start->base != next->base)
        return NULL;
    for (int d = 0; d < start->rank; d++)
        if (start->dims[d].wrap != next->dims[d].wrap ||
            !poly_equal(start->dims[d].stride, next->dims[d].stride))
            return NULL;
    const Poly *step = poly_sum(a->arena, next->offset, poly_atom(a->arena, arg), -1);
    return step && !poly_has(step, arg) && poly_is_outside(step, loop) ? step : NULL;
}

/* amount * (index - lo) / step; NULL: that division leaves something. */
static const Poly *advanced(Affines *a, const Op *loop, const Poly *amount) {
    int64_t step;
    const Poly *lo = affine_of(a, loop_first_index(loop))->offset;
    const Poly *index = poly_atom(a->arena, &loop->regions[0]->args[0]);
    if (!amount || !value_int_constant(op_in(loop, 2), &step))
        return NULL;
    return poly_product(a->arena, poly_quotient(a->arena, amount, step),
                        poly_sum(a->arena, index, lo, -1));
}

static const Affine *carried_form(Affines *a, Value *arg) {
    Op *loop = arg->owner->parent;
    const Affine *start = affine_of(a, op_in(loop, FOR_FIXED_OPERANDS + arg->index - 1));
    if (start->why)
        return start;
    Affine *stand_in = ARENA_NEW(a->arena, Affine);
    *stand_in = *start;
    stand_in->offset = poly_atom(a->arena, arg);
    size_t mark = a->trail.len;
    ptrmap_set(&a->forms, arg, stand_in);
    const Affine *next = affine_of(a, op_in(arg->owner->last, arg->index - 1));
    const Poly *way = advanced(a, loop, increment(a, stand_in, next, arg, loop));
    forget_since(a, mark);
    Affine *form = ARENA_NEW(a->arena, Affine);
    *form = *start;
    form->offset = poly_sum(a->arena, start->offset, way, 1);
    if (form->offset)
        return form;
    if (arg->type->rank)
        return fail(a, "a pointer does not advance by a fixed amount, a multiple of the loop's "
                       "step, in each iteration");
    return NULL;
}

static bool is_carried(const Value *value) {
    return value->owner && value->owner->parent && value->owner->parent->code == OP_for &&
           value->index > 0 && (type_is_pointer(value->type) || type_is_index(value->type));
}

const Affine *affine_of(Affines *a, Value *value) {
    const Affine *form = ptrmap_get(&a->forms, value);
    if (form)
        return form;
    if (is_carried(value))
        form = carried_form(a, value);
    if (!form && value->type->rank == 0)
        form = scalar_form(a, value);
    else if (!form)
        form = value->def ? tile_form(a, value->def)
                          : fail(a, "an index is carried by a loop that does not count");
    ptrmap_set(&a->forms, value, (void *)(uintptr_t)form);
    vec_push(a->arena, &a->trail, value);
    return form;
}

static bool is_available(const Value *value, const Op *at) {
    const Op *place = op_ancestor_in((Op *)(uintptr_t)at, value_block(value));
    if (!value->def || !place)
        return place != NULL;
    for (const Op *op = place->prev; op; op = op->prev)
        if (op == value->def)
            return true;
    return false;
}

Value *affines_find(Affines *a, const Poly *poly, const Op *at) {
    vec_for_each (value, &a->scalars)
        if (poly_equal(affine_of(a, *value)->offset, poly) && is_available(*value, at))
            return *value;
    return NULL;
}
