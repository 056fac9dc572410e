/* Public API: units, from options to requests, and as functions keep them. */
#include "runtime/api/api_compile.h"

#include <stdlib.h>

#define BINDING_PAIR(ours, theirs)                                                                 \
    _Static_assert((int)BINDING_##ours == (int)TILE_BIND_##theirs, "the API lists BindingKind")
BINDING_PAIR(LITERAL, LITERAL);
BINDING_PAIR(UNIT, UNIT);
BINDING_PAIR(LANGUAGE, LANGUAGE);
BINDING_PAIR(NAMESPACE, NAMESPACE);
BINDING_PAIR(UNUSABLE, UNUSABLE);
BINDING_PAIR(EVALUATE, EVALUATE);

enum { MOST_UNITS = 1 << 16, MOST_LINES = 1 << 30, MOST_COLUMNS = 1 << 16, MOST_FIELDS = 1 << 10 };

typedef struct Reading {
    Ctx *ctx;
    const tile_compile_options *options;
    size_t at; /* the number of the unit */
} Reading;

static bool refuse(const Reading *r, const char *why) {
    return ctx_diag(r->ctx, (Span){0}, unit_list, r->at, why);
}

/* The unit of that number, whatever its caller knows of units. */
static bool take_unit(const Reading *r, tile_unit *unit) {
    size_t stride;
    memcpy(&stride, r->options->units, sizeof stride);
    const char *at = (const char *)r->options->units + r->at * stride;
    size_t size;
    memcpy(&size, at, sizeof size);
    return size == stride && options_copy(unit, sizeof *unit, at, sizeof unit->size);
}

static bool is_text(tile_text text) {
    return text.data || !text.size;
}

static bool are_texts(const tile_text *texts, size_t count) {
    if (count > UINT32_MAX || (count && !texts))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!is_text(texts[i]))
            return false;
    return true;
}

static bool is_word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (c & 0x80);
}

/* Names with dots between them. */
static bool is_dotted(Str name) {
    bool begins = true;
    for (size_t i = 0; i < name.len; i++) {
        const char c = name.ptr[i];
        if (c == '.' ? begins : !is_word_byte(c) || (begins && c >= '0' && c <= '9'))
            return false;
        begins = c == '.';
    }
    return name.len && !begins;
}

/* What is wrong with a binding; NULL: nothing. */
static const char *binding_problem(const Reading *r, const tile_binding *binding) {
    if (!is_text(binding->name) || !is_dotted(text_str(binding->name)))
        return "has no name, wanted one, or some with dots between them";
    if ((unsigned)binding->kind >= BINDING_COUNT)
        return "is of no kind that there is";
    if (!is_text(binding->text))
        return "has a text without data";
    if (binding->kind == TILE_BIND_UNIT && binding->unit >= r->options->unit_count)
        return "leads to a unit that is not in the list";
    const bool wants_text =
        binding->kind == TILE_BIND_LITERAL || binding->kind == TILE_BIND_LANGUAGE ||
        binding->kind == TILE_BIND_UNUSABLE || binding->kind == TILE_BIND_EVALUATE;
    return wants_text && !binding->text.size ? "has no text" : NULL;
}

static int by_name(const void *a, const void *b) {
    const Binding *x = a, *y = b;
    return str_order(x->name, y->name);
}

/* False after a report. */
static bool take_bindings(const Reading *r, const tile_unit *unit, GivenUnit *out) {
    Arena *arena = &r->ctx->arena;
    Binding *list = ARENA_ARRAY(arena, Binding, unit->binding_count + 1);
    for (size_t i = 0; i < unit->binding_count; i++) {
        const tile_binding *given = &unit->bindings[i];
        const char *problem = binding_problem(r, given);
        const Str name = is_text(given->name) ? text_str(given->name) : STR("");
        if (problem)
            return ctx_diag(r->ctx, (Span){0}, unit_binding, r->at, STR_ARG(name), problem);
        list[i] = (Binding){str_keep(arena, name), (BindingKind)given->kind,
                            str_keep(arena, text_str(given->text)), 0};
        if (given->kind == TILE_BIND_UNIT)
            list[i].unit = (uint32_t)given->unit;
    }
    if (unit->binding_count)
        qsort(list, unit->binding_count, sizeof *list, by_name);
    for (size_t i = 1; i < unit->binding_count; i++)
        if (str_eq(list[i - 1].name, list[i].name))
            return ctx_diag(r->ctx, (Span){0}, unit_binding, r->at, STR_ARG(list[i].name),
                            "is there twice");
    out->bindings = list;
    out->binding_count = (uint32_t)unit->binding_count;
    return true;
}

static const Str *take_names(Arena *arena, const tile_text *texts, size_t count) {
    Str *names = ARENA_ARRAY(arena, Str, count + 1);
    for (size_t i = 0; i < count; i++)
        names[i] = str_keep(arena, text_str(texts[i]));
    return names;
}

/* A name without dots. */
static bool is_name(tile_text name) {
    return is_text(name) && is_dotted(text_str(name)) && !memchr(name.data, '.', name.size);
}

/* What is wrong with a field, given those before it; NULL: nothing. */
static const char *field_problem(const tile_named *fields, size_t at, bool is_aggregate) {
    const tile_named *field = &fields[at];
    if (!is_name(field->name))
        return "a field of it has no name";
    if (!is_text(field->value))
        return "a default of it is a text without data";
    if (at && fields[at - 1].value.size && !field->value.size && !is_aggregate)
        return "a field of it without a default is behind one with a default";
    for (size_t i = 0; i < at; i++)
        if (str_eq(text_str(fields[i].name), text_str(field->name)))
            return "two fields of it have one name";
    return NULL;
}

/* False after a report. */
static bool read_record(const Reading *r, const tile_unit *unit, GivenUnit *out) {
    Arena *arena = &r->ctx->arena;
    if (!r->at)
        return refuse(r, "it is a record, wanted the kernel");
    if (!is_name(unit->name))
        return refuse(r, "it is a record without a name");
    const bool is_aggregate = unit->kind == TILE_UNIT_AGGREGATE;
    if (unit->source.size || (unit->binding_count && !is_aggregate))
        return refuse(r, "it is a record, which has neither source nor bindings");
    if (unit->binding_count > UINT32_MAX || (unit->binding_count && !unit->bindings))
        return refuse(r, "its bindings are no list");
    if (unit->field_count > MOST_FIELDS || (unit->field_count && !unit->fields))
        return refuse(r, "its fields are no list, or too many");
    Field *fields = ARENA_ARRAY(arena, Field, unit->field_count + 1);
    for (size_t i = 0; i < unit->field_count; i++) {
        const char *problem = field_problem(unit->fields, i, is_aggregate);
        if (problem)
            return refuse(r, problem);
        fields[i] = (Field){str_keep(arena, text_str(unit->fields[i].name)),
                            str_keep(arena, text_str(unit->fields[i].value))};
    }
    *out = (GivenUnit){.is_record = true,
                       .is_aggregate = is_aggregate,
                       .name = str_keep(arena, text_str(unit->name)),
                       .fields = fields,
                       .field_count = (uint32_t)unit->field_count,
                       .path = STR("<unit>"),
                       .text = STR(""),
                       .begin = {1, 1}};
    return take_bindings(r, unit, out);
}

/* False after a report. */
static bool read_unit(const Reading *r, GivenUnit *out) {
    Arena *arena = &r->ctx->arena;
    tile_unit unit;
    if (!take_unit(r, &unit))
        return refuse(r, "its size is not that of the first, or none");
    if (unit.kind == TILE_UNIT_RECORD || unit.kind == TILE_UNIT_AGGREGATE)
        return read_record(r, &unit, out);
    if (unit.kind != TILE_UNIT_FUNCTION && unit.kind != TILE_UNIT_CONSTEXPR)
        return refuse(r, "it is of no kind that there is");
    if (!unit.source.data || !unit.source.size)
        return refuse(r, "it has no source");
    if (unit.source.size > FRONTEND_SOURCE_LIMIT)
        return refuse(r, "its source is longer than 64 MiB");
    if (!is_text(unit.path))
        return refuse(r, "its path is a text without data");
    if (unit.first_line > MOST_LINES || unit.first_column > MOST_COLUMNS)
        return refuse(r, "its first line or column is beyond what files have");
    if (!is_text(unit.must_use_result))
        return refuse(r, "what is said of its result is a text without data");
    if (unit.binding_count > UINT32_MAX || (unit.binding_count && !unit.bindings))
        return refuse(r, "its bindings are no list");
    if (!are_texts(unit.do_not_specialize, unit.do_not_specialize_count) ||
        !are_texts(unit.do_not_specialize_on_alignment, unit.do_not_specialize_on_alignment_count))
        return refuse(r, "the parameters that are not specialised on are no list of names");
    *out = (GivenUnit){
        .path = unit.path.size ? str_keep(arena, text_str(unit.path)) : STR("<unit>"),
        .text = str_keep(arena, text_str(unit.source)),
        .begin = {unit.first_line ? unit.first_line : 1, unit.first_column ? unit.first_column : 1},
        .is_constexpr = unit.kind == TILE_UNIT_CONSTEXPR,
        .noinline = unit.noinline,
        .must_use = unit.must_use_result.data != NULL,
        .must_use_words = str_keep(arena, text_str(unit.must_use_result)),
        .no_value = take_names(arena, unit.do_not_specialize, unit.do_not_specialize_count),
        .no_value_count = (uint32_t)unit.do_not_specialize_count,
        .no_alignment = take_names(arena, unit.do_not_specialize_on_alignment,
                                   unit.do_not_specialize_on_alignment_count),
        .no_alignment_count = (uint32_t)unit.do_not_specialize_on_alignment_count};
    return take_bindings(r, &unit, out);
}

/* Options that say where a source is: what names the first, NULL where none is given. */
static const char *source_option(const tile_compile_options *o) {
    return o->path.size           ? "path"
           : o->source.data       ? "source"
           : o->file_count        ? "files"
           : o->read_file         ? "read_file"
           : o->search_path_count ? "search_paths"
                                  : NULL;
}

bool units_from_options(Ctx *ctx, const tile_compile_options *options, GivenUnits *units) {
    Reading r = {ctx, options, 0};
    const char *option = source_option(options);
    *units = (GivenUnits){0};
    if (!options->unit_count)
        return true;
    if (option)
        return ctx_diag(ctx, (Span){0}, unit_option, option);
    if (!options->units || options->unit_count > MOST_UNITS)
        return refuse(&r, "the list has none, or too many");
    GivenUnit *list = ARENA_ARRAY(&ctx->arena, GivenUnit, options->unit_count);
    for (; r.at < options->unit_count; r.at++)
        if (!read_unit(&r, &list[r.at]))
            return false;
    *units = (GivenUnits){list, (uint32_t)options->unit_count};
    return true;
}

/* Evaluation */

typedef struct Caller {
    tile_evaluate call;
    void *user;
    Arena *arena; /* of the compilation */
} Caller;

static bool call_back(void *user, const Evaluation *what, Evaluated *result) {
    const Caller *caller = user;
    tile_evaluation_argument *arguments =
        ARENA_ARRAY(caller->arena, tile_evaluation_argument, (size_t)what->argument_count + 1);
    for (uint32_t i = 0; i < what->argument_count; i++)
        arguments[i] = (tile_evaluation_argument){.name = text_of(what->arguments[i].name),
                                                  .is_run_time = what->arguments[i].is_run_time,
                                                  .text = text_of(what->arguments[i].text)};
    const tile_evaluation asked = {.size = sizeof asked,
                                   .unit = what->unit,
                                   .name = text_of(what->name),
                                   .key = text_of(what->key),
                                   .arguments = arguments,
                                   .argument_count = what->argument_count,
                                   .capability = what->capability};
    tile_evaluated given = {.size = sizeof given, .argument = TILE_NO_ARGUMENT};
    const tile_status status = caller->call(caller->user, &asked, &given);
    result->text = is_text(given.text) ? text_str(given.text) : STR("");
    if (status != TILE_OK && !result->text.len)
        result->text = str_from(tile_status_text(status));
    if (given.argument != TILE_NO_ARGUMENT)
        result->argument =
            given.argument < what->argument_count ? (uint32_t)given.argument : UINT32_MAX - 1;
    return status == TILE_OK;
}

Evaluator evaluator_from_options(Arena *arena, const tile_compile_options *options) {
    if (!options->evaluate)
        return (Evaluator){0};
    Caller *caller = ARENA_NEW(arena, Caller);
    *caller = (Caller){options->evaluate, options->evaluate_user, arena};
    return (Evaluator){call_back, caller};
}

/* Copies */

static tile_text keep_text(Arena *arena, Str text) {
    return text_of(str_keep(arena, text));
}

static const tile_text *keep_names(Arena *arena, const Str *names, uint32_t count) {
    tile_text *kept = ARENA_ARRAY(arena, tile_text, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++)
        kept[i] = keep_text(arena, names[i]);
    return kept;
}

static const tile_binding *keep_bindings(Arena *arena, const GivenUnit *unit) {
    tile_binding *kept = ARENA_ARRAY(arena, tile_binding, (size_t)unit->binding_count + 1);
    for (uint32_t i = 0; i < unit->binding_count; i++)
        kept[i] = (tile_binding){.name = keep_text(arena, unit->bindings[i].name),
                                 .kind = (tile_binding_kind)unit->bindings[i].kind,
                                 .text = keep_text(arena, unit->bindings[i].text),
                                 .unit = unit->bindings[i].unit};
    return kept;
}

static const tile_named *keep_fields(Arena *arena, const GivenUnit *unit) {
    tile_named *kept = ARENA_ARRAY(arena, tile_named, (size_t)unit->field_count + 1);
    for (uint32_t i = 0; i < unit->field_count; i++)
        kept[i] = (tile_named){keep_text(arena, unit->fields[i].name),
                               keep_text(arena, unit->fields[i].fallback)};
    return kept;
}

const tile_unit *units_keep(Arena *arena, const GivenUnits *units) {
    tile_unit *kept = ARENA_ARRAY(arena, tile_unit, (size_t)units->count + 1);
    for (uint32_t i = 0; i < units->count; i++) {
        const GivenUnit *unit = &units->list[i];
        kept[i] = (tile_unit){.size = sizeof *kept,
                              .path = keep_text(arena, unit->path),
                              .source = keep_text(arena, unit->text),
                              .first_line = unit->begin.line,
                              .first_column = unit->begin.column,
                              .noinline = unit->noinline,
                              .bindings = keep_bindings(arena, unit),
                              .binding_count = unit->binding_count,
                              .do_not_specialize =
                                  keep_names(arena, unit->no_value, unit->no_value_count),
                              .do_not_specialize_count = unit->no_value_count,
                              .do_not_specialize_on_alignment =
                                  keep_names(arena, unit->no_alignment, unit->no_alignment_count),
                              .do_not_specialize_on_alignment_count = unit->no_alignment_count,
                              .kind = unit->is_aggregate   ? TILE_UNIT_AGGREGATE
                                      : unit->is_record    ? TILE_UNIT_RECORD
                                      : unit->is_constexpr ? TILE_UNIT_CONSTEXPR
                                                           : TILE_UNIT_FUNCTION,
                              .name = keep_text(arena, unit->name),
                              .fields = keep_fields(arena, unit),
                              .field_count = unit->field_count};
        if (unit->must_use)
            kept[i].must_use_result = keep_text(arena, unit->must_use_words);
    }
    return kept;
}
