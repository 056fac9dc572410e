/* Every expression of a source, in its order. */
#ifndef TILEC_REDUCE_WALK_H
#define TILEC_REDUCE_WALK_H
#include "frontend/ast.h"
#include "frontend/parse.h"

/* What an expression is there for. */
typedef enum WalkRole {
    WALK_VALUE,
    WALK_TARGET,     /* something is assigned to it */
    WALK_CALLEE,     /* it is called */
    WALK_ANNOTATION, /* of a parameter or a variable */
    WALK_DECORATOR,
} WalkRole;

typedef void WalkExpr(void *user, const Expr *expr, WalkRole role);

/* Those of a statement and of the statements in it, each before its parts. Of f-strings, whose
 * parts are within a token, the whole alone. */
void walk_statement(const Stmt *stmt, WalkExpr *visit, void *user);
void walk_module(const ModuleStmt *module, uint32_t count, WalkExpr *visit, void *user);

typedef void WalkStmt(void *user, const Stmt *stmt);
/* Statements, each before those in it. */
void walk_statements(const ModuleStmt *module, uint32_t count, WalkStmt *visit, void *user);
#endif
