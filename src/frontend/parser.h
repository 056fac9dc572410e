/* What the files of the parser share; parse.h is the interface.
 *
 * Recursive descent over the tokens of one logical line at a time. A syntax error reports itself
 * and jumps to the innermost recovery point, which is set for each statement; so productions have
 * no error paths and never return NULL. Nodes are arena memory and need no clean-up. Host code is
 * read with `silent` set: nothing is reported, failure means "pass it over". */
#ifndef TILEC_FRONTEND_PARSER_H
#define TILEC_FRONTEND_PARSER_H
#include "frontend/lex.h"
#include "frontend/parse.h"

/* Brackets, calls and lambdas within each other; blocks within each other. CPython has 200 and 100.
 */
enum { PARSE_MAX_NESTING = 200, PARSE_MAX_BLOCKS = 100 };

typedef struct Parser {
    Diags *diags;
    Arena *arena;
    Lexer *lexer; /* of the file, or of the field of an f-string being read */
    Lexer file_lexer;
    size_t next;      /* index of the next token of the line */
    size_t file_next; /* `next` of the file's lexer while a field is read */
    Token previous;   /* the last one taken */
    jmp_buf *recover;
    bool silent;
    bool told_of_tabs;  /* one message a file about mixed tabs */
    bool is_literal;    /* functions may be there by their numbers: @3 */
    uint32_t nesting;   /* of expressions */
    uint32_t blocks;    /* of statements */
    uint32_t abandoned; /* mistakes so far, those included that nobody was told of */
    uint32_t branches;  /* `elif`s and blocks around: the height of the statement tree */
} Parser;

typedef VEC(Expr *) ExprVec;
typedef VEC(Stmt *) StmtVec;

/* Readies a parser for source `file`; it stays where it is from then on. */
void parse_begin(Parser *p, Diags *diags, uint32_t file);

/* Tokens. `parse_peek` reads the next line when this one is used up; `parse_peek_second` does not.
 */
Token parse_peek(Parser *p);
Token parse_peek_second(Parser *p);
Token parse_take(Parser *p);
bool parse_at(Parser *p, TokenKind kind);
bool parse_accept(Parser *p, TokenKind kind);
Token parse_expect(Parser *p, TokenKind kind, const char *wanted);
bool parse_at_name(Parser *p, const char *name);
Str parse_intern(Parser *p, Token token);
/* From the start of `first` to the end of the last token taken. */
Span parse_span_from(Parser *p, uint32_t lo);

/* Errors. `parse_error` and `parse_hint` report unless silent; `parse_abandon` goes to the recovery
 * point. Every error report is followed by it, so a statement gives at most one. */
#define parse_error(p, span, id, ...)                                                              \
    ((p)->silent ? false : diag((p)->diags, (span), id __VA_OPT__(, ) __VA_ARGS__))
#define parse_hint(p, ...) ((p)->silent ? (void)0 : diag_hint((p)->diags, __VA_ARGS__))
#define parse_note(p, span, ...)                                                                   \
    ((p)->silent ? (void)0 : diag_note((p)->diags, (span), __VA_ARGS__))
_Noreturn void parse_abandon(Parser *p);
/* "expected WANTED, found ...", with the remedy for common mistakes; the token at hand when it is a
 * lexical error. */
_Noreturn void parse_fail_expected(Parser *p, const char *wanted);
/* Likewise within brackets: names the opener, which may be what is wrong. */
_Noreturn void parse_fail_in_brackets(Parser *p, Token opener, const char *wanted);
void parse_close(Parser *p, Token opener, TokenKind closer);
void parse_enter(Parser *p);
void parse_leave(Parser *p);

/* Expressions. */
Expr *parse_new_expr(Parser *p, ExprKind kind, uint32_t lo);
/* Ends a node at the last token taken and checks the height of its tree. */
Expr *parse_finish(Parser *p, Expr *expr);
Expr *parse_test(Parser *p);    /* expression */
Expr *parse_named(Parser *p);   /* named_expression */
Expr *parse_starred(Parser *p); /* '*' bitwise_or */
Expr *parse_star_expressions(Parser *p);
Expr *parse_targets(Parser *p); /* of `for`: up to `in` */
Expr *parse_disjunction(Parser *p);
Expr *parse_binary(Parser *p, unsigned lowest); /* operators of at least this precedence */
Expr *parse_star_named(Parser *p);
Expr *parse_atom(Parser *p);
Expr *parse_atom_literal(Parser *p); /* number or strings at hand */
Expr *parse_yield(Parser *p);
/* At the clauses behind the element of a comprehension; reads them into a node. */
bool parse_at_comprehension(Parser *p);
Expr *parse_comprehension(Parser *p, ComprehensionForm form, uint32_t lo, Expr *element,
                          Expr *value);
Expr *parse_new_unsupported(Parser *p, AstConstruct construct, uint32_t lo);
/* Whether the token can begin an expression; what it decides is which message is given. */
bool parse_begins_expression(TokenKind kind);
ExprList parse_list(const ExprVec *items);
void parse_params(Parser *p, TokenKind end, bool annotations, Param **params, uint32_t *count);
/* Fails unless `target` can be assigned to; `with_tuples`: also (a, *b) and [a, b]. */
void parse_check_target(Parser *p, const Expr *target, bool with_tuples);

/* Statements. */
/* Parses one statement (or one line of several) into `out`; after an error, recovers behind it. */
void parse_statement(Parser *p, StmtVec *out);
/* import_name | import_from */
Stmt *parse_import(Parser *p);
/* Assignments and expression statements up to the end of the simple statement. */
Stmt *parse_simple_expression(Parser *p);
/* decorators have been read; at `def` */
FuncDef *parse_function(Parser *p, ExprList decorators, bool with_body);
/* ('@' named_expression NEWLINE)* */
ExprList parse_decorators(Parser *p);
/* A block with the `:` before it; `header` is the keyword, `what` the part that the colon follows.
 */
StmtList parse_block(Parser *p, Token header, const char *what);
/* The statements of an indented block, from behind its INDENT to behind its DEDENT. */
void parse_block_statements(Parser *p, StmtVec *out);
/* Goes behind the statement at hand after an error in it. */
void parse_recover(Parser *p);
void parse_skip_line(Parser *p);
void parse_skip_block(Parser *p);
StmtList parse_stmt_list(const StmtVec *items);
Stmt *parse_new_stmt(Parser *p, StmtKind kind, uint32_t lo);
#endif
