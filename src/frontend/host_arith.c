#include "frontend/host_arith.h"

#include "frontend/floats.h"
#include "frontend/value.h"
#include "support/c_locale.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define NO_PROBLEM HOST_PROBLEM_COUNT

static bool is_whole(HostValue v) {
    return v.kind == HOST_INT || v.kind == HOST_BOOL;
}

static bool is_number(HostValue v) {
    return is_whole(v) || v.kind == HOST_FLOAT;
}

static double as_double(HostValue v) {
    return v.kind == HOST_FLOAT ? v.f : (double)v.i;
}

static HostProblem give_int(int64_t i, HostValue *value) {
    *value = host_int(i);
    return NO_PROBLEM;
}

static HostProblem give_float(double f, HostValue *value) {
    *value = host_float(f);
    return NO_PROBLEM;
}

/* A double without a fraction as an integer. */
static HostProblem give_rounded(double f, HostValue *value) {
    if (!(f >= -0x1p63 && f < 0x1p63))
        return HOST_overflow;
    return give_int((int64_t)f, value);
}

bool host_truth(HostValue v) {
    switch (v.kind) {
    case HOST_UNKNOWN:
    case HOST_NONE:
        return false;
    case HOST_BOOL:
    case HOST_INT:
        return v.i != 0;
    case HOST_FLOAT:
        return v.f != 0;
    case HOST_TEXT:
        return v.text.len != 0;
    case HOST_LIST:
    case HOST_TUPLE:
        return v.list->items.len != 0;
    case HOST_DICT:
        return v.dict->pairs.len != 0;
    case HOST_POINTER:
    case HOST_CONFIG:
    case HOST_CALLABLE:
    case HOST_PATH:
        return true;
    }
    return false;
}

/* An integer and a double without rounding either: the double's whole part fits when it is in
 * range. */
static int compare_mixed(int64_t i, double f) {
    if (f >= 0x1p63)
        return -1;
    if (f < -0x1p63)
        return 1;
    const int64_t whole = (int64_t)f;
    if (i != whole)
        return i < whole ? -1 : 1;
    const double rest = f - (double)whole;
    return (rest < 0) - (rest > 0);
}

/* -1, 0, 1; of numbers that are no NaN. */
static int order(HostValue a, HostValue b) {
    if (is_whole(a) && is_whole(b))
        return (a.i > b.i) - (a.i < b.i);
    if (is_whole(a))
        return compare_mixed(a.i, b.f);
    if (is_whole(b))
        return -compare_mixed(b.i, a.f);
    return (a.f > b.f) - (a.f < b.f);
}

static bool is_nan(HostValue v) {
    return v.kind == HOST_FLOAT && isnan(v.f);
}

/* Lists may hold themselves. */
enum { MOST_NESTED = 64 };

static bool equal(HostValue a, HostValue b, int depth);

static bool lists_equal(const HostList *a, const HostList *b, int depth) {
    if (a->items.len != b->items.len)
        return false;
    for (size_t i = 0; i < a->items.len; i++)
        if (!equal(a->items.data[i], b->items.data[i], depth))
            return false;
    return true;
}

static bool dicts_equal(const HostDict *a, const HostDict *b, int depth) {
    if (a->pairs.len != b->pairs.len)
        return false;
    for (size_t i = 0; i < a->pairs.len; i++) {
        const HostValue *other = host_dict_find(b, a->pairs.data[i].key);
        if (!other || !equal(a->pairs.data[i].value, *other, depth))
            return false;
    }
    return true;
}

static bool equal(HostValue a, HostValue b, int depth) {
    if (is_number(a) && is_number(b))
        return !is_nan(a) && !is_nan(b) && order(a, b) == 0;
    if (a.kind != b.kind || depth == MOST_NESTED)
        return false;
    switch (a.kind) {
    case HOST_NONE:
        return true;
    case HOST_TEXT:
    case HOST_PATH:
        return str_eq(a.text, b.text);
    case HOST_LIST:
    case HOST_TUPLE:
        return lists_equal(a.list, b.list, depth + 1);
    case HOST_DICT:
        return dicts_equal(a.dict, b.dict, depth + 1);
    case HOST_CONFIG:
        return a.config == b.config;
    case HOST_CALLABLE:
        return a.callable == b.callable;
    default:
        return false;
    }
}

bool host_values_equal(HostValue a, HostValue b) {
    return equal(a, b, 0);
}

HostValue *host_dict_find(const HostDict *dict, HostValue key) {
    for (size_t i = 0; i < dict->pairs.len; i++)
        if (host_values_equal(dict->pairs.data[i].key, key))
            return &dict->pairs.data[i].value;
    return NULL;
}

HostProblem host_compare(AstOperator op, HostValue a, HostValue b, bool *holds) {
    const bool negates = op == ASTOP_ne || op == ASTOP_isnot;
    if (a.kind == HOST_POINTER && b.kind == HOST_POINTER)
        return HOST_types; /* two tensors: not the same one by their address */
    if (negates || op == ASTOP_eq || op == ASTOP_is) {
        *holds = host_values_equal(a, b) != negates;
        return NO_PROBLEM;
    }
    if (!is_number(a) || !is_number(b))
        return HOST_types;
    const int way = order(a, b);
    const bool ordered = !is_nan(a) && !is_nan(b);
    *holds = ordered && (op == ASTOP_lt   ? way < 0
                         : op == ASTOP_le ? way <= 0
                         : op == ASTOP_gt ? way > 0
                                          : way >= 0);
    return NO_PROBLEM;
}

HostProblem host_unary(AstOperator op, HostValue operand, HostValue *value) {
    if (op == ASTOP_not) {
        *value = host_bool(!host_truth(operand));
        return NO_PROBLEM;
    }
    if (operand.kind == HOST_FLOAT && op != ASTOP_invert)
        return give_float(op == ASTOP_neg ? -operand.f : operand.f, value);
    if (!is_whole(operand))
        return HOST_types;
    if (op == ASTOP_invert)
        return give_int(~operand.i, value);
    if (op == ASTOP_neg && operand.i == INT64_MIN)
        return HOST_overflow;
    return give_int(op == ASTOP_neg ? -operand.i : operand.i, value);
}

/* Division and remainder round down. */
static int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static HostProblem divide(AstOperator op, int64_t a, int64_t b, HostValue *value) {
    if (b == 0)
        return HOST_zero_division;
    if (op == ASTOP_div)
        return give_float((double)a / (double)b, value);
    if (b == -1) /* of INT64_MIN, C has no quotient and no remainder */
        return op == ASTOP_mod  ? give_int(0, value)
               : a == INT64_MIN ? HOST_overflow
                                : give_int(-a, value);
    const int64_t quotient = floor_div(a, b);
    return give_int(op == ASTOP_floordiv ? quotient : a - quotient * b, value);
}

static HostProblem power(int64_t base, int64_t exponent, HostValue *value) {
    if (exponent < 0)
        return base == 0 ? HOST_zero_division
                         : give_float(pow((double)base, (double)exponent), value);
    int64_t result = 1;
    for (bool first = true; exponent; exponent >>= 1, first = false) {
        if (!first && __builtin_mul_overflow(base, base, &base))
            return HOST_overflow;
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
            return HOST_overflow;
    }
    return give_int(result, value);
}

static HostProblem shift(AstOperator op, int64_t a, int64_t b, HostValue *value) {
    if (b < 0)
        return HOST_not_positive;
    if (op == ASTOP_rshift)
        return give_int(b >= 63 ? (a < 0 ? -1 : 0) : a >> b, value);
    int64_t result;
    if (a == 0)
        return give_int(0, value);
    if (b >= 63 || __builtin_mul_overflow(a, (int64_t)1 << b, &result))
        return HOST_overflow;
    return give_int(result, value);
}

static HostProblem whole_binary(AstOperator op, int64_t a, int64_t b, HostValue *value) {
    int64_t result = 0;
    bool fits = true;
    switch ((int)op) {
    case ASTOP_add:
        fits = !__builtin_add_overflow(a, b, &result);
        break;
    case ASTOP_sub:
        fits = !__builtin_sub_overflow(a, b, &result);
        break;
    case ASTOP_mul:
        fits = !__builtin_mul_overflow(a, b, &result);
        break;
    case ASTOP_div:
    case ASTOP_floordiv:
    case ASTOP_mod:
        return divide(op, a, b, value);
    case ASTOP_pow:
        return power(a, b, value);
    case ASTOP_lshift:
    case ASTOP_rshift:
        return shift(op, a, b, value);
    case ASTOP_bitand:
        result = a & b;
        break;
    case ASTOP_bitor:
        result = a | b;
        break;
    case ASTOP_bitxor:
        result = a ^ b;
        break;
    default:
        return HOST_types;
    }
    return fits ? give_int(result, value) : HOST_overflow;
}

static HostProblem float_binary(AstOperator op, double a, double b, HostValue *value) {
    const bool divides = op == ASTOP_div || op == ASTOP_floordiv || op == ASTOP_mod;
    if ((divides && b == 0) || (op == ASTOP_pow && a == 0 && b < 0))
        return HOST_zero_division;
    switch ((int)op) {
    case ASTOP_add:
        return give_float(a + b, value);
    case ASTOP_sub:
        return give_float(a - b, value);
    case ASTOP_mul:
        return give_float(a * b, value);
    case ASTOP_div:
        return give_float(a / b, value);
    case ASTOP_floordiv:
        return give_float(float_floor_divide(a, b), value);
    case ASTOP_mod:
        return give_float(float_remainder(a, b), value);
    case ASTOP_pow:
        return give_float(pow(a, b), value);
    default:
        return HOST_types;
    }
}

HostProblem host_binary(AstOperator op, HostValue a, HostValue b, HostValue *value) {
    if (!is_number(a) || !is_number(b))
        return HOST_types;
    if (a.kind == HOST_FLOAT || b.kind == HOST_FLOAT)
        return float_binary(op, as_double(a), as_double(b), value);
    const HostProblem problem = whole_binary(op, a.i, b.i, value);
    const bool bitwise = op == ASTOP_bitand || op == ASTOP_bitor || op == ASTOP_bitxor;
    if (bitwise && a.kind == HOST_BOOL && b.kind == HOST_BOOL)
        value->kind = HOST_BOOL;
    return problem;
}

/* Functions */

static HostProblem call_cdiv(const HostValue *operands, uint32_t count, HostValue *value) {
    if (!is_whole(operands[0]) || !is_whole(operands[1]))
        return HOST_types;
    if (operands[0].i == INT64_MIN)
        return HOST_overflow;
    const HostProblem problem = divide(ASTOP_floordiv, -operands[0].i, operands[1].i, value);
    if (problem == NO_PROBLEM)
        value->i = -value->i; /* at most |operands[0]| */
    return problem;
}

/* The operand that is the least (`sign` 1) or the greatest (-1). */
static HostProblem extreme(const HostValue *operands, uint32_t count, int sign, HostValue *value) {
    *value = operands[0];
    for (uint32_t i = 0; i < count; i++) {
        if (!is_number(operands[i]))
            return HOST_types;
        if (!is_nan(operands[i]) && !is_nan(*value) && sign * order(operands[i], *value) < 0)
            *value = operands[i];
    }
    return NO_PROBLEM;
}

static HostProblem call_min(const HostValue *operands, uint32_t count, HostValue *value) {
    return extreme(operands, count, 1, value);
}

static HostProblem call_max(const HostValue *operands, uint32_t count, HostValue *value) {
    return extreme(operands, count, -1, value);
}

static HostProblem call_next_power_of_2(const HostValue *operands, uint32_t count,
                                        HostValue *value) {
    if (!is_whole(operands[0]))
        return HOST_types;
    if (operands[0].i > (int64_t)1 << 62)
        return HOST_overflow;
    int64_t result = 1;
    while (result < operands[0].i)
        result *= 2;
    return give_int(result, value);
}

static HostProblem call_abs(const HostValue *operands, uint32_t count, HostValue *value) {
    const HostValue v = operands[0];
    const bool negative = is_number(v) && (v.kind == HOST_FLOAT ? signbit(v.f) : v.i < 0);
    return host_unary(negative ? ASTOP_neg : ASTOP_pos, v, value);
}

static HostProblem rounded(HostValue v, double (*round)(double), HostValue *value) {
    if (v.kind == HOST_FLOAT)
        return give_rounded(round(v.f), value);
    return is_whole(v) ? give_int(v.i, value) : HOST_types;
}

static HostProblem call_int(const HostValue *operands, uint32_t count, HostValue *value) {
    return rounded(operands[0], trunc, value);
}

static HostProblem call_floor(const HostValue *operands, uint32_t count, HostValue *value) {
    return rounded(operands[0], floor, value);
}

static HostProblem call_ceil(const HostValue *operands, uint32_t count, HostValue *value) {
    return rounded(operands[0], ceil, value);
}

static HostProblem call_float(const HostValue *operands, uint32_t count, HostValue *value) {
    return is_number(operands[0]) ? give_float(as_double(operands[0]), value) : HOST_types;
}

static HostProblem call_bool(const HostValue *operands, uint32_t count, HostValue *value) {
    *value = host_bool(host_truth(operands[0]));
    return NO_PROBLEM;
}

static HostProblem real(HostValue v, double (*function)(double), double least, HostValue *value) {
    if (!is_number(v))
        return HOST_types;
    if (!(as_double(v) >= least))
        return HOST_not_positive;
    return give_float(function(as_double(v)), value);
}

static HostProblem call_sqrt(const HostValue *operands, uint32_t count, HostValue *value) {
    return real(operands[0], sqrt, 0, value);
}

static HostProblem call_log2(const HostValue *operands, uint32_t count, HostValue *value) {
    return real(operands[0], log2, 0x1p-1074, value);
}

const HostFunction *host_function(Str name) {
    static const HostFunction functions[] = {
        {"cdiv", 2, 2, call_cdiv},
        {"next_power_of_2", 1, 1, call_next_power_of_2},
        {"min", 2, HOST_MAX_ARGUMENTS, call_min},
        {"max", 2, HOST_MAX_ARGUMENTS, call_max},
        {"abs", 1, 1, call_abs},
        {"int", 1, 1, call_int},
        {"float", 1, 1, call_float},
        {"bool", 1, 1, call_bool},
        {"floor", 1, 1, call_floor},
        {"ceil", 1, 1, call_ceil},
        {"sqrt", 1, 1, call_sqrt},
        {"log2", 1, 1, call_log2},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (str_is(name, functions[i].name))
            return &functions[i];
    return NULL;
}

static void print_tuple(const HostList *list, StrBuf *out) {
    strbuf_putc(out, '(');
    for (size_t i = 0; i < list->items.len; i++) {
        host_print(list->items.data[i], out);
        strbuf_puts(out, i + 1 < list->items.len ? ", " : list->items.len == 1 ? ",)" : ")");
    }
    if (!list->items.len)
        strbuf_putc(out, ')');
}

void host_print(HostValue v, StrBuf *out) {
    switch (v.kind) {
    case HOST_UNKNOWN:
    case HOST_NONE:
    case HOST_POINTER:
    case HOST_LIST:
    case HOST_DICT:
    case HOST_CONFIG:
    case HOST_CALLABLE:
        strbuf_puts(out, "None");
        return;
    case HOST_BOOL:
        strbuf_puts(out, v.i ? "True" : "False");
        return;
    case HOST_INT:
        strbuf_printf(out, "%" PRId64, v.i);
        return;
    case HOST_FLOAT:
        val_print(val_float(v.f), true, out);
        return;
    case HOST_TEXT:
        val_print(val_string(v.text), true, out);
        return;
    case HOST_PATH:
        strbuf_add(out, v.text.ptr, v.text.len);
        return;
    case HOST_TUPLE: /* which holds itself in no source */
        print_tuple(v.list, out);
        return;
    }
}

/* Decimal digits, with a sign perhaps. */
static bool read_whole(Str text, int64_t *value) {
    char digits[24], *end;
    const size_t sign = text.len && text.ptr[0] == '-';
    if (text.len == sign || text.len >= sizeof digits || text.ptr[sign] < '0' ||
        text.ptr[sign] > '9')
        return false;
    memcpy(digits, text.ptr, text.len);
    digits[text.len] = 0;
    errno = 0;
    *value = strtoll(digits, &end, 10);
    return !*end && !errno;
}

HostValue host_read(Str text) {
    int64_t whole;
    char number[64], *end;
    if (str_is(text, "None"))
        return (HostValue){.kind = HOST_NONE};
    if (str_is(text, "True") || str_is(text, "False"))
        return host_bool(str_is(text, "True"));
    if (read_whole(text, &whole))
        return host_int(whole);
    const bool is_quoted = text.len >= 2 && (text.ptr[0] == '\'' || text.ptr[0] == '"') &&
                           text.ptr[text.len - 1] == text.ptr[0] &&
                           !memchr(text.ptr, '\\', text.len) &&
                           !memchr(text.ptr + 1, text.ptr[0], text.len - 2);
    if (is_quoted)
        return (HostValue){.kind = HOST_TEXT, .text = {text.ptr + 1, text.len - 2}};
    if (!text.len || text.len >= sizeof number || !strchr("+-.0123456789", text.ptr[0]))
        return (HostValue){.kind = HOST_UNKNOWN};
    memcpy(number, text.ptr, text.len);
    number[text.len] = 0;
    const locale_t before = c_locale_enter();
    const double value = strtod(number, &end);
    c_locale_leave(before);
    return *end || strpbrk(number, "xXpP") ? (HostValue){.kind = HOST_UNKNOWN} : host_float(value);
}
