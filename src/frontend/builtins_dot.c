/* tl.dot: operands, precision, accumulator. What is multiplied and how accurately is kept on the
 * op; that instructions want other shapes or precisions is the passes' business. Triton's checks
 * are kept where they bind (tl.dot_scaled is written in std.tile). */
#include "frontend/builtins.h"
#include "frontend/language.h"

/* What max_num_imprecise_acc is for fp8 unless given: the sum of the whole block may be imprecise.
 */
enum { IMPRECISE_DEFAULT = 1 << 30 };

static bool dot_types(Call *call, Val a, Val b) {
    Elab *e = call->e;
    Elem x = a.tile.scalar.elem, y = b.tile.scalar.elem;
    bool pointers = a.tile.scalar.pointer || b.tile.scalar.pointer;
    bool fp8 = elem_is_fp8(x) && elem_is_fp8(y);
    bool allowed =
        x == ELEM_I8 || x == ELEM_F16 || x == ELEM_BF16 || x == ELEM_F32 || x == ELEM_F64;
    if (!pointers && (fp8 || (x == y && allowed)))
        return true;
    elab_fail(e, call->span, elab_operands, "tl.dot", elab_type_text(e, a), elab_type_text(e, b));
    if (!pointers && x == ELEM_U8 && y == ELEM_U8)
        elab_hint(e, "of the integers only int8 is multiplied; cast with .to(tl.int8), or to fp16 "
                     "where values reach 128");
    else
        elab_hint(e, "both operands have one type: int8, fp8, fp16, bf16, fp32 or fp64; cast one "
                     "with .to()");
    return false;
}

static bool dot_shapes(Call *call, Val a, Val b) {
    Elab *e = call->e;
    const Type *x = val_ir_type(a), *y = val_ir_type(b);
    bool ok = x->rank == y->rank && x->rank >= 2;
    for (int i = 0; ok && i < x->rank - 2; i++)
        ok = x->shape[i] == y->shape[i];
    ok = ok && x->shape[x->rank - 1] == y->shape[y->rank - 2];
    if (!ok) {
        elab_fail(e, call->span, elab_dot_shape, elab_type_text(e, a), elab_type_text(e, b));
        if (x->rank == 2 && y->rank == 2 && x->shape[1] == y->shape[1])
            elab_hint(e, "transpose the second operand: tl.dot(a, b.T)");
        return false;
    }
    const int64_t depth = x->shape[x->rank - 1];
    const bool few = x->shape[x->rank - 2] < 16 || y->shape[y->rank - 1] < 16;
    return (depth >= 16 || elab_has_feature(e, call->span, LANGUAGE_HAS_dot_depth)) &&
           (!few || elab_has_feature(e, call->span, LANGUAGE_HAS_dot_rows)) &&
           (a.tile.scalar.elem != ELEM_F64 ||
            elab_has_feature(e, call->span, LANGUAGE_HAS_dot_fp64));
}

/* 'tf32', 'TF32', 'tf32x3', ..: case does not matter. */
static bool named_precision(Call *call, DotPrecision *precision) {
    Elab *e = call->e;
    Str text;
    if (!call_string(call, 3, &text))
        return false;
    StrBuf all = strbuf(e->arena);
    for (int i = 0; i < PRECISION_COUNT; i++) {
        const char *name = attr_enum_text(ATTR_PRECISION, i);
        bool same = strlen(name) == text.len;
        for (size_t c = 0; same && c < text.len; c++) {
            char given = text.ptr[c];
            same = (given >= 'A' && given <= 'Z' ? given - 'A' + 'a' : given) == name[c];
        }
        if (same) {
            *precision = (DotPrecision)i;
            const bool is_new = i == PRECISION_BF16X3 || i == PRECISION_BF16X6;
            return !is_new || elab_has_feature(e, call->spans[3], LANGUAGE_HAS_bf16_precision);
        }
        strbuf_printf(&all, "%s'%s'", i ? ", " : "", name);
    }
    elab_fail(e, call->spans[3], elab_dot_precision, STR_ARG(text));
    elab_hint(e, "one of %s", all.ptr);
    return false;
}

static bool dot_precision(Call *call, DotPrecision *precision) {
    Elab *e = call->e;
    bool given = !val_missing(call->args[3]), tf32_given = !val_missing(call->args[4]);
    bool allow_tf32 = true;
    if (given && tf32_given) {
        elab_fail(e, call->spans[4], elab_dot_both);
        elab_hint(e, "allow_tf32=False is input_precision='ieee'");
        return false;
    }
    if (given)
        return named_precision(call, precision);
    if (tf32_given && !call_flag(call, 4, &allow_tf32))
        return false;
    *precision = allow_tf32 ? PRECISION_TF32 : PRECISION_IEEE;
    return true;
}

/* The element type of the result. out_dtype has a say for fp16 and fp8 only. */
static bool dot_result(Call *call, Elem operand, Elem *result) {
    Elab *e = call->e;
    ScalarType out = scalar_number(ELEM_F32);
    if (!val_missing(call->args[6]) && !call_type(call, 6, &out))
        return false;
    if (elem_is_int(operand)) {
        *result = ELEM_I32;
        return true;
    }
    bool narrow = operand == ELEM_F16 || elem_is_fp8(operand);
    bool ok = !out.pointer && out.elem != ELEM_BF16;
    if (operand == ELEM_F64)
        *result = ELEM_F64;
    else if (narrow) {
        *result = out.elem;
        ok = ok && (out.elem == ELEM_F32 || out.elem == ELEM_F16);
    } else
        *result = ELEM_F32;
    if (ok)
        return true;
    elab_fail(e, call->spans[6], elab_dot_out, scalar_text(e->arena, out));
    elab_hint(e, "accumulate in tl.float32 and convert the result with .to()");
    return false;
}

static Val dot_accumulator(Call *call, Val a, Val b, Elem elem) {
    Elab *e = call->e;
    const Type *x = val_ir_type(a), *y = val_ir_type(b);
    int64_t shape[MAX_RANK];
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] = y->shape[y->rank - 1];
    if (!shape_check(e, call->span, x->rank, shape))
        return val_error();
    const Type *type = type_get(e->ctx, TYPE_NUMBER, elem_info[elem].ir, x->rank, shape, NULL);
    if (val_missing(call->args[2])) {
        Value *zero = elem_is_float(elem) ? build_constant_float(&e->builder, 0, type)
                                          : build_constant_int(&e->builder, 0, type);
        return val_tile(zero, scalar_number(elem));
    }
    Val acc = call->args[2];
    bool tile = val_is_tile(acc) && !acc.tile.scalar.pointer;
    if (tile && val_ir_type(acc) == type && acc.tile.scalar.elem == elem)
        return acc;
    StrBuf wanted = strbuf(e->arena);
    val_print(val_type(scalar_number(elem), type), false, &wanted);
    elab_fail(e, call->spans[2], elab_argument, "dot", "acc", wanted.ptr, elab_type_text(e, acc));
    if (tile && acc.tile.scalar.elem == ELEM_F16 && val_missing(call->args[6]))
        elab_hint(e, "an fp16 accumulator wants out_dtype=tl.float16");
    return val_error();
}

static bool dot_imprecise(Call *call, Val a, int64_t *imprecise) {
    bool fp8 = elem_is_fp8(a.tile.scalar.elem);
    int64_t depth = val_ir_type(a)->shape[val_ir_type(a)->rank - 1];
    *imprecise = fp8 ? IMPRECISE_DEFAULT : 0;
    if (val_missing(call->args[5]))
        return true;
    if (!call_int(call, 5, imprecise))
        return false;
    if (*imprecise < 0) {
        elab_fail(call->e, call->spans[5], elab_dot_imprecise_sign, (long long)*imprecise);
        return false;
    }
    if (fp8 && *imprecise > depth) {
        elab_fail(call->e, call->spans[5], elab_dot_imprecise, (long long)*imprecise,
                  (long long)depth);
        return false;
    }
    if (!fp8)
        *imprecise = 0;
    return true;
}

/* The batch dimensions of a tile of rank 4 or more as one. */
static Val flatten_batches(Elab *e, Val v) {
    const Type *type = val_ir_type(v);
    if (type->rank <= 3)
        return v;
    int64_t shape[3] = {1, type->shape[type->rank - 2], type->shape[type->rank - 1]};
    for (int d = 0; d < type->rank - 2; d++)
        shape[0] *= type->shape[d];
    return op_reshape(e, v, 3, shape);
}

/* fp16 has all values of floats that are held as bits. */
static Val from_bits(Call *call, int param, Val v) {
    if (!scalar_is_held_as_bits(v.tile.scalar))
        return v;
    return op_cast(call->e, call->spans[param], v, scalar_number(ELEM_F16), ROUND_RTNE);
}

/* The operand, with its last two dimensions exchanged where the flag of Triton 1 and 2.0 says so.
 */
static bool turned(Call *call, int param, Val *v) {
    bool turns;
    if (!call_flag(call, param, &turns))
        return false;
    if (turns && val_ir_type(*v)->rank >= 2)
        *v = op_transpose(call->e, *v);
    return true;
}

Val builtin_dot(Call *call) {
    Elab *e = call->e;
    Val a, b;
    DotPrecision precision;
    int64_t imprecise;
    Elem elem;
    if (!call_tile(call, 0, &a) || !call_tile(call, 1, &b))
        return val_error();
    a = from_bits(call, 0, a);
    b = from_bits(call, 1, b);
    if (!turned(call, 7, &a) || !turned(call, 8, &b) || !dot_types(call, a, b) ||
        !dot_shapes(call, a, b) || !dot_precision(call, &precision) ||
        !dot_result(call, a.tile.scalar.elem, &elem) || !dot_imprecise(call, a, &imprecise))
        return val_error();
    Val acc = dot_accumulator(call, a, b, elem);
    if (val_failed(acc))
        return acc;
    const Type *result = val_ir_type(acc);
    a = flatten_batches(e, a);
    b = flatten_batches(e, b);
    acc = flatten_batches(e, acc);
    Value *ir =
        build_dot(&e->builder, a.tile.ir, b.tile.ir, acc.tile.ir, precision, imprecise, UNIT_FMA);
    Val product = op_like(ir, acc);
    return result->rank > 3 ? op_reshape(e, product, result->rank, result->shape) : product;
}
