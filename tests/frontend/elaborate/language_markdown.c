/* The lists in docs/language.md: of the versions, from language.def, and of builtins, from
 * builtins.def and std.tile.
 *
 *   language_markdown                  prints them
 *   language_markdown --check FILE     0 if FILE holds both */
#include "frontend/language.h"
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
    if (builtin->flags & BUILTIN_OF_INT)
        strbuf_printf(out, "%smethod of integers", separator);
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

static void print_version(int32_t version, StrBuf *out) {
    strbuf_printf(out, "%d.%d", version / 10, version % 10);
}

/* `what` in its rows from `version` on. */
static void print_from(int32_t version, const char *what, StrBuf *out) {
    strbuf_puts(out, "| ");
    print_version(version, out);
    strbuf_printf(out, " | %s |\n", what);
}

static void print_changes(StrBuf *out) {
    strbuf_puts(out, "| from | construct | before | since then | unless a version is asked for |\n"
                     "|---|---|---|---|---|\n");
    for (int i = 0; i < LANGUAGE_CHANGE_COUNT; i++) {
        const LanguageChangeRow *row = &language_changes[i];
        strbuf_puts(out, "| ");
        print_version(row->since, out);
        strbuf_printf(out, " | %s | %s | %s | %s |\n", row->construct, row->before, row->after,
                      row->holds ? "the latter" : "the former, and a remark");
    }
}

static void print_additions(Arena *arena, StrBuf *out) {
    strbuf_puts(out, "\n| from | construct |\n|---|---|\n");
    for (int i = 0; i < LANGUAGE_FEATURE_COUNT; i++)
        print_from(language_features[i].version, language_features[i].construct, out);
    for (size_t i = 0; i < language_parameter_count; i++) {
        const LanguageParameter *row = &language_parameters[i];
        print_from(row->since,
                   str_format(arena, "the argument `%s` of `tl.%s`", row->name,
                              builtins[row->builtin].name),
                   out);
    }
    strbuf_puts(out, "\n| up to | construct |\n|---|---|\n");
    for (int i = 0; i < LANGUAGE_END_COUNT; i++)
        print_from(language_ends[i].version, language_ends[i].construct, out);
}

static bool file_holds(Arena *arena, const char *path, Str list) {
    Str text;
    return file_read(arena, path, 1 << 24, &text) == 0 &&
           memmem(text.ptr, text.len, list.ptr, list.len) != NULL;
}

int main(int argc, char **argv) {
    Ctx *ctx = ctx_create();
    Signatures signatures = signatures_read(ctx);
    StrBuf out = strbuf(&ctx->arena), versions = strbuf(&ctx->arena);
    print_builtins(&signatures, &out);
    print_changes(&versions);
    print_additions(&ctx->arena, &versions);
    int status = 0;
    if (argc == 3 && strcmp(argv[1], "--check") == 0) {
        status = !file_holds(&ctx->arena, argv[2], strbuf_str(&out)) ||
                 !file_holds(&ctx->arena, argv[2], strbuf_str(&versions));
        if (status)
            fprintf(stderr, "%s is not current: put the output of %s there\n", argv[2], argv[0]);
    } else {
        fwrite(versions.ptr, 1, versions.len, stdout);
        fputc('\n', stdout);
        fwrite(out.ptr, 1, out.len, stdout);
    }
    ctx_destroy(ctx);
    return status;
}
