/* What each parameter of a kernel is: a run-time argument of some type, or a compile-time value.
 *
 * Sources, the first that says something wins: values given by name (-D), types given by name (-a),
 * the entry of the signature at the parameter's position, a type as annotation, the default value.
 */
#include "frontend/elaborate.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

typedef struct Entries {
    Str *data;
    size_t len, cap;
} Entries;

static Str trim(Str s) {
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t' || s.ptr[0] == '\n'))
        s = (Str){s.ptr + 1, s.len - 1};
    while (s.len &&
           (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t' || s.ptr[s.len - 1] == '\n'))
        s.len--;
    return s;
}

/* Splits at commas outside brackets and quotes. */
static void split_signature(Arena *arena, Str text, Entries *entries) {
    if (trim(text).len == 0)
        return;
    int depth = 0;
    char quote = 0;
    size_t start = 0;
    for (size_t i = 0; i <= text.len; i++) {
        char c = i < text.len ? text.ptr[i] : ',';
        if (quote && i < text.len) {
            if (c == '\\' && i + 1 < text.len)
                i++;
            else if (c == quote)
                quote = 0;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == '(' || c == '[' || c == '<') {
            depth++;
        } else if ((c == ')' || c == ']' || c == '>') && depth > 0) {
            depth--;
        } else if (c == ',' && (depth == 0 || i == text.len)) {
            vec_push(arena, entries, trim((Str){text.ptr + start, i - start}));
            start = i + 1;
        }
    }
}

typedef struct Applied {
    Elab *e;
    const FuncDef *def;
    Unit *unit;
    const Param *param;
    uint32_t index;
    ParamHints hints;
} Applied;

/* A literal given on the command line or in a signature. */
static Val parse_value(Applied *a, Str text) {
    Elab *e = a->e;
    if (a->unit->given)
        return units_literal(e, a->param->name, text);
    const char *path = str_format(e->arena, "<value of %.*s>", STR_ARG(a->param->name));
    uint32_t file = source_add(&e->ctx->sources, str_from(path), text);
    Expr *expr = parse_expression(&e->ctx->diags, file);
    return expr ? elab_eval_in(e, a->unit, expr) : val_error();
}

static bool set_value(Applied *a, Val v, Specialized *out) {
    Value *inside;
    if (val_failed(v))
        return false;
    if (val_flatten(v, &inside, 1)) {
        elab_fail(a->e, a->param->span, elab_want_constexpr, "a constexpr parameter",
                  elab_type_text(a->e, v));
        return false;
    }
    *out = (Specialized){.is_constexpr = true, .value = v, .divisible = 1};
    return true;
}

/* The value after `:=`: a decimal integer of the type. */
static bool parse_fixed(Str text, ScalarType type, int64_t *value) {
    char digits[24], *end;
    if (!text.len || text.len >= sizeof digits ||
        (!isdigit((unsigned char)text.ptr[0]) && text.ptr[0] != '-'))
        return false;
    memcpy(digits, text.ptr, text.len);
    digits[text.len] = 0;
    errno = 0;
    *value = strtoll(digits, &end, 10);
    bool is_signed = elem_info[type.elem].is_signed;
    int bits = elem_bits(type.elem) - is_signed;
    int64_t most = bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
    int64_t least = is_signed ? -most - 1 : 0;
    return !*end && !errno && end[-1] != '-' && *value >= least && *value <= most;
}

/* The hint after a type: `:16`, `:8`, `:1` or `:=VALUE`. */
static bool apply_hint(Applied *a, Str text, Str hint, Specialized *out) {
    bool fixed = str_is(hint, "1");
    int64_t divisible = str_is(hint, "16") ? 16 : str_is(hint, "8") ? 8 : 1;
    int64_t value = 1;
    if (hint.ptr[0] == '=')
        fixed = parse_fixed((Str){hint.ptr + 1, hint.len - 1}, out->type, &value);
    if ((!fixed && divisible == 1) || (fixed && !scalar_is_int(out->type)) ||
        (divisible > 1 && scalar_is_float(out->type))) {
        elab_fail(a->e, a->param->span, elab_signature_hint, STR_ARG(text),
                  STR_ARG(a->param->name));
        elab_hint(a->e,
                  ":16 and :8 (divisible by it) go with pointers and integers, :1 (equal to 1) and "
                  ":=N (equal to N, which the type must hold) with integers");
        return false;
    }
    if (a->hints.no_value)
        return true;
    out->divisible = a->hints.no_alignment ? 1 : divisible;
    out->is_fixed = fixed;
    out->fixed = fixed ? value : 0;
    return true;
}

static bool is_type_text(Str text, Str *type, Str *hint) {
    const char *colon = text.len ? memchr(text.ptr, ':', text.len) : NULL;
    *type = text;
    *hint = (Str){0};
    if (colon) {
        *type = trim((Str){text.ptr, (size_t)(colon - text.ptr)});
        *hint = trim((Str){colon + 1, text.len - (size_t)(colon + 1 - text.ptr)});
    }
    ScalarType scalar;
    /* `float` and `tl.float16` alone are values when a constexpr parameter takes them. */
    return scalar_parse(*type, &scalar);
}

static bool set_type(Applied *a, Str text, Specialized *out) {
    Elab *e = a->e;
    Str type, hint;
    *out = (Specialized){.divisible = 1};
    if (!is_type_text(text, &type, &hint)) {
        Str names[64];
        elab_fail(e, a->param->span, elab_signature_type, STR_ARG(text), STR_ARG(a->param->name));
        Str bare = type.len && type.ptr[0] == '*' ? (Str){type.ptr + 1, type.len - 1} : type;
        elab_suggest(e, bare, names, scalar_spellings(names, 64));
        return false;
    }
    scalar_parse(type, &out->type);
    return hint.len == 0 || apply_hint(a, text, hint, out);
}

/* Whether an entry is the value of a constexpr, and not a type. */
static bool is_value_entry(const Param *param, Str text) {
    Str type, hint;
    if (ast_is_constexpr(param->annotation))
        return true;
    if (is_type_text(text, &type, &hint) || !text.len || text.ptr[0] == '*' || hint.len)
        return false;
    return strchr("+-.'\"(0123456789", text.ptr[0]) || str_is(text, "True") ||
           str_is(text, "False") || str_is(text, "None");
}

/* An entry of the signature: a type, or the value of a constexpr. */
static bool set_entry(Applied *a, Str text, Specialized *out) {
    Str type, hint;
    if (!is_value_entry(a->param, text))
        return set_type(a, text, out);
    const bool is_type = is_type_text(text, &type, &hint);
    const bool looks_like_type = text.len && (text.ptr[0] == '*' || hint.len);
    if (looks_like_type || (is_type && !memchr(type.ptr, '.', type.len))) {
        elab_fail(a->e, a->param->span, elab_signature_constexpr, STR_ARG(a->param->name),
                  STR_ARG(text));
        elab_hint(a->e, "give its value: a number, True, None, 'text' or tl.float16");
        return false;
    }
    return text.len ? set_value(a, parse_value(a, text), out) : set_type(a, text, out);
}

/* The type an annotation names; false: it names none. */
static bool annotation_type(const Param *param, ScalarType *type) {
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

static bool missing(Applied *a) {
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

static bool apply_param(Applied *a, const Entries *entries, Specialized *out) {
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
        return set_value(a, parse_value(a, define->text), out);
    const NamedText *given = named(request->types, request->type_count, param->name);
    if (given)
        return set_entry(a, given->text, out);
    if (a->index < entries->len)
        return set_entry(a, entries->data[a->index], out);
    if (annotation_type(param, &type)) {
        *out = (Specialized){.type = type, .divisible = 1};
        return true;
    }
    if (param->default_value) {
        bool ok = set_value(a, elab_eval_in(e, a->unit, param->default_value), out);
        out->is_default = ok;
        return ok;
    }
    return missing(a);
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
    split_signature(e->arena, e->request->signature, &entries);
    if (entries.len > def->param_count) {
        elab_fail(e, def->name_span, elab_signature_length, (unsigned)entries.len,
                  STR_ARG(def->name), def->param_count);
        elab_hint(e, "one entry for each parameter in order; constexprs get their values");
    }
    remark_on_decorators(e, def);
    check_names(e, def, e->request->types, e->request->type_count);
    check_names(e, def, e->request->defines, e->request->define_count);
    for (uint32_t i = 0; i < def->param_count; i++) {
        Applied a = {e, def, unit, &def->params[i], i, frontend_param_hints(def, i)};
        apply_param(&a, &entries, &out[i]);
    }
    return e->ctx->diags.errors == errors;
}

/* One spelling of a type and its promise, less what the kernel is not specialised on; what is no
 * type stays as it is. */
static Str one_spelling(Arena *arena, Str text, ParamHints hints) {
    Str type, hint;
    ScalarType scalar;
    int64_t value;
    if (!is_type_text(text, &type, &hint))
        return text;
    scalar_parse(type, &scalar);
    const bool is_multiple = str_is(hint, "16") || str_is(hint, "8");
    if (hints.no_value || (is_multiple && hints.no_alignment))
        hint = STR("");
    else if (hint.len && hint.ptr[0] == '=' &&
             parse_fixed((Str){hint.ptr + 1, hint.len - 1}, scalar, &value))
        hint = str_from(value == 1 ? "1" : str_format(arena, "=%" PRId64, value));
    return str_from(str_format(arena, "%s%s%.*s", scalar_text(arena, scalar), hint.len ? ":" : "",
                               STR_ARG(hint)));
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
    split_signature(arena, request->signature, &entries);
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
        const Str text = trim(define ? define->text : type ? type->text : entries.data[i]);
        if (define || is_value_entry(param, text))
            defines[by_name->define_count++] = (NamedText){param->name, text};
        else
            types[by_name->type_count++] =
                (NamedText){param->name, one_spelling(arena, text, frontend_param_hints(def, i))};
    }
    return true;
}
