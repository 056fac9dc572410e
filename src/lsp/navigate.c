/* textDocument/definition, references, documentHighlight, prepareRename and rename. */
#include "lsp/references.h"

/* Opens the scope of the place that the parameters name. */
static Document *open_place(Session *session, const Json *params, Answer *answer, Scope *scope,
                            uint32_t *offset) {
    Document *document = param_document_at(session, params, answer, offset);
    return document && document_refresh(session, document) &&
                   scope_open(scope, session, document, answer->ctx, offset)
               ? document
               : NULL;
}

typedef struct NearestBinding {
    Str name;
    uint32_t offset;
    Span span;
} NearestBinding;

static void note_nearest(void *user, Str name, Span span) {
    NearestBinding *nearest = user;
    if (str_eq(name, nearest->name) && span.lo <= nearest->offset &&
        (!nearest->span.file || span.lo > nearest->span.lo))
        nearest->span = span;
}

/* Of a variable the assignment in front of the place, if one is. */
static void choose_assignment(const Scope *scope, uint32_t offset, Meaning *meaning) {
    NearestBinding nearest = {meaning->name, offset, {0}};
    if (meaning->kind != MEANS_VARIABLE)
        return;
    scope_bindings(scope->def, note_nearest, &nearest);
    if (nearest.span.file)
        meaning->span = nearest.span;
}

void lsp_definition(Session *session, const Json *params, Answer *answer) {
    Scope scope;
    uint32_t offset, lo, hi;
    const Document *document = open_place(session, params, answer, &scope, &offset);
    if (!document)
        return;
    Meaning meaning = reference_meaning(&scope, offset);
    if (!meaning.file)
        return;
    choose_assignment(&scope, offset, &meaning);
    StrBuf *out = &answer->result;
    if (meaning.file != scope.home) {
        const Text text = text_split(&answer->ctx->arena, meaning.file->text, session->utf8);
        put_location(out, meaning.file->path, &text, meaning.span);
        return;
    }
    if (!reference_range(&scope, document, meaning.span, &lo, &hi))
        return;
    strbuf_puts(out, "{\"uri\": ");
    strbuf_json(out, document->uri);
    strbuf_puts(out, ", \"range\": ");
    put_range(out, &document->text, lo, hi);
    strbuf_putc(out, '}');
}

void lsp_references(Session *session, const Json *params, Answer *answer) {
    Scope scope;
    References references;
    uint32_t offset, lo, hi;
    const Document *document = open_place(session, params, answer, &scope, &offset);
    const bool with_declaration = param_flag(params, "context.includeDeclaration");
    if (!document || !references_find(&scope, offset, &references))
        return;
    StrBuf *out = &answer->result;
    strbuf_putc(out, '[');
    vec_for_each (reference, &references.list) {
        const bool is_declaration = reference->span.lo == references.meaning.span.lo &&
                                    references.meaning.file == scope.home;
        if ((is_declaration && !with_declaration) ||
            !reference_range(&scope, document, reference->span, &lo, &hi))
            continue;
        strbuf_puts(out, out->len > 1 ? ", {\"uri\": " : "{\"uri\": ");
        strbuf_json(out, document->uri);
        strbuf_puts(out, ", \"range\": ");
        put_range(out, &document->text, lo, hi);
        strbuf_putc(out, '}');
    }
    strbuf_putc(out, ']');
}

void lsp_document_highlight(Session *session, const Json *params, Answer *answer) {
    enum { READ = 2, WRITE = 3 };
    Scope scope;
    References references;
    uint32_t offset, lo, hi;
    const Document *document = open_place(session, params, answer, &scope, &offset);
    if (!document || !references_find(&scope, offset, &references))
        return;
    StrBuf *out = &answer->result;
    strbuf_putc(out, '[');
    vec_for_each (reference, &references.list) {
        if (!reference_range(&scope, document, reference->span, &lo, &hi))
            continue;
        strbuf_puts(out, out->len > 1 ? ", {\"range\": " : "{\"range\": ");
        put_range(out, &document->text, lo, hi);
        strbuf_printf(out, ", \"kind\": %d}", reference->is_write ? WRITE : READ);
    }
    strbuf_putc(out, ']');
}

/* Rename: of variables of a function, all of whose places are in it. */

static bool is_identifier(Str name) {
    for (size_t i = 0; i < name.len; i++)
        if (!text_is_word(name.ptr[i]) || (unsigned char)name.ptr[i] >= 0x80)
            return false;
    return name.len && !(name.ptr[0] >= '0' && name.ptr[0] <= '9') && !text_is_keyword(name);
}

/* False after an error that says why not. */
static bool find_renamed(Session *session, const Json *params, Answer *answer, Scope *scope,
                         const Document **document, References *references, uint32_t *offset) {
    *document = open_place(session, params, answer, scope, offset);
    if (!*document)
        return false;
    if ((*document)->is_stale || !(*document)->now->parses)
        return answer_fail(answer, LSP_REQUEST_FAILED,
                           "nothing is renamed in a file that does not parse");
    if (!references_find(scope, *offset, references))
        return answer_fail(answer, LSP_REQUEST_FAILED, "there is no name here");
    if (references->meaning.kind != MEANS_VARIABLE)
        return answer_fail(answer, LSP_REQUEST_FAILED,
                           "only variables of a function are renamed: others may name what "
                           "stands elsewhere");
    if (references->is_clouded)
        return answer_fail(answer, LSP_REQUEST_FAILED,
                           "a comprehension or a lambda may have a variable of that name");
    return true;
}

void lsp_prepare_rename(Session *session, const Json *params, Answer *answer) {
    Scope scope;
    References references;
    const Document *document;
    uint32_t offset;
    if (!find_renamed(session, params, answer, &scope, &document, &references, &offset))
        return;
    vec_for_each (reference, &references.list) {
        if (offset < reference->span.lo || offset > reference->span.hi)
            continue;
        strbuf_puts(&answer->result, "{\"range\": ");
        put_range(&answer->result, &document->text, reference->span.lo, reference->span.hi);
        strbuf_puts(&answer->result, ", \"placeholder\": ");
        strbuf_json(&answer->result, references.meaning.name);
        strbuf_putc(&answer->result, '}');
        return;
    }
}

/* Whether a name means something there already. */
static bool is_taken(Scope *scope, Str name) {
    return scope_find(scope, name).kind != MEANS_NOTHING;
}

void lsp_rename(Session *session, const Json *params, Answer *answer) {
    Scope scope;
    References references;
    const Document *document;
    uint32_t offset;
    Str name;
    if (!param_text(params, "newName", &name) || !is_identifier(name)) {
        answer_fail(answer, LSP_INVALID_PARAMS, "newName is no name");
        return;
    }
    if (!find_renamed(session, params, answer, &scope, &document, &references, &offset))
        return;
    if (!str_eq(name, references.meaning.name) && is_taken(&scope, name)) {
        answer_fail(answer, LSP_REQUEST_FAILED, "`%.*s` means something here already",
                    STR_ARG(name));
        return;
    }
    StrBuf *out = &answer->result;
    strbuf_puts(out, "{\"changes\": {");
    strbuf_json(out, document->uri);
    strbuf_puts(out, ": [");
    for (size_t i = 0; i < references.list.len; i++) {
        const Span span = references.list.data[i].span;
        strbuf_puts(out, i ? ", {\"range\": " : "{\"range\": ");
        put_range(out, &document->text, span.lo, span.hi);
        strbuf_puts(out, ", \"newText\": ");
        strbuf_json(out, name);
        strbuf_putc(out, '}');
    }
    strbuf_puts(out, "]}}");
}
