/* Launch grids as expressions: "cdiv(n, BLOCK)", "(rows, cdiv(cols, 128))". */
#ifndef TILEC_RUNTIME_DATA_GRID_H
#define TILEC_RUNTIME_DATA_GRID_H
#include "frontend/host_expr.h"
#include "support/ctx.h"

typedef struct GridName {
    Str name;
    int64_t value;
} GridName;

enum { GRID_RANK = 3 };

/* A grid that each launch computes from the values of its names. */
typedef struct GridProgram {
    const HostExpr *dimensions[GRID_RANK];
    uint32_t rank; /* 0: there is none */
} GridProgram;

/* Into `arena`, pointing at nothing of the context. False after a report. */
bool grid_compile(Ctx *ctx, Arena *arena, Str text, const Str *names, uint32_t count,
                  GridProgram *program);
/* `values`: one for each name. False: `error` says why. Any thread; allocates nothing. */
bool grid_run(const GridProgram *program, const HostValue *values, uint32_t grid[3],
              HostError *error);

/* Evaluates `text`, a host expression (frontend/host_expr.h) of the names; a tuple gives up to
 * three dimensions, those that are missing are 1. False after an error was reported at its place in
 * the text. */
bool grid_evaluate(Ctx *ctx, Str text, const GridName *names, uint32_t count, uint32_t grid[3]);
/* The same of what is parsed, with values of any kind: one for each name, of which the first
 * counts. */
bool grid_evaluate_expr(Ctx *ctx, Expr *expr, const Str *names, const HostValue *values,
                        uint32_t count, uint32_t grid[3]);
#endif
