/* Builtins that work element by element. */
#include "frontend/builtins.h"
#include "frontend/language.h"

Val builtin_cast(Call *call) {
    Elab *e = call->e;
    Val x;
    ScalarType type;
    bool bits;
    Str rounding;
    if (!call_tile(call, 0, &x) || !call_type(call, 1, &type) || !call_string(call, 2, &rounding) ||
        !call_flag(call, 3, &bits))
        return val_error();
    if (bits)
        return op_bitcast(e, call->span, x, type);
    int64_t mode = ROUND_RTNE;
    if (!call_enum(call, 2, ATTR_ROUND, "", &mode))
        return val_error();
    bool narrows = scalar_is_float(x.tile.scalar) && scalar_is_float(type) &&
                   elem_bits(type.elem) < elem_bits(x.tile.scalar.elem);
    narrows &= !scalar_is_held_as_bits(type) || mode == ROUND_RTNE;
    if (rounding.len && !narrows && !scalar_equal(x.tile.scalar, type))
        return elab_fail(e, call->spans[2], elab_rounding, elab_type_text(e, x),
                         scalar_text(e->arena, type));
    return op_cast(e, call->span, x, type, (Rounding)mode);
}

Val builtin_where(Call *call) {
    Elab *e = call->e;
    Val condition, x = call->args[1], y = call->args[2];
    if (!call_tile(call, 0, &condition))
        return val_error();
    if (condition.tile.scalar.pointer || condition.tile.scalar.elem != ELEM_I1)
        ctx_diag(e->ctx, call->spans[0], elab_where_condition, elab_type_text(e, condition));
    condition = op_to_bool(e, call->spans[0], condition);
    uint32_t flags = PROMOTE_POINTER_A | PROMOTE_POINTER_B | PROMOTE_ANY_FLOAT;
    if (!op_promote(e, call->span, "tl.where", flags, &x, &y))
        return val_error();
    if (x.tile.scalar.pointer != y.tile.scalar.pointer) {
        elab_fail(e, call->span, elab_operands, "tl.where", elab_type_text(e, x),
                  elab_type_text(e, y));
        return val_error();
    }
    if (val_has_shape(condition)) {
        if (!op_broadcast(e, call->span, &condition, &x) || !op_broadcast(e, call->span, &x, &y))
            return val_error();
    } else {
        condition = op_splat(e, condition, val_ir_type(x));
    }
    return op_like(build_select(&e->builder, condition.tile.ir, x.tile.ir, y.tile.ir), x);
}

Val builtin_arithmetic(Call *call) {
    AstOperator op = call_id(call) == BUILTIN_add   ? ASTOP_add
                     : call_id(call) == BUILTIN_sub ? ASTOP_sub
                                                    : ASTOP_mul;
    bool sanitize;
    if (!call_flag(call, 2, &sanitize))
        return val_error();
    return (sanitize ? elab_binary : elab_wrapping)(call->e, call->span, op, call->args[0],
                                                    call->args[1]);
}

static Val order(Elab *e, Val a, Val b, bool is_max, bool propagate_nan) {
    Builder *builder = &e->builder;
    Value *x = a.tile.ir, *y = b.tile.ir, *ir;
    if (scalar_is_float(a.tile.scalar)) {
        if (propagate_nan)
            ir = is_max ? build_maxf_nan(builder, x, y) : build_minf_nan(builder, x, y);
        else
            ir = is_max ? build_maxf(builder, x, y) : build_minf(builder, x, y);
    } else if (elem_info[a.tile.scalar.elem].is_signed) {
        ir = is_max ? build_maxsi(builder, x, y) : build_minsi(builder, x, y);
    } else {
        ir = is_max ? build_maxui(builder, x, y) : build_minui(builder, x, y);
    }
    return op_like(ir, a);
}

static bool is_bf16(Val v) {
    return val_is_tile(v) && !v.tile.scalar.pointer && v.tile.scalar.elem == ELEM_BF16;
}

/* The first `count` operands with one type and shape. Numbers are weak, or count as run-time
 * values, by the version of the language; so does whether bf16 stays what it is where values are
 * put in order. */
static bool common_operands(Call *call, int count, bool orders, Val *v) {
    Elab *e = call->e;
    const char *name = call->builtin->name;
    int of_values = -1, numbers = 0;
    for (int i = 0; i < count; i++) {
        if (!call_tile(call, i, &v[i]))
            return false;
        if (orders && is_bf16(v[i]) && !elab_means_new(e, call->spans[i], LANGUAGE_order_of_bf16))
            v[i] = op_promote_bf16(e, call->spans[i], v[i]);
        if (!val_is_number(call->args[i]))
            of_values = i;
        else
            numbers++;
    }
    for (int i = 0; i < count; i++)
        if (of_values >= 0 && numbers && op_number_widens(call->args[i], v[of_values]) &&
            elab_means_new(e, call->spans[i], LANGUAGE_number_operands))
            v[i] = call->args[i];
    /* A value comes first, so that a weak number meets one. */
    for (int round = 0; round < 2; round++)
        for (int i = 0; of_values >= 0 && i < count; i++)
            if (i != of_values && !op_promote(e, call->span, name, 0, &v[of_values], &v[i]))
                return false;
    for (int i = 1; of_values < 0 && i < count; i++)
        if (!op_promote(e, call->span, name, 0, &v[0], &v[i]))
            return false;
    return true;
}

Val builtin_min_max(Call *call) {
    Elab *e = call->e;
    Val v[2];
    bool propagate_nan;
    if (!call_flag(call, 2, &propagate_nan) || !common_operands(call, 2, true, v))
        return val_error();
    bool is_max = call_id(call) == BUILTIN_maximum || call_id(call) == BUILTIN_lib_max;
    return order(e, v[0], v[1], is_max, propagate_nan);
}

/* Bounds that are numbers, one the other's negative, or written as -h and h of tiles like x. */
static bool bounds_symmetric(const Call *call, Val x, Val lo, Val hi) {
    Val low = call->args[1], high = call->args[2];
    if (val_is_number(low) && val_is_number(high))
        return val_as_double(low) == -val_as_double(high);
    const Op *negation = lo.tile.ir->def;
    return negation && negation->code == OP_negf && op_in(negation, 0) == hi.tile.ir &&
           val_has_shape(x) && type_same_shape(val_ir_type(lo), val_ir_type(x));
}

/* What a NaN becomes, unless it propagates, follows from which bound is applied last: the lower
 * bound, or between -h and h the upper one, as Triton's min.xorsign.abs makes it from sm_90 on. */
Val builtin_clamp(Call *call) {
    Elab *e = call->e;
    Val v[3];
    bool propagate_nan;
    if (!call_flag(call, 3, &propagate_nan) || !common_operands(call, 3, true, v))
        return val_error();
    const bool is_float = scalar_is_float(v[0].tile.scalar);
    if (!is_float && !elab_has_feature(e, call->span, LANGUAGE_HAS_clamp_integers))
        return val_error();
    bool symmetric = is_float && bounds_symmetric(call, v[0], v[1], v[2]);
    bool is_max = !symmetric;
    Val once = order(e, v[0], v[symmetric ? 2 : 1], is_max, propagate_nan);
    return order(e, once, v[symmetric ? 1 : 2], !is_max, propagate_nan);
}

/* Functions of floats */

/* An fp32 (or fp64) operand; other types are for the caller to convert, as in Triton. */
static bool float_operand(Call *call, int param, Val *x) {
    Elab *e = call->e;
    if (!call_tile(call, param, x))
        return false;
    ScalarType type = x->tile.scalar;
    if (!type.pointer && (type.elem == ELEM_F32 || type.elem == ELEM_F64))
        return true;
    elab_fail(e, call->spans[param], elab_float_function, call->builtin->name, "fp32 or fp64",
              elab_type_text(e, *x));
    elab_hint(e, "convert: x.to(tl.float32)");
    return false;
}

/* A function of libdevice converts no run-time operand, as in Triton. */
static bool one_elem(Call *call, const char *name, uint32_t n, const Val *operands) {
    Elab *e = call->e;
    const Val *first = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const Val *v = &operands[i];
        if (!val_is_tile(*v))
            continue;
        if (first && !scalar_equal(first->tile.scalar, v->tile.scalar)) {
            elab_fail(e, call->span, elab_operands, name, elab_type_text(e, *first),
                      elab_type_text(e, *v));
            elab_hint(e, "convert one, as in x.to(tl.%s)", elem_info[first->tile.scalar.elem].name);
            return false;
        }
        first = v;
    }
    return true;
}

/* What a function of libdevice.tile was called with, as floats of one type and shape: fp32 or fp64,
 * as libdevice has them; a number has the type of its sum with them. Several are a tuple. */
Val builtin_lib_floats(Call *call) {
    enum { MOST = 4 };
    Elab *e = call->e;
    Val v[MOST];
    uint32_t n = call->rest_count;
    if (n == 0 || n > MOST)
        return val_error();
    Str name = e->frame->def->name;
    if (!one_elem(call, str_dup(e->arena, name), n, call->rest))
        return val_error();
    for (uint32_t i = 0; i < n; i++) {
        v[i] = op_to_tensor(e, call->span, call->rest[i]);
        if (val_failed(v[i]))
            return val_error();
    }
    for (uint32_t i = 0; i < 2 * n; i++)
        if (!op_promote(e, call->span, str_dup(e->arena, name), 0, &v[0], &v[i % n]))
            return val_error();
    ScalarType type = v[0].tile.scalar;
    if (type.pointer || (type.elem != ELEM_F32 && type.elem != ELEM_F64)) {
        elab_fail(e, call->span, elab_float_function, str_dup(e->arena, name), "fp32 or fp64",
                  elab_type_text(e, v[0]));
        elab_hint(e, "convert: x.to(tl.float32)");
        return val_error();
    }
    if (n == 1)
        return v[0];
    Val *items = ARENA_ARRAY(e->arena, Val, n);
    memcpy(items, v, n * sizeof *items);
    return val_tuple(items, n);
}

Val builtin_unary(Call *call) {
    Val x;
    if (!float_operand(call, 0, &x))
        return val_error();
    Builder *b = &call->e->builder;
    Value *in = x.tile.ir;
    switch ((int)call_id(call)) {
    case BUILTIN_exp:
    case BUILTIN_fast_expf:
        return op_like(build_exp(b, in), x);
    case BUILTIN_exp2:
        return op_like(build_exp2(b, in), x);
    case BUILTIN_log:
    case BUILTIN_fast_logf:
        return op_like(build_log(b, in), x);
    case BUILTIN_log2:
    case BUILTIN_fast_log2f:
        return op_like(build_log2(b, in), x);
    case BUILTIN_sin:
    case BUILTIN_fast_sinf:
        return op_like(build_sin(b, in), x);
    case BUILTIN_cos:
    case BUILTIN_fast_cosf:
        return op_like(build_cos(b, in), x);
    case BUILTIN_sqrt:
        return op_like(build_sqrt(b, in), x);
    case BUILTIN_sqrt_rn:
    case BUILTIN_lib_sqrt:
        return op_like(build_sqrt_rn(b, in), x);
    case BUILTIN_rsqrt:
        return op_like(build_rsqrt(b, in), x);
    case BUILTIN_erf:
        return op_like(build_erf(b, in), x);
    case BUILTIN_tanh:
        return op_like(build_tanh(b, in), x);
    case BUILTIN_floor:
        return op_like(build_floor(b, in), x);
    default:
        return op_like(build_ceil(b, in), x);
    }
}

Val builtin_abs(Call *call) {
    Elab *e = call->e;
    Val x;
    if (!call_tile(call, 0, &x))
        return val_error();
    if (x.tile.scalar.pointer)
        return elab_fail(e, call->span, elab_operand, "abs", elab_type_text(e, x));
    if (scalar_is_held_as_bits(x.tile.scalar))
        return op_sign_of_bits(e, call->span, x, false);
    if (scalar_is_float(x.tile.scalar))
        return op_like(build_absf(&e->builder, x.tile.ir), x);
    if (!elem_info[x.tile.scalar.elem].is_signed)
        return x;
    return op_like(build_absi(&e->builder, x.tile.ir), x);
}

Val builtin_fma(Call *call) {
    Elab *e = call->e;
    Val v[3];
    if ((call_id(call) == BUILTIN_fma_rn && !one_elem(call, "fma_rn", 3, call->args)) ||
        !common_operands(call, 3, false, v))
        return val_error();
    if (!scalar_is_float(v[0].tile.scalar))
        return elab_fail(e, call->span, elab_float_function, "fma", "floats",
                         elab_type_text(e, v[0]));
    return op_like(build_fma(&e->builder, v[0].tile.ir, v[1].tile.ir, v[2].tile.ir), v[0]);
}

/* Two floats of one type. */
static bool float_pair(Call *call, Val *x, Val *y) {
    Elab *e = call->e;
    if (!call_tile(call, 0, x) || !call_tile(call, 1, y))
        return false;
    for (int i = 0; i < 2; i++) {
        Val v = i ? *y : *x;
        if (!scalar_is_float(v.tile.scalar)) {
            elab_fail(e, call->spans[i], elab_float_function, call->builtin->name, "floats",
                      elab_type_text(e, v));
            elab_hint(e, "convert: x.to(tl.float32)");
            return false;
        }
    }
    return op_promote(e, call->span, call->builtin->name, 0, x, y);
}

Val builtin_fdiv(Call *call) {
    Val x, y;
    bool ieee, approx;
    if (!call_flag(call, 2, &ieee) || !call_flag(call, 3, &approx) || !float_pair(call, &x, &y))
        return val_error();
    if (ieee && approx)
        return elab_fail(call->e, call->spans[3], elab_fdiv_both);
    Builder *b = &call->e->builder;
    bool exact =
        ieee && x.tile.scalar.elem == ELEM_F32 && elab_has_changed(call->e, LANGUAGE_ieee_division);
    return op_like(exact ? build_divf_rn(b, x.tile.ir, y.tile.ir)
                         : build_divf(b, x.tile.ir, y.tile.ir, false, false),
                   x);
}

Val builtin_div_rn(Call *call) {
    Elab *e = call->e;
    Val x, y;
    if (!float_operand(call, 0, &x) || !float_operand(call, 1, &y) ||
        !op_promote(e, call->span, "div_rn", 0, &x, &y))
        return val_error();
    return op_like(build_divf_rn(&e->builder, x.tile.ir, y.tile.ir), x);
}

Val builtin_fmod(Call *call) {
    Elab *e = call->e;
    Val x, y;
    if (!float_operand(call, 0, &x) || !float_operand(call, 1, &y) ||
        !op_promote(e, call->span, "fmod", 0, &x, &y))
        return val_error();
    return op_like(build_remf(&e->builder, x.tile.ir, y.tile.ir), x);
}

/* Bits that are one, an int32 whatever the width, as CUDA's __popc and __popcll have it. */
Val builtin_popc(Call *call) {
    Elab *e = call->e;
    Val x;
    if (!call_tile(call, 0, &x))
        return val_error();
    ScalarType scalar = x.tile.scalar;
    if (scalar.pointer || (scalar.elem != ELEM_I32 && scalar.elem != ELEM_I64)) {
        elab_fail(e, call->span, elab_operand, "popc", elab_type_text(e, x));
        elab_hint(e, "convert it with .to(tl.int32) or .to(tl.int64)");
        return val_error();
    }
    Val bits = op_like(build_popcount(&e->builder, x.tile.ir), x);
    return op_cast(e, call->span, bits, scalar_number(ELEM_I32), ROUND_RTNE);
}

/* A Python number takes the other operand's type here, unlike in Triton, where it would have to be
 * made run-time in the right type first; the high half of a product depends on the width. */
Val builtin_umulhi(Call *call) {
    Elab *e = call->e;
    Val x = call->args[0], y = call->args[1];
    if (!op_promote(e, call->span, "umulhi", 0, &x, &y))
        return val_error();
    if (!scalar_is_int(x.tile.scalar) || elem_bits(x.tile.scalar.elem) < 32) {
        elab_fail(e, call->span, elab_operands, "umulhi", elab_type_text(e, x),
                  elab_type_text(e, y));
        elab_hint(e, "use integers of 32 or 64 bits");
        return val_error();
    }
    return op_like(build_mulhui(&e->builder, x.tile.ir, y.tile.ir), x);
}
