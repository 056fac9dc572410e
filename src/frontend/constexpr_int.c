/* Operators on ints at compile time, as Python has them: exact, up to MAX_INT_BITS. */
#include "frontend/elaborate.h"

#include <math.h>

static Val overflow(Elab *e, Span span, AstOperator op) {
    return elab_fail(e, span, elab_constexpr_overflow, ast_operator_text[op], MAX_INT_BITS);
}

static Val made(Elab *e, Span span, AstOperator op, BigInt big) {
    return big_bits(big) > MAX_INT_BITS ? overflow(e, span, op) : val_of_big(e->arena, big);
}

static Val divided(Elab *e, Span span, AstOperator op, Val a, Val b) {
    enum { EXACT_BITS = 53 };
    const Wide exact = (Wide)1 << EXACT_BITS;
    if (a.kind != VAL_BIGINT && b.kind != VAL_BIGINT && a.i >= -exact && a.i <= exact &&
        b.i >= -exact && b.i <= exact)
        return val_float((double)a.i / (double)b.i);
    const double f = big_quotient(e->arena, val_as_big(e->arena, a), val_as_big(e->arena, b));
    return isinf(f) ? elab_fail(e, span, elab_int_too_big, ast_operator_text[op], "a float")
                    : val_float(f);
}

static Val power(Elab *e, Span span, Val base, Val exponent) {
    const bool is_small = base.kind != VAL_BIGINT && base.i >= -1 && base.i <= 1;
    const bool is_negative = exponent.kind == VAL_BIGINT ? exponent.big->negative : exponent.i < 0;
    if (is_negative) {
        double x, y;
        if (base.kind != VAL_BIGINT && base.i == 0)
            return elab_fail(e, span, elab_division_by_zero, "**");
        return elab_as_double(e, span, base, &x) && elab_as_double(e, span, exponent, &y)
                   ? val_float(pow(x, y))
                   : val_error();
    }
    const bool is_odd = exponent.kind == VAL_BIGINT ? exponent.big->limbs[0] & 1 : exponent.i & 1;
    if (is_small) {
        const bool is_zero = exponent.kind != VAL_BIGINT && exponent.i == 0;
        return val_int(is_zero ? 1 : base.i == -1 && !is_odd ? 1 : base.i);
    }
    BigInt square = val_as_big(e->arena, base), result = big_from_wide(e->arena, 1);
    if (exponent.kind == VAL_BIGINT || exponent.i > MAX_INT_BITS ||
        (big_bits(square) - 1) * (uint64_t)exponent.i > MAX_INT_BITS)
        return overflow(e, span, ASTOP_pow);
    for (Wide left = exponent.i; left; left >>= 1) {
        if (left & 1)
            result = big_multiply(e->arena, result, square);
        if (left > 1)
            square = big_multiply(e->arena, square, square);
        if (!elab_spend(e, span, 1 + (uint64_t)square.count * square.count / LIMBS_A_STEP))
            return val_error();
    }
    return made(e, span, ASTOP_pow, result);
}

static Val shifted(Elab *e, Span span, AstOperator op, Val a, Val by) {
    const bool is_huge = by.kind == VAL_BIGINT || by.i > MAX_INT_BITS;
    if (by.kind == VAL_BIGINT ? by.big->negative : by.i < 0)
        return elab_fail(e, span, elab_negative_shift);
    if (a.kind != VAL_BIGINT && a.i == 0)
        return val_int(0);
    if (is_huge && op == ASTOP_lshift)
        return overflow(e, span, op);
    if (is_huge)
        return val_int(a.kind == VAL_BIGINT ? -a.big->negative : -(a.i < 0));
    const int64_t places = (int64_t)by.i;
    return made(
        e, span, op,
        big_shift(e->arena, val_as_big(e->arena, a), op == ASTOP_lshift ? places : -places));
}

/* Where Wide does: false elsewhere. */
static bool narrow(AstOperator op, Wide a, Wide b, Wide *out) {
    switch ((int)op) {
    case ASTOP_add:
        return !__builtin_add_overflow(a, b, out);
    case ASTOP_sub:
        return !__builtin_sub_overflow(a, b, out);
    case ASTOP_mul:
        return !__builtin_mul_overflow(a, b, out);
    case ASTOP_floordiv:
        *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
        return true;
    case ASTOP_mod:
        *out = a % b;
        *out += *out != 0 && (*out < 0) != (b < 0) ? b : 0;
        return true;
    case ASTOP_bitand:
        *out = a & b;
        return true;
    case ASTOP_bitor:
        *out = a | b;
        return true;
    case ASTOP_bitxor:
        *out = a ^ b;
        return true;
    default:
        return false;
    }
}

static Val wide_binary(Elab *e, Span span, AstOperator op, BigInt a, BigInt b) {
    Arena *arena = e->arena;
    BigInt rest;
    if (!elab_spend(e, span, 1 + ((uint64_t)a.count + 1) * ((uint64_t)b.count + 1) / LIMBS_A_STEP))
        return val_error();
    switch ((int)op) {
    case ASTOP_add:
        return made(e, span, op, big_add(arena, a, b));
    case ASTOP_sub:
        return made(e, span, op, big_add(arena, a, big_negate(b)));
    case ASTOP_mul:
        return made(e, span, op, big_multiply(arena, a, b));
    case ASTOP_floordiv:
        return made(e, span, op, big_divide(arena, a, b, NULL));
    case ASTOP_mod:
        big_divide(arena, a, b, &rest);
        return made(e, span, op, rest);
    default:
        return made(e, span, op, big_bitwise(arena, ast_operator_text[op][0], a, b));
    }
}

bool elab_as_double(Elab *e, Span span, Val v, double *out) {
    *out = v.kind == VAL_BIGINT ? big_to_double(e->arena, *v.big) : val_as_double(v);
    if (v.kind != VAL_BIGINT || !isinf(*out))
        return true;
    elab_fail(e, span, elab_int_too_big, "the int", "a float");
    return false;
}

Val static_int_binary(Elab *e, Span span, AstOperator op, Val a, Val b) {
    const bool divides = op == ASTOP_div || op == ASTOP_floordiv || op == ASTOP_mod;
    const bool is_wide = a.kind != VAL_BIGINT && b.kind != VAL_BIGINT;
    Wide result;
    if (divides && b.kind != VAL_BIGINT && b.i == 0)
        return elab_fail(e, span, elab_division_by_zero, ast_operator_text[op]);
    switch ((int)op) {
    case ASTOP_div:
        return divided(e, span, op, a, b);
    case ASTOP_pow:
        return power(e, span, a, b);
    case ASTOP_lshift:
    case ASTOP_rshift:
        return shifted(e, span, op, a, b);
    default:
        break;
    }
    if (is_wide && narrow(op, a.i, b.i, &result) && result >= -WIDE_MAX)
        return val_int(result);
    return wide_binary(e, span, op, val_as_big(e->arena, a), val_as_big(e->arena, b));
}

Val static_int_unary(Elab *e, Span span, AstOperator op, Val a) {
    if (op == ASTOP_pos)
        return a.kind == VAL_BOOL ? val_int(a.i) : a;
    const Val negative =
        a.kind == VAL_BIGINT ? val_of_big(e->arena, big_negate(*a.big)) : val_int(-a.i);
    return op == ASTOP_neg ? negative : static_int_binary(e, span, ASTOP_sub, negative, val_int(1));
}
