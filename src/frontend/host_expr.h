/* Expressions that host code evaluates at a launch: lambdas of @triton.heuristics, launch grids.
 *
 * An expression is compiled once, against the names it may use, into a tree of its own that lies in
 * an arena and points at no source; it is evaluated from the values of a call, by any thread,
 * without allocating. Meaning as in Python, except that integers have 64 bits: what does not fit is
 * an error. */
#ifndef TILEC_FRONTEND_HOST_EXPR_H
#define TILEC_FRONTEND_HOST_EXPR_H
#include "frontend/host_value.h"
#include "support/ctx.h"

/* The names of an expression: arguments, whose values come with each evaluation, by index. */
typedef struct HostScope {
    const Str *names;
    uint32_t count;
    Str mapping; /* they are `mapping["NAME"]`, and bare names those of `file`; empty: bare names */
    const AstFile *file; /* whose top level has constants; NULL: none */
    const char *place;   /* "a grid": where the expression stands, for messages */
} HostScope;

typedef struct HostExpr HostExpr;

/* X(id, message): why an evaluation fails. */
#define HOST_PROBLEMS(X)                                                                           \
    X(overflow, "the value does not fit 64 bits")                                                  \
    X(zero_division, "division by zero")                                                           \
    X(types, "the operands' types do not go together")                                             \
    X(not_positive, "the value must be positive")                                                  \
    X(no_value, "the argument has no value here")                                                  \
    X(grid, "a grid's sides are integers from 0, up to 2147483647 in x and 65535 in y and z")

typedef enum HostProblem {
#define HOST_PROBLEM(id, text) HOST_##id,
    HOST_PROBLEMS(HOST_PROBLEM)
#undef HOST_PROBLEM
        HOST_PROBLEM_COUNT
} HostProblem;

typedef struct HostError {
    HostProblem problem;
    Span span; /* in the source that the expression came from */
} HostError;

/* The tree of `expr`, in `arena`; NULL after a report of what cannot be used there. */
const HostExpr *host_compile(Ctx *ctx, Arena *arena, const Expr *expr, const HostScope *scope);
/* `arguments`: a value for each name of the scope. False: `error` says why. */
bool host_evaluate(const HostExpr *expr, const HostValue *arguments, HostValue *value,
                   HostError *error);
/* Adds the error of an evaluation to the messages; returns false. */
bool host_report(Ctx *ctx, const HostError *error);

/* Where the expression stands in its source. */
Span host_span(const HostExpr *expr);
/* Python's truth. */
bool host_truth(HostValue value);
/* A Python literal: None, True, an integer, a float, a string without escapes. HOST_UNKNOWN:
 * another one, or none. Allocates nothing; a string points into `text`. */
HostValue host_read(Str text);
/* What the value is as a Python literal. */
void host_print(HostValue value, StrBuf *out);
#endif
