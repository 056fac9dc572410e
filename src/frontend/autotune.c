#include "frontend/autotune.h"

#include "frontend/host_arith.h"
#include "frontend/host_code.h"

/* What the decorator's arguments are, in order, as Triton names them: X(name). */
#define AUTOTUNE_ARGUMENTS(X)                                                                      \
    X(configs)                                                                                     \
    X(key)                                                                                         \
    X(prune_configs_by)                                                                            \
    X(reset_to_zero)                                                                               \
    X(restore_value)                                                                               \
    X(pre_hook)                                                                                    \
    X(post_hook)

enum {
#define AUTOTUNE_ARGUMENT(name) ARGUMENT_##name,
    AUTOTUNE_ARGUMENTS(AUTOTUNE_ARGUMENT)
#undef AUTOTUNE_ARGUMENT
        ARGUMENT_COUNT
};

typedef struct Reader {
    Ctx *ctx;
    Arena *arena;
    HostCode *code;
    const FuncDef *def;
    Autotune *autotune;
    Span span;                       /* of the decorator */
    HostValue given[ARGUMENT_COUNT]; /* HOST_UNKNOWN: not given */
} Reader;

static const Expr *find_decorator(const FuncDef *def) {
    for (uint32_t i = 0; i < def->decorators.count; i++)
        if (str_is(ast_decorator_name(def->decorators.items[i]), "autotune"))
            return def->decorators.items[i];
    return NULL;
}

/* The arguments' values. Others than those of the table, which say how to measure, do not count. */
static bool evaluate_arguments(Reader *r, const Expr *decorator) {
    static const char *const names[] = {
#define AUTOTUNE_ARGUMENT(name) #name,
        AUTOTUNE_ARGUMENTS(AUTOTUNE_ARGUMENT)
#undef AUTOTUNE_ARGUMENT
    };
    if (decorator->kind != EXPR_call)
        return ctx_diag(r->ctx, decorator->span, host_unsupported, "`autotune` without arguments",
                        "a decorator");
    const ExprList *args = &decorator->u.call.args;
    for (uint32_t i = 0; i < args->count && i < ARGUMENT_COUNT; i++)
        if (!host_code_evaluate(r->code, args->items[i], &r->given[i]))
            return false;
    for (uint32_t i = 0; i < decorator->u.call.keyword_count; i++) {
        const Keyword *keyword = &decorator->u.call.keywords[i];
        for (uint32_t a = 0; a < ARGUMENT_COUNT; a++)
            if (str_is(keyword->name, names[a]) &&
                !host_code_evaluate(r->code, keyword->value, &r->given[a]))
                return false;
    }
    return true;
}

uint32_t autotune_find_name(const Autotune *autotune, Str name) {
    uint32_t i = 0;
    while (i < autotune->name_count && !str_eq(autotune->names[i], name))
        i++;
    return i;
}

bool autotune_report_name(Ctx *ctx, const Autotune *autotune, const FuncDef *def, Str name,
                          Span span) {
    ctx_diag(ctx, span, autotune_name, STR_ARG(name), STR_ARG(def->name));
    const int nearest = str_nearest(name, autotune->names, autotune->name_count);
    if (nearest >= 0)
        diag_hint(&ctx->diags, "did you mean '%.*s'?", STR_ARG(autotune->names[nearest]));
    return false;
}

/* The number of a name among the first `count`, or `count` after an error. */
static uint32_t find_name(Reader *r, Str name, uint32_t count) {
    const uint32_t found = autotune_find_name(r->autotune, name);
    if (found < count)
        return found;
    autotune_report_name(r->ctx, r->autotune, r->def, name, r->span);
    return count;
}

/* Marks the parameters that a list of names names. */
static bool read_params(Reader *r, HostValue list, bool *marks) {
    if (list.kind == HOST_UNKNOWN || list.kind == HOST_NONE)
        return true;
    if (!host_is_sequence(list))
        return ctx_diag(r->ctx, r->span, host_unsupported, "what is no list of names",
                        "`autotune`");
    vec_for_each (item, &list.list->items) {
        const Str name = item->kind == HOST_TEXT ? item->text : STR("");
        const uint32_t param = find_name(r, name, r->autotune->param_count);
        if (param == r->autotune->param_count)
            return false;
        marks[param] = true;
    }
    return true;
}

bool autotune_keep_value(Arena *arena, HostValue value, HostValue *kept) {
    *kept = value;
    switch (value.kind) {
    case HOST_NONE:
    case HOST_BOOL:
    case HOST_INT:
    case HOST_FLOAT:
        return true;
    case HOST_TEXT:
    case HOST_PATH:
        kept->text = str_keep(arena, value.text);
        return value.kind == HOST_TEXT || (value.text.len > 3 && !memcmp(value.text.ptr, "tl.", 3));
    default:
        return false;
    }
}

static bool set_value(Reader *r, Str name, HostValue value, Span span, HostValue *values) {
    const uint32_t slot = find_name(r, name, r->autotune->name_count);
    if (slot == r->autotune->name_count)
        return false;
    if (!autotune_keep_value(r->arena, value, &values[slot]))
        return ctx_diag(r->ctx, span, host_unsupported,
                        str_format(&r->ctx->arena, "such a value of '%.*s'", STR_ARG(name)),
                        "a configuration");
    ((bool *)r->autotune->sets)[slot] = true;
    return true;
}

static bool read_config(Reader *r, const HostConfig *from, TuneConfig *config) {
    HostValue *values = ARENA_ARRAY(r->arena, HostValue, r->autotune->name_count);
    if (from->has_hook)
        return ctx_diag(r->ctx, from->span, host_unsupported, "a `pre_hook`", "a configuration");
    vec_for_each (pair, &from->values->pairs) {
        const Str name = pair->key.kind == HOST_TEXT ? pair->key.text : STR("");
        if (!set_value(r, name, pair->value, from->span, values))
            return false;
    }
#define HEURISTIC_OPTION(name)                                                                     \
    if (from->name && !set_value(r, STR(#name), host_int(from->name), from->span, values))         \
        return false;
    HEURISTIC_OPTIONS(HEURISTIC_OPTION)
#undef HEURISTIC_OPTION
    *config = (TuneConfig){.values = values, .max_registers = from->maxnreg};
    return true;
}

static bool read_configs(Reader *r) {
    const HostValue list = r->given[ARGUMENT_configs];
    if (!host_is_sequence(list))
        return ctx_diag(r->ctx, r->span, host_unsupported, "what is no list of configurations",
                        "`autotune`");
    TuneConfig *configs = ARENA_ARRAY(r->arena, TuneConfig, list.list->items.len + 1);
    for (size_t i = 0; i < list.list->items.len; i++) {
        const HostValue item = list.list->items.data[i];
        if (item.kind != HOST_CONFIG)
            return ctx_diag(r->ctx, r->span, host_unsupported, "what is no triton.Config",
                            "`autotune`");
        if (!read_config(r, item.config, &configs[i]))
            return false;
    }
    r->autotune->configs = configs;
    r->autotune->count = (uint32_t)list.list->items.len;
    return true;
}

static bool read_all(Reader *r) {
    Autotune *a = r->autotune;
    const HostValue prune = r->given[ARGUMENT_prune_configs_by];
    bool *keys = ARENA_ARRAY(&r->ctx->arena, bool, a->param_count + 1);
    bool *resets = ARENA_ARRAY(r->arena, bool, a->param_count + 1);
    bool *restores = ARENA_ARRAY(r->arena, bool, a->param_count + 1);
    uint32_t *list = ARENA_ARRAY(r->arena, uint32_t, a->param_count + 1);
    a->sets = ARENA_ARRAY(r->arena, bool, a->name_count + 1);
    for (int i = ARGUMENT_pre_hook; i <= ARGUMENT_post_hook; i++)
        if (r->given[i].kind != HOST_UNKNOWN && r->given[i].kind != HOST_NONE)
            return ctx_diag(r->ctx, r->span, host_unsupported, "a hook", "`autotune`");
    if (!read_params(r, r->given[ARGUMENT_key], keys) ||
        !read_params(r, r->given[ARGUMENT_reset_to_zero], resets) ||
        !read_params(r, r->given[ARGUMENT_restore_value], restores) || !read_configs(r))
        return false;
    for (uint32_t i = 0; i < a->param_count; i++)
        if (keys[i])
            list[a->key_count++] = i;
    a->keys = list;
    a->resets = resets;
    a->restores = restores;
    a->prunes = prune.kind == HOST_DICT && prune.dict->pairs.len;
    return true;
}

/* What cannot be evaluated here is no mistake of the source, a name that the kernel has not is. */
static bool left_to_caller(Reader *r, DiagMark before, DiagId id) {
    Diags *diags = &r->ctx->diags;
    if (diag_said_since(diags, before) && diags->last->id == DIAG_autotune_name)
        return false;
    const DiagReason why = diag_take(diags, before, r->span);
    if (id == DIAG_autotune_not_read)
        ctx_diag(r->ctx, r->span, autotune_not_read, STR_ARG(r->def->name));
    else
        ctx_diag(r->ctx, r->span, autotune_not_pruned, STR_ARG(r->def->name));
    if (*why.text)
        diag_note(diags, why.span, "%s", why.text);
    return true;
}

/* With the decorator's arguments evaluated; false after errors. */
static bool open_reader(Reader *r, uint32_t file, int32_t capability, const Expr *decorator) {
    r->span = decorator->span;
    r->code = host_code_create(r->ctx, file, capability);
    host_code_run_to(r->code, r->def->name_span);
    return evaluate_arguments(r, decorator);
}

bool autotune_read(Ctx *ctx, Arena *arena, uint32_t file, const FuncDef *def, int32_t capability,
                   Autotune *autotune) {
    const Expr *decorator = find_decorator(def);
    Reader r = {.ctx = ctx, .arena = arena, .def = def, .autotune = autotune};
    const DiagMark before = diag_mark(&ctx->diags);
    *autotune = (Autotune){.param_count = def->param_count};
    autotune->names = heuristics_names(arena, def, &autotune->name_count);
    if (!decorator)
        return true;
    if (open_reader(&r, file, capability, decorator) && read_all(&r))
        return true;
    autotune->count = autotune->key_count = 0;
    autotune->prunes = false;
    return left_to_caller(&r, before, DIAG_autotune_not_read);
}

/* Pruning */

static const HostValue *member(HostValue dict, const char *name) {
    const HostValue *found = host_dict_find(dict.dict, host_text(str_from(name)));
    return found && found->kind != HOST_NONE ? found : NULL;
}

/* The call's values by name, without what configurations set. */
static HostNamed *name_values(const Reader *r, const HostValue *values, uint32_t *count) {
    const Autotune *a = r->autotune;
    HostNamed *named = ARENA_ARRAY(&r->ctx->arena, HostNamed, 2 * (size_t)a->name_count + 1);
    for (uint32_t i = 0; i < a->param_count; i++)
        if (!a->sets[i] && values[i].kind != HOST_UNKNOWN)
            named[(*count)++] = (HostNamed){a->names[i], values[i]};
    return named;
}

/* early_config_prune(configs, named_args, **kwargs): those that it gives back. */
static bool prune_early(Reader *r, HostValue function, const HostValue *values, bool *kept) {
    uint32_t count = 0;
    const HostValue configs = r->given[ARGUMENT_configs];
    HostNamed *named = name_values(r, values, &count);
    HostValue arguments[2] = {configs}, left;
    HostDict *dict = ARENA_NEW(&r->ctx->arena, HostDict);
    for (uint32_t i = 0; i < count; i++)
        vec_push(&r->ctx->arena, &dict->pairs,
                 (HostPair){host_text(named[i].name), named[i].value});
    arguments[1] = (HostValue){.kind = HOST_DICT, .dict = dict};
    if (!host_code_call(r->code, function, &(HostArguments){arguments, 2, named, count}, r->span,
                        &left))
        return false;
    if (!host_is_sequence(left))
        return ctx_diag(r->ctx, r->span, host_unsupported, "what is no list of configurations",
                        "`early_config_prune`");
    memset(kept, 0, r->autotune->count);
    vec_for_each (item, &left.list->items) {
        size_t i = 0;
        while (i < r->autotune->count && !host_values_equal(configs.list->items.data[i], *item))
            i++;
        if (i == r->autotune->count)
            return ctx_diag(r->ctx, r->span, host_unsupported, "a configuration that is not listed",
                            "`early_config_prune`");
        kept[i] = true;
    }
    return true;
}

/* perf_model(**values): what a configuration would take. */
static bool estimate(Reader *r, HostValue function, const HostValue *values,
                     const HostConfig *config, double *cost) {
    uint32_t count = 0;
    HostNamed *named = name_values(r, values, &count);
    HostValue result;
    vec_for_each (pair, &config->values->pairs)
        named[count++] = (HostNamed){pair->key.text, pair->value};
#define HEURISTIC_OPTION(name) named[count++] = (HostNamed){STR(#name), host_int(config->name)};
    HEURISTIC_OPTIONS(HEURISTIC_OPTION)
#undef HEURISTIC_OPTION
    if (!host_code_call(r->code, function, &(HostArguments){.named = named, .named_count = count},
                        r->span, &result))
        return false;
    const bool is_number = result.kind == HOST_INT || result.kind == HOST_FLOAT;
    *cost = result.kind == HOST_FLOAT ? result.f : (double)result.i;
    return is_number ||
           ctx_diag(r->ctx, r->span, host_unsupported, "what is no number", "`perf_model`");
}

/* Keeps the `most` that cost the least, earlier ones where they cost the same. */
static void keep_cheapest(const double *cost, uint32_t count, uint32_t most, bool *kept) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t better = 0;
        for (uint32_t j = 0; kept[i] && j < count; j++)
            better += !(cost[j] != cost[j]) && (cost[j] < cost[i] || (cost[j] == cost[i] && j < i));
        if (better >= most)
            kept[i] = false;
    }
}

static bool prune_by_model(Reader *r, HostValue prune, const HostValue *values, bool *kept) {
    const HostValue *model = member(prune, "perf_model"), *top = member(prune, "top_k");
    const uint32_t count = r->autotune->count;
    double *cost = ARENA_ARRAY(&r->ctx->arena, double, count + 1);
    const HostValue *configs = r->given[ARGUMENT_configs].list->items.data;
    if (!model)
        return true;
    uint32_t most = count;
    if (top && top->kind == HOST_FLOAT && top->f >= 0 && top->f <= 1)
        most = (uint32_t)(count * top->f);
    else if (top && top->kind == HOST_INT && top->i >= 0 && top->i < count)
        most = (uint32_t)top->i;
    for (uint32_t i = 0; i < count; i++) {
        cost[i] = __builtin_inf();
        if (kept[i] && !estimate(r, *model, values, configs[i].config, &cost[i]))
            return false;
    }
    keep_cheapest(cost, count, most ? most : 1, kept);
    return true;
}

void autotune_prune(Ctx *ctx, uint32_t file, const FuncDef *def, int32_t capability,
                    const Autotune *autotune, const HostValue *values, bool *kept) {
    Autotune same = *autotune;
    Reader r = {.ctx = ctx, .arena = &ctx->arena, .def = def, .autotune = &same};
    const Expr *decorator = find_decorator(def);
    memset(kept, true, autotune->count);
    if (!autotune->prunes || !decorator)
        return;
    const DiagMark before = diag_mark(&ctx->diags);
    bool ok = open_reader(&r, file, capability, decorator);
    if (ok) {
        const HostValue prune = r.given[ARGUMENT_prune_configs_by];
        const HostValue *early = member(prune, "early_config_prune");
        host_code_finish(r.code);
        ok = (!early || prune_early(&r, *early, values, kept)) &&
             prune_by_model(&r, prune, values, kept);
    }
    if (ok)
        return;
    memset(kept, true, autotune->count);
    left_to_caller(&r, before, DIAG_autotune_not_pruned);
}

/* The next power of two, away from zero. */
static int64_t round_up(int64_t value) {
    uint64_t power = 1;
    const uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
    while (power < size && power < UINT64_C(1) << 62)
        power *= 2;
    return value < 0 ? -(int64_t)power : value ? (int64_t)power : 0;
}

bool autotune_key_value(const Autotune *autotune, uint32_t index, const HostValue *values,
                        HostValue *value) {
    *value = values[autotune->keys[index]];
    if (!autotune->rounds)
        return true;
    if (value->kind == HOST_POINTER || value->kind == HOST_UNKNOWN)
        return false;
    if (!autotune->rounds[index])
        return true;
    if (value->kind == HOST_INT)
        *value = host_int(round_up(value->i));
    return value->kind != HOST_FLOAT;
}

void autotune_apply(const Autotune *autotune, const TuneConfig *config, HostValue *values) {
    for (uint32_t i = 0; i < autotune->name_count; i++)
        if (config->values[i].kind != HOST_UNKNOWN)
            values[i] = config->values[i];
}

void autotune_request(const Autotune *autotune, const TuneConfig *config,
                      const Heuristics *heuristics, Arena *arena, ElaborateRequest *request) {
    NamedText *defines = heuristics_room(arena, request, autotune->name_count);
    request->defines = defines;
    request->autotune_done = true;
    for (uint32_t i = 0; i < autotune->name_count; i++)
        if (config->values[i].kind != HOST_UNKNOWN && !heuristics_set(heuristics, i))
            heuristics_set_name(arena, autotune->param_count, autotune->names, i, config->values[i],
                                request, defines);
}

void autotune_give(Autotune *autotune, Arena *arena, const bool *given) {
    TuneConfig *configs = ARENA_ARRAY(arena, TuneConfig, autotune->count + 1);
    bool *sets = ARENA_ARRAY(arena, bool, autotune->name_count + 1);
    bool is_left = false; /* something to choose among */
    for (uint32_t c = 0; c < autotune->count; c++) {
        HostValue *values = ARENA_ARRAY(arena, HostValue, autotune->name_count);
        configs[c].values = values;
        if (!given[autotune->name_count])
            configs[c].max_registers = autotune->configs[c].max_registers;
        for (uint32_t i = 0; i < autotune->name_count; i++)
            if (!given[i])
                values[i] = autotune->configs[c].values[i];
        is_left |= configs[c].max_registers != 0;
    }
    for (uint32_t i = 0; i < autotune->name_count; i++) {
        sets[i] = autotune->count && autotune->sets[i] && !given[i];
        is_left |= sets[i];
    }
    if (!is_left)
        autotune->count = 0;
    autotune->configs = configs;
    autotune->sets = sets;
}

const char *autotune_text(Arena *arena, const Autotune *autotune, const TuneConfig *config) {
    StrBuf text = strbuf(arena);
    for (uint32_t i = 0; i < autotune->name_count; i++) {
        if (config->values[i].kind == HOST_UNKNOWN)
            continue;
        strbuf_printf(&text, "%s%.*s=", text.len ? ", " : "", STR_ARG(autotune->names[i]));
        host_print(config->values[i], &text);
    }
    if (config->max_registers)
        strbuf_printf(&text, "%smaxnreg=%d", text.len ? ", " : "", config->max_registers);
    return text.len ? text.ptr : "the compiler's choice";
}
