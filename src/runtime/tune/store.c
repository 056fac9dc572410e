/* See store.h. */
#include "runtime/tune/store.h"

#include "runtime/compile/build_info.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static const char KEY_HEAD[] = "tuning 2\n";

const char *tune_field_name(TuneField field) {
    static const char *const names[] = {
#define TUNE_FIELD(field, name) name,
        TUNE_FIELDS(TUNE_FIELD)
#undef TUNE_FIELD
    };
    return names[field];
}

TuneEntry tune_entry(Arena *arena, const TuneSubject *subject, const char *config) {
    const XXH128_hash_t code = XXH3_128bits(subject->code.ptr, subject->code.len);
    TuneEntry entry = {.record = {.ms = 0}};
    entry.fields[TUNE_kernel] = subject->kernel;
    entry.fields[TUNE_device] = str_from(subject->device->name);
    entry.fields[TUNE_driver] = str_from(str_format(arena, "%d", subject->device->driver->version));
    entry.fields[TUNE_compiler] = str_from(str_format(arena, "%s %s", build_version, build_id));
    entry.fields[TUNE_code] =
        str_from(str_format(arena, "%zu %016" PRIx64 "%016" PRIx64, subject->code.len,
                            (uint64_t)code.high64, (uint64_t)code.low64));
    entry.fields[TUNE_options] = subject->options;
    entry.fields[TUNE_key] = subject->key;
    entry.fields[TUNE_config] = str_from(config);
    return entry;
}

void tune_entry_members(const TuneEntry *entry, StrBuf *out) {
    for (int i = 0; i < TUNE_FIELD_COUNT; i++) {
        strbuf_printf(out, "%s\"%s\": ", i ? ", " : "", tune_field_name((TuneField)i));
        strbuf_json(out, entry->fields[i]);
    }
}

const char *tune_entry_read(const Json *object, TuneEntry *entry, const Json **at) {
    *entry = (TuneEntry){.record = {.ms = 0}};
    *at = object;
    for (int i = 0; i < TUNE_FIELD_COUNT; i++) {
        const char *name = tune_field_name((TuneField)i);
        const Json *value = json_find(object, name);
        if (!value || value->kind != JSON_STRING) {
            *at = value ? value : object;
            return name;
        }
        entry->fields[i] = value->text;
    }
    return NULL;
}

static Str key_of(Arena *arena, const TuneEntry *entry) {
    StrBuf key = strbuf(arena);
    strbuf_puts(&key, KEY_HEAD);
    strbuf_putc(&key, '{');
    tune_entry_members(entry, &key);
    strbuf_putc(&key, '}');
    return strbuf_str(&key);
}

/* "NAME\nMS\nREASON": the time in hexadecimal digits, so that it is the same when read. */
static bool read_section(Arena *arena, Str section, TuneRecord *record) {
    if (!section.len)
        return false;
    const char *text = str_dup(arena, section), *line = strchr(text, '\n');
    if (!line)
        return false;
    char *end;
    record->ms = strtod(line + 1, &end);
    record->reason = str_from(*end == '\n' ? end + 1 : "");
    return end != line + 1 && *end == '\n' && record->ms > 0;
}

bool tune_recall(Cache *cache, Arena *arena, TuneEntry *entry) {
    CacheSection section = {"tuned", {0}};
    return cache && cache_is_on(cache) &&
           cache_get(cache, arena, key_of(arena, entry), &section, 1) == CACHE_HIT &&
           read_section(arena, section.data, &entry->record);
}

int tune_remember(Cache *cache, Arena *arena, const TuneEntry *entry) {
    if (!cache || !cache_is_on(cache))
        return 0;
    const char *text = str_format(arena, "%.*s\n%a\n%.*s", STR_ARG(entry->fields[TUNE_kernel]),
                                  entry->record.ms, STR_ARG(entry->record.reason));
    const CacheSection section = {"tuned", str_from(text)};
    return cache_put(cache, arena, key_of(arena, entry), &section, 1);
}

typedef struct Visiting {
    TuneVisitor *visit;
    void *user;
} Visiting;

static void visit_entry(void *user, Arena *arena, const CacheEntry *found, CacheSection *sections) {
    const Visiting *visiting = user;
    const size_t head = sizeof KEY_HEAD - 1;
    TuneEntry entry;
    TuneRecord record;
    const Json *at;
    if (found->state != CACHE_HIT || found->is_reference || found->key.len < head ||
        memcmp(found->key.ptr, KEY_HEAD, head) != 0 ||
        !read_section(arena, sections->data, &record))
        return;
    SourceMap sources = {.arena = arena};
    Diags diags = {.arena = arena, .sources = &sources};
    const Str text = {found->key.ptr + head, found->key.len - head};
    size_t end = 0;
    const Json *object = json_read_next(&diags, source_add(&sources, STR("<key>"), text), &end);
    if (!object || tune_entry_read(object, &entry, &at))
        return;
    entry.record = record;
    visiting->visit(visiting->user, arena, &entry);
}

void tune_visit(Cache *cache, Arena *arena, TuneVisitor *visit, void *user) {
    Visiting visiting = {visit, user};
    CacheSection section = {"tuned", {0}};
    if (!cache || !cache_is_on(cache))
        return;
    for (uint32_t layer = cache->folder ? 0 : 1; layer <= cache->trusted_count; layer++)
        cache_visit(cache, arena, layer, &section, 1, visit_entry, &visiting);
}

Str tune_kernel_of(Str section) {
    const char *end = section.len ? memchr(section.ptr, '\n', section.len) : NULL;
    return end ? (Str){section.ptr, (size_t)(end - section.ptr)} : STR("");
}
