/* Documents as the client changes them, and its settings. */
#include "lsp/diagnostics.h"

static void show_message(Session *session, Answer *answer, const char *text) {
    StrBuf out = strbuf(&answer->ctx->arena);
    strbuf_puts(&out, "{\"jsonrpc\": \"2.0\", \"method\": \"window/showMessage\", \"params\": "
                      "{\"type\": 2, \"message\": ");
    strbuf_json(&out, str_from(str_format(&answer->ctx->arena, "tilec: %s", text)));
    strbuf_puts(&out, "}}");
    inbox_send(&session->inbox, strbuf_str(&out));
}

/* Versions may be negative. */
static int64_t version_of(const Json *params) {
    Str text = {0};
    const Json *json = param_find(params, "textDocument.version");
    if (json && json->kind == JSON_NUMBER)
        text = json->text;
    int64_t value = 0;
    const bool negative = text.len && text.ptr[0] == '-';
    for (size_t i = negative; i < text.len && i < 18; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return 0;
        value = value * 10 + (text.ptr[i] - '0');
    }
    return negative ? -value : value;
}

void lsp_did_open(Session *session, const Json *params, Answer *answer) {
    Str uri, text;
    if (!param_text(params, "textDocument.uri", &uri) ||
        !param_text(params, "textDocument.text", &text)) {
        answer_fail(answer, LSP_INVALID_PARAMS, "textDocument has no uri or no text");
        return;
    }
    if (text.len > FRONTEND_SOURCE_LIMIT ||
        !documents_open(&session->documents, uri, text, version_of(params), session->utf8)) {
        show_message(session, answer, "the document is too large");
        return;
    }
    documents_spoil(&session->documents); /* another may import it */
}

/* False: the change is none, or there is no memory for it. */
static bool apply_change(Document *document, const Json *change) {
    Str text;
    Place start, end;
    if (!param_text(change, "text", &text))
        return false;
    if (!param_find(change, "range"))
        return document_replace(document, 0, (uint32_t)document->text.bytes.len, text);
    if (!param_place(change, "range.start", &start) || !param_place(change, "range.end", &end))
        return false;
    return document_replace(document, text_offset(&document->text, start),
                            text_offset(&document->text, end), text);
}

void lsp_did_change(Session *session, const Json *params, Answer *answer) {
    Document *document = param_document(session, params, answer);
    const Json *changes = param_find(params, "contentChanges");
    if (!document)
        return;
    if (!changes || changes->kind != JSON_LIST) {
        answer_fail(answer, LSP_INVALID_PARAMS, "contentChanges is no list");
        return;
    }
    for (uint32_t i = 0; i < changes->count; i++) {
        if (!apply_change(document, changes->items[i])) {
            show_message(session, answer, "a change of the document could not be applied");
            break;
        }
    }
    document->version = version_of(params);
    if (document->is_imported)
        documents_spoil(&session->documents);
}

/* What was changed outside of the editor may be what a document imports. */
void lsp_did_save(Session *session, const Json *params, Answer *answer) {
    Str text;
    Document *document = param_document(session, params, answer);
    if (document && param_text(params, "text", &text) && !str_eq(text, document->text.bytes))
        document_replace(document, 0, (uint32_t)document->text.bytes.len, text);
    documents_spoil(&session->documents);
}

void lsp_did_change_files(Session *session, const Json *params, Answer *answer) {
    documents_spoil(&session->documents);
}

void lsp_did_close(Session *session, const Json *params, Answer *answer) {
    Document *document = param_document(session, params, answer);
    if (!document)
        return;
    const Str uri = str_keep(&answer->ctx->arena, document->uri);
    documents_close(&session->documents, document);
    documents_spoil(&session->documents);
    diagnostics_withdraw(session, uri, answer->ctx);
}

void lsp_did_change_configuration(Session *session, const Json *params, Answer *answer) {
    const Json *settings = param_find(params, "settings");
    if (!settings) /* a client whose settings are asked for */
        return;
    const char *wrong = settings_read(&session->settings, &answer->ctx->arena, settings);
    if (wrong)
        show_message(session, answer, wrong);
    documents_spoil(&session->documents);
}
