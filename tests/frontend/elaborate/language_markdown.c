/* The list of builtins in docs/language.md, from builtins.def and std.tile.
 *
 *   language_markdown                  prints it
 *   language_markdown --check FILE     0 if FILE holds it */
#include "frontend/signatures.h"
#include "support/file.h"

#include <stdio.h>
#include <string.h>

typedef struct Row {
    const char *title;
    BuiltinId id;
} Row;

static const Row rows[] = {
#define SECTION(title) {title, BUILTIN_COUNT},
#define BUILTIN(id, ...) {NULL, BUILTIN_##id},
#include "frontend/builtins.def"
};

static const struct {
    ModuleSet module;
    const char *text;
} module_names[] = {
    {IN_PYTHON, "Python"},          {IN_TRITON, "`triton`"},    {IN_TL, "`tl`"},
    {IN_MATH, "`tl.math`"},         {IN_RANDOM, "`tl.random`"}, {IN_LIBDEVICE, "`libdevice`"},
    {IN_CUDA, "`tl.extra.cuda`"},   {IN_PYMATH, "`math`"},      {IN_COLLECTIONS, "`collections`"},
    {IN_TARGET, "`tl.target_info`"}};

/* A marker is named, never called: tl.tensor in isinstance(x, tl.tensor). */
static void print_builtin(const Signatures *signatures, const Builtin *builtin, StrBuf *out) {
    bool std = builtin->flags & BUILTIN_STD, marker = !std && !builtin->params[0];
    bool called = !marker || builtin->handler;
    strbuf_printf(out, "| `%s%s", builtin->name, called ? "(" : "");
    signatures_print(signatures, builtin, out);
    strbuf_printf(out, "%s` | ", called ? ")" : "");
    const char *separator = "";
    for (size_t i = 0; i < sizeof module_names / sizeof *module_names; i++) {
        if (builtin->modules & (uint32_t)module_names[i].module) {
            strbuf_printf(out, "%s%s", separator, module_names[i].text);
            separator = ", ";
        }
    }
    if (builtin->flags & BUILTIN_METHOD)
        strbuf_printf(out, "%smethod", separator);
    if (builtin->flags & BUILTIN_OF_BLOCK_POINTER)
        strbuf_printf(out, "%smethod of block pointers", separator);
    if (builtin->flags & BUILTIN_OF_TEXT)
        strbuf_printf(out, "%smethod of strings", separator);
    if (builtin->flags & BUILTIN_OF_DESCRIPTOR)
        strbuf_printf(out, "%smethod of descriptors", separator);
    strbuf_puts(out, " |\n");
}

static void print_not_covered(const Builtin *builtin, const char *separator, StrBuf *out) {
    strbuf_printf(out, "%s`%s%s`", separator,
                  builtin->modules & IN_LIBDEVICE ? "libdevice."
                  : builtin->modules & IN_CUDA    ? "tl.extra.cuda."
                  : builtin->modules & IN_TARGET  ? "tl.target_info."
                                                  : "tl.",
                  builtin->name);
}

static void print_builtins(const Signatures *signatures, StrBuf *out) {
    bool covered = true;
    const char *separator = "";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].title) {
            covered = strcmp(rows[i].title, "Not covered") != 0;
            strbuf_printf(out, "%s### %s\n\n", i ? "\n" : "", rows[i].title);
            strbuf_puts(out, covered ? "| builtin | found in |\n|---|---|\n" : "");
            continue;
        }
        const Builtin *builtin = &builtins[rows[i].id];
        if (!covered) {
            print_not_covered(builtin, separator, out);
            separator = ", ";
        } else if (builtin->name[0] && builtin->modules != IN_STD) {
            print_builtin(signatures, builtin, out);
        }
    }
    strbuf_puts(out, ".\n");
}

static bool file_holds(Arena *arena, const char *path, Str list) {
    Str text;
    return file_read(arena, path, 1 << 24, &text) == 0 &&
           memmem(text.ptr, text.len, list.ptr, list.len) != NULL;
}

int main(int argc, char **argv) {
    Ctx *ctx = ctx_create();
    Signatures signatures = signatures_read(ctx);
    StrBuf out = strbuf(&ctx->arena);
    print_builtins(&signatures, &out);
    int status = 0;
    if (argc == 3 && strcmp(argv[1], "--check") == 0) {
        status = !file_holds(&ctx->arena, argv[2], strbuf_str(&out));
        if (status)
            fprintf(stderr, "%s is not current: put the output of %s there\n", argv[2], argv[0]);
    } else {
        fwrite(out.ptr, 1, out.len, stdout);
    }
    ctx_destroy(ctx);
    return status;
}
