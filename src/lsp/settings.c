/* See settings.h. */
#include "lsp/settings.h"

enum { DELAY_MS = 150, LIMIT_MS = 4000 };

void settings_default(Settings *settings) {
    *settings = (Settings){.delay_ms = DELAY_MS, .limit_ms = LIMIT_MS};
}

void settings_destroy(Settings *settings) {
    ctx_destroy(settings->ctx);
    settings->ctx = NULL;
}

typedef struct SettingsReader {
    Settings *settings;
    Arena *arena, *messages;
    const char *wrong; /* the first */
} SettingsReader;

static void complain(SettingsReader *r, const char *name, const char *wanted) {
    if (!r->wrong)
        r->wrong = str_format(r->messages, "the setting \"%s\" takes %s", name, wanted);
}

static const Json *find(const Json *object, const char *name) {
    const Json *json = json_find(object, name);
    return json && json->kind != JSON_NULL ? json : NULL;
}

static void read_text(SettingsReader *r, const Json *object, const char *name, Str *out) {
    const Json *json = find(object, name);
    if (json && json->kind == JSON_STRING)
        *out = str_keep(r->arena, json->text);
    else if (json)
        complain(r, name, "a string");
}

static void read_texts(SettingsReader *r, const Json *object, const char *name, const Str **out,
                       uint32_t *count) {
    const Json *json = find(object, name);
    if (!json)
        return;
    if (json->kind != JSON_LIST) {
        complain(r, name, "a list of strings");
        return;
    }
    Str *texts = ARENA_ARRAY(r->arena, Str, (size_t)json->count + 1);
    for (uint32_t i = 0; i < json->count; i++) {
        if (json->items[i]->kind == JSON_STRING)
            texts[(*count)++] = str_keep(r->arena, json->items[i]->text);
        else
            complain(r, name, "a list of strings");
    }
    *out = texts;
}

static void read_signatures(SettingsReader *r, const Json *object) {
    const Json *json = find(object, "signatures");
    Settings *settings = r->settings;
    if (!json)
        return;
    if (json->kind != JSON_OBJECT) {
        complain(r, "signatures", "an object of strings by kernel");
        return;
    }
    NamedText *list = ARENA_ARRAY(r->arena, NamedText, (size_t)json->count + 1);
    for (uint32_t i = 0; i < json->count; i++) {
        const JsonMember *member = &json->members[i];
        if (member->value->kind == JSON_STRING)
            list[settings->signature_count++] = (NamedText){
                str_keep(r->arena, member->name), str_keep(r->arena, member->value->text)};
        else
            complain(r, "signatures", "an object of strings by kernel");
    }
    settings->signatures = list;
}

static void read_number(SettingsReader *r, const Json *object, const char *name, int32_t most,
                        int32_t *out) {
    const Json *json = find(object, name);
    int32_t value = 0;
    if (!json)
        return;
    bool ok = json->kind == JSON_NUMBER && json->text.len <= 6;
    for (size_t i = 0; ok && i < json->text.len; i++) {
        ok = json->text.ptr[i] >= '0' && json->text.ptr[i] <= '9';
        value = value * 10 + (json->text.ptr[i] - '0');
    }
    if (ok && value <= most)
        *out = value;
    else
        complain(r, name, "a number of milliseconds");
}

static void read_all(SettingsReader *r, const Json *json) {
    Settings *settings = r->settings;
    read_text(r, json, "target", &settings->target);
    read_text(r, json, "language", &settings->language);
    read_texts(r, json, "include", &settings->include, &settings->include_count);
    read_texts(r, json, "warnings", &settings->warnings, &settings->warning_count);
    read_signatures(r, json);
    read_number(r, json, "delay", 10000, &settings->delay_ms);
    read_number(r, json, "limit", 60000, &settings->limit_ms);
    const Json *layouts = find(json, "layouts");
    if (layouts && layouts->kind != JSON_TRUE && layouts->kind != JSON_FALSE)
        complain(r, "layouts", "true or false");
    settings->layouts = layouts && layouts->kind == JSON_TRUE;
}

/* False: there is no memory for them. */
static bool read_guarded(SettingsReader *r, const Json *json) {
    if (setjmp(r->settings->ctx->oom))
        return false;
    read_all(r, json);
    return true;
}

/* The settings within what a client sends; NULL: there are none. */
static const Json *own_section(const Json *sent) {
    const Json *section = sent && sent->kind == JSON_OBJECT ? find(sent, "tilec") : NULL;
    return section ? section : sent;
}

const char *settings_read(Settings *settings, Arena *arena, const Json *sent) {
    const Json *json = own_section(sent);
    settings_destroy(settings);
    settings_default(settings);
    if (!json || json->kind == JSON_NULL)
        return NULL;
    if (json->kind != JSON_OBJECT)
        return "the settings are an object";
    Ctx *ctx = ctx_create();
    SettingsReader reader = {settings, ctx ? &ctx->arena : NULL, arena, NULL};
    settings->ctx = ctx;
    if (!ctx || !read_guarded(&reader, json)) {
        settings_destroy(settings);
        settings_default(settings);
        return "there is no memory for the settings";
    }
    return reader.wrong;
}
