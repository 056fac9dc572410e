/* See walk.h. Trees are of a bounded height. */
#include "lsp/walk.h"
#include "frontend/ast_parts.h"

static void show_params(const Walker *w, const Param *params, uint32_t count) {
    for (uint32_t i = 0; w->param && i < count; i++)
        w->param(w->user, &params[i]);
}

static void walk_part(void *user, const Expr *part, AstRole role) {
    const Walker *w = user;
    if (w->expr)
        w->expr(w->user, part);
    if (part->kind == EXPR_lambda)
        show_params(w, part->u.lambda.params, part->u.lambda.param_count);
    ast_expr_parts(part, role, walk_part, user);
}

void walk_expr(const Walker *w, const Expr *expr) {
    if (expr)
        walk_part((void *)w, expr, AST_VALUE);
}

static void walk_body(void *user, const StmtList *body) {
    const Walker *w = user;
    for (uint32_t i = 0; i < body->count; i++) {
        const Stmt *stmt = body->items[i];
        if (w->stmt)
            w->stmt(w->user, stmt);
        if (stmt->kind == STMT_def)
            show_params(w, stmt->u.def->params, stmt->u.def->param_count);
        ast_stmt_parts(stmt, walk_part, user);
        ast_stmt_bodies(stmt, walk_body, user);
    }
}

void walk_stmts(const Walker *w, const StmtList *list) {
    walk_body((void *)w, list);
}

void walk_function(const Walker *w, const FuncDef *def) {
    show_params(w, def->params, def->param_count);
    ast_function_parts(def, walk_part, (void *)w);
    walk_stmts(w, &def->body);
}

void walk_file(const Walker *w, const AstFile *file) {
    walk_stmts(w, &file->body);
}

static void extend_by_expr(void *user, const Expr *expr) {
    Span *span = user;
    if (expr->span.hi > span->hi)
        span->hi = expr->span.hi;
    if (expr->span.lo < span->lo)
        span->lo = expr->span.lo;
}

static void extend_by_stmt(void *user, const Stmt *stmt) {
    Span *span = user;
    if (stmt->span.hi > span->hi)
        span->hi = stmt->span.hi;
}

Span walk_extent(const FuncDef *def) {
    Span span = def->span;
    const Walker walker = {.expr = extend_by_expr, .stmt = extend_by_stmt, .user = &span};
    walk_function(&walker, def);
    return span;
}

/* The innermost expression */

typedef struct Innermost {
    uint32_t file, offset;
    const Expr *best, *call;
} Innermost;

static bool holds(Span span, uint32_t offset) {
    return span.lo <= offset && offset <= span.hi;
}

/* Of two that hold the offset, the later one unless the offset is just its end: in `f(x)`, behind
 * `f`, it is `f`; an expression lies within the one before it in the walk. */
static void find_innermost(void *user, const Expr *expr) {
    Innermost *in = user;
    if (expr->span.file != in->file || !holds(expr->span, in->offset))
        return;
    const bool is_smaller =
        !in->best || expr->span.hi - expr->span.lo <= in->best->span.hi - in->best->span.lo;
    if (is_smaller)
        in->best = expr;
    if (expr->kind == EXPR_call && holds(expr->u.call.callee->span, in->offset))
        in->call = expr;
}

const Expr *walk_innermost(const AstFile *file, uint32_t offset, const Expr **call) {
    Innermost in = {.file = file->file, .offset = offset};
    const Walker walker = {.expr = find_innermost, .user = &in};
    walk_file(&walker, file);
    const bool within = in.call && in.best && in.best->span.lo >= in.call->u.call.callee->span.lo &&
                        in.best->span.hi <= in.call->u.call.callee->span.hi;
    *call = within ? in.call : NULL;
    return in.best;
}

const FuncDef *walk_function_at(const AstFile *file, Str text, uint32_t offset) {
    const FuncDef *found = NULL;
    for (uint32_t i = 0; i < file->body.count; i++) {
        const Stmt *stmt = file->body.items[i];
        if (stmt->kind == STMT_def && walk_extent(stmt->u.def).lo <= offset)
            found = stmt->u.def;
        else if (stmt->span.lo <= offset)
            found = NULL;
    }
    const uint32_t end = found ? walk_extent(found).hi : 0;
    if (!found || offset <= end)
        return found;
    /* Behind its end, what is indented still belongs to it. */
    size_t line = offset;
    while (line > 0 && text.ptr[line - 1] != '\n')
        line--;
    for (size_t at = end; at < offset; at++) {
        const bool starts_line = text.ptr[at] == '\n' && at + 1 < offset;
        const char next = starts_line ? text.ptr[at + 1] : ' ';
        if (next != ' ' && next != '\t' && next != '\n' && next != '\r' && next != '#')
            return NULL;
    }
    return line < offset ? found : NULL;
}
