/* See autotune_space.h. */
#include "frontend/autotune_space.h"

#include "frontend/parse.h"
#include "target/target.h"

/* Options that configurations set: what they may be. */
static const struct {
    const char *name;
    int32_t least, most;
    bool is_power; /* of two */
} option_ranges[] = {
    {"num_warps", 1, TARGET_MAX_WARPS, true},
    {"num_stages", 1, 16, false},
    {"num_ctas", 1, 16, true},
    {"maxnreg", TARGET_MIN_REGISTERS, TARGET_MAX_REGISTERS, false},
};

/* One of the lists. */
typedef struct ValueList {
    uint32_t name; /* of Autotune.names; name_count: maxnreg */
    HostValue *values;
    uint32_t count;
} ValueList;

typedef struct Combiner {
    Ctx *ctx;
    Arena *arena;
    const FuncDef *def;
    const bool *given;
    Autotune *autotune;
    ValueList *lists;
    uint32_t count;
} Combiner;

/* Keys */

/* Where the source says none: what is left for calls to set. */
static void choose_keys(Arena *arena, const FuncDef *def, const bool *given, Autotune *autotune) {
    if (autotune->count)
        return; /* the source's, maybe none */
    uint32_t *keys = ARENA_ARRAY(arena, uint32_t, def->param_count + 1);
    bool *rounds = ARENA_ARRAY(arena, bool, def->param_count + 1);
    autotune->key_count = 0;
    for (uint32_t i = 0; i < def->param_count; i++)
        if (!given[i]) {
            rounds[autotune->key_count] = !ast_is_constexpr(def->params[i].annotation);
            keys[autotune->key_count++] = i;
        }
    autotune->keys = keys;
    autotune->rounds = rounds;
}

/* A copy that may be written, or, where nothing was read, one of zeros. */
static bool *copy_marks(Arena *arena, const bool *marks, uint32_t count) {
    bool *copy = ARENA_ARRAY(arena, bool, (size_t)count + 1);
    if (marks)
        memcpy(copy, marks, count);
    return copy;
}

static void own_marks(Arena *arena, Autotune *autotune) {
    autotune->resets = copy_marks(arena, autotune->resets, autotune->param_count);
    autotune->restores = copy_marks(arena, autotune->restores, autotune->param_count);
}

/* Lists */

static bool find_list_name(Combiner *c, Str name, Span span, uint32_t *slot) {
    const Autotune *a = c->autotune;
    *slot = autotune_find_name(a, name);
    if (*slot == a->name_count && !str_is(name, "maxnreg"))
        return autotune_report_name(c->ctx, a, c->def, name, span);
    for (uint32_t i = 0; i < c->count; i++)
        if (c->lists[i].name == *slot)
            return ctx_diag(c->ctx, span, tune_twice, STR_ARG(name));
    if (c->given[*slot])
        return ctx_diag(c->ctx, span, tune_given, STR_ARG(name));
    return true;
}

static bool check_option(Combiner *c, Str name, uint32_t slot, HostValue value, Span span) {
    if (slot < c->autotune->param_count)
        return true;
    for (size_t i = 0; i < sizeof option_ranges / sizeof *option_ranges; i++) {
        if (!str_is(name, option_ranges[i].name))
            continue;
        const bool ok = value.kind == HOST_INT && value.i >= option_ranges[i].least &&
                        value.i <= option_ranges[i].most &&
                        (!option_ranges[i].is_power || !(value.i & (value.i - 1)));
        return ok || ctx_diag(c->ctx, span, tune_value, STR_ARG(name),
                              option_ranges[i].is_power ? "a power of two" : "a number",
                              option_ranges[i].least, option_ranges[i].most);
    }
    return true;
}

/* What host code has no values for, a tuple, goes to the kernel as it is written. */
static bool read_item(Combiner *c, Str name, uint32_t slot, Str text, const Expr *item,
                      HostValue *value) {
    HostValue read = host_read(text);
    const bool is_tuple = item->kind == EXPR_tuple;
    if (read.kind == HOST_UNKNOWN)
        read = (HostValue){.kind = HOST_PATH, .text = text};
    if (!autotune_keep_value(c->arena, read, value) && !is_tuple)
        return ctx_diag(c->ctx, item->span, host_unsupported,
                        str_format(&c->ctx->arena, "such a value of '%.*s'", STR_ARG(name)),
                        "a configuration");
    return check_option(c, name, slot, *value, item->span);
}

static bool read_list(Combiner *c, const char *origin, const NamedText *given) {
    Ctx *ctx = c->ctx;
    const Str label = str_from(str_format(&ctx->arena, "<%s %.*s>", origin, STR_ARG(given->name)));
    const uint32_t file = source_add(&ctx->sources, label, given->text);
    Expr *expr = parse_expression(&ctx->diags, file);
    if (!expr)
        return false;
    const ExprList items = expr->kind == EXPR_list ? expr->u.list : (ExprList){&expr, 1};
    ValueList list = {.values = ARENA_ARRAY(&ctx->arena, HostValue, (size_t)items.count + 1)};
    if (!find_list_name(c, given->name, expr->span, &list.name))
        return false;
    if (!items.count)
        return ctx_diag(ctx, expr->span, tune_empty, STR_ARG(given->name));
    for (uint32_t i = 0; i < items.count; i++) {
        const Span span = items.items[i]->span;
        const Str text = {given->text.ptr + span.lo, span.hi - span.lo};
        HostValue *value = &list.values[list.count++];
        if (!read_item(c, given->name, list.name, text, items.items[i], value))
            return false;
    }
    c->lists[c->count++] = list;
    return true;
}

static bool report_many(Ctx *ctx, const FuncDef *def) {
    return ctx_diag(ctx, (Span){0}, tune_many, STR_ARG(def->name), AUTOTUNE_MOST_CONFIGS);
}

static TuneConfig combination(const Combiner *c, uint32_t number, uint32_t total) {
    HostValue *values = ARENA_ARRAY(c->arena, HostValue, c->autotune->name_count);
    TuneConfig config = {.values = values};
    for (uint32_t i = 0; i < c->count; i++) {
        const ValueList *list = &c->lists[i];
        total /= list->count;
        const HostValue value = list->values[number / total];
        if (list->name < c->autotune->name_count)
            values[list->name] = value;
        else
            config.max_registers = (int32_t)value.i;
        number %= total;
    }
    return config;
}

bool autotune_combine(Ctx *ctx, Arena *arena, const FuncDef *def, const char *origin,
                      const NamedText *lists, uint32_t count, const bool *given,
                      Autotune *autotune) {
    Combiner c = {.ctx = ctx, .arena = arena, .def = def, .given = given, .autotune = autotune};
    uint32_t total = 1;
    c.lists = ARENA_ARRAY(&ctx->arena, ValueList, (size_t)count + 1);
    /* There is one more than names: maxnreg. */
    bool *sets = ARENA_ARRAY(arena, bool, (size_t)autotune->name_count + 1);
    bool *taken = copy_marks(&ctx->arena, given, autotune->name_count + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (!read_list(&c, origin, &lists[i]))
            return false;
        const ValueList *list = &c.lists[i];
        if (list->count > AUTOTUNE_MOST_CONFIGS / total)
            return report_many(ctx, def);
        total *= list->count;
        sets[list->name] = taken[list->name] = true;
    }
    TuneConfig *configs = ARENA_ARRAY(arena, TuneConfig, (size_t)total + 1);
    for (uint32_t i = 0; i < total; i++)
        configs[i] = combination(&c, i, total);
    choose_keys(arena, def, taken, autotune);
    own_marks(arena, autotune);
    autotune->configs = configs;
    autotune->count = total;
    autotune->sets = sets;
    autotune->prunes = false;
    return true;
}

/* Launches */

/* Those that are variants of the compiler's own, which comes first: 0 is what it chooses. */
static const int32_t warps_tried[] = {0, 1, 2, 4, 8, 16, 32}, stages_tried[] = {0, 2, 4, 5};

enum {
    WARPS_TRIED = sizeof warps_tried / sizeof *warps_tried,
    STAGES_TRIED = sizeof stages_tried / sizeof *stages_tried,
};

static bool is_open(const Autotune *autotune, const Heuristics *heuristics, const bool *given,
                    uint32_t option) {
    const uint32_t name = autotune->param_count + option;
    return !given[name] && !heuristics_set(heuristics, name) &&
           !(autotune->count && autotune->sets[name]);
}

static void set_option(HostValue *values, uint32_t name, int32_t value) {
    if (value)
        values[name] = host_int(value);
}

bool autotune_generate(Ctx *ctx, Arena *arena, const FuncDef *def, const Heuristics *heuristics,
                       const bool *given, Autotune *autotune) {
    const uint32_t warps =
                       is_open(autotune, heuristics, given, HEURISTIC_num_warps) ? WARPS_TRIED : 1,
                   stages = is_open(autotune, heuristics, given, HEURISTIC_num_stages)
                                ? STAGES_TRIED
                                : 1,
                   before = autotune->count ? autotune->count : 1, each = warps * stages;
    const uint32_t first = autotune->param_count;
    if (each == 1)
        return true;
    if (before > AUTOTUNE_MOST_CONFIGS / each)
        return report_many(ctx, def);
    bool *sets = copy_marks(arena, autotune->count ? autotune->sets : NULL, autotune->name_count);
    TuneConfig *configs = ARENA_ARRAY(arena, TuneConfig, (size_t)before * each);
    for (uint32_t i = 0; i < before * each; i++) {
        HostValue *values = ARENA_ARRAY(arena, HostValue, autotune->name_count);
        const uint32_t own = i / each, launch = i % each;
        configs[i].values = values;
        if (autotune->count) {
            memcpy(values, autotune->configs[own].values, autotune->name_count * sizeof *values);
            configs[i].max_registers = autotune->configs[own].max_registers;
        }
        set_option(values, first + HEURISTIC_num_warps, warps_tried[launch / stages]);
        set_option(values, first + HEURISTIC_num_stages, stages_tried[launch % stages]);
        configs[i].variant_of = launch ? own * each + 1 : 0;
    }
    sets[first + HEURISTIC_num_warps] |= warps > 1;
    sets[first + HEURISTIC_num_stages] |= stages > 1;
    choose_keys(arena, def, given, autotune);
    own_marks(arena, autotune);
    autotune->configs = configs;
    autotune->count = before * each;
    autotune->sets = sets;
    return true;
}
