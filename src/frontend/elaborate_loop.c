/* Loops.
 *
 * The variables a run-time loop carries are those with run-time values that its body may assign, by
 * name. A compile-time variable that turns out to change in the body is made run-time and the body
 * elaborated again. Carried values that come back unchanged (assigned only where a constexpr `if`
 * was not taken) are dropped from the finished loop. */
#include "frontend/elaborate.h"

enum { MOST_STAGES = 64 };

typedef struct Carried {
    Str name;
    Val init, arg;
} Carried;

typedef struct Bounds {
    Val lo, hi, step;
    int64_t num_stages, unroll, flags;
} Bounds;

/* A variable that the body may assign, and what it is at the start of an iteration. */
typedef struct Watched {
    Str name;
    Val entry;
    Span changed; /* since which assignment of the body it is not the like of that; empty: none */
} Watched;

typedef struct Loop {
    struct Loop *outer; /* in the same frame */
    const Stmt *stmt;
    const Expr *target; /* NULL for while */
    const StmtList *body;
    Names assigned, forced; /* forced: compile-time numbers to carry as run-time values */
    Names targets;
    Names settled;  /* indices of earlier loops, which the body may read before it assigns them */
    bool unsettled; /* one of those has another type behind the body: it has none in front of it */
    Vars before;
    struct {
        Carried *data;
        size_t len, cap;
    } carried;
    struct {
        Value **data;
        size_t len, cap;
    } inits;
    VEC(Watched) watched;
} Loop;

static bool names_has(const Names *names, Str name) {
    for (size_t i = 0; i < names->len; i++)
        if (str_eq(names->data[i], name))
            return true;
    return false;
}

static void flatten_onto(Elab *e, Val v, Value ***data, size_t *len, size_t *cap) {
    struct {
        Value **data;
        size_t len, cap;
    } out = {*data, *len, *cap};
    uint32_t n = val_flatten(v, NULL, 0);
    Value **values = ARENA_ARRAY(e->arena, Value *, (size_t)n + 1);
    val_flatten(v, values, n);
    for (uint32_t i = 0; i < n; i++)
        vec_push(e->arena, &out, values[i]);
    *data = out.data;
    *len = out.len;
    *cap = out.cap;
}

/* The carried variables and their initial values, from the variables before the loop. */
static void find_carried(Elab *e, Loop *loop) {
    loop->carried.len = loop->inits.len = 0;
    for (size_t i = 0; i < loop->before.len; i++) {
        Var *var = &loop->before.data[i];
        if (!names_has(&loop->assigned, var->name) || names_has(&loop->targets, var->name))
            continue;
        Val v = var->val;
        if (val_is_number(v) && names_has(&loop->forced, var->name))
            v = op_to_tensor(e, loop->stmt->span, v);
        if (val_flatten(v, NULL, 0) == 0)
            continue;
        vec_push(e->arena, &loop->carried, (Carried){var->name, v, v});
        flatten_onto(e, v, &loop->inits.data, &loop->inits.len, &loop->inits.cap);
    }
}

/* The like of what the variable is at the start: of the same types, or the same at compile time. */
static bool is_alike(Val v, Val entry) {
    return val_flatten(entry, NULL, 0) ? val_same_shape(v, entry) : val_equal(v, entry);
}

void elab_note_assignment(Elab *e, Span at, Str name, Val v) {
    for (Loop *loop = e->frame->loop; loop && !val_failed(v); loop = loop->outer)
        vec_for_each (watched, &loop->watched) {
            if (!str_eq(watched->name, name))
                continue;
            if (is_alike(v, watched->entry))
                watched->changed = (Span){0};
            else if (!watched->changed.hi)
                watched->changed = at;
        }
}

static void enter_loop(Elab *e, Loop *loop) {
    loop->watched.len = 0;
    for (size_t i = 0; i < loop->before.len; i++) {
        Str name = loop->before.data[i].name;
        if (names_has(&loop->assigned, name))
            vec_push(e->arena, &loop->watched,
                     (Watched){.name = name, .entry = *vars_find(&e->frame->vars, name)});
    }
    loop->outer = e->frame->loop;
    e->frame->loop = loop;
}

/* Where the body makes something else of a variable; the loop, if no assignment does. */
static Span changed_at(const Loop *loop, Str name) {
    vec_for_each (watched, &loop->watched)
        if (str_eq(watched->name, name) && watched->changed.hi)
            return watched->changed;
    return loop->stmt->span;
}

/* Carried variables get the block's arguments from `first` on. */
static void bind_args(Elab *e, Loop *loop, Block *block, uint32_t first) {
    e->frame->vars = vars_copy(e, &loop->before);
    Value **args = ARENA_ARRAY(e->arena, Value *, loop->inits.len + 1);
    for (size_t i = 0; i < loop->inits.len; i++)
        args[i] = &block->args[first + i];
    Value *const *next = args;
    for (size_t i = 0; i < loop->carried.len; i++) {
        Carried *c = &loop->carried.data[i];
        c->arg = val_rebuild(e->arena, c->init, &next);
        elab_set(e, loop->stmt->span, c->name, c->arg);
    }
}

static void note_loop(Elab *e, const Loop *loop) {
    diag_note(&e->ctx->diags, elab_span(e, loop->stmt->span), "the loop");
}

/* Compile-time variables that the body changed: numbers are carried next time. True: elaborate
 * again. */
static bool find_forced(Elab *e, Loop *loop) {
    bool again = false;
    for (size_t i = 0; i < loop->before.len; i++) {
        Var *var = &loop->before.data[i];
        Val *after = vars_find(&e->frame->vars, var->name);
        if (!names_has(&loop->assigned, var->name) || names_has(&loop->targets, var->name) ||
            val_flatten(var->val, NULL, 0) || !after || val_equal(*after, var->val))
            continue;
        if (names_has(&loop->forced, var->name))
            continue;
        if (val_is_number(var->val)) {
            vec_push(e->arena, &loop->forced, var->name);
            again = true;
        } else if (var->val.kind != VAL_UNDEFINED && var->val.kind != VAL_ERROR) {
            elab_fail(e, changed_at(loop, var->name), elab_loop_constexpr, STR_ARG(var->name),
                      elab_type_text(e, var->val), elab_type_text(e, *after));
            note_loop(e, loop);
            elab_hint(e, "give it its final type before the loop");
        }
    }
    return again;
}

/* What the body yields, checked against the types carried. */
static bool collect_yields(Elab *e, Loop *loop, Value ***values, uint32_t *count) {
    Value **data = NULL;
    size_t len = 0, cap = 0;
    for (size_t i = 0; i < loop->carried.len; i++) {
        Carried *c = &loop->carried.data[i];
        Val after = *vars_find(&e->frame->vars, c->name);
        if (after.kind == VAL_UNDEFINED && after.undefined->last) /* of a loop in the body */
            after = elab_last_index(e, after.undefined->span, after.undefined->last);
        if (val_failed(after))
            return false;
        if (!val_same_shape(after, c->init) && names_has(&loop->settled, c->name)) {
            vars_set(e, &loop->before, c->name,
                     elab_undefined(e, loop->stmt->span, "is the index of loops of several types"));
            loop->unsettled = true;
            return false;
        }
        if (!val_same_shape(after, c->init)) {
            if (after.kind == VAL_UNDEFINED)
                elab_fail(e, after.undefined->span, elab_loop_undefined, STR_ARG(c->name),
                          after.undefined->why);
            else
                elab_fail(e, changed_at(loop, c->name), elab_loop_type, STR_ARG(c->name),
                          elab_type_text(e, c->init), elab_type_text(e, after));
            note_loop(e, loop);
            if (val_has_shape(after) && !val_has_shape(c->init))
                elab_hint(e, "start with a tile: tl.zeros(shape, dtype)");
            else if (val_is_tile(after) && val_is_tile(c->init) && !val_has_shape(after))
                elab_hint(e,
                          "start with that type, or cast back with .to() at the end of the body");
            else
                elab_hint(e, "cast with .to(...) or reshape so that it stays the same");
            return false;
        }
        flatten_onto(e, after, &data, &len, &cap);
    }
    *values = data;
    *count = (uint32_t)len;
    return true;
}

/* The variables after the loop: as before it, carried ones with the loop's results, the others that
 * the body assigns undefined. */
static void leave_loop(Elab *e, Loop *loop, Value *const *results) {
    e->frame->vars = vars_copy(e, &loop->before);
    for (size_t i = 0; i < loop->carried.len; i++) {
        Carried *c = &loop->carried.data[i];
        elab_set(e, loop->stmt->span, c->name, val_rebuild(e->arena, c->init, &results));
    }
    for (size_t i = 0; i < loop->assigned.len; i++)
        if (!vars_find(&loop->before, loop->assigned.data[i]))
            elab_set(e, loop->stmt->span, loop->assigned.data[i],
                     elab_undefined(e, loop->stmt->span,
                                    "is assigned only inside a loop, which may not run"));
}

/* The index behind the loop: its last value, unless the body gave it another. */
static void leave_index(Elab *e, const Loop *loop, const Bounds *bounds) {
    for (size_t i = 0; i < loop->targets.len; i++) {
        Str name = loop->targets.data[i];
        const Val *before = vars_find(&loop->before, name);
        elab_set(
            e, loop->stmt->span, name,
            names_has(&loop->assigned, name)
                ? elab_undefined(e, loop->stmt->span, "is the index of a loop, which has ended")
                : elab_index_behind(e, loop->stmt->span, bounds->lo, bounds->hi, bounds->step,
                                    before));
    }
}

/* for */

/* The results of `op`, where those that the loop does not change are the initial values and
 * dropped. */
static Value *const *prune_for(Elab *e, Op *op) {
    Block *body = op->regions[0];
    uint32_t n = op->nout;
    Value **results = ARENA_ARRAY(e->arena, Value *, (size_t)n + 1);
    for (uint32_t i = n; i-- > 0;) {
        Value *init = op_in(op, FOR_FIXED_OPERANDS + i);
        if (op_in(body->last, i) != &body->args[i + 1])
            continue;
        results[i] = init;
        op_remove_operand(body->last, i);
        value_replace(&body->args[i + 1], init);
        block_remove_arg(body, i + 1);
        op_remove_operand(op, FOR_FIXED_OPERANDS + i);
        op_remove_result(op, i);
    }
    for (uint32_t i = 0, kept = 0; i < n; i++)
        if (!results[i])
            results[i] = &op->out[kept++];
    return results;
}

/* One elaboration of the loop; false: to be done again, or failed. */
static bool try_for(Elab *e, Loop *loop, const Bounds *bounds) {
    unsigned errors = e->ctx->diags.errors;
    Builder outer = e->builder;
    find_carried(e, loop);
    Op *op = build_for(&e->builder, bounds->lo.tile.ir, bounds->hi.tile.ir, bounds->step.tile.ir,
                       (uint32_t)loop->inits.len, loop->inits.data);
    *for_attrs(op) = (struct for_attrs){
        .num_stages = bounds->num_stages, .unroll = bounds->unroll, .flags = bounds->flags};
    Block *body = op->regions[0];
    bind_args(e, loop, body, 1);
    e->builder = builder_at_end(body);
    e->builder.span = outer.span;
    elab_assign(e, loop->target, op_like(&body->args[0], bounds->lo));
    enter_loop(e, loop);
    elab_stmts(e, loop->body, 0, NULL);
    e->frame->loop = loop->outer;
    Value **values;
    uint32_t count = 0;
    bool again = e->ctx->diags.errors == errors && find_forced(e, loop);
    bool ok = e->ctx->diags.errors == errors && !again && collect_yields(e, loop, &values, &count);
    if (ok)
        build_yield(&e->builder, count, values);
    e->builder = outer;
    if (again || loop->unsettled)
        op_remove(op);
    if (ok) {
        leave_loop(e, loop, prune_for(e, op));
        leave_index(e, loop, bounds);
    }
    return ok;
}

static void names_of_target(Elab *e, const Expr *target, Names *names) {
    if (target->kind == EXPR_name)
        vec_push(e->arena, names, target->u.name);
    else if (target->kind == EXPR_tuple || target->kind == EXPR_list)
        for (uint32_t i = 0; i < target->u.list.count; i++)
            names_of_target(e, target->u.list.items[i], names);
}

static Flow runtime_for(Elab *e, const Stmt *stmt, const Bounds *bounds) {
    Loop loop = {.stmt = stmt, .target = stmt->u.loop.target, .body = &stmt->u.loop.body};
    names_assigned(e->arena, loop.body, &loop.assigned);
    names_of_target(e, loop.target, &loop.targets);
    elab_settle(e, &loop.assigned, &loop.settled);
    loop.before = e->frame->vars;
    unsigned errors = e->ctx->diags.errors;
    for (;;) {
        size_t forced = loop.forced.len;
        loop.unsettled = false;
        if (try_for(e, &loop, bounds))
            return FLOW_NEXT;
        e->frame->vars = vars_copy(e, &loop.before);
        if (e->ctx->diags.errors != errors || (loop.forced.len == forced && !loop.unsettled))
            break;
    }
    elab_spoil(e, stmt);
    return FLOW_NEXT;
}

/* The type of the index: C's common type of the three, at least 32 bits. */
static bool bounds_common(Elab *e, Span span, Bounds *bounds) {
    Val *all[3] = {&bounds->lo, &bounds->hi, &bounds->step};
    Elem elem = ELEM_I32;
    for (int i = 0; i < 3; i++) {
        *all[i] = op_unsplat(e, op_to_tensor(e, span, *all[i]));
        if (val_failed(*all[i]))
            return false;
        if (!scalar_is_int(all[i]->tile.scalar) || val_has_shape(*all[i])) {
            elab_fail(e, span, elab_range_type, elab_type_text(e, *all[i]));
            return false;
        }
        if (elem_bits(all[i]->tile.scalar.elem) >= 32)
            elem = elem_promote_ints(elem, all[i]->tile.scalar.elem);
    }
    for (int i = 0; i < 3; i++)
        *all[i] = op_cast(e, span, *all[i], scalar_number(elem), ROUND_RTNE);
    return true;
}

/* Arguments of range, tl.range, tl.static_range: lo, hi, step. */
static bool range_bounds(Elab *e, Call *call, Bounds *bounds) {
    bool one = val_missing(call->args[1]);
    bounds->lo = one ? val_int(0) : call->args[0];
    bounds->hi = one ? call->args[0] : call->args[1];
    bounds->step = val_missing(call->args[2]) ? val_int(1) : call->args[2];
    Wide step;
    if (val_known_int(bounds->step, &step) && step == 0) {
        elab_fail(e, call->span, elab_zero_step);
        return false;
    }
    return true;
}

/* Options of range and tl.range. An accumulator never has several buffers here, so that
 * disallow_acc_multi_buffer holds of every loop. */
static bool loop_options(Call *call, Bounds *bounds) {
    static const struct {
        int param;
        int64_t flag;
        const char *unused; /* why it has no effect; NULL: it has */
    } flags[] = {{5, LOOP_SINGLE_BUFFER_ACC, NULL},
                 {6, LOOP_FLATTEN, "nested loops stay nested"},
                 {7, LOOP_WARP_SPECIALIZE, "the passes decide which loops have a producer warp"},
                 {8, LOOP_NO_LICM, NULL},
                 {9, 0, "a program runs in one block"}};
    if (!val_missing(call->args[3]) && !call_int(call, 3, &bounds->num_stages))
        return false;
    if (!val_missing(call->args[4]) && !call_int(call, 4, &bounds->unroll))
        return false;
    if (bounds->num_stages < 0 || bounds->unroll < 0 || bounds->unroll > 1024) {
        elab_fail(call->e, call->span, elab_loop_option);
        return false;
    }
    if (bounds->num_stages > MOST_STAGES) /* as many as have room are taken anyway */
        bounds->num_stages = MOST_STAGES;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        bool on;
        if (!call_flag(call, flags[i].param, &on))
            return false;
        bounds->flags |= on ? flags[i].flag : 0;
        if (on && flags[i].unused)
            elab_no_effect(call->e, call->spans[flags[i].param],
                           call_param_name(call, flags[i].param), flags[i].unused);
    }
    return true;
}

/* Unrolled loops */

Flow elab_unrolled(Elab *e, const Stmt *loop, const Val *items, uint32_t count, uint32_t index,
                   const Rest *rest) {
    unsigned errors = e->ctx->diags.errors;
    for (uint32_t i = index; i < count; i++) {
        Rest after = {
            .next = rest, .loop = loop, .items = items, .item_count = count, .index = i + 1};
        elab_assign(e, loop->u.loop.target, items[i]);
        Flow flow = elab_stmts(e, &loop->u.loop.body, 0, &after);
        if (flow == FLOW_RETURN)
            return FLOW_RETURN;
        if (e->ctx->diags.errors != errors)
            break;
    }
    return FLOW_NEXT;
}

static bool static_range(Elab *e, Span span, const Bounds *bounds, const Val **items,
                         uint32_t *count) {
    Wide lo, hi, step;
    const Val *all[3] = {&bounds->lo, &bounds->hi, &bounds->step};
    Wide *out[3] = {&lo, &hi, &step};
    for (int i = 0; i < 3; i++) {
        if (!val_known_int(*all[i], out[i])) {
            elab_fail(e, span, elab_want_constexpr, "a bound of an unrolled loop",
                      elab_type_text(e, *all[i]));
            elab_hint(e, "use `range`, or make the bound a tl.constexpr");
            return false;
        }
    }
    Wide first = step > 0 ? lo : hi, last = step > 0 ? hi : lo, stride = step > 0 ? step : -step;
    Wide distance, n = 0;
    bool huge = __builtin_sub_overflow(last, first, &distance);
    if (!huge && distance > 0)
        n = (distance - 1) / stride + 1;
    if (n > MAX_STATIC_ITERATIONS || (huge && last > first)) {
        elab_fail(e, span, elab_too_many_items, MAX_STATIC_ITERATIONS);
        return false;
    }
    e->unrolls |= n > 1 && !e->frame->host;
    Val *values = ARENA_ARRAY(e->arena, Val, (size_t)n + 1);
    for (Wide i = 0; i < n; i++)
        values[i] = val_int(lo + i * step);
    *items = values;
    *count = (uint32_t)n;
    return true;
}

static bool is_range(Val callee) {
    return builtin_is(callee, BUILTIN_range) || builtin_is(callee, BUILTIN_tl_range) ||
           builtin_is(callee, BUILTIN_static_range);
}

static void refuse_options(Call *call) {
    for (int i = 3; i <= 9; i++)
        if (call->spans[i].lo != call->span.lo)
            elab_no_effect(call->e, call->spans[i], call_param_name(call, i),
                           "the loop is evaluated at compile time");
}

bool elab_range_items(Elab *e, Span span, Call *call, const Val **items, uint32_t *count) {
    Bounds bounds = {0};
    if (!range_bounds(e, call, &bounds))
        return false;
    if (call->builtin != &builtins[BUILTIN_static_range])
        refuse_options(call);
    return static_range(e, span, &bounds, items, count);
}

static Flow for_range(Elab *e, const Stmt *stmt, Val callee, const Rest *rest) {
    const Expr *iterable = stmt->u.loop.iterable;
    Call call;
    Bounds bounds = {0};
    if (!elab_bind_call(e, iterable, callee, &call) || !range_bounds(e, &call, &bounds)) {
        elab_spoil(e, stmt);
        return FLOW_NEXT;
    }
    bool has_options = !builtin_is(callee, BUILTIN_static_range);
    if (!has_options) {
        const Val *items;
        uint32_t count;
        if (!static_range(e, iterable->span, &bounds, &items, &count)) {
            elab_spoil(e, stmt);
            return FLOW_NEXT;
        }
        return elab_unrolled(e, stmt, items, count, 0, rest);
    }
    if ((has_options && !loop_options(&call, &bounds)) ||
        elab_no_builder(e, stmt->span, "a loop") || !bounds_common(e, iterable->span, &bounds)) {
        elab_spoil(e, stmt);
        return FLOW_NEXT;
    }
    return runtime_for(e, stmt, &bounds);
}

Flow elab_for(Elab *e, const Stmt *stmt, const Rest *rest) {
    const Expr *iterable = stmt->u.loop.iterable;
    if (e->frame->host)
        return elab_host_for(e, stmt, rest);
    if (stmt->u.loop.orelse.count)
        elab_fail(e, stmt->span, elab_construct, "`else` on a loop");
    if (iterable->kind == EXPR_call) {
        Val callee = elab_eval(e, iterable->u.call.callee);
        if (is_range(callee))
            return for_range(e, stmt, callee, rest);
        if (val_failed(callee)) {
            elab_spoil(e, stmt);
            return FLOW_NEXT;
        }
    }
    const Val *items;
    uint32_t count;
    Val v = elab_eval(e, iterable);
    if (!elab_items(e, iterable->span, v, &items, &count)) {
        if (!val_failed(v))
            elab_hint(e, "loops run over range, tl.range, tl.static_range or a tuple");
        elab_spoil(e, stmt);
        return FLOW_NEXT;
    }
    return elab_unrolled(e, stmt, items, count, 0, rest);
}

/* while */

static Value *const *prune_while(Elab *e, Op *op) {
    Block *test = op->regions[0], *body = op->regions[1];
    uint32_t n = op->nout;
    Value **results = ARENA_ARRAY(e->arena, Value *, (size_t)n + 1);
    for (uint32_t i = n; i-- > 0;) {
        Value *init = op_in(op, i);
        if (op_in(body->last, i) != &body->args[i])
            continue;
        results[i] = init;
        op_remove_operand(test->last, i + 1);
        op_remove_operand(body->last, i);
        value_replace(&test->args[i], init);
        value_replace(&body->args[i], init);
        block_remove_arg(test, i);
        block_remove_arg(body, i);
        op_remove_operand(op, i);
        op_remove_result(op, i);
    }
    for (uint32_t i = 0, kept = 0; i < n; i++)
        if (!results[i])
            results[i] = &op->out[kept++];
    return results;
}

static bool is_dotted_name(const Expr *expr) {
    while (expr->kind == EXPR_attribute)
        expr = expr->u.attribute.base;
    return expr->kind == EXPR_name;
}

/* The condition of a loop; what tl.condition says of the loop becomes the op's flags. */
static Val eval_test(Elab *e, const Expr *expr, Op *op) {
    bool named = expr->kind == EXPR_call && is_dotted_name(expr->u.call.callee);
    Val callee = named ? elab_eval(e, expr->u.call.callee) : val_none();
    if (val_failed(callee))
        return callee;
    if (!builtin_is(callee, BUILTIN_condition))
        return elab_eval(e, expr);
    Call call;
    bool stays;
    if (!elab_bind_call(e, expr, callee, &call) || !call_flag(&call, 1, &stays))
        return val_error();
    while_attrs(op)->flags = stays ? LOOP_NO_LICM : 0;
    return call.args[0];
}

/* Fills the first region; the condition is run-time (true) or what it was (false). */
static bool while_test(Elab *e, Loop *loop, Op *op, Val *condition) {
    Block *test = op->regions[0];
    const Expr *expr = loop->stmt->u.branch.condition;
    bind_args(e, loop, test, 0);
    e->builder = builder_at_end(test);
    e->builder.span = expr->span;
    *condition = elab_condition(e, expr->span, eval_test(e, expr, op), "a `while`");
    if (!val_is_tile(*condition))
        return false;
    Value **passed = ARENA_ARRAY(e->arena, Value *, (size_t)test->nargs + 1);
    passed[0] = condition->tile.ir;
    for (uint32_t i = 0; i < test->nargs; i++)
        passed[i + 1] = &test->args[i];
    build_condition(&e->builder, test->nargs + 1, passed);
    return true;
}

/* The condition does not depend on run-time values now, but may once the body's changes are
 * carried. */
static bool static_while(Elab *e, Loop *loop, Val condition) {
    if (val_failed(condition) || !val_truth(condition))
        return false;
    for (size_t i = 0; i < loop->before.len; i++) {
        Var *var = &loop->before.data[i];
        if (val_is_number(var->val) && names_has(&loop->assigned, var->name) &&
            !names_has(&loop->forced, var->name))
            vec_push(e->arena, &loop->forced, var->name);
    }
    return true;
}

typedef enum LoopResult { LOOP_DONE, LOOP_AGAIN, LOOP_FAILED } LoopResult;

/* The condition was not a run-time value. */
static LoopResult static_test(Elab *e, Loop *loop, Op *op, Val condition) {
    if (val_failed(condition))
        return LOOP_FAILED;
    op_remove(op);
    size_t forced = loop->forced.len;
    if (!static_while(e, loop, condition)) {
        e->frame->vars = vars_copy(e, &loop->before);
        return LOOP_DONE;
    }
    if (loop->forced.len != forced)
        return LOOP_AGAIN;
    elab_fail(e, loop->stmt->span, elab_endless_loop);
    return LOOP_FAILED;
}

static LoopResult try_while(Elab *e, Loop *loop) {
    unsigned errors = e->ctx->diags.errors;
    Builder outer = e->builder;
    loop->unsettled = false;
    find_carried(e, loop);
    Op *op = build_while(&e->builder, (uint32_t)loop->inits.len, loop->inits.data);
    Val condition;
    if (!while_test(e, loop, op, &condition)) {
        e->builder = outer;
        return static_test(e, loop, op, condition);
    }
    Block *body = op->regions[1];
    bind_args(e, loop, body, 0);
    e->builder = builder_at_end(body);
    e->builder.span = outer.span;
    enter_loop(e, loop);
    elab_stmts(e, loop->body, 0, NULL);
    e->frame->loop = loop->outer;
    Value **values;
    uint32_t count = 0;
    bool again = e->ctx->diags.errors == errors && find_forced(e, loop);
    bool ok = e->ctx->diags.errors == errors && !again && collect_yields(e, loop, &values, &count);
    if (ok)
        build_yield(&e->builder, count, values);
    e->builder = outer;
    if (again || loop->unsettled) {
        op_remove(op);
        return LOOP_AGAIN;
    }
    if (!ok)
        return LOOP_FAILED;
    leave_loop(e, loop, prune_while(e, op));
    elab_mark_waits(e, op);
    return LOOP_DONE;
}

Flow elab_while(Elab *e, const Stmt *stmt, const Rest *rest) {
    if (e->frame->host)
        return elab_host_while(e, stmt, rest);
    if (stmt->u.branch.orelse.count)
        elab_fail(e, stmt->span, elab_construct, "`else` on a loop");
    if (elab_no_builder(e, stmt->span, "a loop"))
        return FLOW_NEXT;
    Loop loop = {.stmt = stmt, .body = &stmt->u.branch.body};
    names_assigned(e->arena, loop.body, &loop.assigned);
    elab_settle(e, &loop.assigned, &loop.settled);
    loop.before = e->frame->vars;
    LoopResult result;
    while ((result = try_while(e, &loop)) == LOOP_AGAIN)
        e->frame->vars = vars_copy(e, &loop.before);
    if (result == LOOP_FAILED) {
        e->frame->vars = vars_copy(e, &loop.before);
        elab_spoil(e, stmt);
    }
    return FLOW_NEXT;
}
