/* What answers have in common: parameters taken apart, places written. See session.h. */
#include "lsp/session.h"

#include <stdarg.h>
#include <stdlib.h>

bool answer_fail(Answer *answer, int error, const char *format, ...) {
    va_list args;
    StrBuf text = strbuf(&answer->ctx->arena);
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    answer->error = error;
    answer->message = text.ptr ? text.ptr : "";
    return false;
}

/* Parameters */

const Json *param_find(const Json *params, const char *path) {
    while (params && *path) {
        const size_t length = strcspn(path, ".");
        if (params->kind != JSON_OBJECT)
            return NULL;
        const Json *found = NULL;
        for (uint32_t i = 0; i < params->count && !found; i++)
            if (str_eq(params->members[i].name, (Str){path, length}))
                found = params->members[i].value;
        params = found;
        path += length + (path[length] == '.');
    }
    return params && params->kind != JSON_NULL ? params : NULL;
}

bool param_text(const Json *params, const char *path, Str *text) {
    const Json *json = param_find(params, path);
    if (!json || json->kind != JSON_STRING)
        return false;
    *text = json->text;
    return true;
}

bool param_flag(const Json *params, const char *path) {
    const Json *json = param_find(params, path);
    return json && json->kind == JSON_TRUE;
}

bool param_number(const Json *params, const char *path, uint32_t *number) {
    const Json *json = param_find(params, path);
    uint64_t value = 0;
    if (!json || json->kind != JSON_NUMBER || json->text.len > 10)
        return false;
    for (size_t i = 0; i < json->text.len; i++) {
        const char c = json->text.ptr[i];
        if (c < '0' || c > '9')
            return false;
        value = value * 10 + (uint64_t)(c - '0');
    }
    *number = (uint32_t)value;
    return value <= INT32_MAX;
}

bool param_place(const Json *params, const char *path, Place *place) {
    const Json *json = param_find(params, path);
    return json && param_number(json, "line", &place->line) &&
           param_number(json, "character", &place->character);
}

Document *param_document(Session *session, const Json *params, Answer *answer) {
    Str uri;
    if (!param_text(params, "textDocument.uri", &uri)) {
        answer_fail(answer, LSP_INVALID_PARAMS, "textDocument.uri is missing");
        return NULL;
    }
    Document *document = documents_find(&session->documents, uri);
    if (!document)
        answer_fail(answer, LSP_INVALID_PARAMS, "%.*s is not open", STR_ARG(uri));
    return document;
}

Document *param_document_at(Session *session, const Json *params, Answer *answer,
                            uint32_t *offset) {
    Place place;
    Document *document = param_document(session, params, answer);
    if (!document)
        return NULL;
    if (!param_place(params, "position", &place)) {
        answer_fail(answer, LSP_INVALID_PARAMS, "position is missing");
        return NULL;
    }
    *offset = text_offset(&document->text, place);
    return document;
}

Document *param_document_range(Session *session, const Json *params, Answer *answer, uint32_t *lo,
                               uint32_t *hi) {
    Place start, end;
    Document *document = param_document(session, params, answer);
    if (!document)
        return NULL;
    if (!param_place(params, "range.start", &start) || !param_place(params, "range.end", &end)) {
        answer_fail(answer, LSP_INVALID_PARAMS, "range is missing");
        return NULL;
    }
    *lo = text_offset(&document->text, start);
    *hi = text_offset(&document->text, end);
    return document;
}

/* Places */

void put_place(StrBuf *out, const Text *text, uint32_t offset) {
    const Place place = text_place(text, offset);
    strbuf_printf(out, "{\"line\": %u, \"character\": %u}", place.line, place.character);
}

void put_range(StrBuf *out, const Text *text, uint32_t lo, uint32_t hi) {
    strbuf_puts(out, "{\"start\": ");
    put_place(out, text, lo);
    strbuf_puts(out, ", \"end\": ");
    put_place(out, text, hi);
    strbuf_putc(out, '}');
}

void put_uri(StrBuf *out, Str path) {
    StrBuf uri = strbuf(out->arena);
    if (path.len && path.ptr[0] == '/')
        strbuf_puts(&uri, "file://");
    for (size_t i = 0; i < path.len; i++) {
        const unsigned char c = (unsigned char)path.ptr[i];
        const bool plain = (text_is_word((char)c) && c < 0x80) || (c && strchr("/-._~:@+", c));
        if (plain)
            strbuf_putc(&uri, (char)c);
        else
            strbuf_printf(&uri, "%%%02X", c);
    }
    strbuf_json(out, strbuf_str(&uri));
}

void put_location(StrBuf *out, Str path, const Text *text, Span span) {
    strbuf_puts(out, "{\"uri\": ");
    put_uri(out, path);
    strbuf_puts(out, ", \"range\": ");
    put_range(out, text, span.lo, span.hi);
    strbuf_putc(out, '}');
}

/* Analysis */

static AnalysisInput input_of(Session *session, const Document *document, const Cancel *cancel) {
    return (AnalysisInput){.path = document->path,
                           .text = document->text.bytes,
                           .utf8 = session->utf8,
                           .settings = &session->settings,
                           .files = documents_files(&session->documents),
                           .cancel = cancel};
}

static void analyse(Session *session, Document *document) {
    Cancel cancel;
    cancel_open(&cancel);
    if (inbox_begin_work(&session->inbox, &cancel)) {
        const AnalysisInput input = input_of(session, document, &cancel);
        Analysis *analysis = analysis_make(&input);
        inbox_end_work(&session->inbox);
        if (analysis)
            document_take(document, analysis);
    }
    cancel_close(&cancel);
}

bool document_refresh(Session *session, Document *document) {
    if (document->is_stale)
        analyse(session, document);
    if (document->now)
        return true;
    const AnalysisInput input = input_of(session, document, NULL);
    Analysis *analysis = analysis_parse(&input);
    if (analysis) {
        document_take(document, analysis);
        document->is_stale = true;
    }
    return document->now;
}
