/* textDocument/inlayHint: shapes behind the names of tiles that are assigned. */
#include "lsp/describe.h"
#include "lsp/lookup.h"

typedef struct Hints {
    Arena *arena;
    const Document *document;
    uint32_t lo, hi; /* of the document, that is shown */
    StrBuf *out;
    VEC(uint32_t) places; /* that have a hint */
} Hints;

/* A tile or a block of one, of whichever of its values: others show what they are. */
static bool is_worth(const Val *value) {
    return (value->kind == VAL_TILE && value->tile.ir->type->rank > 0) || value->kind == VAL_BLOCK;
}

static bool has_hint(Hints *hints, uint32_t at) {
    vec_for_each (place, &hints->places)
        if (*place == at)
            return true;
    return false;
}

static bool is_parameter(const FuncDef *def, Span span) {
    for (uint32_t i = 0; i < def->param_count; i++)
        if (def->params[i].span.hi == span.hi)
            return true;
    return false;
}

static void add_hint(Hints *hints, const Lookup *lookup, const Seen *seen) {
    uint32_t lo, hi;
    if (!is_worth(&seen->values[0]) || is_parameter(lookup->kernel->def, seen->span) ||
        !lookup_span(lookup, seen->span, &lo, &hi) || hi < hints->lo || lo > hints->hi ||
        has_hint(hints, hi))
        return;
    StrBuf label = strbuf(hints->arena);
    strbuf_puts(&label, ": ");
    put_type(&label, &seen->values[0]);
    if (seen->count > 1 || seen->has_more)
        strbuf_puts(&label, " ..");
    strbuf_puts(hints->out, hints->places.len ? ", " : "");
    strbuf_puts(hints->out, "{\"position\": ");
    put_place(hints->out, &hints->document->text, hi);
    strbuf_puts(hints->out, ", \"kind\": 1, \"paddingLeft\": false, \"label\": ");
    strbuf_json(hints->out, strbuf_str(&label));
    strbuf_putc(hints->out, '}');
    vec_push(hints->arena, &hints->places, hi);
}

void lsp_inlay_hint(Session *session, const Json *params, Answer *answer) {
    uint32_t lo, hi;
    Document *document = param_document_range(session, params, answer, &lo, &hi);
    if (!document)
        return;
    if (!document_refresh(session, document))
        return;
    Hints hints = {.arena = &answer->ctx->arena,
                   .document = document,
                   .lo = lo,
                   .hi = hi,
                   .out = &answer->result};
    strbuf_putc(hints.out, '[');
    Lookup lookup = lookup_at(document, 0);
    const KernelAnalysis *lists[] = {document->now->kernels, document->good};
    for (int i = 0; i < 2; i++) {
        for (lookup.kernel = lists[i]; lookup.kernel; lookup.kernel = lookup.kernel->next)
            for (const Seen *seen = lookup.kernel->variables; seen; seen = seen->next)
                add_hint(&hints, &lookup, seen);
    }
    strbuf_putc(hints.out, ']');
}
