#include "support/diag.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    Severity severity;
} diag_table[DIAG_COUNT + 1] = {
#define DIAG(id, severity, format) [DIAG_##id] = {#id, severity},
#include "support/diags.def"
};

static const char *const severity_name[] = {"remark", "warning", "error"};

const char *diag_name(DiagId id) {
    return diag_table[id].name;
}

Severity diag_severity(DiagId id) {
    return diag_table[id].severity;
}

static unsigned error_limit(const Diags *diags) {
    return diags->max_errors ? diags->max_errors : 20;
}

DiagMark diag_mark(const Diags *diags) {
    return (DiagMark){diags->last, diags->errors, diags->warnings, diags->dropped};
}

bool diag_said_since(const Diags *diags, DiagMark mark) {
    return diags->last != mark.last;
}

void diag_rewind(Diags *diags, DiagMark mark) {
    diags->last = mark.last;
    *(mark.last ? &mark.last->next : &diags->first) = NULL;
    diags->errors = mark.errors;
    diags->warnings = mark.warnings;
    diags->dropped = mark.dropped;
}

DiagReason diag_take(Diags *diags, DiagMark mark, Span otherwise) {
    const Diagnostic *last = diag_said_since(diags, mark) ? diags->last : NULL;
    const DiagReason reason = {last ? last->text : "", last ? last->span : otherwise,
                               last ? last->id : DIAG_COUNT};
    diag_rewind(diags, mark);
    return reason;
}

bool diag_full(const Diags *diags) {
    return diags->errors >= error_limit(diags);
}

/* Copies of one op give the same remarks and warnings. */
static bool was_said(const Diags *diags, Span span, DiagId id, const char *text) {
    for (const Diagnostic *d = diags->first; d; d = d->next)
        if (d->id == id && d->span.file == span.file && d->span.lo == span.lo &&
            d->span.hi == span.hi && strcmp(d->text, text) == 0)
            return true;
    return false;
}

static bool take_prefix(Str *text, const char *prefix) {
    size_t len = strlen(prefix);
    if (text->len < len || memcmp(text->ptr, prefix, len) != 0)
        return false;
    *text = (Str){text->ptr + len, text->len - len};
    return true;
}

bool diag_choose(Diags *diags, Str text) {
    Str name = text;
    DiagChoice choice = take_prefix(&name, "no-")      ? DIAG_HIDDEN
                        : take_prefix(&name, "error=") ? DIAG_FAILS
                                                       : DIAG_SHOWN;
    Str known[DIAG_COUNT];
    size_t count = 0;
    for (int id = 0; id < DIAG_COUNT; id++) {
        if (diag_table[id].severity != SEV_WARNING)
            continue;
        known[count++] = str_from(diag_table[id].name);
        if (!str_is(name, diag_table[id].name))
            continue;
        diags->choice[id] = (uint8_t)choice;
        return true;
    }
    diag(diags, (Span){0}, warning_unknown, STR_ARG(text));
    int nearest = str_nearest(name, known, count);
    if (nearest >= 0)
        diag_hint(diags, "did you mean `%.*s`?", STR_ARG(known[nearest]));
    return false;
}

bool diag_emit(Diags *diags, Span span, DiagId id, const char *format, ...) {
    Severity severity = diag_table[id].severity;
    diags->dropped = diags->choice[id] == DIAG_HIDDEN;
    if (diags->dropped)
        return false;
    StrBuf text = strbuf(diags->arena);
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    diags->dropped = severity != SEV_ERROR && span.file && was_said(diags, span, id, text.ptr);
    if (diags->dropped)
        return false;
    if (diags->choice[id] == DIAG_FAILS)
        severity = SEV_ERROR;
    diags->dropped = severity == SEV_ERROR && diag_full(diags);
    diags->errors += severity == SEV_ERROR;
    diags->warnings += severity == SEV_WARNING;
    if (diags->dropped)
        return false;
    Diagnostic *diagnostic = ARENA_NEW(diags->arena, Diagnostic);
    *diagnostic = (Diagnostic){.id = id, .severity = severity, .span = span, .text = text.ptr};
    if (diags->last)
        diags->last->next = diagnostic;
    else
        diags->first = diagnostic;
    diags->last = diagnostic;
    return false;
}

static void __attribute__((format(printf, 4, 0)))
add_note(Diags *diags, Span span, bool is_hint, const char *format, va_list args) {
    if (!diags->last || diags->dropped)
        return;
    StrBuf text = strbuf(diags->arena);
    strbuf_vprintf(&text, format, args);
    DiagNote *note = ARENA_NEW(diags->arena, DiagNote);
    *note = (DiagNote){.span = span, .text = text.ptr, .is_hint = is_hint};
    DiagNote **tail = &diags->last->notes;
    while (*tail)
        tail = &(*tail)->next;
    *tail = note;
}

void diag_hint(Diags *diags, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_note(diags, (Span){0}, true, format, args);
    va_end(args);
}

void diag_note(Diags *diags, Span span, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_note(diags, span, false, format, args);
    va_end(args);
}

void diag_resource(Diags *diags, uint64_t required, uint64_t limit) {
    if (!diags->last || diags->dropped)
        return;
    diags->last->required = required;
    diags->last->limit = limit;
}

void diag_program(Diags *diags, const uint32_t program[3]) {
    if (!diags->last || diags->dropped)
        return;
    diags->last->has_program = true;
    memcpy(diags->last->program, program, sizeof diags->last->program);
}

/* Sources of `from` by number: those of `diags`, once they are needed. */
static Span copy_span(Diags *diags, const Diags *from, uint32_t *files, Span span) {
    const Source *source = source_get(from->sources, span.file);
    if (!source)
        return (Span){0};
    if (!files[span.file])
        files[span.file] = source_copy(diags->sources, source);
    return (Span){files[span.file], span.lo, span.hi};
}

void diag_append(Diags *diags, const Diags *from) {
    uint32_t *files = ARENA_ARRAY(diags->arena, uint32_t, from->sources->sources.len + 1);
    for (const Diagnostic *d = from->first; d; d = d->next) {
        Diagnostic *copy = ARENA_NEW(diags->arena, Diagnostic);
        *copy = *d;
        copy->next = NULL;
        copy->notes = NULL;
        copy->span = copy_span(diags, from, files, d->span);
        copy->text = str_dup(diags->arena, str_from(d->text));
        *(diags->last ? &diags->last->next : &diags->first) = copy;
        diags->last = copy;
        diags->dropped = false;
        for (const DiagNote *note = d->notes; note; note = note->next)
            if (note->is_hint)
                diag_hint(diags, "%s", note->text);
            else
                diag_note(diags, copy_span(diags, from, files, note->span), "%s", note->text);
    }
    diags->errors += from->errors;
    diags->warnings += from->warnings;
}

/* Bytes of UTF-8 that continue a character take no column of their own. */
static bool takes_column(Str line, size_t i) {
    return i >= line.len || (line.ptr[i] & 0xc0) != 0x80;
}

/* What a terminal would act on. */
static bool is_control(char c) {
    return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

/* The source line with the span underlined; tabs are kept so that the caret stays in place. */
static void print_excerpt(const Source *source, Span span, LineColumn at, StrBuf *out) {
    Str line = source_line(source, at.line);
    at.column -= source->columns_before;
    strbuf_printf(out, "%5u | ", at.line);
    for (size_t i = 0; i < line.len; i++)
        strbuf_putc(out, is_control(line.ptr[i]) ? '?' : line.ptr[i]);
    strbuf_puts(out, "\n      | ");
    for (uint32_t i = 0; i + 1 < at.column; i++)
        if (takes_column(line, i))
            strbuf_putc(out, i < line.len && line.ptr[i] == '\t' ? '\t' : ' ');
    strbuf_putc(out, '^');
    size_t width = span.hi > span.lo ? span.hi - span.lo : 1;
    for (size_t i = 1; i < width && at.column - 1 + i < line.len; i++)
        if (takes_column(line, at.column - 1 + i))
            strbuf_putc(out, '~');
    strbuf_putc(out, '\n');
}

static void print_message(const Diags *diags, Span span, const char *label, const char *text,
                          StrBuf *out) {
    const Source *source = source_get(diags->sources, span.file);
    LineColumn at = {0};
    if (source) {
        at = source_locate(source, span.lo);
        strbuf_printf(out, "%.*s:%u:%u: ", STR_ARG(source->path), at.line, at.column);
    } else {
        strbuf_puts(out, "tilec: ");
    }
    strbuf_printf(out, "%s: %s\n", label, text);
    if (source)
        print_excerpt(source, span, at, out);
}

void diag_print(const Diags *diags, const Diagnostic *diagnostic, StrBuf *out) {
    const char *text = diagnostic->text;
    if (diag_table[diagnostic->id].severity == SEV_WARNING)
        text = str_format(diags->arena, "%s [-W%s]", text, diag_name(diagnostic->id));
    print_message(diags, diagnostic->span, severity_name[diagnostic->severity], text, out);
    for (const DiagNote *note = diagnostic->notes; note; note = note->next) {
        if (note->is_hint)
            strbuf_printf(out, "      = hint: %s\n", note->text);
        else
            print_message(diags, note->span, "note", note->text, out);
    }
}

void diag_print_all(const Diags *diags, StrBuf *out) {
    for (const Diagnostic *d = diags->first; d; d = d->next)
        diag_print(diags, d, out);
    if (diags->errors > error_limit(diags))
        strbuf_printf(out, "tilec: %u errors, the first %u shown\n", diags->errors,
                      error_limit(diags));
}

static void json_place(const Diags *diags, Span span, StrBuf *out) {
    const Source *source = source_get(diags->sources, span.file);
    if (!source)
        return;
    LineColumn lo = source_locate(source, span.lo), hi = source_locate(source, span.hi);
    strbuf_puts(out, ", \"file\": ");
    strbuf_json(out, source->path);
    strbuf_printf(out, ", \"line\": %u, \"column\": %u, \"end_line\": %u, \"end_column\": %u",
                  lo.line, lo.column, hi.line, hi.column);
}

static void json_numbers(const Diagnostic *d, StrBuf *out) {
    if (d->required || d->limit)
        strbuf_printf(out, ", \"required\": %" PRIu64 ", \"limit\": %" PRIu64, d->required,
                      d->limit);
    if (d->has_program)
        strbuf_printf(out, ", \"program\": [%u, %u, %u]", d->program[0], d->program[1],
                      d->program[2]);
}

void diag_json(const Diags *diags, StrBuf *out) {
    strbuf_putc(out, '[');
    for (const Diagnostic *d = diags->first; d; d = d->next) {
        strbuf_printf(out, "%s{\"severity\": \"%s\", \"id\": \"%s\", \"message\": ",
                      d == diags->first ? "" : ", ", severity_name[d->severity], diag_name(d->id));
        strbuf_json(out, str_from(d->text));
        json_place(diags, d->span, out);
        json_numbers(d, out);
        strbuf_puts(out, ", \"notes\": [");
        for (const DiagNote *note = d->notes; note; note = note->next) {
            strbuf_printf(out, "%s{\"kind\": \"%s\", \"message\": ", note == d->notes ? "" : ", ",
                          note->is_hint ? "hint" : "note");
            strbuf_json(out, str_from(note->text));
            json_place(diags, note->span, out);
            strbuf_putc(out, '}');
        }
        strbuf_puts(out, "]}");
    }
    strbuf_putc(out, ']');
}
