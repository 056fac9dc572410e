/* docs/reference.md, from reference.def, builtins.def and std.tile.
 *
 *   reference_markdown                  prints it
 *   reference_markdown --check FILE     0 if FILE is it */
#include "frontend/reference.h"
#include "support/file.h"

#include <stdio.h>

static const char head[] =
    "# Builtins\n"
    "\n"
    "What each function of the language does: shapes and types that it takes, ids of the messages "
    "when it is given\n"
    "others, accuracy in units of the last place, the first version of Triton that has it. `tilec "
    "help tl.load` prints\n"
    "one. [language.md](language.md) has the rules that they share and a list with where each is "
    "found.\n"
    "\n"
    "Examples are lines of a kernel; behind them stand the type and the elements of `r`. In front "
    "of all of them stands\n"
    "\n"
    "```\n"
    "import math\n"
    "from collections import namedtuple\n"
    "import triton\n"
    "import triton.language as tl\n"
    "from triton.language.extra import libdevice\n"
    "\n"
    "Pair = namedtuple(\"Pair\", [\"a\", \"b\"])\n"
    "\n"
    "@tl.core._aggregate\n"
    "class Scaled:\n"
    "    value: tl.tensor\n"
    "    scale: tl.constexpr\n"
    "\n"
    "    @triton.constexpr_function\n"
    "    def __init__(self, value, scale):\n"
    "        self.value = value\n"
    "        self.scale = tl.constexpr(scale)\n"
    "\n"
    "@triton.jit\n"
    "def larger(a, b):\n"
    "    return tl.where(a > b, a, b)\n"
    "\n"
    "@triton.jit\n"
    "def example(p, q, ..):        # pointers to 64 numbers 0, 1, 2, .., of fp32 and of i32\n"
    "    i = tl.arange(0, 4)       # 0, 1, 2, 3 as i32\n"
    "    x = i.to(tl.float32)      # as fp32\n"
    "    d = i.to(tl.float64)      # as fp64\n"
    "```\n";

static void add_family(const ReferenceFamily *family, StrBuf *out) {
    strbuf_printf(out, "\n---\n\n- Shapes: %s\n- Types: %s\n- Errors: %s\n- Accuracy: %s\n",
                  family->shapes, family->types, family->errors, family->accuracy);
}

static void add_entry(const Signatures *signatures, const ReferenceEntry *entry, StrBuf *out) {
    strbuf_puts(out, "\n`");
    reference_call(signatures, entry->id, out);
    strbuf_puts(out, "` (");
    reference_since(entry, out);
    strbuf_printf(out, "): %s\n\n```python\n%s\n# %s\n```\n", entry->meaning, entry->example,
                  entry->expected);
}

static void add_page(const Signatures *signatures, StrBuf *out) {
    size_t count;
    const ReferenceRow *rows = reference_rows(&count);
    strbuf_puts(out, head);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].kind == REFERENCE_SECTION)
            strbuf_printf(out, "\n## %s\n", rows[i].u.section);
        else if (rows[i].kind == REFERENCE_FAMILY)
            add_family(&rows[i].u.family, out);
        else
            add_entry(signatures, &rows[i].u.entry, out);
    }
}

/* Every id that a family names is one of the table. */
static bool errors_exist(const char *errors) {
    for (const char *at = strstr(errors, "elab_"); at; at = strstr(at + 1, "elab_")) {
        const Str name = {at, strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789")};
        bool known = false;
        for (int id = 0; id < DIAG_COUNT && !known; id++)
            known = str_is(name, diag_name((DiagId)id));
        if (!known) {
            fprintf(stderr, "`%.*s` is no message\n", STR_ARG(name));
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv) {
    Ctx *ctx = ctx_create();
    Signatures signatures = signatures_read(ctx);
    StrBuf out = strbuf(&ctx->arena);
    add_page(&signatures, &out);
    size_t count;
    const ReferenceRow *rows = reference_rows(&count);
    int status = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].kind == REFERENCE_FAMILY && !errors_exist(rows[i].u.family.errors))
            status = 1;
    if (argc == 3 && strcmp(argv[1], "--check") == 0) {
        Str text;
        const bool same =
            file_read(&ctx->arena, argv[2], 1 << 24, &text) == 0 && str_eq(text, strbuf_str(&out));
        if (!same)
            fprintf(stderr, "%s is not current: it is the output of %s\n", argv[2], argv[0]);
        status |= !same;
    } else {
        fwrite(out.ptr, 1, out.len, stdout);
    }
    ctx_destroy(ctx);
    return status;
}
