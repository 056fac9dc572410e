/* Operators on run-time values: promotion of element types and broadcasting of shapes after
 * Triton's rules, then the op.
 *
 * Python numbers are weak: they take the other operand's type unless they are of a higher class
 * (bool < int < float). Two run-time integers follow C's usual arithmetic conversions without the
 * promotion to int; among floats the wider one wins, fp16 over bf16 stays fp16 only when no fp32 is
 * around, bf16 with anything but bf16 is fp32; / and % on 16-bit floats compute in fp32. */
#include "frontend/language.h"
#include "frontend/objects.h"
#include "types/float_bits.h"

#include <math.h>

Elem elem_promote_ints(Elem a, Elem b) {
    int a_bits = elem_bits(a), b_bits = elem_bits(b);
    bool a_signed = elem_info[a].is_signed, b_signed = elem_info[b].is_signed;
    if (a_signed == b_signed)
        return a_bits > b_bits ? a : b;
    if (!a_signed)
        return a_bits >= b_bits ? a : b;
    return b_bits >= a_bits ? b : a;
}

static bool either(Elem a, Elem b, Elem wanted) {
    return a == wanted || b == wanted;
}

/* The type in which `a op b` computes; a_weak: a is a Python number. */
static bool computation_elem(Elem a, bool a_weak, Elem b, bool b_weak, bool divide, Elem *out) {
    if (a_weak != b_weak) {
        Elem number = a_weak ? a : b, tile = a_weak ? b : a;
        if (elem_info[number].class <= elem_info[tile].class) {
            *out = divide && (tile == ELEM_F16 || tile == ELEM_BF16) ? ELEM_F32 : tile;
            return true;
        }
    }
    if (either(a, b, ELEM_F64))
        *out = ELEM_F64;
    else if (either(a, b, ELEM_F32))
        *out = ELEM_F32;
    else if (either(a, b, ELEM_F16))
        *out = divide ? ELEM_F32 : ELEM_F16;
    else if (a == ELEM_BF16 && b == ELEM_BF16)
        *out = divide ? ELEM_F32 : ELEM_BF16;
    else if (either(a, b, ELEM_BF16))
        *out = ELEM_F32;
    else if (elem_is_fp8(a) && elem_is_fp8(b))
        *out = a == b ? a : ELEM_F16;
    else if (elem_is_float(a) || elem_is_float(b))
        return false;
    else if (divide && elem_info[a].is_signed != elem_info[b].is_signed)
        return false;
    else
        *out = elem_promote_ints(a, b);
    return true;
}

bool op_number_widens(Val number, Val values) {
    Elem own;
    Elem result;
    if (!val_is_number(number) || !val_is_tile(values) || values.tile.scalar.pointer ||
        !op_number_own_elem(number, &own) ||
        elem_info[own].class > elem_info[values.tile.scalar.elem].class)
        return false;
    return !computation_elem(own, false, values.tile.scalar.elem, false, false, &result) ||
           result != values.tile.scalar.elem;
}

static bool fail_operands(Elab *e, Span span, const char *what, Val a, Val b) {
    elab_fail(e, span, elab_operands, what, elab_type_text(e, a), elab_type_text(e, b));
    return false;
}

/* A weak number as a constant of the type chosen. */
static bool number_as(Elab *e, Span span, Val *v, Elem elem) {
    if (elem_is_int(elem) && v->kind != VAL_FLOAT) {
        if (v->i < 0 && !elem_info[elem].is_signed) {
            elab_fail(e, span, elab_negative_unsigned, val_text(e->arena, *v),
                      elem_info[elem].text);
            elab_hint(e,
                      "cast the run-time operand to a signed type, or spell the constant as it is "
                      "after wrapping");
            return false;
        }
        if (v->i < elem_min(elem) || v->i > elem_max(elem)) {
            elab_fail(e, span, elab_int_too_big, val_text(e->arena, *v), elem_info[elem].text);
            elab_hint(e, "cast the run-time operand to a wider type first: x.to(tl.int64)");
            return false;
        }
    }
    *v = op_constant(e, *v, elem);
    return true;
}

static bool check_pointers(Elab *e, Span span, const char *what, uint32_t flags, Val a, Val b,
                           ScalarType x, ScalarType y) {
    bool bad = (x.pointer && !(flags & PROMOTE_POINTER_A)) ||
               (y.pointer && !(flags & PROMOTE_POINTER_B)) ||
               (x.pointer && y.pointer && !scalar_equal(x, y)) ||
               (x.pointer && scalar_is_float(y)) || (y.pointer && scalar_is_float(x));
    return !bad || fail_operands(e, span, what, a, b);
}

/* The element type of an operand; of a number, the one it takes by itself. */
static bool operand_scalar(Elab *e, Span span, Val v, ScalarType *scalar) {
    if (val_is_tile(v)) {
        *scalar = v.tile.scalar;
        return true;
    }
    *scalar = (ScalarType){0};
    return op_number_elem(e, span, v, &scalar->elem);
}

/* A negative number that is compared with unsigned values: in Triton to 3.8 what its bits are
 * without a sign; 3.9 refuses it. */
static void wrap_negative(Elab *e, Span span, Val *v, ScalarType own, Elem elem) {
    if (v->kind != VAL_INT || v->i >= 0 || !elem_is_int(elem) || elem_info[elem].is_signed)
        return;
    const Wide wrapped = v->i & elem_max(elem);
    ctx_diag(e->ctx, elab_span(e, span), elab_negative_compared, val_text(e->arena, *v),
             elem_info[elem].text, val_text(e->arena, val_int(wrapped)));
    elab_hint(e, "cast the run-time operand to a signed type");
    *v = op_constant(e, *v, own.elem);
}

/* Brings an operand to `elem`: casts run-time values, makes numbers constants. */
static bool operand_as(Elab *e, Span span, Val *v, Elem elem) {
    if (!val_is_tile(*v))
        return number_as(e, span, v, elem);
    *v = op_cast(e, span, *v, scalar_number(elem), ROUND_RTNE);
    return !val_failed(*v);
}

bool op_promote(Elab *e, Span span, const char *what, uint32_t flags, Val *a, Val *b) {
    ScalarType x, y;
    if (val_failed(*a) || val_failed(*b) || !operand_scalar(e, span, *a, &x) ||
        !operand_scalar(e, span, *b, &y) || !check_pointers(e, span, what, flags, *a, *b, x, y) ||
        elab_no_builder(e, span, what))
        return false;
    bool strong = flags & PROMOTE_STRONG;
    bool a_weak = !strong && !val_is_tile(*a), b_weak = !strong && !val_is_tile(*b);
    Elem x_elem = x.elem, y_elem = y.elem, elem;
    if (!x.pointer && !y.pointer) {
        if (!computation_elem(x.elem, a_weak, y.elem, b_weak, flags & PROMOTE_DIVIDE, &elem)) {
            if (!elem_is_int(x.elem) || !elem_is_int(y.elem))
                return fail_operands(e, span, what, *a, *b);
            elab_fail(e, span, elab_signedness, what, elab_type_text(e, *a), elab_type_text(e, *b));
            elab_hint(e, "cast both to one signedness: x.to(tl.%s)",
                      elem_info[elem_int(elem_bits(x.elem), true)].name);
            return false;
        }
        if (elem_is_fp8(elem) && !(flags & PROMOTE_ANY_FLOAT)) {
            elab_fail(e, span, elab_fp8_arithmetic, what, elab_type_text(e, *a),
                      elab_type_text(e, *b));
            elab_hint(e, "cast to tl.float16 or tl.float32 first");
            return false;
        }
        x_elem = y_elem = elem;
        if (strong) {
            wrap_negative(e, span, a, x, elem);
            wrap_negative(e, span, b, y, elem);
        }
    }
    if ((!x.pointer && !operand_as(e, span, a, x_elem)) ||
        (!y.pointer && !operand_as(e, span, b, y_elem)))
        return false;
    return op_broadcast(e, span, a, b);
}

/* Shapes */

Val op_expand_dims(Elab *e, Val v, int axis) {
    if (!val_has_shape(v)) {
        int64_t one = 1;
        const Type *type = type_get(e->ctx, TYPE_NUMBER, DT_I1, 1, &one, NULL);
        return op_splat(e, v, type);
    }
    return op_like(build_expand_dims(&e->builder, v.tile.ir, axis), v);
}

Val op_reshape(Elab *e, Val v, int rank, const int64_t *shape) {
    const Type *type = type_with_shape(e->ctx, val_ir_type(v), rank, shape);
    if (type == val_ir_type(v))
        return v;
    return op_like(build_reshape(&e->builder, v.tile.ir, type), v);
}

Val op_unsplat(Elab *e, Val v) {
    if (!val_has_shape(v) || type_numel(val_ir_type(v)) != 1)
        return v;
    int64_t one = 1;
    v = op_reshape(e, v, 1, &one);
    Op *op = build_reduce(&e->builder, 1, &v.tile.ir, 0, 0);
    Builder region = builder_at_end(op->regions[0]);
    region.span = e->builder.span;
    build_yield(&region, 1, (Value *const[]){&op->regions[0]->args[0]});
    return op_like(op_out(op), v);
}

static bool same_dims(const Type *type, int rank, const int64_t *shape) {
    return type->rank == rank &&
           (rank == 0 || memcmp(type->shape, shape, (size_t)rank * sizeof *shape) == 0);
}

static const char *shape_text(Elab *e, int rank, const int64_t *shape) {
    StrBuf out = strbuf(e->arena);
    strbuf_putc(&out, '[');
    for (int i = 0; i < rank; i++)
        strbuf_printf(&out, "%s%lld", i ? ", " : "", (long long)shape[i]);
    strbuf_putc(&out, ']');
    return out.ptr;
}

Val op_broadcast_to(Elab *e, Span span, Val v, int rank, const int64_t *shape) {
    if (val_failed(v))
        return v;
    const Type *from = val_ir_type(v);
    if (same_dims(from, rank, shape))
        return v;
    if (from->rank == 0)
        return op_splat(e, v, type_get(e->ctx, TYPE_NUMBER, DT_I1, rank, shape, NULL));
    bool fits = from->rank == rank;
    for (int i = 0; fits && i < rank; i++)
        fits = from->shape[i] == shape[i] || from->shape[i] == 1;
    if (!fits) {
        elab_fail(e, span, elab_broadcast_to, elab_type_text(e, v), shape_text(e, rank, shape));
        if (from->rank < rank)
            elab_hint(e, "insert the missing dimensions first: x[:, None] or x[None, :]");
        return val_error();
    }
    const Type *type = type_with_shape(e->ctx, from, rank, shape);
    return op_like(build_broadcast(&e->builder, v.tile.ir, type), v);
}

bool op_broadcast(Elab *e, Span span, Val *a, Val *b) {
    const Type *x = val_ir_type(*a), *y = val_ir_type(*b);
    if (x->rank == 0 || y->rank == 0) {
        if (x->rank == 0)
            *a = op_splat(e, *a, y);
        else
            *b = op_splat(e, *b, x);
        return true;
    }
    Val p = *a, q = *b;
    while (val_ir_type(p)->rank < y->rank)
        p = op_expand_dims(e, p, 0);
    while (val_ir_type(q)->rank < x->rank)
        q = op_expand_dims(e, q, 0);
    int rank = val_ir_type(p)->rank;
    int64_t shape[MAX_RANK];
    for (int i = 0; i < rank; i++) {
        int64_t left = val_ir_type(p)->shape[i], right = val_ir_type(q)->shape[i];
        if (left != right && left != 1 && right != 1) {
            elab_fail(e, span, elab_broadcast, elab_type_text(e, *a), elab_type_text(e, *b), i,
                      (long long)left, (long long)right);
            if (x->rank == 1 && y->rank == 1)
                elab_hint(e, "for an outer combination write x[:, None] and y[None, :]");
            return false;
        }
        shape[i] = left == 1 ? right : left;
    }
    if (!shape_check(e, span, rank, shape))
        return false;
    *a = op_broadcast_to(e, span, p, rank, shape);
    *b = op_broadcast_to(e, span, q, rank, shape);
    return true;
}

/* Operators */

/* Offsets are signed elements: unsigned ones narrower than 64 bits are widened first, or taken for
 * signed ones, by the version of the language. */
static Val pointer_offset(Elab *e, Span span, Val offset) {
    const Elem elem = offset.tile.scalar.elem;
    const int bits = elem_bits(elem);
    if (!elem_info[elem].is_signed && bits < 64) {
        if (elem == ELEM_I1 || elab_has_changed(e, LANGUAGE_unsigned_offset))
            return op_cast(e, span, offset, scalar_number(ELEM_I64), ROUND_RTNE);
        offset = val_tile(offset.tile.ir, scalar_number(elem_int(bits, true)));
    }
    if (bits < 32)
        return op_cast(e, span, offset, scalar_number(ELEM_I32), ROUND_RTNE);
    return offset;
}

/* Overflow, where that is checked: in the user's functions, but not where two elements are
 * combined, which has no effects. */
static bool checks_overflow(const Elab *e) {
    if (!e->request->sanitize_overflow || e->frame->unit->is_std)
        return false;
    for (const Block *block = e->builder.block; block && block->parent;
         block = block->parent->block)
        if (op_has(block->parent, COMBINES))
            return false;
    return true;
}

/* Asserts that the result of + or - or * is the one that 64 bits hold. A product of two unsigned
 * numbers of 32 bits that they do not hold either is negative in them, hence none of 32 bits. */
static void assert_exact(Elab *e, Span span, AstOperator op, Val a, Val b) {
    Elem elem = a.tile.scalar.elem;
    if (!scalar_is_int(a.tile.scalar) || elem == ELEM_I1 || elem_bits(elem) >= 64)
        return;
    Builder *builder = &e->builder;
    Val x = op_cast(e, span, a, scalar_number(ELEM_I64), ROUND_RTNE);
    Val y = op_cast(e, span, b, scalar_number(ELEM_I64), ROUND_RTNE);
    Value *exact = op == ASTOP_add   ? build_addi(builder, x.tile.ir, y.tile.ir)
                   : op == ASTOP_sub ? build_subi(builder, x.tile.ir, y.tile.ir)
                                     : build_muli(builder, x.tile.ir, y.tile.ir);
    Value *least = build_constant_int(builder, (int64_t)elem_min(elem), exact->type);
    Value *most = build_constant_int(builder, (int64_t)elem_max(elem), exact->type);
    Value *fits = build_andi(builder, build_cmpi(builder, exact, least, IPRED_SGE),
                             build_cmpi(builder, exact, most, IPRED_SLE));
    const char *name = op == ASTOP_add ? "add" : op == ASTOP_sub ? "sub" : "mul";
    const char *text =
        str_format(e->arena, "int%d overflow detected for operation %s", elem_bits(elem), name);
    build_assert(builder, fits, ctx_intern(e->ctx, str_from(text)));
}

static Val integer_zero(Elab *e, Val like) {
    return op_like(build_constant_int(&e->builder, 0, val_ir_type(like)), like);
}

static Val negated(Elab *e, Val v) {
    if (scalar_is_held_as_bits(v.tile.scalar))
        return op_sign_of_bits(e, e->builder.span, v, true);
    if (scalar_is_float(v.tile.scalar) && elab_has_changed(e, LANGUAGE_negation))
        return op_like(build_negf(&e->builder, v.tile.ir), v);
    if (scalar_is_float(v.tile.scalar)) {
        Value *zero = build_constant_float(&e->builder, 0, val_ir_type(v));
        return op_like(build_subf(&e->builder, zero, v.tile.ir), v);
    }
    return op_like(build_subi(&e->builder, integer_zero(e, v).tile.ir, v.tile.ir), v);
}

static Val negate(Elab *e, Span span, Val v) {
    if (checks_overflow(e) && !scalar_is_float(v.tile.scalar))
        assert_exact(e, span, ASTOP_sub, integer_zero(e, v), v);
    return negated(e, v);
}

static Val add_pointer(Elab *e, Span span, Val a, Val b, bool subtract) {
    if (a.tile.scalar.pointer && b.tile.scalar.pointer) {
        fail_operands(e, span, subtract ? "-" : "+", a, b);
        elab_hint(e, "add an integer offset to one pointer instead");
        return val_error();
    }
    Val pointer = a.tile.scalar.pointer ? a : b, offset = a.tile.scalar.pointer ? b : a;
    offset = pointer_offset(e, span, offset);
    if (subtract)
        offset = negated(e, offset);
    return op_like(build_addptr(&e->builder, pointer.tile.ir, offset.tile.ir), pointer);
}

/* Integer scalars whose values are known stay known: bounds and shapes computed from constants. */
static bool fold_ints(Elab *e, AstOperator op, Val a, Val b, Val *out) {
    Wide x, y, r;
    if (!scalar_is_int(a.tile.scalar) || !val_known_int(a, &x) || !val_known_int(b, &y))
        return false;
    bool divides = op == ASTOP_floordiv || op == ASTOP_mod;
    if (divides && y == 0)
        return false;
    r = op == ASTOP_add   ? x + y
        : op == ASTOP_sub ? x - y
        : op == ASTOP_mul ? (Wide)((unsigned __int128)x * (unsigned __int128)y)
        : op == ASTOP_mod ? x % y
                          : x / y;
    Elem elem = a.tile.scalar.elem;
    Wide range = (Wide)1 << elem_bits(elem);
    r &= range - 1;
    if (elem_info[elem].is_signed && r > elem_max(elem))
        r -= range;
    *out = op_constant(e, val_int(r), elem);
    return true;
}

static Val arithmetic(Elab *e, Span span, AstOperator op, Val a, Val b, bool checked) {
    Val folded;
    uint32_t flags = op == ASTOP_add   ? PROMOTE_POINTER_A | PROMOTE_POINTER_B
                     : op == ASTOP_sub ? PROMOTE_POINTER_A
                                       : 0;
    if (!op_promote(e, span, ast_operator_text[op], flags, &a, &b))
        return val_error();
    if (a.tile.scalar.pointer || b.tile.scalar.pointer)
        return add_pointer(e, span, a, b, op == ASTOP_sub);
    if (checked)
        assert_exact(e, span, op, a, b);
    if (fold_ints(e, op, a, b, &folded))
        return folded;
    Builder *builder = &e->builder;
    Value *x = a.tile.ir, *y = b.tile.ir;
    bool is_float = scalar_is_float(a.tile.scalar);
    if (op == ASTOP_add)
        return op_like(is_float ? build_addf(builder, x, y) : build_addi(builder, x, y), a);
    if (op == ASTOP_sub)
        return op_like(is_float ? build_subf(builder, x, y) : build_subi(builder, x, y), a);
    return op_like(is_float ? build_mulf(builder, x, y) : build_muli(builder, x, y), a);
}

static Val divide(Elab *e, Span span, AstOperator op, Val a, Val b) {
    if (!op_promote(e, span, ast_operator_text[op], PROMOTE_DIVIDE, &a, &b))
        return val_error();
    Builder *builder = &e->builder;
    bool is_signed = elem_info[a.tile.scalar.elem].is_signed;
    bool is_float = scalar_is_float(a.tile.scalar);
    if (op == ASTOP_div) {
        a = is_float ? a : op_cast(e, span, a, scalar_number(ELEM_F32), ROUND_RTNE);
        b = is_float ? b : op_cast(e, span, b, scalar_number(ELEM_F32), ROUND_RTNE);
        return op_like(build_divf(builder, a.tile.ir, b.tile.ir, false, false), a);
    }
    Value *x = a.tile.ir, *y = b.tile.ir;
    Val folded;
    if (!is_float && fold_ints(e, op, a, b, &folded))
        return folded;
    if (op == ASTOP_floordiv) {
        if (is_float) {
            fail_operands(e, span, "//", a, b);
            elab_hint(e, "write tl.floor(a / b)");
            return val_error();
        }
        return op_like(is_signed ? build_divsi(builder, x, y) : build_divui(builder, x, y), a);
    }
    if (is_float && !elab_has_changed(e, LANGUAGE_float_remainder)) {
        Value *quotient = build_floor(builder, build_divf(builder, x, y, false, false));
        return op_like(build_subf(builder, x, build_mulf(builder, quotient, y)), a);
    }
    if (is_float)
        return op_like(build_remf(builder, x, y), a);
    return op_like(is_signed ? build_remsi(builder, x, y) : build_remui(builder, x, y), a);
}

static Val bitwise(Elab *e, Span span, AstOperator op, Val a, Val b) {
    /* Whether >> keeps the sign is decided by its run-time operand before promotion. */
    ScalarType shifted = val_is_tile(a) ? a.tile.scalar : b.tile.scalar;
    bool is_signed = scalar_is_int(shifted) && elem_info[shifted.elem].is_signed;
    const Val left = a, right = b;
    if (!op_promote(e, span, ast_operator_text[op], 0, &a, &b))
        return val_error();
    if (!scalar_is_int(a.tile.scalar)) {
        fail_operands(e, span, ast_operator_text[op], left, right);
        if (e->bare_bits && e->bare_bits->span.file == span.file &&
            e->bare_bits->span.lo == span.lo && e->bare_bits->span.hi == span.hi)
            elab_hint(e, "comparisons bind weaker than `%s`: put each in parentheses",
                      ast_operator_text[op]);
        else if (scalar_is_float(a.tile.scalar))
            elab_hint(e,
                      "`%s` is for integers: convert with .to(tl.int32), or take the bits with "
                      ".to(tl.int32, bitcast=True)",
                      ast_operator_text[op]);
        return val_error();
    }
    Builder *builder = &e->builder;
    Value *x = a.tile.ir, *y = b.tile.ir;
    switch ((int)op) {
    case ASTOP_bitand:
        return op_like(build_andi(builder, x, y), a);
    case ASTOP_bitor:
        return op_like(build_ori(builder, x, y), a);
    case ASTOP_bitxor:
        return op_like(build_xori(builder, x, y), a);
    case ASTOP_lshift:
        return op_like(build_shli(builder, x, y), a);
    default:
        return op_like(is_signed ? build_shrsi(builder, x, y) : build_shrui(builder, x, y), a);
    }
}

Val elab_binary(Elab *e, Span span, AstOperator op, Val a, Val b) {
    if (val_failed(a) || val_failed(b))
        return val_error();
    if (!val_is_tile(a) && !val_is_tile(b))
        return static_binary(e, span, op, a, b);
    if (elab_no_builder(e, span, "arithmetic on run-time values"))
        return val_error();
    switch ((int)op) {
    case ASTOP_add:
    case ASTOP_sub:
    case ASTOP_mul:
        return arithmetic(e, span, op, a, b, checks_overflow(e));
    case ASTOP_div:
    case ASTOP_floordiv:
    case ASTOP_mod:
        return divide(e, span, op, a, b);
    case ASTOP_bitand:
    case ASTOP_bitor:
    case ASTOP_bitxor:
    case ASTOP_lshift:
    case ASTOP_rshift:
        return bitwise(e, span, op, a, b);
    default:
        fail_operands(e, span, ast_operator_text[op], a, b);
        if (op == ASTOP_pow)
            elab_hint(e, "run-time powers: x * x, or tl.exp2(y * tl.log2(x)) for x > 0");
        if (op == ASTOP_matmul)
            elab_hint(e, "write tl.dot(a, b)");
        return val_error();
    }
}

Val elab_wrapping(Elab *e, Span span, AstOperator op, Val a, Val b) {
    if (!val_is_tile(a) && !val_is_tile(b))
        return elab_binary(e, span, op, a, b);
    return arithmetic(e, span, op, a, b, false);
}

/* Comparisons */

typedef struct Predicates {
    FloatPredicate of_floats;
    IntPredicate of_signed, of_unsigned;
} Predicates;

static Predicates predicates(AstOperator op) {
    switch ((int)op) {
    case ASTOP_ne:
        return (Predicates){FPRED_UNE, IPRED_NE, IPRED_NE};
    case ASTOP_lt:
        return (Predicates){FPRED_OLT, IPRED_SLT, IPRED_ULT};
    case ASTOP_le:
        return (Predicates){FPRED_OLE, IPRED_SLE, IPRED_ULE};
    case ASTOP_gt:
        return (Predicates){FPRED_OGT, IPRED_SGT, IPRED_UGT};
    case ASTOP_ge:
        return (Predicates){FPRED_OGE, IPRED_SGE, IPRED_UGE};
    default:
        return (Predicates){FPRED_OEQ, IPRED_EQ, IPRED_EQ};
    }
}

/* Whether a number is another one in the type of the values that it is compared with. */
static bool loses_value(Val number, Val values) {
    const bool is_number =
        number.kind == VAL_BOOL || number.kind == VAL_INT || number.kind == VAL_FLOAT;
    if (!is_number || !val_is_tile(values) || values.tile.scalar.pointer ||
        scalar_is_held_as_bits(values.tile.scalar))
        return false;
    const Elem elem = values.tile.scalar.elem;
    if (elem_is_int(elem))
        return number.kind == VAL_INT && (number.i < elem_min(elem) || number.i > elem_max(elem));
    const DType dtype = elem_info[elem].ir;
    const double value = val_as_double(number);
    return !isnan(value) && float_from_bits(dtype, float_to_bits(dtype, value)) != value;
}

/* How operands of a comparison take their type. Of what a version makes of numbers only those that
 * it changes are asked after. */
static uint32_t comparison_flags(Elab *e, Span span, Val a, Val b) {
    if (!loses_value(a, b) && !loses_value(b, a))
        return PROMOTE_STRONG;
    const Val number = val_is_tile(a) ? b : a, values = val_is_tile(a) ? a : b;
    const bool wraps = number.kind == VAL_INT && number.i < 0 &&
                       scalar_is_int(values.tile.scalar) &&
                       !elem_info[values.tile.scalar.elem].is_signed;
    const bool changed = wraps ? elab_has_changed(e, LANGUAGE_negative_compared)
                               : elab_means_new(e, span, LANGUAGE_compared_numbers);
    return changed ? 0 : PROMOTE_STRONG;
}

Val elab_compare(Elab *e, Span span, AstOperator op, Val a, Val b) {
    if (val_failed(a) || val_failed(b))
        return val_error();
    if (val_is_object(a) && (op == ASTOP_is || op == ASTOP_isnot))
        return val_bool((a.kind == b.kind && a.object == b.object) == (op == ASTOP_is));
    if (op == ASTOP_is || op == ASTOP_isnot) {
        if (!object_measure(e, span, a) || !object_measure(e, span, b))
            return val_error();
        return val_bool(val_equal(a, b) == (op == ASTOP_is));
    }
    if (!val_is_tile(a) && !val_is_tile(b))
        return static_compare(e, span, op, a, b);
    if (op == ASTOP_in || op == ASTOP_notin) {
        fail_operands(e, span, ast_operator_text[op], a, b);
        elab_hint(e,
                  "`in` is for compile-time values; compare with each element and combine with |");
        return val_error();
    }
    if (!op_promote(e, span, ast_operator_text[op], comparison_flags(e, span, a, b), &a, &b))
        return val_error();
    Predicates pred = predicates(op);
    Value *ir;
    if (scalar_is_float(a.tile.scalar))
        ir = build_cmpf(&e->builder, a.tile.ir, b.tile.ir, pred.of_floats);
    else if (elem_info[a.tile.scalar.elem].is_signed)
        ir = build_cmpi(&e->builder, a.tile.ir, b.tile.ir, pred.of_signed);
    else
        ir = build_cmpi(&e->builder, a.tile.ir, b.tile.ir, pred.of_unsigned);
    return val_tile(ir, scalar_number(ELEM_I1));
}

Val elab_logical(Elab *e, Span span, AstOperator op, Val a, Val b) {
    a = op_to_bool(e, span, op_to_tensor(e, span, a));
    b = op_to_bool(e, span, op_to_tensor(e, span, b));
    if (val_failed(a) || val_failed(b) || !op_broadcast(e, span, &a, &b))
        return val_error();
    Value *ir = op == ASTOP_and ? build_andi(&e->builder, a.tile.ir, b.tile.ir)
                                : build_ori(&e->builder, a.tile.ir, b.tile.ir);
    return op_like(ir, a);
}

static Val invert(Elab *e, Val v) {
    Value *ones = build_constant_int(&e->builder, -1, val_ir_type(v));
    return op_like(build_xori(&e->builder, v.tile.ir, ones), v);
}

Val elab_unary(Elab *e, Span span, AstOperator op, Val a) {
    if (val_failed(a))
        return a;
    if (!val_is_tile(a))
        return static_unary(e, span, op, a);
    if (op == ASTOP_pos)
        return a;
    if (op == ASTOP_not)
        return invert(e, op_to_bool(e, span, a));
    bool bad = a.tile.scalar.pointer || (op == ASTOP_invert && !scalar_is_int(a.tile.scalar));
    if (bad)
        return elab_fail(e, span, elab_operand, ast_operator_text[op], elab_type_text(e, a));
    return op == ASTOP_neg ? negate(e, span, a) : invert(e, a);
}
