/* See exchange.h. */
#include "runtime/tune/exchange.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define EXCHANGE_LIST "tunings"
#define EXCHANGE_TIME "ms"
#define EXCHANGE_REASON "struck_out"

/* Writing */

typedef struct Found {
    TuneEntry entry;
    size_t number; /* in which it was found: of two the first counts */
} Found;

typedef struct Export {
    Ctx *ctx;
    Str kernel;
    VEC(Found) found;
} Export;

static void keep_entry(void *user, Arena *scratch, const TuneEntry *entry) {
    Export *e = user;
    Arena *arena = &e->ctx->arena;
    if (e->kernel.len && !str_eq(e->kernel, entry->fields[TUNE_kernel]))
        return;
    arena->oom = scratch->oom;
    Found found = {.entry = *entry, .number = e->found.len};
    for (int i = 0; i < TUNE_FIELD_COUNT; i++)
        found.entry.fields[i] = str_keep(arena, entry->fields[i]);
    found.entry.record.reason = str_keep(arena, entry->record.reason);
    vec_push(arena, &e->found, found);
}

static int field_order(const TuneEntry *a, const TuneEntry *b) {
    int order = 0;
    for (int i = 0; i < TUNE_FIELD_COUNT && !order; i++)
        order = str_order(a->fields[i], b->fields[i]);
    return order;
}

static int by_fields(const void *a, const void *b) {
    const Found *x = a, *y = b;
    const int order = field_order(&x->entry, &y->entry);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* The fewest digits that read back as the same. */
static void write_number(double value, StrBuf *out) {
    char text[32];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    strbuf_puts(out, text);
}

static void write_entry(const TuneEntry *entry, StrBuf *out) {
    strbuf_putc(out, '{');
    tune_entry_members(entry, out);
    if (isfinite(entry->record.ms)) {
        strbuf_puts(out, ", \"" EXCHANGE_TIME "\": ");
        write_number(entry->record.ms, out);
    } else {
        strbuf_puts(out, ", \"" EXCHANGE_REASON "\": ");
        strbuf_json(out, entry->record.reason);
    }
    strbuf_putc(out, '}');
}

Str exchange_write(Arena *arena, const TuneEntry *entries, uint32_t count) {
    StrBuf out = strbuf(arena);
    strbuf_puts(&out, "{\"" EXCHANGE_LIST "\": [");
    for (uint32_t i = 0; i < count; i++) {
        strbuf_puts(&out, i ? ",\n" : "\n");
        write_entry(&entries[i], &out);
    }
    strbuf_puts(&out, "\n]}\n");
    return strbuf_str(&out);
}

Str exchange_export(Ctx *ctx, Cache *cache, Str kernel, uint32_t *count) {
    Export e = {.ctx = ctx, .kernel = kernel};
    jmp_buf *outer = ctx->arena.oom;
    tune_visit(cache, &ctx->scratch, keep_entry, &e);
    ctx->arena.oom = outer;
    arena_check(&ctx->arena);
    if (e.found.len)
        qsort(e.found.data, e.found.len, sizeof *e.found.data, by_fields);
    TuneEntry *entries = ARENA_ARRAY(&ctx->arena, TuneEntry, e.found.len + 1);
    *count = 0;
    for (size_t i = 0; i < e.found.len; i++)
        if (!i || field_order(&e.found.data[i].entry, &e.found.data[i - 1].entry))
            entries[(*count)++] = e.found.data[i].entry;
    return exchange_write(&ctx->arena, entries, *count);
}

/* Reading */

static const char document[] = "an export of tunings";

static bool wrong(Ctx *ctx, const Json *json, const char *wanted) {
    return json_wrong(&ctx->diags, json, wanted);
}

/* Nothing but what an entry has; one record. */
static bool check_members(Ctx *ctx, const Json *object) {
    Str known[TUNE_FIELD_COUNT + 2] = {STR(EXCHANGE_TIME), STR(EXCHANGE_REASON)};
    for (int i = 0; i < TUNE_FIELD_COUNT; i++)
        known[2 + i] = str_from(tune_field_name((TuneField)i));
    for (uint32_t i = 0; i < object->count; i++) {
        uint32_t at = 0;
        while (at < TUNE_FIELD_COUNT + 2 && !str_eq(known[at], object->members[i].name))
            at++;
        if (at == TUNE_FIELD_COUNT + 2)
            return json_unknown(&ctx->diags, &object->members[i], document, known, at);
    }
    return !json_find(object, EXCHANGE_TIME) != !json_find(object, EXCHANGE_REASON) ||
           ctx_diag(ctx, object->span, tune_import_record);
}

static bool read_time(Ctx *ctx, const Json *json, double *ms) {
    char *end;
    const char *text = json->kind == JSON_NUMBER ? str_dup(&ctx->arena, json->text) : "";
    *ms = strtod(text, &end);
    return (end != text && !*end && isfinite(*ms) && *ms > 0) ||
           wrong(ctx, json, "milliseconds, above 0");
}

static bool read_reason(Ctx *ctx, const Json *json, Str *reason) {
    *reason = json->text;
    return (json->kind == JSON_STRING && json->text.len) ||
           wrong(ctx, json, "a string that says why");
}

/* As the cache can hold them: by no means what a tuning writes, else. */
static bool check_text(Ctx *ctx, const Json *json, bool is_line) {
    const Str text = json->text;
    return (!memchr(text.ptr, 0, text.len) && !(is_line && memchr(text.ptr, '\n', text.len))) ||
           wrong(ctx, json, is_line ? "a line of text" : "a text without zeros");
}

static bool check_texts(Ctx *ctx, const Json *object) {
    for (uint32_t i = 0; i < object->count; i++) {
        const JsonMember *member = &object->members[i];
        if (member->value->kind == JSON_STRING && member->value->text.len &&
            !check_text(ctx, member->value, str_is(member->name, tune_field_name(TUNE_kernel))))
            return false;
    }
    return true;
}

static bool read_entry(Ctx *ctx, const Json *object, TuneEntry *entry) {
    const Json *at;
    if (object->kind != JSON_OBJECT)
        return wrong(ctx, object, "an object, of a configuration");
    const char *missing = tune_entry_read(object, entry, &at);
    if (missing && at != object)
        return wrong(ctx, at, "a string");
    if (missing)
        return ctx_diag(ctx, object->span, json_missing, missing);
    if (!check_members(ctx, object) || !check_texts(ctx, object))
        return false;
    const Json *ms = json_find(object, EXCHANGE_TIME);
    entry->record.ms = INFINITY;
    return ms ? read_time(ctx, ms, &entry->record.ms)
              : read_reason(ctx, json_find(object, EXCHANGE_REASON), &entry->record.reason);
}

static const Json *read_list(Ctx *ctx, uint32_t file) {
    size_t at = 0;
    const Json *json = json_read_next(&ctx->diags, file, &at);
    if (!json)
        return NULL;
    if (json->kind != JSON_OBJECT) {
        wrong(ctx, json, "an object, as --export writes it");
        return NULL;
    }
    const Str known = STR(EXCHANGE_LIST);
    for (uint32_t i = 0; i < json->count; i++)
        if (!str_eq(json->members[i].name, known))
            json_unknown(&ctx->diags, &json->members[i], document, &known, 1);
    const Json *list = json_find(json, EXCHANGE_LIST);
    if (!list)
        ctx_diag(ctx, json->span, json_missing, EXCHANGE_LIST);
    else if (list->kind != JSON_LIST)
        wrong(ctx, list, "a list");
    const Str text = source_get(&ctx->sources, file)->text;
    if (at < text.len)
        ctx_diag(ctx, ((Span){file, (uint32_t)at, (uint32_t)at + 1}), json_syntax,
                 "the end of the text");
    return ctx->diags.errors ? NULL : list;
}

/* Two times of one configuration: which of them would count? */
static void check_twice(Ctx *ctx, const Json *list, const TuneEntry *entries) {
    Found *sorted = ARENA_ARRAY(&ctx->arena, Found, (size_t)list->count + 1);
    for (uint32_t i = 0; i < list->count; i++)
        sorted[i] = (Found){entries[i], i};
    qsort(sorted, list->count, sizeof *sorted, by_fields);
    for (uint32_t i = 1; i < list->count; i++)
        if (!field_order(&sorted[i].entry, &sorted[i - 1].entry))
            ctx_diag(ctx, list->items[sorted[i].number]->span, tune_import_twice);
}

bool exchange_read(Ctx *ctx, uint32_t file, TuneEntry **entries, uint32_t *count) {
    const Json *list = read_list(ctx, file);
    *count = list ? list->count : 0;
    *entries = ARENA_ARRAY(&ctx->arena, TuneEntry, (size_t)*count + 1);
    for (uint32_t i = 0; i < *count; i++)
        read_entry(ctx, list->items[i], &(*entries)[i]);
    if (!ctx->diags.errors)
        check_twice(ctx, list, *entries);
    return !ctx->diags.errors;
}

bool exchange_import(Ctx *ctx, Cache *cache, uint32_t file, uint32_t *count) {
    TuneEntry *entries;
    uint32_t all;
    *count = 0;
    if (!exchange_read(ctx, file, &entries, &all))
        return false;
    for (uint32_t i = 0; i < all; i++) {
        TuneEntry found = entries[i];
        tune_remember(cache, &ctx->arena, &entries[i]);
        if (!tune_recall(cache, &ctx->arena, &found))
            return ctx_diag(ctx, (Span){0}, prewarm_lost);
        ++*count;
    }
    return true;
}
