/* What the version of the language that is asked for makes of what a kernel says. The language's
 * own library is of no version. */
#include "frontend/builtins.h"
#include "frontend/language.h"

static const char *version_text(const Elab *e, int32_t version) {
    return str_format(e->arena, "%d.%d", version / 10, version % 10);
}

/* Code of the language's own files is of no version. */
static bool is_of_user(const Elab *e) {
    return !e->frame || !e->frame->unit->is_std;
}

static bool has_changed(const Elab *e, const LanguageChangeRow *row) {
    return e->request->language ? e->request->language >= row->since : row->holds;
}

bool elab_has_changed(const Elab *e, LanguageChange change) {
    const LanguageChangeRow *row = &language_changes[change];
    return is_of_user(e) ? has_changed(e, row) : row->holds;
}

static bool means_new(Elab *e, Span span, LanguageChange change) {
    const LanguageChangeRow *row = &language_changes[change];
    if (has_changed(e, row))
        return true;
    if (!e->request->language && !(e->told & 1u << change)) {
        e->told |= 1u << change;
        ctx_diag(e->ctx, elab_span(e, span), language_changed, row->construct, row->before,
                 row->after, version_text(e, row->since));
        elab_hint(e, "--language %s asks for that", version_text(e, row->since));
    }
    return false;
}

bool elab_means_new(Elab *e, Span span, LanguageChange change) {
    return is_of_user(e) ? means_new(e, span, change) : language_changes[change].holds;
}

static bool refuse_newer(Elab *e, Span span, const char *what, int32_t since) {
    if (!e->request->language || e->request->language >= since)
        return true;
    elab_fail(e, span, language_newer, what, version_text(e, since),
              version_text(e, e->request->language));
    return false;
}

bool elab_has_feature(Elab *e, Span span, LanguageFeature feature) {
    const LanguageRow *row = &language_features[feature];
    return !is_of_user(e) || refuse_newer(e, span, row->construct, row->version);
}

bool elab_has_builtin(Elab *e, Span span, const Builtin *builtin) {
    if (builtin->flags & BUILTIN_HOST) /* Python's own */
        return true;
    const int32_t since = language_since((BuiltinId)(builtin - builtins));
    return !since || !is_of_user(e) ||
           refuse_newer(e, span, str_format(e->arena, "`%s`", builtin->name), since);
}

bool elab_has_parameters(Elab *e, const Builtin *builtin, const Arg *args, uint32_t count) {
    if (!e->request->language || !is_of_user(e))
        return true;
    for (size_t i = 0; i < language_parameter_count; i++) {
        const LanguageParameter *row = &language_parameters[i];
        if (&builtins[row->builtin] != builtin)
            continue;
        for (uint32_t k = 0; k < count; k++)
            if (str_is(args[k].name, row->name) &&
                !refuse_newer(
                    e, args[k].span,
                    str_format(e->arena, "the argument `%s` of `%s`", row->name, builtin->name),
                    row->since))
                return false;
    }
    return true;
}

static void warn_ended(Elab *e, Span span, const LanguageRow *row) {
    if (e->request->language > row->version)
        ctx_diag(e->ctx, elab_span(e, span), language_ended, version_text(e, e->request->language),
                 row->construct, version_text(e, row->version));
}

void elab_warn_ended(Elab *e, Span span, LanguageEnd end) {
    if (is_of_user(e))
        warn_ended(e, span, &language_ends[end]);
}

static const LanguageRow *row_named(const LanguageRow *rows, size_t count, Str name) {
    for (size_t i = 0; i < count; i++)
        if (str_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}

/* What the language's own files ask of a construct that their caller writes. */
Val builtin_language(Call *call) {
    Elab *e = call->e;
    const Str name = call->args[0].s;
    if (call_id(call) == BUILTIN_language_changed) {
        for (int i = 0; i < LANGUAGE_CHANGE_COUNT; i++)
            if (str_is(name, language_changes[i].name))
                return val_bool(means_new(e, call->span, (LanguageChange)i));
    } else if (call_id(call) == BUILTIN_language_feature) {
        const LanguageRow *row = row_named(language_features, LANGUAGE_FEATURE_COUNT, name);
        if (row)
            return refuse_newer(e, call->span, row->construct, row->version) ? val_none()
                                                                             : val_error();
    } else {
        const LanguageRow *row = row_named(language_ends, LANGUAGE_END_COUNT, name);
        if (row) {
            warn_ended(e, call->span, row);
            return val_none();
        }
    }
    return elab_fail(e, call->span, elab_unknown_name, STR_ARG(name));
}
