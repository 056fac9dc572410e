/* See diagnostics.h. */
#include "lsp/diagnostics.h"

#include <stdlib.h>

enum { SEVERITY_ERROR = 1, SEVERITY_WARNING, SEVERITY_INFORMATION };
enum { TAG_UNNECESSARY = 1, TAG_DEPRECATED };

/* Whether the source is the document, which each kernel read anew. */
static bool is_document(const Ctx *ctx, uint32_t file, Str path) {
    const Source *source = source_get(&ctx->sources, file);
    return source && str_eq(source->path, path) && !source->is_import;
}

/* Where a message of another file is shown: at the call that led there. */
static Span place_of(const Ctx *ctx, const Diagnostic *d, Str path) {
    if (is_document(ctx, d->span.file, path))
        return d->span;
    for (const DiagNote *note = d->notes; note; note = note->next)
        if (!note->is_hint && is_document(ctx, note->span.file, path))
            return note->span;
    return (Span){0};
}

static void add_shown(Arena *arena, ShownList *list, const Ctx *ctx, const Diagnostic *d,
                      Str path) {
    const Span span = place_of(ctx, d, path);
    vec_for_each (other, list)
        if (other->span.lo == span.lo && other->span.hi == span.hi &&
            other->diagnostic->id == d->id && !strcmp(other->diagnostic->text, d->text))
            return;
    vec_push(arena, list, (Shown){d, ctx, span});
}

static int compare_shown(const void *a, const void *b) {
    const Shown *x = a, *y = b;
    if (x->span.lo != y->span.lo)
        return x->span.lo < y->span.lo ? -1 : 1;
    return (int)y->diagnostic->severity - (int)x->diagnostic->severity;
}

ShownList diagnostics_list(Arena *arena, const Analysis *analysis) {
    ShownList list = {0};
    for (const Diagnostic *d = analysis->ctx->diags.first; d; d = d->next)
        add_shown(arena, &list, analysis->ctx, d, analysis->path);
    for (const KernelAnalysis *kernel = analysis->kernels; kernel && analysis->parses;
         kernel = kernel->next) {
        const Diagnostic *d =
            kernel->parsed.last ? kernel->parsed.last->next : kernel->ctx->diags.first;
        for (; d; d = d->next)
            add_shown(arena, &list, kernel->ctx, d, analysis->path);
    }
    if (list.len)
        qsort(list.data, list.len, sizeof *list.data, compare_shown);
    return list;
}

static int severity_of(Severity severity) {
    switch (severity) {
    case SEV_REMARK:
        return SEVERITY_INFORMATION;
    case SEV_WARNING:
        return SEVERITY_WARNING;
    case SEV_ERROR:
        break;
    }
    return SEVERITY_ERROR;
}

/* What an editor shows faintly, or struck out. 0: neither. */
static int tag_of(DiagId id) {
    switch ((int)id) {
    case DIAG_elab_no_effect:
        return TAG_UNNECESSARY;
    case DIAG_language_ended:
    case DIAG_elab_where_condition:
        return TAG_DEPRECATED;
    default:
        return 0;
    }
}

static void put_related(StrBuf *out, const Shown *shown, const Text *text, Str path, Str uri,
                        Span span, const char *words, bool *first) {
    const Ctx *ctx = shown->ctx;
    const Source *source = source_get(&ctx->sources, span.file);
    if (!source)
        return;
    strbuf_puts(out, *first ? ", \"relatedInformation\": [" : ", ");
    *first = false;
    strbuf_puts(out, "{\"location\": {\"uri\": ");
    Text other = *text;
    if (is_document(ctx, span.file, path)) {
        strbuf_json(out, uri);
    } else {
        put_uri(out, source->path);
        other = text_split(out->arena, source->text, text->utf8);
    }
    strbuf_puts(out, ", \"range\": ");
    put_range(out, &other, span.lo, span.hi);
    strbuf_puts(out, "}, \"message\": ");
    strbuf_json(out, str_from(words));
    strbuf_putc(out, '}');
}

void put_diagnostic(StrBuf *out, const Analysis *analysis, Str uri, const Shown *shown) {
    const Diagnostic *d = shown->diagnostic;
    const Text *text = &analysis->text;
    StrBuf words = strbuf(out->arena);
    strbuf_puts(&words, d->text);
    for (const DiagNote *note = d->notes; note; note = note->next)
        if (note->is_hint || !note->span.file)
            strbuf_printf(&words, "\n%s%s", note->is_hint ? "hint: " : "", note->text);
    strbuf_puts(out, "{\"range\": ");
    put_range(out, text, shown->span.lo, shown->span.hi);
    strbuf_printf(out, ", \"severity\": %d, \"code\": \"%s\", \"source\": \"tilec\", \"message\": ",
                  severity_of(d->severity), diag_name(d->id));
    strbuf_json(out, strbuf_str(&words));
    const int tag = tag_of(d->id);
    if (tag)
        strbuf_printf(out, ", \"tags\": [%d]", tag);
    bool first = true;
    if (d->span.file && !is_document(shown->ctx, d->span.file, analysis->path))
        put_related(out, shown, text, analysis->path, uri, d->span, "it is here", &first);
    for (const DiagNote *note = d->notes; note; note = note->next)
        if (!note->is_hint && note->span.file)
            put_related(out, shown, text, analysis->path, uri, note->span, note->text, &first);
    strbuf_puts(out, first ? "}" : "]}");
}

static void put_head(StrBuf *out, Str uri) {
    strbuf_puts(out, "{\"jsonrpc\": \"2.0\", \"method\": \"textDocument/publishDiagnostics\", "
                     "\"params\": {\"uri\": ");
    strbuf_json(out, uri);
}

void diagnostics_publish(Session *session, Document *document, Ctx *ctx) {
    StrBuf out = strbuf(&ctx->arena);
    const ShownList list = diagnostics_list(&ctx->arena, document->now);
    put_head(&out, document->uri);
    strbuf_printf(&out, ", \"version\": %" PRId64 ", \"diagnostics\": [", document->version);
    for (size_t i = 0; i < list.len; i++) {
        strbuf_puts(&out, i ? ", " : "");
        put_diagnostic(&out, document->now, document->uri, &list.data[i]);
    }
    strbuf_puts(&out, "]}}");
    inbox_send(&session->inbox, strbuf_str(&out));
    document->is_told = true;
}

void diagnostics_withdraw(Session *session, Str uri, Ctx *ctx) {
    StrBuf out = strbuf(&ctx->arena);
    put_head(&out, uri);
    strbuf_puts(&out, ", \"diagnostics\": []}}");
    inbox_send(&session->inbox, strbuf_str(&out));
}
