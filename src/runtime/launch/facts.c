/* Facts are lines of a name and a value; the integer facts come from one table, so that writer,
 * reader and JSON cannot differ. */
#include "runtime/launch/facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* FACT(name, field of KernelFacts) */
#define META_FACTS(FACT)                                                                           \
    FACT(num_warps, meta.num_warps)                                                                \
    FACT(programs_per_cta, meta.programs_per_cta)                                                  \
    FACT(num_ctas, meta.num_ctas)                                                                  \
    FACT(threads, meta.threads)                                                                    \
    FACT(shared_bytes, meta.shared_bytes)

#define RESOURCE_FACTS(FACT)                                                                       \
    FACT(registers, resources.registers)                                                           \
    FACT(stack_bytes, resources.stack_bytes)                                                       \
    FACT(spill_stores, resources.spill_stores)                                                     \
    FACT(spill_loads, resources.spill_loads)                                                       \
    FACT(static_shared, resources.static_shared)

static void add_escaped(StrBuf *out, Str text) {
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\n' || text.ptr[i] == '\\')
            strbuf_printf(out, "\\%c", text.ptr[i] == '\n' ? 'n' : '\\');
        else
            strbuf_putc(out, text.ptr[i]);
    }
}

static Str unescape(Arena *arena, Str text) {
    StrBuf out = strbuf(arena);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\\' && i + 1 < text.len)
            strbuf_putc(&out, text.ptr[++i] == 'n' ? '\n' : '\\');
        else
            strbuf_putc(&out, text.ptr[i]);
    }
    return strbuf_str(&out);
}

typedef enum ParamKind { PASSED, CONSTEXPR, DEFAULT, ONLY_READ, PARAM_KINDS } ParamKind;

static ParamKind kind_of(const KernelParam *param) {
    return param->is_default     ? DEFAULT
           : param->is_constexpr ? CONSTEXPR
           : param->is_only_read ? ONLY_READ
                                 : PASSED;
}

void facts_write(const KernelFacts *facts, StrBuf *out) {
    strbuf_printf(out, "name %.*s\n", STR_ARG(facts->meta.name));
    strbuf_printf(out, "target %s\n", facts->meta.target->name);
#define FACT(name, field) strbuf_printf(out, #name " %d\n", (int)facts->field);
    META_FACTS(FACT)
    RESOURCE_FACTS(FACT)
#undef FACT
    strbuf_printf(out, "grid_parameter %d\n", facts->meta.has_grid_parameter);
    strbuf_printf(out, "persistent %d\n", facts->meta.is_persistent);
    strbuf_printf(out, "plain_abi %d\n", facts->meta.plain_abi);
    strbuf_printf(out, "assembled %d\n", facts->resources.known);
    vec_for_each (recipe, &facts->meta.tensor_maps) {
        strbuf_puts(out, "tensor_map ");
        recipe_print(recipe, out);
        strbuf_putc(out, '\n');
    }
    vec_for_each (pair, &facts->meta.apart)
        strbuf_printf(out, "apart %u %u\n", pair->loaded, pair->stored);
    for (uint32_t i = 0; i < facts->param_count; i++) {
        const KernelParam *param = &facts->params[i];
        strbuf_printf(out, "param %" PRId64 " %d %d %" PRId64 " %.*s ", param->divisible,
                      kind_of(param), param->is_fixed, param->fixed, STR_ARG(param->name));
        add_escaped(out, param->text);
        strbuf_putc(out, '\n');
    }
}

/* The text up to `end`, which is skipped. */
static Str take(Str *rest, char end) {
    const char *at = rest->len ? memchr(rest->ptr, end, rest->len) : NULL;
    size_t len = at ? (size_t)(at - rest->ptr) : rest->len;
    Str word = {rest->ptr, len};
    size_t skip = at ? len + 1 : len;
    *rest = (Str){rest->ptr + skip, rest->len - skip};
    return word;
}

static bool read_int(Str text, int64_t *value) {
    char digits[24], *end;
    if (!text.len || text.len >= sizeof digits)
        return false;
    memcpy(digits, text.ptr, text.len);
    digits[text.len] = 0;
    errno = 0;
    *value = strtoll(digits, &end, 10);
    return !errno && !*end;
}

/* "param <divisible> <ParamKind> <is_fixed> <fixed> <name> <text>" */
static bool read_param(Arena *arena, Str line, KernelParam *param) {
    int64_t divisible, kind, is_fixed, fixed;
    if (!read_int(take(&line, ' '), &divisible) || !read_int(take(&line, ' '), &kind) ||
        !read_int(take(&line, ' '), &is_fixed) || !read_int(take(&line, ' '), &fixed) || kind < 0 ||
        kind >= PARAM_KINDS)
        return false;
    Str name = take(&line, ' ');
    *param = (KernelParam){.name = {str_dup(arena, name), name.len},
                           .divisible = divisible,
                           .is_constexpr = kind == CONSTEXPR || kind == DEFAULT,
                           .is_default = kind == DEFAULT,
                           .is_only_read = kind == ONLY_READ,
                           .is_fixed = is_fixed != 0,
                           .fixed = fixed,
                           .text = unescape(arena, line)};
    return name.len != 0;
}

/* What a parameter is to a recipe; false for one that recipes do not read. */
static bool recipe_type(Str text, DType *type) {
    static const struct {
        char digits[3];
        DType type;
    } widths[] = {{"1", DT_I1}, {"8", DT_I8}, {"16", DT_I16}, {"32", DT_I32}, {"64", DT_I64}};
    *type = DT_I64;
    if (text.len && text.ptr[0] == '*')
        return true;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        *type = widths[i].type;
        if (text.len > 1 && (text.ptr[0] == 'i' || text.ptr[0] == 'u') &&
            str_is((Str){text.ptr + 1, text.len - 1}, widths[i].digits))
            return true;
    }
    return false;
}

static bool recipes_fit(Arena *arena, const KernelFacts *facts) {
    DType *types = ARENA_ARRAY(arena, DType, facts->param_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < facts->param_count; i++)
        if (!facts->params[i].is_constexpr && !recipe_type(facts->params[i].text, &types[count++]))
            types[count - 1] = DT_COUNT;
    vec_for_each (recipe, &facts->meta.tensor_maps)
        if (!recipe_fits(recipe, types, count))
            return false;
    return facts->meta.tensor_maps.len <= RECIPE_MAX_MAPS;
}

/* "apart <loaded> <stored>" */
static bool read_apart(Arena *arena, Str line, ApartList *apart) {
    int64_t loaded, stored;
    if (!read_int(take(&line, ' '), &loaded) || !read_int(line, &stored) || loaded < 0 ||
        stored < 0 || loaded >= LAUNCH_MAX_PARAMS || stored >= LAUNCH_MAX_PARAMS)
        return false;
    vec_push(arena, apart, ((ApartParams){(uint32_t)loaded, (uint32_t)stored}));
    return true;
}

/* Of pointers that are passed. */
static bool apart_fits(Arena *arena, const KernelFacts *facts) {
    bool *pointers = ARENA_ARRAY(arena, bool, LAUNCH_MAX_PARAMS + facts->param_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < facts->param_count; i++)
        if (!facts->params[i].is_constexpr)
            pointers[count++] = facts->params[i].text.len && facts->params[i].text.ptr[0] == '*';
    vec_for_each (pair, &facts->meta.apart)
        if (!pointers[pair->loaded] || !pointers[pair->stored])
            return false;
    return true;
}

static bool read_fact(KernelFacts *facts, Str name, Str value) {
    int64_t number;
    if (!read_int(value, &number) || number < INT32_MIN || number > INT32_MAX)
        return false;
#define FACT(fact, field)                                                                          \
    if (str_is(name, #fact)) {                                                                     \
        facts->field = (int32_t)number;                                                            \
        return true;                                                                               \
    }
    META_FACTS(FACT)
    RESOURCE_FACTS(FACT)
#undef FACT
    if (str_is(name, "grid_parameter"))
        facts->meta.has_grid_parameter = number != 0;
    else if (str_is(name, "persistent"))
        facts->meta.is_persistent = number != 0;
    else if (str_is(name, "plain_abi"))
        facts->meta.plain_abi = number != 0;
    else if (str_is(name, "assembled"))
        facts->resources.known = number != 0;
    else
        return false;
    return true;
}

/* Within what any target has, so that nothing computed from the facts overflows. */
static bool plausible(const KernelFacts *facts) {
    const int32_t counts[] = {
#define FACT(name, field) facts->field,
        META_FACTS(FACT) RESOURCE_FACTS(FACT)
#undef FACT
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] < 0 || counts[i] > 1 << 24)
            return false;
    return facts->meta.threads > 0;
}

bool facts_read(Arena *arena, Str text, KernelFacts *facts) {
    VEC(KernelParam) params = {0};
    if (text.len && memchr(text.ptr, 0, text.len))
        return false;
    while (text.len) {
        Str line = take(&text, '\n');
        Str name = take(&line, ' ');
        if (str_is(name, "name")) {
            facts->meta.name = (Str){str_dup(arena, line), line.len};
        } else if (str_is(name, "target")) {
            facts->meta.target = target_by_name(line);
        } else if (str_is(name, "param")) {
            KernelParam param;
            if (!read_param(arena, line, &param))
                return false;
            vec_push(arena, &params, param);
        } else if (str_is(name, "tensor_map")) {
            TensorMapRecipe recipe;
            if (!recipe_parse(arena, line, &recipe))
                return false;
            vec_push(arena, &facts->meta.tensor_maps, recipe);
        } else if (str_is(name, "apart")) {
            if (!read_apart(arena, line, &facts->meta.apart))
                return false;
        } else if (!read_fact(facts, name, line)) {
            return false;
        }
    }
    facts->params = params.data;
    facts->param_count = (uint32_t)params.len;
    if (!facts->meta.target || !facts->meta.name.len || !plausible(facts) ||
        !recipes_fit(arena, facts) || !apart_fits(arena, facts))
        return false;
    if (facts->resources.known)
        resources_occupancy(&facts->resources, facts->meta.target, facts->meta.threads,
                            facts->meta.shared_bytes);
    return true;
}

static void json_params(const KernelFacts *facts, StrBuf *out) {
    strbuf_puts(out, "\"params\": [");
    for (uint32_t i = 0; i < facts->param_count; i++) {
        const KernelParam *param = &facts->params[i];
        strbuf_printf(out, "%s{\"name\": ", i ? ", " : "");
        strbuf_json(out, param->name);
        strbuf_printf(out, ", \"constexpr\": %s, \"%s\": ", param->is_constexpr ? "true" : "false",
                      param->is_constexpr ? "value" : "type");
        strbuf_json(out, param->text);
        if (param->is_default)
            strbuf_puts(out, ", \"default\": true");
        if (!param->is_constexpr)
            strbuf_printf(out, ", \"divisible\": %" PRId64, param->divisible);
        if (!param->is_constexpr && param->text.ptr[0] == '*')
            strbuf_printf(out, ", \"written\": %s", param->is_only_read ? "false" : "true");
        if (param->is_fixed)
            strbuf_printf(out, ", \"equal_to\": %" PRId64, param->fixed);
        strbuf_putc(out, '}');
    }
    strbuf_putc(out, ']');
}

static void json_expr(const char *separator, const RecipeExpr *expr, const Str *names,
                      StrBuf *out) {
    StrBuf text = strbuf(out->arena);
    recipe_expr_print(expr, names, &text);
    strbuf_puts(out, separator);
    strbuf_json(out, strbuf_str(&text));
}

/* Extents and strides are in elements, the adjacent dimension first, which has no stride. */
static void json_recipe(const TensorMapRecipe *recipe, const Str *names, StrBuf *out) {
    strbuf_printf(out, "{\"dtype\": \"%s\", \"swizzle\": %d, \"box\": [",
                  dtype_info[recipe->dtype].text, recipe->swizzle);
    for (int32_t i = 0; i < recipe->rank; i++)
        strbuf_printf(out, "%s%d", i ? ", " : "", recipe->box[i]);
    json_expr("], \"base\": ", &recipe->base, names, out);
    for (int32_t i = 0; i < recipe->rank; i++)
        json_expr(i ? ", " : ", \"extents\": [", &recipe->extents[i], names, out);
    strbuf_puts(out, "], \"strides\": [");
    for (int32_t i = 1; i < recipe->rank; i++)
        json_expr(i > 1 ? ", " : "", &recipe->strides[i], names, out);
    strbuf_puts(out, "], \"recipe\": ");
    StrBuf text = strbuf(out->arena);
    recipe_print(recipe, &text);
    strbuf_json(out, strbuf_str(&text));
    strbuf_putc(out, '}');
}

/* By name: [loaded, stored]. */
static void json_apart(const KernelFacts *facts, StrBuf *out) {
    const char *separator = "";
    strbuf_puts(out, "\"apart\": [");
    vec_for_each (pair, &facts->meta.apart) {
        strbuf_printf(out, "%s[", separator);
        strbuf_json(out, facts_passed(facts, pair->loaded)->name);
        strbuf_puts(out, ", ");
        strbuf_json(out, facts_passed(facts, pair->stored)->name);
        strbuf_putc(out, ']');
        separator = ", ";
    }
    strbuf_putc(out, ']');
}

static void json_tensor_maps(const KernelFacts *facts, StrBuf *out) {
    Str *names = ARENA_ARRAY(out->arena, Str, facts->param_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < facts->param_count; i++)
        if (!facts->params[i].is_constexpr)
            names[count++] = facts->params[i].name;
    const char *separator = "";
    strbuf_puts(out, "\"tensor_maps\": [");
    vec_for_each (recipe, &facts->meta.tensor_maps) {
        strbuf_puts(out, separator);
        json_recipe(recipe, names, out);
        separator = ", ";
    }
    strbuf_putc(out, ']');
}

/* In bytes and registers a thread, but for static_shared, which is a block's. */
static void json_resources(const KernelFacts *facts, StrBuf *out) {
    if (!facts->resources.known) {
        strbuf_puts(out, "\"resources\": null");
        return;
    }
    strbuf_puts(out, "\"resources\": {");
#define FACT(name, field) strbuf_printf(out, "\"" #name "\": %d, ", (int)facts->field);
    RESOURCE_FACTS(FACT)
#undef FACT
    strbuf_printf(out, "\"blocks_per_sm\": %d, \"warps_per_sm\": %d, \"occupancy\": %.3f}",
                  facts->resources.blocks_per_sm, facts->resources.warps_per_sm,
                  facts->resources.occupancy);
}

void facts_json(const KernelFacts *facts, StrBuf *out) {
    strbuf_puts(out, "\"kernel\": ");
    strbuf_json(out, facts->meta.name);
    strbuf_printf(out, ", \"target\": \"%s\"", facts->meta.target->name);
#define FACT(name, field) strbuf_printf(out, ", \"" #name "\": %d", (int)facts->field);
    META_FACTS(FACT)
#undef FACT
    strbuf_printf(out, ", \"grid_parameter\": %s, \"persistent\": %s, \"plain_abi\": %s, ",
                  facts->meta.has_grid_parameter ? "true" : "false",
                  facts->meta.is_persistent ? "true" : "false",
                  facts->meta.plain_abi ? "true" : "false");
    json_resources(facts, out);
    strbuf_puts(out, ", ");
    json_params(facts, out);
    strbuf_puts(out, ", ");
    json_tensor_maps(facts, out);
    strbuf_puts(out, ", ");
    json_apart(facts, out);
}

const KernelParam *facts_passed(const KernelFacts *facts, uint32_t number) {
    uint32_t at = 0;
    for (uint32_t passed = 0; at + 1 < facts->param_count; at++)
        if (!facts->params[at].is_constexpr && passed++ == number)
            break;
    return &facts->params[at];
}

KernelFacts facts_copy(Arena *arena, const KernelFacts *facts) {
    KernelFacts copy = *facts;
    copy.meta.name = str_keep(arena, facts->meta.name);
    copy.meta.tensor_maps = recipes_copy(arena, &facts->meta.tensor_maps);
    copy.meta.apart = (ApartList){0};
    vec_for_each (pair, &facts->meta.apart)
        vec_push(arena, &copy.meta.apart, *pair);
    copy.params = ARENA_ARRAY(arena, KernelParam, facts->param_count + 1);
    for (uint32_t i = 0; i < facts->param_count; i++) {
        copy.params[i] = facts->params[i];
        copy.params[i].name = str_keep(arena, facts->params[i].name);
        copy.params[i].text = str_keep(arena, facts->params[i].text);
    }
    return copy;
}

Str facts_code(const Driver *driver, Str cubin, Str ptx) {
    return !cubin.len || (ptx.len && driver && driver_runs_ptx(driver)) ? ptx : cubin;
}

KernelImage facts_image(Arena *arena, const KernelFacts *facts, Str code) {
    KernelImage image = {.code = code,
                         .meta = &facts->meta,
                         .params = facts->params,
                         .source_count = facts->param_count};
    Str *names = ARENA_ARRAY(arena, Str, facts->param_count + 1);
    for (uint32_t i = 0; i < facts->param_count; i++)
        if (!facts->params[i].is_constexpr)
            names[image.param_count++] = facts->params[i].name;
    image.param_names = names;
    return image;
}
