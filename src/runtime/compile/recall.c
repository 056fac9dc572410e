/* Entries of the cache, section by section: facts, PTX, cubin, imported files, and what was said.
 */
#include "runtime/compile/recall.h"

#include "frontend/imports.h"
#include "runtime/compile/build_info.h"
#include "runtime/launch/facts.h"
#include "runtime/tools/ptxas.h"
#include "support/file.h"

#include <inttypes.h>
#include <stdio.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    SECTION_META,
    SECTION_PTX,
    SECTION_CUBIN,
    SECTION_FILES,
    SECTION_SAID,
    SECTION_CODE, /* hash of the key that may refer to this entry; empty: none may */
    SECTION_COUNT
};
_Static_assert((int)SECTION_COUNT <= (int)CACHE_MAX_SECTIONS, "an entry has room for them");

static void new_sections(CacheSection *sections) {
    static const char *const names[SECTION_COUNT] = {"meta",  "ptx",  "cubin",
                                                     "files", "said", "code"};
    for (int i = 0; i < SECTION_COUNT; i++)
        sections[i] = (CacheSection){names[i], {"", 0}};
}

static void add_hash(StrBuf *out, Str text) {
    XXH128_hash_t hash = XXH3_128bits(text.ptr, text.len);
    strbuf_printf(out, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64, (uint64_t)hash.low64);
}

static void add_text(StrBuf *out, const char *name, Str text) {
    strbuf_printf(out, "%s ", name);
    strbuf_json(out, text);
    strbuf_putc(out, '\n');
}

/* In the order of the names, since that of a request decides nothing; of two of a name the first
 * one counts, and stays the first. */
static void add_named(StrBuf *out, const char *kind, const NamedText *named, uint32_t count) {
    const NamedText **sorted = ARENA_ARRAY(out->arena, const NamedText *, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        for (; at && str_order(sorted[at - 1]->name, named[i].name) > 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = &named[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        strbuf_printf(out, "%s %.*s ", kind, STR_ARG(sorted[i]->name));
        strbuf_json(out, sorted[i]->text);
        strbuf_putc(out, '\n');
    }
}

/* The source's name is in the code where lines are, and in what a false assertion says. */
static bool in_code(const CompileRequest *request) {
    return request->line_info || request->kernel.debug || request->kernel.sanitize_overflow;
}

/* Where imports are looked for decides nothing before they are. */
static Str key_of(Ctx *ctx, const CompileRequest *request, Str assembler, const char *what,
                  const Source *source, Str text) {
    const ElaborateRequest *kernel = &request->kernel;
    StrBuf key = strbuf(&ctx->arena);
    strbuf_printf(&key, "compiler %s %s\nllvm %s\n", build_version, build_id,
                  build_llvm_version(&ctx->arena));
    add_text(&key, "assembler", assembler);
    strbuf_printf(&key, "%s %zu ", what, text.len);
    add_hash(&key, text);
    strbuf_putc(&key, '\n');
    add_text(&key, "name", in_code(request) ? source->name : STR(""));
    add_text(&key, "kernel", kernel->kernel);
    add_text(&key, "entry_name", kernel->entry_name);
    add_text(&key, "signature", kernel->signature);
    add_named(&key, "type", kernel->types, kernel->type_count);
    add_named(&key, "define", kernel->defines, kernel->define_count);
    for (uint32_t i = 0; i < request->warning_count; i++)
        add_text(&key, "warning", request->warnings[i]);
    strbuf_printf(&key,
                  "target %s\nwarps %d\nstages %d\nctas %d\nregisters %d\nshared %d\nlines "
                  "%d\nllvm_level %d\n",
                  request->target->name, kernel->num_warps, kernel->num_stages, kernel->num_ctas,
                  request->max_registers, request->max_shared, request->line_info,
                  request->llvm_level);
    strbuf_printf(
        &key,
        "debug %d\nno_tensor_copies %d\nno_persistence %d\nplain_abi %d\nheuristics_done %d\n"
        "autotune_done %d\nno_fp_fusion %d\nsanitize_overflow %d\nno_ftz %d\ndeterministic %d\n"
        "language %d\nin_place %d\n",
        kernel->debug, request->no_tensor_copies, request->no_persistence, request->plain_abi,
        kernel->heuristics_done, kernel->autotune_done, request->no_fp_fusion,
        kernel->sanitize_overflow, request->no_ftz, request->deterministic, kernel->language,
        request->in_place);
    return strbuf_str(&key);
}

Str recall_key(Ctx *ctx, const CompileRequest *request, uint32_t file, Str assembler) {
    const Source *source = source_get(&ctx->sources, file);
    if (!request->kernel.units.count)
        return key_of(ctx, request, assembler, "source", source, source->text);
    StrBuf units = strbuf(&ctx->arena);
    units_write(&ctx->sources, file, &request->kernel.units, in_code(request), &units);
    return key_of(ctx, request, assembler, "source", source, strbuf_str(&units));
}

Str recall_code_key(Ctx *ctx, const CompileRequest *request, const Reach *reach, Str assembler) {
    const Source *source = source_get(&ctx->sources, reach->file);
    return key_of(ctx, request, assembler, "code", source, reach->text);
}

Str recall_assembler(Ctx *ctx, Cache *cache, const char *path) {
    const char *place = ptxas_identity(&ctx->arena, path);
    Str key = str_from(str_format(&ctx->arena, "assembler %s %s", build_version, place)), known;
    if (!cache || !cache_is_on(cache))
        return str_from(place);
    if (cache_follow(cache, &ctx->arena, key, &known))
        return known;
    const char *content = ptxas_content(&ctx->arena, path);
    if (!content)
        return str_from(place);
    cache_refer(cache, &ctx->arena, key, str_from(content)); /* to be read anew, else */
    return str_from(content);
}

static Str prewarmed_key(Ctx *ctx) {
    return str_from(str_format(&ctx->arena, "assembler %s of what was prewarmed", build_version));
}

int recall_say_assembler(Ctx *ctx, Cache *cache, const char *path) {
    return cache_refer(cache, &ctx->arena, prewarmed_key(ctx), recall_assembler(ctx, cache, path));
}

bool recall_prewarmed_by(Ctx *ctx, Cache *cache, Str *assembler) {
    return cache && cache_follow(cache, &ctx->arena, prewarmed_key(ctx), assembler);
}

Str recall_place_key(Ctx *ctx, Str key, const CompileRequest *request, uint32_t file) {
    StrBuf out = strbuf(&ctx->arena);
    strbuf_add(&out, key.ptr, key.len);
    add_text(&out, "path", source_get(&ctx->sources, file)->path);
    for (uint32_t i = 0; i < request->kernel.search_path_count; i++)
        add_text(&out, "search", request->kernel.search_paths[i]);
    return strbuf_str(&out);
}

/* Imports: "<from> <found> <hash> <name> <module>" a line, in the order in which they were made.
 * Files are counted as in messages, 1 for the source; nothing was found: 0, with dashes. Where they
 * lie is not said: the same rule finds them from wherever the source lies now, and what it finds
 * must be what was found. */
enum { HASH_DIGITS = 32 };
static const char no_hash[] = "--------------------------------";

static Str take_line(Str *rest) {
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
    Str line = {rest->ptr, len};
    size_t skip = end ? len + 1 : len;
    *rest = (Str){rest->ptr + skip, rest->len - skip};
    return line;
}

/* Diagnostics: "d <id> <place>", "h <text>" hint and "n <place>" note lines, each followed by its
 * text as a line; a place is "<source> <line>:<column> <line>:<column>", the source 0 for none, 1
 * for the main one, 2.. for imported ones. Lines and columns stay where they are when comments
 * change, offsets do not. */

static uint32_t source_index(Ctx *ctx, uint32_t number, uint32_t file) {
    if (number == file)
        return 1;
    if (!number || !source_get(&ctx->sources, number)->is_import)
        return 0;
    uint32_t index = 2;
    for (uint32_t i = 1; i < number; i++)
        index += source_get(&ctx->sources, i)->is_import;
    return index;
}

static Str imports_write(Ctx *ctx, const Compiled *compiled) {
    StrBuf out = strbuf(&ctx->arena);
    if (compiled->from_entry.len)
        return compiled->from_entry;
    vec_for_each (made, &compiled->imports) {
        const Source *found = source_get(&ctx->sources, made->found);
        const bool is_main = made->found == compiled->file;
        strbuf_printf(&out, "%u %u ", source_index(ctx, made->from, compiled->file),
                      source_index(ctx, made->found, compiled->file));
        if (found && !is_main)
            add_hash(&out, found->text);
        else
            strbuf_puts(&out, no_hash);
        const Str name = found && !is_main ? found->name : STR("-");
        strbuf_printf(&out, " %.*s %.*s\n", STR_ARG(name), STR_ARG(made->module));
    }
    return strbuf_str(&out);
}

typedef VEC(uint32_t) FileList;

/* One import, looked for anew. */
typedef struct Reimport {
    Ctx *ctx;
    const FileList *known; /* files by their count, from 1 */
    size_t found;          /* the count; 0: nothing */
    Str path, below, text; /* of one that is new */
} Reimport;

static bool look_again(void *user, const char *path, Str below) {
    Reimport *r = user;
    for (size_t i = 0; i < r->known->len; i++) {
        if (!str_is(source_get(&r->ctx->sources, r->known->data[i])->path, path))
            continue;
        r->found = i + 1;
        return true;
    }
    if (source_read(&r->ctx->sources, path, FRONTEND_SOURCE_LIMIT, &r->text))
        return false;
    r->found = r->known->len + 1;
    r->path = str_from(path);
    r->below = below;
    return true;
}

typedef struct ImportLine {
    unsigned from, found;
    char hash[HASH_DIGITS + 1];
    Str name, module;
} ImportLine;

static bool parse_import(Arena *arena, Str text, ImportLine *line) {
    const char *copy = str_dup(arena, text);
    int at = 0;
    if (sscanf(copy, "%u %u %32s %n", &line->from, &line->found, line->hash, &at) != 3 || !at ||
        strlen(line->hash) != HASH_DIGITS)
        return false;
    const char *space = strrchr(copy + at, ' ');
    if (!space)
        return false;
    line->name = (Str){copy + at, (size_t)(space - copy) - (size_t)at};
    line->module = str_from(space + 1);
    return true;
}

/* A file that is new becomes a source, as it did when it was elaborated. */
static bool add_again(Ctx *ctx, const Reimport *r, const ImportLine *line, uint32_t *file) {
    StrBuf hash = strbuf(&ctx->arena);
    add_hash(&hash, r->text);
    if (memcmp(hash.ptr, line->hash, HASH_DIGITS) != 0)
        return false;
    *file = source_add_import(&ctx->sources, r->path, r->below, r->text);
    return str_eq(source_get(&ctx->sources, *file)->name, line->name);
}

/* Every import finds what it found. */
static bool imports_unchanged(Ctx *ctx, const CompileRequest *request, Str list, uint32_t file) {
    FileList known = {0};
    vec_push(&ctx->arena, &known, file);
    while (list.len) {
        ImportLine line;
        if (!parse_import(&ctx->arena, take_line(&list), &line) || !line.from ||
            line.from > known.len)
            return false;
        Reimport r = {.ctx = ctx, .known = &known};
        const Str from = source_get(&ctx->sources, known.data[line.from - 1])->path;
        import_find(&ctx->arena, from, line.module, request->kernel.search_paths,
                    request->kernel.search_path_count, look_again, &r);
        if (r.found != line.found)
            return false;
        uint32_t added;
        if (r.found <= known.len)
            continue;
        if (!add_again(ctx, &r, &line, &added))
            return false;
        vec_push(&ctx->arena, &known, added);
    }
    return true;
}

static void said_line(Ctx *ctx, StrBuf *out, const char *head, Span span, uint32_t file,
                      const char *text) {
    const Source *source = source_get(&ctx->sources, span.file);
    LineColumn lo = {0}, hi = {0};
    if (source) {
        lo = source_locate(source, span.lo);
        hi = source_locate(source, span.hi);
    }
    strbuf_printf(out, "%s %u %u:%u %u:%u ", head, source_index(ctx, span.file, file), lo.line,
                  lo.column, hi.line, hi.column);
    for (const char *p = text; *p; p++)
        strbuf_putc(out, *p == '\n' ? ' ' : *p);
    strbuf_putc(out, '\n');
}

static const Diagnostic *first_said(const Ctx *ctx, const Compiled *compiled) {
    const Diagnostic *last_before = compiled->before.last;
    return last_before ? last_before->next : ctx->diags.first;
}

static Str said_write(Ctx *ctx, const Compiled *compiled) {
    const uint32_t file = compiled->file;
    StrBuf out = strbuf(&ctx->arena);
    for (const Diagnostic *d = first_said(ctx, compiled); d; d = d->next) {
        said_line(ctx, &out, str_format(&ctx->arena, "d %s", diag_name(d->id)), d->span, file,
                  d->text);
        if (d->required || d->limit)
            strbuf_printf(&out, "r %" PRIu64 " %" PRIu64 "\n", d->required, d->limit);
        for (const DiagNote *note = d->notes; note; note = note->next)
            said_line(ctx, &out, note->is_hint ? "n hint" : "n note", note->span, file, note->text);
    }
    return strbuf_str(&out);
}

static DiagId find_diag(const char *name) {
    for (int id = 0; id < DIAG_COUNT; id++)
        if (!strcmp(diag_name((DiagId)id), name))
            return (DiagId)id;
    return DIAG_COUNT;
}

static Span span_of(Ctx *ctx, uint32_t file, LineColumn lo, LineColumn hi) {
    const Source *source = source_get(&ctx->sources, file);
    Span span = {file, source ? source_offset(source, lo) : UINT32_MAX,
                 source ? source_offset(source, hi) : UINT32_MAX};
    return span.lo <= span.hi && span.hi != UINT32_MAX ? span : (Span){0};
}

/* `first_import` is the number that the first imported source, or second unit, got in this context.
 */
static bool said_repeat(Ctx *ctx, Str said, uint32_t file, uint32_t first_import) {
    while (said.len) {
        Str line = take_line(&said);
        char kind, name[64];
        unsigned source;
        LineColumn lo, hi;
        int text = 0;
        uint64_t required, limit;
        if (sscanf(str_dup(&ctx->arena, line), "r %" SCNu64 " %" SCNu64, &required, &limit) == 2) {
            diag_resource(&ctx->diags, required, limit);
            continue;
        }
        if (sscanf(str_dup(&ctx->arena, line), "%c %63s %u %u:%u %u:%u %n", &kind, name, &source,
                   &lo.line, &lo.column, &hi.line, &hi.column, &text) != 7 ||
            !text)
            return false;
        Span span = span_of(ctx, source <= 1 ? source * file : first_import + source - 2, lo, hi);
        int len = (int)(line.len - (size_t)text);
        if (kind == 'd') {
            DiagId id = find_diag(name);
            if (id == DIAG_COUNT)
                return false;
            diag_emit(&ctx->diags, span, id, "%.*s", len, line.ptr + text);
        } else if (!strcmp(name, "hint")) {
            diag_hint(&ctx->diags, "%.*s", len, line.ptr + text);
        } else {
            diag_note(&ctx->diags, span, "%.*s", len, line.ptr + text);
        }
    }
    return true;
}

Recalled recall_describe(Ctx *ctx, const Compiled *compiled) {
    Recalled described = {.files = imports_write(ctx, compiled),
                          .said = said_write(ctx, compiled),
                          .asked = compiled->asked};
    if (compiled->facts.meta.target) {
        StrBuf meta = strbuf(&ctx->arena);
        facts_write(&compiled->facts, &meta);
        described.meta = strbuf_str(&meta);
    }
    return described;
}

RecallResult recall_repeat(Ctx *ctx, const CompileRequest *request, const Recalled *described,
                           Compiled *compiled) {
    const size_t sources = ctx->sources.sources.len;
    const uint32_t first = request->kernel.units.count ? compiled->file + 1 : (uint32_t)sources + 1;
    KernelFacts facts = {0};
    if (!imports_unchanged(ctx, request, described->files, compiled->file)) {
        ctx->sources.sources.len = sources; /* nobody has spoken of them */
        return RECALL_OTHER_IMPORTS;
    }
    if ((described->meta.len && !facts_read(&ctx->arena, described->meta, &facts)) ||
        !said_repeat(ctx, described->said, compiled->file, first))
        return RECALL_MISS;
    compiled->facts = facts;
    compiled->asked = described->asked;
    compiled->from_entry = described->files;
    return RECALL_HIT;
}

bool recall_is_covered(Ctx *ctx, const Reach *reach, const Compiled *compiled) {
    for (Str rest = compiled->asked; rest.len;)
        if (!reach_has_name(ctx, reach, take_line(&rest)))
            return false;
    for (const Diagnostic *d = first_said(ctx, compiled); d; d = d->next) {
        if (!reach_has_span(reach, d->span))
            return false;
        for (const DiagNote *note = d->notes; note; note = note->next)
            if (!reach_has_span(reach, note->span))
                return false;
    }
    return true;
}

static Str hash_of(Ctx *ctx, Str text) {
    StrBuf hash = strbuf(&ctx->arena);
    add_hash(&hash, text);
    return strbuf_str(&hash);
}

/* `code_key` empty: the entry may be of any code. */
static RecallResult get_entry(Ctx *ctx, const CompileRequest *request, Str key, Str code_key,
                              Compiled *compiled) {
    CacheSection sections[SECTION_COUNT];
    new_sections(sections);
    if (cache_get(request->cache, &ctx->arena, key, sections, SECTION_COUNT) != CACHE_HIT)
        return RECALL_MISS;
    const bool needs_cubin = request->want & (OUTPUT_BIT(cubin) | OUTPUT_BIT(sass));
    const Recalled described = {sections[SECTION_META].data, sections[SECTION_FILES].data,
                                sections[SECTION_SAID].data, STR("")};
    if (code_key.len && !str_eq(sections[SECTION_CODE].data, hash_of(ctx, code_key)))
        return RECALL_MISS;
    if (!described.meta.len || !sections[SECTION_PTX].data.len ||
        (needs_cubin && !sections[SECTION_CUBIN].data.len))
        return RECALL_MISS;
    const RecallResult result = recall_repeat(ctx, request, &described, compiled);
    if (result != RECALL_HIT)
        return result;
    /* A string for drivers, which what follows in the entry would not end. */
    const Str ptx = sections[SECTION_PTX].data;
    compiled->outputs[OUTPUT_ptx] = (Str){str_dup(&ctx->arena, ptx), ptx.len};
    compiled->outputs[OUTPUT_cubin] = sections[SECTION_CUBIN].data;
    compiled->from_cache = true;
    return RECALL_HIT;
}

RecallResult recall_get(Ctx *ctx, const CompileRequest *request, Str key, Compiled *compiled) {
    return get_entry(ctx, request, key, STR(""), compiled);
}

bool recall_get_code(Ctx *ctx, const CompileRequest *request, Str key, Str code_key,
                     Compiled *compiled) {
    Str other;
    return cache_follow(request->cache, &ctx->arena, code_key, &other) && !str_eq(other, key) &&
           get_entry(ctx, request, other, code_key, compiled) == RECALL_HIT;
}

int recall_put(Ctx *ctx, const CompileRequest *request, Str key, Str code_key,
               const Compiled *compiled) {
    CacheSection sections[SECTION_COUNT];
    new_sections(sections);
    const Recalled described = recall_describe(ctx, compiled);
    sections[SECTION_META].data = described.meta;
    sections[SECTION_PTX].data = compiled->outputs[OUTPUT_ptx];
    sections[SECTION_CUBIN].data = compiled->outputs[OUTPUT_cubin];
    sections[SECTION_FILES].data = described.files;
    sections[SECTION_SAID].data = described.said;
    sections[SECTION_CODE].data = code_key.len ? hash_of(ctx, code_key) : STR("");
    int error = cache_put(request->cache, &ctx->arena, key, sections, SECTION_COUNT);
    if (!error && code_key.len)
        error = cache_refer(request->cache, &ctx->arena, code_key, key);
    return error;
}
