/* See walk.h. */
#include "reduce/walk.h"

typedef struct Walk {
    WalkExpr *visit;
    void *user;
} Walk;

static void walk(Walk *w, const Expr *expr, WalkRole role);

static void walk_list(Walk *w, const ExprList *list, WalkRole role) {
    for (uint32_t i = 0; i < list->count; i++)
        walk(w, list->items[i], role);
}

static void walk_call(Walk *w, const Expr *call) {
    walk(w, call->u.call.callee, WALK_CALLEE);
    walk_list(w, &call->u.call.args, WALK_VALUE);
    for (uint32_t i = 0; i < call->u.call.keyword_count; i++)
        walk(w, call->u.call.keywords[i].value, WALK_VALUE);
}

static void walk_comprehension(Walk *w, const Expr *expr) {
    walk(w, expr->u.comprehension.element, WALK_VALUE);
    walk(w, expr->u.comprehension.value, WALK_VALUE);
    for (uint32_t i = 0; i < expr->u.comprehension.clause_count; i++) {
        const ForClause *clause = &expr->u.comprehension.clauses[i];
        walk(w, clause->target, WALK_TARGET);
        walk(w, clause->iterable, WALK_VALUE);
        walk_list(w, &clause->conditions, WALK_VALUE);
    }
}

static void walk_params(Walk *w, const Param *params, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        walk(w, params[i].annotation, WALK_ANNOTATION);
        walk(w, params[i].default_value, WALK_VALUE);
    }
}

static void walk_parts(Walk *w, const Expr *expr, WalkRole role) {
    switch (expr->kind) {
    case EXPR_tuple:
    case EXPR_list:
    case EXPR_set:
        walk_list(w, &expr->u.list, role);
        break;
    case EXPR_unary:
        walk(w, expr->u.unary.operand, WALK_VALUE);
        break;
    case EXPR_binary:
        walk(w, expr->u.binary.left, WALK_VALUE);
        walk(w, expr->u.binary.right, WALK_VALUE);
        break;
    case EXPR_boolop:
        walk_list(w, &expr->u.boolop.operands, WALK_VALUE);
        break;
    case EXPR_compare:
        walk_list(w, &expr->u.compare.operands, WALK_VALUE);
        break;
    case EXPR_ternary:
        walk(w, expr->u.ternary.then_value, WALK_VALUE);
        walk(w, expr->u.ternary.condition, WALK_VALUE);
        walk(w, expr->u.ternary.else_value, WALK_VALUE);
        break;
    case EXPR_call:
        walk_call(w, expr);
        break;
    case EXPR_subscript:
        walk(w, expr->u.subscript.base, role == WALK_CALLEE ? role : WALK_VALUE);
        walk(w, expr->u.subscript.index, WALK_VALUE);
        break;
    case EXPR_slice:
        walk(w, expr->u.slice.start, WALK_VALUE);
        walk(w, expr->u.slice.stop, WALK_VALUE);
        walk(w, expr->u.slice.step, WALK_VALUE);
        break;
    case EXPR_attribute:
        walk(w, expr->u.attribute.base, role == WALK_CALLEE ? role : WALK_VALUE);
        break;
    case EXPR_lambda:
        walk_params(w, expr->u.lambda.params, expr->u.lambda.param_count);
        walk(w, expr->u.lambda.body, WALK_VALUE);
        break;
    case EXPR_starred:
    case EXPR_walrus:
        walk(w, expr->u.bind.value, role);
        break;
    case EXPR_dict:
        for (uint32_t i = 0; i < expr->u.dict.count; i++) {
            walk(w, expr->u.dict.keys[i], WALK_VALUE);
            walk(w, expr->u.dict.values[i], WALK_VALUE);
        }
        break;
    case EXPR_comprehension:
        walk_comprehension(w, expr);
        break;
    case EXPR_name:
    case EXPR_int:
    case EXPR_float:
    case EXPR_string:
    case EXPR_bool:
    case EXPR_none:
    case EXPR_ellipsis:
    case EXPR_fstring:
    case EXPR_formatted:
    case EXPR_unsupported:
    case EXPR_COUNT:
        break;
    }
}

static void walk(Walk *w, const Expr *expr, WalkRole role) {
    if (!expr)
        return;
    w->visit(w->user, expr, role);
    walk_parts(w, expr, role);
}

static void walk_body(Walk *w, const StmtList *body) {
    for (uint32_t i = 0; i < body->count; i++)
        walk_statement(body->items[i], w->visit, w->user);
}

static void walk_function(Walk *w, const FuncDef *def) {
    walk_list(w, &def->decorators, WALK_DECORATOR);
    walk_params(w, def->params, def->param_count);
    walk(w, def->returns, WALK_ANNOTATION);
    walk_body(w, &def->body);
}

void walk_statement(const Stmt *stmt, WalkExpr *visit, void *user) {
    Walk w = {visit, user};
    switch (stmt->kind) {
    case STMT_expr:
    case STMT_return:
    case STMT_raise:
        walk(&w, stmt->u.expr, WALK_VALUE);
        break;
    case STMT_del:
        walk(&w, stmt->u.expr, WALK_TARGET);
        break;
    case STMT_assign:
        walk_list(&w, &stmt->u.assign.targets, WALK_TARGET);
        walk(&w, stmt->u.assign.value, WALK_VALUE);
        break;
    case STMT_augassign:
        walk(&w, stmt->u.augassign.target, WALK_TARGET);
        walk(&w, stmt->u.augassign.value, WALK_VALUE);
        break;
    case STMT_annassign:
        walk(&w, stmt->u.annassign.target, WALK_TARGET);
        walk(&w, stmt->u.annassign.annotation, WALK_ANNOTATION);
        walk(&w, stmt->u.annassign.value, WALK_VALUE);
        break;
    case STMT_if:
    case STMT_while:
        walk(&w, stmt->u.branch.condition, WALK_VALUE);
        walk_body(&w, &stmt->u.branch.body);
        walk_body(&w, &stmt->u.branch.orelse);
        break;
    case STMT_for:
        walk(&w, stmt->u.loop.target, WALK_TARGET);
        walk(&w, stmt->u.loop.iterable, WALK_VALUE);
        walk_body(&w, &stmt->u.loop.body);
        walk_body(&w, &stmt->u.loop.orelse);
        break;
    case STMT_assert:
        walk(&w, stmt->u.assertion.condition, WALK_VALUE);
        walk(&w, stmt->u.assertion.message, WALK_VALUE);
        break;
    case STMT_with:
        for (uint32_t i = 0; i < stmt->u.with.items.count; i++) {
            walk(&w, stmt->u.with.items.items[i], WALK_VALUE);
            walk(&w, stmt->u.with.targets.items[i], WALK_TARGET);
        }
        walk_body(&w, &stmt->u.with.body);
        break;
    case STMT_def:
        walk_function(&w, stmt->u.def);
        break;
    case STMT_pass:
    case STMT_break:
    case STMT_continue:
    case STMT_import:
    case STMT_class:
    case STMT_unsupported:
    case STMT_COUNT:
        break;
    }
}

void walk_module(const ModuleStmt *module, uint32_t count, WalkExpr *visit, void *user) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < module[i].parsed.count; k++)
            walk_statement(module[i].parsed.items[k], visit, user);
}

static void walk_nested(const StmtList *list, WalkStmt *visit, void *user) {
    for (uint32_t i = 0; i < list->count; i++) {
        const Stmt *stmt = list->items[i];
        visit(user, stmt);
        switch (stmt->kind) {
        case STMT_if:
        case STMT_while:
            walk_nested(&stmt->u.branch.body, visit, user);
            walk_nested(&stmt->u.branch.orelse, visit, user);
            break;
        case STMT_for:
            walk_nested(&stmt->u.loop.body, visit, user);
            walk_nested(&stmt->u.loop.orelse, visit, user);
            break;
        case STMT_with:
            walk_nested(&stmt->u.with.body, visit, user);
            break;
        case STMT_def:
            walk_nested(&stmt->u.def->body, visit, user);
            break;
        default:
            break;
        }
    }
}

void walk_statements(const ModuleStmt *module, uint32_t count, WalkStmt *visit, void *user) {
    for (uint32_t i = 0; i < count; i++)
        walk_nested(&module[i].parsed, visit, user);
}
