/* A comparison as tables of at most 120 columns. */
#include "inspect/compare_parts.h"
#include "sim/report/report.h"

#include <stdlib.h>

enum { NAME_WIDTH = 42, TEXT_WIDTH = 48, LIST_WIDTH = 116 };

typedef struct Printer {
    const CodeComparison *c;
    const CompareView *view;
    StrBuf *out;
    const char *title; /* of the section, until its first row is there */
    unsigned indent;
} Printer;

static Str base_name(Str path) {
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
    const size_t skip = slash ? (size_t)(slash - path.ptr) + 1 : 0;
    return (Str){path.ptr + skip, path.len - skip};
}

static void begin_section(Printer *p, const char *title) {
    p->title = title;
    p->indent = 2;
}

static void end_line(StrBuf *out) {
    while (out->len && out->ptr[out->len - 1] == ' ')
        out->len--;
    strbuf_putc(out, '\n');
}

static void print_title(Printer *p) {
    if (!p->title)
        return;
    strbuf_printf(p->out, "\n%-*s%10s%12s%12s%10s\n", NAME_WIDTH, p->title, "A", "B", "difference",
                  "percent");
    p->title = NULL;
}

/* "+12" and "+5.0%"; empty where there is no difference, or none in percent. */
static void print_difference(StrBuf *out, int64_t a, int64_t b) {
    if (a == b)
        return;
    strbuf_printf(out, "%12s", str_format(out->arena, "%+" PRId64, b - a));
    if (a)
        strbuf_printf(out, "%10s",
                      str_format(out->arena, "%+.1f%%", 100.0 * (double)(b - a) / (double)a));
    else
        strbuf_printf(out, "%10s", "");
}

static void print_row(Printer *p, Str name, int64_t a, int64_t b) {
    print_title(p);
    strbuf_printf(p->out, "%*s%-*.*s%10" PRId64 "%12" PRId64, (int)p->indent, "",
                  (int)(NAME_WIDTH - p->indent), STR_ARG(name), a, b);
    print_difference(p->out, a, b);
    end_line(p->out);
}

static void print_counts(Printer *p, Str name, int64_t a, int64_t b) {
    if (a != b || (p->view->all && a))
        print_row(p, name, a, b);
}

/* Measures. */

static const char *value_text(Arena *arena, const MeasureValue *value) {
    switch (value->state) {
    case MEASURED_NOT:
        return "-";
    case MEASURED_ESTIMATE:
        return str_format(arena, "~%" PRId64, value->value);
    case MEASURED:
        break;
    }
    return str_format(arena, "%" PRId64, value->value);
}

static const char *verdict(const MeasureInfo *info, int64_t difference) {
    if (!difference || info->better == BETTER_SAME)
        return "";
    return (difference < 0) == (info->better == BETTER_LOWER) ? "better" : "worse";
}

static void print_measure(Printer *p, Measure measure) {
    const MeasureInfo *info = &measure_info[measure];
    const MeasureValue *a = &p->c->a->measures[measure], *b = &p->c->b->measures[measure];
    const bool known = a->state != MEASURED_NOT && b->state != MEASURED_NOT;
    const bool none = a->state == MEASURED_NOT && b->state == MEASURED_NOT;
    const bool nothing = known && !a->value && !b->value && info->group == MEASURES_CLASSES;
    const bool equal = known && a->value == b->value && a->state == b->state;
    if (none || nothing || (equal && !p->view->all))
        return;
    Arena *arena = p->out->arena;
    print_title(p);
    const char *name =
        *info->unit ? str_format(arena, "%s, %s", info->name, info->unit) : info->name;
    strbuf_printf(p->out, "  %-*s%10s%12s", NAME_WIDTH - 2, name, value_text(arena, a),
                  value_text(arena, b));
    if (known && a->value != b->value) {
        print_difference(p->out, a->value, b->value);
        strbuf_printf(p->out, "  %s", verdict(info, b->value - a->value));
    }
    end_line(p->out);
}

static void print_measures(Printer *p, MeasureGroup group, const char *title) {
    begin_section(p, title);
    for (int i = 0; i < MEASURE_COUNT; i++)
        if (measure_info[i].group == group)
            print_measure(p, (Measure)i);
}

/* "- of B: spills, spill-stores: there is no ptxas": the measures of a state for one reason. */
static void print_reason(Printer *p, const CodeFacts *facts, const char *side, int first) {
    const MeasureValue *value = &facts->measures[first];
    StrBuf names = strbuf(p->out->arena);
    for (int i = first; i < MEASURE_COUNT; i++) {
        const MeasureValue *other = &facts->measures[i];
        if (other->state == value->state && !strcmp(other->why, value->why))
            strbuf_printf(&names, "%s%s", names.len ? ", " : "", measure_info[i].name);
    }
    strbuf_printf(p->out, "  %s of %s: %s: %s\n",
                  value->state == MEASURED_NOT ? "- not known" : "~ an estimate", side, names.ptr,
                  value->why);
}

static bool was_said(const CodeFacts *facts, int measure) {
    const MeasureValue *value = &facts->measures[measure];
    for (int i = 0; i < measure; i++)
        if (facts->measures[i].state == value->state &&
            !strcmp(facts->measures[i].why ? facts->measures[i].why : "", value->why))
            return true;
    return false;
}

/* Whether both sides lack the same for the same reasons. */
static bool same_reasons(const CodeFacts *a, const CodeFacts *b) {
    for (int i = 0; i < MEASURE_COUNT; i++) {
        const MeasureValue *x = &a->measures[i], *y = &b->measures[i];
        if (x->state != y->state || strcmp(x->why ? x->why : "", y->why ? y->why : "") != 0)
            return false;
    }
    return true;
}

static void print_reasons(Printer *p, const CodeFacts *facts, const char *side) {
    for (int i = 0; i < MEASURE_COUNT; i++)
        if (facts->measures[i].state != MEASURED && !was_said(facts, i))
            print_reason(p, facts, side, i);
}

static void print_unknown(Printer *p) {
    const CodeFacts *a = p->c->a, *b = p->c->b;
    const bool same = same_reasons(a, b);
    if (same && p->c->same && !p->view->all)
        return;
    if (p->title)
        strbuf_putc(p->out, '\n');
    print_reasons(p, a, same ? "both" : "A");
    if (!same)
        print_reasons(p, b, "B");
}

static void print_limiters(Printer *p) {
    const Str a = p->c->a->limited_by, b = p->c->b->limited_by;
    if (!a.len || !b.len || (str_eq(a, b) && !p->view->all))
        return;
    print_title(p);
    strbuf_printf(p->out, "  what limits ctas: %.*s in A, %.*s in B\n", STR_ARG(a), STR_ARG(b));
}

/* Forms and loops. */

static void print_forms(Printer *p, const FormCounts *a, const FormCounts *b) {
    const FormPairs pairs = pair_forms(p->out->arena, a, b);
    vec_for_each (pair, &pairs)
        print_counts(p, pair->form, pair->a, pair->b);
}

/* The text in TEXT_WIDTH bytes, cut at a character. */
static Str short_text(Arena *arena, Str text) {
    while (text.len && (*text.ptr == ' ' || *text.ptr == '\t'))
        text = (Str){text.ptr + 1, text.len - 1};
    size_t len = text.len < TEXT_WIDTH ? text.len : TEXT_WIDTH - 3;
    while (len && len < text.len && ((unsigned char)text.ptr[len] & 0xc0) == 0x80)
        len--;
    return str_from(str_format(arena, "%.*s%s", (int)len, text.ptr, len < text.len ? "..." : ""));
}

static const char *place_text(Arena *arena, const CodeLine *line) {
    const Str name = base_name(line->file);
    return str_format(arena, "%.*s:%u", STR_ARG(name), line->line);
}

/* Of a name that is too long its end. */
static const char *short_place(Arena *arena, const CodeLine *line) {
    enum { PLACE_WIDTH = 22 };
    const char *text = line ? place_text(arena, line) : "";
    const size_t len = strlen(text);
    return len <= PLACE_WIDTH ? text : str_format(arena, "..%s", text + len - (PLACE_WIDTH - 2));
}

/* "softmax.tile:30  for k in range(..)" */
static const char *loop_place(Arena *arena, const CodeFacts *facts, const CodeLoop *loop) {
    if (loop->at == NO_LINE)
        return "of no line";
    const CodeLine *line = &facts->lines.data[loop->at];
    const Str text = short_text(arena, line->text);
    return str_format(arena, "%s  %.*s", place_text(arena, line), STR_ARG(text));
}

static void print_where(Printer *p, const CodeLoop *loop, const char *side) {
    strbuf_printf(p->out, "%s lines %u to %u of the PTX, depth %u", side, loop->first, loop->last,
                  loop->depth);
}

static void print_loop_head(Printer *p, const CodeLoop *a, const CodeLoop *b) {
    Arena *arena = p->out->arena;
    const char *at = loop_place(arena, a ? p->c->a : p->c->b, a ? a : b);
    const char *wait = (a ? a : b)->is_wait ? "wait" : "loop";
    strbuf_printf(p->out, "\n%s at %s\n  ", wait, at);
    if (a && b && a->at != NO_LINE && b->at != NO_LINE) {
        const CodeLine *x = &p->c->a->lines.data[a->at], *y = &p->c->b->lines.data[b->at];
        if (x->line != y->line || !str_eq(base_name(x->file), base_name(y->file)))
            strbuf_printf(p->out, "in B at %s; ", place_text(arena, y));
    }
    if (a)
        print_where(p, a, b ? "A:" : "only in A:");
    if (b)
        print_where(p, b, a ? "; B:" : "only in B:");
    strbuf_putc(p->out, '\n');
}

static bool loop_differs(const CodeLoop *a, const CodeLoop *b, Arena *arena) {
    const FormPairs pairs = pair_forms(arena, &a->forms, &b->forms);
    vec_for_each (pair, &pairs)
        if (pair->a != pair->b)
            return true;
    return false;
}

/* Of a loop that only one side has, its classes will do, and of a wait that it is there. */
static void print_loop(Printer *p, const CodeLoop *a, const CodeLoop *b) {
    static const CodeLoop none;
    const bool alone = !a || !b, waits = (a ? a : b)->is_wait;
    print_title(p);
    print_loop_head(p, a, b);
    if (alone && waits && !p->view->all)
        return;
    a = a ? a : &none;
    b = b ? b : &none;
    p->indent = 2;
    print_row(p, STR("instructions"), a->instructions, b->instructions);
    for (int class = 0; class < CLASS_COUNT; class ++)
        print_counts(p, str_from(sim_class_name[class]), code_class_count(&a->forms, class),
                     code_class_count(&b->forms, class));
    p->indent = 4;
    if (!alone || p->view->all)
        print_forms(p, &a->forms, &b->forms);
}

static void print_loops(Printer *p) {
    unsigned same = 0;
    begin_section(p, "loops");
    vec_for_each (pair, &p->c->loops) {
        const CodeLoop *a = pair->a < 0 ? NULL : &p->c->a->loops.data[pair->a];
        const CodeLoop *b = pair->b < 0 ? NULL : &p->c->b->loops.data[pair->b];
        const bool equal = a && b && !loop_differs(a, b, p->out->arena);
        same += equal;
        if (!equal || p->view->all)
            print_loop(p, a, b);
    }
    if (same && !p->view->all && !p->c->same)
        strbuf_printf(p->out, "\n%u loop%s the same\n", same, same == 1 ? " is" : "s are");
}

/* Lines. */

typedef struct LineRow {
    const CodeLine *a, *b;
    int64_t in_a, in_b;
} LineRow;

static int by_difference(const void *p, const void *q) {
    const LineRow *x = p, *y = q;
    const int64_t of_x = llabs(x->in_b - x->in_a), of_y = llabs(y->in_b - y->in_a);
    if (of_x != of_y)
        return of_x > of_y ? -1 : 1;
    if (x->in_a != y->in_a)
        return x->in_a > y->in_a ? -1 : 1;
    const CodeLine *first = x->a ? x->a : x->b, *second = y->a ? y->a : y->b;
    if (!first || !second)
        return !first - !second;
    return line_order(first, second);
}

static void print_line(Printer *p, const LineRow *row) {
    Arena *arena = p->out->arena;
    const CodeLine *line = row->a ? row->a : row->b;
    const Str text = line ? short_text(arena, line->text) : STR("(of no line)");
    if (row->in_a == row->in_b && !p->view->all)
        return;
    if (p->title)
        strbuf_printf(p->out, "\n%-24s%-24s%8s%8s%12s%10s\n", p->title, "", "A", "B", "difference",
                      "percent");
    p->title = NULL;
    strbuf_printf(p->out, "  %-22s%-24s%8" PRId64 "%8" PRId64, short_place(arena, row->a),
                  short_place(arena, row->b), row->in_a, row->in_b);
    print_difference(p->out, row->in_a, row->in_b);
    if (row->in_a == row->in_b)
        strbuf_printf(p->out, "%22s", "");
    strbuf_printf(p->out, "  %.*s", STR_ARG(text));
    end_line(p->out);
}

static void print_lines(Printer *p) {
    const CodeComparison *c = p->c;
    LineRow *rows = ARENA_ARRAY(p->out->arena, LineRow, c->lines.len + 1);
    size_t count = 0;
    vec_for_each (pair, &c->lines) {
        const CodeLine *a = pair->a < 0 ? NULL : &c->a->lines.data[pair->a];
        const CodeLine *b = pair->b < 0 ? NULL : &c->b->lines.data[pair->b];
        rows[count++] = (LineRow){a, b, a ? a->count : 0, b ? b->count : 0};
    }
    rows[count++] = (LineRow){NULL, NULL, c->a->no_line, c->b->no_line};
    qsort(rows, count, sizeof *rows, by_difference);
    begin_section(p, "instructions by line");
    for (size_t i = 0; i < count; i++)
        print_line(p, &rows[i]);
}

static void print_limits(Printer *p) {
    const CodeComparison *c = p->c;
    if (c->limit_count)
        strbuf_puts(p->out, "\nlimits\n");
    for (uint32_t i = 0; i < c->limit_count; i++) {
        const LimitResult *result = &c->limits[i];
        const char *said = result->holds ? "holds" : "is exceeded";
        strbuf_printf(p->out, "  %-*.*s%s", NAME_WIDTH - 2, STR_ARG(result->limit.text), said);
        if (result->worse > 0)
            strbuf_printf(p->out, ": worse by %" PRId64, result->worse);
        strbuf_putc(p->out, '\n');
    }
}

static void print_side(const CodeFacts *facts, const char *side, StrBuf *out) {
    strbuf_printf(out, "%s  %.*s: %.*s for %.*s\n", side, STR_ARG(facts->path),
                  STR_ARG(facts->kernel), STR_ARG(facts->target));
}

void compare_print(const CodeComparison *c, const CompareView *view, StrBuf *out) {
    Printer p = {.c = c, .view = view, .out = out};
    print_side(c->a, "A", out);
    print_side(c->b, "B", out);
    if (c->same)
        strbuf_puts(out, "\nno differences\n");
    print_measures(&p, MEASURES_RESOURCES, "resources");
    print_limiters(&p);
    print_unknown(&p);
    print_measures(&p, MEASURES_CODE, "code");
    print_measures(&p, MEASURES_CLASSES, "instructions by class");
    begin_section(&p, "instructions by form");
    print_forms(&p, &c->a->forms, &c->b->forms);
    print_loops(&p);
    if (view->lines)
        print_lines(&p);
    print_limits(&p);
}
