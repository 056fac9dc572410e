/* See emit_c.h. Kernels are grouped by source, name and the types of their parameters: each group
 * is a function. A constexpr is a parameter of it where the group's variants differ in it. */
#include "runtime/ahead/emit_c.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

extern const char launcher_text[];
extern const unsigned launcher_size;

/* How a parameter of the source stands in C. */
typedef enum FormOfParam {
    PARAM_VALUE,   /* passed to the kernel */
    PARAM_FIXED,   /* a constexpr that all variants have the same value of: not there */
    PARAM_INTEGER, /* constexprs that choose: int64_t, bool, double, const char * */
    PARAM_FLAG,
    PARAM_REAL,
    PARAM_TEXT,
} FormOfParam;

typedef struct Group {
    const char *function; /* its name in C */
    const Variant **variants;
    uint32_t count;
    FormOfParam *forms; /* of each parameter of the source */
    const char **names; /* in C */
} Group;

typedef struct Emitter {
    Ctx *ctx;
    Arena *arena;
    const char *prefix;
    StrBuf *c, *header;
    VEC(Group) groups;
    VEC(Str) codes; /* which are data already, by their number */
} Emitter;

/* Names */

static const char *const reserved[] = {
    /* C and C++ */
    "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class",
    "compl", "const", "constexpr", "continue", "decltype", "default", "delete", "do", "double",
    "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "nullptr",
    "operator", "or", "private", "protected", "public", "register", "requires", "restrict",
    "return", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this",
    "throw", "true", "try", "typedef", "typeid", "typename", "typeof", "union", "unsigned", "using",
    "virtual", "void", "volatile", "while", "xor",
    /* the function's own */
    "stream", "grid_x", "grid_y", "grid_z", "grid", "arguments", "params", "launch", "kernels",
    NULL};

static const char *identifier(Arena *arena, Str name) {
    StrBuf out = strbuf(arena);
    for (size_t i = 0; i < name.len; i++) {
        const char c = name.ptr[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        const bool digit = c >= '0' && c <= '9';
        if (digit && !i)
            strbuf_putc(&out, '_');
        strbuf_putc(&out, (char)(letter || digit ? c : '_'));
    }
    for (const char *const *word = reserved; *word; word++)
        if (str_is(strbuf_str(&out), *word))
            strbuf_putc(&out, '_');
    return out.ptr ? out.ptr : "_";
}

/* Of a kernel, behind the prefix, where other names of the file stand, too. */
static const char *kernel_identifier(Arena *arena, Str name) {
    static const char *const taken[] = {"status", "status_text", "driver_result", "unload"};
    const char *plain = identifier(arena, name);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (!strcmp(plain, taken[i]))
            return str_format(arena, "%s_", plain);
    return plain;
}

/* Grouping */

static bool same_types(const KernelFacts *a, const KernelFacts *b) {
    bool same = a->param_count == b->param_count;
    for (uint32_t i = 0; same && i < a->param_count; i++)
        same = a->params[i].is_constexpr == b->params[i].is_constexpr &&
               str_eq(a->params[i].name, b->params[i].name) &&
               (a->params[i].is_constexpr || str_eq(a->params[i].text, b->params[i].text));
    return same;
}

static bool same_kernel(const Variant *a, const Variant *b) {
    return str_eq(a->path, b->path) && str_eq(a->facts.meta.name, b->facts.meta.name);
}

static bool is_integer(Str text, int64_t *value) {
    char digits[32], *end;
    if (!text.len || text.len >= sizeof digits)
        return false;
    memcpy(digits, text.ptr, text.len);
    digits[text.len] = 0;
    errno = 0;
    *value = strtoll(digits, &end, 10);
    return !*end && !errno;
}

static bool is_real(Str text) {
    char digits[64], *end;
    if (!text.len || text.len >= sizeof digits || !strchr("0123456789.-", text.ptr[0]))
        return false;
    memcpy(digits, text.ptr, text.len);
    digits[text.len] = 0;
    strtod(digits, &end);
    return !*end;
}

static FormOfParam form_of(const Group *group, uint32_t param) {
    const KernelParam *first = &group->variants[0]->facts.params[param];
    bool same = true, integers = true, flags = true, reals = true;
    int64_t value;
    if (!first->is_constexpr)
        return PARAM_VALUE;
    for (uint32_t i = 0; i < group->count; i++) {
        const Str text = group->variants[i]->facts.params[param].text;
        same &= str_eq(text, first->text);
        integers &= is_integer(text, &value);
        flags &= str_is(text, "True") || str_is(text, "False");
        reals &= is_real(text);
    }
    return same       ? PARAM_FIXED
           : integers ? PARAM_INTEGER
           : flags    ? PARAM_FLAG
           : reals    ? PARAM_REAL
                      : PARAM_TEXT;
}

static void describe_params(Emitter *e, Group *group) {
    const KernelFacts *facts = &group->variants[0]->facts;
    group->forms = ARENA_ARRAY(e->arena, FormOfParam, facts->param_count + 1);
    group->names = ARENA_ARRAY(e->arena, const char *, facts->param_count + 1);
    for (uint32_t i = 0; i < facts->param_count; i++) {
        group->forms[i] = form_of(group, i);
        const char *name = identifier(e->arena, facts->params[i].name);
        for (uint32_t j = 0; j < i; j++)
            if (!strcmp(name, group->names[j]))
                name = str_format(e->arena, "%s_%u", name, i);
        group->names[i] = name;
    }
}

/* The types in which this group differs from others of its kernel: "fp16_fp32". */
static const char *type_suffix(Emitter *e, const Group *group) {
    StrBuf out = strbuf(e->arena);
    const KernelFacts *facts = &group->variants[0]->facts;
    for (uint32_t i = 0; i < facts->param_count; i++) {
        bool differs = false;
        vec_for_each (other, &e->groups) {
            const KernelFacts *f = &other->variants[0]->facts;
            differs |=
                same_kernel(other->variants[0], group->variants[0]) &&
                (i >= f->param_count ||
                 f->params[i].is_constexpr != facts->params[i].is_constexpr ||
                 (!f->params[i].is_constexpr && !str_eq(f->params[i].text, facts->params[i].text)));
        }
        if (!differs)
            continue;
        const Str type = facts->params[i].is_constexpr ? STR("constexpr") : facts->params[i].text;
        strbuf_printf(
            &out, "_%s",
            identifier(e->arena, type.ptr[0] == '*' ? (Str){type.ptr + 1, type.len - 1} : type));
    }
    return out.ptr ? out.ptr : "";
}

static void name_groups(Emitter *e) {
    for (size_t i = 0; i < e->groups.len; i++) {
        Group *group = &e->groups.data[i];
        const char *kernel = kernel_identifier(e->arena, group->variants[0]->facts.meta.name);
        const char *name =
            str_format(e->arena, "%s_%s%s", e->prefix, kernel, type_suffix(e, group));
        for (size_t j = 0; j < i; j++)
            if (!strcmp(name, e->groups.data[j].function))
                name = str_format(e->arena, "%s_%zu", name, i);
        group->function = name;
    }
}

static void make_groups(Emitter *e, const Variant *variants, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        Group *found = NULL;
        vec_for_each (group, &e->groups)
            if (same_kernel(group->variants[0], &variants[i]) &&
                same_types(&group->variants[0]->facts, &variants[i].facts))
                found = group;
        if (!found) {
            const Group made = {.variants = ARENA_ARRAY(e->arena, const Variant *, count)};
            vec_push(e->arena, &e->groups, made);
            found = &e->groups.data[e->groups.len - 1];
        }
        found->variants[found->count++] = &variants[i];
    }
    vec_for_each (group, &e->groups)
        describe_params(e, group);
    name_groups(e);
}

/* One of two that are for the same calls is never chosen. */
static bool same_calls(const Variant *a, const Variant *b) {
    bool same =
        a->facts.meta.target == b->facts.meta.target && a->is_other_form == b->is_other_form;
    for (uint32_t i = 0; same && i < a->facts.param_count; i++) {
        const KernelParam *p = &a->facts.params[i], *q = &b->facts.params[i];
        same = str_eq(p->text, q->text) && p->is_fixed == q->is_fixed && p->fixed == q->fixed &&
               p->divisible == q->divisible;
    }
    return same;
}

static bool check_groups(Emitter *e) {
    vec_for_each (group, &e->groups)
        for (uint32_t i = 0; i < group->count; i++) {
            const Variant *v = group->variants[i];
            if (v->facts.meta.num_ctas > 1)
                return ctx_diag(e->ctx, (Span){0}, emit_c_clusters, STR_ARG(v->facts.meta.name));
            for (uint32_t j = 0; j < i; j++)
                if (same_calls(group->variants[j], v))
                    return ctx_diag(e->ctx, (Span){0}, emit_c_same, STR_ARG(v->facts.meta.name),
                                    STR_ARG(v->path), v->facts.meta.target->name);
        }
    return true;
}

/* Texts and numbers */

static void emit_text(StrBuf *out, Str text) {
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

static const char *c_type(const KernelParam *param, FormOfParam form) {
    static const struct {
        const char *type, *c;
    } types[] = {{"i1", "bool"},      {"i8", "int8_t"},  {"i16", "int16_t"},  {"i32", "int32_t"},
                 {"i64", "int64_t"},  {"u8", "uint8_t"}, {"u16", "uint16_t"}, {"u32", "uint32_t"},
                 {"u64", "uint64_t"}, {"fp64", "double"}};
    switch (form) {
    case PARAM_VALUE:
        if (param->text.ptr[0] == '*')
            return "uint64_t";
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (str_is(param->text, types[i].type))
                return types[i].c;
        return "float"; /* narrower floats are passed so */
    case PARAM_INTEGER:
        return "int64_t";
    case PARAM_FLAG:
        return "bool";
    case PARAM_REAL:
        return "double";
    case PARAM_TEXT:
        return "const char *";
    case PARAM_FIXED:
        break;
    }
    return "";
}

/* Code as data: words of 8 bytes, little-endian, zeros behind. */
static uint32_t emit_code(Emitter *e, Str code) {
    for (size_t i = 0; i < e->codes.len; i++)
        if (str_eq(e->codes.data[i], code))
            return (uint32_t)i;
    const uint32_t number = (uint32_t)e->codes.len;
    vec_push(e->arena, &e->codes, code);
    strbuf_printf(e->c, "static const uint64_t code_%u[] __attribute__((aligned(64))) = {", number);
    for (size_t i = 0; i <= code.len / 8; i++) {
        uint64_t word = 0;
        memcpy(&word, code.ptr + 8 * i, code.len - 8 * i < 8 ? code.len - 8 * i : 8);
        strbuf_printf(e->c, "%s0x%" PRIx64 ",", i % 6 ? " " : "\n    ", word);
    }
    strbuf_puts(e->c, "\n};\n\n");
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
            is_integer(param->text, &value);
        strbuf_puts(out, "{INTEGER, ");
        emit_integer(out, value);
        strbuf_puts(out, ", 0, NULL}");
        return;
    case PARAM_REAL:
        strbuf_printf(out, "{REAL, 0, %.*s, NULL}", STR_ARG(param->text));
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
static void emit_parts(Emitter *e, const Group *group, const Variant *v, const char *id) {
    StrBuf *c = e->c;
    const TensorMapRecipes *maps = &v->facts.meta.tensor_maps;
    for (size_t i = 0; i < maps->len; i++)
        emit_c_recipe(c, str_format(e->arena, "map_%s_%zu", id, i), &maps->data[i]);
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

static void emit_row(Emitter *e, const Variant *v, const char *id, uint32_t code, bool is_ptx,
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
    strbuf_printf(rows, ", %zu, %d, wants_%s, &loaded_%zu[%u]},\n", meta->tensor_maps.len,
                  v->is_other_form, id, group, number);
}

static uint32_t count_values(const Group *group) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < group->variants[0]->facts.param_count; i++)
        count += group->forms[i] == PARAM_VALUE;
    return count;
}

static uint32_t count_arguments(const Group *group) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < group->variants[0]->facts.param_count; i++)
        count += group->forms[i] != PARAM_FIXED;
    return count;
}

/* The tables of a group; a row of `kernels`. */
static void emit_group(Emitter *e, size_t number, StrBuf *kernels) {
    const Group *group = &e->groups.data[number];
    StrBuf rows = strbuf(e->arena);
    uint32_t count = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        const Variant *v = group->variants[i];
        const char *id = str_format(e->arena, "%zu_%u", number, i);
        emit_parts(e, group, v, id);
        if (v->cubin.len)
            emit_row(e, v, id, emit_code(e, v->cubin), false, &rows, count++, number);
        if (v->ptx.len)
            emit_row(e, v, id, emit_code(e, v->ptx), true, &rows, count++, number);
    }
    strbuf_printf(e->c, "static Loaded *loaded_%zu[%u];\n", number, count);
    strbuf_printf(e->c, "static const Variant variants_%zu[] = {\n%.*s};\n\n", number,
                  (int)rows.len, rows.ptr);
    strbuf_printf(kernels, "    {variants_%zu, %u, %u, %u},\n", number, count,
                  count_arguments(group), count_values(group));
}

/* Functions */

static void emit_prototype(Emitter *e, const Group *group, StrBuf *out) {
    const KernelFacts *facts = &group->variants[0]->facts;
    strbuf_printf(
        out, "%s_status %s(void *stream, uint32_t grid_x, uint32_t grid_y,\n    uint32_t grid_z",
        e->prefix, group->function);
    for (uint32_t i = 0; i < facts->param_count; i++) {
        const char *type = c_type(&facts->params[i], group->forms[i]);
        if (group->forms[i] != PARAM_FIXED)
            strbuf_printf(out, ",\n    %s%s%s", type, type[strlen(type) - 1] == '*' ? "" : " ",
                          group->names[i]);
    }
    strbuf_putc(out, ')');
}

static void emit_argument(StrBuf *out, const KernelParam *param, FormOfParam form,
                          const char *name) {
    const char *type = c_type(param, form);
    if (form == PARAM_TEXT)
        strbuf_printf(out, "{0, 0, %s}", name);
    else if (!strcmp(type, "float") || !strcmp(type, "double"))
        strbuf_printf(out, "{0, (double)%s, NULL}", name);
    else
        strbuf_printf(out, "{(int64_t)%s, 0, NULL}", name);
}

static void emit_function(Emitter *e, size_t number) {
    const Group *group = &e->groups.data[number];
    const KernelFacts *facts = &group->variants[0]->facts;
    StrBuf *c = e->c;
    strbuf_putc(c, '\n');
    emit_prototype(e, group, c);
    strbuf_puts(c, " {\n    const uint32_t grid[3] = {grid_x, grid_y, grid_z};\n"
                   "    const Argument arguments[] = {");
    for (uint32_t i = 0; i < facts->param_count; i++) {
        if (group->forms[i] == PARAM_FIXED)
            continue;
        emit_argument(c, &facts->params[i], group->forms[i], group->names[i]);
        strbuf_puts(c, ",\n        ");
    }
    strbuf_puts(c, "{0, 0, NULL}};\n    void *const params[] = {");
    for (uint32_t i = 0; i < facts->param_count; i++)
        if (group->forms[i] == PARAM_VALUE)
            strbuf_printf(c, "&%s, ", group->names[i]);
    strbuf_printf(c,
                  "NULL};\n    return (%s_status)launch(&kernels[%zu], stream, grid, arguments, "
                  "params);\n}\n",
                  e->prefix, number);
}

static void emit_description(Emitter *e, const Group *group) {
    StrBuf *h = e->header;
    const KernelFacts *facts = &group->variants[0]->facts;
    strbuf_printf(h, "\n/* %.*s of ", STR_ARG(facts->meta.name));
    for (size_t i = 0; i < group->variants[0]->path.len; i++) { /* which may end no comment */
        const char ch = group->variants[0]->path.ptr[i];
        strbuf_putc(h, (char)(ch == '*' || (unsigned char)ch < 0x20 ? '?' : ch));
    }
    strbuf_printf(h, ", %u variant%s", group->count, group->count > 1 ? "s" : "");
    for (uint32_t i = 0; i < facts->param_count; i++) {
        const KernelParam *param = &facts->params[i];
        if (group->forms[i] == PARAM_VALUE && param->text.ptr[0] == '*')
            strbuf_printf(h, "\n *   %s: %.*s", group->names[i], STR_ARG(param->text));
        else if (group->forms[i] != PARAM_VALUE && group->forms[i] != PARAM_FIXED)
            strbuf_printf(h, "\n *   %s: chooses among the values that were compiled",
                          group->names[i]);
    }
    strbuf_puts(h, " */\n");
}

/* What launcher.c returns, by its number. */
static const struct {
    const char *name, *text;
} statuses[] = {
    {"OK", "success"},
    {"NO_DRIVER", "there is no usable CUDA driver"},
    {"NO_CONTEXT", "no context is current in this thread"},
    {"NO_VARIANT", "no variant was compiled for this device and these arguments"},
    {"NO_TENSOR_MAP", "the kernel's tensor maps cannot hold the arguments"},
    {"NO_MEMORY", "out of memory"},
    {"DRIVER_FAILED", "a call of the CUDA driver failed"},
    {"TOO_MANY_PROGRAMS", "more programs than a persistent kernel runs in a launch"},
};
enum { STATUS_COUNT = sizeof statuses / sizeof *statuses };

/* Up to the kernels. */
static void begin_header(Emitter *e) {
    StrBuf *h = e->header, upper = strbuf(e->arena);
    for (const char *p = e->prefix; *p; p++)
        strbuf_putc(&upper, (char)(*p >= 'a' && *p <= 'z' ? *p - 32 : *p));
    strbuf_printf(
        h,
        "/* Kernels that tilec compiled. Link the C file of the same name; it needs the C "
        "library alone,\n * and loads the CUDA driver when a function is first called. A "
        "function launches grid_x * grid_y * grid_z\n * programs on the stream (a CUstream; "
        "NULL: the default one) in the context that is current, which it\n * loads the "
        "kernel in when it is first called there. Pointers are addresses of the device "
        "(CUdeviceptr). Any\n * thread may call any function at any time. */\n"
        "#ifndef %s_H\n#define %s_H\n#include <stdbool.h>\n#include <stdint.h>\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\ntypedef enum %s_status {\n",
        upper.ptr, upper.ptr, e->prefix);
    for (int i = 0; i < STATUS_COUNT; i++)
        strbuf_printf(h, "    %s_%s = %d, /* %s */\n", upper.ptr, statuses[i].name, i,
                      statuses[i].text);
    strbuf_printf(
        h,
        "} %s_status;\n\nconst char *%s_status_text(%s_status status);\n"
        "/* What the driver answered last (a CUresult) to a function called in this thread. "
        "*/\nint %s_driver_result(void);\n"
        "/* Unloads all that is loaded in the current context. Nothing may be launched in it "
        "meanwhile. */\n%s_status %s_unload(void);\n",
        e->prefix, e->prefix, e->prefix, e->prefix, e->prefix, e->prefix);
}

/* The functions that are no kernels. */
static void emit_common(Emitter *e) {
    StrBuf *c = e->c;
    strbuf_printf(c,
                  "const char *%s_status_text(%s_status status) {\n    static const char *const "
                  "texts[] = {\n",
                  e->prefix, e->prefix);
    for (int i = 0; i < STATUS_COUNT; i++)
        strbuf_printf(c, "        \"%s\",\n", statuses[i].text);
    strbuf_printf(c,
                  "    };\n    return (unsigned)status < %d ? texts[status] : \"unknown "
                  "status\";\n}\n\nint %s_driver_result(void) {\n    return last_result;\n}\n\n"
                  "%s_status %s_unload(void) {\n    return (%s_status)unload(kernels, "
                  "sizeof kernels / sizeof *kernels);\n}\n",
                  STATUS_COUNT, e->prefix, e->prefix, e->prefix, e->prefix);
}

bool emit_c(Ctx *ctx, const Variant *variants, uint32_t count, Str stem, StrBuf *c,
            StrBuf *header) {
    Emitter e = {.ctx = ctx,
                 .arena = &ctx->arena,
                 .prefix = identifier(&ctx->arena, stem),
                 .c = c,
                 .header = header};
    make_groups(&e, variants, count);
    if (!check_groups(&e))
        return false;
    strbuf_printf(c, "/* Kernels that tilec compiled; see %.*s.h. */\n#include \"%.*s.h\"\n\n",
                  STR_ARG(stem), STR_ARG(stem));
    strbuf_add(c, launcher_text, launcher_size);
    strbuf_puts(c, "\n/* Kernels */\n\n");
    emit_c_ops(c, variants, count);
    StrBuf kernels = strbuf(&ctx->arena);
    for (size_t i = 0; i < e.groups.len; i++)
        emit_group(&e, i, &kernels);
    strbuf_printf(c, "static const Kernel kernels[] = {\n%.*s};\n\n", (int)kernels.len,
                  kernels.ptr);
    begin_header(&e);
    emit_common(&e);
    for (size_t i = 0; i < e.groups.len; i++) {
        emit_function(&e, i);
        emit_description(&e, &e.groups.data[i]);
        emit_prototype(&e, &e.groups.data[i], header);
        strbuf_puts(header, ";\n");
    }
    strbuf_puts(header, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return true;
}
