/* Prints docs/rules.md from the rows of rules.def.
 *
 *     rules_markdown                the text on standard output
 *     rules_markdown --check FILE   succeeds if FILE holds just that */
#include "../../ir/markdown.h"

typedef struct Row {
    const char *section; /* or NULL, and the columns of a row */
    const char *name, *pattern, *when, *gate, *result, *exactness;
} Row;

static const Row rows[] = {
#define RULE_SECTION(title) {.section = title},
#define ROOT(op)
#define END(op)
#define RULE(name, pattern, when, result, exactness)                                               \
    {NULL, #name, #pattern, #when, NULL, #result, #exactness},
#define GATED(name, pattern, when, gate, result, exactness)                                        \
    {NULL, #name, #pattern, #when, #gate, #result, #exactness},
#include "passes/simplify/rules.def"
};

static const char head[] =
    "# Algebraic rules\n\n"
    "Made by tests/passes/simplify/rules_markdown.c from src/passes/simplify/rules.def, whose head "
    "explains the notation;\n"
    "do not edit.\n\n"
    "simplify tries the rows of an op in this order. x, y, z, s are any values, c and d constants, "
    "k is the same in all\n"
    "elements. What must hold besides is in words of `src/passes/simplify/rule_table.c`. `EXACT` "
    "is bit for bit,\n"
    "`EXACT_NAN` but for the bits of a NaN, `ROUNDED(n)` within n roundings of the largest value "
    "on the way.\n";

/* A cell of a table ends at a bar. */
static void print_code(const char *code, StrBuf *out) {
    strbuf_putc(out, '`');
    for (; *code; code++)
        strbuf_printf(out, *code == '|' ? "\\|" : "%c", *code);
    strbuf_putc(out, '`');
}

static void print_row(const Row *row, StrBuf *out) {
    strbuf_printf(out, "| %s | ", row->name);
    print_code(row->pattern, out);
    strbuf_puts(out, " | ");
    if (strcmp(row->when, "ALWAYS") != 0)
        print_code(row->when, out);
    if (row->gate) {
        strbuf_puts(out, ", gate ");
        print_code(row->gate, out);
    }
    strbuf_puts(out, " | ");
    print_code(row->result, out);
    strbuf_printf(out, " | %s |\n", row->exactness);
}

int main(int argc, char **argv) {
    Arena arena = {0};
    StrBuf out = strbuf(&arena);
    strbuf_puts(&out, head);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].section) {
            print_row(&rows[i], &out);
            continue;
        }
        strbuf_printf(&out, "\n## %s\n\n", rows[i].section);
        strbuf_puts(&out,
                    "| rule | pattern | when | result | exactness |\n|---|---|---|---|---|\n");
    }
    int status = markdown_main(argc, argv, strbuf_str(&out));
    arena_free(&arena);
    return status;
}
