/* C: a file with a function for each group of variants, and its header. */
#include "runtime/ahead/emit.h"

typedef struct Emitter {
    Ctx *ctx;
    Arena *arena;
    const char *prefix;
    StrBuf *c, *header;
    Groups groups;
} Emitter;

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
        return "float"; /* of which narrower ones are made */
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

/* Functions */

/* `behind`: what each parameter's name ends with. */
static void emit_prototype(Emitter *e, const Group *group, const char *behind, StrBuf *out) {
    const KernelFacts *facts = group_facts(group);
    strbuf_printf(out, "%s_status %s(void *stream", e->prefix, group->function);
    if (!group_grid(group).len)
        strbuf_puts(out, ", uint32_t grid_x, uint32_t grid_y,\n    uint32_t grid_z");
    for (uint32_t i = 0; i < facts->param_count; i++) {
        const char *type = c_type(&facts->params[i], group->forms[i]);
        if (group->forms[i] != PARAM_FIXED)
            strbuf_printf(out, ",\n    %s%s%s%s", type, type[strlen(type) - 1] == '*' ? "" : " ",
                          group->names[i], behind);
    }
    strbuf_putc(out, ')');
}

static void emit_argument(StrBuf *out, const KernelParam *param, FormOfParam form,
                          const char *name) {
    const char *type = c_type(param, form);
    if (form == PARAM_TEXT)
        strbuf_printf(out, "{0, 0, %s_}", name);
    else if (!strcmp(type, "float") || !strcmp(type, "double"))
        strbuf_printf(out, "{0, (double)%s_, NULL}", name);
    else
        strbuf_printf(out, "{(int64_t)%s_, 0, NULL}", name);
}

/* The type's name in launcher.c, of a parameter that C has no type for; NULL: of any other. */
static const char *narrow_type(const Group *group, uint32_t param) {
    static const struct {
        const char *type, *narrow;
    } types[] = {{"fp16", "FP16"}, {"bf16", "BF16"}, {"fp8e5", "FP8E5"}, {"fp8e4nv", "FP8E4NV"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (group->forms[param] == PARAM_VALUE &&
            str_is(group_facts(group)->params[param].text, types[i].type))
            return types[i].narrow;
    return NULL;
}

/* What parameters of the kernel point at: parameters of the function, or what is made of them. */
static void emit_params(const Group *group, StrBuf *c) {
    StrBuf params = strbuf(c->arena), types = strbuf(c->arena), values = strbuf(c->arena);
    uint32_t count = 0;
    for (uint32_t i = 0; i < group_facts(group)->param_count; i++) {
        const char *narrow = narrow_type(group, i);
        if (group->forms[i] != PARAM_VALUE)
            continue;
        if (!narrow) {
            strbuf_printf(&params, "&%s_, ", group->names[i]);
            continue;
        }
        strbuf_printf(&types, "NARROW_%s, ", narrow);
        strbuf_printf(&values, "narrow_bits(%s_, types[%u]), ", group->names[i], count);
        strbuf_printf(&params, "&narrow[%u], ", count++);
    }
    if (count)
        strbuf_printf(c,
                      "    static const NarrowType types[] = {%.*s};\n"
                      "    uint16_t narrow[] = {%.*s};\n",
                      (int)types.len, types.ptr, (int)values.len, values.ptr);
    strbuf_printf(c, "    void *const params[] = {%.*sNULL};\n", (int)params.len,
                  params.ptr ? params.ptr : "");
}

/* Parameters' names end in an underscore there, as no other name of the file does. */
static void emit_function(Emitter *e, size_t number) {
    const Group *group = &e->groups.data[number];
    const KernelFacts *facts = group_facts(group);
    const bool has_grid = group_grid(group).len != 0;
    StrBuf *c = e->c;
    strbuf_putc(c, '\n');
    emit_prototype(e, group, "_", c);
    strbuf_puts(c, has_grid ? " {\n    uint32_t grid[3];\n"
                            : " {\n    const uint32_t grid[3] = {grid_x, grid_y, grid_z};\n");
    strbuf_puts(c, "    const Argument arguments[] = {");
    for (uint32_t i = 0; i < facts->param_count; i++) {
        if (group->forms[i] == PARAM_FIXED)
            continue;
        emit_argument(c, &facts->params[i], group->forms[i], group->names[i]);
        strbuf_puts(c, ",\n        ");
    }
    strbuf_puts(c, "{0, 0, NULL}};\n");
    emit_params(group, c);
    if (has_grid)
        strbuf_printf(c,
                      "    if (!grid_%zu(arguments, grid))\n        return (%s_status)NO_GRID;\n",
                      number, e->prefix);
    strbuf_printf(c,
                  "    return (%s_status)launch(&kernels[%zu], stream, grid, arguments, params);\n"
                  "}\n",
                  e->prefix, number);
}

/* A text that may end no comment, nor begin one. */
static void emit_comment(StrBuf *out, const char *before, Str text) {
    strbuf_puts(out, before);
    for (size_t i = 0; i < text.len; i++) {
        const char ch = text.ptr[i], last = i ? text.ptr[i - 1] : 0;
        const bool delimits = (last == '*' && ch == '/') || (last == '/' && ch == '*');
        strbuf_putc(out, (char)(delimits || (unsigned char)ch < 0x20 ? '?' : ch));
    }
}

static void emit_description(Emitter *e, const Group *group) {
    StrBuf *h = e->header;
    const KernelFacts *facts = group_facts(group);
    strbuf_printf(h, "\n/* %.*s of", STR_ARG(facts->meta.name));
    emit_comment(h, " ", group->variants[0]->path);
    strbuf_printf(h, ", %u variant%s", group->count, group->count > 1 ? "s" : "");
    for (uint32_t i = 0; i < facts->param_count; i++) {
        const KernelParam *param = &facts->params[i];
        if (group->forms[i] == PARAM_VALUE && param->text.ptr[0] == '*')
            strbuf_printf(h, "\n *   %s: %.*s", group->names[i], STR_ARG(param->text));
        else if (group->forms[i] != PARAM_VALUE && group->forms[i] != PARAM_FIXED)
            strbuf_printf(h, "\n *   %s: chooses among the values that were compiled",
                          group->names[i]);
    }
    if (group_grid(group).len)
        emit_comment(h, "\n *   the grid: ", group_grid(group));
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
    {"NO_GRID", "the grid that the kernel has for these arguments cannot be computed, or launched"},
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
        "function launches grid_x * grid_y * grid_z\n * programs, or the grid that the kernel has, "
        "on the stream (a CUstream; "
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
                 .prefix = c_identifier(&ctx->arena, stem),
                 .c = c,
                 .header = header};
    if (!groups_make(ctx, variants, count, GROUPS_APART, &e.groups))
        return false;
    vec_for_each (group, &e.groups)
        c_name_params(e.arena, group);
    c_name_groups(e.arena, e.prefix, &e.groups);
    emit_launcher(
        str_format(e.arena,
                   "/* Kernels that tilec compiled; see %.*s.h. */\n#include \"%.*s.h\"\n\n",
                   STR_ARG(stem), STR_ARG(stem)),
        variants, count, c);
    emit_tables(e.arena, &e.groups, c);
    if (!emit_c_grids(ctx, &e.groups, c))
        return false;
    begin_header(&e);
    emit_common(&e);
    for (size_t i = 0; i < e.groups.len; i++) {
        emit_function(&e, i);
        emit_description(&e, &e.groups.data[i]);
        emit_prototype(&e, &e.groups.data[i], "", header);
        strbuf_puts(header, ";\n");
    }
    strbuf_puts(header, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return true;
}
