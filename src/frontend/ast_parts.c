/* See ast_parts.h. */
#include "frontend/ast_parts.h"

typedef struct Parts {
    AstPart *visit;
    void *user;
} Parts;

static void part(const Parts *p, const Expr *expr, AstRole role) {
    if (expr)
        p->visit(p->user, expr, role);
}

static void parts(const Parts *p, const ExprList *list, AstRole role) {
    for (uint32_t i = 0; i < list->count; i++)
        part(p, list->items[i], role);
}

void ast_param_parts(const Param *params, uint32_t count, AstPart *visit, void *user) {
    const Parts p = {visit, user};
    for (uint32_t i = 0; i < count; i++) {
        part(&p, params[i].annotation, AST_ANNOTATION);
        part(&p, params[i].default_value, AST_VALUE);
    }
}

static void call_parts(const Parts *p, const Expr *call) {
    part(p, call->u.call.callee, AST_CALLEE);
    parts(p, &call->u.call.args, AST_VALUE);
    for (uint32_t i = 0; i < call->u.call.keyword_count; i++)
        part(p, call->u.call.keywords[i].value, AST_VALUE);
}

static void comprehension_parts(const Parts *p, const Expr *expr) {
    part(p, expr->u.comprehension.element, AST_VALUE);
    part(p, expr->u.comprehension.value, AST_VALUE);
    for (uint32_t i = 0; i < expr->u.comprehension.clause_count; i++) {
        const ForClause *clause = &expr->u.comprehension.clauses[i];
        part(p, clause->target, AST_TARGET);
        part(p, clause->iterable, AST_VALUE);
        parts(p, &clause->conditions, AST_VALUE);
    }
}

void ast_expr_parts(const Expr *expr, AstRole role, AstPart *visit, void *user) {
    const Parts p = {visit, user};
    const AstRole of_base = role == AST_CALLEE ? role : AST_VALUE;
    switch (expr->kind) {
    case EXPR_tuple:
    case EXPR_list:
    case EXPR_set:
    case EXPR_fstring:
        parts(&p, &expr->u.list, role);
        return;
    case EXPR_unary:
        part(&p, expr->u.unary.operand, AST_VALUE);
        return;
    case EXPR_binary:
        part(&p, expr->u.binary.left, AST_VALUE);
        part(&p, expr->u.binary.right, AST_VALUE);
        return;
    case EXPR_boolop:
        parts(&p, &expr->u.boolop.operands, AST_VALUE);
        return;
    case EXPR_compare:
        parts(&p, &expr->u.compare.operands, AST_VALUE);
        return;
    case EXPR_ternary:
        part(&p, expr->u.ternary.then_value, AST_VALUE);
        part(&p, expr->u.ternary.condition, AST_VALUE);
        part(&p, expr->u.ternary.else_value, AST_VALUE);
        return;
    case EXPR_call:
        call_parts(&p, expr);
        return;
    case EXPR_subscript:
        part(&p, expr->u.subscript.base, of_base);
        part(&p, expr->u.subscript.index, AST_VALUE);
        return;
    case EXPR_slice:
        part(&p, expr->u.slice.start, AST_VALUE);
        part(&p, expr->u.slice.stop, AST_VALUE);
        part(&p, expr->u.slice.step, AST_VALUE);
        return;
    case EXPR_attribute:
        part(&p, expr->u.attribute.base, of_base);
        return;
    case EXPR_lambda:
        ast_param_parts(expr->u.lambda.params, expr->u.lambda.param_count, visit, user);
        part(&p, expr->u.lambda.body, AST_VALUE);
        return;
    case EXPR_starred:
    case EXPR_walrus:
        part(&p, expr->u.bind.value, role);
        return;
    case EXPR_dict:
        for (uint32_t i = 0; i < expr->u.dict.count; i++) {
            part(&p, expr->u.dict.keys[i], AST_VALUE);
            part(&p, expr->u.dict.values[i], AST_VALUE);
        }
        return;
    case EXPR_comprehension:
        comprehension_parts(&p, expr);
        return;
    case EXPR_formatted:
        part(&p, expr->u.formatted.value, AST_VALUE);
        part(&p, expr->u.formatted.spec, AST_VALUE);
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

void ast_function_parts(const FuncDef *def, AstPart *visit, void *user) {
    const Parts p = {visit, user};
    parts(&p, &def->decorators, AST_DECORATOR);
    ast_param_parts(def->params, def->param_count, visit, user);
    part(&p, def->returns, AST_ANNOTATION);
}

void ast_stmt_parts(const Stmt *stmt, AstPart *visit, void *user) {
    const Parts p = {visit, user};
    switch (stmt->kind) {
    case STMT_expr:
    case STMT_return:
    case STMT_raise:
        part(&p, stmt->u.expr, AST_VALUE);
        return;
    case STMT_del:
        part(&p, stmt->u.expr, AST_TARGET);
        return;
    case STMT_assign:
        parts(&p, &stmt->u.assign.targets, AST_TARGET);
        part(&p, stmt->u.assign.value, AST_VALUE);
        return;
    case STMT_augassign:
        part(&p, stmt->u.augassign.target, AST_TARGET);
        part(&p, stmt->u.augassign.value, AST_VALUE);
        return;
    case STMT_annassign:
        part(&p, stmt->u.annassign.target, AST_TARGET);
        part(&p, stmt->u.annassign.annotation, AST_ANNOTATION);
        part(&p, stmt->u.annassign.value, AST_VALUE);
        return;
    case STMT_if:
    case STMT_while:
        part(&p, stmt->u.branch.condition, AST_VALUE);
        return;
    case STMT_for:
        part(&p, stmt->u.loop.target, AST_TARGET);
        part(&p, stmt->u.loop.iterable, AST_VALUE);
        return;
    case STMT_assert:
        part(&p, stmt->u.assertion.condition, AST_VALUE);
        part(&p, stmt->u.assertion.message, AST_VALUE);
        return;
    case STMT_with:
        for (uint32_t i = 0; i < stmt->u.with.items.count; i++) {
            part(&p, stmt->u.with.items.items[i], AST_VALUE);
            part(&p, stmt->u.with.targets.items[i], AST_TARGET);
        }
        return;
    case STMT_def:
        ast_function_parts(stmt->u.def, visit, user);
        return;
    case STMT_class:
        parts(&p, &stmt->u.class_def->decorators, AST_DECORATOR);
        parts(&p, &stmt->u.class_def->bases, AST_VALUE);
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

void ast_stmt_bodies(const Stmt *stmt, AstBody *visit, void *user) {
    switch (stmt->kind) {
    case STMT_if:
    case STMT_while:
        visit(user, &stmt->u.branch.body);
        visit(user, &stmt->u.branch.orelse);
        return;
    case STMT_for:
        visit(user, &stmt->u.loop.body);
        visit(user, &stmt->u.loop.orelse);
        return;
    case STMT_with:
        visit(user, &stmt->u.with.body);
        return;
    case STMT_def:
        visit(user, &stmt->u.def->body);
        return;
    case STMT_class:
        visit(user, &stmt->u.class_def->body);
        return;
    case STMT_expr:
    case STMT_return:
    case STMT_raise:
    case STMT_del:
    case STMT_assign:
    case STMT_augassign:
    case STMT_annassign:
    case STMT_assert:
    case STMT_pass:
    case STMT_break:
    case STMT_continue:
    case STMT_import:
    case STMT_unsupported:
    case STMT_COUNT:
        return;
    }
}
