/* Conversions of run-time values between element types, and compile-time numbers made run-time. */
#include "frontend/elaborate.h"
#include "types/float_bits.h"

#include <math.h>

Val op_constant(Elab *e, Val number, Elem elem) {
    const Type *type = type_scalar(e->ctx, elem_info[elem].ir);
    Value *ir;
    if (elem_is_held_as_bits(elem))
        return op_cast(e, e->builder.span, op_constant(e, number, ELEM_F32), scalar_number(elem),
                       ROUND_RTNE);
    if (elem_is_float(elem)) {
        DType dtype = elem_info[elem].ir;
        double rounded = float_from_bits(dtype, float_to_bits(dtype, val_as_double(number)));
        ir = build_constant_float(&e->builder, rounded, type);
    } else {
        Wide i = number.kind == VAL_FLOAT ? (Wide)number.f : number.i;
        ir = build_constant_int(&e->builder, elem == ELEM_I1 ? i != 0 : (int64_t)i, type);
    }
    return val_tile(ir, scalar_number(elem));
}

/* The type a Python number takes by itself. */
bool op_number_own_elem(Val v, Elem *elem) {
    if (v.kind == VAL_BOOL) {
        *elem = ELEM_I1;
        return true;
    }
    if (v.kind == VAL_FLOAT) {
        double size = fabs(v.f);
        bool fits =
            isinf(size) || isnan(size) || size == 0 || (size >= 0x1p-126 && size <= 0x1.fffffep127);
        *elem = fits ? ELEM_F32 : ELEM_F64;
        return true;
    }
    static const Elem candidates[] = {ELEM_I32, ELEM_U32, ELEM_I64, ELEM_U64};
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        *elem = candidates[i];
        if (v.i >= elem_min(*elem) && v.i <= elem_max(*elem))
            return true;
    }
    return false;
}

bool op_number_elem(Elab *e, Span span, Val v, Elem *elem) {
    if (!val_is_number(v)) {
        elab_fail(e, span, elab_not_a_number, elab_type_text(e, v));
        if (v.kind == VAL_NONE)
            elab_hint(e, "test it with `is None` in a constexpr `if` before using it");
        return false;
    }
    if (op_number_own_elem(v, elem))
        return true;
    elab_fail(e, span, elab_int_too_big, val_text(e->arena, v), "64 bits");
    return false;
}

Val op_to_tensor(Elab *e, Span span, Val v) {
    if (v.kind == VAL_TILE || v.kind == VAL_ERROR)
        return v;
    Elem elem;
    if (v.kind == VAL_BIGINT)
        return elab_fail(e, span, elab_int_too_big, val_text(e->arena, v), "64 bits");
    if (!op_number_elem(e, span, v, &elem) || elab_no_builder(e, span, "a run-time number"))
        return val_error();
    return op_constant(e, v, elem);
}

Val op_splat(Elab *e, Val v, const Type *shape) {
    if (!shape || shape->rank == 0)
        return v;
    const Type *type = scalar_ir(e->ctx, v.tile.scalar, shape);
    return op_like(build_splat(&e->builder, v.tile.ir, type), v);
}

/* A constant of the type and shape of `like`. */
static Value *constant_like(Elab *e, Val like, int64_t i, double f) {
    const Type *type = val_ir_type(like);
    return type_is_float(type) ? build_constant_float(&e->builder, f, type)
                               : build_constant_int(&e->builder, i, type);
}

Val op_to_bool(Elab *e, Span span, Val v) {
    if (val_failed(v) || scalar_is_bool(v.tile.scalar))
        return v;
    v = op_promote_bits(e, span, v);
    Builder *b = &e->builder;
    Value *x = v.tile.ir;
    Value *ir;
    if (v.tile.scalar.pointer) {
        const Type *i64 = scalar_ir(e->ctx, scalar_number(ELEM_I64), x->type);
        Val address = val_tile(build_ptrtoint(b, x, i64), scalar_number(ELEM_I64));
        ir = build_cmpi(b, address.tile.ir, constant_like(e, address, 0, 0), IPRED_NE);
    } else if (scalar_is_float(v.tile.scalar)) {
        ir = build_cmpf(b, x, constant_like(e, v, 0, 0), FPRED_UNE);
    } else {
        ir = build_cmpi(b, x, constant_like(e, v, 0, 0), IPRED_NE);
    }
    return val_tile(ir, scalar_number(ELEM_I1));
}

static Value *cast_int_to_int(Elab *e, Value *x, Elem from, Elem to, const Type *type) {
    int from_bits = elem_bits(from), to_bits = elem_bits(to);
    if (to_bits == from_bits)
        return x;
    if (to_bits < from_bits)
        return build_trunci(&e->builder, x, type);
    return elem_info[from].is_signed ? build_extsi(&e->builder, x, type)
                                     : build_extui(&e->builder, x, type);
}

static Value *cast_float_to_float(Elab *e, Value *x, Elem from, Elem to, const Type *type,
                                  Rounding rounding) {
    if (elem_bits(to) > elem_bits(from))
        return build_extf(&e->builder, x, type);
    return build_truncf(&e->builder, x, rounding, type);
}

static Value *cast_number(Elab *e, Value *x, Elem from, Elem to, Rounding rounding);

/* What std.tile makes of bits, or bits of a float: from or to fp16 of fp8e4b15, fp32 of others. */
static Value *convert_bits(Elab *e, Value *x, Elem from, const char *function) {
    Val given = val_tile(x, scalar_number(elem_is_held_as_bits(from) ? ELEM_U8 : from));
    Val made = elab_call_values(e, e->builder.span, elab_std(e, str_from(function)), &given, 1);
    return val_failed(made) ? x : made.tile.ir;
}

static Value *cast_held_as_bits(Elab *e, Value *x, Elem from, Elem to, Rounding rounding) {
    static const char *const made_of[ELEM_COUNT] = {[ELEM_F8E4B15] = "_fp8e4b15_to_fp16",
                                                    [ELEM_F8E4B8] = "_fp8e4b8_to_fp32",
                                                    [ELEM_F8E5B16] = "_fp8e5b16_to_fp32"},
                             *const made_from[ELEM_COUNT] = {[ELEM_F8E4B15] = "_fp16_to_fp8e4b15",
                                                             [ELEM_F8E4B8] = "_fp32_to_fp8e4b8",
                                                             [ELEM_F8E5B16] = "_fp32_to_fp8e5b16"};
    Elem held = elem_is_held_as_bits(from) ? from : to;
    Elem between = held == ELEM_F8E4B15 ? ELEM_F16 : ELEM_F32;
    if (held == from) {
        x = convert_bits(e, x, from, made_of[from]);
        return to == between ? x : cast_number(e, x, between, to, rounding);
    }
    /* As Triton rounds: towards zero first, then to nearest. */
    if (from != between && held == ELEM_F8E4B15) {
        x = from == ELEM_F32 ? x : cast_number(e, x, from, ELEM_F32, rounding);
        x = cast_number(e, x, ELEM_F32, between, ROUND_RTZ);
    } else if (from != between) {
        x = cast_number(e, x, from, between, rounding);
    }
    return convert_bits(e, x, between, made_from[to]);
}

static Value *cast_number(Elab *e, Value *x, Elem from, Elem to, Rounding rounding) {
    if (elem_is_held_as_bits(from) || elem_is_held_as_bits(to))
        return cast_held_as_bits(e, x, from, to, rounding);
    Builder *b = &e->builder;
    const Type *type = scalar_ir(e->ctx, scalar_number(to), x->type);
    bool from_float = elem_is_float(from), to_float = elem_is_float(to);
    if (from_float && to_float)
        return cast_float_to_float(e, x, from, to, type, rounding);
    if (!from_float && !to_float)
        return cast_int_to_int(e, x, from, to, type);
    /* fp8 meets integers by way of fp32, which holds every fp8 value. */
    if (elem_is_fp8(from))
        return cast_number(e, cast_number(e, x, from, ELEM_F32, rounding), ELEM_F32, to, rounding);
    if (elem_is_fp8(to))
        return cast_number(e, cast_number(e, x, from, ELEM_F32, rounding), ELEM_F32, to, rounding);
    if (from_float)
        return elem_info[to].is_signed ? build_ftosi(b, x, type) : build_ftoui(b, x, type);
    return elem_info[from].is_signed ? build_sitof(b, x, type) : build_uitof(b, x, type);
}

static Val cast_pointer(Elab *e, Span span, Val v, ScalarType to) {
    Builder *b = &e->builder;
    ScalarType from = v.tile.scalar;
    Value *x = v.tile.ir;
    const Type *type = scalar_ir(e->ctx, to, x->type);
    if (from.pointer && to.pointer)
        return val_tile(type == x->type ? x : build_bitcast(b, x, type), to);
    if (from.pointer && scalar_is_int(to) && elem_bits(to.elem) == 64)
        return val_tile(build_ptrtoint(b, x, type), to);
    if (to.pointer && scalar_is_int(from)) {
        const Type *i64 = scalar_ir(e->ctx, scalar_number(ELEM_I64), x->type);
        x = cast_int_to_int(e, x, from.elem, ELEM_I64, i64);
        return val_tile(build_inttoptr(b, x, type), to);
    }
    return elab_fail(e, span, elab_cast, elab_type_text(e, v), scalar_text(e->arena, to));
}

Val op_cast(Elab *e, Span span, Val v, ScalarType to, Rounding rounding) {
    if (val_failed(v) || scalar_equal(v.tile.scalar, to))
        return v;
    if (scalar_is_bool(to))
        return op_to_bool(e, span, v);
    if (v.tile.scalar.pointer || to.pointer)
        return cast_pointer(e, span, v, to);
    Value *ir = cast_number(e, v.tile.ir, v.tile.scalar.elem, to.elem, rounding);
    return val_tile(ir, to);
}

Val op_bitcast(Elab *e, Span span, Val v, ScalarType to) {
    if (val_failed(v) || scalar_equal(v.tile.scalar, to))
        return v;
    if (v.tile.scalar.pointer || to.pointer)
        return op_cast(e, span, v, to, ROUND_RTNE);
    int from_bits = elem_bits(v.tile.scalar.elem), to_bits = elem_bits(to.elem);
    if (from_bits != to_bits)
        return elab_fail(e, span, elab_bitcast, elab_type_text(e, v), from_bits,
                         scalar_text(e->arena, to), to_bits);
    const Type *type = scalar_ir(e->ctx, to, val_ir_type(v));
    Value *x = v.tile.ir;
    return val_tile(type == x->type ? x : build_bitcast(&e->builder, x, type), to);
}

Val op_sign_of_bits(Elab *e, Span span, Val v, bool negates) {
    bool e4b15 = v.tile.scalar.elem == ELEM_F8E4B15;
    Str function = negates ? (e4b15 ? STR("_fp8e4b15_neg") : STR("_one_nan_neg"))
                           : (e4b15 ? STR("_fp8e4b15_abs") : STR("_one_nan_abs"));
    Val bits = val_tile(v.tile.ir, scalar_number(ELEM_U8));
    Val made = elab_call_values(e, span, elab_std(e, function), &bits, 1);
    return val_failed(made) ? made : val_tile(made.tile.ir, v.tile.scalar);
}

Val op_promote_bits(Elab *e, Span span, Val v) {
    if (!val_failed(v) && scalar_is_held_as_bits(v.tile.scalar))
        return op_cast(e, span, v, scalar_number(ELEM_F32), ROUND_RTNE);
    return v;
}

Val op_promote_bf16(Elab *e, Span span, Val v) {
    if (!val_failed(v) && !v.tile.scalar.pointer && v.tile.scalar.elem == ELEM_BF16)
        return op_cast(e, span, v, scalar_number(ELEM_F32), ROUND_RTNE);
    return v;
}
