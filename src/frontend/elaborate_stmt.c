/* Statements that are not control flow, and lists of statements.
 *
 * After a statement failed, the names it would have assigned hold errors, so that later uses are
 * silent and the statements after it are still checked. */
#include "frontend/objects.h"
#include "frontend/observe.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { MAX_UNHASHED_VARS = 16 };

/* The slot of the name, or the free one where it would go. */
static uint32_t *slot_of(const Vars *vars, Str name) {
    size_t mask = vars->slot_count - 1, i = XXH3_64bits(name.ptr, name.len) & mask;
    while (vars->slots[i] && !str_eq(vars->data[vars->slots[i] - 1].name, name))
        i = (i + 1) & mask;
    return &vars->slots[i];
}

Val *vars_find(const Vars *vars, Str name) {
    if (vars->slot_count) {
        uint32_t place = *slot_of(vars, name);
        return place ? &vars->data[place - 1].val : NULL;
    }
    for (size_t i = vars->len; i-- > 0;)
        if (str_eq(vars->data[i].name, name))
            return &vars->data[i].val;
    return NULL;
}

void vars_add(Elab *e, Vars *vars, Str name, Val v) {
    vec_push(e->arena, vars, (Var){name, v});
    if (vars->len <= MAX_UNHASHED_VARS)
        return;
    size_t first = vars->len - 1;
    if (2 * vars->len > vars->slot_count) {
        vars->slot_count = vars->slot_count ? 2 * vars->slot_count : 4 * MAX_UNHASHED_VARS;
        vars->slots = ARENA_ARRAY(e->arena, uint32_t, vars->slot_count);
        first = 0;
    }
    for (size_t i = first; i < vars->len; i++)
        *slot_of(vars, vars->data[i].name) = (uint32_t)i + 1;
}

void vars_set(Elab *e, Vars *vars, Str name, Val v) {
    Val *slot = vars_find(vars, name);
    if (slot)
        *slot = v;
    else
        vars_add(e, vars, name, v);
}

Vars vars_copy(Elab *e, const Vars *vars) {
    Vars copy = {ARENA_ARRAY(e->arena, Var, vars->len + 1), vars->len, vars->len + 1,
                 ARENA_ARRAY(e->arena, uint32_t, vars->slot_count), vars->slot_count};
    if (vars->len)
        memcpy(copy.data, vars->data, vars->len * sizeof *vars->data);
    if (vars->slot_count)
        memcpy(copy.slots, vars->slots, vars->slot_count * sizeof *vars->slots);
    return copy;
}

static void name_values(Str name, Val v) {
    if (v.kind == VAL_TILE && v.tile.ir->name.len == 0)
        v.tile.ir->name = name;
    if (v.kind == VAL_TUPLE)
        for (uint32_t i = 0; i < v.tuple.count; i++)
            name_values(name, v.tuple.items[i]);
}

void elab_tell_variable(Elab *e, Span at, Str name, const Val *v) {
    if (e->observer && !e->frame->unit->is_std)
        e->observer->variable(e->observer->user, at, name, v);
}

void elab_set(Elab *e, Span at, Str name, Val v) {
    if (!e->frame->unit->is_std)
        name_values(name, v);
    vars_set(e, &e->frame->vars, name, v);
    elab_tell_variable(e, at, name, &v);
    elab_note_assignment(e, at, name, v);
}

/* Names a statement list may assign */

static void add_name(Arena *arena, Names *names, Str name) {
    for (size_t i = 0; i < names->len; i++)
        if (str_eq(names->data[i], name))
            return;
    vec_push(arena, names, name);
}

static void names_in_target(Arena *arena, const Expr *target, Names *names) {
    if (!target)
        return;
    if (target->kind == EXPR_name)
        add_name(arena, names, target->u.name);
    else if (target->kind == EXPR_tuple || target->kind == EXPR_list)
        for (uint32_t i = 0; i < target->u.list.count; i++)
            names_in_target(arena, target->u.list.items[i], names);
    else if (target->kind == EXPR_starred)
        names_in_target(arena, target->u.bind.value, names);
    else if (target->kind == EXPR_attribute) /* of an aggregate in its __init__ */
        names_in_target(arena, target->u.attribute.base, names);
}

static void names_in_stmt(Arena *arena, const Stmt *stmt, Names *names) {
    switch (stmt->kind) {
    case STMT_assign:
        for (uint32_t i = 0; i < stmt->u.assign.targets.count; i++)
            names_in_target(arena, stmt->u.assign.targets.items[i], names);
        return;
    case STMT_augassign:
        names_in_target(arena, stmt->u.augassign.target, names);
        return;
    case STMT_annassign:
        names_in_target(arena, stmt->u.annassign.target, names);
        return;
    case STMT_if:
    case STMT_while:
        names_assigned(arena, &stmt->u.branch.body, names);
        names_assigned(arena, &stmt->u.branch.orelse, names);
        return;
    case STMT_for:
        names_in_target(arena, stmt->u.loop.target, names);
        names_assigned(arena, &stmt->u.loop.body, names);
        names_assigned(arena, &stmt->u.loop.orelse, names);
        return;
    case STMT_with:
        names_assigned(arena, &stmt->u.with.body, names);
        return;
    case STMT_expr:
    case STMT_return:
    case STMT_pass:
    case STMT_break:
    case STMT_continue:
    case STMT_assert:
    case STMT_raise:
    case STMT_del:
    case STMT_import:
    case STMT_def:
    case STMT_class:
    case STMT_unsupported:
    case STMT_COUNT:
        return;
    }
}

void names_assigned(Arena *arena, const StmtList *list, Names *names) {
    for (uint32_t i = 0; i < list->count; i++)
        names_in_stmt(arena, list->items[i], names);
}

bool stmts_return(const StmtList *list) {
    for (uint32_t i = 0; i < list->count; i++) {
        const Stmt *stmt = list->items[i];
        if (stmt->kind == STMT_return)
            return true;
        if ((stmt->kind == STMT_if || stmt->kind == STMT_while) &&
            (stmts_return(&stmt->u.branch.body) || stmts_return(&stmt->u.branch.orelse)))
            return true;
        if (stmt->kind == STMT_for &&
            (stmts_return(&stmt->u.loop.body) || stmts_return(&stmt->u.loop.orelse)))
            return true;
        if (stmt->kind == STMT_with && stmts_return(&stmt->u.with.body))
            return true;
    }
    return false;
}

/* Marks what a failed statement would have assigned. */
void elab_spoil(Elab *e, const Stmt *stmt) {
    Names names = {0};
    names_in_stmt(e->arena, stmt, &names);
    for (size_t i = 0; i < names.len; i++)
        vars_set(e, &e->frame->vars, names.data[i], val_error());
}

/* Assignment */

Val elab_decay(Elab *e, Span span, Val v) {
    if (e->frame->host)
        return v;
    if (val_is_number(v) || v.kind == VAL_BIGINT)
        return op_to_tensor(e, span, v);
    v = object_tuples(e, v);
    if (v.kind != VAL_TUPLE || val_is_aggregate(v))
        return v;
    Val *items = ARENA_ARRAY(e->arena, Val, (size_t)v.tuple.count + 1);
    for (uint32_t i = 0; i < v.tuple.count; i++) {
        items[i] = elab_decay(e, span, v.tuple.items[i]);
        if (val_failed(items[i]))
            return val_error();
    }
    return val_tuple_of(v.tuple.record, items, v.tuple.count);
}

/* a, *rest, z = items; false: nothing is starred. */
static bool assign_starred(Elab *e, const Expr *target, const Val *items, uint32_t count) {
    const ExprList *targets = &target->u.list;
    uint32_t star = 0;
    while (star < targets->count && targets->items[star]->kind != EXPR_starred)
        star++;
    if (star == targets->count)
        return false;
    const uint32_t behind = targets->count - star - 1;
    const bool ok = star + behind <= count;
    if (!ok)
        elab_fail(e, target->span, elab_unpack, star + behind, count);
    for (uint32_t i = 0; i < targets->count; i++) {
        Val v = val_error();
        if (ok && i == star)
            v = object_list(e, target->span, items + star, count - star - behind);
        else if (ok)
            v = items[i < star ? i : count - targets->count + i];
        elab_assign(e, targets->items[i], v);
    }
    return true;
}

static void assign_unpacked(Elab *e, const Expr *target, Val v) {
    const ExprList *targets = &target->u.list;
    const Val *items = NULL;
    uint32_t count = 0;
    bool ok = elab_items(e, target->span, v, &items, &count);
    if (ok && e->frame->host && assign_starred(e, target, items, count))
        return;
    for (uint32_t i = 0; i < targets->count && ok; i++) {
        if (targets->items[i]->kind == EXPR_starred) {
            elab_fail(e, targets->items[i]->span, elab_construct, "a starred target");
            elab_hint(e, "name every element, or take a slice: rest = t[1:]");
            ok = false;
        }
    }
    if (ok && count != targets->count) {
        elab_fail(e, target->span, elab_unpack, targets->count, count);
        ok = false;
    }
    for (uint32_t i = 0; i < targets->count; i++)
        elab_assign(e, targets->items[i], ok ? items[i] : val_error());
}

static void assign_element(Elab *e, const Expr *target, Val v) {
    const Val base = elab_eval(e, target->u.subscript.base);
    const Val index = elab_eval(e, target->u.subscript.index);
    if (!val_failed(base) && !val_failed(index) && !val_failed(v))
        object_store(e, target->span, base, index, &v);
}

void elab_assign(Elab *e, const Expr *target, Val v) {
    switch ((int)target->kind) {
    case EXPR_name:
        elab_set(e, target->span, target->u.name, v);
        return;
    case EXPR_tuple:
    case EXPR_list:
        assign_unpacked(e, target, v);
        return;
    case EXPR_starred:
        elab_assign(e, target->u.bind.value, v);
        return;
    case EXPR_subscript:
        if (e->frame->host) {
            assign_element(e, target, v);
            return;
        }
        elab_fail(e, target->span, elab_construct, "assignment to a subscript");
        elab_hint(e, "tiles are values: use tl.where(index == i, new, x), or tl.store for memory");
        return;
    case EXPR_attribute:
        if (elab_set_field(e, target, v))
            return;
        elab_fail(e, target->span, elab_construct, "assignment to an attribute");
        elab_hint(e, "the fields of an aggregate are set in its __init__; elsewhere, "
                     "aggregate_replace(x, field=value) gives another one");
        return;
    default:
        elab_fail(e, target->span, elab_construct, "assignment to this expression");
    }
}

static void exec_assign(Elab *e, const Stmt *stmt) {
    const Expr *value = stmt->u.assign.value;
    Val v = elab_decay(e, value->span, elab_eval(e, value));
    for (uint32_t i = 0; i < stmt->u.assign.targets.count; i++)
        elab_assign(e, stmt->u.assign.targets.items[i], v);
}

static void exec_augassign(Elab *e, const Stmt *stmt) {
    const Expr *target = stmt->u.augassign.target;
    if (e->frame->host) {
        elab_host_augassign(e, stmt);
        return;
    }
    if (target->kind != EXPR_name) {
        elab_assign(e, target, val_error());
        return;
    }
    Val old = elab_eval(e, target);
    Val by = elab_eval(e, stmt->u.augassign.value);
    bool fails =
        elab_divides_by_zero(e, stmt->span, stmt->u.augassign.op, old, stmt->u.augassign.value);
    Val v = fails ? val_error() : elab_binary(e, stmt->span, stmt->u.augassign.op, old, by);
    elab_set(e, target->span, target->u.name, elab_decay(e, stmt->span, v));
}

/* Run-time scalars whose constant is known may become compile-time: tl.cdiv of constants and the
 * like. */
static Val freeze(Elab *e, Span span, Val v) {
    Wide known;
    if (val_failed(v))
        return v;
    if (v.kind == VAL_TILE && val_known_int(v, &known))
        return scalar_is_bool(v.tile.scalar) ? val_bool(known != 0) : val_int(known);
    Value *inside;
    if (val_flatten(v, &inside, 1) != 0)
        elab_no_effect(e, span, "tl.constexpr", "the value is known when the kernel runs");
    return v;
}

/* What is annotated tl.constexpr is given a value once: a parameter, or a name that has one, is not
 * given another. Functions of the host are Python, where an annotation says nothing. */
static bool may_annotate(Elab *e, const Expr *target) {
    if (target->kind != EXPR_name || e->frame->host || e->frame->unit->is_std)
        return true;
    const Val *before = vars_find(&e->frame->vars, target->u.name);
    if (!before || before->kind == VAL_UNDEFINED || val_failed(*before))
        return true;
    elab_fail(e, target->span, elab_constexpr_again, STR_ARG(target->u.name));
    elab_hint(e, "drop the annotation, or take another name");
    return false;
}

static void exec_annassign(Elab *e, const Stmt *stmt) {
    const Expr *target = stmt->u.annassign.target, *value = stmt->u.annassign.value;
    const Expr *annotation =
        units_annotation(e->arena, e->frame->unit->given, stmt->u.annassign.annotation);
    bool is_constexpr = ast_is_constexpr(annotation);
    if ((is_constexpr && !may_annotate(e, target)) || !value)
        return;
    Val v = elab_eval(e, value);
    if (!is_constexpr) {
        elab_assign(e, target, elab_decay(e, value->span, v));
        return;
    }
    elab_assign(e, target, freeze(e, value->span, v));
}

static void exec_expr(Elab *e, const Expr *expr) {
    const Expr *outer = e->unused;
    e->unused = expr;
    elab_eval(e, expr);
    e->unused = outer;
}

static void exec_assert(Elab *e, const Stmt *stmt) {
    Arg args[2];
    uint32_t n = 1;
    args[0] = (Arg){.val = elab_eval(e, stmt->u.assertion.condition),
                    .span = stmt->u.assertion.condition->span};
    if (stmt->u.assertion.message) {
        args[1] = (Arg){.val = elab_eval(e, stmt->u.assertion.message),
                        .span = stmt->u.assertion.message->span};
        n = 2;
    }
    Val callee = {.kind = VAL_BUILTIN, .builtin = &builtins[BUILTIN_device_assert]};
    elab_call(e, stmt->span, callee, args, n);
}

static void exec_return(Elab *e, const Stmt *stmt) {
    Frame *frame = e->frame;
    Val v = stmt->u.expr ? elab_eval(e, stmt->u.expr) : val_none();
    if (frame->loop) {
        elab_fail(e, stmt->span, elab_return_in_loop);
        elab_hint(e, "carry a flag through the loop and return after it");
        v = val_error();
    }
    if (!frame->caller && v.kind != VAL_NONE && !val_failed(v)) {
        elab_fail(e, stmt->span, elab_kernel_returns, elab_type_text(e, v));
        elab_hint(e, "kernels return nothing: write the result with tl.store");
    }
    frame->result = elab_decay(e, stmt->span, v);
    frame->returned = true;
}

static void exec_raise(Elab *e, const Stmt *stmt) {
    StrBuf text = strbuf(e->arena);
    const Expr *what = stmt->u.expr;
    if (what && what->kind == EXPR_call && what->u.call.args.count) {
        Val v = elab_eval(e, what->u.call.args.items[0]);
        if (!val_failed(v) && object_measure(e, stmt->span, v))
            val_print(v, false, &text);
    }
    elab_fail(e, stmt->span, elab_raise, text.ptr ? text.ptr : "no message");
}

/* A statement that is neither control flow nor return. */
static void exec_simple(Elab *e, const Stmt *stmt) {
    switch (stmt->kind) {
    case STMT_expr:
        if (stmt->u.expr->kind != EXPR_string) /* docstrings, comments */
            exec_expr(e, stmt->u.expr);
        return;
    case STMT_assign:
        exec_assign(e, stmt);
        return;
    case STMT_augassign:
        exec_augassign(e, stmt);
        return;
    case STMT_annassign:
        exec_annassign(e, stmt);
        return;
    case STMT_assert:
        exec_assert(e, stmt);
        return;
    case STMT_raise:
        exec_raise(e, stmt);
        return;
    case STMT_pass:
        return;
    case STMT_break:
    case STMT_continue:
        elab_fail(e, stmt->span, elab_construct, ast_stmt_kind_name[stmt->kind]);
        elab_hint(e, "make the rest of the body conditional, or use `while` with the condition");
        return;
    case STMT_with:
        elab_fail(e, stmt->span, elab_construct, "`with`");
        elab_hint(e, "remove it; the compiler schedules asynchronous work itself");
        return;
    case STMT_class: /* stands at top level alone */
        return;
    case STMT_del:
        if (e->frame->host) {
            elab_host_del(e, stmt);
            return;
        }
        elab_fail(e, stmt->span, elab_construct, ast_construct_text[CONSTRUCT_del]);
        elab_hint(e, "%s", ast_construct_remedy[CONSTRUCT_del]);
        return;
    case STMT_def:
        elab_fail(e, stmt->span, elab_construct, "a nested function");
        elab_hint(e, "define it at the top level with @triton.jit");
        return;
    case STMT_import:
        elab_fail(e, stmt->span, elab_construct, "an import inside a function");
        elab_hint(e, "import at the top of the file");
        return;
    case STMT_unsupported:
        elab_fail(e, stmt->span, elab_construct, ast_construct_text[stmt->u.construct]);
        elab_hint(e, "%s", ast_construct_remedy[stmt->u.construct]);
        return;
    case STMT_if:
    case STMT_for:
    case STMT_while:
    case STMT_return:
    case STMT_COUNT:
        return;
    }
}

static Flow exec_stmt(Elab *e, const Stmt *stmt, const Rest *rest) {
    if (stmt->kind == STMT_if)
        return elab_if(e, stmt, rest);
    if (stmt->kind == STMT_for)
        return elab_for(e, stmt, rest);
    if (stmt->kind == STMT_while)
        return elab_while(e, stmt, rest);
    if (stmt->kind == STMT_return) {
        exec_return(e, stmt);
        return FLOW_RETURN;
    }
    bool leaves = stmt->kind == STMT_break || stmt->kind == STMT_continue;
    if (leaves && e->frame->host_loops)
        return stmt->kind == STMT_break ? FLOW_BREAK : FLOW_CONTINUE;
    exec_simple(e, stmt);
    return FLOW_NEXT;
}

Flow elab_stmts(Elab *e, const StmtList *list, uint32_t index, const Rest *rest) {
    for (uint32_t i = index; i < list->count; i++) {
        const Stmt *stmt = list->items[i];
        Span saved = e->builder.span, saved_user = e->user_span;
        if (!e->frame->unit->is_std)
            e->user_span = e->builder.span = stmt->span;
        if (++e->depth > MAX_EXPRESSION_DEPTH) {
            elab_fail(e, stmt->span, elab_too_deep);
            e->depth--;
            return FLOW_RETURN;
        }
        if (!elab_spend(e, stmt->span, 1)) {
            e->depth--;
            return FLOW_RETURN;
        }
        unsigned errors = e->ctx->diags.errors;
        Rest after = {.next = rest, .list = list, .index = i + 1};
        Flow flow = exec_stmt(e, stmt, &after);
        e->depth--;
        e->builder.span = saved;
        e->user_span = saved_user;
        if (flow != FLOW_NEXT)
            return flow;
        if (e->ctx->diags.errors != errors) {
            elab_spoil(e, stmt);
            /* What follows in a function of the language relies on what was asserted. */
            if (e->frame->unit->is_std || diag_full(&e->ctx->diags))
                return FLOW_RETURN;
        }
    }
    return FLOW_NEXT;
}

Flow elab_rest(Elab *e, const Rest *rest) {
    for (; rest; rest = rest->next) {
        Flow flow = rest->loop ? elab_unrolled(e, rest->loop, rest->items, rest->item_count,
                                               rest->index, rest->next)
                               : elab_stmts(e, rest->list, rest->index, rest->next);
        if (flow == FLOW_RETURN)
            return flow;
    }
    return FLOW_NEXT;
}
