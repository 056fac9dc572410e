/* Operators on compile-time values, with Python's meaning: `//` and `%` round towards minus
 * infinity, `/` is true division, integers are exact (constexpr_int.c), sequences and strings
 * concatenate, repeat and compare. */
#include "frontend/floats.h"
#include "frontend/objects.h"

#include <math.h>

/* Ints beyond Wide too. */
static bool is_number(Val v) {
    return v.kind == VAL_FLOAT || val_is_int(v);
}

static bool float_operator(AstOperator op) {
    return op == ASTOP_add || op == ASTOP_sub || op == ASTOP_mul || op == ASTOP_div ||
           op == ASTOP_floordiv || op == ASTOP_mod || op == ASTOP_pow;
}

static Val float_binary(Elab *e, Span span, AstOperator op, double a, double b) {
    bool divides = op == ASTOP_div || op == ASTOP_floordiv || op == ASTOP_mod;
    if ((divides && b == 0) || (op == ASTOP_pow && a == 0 && b < 0))
        return elab_fail(e, span, elab_division_by_zero, ast_operator_text[op]);
    switch ((int)op) {
    case ASTOP_add:
        return val_float(a + b);
    case ASTOP_sub:
        return val_float(a - b);
    case ASTOP_mul:
        return val_float(a * b);
    case ASTOP_div:
        return val_float(a / b);
    case ASTOP_floordiv:
        return val_float(float_floor_divide(a, b));
    case ASTOP_mod:
        return val_float(float_remainder(a, b));
    default:
        return val_float(pow(a, b));
    }
}

static Val concatenate(Elab *e, Val a, Val b) {
    uint32_t n = a.tuple.count + b.tuple.count;
    Val *items = ARENA_ARRAY(e->arena, Val, n);
    for (uint32_t i = 0; i < n; i++)
        items[i] = i < a.tuple.count ? a.tuple.items[i] : b.tuple.items[i - a.tuple.count];
    return val_tuple(items, n);
}

static Val repeat(Elab *e, Span span, Val tuple, Wide times) {
    if (times < 0)
        times = 0;
    if (tuple.tuple.count && times > MAX_STATIC_ITERATIONS / tuple.tuple.count)
        return elab_fail(e, span, elab_too_many_items, MAX_STATIC_ITERATIONS);
    uint32_t n = tuple.tuple.count ? (uint32_t)times * tuple.tuple.count : 0;
    Val *items = ARENA_ARRAY(e->arena, Val, n);
    for (uint32_t i = 0; i < n; i++)
        items[i] = tuple.tuple.items[i % tuple.tuple.count];
    return val_tuple(items, n);
}

static Val repeat_text(Elab *e, Span span, Str text, Wide times) {
    if (text.len && times > (Wide)(MAX_STATIC_ITERATIONS / text.len))
        return elab_fail(e, span, elab_too_many_items, MAX_STATIC_ITERATIONS);
    StrBuf out = strbuf(e->arena);
    for (Wide i = 0; i < times && text.len; i++)
        strbuf_add(&out, text.ptr, text.len);
    return val_string(strbuf_str(&out));
}

static Val binary_list(Elab *e, Span span, Val a, Val b, Wide times) {
    const Val one = val_tuple(a.object->items, a.object->count);
    const Val items = b.kind == VAL_LIST
                          ? concatenate(e, one, val_tuple(b.object->items, b.object->count))
                          : repeat(e, span, one, times);
    return val_failed(items) ? items : object_list(e, span, items.tuple.items, items.tuple.count);
}

/* list + list, list * int, int * list, dict | dict; false: it is none of these. */
static bool object_binary(Elab *e, Span span, AstOperator op, Val a, Val b, Val *out) {
    const bool two = a.kind == VAL_LIST && b.kind == VAL_LIST;
    if (op == ASTOP_add && two)
        *out = binary_list(e, span, a, b, 0);
    else if (op == ASTOP_mul && a.kind == VAL_LIST && (b.kind == VAL_INT || b.kind == VAL_BOOL))
        *out = binary_list(e, span, a, val_none(), b.i);
    else if (op == ASTOP_mul && b.kind == VAL_LIST && (a.kind == VAL_INT || a.kind == VAL_BOOL))
        *out = binary_list(e, span, b, val_none(), a.i);
    else if (op == ASTOP_bitor && a.kind == VAL_DICT && b.kind == VAL_DICT)
        *out = object_dict(e);
    else
        return false;
    Val merged;
    for (int i = 0; i < 2 && out->kind == VAL_DICT; i++)
        if (object_update(e, span, op, *out, i ? b : a, &merged) && val_failed(merged))
            *out = merged;
    if (!e->frame->host && !val_failed(*out))
        *out = object_leave(e, span, *out);
    return true;
}

Val static_binary(Elab *e, Span span, AstOperator op, Val a, Val b) {
    Val made;
    if ((val_is_object(a) || val_is_object(b)) && object_binary(e, span, op, a, b, &made))
        return made;
    if (!e->frame->host) { /* where a list stands for a tuple */
        a = object_tuples(e, a);
        b = object_tuples(e, b);
    }
    const bool ints = val_is_int(a) && val_is_int(b) && op != ASTOP_matmul;
    double x, y;
    if (ints) {
        Val v = static_int_binary(e, span, op, a, b);
        bool bitwise = op == ASTOP_bitand || op == ASTOP_bitor || op == ASTOP_bitxor;
        if (bitwise && a.kind == VAL_BOOL && b.kind == VAL_BOOL)
            v.kind = VAL_BOOL;
        return v;
    }
    if (is_number(a) && is_number(b) && float_operator(op))
        return elab_as_double(e, span, a, &x) && elab_as_double(e, span, b, &y)
                   ? float_binary(e, span, op, x, y)
                   : val_error();
    if (op == ASTOP_add && a.kind == VAL_TUPLE && b.kind == VAL_TUPLE)
        return concatenate(e, a, b);
    if (op == ASTOP_mul && a.kind == VAL_TUPLE && b.kind == VAL_INT)
        return repeat(e, span, a, b.i);
    if (op == ASTOP_mul && b.kind == VAL_TUPLE && a.kind == VAL_INT)
        return repeat(e, span, b, a.i);
    if (op == ASTOP_mul && a.kind == VAL_STRING && (b.kind == VAL_INT || b.kind == VAL_BOOL))
        return repeat_text(e, span, a.s, b.i);
    if (op == ASTOP_mul && b.kind == VAL_STRING && (a.kind == VAL_INT || a.kind == VAL_BOOL))
        return repeat_text(e, span, b.s, a.i);
    if (op == ASTOP_add && a.kind == VAL_STRING && b.kind == VAL_STRING) {
        StrBuf out = strbuf(e->arena);
        strbuf_add(&out, a.s.ptr, a.s.len);
        strbuf_add(&out, b.s.ptr, b.s.len);
        return val_string(strbuf_str(&out));
    }
    elab_fail(e, span, elab_operands, ast_operator_text[op], elab_type_text(e, a),
              elab_type_text(e, b));
    if (a.kind == VAL_NONE || b.kind == VAL_NONE)
        elab_hint(e, "test it with `is None` in a constexpr `if` before using it");
    return val_error();
}

static bool contains(Val container, Val item) {
    if (container.kind == VAL_TUPLE || container.kind == VAL_LIST) {
        const bool is_list = container.kind == VAL_LIST;
        const Val *items = is_list ? container.object->items : container.tuple.items;
        const uint32_t count = is_list ? container.object->count : container.tuple.count;
        for (uint32_t i = 0; i < count; i++)
            if (val_equal(items[i], item))
                return true;
        return false;
    }
    Str in = container.s, what = item.s;
    for (size_t i = 0; i + what.len <= in.len; i++)
        if (memcmp(in.ptr + i, what.ptr, what.len) == 0)
            return true;
    return false;
}

static int order(Val a, Val b);

/* By the first elements that differ. */
static int order_sequences(Val a, Val b) {
    const bool lists = a.kind == VAL_LIST;
    const Val *x = lists ? a.object->items : a.tuple.items;
    const Val *y = lists ? b.object->items : b.tuple.items;
    const uint32_t n = lists ? a.object->count : a.tuple.count;
    const uint32_t m = lists ? b.object->count : b.tuple.count;
    for (uint32_t i = 0; i < n && i < m; i++)
        if (!val_equal(x[i], y[i]))
            return order(x[i], y[i]);
    return n < m ? -1 : n > m;
}

/* -1, 0, 1; 2: unordered (NaN), 3: no order between these. */
static int order(Val a, Val b) {
    if (a.kind == b.kind && (a.kind == VAL_LIST ||
                             (a.kind == VAL_TUPLE && !val_is_aggregate(a) && !val_is_aggregate(b))))
        return order_sequences(a, b);
    if (is_number(a) && is_number(b))
        return val_compare_numbers(a, b);
    if (a.kind == VAL_STRING && b.kind == VAL_STRING) {
        size_t n = a.s.len < b.s.len ? a.s.len : b.s.len;
        int c = n ? memcmp(a.s.ptr, b.s.ptr, n) : 0;
        return c ? (c < 0 ? -1 : 1) : a.s.len < b.s.len ? -1 : a.s.len > b.s.len;
    }
    return 3;
}

/* `in` of keys, values and pairs. */
static Val contains_key(Elab *e, Span span, Val container, Val item) {
    const bool is_view = container.kind == VAL_VIEW;
    if (is_view && container.object->view != VIEW_KEYS) {
        const Val *items;
        uint32_t count;
        return iteration_items(e, span, container, &items, &count)
                   ? val_bool(contains(val_tuple(items, count), item))
                   : val_error();
    }
    const Val dict = {.kind = VAL_DICT,
                      .object = is_view ? (Object *)container.object->of : container.object};
    uint32_t at;
    return object_find(e, span, dict, item, &at) ? val_bool(at < dict.object->count) : val_error();
}

Val static_compare(Elab *e, Span span, AstOperator op, Val a, Val b) {
    if (!e->frame->host) { /* where a list stands for a tuple */
        a = object_tuples(e, a);
        b = object_tuples(e, b);
    }
    if (!object_measure(e, span, a) || !object_measure(e, span, b))
        return val_error();
    switch ((int)op) {
    case ASTOP_eq:
        return val_bool(val_equal(a, b));
    case ASTOP_ne:
        return val_bool(!val_equal(a, b));
    case ASTOP_in:
    case ASTOP_notin:
        if (b.kind == VAL_DICT || b.kind == VAL_VIEW) {
            const Val has = contains_key(e, span, b, a);
            return val_failed(has) ? has : val_bool(val_truth(has) == (op == ASTOP_in));
        }
        if (b.kind == VAL_TUPLE || b.kind == VAL_LIST ||
            (b.kind == VAL_STRING && a.kind == VAL_STRING))
            return val_bool(contains(b, a) == (op == ASTOP_in));
        break;
    default: {
        int c = order(a, b);
        if (c == 3)
            break;
        if (c == 2)
            return val_bool(false);
        return val_bool(op == ASTOP_lt   ? c < 0
                        : op == ASTOP_le ? c <= 0
                        : op == ASTOP_gt ? c > 0
                                         : c >= 0);
    }
    }
    elab_fail(e, span, elab_operands, ast_operator_text[op], elab_type_text(e, a),
              elab_type_text(e, b));
    return val_error();
}

Val static_unary(Elab *e, Span span, AstOperator op, Val a) {
    if (op == ASTOP_not)
        return val_bool(!val_truth(a));
    if (val_is_int(a))
        return static_int_unary(e, span, op, a);
    if (a.kind == VAL_FLOAT && op != ASTOP_invert)
        return op == ASTOP_neg ? val_float(-a.f) : a;
    return elab_fail(e, span, elab_operand, ast_operator_text[op], elab_type_text(e, a));
}
