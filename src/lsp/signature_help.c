/* textDocument/signatureHelp: the parameters of the call that is being written. */
#include "lsp/callee.h"
#include "lsp/describe.h"

/* The parameter that the argument goes to; UINT32_MAX: none. */
static uint32_t active_param(const Callee *callee, const Cursor *cursor) {
    const uint32_t count = (uint32_t)callee->params.len;
    for (uint32_t i = 0; i < count && cursor->keyword.len; i++)
        if (str_eq(callee->params.data[i].name, cursor->keyword))
            return i;
    uint32_t place = cursor->argument + callee->is_method;
    for (uint32_t i = 0; i < count && i < place; i++)
        if (callee->params.data[i].star)
            place = i;
    return cursor->keyword.len || place >= count ? UINT32_MAX : place;
}

static void put_params(StrBuf *out, const Callee *callee) {
    strbuf_puts(out, ", \"parameters\": [");
    for (size_t i = 0; i < callee->params.len; i++) {
        strbuf_printf(out, "%s{\"label\": ", i ? ", " : "");
        strbuf_json(out, callee->params.data[i].text);
        strbuf_putc(out, '}');
    }
    strbuf_putc(out, ']');
}

void lsp_signature_help(Session *session, const Json *params, Answer *answer) {
    uint32_t offset;
    Document *document = param_document_at(session, params, answer, &offset);
    if (!document || !document_refresh(session, document))
        return;
    Arena *arena = &answer->ctx->arena;
    const Cursor cursor = cursor_at(arena, document->text.bytes, offset);
    Scope scope;
    Callee callee;
    uint32_t at = offset;
    if (!cursor.in_call || !scope_open(&scope, session, document, answer->ctx, &at) ||
        !callee_find(&scope, document, offset, cursor.callee, &callee))
        return;
    StrBuf *out = &answer->result;
    strbuf_puts(out, "{\"signatures\": [{\"label\": ");
    strbuf_json(out, callee.label);
    put_params(out, &callee);
    StrBuf text = strbuf(arena);
    if (callee.builtin)
        put_builtin(&text, session, callee.builtin, session->takes_markdown);
    else if (callee.def->docstring.len)
        put_docstring(&text, callee.def->docstring);
    if (text.len) {
        strbuf_printf(out, ", \"documentation\": {\"kind\": \"%s\", \"value\": ",
                      session->takes_markdown ? "markdown" : "plaintext");
        strbuf_json(out, strbuf_str(&text));
        strbuf_putc(out, '}');
    }
    const uint32_t active = active_param(&callee, &cursor);
    strbuf_printf(out, "}], \"activeSignature\": 0, \"activeParameter\": %u}",
                  active == UINT32_MAX ? (uint32_t)callee.params.len : active);
}
