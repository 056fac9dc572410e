/* Facts and comparisons as JSON; docs/inspecting.md has the form. */
#include "inspect/compare_parts.h"
#include "sim/report/report.h"

static const char *separator(size_t index) {
    return index ? ", " : "";
}

static void add_measure(const MeasureValue *value, StrBuf *out) {
    if (value->state == MEASURED_NOT) {
        strbuf_puts(out, "{\"value\": null, \"why\": ");
        strbuf_json(out, str_from(value->why));
    } else {
        strbuf_printf(out, "{\"value\": %" PRId64, value->value);
        if (value->state == MEASURED_ESTIMATE) {
            strbuf_puts(out, ", \"estimate\": ");
            strbuf_json(out, str_from(value->why));
        }
    }
    strbuf_putc(out, '}');
}

static uint32_t form_index(const CodeFacts *facts, const FormCount *form) {
    uint32_t i = 0;
    while (form_order(&facts->forms.data[i], form))
        i++;
    return i;
}

static void add_index(int64_t index, StrBuf *out) {
    if (index < 0)
        strbuf_puts(out, "null");
    else
        strbuf_printf(out, "%" PRId64, index);
}

static void add_loop(const CodeFacts *facts, const CodeLoop *loop, StrBuf *out) {
    strbuf_puts(out, "{\"parent\": ");
    add_index(loop->parent, out);
    strbuf_puts(out, ", \"line\": ");
    add_index(loop->at == NO_LINE ? -1 : (int64_t)loop->at, out);
    strbuf_printf(out, ", \"ptx\": [%u, %u], \"waits\": %s, \"inner\": %s, \"instructions\": %u",
                  loop->first, loop->last, loop->is_wait ? "true" : "false",
                  loop->is_inner ? "true" : "false", loop->instructions);
    strbuf_puts(out, ", \"forms\": [");
    for (size_t i = 0; i < loop->forms.len; i++)
        strbuf_printf(out, "%s[%u, %u]", separator(i), form_index(facts, &loop->forms.data[i]),
                      loop->forms.data[i].count);
    strbuf_puts(out, "], \"lines\": [");
    for (size_t i = 0; i < loop->lines.len; i++)
        strbuf_printf(out, "%s[%u, %u]", separator(i), loop->lines.data[i].line,
                      loop->lines.data[i].count);
    strbuf_puts(out, "]}");
}

static void add_line(const CodeLine *line, StrBuf *out) {
    strbuf_puts(out, "{\"file\": ");
    strbuf_json(out, line->file);
    strbuf_printf(out, ", \"line\": %u, \"text\": ", line->line);
    strbuf_json(out, line->text);
    strbuf_printf(out, ", \"count\": %u}", line->count);
}

void code_json(const CodeFacts *facts, StrBuf *out) {
    strbuf_printf(out, "{\"version\": %d, \"path\": ", CODE_JSON_VERSION);
    strbuf_json(out, facts->path);
    strbuf_puts(out, ", \"kernel\": ");
    strbuf_json(out, facts->kernel);
    strbuf_puts(out, ", \"target\": ");
    strbuf_json(out, facts->target);
    strbuf_puts(out, ", \"limited_by\": ");
    if (facts->limited_by.len)
        strbuf_json(out, facts->limited_by);
    else
        strbuf_puts(out, "null");
    strbuf_puts(out, ",\n \"measures\": {");
    for (int i = 0; i < MEASURE_COUNT; i++) {
        strbuf_printf(out, "%s\"%s\": ", i ? ",\n  " : "", measure_info[i].name);
        add_measure(&facts->measures[i], out);
    }
    strbuf_puts(out, "},\n \"forms\": [");
    for (size_t i = 0; i < facts->forms.len; i++) {
        const FormCount *form = &facts->forms.data[i];
        strbuf_printf(out, "%s{\"form\": ", i ? ",\n  " : "");
        strbuf_json(out, form->form);
        strbuf_printf(out, ", \"class\": \"%s\", \"count\": %u}", sim_class_name[form->class],
                      form->count);
    }
    strbuf_puts(out, "],\n \"lines\": [");
    for (size_t i = 0; i < facts->lines.len; i++) {
        strbuf_puts(out, i ? ",\n  " : "");
        add_line(&facts->lines.data[i], out);
    }
    strbuf_printf(out, "],\n \"no_line\": %u,\n \"loops\": [", facts->no_line);
    for (size_t i = 0; i < facts->loops.len; i++) {
        strbuf_puts(out, i ? ",\n  " : "");
        add_loop(facts, &facts->loops.data[i], out);
    }
    strbuf_puts(out, "]}");
}

/* Comparisons. */

static const char *const better_names[] = {"lower", "higher", "same"};
static const char *const group_names[] = {"resources", "code", "classes"};

static void add_value(const MeasureValue *value, StrBuf *out) {
    if (value->state == MEASURED_NOT)
        strbuf_puts(out, "null");
    else
        strbuf_printf(out, "%" PRId64, value->value);
}

/* A difference, and how much of the first that is: null where that is 0 or either is not known. */
static void add_difference(const MeasureValue *a, const MeasureValue *b, StrBuf *out) {
    const bool known = a->state != MEASURED_NOT && b->state != MEASURED_NOT;
    strbuf_puts(out, ", \"difference\": ");
    if (known)
        strbuf_printf(out, "%" PRId64, b->value - a->value);
    else
        strbuf_puts(out, "null");
    strbuf_puts(out, ", \"percent\": ");
    if (known && a->value)
        strbuf_printf(out, "%.2f", 100.0 * (double)(b->value - a->value) / (double)a->value);
    else
        strbuf_puts(out, "null");
}

static void add_measures(const CodeComparison *c, StrBuf *out) {
    strbuf_puts(out, ",\n\"measures\": [");
    for (int i = 0; i < MEASURE_COUNT; i++) {
        const MeasureInfo *info = &measure_info[i];
        const MeasureValue *a = &c->a->measures[i], *b = &c->b->measures[i];
        strbuf_printf(out,
                      "%s{\"name\": \"%s\", \"unit\": \"%s\", \"better\": \"%s\", \"group\": "
                      "\"%s\", \"a\": ",
                      i ? ",\n  " : "", info->name, info->unit, better_names[info->better],
                      group_names[info->group]);
        add_value(a, out);
        strbuf_puts(out, ", \"b\": ");
        add_value(b, out);
        add_difference(a, b, out);
        const bool estimate = a->state == MEASURED_ESTIMATE || b->state == MEASURED_ESTIMATE;
        strbuf_printf(out, ", \"estimate\": %s}", estimate ? "true" : "false");
    }
    strbuf_putc(out, ']');
}

static void add_forms(const FormCounts *a, const FormCounts *b, const char *between, StrBuf *out) {
    const FormPairs pairs = pair_forms(out->arena, a, b);
    strbuf_puts(out, "\"forms\": [");
    for (size_t i = 0; i < pairs.len; i++) {
        const FormPair *pair = &pairs.data[i];
        strbuf_puts(out, i ? between : "");
        strbuf_puts(out, "{\"form\": ");
        strbuf_json(out, pair->form);
        strbuf_printf(out, ", \"class\": \"%s\", \"a\": %u, \"b\": %u}",
                      sim_class_name[pair->class], pair->a, pair->b);
    }
    strbuf_putc(out, ']');
}

static void add_pair(const CodePair *pair, StrBuf *out) {
    strbuf_puts(out, "{\"a\": ");
    add_index(pair->a, out);
    strbuf_puts(out, ", \"b\": ");
    add_index(pair->b, out);
}

static void add_loops(const CodeComparison *c, StrBuf *out) {
    static const FormCounts none;
    strbuf_puts(out, ",\n\"loops\": [");
    for (size_t i = 0; i < c->loops.len; i++) {
        const CodePair *pair = &c->loops.data[i];
        const FormCounts *a = pair->a < 0 ? &none : &c->a->loops.data[pair->a].forms;
        const FormCounts *b = pair->b < 0 ? &none : &c->b->loops.data[pair->b].forms;
        strbuf_puts(out, i ? ",\n  " : "");
        add_pair(pair, out);
        strbuf_puts(out, ", ");
        add_forms(a, b, ", ", out);
        strbuf_putc(out, '}');
    }
    strbuf_putc(out, ']');
}

static void add_lines(const CodeComparison *c, StrBuf *out) {
    strbuf_puts(out, ",\n\"lines\": [");
    for (size_t i = 0; i < c->lines.len; i++) {
        const CodePair *pair = &c->lines.data[i];
        const int64_t a = pair->a < 0 ? 0 : c->a->lines.data[pair->a].count;
        const int64_t b = pair->b < 0 ? 0 : c->b->lines.data[pair->b].count;
        strbuf_puts(out, i ? ",\n  " : "");
        add_pair(pair, out);
        strbuf_printf(out, ", \"difference\": %" PRId64 "}", b - a);
    }
    strbuf_putc(out, ']');
}

static void add_limits(const CodeComparison *c, StrBuf *out) {
    strbuf_puts(out, ",\n\"limits\": [");
    for (uint32_t i = 0; i < c->limit_count; i++) {
        const LimitResult *result = &c->limits[i];
        strbuf_printf(out, "%s{\"measure\": \"%s\", \"limit\": ", i ? ",\n  " : "",
                      measure_info[result->limit.measure].name);
        strbuf_json(out, result->limit.text);
        strbuf_printf(out, ", \"worse\": %" PRId64 ", \"holds\": %s}", result->worse,
                      result->holds ? "true" : "false");
    }
    strbuf_putc(out, ']');
}

void compare_json(const CodeComparison *c, StrBuf *out) {
    strbuf_printf(out, "\"same\": %s,\n\"a\": ", c->same ? "true" : "false");
    code_json(c->a, out);
    strbuf_puts(out, ",\n\"b\": ");
    code_json(c->b, out);
    add_measures(c, out);
    strbuf_puts(out, ",\n");
    add_forms(&c->a->forms, &c->b->forms, ",\n  ", out);
    add_loops(c, out);
    add_lines(c, out);
    add_limits(c, out);
}
