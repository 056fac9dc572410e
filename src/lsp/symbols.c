/* textDocument/documentSymbol and foldingRange: what is in a document. */
#include "lsp/describe.h"
#include "lsp/references.h"
#include "lsp/walk.h"

enum {
    SYMBOL_MODULE = 2,
    SYMBOL_CLASS = 5,
    SYMBOL_METHOD = 6,
    SYMBOL_FUNCTION = 12,
    SYMBOL_CONSTANT = 14
};

typedef struct Symbols {
    const Scope *scope;
    const Document *document;
    StrBuf *out;
    bool has_any;
} Symbols;

static bool open_document(Session *session, const Json *params, Answer *answer, Scope *scope,
                          Document **document) {
    uint32_t offset = 0;
    *document = param_document(session, params, answer);
    return *document && document_refresh(session, *document) &&
           scope_open(scope, session, *document, answer->ctx, &offset);
}

/* The beginning of a symbol, up to its children. False: it was edited since. */
static bool begin_symbol(Symbols *s, Str name, Str detail, int kind, Span whole, Span own) {
    uint32_t lo, hi, own_lo, own_hi;
    if (!reference_range(s->scope, s->document, own, &own_lo, &own_hi))
        return false;
    if (!reference_range(s->scope, s->document, whole, &lo, &hi)) {
        lo = own_lo;
        hi = own_hi;
    }
    strbuf_puts(s->out, s->has_any ? ", {\"name\": " : "{\"name\": ");
    strbuf_json(s->out, name);
    if (detail.len) {
        strbuf_puts(s->out, ", \"detail\": ");
        strbuf_json(s->out, detail);
    }
    strbuf_printf(s->out, ", \"kind\": %d, \"range\": ", kind);
    put_range(s->out, &s->document->text, lo, hi);
    strbuf_puts(s->out, ", \"selectionRange\": ");
    put_range(s->out, &s->document->text, own_lo, own_hi);
    s->has_any = true;
    return true;
}

static void add_function(Symbols *s, const FuncDef *def, int kind) {
    StrBuf detail = strbuf(s->out->arena);
    put_function(&detail, def, s->scope->home->text);
    const Str all = strbuf_str(&detail);
    const Str params = {all.ptr + def->name.len, all.len - def->name.len};
    if (begin_symbol(s, def->name, params, kind, walk_extent(def), def->name_span))
        strbuf_putc(s->out, '}');
}

static void add_class(Symbols *s, const ClassDef *def, Span whole) {
    Symbols inner = {s->scope, s->document, s->out, false};
    Span own = def->span;
    const Str text = s->scope->home->text;
    for (uint32_t at = own.lo; at + def->name.len <= own.hi && at + def->name.len <= text.len;
         at++) {
        if (!str_eq((Str){text.ptr + at, def->name.len}, def->name))
            continue;
        own = (Span){own.file, at, at + (uint32_t)def->name.len};
        break;
    }
    if (!begin_symbol(s, def->name, (Str){0}, SYMBOL_CLASS, span_join(whole, own), own))
        return;
    strbuf_puts(s->out, ", \"children\": [");
    for (uint32_t i = 0; i < def->body.count; i++)
        if (def->body.items[i]->kind == STMT_def)
            add_function(&inner, def->body.items[i]->u.def, SYMBOL_METHOD);
    strbuf_puts(s->out, "]}");
}

static void add_target(Symbols *s, const Expr *target, Span whole) {
    if (target->kind == EXPR_name &&
        begin_symbol(s, target->u.name, (Str){0}, SYMBOL_CONSTANT, whole, target->span))
        strbuf_putc(s->out, '}');
}

void lsp_document_symbol(Session *session, const Json *params, Answer *answer) {
    Scope scope;
    Document *document;
    if (!open_document(session, params, answer, &scope, &document))
        return;
    Symbols symbols = {&scope, document, &answer->result, false};
    strbuf_putc(&answer->result, '[');
    for (uint32_t i = 0; i < scope.home->syntax->body.count; i++) {
        const Stmt *stmt = scope.home->syntax->body.items[i];
        if (stmt->kind == STMT_def)
            add_function(&symbols, stmt->u.def, SYMBOL_FUNCTION);
        else if (stmt->kind == STMT_class)
            add_class(&symbols, stmt->u.class_def, stmt->span);
        else if (stmt->kind == STMT_annassign)
            add_target(&symbols, stmt->u.annassign.target, stmt->span);
        for (uint32_t k = 0; stmt->kind == STMT_assign && k < stmt->u.assign.targets.count; k++)
            add_target(&symbols, stmt->u.assign.targets.items[k], stmt->span);
    }
    strbuf_putc(&answer->result, ']');
}

/* Folding */

typedef struct Folding {
    const Scope *scope;
    const Document *document;
    StrBuf *out;
} Folding;

static void fold(Folding *f, uint32_t lo, uint32_t hi) {
    const Str before = f->scope->home->text, after = f->document->text.bytes;
    uint32_t begin, end;
    if (!text_follow(before, after, lo, &begin) || !text_follow(before, after, hi, &end))
        return;
    const uint32_t first = text_place(&f->document->text, begin).line;
    const uint32_t last = text_place(&f->document->text, end).line;
    if (last > first)
        strbuf_printf(f->out, "%s{\"startLine\": %u, \"endLine\": %u}", f->out->len > 1 ? ", " : "",
                      first, last);
}

static void extend(void *user, const Expr *expr) {
    uint32_t *hi = user;
    if (expr->span.hi > *hi)
        *hi = expr->span.hi;
}

static void extend_stmt(void *user, const Stmt *stmt) {
    uint32_t *hi = user;
    if (stmt->span.hi > *hi)
        *hi = stmt->span.hi;
}

static uint32_t end_of(const StmtList *list) {
    uint32_t hi = 0;
    const Walker walker = {.expr = extend, .stmt = extend_stmt, .user = &hi};
    walk_stmts(&walker, list);
    return hi;
}

static void fold_stmt(void *user, const Stmt *stmt) {
    Folding *f = user;
    switch ((int)stmt->kind) {
    case STMT_def:
        fold(f, stmt->u.def->name_span.lo, walk_extent(stmt->u.def).hi);
        return;
    case STMT_class:
        fold(f, stmt->span.lo, end_of(&stmt->u.class_def->body));
        return;
    case STMT_if:
    case STMT_while:
        fold(f, stmt->span.lo, end_of(&stmt->u.branch.body));
        return;
    case STMT_for:
        fold(f, stmt->span.lo, end_of(&stmt->u.loop.body));
        return;
    case STMT_with:
        fold(f, stmt->span.lo, end_of(&stmt->u.with.body));
        return;
    default:
        return;
    }
}

void lsp_folding_range(Session *session, const Json *params, Answer *answer) {
    Scope scope;
    Document *document;
    if (!open_document(session, params, answer, &scope, &document))
        return;
    Folding folding = {&scope, document, &answer->result};
    const Walker walker = {.stmt = fold_stmt, .user = &folding};
    strbuf_putc(&answer->result, '[');
    walk_file(&walker, scope.home->syntax);
    strbuf_putc(&answer->result, ']');
}
