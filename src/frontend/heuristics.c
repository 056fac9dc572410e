#include "frontend/heuristics.h"

typedef struct Reader {
    Ctx *ctx;
    Arena *arena;
    const AstFile *file;
    const FuncDef *def;
    const bool *given;
    Heuristics *heuristics;
    VEC(Heuristic) items;
} Reader;

const Str *heuristics_names(Arena *arena, const FuncDef *def, uint32_t *count) {
    static const char *const options[] = {
#define HEURISTIC_OPTION(name) #name,
        HEURISTIC_OPTIONS(HEURISTIC_OPTION)
#undef HEURISTIC_OPTION
    };
    Str *names = ARENA_ARRAY(arena, Str, (size_t)def->param_count + HEURISTIC_OPTION_COUNT);
    for (uint32_t i = 0; i < def->param_count; i++)
        names[i] = str_keep(arena, def->params[i].name);
    for (uint32_t i = 0; i < HEURISTIC_OPTION_COUNT; i++)
        names[def->param_count + i] = str_from(options[i]);
    *count = def->param_count + HEURISTIC_OPTION_COUNT;
    return names;
}

/* The number of a name, or name_count after a report. */
static uint32_t find_name(Reader *r, const Expr *key) {
    const Heuristics *h = r->heuristics;
    for (uint32_t i = 0; key->kind == EXPR_string && i < h->name_count; i++)
        if (str_eq(h->names[i], key->u.string))
            return i;
    Str name = key->kind == EXPR_string ? key->u.string : STR("");
    ctx_diag(r->ctx, key->span, heuristic_name, STR_ARG(name), STR_ARG(r->def->name));
    int nearest = str_nearest(name, h->names, h->name_count);
    if (nearest >= 0)
        diag_hint(&r->ctx->diags, "did you mean '%.*s'?", STR_ARG(h->names[nearest]));
    return h->name_count;
}

/* What cannot be evaluated here is no mistake of the source: Python would. Its message becomes a
 * note of the warning that the name is the caller's to give. */
static void left_to_caller(Reader *r, const Expr *value, Str name, DiagMark before) {
    Diags *diags = &r->ctx->diags;
    const DiagReason why = diag_take(diags, before, value->span);
    ctx_diag(r->ctx, value->span, heuristic_not_read, STR_ARG(name));
    if (*why.text)
        diag_note(diags, why.span, "%s", why.text);
    diag_hint(diags, "give '%.*s' with the call", STR_ARG(name));
}

static bool read_entry(Reader *r, const Expr *key, const Expr *value) {
    Diags *diags = &r->ctx->diags;
    const uint32_t name = find_name(r, key);
    if (name == r->heuristics->name_count)
        return false;
    if (r->given && name < r->def->param_count && r->given[name])
        return true;
    const DiagMark before = diag_mark(diags);
    const HostExpr *compiled = NULL;
    if (value->kind == EXPR_lambda && value->u.lambda.param_count == 1) {
        const HostScope scope = {.names = r->heuristics->names,
                                 .count = r->heuristics->name_count,
                                 .mapping = value->u.lambda.params[0].name,
                                 .file = r->file,
                                 .place = "a heuristic"};
        compiled = host_compile(r->ctx, r->arena, value->u.lambda.body, &scope);
    }
    if (!compiled) {
        left_to_caller(r, value, r->heuristics->names[name], before);
        return true;
    }
    const Heuristic item = {name, compiled};
    vec_push(r->arena, &r->items, item);
    return true;
}

static bool read_decorator(Reader *r, const Expr *decorator) {
    const bool is_call = decorator->kind == EXPR_call;
    const Expr *values =
        is_call && decorator->u.call.args.count == 1      ? decorator->u.call.args.items[0]
        : is_call && decorator->u.call.keyword_count == 1 ? decorator->u.call.keywords[0].value
                                                          : NULL;
    if (!values || values->kind != EXPR_dict) {
        ctx_diag(r->ctx, decorator->span, heuristics_not_read);
        return true;
    }
    bool ok = true;
    for (uint32_t i = 0; i < values->u.dict.count; i++) {
        const Expr *key = values->u.dict.keys[i];
        if (!key)
            ctx_diag(r->ctx, values->span, heuristics_not_read);
        else
            ok &= read_entry(r, key, values->u.dict.values[i]);
    }
    return ok;
}

bool heuristics_read(Ctx *ctx, Arena *arena, const AstFile *file, const FuncDef *def,
                     const bool *given, Heuristics *heuristics) {
    Reader r = {.ctx = ctx,
                .arena = arena,
                .file = file,
                .def = def,
                .given = given,
                .heuristics = heuristics};
    bool ok = true;
    *heuristics = (Heuristics){.param_count = def->param_count};
    heuristics->names = heuristics_names(arena, def, &heuristics->name_count);
    for (uint32_t i = 0; i < def->decorators.count; i++)
        if (str_is(ast_decorator_name(def->decorators.items[i]), "heuristics"))
            ok &= read_decorator(&r, def->decorators.items[i]);
    heuristics->items = r.items.data;
    heuristics->count = (uint32_t)r.items.len;
    return ok;
}

bool heuristics_apply(const Heuristics *heuristics, HostValue *values, HostError *error) {
    for (uint32_t i = 0; i < heuristics->count; i++) {
        const Heuristic *item = &heuristics->items[i];
        HostValue *value = &values[item->name];
        if (!host_evaluate(item->value, values, value, error))
            return false;
        const bool is_count = value->kind == HOST_INT && value->i >= 0 && value->i <= INT32_MAX;
        if (value->kind == HOST_POINTER || (item->name >= heuristics->param_count && !is_count)) {
            *error = (HostError){HOST_types, host_span(item->value)};
            return false;
        }
    }
    return true;
}

bool heuristics_set(const Heuristics *heuristics, uint32_t name) {
    for (uint32_t i = 0; i < heuristics->count; i++)
        if (heuristics->items[i].name == name)
            return true;
    return false;
}

/* The value of a default that needs no argument; unknown if it is not one for heuristics. */
static HostValue value_of_default(Ctx *ctx, Arena *arena, const Expr *expr) {
    const HostScope scope = {.place = "a default"};
    const DiagMark before = diag_mark(&ctx->diags);
    const HostExpr *compiled = host_compile(ctx, arena, expr, &scope);
    HostValue value;
    HostError error;
    diag_rewind(&ctx->diags, before);
    return compiled && host_evaluate(compiled, NULL, &value, &error)
               ? value
               : (HostValue){.kind = HOST_UNKNOWN};
}

HostValue *heuristics_known(Ctx *ctx, Arena *arena, const Heuristics *h, const FuncDef *def,
                            const ElaborateRequest *request) {
    HostValue *values = ARENA_ARRAY(arena, HostValue, (size_t)h->name_count + 1);
    for (uint32_t i = 0; i < h->param_count; i++)
        if (def->params[i].default_value)
            values[i] = value_of_default(ctx, arena, def->params[i].default_value);
    for (uint32_t i = 0; i < request->define_count; i++)
        for (uint32_t p = 0; p < h->param_count; p++)
            if (str_eq(h->names[p], request->defines[i].name)) {
                Str text = request->defines[i].text;
                values[p] = host_read((Str){str_dup(arena, text), text.len});
            }
#define HEURISTIC_OPTION(name)                                                                     \
    if (request->name)                                                                             \
        values[h->param_count + HEURISTIC_##name] = host_int(request->name);
    HEURISTIC_OPTIONS(HEURISTIC_OPTION)
#undef HEURISTIC_OPTION
    return values;
}

void heuristics_set_name(Arena *arena, uint32_t param_count, const Str *names, uint32_t index,
                         HostValue value, ElaborateRequest *request, NamedText *defines) {
    StrBuf text = strbuf(arena);
    host_print(value, &text);
    if (index < param_count)
        defines[request->define_count++] = (NamedText){names[index], strbuf_str(&text)};
#define HEURISTIC_OPTION(option)                                                                   \
    else if (index == param_count + HEURISTIC_##option) request->option = (int32_t)value.i;
    HEURISTIC_OPTIONS(HEURISTIC_OPTION)
#undef HEURISTIC_OPTION
}

NamedText *heuristics_room(Arena *arena, const ElaborateRequest *request, uint32_t count) {
    NamedText *defines = ARENA_ARRAY(arena, NamedText, (size_t)request->define_count + count + 1);
    if (request->define_count)
        memcpy(defines, request->defines, request->define_count * sizeof *defines);
    return defines;
}

void heuristics_request(const Heuristics *h, const HostValue *values, Arena *arena,
                        ElaborateRequest *request) {
    NamedText *defines = heuristics_room(arena, request, h->count);
    request->defines = defines;
    request->heuristics_done = true;
    for (uint32_t i = 0; i < h->count; i++)
        heuristics_set_name(arena, h->param_count, h->names, h->items[i].name,
                            values[h->items[i].name], request, defines);
}
