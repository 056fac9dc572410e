/* What each parameter of a kernel is: a run-time argument of some type, or a compile-time value.
 *
 * Sources, the first that says something wins: values given by name (-D), types given by name (-a),
 * the entry of the signature at the parameter's position, a type as annotation, the default value.
 */
#include "frontend/signature.h"

bool annotation_type(const Param *param, ScalarType *type) {
    const Expr *annotation = param->annotation;
    if (!annotation)
        return false;
    if (annotation->kind == EXPR_string)
        return scalar_parse(annotation->u.string, type);
    return annotation->kind == EXPR_attribute && scalar_parse(annotation->u.attribute.name, type);
}

static const NamedText *named(const NamedText *list, uint32_t count, Str name) {
    for (uint32_t i = 0; i < count; i++)
        if (str_eq(list[i].name, name))
            return &list[i];
    return NULL;
}

static bool missing(EntryOf *a) {
    Elab *e = a->e;
    elab_fail(e, a->param->span, elab_param_missing, STR_ARG(a->param->name));
    if (ast_is_constexpr(a->param->annotation))
        elab_hint(e, "it is a constexpr: give its value, -D %.*s=...", STR_ARG(a->param->name));
    else
        elab_hint(
            e,
            "give its type, -a %.*s=*fp32:16 for a pointer, -a %.*s=i32 for an integer, or an "
            "entry in the signature",
            STR_ARG(a->param->name), STR_ARG(a->param->name));
    return false;
}

static bool find_entry(EntryOf *a, uint32_t index, const Entries *entries, Specialized *out) {
    Elab *e = a->e;
    const ElaborateRequest *request = e->request;
    const Param *param = a->param;
    ScalarType type;
    if (param->star) {
        elab_fail(e, param->span, elab_construct, "*parameters of a kernel");
        return false;
    }
    const NamedText *define = named(request->defines, request->define_count, param->name);
    if (define)
        return entry_set_value(a, entry_parse_value(a, define->text), out);
    const NamedText *given = named(request->types, request->type_count, param->name);
    if (given)
        return entry_apply(a, text_trim(given->text), out);
    if (index < entries->len)
        return entry_apply(a, entries->data[index], out);
    if (annotation_type(param, &type)) {
        *out = (Specialized){.name = a->name, .type = type, .divisible = 1};
        return true;
    }
    if (param->default_value) {
        bool ok = entry_set_value(a, elab_eval_in(e, a->unit, param->default_value), out);
        out->is_default = ok;
        return ok;
    }
    return missing(a);
}

/* A pointer to constants is one by its type, *kfp32, or by tl.const as annotation. */
static bool apply_param(EntryOf *a, uint32_t index, const Entries *entries, Specialized *out) {
    if (!find_entry(a, index, entries, out))
        return false;
    if (out->type.pointer && !out->is_constexpr && ast_is_const(a->param->annotation))
        out->type.is_const = true;
    return true;
}

/* jit(do_not_specialize=[names or positions]). */
static bool listed(const Expr *list, const Param *param, uint32_t index) {
    if (list->kind != EXPR_list && list->kind != EXPR_tuple)
        return false;
    for (uint32_t i = 0; i < list->u.list.count; i++) {
        const Expr *item = list->u.list.items[i];
        if ((item->kind == EXPR_string && str_eq(item->u.string, param->name)) ||
            (item->kind == EXPR_int && item->u.integer.hi == 0 && item->u.integer.lo == index))
            return true;
    }
    return false;
}

/* X(option of jit, field of ParamHints). */
#define HINT_OPTIONS(X)                                                                            \
    X(do_not_specialize, no_value)                                                                 \
    X(do_not_specialize_on_alignment, no_alignment)

static bool is_hint_option(Str name) {
#define HINT_OPTION(option, field)                                                                 \
    if (str_is(name, #option))                                                                     \
        return true;
    HINT_OPTIONS(HINT_OPTION)
#undef HINT_OPTION
    return false;
}

ParamHints frontend_param_hints(const FuncDef *def, uint32_t index) {
    const Param *param = &def->params[index];
    ParamHints hints = {param->no_value, param->no_alignment};
    for (uint32_t i = 0; i < def->decorators.count; i++) {
        const Expr *decorator = def->decorators.items[i];
        if (decorator->kind != EXPR_call)
            continue;
        for (uint32_t k = 0; k < decorator->u.call.keyword_count; k++) {
            const Keyword *keyword = &decorator->u.call.keywords[k];
#define HINT_OPTION(option, field)                                                                 \
    if (str_is(keyword->name, #option) && listed(keyword->value, param, index))                    \
        hints.field = true;
            HINT_OPTIONS(HINT_OPTION)
#undef HINT_OPTION
        }
    }
    return hints;
}

static bool is_param(const FuncDef *def, Str name) {
    for (uint32_t i = 0; i < def->param_count; i++)
        if (str_eq(def->params[i].name, name))
            return true;
    return false;
}

static void check_names(Elab *e, const FuncDef *def, const NamedText *list, uint32_t count) {
    Str *names = ARENA_ARRAY(e->arena, Str, (size_t)def->param_count + 1);
    for (uint32_t i = 0; i < def->param_count; i++)
        names[i] = def->params[i].name;
    for (uint32_t i = 0; i < count; i++) {
        if (is_param(def, list[i].name))
            continue;
        elab_fail(e, def->name_span, elab_param_unknown, STR_ARG(def->name), STR_ARG(list[i].name));
        elab_suggest(e, list[i].name, names, def->param_count);
    }
}

/* A kernel is what this compilation is given, whatever would choose it where Python launches it. */
static void remark_on_decorators(Elab *e, const FuncDef *def) {
    for (uint32_t i = 0; i < def->decorators.count; i++) {
        const Expr *decorator = def->decorators.items[i];
        Str name = ast_decorator_name(decorator);
        bool is_jit = str_is(name, "jit"), is_call = decorator->kind == EXPR_call;
        const bool is_done = (e->request->heuristics_done && str_is(name, "heuristics")) ||
                             (e->request->autotune_done && str_is(name, "autotune"));
        if (!is_jit && !is_done)
            elab_no_effect(e, decorator->span, name.len ? str_dup(e->arena, name) : "decorator",
                           "values and options are those that the compilation is given");
        for (uint32_t k = 0; is_jit && is_call && k < decorator->u.call.keyword_count; k++) {
            const Keyword *keyword = &decorator->u.call.keywords[k];
            if (!is_hint_option(keyword->name))
                elab_no_effect(e, keyword->span,
                               keyword->name.len ? str_dup(e->arena, keyword->name) : "**",
                               "of the options of jit do_not_specialize and "
                               "do_not_specialize_on_alignment are followed");
        }
    }
}

bool signature_apply(Elab *e, const FuncDef *def, Unit *unit, Specialized *out) {
    unsigned errors = e->ctx->diags.errors;
    Entries entries = {0};
    signature_split(e->arena, e->request->signature, &entries);
    if (entries.len > def->param_count) {
        elab_fail(e, def->name_span, elab_signature_length, (unsigned)entries.len,
                  STR_ARG(def->name), def->param_count);
        elab_hint(e, "one entry for each parameter in order; constexprs get their values");
    }
    remark_on_decorators(e, def);
    check_names(e, def, e->request->types, e->request->type_count);
    check_names(e, def, e->request->defines, e->request->define_count);
    for (uint32_t i = 0; i < def->param_count; i++) {
        const Param *param = &def->params[i];
        EntryOf a = {e, unit, param, param->name, frontend_param_hints(def, i), 0};
        apply_param(&a, i, &entries, &out[i]);
    }
    return e->ctx->diags.errors == errors;
}

static bool has_heuristics(const FuncDef *def) {
    for (uint32_t i = 0; i < def->decorators.count; i++)
        if (str_is(ast_decorator_name(def->decorators.items[i]), "heuristics"))
            return true;
    return false;
}

static bool all_are_params(const FuncDef *def, const NamedText *list, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!is_param(def, list[i].name))
            return false;
    return true;
}

/* What is left out here would not be found to be wrong. */
bool frontend_by_name(Ctx *ctx, const FuncDef *def, const ElaborateRequest *request,
                      ElaborateRequest *by_name) {
    Arena *arena = &ctx->arena;
    Entries entries = {0};
    signature_split(arena, request->signature, &entries);
    if (entries.len > def->param_count ||
        !all_are_params(def, request->types, request->type_count) ||
        !all_are_params(def, request->defines, request->define_count))
        return false;
    NamedText *types = ARENA_ARRAY(arena, NamedText, (size_t)def->param_count + 1);
    NamedText *defines = ARENA_ARRAY(arena, NamedText, (size_t)def->param_count + 1);
    *by_name = *request;
    by_name->kernel = def->name;
    by_name->signature = STR("");
    by_name->types = types;
    by_name->defines = defines;
    by_name->type_count = by_name->define_count = 0;
    by_name->heuristics_done |= !has_heuristics(def);
    for (uint32_t i = 0; i < def->param_count; i++) {
        const Param *param = &def->params[i];
        const NamedText *define = named(request->defines, request->define_count, param->name);
        const NamedText *type = named(request->types, request->type_count, param->name);
        if (!define && !type && i >= entries.len)
            continue;
        const Str text = text_trim(define ? define->text : type ? type->text : entries.data[i]);
        if (define || entry_is_value(arena, param, text))
            defines[by_name->define_count++] = (NamedText){param->name, text};
        else
            types[by_name->type_count++] =
                (NamedText){param->name, entry_spelling(arena, text, frontend_param_hints(def, i))};
    }
    return true;
}
