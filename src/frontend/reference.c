#include "frontend/reference.h"

/* A covered builtin without a row is a name that is not declared, here. */
#define ENTRY(id, ...) HAS_REFERENCE_##id = 1,
enum {
#include "frontend/reference.def"
};
#define UNDOCUMENTED_not_covered ~, 0
#define UNDOCUMENTED_type_predicate ~, 0 /* what p.dtype.is_ptr is, and has no name */
#define UNDOCUMENTED_lib_floats ~, 0     /* of the language's own files */
#define UNDOCUMENTED_choose ~, 0
#define UNDOCUMENTED_count ~, 0
#define UNDOCUMENTED_language ~, 0
#define SECOND(first, second, ...) second
#define SECOND_OF(...) SECOND(__VA_ARGS__, ~)
#define BUILTIN(id, name, modules, flags, params, handler)                                         \
    SECOND_OF(UNDOCUMENTED_##handler, HAS_REFERENCE_##id),
static const unsigned char documented[BUILTIN_COUNT] __attribute__((unused)) = {
#include "frontend/builtins.def"
};

#define REFERENCE_SECTION(title) {.kind = REFERENCE_SECTION, .u.section = title},
#define FAMILY(shapes, types, errors, accuracy)                                                    \
    {.kind = REFERENCE_FAMILY, .u.family = {shapes, types, errors, accuracy}},
#define ENTRY(id, since, meaning, example, expected)                                               \
    {.kind = REFERENCE_ENTRY, .u.entry = {BUILTIN_##id, since, meaning, example, expected}},
static const ReferenceRow rows[] = {
#include "frontend/reference.def"
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

const ReferenceRow *reference_rows(size_t *count) {
    *count = ROW_COUNT;
    return rows;
}

/* What stands in front of a name, by the first of its modules. */
static const char *prefix_of(const Builtin *builtin) {
    static const struct {
        ModuleSet module;
        const char *text;
    } table[] = {{IN_PYTHON, ""},
                 {IN_TL, "tl."},
                 {IN_MATH, "tl.math."},
                 {IN_RANDOM, "tl.random."},
                 {IN_TRITON, "triton."},
                 {IN_LIBDEVICE, "libdevice."},
                 {IN_PYMATH, "math."},
                 {IN_CUDA, "tl.extra.cuda."},
                 {IN_TARGET, "tl.target_info."},
                 {IN_COLLECTIONS, "collections."}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (builtin->modules & (uint32_t)table[i].module)
            return table[i].text;
    return builtin->flags & BUILTIN_OF_TEXT            ? "s."
           : builtin->flags & BUILTIN_OF_INT           ? "i."
           : builtin->flags & BUILTIN_OF_DESCRIPTOR    ? "d."
           : builtin->flags & BUILTIN_OF_BLOCK_POINTER ? "b."
                                                       : "x.";
}

const ReferenceRow *reference_find(Str name, size_t *at) {
    while (*at < ROW_COUNT) {
        const ReferenceRow *row = &rows[(*at)++];
        if (row->kind != REFERENCE_ENTRY)
            continue;
        const Builtin *builtin = &builtins[row->u.entry.id];
        const char *prefix = prefix_of(builtin);
        const size_t length = strlen(prefix);
        const bool whole = name.len > length && memcmp(name.ptr, prefix, length) == 0 &&
                           str_is((Str){name.ptr + length, name.len - length}, builtin->name);
        if (whole || str_is(name, builtin->name))
            return row;
    }
    return NULL;
}

void reference_call(const Signatures *signatures, BuiltinId id, StrBuf *out) {
    const Builtin *builtin = &builtins[id];
    const bool marker = !(builtin->flags & BUILTIN_STD) && !builtin->params[0] && !builtin->handler;
    strbuf_printf(out, "%s%s", prefix_of(builtin), builtin->name);
    if (marker)
        return;
    strbuf_putc(out, '(');
    signatures_print(signatures, builtin, out);
    strbuf_putc(out, ')');
}

void reference_since(const ReferenceEntry *entry, StrBuf *out) {
    const bool is_version = entry->since[0] >= '0' && entry->since[0] <= '9';
    strbuf_printf(out, "%s%s", is_version ? "Triton " : "", entry->since);
}

/* Lines of the example, indented. */
static void add_lines(const char *text, StrBuf *out) {
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");
        strbuf_printf(out, "    %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

void reference_text(const Signatures *signatures, const ReferenceRow *row, StrBuf *out) {
    const ReferenceRow *family = row;
    while (family->kind != REFERENCE_FAMILY)
        family--;
    const ReferenceEntry *entry = &row->u.entry;
    reference_call(signatures, entry->id, out);
    strbuf_printf(out, "\n\n%s\n\n", entry->meaning);
    strbuf_printf(out, "Shapes:    %s\nTypes:     %s\nErrors:    %s\nAccuracy:  %s\n",
                  family->u.family.shapes, family->u.family.types, family->u.family.errors,
                  family->u.family.accuracy);
    strbuf_puts(out, "Since:     ");
    reference_since(entry, out);
    strbuf_puts(out, "\n\n");
    add_lines(entry->example, out);
    strbuf_printf(out, "    # %s\n", entry->expected);
}
