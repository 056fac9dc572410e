/* Constant folding of elementwise ops: one function an op, found by opcode.
 *
 * Integers wrap to their type. Floats are computed in double and rounded once to the type, which is
 * the correctly rounded result for + - * / and the square root of every narrower type (double has
 * more than twice their digits plus two); f64 itself is computed by the host. Functions that a GPU
 * approximates (exp2, log, ..) fold to the rounded true value, as the interpreter computes them. */
#include "passes/analysis/fold.h"
#include "passes/rewrite.h"
#include "types/float_bits.h"

#include <math.h>

typedef bool Fold(const Op *op, const Scalar *in, Scalar *out);

static DType in_dtype(const Op *op) {
    return op_in(op, 0)->type->dtype;
}

static DType out_dtype(const Op *op) {
    return op->out[0].type->dtype;
}

static double float_round(DType dtype, double value) {
    return dtype == DT_F64 ? value : float_from_bits(dtype, float_to_bits(dtype, value));
}

/* Integers */

#define FOLD_INT(name, expression)                                                                 \
    static bool fold_##name(const Op *op, const Scalar *in, Scalar *out) {                         \
        int64_t a = in[0].i, b = in[1].i;                                                          \
        out->i = (int64_t)(expression);                                                            \
        return true;                                                                               \
    }
#define UNSIGNED(x) int_unsigned(out_dtype(op), (x))

FOLD_INT(addi, (uint64_t)a + (uint64_t)b)
FOLD_INT(subi, (uint64_t)a - (uint64_t)b)
FOLD_INT(muli, (uint64_t)a *(uint64_t)b)
FOLD_INT(andi, a &b)
FOLD_INT(ori, a | b)
FOLD_INT(xori, a ^ b)
/* The sign of an i1 is its only bit: 1 is below 0. */
FOLD_INT(minsi, (a < b) != (out_dtype(op) == DT_I1) ? a : b)
FOLD_INT(maxsi, (a > b) != (out_dtype(op) == DT_I1) ? a : b)
FOLD_INT(minui, UNSIGNED(a) < UNSIGNED(b) ? a : b)
FOLD_INT(maxui, UNSIGNED(a) > UNSIGNED(b) ? a : b)

static bool fold_mulhui(const Op *op, const Scalar *in, Scalar *out) {
    unsigned __int128 product = (unsigned __int128)UNSIGNED(in[0].i) * UNSIGNED(in[1].i);
    out->i = (int64_t)(uint64_t)(product >> dtype_info[out_dtype(op)].bits);
    return true;
}

static bool fold_divsi(const Op *op, const Scalar *in, Scalar *out) {
    if (in[1].i == 0 || (in[1].i == -1 && in[0].i == INT64_MIN))
        return false;
    out->i = in[0].i / in[1].i;
    return true;
}

static bool fold_remsi(const Op *op, const Scalar *in, Scalar *out) {
    if (in[1].i == 0)
        return false;
    out->i = in[1].i == -1 ? 0 : in[0].i % in[1].i;
    return true;
}

static bool fold_divui(const Op *op, const Scalar *in, Scalar *out) {
    if (in[1].i == 0)
        return false;
    out->i = (int64_t)(UNSIGNED(in[0].i) / UNSIGNED(in[1].i));
    return true;
}

static bool fold_remui(const Op *op, const Scalar *in, Scalar *out) {
    if (in[1].i == 0)
        return false;
    out->i = (int64_t)(UNSIGNED(in[0].i) % UNSIGNED(in[1].i));
    return true;
}

static bool shift_defined(const Op *op, int64_t amount) {
    return UNSIGNED(amount) < dtype_info[out_dtype(op)].bits;
}

static bool fold_shli(const Op *op, const Scalar *in, Scalar *out) {
    if (!shift_defined(op, in[1].i))
        return false;
    out->i = (int64_t)((uint64_t)in[0].i << in[1].i);
    return true;
}

static bool fold_shrsi(const Op *op, const Scalar *in, Scalar *out) {
    if (!shift_defined(op, in[1].i))
        return false;
    out->i = in[0].i >> in[1].i;
    return true;
}

static bool fold_shrui(const Op *op, const Scalar *in, Scalar *out) {
    if (!shift_defined(op, in[1].i))
        return false;
    out->i = (int64_t)(UNSIGNED(in[0].i) >> in[1].i);
    return true;
}

static bool fold_absi(const Op *op, const Scalar *in, Scalar *out) {
    out->i = in[0].i < 0 ? (int64_t)(0 - (uint64_t)in[0].i) : in[0].i;
    return true;
}

bool fold_compare(IntPredicate pred, DType dtype, int64_t a, int64_t b) {
    /* The sign of an i1 is its only bit. */
    int64_t sa = dtype == DT_I1 ? -a : a, sb = dtype == DT_I1 ? -b : b;
    uint64_t ua = int_unsigned(dtype, a), ub = int_unsigned(dtype, b);
    switch (pred) {
    case IPRED_EQ:
        return a == b;
    case IPRED_NE:
        return a != b;
    case IPRED_SLT:
        return sa < sb;
    case IPRED_SLE:
        return sa <= sb;
    case IPRED_SGT:
        return sa > sb;
    case IPRED_SGE:
        return sa >= sb;
    case IPRED_ULT:
        return ua < ub;
    case IPRED_ULE:
        return ua <= ub;
    case IPRED_UGT:
        return ua > ub;
    case IPRED_UGE:
        return ua >= ub;
    case IPRED_COUNT:
        break;
    }
    return false;
}

IntPredicate predicate_swap(IntPredicate pred) {
    static const IntPredicate swapped[IPRED_COUNT] = {
        [IPRED_EQ] = IPRED_EQ,   [IPRED_NE] = IPRED_NE,   [IPRED_SLT] = IPRED_SGT,
        [IPRED_SLE] = IPRED_SGE, [IPRED_SGT] = IPRED_SLT, [IPRED_SGE] = IPRED_SLE,
        [IPRED_ULT] = IPRED_UGT, [IPRED_ULE] = IPRED_UGE, [IPRED_UGT] = IPRED_ULT,
        [IPRED_UGE] = IPRED_ULE};
    return swapped[pred];
}

IntPredicate predicate_invert(IntPredicate pred) {
    static const IntPredicate inverse[IPRED_COUNT] = {
        [IPRED_EQ] = IPRED_NE,   [IPRED_NE] = IPRED_EQ,   [IPRED_SLT] = IPRED_SGE,
        [IPRED_SLE] = IPRED_SGT, [IPRED_SGT] = IPRED_SLE, [IPRED_SGE] = IPRED_SLT,
        [IPRED_ULT] = IPRED_UGE, [IPRED_ULE] = IPRED_UGT, [IPRED_UGT] = IPRED_ULE,
        [IPRED_UGE] = IPRED_ULT};
    return inverse[pred];
}

static bool fold_cmpi(const Op *op, const Scalar *in, Scalar *out) {
    out->i = fold_compare(cmpi_attrs(op)->pred, in_dtype(op), in[0].i, in[1].i);
    return true;
}

/* Casts of integers: the operand is in signed form, the result is wrapped by the caller. */
static bool fold_trunci(const Op *op, const Scalar *in, Scalar *out) {
    out->i = in[0].i;
    return true;
}

static bool fold_extsi(const Op *op, const Scalar *in, Scalar *out) {
    out->i = in_dtype(op) == DT_I1 ? -in[0].i : in[0].i;
    return true;
}

static bool fold_extui(const Op *op, const Scalar *in, Scalar *out) {
    out->i = (int64_t)int_unsigned(in_dtype(op), in[0].i);
    return true;
}

/* Floats */

#define FOLD_FLOAT(name, expression)                                                               \
    static bool fold_##name(const Op *op, const Scalar *in, Scalar *out) {                         \
        double a = in[0].f, b = in[1].f;                                                           \
        (void)b;                                                                                   \
        out->f = (expression);                                                                     \
        return true;                                                                               \
    }

FOLD_FLOAT(addf, a + b)
FOLD_FLOAT(subf, a - b)
FOLD_FLOAT(mulf, a *b)
FOLD_FLOAT(divf, a / b)
/* PTX orders -0 below +0; operands are not NaN. */
FOLD_FLOAT(minf, a < b || (a == b && signbit(a)) ? a : b)
FOLD_FLOAT(maxf, a > b || (a == b && signbit(b)) ? a : b)
FOLD_FLOAT(negf, -a)
FOLD_FLOAT(absf, fabs(a))
FOLD_FLOAT(floor, floor(a))
FOLD_FLOAT(ceil, ceil(a))
FOLD_FLOAT(sqrt, sqrt(a))
FOLD_FLOAT(rsqrt, 1.0 / sqrt(a))
FOLD_FLOAT(exp, exp(a))
FOLD_FLOAT(exp2, exp2(a))
FOLD_FLOAT(log, log(a))
FOLD_FLOAT(log2, log2(a))

/* In a narrower type the sum rounded to double and then again is not always the rounded sum. */
static bool fold_fma(const Op *op, const Scalar *in, Scalar *out) {
    if (out_dtype(op) == DT_F64)
        out->f = fma(in[0].f, in[1].f, in[2].f);
    else if (out_dtype(op) == DT_F32)
        out->f = fmaf((float)in[0].f, (float)in[1].f, (float)in[2].f);
    else
        return false;
    return true;
}

static bool fold_cmpf(const Op *op, const Scalar *in, Scalar *out) {
    double a = in[0].f, b = in[1].f;
    switch (cmpf_attrs(op)->pred) {
    case FPRED_OEQ:
        out->i = a == b;
        return true;
    case FPRED_UNE:
        out->i = a != b;
        return true;
    case FPRED_OLT:
        out->i = a < b;
        return true;
    case FPRED_OLE:
        out->i = a <= b;
        return true;
    case FPRED_OGT:
        out->i = a > b;
        return true;
    case FPRED_OGE:
        out->i = a >= b;
        return true;
    case FPRED_COUNT:
        break;
    }
    return false;
}

static bool fold_extf(const Op *op, const Scalar *in, Scalar *out) {
    out->f = in[0].f;
    return true;
}

/* Rounding towards zero folds when there is nothing to round. */
static bool fold_truncf(const Op *op, const Scalar *in, Scalar *out) {
    out->f = in[0].f;
    return truncf_attrs(op)->rounding == ROUND_RTNE ||
           float_round(out_dtype(op), in[0].f) == in[0].f;
}

static bool fold_ftosi(const Op *op, const Scalar *in, Scalar *out) {
    int64_t lo = int_lowest(out_dtype(op)), hi = int_highest(out_dtype(op));
    double whole = trunc(in[0].f);
    if (!(whole >= (double)lo && whole <= (double)hi && whole < 0x1p63))
        return false;
    out->i = (int64_t)whole;
    return out->i >= lo && out->i <= hi;
}

static bool fold_ftoui(const Op *op, const Scalar *in, Scalar *out) {
    double whole = trunc(in[0].f);
    if (!(whole >= 0 && whole < ldexp(1, dtype_info[out_dtype(op)].bits)))
        return false;
    out->i = (int64_t)(uint64_t)whole;
    return true;
}

/* Beyond 2^53 the conversion to double would round a first time. */
static bool fold_sitof(const Op *op, const Scalar *in, Scalar *out) {
    int64_t value = in_dtype(op) == DT_I1 ? -in[0].i : in[0].i;
    out->f = (double)value;
    return value >= -(1LL << 53) && value <= 1LL << 53;
}

static bool fold_uitof(const Op *op, const Scalar *in, Scalar *out) {
    uint64_t value = int_unsigned(in_dtype(op), in[0].i);
    out->f = (double)value;
    return value <= 1ULL << 53;
}

static bool fold_bitcast(const Op *op, const Scalar *in, Scalar *out) {
    bool from_float = dtype_is_float(in_dtype(op)), to_float = dtype_is_float(out_dtype(op));
    uint64_t bits =
        from_float ? float_to_bits(in_dtype(op), in[0].f) : int_unsigned(in_dtype(op), in[0].i);
    if (!to_float) {
        out->i = (int64_t)bits;
        return true;
    }
    /* Constants of f8 are finite: rounding to one saturates. */
    out->f = float_from_bits(out_dtype(op), bits);
    return dtype_info[out_dtype(op)].bits > 8 || isfinite(out->f);
}

static Fold *const fold_table[OP_COUNT] = {
    [OP_addi] = fold_addi,      [OP_subi] = fold_subi,     [OP_muli] = fold_muli,
    [OP_mulhui] = fold_mulhui,  [OP_divsi] = fold_divsi,   [OP_divui] = fold_divui,
    [OP_remsi] = fold_remsi,    [OP_remui] = fold_remui,   [OP_andi] = fold_andi,
    [OP_ori] = fold_ori,        [OP_xori] = fold_xori,     [OP_shli] = fold_shli,
    [OP_shrsi] = fold_shrsi,    [OP_shrui] = fold_shrui,   [OP_minsi] = fold_minsi,
    [OP_maxsi] = fold_maxsi,    [OP_minui] = fold_minui,   [OP_maxui] = fold_maxui,
    [OP_absi] = fold_absi,      [OP_addf] = fold_addf,     [OP_subf] = fold_subf,
    [OP_mulf] = fold_mulf,      [OP_divf] = fold_divf,     [OP_divf_rn] = fold_divf,
    [OP_fma] = fold_fma,        [OP_minf] = fold_minf,     [OP_maxf] = fold_maxf,
    [OP_minf_nan] = fold_minf,  [OP_maxf_nan] = fold_maxf, [OP_negf] = fold_negf,
    [OP_absf] = fold_absf,      [OP_floor] = fold_floor,   [OP_ceil] = fold_ceil,
    [OP_sqrt] = fold_sqrt,      [OP_sqrt_rn] = fold_sqrt,  [OP_rsqrt] = fold_rsqrt,
    [OP_exp] = fold_exp,        [OP_exp2] = fold_exp2,     [OP_log] = fold_log,
    [OP_log2] = fold_log2,      [OP_cmpi] = fold_cmpi,     [OP_cmpf] = fold_cmpf,
    [OP_trunci] = fold_trunci,  [OP_extsi] = fold_extsi,   [OP_extui] = fold_extui,
    [OP_truncf] = fold_truncf,  [OP_extf] = fold_extf,     [OP_ftosi] = fold_ftosi,
    [OP_ftoui] = fold_ftoui,    [OP_sitof] = fold_sitof,   [OP_uitof] = fold_uitof,
    [OP_bitcast] = fold_bitcast};

bool scalar_of_value(const Value *value, Scalar *scalar) {
    if (type_is_int(value->type)) {
        if (!value_int_constant(value, &scalar->i))
            return false;
        scalar->i = int_wrap(value->type->dtype, scalar->i);
        return true;
    }
    return type_is_float(value->type) && value_float_constant(value, &scalar->f);
}

bool fold_elementwise(const Op *op, const Scalar *in, Scalar *out) {
    if (!fold_table[op->code] || op->out[0].type->kind != TYPE_NUMBER)
        return false;
    for (uint32_t i = 0; i < op->nin; i++)
        if (type_is_float(op_in(op, i)->type) && isnan(in[i].f))
            return false;
    if (!fold_table[op->code](op, in, out))
        return false;
    if (type_is_int(op->out[0].type)) {
        out->i = int_wrap(out_dtype(op), out->i);
        return true;
    }
    out->f = float_round(out_dtype(op), out->f);
    return !isnan(out->f);
}
