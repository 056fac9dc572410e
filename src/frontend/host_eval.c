/* Expressions of host code. */
#include "frontend/host_run.h"
#include "frontend/value.h"

/* Of expressions, calls included, within each other. */
enum { MAX_DEPTH = 2000 };

/* Objects */

HostValue host_new_list(HostCode *code, HostKind kind) {
    return (HostValue){.kind = kind, .list = ARENA_NEW(code->arena, HostList)};
}

HostValue host_new_dict(HostCode *code) {
    return (HostValue){.kind = HOST_DICT, .dict = ARENA_NEW(code->arena, HostDict)};
}

void host_append(HostCode *code, HostValue list, HostValue item) {
    code->steps++;
    vec_push(code->arena, &list.list->items, item);
}

void host_put(HostCode *code, HostDict *dict, HostValue key, HostValue value) {
    HostValue *there = host_dict_find(dict, key);
    code->steps += dict->pairs.len + 1;
    if (there)
        *there = value;
    else
        vec_push(code->arena, &dict->pairs, (HostPair){key, value});
}

bool host_items(HostCode *code, HostValue value, Span span, HostValue *items) {
    HostValue list = host_new_list(code, HOST_LIST);
    if (host_is_sequence(value)) {
        for (size_t i = 0; i < value.list->items.len; i++)
            host_append(code, list, value.list->items.data[i]);
    } else if (value.kind == HOST_DICT) {
        for (size_t i = 0; i < value.dict->pairs.len; i++)
            host_append(code, list, value.dict->pairs.data[i].key);
    } else if (value.kind == HOST_TEXT) {
        for (size_t i = 0; i < value.text.len; i++)
            host_append(code, list, host_text((Str){value.text.ptr + i, 1}));
    } else {
        return host_cannot(code, span, "a loop over this");
    }
    *items = list;
    return true;
}

/* What stands in an unknown module may be anything; element types are what their name says. */
bool host_is_known(HostCode *code, HostValue value, Span span) {
    static const char types[] = "tl.";
    const size_t length = sizeof types - 1;
    if (value.kind != HOST_PATH ||
        (value.text.len > length && !memcmp(value.text.ptr, types, length)))
        return true;
    return host_cannot(code, span, str_format(code->arena, "'%.*s'", STR_ARG(value.text)));
}

bool host_is_true(HostCode *code, HostValue value, Span span, bool *is_true) {
    *is_true = host_truth(value);
    return host_is_known(code, value, span);
}

static bool eval_truth(HostCode *code, const Expr *expr, bool *is_true) {
    HostValue value;
    return host_eval(code, expr, &value) && host_is_true(code, value, expr->span, is_true);
}

/* Names and attributes */

static HostValue builtin(HostCode *code, Str name, HostValue self) {
    HostCallable *callable = ARENA_NEW(code->arena, HostCallable);
    *callable = (HostCallable){.method = name, .self = self};
    return (HostValue){.kind = HOST_CALLABLE, .callable = callable};
}

static bool eval_name(HostCode *code, const Expr *expr, HostValue *value) {
    const HostValue *bound = host_find(code->frame, expr->u.name);
    if (bound)
        *value = *bound;
    else if (host_is_builtin(expr->u.name))
        *value = builtin(code, expr->u.name, (HostValue){0});
    if ((bound && bound->kind != HOST_UNKNOWN) || (!bound && host_is_builtin(expr->u.name)))
        return true;
    return host_cannot(code, expr->span,
                       str_format(code->arena, "the name '%.*s'%s", STR_ARG(expr->u.name),
                                  bound ? ", whose value is not known," : ""));
}

static bool config_attribute(HostCode *code, const HostConfig *config, Str name, HostValue *value) {
    if (str_is(name, "kwargs")) {
        *value = (HostValue){.kind = HOST_DICT, .dict = config->values};
        return true;
    }
#define HOST_CONFIG_OPTION(option, usual)                                                          \
    if (str_is(name, #option)) {                                                                   \
        *value = config->option ? host_int(config->option)                                         \
                 : usual        ? host_int(usual)                                                  \
                                : host_none();                                                            \
        return true;                                                                               \
    }
    HOST_CONFIG_OPTIONS(HOST_CONFIG_OPTION)
#undef HOST_CONFIG_OPTION
    return false;
}

static bool eval_attribute(HostCode *code, const Expr *expr, HostValue *value) {
    HostValue base;
    Str name = expr->u.attribute.name;
    if (!host_eval(code, expr->u.attribute.base, &base))
        return false;
    if (base.kind == HOST_PATH)
        return host_path_value(
            code, str_from(str_format(code->arena, "%.*s.%.*s", STR_ARG(base.text), STR_ARG(name))),
            expr->span, value);
    if (base.kind == HOST_POINTER && str_is(name, "dtype")) {
        *value = host_text(base.text);
        return true;
    }
    if (base.kind == HOST_CONFIG && config_attribute(code, base.config, name, value))
        return true;
    if (!host_has_method(base, name))
        return host_cannot(code, expr->u.attribute.name_span,
                           str_format(code->arena, "the attribute '%.*s'", STR_ARG(name)));
    *value = builtin(code, name, base);
    return true;
}

/* Subscripts */

static bool slice_bound(HostCode *code, const Expr *expr, int64_t count, int64_t missing,
                        int64_t *at) {
    HostValue value;
    *at = missing;
    if (!expr)
        return true;
    if (!host_eval(code, expr, &value))
        return false;
    if (value.kind == HOST_NONE)
        return true;
    if (value.kind != HOST_INT)
        return host_cannot(code, expr->span, "a slice by this");
    *at = value.i < 0 ? value.i + count : value.i;
    *at = *at < 0 ? 0 : *at > count ? count : *at;
    return true;
}

static bool eval_slice(HostCode *code, HostValue base, const Expr *index, HostValue *value) {
    int64_t from, to;
    const bool is_text = base.kind == HOST_TEXT;
    if (index->u.slice.step || (!host_is_sequence(base) && !is_text))
        return host_cannot(code, index->span, "a slice of this, or with a step");
    const int64_t count = (int64_t)(is_text ? base.text.len : base.list->items.len);
    if (!slice_bound(code, index->u.slice.start, count, 0, &from) ||
        !slice_bound(code, index->u.slice.stop, count, count, &to))
        return false;
    if (is_text) {
        *value = host_text((Str){base.text.ptr + from, (size_t)(to > from ? to - from : 0)});
        return true;
    }
    *value = host_new_list(code, base.kind);
    for (int64_t i = from; i < to; i++)
        host_append(code, *value, base.list->items.data[i]);
    return true;
}

static bool eval_subscript(HostCode *code, const Expr *expr, HostValue *value) {
    HostValue base, index;
    if (!host_eval(code, expr->u.subscript.base, &base))
        return false;
    if (expr->u.subscript.index->kind == EXPR_slice)
        return eval_slice(code, base, expr->u.subscript.index, value);
    if (!host_eval(code, expr->u.subscript.index, &index))
        return false;
    if (base.kind == HOST_DICT) {
        const HostValue *found = host_dict_find(base.dict, index);
        if (!found || found->kind == HOST_UNKNOWN)
            return host_cannot(code, expr->span, "a key that the dict has not");
        *value = *found;
        return true;
    }
    if (!host_is_sequence(base) || index.kind != HOST_INT)
        return host_cannot(code, expr->span, "a subscript of this");
    const int64_t count = (int64_t)base.list->items.len;
    const int64_t at = index.i < 0 ? index.i + count : index.i;
    if (at < 0 || at >= count)
        return host_cannot(code, expr->span, "an index outside the list");
    *value = base.list->items.data[at];
    return true;
}

/* Displays and comprehensions */

static bool eval_list(HostCode *code, const Expr *expr, HostKind kind, HostValue *value) {
    *value = host_new_list(code, kind);
    for (uint32_t i = 0; i < expr->u.list.count; i++) {
        const Expr *item = expr->u.list.items[i];
        HostValue one, all;
        if (!host_eval(code, item->kind == EXPR_starred ? item->u.bind.value : item, &one))
            return false;
        if (item->kind != EXPR_starred) {
            host_append(code, *value, one);
            continue;
        }
        if (!host_items(code, one, item->span, &all))
            return false;
        for (size_t j = 0; j < all.list->items.len; j++)
            host_append(code, *value, all.list->items.data[j]);
    }
    return true;
}

static bool eval_dict(HostCode *code, const Expr *expr, HostValue *value) {
    *value = host_new_dict(code);
    for (uint32_t i = 0; i < expr->u.dict.count; i++) {
        HostValue key, item;
        if (!host_eval(code, expr->u.dict.values[i], &item))
            return false;
        if (expr->u.dict.keys[i]) {
            if (!host_eval(code, expr->u.dict.keys[i], &key))
                return false;
            host_put(code, value->dict, key, item);
            continue;
        }
        if (item.kind != HOST_DICT)
            return host_cannot(code, expr->u.dict.values[i]->span, "`**` of what is no dict");
        for (size_t j = 0; j < item.dict->pairs.len; j++)
            host_put(code, value->dict, item.dict->pairs.data[j].key,
                     item.dict->pairs.data[j].value);
    }
    return true;
}

static bool comprehend_element(HostCode *code, const Expr *expr, HostValue *result) {
    HostValue element, value;
    if (!host_eval(code, expr->u.comprehension.element, &element))
        return false;
    if (expr->u.comprehension.form != COMP_dict) {
        host_append(code, *result, element);
        return true;
    }
    if (!host_eval(code, expr->u.comprehension.value, &value))
        return false;
    host_put(code, result->dict, element, value);
    return true;
}

static bool all_hold(HostCode *code, const ExprList *conditions, bool *hold) {
    *hold = true;
    for (uint32_t i = 0; *hold && i < conditions->count; i++)
        if (!eval_truth(code, conditions->items[i], hold))
            return false;
    return true;
}

static bool comprehend(HostCode *code, const Expr *expr, uint32_t clause, HostValue *result) {
    if (clause == expr->u.comprehension.clause_count)
        return comprehend_element(code, expr, result);
    const ForClause *c = &expr->u.comprehension.clauses[clause];
    HostValue range, items;
    if (!host_eval(code, c->iterable, &range) ||
        !host_items(code, range, c->iterable->span, &items))
        return false;
    for (size_t i = 0; i < items.list->items.len; i++) {
        bool hold;
        if (!host_assign(code, c->target, items.list->items.data[i]) ||
            !all_hold(code, &c->conditions, &hold) ||
            (hold && !comprehend(code, expr, clause + 1, result)))
            return false;
    }
    return true;
}

/* Generators are lists: what they are given to here goes through all of them. */
static bool eval_comprehension(HostCode *code, const Expr *expr, HostValue *value) {
    if (expr->u.comprehension.form == COMP_set)
        return host_cannot(code, expr->span, "a set");
    HostFrame *outer = code->frame, *frame = ARENA_NEW(code->arena, HostFrame);
    frame->outer = outer;
    *value = expr->u.comprehension.form == COMP_dict ? host_new_dict(code)
                                                     : host_new_list(code, HOST_LIST);
    code->frame = frame;
    const bool ok = comprehend(code, expr, 0, value);
    code->frame = outer;
    return ok;
}

/* Operators */

static bool contains(Str text, Str part) {
    for (size_t i = 0; i + part.len <= text.len; i++)
        if (!memcmp(text.ptr + i, part.ptr, part.len))
            return true;
    return false;
}

static bool is_member(HostCode *code, HostValue item, HostValue of, Span span, bool *is) {
    HostValue items;
    *is = false;
    if (of.kind == HOST_TEXT && item.kind == HOST_TEXT) {
        *is = contains(of.text, item.text);
        return true;
    }
    if (!host_items(code, of, span, &items) || !host_is_known(code, item, span))
        return false;
    for (size_t i = 0; !*is && i < items.list->items.len; i++) {
        if (!host_is_known(code, items.list->items.data[i], span))
            return false;
        *is = host_values_equal(item, items.list->items.data[i]);
    }
    return true;
}

static bool eval_compare(HostCode *code, const Expr *expr, HostValue *value) {
    const ExprList *operands = &expr->u.compare.operands;
    HostValue left, right;
    bool holds = true;
    if (!host_eval(code, operands->items[0], &left))
        return false;
    for (uint32_t i = 1; holds && i < operands->count; i++) {
        const AstOperator op = expr->u.compare.ops[i - 1];
        if (!host_eval(code, operands->items[i], &right))
            return false;
        if (op == ASTOP_in || op == ASTOP_notin) {
            if (!is_member(code, left, right, expr->span, &holds))
                return false;
            holds ^= op == ASTOP_notin;
        } else if (!host_is_known(code, left, expr->span) ||
                   !host_is_known(code, right, expr->span) ||
                   !host_checked(code, expr->span, host_compare(op, left, right, &holds))) {
            return false;
        }
        left = right;
    }
    *value = host_bool(holds);
    return true;
}

static bool concatenate(HostCode *code, HostValue left, HostValue right, Span span,
                        HostValue *value) {
    const size_t length = left.kind == HOST_TEXT ? left.text.len + right.text.len
                                                 : left.list->items.len + right.list->items.len;
    if (length > HOST_MAX_ITEMS)
        return host_cannot(code, span, "a list or text this long");
    if (left.kind == HOST_TEXT) {
        *value = host_text(
            str_from(str_format(code->arena, "%.*s%.*s", STR_ARG(left.text), STR_ARG(right.text))));
        return true;
    }
    *value = host_new_list(code, left.kind);
    for (size_t i = 0; i < left.list->items.len; i++)
        host_append(code, *value, left.list->items.data[i]);
    for (size_t i = 0; i < right.list->items.len; i++)
        host_append(code, *value, right.list->items.data[i]);
    return true;
}

static bool eval_binary(HostCode *code, const Expr *expr, HostValue *value) {
    HostValue left, right;
    const AstOperator op = expr->u.binary.op;
    if (!host_eval(code, expr->u.binary.left, &left) ||
        !host_eval(code, expr->u.binary.right, &right))
        return false;
    const bool joins =
        left.kind == right.kind && (host_is_sequence(left) || left.kind == HOST_TEXT);
    if (op == ASTOP_add && joins)
        return concatenate(code, left, right, expr->span, value);
    return host_checked(code, expr->span, host_binary(op, left, right, value));
}

static bool eval_boolop(HostCode *code, const Expr *expr, HostValue *value) {
    const bool ends_at = expr->u.boolop.op == ASTOP_or;
    for (uint32_t i = 0; i < expr->u.boolop.operands.count; i++) {
        bool is_true;
        if (!host_eval(code, expr->u.boolop.operands.items[i], value) ||
            !host_is_true(code, *value, expr->span, &is_true))
            return false;
        if (is_true == ends_at)
            return true;
    }
    return true;
}

/* Calls */

typedef VEC(HostNamed) HostNamedVec;

static bool eval_keywords(HostCode *code, const Expr *expr, HostNamedVec *named) {
    for (uint32_t i = 0; i < expr->u.call.keyword_count; i++) {
        const Keyword *keyword = &expr->u.call.keywords[i];
        HostValue value;
        if (!host_eval(code, keyword->value, &value))
            return false;
        if (keyword->name.len) {
            vec_push(code->arena, named, (HostNamed){keyword->name, value});
            continue;
        }
        if (value.kind != HOST_DICT)
            return host_cannot(code, keyword->span, "`**` of what is no dict");
        for (size_t j = 0; j < value.dict->pairs.len; j++) {
            const HostPair *pair = &value.dict->pairs.data[j];
            if (pair->key.kind != HOST_TEXT)
                return host_cannot(code, keyword->span,
                                   "`**` of a dict with other keys than names");
            vec_push(code->arena, named, (HostNamed){pair->key.text, pair->value});
        }
    }
    return true;
}

static bool eval_call(HostCode *code, const Expr *expr, HostValue *value) {
    HostValue callee, items;
    HostNamedVec named = {0};
    const Expr positional = {.kind = EXPR_list, .span = expr->span, .u.list = expr->u.call.args};
    if (!host_eval(code, expr->u.call.callee, &callee) ||
        !eval_list(code, &positional, HOST_LIST, &items) || !eval_keywords(code, expr, &named))
        return false;
    const HostArguments arguments = {items.list->items.data, (uint32_t)items.list->items.len,
                                     named.data, (uint32_t)named.len};
    return host_call(code, callee, &arguments, expr->span, value);
}

static bool eval_lambda(HostCode *code, const Expr *expr, HostValue *value) {
    HostCallable *callable = ARENA_NEW(code->arena, HostCallable);
    HostValue *defaults = ARENA_ARRAY(code->arena, HostValue, expr->u.lambda.param_count + 1);
    for (uint32_t i = 0; i < expr->u.lambda.param_count; i++)
        if (expr->u.lambda.params[i].default_value &&
            !host_eval(code, expr->u.lambda.params[i].default_value, &defaults[i]))
            return false;
    *callable = (HostCallable){.lambda = expr, .frame = code->frame, .defaults = defaults};
    *value = (HostValue){.kind = HOST_CALLABLE, .callable = callable};
    return true;
}

static bool eval_ternary(HostCode *code, const Expr *expr, HostValue *value) {
    bool holds;
    if (!eval_truth(code, expr->u.ternary.condition, &holds))
        return false;
    return host_eval(code, holds ? expr->u.ternary.then_value : expr->u.ternary.else_value, value);
}

static bool eval_unary(HostCode *code, const Expr *expr, HostValue *value) {
    HostValue operand;
    return host_eval(code, expr->u.unary.operand, &operand) &&
           host_is_known(code, operand, expr->span) &&
           host_checked(code, expr->span, host_unary(expr->u.unary.op, operand, value));
}

/* Of texts and whole numbers: how Python spells others is not needed here. */
static bool eval_fstring(HostCode *code, const Expr *expr, HostValue *value) {
    StrBuf text = strbuf(code->arena);
    for (uint32_t i = 0; i < expr->u.list.count; i++) {
        const Expr *part = expr->u.list.items[i];
        HostValue one;
        if (part->kind == EXPR_formatted || !host_eval(code, part, &one))
            return part->kind == EXPR_formatted
                       ? host_cannot(code, part->span, "a format of an f-string")
                       : false;
        if (one.kind == HOST_TEXT)
            strbuf_add(&text, one.text.ptr, one.text.len);
        else if (one.kind == HOST_INT || one.kind == HOST_BOOL || one.kind == HOST_NONE)
            host_print(one, &text);
        else
            return host_cannot(code, part->span, "such a value in an f-string");
        if (text.len > HOST_MAX_ITEMS)
            return host_cannot(code, expr->span, "a list or text this long");
    }
    code->steps += text.len;
    *value = host_text(strbuf_str(&text));
    return true;
}

static bool eval_integer(HostCode *code, const Expr *expr, HostValue *value) {
    if (expr->u.integer.hi || expr->u.integer.lo > INT64_MAX)
        return host_checked(code, expr->span, HOST_overflow);
    *value = host_int((int64_t)expr->u.integer.lo);
    return true;
}

static bool eval_any(HostCode *code, const Expr *expr, HostValue *value) {
    switch ((int)expr->kind) {
    case EXPR_int:
        return eval_integer(code, expr, value);
    case EXPR_float:
        *value = host_float(expr->u.number);
        return true;
    case EXPR_bool:
        *value = host_bool(expr->u.boolean);
        return true;
    case EXPR_none:
        *value = host_none();
        return true;
    case EXPR_string:
        *value = host_text(expr->u.string);
        return true;
    case EXPR_name:
        return eval_name(code, expr, value);
    case EXPR_attribute:
        return eval_attribute(code, expr, value);
    case EXPR_subscript:
        return eval_subscript(code, expr, value);
    case EXPR_list:
        return eval_list(code, expr, HOST_LIST, value);
    case EXPR_tuple:
        return eval_list(code, expr, HOST_TUPLE, value);
    case EXPR_dict:
        return eval_dict(code, expr, value);
    case EXPR_comprehension:
        return eval_comprehension(code, expr, value);
    case EXPR_unary:
        return eval_unary(code, expr, value);
    case EXPR_binary:
        return eval_binary(code, expr, value);
    case EXPR_boolop:
        return eval_boolop(code, expr, value);
    case EXPR_compare:
        return eval_compare(code, expr, value);
    case EXPR_ternary:
        return eval_ternary(code, expr, value);
    case EXPR_call:
        return eval_call(code, expr, value);
    case EXPR_fstring:
        return eval_fstring(code, expr, value);
    case EXPR_lambda:
        return eval_lambda(code, expr, value);
    }
    return host_cannot(code, expr->span, ast_expr_kind_name[expr->kind]);
}

bool host_eval(HostCode *code, const Expr *expr, HostValue *value) {
    if (++code->depth > MAX_DEPTH || ++code->steps > HOST_MAX_STEPS)
        return host_cannot(code, expr->span, "a computation this deep or this long");
    const bool ok = eval_any(code, expr, value);
    code->depth--;
    return ok;
}
