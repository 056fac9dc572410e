/* See walk.h. Trees are of a bounded height. */
#include "lsp/walk.h"

static void walk_list(const Walker *w, const ExprList *list) {
    for (uint32_t i = 0; i < list->count; i++)
        walk_expr(w, list->items[i]);
}

static void walk_params(const Walker *w, const Param *params, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (w->param)
            w->param(w->user, &params[i]);
        walk_expr(w, params[i].annotation);
        walk_expr(w, params[i].default_value);
    }
}

static void walk_comprehension(const Walker *w, const Expr *expr) {
    walk_expr(w, expr->u.comprehension.element);
    walk_expr(w, expr->u.comprehension.value);
    for (uint32_t i = 0; i < expr->u.comprehension.clause_count; i++) {
        const ForClause *clause = &expr->u.comprehension.clauses[i];
        walk_expr(w, clause->target);
        walk_expr(w, clause->iterable);
        walk_list(w, &clause->conditions);
    }
}

static void walk_parts(const Walker *w, const Expr *expr) {
    switch (expr->kind) {
    case EXPR_tuple:
    case EXPR_list:
    case EXPR_set:
    case EXPR_fstring:
        walk_list(w, &expr->u.list);
        return;
    case EXPR_unary:
        walk_expr(w, expr->u.unary.operand);
        return;
    case EXPR_binary:
        walk_expr(w, expr->u.binary.left);
        walk_expr(w, expr->u.binary.right);
        return;
    case EXPR_boolop:
        walk_list(w, &expr->u.boolop.operands);
        return;
    case EXPR_compare:
        walk_list(w, &expr->u.compare.operands);
        return;
    case EXPR_ternary:
        walk_expr(w, expr->u.ternary.then_value);
        walk_expr(w, expr->u.ternary.condition);
        walk_expr(w, expr->u.ternary.else_value);
        return;
    case EXPR_call:
        walk_expr(w, expr->u.call.callee);
        walk_list(w, &expr->u.call.args);
        for (uint32_t i = 0; i < expr->u.call.keyword_count; i++)
            walk_expr(w, expr->u.call.keywords[i].value);
        return;
    case EXPR_subscript:
        walk_expr(w, expr->u.subscript.base);
        walk_expr(w, expr->u.subscript.index);
        return;
    case EXPR_slice:
        walk_expr(w, expr->u.slice.start);
        walk_expr(w, expr->u.slice.stop);
        walk_expr(w, expr->u.slice.step);
        return;
    case EXPR_attribute:
        walk_expr(w, expr->u.attribute.base);
        return;
    case EXPR_lambda:
        walk_params(w, expr->u.lambda.params, expr->u.lambda.param_count);
        walk_expr(w, expr->u.lambda.body);
        return;
    case EXPR_starred:
    case EXPR_walrus:
        walk_expr(w, expr->u.bind.value);
        return;
    case EXPR_dict:
        for (uint32_t i = 0; i < expr->u.dict.count; i++) {
            walk_expr(w, expr->u.dict.keys[i]);
            walk_expr(w, expr->u.dict.values[i]);
        }
        return;
    case EXPR_comprehension:
        walk_comprehension(w, expr);
        return;
    case EXPR_formatted:
        walk_expr(w, expr->u.formatted.value);
        walk_expr(w, expr->u.formatted.spec);
        return;
    case EXPR_name:
    case EXPR_int:
    case EXPR_float:
    case EXPR_string:
    case EXPR_bool:
    case EXPR_none:
    case EXPR_ellipsis:
    case EXPR_unsupported:
    case EXPR_COUNT:
        return;
    }
}

void walk_expr(const Walker *w, const Expr *expr) {
    if (!expr)
        return;
    if (w->expr)
        w->expr(w->user, expr);
    walk_parts(w, expr);
}

static void walk_stmt(const Walker *w, const Stmt *stmt) {
    if (w->stmt)
        w->stmt(w->user, stmt);
    switch (stmt->kind) {
    case STMT_expr:
    case STMT_return:
    case STMT_raise:
    case STMT_del:
        walk_expr(w, stmt->u.expr);
        return;
    case STMT_assign:
        walk_list(w, &stmt->u.assign.targets);
        walk_expr(w, stmt->u.assign.value);
        return;
    case STMT_augassign:
        walk_expr(w, stmt->u.augassign.target);
        walk_expr(w, stmt->u.augassign.value);
        return;
    case STMT_annassign:
        walk_expr(w, stmt->u.annassign.target);
        walk_expr(w, stmt->u.annassign.annotation);
        walk_expr(w, stmt->u.annassign.value);
        return;
    case STMT_if:
    case STMT_while:
        walk_expr(w, stmt->u.branch.condition);
        walk_stmts(w, &stmt->u.branch.body);
        walk_stmts(w, &stmt->u.branch.orelse);
        return;
    case STMT_for:
        walk_expr(w, stmt->u.loop.target);
        walk_expr(w, stmt->u.loop.iterable);
        walk_stmts(w, &stmt->u.loop.body);
        walk_stmts(w, &stmt->u.loop.orelse);
        return;
    case STMT_assert:
        walk_expr(w, stmt->u.assertion.condition);
        walk_expr(w, stmt->u.assertion.message);
        return;
    case STMT_with:
        walk_list(w, &stmt->u.with.items);
        walk_list(w, &stmt->u.with.targets);
        walk_stmts(w, &stmt->u.with.body);
        return;
    case STMT_def:
        walk_function(w, stmt->u.def);
        return;
    case STMT_class:
        walk_list(w, &stmt->u.class_def->decorators);
        walk_list(w, &stmt->u.class_def->bases);
        walk_stmts(w, &stmt->u.class_def->body);
        return;
    case STMT_pass:
    case STMT_break:
    case STMT_continue:
    case STMT_import:
    case STMT_unsupported:
    case STMT_COUNT:
        return;
    }
}

void walk_stmts(const Walker *w, const StmtList *list) {
    for (uint32_t i = 0; i < list->count; i++)
        walk_stmt(w, list->items[i]);
}

void walk_function(const Walker *w, const FuncDef *def) {
    walk_list(w, &def->decorators);
    walk_params(w, def->params, def->param_count);
    walk_expr(w, def->returns);
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
