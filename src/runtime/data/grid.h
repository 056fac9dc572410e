/* Launch grids as expressions: "cdiv(n, BLOCK)", "(rows, cdiv(cols, 128))". */
#ifndef TILEC_RUNTIME_DATA_GRID_H
#define TILEC_RUNTIME_DATA_GRID_H
#include "frontend/ast.h"
#include "support/ctx.h"

typedef struct GridName {
    Str name;
    int64_t value;
} GridName;

/* Evaluates `text`, a host expression (frontend/host_expr.h) of the names; a tuple gives up to
 * three dimensions, those that are missing are 1. False after an error was reported at its place in
 * the text. */
bool grid_evaluate(Ctx *ctx, Str text, const GridName *names, uint32_t count, uint32_t grid[3]);
#endif
