/* See wire.h. */
#include "runtime/compile/wire.h"
#include "runtime/compile/build_info.h"

enum { WIRE_VERSION = 7 };

static const void *take(Wire *wire, size_t size) {
    if (size > wire->in.len)
        wire->bad = true;
    if (wire->bad)
        return NULL;
    const char *at = wire->in.ptr;
    wire->in = (Str){at + size, wire->in.len - size};
    return at;
}

static int64_t wire_number(Wire *wire, int64_t value) {
    if (wire->out) {
        strbuf_add(wire->out, &value, sizeof value);
        return value;
    }
    const void *at = take(wire, sizeof value);
    int64_t read = 0;
    if (at)
        memcpy(&read, at, sizeof read);
    return read;
}

#define WIRE_NUMBER(wire, field)                                                                   \
    ((field) = (__typeof__(field))wire_number((wire), (int64_t)(field)))

static void wire_text(Wire *wire, Str *text) {
    const size_t len = (size_t)wire_number(wire, (int64_t)text->len);
    if (wire->out) {
        strbuf_add(wire->out, text->ptr, len);
        return;
    }
    const char *at = take(wire, len);
    *text = at ? (Str){str_dup(wire->arena, (Str){at, len}), len} : STR("");
}

/* NULL stays NULL. */
static void wire_path(Wire *wire, const char **path) {
    bool given = *path != NULL;
    WIRE_NUMBER(wire, given);
    Str text = given && wire->out ? str_from(*path) : STR("");
    if (given)
        wire_text(wire, &text);
    *path = given ? text.ptr : NULL;
}

/* The number of elements of a list that is written, or has room now; each takes a byte at least. */
static uint32_t wire_count(Wire *wire, uint32_t count) {
    const int64_t number = wire_number(wire, count);
    if (!wire->out && (number < 0 || (uint64_t)number > wire->in.len))
        wire->bad = true;
    return wire->bad ? 0 : (uint32_t)number;
}

static void wire_named(Wire *wire, const NamedText **list, uint32_t *count) {
    *count = wire_count(wire, *count);
    NamedText *items = ARENA_ARRAY(wire->arena, NamedText, (size_t)*count + 1);
    for (uint32_t i = 0; i < *count; i++) {
        if (wire->out)
            items[i] = (*list)[i];
        wire_text(wire, &items[i].name);
        wire_text(wire, &items[i].text);
    }
    *list = items;
}

static void wire_texts(Wire *wire, const Str **list, uint32_t *count) {
    *count = wire_count(wire, *count);
    Str *items = ARENA_ARRAY(wire->arena, Str, (size_t)*count + 1);
    for (uint32_t i = 0; i < *count; i++) {
        if (wire->out)
            items[i] = (*list)[i];
        wire_text(wire, &items[i]);
    }
    *list = items;
}

static void wire_bindings(Wire *wire, const Binding **list, uint32_t *count) {
    *count = wire_count(wire, *count);
    Binding *items = ARENA_ARRAY(wire->arena, Binding, (size_t)*count + 1);
    for (uint32_t i = 0; i < *count; i++) {
        if (wire->out)
            items[i] = (*list)[i];
        wire_text(wire, &items[i].name);
        WIRE_NUMBER(wire, items[i].kind);
        wire_text(wire, &items[i].text);
        WIRE_NUMBER(wire, items[i].unit);
    }
    *list = items;
}

static void wire_fields(Wire *wire, const Field **list, uint32_t *count) {
    *count = wire_count(wire, *count);
    Field *items = ARENA_ARRAY(wire->arena, Field, (size_t)*count + 1);
    for (uint32_t i = 0; i < *count; i++) {
        if (wire->out)
            items[i] = (*list)[i];
        wire_text(wire, &items[i].name);
        wire_text(wire, &items[i].fallback);
    }
    *list = items;
}

static void wire_units(Wire *wire, GivenUnits *units) {
    units->count = wire_count(wire, units->count);
    GivenUnit *items = ARENA_ARRAY(wire->arena, GivenUnit, (size_t)units->count + 1);
    for (uint32_t i = 0; i < units->count; i++) {
        GivenUnit *unit = &items[i];
        if (wire->out)
            *unit = units->list[i];
        WIRE_NUMBER(wire, unit->is_record);
        WIRE_NUMBER(wire, unit->is_aggregate);
        WIRE_NUMBER(wire, unit->is_constexpr);
        wire_text(wire, &unit->name);
        wire_fields(wire, &unit->fields, &unit->field_count);
        wire_text(wire, &unit->path);
        wire_text(wire, &unit->text);
        WIRE_NUMBER(wire, unit->begin.line);
        WIRE_NUMBER(wire, unit->begin.column);
        WIRE_NUMBER(wire, unit->noinline);
        WIRE_NUMBER(wire, unit->must_use);
        wire_text(wire, &unit->must_use_words);
        wire_bindings(wire, &unit->bindings, &unit->binding_count);
        wire_texts(wire, &unit->no_value, &unit->no_value_count);
        wire_texts(wire, &unit->no_alignment, &unit->no_alignment_count);
    }
    units->list = items;
}

/* True when both sides are of one build. */
bool wire_build(Wire *wire) {
    int64_t version = wire_number(wire, WIRE_VERSION);
    Str build = str_from(build_id);
    wire_text(wire, &build);
    return !wire->bad && version == WIRE_VERSION && str_is(build, build_id);
}

void wire_request(Wire *wire, CompileRequest *request) {
    ElaborateRequest *kernel = &request->kernel;
    Str target = wire->out ? str_from(request->target->name) : STR("");
    wire_path(wire, &request->path);
    wire_text(wire, &request->text);
    wire_text(wire, &request->folder);
    wire_text(wire, &target);
    wire_text(wire, &kernel->kernel);
    wire_text(wire, &kernel->entry_name);
    wire_text(wire, &kernel->signature);
    wire_named(wire, &kernel->types, &kernel->type_count);
    wire_named(wire, &kernel->defines, &kernel->define_count);
    wire_named(wire, &request->files, &request->file_count);
    wire_units(wire, &kernel->units);
    wire_texts(wire, &kernel->search_paths, &kernel->search_path_count);
    wire_texts(wire, &request->warnings, &request->warning_count);
    WIRE_NUMBER(wire, kernel->num_warps);
    WIRE_NUMBER(wire, kernel->num_stages);
    WIRE_NUMBER(wire, kernel->num_ctas);
    WIRE_NUMBER(wire, kernel->debug);
    WIRE_NUMBER(wire, kernel->sanitize_overflow);
    WIRE_NUMBER(wire, kernel->language);
    WIRE_NUMBER(wire, kernel->heuristics_done);
    WIRE_NUMBER(wire, kernel->autotune_done);
    WIRE_NUMBER(wire, request->max_registers);
    WIRE_NUMBER(wire, request->max_shared);
    WIRE_NUMBER(wire, request->want);
    wire_path(wire, &request->dump_folder);
    WIRE_NUMBER(wire, request->line_info);
    WIRE_NUMBER(wire, request->full_paths);
    WIRE_NUMBER(wire, request->no_tensor_copies);
    WIRE_NUMBER(wire, request->no_persistence);
    WIRE_NUMBER(wire, request->in_place);
    WIRE_NUMBER(wire, request->plain_abi);
    WIRE_NUMBER(wire, request->no_fp_fusion);
    WIRE_NUMBER(wire, request->no_ftz);
    WIRE_NUMBER(wire, request->deterministic);
    WIRE_NUMBER(wire, request->check_passes);
    WIRE_NUMBER(wire, request->llvm_level);
    WIRE_NUMBER(wire, request->time_limit_ms);
    WIRE_NUMBER(wire, request->memory_limit);
    wire_path(wire, &request->ptxas);
    wire_path(wire, &request->cuda_library);
    if (!wire->out)
        request->target = target_by_name(target);
    wire->bad |= !wire->out && !request->target;
}

void wire_answer(Wire *wire, Answer *answer) {
    WIRE_NUMBER(wire, answer->ok);
    wire_text(wire, &answer->described.meta);
    wire_text(wire, &answer->described.files);
    wire_text(wire, &answer->described.said);
    wire_text(wire, &answer->described.asked);
    for (int i = 0; i < OUTPUT_COUNT; i++)
        wire_text(wire, &answer->outputs[i]);
    for (int i = 0; i < STAGE_COUNT; i++)
        WIRE_NUMBER(wire, answer->stage_ns[i]);
}
