/* Statements and functions of host code, and the top level of a file. */
#include "frontend/host_run.h"

bool host_cannot(HostCode *code, Span span, const char *what) {
    return ctx_diag(code->ctx, span, host_unsupported, what,
                    "host code that is read when a kernel is compiled");
}

bool host_checked(HostCode *code, Span span, HostProblem problem) {
    return problem == HOST_PROBLEM_COUNT || host_report(code->ctx, &(HostError){problem, span});
}

/* Names */

HostValue *host_find(HostFrame *frame, Str name) {
    for (; frame; frame = frame->outer)
        vec_for_each (binding, &frame->bindings)
            if (str_eq(binding->name, name))
                return &binding->value;
    return NULL;
}

void host_bind(HostCode *code, HostFrame *frame, Str name, HostValue value) {
    code->steps += frame->bindings.len / 16;
    vec_for_each (binding, &frame->bindings) {
        if (str_eq(binding->name, name)) {
            binding->value = value;
            return;
        }
    }
    vec_push(code->arena, &frame->bindings, (HostBinding){name, value});
}

static bool assign_items(HostCode *code, const Expr *target, HostValue value) {
    const ExprList *targets = &target->u.list;
    HostValue items;
    if (!host_items(code, value, target->span, &items))
        return false;
    if (items.list->items.len != targets->count)
        return host_cannot(code, target->span, "an assignment of more or fewer values than names");
    for (uint32_t i = 0; i < targets->count; i++)
        if (!host_assign(code, targets->items[i], items.list->items.data[i]))
            return false;
    return true;
}

static bool assign_subscript(HostCode *code, const Expr *target, HostValue value) {
    HostValue base, index;
    if (!host_eval(code, target->u.subscript.base, &base) ||
        !host_eval(code, target->u.subscript.index, &index))
        return false;
    if (base.kind == HOST_DICT) {
        host_put(code, base.dict, index, value);
        return true;
    }
    if (base.kind != HOST_LIST || index.kind != HOST_INT)
        return host_cannot(code, target->span, "an assignment to this");
    const int64_t count = (int64_t)base.list->items.len;
    const int64_t at = index.i < 0 ? index.i + count : index.i;
    if (at < 0 || at >= count)
        return host_cannot(code, target->span, "an index outside the list");
    base.list->items.data[at] = value;
    return true;
}

bool host_assign(HostCode *code, const Expr *target, HostValue value) {
    HostFrame *frame = code->frame;
    switch ((int)target->kind) {
    case EXPR_name:
        host_bind(code, frame, target->u.name, value);
        return true;
    case EXPR_tuple:
    case EXPR_list:
        return assign_items(code, target, value);
    case EXPR_subscript:
        return assign_subscript(code, target, value);
    }
    return host_cannot(code, target->span, "an assignment to this");
}

/* Statements */

static HostFlow flow_of(bool ok) {
    return ok ? HOST_GOES_ON : HOST_FAILS;
}

static HostFlow exec_for(HostCode *code, const Stmt *stmt, HostValue *result) {
    HostValue range, items;
    if (!host_eval(code, stmt->u.loop.iterable, &range) ||
        !host_items(code, range, stmt->u.loop.iterable->span, &items))
        return HOST_FAILS;
    for (size_t i = 0; i < items.list->items.len; i++) {
        if (!host_assign(code, stmt->u.loop.target, items.list->items.data[i]))
            return HOST_FAILS;
        const HostFlow flow = host_exec(code, &stmt->u.loop.body, result);
        if (flow == HOST_BREAKS)
            return HOST_GOES_ON;
        if (flow != HOST_GOES_ON && flow != HOST_CONTINUES)
            return flow;
    }
    return host_exec(code, &stmt->u.loop.orelse, result);
}

static bool condition_of(HostCode *code, const Expr *expr, bool *holds) {
    HostValue value;
    return host_eval(code, expr, &value) && host_is_true(code, value, expr->span, holds);
}

static HostFlow exec_while(HostCode *code, const Stmt *stmt, HostValue *result) {
    for (;;) {
        bool holds;
        if (!condition_of(code, stmt->u.branch.condition, &holds))
            return HOST_FAILS;
        if (!holds)
            return host_exec(code, &stmt->u.branch.orelse, result);
        const HostFlow flow = host_exec(code, &stmt->u.branch.body, result);
        if (flow == HOST_BREAKS)
            return HOST_GOES_ON;
        if (flow != HOST_GOES_ON && flow != HOST_CONTINUES)
            return flow;
    }
}

static bool exec_assign(HostCode *code, const Stmt *stmt) {
    HostValue value;
    if (!host_eval(code, stmt->u.assign.value, &value))
        return false;
    for (uint32_t i = 0; i < stmt->u.assign.targets.count; i++)
        if (!host_assign(code, stmt->u.assign.targets.items[i], value))
            return false;
    return true;
}

/* x += y changes a list itself, as in Python. */
static bool exec_augassign(HostCode *code, const Stmt *stmt) {
    HostValue left, right, sum;
    const Expr *target = stmt->u.augassign.target;
    if (!host_eval(code, target, &left) || !host_eval(code, stmt->u.augassign.value, &right))
        return false;
    if (left.kind == HOST_LIST && stmt->u.augassign.op == ASTOP_add) {
        if (!host_items(code, right, stmt->span, &sum))
            return false;
        if (left.list->items.len + sum.list->items.len > HOST_MAX_ITEMS)
            return host_cannot(code, stmt->span, "a list or text this long");
        for (size_t i = 0; i < sum.list->items.len; i++)
            host_append(code, left, sum.list->items.data[i]);
        return true;
    }
    return host_checked(code, stmt->span, host_binary(stmt->u.augassign.op, left, right, &sum)) &&
           host_assign(code, target, sum);
}

static bool exec_import(HostCode *code, const Stmt *stmt) {
    for (uint32_t i = 0; i < stmt->u.import.name_count; i++) {
        const ImportName *name = &stmt->u.import.names[i];
        Str path = name->name, alias = name->alias;
        if (stmt->u.import.is_from)
            path = str_from(str_format(code->arena, "%.*s.%.*s", STR_ARG(stmt->u.import.module),
                                       STR_ARG(name->name)));
        else if (memchr(alias.ptr, '.', alias.len)) /* `import a.b` binds `a` */
            path = alias = (Str){
                alias.ptr, (size_t)((const char *)memchr(alias.ptr, '.', alias.len) - alias.ptr)};
        host_bind(code, code->frame, alias, (HostValue){.kind = HOST_PATH, .text = path});
    }
    return true;
}

static bool exec_def(HostCode *code, const FuncDef *def) {
    HostCallable *callable = ARENA_NEW(code->arena, HostCallable);
    HostValue *defaults = ARENA_ARRAY(code->arena, HostValue, def->param_count + 1);
    *callable = (HostCallable){.def = def, .frame = code->frame, .defaults = defaults};
    for (uint32_t i = 0; !def->is_jit && i < def->param_count; i++)
        if (def->params[i].default_value &&
            !host_eval(code, def->params[i].default_value, &defaults[i]))
            return false;
    host_bind(code, code->frame, def->name,
              (HostValue){.kind = HOST_CALLABLE, .callable = callable});
    return true;
}

static HostFlow exec_assert(HostCode *code, const Stmt *stmt) {
    bool holds;
    if (!condition_of(code, stmt->u.assertion.condition, &holds))
        return HOST_FAILS;
    return flow_of(holds || host_cannot(code, stmt->span, "an assertion that fails"));
}

static HostFlow exec_return(HostCode *code, const Stmt *stmt, HostValue *result) {
    *result = host_none();
    if (stmt->u.expr && !host_eval(code, stmt->u.expr, result))
        return HOST_FAILS;
    return HOST_RETURNS;
}

static HostFlow exec_if(HostCode *code, const Stmt *stmt, HostValue *result) {
    bool holds;
    if (!condition_of(code, stmt->u.branch.condition, &holds))
        return HOST_FAILS;
    return host_exec(code, holds ? &stmt->u.branch.body : &stmt->u.branch.orelse, result);
}

static HostFlow exec_stmt(HostCode *code, const Stmt *stmt, HostValue *result) {
    HostValue value;
    switch (stmt->kind) {
    case STMT_expr:
        return flow_of(host_eval(code, stmt->u.expr, &value));
    case STMT_assign:
        return flow_of(exec_assign(code, stmt));
    case STMT_augassign:
        return flow_of(exec_augassign(code, stmt));
    case STMT_annassign:
        return flow_of(!stmt->u.annassign.value ||
                       (host_eval(code, stmt->u.annassign.value, &value) &&
                        host_assign(code, stmt->u.annassign.target, value)));
    case STMT_if:
        return exec_if(code, stmt, result);
    case STMT_for:
        return exec_for(code, stmt, result);
    case STMT_while:
        return exec_while(code, stmt, result);
    case STMT_return:
        return exec_return(code, stmt, result);
    case STMT_pass:
        return HOST_GOES_ON;
    case STMT_break:
        return HOST_BREAKS;
    case STMT_continue:
        return HOST_CONTINUES;
    case STMT_assert:
        return exec_assert(code, stmt);
    case STMT_import:
        return flow_of(exec_import(code, stmt));
    case STMT_def:
        if (stmt->u.def->name_span.lo == code->stop_at)
            return HOST_STOPS;
        return flow_of(exec_def(code, stmt->u.def));
    case STMT_unsupported:
        return flow_of(host_cannot(code, stmt->span, ast_construct_text[stmt->u.construct]));
    case STMT_del:
        return flow_of(host_cannot(code, stmt->span, ast_construct_text[CONSTRUCT_del]));
    case STMT_raise:
    case STMT_with:
    case STMT_class:
    case STMT_COUNT:
        break;
    }
    return flow_of(host_cannot(code, stmt->span, ast_stmt_kind_name[stmt->kind]));
}

HostFlow host_exec(HostCode *code, const StmtList *body, HostValue *result) {
    HostFlow flow = HOST_GOES_ON;
    for (uint32_t i = 0; i < body->count && flow == HOST_GOES_ON; i++)
        flow = exec_stmt(code, body->items[i], result);
    return flow;
}

/* Calls of what the file defines */

static const HostNamed *find_named(const HostArguments *arguments, Str name) {
    for (uint32_t i = 0; i < arguments->named_count; i++)
        if (str_eq(arguments->named[i].name, name))
            return &arguments->named[i];
    return NULL;
}

static bool is_param(const Param *params, uint32_t count, Str name) {
    for (uint32_t i = 0; i < count; i++)
        if (!params[i].star && str_eq(params[i].name, name))
            return true;
    return false;
}

/* What *args and **kwargs take. */
static HostValue rest_of(HostCode *code, const Param *params, uint32_t count, uint32_t taken,
                         const HostArguments *arguments, uint8_t star) {
    HostValue rest = star == 1 ? host_new_list(code, HOST_TUPLE) : host_new_dict(code);
    for (uint32_t i = taken; star == 1 && i < arguments->count; i++)
        host_append(code, rest, arguments->items[i]);
    for (uint32_t i = 0; star == 2 && i < arguments->named_count; i++)
        if (!is_param(params, count, arguments->named[i].name))
            host_put(code, rest.dict, host_text(arguments->named[i].name),
                     arguments->named[i].value);
    return rest;
}

static bool bind_params(HostCode *code, HostFrame *frame, const HostCallable *callable,
                        const HostArguments *arguments, Span span) {
    const Param *params = callable->def ? callable->def->params : callable->lambda->u.lambda.params;
    const uint32_t count =
        callable->def ? callable->def->param_count : callable->lambda->u.lambda.param_count;
    uint32_t taken = 0, used = 0;
    bool takes_all = false, takes_names = false;
    for (uint32_t i = 0; i < count; i++) {
        const Param *param = &params[i];
        const HostNamed *named = param->star ? NULL : find_named(arguments, param->name);
        HostValue value = callable->defaults[i];
        takes_all |= param->star == 1;
        takes_names |= param->star == 2;
        if (param->star) {
            value = rest_of(code, params, count, taken, arguments, param->star);
        } else if (!param->keyword_only && !takes_all && taken < arguments->count) {
            value = arguments->items[taken++];
            if (named)
                return host_cannot(code, span, "a call that gives an argument twice");
        } else if (named) {
            value = named->value;
            used++;
        }
        if (value.kind == HOST_UNKNOWN && !named)
            return host_cannot(code, span, "a call with too few arguments");
        host_bind(code, frame, param->name, value);
    }
    if ((taken < arguments->count && !takes_all) || (used < arguments->named_count && !takes_names))
        return host_cannot(code, span, "a call with too many arguments");
    return true;
}

static bool run_callable(HostCode *code, const HostCallable *callable, HostFrame *frame,
                         HostValue *value) {
    HostFrame *caller = code->frame;
    code->frame = frame;
    *value = host_none();
    const bool ok = callable->def ? host_exec(code, &callable->def->body, value) != HOST_FAILS
                                  : host_eval(code, callable->lambda->u.lambda.body, value);
    code->frame = caller;
    return ok;
}

bool host_call(HostCode *code, HostValue callee, const HostArguments *arguments, Span span,
               HostValue *value) {
    if (callee.kind == HOST_PATH)
        return host_call_path(code, callee.text, arguments, span, value);
    if (callee.kind != HOST_CALLABLE)
        return host_cannot(code, span, "a call of this");
    const HostCallable *callable = callee.callable;
    if (!callable->def && !callable->lambda)
        return callable->self.kind == HOST_UNKNOWN
                   ? host_call_builtin(code, callable->method, arguments, span, value)
                   : host_call_method(code, callable->self, callable->method, arguments, span,
                                      value);
    if (callable->def && (callable->def->is_jit || callable->def->decorators.count))
        return host_cannot(code, span, "a call of a function with decorators");
    HostFrame *frame = ARENA_NEW(code->arena, HostFrame);
    frame->outer = callable->frame;
    return bind_params(code, frame, callable, arguments, span) &&
           run_callable(code, callable, frame, value);
}

/* The top level */

static bool is_letter(char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

static bool is_object(HostValue value) {
    return value.kind == HOST_LIST || value.kind == HOST_DICT || value.kind == HOST_CONFIG;
}

/* Whatever the text names is unknown from here on: all of it, or what a mention can change. */
static void forget(HostCode *code, Span whole, bool all) {
    Str text = source_get(&code->ctx->sources, whole.file)->text;
    code->steps += (uint64_t)(whole.hi - whole.lo) * (code->file->bindings.len + 1) / 128;
    for (uint32_t i = whole.lo; i < whole.hi;) {
        uint32_t end = i;
        while (end < whole.hi && (is_letter(text.ptr[end]) ||
                                  (end > i && text.ptr[end] >= '0' && text.ptr[end] <= '9')))
            end++;
        vec_for_each (binding, &code->file->bindings)
            if (end > i && str_eq(binding->name, (Str){text.ptr + i, end - i}) &&
                (is_object(binding->value) ||
                 (all && binding->value.kind != HOST_PATH && binding->value.kind != HOST_CALLABLE)))
                binding->value = (HostValue){0};
        i = end > i ? end : i + 1;
    }
}

static void forget_name(HostCode *code, Str name) {
    host_bind(code, code->file, name, (HostValue){0});
}

/* What it would have bound has no value, whatever it had. */
static void forget_bound(HostCode *code, const Stmt *stmt) {
    if (stmt->kind == STMT_def)
        forget_name(code, stmt->u.def->name);
    else if (stmt->kind == STMT_annassign && stmt->u.annassign.target->kind == EXPR_name)
        forget_name(code, stmt->u.annassign.target->u.name);
    else if (stmt->kind == STMT_assign)
        for (uint32_t i = 0; i < stmt->u.assign.targets.count; i++)
            if (stmt->u.assign.targets.items[i]->kind == EXPR_name)
                forget_name(code, stmt->u.assign.targets.items[i]->u.name);
}

/* A statement that fails may have done a part of its work. */
static void forget_failed(HostCode *code, const ModuleStmt *stmt) {
    bool all = !stmt->parsed.count;
    for (uint32_t i = 0; i < stmt->parsed.count; i++) {
        const Stmt *part = stmt->parsed.items[i];
        all |= part->kind != STMT_expr &&
               !(part->kind == STMT_unsupported && part->u.construct == CONSTRUCT_class);
    }
    forget(code, stmt->whole, all);
    for (uint32_t i = 0; i < stmt->parsed.count; i++)
        forget_bound(code, stmt->parsed.items[i]);
}

static HostFlow run_one(HostCode *code, const ModuleStmt *stmt) {
    const DiagMark before = diag_mark(&code->ctx->diags);
    HostValue ignored;
    code->frame = code->file;
    code->depth = 0;
    const HostFlow flow =
        stmt->parsed.count ? host_exec(code, &stmt->parsed, &ignored) : HOST_FAILS;
    diag_rewind(&code->ctx->diags, before);
    if (flow == HOST_FAILS)
        forget_failed(code, stmt);
    return flow;
}

HostCode *host_code_create(Ctx *ctx, uint32_t file, int32_t capability) {
    HostCode *code = ARENA_NEW(&ctx->arena, HostCode);
    *code = (HostCode){.ctx = ctx, .arena = &ctx->arena, .capability = capability};
    code->body = parse_module(&ctx->diags, file, &code->count);
    code->file = code->frame = ARENA_NEW(code->arena, HostFrame);
    host_bind(code, code->file, STR("__name__"), host_text(STR("kernels")));
    return code;
}

void host_code_run_to(HostCode *code, Span name) {
    code->stop_at = name.lo;
    while (code->next < code->count && code->steps <= HOST_MAX_STEPS)
        if (run_one(code, &code->body[code->next++]) == HOST_STOPS)
            break;
    code->stop_at = UINT32_MAX;
}

void host_code_finish(HostCode *code) {
    host_code_run_to(code, (Span){.lo = UINT32_MAX});
}

bool host_code_evaluate(HostCode *code, const Expr *expr, HostValue *value) {
    code->frame = code->file;
    code->depth = 0;
    return host_eval(code, expr, value);
}

bool host_code_call(HostCode *code, HostValue callee, const HostArguments *arguments, Span span,
                    HostValue *value) {
    code->frame = code->file;
    code->depth = 0;
    return host_call(code, callee, arguments, span, value);
}
