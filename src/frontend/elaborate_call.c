/* Calls: arguments, builtins, and jit functions, which are inlined. */
#include "frontend/builtins.h"
#include "frontend/language.h"
#include "frontend/objects.h"

typedef struct ArgList {
    Arg *data;
    size_t len, cap;
} ArgList;

static bool add_starred(Elab *e, const Expr *arg, ArgList *list) {
    const Val *items;
    uint32_t count;
    if (!elab_items(e, arg->span, elab_eval(e, arg->u.bind.value), &items, &count))
        return false;
    for (uint32_t i = 0; i < count; i++)
        vec_push(e->arena, list, (Arg){.val = items[i], .span = arg->span});
    return true;
}

static bool eval_args(Elab *e, const Expr *expr, ArgList *list) {
    bool ok = true;
    for (uint32_t i = 0; i < expr->u.call.args.count; i++) {
        const Expr *arg = expr->u.call.args.items[i];
        if (arg->kind == EXPR_starred) {
            ok = add_starred(e, arg, list) && ok;
            continue;
        }
        const Expr *outer = e->argument;
        e->argument = arg;
        Val v = elab_eval(e, arg);
        e->argument = outer;
        ok = ok && !val_failed(v);
        vec_push(e->arena, list, (Arg){.val = v, .span = arg->span});
    }
    for (uint32_t i = 0; i < expr->u.call.keyword_count; i++) {
        const Keyword *keyword = &expr->u.call.keywords[i];
        if (keyword->name.len == 0) {
            elab_fail(e, keyword->span, elab_construct, "** in a call");
            elab_hint(e, "name each argument");
            ok = false;
            continue;
        }
        Val v = elab_eval(e, keyword->value);
        ok = ok && !val_failed(v);
        vec_push(e->arena, list, (Arg){keyword->name, v, keyword->span});
    }
    return ok;
}

/* Builtins: parameters are written in builtins.def as Python would, "x, axis=None, *dims". */

typedef struct ParamSpec {
    Str name, fallback; /* fallback empty: required */
    bool star;
} ParamSpec;

static uint32_t parse_params(const char *text, ParamSpec *out) {
    uint32_t n = 0;
    const char *at = text;
    while (*at && n < MAX_PARAMS) {
        const char *end = strchr(at, ',');
        size_t len = end ? (size_t)(end - at) : strlen(at);
        ParamSpec *spec = &out[n++];
        *spec = (ParamSpec){.star = *at == '*'};
        at += spec->star;
        len -= spec->star;
        const char *equals = memchr(at, '=', len);
        spec->name = (Str){at, equals ? (size_t)(equals - at) : len};
        if (equals)
            spec->fallback = (Str){equals + 1, len - spec->name.len - 1};
        at = end ? end + 1 : at + len;
        at += strspn(at, " ");
    }
    return n;
}

static Val parse_fallback(Str text) {
    if (str_is(text, "None"))
        return val_none();
    if (str_is(text, "True") || str_is(text, "False"))
        return val_bool(text.ptr[0] == 'T');
    if (text.ptr[0] == '\'')
        return val_string((Str){text.ptr + 1, text.len - 2});
    if (str_is(text, "()"))
        return val_tuple(NULL, 0);
    int value = 0;
    for (size_t i = 0; i < text.len; i++)
        value = value * 10 + (text.ptr[i] - '0');
    return val_int(value);
}

const char *call_param_name(const Call *call, int param) {
    ParamSpec specs[MAX_PARAMS];
    uint32_t n = parse_params(call->builtin->params, specs);
    return (uint32_t)param < n ? str_dup(call->e->arena, specs[param].name) : "argument";
}

static void note_signature(Elab *e, const Builtin *builtin) {
    elab_hint(e, "the parameters are %s(%s)", builtin->name, builtin->params);
}

static bool bind_keyword(Call *call, const ParamSpec *specs, uint32_t n, const Arg *arg) {
    Elab *e = call->e;
    for (uint32_t i = 0; i < n; i++) {
        if (!str_eq(specs[i].name, arg->name))
            continue;
        if (call->args[i].kind != VAL_ABSENT) {
            elab_fail(e, arg->span, elab_argument_twice, call->builtin->name, STR_ARG(arg->name));
            return false;
        }
        call->args[i] = arg->val;
        call->spans[i] = arg->span;
        return true;
    }
    Str names[MAX_PARAMS];
    for (uint32_t i = 0; i < n; i++)
        names[i] = specs[i].name;
    elab_fail(e, arg->span, elab_unknown_keyword, call->builtin->name, STR_ARG(arg->name));
    elab_suggest(e, arg->name, names, n);
    note_signature(e, call->builtin);
    return false;
}

static bool bind_builtin(Call *call, const Arg *args, uint32_t count) {
    Elab *e = call->e;
    if (!elab_has_parameters(e, call->builtin, args, count))
        return false;
    ParamSpec specs[MAX_PARAMS];
    uint32_t n = parse_params(call->builtin->params, specs), position = 0;
    VEC(Val) rest = {0};
    for (uint32_t i = 0; i < MAX_PARAMS; i++) {
        call->args[i] = val_of(VAL_ABSENT);
        call->spans[i] = call->span;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].name.len) {
            if (!bind_keyword(call, specs, n, &args[i]))
                return false;
        } else if (position < n && specs[position].star) {
            vec_push(e->arena, &rest, args[i].val);
            call->spans[position] =
                span_join(rest.len > 1 ? call->spans[position] : (Span){0}, args[i].span);
        } else if (position < n) {
            call->spans[position] = args[i].span;
            call->args[position++] = args[i].val;
        } else {
            elab_fail(e, args[i].span, elab_too_many_arguments, call->builtin->name, n, count);
            note_signature(e, call->builtin);
            return false;
        }
    }
    call->rest = rest.data;
    call->rest_count = (uint32_t)rest.len;
    for (uint32_t i = 0; i < n; i++) {
        if (call->args[i].kind != VAL_ABSENT || specs[i].star)
            continue;
        if (specs[i].fallback.len == 0) {
            elab_fail(e, call->span, elab_missing_argument, call->builtin->name,
                      STR_ARG(specs[i].name));
            note_signature(e, call->builtin);
            return false;
        }
        call->args[i] = parse_fallback(specs[i].fallback);
    }
    return true;
}

bool elab_bind_call(Elab *e, const Expr *expr, Val callee, Call *call) {
    ArgList args = {0};
    if (!eval_args(e, expr, &args))
        return false;
    *call = (Call){.e = e, .span = expr->span, .builtin = callee.builtin};
    return bind_builtin(call, args.data, (uint32_t)args.len);
}

bool elab_no_builder(Elab *e, Span span, const char *what) {
    if (e->builder.block)
        return false;
    elab_fail(e, span, elab_not_constexpr, what);
    return true;
}

/* range(..) as a value, of functions evaluated at compile time. */
static Val range_value(Elab *e, Call *call, const Arg *args, uint32_t count) {
    const Val *items;
    uint32_t n;
    if (!bind_builtin(call, args, count) || !elab_range_items(e, call->span, call, &items, &n))
        return val_error();
    return val_tuple(items, n);
}

static bool objects_as_tuples(Call *call) {
    for (uint32_t i = 0; i < MAX_PARAMS; i++)
        if (!object_measure(call->e, call->span, call->args[i]))
            return false;
    for (uint32_t i = 0; i < call->rest_count; i++)
        if (!object_measure(call->e, call->span, call->rest[i]))
            return false;
    Val *rest = ARENA_ARRAY(call->e->arena, Val, (size_t)call->rest_count + 1);
    for (uint32_t i = 0; i < MAX_PARAMS; i++)
        call->args[i] = object_tuples(call->e, call->args[i]);
    for (uint32_t i = 0; i < call->rest_count; i++)
        rest[i] = object_tuples(call->e, call->rest[i]);
    call->rest = rest;
    return true;
}

static Val call_builtin(Elab *e, Span span, const Builtin *builtin, const Arg *args, uint32_t count,
                        bool is_method) {
    Call call = {.e = e, .span = span, .builtin = builtin, .is_method = is_method};
    if (builtin == &builtins[BUILTIN_range] && e->frame->host)
        return range_value(e, &call, args, count);
    if (!builtin->handler) {
        elab_fail(e, span, elab_misplaced, builtin->name);
        return val_error();
    }
    if (builtin->handler == builtin_not_covered)
        return builtin->handler(&call);
    if (!bind_builtin(&call, args, count))
        return val_error();
    if (!(builtin->flags & BUILTIN_STATIC) && elab_no_builder(e, span, builtin->name))
        return val_error();
    if (!(builtin->flags & BUILTIN_OBJECTS) && !objects_as_tuples(&call))
        return val_error();
    return builtin->handler(&call);
}

/* jit functions */

static bool bind_function_keyword(Elab *e, Val callee, const Arg *arg, Val *bound) {
    const FuncDef *def = callee.function.def;
    Str *names = ARENA_ARRAY(e->arena, Str, (size_t)def->param_count + 1);
    for (uint32_t i = 0; i < def->param_count; i++) {
        names[i] = def->params[i].name;
        if (!str_eq(names[i], arg->name))
            continue;
        if (bound[i].kind != VAL_ABSENT) {
            elab_fail(e, arg->span, elab_argument_twice, str_dup(e->arena, def->name),
                      STR_ARG(arg->name));
            return false;
        }
        bound[i] = arg->val;
        return true;
    }
    elab_fail(e, arg->span, elab_unknown_keyword, str_dup(e->arena, def->name), STR_ARG(arg->name));
    elab_suggest(e, arg->name, names, def->param_count);
    diag_note(&e->ctx->diags, def->name_span, "the function is defined here");
    return false;
}

static bool bind_positional(Elab *e, Span span, const FuncDef *def, const Arg *args, uint32_t count,
                            Val *bound) {
    uint32_t position = 0;
    VEC(Val) rest = {0};
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].name.len)
            continue;
        bool star = position < def->param_count && def->params[position].star == 1;
        if (star) {
            vec_push(e->arena, &rest, args[i].val);
        } else if (position < def->param_count && !def->params[position].keyword_only) {
            bound[position++] = args[i].val;
        } else {
            elab_fail(e, args[i].span, elab_too_many_arguments, str_dup(e->arena, def->name),
                      def->param_count, count);
            diag_note(&e->ctx->diags, def->name_span, "the function is defined here");
            return false;
        }
    }
    for (uint32_t i = 0; i < def->param_count; i++)
        if (def->params[i].star == 1)
            bound[i] = val_tuple(rest.data, (uint32_t)rest.len);
    return true;
}

static bool bind_function(Elab *e, Span span, Val callee, const Arg *args, uint32_t count,
                          Val *bound) {
    const FuncDef *def = callee.function.def;
    for (uint32_t i = 0; i < def->param_count; i++)
        bound[i] = val_of(VAL_ABSENT);
    const Builtin *builtin = callee.function.unit->is_std ? builtin_find(def->name, IN_TL) : NULL;
    if (builtin && !elab_has_parameters(e, builtin, args, count))
        return false;
    if (!bind_positional(e, span, def, args, count, bound))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (args[i].name.len && !bind_function_keyword(e, callee, &args[i], bound))
            return false;
    for (uint32_t i = 0; i < def->param_count; i++) {
        const Param *param = &def->params[i];
        if (param->star == 2) {
            elab_fail(e, param->span, elab_construct, "**parameters");
            return false;
        }
        if (bound[i].kind != VAL_ABSENT)
            continue;
        if (!param->default_value) {
            elab_fail(e, span, elab_missing_argument, str_dup(e->arena, def->name),
                      STR_ARG(param->name));
            diag_note(&e->ctx->diags, def->name_span, "the function is defined here");
            return false;
        }
        bound[i] = elab_eval_in(e, callee.function.unit, param->default_value);
        if (val_failed(bound[i]))
            return false;
    }
    return true;
}

static bool call_allowed(Elab *e, Span span, const FuncDef *def) {
    for (size_t i = 0; i < e->failed.len; i++)
        if (e->failed.data[i] == def)
            return false;
    uint32_t depth = 0;
    bool recursive = false;
    for (const Frame *frame = e->frame; frame; frame = frame->caller, depth++)
        recursive |= frame->def == def;
    if (depth < MAX_CALL_DEPTH)
        return true;
    if (recursive) {
        elab_fail(e, span, elab_recursion, STR_ARG(def->name), MAX_CALL_DEPTH);
        elab_hint(e, "calls are inlined: a compile-time condition has to end them; or write a "
                     "loop");
    } else {
        elab_fail(e, span, elab_call_depth, MAX_CALL_DEPTH);
    }
    return false;
}

/* What the function returns, or with `init` what its first parameter is in the end. */
static Val enter_function(Elab *e, Span span, Val callee, const Arg *args, uint32_t count,
                          bool init) {
    const FuncDef *def = callee.function.def;
    const bool is_plain = !def->is_jit && !def->is_constexpr_function;
    if (is_plain && !init && (!e->frame->host || !def->body.count)) {
        elab_fail(e, span, elab_plain_function, STR_ARG(def->name));
        elab_hint(e,
                  "decorate it with @triton.jit, or with @triton.constexpr_function if it computes "
                  "on compile-time values alone");
        return val_error();
    }
    if (def->is_constexpr_function && !callee.function.unit->is_std &&
        !elab_has_feature(e, span, LANGUAGE_HAS_constexpr_function))
        return val_error();
    Val *bound = ARENA_ARRAY(e->arena, Val, (size_t)def->param_count + 1);
    if (!call_allowed(e, span, def) || !bind_function(e, span, callee, args, count, bound))
        return val_error();
    bool host = def->is_constexpr_function || is_plain;
    if (!host && elab_no_builder(e, span, str_dup(e->arena, def->name)))
        return val_error();
    Frame frame = {.caller = e->frame,
                   .def = def,
                   .unit = callee.function.unit,
                   .call_span = span,
                   .host = host};
    unsigned errors = e->ctx->diags.errors;
    Builder saved = e->builder;
    e->frame = &frame;
    if (host)
        e->builder.block = NULL;
    for (uint32_t i = 0; i < def->param_count; i++) {
        vars_set(e, &frame.vars, def->params[i].name, bound[i]);
        elab_tell_variable(e, def->params[i].span, def->params[i].name, &bound[i]);
    }
    bool returned = elab_stmts(e, &def->body, 0, NULL) == FLOW_RETURN;
    e->frame = frame.caller;
    e->builder = saved;
    if (e->ctx->diags.errors != errors) {
        vec_push(e->arena, &e->failed, def);
        return val_error();
    }
    Val result = init       ? *vars_find(&frame.vars, def->params[0].name)
                 : returned ? frame.result
                            : val_none();
    return host && !frame.caller->host ? object_leave(e, span, result) : result;
}

static Val call_function(Elab *e, Span span, Val callee, const Arg *args, uint32_t count) {
    return enter_function(e, span, callee, args, count, false);
}

Val elab_call_init(Elab *e, Span span, Val callee, const Arg *args, uint32_t count) {
    if (callee.kind != VAL_FUNCTION || !callee.function.def->param_count)
        return elab_fail(e, span, elab_not_callable, "an `__init__` without parameters");
    return enter_function(e, span, callee, args, count, true);
}

Val elab_call(Elab *e, Span span, Val callee, const Arg *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (val_failed(args[i].val))
            return val_error();
    switch ((int)callee.kind) {
    case VAL_ERROR:
        return callee;
    case VAL_BUILTIN:
        if (builtin_is(callee, BUILTIN_aggregate_replace))
            return elab_replace_fields(e, span, args, count);
        if (object_is_dict_class(callee.builtin))
            return object_make_dict(e, span, args, count);
        return call_builtin(e, span, callee.builtin, args, count, false);
    case VAL_FUNCTION:
        return call_function(e, span, callee, args, count);
    case VAL_RECORD:
        return elab_make_record(e, span, callee.record, args, count);
    case VAL_FOREIGN:
        return elab_evaluate(e, span, callee, args, count);
    case VAL_METHOD: {
        Arg *all = ARENA_ARRAY(e->arena, Arg, (size_t)count + 1);
        all[0] = (Arg){.val = *callee.method.self, .span = span};
        if (count)
            memcpy(all + 1, args, count * sizeof *args);
        Val inner = *callee.method.callee;
        if (inner.kind == VAL_BUILTIN)
            return call_builtin(e, span, inner.builtin, all, count + 1, true);
        return elab_call(e, span, inner, all, count + 1);
    }
    case VAL_TYPE: {
        Arg all[2] = {{.val = count == 1 ? args[0].val : val_none(), .span = span},
                      {.val = callee, .span = span}};
        return call_builtin(e, span, &builtins[BUILTIN_cast], all, 2, false);
    }
    default:
        elab_fail(e, span, elab_not_callable, elab_type_text(e, callee));
        return val_error();
    }
}

Val elab_call_values(Elab *e, Span span, Val callee, const Val *args, uint32_t n) {
    Arg *all = ARENA_ARRAY(e->arena, Arg, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++)
        all[i] = (Arg){.val = args[i], .span = span};
    return elab_call(e, span, callee, all, n);
}

/* What @must_use_result says of a function: its result is not thrown away. */
static bool is_used(Elab *e, const Expr *expr, Val callee) {
    if (callee.kind == VAL_METHOD)
        callee = *callee.method.callee;
    Str words = STR("");
    bool must = callee.kind == VAL_BUILTIN && callee.builtin->flags & BUILTIN_MUST_USE;
    if (callee.kind == VAL_FUNCTION) {
        const GivenUnit *given = callee.function.unit->given;
        must = given ? given->must_use : callee.function.def->must_use;
        words = given ? given->must_use_words : callee.function.def->must_use_words;
    }
    if (!must)
        return true;
    const Span span = expr->u.call.callee->span;
    const Source *source = source_get(&e->ctx->sources, span.file);
    elab_fail(e, expr->span, elab_unused_result, (int)(span.hi - span.lo),
              source->text.ptr + span.lo, words.len ? " " : "", STR_ARG(words));
    if (callee.kind == VAL_BUILTIN)
        elab_hint(e, "tl.%s changes nothing: assign what it returns", callee.builtin->name);
    return false;
}

Val elab_call_expr(Elab *e, const Expr *expr) {
    const bool is_unused = e->unused == expr;
    Val callee = elab_eval(e, expr->u.call.callee);
    ArgList args = {0};
    if (!eval_args(e, expr, &args) || val_failed(callee) ||
        (is_unused && !is_used(e, expr, callee)))
        return val_error();
    return elab_call(e, expr->span, callee, args.data, (uint32_t)args.len);
}
