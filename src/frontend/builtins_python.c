/* Builtins that work on compile-time values: Python's own, and those about types and messages. */
#include "frontend/builtins.h"
#include "frontend/objects.h"
#include "target/target.h"

#include <math.h>
#include <stdlib.h>

static Val wrong(Call *call, int param, const char *wanted) {
    return elab_fail(call->e, call->spans[param], elab_argument, call->builtin->name,
                     call_param_name(call, param), wanted,
                     elab_type_text(call->e, call->args[param]));
}

Val builtin_identity(Call *call) {
    return call->args[0];
}

/* elab_while takes the condition of a run-time loop apart itself. */
Val builtin_condition(Call *call) {
    bool on;
    if (!call_flag(call, 1, &on))
        return val_error();
    if (on)
        elab_no_effect(call->e, call->spans[1], "disable_licm",
                       "it is an option of the whole condition of a run-time `while`");
    return call->args[0];
}

Val builtin_type_predicate(Call *call) {
    return call->args[0];
}

Val builtin_len(Call *call) {
    Val v = call->args[0];
    if (v.kind == VAL_TUPLE)
        return val_int(v.tuple.count);
    if (v.kind == VAL_STRING)
        return val_int((Wide)v.s.len);
    if (v.kind == VAL_LIST || v.kind == VAL_DICT || v.kind == VAL_VIEW)
        return val_int(object_count(v));
    if (val_has_shape(v))
        return val_int(val_ir_type(v)->shape[0]);
    return wrong(call, 0, "a tuple, a string or a tile");
}

static bool text_to_double(Str text, double *out) {
    char buffer[64];
    while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\t')) {
        text.ptr++;
        text.len--;
    }
    while (text.len && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    if (text.len == 0 || text.len >= sizeof buffer)
        return false;
    memcpy(buffer, text.ptr, text.len);
    buffer[text.len] = 0;
    if (strpbrk(buffer, "xXpP"))
        return false;
    char *end;
    *out = strtod(buffer, &end);
    return *end == 0;
}

/* An int as Python writes it: blanks around, a sign, digits with `_` between them. */
static bool text_to_int(Arena *arena, Str text, Val *out) {
    enum { MAX_DIGITS = 4300 };
    while (text.len && memchr(" \t\n", text.ptr[0], 3))
        text.ptr++, text.len--;
    while (text.len && memchr(" \t\n", text.ptr[text.len - 1], 3))
        text.len--;
    const bool is_negative = text.len && text.ptr[0] == '-';
    if (text.len && memchr("+-", text.ptr[0], 2))
        text.ptr++, text.len--;
    bool was_digit = false;
    for (size_t i = 0; i < text.len; i++) {
        const bool is_digit = text.ptr[i] >= '0' && text.ptr[i] <= '9';
        if (!is_digit && !(text.ptr[i] == '_' && was_digit))
            return false;
        was_digit = is_digit;
    }
    if (!was_digit || text.len > MAX_DIGITS)
        return false;
    const BigInt big = big_from_digits(arena, text, 10);
    *out = val_of_big(arena, is_negative ? big_negate(big) : big);
    return true;
}

Val builtin_int(Call *call) {
    Val v = call->args[0], made;
    if (v.kind == VAL_TILE)
        return elab_fail(call->e, call->spans[0], elab_want_constexpr, "int()",
                         elab_type_text(call->e, v));
    if (v.kind == VAL_INT || v.kind == VAL_BOOL)
        return val_int(v.i);
    if (v.kind == VAL_BIGINT)
        return v;
    if (v.kind == VAL_FLOAT && isfinite(v.f))
        return val_of_big(call->e->arena, big_from_double(call->e->arena, v.f));
    if (v.kind == VAL_STRING && text_to_int(call->e->arena, v.s, &made))
        return made;
    return wrong(call, 0, "a finite number or the text of an int");
}

Val builtin_int_bits(Call *call) {
    const BigInt big = val_as_big(call->e->arena, call->args[0]);
    if (call_id(call) == BUILTIN_int_bit_length)
        return val_int((Wide)big_bits(big));
    Wide ones = 0;
    for (uint32_t i = 0; i < big.count; i++)
        ones += __builtin_popcount(big.limbs[i]);
    return val_int(ones);
}

Val builtin_float(Call *call) {
    Val v = call->args[0];
    double f;
    if (v.kind == VAL_TILE)
        return elab_fail(call->e, call->spans[0], elab_want_constexpr, "float()",
                         elab_type_text(call->e, v));
    if (val_is_number(v) || v.kind == VAL_BIGINT)
        return elab_as_double(call->e, call->spans[0], v, &f) ? val_float(f) : val_error();
    if (v.kind == VAL_STRING && text_to_double(v.s, &f))
        return val_float(f);
    return wrong(call, 0, "a number, or text such as 'inf', '-inf', 'nan'");
}

Val builtin_bool(Call *call) {
    Val v = call->args[0];
    return v.kind == VAL_TILE ? op_to_bool(call->e, call->span, v) : val_bool(val_truth(v));
}

Val builtin_str(Call *call) {
    StrBuf out = strbuf(call->e->arena);
    if (!object_measure(call->e, call->span, call->args[0]))
        return val_error();
    val_print(call->args[0], false, &out);
    return val_string(strbuf_str(&out));
}

/* tuple() and list() */
Val builtin_tuple(Call *call) {
    const Val v = call->args[0];
    const Val *items;
    uint32_t count;
    const bool makes_list = call_id(call) == BUILTIN_list && call->e->frame->host;
    if (!makes_list && v.kind == VAL_TUPLE)
        return v;
    if (!iteration_items(call->e, call->spans[0], v, &items, &count))
        return val_error();
    if (makes_list)
        return object_list(call->e, call->span, items, count);
    Val *copy = ARENA_ARRAY(call->e->arena, Val, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++)
        copy[i] = items[i];
    return val_tuple(copy, count);
}

/* min() and max(): by value on numbers, like tl.minimum and tl.maximum as soon as one is run-time.
 */
Val builtin_py_min_max(Call *call) {
    Elab *e = call->e;
    bool is_max = call_id(call) == BUILTIN_py_max;
    const Val *items = call->rest;
    uint32_t n = call->rest_count;
    const bool goes_through = n == 1 && (items[0].kind == VAL_TUPLE || val_is_object(items[0]) ||
                                         (items[0].kind == VAL_STRING && e->frame->host));
    if (goes_through && !iteration_items(e, call->spans[0], items[0], &items, &n))
        return val_error();
    if (n == 0)
        return elab_fail(e, call->span, elab_missing_argument, call->builtin->name, 5, "value");
    Val best = items[0];
    for (uint32_t i = 1; i < n; i++) {
        if (!val_is_tile(best) && !val_is_tile(items[i])) {
            Val less = static_compare(e, call->span, is_max ? ASTOP_gt : ASTOP_lt, items[i], best);
            if (val_failed(less))
                return less;
            best = val_truth(less) ? items[i] : best;
            continue;
        }
        const Builtin *row = &builtins[is_max ? BUILTIN_maximum : BUILTIN_minimum];
        Arg args[2] = {{.val = best, .span = call->span}, {.val = items[i], .span = call->span}};
        best = elab_call(e, call->span, (Val){.kind = VAL_BUILTIN, .builtin = row}, args, 2);
        if (val_failed(best))
            return best;
    }
    if (n == 1 && !val_is_number(best) && !goes_through)
        return elab_fail(e, call->span, elab_argument, call->builtin->name, "args",
                         "two or more values", elab_type_text(e, best));
    return best;
}

Val builtin_py_abs(Call *call) {
    Val v = call->args[0];
    if (v.kind == VAL_FLOAT)
        return val_float(fabs(v.f));
    if (v.kind == VAL_BIGINT)
        return v.big->negative ? static_int_unary(call->e, call->span, ASTOP_neg, v) : v;
    if (val_is_number(v))
        return val_int(v.i < 0 ? -v.i : v.i);
    if (elab_no_builder(call->e, call->span, "abs"))
        return val_error();
    return builtin_abs(call);
}

static bool is_instance(Val v, Val kind) {
    if (kind.kind == VAL_TUPLE) {
        for (uint32_t i = 0; i < kind.tuple.count; i++)
            if (is_instance(v, kind.tuple.items[i]))
                return true;
        return false;
    }
    if (kind.kind == VAL_RECORD)
        return v.kind == VAL_TUPLE && v.tuple.record == kind.record;
    if (builtin_is(kind, BUILTIN_int))
        return val_is_int(v);
    if (builtin_is(kind, BUILTIN_float))
        return v.kind == VAL_FLOAT;
    if (builtin_is(kind, BUILTIN_bool))
        return v.kind == VAL_BOOL;
    if (builtin_is(kind, BUILTIN_str))
        return v.kind == VAL_STRING;
    if (builtin_is(kind, BUILTIN_tuple))
        return v.kind == VAL_TUPLE;
    if (builtin_is(kind, BUILTIN_list))
        return v.kind == VAL_LIST;
    if (kind.kind == VAL_BUILTIN && object_is_dict_class(kind.builtin))
        return v.kind == VAL_DICT;
    if (builtin_is(kind, BUILTIN_constexpr_type))
        return v.kind == VAL_CONSTEXPR_TYPE;
    if (builtin_is(kind, BUILTIN_tensor))
        return v.kind == VAL_TILE;
    if (builtin_is(kind, BUILTIN_tensor_descriptor))
        return v.kind == VAL_BLOCK && v.block.info->is_descriptor;
    if (builtin_is(kind, BUILTIN_dtype))
        return v.kind == VAL_TYPE;
    if (builtin_is(kind, BUILTIN_pointer_type))
        return v.kind == VAL_TYPE && v.type.scalar.pointer && !v.type.block;
    return false; /* tl.constexpr too: in kernels Triton asks it of what a constexpr holds */
}

static bool is_class(Val v) {
    static const BuiltinId classes[] = {
        BUILTIN_int,          BUILTIN_float,     BUILTIN_bool,           BUILTIN_str,
        BUILTIN_tuple,        BUILTIN_list,      BUILTIN_tensor,         BUILTIN_dtype,
        BUILTIN_pointer_type, BUILTIN_constexpr, BUILTIN_constexpr_type, BUILTIN_tensor_descriptor};
    if (v.kind == VAL_TUPLE) {
        for (uint32_t i = 0; i < v.tuple.count; i++)
            if (!is_class(v.tuple.items[i]))
                return false;
        return true;
    }
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (builtin_is(v, classes[i]))
            return true;
    return v.kind == VAL_RECORD || (v.kind == VAL_BUILTIN && object_is_dict_class(v.builtin));
}

Val builtin_isinstance(Call *call) {
    if (!is_class(call->args[1]))
        return wrong(call, 1, "int, float, bool, str, tuple, tl.tensor, tl.constexpr or tl.dtype");
    return val_bool(is_instance(call->args[0], call->args[1]));
}

Val builtin_getattr(Call *call) {
    Str name;
    if (!call_string(call, 1, &name))
        return val_error();
    return elab_attribute(call->e, call->span, call->args[0], name);
}

/* target_info: kernels are compiled for NVIDIA's GPUs alone. */
Val builtin_is_cuda(Call *call) {
    return val_bool(call_id(call) == BUILTIN_is_cuda);
}

/* Where nobody has said how many, as many as Triton takes: from then on they are asked for. */
Val builtin_num_threads(Call *call) {
    enum { USUAL_WARPS = 4 };
    Func *func = call->e->func;
    if (!func)
        return elab_fail(call->e, call->span, elab_not_constexpr, call->builtin->name);
    if (!func->num_warps)
        func->num_warps = USUAL_WARPS;
    return val_int(call_id(call) == BUILTIN_num_threads ? func->num_warps * TARGET_WARP_SIZE
                                                        : func->num_warps);
}

Val builtin_cuda_capability_geq(Call *call) {
    int64_t major, minor;
    if (!call_int(call, 0, &major) || !call_int(call, 1, &minor))
        return val_error();
    /* Beyond what there is of either, no sum overflows. */
    const bool known = major > -1000 && major < 1000 && minor > -1000 && minor < 1000;
    return val_bool(known ? call->e->request->capability >= 10 * major + minor : major < 0);
}

Val builtin_hasattr(Call *call) {
    Str name;
    if (!call_string(call, 1, &name))
        return val_error();
    return val_bool(elab_has_attribute(call->e, call->args[0], name));
}

Val builtin_pymath(Call *call) {
    const Val number = call->args[0];
    double x;
    if (!val_is_number(number) && number.kind != VAL_BIGINT)
        return wrong(call, 0, "a number known at compile time");
    const bool rounds =
        call_id(call) == BUILTIN_math_fn_ceil || call_id(call) == BUILTIN_math_fn_floor;
    if (rounds && val_is_int(number))
        return static_int_unary(call->e, call->span, ASTOP_pos, number);
    if (!elab_as_double(call->e, call->spans[0], number, &x))
        return val_error();
    double y = 0;
    bool integral = false;
    switch ((int)call_id(call)) {
    case BUILTIN_math_fn_log:
        y = log(x);
        break;
    case BUILTIN_math_fn_log2:
        y = log2(x);
        break;
    case BUILTIN_math_fn_exp:
        y = exp(x);
        break;
    case BUILTIN_math_fn_sqrt:
        y = sqrt(x);
        break;
    case BUILTIN_math_fn_ceil:
        y = ceil(x);
        integral = true;
        break;
    case BUILTIN_math_fn_floor:
        y = floor(x);
        integral = true;
        break;
    }
    if (isnan(y) || isinf(y))
        return wrong(call, 0, "a number in the function's domain");
    return integral ? val_of_big(call->e->arena, big_from_double(call->e->arena, y)) : val_float(y);
}

/* Types */

Val builtin_dtype(Call *call) {
    Str name;
    ScalarType type;
    if (call->args[0].kind == VAL_TYPE)
        return call->args[0];
    if (!call_string(call, 0, &name))
        return val_error();
    if (scalar_parse(name, &type))
        return val_type(type, NULL);
    Str names[64];
    elab_fail(call->e, call->spans[0], elab_unknown_type, STR_ARG(name));
    elab_suggest(call->e, name, names, scalar_spellings(names, 64));
    return val_error();
}

Val builtin_pointer_type(Call *call) {
    ScalarType element;
    bool is_const;
    if (!call_type(call, 0, &element) || !call_flag(call, 2, &is_const))
        return val_error();
    if (element.pointer)
        return wrong(call, 0, "a type that is no pointer");
    return val_type((ScalarType){element.elem, true, is_const}, NULL);
}

Val builtin_constexpr_type(Call *call) {
    if (call->args[0].kind == VAL_TILE || call->args[0].kind == VAL_BLOCK)
        return wrong(call, 0, "known at compile time");
    return val_constexpr_type(call->e->arena, call->args[0]);
}

Val builtin_block_type(Call *call) {
    ScalarType element;
    int rank;
    int64_t shape[MAX_RANK];
    if (!call_type(call, 0, &element) || !call_shape(call, 1, &rank, shape))
        return val_error();
    const Type *scalar = scalar_ir(call->e->ctx, element, NULL);
    return val_type(element, type_with_shape(call->e->ctx, scalar, rank, shape));
}

Val builtin_get_int_dtype(Call *call) {
    int64_t bits;
    bool is_signed;
    if (!call_int(call, 0, &bits) || !call_flag(call, 1, &is_signed))
        return val_error();
    if (bits != 1 && bits != 8 && bits != 16 && bits != 32 && bits != 64)
        return wrong(call, 0, "1, 8, 16, 32 or 64");
    return val_type(scalar_number(elem_int((int)bits, is_signed)), NULL);
}

Val builtin_to_tensor(Call *call) {
    return op_to_tensor(call->e, call->span, call->args[0]);
}

/* Integers */

static bool two_ints(Call *call, Wide *a, Wide *b) {
    if (val_known_int(call->args[0], a) && val_known_int(call->args[1], b))
        return true;
    int bad = val_known_int(call->args[0], a) ? 1 : 0;
    wrong(call, bad, "a constexpr int");
    if (val_is_tile(call->args[bad]))
        elab_hint(call->e, "on run-time values write tl.cdiv(x, y)");
    return false;
}

Val builtin_triton_cdiv(Call *call) {
    Wide a, b;
    if (!two_ints(call, &a, &b))
        return val_error();
    Val round = static_binary(call->e, call->span, ASTOP_sub, val_int(b), val_int(1));
    if (val_failed(round))
        return round;
    Val sum = static_binary(call->e, call->span, ASTOP_add, val_int(a), round);
    return val_failed(sum) ? sum
                           : static_binary(call->e, call->span, ASTOP_floordiv, sum, val_int(b));
}

Val builtin_next_power_of_2(Call *call) {
    int64_t n;
    if (!call_int(call, 0, &n))
        return val_error();
    Wide p = 1;
    while (p < n)
        p *= 2;
    return val_int(n <= 0 ? 0 : p);
}

/* Messages at compile time */

Val builtin_static_assert(Call *call) {
    Elab *e = call->e;
    Val condition = call->args[0];
    bool holds;
    if (!val_is_tile(condition) && condition.kind != VAL_BOOL)
        return elab_fail(e, call->spans[0], elab_argument, "static_assert", "cond", "True or False",
                         elab_type_text(e, condition));
    if (!call_flag(call, 0, &holds))
        return val_error();
    if (holds)
        return val_none();
    StrBuf text = strbuf(e->arena);
    if (!object_measure(e, call->span, call->args[1]))
        return val_error();
    val_print(call->args[1], false, &text);
    if (e->frame->unit->is_std) /* a function of the language is called wrongly */
        return elab_fail(e, call->span, elab_library, text.len ? text.ptr : "wrong arguments");
    return elab_fail(e, call->span, elab_static_assert, text.len ? text.ptr : "no message");
}

Val builtin_static_print(Call *call) {
    StrBuf text = strbuf(call->e->arena);
    for (uint32_t i = 0; i < call->rest_count; i++) {
        strbuf_puts(&text, i ? " " : "");
        if (!object_measure(call->e, call->span, call->rest[i]))
            return val_error();
        val_print(call->rest[i], false, &text);
    }
    ctx_diag(call->e->ctx, elab_span(call->e, call->span), elab_static_print,
             text.ptr ? text.ptr : "");
    return val_none();
}
