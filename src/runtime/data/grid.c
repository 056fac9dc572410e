/* A walk over the expression's tree with exact 64-bit integers: what overflows is an error, not a
 * small grid. */
#include "runtime/data/grid.h"

#include "frontend/parse.h"

#include <inttypes.h>

typedef struct Evaluator {
    Ctx *ctx;
    const GridName *names;
    uint32_t count;
} Evaluator;

enum { GRID_RANK = 3 };

static const uint32_t grid_limit[GRID_RANK] = {INT32_MAX, 65535, 65535};

static bool evaluate(Evaluator *e, const Expr *expr, int64_t *value);

static bool unsupported(Evaluator *e, const Expr *expr, const char *what) {
    ctx_diag(e->ctx, expr->span, grid_unsupported, what);
    diag_hint(&e->ctx->diags,
              "integers, names, + - * // %%, cdiv, min, max and next_power_of_2 can be used");
    return false;
}

static bool overflow(Evaluator *e, const Expr *expr) {
    return ctx_diag(e->ctx, expr->span, grid_overflow);
}

static bool unknown_name(Evaluator *e, const Expr *expr) {
    Str name = expr->u.name;
    Str *known = ARENA_ARRAY(&e->ctx->arena, Str, e->count + 1);
    for (uint32_t i = 0; i < e->count; i++)
        known[i] = e->names[i].name;
    ctx_diag(e->ctx, expr->span, grid_name, STR_ARG(name));
    int nearest = str_nearest(name, known, e->count);
    if (nearest >= 0)
        diag_hint(&e->ctx->diags, "did you mean '%.*s'?", STR_ARG(known[nearest]));
    return false;
}

/* Python's division and remainder, which round down. */
static int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static bool divide(Evaluator *e, const Expr *expr, AstOperator op, int64_t a, int64_t b,
                   int64_t *value) {
    if (b == 0)
        return ctx_diag(e->ctx, expr->span, grid_zero_division);
    if (a == INT64_MIN && b == -1)
        return overflow(e, expr);
    *value = op == ASTOP_floordiv ? floor_div(a, b) : a - floor_div(a, b) * b;
    return true;
}

static bool power(Evaluator *e, const Expr *expr, int64_t base, int64_t exponent, int64_t *value) {
    if (exponent < 0)
        return unsupported(e, expr, "a negative exponent");
    *value = 1;
    for (int64_t i = 0; i < exponent; i++) {
        if (__builtin_mul_overflow(*value, base, value))
            return overflow(e, expr);
        if (base >= -1 && base <= 1)
            break;
    }
    if (base == -1)
        *value = exponent % 2 ? -1 : 1;
    return true;
}

static bool evaluate_binary(Evaluator *e, const Expr *expr, int64_t *value) {
    AstOperator op = expr->u.binary.op;
    int64_t a, b;
    if (!evaluate(e, expr->u.binary.left, &a) || !evaluate(e, expr->u.binary.right, &b))
        return false;
    if (op == ASTOP_add)
        return !__builtin_add_overflow(a, b, value) || overflow(e, expr);
    if (op == ASTOP_sub)
        return !__builtin_sub_overflow(a, b, value) || overflow(e, expr);
    if (op == ASTOP_mul)
        return !__builtin_mul_overflow(a, b, value) || overflow(e, expr);
    if (op == ASTOP_floordiv || op == ASTOP_mod)
        return divide(e, expr, op, a, b, value);
    if (op == ASTOP_pow)
        return power(e, expr, a, b, value);
    return unsupported(e, expr, str_format(&e->ctx->arena, "operator '%s'", ast_operator_text[op]));
}

static bool call_cdiv(Evaluator *e, const Expr *expr, const int64_t *args, int64_t *value) {
    if (args[1] == 0)
        return ctx_diag(e->ctx, expr->span, grid_zero_division);
    if (args[0] == INT64_MIN)
        return overflow(e, expr);
    *value = -floor_div(-args[0], args[1]);
    return true;
}

static bool call_min(Evaluator *e, const Expr *expr, const int64_t *args, int64_t *value) {
    *value = args[0] < args[1] ? args[0] : args[1];
    return true;
}

static bool call_max(Evaluator *e, const Expr *expr, const int64_t *args, int64_t *value) {
    *value = args[0] > args[1] ? args[0] : args[1];
    return true;
}

static bool call_next_power_of_2(Evaluator *e, const Expr *expr, const int64_t *args,
                                 int64_t *value) {
    if (args[0] > (int64_t)1 << 62)
        return overflow(e, expr);
    *value = 1;
    while (*value < args[0])
        *value *= 2;
    return true;
}

static const struct GridFunction {
    const char *name;
    uint32_t args;
    bool (*call)(Evaluator *e, const Expr *expr, const int64_t *args, int64_t *value);
} grid_functions[] = {
    {"cdiv", 2, call_cdiv},
    {"min", 2, call_min},
    {"max", 2, call_max},
    {"next_power_of_2", 1, call_next_power_of_2},
};

static bool evaluate_call(Evaluator *e, const Expr *expr, int64_t *value) {
    const Expr *callee = expr->u.call.callee;
    Str name = callee->kind == EXPR_attribute ? callee->u.attribute.name
               : callee->kind == EXPR_name    ? callee->u.name
                                              : STR("");
    for (size_t i = 0; i < sizeof grid_functions / sizeof *grid_functions; i++) {
        const struct GridFunction *function = &grid_functions[i];
        int64_t args[2] = {0};
        if (!str_is(name, function->name))
            continue;
        if (expr->u.call.args.count != function->args || expr->u.call.keyword_count)
            return ctx_diag(e->ctx, expr->span, grid_arguments, function->name, function->args,
                            expr->u.call.args.count + expr->u.call.keyword_count);
        for (uint32_t j = 0; j < function->args; j++)
            if (!evaluate(e, expr->u.call.args.items[j], &args[j]))
                return false;
        return function->call(e, expr, args, value);
    }
    return unsupported(e, callee, "this function");
}

static bool evaluate_integer(Evaluator *e, const Expr *expr, int64_t *value) {
    if (expr->u.integer.hi || expr->u.integer.lo > INT64_MAX)
        return overflow(e, expr);
    *value = (int64_t)expr->u.integer.lo;
    return true;
}

static bool evaluate(Evaluator *e, const Expr *expr, int64_t *value) {
    if (expr->kind == EXPR_int)
        return evaluate_integer(e, expr, value);
    if (expr->kind == EXPR_binary)
        return evaluate_binary(e, expr, value);
    if (expr->kind == EXPR_call)
        return evaluate_call(e, expr, value);
    if (expr->kind == EXPR_name) {
        for (uint32_t i = 0; i < e->count; i++) {
            if (!str_eq(e->names[i].name, expr->u.name))
                continue;
            *value = e->names[i].value;
            return true;
        }
        return unknown_name(e, expr);
    }
    if (expr->kind == EXPR_unary && expr->u.unary.op == ASTOP_neg)
        return evaluate(e, expr->u.unary.operand, value) &&
               (!__builtin_sub_overflow((int64_t)0, *value, value) || overflow(e, expr));
    return unsupported(e, expr, str_format(&e->ctx->arena, "%s", ast_expr_kind_name[expr->kind]));
}

static bool evaluate_dimension(Evaluator *e, const Expr *expr, uint32_t axis, uint32_t grid[3]) {
    int64_t value;
    if (!evaluate(e, expr, &value))
        return false;
    if (value < 0 || value > grid_limit[axis])
        return ctx_diag(e->ctx, expr->span, grid_range, "xyz"[axis], value, grid_limit[axis]);
    grid[axis] = (uint32_t)value;
    return true;
}

bool grid_evaluate(Ctx *ctx, Str text, const GridName *names, uint32_t count, uint32_t grid[3]) {
    uint32_t file = source_add(&ctx->sources, STR("<grid>"), text);
    const Expr *expr = parse_expression(&ctx->diags, file);
    if (!expr)
        return false;
    Evaluator e = {ctx, names, count};
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
