/* textDocument/hover: what an expression is, what a builtin does, what a helper says of itself. */
#include "lsp/describe.h"
#include "lsp/layouts.h"
#include "lsp/lookup.h"
#include "lsp/scope.h"
#include "lsp/walk.h"

typedef struct Hover {
    Session *session;
    Answer *answer;
    const Document *document;
    uint32_t offset;
    StrBuf text;
    uint32_t lo, hi; /* in the document, of what is said something of */
    bool has_range;
} Hover;

static void put_line(Hover *hover, Str name, const Val *value, Str kernel) {
    StrBuf code = strbuf(&hover->answer->ctx->arena);
    strbuf_printf(&code, "%.*s%s", STR_ARG(name), name.len ? ": " : "");
    put_type(&code, value);
    if (kernel.len)
        strbuf_printf(&code, "  # in %.*s", STR_ARG(kernel));
    put_code(&hover->text, strbuf_str(&code), hover->session->takes_markdown);
}

static void put_callable(Hover *hover, const Val *value) {
    const bool markdown = hover->session->takes_markdown;
    const Builtin *builtin = builtin_of_function(value);
    if (builtin) {
        put_builtin(&hover->text, hover->session, builtin, markdown);
        return;
    }
    const Val *function = value->kind == VAL_METHOD ? value->method.callee : value;
    if (function->kind != VAL_FUNCTION)
        return;
    const FuncDef *def = function->function.def;
    const Source *source = NULL;
    for (Lookup lookup = lookup_at(hover->document, hover->offset);
         !source && lookup_next(&lookup);)
        source = source_get(&lookup.kernel->ctx->sources, def->name_span.file);
    if (!source)
        return;
    StrBuf code = strbuf(&hover->answer->ctx->arena);
    strbuf_puts(&code, "def ");
    put_function(&code, def, source->text);
    put_code(&hover->text, strbuf_str(&code), markdown);
    if (def->docstring.len) {
        strbuf_putc(&hover->text, '\n');
        put_docstring(&hover->text, def->docstring);
    }
}

static bool is_callable(const Val *value) {
    return value->kind == VAL_BUILTIN || value->kind == VAL_METHOD || value->kind == VAL_FUNCTION;
}

static void put_seen(Hover *hover, Str name, const Seen *seen, Str kernel) {
    for (uint32_t i = 0; i < seen->count; i++) {
        if (is_callable(&seen->values[i]))
            put_callable(hover, &seen->values[i]);
        else
            put_line(hover, name, &seen->values[i], kernel);
    }
    if (seen->has_more)
        strbuf_puts(&hover->text, "\n.. and other values.\n");
    if (seen->count != 1)
        return;
    StrBuf words = strbuf(&hover->answer->ctx->arena);
    put_shape_words(&words, &seen->values[0]);
    if (words.len)
        strbuf_printf(&hover->text, "\n%s\n", words.ptr);
}

static void set_range(Hover *hover, const Lookup *lookup, Span span) {
    if (!hover->has_range)
        hover->has_range = lookup_span(lookup, span, &hover->lo, &hover->hi);
}

/* What a kernel has seen of the place. False: nothing. */
static bool hover_seen(Hover *hover, const Lookup *lookup, bool names_kernel) {
    const KernelAnalysis *kernel = lookup->kernel;
    uint32_t begin;
    const Str word = text_word(kernel->text.bytes, lookup->at, &begin);
    const Expr *call, *expr = walk_innermost(kernel->syntax, lookup->at, &call);
    const Seen *seen = word.len ? kernel_seen_variable(kernel, begin) : NULL;
    const Str at = names_kernel ? kernel->name : (Str){0};
    if (seen) {
        set_range(hover, lookup, seen->span);
        put_seen(hover, word, seen, at);
        put_layout(&hover->text, hover->session, lookup->kernel, seen->span, word);
        return true;
    }
    seen = expr ? kernel_seen(kernel, expr) : NULL;
    if (!seen)
        return false;
    const bool is_name = expr->kind == EXPR_name || expr->kind == EXPR_attribute;
    const bool is_attribute = expr->kind == EXPR_attribute;
    set_range(hover, lookup, is_attribute ? expr->u.attribute.name_span : expr->span);
    const Seen *result = call && is_name ? kernel_seen(kernel, call) : NULL;
    if (result && call->u.call.callee == expr)
        put_seen(hover, (Str){0}, result, at);
    put_seen(hover, is_name ? word : (Str){0}, seen, at);
    put_layout(&hover->text, hover->session, kernel, result ? call->span : expr->span,
               is_name && !result ? word : (Str){0});
    return true;
}

/* What the syntax says: of kernels whose types are not known, of imports, of decorators. */
static void hover_meaning(Hover *hover) {
    Scope scope;
    uint32_t offset = hover->offset;
    Ctx *ctx = hover->answer->ctx;
    const bool markdown = hover->session->takes_markdown;
    if (!scope_open(&scope, hover->session, hover->document, ctx, &offset))
        return;
    const Expr *call, *expr = walk_innermost(scope.home->syntax, offset, &call);
    uint32_t begin;
    const Str word = text_word(scope.home->text, offset, &begin);
    const Str dotted = expr ? scope_dotted(&ctx->arena, expr) : word;
    const Meaning meaning = dotted.len ? scope_find(&scope, dotted) : (Meaning){0};
    const FuncDef *def = meaning_function(&meaning);
    StrBuf code = strbuf(&ctx->arena);
    if (meaning.kind == MEANS_BUILTIN) {
        put_builtin(&hover->text, hover->session, meaning.builtin, markdown);
    } else if (def) {
        strbuf_puts(&code, "def ");
        put_function(&code, def, meaning.file->text);
        put_code(&hover->text, strbuf_str(&code), markdown);
        if (def->docstring.len) {
            strbuf_putc(&hover->text, '\n');
            put_docstring(&hover->text, def->docstring);
        }
    } else if (meaning.kind == MEANS_GLOBAL) {
        const Span span = meaning.stmt->span;
        const size_t length = span.hi - span.lo < 200 ? span.hi - span.lo : 200;
        put_code(&hover->text, (Str){meaning.file->text.ptr + span.lo, length}, markdown);
    } else if (meaning.kind == MEANS_MODULE || meaning.kind == MEANS_FILE) {
        strbuf_printf(&code, "module %.*s", STR_ARG(meaning.path));
        put_code(&hover->text, strbuf_str(&code), markdown);
    } else if (meaning.kind == MEANS_TYPE) {
        strbuf_printf(&code, "type tl.%.*s", STR_ARG(meaning.name));
        put_code(&hover->text, strbuf_str(&code), markdown);
    } else if (meaning.kind == MEANS_PARAMETER || meaning.kind == MEANS_VARIABLE) {
        strbuf_printf(&code, "%.*s: %s of %.*s", STR_ARG(meaning.name),
                      meaning.kind == MEANS_PARAMETER ? "parameter" : "variable",
                      STR_ARG(scope.def->name));
        put_code(&hover->text, strbuf_str(&code), markdown);
    }
}

void lsp_hover(Session *session, const Json *params, Answer *answer) {
    Hover hover = {.session = session, .answer = answer, .text = strbuf(&answer->ctx->arena)};
    Document *document = param_document_at(session, params, answer, &hover.offset);
    if (!document || !document_refresh(session, document))
        return;
    hover.document = document;
    unsigned kernels = 0;
    for (Lookup lookup = lookup_at(document, hover.offset); lookup_next(&lookup);) {
        StrBuf before = hover.text;
        const Span extent = lookup.kernel->def ? walk_extent(lookup.kernel->def) : (Span){0};
        const bool is_own = lookup.at >= extent.lo && lookup.at <= extent.hi;
        hover.text = strbuf(&answer->ctx->arena);
        const bool seen = hover_seen(&hover, &lookup, !is_own);
        StrBuf added = hover.text;
        hover.text = before;
        const bool is_new = seen && added.len && (!before.len || !strstr(before.ptr, added.ptr));
        if (is_new && kernels < 3 && !(lookup.is_good && kernels)) {
            strbuf_puts(&hover.text, before.len ? "\n" : "");
            strbuf_puts(&hover.text, added.ptr);
            kernels++;
        }
    }
    if (!hover.text.len)
        hover_meaning(&hover);
    if (!hover.text.len)
        return;
    strbuf_printf(&answer->result, "{\"contents\": {\"kind\": \"%s\", \"value\": ",
                  session->takes_markdown ? "markdown" : "plaintext");
    strbuf_json(&answer->result, strbuf_str(&hover.text));
    strbuf_putc(&answer->result, '}');
    if (hover.has_range) {
        strbuf_puts(&answer->result, ", \"range\": ");
        put_range(&answer->result, &document->text, hover.lo, hover.hi);
    }
    strbuf_putc(&answer->result, '}');
}
