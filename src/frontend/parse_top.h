/* Private to the parser: the top level of a file. */
#ifndef TILEC_FRONTEND_PARSE_TOP_H
#define TILEC_FRONTEND_PARSE_TOP_H
#include "frontend/parser.h"

/* The definitions collected, in order. */
typedef struct TopLevel {
    Parser *p;
    StmtVec body;
    size_t searched; /* definitions looked at to find names, see MAX_SEARCHED */
} TopLevel;

/* Names are looked up from the last definition back. Past this many steps in one file names count
 * as unknown, so that the time stays in proportion to the file; it is thousands of conditions over
 * thousands of definitions. */
enum { MAX_SEARCHED = 20000000 };

/* Reads with `read(p)`, silently; NULL if that is not what stands there. */
Stmt *read_silently(Parser *p, Stmt *(*read)(Parser *));
/* Passes over what is left of a line, or of a statement with its blocks. */
void top_skip_line(Parser *p);
void top_skip_statement(Parser *p);
/* A mistake in the indentation of a line: it is taken. */
bool top_accept_line_error(Parser *p);
/* A function or a class with its decorators. */
void top_definition(TopLevel *top);
#endif
