/* Grids as C: a host expression (frontend/host_expr.h) of the call's numbers becomes an expression
 * of C, of the functions in launcher_grid.c. Types are known beforehand, as parameters have them:
 * an integer, bools among them, or a double. What would need others, such as texts, is an error,
 * and so is what would need the mathematical library. */
#include "frontend/host_arith.h"
#include "frontend/parse.h"
#include "runtime/ahead/emit.h"

#include <inttypes.h>
#include <math.h>

extern const char launcher_grid_text[];
extern const unsigned launcher_grid_size;

enum { MAX_GRID_RANK = 3, MAX_PIECE = 1 << 16 };
static const char place[] = "a grid of C code";

/* An expression of C; text NULL: there was an error. */
typedef struct Piece {
    const char *text;
    bool is_real;
} Piece;

typedef struct Grid {
    Ctx *ctx;
    Arena *arena;
    const Group *group;
} Grid;

static Piece piece(Grid *g, const Expr *expr);

static Piece refuse(Grid *g, Span span, const char *what) {
    ctx_diag(g->ctx, span, host_unsupported, what, place);
    return (Piece){0};
}

static Piece whole(const char *text) {
    return (Piece){text, false};
}

static Piece real(const char *text) {
    return (Piece){text, true};
}

/* As an operand of C's operators on truth and order, of which compilers say no more what it must
 * be. */
static const char *opaque(Grid *g, Piece p) {
    return str_format(g->arena, "grid_%s(%s)", p.is_real ? "real" : "whole", p.text);
}

static const char *as_real(Grid *g, Piece p) {
    return p.is_real ? p.text : str_format(g->arena, "(double)%s", p.text);
}

/* Leaves */

static Piece number(Grid *g, int64_t value) {
    return whole(value == INT64_MIN ? "INT64_MIN"
                                    : str_format(g->arena, "INT64_C(%" PRId64 ")", value));
}

static Piece literal(Grid *g, const Expr *expr, Str text) {
    int64_t value;
    if (literal_is_integer(text, &value))
        return number(g, value);
    if (str_is(text, "True") || str_is(text, "False"))
        return number(g, str_is(text, "True"));
    const char *number_of_c = literal_real(g->arena, text);
    if (number_of_c)
        return real(str_format(g->arena, "(double)(%s)", number_of_c));
    return refuse(g, expr->span, str_format(g->arena, "%.*s", STR_ARG(text)));
}

static Piece argument(Grid *g, const Expr *expr, uint32_t param) {
    const KernelParam *p = &group_facts(g->group)->params[param];
    const uint32_t at = group_argument(g->group, param);
    switch (g->group->forms[param]) {
    case PARAM_FIXED:
        return literal(g, expr, p->text);
    case PARAM_TEXT:
        return refuse(g, expr->span, "a text");
    case PARAM_REAL:
        return real(str_format(g->arena, "arguments[%u].real", at));
    case PARAM_INTEGER:
    case PARAM_FLAG:
        break;
    case PARAM_VALUE:
        if (p->text.ptr[0] == '*')
            return refuse(g, expr->span, "a pointer");
        if (str_is(p->text, "u64"))
            return whole(str_format(g->arena, "grid_unsigned(&ok, arguments[%u].integer)", at));
        if (p->text.ptr[0] != 'i' && p->text.ptr[0] != 'u')
            return real(str_format(g->arena, "arguments[%u].real", at));
    }
    return whole(str_format(g->arena, "arguments[%u].integer", at));
}

static Piece name(Grid *g, const Expr *expr) {
    const KernelFacts *facts = group_facts(g->group);
    Str *names = ARENA_ARRAY(g->arena, Str, facts->param_count + 1);
    for (uint32_t i = 0; i < facts->param_count; i++) {
        if (str_eq(facts->params[i].name, expr->u.name))
            return argument(g, expr, i);
        names[i] = facts->params[i].name;
    }
    ctx_diag(g->ctx, expr->span, host_name, STR_ARG(expr->u.name), place);
    const int nearest = str_nearest(expr->u.name, names, facts->param_count);
    if (nearest >= 0)
        diag_hint(&g->ctx->diags, "did you mean '%.*s'?", STR_ARG(names[nearest]));
    return (Piece){0};
}

/* Operators */

static Piece unary(Grid *g, const Expr *expr) {
    const Piece p = piece(g, expr->u.unary.operand);
    if (!p.text)
        return p;
    switch ((int)expr->u.unary.op) {
    case ASTOP_pos:
        return p;
    case ASTOP_not:
        return whole(str_format(g->arena, "(int64_t)!%s", opaque(g, p)));
    case ASTOP_neg:
        return p.is_real ? real(str_format(g->arena, "(-%s)", p.text))
                         : whole(str_format(g->arena, "grid_sub(&ok, 0, %s)", p.text));
    case ASTOP_invert:
        if (!p.is_real)
            return whole(str_format(g->arena, "(~%s)", p.text));
    }
    return refuse(g, expr->span, "this operator of floats");
}

static Piece real_binary(Grid *g, const Expr *expr, Piece a, Piece b) {
    const char *left = as_real(g, a), *right = as_real(g, b);
    switch ((int)expr->u.binary.op) {
    case ASTOP_add:
        return real(str_format(g->arena, "(%s + %s)", left, right));
    case ASTOP_sub:
        return real(str_format(g->arena, "(%s - %s)", left, right));
    case ASTOP_mul:
        return real(str_format(g->arena, "(%s * %s)", left, right));
    case ASTOP_div:
        return real(str_format(g->arena, "grid_div(&ok, %s, %s)", left, right));
    }
    return refuse(g, expr->span, "this operator of floats");
}

static Piece binary(Grid *g, const Expr *expr) {
    static const struct {
        AstOperator op;
        const char *function;
    } checked[] = {{ASTOP_add, "add"},           {ASTOP_sub, "sub"},      {ASTOP_mul, "mul"},
                   {ASTOP_floordiv, "floordiv"}, {ASTOP_mod, "mod"},      {ASTOP_pow, "pow"},
                   {ASTOP_lshift, "lshift"},     {ASTOP_rshift, "rshift"}};
    const AstOperator op = expr->u.binary.op;
    const Piece a = piece(g, expr->u.binary.left);
    const Piece b = a.text ? piece(g, expr->u.binary.right) : a;
    if (!b.text)
        return b;
    if (a.is_real || b.is_real || op == ASTOP_div)
        return real_binary(g, expr, a, b);
    for (size_t i = 0; i < sizeof checked / sizeof *checked; i++)
        if (checked[i].op == op)
            return whole(
                str_format(g->arena, "grid_%s(&ok, %s, %s)", checked[i].function, a.text, b.text));
    if (op == ASTOP_bitand || op == ASTOP_bitor || op == ASTOP_bitxor)
        return whole(str_format(g->arena, "(%s %s %s)", a.text, ast_operator_text[op], b.text));
    return refuse(g, expr->span, "this operator");
}

/* `of ? then : other`, both of one type. */
static Piece choice(Grid *g, Span span, Piece of, Piece then, Piece other) {
    const char *condition = opaque(g, of);
    if (strlen(condition) + strlen(then.text) + strlen(other.text) > MAX_PIECE)
        return refuse(g, span, "an expression as large as this");
    const bool is_real = then.is_real || other.is_real;
    return (Piece){str_format(g->arena, "(%s ? %s : %s)", condition,
                              is_real ? as_real(g, then) : then.text,
                              is_real ? as_real(g, other) : other.text),
                   is_real};
}

/* The value of `a or b` is a or b: from the last operand on. */
static Piece boolop(Grid *g, const Expr *expr) {
    const ExprList *operands = &expr->u.boolop.operands;
    Piece result = piece(g, operands->items[operands->count - 1]);
    for (uint32_t i = operands->count - 1; result.text && i-- > 0;) {
        const Piece p = piece(g, operands->items[i]);
        if (!p.text)
            return p;
        result = expr->u.boolop.op == ASTOP_or ? choice(g, expr->span, p, p, result)
                                               : choice(g, expr->span, p, result, p);
    }
    return result;
}

static const char *comparison(AstOperator op) {
    switch ((int)op) {
    case ASTOP_eq:
    case ASTOP_is:
        return "==";
    case ASTOP_ne:
    case ASTOP_isnot:
        return "!=";
    case ASTOP_lt:
    case ASTOP_le:
    case ASTOP_gt:
    case ASTOP_ge:
        return ast_operator_text[op];
    }
    return NULL;
}

static Piece compare(Grid *g, const Expr *expr) {
    const ExprList *operands = &expr->u.compare.operands;
    StrBuf out = strbuf(g->arena);
    Piece left = piece(g, operands->items[0]);
    for (uint32_t i = 1; left.text && i < operands->count; i++) {
        const char *op = comparison(expr->u.compare.ops[i - 1]);
        if (!op)
            return refuse(g, expr->span, "`in`");
        const Piece right = piece(g, operands->items[i]);
        if (!right.text)
            return right;
        strbuf_printf(&out, "%s%s %s %s", i > 1 ? " && " : "(", opaque(g, left), op, right.text);
        if (out.len > MAX_PIECE)
            return refuse(g, expr->span, "an expression as large as this");
        left = right;
    }
    strbuf_putc(&out, ')');
    return left.text ? whole(str_format(g->arena, "(int64_t)%.*s", (int)out.len, out.ptr)) : left;
}

static Piece ternary(Grid *g, const Expr *expr) {
    const Piece condition = piece(g, expr->u.ternary.condition);
    const Piece then = condition.text ? piece(g, expr->u.ternary.then_value) : condition;
    const Piece other = then.text ? piece(g, expr->u.ternary.else_value) : then;
    return other.text ? choice(g, expr->span, condition, then, other) : other;
}

/* Functions */

/* One operand, as an integer. */
static Piece rounded(Grid *g, const char *function, Piece p) {
    return p.is_real ? whole(str_format(g->arena, "grid_%s(&ok, %s)", function, p.text)) : p;
}

static Piece one_operand(Grid *g, const Expr *expr, const char *function, Piece p) {
    if (!strcmp(function, "int") || !strcmp(function, "floor") || !strcmp(function, "ceil"))
        return rounded(g, function, p);
    if (!strcmp(function, "float"))
        return real(as_real(g, p));
    if (!strcmp(function, "bool"))
        return whole(str_format(g->arena, "(int64_t)(%s != 0)", opaque(g, p)));
    if (p.is_real || (strcmp(function, "abs") && strcmp(function, "next_power_of_2")))
        return refuse(g, expr->span, "this function");
    return whole(str_format(g->arena, "grid_%s(&ok, %s)", function, p.text));
}

static Piece call(Grid *g, const Expr *expr) {
    const Expr *callee = expr->u.call.callee;
    const ExprList *args = &expr->u.call.args;
    const Str called = callee->kind == EXPR_attribute ? callee->u.attribute.name
                       : callee->kind == EXPR_name    ? callee->u.name
                                                      : STR("");
    const HostFunction *function = host_function(called);
    if (!function)
        return refuse(g, callee->span, "this function");
    if (expr->u.call.keyword_count || args->count < function->least ||
        args->count > function->most) {
        ctx_diag(g->ctx, expr->span, host_arguments, function->name, function->least, args->count);
        return (Piece){0};
    }
    Piece result = piece(g, args->items[0]);
    if (result.text && args->count == 1)
        return one_operand(g, expr, function->name, result);
    for (uint32_t i = 1; result.text && i < args->count; i++) { /* cdiv, min and max */
        const Piece p = piece(g, args->items[i]);
        if (!p.text)
            return p;
        if (p.is_real || result.is_real)
            return refuse(g, expr->span, "this function of floats");
        result = whole(
            str_format(g->arena, "grid_%s(&ok, %s, %s)", function->name, result.text, p.text));
    }
    return result;
}

static Piece piece(Grid *g, const Expr *expr) {
    switch ((int)expr->kind) {
    case EXPR_int:
        if (!expr->u.integer.hi && expr->u.integer.lo <= INT64_MAX)
            return number(g, (int64_t)expr->u.integer.lo);
        host_report(g->ctx, &(HostError){HOST_overflow, expr->span});
        return (Piece){0};
    case EXPR_float:
        if (!isfinite(expr->u.number))
            return refuse(g, expr->span, "a number beyond a double");
        return real(str_format(g->arena, "(double)(%.17g)", expr->u.number));
    case EXPR_bool:
        return number(g, expr->u.boolean);
    case EXPR_name:
        return name(g, expr);
    case EXPR_call:
        return call(g, expr);
    case EXPR_compare:
        return compare(g, expr);
    case EXPR_unary:
        return unary(g, expr);
    case EXPR_binary:
        return binary(g, expr);
    case EXPR_boolop:
        return boolop(g, expr);
    case EXPR_ternary:
        return ternary(g, expr);
    }
    return refuse(g, expr->span, ast_expr_kind_name[expr->kind]);
}

static bool emit_grid(Grid *g, size_t number, StrBuf *c) {
    const uint32_t file = source_add(&g->ctx->sources, STR("<grid>"), group_grid(g->group));
    Expr *expr = parse_expression(&g->ctx->diags, file);
    if (!expr)
        return false;
    const bool is_list = expr->kind == EXPR_tuple || expr->kind == EXPR_list;
    const ExprList list = is_list ? expr->u.list : (ExprList){&expr, 1};
    if (!list.count || list.count > MAX_GRID_RANK)
        return ctx_diag(g->ctx, expr->span, grid_rank, list.count);
    strbuf_printf(c,
                  "static bool grid_%zu(const Argument *arguments, uint32_t grid[3]) {\n"
                  "    int64_t sides[3] = {1, 1, 1};\n    bool ok = true;\n    (void)arguments;\n",
                  number);
    for (uint32_t i = 0; i < list.count; i++) {
        const Piece p = piece(g, list.items[i]);
        if (!p.text)
            return false;
        if (p.is_real) {
            ctx_diag(g->ctx, list.items[i]->span, grid_integer, "xyz"[i], "a float");
            diag_hint(&g->ctx->diags, "// and cdiv divide integers");
            return false;
        }
        strbuf_printf(c, "    sides[%u] = %s;\n", i, p.text);
    }
    strbuf_puts(c, "    return grid_set(ok, sides, grid);\n}\n\n");
    return true;
}

bool emit_c_grids(Ctx *ctx, const Groups *groups, StrBuf *c) {
    bool any = false;
    for (size_t i = 0; i < groups->len; i++) {
        Grid g = {ctx, &ctx->arena, &groups->data[i]};
        if (!group_grid(g.group).len)
            continue;
        if (!any)
            strbuf_add(c, launcher_grid_text, launcher_grid_size);
        any = true;
        if (!emit_grid(&g, i, c))
            return false;
    }
    if (any)
        strbuf_putc(c, '\n');
    return true;
}
