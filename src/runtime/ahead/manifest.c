/* See manifest.h. Settings are read from the outside in: the file's, a kernel's, a variant's; each
 * begins with what stands around it. What a list holds more than one of is gone through, the last
 * one named here fastest: signatures, types, constexprs, warps, stages, CTAs, targets. */
#include "runtime/ahead/manifest.h"

#include "runtime/driver/choose_target.h"
#include "runtime/status.h"
#include "support/file.h"
#include "support/json.h"

#include <errno.h>
#include <stdlib.h>

typedef struct Texts {
    Str *items;
    uint32_t count;
} Texts;

typedef struct Numbers {
    int32_t *items;
    uint32_t count;
} Numbers;

/* A parameter and what it may be. */
typedef struct Choice {
    Str name;
    Texts values;
} Choice;

typedef struct Choices {
    Choice *items;
    uint32_t count;
} Choices;

/* In memory: paths and texts. */
typedef struct Files {
    NamedText *items;
    uint32_t count;
} Files;

typedef struct Settings {
    Texts targets, signatures, include, code, warnings;
    Choices types, constexprs;
    Numbers num_warps, num_stages, num_ctas;
    Str folder; /* ptr NULL: the manifest's */
    Str entry_name;
    Str grid;
    Files files;
    int32_t max_registers, max_shared, language;
    bool plain_abi, no_tensor_copies, no_persistence, in_place, no_line_info, no_fp_fusion,
        full_paths, debug, sanitize_overflow, no_ftz, deterministic;
} Settings;

typedef struct Reader {
    Ctx *ctx;
    const PlanDefaults *defaults;
    Str folder; /* of the manifest */
    Plan *plan;
} Reader;

static bool wrong(Reader *r, const Json *json, const char *wanted) {
    return json_wrong(&r->ctx->diags, json, wanted);
}

/* Values */

static bool read_literal(Reader *r, const Json *json, Str *text) {
    return json_literal(json, text) || wrong(r, json, "a literal");
}

static bool read_string(Reader *r, const Json *json, Str *text) {
    *text = json->text;
    return json->kind == JSON_STRING || wrong(r, json, "a string");
}

static bool read_number(Reader *r, const Json *json, int32_t *number) {
    char digits[24];
    if (json->kind == JSON_NUMBER && json->text.len < sizeof digits) {
        memcpy(digits, json->text.ptr, json->text.len);
        digits[json->text.len] = 0;
        char *end;
        errno = 0;
        const long value = strtol(digits, &end, 10);
        *number = (int32_t)value;
        if (!*end && !errno && value >= 0 && value <= INT32_MAX)
            return true;
    }
    return wrong(r, json, "an integer from 0 on");
}

/* The items of a list, or what stands there alone. */
static const Json *item_of(const Json *json, uint32_t i) {
    return json->kind == JSON_LIST ? json->items[i] : json;
}

static uint32_t item_count(const Json *json) {
    return json->kind == JSON_LIST ? json->count : 1;
}

typedef bool ReadText(Reader *r, const Json *json, Str *text);

static bool read_texts(Reader *r, const Json *json, ReadText *read, Texts *texts) {
    const uint32_t count = item_count(json);
    *texts = (Texts){ARENA_ARRAY(&r->ctx->arena, Str, count + 1), count};
    for (uint32_t i = 0; i < count; i++)
        if (!read(r, item_of(json, i), &texts->items[i]))
            return false;
    return count || wrong(r, json, "a list with something in it");
}

static bool read_numbers(Reader *r, const Json *json, Numbers *numbers) {
    const uint32_t count = item_count(json);
    *numbers = (Numbers){ARENA_ARRAY(&r->ctx->arena, int32_t, count + 1), count};
    for (uint32_t i = 0; i < count; i++)
        if (!read_number(r, item_of(json, i), &numbers->items[i]))
            return false;
    return count || wrong(r, json, "a list with something in it");
}

/* Names that stood around stay, unless they are given anew. */
static bool read_named(Reader *r, const Json *json, Choices *choices) {
    if (json->kind != JSON_OBJECT)
        return wrong(r, json, "an object: values by the names of parameters");
    Choice *items = ARENA_ARRAY(&r->ctx->arena, Choice, choices->count + json->count + 1);
    if (choices->count)
        memcpy(items, choices->items, choices->count * sizeof *items);
    choices->items = items;
    for (uint32_t i = 0; i < json->count; i++) {
        const JsonMember *member = &json->members[i];
        uint32_t at = 0;
        while (at < choices->count && !str_eq(items[at].name, member->name))
            at++;
        items[at].name = member->name;
        choices->count += at == choices->count;
        if (!read_texts(r, member->value, read_literal, &items[at].values))
            return false;
    }
    return true;
}

static bool read_files(Reader *r, const Json *json, Files *files) {
    if (json->kind != JSON_OBJECT)
        return wrong(r, json, "an object: texts by their paths");
    *files = (Files){ARENA_ARRAY(&r->ctx->arena, NamedText, (size_t)json->count + 1), json->count};
    for (uint32_t i = 0; i < json->count; i++) {
        files->items[i].name = json->members[i].name;
        if (!read_string(r, json->members[i].value, &files->items[i].text))
            return false;
    }
    return true;
}

static bool read_flag(Reader *r, const Json *json, bool *flag) {
    *flag = json->kind == JSON_TRUE;
    return *flag || json->kind == JSON_FALSE || wrong(r, json, "true or false");
}

#define READ_TEXTS(r, json, field) read_texts((r), (json), read_string, (field))
#define READ_NUMBERS(r, json, field) read_numbers((r), (json), (field))
#define READ_NAMED(r, json, field) read_named((r), (json), (field))
#define READ_NUMBER(r, json, field) read_number((r), (json), (field))
#define READ_FLAG(r, json, field) read_flag((r), (json), (field))
#define READ_TEXT(r, json, field) read_string((r), (json), (field))
#define READ_FILES(r, json, field) read_files((r), (json), (field))

static bool is_one_of(Str name, const char *const *names) {
    for (; *names; names++)
        if (str_is(name, *names))
            return true;
    return false;
}

static bool read_field(Reader *r, const JsonMember *member, Settings *settings, bool *is_field) {
    *is_field = true;
#define FIELD(field, kind)                                                                         \
    if (str_is(member->name, #field))                                                              \
        return READ_##kind(r, member->value, &settings->field);
#include "runtime/ahead/manifest.def"
    *is_field = false;
    return false;
}

static bool report_unknown(Reader *r, const JsonMember *member) {
    static const Str known[] = {
#define FIELD(field, kind) STR(#field),
#include "runtime/ahead/manifest.def"
    };
    return json_unknown(&r->ctx->diags, member, "a manifest", known, sizeof known / sizeof *known);
}

/* Overlays the settings with what the object says; `others`: names that the caller reads. */
static bool read_settings(Reader *r, const Json *object, const char *const *others,
                          Settings *settings) {
    if (object->kind != JSON_OBJECT)
        return wrong(r, object, "an object");
    for (uint32_t i = 0; i < object->count; i++) {
        const JsonMember *member = &object->members[i];
        bool is_field;
        if (is_one_of(member->name, others) || read_field(r, member, settings, &is_field))
            continue;
        return is_field ? false : report_unknown(r, member);
    }
    return true;
}

/* Variants */

/* Which of its values each choice has: counts up, the last one fastest; false after the last. */
static bool next(uint32_t *digits, const uint32_t *sizes, uint32_t count) {
    for (uint32_t i = count; i-- > 0;) {
        if (++digits[i] < sizes[i])
            return true;
        digits[i] = 0;
    }
    return false;
}

static NamedText *choose(Arena *arena, const Choices *choices, const uint32_t *digits) {
    NamedText *named = ARENA_ARRAY(arena, NamedText, choices->count + 1);
    for (uint32_t i = 0; i < choices->count; i++)
        named[i] = (NamedText){choices->items[i].name, choices->items[i].values.items[digits[i]]};
    return named;
}

static int32_t number_at(const Numbers *numbers, uint32_t i) {
    return numbers->count ? numbers->items[i] : 0;
}

static bool wanted_outputs(Reader *r, const Json *at, const Settings *settings, uint32_t *want) {
    static const char *const outputs[] = {"cubin", "ptx", NULL};
    *want = settings->code.count ? 0 : OUTPUT_BIT(cubin);
    for (uint32_t i = 0; i < settings->code.count; i++) {
        if (!is_one_of(settings->code.items[i], outputs))
            return ctx_diag(r->ctx, at->span, manifest_code, STR_ARG(settings->code.items[i]));
        *want |= str_is(settings->code.items[i], "ptx") ? OUTPUT_BIT(ptx) : OUTPUT_BIT(cubin);
    }
    return true;
}

static bool check_shape(Reader *r, const Json *at, const ElaborateRequest *kernel) {
    if (kernel->num_warps > TARGET_MAX_WARPS || kernel->num_warps & (kernel->num_warps - 1))
        return ctx_diag(r->ctx, at->span, manifest_shape, "num_warps", kernel->num_warps,
                        "a power of two up to 32");
    if (kernel->num_stages > 16)
        return ctx_diag(r->ctx, at->span, manifest_shape, "num_stages", kernel->num_stages,
                        "1 to 16");
    return true;
}

/* What a kernel of the manifest is: a file, or a text that goes by its name. */
typedef struct Subject {
    Str file, kernel, source; /* source.ptr NULL: the file is read */
} Subject;

/* Where paths begin: in the manifest's folder, of which they then are part, or in the one that it
 * names, to which they stay relative. */
static void add_paths(Reader *r, const Settings *s, const Subject *subject,
                      CompileRequest *request) {
    Arena *arena = &r->ctx->arena;
    const Str within = s->folder.len ? STR("") : r->folder;
    if (s->folder.len)
        request->folder = str_from(file_join(arena, r->folder, s->folder));
    request->path = file_join(arena, within, subject->file);
    Str *folders =
        ARENA_ARRAY(arena, Str, request->kernel.search_path_count + (size_t)s->include.count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->include.count; i++)
        folders[count++] = str_from(file_join(arena, within, s->include.items[i]));
    for (uint32_t i = 0; i < request->kernel.search_path_count; i++)
        folders[count++] = request->kernel.search_paths[i];
    request->kernel.search_paths = folders;
    request->kernel.search_path_count = count;
}

/* Everything but what is gone through. */
static Planned planned(Reader *r, const Settings *s, const Subject *subject, Span span) {
    Planned planned = {
        .request = r->defaults->request, .path = subject->file, .grid = s->grid, .span = span};
    CompileRequest *request = &planned.request;
    add_paths(r, s, subject, request);
    request->text = subject->source;
    request->kernel.kernel = subject->kernel;
    if (s->entry_name.len)
        request->kernel.entry_name = s->entry_name;
    if (s->files.count) {
        request->files = s->files.items;
        request->file_count = s->files.count;
    }
    if (s->warnings.count) {
        request->warnings = s->warnings.items;
        request->warning_count = s->warnings.count;
    }
    if (s->max_registers)
        request->max_registers = s->max_registers;
    if (s->max_shared)
        request->max_shared = s->max_shared;
    request->plain_abi |= s->plain_abi;
    request->no_tensor_copies |= s->no_tensor_copies;
    request->no_persistence |= s->no_persistence;
    request->in_place |= s->in_place;
    request->line_info &= !s->no_line_info;
    request->no_fp_fusion |= s->no_fp_fusion;
    request->no_ftz |= s->no_ftz;
    request->deterministic = compile_asks_deterministic(request->deterministic || s->deterministic);
    request->kernel.language =
        compile_asks_language(s->language ? s->language : request->kernel.language);
    request->full_paths |= s->full_paths;
    request->kernel.debug |= s->debug;
    request->kernel.sanitize_overflow |= s->sanitize_overflow;
    return planned;
}

static bool expand(Reader *r, const Json *at, const Settings *s, const Subject *subject) {
    Arena *arena = &r->ctx->arena;
    Planned base = planned(r, s, subject, at->span);
    if (!wanted_outputs(r, at, s, &base.request.want))
        return false;
    const Texts targets =
        r->defaults->target_count
            ? (Texts){(Str *)(uintptr_t)r->defaults->targets, r->defaults->target_count}
            : s->targets;
    enum { WARPS, STAGES, CTAS, TARGETS, LAST };
    const uint32_t named = s->types.count + s->constexprs.count, total = 1 + named + LAST;
    uint32_t *digits = ARENA_ARRAY(arena, uint32_t, total),
             *sizes = ARENA_ARRAY(arena, uint32_t, total);
    sizes[0] = s->signatures.count ? s->signatures.count : 1;
    for (uint32_t i = 0; i < named; i++)
        sizes[1 + i] = i < s->types.count ? s->types.items[i].values.count
                                          : s->constexprs.items[i - s->types.count].values.count;
    const uint32_t counts[LAST] = {s->num_warps.count, s->num_stages.count, s->num_ctas.count,
                                   targets.count};
    for (uint32_t i = 0; i < LAST; i++)
        sizes[1 + named + i] = counts[i] ? counts[i] : 1;
    do {
        const uint32_t *last = digits + 1 + named;
        Planned one = base;
        ElaborateRequest *k = &one.request.kernel;
        if (s->signatures.count)
            k->signature = s->signatures.items[digits[0]];
        k->types = choose(arena, &s->types, digits + 1);
        k->type_count = s->types.count;
        k->defines = choose(arena, &s->constexprs, digits + 1 + s->types.count);
        k->define_count = s->constexprs.count;
        k->num_warps = number_at(&s->num_warps, last[WARPS]);
        k->num_stages = number_at(&s->num_stages, last[STAGES]);
        k->num_ctas = number_at(&s->num_ctas, last[CTAS]);
        one.request.target = choose_target(
            &r->ctx->diags, targets.count ? targets.items[last[TARGETS]] : STR(""), NULL, NULL);
        if (!one.request.target || !check_shape(r, at, k))
            return false;
        if (r->plan->len == PLAN_MAX_VARIANTS)
            return ctx_diag(r->ctx, at->span, manifest_many, PLAN_MAX_VARIANTS);
        vec_push(arena, r->plan, one);
    } while (next(digits, sizes, total));
    return true;
}

static bool read_kernel(Reader *r, const Json *json, const Settings *around) {
    static const char *const own[] = {"file", "source", "kernel", "variants", NULL};
    static const char *const none[] = {NULL};
    Settings settings = *around;
    if (!read_settings(r, json, own, &settings))
        return false;
    const Json *file = json_find(json, "file"), *kernel = json_find(json, "kernel"),
               *source = json_find(json, "source"), *variants = json_find(json, "variants");
    Subject subject = {0};
    if (!file)
        return ctx_diag(r->ctx, json->span, json_missing, "file");
    if (!read_string(r, file, &subject.file) ||
        (kernel && !read_string(r, kernel, &subject.kernel)) ||
        (source && !read_string(r, source, &subject.source)))
        return false;
    if (!variants)
        return expand(r, json, &settings, &subject);
    if (variants->kind != JSON_LIST)
        return wrong(r, variants, "a list");
    for (uint32_t i = 0; i < variants->count; i++) {
        Settings of_variant = settings;
        if (!read_settings(r, variants->items[i], none, &of_variant) ||
            !expand(r, variants->items[i], &of_variant, &subject))
            return false;
    }
    return true;
}

static bool read_manifest(Reader *r, const Json *json) {
    static const char *const own[] = {"kernels", NULL};
    Settings settings = {0};
    if (!read_settings(r, json, own, &settings))
        return false;
    const Json *kernels = json_find(json, "kernels");
    if (!kernels)
        return ctx_diag(r->ctx, json->span, json_missing, "kernels");
    if (kernels->kind != JSON_LIST || !kernels->count)
        return wrong(r, kernels, "a list with something in it");
    for (uint32_t i = 0; i < kernels->count; i++)
        if (!read_kernel(r, kernels->items[i], &settings))
            return false;
    return true;
}

bool manifest_parse(Ctx *ctx, uint32_t file, const PlanDefaults *defaults, Plan *plan) {
    const Source *source = source_get(&ctx->sources, file);
    Reader r = {ctx, defaults, file_folder(source->path), plan};
    size_t at = 0;
    do {
        const Json *json = json_read_next(&ctx->diags, file, &at);
        if (!json || !read_manifest(&r, json))
            return false;
    } while (at < source->text.len);
    return true;
}

bool manifest_read(Ctx *ctx, const char *path, const PlanDefaults *defaults, Plan *plan) {
    enum { MANIFEST_LIMIT = 16 << 20 };
    Str text;
    const int error = file_read(&ctx->arena, path, MANIFEST_LIMIT, &text);
    return error ? report_unreadable(&ctx->diags, path, error)
                 : manifest_parse(ctx, source_add(&ctx->sources, str_from(path), text), defaults,
                                  plan);
}
