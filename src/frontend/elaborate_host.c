/* Statements and expressions of functions that are evaluated at compile time, where they do what
 * Python does and kernels' do something else: loops over what may change meanwhile, elements that
 * are assigned and deleted, comprehensions of every form. */
#include "frontend/objects.h"

/* One iteration; `continue` ends it like its last line. */
static Flow iterate(Elab *e, const StmtList *body, const Rest *rest) {
    e->frame->host_loops++;
    Flow flow = elab_stmts(e, body, 0, rest);
    e->frame->host_loops--;
    return flow == FLOW_CONTINUE ? FLOW_NEXT : flow;
}

static bool calls_range(const Elab *e, Val callee) {
    return e->frame->host &&
           (builtin_is(callee, BUILTIN_range) || builtin_is(callee, BUILTIN_tl_range) ||
            builtin_is(callee, BUILTIN_static_range));
}

/* What a loop or a comprehension goes through. */
static bool start(Elab *e, const Expr *iterable, Iteration *out) {
    const bool is_call = iterable->kind == EXPR_call;
    const Val callee = is_call ? elab_eval(e, iterable->u.call.callee) : val_none();
    if (!is_call || !calls_range(e, callee))
        return iteration_start(e, iterable->span, elab_eval(e, iterable), out);
    Call call;
    const Val *items;
    uint32_t count;
    if (!elab_bind_call(e, iterable, callee, &call) ||
        !elab_range_items(e, iterable->span, &call, &items, &count))
        return false;
    *out = (Iteration){.of = val_tuple(items, count)};
    return true;
}

Flow elab_host_for(Elab *e, const Stmt *stmt, const Rest *rest) {
    const unsigned errors = e->ctx->diags.errors;
    Iteration iteration;
    if (!start(e, stmt->u.loop.iterable, &iteration)) {
        elab_spoil(e, stmt);
        return FLOW_NEXT;
    }
    Val item;
    for (uint32_t i = 0; iteration_next(e, stmt->u.loop.iterable->span, &iteration, &item); i++) {
        if (i == MAX_STATIC_ITERATIONS) {
            elab_fail(e, stmt->span, elab_too_many_items, MAX_STATIC_ITERATIONS);
            return FLOW_NEXT;
        }
        elab_assign(e, stmt->u.loop.target, item);
        Flow flow = iterate(e, &stmt->u.loop.body, rest);
        if (flow == FLOW_RETURN)
            return FLOW_RETURN;
        if (flow == FLOW_BREAK || e->ctx->diags.errors != errors)
            return FLOW_NEXT;
    }
    return elab_stmts(e, &stmt->u.loop.orelse, 0, rest);
}

Flow elab_host_while(Elab *e, const Stmt *stmt, const Rest *rest) {
    const Expr *test = stmt->u.branch.condition;
    const unsigned errors = e->ctx->diags.errors;
    for (uint32_t i = 0; i < MAX_STATIC_ITERATIONS; i++) {
        Val condition = elab_condition(e, test->span, elab_eval(e, test), "a `while`");
        if (val_failed(condition))
            return FLOW_NEXT;
        if (!val_truth(condition))
            return elab_stmts(e, &stmt->u.branch.orelse, 0, rest);
        Flow flow = iterate(e, &stmt->u.branch.body, rest);
        if (flow == FLOW_RETURN)
            return FLOW_RETURN;
        if (flow == FLOW_BREAK || e->ctx->diags.errors != errors)
            return FLOW_NEXT;
    }
    elab_fail(e, stmt->span, elab_too_many_items, MAX_STATIC_ITERATIONS);
    return FLOW_NEXT;
}

/* del */

static void delete_target(Elab *e, const Expr *target) {
    if (target->kind == EXPR_tuple || target->kind == EXPR_list) {
        for (uint32_t i = 0; i < target->u.list.count; i++)
            delete_target(e, target->u.list.items[i]);
    } else if (target->kind == EXPR_subscript) {
        const Val base = elab_eval(e, target->u.subscript.base);
        const Val index = elab_eval(e, target->u.subscript.index);
        if (!val_failed(base) && !val_failed(index))
            object_store(e, target->span, base, index, NULL);
    } else if (target->kind == EXPR_name && !val_failed(elab_eval(e, target))) {
        elab_set(e, target->span, target->u.name,
                 elab_undefined(e, target->span, "has been deleted"));
    } else if (target->kind != EXPR_name) {
        elab_fail(e, target->span, elab_construct, "`del` of this expression");
    }
}

void elab_host_del(Elab *e, const Stmt *stmt) {
    delete_target(e, stmt->u.expr);
}

static Val updated(Elab *e, const Stmt *stmt, Val old) {
    const AstOperator op = stmt->u.augassign.op;
    const Val by = elab_eval(e, stmt->u.augassign.value);
    Val v;
    if (val_failed(old) || val_failed(by))
        return val_error();
    return object_update(e, stmt->span, op, old, by, &v) ? v
                                                         : elab_binary(e, stmt->span, op, old, by);
}

/* xs[i] += v evaluates xs and i once; a list or a dictionary changes in place. */
void elab_host_augassign(Elab *e, const Stmt *stmt) {
    const Expr *target = stmt->u.augassign.target;
    if (target->kind == EXPR_name) {
        elab_set(e, target->span, target->u.name, updated(e, stmt, elab_eval(e, target)));
        return;
    }
    if (target->kind != EXPR_subscript) {
        elab_assign(e, target, val_error());
        return;
    }
    const Val base = elab_eval(e, target->u.subscript.base);
    const Val index = elab_eval(e, target->u.subscript.index);
    if (val_failed(base) || val_failed(index))
        return;
    const Val v = updated(e, stmt, elab_subscript(e, target, base, index));
    if (!val_failed(v))
        object_store(e, target->span, base, index, &v);
}

/* Displays */

Val elab_host_dict(Elab *e, const Expr *expr) {
    const Val dict = object_dict(e);
    for (uint32_t i = 0; i < expr->u.dict.count; i++) {
        const Expr *key = expr->u.dict.keys[i], *value = expr->u.dict.values[i];
        Val k = key ? elab_eval(e, key) : val_none(), v = elab_eval(e, value), merged;
        if (val_failed(k) || val_failed(v))
            return val_error();
        if (!key && v.kind != VAL_DICT)
            return elab_fail(e, value->span, elab_operand, "**", elab_type_text(e, v));
        const bool ok = key ? object_set_key(e, key->span, dict, k, v)
                            : object_update(e, value->span, ASTOP_bitor, dict, v, &merged) &&
                                  !val_failed(merged);
        if (!ok)
            return val_error();
    }
    return dict;
}

/* The elements of a comprehension as they come. */
typedef struct Comprehending {
    const Expr *expr;
    Val dict; /* VAL_NONE: not of one */
    VEC(Val) items;
} Comprehending;

static bool add_element(Elab *e, Comprehending *c) {
    const Expr *element = c->expr->u.comprehension.element;
    Val v = elab_eval(e, element);
    if (val_failed(v))
        return false;
    if (c->dict.kind == VAL_DICT) {
        const Val of = elab_eval(e, c->expr->u.comprehension.value);
        return !val_failed(of) && object_set_key(e, element->span, c->dict, v, of);
    }
    vec_push(e->arena, &c->items, v);
    if (c->items.len <= MAX_STATIC_ITERATIONS)
        return true;
    elab_fail(e, c->expr->span, elab_too_many_items, MAX_STATIC_ITERATIONS);
    return false;
}

/* 1: they hold, 0: one does not, -1: reported. */
static int conditions_hold(Elab *e, const ForClause *clause) {
    for (uint32_t i = 0; i < clause->conditions.count; i++) {
        const Expr *condition = clause->conditions.items[i];
        const Val v =
            elab_condition(e, condition->span, elab_eval(e, condition), "a comprehension");
        if (val_failed(v))
            return -1;
        if (!val_truth(v))
            return 0;
    }
    return 1;
}

static bool comprehend(Elab *e, Comprehending *c, uint32_t number) {
    if (number == c->expr->u.comprehension.clause_count)
        return add_element(e, c);
    const ForClause *clause = &c->expr->u.comprehension.clauses[number];
    const unsigned errors = e->ctx->diags.errors;
    Iteration iteration;
    if (!start(e, clause->iterable, &iteration))
        return false;
    for (Val item; iteration_next(e, clause->iterable->span, &iteration, &item);) {
        elab_assign(e, clause->target, item);
        const int holds = e->ctx->diags.errors == errors ? conditions_hold(e, clause) : -1;
        if (holds < 0 || !elab_spend(e, clause->iterable->span, 1))
            return false;
        if (holds && !comprehend(e, c, number + 1))
            return false;
    }
    return e->ctx->diags.errors == errors;
}

static bool has_name(const Names *names, Str name) {
    for (size_t i = 0; i < names->len; i++)
        if (str_eq(names->data[i], name))
            return true;
    return false;
}

/* Its variables were its own; what `:=` gives a value stays. */
static void restore(Elab *e, const Expr *expr, Vars *outer) {
    Names names = {0};
    for (uint32_t i = 0; i < expr->u.comprehension.clause_count; i++) {
        Expr *target = expr->u.comprehension.clauses[i].target;
        Stmt assigned = {.kind = STMT_assign, .u.assign.targets = {&target, 1}};
        Stmt *list = &assigned;
        names_assigned(e->arena, &(StmtList){&list, 1}, &names);
    }
    vec_for_each (var, &e->frame->vars)
        if (!has_name(&names, var->name))
            vars_set(e, outer, var->name, var->val);
    e->frame->vars = *outer;
}

Val elab_host_comprehension(Elab *e, const Expr *expr) {
    const ComprehensionForm form = expr->u.comprehension.form;
    const bool is_kept = form == COMP_generator && e->argument != expr;
    if (form == COMP_set || is_kept) {
        elab_fail(e, expr->span, elab_construct,
                  is_kept ? "a generator that is no argument" : "a set");
        elab_hint(e, "write a list: [f(x) for x in items]");
        return val_error();
    }
    Vars outer = vars_copy(e, &e->frame->vars);
    Comprehending c = {.expr = expr, .dict = form == COMP_dict ? object_dict(e) : val_none()};
    const bool ok = comprehend(e, &c, 0);
    restore(e, expr, &outer);
    if (!ok)
        return val_error();
    if (form == COMP_dict)
        return c.dict;
    return form == COMP_list ? object_list(e, expr->span, c.items.data, (uint32_t)c.items.len)
                             : val_tuple(c.items.data, (uint32_t)c.items.len);
}
