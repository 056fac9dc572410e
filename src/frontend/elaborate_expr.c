/* Expressions: one function a kind of node, chosen by elab_eval. */
#include "frontend/builtins.h"
#include "frontend/language.h"
#include "frontend/objects.h"
#include "frontend/observe.h"
#include "frontend/value_format.h"

static Val eval_tuple(Elab *e, const ExprList *list) {
    VEC(Val) items = {0};
    bool failed = false;
    for (uint32_t i = 0; i < list->count; i++) {
        const Expr *item = list->items[i];
        if (item->kind != EXPR_starred) {
            Val v = elab_eval(e, item);
            failed |= val_failed(v);
            vec_push(e->arena, &items, v);
            continue;
        }
        Val v = elab_eval(e, item->u.bind.value);
        const Val *inner;
        uint32_t count;
        if (val_failed(v) || !elab_items(e, item->span, v, &inner, &count))
            return val_error();
        for (uint32_t j = 0; j < count; j++)
            vec_push(e->arena, &items, inner[j]);
    }
    return failed ? val_error() : val_tuple(items.data, (uint32_t)items.len);
}

static Val literal_beyond_wide(Elab *e, Span span, Str text) {
    const char letter = text.len > 1 ? (char)(text.ptr[1] | 0x20) : 0;
    const unsigned base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
    const size_t prefix = base == 10 ? 0 : 2;
    const Str digits = {text.ptr + prefix, text.len - prefix};
    return elab_spend(e, span, text.len * text.len / LIMBS_A_STEP)
               ? val_of_big(e->arena, big_from_digits(e->arena, digits, base))
               : val_error();
}

static Val eval_int(Elab *e, const Expr *expr) {
    if (expr->u.integer.hi >> 63)
        return literal_beyond_wide(e, expr->span, expr->u.integer.text);
    return val_int((Wide)(((unsigned __int128)expr->u.integer.hi << 64) | expr->u.integer.lo));
}

static Val eval_fstring(Elab *e, const Expr *expr) {
    StrBuf out = strbuf(e->arena);
    for (uint32_t i = 0; i < expr->u.list.count; i++) {
        const Expr *part = expr->u.list.items[i];
        Val v = elab_eval(e, part);
        if (val_failed(v))
            return v;
        if (val_is_tile(v))
            return elab_fail(e, part->span, elab_fstring_runtime, elab_type_text(e, v));
        if (!object_measure(e, part->span, v))
            return val_error();
        val_print(v, false, &out);
    }
    return val_string(strbuf_str(&out));
}

/* {value!r} */
static Val eval_formatted(Elab *e, const Expr *expr) {
    const Expr *format = expr->u.formatted.spec;
    const char conversion = expr->u.formatted.conversion, *why;
    Val v = elab_eval(e, expr->u.formatted.value);
    Val spec = format ? elab_eval(e, format) : val_string(STR(""));
    if (!object_measure(e, expr->span, v))
        return val_error();
    if (val_failed(v) || val_failed(spec) || val_is_tile(v))
        return val_failed(spec) ? spec : v;
    StrBuf out = strbuf(e->arena);
    if (conversion) {
        val_print(v, conversion == 'r' || conversion == 'a', &out);
        v = val_string(strbuf_str(&out));
        out = strbuf(e->arena);
    }
    if (!format_value(e->arena, v, spec.s, &out, &why))
        return elab_fail(e, format->span, elab_format, STR_ARG(spec.s), elab_type_text(e, v), why);
    return val_string(strbuf_str(&out));
}

/* [f(x) for x in items if condition], over compile-time tuples; the variable stays inside. */
static Val eval_comprehension(Elab *e, const Expr *expr) {
    if (e->frame->host)
        return elab_host_comprehension(e, expr);
    bool sequence =
        expr->u.comprehension.form == COMP_list || expr->u.comprehension.form == COMP_generator;
    if (!sequence || expr->u.comprehension.clause_count != 1) {
        elab_fail(e, expr->span, elab_construct, "a comprehension of this form");
        elab_hint(e, "only [f(x) for x in items] over a tuple is supported");
        return val_error();
    }
    const ForClause *clause = &expr->u.comprehension.clauses[0];
    const Val *items;
    uint32_t count;
    if (!elab_items(e, clause->iterable->span, elab_eval(e, clause->iterable), &items, &count))
        return val_error();
    Vars saved = vars_copy(e, &e->frame->vars);
    Val *out = ARENA_ARRAY(e->arena, Val, (size_t)count + 1);
    uint32_t n = 0;
    bool failed = false;
    for (uint32_t i = 0; i < count && !failed; i++) {
        elab_assign(e, clause->target, items[i]);
        bool keep = true;
        for (uint32_t c = 0; c < clause->conditions.count && keep && !failed; c++) {
            const Expr *condition = clause->conditions.items[c];
            Val v = elab_condition(e, condition->span, elab_eval(e, condition), "a comprehension");
            if (val_is_tile(v))
                v = elab_fail(e, condition->span, elab_want_constexpr, "the condition",
                              elab_type_text(e, v));
            failed = val_failed(v);
            keep = val_truth(v);
        }
        if (keep && !failed) {
            out[n] = elab_eval(e, expr->u.comprehension.element);
            failed = val_failed(out[n++]);
        }
    }
    e->frame->vars = saved;
    return failed ? val_error() : val_tuple(out, n);
}

/* and, or: compile-time operands decide or drop out; what is left is combined element by element.
 */
static Val eval_boolop(Elab *e, const Expr *expr) {
    AstOperator op = expr->u.boolop.op;
    Val kept = val_of(VAL_ABSENT), last = val_none();
    for (uint32_t i = 0; i < expr->u.boolop.operands.count; i++) {
        const Expr *operand = expr->u.boolop.operands.items[i];
        last = elab_eval(e, operand);
        if (val_failed(last))
            return last;
        if (!val_is_tile(last)) {
            if (val_truth(last) == (op == ASTOP_or))
                return last;
            continue;
        }
        if (kept.kind == VAL_ABSENT) {
            kept = last;
            continue;
        }
        kept = elab_logical(e, span_join(expr->span, operand->span), op, kept, last);
        if (val_failed(kept))
            return kept;
    }
    return kept.kind == VAL_ABSENT ? last : kept;
}

/* The span of an expression leaves out parentheses around it. */
static bool in_parentheses(const Elab *e, Span span) {
    const Str text = source_get(&e->ctx->sources, span.file)->text;
    size_t lo = span.lo, hi = span.hi;
    while (lo > 0 && strchr(" \t\n\\", text.ptr[lo - 1]))
        lo--;
    while (hi < text.len && text.ptr[hi] && strchr(" \t\n\\", text.ptr[hi]))
        hi++;
    return lo > 0 && hi < text.len && text.ptr[lo - 1] == '(' && text.ptr[hi] == ')';
}

/* An operand of a comparison; see bare_bits. */
static Val eval_compared(Elab *e, const Expr *expr) {
    const Expr *outer = e->bare_bits;
    if (expr->kind == EXPR_binary && !in_parentheses(e, expr->span))
        e->bare_bits = expr;
    Val v = elab_eval(e, expr);
    e->bare_bits = outer;
    return v;
}

/* a < b < c is a < b and b < c, b evaluated once. */
static Val eval_compare(Elab *e, const Expr *expr) {
    const ExprList *operands = &expr->u.compare.operands;
    Val left = eval_compared(e, operands->items[0]), result = val_of(VAL_ABSENT);
    for (uint32_t i = 1; i < operands->count; i++) {
        Val right = eval_compared(e, operands->items[i]);
        Val one = elab_compare(e, expr->span, expr->u.compare.ops[i - 1], left, right);
        if (val_failed(one))
            return one;
        if (result.kind == VAL_ABSENT)
            result = one;
        else if (val_is_tile(result) && val_is_tile(one))
            result = elab_logical(e, expr->span, ASTOP_and, result, one);
        else if (!val_is_tile(result))
            result = val_truth(result) ? one : result;
        else
            result = val_truth(one) ? result : one;
        left = right;
        if (result.kind == VAL_BOOL && !val_truth(result))
            return result;
    }
    return result;
}

Val elab_condition(Elab *e, Span span, Val v, const char *construct) {
    if (val_failed(v))
        return v;
    if (!val_is_tile(v))
        return val_bool(val_truth(v));
    if (val_has_shape(v) && type_numel(val_ir_type(v)) != 1) {
        elab_fail(e, span, elab_condition_shape, construct, elab_type_text(e, v));
        elab_hint(
            e, "choose by element with tl.where(cond, a, b), or reduce the condition to a scalar "
               "with tl.max or tl.min");
        return val_error();
    }
    if (elab_no_builder(e, span, "a run-time condition"))
        return val_error();
    return op_to_bool(e, span, op_unsplat(e, v));
}

static Val eval_slice(Elab *e, const Expr *expr) {
    const Expr *parts[] = {expr->u.slice.start, expr->u.slice.stop, expr->u.slice.step};
    Val *values = ARENA_ARRAY(e->arena, Val, 3);
    for (int i = 0; i < 3; i++) {
        values[i] = parts[i] ? elab_eval(e, parts[i]) : val_none();
        if (val_failed(values[i]))
            return val_error();
    }
    return (Val){.kind = VAL_SLICE, .slice = values};
}

bool elab_divides_by_zero(Elab *e, Span span, AstOperator op, Val a, const Expr *divisor) {
    if ((op != ASTOP_floordiv && op != ASTOP_mod) || !val_is_tile(a) ||
        !scalar_is_int(a.tile.scalar) || divisor->kind != EXPR_int || divisor->u.integer.lo ||
        divisor->u.integer.hi)
        return false;
    elab_fail(e, span, elab_division_by_zero, ast_operator_text[op]);
    return true;
}

static Val eval_binary(Elab *e, const Expr *expr) {
    Val a = elab_eval(e, expr->u.binary.left);
    Val b = elab_eval(e, expr->u.binary.right);
    if (elab_divides_by_zero(e, expr->span, expr->u.binary.op, a, expr->u.binary.right))
        return val_error();
    return elab_binary(e, expr->span, expr->u.binary.op, a, b);
}

static Val eval_ternary(Elab *e, const Expr *expr) {
    Val condition = elab_eval(e, expr->u.ternary.condition);
    condition =
        elab_condition(e, expr->u.ternary.condition->span, condition, "a conditional expression");
    if (val_failed(condition))
        return condition;
    if (val_is_tile(condition))
        return elab_ternary(e, expr, condition);
    return elab_eval(e, val_truth(condition) ? expr->u.ternary.then_value
                                             : expr->u.ternary.else_value);
}

static Val eval_walrus(Elab *e, const Expr *expr) {
    Val v = elab_decay(e, expr->span, elab_eval(e, expr->u.bind.value));
    elab_set(e, expr->span, expr->u.bind.name, v);
    return v;
}

static Val eval_node(Elab *e, const Expr *expr) {
    switch (expr->kind) {
    case EXPR_name:
        return elab_name(e, expr->span, expr->u.name);
    case EXPR_int:
        return eval_int(e, expr);
    case EXPR_float:
        return val_float(expr->u.number);
    case EXPR_string:
        return val_string(expr->u.string);
    case EXPR_bool:
        return val_bool(expr->u.boolean);
    case EXPR_none:
        return val_none();
    case EXPR_ellipsis:
        return val_of(VAL_ELLIPSIS);
    case EXPR_tuple:
    case EXPR_list: {
        const Val items = eval_tuple(e, &expr->u.list);
        if (val_failed(items) || expr->kind == EXPR_tuple)
            return items;
        return object_sequence(e, expr->span, items.tuple.items, items.tuple.count);
    }
    case EXPR_unary: {
        Val v = elab_eval(e, expr->u.unary.operand);
        return elab_unary(e, expr->span, expr->u.unary.op, v);
    }
    case EXPR_binary:
        return eval_binary(e, expr);
    case EXPR_boolop:
        return eval_boolop(e, expr);
    case EXPR_compare:
        return eval_compare(e, expr);
    case EXPR_ternary:
        return eval_ternary(e, expr);
    case EXPR_call:
        return elab_call_expr(e, expr);
    case EXPR_subscript: {
        Val base = elab_eval(e, expr->u.subscript.base);
        Val index = elab_eval(e, expr->u.subscript.index);
        if (val_failed(base) || val_failed(index))
            return val_error();
        return elab_subscript(e, expr, base, index);
    }
    case EXPR_slice:
        return eval_slice(e, expr);
    case EXPR_attribute: {
        Val bound;
        if (units_attribute(e, expr, &bound))
            return bound;
        Val base = elab_eval(e, expr->u.attribute.base);
        return elab_attribute(e, expr->u.attribute.name_span, base, expr->u.attribute.name);
    }
    case EXPR_fstring:
        return eval_fstring(e, expr);
    case EXPR_walrus:
        return eval_walrus(e, expr);
    case EXPR_lambda:
        elab_fail(e, expr->span, elab_construct, "lambda");
        elab_hint(e, "define a function with @triton.jit and name it here");
        return val_error();
    case EXPR_comprehension:
        return eval_comprehension(e, expr);
    case EXPR_formatted:
        return eval_formatted(e, expr);
    case EXPR_dict:
        if (e->frame->host)
            return elab_host_dict(e, expr);
        /* fall through */
    case EXPR_set:
        elab_fail(e, expr->span, elab_construct, "a dict or set");
        elab_hint(e, "use a tuple, or a constexpr `if`");
        return val_error();
    case EXPR_unsupported:
        elab_fail(e, expr->span, elab_construct, ast_construct_text[expr->u.construct]);
        elab_hint(e, "%s", ast_construct_remedy[expr->u.construct]);
        return val_error();
    case EXPR_starred:
        return elab_fail(e, expr->span, elab_construct, "*expression here");
    case EXPR_COUNT:
        break;
    }
    return val_error();
}

/* Values that are copied and compared element by element stay within bounds. */
static Val check_size(Elab *e, const Expr *expr, Val v) {
    if (v.kind != VAL_TUPLE && v.kind != VAL_STRING)
        return v;
    uint32_t size = val_size(v);
    if (size > MAX_STATIC_ITERATIONS)
        return elab_fail(e, expr->span, elab_too_many_items, MAX_STATIC_ITERATIONS);
    if (v.kind == VAL_TUPLE && v.tuple.depth > MAX_TUPLE_DEPTH)
        return elab_fail(e, expr->span, elab_too_deep);
    return elab_spend(e, expr->span, size) ? v : val_error();
}

Val elab_eval(Elab *e, const Expr *expr) {
    Span saved = e->builder.span, saved_user = e->user_span;
    if (!e->frame->unit->is_std)
        e->user_span = e->builder.span = expr->span;
    if (++e->depth > MAX_EXPRESSION_DEPTH) {
        e->depth--;
        return elab_fail(e, expr->span, elab_too_deep);
    }
    Val v = elab_spend(e, expr->span, 1) ? check_size(e, expr, eval_node(e, expr)) : val_error();
    e->depth--;
    e->builder.span = saved;
    e->user_span = saved_user;
    if (e->observer && !e->frame->unit->is_std)
        e->observer->expression(e->observer->user, expr, &v);
    return v;
}

/* Attributes */

static Val shape_tuple(Elab *e, const Type *type) {
    int rank = type ? type->rank : 0;
    Val *dims = ARENA_ARRAY(e->arena, Val, (size_t)rank + 1);
    for (int i = 0; i < rank; i++)
        dims[i] = val_int(type->shape[i]);
    return val_tuple(dims, (uint32_t)rank);
}

static Val method_of(Elab *e, Val base, Val callee) {
    Val *parts = ARENA_ARRAY(e->arena, Val, 2);
    parts[0] = base;
    parts[1] = callee;
    return (Val){.kind = VAL_METHOD, .method = {&parts[0], &parts[1]}};
}

static void suggest_method(Elab *e, Str name) {
    Str names[BUILTIN_COUNT];
    size_t n = 0;
    for (uint32_t i = 0; i < BUILTIN_COUNT; i++)
        if (builtins[i].flags & BUILTIN_METHOD)
            names[n++] = str_from(builtins[i].name);
    elab_suggest(e, name, names, n);
}

static Val tile_attribute(Elab *e, Span span, Val base, Str name) {
    const Type *type = val_ir_type(base);
    if (str_is(name, "dtype"))
        return val_type(base.tile.scalar, NULL);
    if (str_is(name, "type"))
        return val_type(base.tile.scalar, type->rank ? type : NULL);
    if (str_is(name, "shape"))
        return shape_tuple(e, type);
    if (str_is(name, "numel"))
        return val_int(type_numel(type));
    if (str_is(name, "T")) {
        if (type->rank != 2)
            return elab_fail(e, span, elab_transpose_rank, elab_type_text(e, base));
        static const int64_t swapped[] = {1, 0};
        return op_like(build_transpose(&e->builder, base.tile.ir, (Ints){swapped, 2}), base);
    }
    const Builtin *row = builtin_find(name, IN_TL | IN_MATH);
    Val callee = val_error();
    if (row && (row->flags & BUILTIN_METHOD))
        callee = (Val){.kind = VAL_BUILTIN, .builtin = row};
    if (row && (row->flags & BUILTIN_METHOD) && (row->flags & BUILTIN_STD))
        callee = elab_std(e, name);
    if (!val_failed(callee) && !elab_has_builtin(e, span, row))
        return val_error();
    if (val_failed(callee)) {
        elab_fail(e, span, elab_no_attribute, elab_type_text(e, base), STR_ARG(name));
        if (row)
            elab_hint(e, "call it as tl.%s(x, ...)", row->name);
        else if (!elab_instead(e, name))
            suggest_method(e, name);
        return val_error();
    }
    return method_of(e, base, callee);
}

/* Block pointers have the type of their pointer, descriptors that of their elements. */
static Val block_attribute(Elab *e, Span span, Val base, Str name) {
    const BlockInfo *info = base.block.info;
    uint32_t rank = (uint32_t)info->tile->rank;
    ScalarType pointer = info->scalar;
    pointer.pointer = true;
    if (str_is(name, "dtype") || (str_is(name, "type") && !info->is_descriptor))
        return val_type(info->is_descriptor ? info->scalar : pointer, NULL);
    if (info->is_descriptor) {
        if (str_is(name, "shape"))
            return val_tuple(base.block.parts + 1, rank);
        if (str_is(name, "strides"))
            return val_tuple(base.block.parts + 1 + rank, rank);
        if (str_is(name, "block_shape"))
            return shape_tuple(e, info->tile);
        if (str_is(name, "block_type"))
            return val_type(info->scalar, info->tile);
    }
    const Builtin *row = builtin_find_method(name, info->is_descriptor ? BUILTIN_OF_DESCRIPTOR
                                                                       : BUILTIN_OF_BLOCK_POINTER);
    if (row && !elab_has_builtin(e, span, row))
        return val_error();
    if (row)
        return method_of(e, base, (Val){.kind = VAL_BUILTIN, .builtin = row});
    elab_fail(e, span, elab_no_attribute, elab_type_text(e, base), STR_ARG(name));
    if (str_is(name, "load") && !info->is_descriptor)
        elab_hint(e, "block pointers are read by tl.load");
    return val_error();
}

/* A field of a named tuple; false: it is none. */
static bool field_of(Val base, Str name, Val *out) {
    const uint32_t at = base.kind == VAL_TUPLE ? record_field(base.tuple.record, name) : UINT32_MAX;
    if (at < UINT32_MAX)
        *out = base.tuple.items[at];
    return at < UINT32_MAX;
}

static Val undefined_field(Elab *e, Span span, Str name, Val field) {
    return elab_fail(e, span, elab_undefined_variable, STR_ARG(name), field.undefined->why);
}

static void suggest_field(Elab *e, Val base, Str name) {
    const GivenUnit *given = base.tuple.record->given;
    Str *names = ARENA_ARRAY(e->arena, Str, (size_t)given->field_count + 1);
    for (uint32_t i = 0; i < given->field_count; i++)
        names[i] = given->fields[i].name;
    elab_suggest(e, name, names, given->field_count);
}

/* What Triton holds in a constexpr of type constexpr_type. */
static bool is_constexpr_number(Val v) {
    return val_is_number(v) || v.kind == VAL_BIGINT || v.kind == VAL_NONE || v.kind == VAL_STRING;
}

static bool tile_has_attribute(Val base, Str name) {
    static const char *const names[] = {"dtype", "type", "shape", "numel"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is(name, names[i]))
            return true;
    if (str_is(name, "T"))
        return val_ir_type(base)->rank == 2;
    const Builtin *row = builtin_find(name, IN_TL | IN_MATH);
    return row && (row->flags & BUILTIN_METHOD) && row->handler != builtin_not_covered;
}

static bool block_has_attribute(Val base, Str name) {
    const bool is_descriptor = base.block.info->is_descriptor;
    static const char *const names[] = {"dtype",   "type",        "shape",
                                        "strides", "block_shape", "block_type"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is(name, names[i]))
            return i == 0 || (i == 1) != is_descriptor;
    return builtin_find_method(name,
                               is_descriptor ? BUILTIN_OF_DESCRIPTOR : BUILTIN_OF_BLOCK_POINTER);
}

static const Builtin *int_method(Val base, Str name) {
    const bool is_int = base.kind == VAL_BOOL || base.kind == VAL_INT || base.kind == VAL_BIGINT;
    return is_int ? builtin_find_method(name, BUILTIN_OF_INT) : NULL;
}

bool elab_has_attribute(Elab *e, Val base, Str name) {
    Val field;
    if (field_of(base, name, &field))
        return true;
    switch (base.kind) {
    case VAL_TILE:
        return tile_has_attribute(base, name);
    case VAL_BLOCK:
        return block_has_attribute(base, name);
    case VAL_TYPE:
        return elab_type_has_attribute(base, name);
    case VAL_MODULE:
        return elab_module_has(e, base, name);
    case VAL_BUILTIN:
        return builtin_is(base, BUILTIN_PropagateNan) &&
               (str_is(name, "ALL") || str_is(name, "NONE"));
    case VAL_TUPLE:
        return str_is(name, "value") || str_is(name, "type") || object_method(base, name);
    case VAL_LIST:
    case VAL_DICT:
        return str_is(name, "value") || object_method(base, name);
    case VAL_FUNCTION:
        return str_is(name, "value");
    case VAL_CONSTEXPR_TYPE:
        return str_is(name, "value");
    case VAL_STRING:
        return str_is(name, "value") || str_is(name, "type") ||
               builtin_find_method(name, BUILTIN_OF_TEXT);
    default:
        return is_constexpr_number(base) &&
               (str_is(name, "value") || str_is(name, "type") || int_method(base, name));
    }
}

/* Of a tuple: those of what is in it. */
static Val constexpr_type_of(Elab *e, Span span, Val v) {
    if (v.kind != VAL_TUPLE)
        return val_constexpr_type(e->arena, v);
    Val *types = ARENA_ARRAY(e->arena, Val, v.tuple.count + 1);
    for (uint32_t i = 0; i < v.tuple.count; i++) {
        types[i] = elab_attribute(e, span, v.tuple.items[i], str_from("type"));
        if (val_failed(types[i]))
            return types[i];
    }
    return val_tuple(types, v.tuple.count);
}

Val elab_attribute(Elab *e, Span span, Val base, Str name) {
    const Builtin *row;
    Val field;
    RecordMethod method;
    if (field_of(base, name, &field))
        return field.kind == VAL_UNDEFINED ? undefined_field(e, span, name, field) : field;
    if (base.kind == VAL_TUPLE && base.tuple.record &&
        elab_method(e, base.tuple.record, name, &method))
        return method.is_static ? method.function : method_of(e, base, method.function);
    if (base.kind == VAL_RECORD && elab_method(e, base.record, name, &method))
        return method.function;
    switch (base.kind) {
    case VAL_ERROR:
        return base;
    case VAL_TILE:
        return tile_attribute(e, span, base, name);
    case VAL_BLOCK:
        return block_attribute(e, span, base, name);
    case VAL_TYPE:
        return elab_type_attribute(e, span, base, name);
    case VAL_MODULE:
        return elab_module_attribute(e, span, base, name);
    case VAL_BUILTIN:
        if (builtin_is(base, BUILTIN_PropagateNan)) {
            if (str_is(name, "ALL"))
                return val_bool(true);
            if (str_is(name, "NONE"))
                return val_bool(false);
        }
        break;
    case VAL_STRING:
        row = builtin_find_method(name, BUILTIN_OF_TEXT);
        if (row)
            return method_of(e, base, (Val){.kind = VAL_BUILTIN, .builtin = row});
        /* fall through */
    case VAL_BOOL:
    case VAL_INT:
    case VAL_BIGINT:
        row = int_method(base, name);
        if (row)
            return method_of(e, base, (Val){.kind = VAL_BUILTIN, .builtin = row});
        /* fall through */
    case VAL_NONE:
    case VAL_FLOAT:
    case VAL_TUPLE:
    case VAL_LIST:
    case VAL_DICT:
    case VAL_FUNCTION:
        row = object_method(base, name);
        if (row)
            return method_of(e, base, (Val){.kind = VAL_BUILTIN, .builtin = row});
        if (str_is(name, "value"))
            return base;
        if (str_is(name, "type") && (is_constexpr_number(base) || base.kind == VAL_TUPLE))
            return constexpr_type_of(e, span, base);
        break;
    case VAL_CONSTEXPR_TYPE:
        if (str_is(name, "value"))
            return *base.constant;
        break;
    case VAL_ABSENT:
    case VAL_UNDEFINED:
    case VAL_VIEW:
    case VAL_ITERATOR:
    case VAL_RECORD:
    case VAL_FOREIGN:
    case VAL_METHOD:
    case VAL_SLICE:
    case VAL_ELLIPSIS:
        break;
    }
    elab_fail(e, span, elab_no_attribute, elab_type_text(e, base), STR_ARG(name));
    if (base.kind == VAL_TUPLE && base.tuple.record)
        suggest_field(e, base, name);
    else if (base.kind == VAL_NONE)
        elab_hint(e, "test it with `is None` in a constexpr `if` before using it");
    else if (val_is_number(base) && (str_is(name, "to") || str_is(name, "dtype")))
        elab_hint(e, "the value is a compile-time number; assign it to a variable or write "
                     "tl.full([], value, dtype) to make it a run-time one");
    return val_error();
}
