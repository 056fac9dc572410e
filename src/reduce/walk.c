/* See walk.h. */
#include "reduce/walk.h"

typedef struct Walk {
    AstPart *visit;
    void *user;
} Walk;

static void walk(void *user, const Expr *expr, AstRole role) {
    const Walk *w = user;
    w->visit(w->user, expr, role);
    if (expr->kind != EXPR_fstring)
        ast_expr_parts(expr, role, walk, user);
}

static void walk_body(void *user, const StmtList *body) {
    const Walk *w = user;
    for (uint32_t i = 0; i < body->count; i++)
        walk_statement(body->items[i], w->visit, w->user);
}

void walk_statement(const Stmt *stmt, AstPart *visit, void *user) {
    Walk w = {visit, user};
    if (stmt->kind == STMT_class)
        return;
    ast_stmt_parts(stmt, walk, &w);
    ast_stmt_bodies(stmt, walk_body, &w);
}

void walk_module(const ModuleStmt *module, uint32_t count, AstPart *visit, void *user) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < module[i].parsed.count; k++)
            walk_statement(module[i].parsed.items[k], visit, user);
}

typedef struct Nested {
    WalkStmt *visit;
    void *user;
} Nested;

static void walk_nested(void *user, const StmtList *list) {
    const Nested *nested = user;
    for (uint32_t i = 0; i < list->count; i++) {
        nested->visit(nested->user, list->items[i]);
        if (list->items[i]->kind != STMT_class)
            ast_stmt_bodies(list->items[i], walk_nested, user);
    }
}

void walk_statements(const ModuleStmt *module, uint32_t count, WalkStmt *visit, void *user) {
    Nested nested = {visit, user};
    for (uint32_t i = 0; i < count; i++)
        walk_nested(&nested, &module[i].parsed);
}
