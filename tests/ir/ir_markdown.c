/* Prints docs/ir.md from the tables of src/ir: types, attributes, grammar and every op.
 *
 *     ir_markdown                the text on standard output
 *     ir_markdown --check FILE   succeeds if FILE holds just that */
#include "markdown.h"

#include "ir/text.h"

/* What op_info does not keep: the name of the rule, and where sections begin. */
#define RULE_NAME_OUT0(rule) #rule
#define RULE_NAME_OUT1(rule) #rule
#define RULE_NAME_OUTT(rule) #rule
#define RULE_NAME_OUTV(rule) #rule
static const char *const rule_names[OP_COUNT] = {
#define OP(name, in, at, out, traits, summary) [OP_##name] = RULE_NAME_##out,
#define OP_E OP
#define OP_R(name, in, at, out, traits, regions, summary) [OP_##name] = RULE_NAME_##out,
#include "ir/ops.def"
};

typedef struct Row {
    const char *title, *notes; /* of a section, or NULL */
    OpCode code;
} Row;

static const Row rows[] = {
#define OP_SECTION(title, notes) {title, notes, OP_COUNT},
#define OP(name, ...) {NULL, NULL, OP_##name},
#define OP_E OP
#define OP_R OP
#include "ir/ops.def"
};

static const struct {
    const char *name, *definition;
} grammar[] = {
#define RULE(name, definition) {name, definition},
#include "ir/grammar.def"
};

static const char *const attr_kind_names[ATTR_KIND_COUNT] = {
    [ATTR_I64] = "integer", [ATTR_F64] = "float",     [ATTR_BOOL] = "bool",
    [ATTR_STR] = "string",  [ATTR_INTS] = "integers",
#define ENUM(kind, c_type) [ATTR_##kind] = #c_type,
#define VALUE(kind, id, text)
#define END(kind)
#include "ir/attrs.def"
};

static const struct {
    Trait trait;
    const char *name;
} trait_names[] = {{PURE, "pure"},
                   {COMMUTES, "commutes"},
                   {CHEAP, "cheap"},
                   {READS, "reads"},
                   {WRITES, "writes"},
                   {LREADS, "local reads"},
                   {LWRITES, "local writes"},
                   {SYNC, "sync"},
                   {TERMINATOR, "terminator"},
                   {ELEMENTWISE, "elementwise"},
                   {CONSTANT, "constant"},
                   {MOVES, "moves"},
                   {HINT, "hint"},
                   {CONVERTS, "converts"},
                   {EXTREMUM, "extremum"},
                   {QUOTIENT, "quotient"},
                   {TRANSCENDENTAL, "transcendental"},
                   {MAY_TRAP, "may trap"},
                   {COST_FMA, "costs an fma"},
                   {COST_SPECIAL, "costs a special function"},
                   {STORE, "store"},
                   {ATOMIC, "atomic"},
                   {BLOCK, "block"},
                   {TENSOR_COPY, "tensor copy"},
                   {ALLOCATES, "allocates"},
                   {SAYS, "says"},
                   {LOOP, "loop"},
                   {COMBINES, "combines"},
                   {BY_ELEMENT, "by element"},
                   {ACCUMULATES, "accumulates"},
                   {ONE_WARP, "one warp"}};

static void print_types(StrBuf *out) {
    strbuf_puts(out, "## Types\n\nElements:");
    for (int i = 0; i < DT_COUNT; i++)
        strbuf_printf(out, "%s `%s`", i ? "," : "", dtype_info[i].text);
    strbuf_puts(out,
                ", and pointers to them: `ptr<f32>`. Integers have no sign; ops that differ have "
                "two forms.\n\n");
    strbuf_printf(
        out,
        "- `f32`, `ptr<f32>`: scalars\n"
        "- `tile<64x32xf32>`, `tile<64xptr<f16>>`: tiles of at most %d dimensions, which "
        "are powers of two, and at most 2^%d elements\n"
        "- `tile<256xf32, {reg = [1], lane = [2, 4, 8, 16, 32], warp = [64, 128]}>`: with a "
        "layout, the images of the powers of two of each coordinate (src/types/layout.h). "
        "Either all tiles of a function have one (`has_layouts`) or none\n"
        "- `buffer<64x32xf32, {reg = [..]}>`: shared memory\n\n",
        MAX_RANK, MAX_TILE_BITS);
}

static void print_grammar(StrBuf *out) {
    strbuf_puts(out, "## Text\n\n```\n");
    for (size_t i = 0; i < sizeof grammar / sizeof *grammar; i++)
        strbuf_printf(out, "%-8s = %s\n", grammar[i].name, grammar[i].definition);
    strbuf_puts(
        out,
        "```\n\n`x*` is any number of x, `x,*` any number with commas between, `x?` at most one. "
        "An op "
        "ends with its line; lists may go on after an opening bracket or a comma. `//` begins a "
        "comment. Names of values are hints that the printer makes unique; a name of digits alone "
        "stands for none. Layouts may be named before the functions: `layout #L0 = {..}`.\n\n");
}

static void print_func_attrs(StrBuf *out) {
    strbuf_puts(out, "Attributes of functions, left out when zero:");
    const char *separator = " ";
#define PRINT_NAME(field, kind)                                                                    \
    strbuf_printf(out, "%s`%s`", separator, #field);                                               \
    separator = ", ";
    FUNC_ATTRS(PRINT_NAME)
    strbuf_puts(out, ". Of parameters: `divisible`, what a pointer (in bytes) or an integer is a "
                     "multiple of.\n\n");
}

static void print_attr_kinds(StrBuf *out) {
    strbuf_puts(out,
                "## Enumerated attributes\n\n| kind | values, the default first |\n|---|---|\n");
    for (int kind = 0; kind < ATTR_KIND_COUNT; kind++) {
        if (!attr_enum_text((AttrKind)kind, 0))
            continue;
        strbuf_printf(out, "| %s |", attr_kind_names[kind]);
        const char *text;
        for (int64_t i = 0; (text = attr_enum_text((AttrKind)kind, i)); i++)
            strbuf_printf(out, "%s `%s`", i ? "," : "", text);
        strbuf_puts(out, " |\n");
    }
    strbuf_putc(out, '\n');
}

static void print_operands(const OpInfo *info, StrBuf *out) {
    if (info->max_operands < 0) {
        strbuf_printf(out, "%s..", info->operand_names[0]);
        return;
    }
    for (int i = 0; i < info->max_operands; i++)
        strbuf_printf(out, "%s%s%s", i ? ", " : "", info->operand_names[i],
                      i >= info->min_operands ? "?" : "");
}

static void print_op(OpCode code, StrBuf *out) {
    const OpInfo *info = &op_info[code];
    strbuf_printf(out, "| `%s` | ", info->name);
    print_operands(info, out);
    strbuf_puts(out, " | ");
    for (int i = 0; i < info->attr_count; i++)
        strbuf_printf(out, "%s%s: %s%s", i ? ", " : "", attr_name_text(info->attr[i].name),
                      attr_kind_names[info->attr[i].kind], info->attr[i].optional ? "?" : "");
    static const char *const results[] = {[RESULT_NONE] = "none",
                                          [RESULT_INFERRED] = "one",
                                          [RESULT_STATED] = "one, stated",
                                          [RESULT_VARIADIC] = "any number, stated"};
    strbuf_printf(out, " | %s (%s) | ", results[info->results], rule_names[code]);
    const char *separator = "";
    for (size_t i = 0; i < sizeof trait_names / sizeof *trait_names; i++) {
        if (info->traits & trait_names[i].trait) {
            strbuf_printf(out, "%s%s", separator, trait_names[i].name);
            separator = ", ";
        }
    }
    if (info->regions)
        strbuf_printf(out, "%s%d region%s", separator, info->regions, info->regions > 1 ? "s" : "");
    strbuf_printf(out, " | %s |\n", info->summary);
}

/* Notes begin small and end without a full stop in ops.def. */
static void print_sentence(const char *text, StrBuf *out) {
    size_t len = strlen(text);
    if (len == 0)
        return;
    strbuf_putc(out, (char)(*text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text));
    strbuf_printf(out, "%s%s\n\n", text + 1, text[len - 1] == '.' ? "" : ".");
}

static void print_ops(StrBuf *out) {
    strbuf_puts(out,
                "## Ops\n\nA `?` marks what may be absent. The word in brackets after the results "
                "names the rule that checks the op and infers its result (src/ir/rules*.c).\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].title) {
            print_op(rows[i].code, out);
            continue;
        }
        strbuf_printf(out, "\n### %s\n\n", rows[i].title);
        print_sentence(rows[i].notes, out);
        strbuf_puts(out, "| op | operands | attributes | results | traits | meaning |\n"
                         "|---|---|---|---|---|---|\n");
    }
}

int main(int argc, char **argv) {
    Arena arena = {0};
    StrBuf out = strbuf(&arena);
    strbuf_puts(&out,
                "# Tile IR\n\nMade by tests/ir/ir_markdown.c from the tables of src/ir; do not "
                "edit.\n\n");
    print_types(&out);
    print_grammar(&out);
    print_func_attrs(&out);
    print_attr_kinds(&out);
    print_ops(&out);
    int status = markdown_main(argc, argv, strbuf_str(&out));
    arena_free(&arena);
    return status;
}
