/* What syntax trees consist of: for whoever walks over them, so that a new kind of node is new in
 * one place. */
#ifndef TILEC_FRONTEND_AST_PARTS_H
#define TILEC_FRONTEND_AST_PARTS_H
#include "frontend/ast.h"

/* What an expression is there for. */
typedef enum AstRole {
    AST_VALUE,
    AST_TARGET,     /* something is assigned to it */
    AST_CALLEE,     /* it is called */
    AST_ANNOTATION, /* of a parameter, a variable or a result */
    AST_DECORATOR,
} AstRole;

/* Takes one part, which is not NULL. */
typedef void AstPart(void *user, const Expr *part, AstRole role);

/* The expressions of which `expr`, which has that role, is made, in the order of the source; theirs
 * are not gone through. */
void ast_expr_parts(const Expr *expr, AstRole role, AstPart *visit, void *user);
/* Annotations and defaults. */
void ast_param_parts(const Param *params, uint32_t count, AstPart *visit, void *user);
/* The statement's own expressions; of a definition its decorators, parameters and result, of a
 * class its decorators and bases. */
void ast_stmt_parts(const Stmt *stmt, AstPart *visit, void *user);
void ast_function_parts(const FuncDef *def, AstPart *visit, void *user);

typedef void AstBody(void *user, const StmtList *body);
/* The statements that it is around: one or two lists. */
void ast_stmt_bodies(const Stmt *stmt, AstBody *visit, void *user);
#endif
