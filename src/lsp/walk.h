/* Walks over syntax trees. */
#ifndef TILEC_LSP_WALK_H
#define TILEC_LSP_WALK_H
#include "frontend/ast.h"

/* Called with a node before what is in it; each may be NULL. */
typedef struct Walker {
    void (*expr)(void *user, const Expr *expr);
    void (*stmt)(void *user, const Stmt *stmt);
    void (*param)(void *user, const Param *param);
    void *user;
} Walker;

void walk_expr(const Walker *walker, const Expr *expr); /* NULL: nothing */
void walk_stmts(const Walker *walker, const StmtList *list);
/* Decorators, parameters with their annotations and defaults, the body. */
void walk_function(const Walker *walker, const FuncDef *def);
void walk_file(const Walker *walker, const AstFile *file);

/* All of a function, from its decorators to the end of its last statement. */
Span walk_extent(const FuncDef *def);

/* The innermost expression around an offset, or that ends there; `call`: the one whose callee it
 * is, or is part of as in `tl` of `tl.load(x)`, else NULL. NULL: there is none. */
const Expr *walk_innermost(const AstFile *file, uint32_t offset, const Expr **call);
/* The function that an offset lies in, as far as lines up to the next one go; NULL: none. */
const FuncDef *walk_function_at(const AstFile *file, Str text, uint32_t offset);
#endif
