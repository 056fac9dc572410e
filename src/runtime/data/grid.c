/* A grid is a host expression, or up to three of them, of integers. */
#include "runtime/data/grid.h"

#include "frontend/host_expr.h"
#include "frontend/parse.h"

#include <inttypes.h>

enum { GRID_RANK = 3 };

static const uint32_t grid_limit[GRID_RANK] = {INT32_MAX, 65535, 65535};

typedef struct Evaluator {
    Ctx *ctx;
    HostScope scope;
    const HostValue *values;
} Evaluator;

static bool evaluate_dimension(Evaluator *e, const Expr *expr, uint32_t axis, uint32_t grid[3]) {
    HostValue value;
    HostError error;
    const HostExpr *compiled = host_compile(e->ctx, &e->ctx->arena, expr, &e->scope);
    if (!compiled)
        return false;
    if (!host_evaluate(compiled, e->values, &value, &error))
        return host_report(e->ctx, &error);
    if (value.kind != HOST_INT && value.kind != HOST_BOOL) {
        StrBuf text = strbuf(&e->ctx->arena);
        host_print(value, &text);
        ctx_diag(e->ctx, expr->span, grid_integer, "xyz"[axis], text.ptr);
        diag_hint(&e->ctx->diags, "// and cdiv divide integers");
        return false;
    }
    if (value.i < 0 || value.i > grid_limit[axis])
        return ctx_diag(e->ctx, expr->span, grid_range, "xyz"[axis], value.i, grid_limit[axis]);
    grid[axis] = (uint32_t)value.i;
    return true;
}

bool grid_evaluate(Ctx *ctx, Str text, const GridName *names, uint32_t count, uint32_t grid[3]) {
    uint32_t file = source_add(&ctx->sources, STR("<grid>"), text);
    const Expr *expr = parse_expression(&ctx->diags, file);
    if (!expr)
        return false;
    Str *known = ARENA_ARRAY(&ctx->arena, Str, (size_t)count + 1);
    HostValue *values = ARENA_ARRAY(&ctx->arena, HostValue, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        known[i] = names[i].name;
        values[i] = host_int(names[i].value);
    }
    Evaluator e = {ctx, {.names = known, .count = count, .place = "a grid"}, values};
    for (uint32_t i = 0; i < GRID_RANK; i++)
        grid[i] = 1;
    if (expr->kind != EXPR_tuple && expr->kind != EXPR_list)
        return evaluate_dimension(&e, expr, 0, grid);
    const ExprList *list = &expr->u.list;
    if (list->count == 0 || list->count > GRID_RANK)
        return ctx_diag(ctx, expr->span, grid_rank, list->count);
    for (uint32_t i = 0; i < list->count; i++)
        if (!evaluate_dimension(&e, list->items[i], i, grid))
            return false;
    return true;
}
