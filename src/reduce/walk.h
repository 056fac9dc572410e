/* Every expression of a source, in its order. */
#ifndef TILEC_REDUCE_WALK_H
#define TILEC_REDUCE_WALK_H
#include "frontend/ast_parts.h"
#include "frontend/parse.h"

/* Those of a statement and of the statements in it, each before its parts. Of f-strings, whose
 * parts are within a token, the whole alone; of classes nothing. */
void walk_statement(const Stmt *stmt, AstPart *visit, void *user);
void walk_module(const ModuleStmt *module, uint32_t count, AstPart *visit, void *user);

typedef void WalkStmt(void *user, const Stmt *stmt);
/* Statements, each before those in it. */
void walk_statements(const ModuleStmt *module, uint32_t count, WalkStmt *visit, void *user);
#endif
