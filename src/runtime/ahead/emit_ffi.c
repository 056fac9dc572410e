/* tvm-ffi: one file, whose functions are called with whatever its callers have. The groups of a
 * kernel are one function, which tries them in their order; launcher_ffi.c is what it calls, with
 * launcher_ffi_values.c in front. */
#include "runtime/ahead/emit.h"
#include "tilec.h"

extern const char launcher_ffi_values_text[], launcher_ffi_text[];
extern const unsigned launcher_ffi_values_size, launcher_ffi_size;

/* The groups of a kernel. */
typedef struct Door {
    const char *name; /* in C */
    VEC(size_t) groups;
} Door;

typedef VEC(Door) Doors;

typedef struct ElementType {
    const char *text, *name; /* tilec's, that of array libraries */
    uint8_t code, bits;
} ElementType;

static const ElementType *find_type(Str text) {
    static const char *const texts[] = {[TILE_DTYPE_AUTO] = "",
#define TYPE(id, name, bytes) [id] = name,
                                        TILE_DTYPES(TYPE)
#undef TYPE
    };
    static const ElementType types[] = {
#define DLPACK_TYPE(type, code, bits, name) {NULL, name, code, bits},
#include "runtime/launch/dlpack.def"
    };
    static const tile_dtype ids[] = {
#define DLPACK_TYPE(type, code, bits, name) type,
#include "runtime/launch/dlpack.def"
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_is(text, texts[ids[i]]))
            return &types[i];
    return NULL;
}

/* What launcher_ffi_values.c names types by. */
static void emit_types(StrBuf *c) {
    strbuf_puts(c, "\n#define FFI_TYPES");
#define DLPACK_TYPE(type, code, bits, name)                                                        \
    strbuf_printf(c, " \\\n    {%d, %d, \"%s\"},", code, bits, name);
#include "runtime/launch/dlpack.def"
    strbuf_puts(c, "\n\n");
}

/* The element type of a pointer's text: "*fp32", "*kfp32" with a constant one. */
static Str element_of(Str text) {
    const bool is_const = text.len > 2 && text.ptr[1] == 'k';
    return (Str){text.ptr + 1 + is_const, text.len - 1 - is_const};
}

static const char *param_type(const KernelParam *param) {
    const bool is_pointer = param->text.len && param->text.ptr[0] == '*';
    const ElementType *type = find_type(is_pointer ? element_of(param->text) : param->text);
    return type ? type->name : "an unknown type";
}

static const char *kind_of_value(Str text, const ElementType *type) {
    if (text.ptr[0] == '*')
        return "TAKES_TENSOR";
    if (str_is(text, "i1"))
        return "TAKES_BOOL";
    return type->code == 0 ? "TAKES_SIGNED" : type->code == 1 ? "TAKES_UNSIGNED" : "TAKES_FLOAT";
}

static void emit_param(StrBuf *c, const KernelParam *param, FormOfParam form) {
    static const char *const choices[] = {[PARAM_INTEGER] = "CHOOSES_INTEGER",
                                          [PARAM_FLAG] = "CHOOSES_BOOL",
                                          [PARAM_REAL] = "CHOOSES_REAL",
                                          [PARAM_TEXT] = "CHOOSES_TEXT"};
    if (form != PARAM_VALUE) {
        strbuf_printf(c, "\n    {%s, 0, 0, \"\"},", choices[form]);
        return;
    }
    const bool is_pointer = param->text.ptr[0] == '*';
    const ElementType *type = find_type(is_pointer ? element_of(param->text) : param->text);
    strbuf_printf(c, "\n    {%s, %u, %u, \"%s\"},", kind_of_value(param->text, type), type->code,
                  type->bits, type->name);
}

/* Documentation: "softmax(x_ptr: float32 tensor | float16 tensor, n: int32, BLOCK: 256 | 1024,
 * grid)" */

static void document_param(Arena *arena, const Groups *groups, const Door *door, uint32_t param,
                           StrBuf *out) {
    VEC(Str) said = {0};
    vec_for_each (number, &door->groups) {
        const Group *group = &groups->data[*number];
        for (uint32_t i = 0; i < group->count; i++) {
            const KernelParam *p = &group->variants[i]->facts.params[param];
            const char *text = p->is_constexpr ? str_dup(arena, p->text)
                               : p->text.ptr[0] == '*'
                                   ? str_format(arena, "%s tensor", param_type(p))
                                   : param_type(p);
            bool is_new = true;
            vec_for_each (other, &said)
                is_new &= !str_is(*other, text);
            if (!is_new)
                continue;
            strbuf_printf(out, "%s%s", said.len ? " | " : "", text);
            vec_push(arena, &said, str_from(text));
        }
    }
}

static void document(Arena *arena, const Groups *groups, const Door *door, StrBuf *out) {
    const Group *group = &groups->data[door->groups.data[0]];
    const KernelFacts *facts = group_facts(group);
    const char *separator = "";
    strbuf_printf(out, "%.*s(", STR_ARG(facts->meta.name));
    for (uint32_t i = 0; i < facts->param_count; i++) {
        if (group->forms[i] == PARAM_FIXED)
            continue;
        strbuf_printf(out, "%s%.*s: ", separator, STR_ARG(facts->params[i].name));
        document_param(arena, groups, door, i, out);
        separator = ", ";
    }
    if (!group_grid(group).len)
        strbuf_printf(out, "%sgrid_x: int, grid_y: int = 1, grid_z: int = 1", separator);
    strbuf_puts(out, ")");
    if (group_grid(group).len)
        strbuf_printf(out, ", grid (%.*s)", STR_ARG(group_grid(group)));
}

/* Tables */

static void emit_params(const Group *group, size_t number, StrBuf *c) {
    const KernelFacts *facts = group_facts(group);
    strbuf_printf(c, "static const FfiParam ffi_params_%zu[] = {", number);
    for (uint32_t i = 0; i < facts->param_count; i++)
        if (group->forms[i] != PARAM_FIXED)
            emit_param(c, &facts->params[i], group->forms[i]);
    strbuf_puts(c, "\n    {CHOOSES_TEXT, 0, 0, \"\"}};\n\n");
}

static void emit_names(const Group *group, size_t number, StrBuf *c) {
    const KernelFacts *facts = group_facts(group);
    strbuf_printf(c, "static const char *const ffi_names_%zu[] = {", number);
    for (uint32_t i = 0; i < facts->param_count; i++) {
        if (group->forms[i] == PARAM_FIXED)
            continue;
        emit_text(c, facts->params[i].name);
        strbuf_puts(c, ", ");
    }
    strbuf_puts(c, "NULL};\n");
}

static void emit_door(Arena *arena, const Groups *groups, const Door *door, size_t number,
                      StrBuf *rows, StrBuf *c) {
    const Group *first = &groups->data[door->groups.data[0]];
    StrBuf doc = strbuf(arena);
    document(arena, groups, door, &doc);
    emit_names(first, number, c);
    vec_for_each (group, &door->groups)
        emit_params(&groups->data[*group], *group, c);
    strbuf_printf(c, "static const FfiGroup ffi_groups_%zu[] = {\n", number);
    vec_for_each (group, &door->groups) {
        const char *grid = group_grid(first).len ? str_format(arena, "grid_%zu", *group) : "NULL";
        strbuf_printf(c, "    {&kernels[%zu], ffi_params_%zu, %s},\n", *group, *group, grid);
    }
    strbuf_puts(c, "};\n\n");
    strbuf_puts(rows, "    {");
    emit_text(rows, group_facts(first)->meta.name);
    strbuf_puts(rows, ", ");
    emit_text(rows, strbuf_str(&doc));
    strbuf_printf(rows, ", ffi_names_%zu, ffi_groups_%zu, %zu, %u},\n", number, number,
                  door->groups.len, group_count_arguments(first));
}

/* What tvm-ffi looks for: a kernel's function, and what documents it. */
static void emit_symbols(const Door *door, size_t number, StrBuf *c) {
    strbuf_printf(c,
                  "\nFFI_EXPORT int __tvm_ffi_%s(void *handle, const FfiAny *arguments,\n"
                  "    int32_t count, FfiAny *result) {\n    (void)handle;\n"
                  "    return ffi_call(&ffi_kernels[%zu], arguments, count, result);\n}\n"
                  "\nFFI_EXPORT int __tvm_ffi__doc_%s(void *handle, const FfiAny *arguments,\n"
                  "    int32_t count, FfiAny *result) {\n    (void)handle, (void)arguments, "
                  "(void)count;\n"
                  "    return ffi_doc(&ffi_kernels[%zu], result);\n}\n",
                  door->name, number, door->name, number);
}

/* Doors */

static const char *door_name(Arena *arena, Str kernel) {
    char *name = str_dup(arena, kernel);
    for (char *c = name; *c; c++)
        if (!(*c >= 'a' && *c <= 'z') && !(*c >= 'A' && *c <= 'Z') && !(*c >= '0' && *c <= '9'))
            *c = '_';
    return name;
}

static bool make_doors(Ctx *ctx, const Groups *groups, Doors *doors) {
    for (size_t i = 0; i < groups->len; i++) {
        const Group *group = &groups->data[i];
        const char *name = door_name(&ctx->arena, group_facts(group)->meta.name);
        Door *door = NULL;
        vec_for_each (other, doors)
            if (!strcmp(other->name, name))
                door = other;
        if (!door) {
            vec_push(&ctx->arena, doors, ((Door){.name = name}));
            door = &doors->data[doors->len - 1];
        }
        vec_push(&ctx->arena, &door->groups, i);
        const Group *first = &groups->data[door->groups.data[0]];
        if (!groups_same_kernel(first, group))
            return ctx_diag(ctx, (Span){0}, emit_ffi_names, STR_ARG(first->variants[0]->path),
                            STR_ARG(group->variants[0]->path), STR_ARG(str_from(name)));
        if (!groups_same_params(first, group))
            return ctx_diag(ctx, (Span){0}, emit_ffi_params, STR_ARG(str_from(name)),
                            STR_ARG(group->variants[0]->path));
        if (!group_grid(first).len != !group_grid(group).len)
            return ctx_diag(ctx, (Span){0}, emit_ffi_grids, STR_ARG(str_from(name)));
    }
    return true;
}

bool emit_tvm_ffi(Ctx *ctx, const Variant *variants, uint32_t count, StrBuf *c) {
    Groups groups;
    Doors doors = {0};
    StrBuf rows = strbuf(&ctx->arena);
    if (!groups_make(ctx, variants, count, GROUPS_TOGETHER, &groups) ||
        !make_doors(ctx, &groups, &doors))
        return false;
    emit_launcher(
        "/* Kernels that tilec compiled, as functions of tvm-ffi. Compile it to a shared\n"
        " * library, cc -shared -fPIC, which tvm_ffi.load_module loads. It needs the C "
        "library, and\n * loads the CUDA driver when a function is first called. */\n",
        variants, count, c);
    emit_tables(&ctx->arena, &groups, c);
    if (!emit_c_grids(ctx, &groups, c))
        return false;
    emit_types(c);
    strbuf_add(c, launcher_ffi_values_text, launcher_ffi_values_size);
    strbuf_putc(c, '\n');
    strbuf_add(c, launcher_ffi_text, launcher_ffi_size);
    strbuf_putc(c, '\n');
    for (size_t i = 0; i < doors.len; i++)
        emit_door(&ctx->arena, &groups, &doors.data[i], i, &rows, c);
    strbuf_printf(c,
                  "static const FfiKernel ffi_kernels[] = {\n%.*s};\n\n"
                  "#ifdef __cplusplus\n#define FFI_EXPORT extern \"C\" "
                  "__attribute__((visibility(\"default\")))\n#else\n"
                  "#define FFI_EXPORT __attribute__((visibility(\"default\")))\n#endif\n",
                  (int)rows.len, rows.ptr);
    for (size_t i = 0; i < doors.len; i++)
        emit_symbols(&doors.data[i], i, c);
    return true;
}
