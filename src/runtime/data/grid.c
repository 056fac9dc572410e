/* A grid is a host expression, or up to three of them, of integers. */
#include "runtime/data/grid.h"

#include "frontend/parse.h"
#include "target/grid_limits.h"

#include <inttypes.h>

static bool compile(Ctx *ctx, Arena *arena, Expr *expr, const Str *names, uint32_t count,
                    GridProgram *program) {
    const HostScope scope = {.names = names, .count = count, .place = "a grid"};
    const bool is_list = expr->kind == EXPR_tuple || expr->kind == EXPR_list;
    const ExprList list = is_list ? expr->u.list : (ExprList){&expr, 1};
    if (list.count == 0 || list.count > GRID_RANK)
        return ctx_diag(ctx, expr->span, grid_rank, list.count);
    *program = (GridProgram){.rank = list.count};
    for (uint32_t i = 0; i < list.count; i++) {
        program->dimensions[i] = host_compile(ctx, arena, list.items[i], &scope);
        if (!program->dimensions[i])
            return false;
    }
    return true;
}

bool grid_compile(Ctx *ctx, Arena *arena, Str text, const Str *names, uint32_t count,
                  GridProgram *program) {
    const uint32_t file = source_add(&ctx->sources, STR("<grid>"), text);
    Expr *expr = parse_expression(&ctx->diags, file);
    return expr && compile(ctx, arena, expr, names, count, program);
}

static bool is_dimension(HostValue value, uint32_t axis) {
    return (value.kind == HOST_INT || value.kind == HOST_BOOL) && value.i >= 0 &&
           value.i <= target_max_grid(axis);
}

bool grid_run(const GridProgram *program, const HostValue *values, uint32_t grid[3],
              HostError *error) {
    for (uint32_t i = 0; i < GRID_RANK; i++) {
        HostValue value = host_int(1);
        if (i < program->rank && !host_evaluate(program->dimensions[i], values, &value, error))
            return false;
        if (!is_dimension(value, i)) {
            *error = (HostError){HOST_grid, host_span(program->dimensions[i])};
            return false;
        }
        grid[i] = (uint32_t)value.i;
    }
    return true;
}

/* A value that is no dimension. */
static bool refuse(Ctx *ctx, HostValue value, Span span, uint32_t axis) {
    if (value.kind == HOST_INT || value.kind == HOST_BOOL)
        return ctx_diag(ctx, span, grid_range, "xyz"[axis], value.i, target_max_grid(axis));
    StrBuf text = strbuf(&ctx->arena);
    host_print(value, &text);
    ctx_diag(ctx, span, grid_integer, "xyz"[axis], text.ptr);
    diag_hint(&ctx->diags, "// and cdiv divide integers");
    return false;
}

bool grid_evaluate_expr(Ctx *ctx, Expr *expr, const Str *names, const HostValue *values,
                        uint32_t count, uint32_t grid[3]) {
    GridProgram program;
    HostError error;
    if (!compile(ctx, &ctx->arena, expr, names, count, &program))
        return false;
    for (uint32_t i = 0; i < GRID_RANK; i++) {
        HostValue value = host_int(1);
        if (i < program.rank && !host_evaluate(program.dimensions[i], values, &value, &error))
            return host_report(ctx, &error);
        if (!is_dimension(value, i))
            return refuse(ctx, value, host_span(program.dimensions[i]), i);
        grid[i] = (uint32_t)value.i;
    }
    return true;
}

bool grid_evaluate(Ctx *ctx, Str text, const GridName *names, uint32_t count, uint32_t grid[3]) {
    Str *known = ARENA_ARRAY(&ctx->arena, Str, (size_t)count + 1);
    HostValue *values = ARENA_ARRAY(&ctx->arena, HostValue, (size_t)count + 1);
    const uint32_t file = source_add(&ctx->sources, STR("<grid>"), text);
    for (uint32_t i = 0; i < count; i++) {
        known[i] = names[i].name;
        values[i] = host_int(names[i].value);
    }
    Expr *expr = parse_expression(&ctx->diags, file);
    return expr && grid_evaluate_expr(ctx, expr, known, values, count, grid);
}
