/* Source text to syntax tree. */
#ifndef TILEC_FRONTEND_PARSE_H
#define TILEC_FRONTEND_PARSE_H
#include "frontend/ast.h"
#include "support/diag.h"

/* Parses the source numbered `file` of `diags->sources`. Nodes are allocated in `diags->arena`.
 *
 * Functions decorated with a jit decorator (or constexpr_function) are parsed whole and their
 * errors reported. All other top-level code is host code: classes, loops and anything that does not
 * parse are passed over by indentation without a message, except that
 * - simple `NAME = expr`, `NAME: annotation = expr` and imports are kept when they parse, since
 *   kernels refer to them;
 * - plain functions are kept, whole or, where something in them does not parse, without body;
 * - `if` and `try` are looked into. Of the definitions of one name in the branches of one statement
 *   one is kept (docs/language.md says which), so `body` holds no alternatives; a later statement
 *   may still define a name again, and then wins as in Python;
 * - a string or bracket that hides the rest of the file is an error.
 * Never NULL; check `diags->errors` for success. */
AstFile *parse_file(Diags *diags, uint32_t file);

/* The one function that a source is, which may be indented: a jit function, whatever its decorators
 * say. After an error the file is empty. */
AstFile *parse_unit(Diags *diags, uint32_t file);

/* A statement of a file's top level, or some on a line. */
typedef struct ModuleStmt {
    StmtList parsed;   /* none where it does not parse */
    Span whole;        /* its text, blocks and clauses included */
    uint32_t mistakes; /* in it, of its blocks too: what they are about is not in `parsed` */
} ModuleStmt;

/* All of a file, host code and its functions' bodies included, without a message; what does not
 * parse is there by its place. `if` and `try` stay as they are. */
ModuleStmt *parse_module(Diags *diags, uint32_t file, uint32_t *count);

/* A single expression, the whole text of source `file`: `-D` values, grid expressions. NULL after
 * an error was reported. */
Expr *parse_expression(Diags *diags, uint32_t file);
/* The same, where `@3` is a name, too: of a unit (frontend/units.h). */
Expr *parse_literal_value(Diags *diags, uint32_t file);
/* The same of a part of a source, such as a string in another language's file. */
Expr *parse_expression_at(Diags *diags, Span part);
#endif
