/* Compiling: a copy of the tree in which names are indexes and functions are known. Evaluating: a
 * walk over it, no deeper than the parser lets trees be. */
#include "frontend/host_expr.h"

#include "frontend/host_arith.h"
#include "frontend/value.h"

typedef enum HostNode {
    NODE_CONSTANT,
    NODE_ARGUMENT,
    NODE_UNARY,
    NODE_BINARY,
    NODE_BOOLOP,
    NODE_COMPARE, /* a < b < c */
    NODE_MEMBER,  /* the first operand in, or not in, the others */
    NODE_TERNARY, /* condition, then, else */
    NODE_CALL,
    NODE_DTYPE, /* of a pointer */
} HostNode;

struct HostExpr {
    HostNode node;
    Span span;
    HostValue constant;
    uint32_t argument;
    AstOperator op;
    const AstOperator *ops; /* of a comparison */
    const HostFunction *function;
    const HostExpr **operands;
    uint32_t count;
};

typedef struct Compiler {
    Ctx *ctx;
    Arena *arena;
    const HostScope *scope;
    uint32_t depth; /* of constants that name constants */
} Compiler;

enum { MAX_CONSTANT_DEPTH = 32 };

static const HostExpr *compile(Compiler *c, const Expr *expr);

static const HostExpr *unsupported(Compiler *c, const Expr *expr, const char *what) {
    ctx_diag(c->ctx, expr->span, host_unsupported, what, c->scope->place);
    return NULL;
}

static HostExpr *new_node(Compiler *c, const Expr *expr, HostNode node, uint32_t count) {
    HostExpr *made = ARENA_NEW(c->arena, HostExpr);
    made->node = node;
    made->span = expr->span;
    made->count = count;
    made->operands = (const HostExpr **)arena_array(c->arena, count + 1, sizeof *made->operands);
    return made;
}

static const HostExpr *constant(Compiler *c, const Expr *expr, HostValue value) {
    HostExpr *made = new_node(c, expr, NODE_CONSTANT, 0);
    made->constant = value;
    return made;
}

static HostValue text_value(Compiler *c, Str text) {
    return (HostValue){.kind = HOST_TEXT, .text = {str_dup(c->arena, text), text.len}};
}

/* NULL, too, where an operand is. */
static const HostExpr *with_operands(Compiler *c, HostExpr *node, Expr *const *operands) {
    for (uint32_t i = 0; i < node->count; i++) {
        node->operands[i] = compile(c, operands[i]);
        if (!node->operands[i])
            return NULL;
    }
    return node;
}

/* Names */

static const HostExpr *argument(Compiler *c, const Expr *expr, Str name) {
    for (uint32_t i = 0; i < c->scope->count; i++) {
        if (!str_eq(c->scope->names[i], name))
            continue;
        HostExpr *made = new_node(c, expr, NODE_ARGUMENT, 0);
        made->argument = i;
        return made;
    }
    ctx_diag(c->ctx, expr->span, host_name, STR_ARG(name), c->scope->place);
    int nearest = str_nearest(name, c->scope->names, c->scope->count);
    if (nearest >= 0)
        diag_hint(&c->ctx->diags, "did you mean '%.*s'?", STR_ARG(c->scope->names[nearest]));
    return NULL;
}

/* The expression that a file's top level gives a name; NULL: none. The last one wins. */
static const Expr *global_value(const AstFile *file, Str name) {
    const Expr *found = NULL;
    for (uint32_t i = 0; file && i < file->body.count; i++) {
        const Stmt *stmt = file->body.items[i];
        for (uint32_t n = 0; ast_bound_name(stmt, n).len; n++) {
            if (!str_eq(ast_bound_name(stmt, n), name))
                continue;
            const bool is_name =
                (stmt->kind == STMT_assign && stmt->u.assign.targets.items[0]->kind == EXPR_name) ||
                (stmt->kind == STMT_annassign && stmt->u.annassign.target->kind == EXPR_name);
            found = !is_name                       ? NULL
                    : stmt->kind == STMT_annassign ? stmt->u.annassign.value
                                                   : stmt->u.assign.value;
        }
    }
    return found;
}

static const HostExpr *bare_name(Compiler *c, const Expr *expr) {
    if (!c->scope->mapping.len)
        return argument(c, expr, expr->u.name);
    const Expr *value = global_value(c->scope->file, expr->u.name);
    if (!value || c->depth == MAX_CONSTANT_DEPTH) {
        const char *what = str_format(&c->ctx->arena, "the name '%.*s'", STR_ARG(expr->u.name));
        return unsupported(c, expr, what);
    }
    c->depth++;
    const HostExpr *made = compile(c, value);
    c->depth--;
    return made;
}

/* args["NAME"], also args.get("NAME"). */
static const HostExpr *of_mapping(Compiler *c, const Expr *expr, const Expr *base,
                                  const Expr *index) {
    if (c->scope->mapping.len && base->kind == EXPR_name &&
        str_eq(base->u.name, c->scope->mapping) && index->kind == EXPR_string)
        return argument(c, expr, index->u.string);
    return unsupported(c, expr, "a subscript");
}

/* x.dtype of a pointer; torch.float16, tl.float16. */
static const HostExpr *attribute(Compiler *c, const Expr *expr) {
    Str name = expr->u.attribute.name;
    ScalarType type;
    if (str_is(name, "dtype")) {
        HostExpr *made = new_node(c, expr, NODE_DTYPE, 1);
        return with_operands(c, made, (Expr *const *)&expr->u.attribute.base);
    }
    if (expr->u.attribute.base->kind == EXPR_name && scalar_parse(name, &type))
        return constant(c, expr, text_value(c, str_from(scalar_text(c->arena, type))));
    const char *what = str_format(&c->ctx->arena, "the attribute '%.*s'", STR_ARG(name));
    return unsupported(c, expr, what);
}

/* Calls and operators */

static const HostExpr *call(Compiler *c, const Expr *expr) {
    const Expr *callee = expr->u.call.callee;
    const uint32_t given = expr->u.call.args.count + expr->u.call.keyword_count;
    Str name = callee->kind == EXPR_attribute ? callee->u.attribute.name
               : callee->kind == EXPR_name    ? callee->u.name
                                              : STR("");
    if (callee->kind == EXPR_attribute && str_is(name, "get") && given == 1 &&
        !expr->u.call.keyword_count)
        return of_mapping(c, expr, callee->u.attribute.base, expr->u.call.args.items[0]);
    const HostFunction *function = host_function(name);
    if (!function)
        return unsupported(c, callee, "this function");
    if (expr->u.call.keyword_count || given < function->least || given > function->most) {
        ctx_diag(c->ctx, expr->span, host_arguments, function->name, function->least, given);
        return NULL;
    }
    HostExpr *made = new_node(c, expr, NODE_CALL, given);
    made->function = function;
    return with_operands(c, made, expr->u.call.args.items);
}

static bool is_membership(AstOperator op) {
    return op == ASTOP_in || op == ASTOP_notin;
}

static const HostExpr *compare(Compiler *c, const Expr *expr) {
    const ExprList *operands = &expr->u.compare.operands;
    const AstOperator first = expr->u.compare.ops[0];
    if (operands->count == 2 && is_membership(first)) {
        const Expr *list = operands->items[1];
        if (list->kind != EXPR_tuple && list->kind != EXPR_list && list->kind != EXPR_set)
            return unsupported(c, list, "`in` of something that is no list of values");
        HostExpr *made = new_node(c, expr, NODE_MEMBER, list->u.list.count + 1);
        made->op = first;
        made->operands[0] = compile(c, operands->items[0]);
        bool ok = made->operands[0] != NULL;
        for (uint32_t i = 0; ok && i < list->u.list.count; i++) {
            made->operands[i + 1] = compile(c, list->u.list.items[i]);
            ok = made->operands[i + 1] != NULL;
        }
        return ok ? made : NULL;
    }
    HostExpr *made = new_node(c, expr, NODE_COMPARE, operands->count);
    AstOperator *ops = ARENA_ARRAY(c->arena, AstOperator, operands->count);
    for (uint32_t i = 0; i + 1 < operands->count; i++) {
        ops[i] = expr->u.compare.ops[i];
        if (is_membership(ops[i]))
            return unsupported(c, expr, "`in` among other comparisons");
    }
    made->ops = ops;
    return with_operands(c, made, operands->items);
}

static const HostExpr *operators(Compiler *c, const Expr *expr) {
    switch ((int)expr->kind) {
    case EXPR_unary: {
        HostExpr *made = new_node(c, expr, NODE_UNARY, 1);
        made->op = expr->u.unary.op;
        return with_operands(c, made, &expr->u.unary.operand);
    }
    case EXPR_binary: {
        HostExpr *made = new_node(c, expr, NODE_BINARY, 2);
        made->op = expr->u.binary.op;
        if (made->op == ASTOP_matmul)
            return unsupported(c, expr, "the operator '@'");
        return with_operands(c, made, (Expr *[]){expr->u.binary.left, expr->u.binary.right});
    }
    case EXPR_boolop: {
        HostExpr *made = new_node(c, expr, NODE_BOOLOP, expr->u.boolop.operands.count);
        made->op = expr->u.boolop.op;
        return with_operands(c, made, expr->u.boolop.operands.items);
    }
    default: {
        HostExpr *made = new_node(c, expr, NODE_TERNARY, 3);
        return with_operands(c, made,
                             (Expr *[]){expr->u.ternary.condition, expr->u.ternary.then_value,
                                        expr->u.ternary.else_value});
    }
    }
}

static const HostExpr *compile(Compiler *c, const Expr *expr) {
    switch ((int)expr->kind) {
    case EXPR_int:
        if (expr->u.integer.hi || expr->u.integer.lo > INT64_MAX) {
            host_report(c->ctx, &(HostError){HOST_overflow, expr->span});
            return NULL;
        }
        return constant(c, expr, host_int((int64_t)expr->u.integer.lo));
    case EXPR_float:
        return constant(c, expr, host_float(expr->u.number));
    case EXPR_bool:
        return constant(c, expr, host_bool(expr->u.boolean));
    case EXPR_none:
        return constant(c, expr, (HostValue){.kind = HOST_NONE});
    case EXPR_string:
        return constant(c, expr, text_value(c, expr->u.string));
    case EXPR_name:
        return bare_name(c, expr);
    case EXPR_subscript:
        return of_mapping(c, expr, expr->u.subscript.base, expr->u.subscript.index);
    case EXPR_attribute:
        return attribute(c, expr);
    case EXPR_call:
        return call(c, expr);
    case EXPR_compare:
        return compare(c, expr);
    case EXPR_unary:
    case EXPR_binary:
    case EXPR_boolop:
    case EXPR_ternary:
        return operators(c, expr);
    }
    return unsupported(c, expr, ast_expr_kind_name[expr->kind]);
}

const HostExpr *host_compile(Ctx *ctx, Arena *arena, const Expr *expr, const HostScope *scope) {
    Compiler c = {ctx, arena, scope, 0};
    return compile(&c, expr);
}

/* Evaluation */

typedef struct Evaluation {
    const HostValue *arguments;
    HostError *error;
} Evaluation;

static bool evaluate(Evaluation *e, const HostExpr *expr, HostValue *value);

static bool fail(Evaluation *e, const HostExpr *expr, HostProblem problem) {
    *e->error = (HostError){problem, expr->span};
    return false;
}

/* What the arithmetic says, at the place of the expression. */
static bool checked(Evaluation *e, const HostExpr *expr, HostProblem problem) {
    return problem == HOST_PROBLEM_COUNT || fail(e, expr, problem);
}

static bool evaluate_boolop(Evaluation *e, const HostExpr *expr, HostValue *value) {
    const bool ends_at = expr->op == ASTOP_or;
    for (uint32_t i = 0; i < expr->count; i++) {
        if (!evaluate(e, expr->operands[i], value))
            return false;
        if (host_truth(*value) == ends_at)
            return true;
    }
    return true;
}

static bool evaluate_compare(Evaluation *e, const HostExpr *expr, HostValue *value) {
    HostValue left, right;
    bool holds = true;
    if (!evaluate(e, expr->operands[0], &left))
        return false;
    for (uint32_t i = 1; holds && i < expr->count; i++) {
        if (!evaluate(e, expr->operands[i], &right) ||
            !checked(e, expr, host_compare(expr->ops[i - 1], left, right, &holds)))
            return false;
        left = right;
    }
    *value = host_bool(holds);
    return true;
}

static bool evaluate_member(Evaluation *e, const HostExpr *expr, HostValue *value) {
    HostValue wanted, item;
    bool found = false;
    if (!evaluate(e, expr->operands[0], &wanted))
        return false;
    for (uint32_t i = 1; !found && i < expr->count; i++) {
        if (!evaluate(e, expr->operands[i], &item))
            return false;
        found = host_values_equal(wanted, item);
    }
    *value = host_bool(found == (expr->op == ASTOP_in));
    return true;
}

static bool evaluate_call(Evaluation *e, const HostExpr *expr, HostValue *value) {
    HostValue operands[HOST_MAX_ARGUMENTS];
    for (uint32_t i = 0; i < expr->count; i++)
        if (!evaluate(e, expr->operands[i], &operands[i]))
            return false;
    return checked(e, expr, expr->function->call(operands, expr->count, value));
}

static bool evaluate_argument(Evaluation *e, const HostExpr *expr, HostValue *value) {
    *value = e->arguments[expr->argument];
    return value->kind != HOST_UNKNOWN || fail(e, expr, HOST_no_value);
}

static bool evaluate(Evaluation *e, const HostExpr *expr, HostValue *value) {
    HostValue left, right;
    switch (expr->node) {
    case NODE_CONSTANT:
        *value = expr->constant;
        return true;
    case NODE_ARGUMENT:
        return evaluate_argument(e, expr, value);
    case NODE_UNARY:
        return evaluate(e, expr->operands[0], &left) &&
               checked(e, expr, host_unary(expr->op, left, value));
    case NODE_BINARY:
        return evaluate(e, expr->operands[0], &left) && evaluate(e, expr->operands[1], &right) &&
               checked(e, expr, host_binary(expr->op, left, right, value));
    case NODE_BOOLOP:
        return evaluate_boolop(e, expr, value);
    case NODE_COMPARE:
        return evaluate_compare(e, expr, value);
    case NODE_MEMBER:
        return evaluate_member(e, expr, value);
    case NODE_TERNARY:
        return evaluate(e, expr->operands[0], &left) &&
               evaluate(e, expr->operands[host_truth(left) ? 1 : 2], value);
    case NODE_CALL:
        return evaluate_call(e, expr, value);
    case NODE_DTYPE:
        if (!evaluate(e, expr->operands[0], &left))
            return false;
        *value = (HostValue){.kind = HOST_TEXT, .text = left.text};
        return left.kind == HOST_POINTER || fail(e, expr, HOST_types);
    }
    return false;
}

bool host_evaluate(const HostExpr *expr, const HostValue *arguments, HostValue *value,
                   HostError *error) {
    Evaluation e = {arguments, error};
    return evaluate(&e, expr, value);
}

bool host_report(Ctx *ctx, const HostError *error) {
    static const struct {
        DiagId id;
        const char *text;
    } problems[] = {
#define HOST_PROBLEM(id, text) {DIAG_host_##id, text},
        HOST_PROBLEMS(HOST_PROBLEM)
#undef HOST_PROBLEM
    };
    return diag_emit(&ctx->diags, error->span, problems[error->problem].id, "%s",
                     problems[error->problem].text);
}

Span host_span(const HostExpr *expr) {
    return expr->span;
}
