/* The tables of C code: of each group its variants, what they want of arguments, their code as
 * data, recipes of tensor maps; and a row of `kernels`. */
#include "runtime/ahead/emit.h"
#include "runtime/launch/launch.h"
#include "target/grid_limits.h"

#include <inttypes.h>

extern const char launcher_text[];
extern const unsigned launcher_size;

typedef struct Tables {
    Arena *arena;
    StrBuf *c;
    VEC(Str) codes; /* which are data already, by their number */
} Tables;

/* Texts and numbers */

void emit_text(StrBuf *out, Str text) {
    strbuf_putc(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char c = (unsigned char)text.ptr[i];
        if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '?')
            strbuf_printf(out, "\\%03o", c);
        else
            strbuf_putc(out, (char)c);
    }
    strbuf_putc(out, '"');
}

static void emit_integer(StrBuf *out, int64_t value) {
    if (value == INT64_MIN)
        strbuf_puts(out, "INT64_MIN");
    else
        strbuf_printf(out, "INT64_C(%" PRId64 ")", value);
}

/* Code as data: words of 8 bytes, little-endian, zeros behind. */
static uint32_t emit_code(Tables *t, Str code) {
    for (size_t i = 0; i < t->codes.len; i++)
        if (str_eq(t->codes.data[i], code))
            return (uint32_t)i;
    const uint32_t number = (uint32_t)t->codes.len;
    vec_push(t->arena, &t->codes, code);
    strbuf_printf(t->c, "static const uint64_t code_%u[] __attribute__((aligned(64))) = {", number);
    for (size_t i = 0; i <= code.len / 8; i++) {
        uint64_t word = 0;
        memcpy(&word, code.ptr + 8 * i, code.len - 8 * i < 8 ? code.len - 8 * i : 8);
        strbuf_printf(t->c, "%s0x%" PRIx64 ",", i % 6 ? " " : "\n    ", word);
    }
    strbuf_puts(t->c, "\n};\n\n");
    return number;
}

/* Tables */

static void emit_want(StrBuf *out, const KernelParam *param, FormOfParam form) {
    int64_t value = 0;
    switch (form) {
    case PARAM_VALUE:
        strbuf_printf(out, "{%s, ",
                      param->is_fixed        ? "FIXED"
                      : param->divisible > 1 ? "MULTIPLE"
                                             : "ANY");
        emit_integer(out, param->is_fixed ? param->fixed : param->divisible);
        strbuf_puts(out, ", 0, NULL}");
        return;
    case PARAM_INTEGER:
    case PARAM_FLAG:
        if (form == PARAM_FLAG)
            value = str_is(param->text, "True");
        else
            literal_is_integer(param->text, &value);
        strbuf_puts(out, "{INTEGER, ");
        emit_integer(out, value);
        strbuf_puts(out, ", 0, NULL}");
        return;
    case PARAM_REAL:
        strbuf_printf(out, "{REAL, 0, %s, NULL}", literal_real(out->arena, param->text));
        return;
    case PARAM_TEXT:
        strbuf_puts(out, "{TEXT, 0, 0, ");
        emit_text(out, param->text);
        strbuf_putc(out, '}');
        return;
    case PARAM_FIXED:
        return;
    }
}

/* What a variant's row points at; `id` is part of the names. */
static void emit_parts(Tables *t, const Group *group, const Variant *v, const char *id) {
    StrBuf *c = t->c;
    const TensorMapRecipes *maps = &v->facts.meta.tensor_maps;
    for (size_t i = 0; i < maps->len; i++)
        emit_c_recipe(c, str_format(t->arena, "map_%s_%zu", id, i), &maps->data[i]);
    if (maps->len) {
        strbuf_printf(c, "static const Recipe recipes_%s[] = {\n", id);
        for (size_t i = 0; i < maps->len; i++) {
            const TensorMapRecipe *recipe = &maps->data[i];
            strbuf_printf(c, "    {%d, %d, %d, %d, {", recipe_element(recipe->dtype),
                          recipe_swizzle(recipe), recipe->rank, dtype_bytes(recipe->dtype));
            for (int32_t d = 0; d < recipe->rank; d++)
                strbuf_printf(c, "%s%d", d ? ", " : "", recipe->box[d]);
            strbuf_printf(c, "}, map_%s_%zu},\n", id, i);
        }
        strbuf_puts(c, "};\n");
    }
    const ApartList *apart = &v->facts.meta.apart;
    if (apart->len)
        strbuf_printf(c, "static const Apart apart_%s[] = {", id);
    for (size_t i = 0; i < apart->len; i++)
        strbuf_printf(c, "%s{%u, %u}", i ? ", " : "", apart->data[i].loaded, apart->data[i].stored);
    strbuf_puts(c, apart->len ? "};\n" : "");
    strbuf_printf(c, "static const Want wants_%s[] = {", id);
    for (uint32_t i = 0; i < v->facts.param_count; i++) {
        if (group->forms[i] == PARAM_FIXED)
            continue;
        strbuf_puts(c, "\n    ");
        emit_want(c, &v->facts.params[i], group->forms[i]);
        strbuf_putc(c, ',');
    }
    strbuf_puts(c, "\n    {ANY, 0, 0, NULL}};\n\n");
}

static void emit_row(Tables *t, const Variant *v, const char *id, uint32_t code, bool is_ptx,
                     StrBuf *rows, uint32_t number, size_t group) {
    const KernelMeta *meta = &v->facts.meta;
    strbuf_puts(rows, "    {");
    emit_text(rows, meta->name);
    strbuf_printf(rows, ", code_%u, %d, %d, %d, %d, %d, %d, %d, %d, ", code,
                  meta->target->capability, target_is_specific(meta->target), is_ptx, meta->threads,
                  meta->shared_bytes, meta->programs_per_cta > 1 ? meta->programs_per_cta : 1,
                  meta->is_persistent, meta_grid_parameters(meta));
    if (meta->tensor_maps.len)
        strbuf_printf(rows, "recipes_%s", id);
    else
        strbuf_puts(rows, "NULL");
    strbuf_printf(rows, ", %zu, ", meta->tensor_maps.len);
    if (meta->apart.len)
        strbuf_printf(rows, "apart_%s", id);
    else
        strbuf_puts(rows, "NULL");
    strbuf_printf(rows, ", %zu, %u, wants_%s, &loaded_%zu[%u]},\n", meta->apart.len, v->forms, id,
                  group, number);
}

/* The tables of a group; a row of `kernels`. */
static void emit_group(Tables *t, const Groups *groups, size_t number, StrBuf *kernels) {
    const Group *group = &groups->data[number];
    StrBuf rows = strbuf(t->arena);
    uint32_t count = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        const Variant *v = group->variants[i];
        const char *id = str_format(t->arena, "%zu_%u", number, i);
        emit_parts(t, group, v, id);
        if (v->cubin.len)
            emit_row(t, v, id, emit_code(t, v->cubin), false, &rows, count++, number);
        if (v->ptx.len)
            emit_row(t, v, id, emit_code(t, v->ptx), true, &rows, count++, number);
    }
    strbuf_printf(t->c, "static Loaded *loaded_%zu[%u];\n", number, count);
    strbuf_printf(t->c, "static const Variant variants_%zu[] = {\n%.*s};\n\n", number,
                  (int)rows.len, rows.ptr);
    strbuf_printf(kernels, "    {variants_%zu, %u, %u, %u},\n", number, count,
                  group_count_arguments(group), group_count_values(group));
}

void emit_tables(Arena *arena, const Groups *groups, StrBuf *c) {
    Tables t = {.arena = arena, .c = c};
    StrBuf kernels = strbuf(arena);
    for (size_t i = 0; i < groups->len; i++)
        emit_group(&t, groups, i, &kernels);
    strbuf_printf(c, "static const Kernel kernels[] = {\n%.*s};\n\n", (int)kernels.len,
                  kernels.ptr);
}

void emit_launcher(const char *comment, const Variant *variants, uint32_t count, StrBuf *c) {
    strbuf_printf(
        c, "%senum { MAX_PARAMS = %d, MAX_MAPS = %d, MAX_RANK = %d, MAX_PERSISTENT = %d };\n",
        comment, LAUNCH_MAX_PARAMS, RECIPE_MAX_MAPS, RECIPE_MAX_RANK, LAUNCH_MAX_PERSISTENT);
    strbuf_add(c, launcher_text, launcher_size);
    strbuf_printf(c, "\n__attribute__((unused)) static const int64_t max_grid[] = {%d, %d, %d};\n",
                  TARGET_MAX_GRID_X, TARGET_MAX_GRID_YZ, TARGET_MAX_GRID_YZ);
    strbuf_puts(c, "\n/* Kernels */\n\n");
    emit_c_ops(c, variants, count);
}
