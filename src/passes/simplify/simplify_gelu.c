/* simplify: GELU as one op.
 *
 *     %e = erfc (negf (mulf %x, 0x1.6a09e6p-1)) : f32
 *     %h = mulf %x, 0x1p-1 : f32                        =>    %y = gelu %x : f32
 *     %y = mulf %h, %e : f32
 *
 * However the product is associated. The factors then cost nothing: they are parts of a polynomial.
 * An argument of erfc that is a constant times x with the constant rounded to f32 is within what
 * rounding the product itself changes.
 *
 * What f32 cannot tell anyway need not be computed where all that take the result round it to 16
 * bits or less. */
#include "passes/simplify/simplify.h"

#include <math.h>

static const double ROOT_HALF = 0.70710678118654752440;
enum { MAX_FACTORS_DEPTH = 3 };

/* The x of which the value is -x / sqrt 2; NULL: of none. */
static Value *negated_root(Value *value) {
    double sign = 1, constant;
    for (Op *negated; (negated = value_def(value, OP_negf)); sign = -sign)
        value = op_in(negated, 0);
    Op *scaled = value_def(value, OP_mulf), *divided = value_def(value, OP_divf);
    Op *op = scaled ? scaled : divided;
    if (!op || !value_float_constant(op_in(op, 1), &constant))
        return NULL;
    double factor = sign * (scaled ? constant : 1 / constant);
    return fabs(factor / ROOT_HALF + 1) <= 0x1p-23 ? op_in(op, 0) : NULL;
}

/* An erfc among the factors, through products that nothing else takes. */
static Op *find_erfc(Value *value, int depth) {
    if (!value_has_one_use(value) || value->type->dtype != DT_F32)
        return NULL;
    Op *product = value_def(value, OP_mulf), *found = value_def(value, OP_erfc);
    for (uint32_t i = 0; product && depth && !found && i < 2; i++)
        found = find_erfc(op_in(product, i), depth - 1);
    return found;
}

typedef struct Factors {
    const Value *x, *erfc;
    int xs, erfcs;
    double constant;
} Factors;

static bool collect(Factors *f, const Value *value, int depth) {
    double constant;
    if (value == f->x || value == f->erfc) {
        f->xs += value == f->x;
        f->erfcs += value == f->erfc;
        return true;
    }
    if (value_float_constant(value, &constant)) {
        f->constant *= constant;
        return true;
    }
    const Op *product = value_def(value, OP_mulf);
    return product && depth && collect(f, op_in(product, 0), depth - 1) &&
           collect(f, op_in(product, 1), depth - 1);
}

bool simplify_gelu(Op *op) {
    Op *erfc = find_erfc(op_in(op, 0), MAX_FACTORS_DEPTH);
    if (!erfc)
        erfc = find_erfc(op_in(op, 1), MAX_FACTORS_DEPTH);
    Value *x = erfc ? negated_root(op_in(erfc, 0)) : NULL;
    if (!x)
        return false;
    Factors f = {.x = x, .erfc = op_out(erfc), .constant = 1};
    for (uint32_t i = 0; i < 2; i++)
        if (!collect(&f, op_in(op, i), MAX_FACTORS_DEPTH))
            return false;
    if (f.xs != 1 || f.erfcs != 1 || f.constant != 0.5)
        return false;
    Builder b = builder_before(op);
    b.span = erfc->span;
    return rewrite_replace(op, build_gelu(&b, x, false));
}

bool simplify_rounded_gelu(Op *op) {
    Op *gelu = value_def(op_in(op, 0), OP_gelu);
    if (!gelu || gelu_attrs(gelu)->rounded || op_out(gelu)->type->dtype != DT_F32)
        return false;
    value_for_each_use (use, op_out(gelu))
        if (use->user->code != OP_truncf)
            return false;
    gelu_attrs(gelu)->rounded = true;
    ctx_diag(builder_before(gelu).ctx, gelu->span, gelu_rounded);
    return true;
}
