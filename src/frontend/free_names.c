/* See free_names.h. */
#include "frontend/free_names.h"
#include "frontend/ast_parts.h"

/* Variables, in the order of their assignments. */
typedef struct Scope {
    struct Scope *outer;   /* NULL: that of the function */
    bool is_comprehension; /* := assigns outside of it */
    VEC(Str) names;
} Scope;

typedef struct Walk {
    Arena *arena;
    FreeNames *out;
    Scope *scope;
    NamePlace place;
} Walk;

static bool is_variable(const Scope *scope, Str name) {
    for (; scope; scope = scope->outer)
        vec_for_each (known, &scope->names)
            if (str_eq(*known, name))
                return true;
    return false;
}

static void assign(Walk *w, Str name) {
    vec_push(w->arena, &w->scope->names, name);
}

static void add(Walk *w, Str name, Span span) {
    vec_for_each (known, w->out)
        if (known->place == w->place && str_eq(known->name, name))
            return;
    vec_push(w->arena, w->out, (FreeName){name, w->place, span});
}

/* a.b.c, as text; empty: the expression is no such thing. */
static Str dotted_name(Arena *arena, const Expr *expr) {
    if (expr->kind == EXPR_name)
        return expr->u.name;
    if (expr->kind != EXPR_attribute)
        return STR("");
    const Str base = dotted_name(arena, expr->u.attribute.base);
    return base.len ? str_from(str_format(arena, "%.*s.%.*s", STR_ARG(base),
                                          STR_ARG(expr->u.attribute.name)))
                    : STR("");
}

static void walk(Walk *w, const Expr *expr);
static void walk_stmts(Walk *w, const StmtList *list);

static void walk_list(Walk *w, const ExprList *list) {
    for (uint32_t i = 0; i < list->count; i++)
        walk(w, list->items[i]);
}

static void walk_dotted(Walk *w, const Expr *expr) {
    const Expr *root = expr;
    while (root->kind == EXPR_attribute)
        root = root->u.attribute.base;
    if (root->kind != EXPR_name)
        walk(w, root);
    else if (!is_variable(w->scope, root->u.name))
        add(w, dotted_name(w->arena, expr), expr->span);
}

/* What is assigned to: names become variables, in others there may be names. */
static void walk_target(Walk *w, const Expr *target) {
    if (!target)
        return;
    if (target->kind == EXPR_name) {
        assign(w, target->u.name);
    } else if (target->kind == EXPR_tuple || target->kind == EXPR_list) {
        for (uint32_t i = 0; i < target->u.list.count; i++)
            walk_target(w, target->u.list.items[i]);
    } else if (target->kind == EXPR_starred) {
        walk_target(w, target->u.bind.value);
    } else {
        walk(w, target);
    }
}

static void walk_params(Walk *w, const Param *params, uint32_t count) {
    const NamePlace before = w->place;
    for (uint32_t i = 0; i < count; i++) {
        w->place = before == NAME_IN_BODY ? NAME_IN_DEFAULT : before;
        walk(w, params[i].default_value);
        w->place = NAME_IN_ANNOTATION;
        walk(w, params[i].annotation);
    }
    w->place = before;
}

static void assign_params(Walk *w, const Param *params, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        assign(w, params[i].name);
}

static void walk_lambda(Walk *w, const Expr *expr) {
    Scope scope = {.outer = w->scope};
    walk_params(w, expr->u.lambda.params, expr->u.lambda.param_count);
    w->scope = &scope;
    assign_params(w, expr->u.lambda.params, expr->u.lambda.param_count);
    walk(w, expr->u.lambda.body);
    w->scope = scope.outer;
}

/* The first iterable is evaluated outside. */
static void walk_comprehension(Walk *w, const Expr *expr) {
    Scope scope = {.outer = w->scope, .is_comprehension = true};
    for (uint32_t i = 0; i < expr->u.comprehension.clause_count; i++) {
        const ForClause *clause = &expr->u.comprehension.clauses[i];
        walk(w, clause->iterable);
        w->scope = &scope;
        walk_target(w, clause->target);
        walk_list(w, &clause->conditions);
    }
    walk(w, expr->u.comprehension.element);
    walk(w, expr->u.comprehension.value);
    w->scope = scope.outer;
}

static void walk_walrus(Walk *w, const Expr *expr) {
    Scope *scope = w->scope;
    walk(w, expr->u.bind.value);
    while (w->scope->is_comprehension)
        w->scope = w->scope->outer;
    assign(w, expr->u.bind.name);
    w->scope = scope;
}

static void walk_part(void *user, const Expr *part, AstRole role) {
    walk(user, part);
}

static void walk(Walk *w, const Expr *expr) {
    if (!expr)
        return;
    switch (expr->kind) {
    case EXPR_name:
    case EXPR_attribute:
        walk_dotted(w, expr);
        return;
    case EXPR_lambda:
        walk_lambda(w, expr);
        return;
    case EXPR_walrus:
        walk_walrus(w, expr);
        return;
    case EXPR_comprehension:
        walk_comprehension(w, expr);
        return;
    case EXPR_ternary: /* what its condition assigns its values may use */
        walk(w, expr->u.ternary.condition);
        walk(w, expr->u.ternary.then_value);
        walk(w, expr->u.ternary.else_value);
        return;
    default:
        ast_expr_parts(expr, AST_VALUE, walk_part, w);
        return;
    }
}

/* The name is a variable of what is around it from its header on. */
static void walk_function(Walk *w, const FuncDef *def) {
    const NamePlace before = w->place;
    Scope scope = {.outer = w->scope};
    w->place = NAME_IN_DECORATOR;
    walk_list(w, &def->decorators);
    w->place = before;
    walk_params(w, def->params, def->param_count);
    w->place = NAME_IN_ANNOTATION;
    walk(w, def->returns);
    w->place = before;
    if (scope.outer)
        assign(w, def->name);
    w->scope = &scope;
    assign_params(w, def->params, def->param_count);
    walk_stmts(w, &def->body);
    w->scope = scope.outer;
}

/* What one branch assigns is no variable in the other, and one behind both. */
static void walk_branches(Walk *w, const StmtList *body, const StmtList *orelse) {
    Scope *scope = w->scope;
    const size_t before = scope->names.len;
    VEC(Str) assigned = {0};
    walk_stmts(w, body);
    for (size_t i = before; i < scope->names.len; i++)
        vec_push(w->arena, &assigned, scope->names.data[i]);
    scope->names.len = before;
    walk_stmts(w, orelse);
    vec_for_each (name, &assigned)
        assign(w, *name);
}

static void walk_annotated(Walk *w, const Stmt *stmt) {
    const NamePlace before = w->place;
    w->place = NAME_IN_ANNOTATION;
    walk(w, stmt->u.annassign.annotation);
    w->place = before;
    walk(w, stmt->u.annassign.value);
    if (stmt->u.annassign.value)
        walk_target(w, stmt->u.annassign.target);
}

static void walk_import(Walk *w, const Stmt *stmt) {
    for (uint32_t i = 0; i < stmt->u.import.name_count; i++) {
        const Str alias = stmt->u.import.names[i].alias;
        const char *dot = memchr(alias.ptr, '.', alias.len);
        assign(w, dot ? (Str){alias.ptr, (size_t)(dot - alias.ptr)} : alias);
    }
}

static void walk_stmt(Walk *w, const Stmt *stmt) {
    switch (stmt->kind) {
    case STMT_expr:
    case STMT_return:
    case STMT_raise:
    case STMT_del:
        walk(w, stmt->u.expr);
        return;
    case STMT_assign:
        walk(w, stmt->u.assign.value);
        for (uint32_t i = 0; i < stmt->u.assign.targets.count; i++)
            walk_target(w, stmt->u.assign.targets.items[i]);
        return;
    case STMT_augassign:
        walk(w, stmt->u.augassign.target);
        walk(w, stmt->u.augassign.value);
        walk_target(w, stmt->u.augassign.target);
        return;
    case STMT_annassign:
        walk_annotated(w, stmt);
        return;
    case STMT_if:
    case STMT_while:
        walk(w, stmt->u.branch.condition);
        walk_branches(w, &stmt->u.branch.body, &stmt->u.branch.orelse);
        return;
    case STMT_for:
        walk(w, stmt->u.loop.iterable);
        walk_target(w, stmt->u.loop.target);
        walk_branches(w, &stmt->u.loop.body, &stmt->u.loop.orelse);
        return;
    case STMT_assert:
        walk(w, stmt->u.assertion.condition);
        walk(w, stmt->u.assertion.message);
        return;
    case STMT_with:
        walk_list(w, &stmt->u.with.items);
        for (uint32_t i = 0; i < stmt->u.with.targets.count; i++)
            walk_target(w, stmt->u.with.targets.items[i]);
        walk_stmts(w, &stmt->u.with.body);
        return;
    case STMT_import:
        walk_import(w, stmt);
        return;
    case STMT_def:
        walk_function(w, stmt->u.def);
        return;
    case STMT_pass:
    case STMT_break:
    case STMT_continue:
    case STMT_class:
    case STMT_unsupported:
    case STMT_COUNT:
        return;
    }
}

static void walk_stmts(Walk *w, const StmtList *list) {
    for (uint32_t i = 0; i < list->count; i++)
        walk_stmt(w, list->items[i]);
}

void free_names(Arena *arena, const FuncDef *def, FreeNames *out) {
    Walk w = {.arena = arena, .out = out};
    walk_function(&w, def);
}
