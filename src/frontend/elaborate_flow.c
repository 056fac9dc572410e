/* Control flow: `if`, conditional expressions, and returns under run-time conditions.
 *
 * A run-time `if` elaborates both arms from the same variables and joins those that differ:
 *
 *     if p:                       %r = if %p { .. yield %a } else { .. yield %b }
 *         x = a
 *     else:
 *         x = b
 *
 * A variable that has no common type afterwards, or is set in one arm only, is undefined; that is
 * an error where it is used, not here. When an arm returns, whatever follows the `if` moves into
 * the arms that go on, and the `if` yields the function's result. A path that ends without `return`
 * gives an undefined value where others give one. */
#include "frontend/elaborate.h"

enum { MAX_SPLITS = 256 };

static Val undefined(Elab *e, Undefined undefined) {
    Undefined *u = ARENA_NEW(e->arena, Undefined);
    *u = undefined;
    u->span = elab_span(e, u->span);
    return (Val){.kind = VAL_UNDEFINED, .undefined = u};
}

Val elab_undefined(Elab *e, Span span, const char *why) {
    return undefined(e, (Undefined){.why = why, .span = span});
}

/* One arm of an `if`: its variables at the end and the block being filled. */
typedef struct Arm {
    Vars vars;
    Block *block; /* the block itself; ops are appended at its end */
    Span span;
} Arm;

/* A number in one arm becomes what the other arm has, if that is a scalar it fits. */
static Val match_number(Elab *e, Arm *arm, Val number, Val other) {
    if (!val_is_number(number) || !val_is_tile(other) || val_has_shape(other) ||
        other.tile.scalar.pointer)
        return number;
    Elem own, elem = other.tile.scalar.elem;
    if (number.kind == VAL_FLOAT && !elem_is_float(elem))
        return number;
    if (elem_is_int(elem) && (number.i < elem_min(elem) || number.i > elem_max(elem)))
        return number;
    if (!op_number_elem(e, arm->span, number, &own))
        return number;
    Builder saved = e->builder;
    e->builder = builder_at_end(arm->block);
    e->builder.span = saved.span;
    Val v = op_constant(e, number, elem);
    e->builder = saved;
    return v;
}

static Val mismatched(Elab *e, Span span, Val a, Val b) {
    const char *why = str_format(e->arena, "is %s in one arm and %s in the other",
                                 elab_type_text(e, a), elab_type_text(e, b));
    return undefined(e, (Undefined){.why = why, .span = span, .mismatched = true});
}

typedef struct Yields {
    Value **data;
    size_t len, cap;
} Yields;

static void yields_add(Elab *e, Yields *yields, Val v) {
    uint32_t n = val_flatten(v, NULL, 0);
    Value **values = ARENA_ARRAY(e->arena, Value *, (size_t)n + 1);
    val_flatten(v, values, n);
    for (uint32_t i = 0; i < n; i++)
        vec_push(e->arena, yields, values[i]);
}

static void finish_arm(Elab *e, const Arm *arm, const Yields *yields) {
    Builder b = builder_at_end(arm->block);
    b.span = e->builder.span;
    build_yield(&b, (uint32_t)yields->len, yields->data);
}

/* Adds the results of `op` for the values yielded; returns them. */
static Value *const *add_results(Elab *e, Op *op, const Yields *yields) {
    for (size_t i = 0; i < yields->len; i++)
        op_add_result(op, yields->data[i]->type);
    Value **results = ARENA_ARRAY(e->arena, Value *, yields->len + 1);
    for (size_t i = 0; i < yields->len; i++)
        results[i] = &op->out[i];
    return results;
}

/* Joins the variables of two arms into the frame's. */
static void join_arms(Elab *e, Span span, Op *op, Arm arms[2]) {
    Yields yields[2] = {{0}, {0}};
    VEC(Var) joined = {0};
    Vars result = {0};
    for (size_t i = 0; i < arms[0].vars.len; i++) {
        Str name = arms[0].vars.data[i].name;
        Val a = arms[0].vars.data[i].val, *other = vars_find(&arms[1].vars, name);
        if (!other) {
            vars_add(e, &result, name,
                     elab_undefined(e, span, "is assigned in only one arm of an `if`"));
            continue;
        }
        Val b = *other;
        if (!val_same_shape(a, b)) {
            a = match_number(e, &arms[0], a, b);
            b = match_number(e, &arms[1], b, a);
        }
        if (val_failed(a) || val_failed(b)) {
            vars_add(e, &result, name, val_error());
        } else if (val_equal(a, b)) {
            vars_add(e, &result, name, a);
        } else if (val_same_shape(a, b)) {
            yields_add(e, &yields[0], a);
            yields_add(e, &yields[1], b);
            vec_push(e->arena, &joined, (Var){name, a});
        } else if (a.kind == VAL_UNDEFINED || b.kind == VAL_UNDEFINED) {
            const Undefined *u = a.kind == VAL_UNDEFINED ? a.undefined : b.undefined;
            vars_add(e, &result, name, /* without what an arm would compute it from */
                     undefined(e, (Undefined){u->why, u->span, NULL, u->mismatched}));
        } else {
            vars_add(e, &result, name, mismatched(e, span, a, b));
        }
    }
    for (size_t i = 0; i < arms[1].vars.len; i++)
        if (!vars_find(&arms[0].vars, arms[1].vars.data[i].name))
            vars_add(e, &result, arms[1].vars.data[i].name,
                     elab_undefined(e, span, "is assigned in only one arm of an `if`"));
    Value *const *next = add_results(e, op, &yields[0]);
    finish_arm(e, &arms[0], &yields[0]);
    finish_arm(e, &arms[1], &yields[1]);
    e->frame->vars = result;
    vec_for_each (var, &joined)
        elab_set(e, span, var->name, val_rebuild(e->arena, var->val, &next));
}

static Flow if_joined(Elab *e, const Stmt *stmt, Val condition) {
    Builder outer = e->builder;
    unsigned errors = e->ctx->diags.errors;
    Vars before = e->frame->vars;
    Op *op = build_if(&e->builder, condition.tile.ir, 0, NULL);
    const StmtList *lists[2] = {&stmt->u.branch.body, &stmt->u.branch.orelse};
    Arm arms[2];
    for (int i = 0; i < 2; i++) {
        e->frame->vars = vars_copy(e, &before);
        e->builder = builder_at_end(op->regions[i]);
        e->builder.span = outer.span;
        elab_stmts(e, lists[i], 0, NULL);
        arms[i] = (Arm){e->frame->vars, op->regions[i], stmt->span};
    }
    e->builder = outer;
    if (e->ctx->diags.errors != errors) {
        e->frame->vars = before;
        return FLOW_NEXT;
    }
    join_arms(e, stmt->span, op, arms);
    return FLOW_NEXT;
}

/* The result of a path that ended without `return`, beside that of one that has returned `like`. */
static Val no_result(Elab *e, const Arm *arm, Val like) {
    uint32_t n = val_flatten(like, NULL, 0);
    Value **values = ARENA_ARRAY(e->arena, Value *, (size_t)n + 1);
    val_flatten(like, values, n);
    Builder b = builder_at_end(arm->block);
    b.span = arm->span;
    for (uint32_t i = 0; i < n; i++)
        values[i] = build_undef(&b, values[i]->type);
    Value *const *next = values;
    return val_rebuild(e->arena, like, &next);
}

/* The `if` ends the function: each arm goes on to the end by itself. */
static Flow if_returning(Elab *e, const Stmt *stmt, Val condition, const Rest *rest) {
    Frame *frame = e->frame;
    Builder outer = e->builder;
    unsigned errors = e->ctx->diags.errors;
    if (++e->splits > MAX_SPLITS) {
        elab_fail(e, stmt->span, elab_too_many_returns, MAX_SPLITS);
        elab_hint(e, "let the arms of an `if` either all return or none");
        return FLOW_RETURN;
    }
    Vars before = frame->vars;
    Op *op = build_if(&e->builder, condition.tile.ir, 0, NULL);
    const StmtList *lists[2] = {&stmt->u.branch.body, &stmt->u.branch.orelse};
    Arm arms[2];
    Val results[2];
    bool returned[2];
    for (int i = 0; i < 2; i++) {
        frame->vars = vars_copy(e, &before);
        frame->result = val_none();
        frame->returned = false;
        e->builder = builder_at_end(op->regions[i]);
        e->builder.span = outer.span;
        if (elab_stmts(e, lists[i], 0, rest) == FLOW_NEXT)
            elab_rest(e, rest);
        arms[i] = (Arm){frame->vars, op->regions[i], stmt->span};
        results[i] = frame->result;
        returned[i] = frame->returned;
    }
    e->builder = outer;
    frame->returned = returned[0] || returned[1];
    frame->result = val_error();
    if (e->ctx->diags.errors != errors)
        return FLOW_RETURN;
    for (int i = 0; i < 2; i++)
        if (!returned[i] && returned[1 - i])
            results[i] = no_result(e, &arms[i], results[1 - i]);
    if (!val_same_shape(results[0], results[1])) {
        elab_fail(e, stmt->span, elab_return_types, elab_type_text(e, results[0]),
                  elab_type_text(e, results[1]));
        elab_hint(e, "return the same type on every path, casting with .to() where needed");
        return FLOW_RETURN;
    }
    Yields yields[2] = {{0}, {0}};
    yields_add(e, &yields[0], results[0]);
    yields_add(e, &yields[1], results[1]);
    Value *const *next = add_results(e, op, &yields[0]);
    finish_arm(e, &arms[0], &yields[0]);
    finish_arm(e, &arms[1], &yields[1]);
    frame->result = val_rebuild(e->arena, results[0], &next);
    return FLOW_RETURN;
}

Flow elab_if(Elab *e, const Stmt *stmt, const Rest *rest) {
    const Expr *test = stmt->u.branch.condition;
    Val condition = elab_condition(e, test->span, elab_eval(e, test), "an `if`");
    if (val_failed(condition)) {
        elab_spoil(e, stmt);
        return FLOW_NEXT;
    }
    if (!val_is_tile(condition)) {
        bool taken = val_truth(condition);
        return elab_stmts(e, taken ? &stmt->u.branch.body : &stmt->u.branch.orelse, 0, rest);
    }
    bool returns = stmts_return(&stmt->u.branch.body) || stmts_return(&stmt->u.branch.orelse);
    if (returns && !e->frame->loop)
        return if_returning(e, stmt, condition, rest);
    return if_joined(e, stmt, condition);
}

/* Both values of a conditional expression in one type: a number follows the run-time value. */
static Val arm_value(Elab *e, Span span, Val v, Val other) {
    if (!val_is_number(v))
        return v;
    bool follows = val_is_tile(other) && !other.tile.scalar.pointer &&
                   (elem_is_float(other.tile.scalar.elem) || v.kind != VAL_FLOAT);
    if (!follows)
        return op_to_tensor(e, span, v);
    return op_splat(e, op_constant(e, v, other.tile.scalar.elem), val_ir_type(other));
}

Val elab_ternary(Elab *e, const Expr *expr, Val condition) {
    const Expr *sources[2] = {expr->u.ternary.then_value, expr->u.ternary.else_value};
    Builder outer = e->builder;
    Op *op = build_if(&e->builder, condition.tile.ir, 0, NULL);
    Arm arms[2];
    Val values[2];
    for (int i = 0; i < 2; i++) {
        e->builder = builder_at_end(op->regions[i]);
        e->builder.span = outer.span;
        values[i] = elab_eval(e, sources[i]);
        arms[i] = (Arm){.block = op->regions[i], .span = expr->span};
    }
    for (int i = 0; i < 2 && !val_failed(values[0]) && !val_failed(values[1]); i++) {
        e->builder = builder_at_end(op->regions[i]);
        e->builder.span = outer.span;
        values[i] = arm_value(e, sources[i]->span, values[i], values[1 - i]);
    }
    e->builder = outer;
    if (val_failed(values[0]) || val_failed(values[1]))
        return val_error();
    if (!val_same_shape(values[0], values[1])) {
        elab_fail(e, expr->span, elab_ternary_types, elab_type_text(e, values[0]),
                  elab_type_text(e, values[1]));
        elab_hint(e, "cast one with .to(), or use tl.where, which promotes and broadcasts");
        return val_error();
    }
    Yields yields[2] = {{0}, {0}};
    yields_add(e, &yields[0], values[0]);
    yields_add(e, &yields[1], values[1]);
    Value *const *next = add_results(e, op, &yields[0]);
    finish_arm(e, &arms[0], &yields[0]);
    finish_arm(e, &arms[1], &yields[1]);
    return val_rebuild(e->arena, values[0], &next);
}
