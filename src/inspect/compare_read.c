/* Facts that were saved as JSON, read again. Whatever the text holds, indices lead to what is
 * there, and lists are in the order that comparisons rely on. */
#include "inspect/compare_parts.h"
#include "sim/report/report.h"
#include "support/json.h"

#include <errno.h>
#include <stdlib.h>

typedef struct FactsReader {
    Ctx *ctx;
    CodeFacts *facts;
} FactsReader;

static bool wrong(FactsReader *r, const Json *json, const char *wanted) {
    return json_wrong(&r->ctx->diags, json, wanted);
}

/* NULL after a report. */
static const Json *member(FactsReader *r, const Json *object, const char *name) {
    const Json *found = json_find(object, name);
    if (!found)
        ctx_diag(r->ctx, object->span, json_missing, name);
    return found;
}

static bool read_integer(FactsReader *r, const Json *json, int64_t low, int64_t high,
                         int64_t *value) {
    if (json->kind == JSON_NUMBER) {
        const char *text = str_dup(&r->ctx->arena, json->text);
        char *end;
        errno = 0;
        *value = strtoll(text, &end, 10);
        if (!*end && !errno && *value >= low && *value <= high)
            return true;
    }
    return wrong(r, json,
                 str_format(&r->ctx->arena, "a number from %" PRId64 " to %" PRId64, low, high));
}

static bool member_integer(FactsReader *r, const Json *object, const char *name, int64_t high,
                           uint32_t *value) {
    int64_t number = 0;
    const Json *json = member(r, object, name);
    if (!json || !read_integer(r, json, 0, high, &number))
        return false;
    *value = (uint32_t)number;
    return true;
}

static bool member_text(FactsReader *r, const Json *object, const char *name, Str *text) {
    const Json *json = member(r, object, name);
    if (!json)
        return false;
    *text = json->text;
    return json->kind == JSON_STRING || wrong(r, json, "a string");
}

/* Null is -1. */
static bool member_index(FactsReader *r, const Json *object, const char *name, int64_t count,
                         int64_t *value) {
    const Json *json = member(r, object, name);
    *value = -1;
    return json && (json->kind == JSON_NULL || read_integer(r, json, 0, count - 1, value));
}

static const Json *member_list(FactsReader *r, const Json *object, const char *name) {
    const Json *json = member(r, object, name);
    if (json && json->kind != JSON_LIST) {
        wrong(r, json, "a list");
        return NULL;
    }
    return json;
}

static bool is_object(FactsReader *r, const Json *json) {
    return json->kind == JSON_OBJECT || wrong(r, json, "an object");
}

static bool member_bool(FactsReader *r, const Json *object, const char *name, bool *value) {
    const Json *json = member(r, object, name);
    if (!json)
        return false;
    *value = json->kind == JSON_TRUE;
    return *value || json->kind == JSON_FALSE || wrong(r, json, "true or false");
}

static bool read_measure(FactsReader *r, const Json *json, MeasureValue *value) {
    const Json *number = is_object(r, json) ? member(r, json, "value") : NULL;
    Str why;
    if (!number)
        return false;
    if (number->kind == JSON_NULL) {
        value->state = MEASURED_NOT;
        if (!member_text(r, json, "why", &why))
            return false;
        value->why = str_dup(&r->ctx->arena, why);
        return true;
    }
    value->state = MEASURED;
    value->why = NULL;
    if (json_find(json, "estimate")) {
        if (!member_text(r, json, "estimate", &why))
            return false;
        value->why = str_dup(&r->ctx->arena, why);
        value->state = MEASURED_ESTIMATE;
    }
    return read_integer(r, number, 0, INT32_MAX, &value->value);
}

/* Measures that this version has, as far as the text has them. */
static bool read_measures(FactsReader *r, const Json *object) {
    const Json *measures = member(r, object, "measures");
    if (!measures || !is_object(r, measures))
        return false;
    for (int i = 0; i < MEASURE_COUNT; i++) {
        const Json *json = json_find(measures, measure_info[i].name);
        MeasureValue *value = &r->facts->measures[i];
        *value = (MeasureValue){MEASURED_NOT, 0, "it was saved without"};
        if (json && !read_measure(r, json, value))
            return false;
    }
    return true;
}

static bool read_class(FactsReader *r, const Json *object, int *class) {
    Str name;
    if (!member_text(r, object, "class", &name))
        return false;
    for (int i = 0; i < CLASS_COUNT; i++) {
        if (str_is(name, sim_class_name[i])) {
            *class = i;
            return true;
        }
    }
    return wrong(r, json_find(object, "class"), "a class of instructions");
}

static bool read_forms(FactsReader *r, const Json *object) {
    const Json *list = member_list(r, object, "forms");
    for (uint32_t i = 0; list && i < list->count; i++) {
        FormCount form = {0};
        FormCounts *forms = &r->facts->forms;
        if (!is_object(r, list->items[i]) || !member_text(r, list->items[i], "form", &form.form) ||
            !read_class(r, list->items[i], &form.class) ||
            !member_integer(r, list->items[i], "count", INT32_MAX, &form.count))
            return false;
        if (forms->len && form_order(&forms->data[forms->len - 1], &form) >= 0)
            return wrong(r, list->items[i], "a form behind the one before, by class and name");
        vec_push(&r->ctx->arena, forms, form);
    }
    return list != NULL;
}

static bool read_lines(FactsReader *r, const Json *object) {
    const Json *list = member_list(r, object, "lines");
    for (uint32_t i = 0; list && i < list->count; i++) {
        CodeLine line = {0};
        CodeLines *lines = &r->facts->lines;
        if (!is_object(r, list->items[i]) || !member_text(r, list->items[i], "file", &line.file) ||
            !member_text(r, list->items[i], "text", &line.text) ||
            !member_integer(r, list->items[i], "line", INT32_MAX, &line.line) ||
            !member_integer(r, list->items[i], "count", INT32_MAX, &line.count))
            return false;
        if (lines->len && line_order(&lines->data[lines->len - 1], &line) >= 0)
            return wrong(r, list->items[i], "a line behind the one before, by file and number");
        vec_push(&r->ctx->arena, lines, line);
    }
    return list != NULL;
}

/* [[index, count], ..] */
static bool read_pair(FactsReader *r, const Json *json, size_t count, uint32_t pair[2]) {
    int64_t index, number;
    if (json->kind != JSON_LIST || json->count != 2)
        return wrong(r, json, "an index and a count");
    if (!read_integer(r, json->items[0], 0, (int64_t)count - 1, &index) ||
        !read_integer(r, json->items[1], 0, INT32_MAX, &number))
        return false;
    pair[0] = (uint32_t)index;
    pair[1] = (uint32_t)number;
    return true;
}

static bool read_loop_counts(FactsReader *r, const Json *object, CodeLoop *loop) {
    const CodeFacts *facts = r->facts;
    Arena *arena = &r->ctx->arena;
    const Json *forms = member_list(r, object, "forms");
    const Json *lines = forms ? member_list(r, object, "lines") : NULL;
    uint32_t pair[2] = {0};
    int64_t last = -1;
    for (uint32_t i = 0; lines && i < forms->count; i++) {
        if (!read_pair(r, forms->items[i], facts->forms.len, pair))
            return false;
        if ((int64_t)pair[0] <= last)
            return wrong(r, forms->items[i], "an index behind the one before");
        last = pair[0];
        FormCount form = facts->forms.data[pair[0]];
        form.count = pair[1];
        vec_push(arena, &loop->forms, form);
    }
    for (uint32_t i = 0; lines && i < lines->count; i++) {
        if (!read_pair(r, lines->items[i], facts->lines.len, pair))
            return false;
        vec_push(arena, &loop->lines, ((LineUse){pair[0], pair[1]}));
    }
    return lines != NULL;
}

static bool read_loop(FactsReader *r, const Json *object, CodeLoop *loop) {
    const CodeLoops *loops = &r->facts->loops;
    int64_t parent, line;
    if (!is_object(r, object) || !member_index(r, object, "parent", (int64_t)loops->len, &parent) ||
        !member_index(r, object, "line", (int64_t)r->facts->lines.len, &line))
        return false;
    const Json *ptx = member_list(r, object, "ptx");
    int64_t first, last;
    if (!ptx || (ptx->count != 2 && !wrong(r, ptx, "the first and the last line")) ||
        !read_integer(r, ptx->items[0], 0, INT32_MAX, &first) ||
        !read_integer(r, ptx->items[1], 0, INT32_MAX, &last))
        return false;
    *loop = (CodeLoop){.parent = (int32_t)parent,
                       .depth = parent < 0 ? 1 : loops->data[parent].depth + 1,
                       .at = line < 0 ? NO_LINE : (uint32_t)line,
                       .first = (uint32_t)first,
                       .last = (uint32_t)last};
    return member_bool(r, object, "waits", &loop->is_wait) &&
           member_bool(r, object, "inner", &loop->is_inner) &&
           member_integer(r, object, "instructions", INT32_MAX, &loop->instructions) &&
           read_loop_counts(r, object, loop);
}

static bool read_loops(FactsReader *r, const Json *object) {
    const Json *list = member_list(r, object, "loops");
    for (uint32_t i = 0; list && i < list->count; i++) {
        CodeLoop loop;
        if (!read_loop(r, list->items[i], &loop))
            return false;
        vec_push(&r->ctx->arena, &r->facts->loops, loop);
    }
    return list != NULL;
}

static bool check_version(FactsReader *r, const Json *object) {
    const Json *json = member(r, object, "version");
    int64_t version;
    return json && read_integer(r, json, CODE_JSON_VERSION, CODE_JSON_VERSION, &version);
}

static bool read_head(FactsReader *r, const Json *object) {
    const Json *limited = member(r, object, "limited_by");
    if (!limited || !member_text(r, object, "kernel", &r->facts->kernel) ||
        !member_text(r, object, "target", &r->facts->target))
        return false;
    if (limited->kind == JSON_STRING)
        r->facts->limited_by = limited->text;
    return true;
}

bool code_read(Ctx *ctx, uint32_t file, const char *path, CodeFacts *facts) {
    *facts = (CodeFacts){.path = str_from(path)};
    FactsReader r = {ctx, facts};
    size_t at = 0;
    const Json *json = json_read_next(&ctx->diags, file, &at);
    if (!json || !is_object(&r, json))
        return false;
    const size_t end = source_get(&ctx->sources, file)->text.len;
    if (at < end)
        return ctx_diag(ctx, ((Span){file, (uint32_t)at, (uint32_t)end}), json_syntax,
                        "the end of the file");
    return check_version(&r, json) && read_head(&r, json) && read_measures(&r, json) &&
           read_forms(&r, json) && read_lines(&r, json) &&
           member_integer(&r, json, "no_line", INT32_MAX, &facts->no_line) && read_loops(&r, json);
}
