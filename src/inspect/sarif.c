/* See sarif.h. Names of properties and what they must hold: SARIF 2.1.0, section 3. */
#include "inspect/sarif.h"

#include "support/sha256.h"

static const char *const level_name[] = {
    [SEV_REMARK] = "note", [SEV_WARNING] = "warning", [SEV_ERROR] = "error"};

/* Formats of messages, whose conversions stand for words of a source. */
static const char *const diag_formats[DIAG_COUNT + 1] = {
#define DIAG(id, severity, format) [DIAG_##id] = format,
#include "support/diags.def"
};

typedef struct Sarif {
    const SarifRun *run;
    Arena *arena;
    StrBuf *out;
    bool used[DIAG_COUNT];
    int rule[DIAG_COUNT]; /* index of those that are used */
} Sarif;

/* Between members of an object or items of a list: a comma but before the first. */
static void separate(Sarif *s, bool *first, const char *indent) {
    strbuf_printf(s->out, "%s\n%s", *first ? "" : ",", indent);
    *first = false;
}

static void add_message(Sarif *s, Str text) {
    strbuf_puts(s->out, "{\"text\": ");
    strbuf_json(s->out, text);
    strbuf_putc(s->out, '}');
}

/* ---- rules ---- */

/* Length of the conversion that begins at the `%` of a format. */
static size_t conversion_length(const char *format) {
    const size_t flags = 1 + strspn(format + 1, "-+ #0123456789.*hlzjt");
    return format[flags] ? flags + 1 : flags;
}

/* What a message says whatever it is about: "`..` is not defined". */
static Str short_description(Arena *arena, DiagId id) {
    StrBuf text = strbuf(arena);
    bool has_words = false;
    for (const char *at = diag_formats[id]; *at;) {
        if (*at != '%') {
            has_words |= (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
            strbuf_putc(&text, *at++);
            continue;
        }
        strbuf_puts(&text, at[1] == '%' ? "%" : "..");
        at += at[1] == '%' ? 2 : conversion_length(at);
    }
    if (has_words)
        return strbuf_str(&text);
    StrBuf words = strbuf(arena);
    for (const char *at = diag_name(id); *at; at++)
        strbuf_putc(&words, *at == '_' ? ' ' : *at);
    return strbuf_str(&words);
}

/* elab_unknown_name: ElabUnknownName */
static Str rule_name(Arena *arena, DiagId id) {
    StrBuf name = strbuf(arena);
    bool begins = true;
    for (const char *at = diag_name(id); *at; at++) {
        if (*at != '_')
            strbuf_putc(&name, begins && *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at);
        begins = *at == '_';
    }
    return strbuf_str(&name);
}

static void add_rules(Sarif *s) {
    bool first = true;
    strbuf_puts(s->out, "\"rules\": [");
    for (int id = 0; id < DIAG_COUNT; id++) {
        if (!s->used[id])
            continue;
        separate(s, &first, "            ");
        strbuf_printf(s->out, "{\"id\": \"%s\", \"name\": ", diag_name((DiagId)id));
        strbuf_json(s->out, rule_name(s->arena, (DiagId)id));
        strbuf_puts(s->out, ", \"shortDescription\": ");
        add_message(s, short_description(s->arena, (DiagId)id));
        strbuf_printf(s->out, ", \"defaultConfiguration\": {\"level\": \"%s\"}}",
                      level_name[diag_severity((DiagId)id)]);
    }
    strbuf_puts(s->out, "]");
}

/* Rules are those of the messages there are, in the order of diags.def. */
static void number_rules(Sarif *s) {
    for (size_t i = 0; i < s->run->file_count; i++) {
        const SarifFile *file = &s->run->files[i];
        for (const Diagnostic *d = file->unread ? NULL : file->diags->first; d; d = d->next)
            s->used[d->id] = true;
    }
    int count = 0;
    for (int id = 0; id < DIAG_COUNT; id++)
        s->rule[id] = s->used[id] ? count++ : -1;
}

/* ---- places ---- */

/* The path without `.`, `..` and doubled slashes, from the root. */
static Str absolute_path(const Sarif *s, Str path) {
    VEC(Str) parts = {0};
    const Str whole =
        path.len && path.ptr[0] == '/'
            ? path
            : str_from(str_format(s->arena, "%.*s/%.*s", STR_ARG(s->run->folder), STR_ARG(path)));
    for (size_t i = 0, end; i < whole.len; i = end + 1) {
        for (end = i; end < whole.len && whole.ptr[end] != '/';)
            end++;
        const Str part = {whole.ptr + i, end - i};
        if (str_is(part, ".."))
            parts.len -= parts.len > 0;
        else if (part.len && !str_is(part, "."))
            vec_push(s->arena, &parts, part);
    }
    StrBuf joined = strbuf(s->arena);
    vec_for_each (part, &parts)
        strbuf_printf(&joined, "/%.*s", STR_ARG(*part));
    return strbuf_str(&joined);
}

/* A path as (part of) a URI, RFC 3986. */
static Str percent_encoded(Arena *arena, Str path) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-._~/";
    StrBuf text = strbuf(arena);
    for (size_t i = 0; i < path.len; i++)
        if (path.ptr[i] && strchr(plain, path.ptr[i]))
            strbuf_putc(&text, path.ptr[i]);
        else
            strbuf_printf(&text, "%%%02X", (unsigned char)path.ptr[i]);
    return strbuf_str(&text);
}

/* The part of the path below the folder; false: it is not below it. */
static bool below_folder(const Sarif *s, Str path, Str *below) {
    const Str folder = absolute_path(s, s->run->folder);
    if (path.len <= folder.len + 1 || path.ptr[folder.len] != '/' ||
        memcmp(path.ptr, folder.ptr, folder.len))
        return false;
    *below = (Str){path.ptr + folder.len + 1, path.len - folder.len - 1};
    return true;
}

static void add_artifact_location(Sarif *s, Str path) {
    Str below;
    const Str absolute = absolute_path(s, path);
    const bool is_below = below_folder(s, absolute, &below);
    strbuf_puts(s->out, "{\"uri\": ");
    if (is_below)
        strbuf_json(s->out, percent_encoded(s->arena, below));
    else
        strbuf_json(s->out, str_from(str_format(s->arena, "file://%.*s",
                                                STR_ARG(percent_encoded(s->arena, absolute)))));
    strbuf_printf(s->out, "%s}", is_below ? ", \"uriBaseId\": \"%SRCROOT%\"" : "");
}

/* The column in characters of a column in bytes; a byte that is no UTF-8 is one. A mark of the
 * order of bytes before the first line is no part of it. */
static uint32_t character_column(const Source *source, LineColumn at) {
    const Str line = source_line(source, at.line);
    const uint32_t bytes = at.column - 1 - source->columns_before;
    uint32_t column = source->columns_before + 1;
    size_t i = at.line == 1 && line.len >= 3 && !memcmp(line.ptr, "\xef\xbb\xbf", 3) ? 3 : 0;
    for (; i < line.len && i < bytes; column++) {
        const size_t length = str_utf8_length(line, i);
        i += length ? length : 1;
    }
    /* Behind the line's end, as a newline that is missing stands there. */
    return bytes > line.len ? column + 1 : column;
}

static void add_region(Sarif *s, const Source *source, Span span) {
    const LineColumn lo = source_locate(source, span.lo);
    const LineColumn hi = source_locate(source, span.hi > span.lo ? span.hi : span.lo);
    strbuf_printf(s->out,
                  "{\"startLine\": %u, \"startColumn\": %u, \"endLine\": %u, \"endColumn\": %u}",
                  lo.line, character_column(source, lo), hi.line, character_column(source, hi));
}

/* Without a place in a source: the file as a whole. */
static void add_physical_location(Sarif *s, const Diags *diags, Span span, Str path) {
    const Source *source = source_get(diags->sources, span.file);
    strbuf_puts(s->out, "{\"artifactLocation\": ");
    add_artifact_location(s, source ? source->path : path);
    if (source) {
        strbuf_puts(s->out, ", \"region\": ");
        add_region(s, source, span);
    }
    strbuf_putc(s->out, '}');
}

/* ---- results ---- */

static Str span_text(const Diags *diags, Span span) {
    const Source *source = source_get(diags->sources, span.file);
    return source && span.hi <= source->text.len && span.lo < span.hi
               ? (Str){source->text.ptr + span.lo, span.hi - span.lo}
               : STR("");
}

static bool is_name(Str text) {
    if (!text.len || (text.ptr[0] >= '0' && text.ptr[0] <= '9'))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_'))
            return false;
    }
    return true;
}

static size_t last_component(Str text) {
    size_t at = text.len;
    while (at && text.ptr[at - 1] != '.')
        at--;
    return at;
}

/* What "did you mean `x`?" wants instead of the name at the place, the last one of a dotted name.
 */
static bool find_fix(const Diags *diags, const Diagnostic *d, Span *deleted, Str *inserted) {
    static const char begin[] = "did you mean `", end[] = "`?";
    const DiagNote *note = d->notes;
    while (note && !note->is_hint)
        note = note->next;
    const Str hint = note ? str_from(note->text) : STR("");
    if (hint.len < sizeof begin + sizeof end || memcmp(hint.ptr, begin, sizeof begin - 1) ||
        memcmp(hint.ptr + hint.len - (sizeof end - 1), end, sizeof end - 1))
        return false;
    *inserted =
        (Str){hint.ptr + sizeof begin - 1, hint.len - (sizeof begin - 1) - (sizeof end - 1)};
    const Str text = span_text(diags, d->span);
    const size_t at = last_component(text);
    *deleted = (Span){d->span.file, d->span.lo + (uint32_t)at, d->span.hi};
    const size_t name = last_component(*inserted);
    *inserted = (Str){inserted->ptr + name, inserted->len - name};
    return is_name((Str){text.ptr + at, text.len - at}) && is_name(*inserted);
}

static void add_fix(Sarif *s, const Diags *diags, const Diagnostic *d) {
    Span deleted;
    Str inserted;
    if (!find_fix(diags, d, &deleted, &inserted))
        return;
    const Source *source = source_get(diags->sources, deleted.file);
    strbuf_puts(s->out, ",\n         \"fixes\": [{\"description\": ");
    add_message(s, str_from(str_format(s->arena, "write `%.*s`", STR_ARG(inserted))));
    strbuf_puts(s->out, ", \"artifactChanges\": [{\"artifactLocation\": ");
    add_artifact_location(s, source->path);
    strbuf_puts(s->out, ", \"replacements\": [{\"deletedRegion\": ");
    add_region(s, source, deleted);
    strbuf_puts(s->out, ", \"insertedContent\": ");
    add_message(s, inserted);
    strbuf_puts(s->out, "}]}]}]");
}

static void add_related(Sarif *s, const Diags *diags, const Diagnostic *d) {
    bool first = true;
    for (const DiagNote *note = d->notes; note; note = note->next) {
        if (note->is_hint || !note->span.file)
            continue;
        if (first)
            strbuf_puts(s->out, ",\n         \"relatedLocations\": [");
        separate(s, &first, "            ");
        strbuf_puts(s->out, "{\"physicalLocation\": ");
        add_physical_location(s, diags, note->span, STR(""));
        strbuf_puts(s->out, ", \"message\": ");
        add_message(s, str_from(note->text));
        strbuf_putc(s->out, '}');
    }
    if (!first)
        strbuf_putc(s->out, ']');
}

/* The message with its hints, and notes without a place. */
static Str full_text(Arena *arena, const Diagnostic *d) {
    StrBuf text = strbuf(arena);
    strbuf_puts(&text, d->text);
    for (const DiagNote *note = d->notes; note; note = note->next)
        if (note->is_hint || !note->span.file)
            strbuf_printf(&text, "\n%s: %s", note->is_hint ? "hint" : "note", note->text);
    return strbuf_str(&text);
}

/* Of the id, the message and the text of its line, so that it stays the same finding when lines
 * above it come and go; the `number`th of several alike in a file. */
static void add_fingerprint(Sarif *s, const Diags *diags, const Diagnostic *d, Str path,
                            unsigned number) {
    unsigned char digest[SHA256_SIZE];
    char text[SHA256_TEXT_SIZE];
    StrBuf about = strbuf(s->arena);
    const Source *source = source_get(diags->sources, d->span.file);
    Str below, absolute = absolute_path(s, source ? source->path : path);
    Str line = source ? source_line(source, source_locate(source, d->span.lo).line) : STR("");
    if (below_folder(s, absolute, &below))
        absolute = below;
    while (line.len && (line.ptr[0] == ' ' || line.ptr[0] == '\t'))
        line = (Str){line.ptr + 1, line.len - 1};
    strbuf_printf(&about, "%s\n%.*s\n%s\n%.*s\n%u", diag_name(d->id), STR_ARG(absolute), d->text,
                  STR_ARG(line), number);
    sha256(strbuf_str(&about), digest);
    sha256_text(digest, text);
    strbuf_printf(s->out, "\"partialFingerprints\": {\"tilecFinding/v1\": \"%.32s\"}", text);
}

static bool is_alike(const Diags *diags, const Diagnostic *a, const Diagnostic *b) {
    const Source *source = source_get(diags->sources, a->span.file);
    if (a->id != b->id || a->span.file != b->span.file || strcmp(a->text, b->text))
        return false;
    return !source || str_eq(source_line(source, source_locate(source, a->span.lo).line),
                             source_line(source, source_locate(source, b->span.lo).line));
}

static void add_result(Sarif *s, const SarifFile *file, const Diagnostic *d) {
    unsigned number = 0;
    for (const Diagnostic *other = file->diags->first; other != d; other = other->next)
        number += is_alike(file->diags, other, d);
    strbuf_printf(s->out, "{\"ruleId\": \"%s\", \"ruleIndex\": %d, \"level\": \"%s\",\n",
                  diag_name(d->id), s->rule[d->id], level_name[d->severity]);
    strbuf_puts(s->out, "         \"message\": ");
    add_message(s, full_text(s->arena, d));
    strbuf_puts(s->out, ",\n         \"locations\": [{\"physicalLocation\": ");
    add_physical_location(s, file->diags, d->span, file->path);
    strbuf_puts(s->out, "}]");
    add_related(s, file->diags, d);
    add_fix(s, file->diags, d);
    strbuf_puts(s->out, ",\n         ");
    add_fingerprint(s, file->diags, d, file->path, number);
    strbuf_putc(s->out, '}');
}

/* The same message of a file that several import is one result. */
static bool was_said(const SarifRun *run, size_t file, const Diagnostic *d) {
    const Source *source = source_get(run->files[file].diags->sources, d->span.file);
    if (!source || str_eq(source->path, run->files[file].path))
        return false;
    for (size_t i = 0; i < file; i++) {
        const Diags *diags = run->files[i].diags;
        for (const Diagnostic *other = diags->first; other; other = other->next) {
            const Source *its = source_get(diags->sources, other->span.file);
            if (its && other->id == d->id && other->span.lo == d->span.lo &&
                other->span.hi == d->span.hi && str_eq(its->path, source->path) &&
                !strcmp(other->text, d->text))
                return true;
        }
    }
    return false;
}

static void add_results(Sarif *s) {
    bool first = true;
    strbuf_puts(s->out, "\"results\": [");
    for (size_t i = 0; i < s->run->file_count; i++) {
        const SarifFile *file = &s->run->files[i];
        for (const Diagnostic *d = file->unread ? NULL : file->diags->first; d; d = d->next) {
            if (was_said(s->run, i, d))
                continue;
            separate(s, &first, "        ");
            add_result(s, file, d);
        }
    }
    strbuf_puts(s->out, "]");
}

static void add_notifications(Sarif *s) {
    bool first = true;
    for (size_t i = 0; i < s->run->file_count; i++) {
        const SarifFile *file = &s->run->files[i];
        for (const Diagnostic *d = file->unread ? file->diags->first : NULL; d; d = d->next) {
            if (first)
                strbuf_puts(s->out, ", \"toolExecutionNotifications\": [");
            separate(s, &first, "        ");
            strbuf_printf(s->out,
                          "{\"descriptor\": {\"id\": \"%s\"}, \"level\": \"%s\", \"message\": ",
                          diag_name(d->id), level_name[d->severity]);
            add_message(s, full_text(s->arena, d));
            strbuf_puts(s->out, ", \"locations\": [{\"physicalLocation\": ");
            add_physical_location(s, file->diags, d->span, file->path);
            strbuf_puts(s->out, "}]}");
        }
    }
    if (!first)
        strbuf_putc(s->out, ']');
}

static void add_artifacts(Sarif *s) {
    bool first = true;
    strbuf_puts(s->out, "\"artifacts\": [");
    for (size_t i = 0; i < s->run->file_count; i++) {
        separate(s, &first, "        ");
        strbuf_puts(s->out, "{\"location\": ");
        add_artifact_location(s, s->run->files[i].path);
        strbuf_puts(s->out, ", \"roles\": [\"analysisTarget\"], \"sourceLanguage\": \"python\"}");
    }
    strbuf_puts(s->out, "]");
}

void sarif_add(const SarifRun *run, StrBuf *out) {
    Sarif s = {.run = run, .arena = out->arena, .out = out};
    bool complete = true;
    for (size_t i = 0; i < run->file_count; i++)
        complete &= !run->files[i].unread;
    number_rules(&s);
    strbuf_puts(out, "{\"$schema\": "
                     "\"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                     "sarif-schema-2.1.0.json\",\n \"version\": \"2.1.0\",\n \"runs\": [{\n");
    strbuf_puts(out, "    \"tool\": {\"driver\": {\"name\": \"tilec\", \"version\": ");
    strbuf_json(out, str_from(run->version));
    strbuf_puts(out, ", \"semanticVersion\": ");
    strbuf_json(out, str_from(run->version));
    if (run->information && *run->information) {
        strbuf_puts(out, ", \"informationUri\": ");
        strbuf_json(out, str_from(run->information));
    }
    strbuf_puts(out, ",\n        ");
    add_rules(&s);
    strbuf_puts(out, "}},\n    \"columnKind\": \"unicodeCodePoints\",\n"
                     "    \"originalUriBaseIds\": {\"%SRCROOT%\": {\"description\": "
                     "{\"text\": \"the folder in which tilec ran\"}}},\n    ");
    strbuf_printf(out, "\"invocations\": [{\"executionSuccessful\": %s, \"exitCode\": %d",
                  complete ? "true" : "false", run->exit_code);
    add_notifications(&s);
    strbuf_puts(out, "}],\n    ");
    add_artifacts(&s);
    strbuf_puts(out, ",\n    ");
    add_results(&s);
    strbuf_puts(out, "\n}]}\n");
}
