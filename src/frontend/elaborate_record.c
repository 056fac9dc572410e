/* Classes of values with named fields: named tuples, and aggregates, which have methods, too.
 *
 * A value of one is a tuple that knows its class. What makes an aggregate is its `__init__`, a
 * function whose first argument is the value to be: its fields are set one by one, each giving the
 * variable a new tuple, until all have a value. */
#include "frontend/builtins.h"

/* An argument to its place among `items`, or a report. */
static void bind_field(Elab *e, const Unit *record, const Arg *arg, uint32_t position, Val *items) {
    const GivenUnit *given = record->given;
    const char *name = str_dup(e->arena, given->name);
    const uint32_t at = arg->name.len ? record_field(record, arg->name) : position;
    if (at >= given->field_count && arg->name.len)
        elab_fail(e, arg->span, elab_unknown_keyword, name, STR_ARG(arg->name));
    else if (at >= given->field_count)
        elab_fail(e, arg->span, elab_too_many_arguments, name, given->field_count, position + 1);
    else if (items[at].kind != VAL_ABSENT)
        elab_fail(e, arg->span, elab_argument_twice, name, STR_ARG(given->fields[at].name));
    else
        items[at] = arg->val;
}

/* Of its fields by place and by name. */
static Val make_of_fields(Elab *e, Span span, Unit *record, const Arg *args, uint32_t count) {
    const GivenUnit *given = record->given;
    const unsigned errors = e->ctx->diags.errors;
    Val *items = ARENA_ARRAY(e->arena, Val, (size_t)given->field_count + 1);
    for (uint32_t i = 0; i < given->field_count; i++)
        items[i] = val_of(VAL_ABSENT);
    for (uint32_t i = 0; i < count; i++)
        bind_field(e, record, &args[i], i, items);
    for (uint32_t i = 0; i < given->field_count && e->ctx->diags.errors == errors; i++) {
        const Field *field = &given->fields[i];
        if (items[i].kind == VAL_ABSENT && !field->fallback.len)
            elab_fail(e, span, elab_missing_argument, str_dup(e->arena, given->name),
                      STR_ARG(field->name));
        else if (items[i].kind == VAL_ABSENT)
            items[i] = units_literal(e, field->name, field->fallback);
    }
    if (e->ctx->diags.errors != errors)
        return val_error();
    return val_tuple_of(record, items, given->field_count);
}

/* Methods */

bool elab_method(Elab *e, Unit *record, Str name, RecordMethod *out) {
    *out = (RecordMethod){0};
    if (!record->class_def) {
        const Binding *binding = units_find(record->given, name);
        out->is_static = binding && str_is(binding->text, "static");
        return binding && units_lookup(e, record, name, &out->function);
    }
    const StmtList *body = &record->class_def->body;
    for (uint32_t i = body->count; i-- > 0;) {
        const Stmt *stmt = body->items[i];
        if (stmt->kind != STMT_def || !str_eq(stmt->u.def->name, name))
            continue;
        out->function = (Val){.kind = VAL_FUNCTION, .function = {stmt->u.def, record->home}};
        out->is_static = stmt->u.def->is_static;
        return true;
    }
    return record->base && elab_method(e, record->base, name, out);
}

/* Making */

static const char init_name[] = "__init__";

static Val make_by_init(Elab *e, Span span, Unit *record, Val init, const Arg *args,
                        uint32_t count) {
    const GivenUnit *given = record->given;
    Val *items = ARENA_ARRAY(e->arena, Val, (size_t)given->field_count + 1);
    for (uint32_t i = 0; i < given->field_count; i++)
        items[i] = elab_undefined(e, span, "is a field that has not been set");
    Arg *all = ARENA_ARRAY(e->arena, Arg, (size_t)count + 1);
    all[0] = (Arg){.val = val_tuple_of(record, items, given->field_count), .span = span};
    if (count)
        memcpy(all + 1, args, count * sizeof *args);
    const Val made = elab_call_init(e, span, init, all, count + 1);
    if (val_failed(made))
        return made;
    if (!val_is_aggregate(made) || made.tuple.record != record)
        return elab_fail(e, span, elab_init_rebinds, STR_ARG(given->name));
    for (uint32_t i = 0; i < given->field_count; i++)
        if (made.tuple.items[i].kind == VAL_UNDEFINED)
            return elab_fail(e, span, elab_field_unset, STR_ARG(given->name),
                             STR_ARG(given->fields[i].name));
    return made;
}

Val elab_make_record(Elab *e, Span span, Unit *record, const Arg *args, uint32_t count) {
    RecordMethod init;
    if (record->given->is_aggregate && elab_method(e, record, str_from(init_name), &init))
        return make_by_init(e, span, record, init.function, args, count);
    return make_of_fields(e, span, record, args, count);
}

/* The tuple with another item. */
static Val with_item(Elab *e, Val tuple, uint32_t at, Val v) {
    Val *items = ARENA_ARRAY(e->arena, Val, tuple.tuple.count);
    memcpy(items, tuple.tuple.items, tuple.tuple.count * sizeof *items);
    items[at] = v;
    return val_tuple_of(tuple.tuple.record, items, tuple.tuple.count);
}

/* self.x = v in `__init__`; false: it is no such assignment. */
bool elab_set_field(Elab *e, const Expr *target, Val v) {
    const FuncDef *def = e->frame->def;
    const Expr *base = target->u.attribute.base;
    if (!def || !str_is(def->name, init_name) || !def->param_count || base->kind != EXPR_name ||
        !str_eq(base->u.name, def->params[0].name))
        return false;
    const Val *self = vars_find(&e->frame->vars, base->u.name);
    if (!self || !val_is_aggregate(*self))
        return false;
    const uint32_t at = record_field(self->tuple.record, target->u.attribute.name);
    if (at == UINT32_MAX)
        elab_fail(e, target->span, elab_no_attribute, elab_type_text(e, *self),
                  STR_ARG(target->u.attribute.name));
    else
        vars_set(e, &e->frame->vars, base->u.name, with_item(e, *self, at, v));
    return true;
}

Val elab_replace_fields(Elab *e, Span span, const Arg *args, uint32_t count) {
    if (!count || args[0].name.len || !val_is_aggregate(args[0].val))
        return elab_fail(e, count ? args[0].span : span, elab_argument, "aggregate_replace",
                         "instance", "an aggregate",
                         count ? elab_type_text(e, args[0].val) : "nothing");
    Val made = args[0].val;
    for (uint32_t i = 1; i < count; i++) {
        const uint32_t at = record_field(made.tuple.record, args[i].name);
        if (at == UINT32_MAX)
            return elab_fail(e, args[i].span, elab_no_attribute, elab_type_text(e, made),
                             STR_ARG(args[i].name));
        made = with_item(e, made, at, args[i].val);
    }
    return made;
}

static Str literal_text(Elab *e, Val v) {
    StrBuf out = strbuf(e->arena);
    val_print(v, true, &out);
    return strbuf_str(&out);
}

/* The names of fields: a tuple of strings, or one that spaces and commas divide. */
static Val field_names(Call *call) {
    const Val given = call->args[1];
    if (given.kind != VAL_STRING)
        return given;
    struct {
        Val *data;
        size_t len, cap;
    } names = {0};
    for (size_t at = 0; at < given.s.len;) {
        size_t end = at;
        while (end < given.s.len && given.s.ptr[end] != ' ' && given.s.ptr[end] != ',')
            end++;
        if (end > at)
            vec_push(call->e->arena, &names, val_string((Str){given.s.ptr + at, end - at}));
        at = end + 1;
    }
    return val_tuple(names.data, (uint32_t)names.len);
}

/* collections.namedtuple */
Val builtin_namedtuple(Call *call) {
    Elab *e = call->e;
    const Val *names, *values = NULL;
    uint32_t count, value_count = 0;
    if (call->args[0].kind != VAL_STRING)
        return elab_fail(e, call->spans[0], elab_argument, "namedtuple", "typename", "a string",
                         elab_type_text(e, call->args[0]));
    if (!elab_items(e, call->spans[1], field_names(call), &names, &count) ||
        (!val_missing(call->args[2]) &&
         !elab_items(e, call->spans[2], call->args[2], &values, &value_count)))
        return val_error();
    if (value_count > count)
        return elab_fail(e, call->spans[2], elab_argument, "namedtuple", "defaults",
                         "no more values than there are fields", elab_type_text(e, call->args[2]));
    Field *fields = ARENA_ARRAY(e->arena, Field, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (names[i].kind != VAL_STRING)
            return elab_fail(e, call->spans[1], elab_argument, "namedtuple", "field_names",
                             "a tuple of strings", elab_type_text(e, names[i]));
        const bool has_default = i + value_count >= count;
        fields[i] = (Field){
            names[i].s, has_default ? literal_text(e, values[i + value_count - count]) : STR("")};
    }
    GivenUnit *given = ARENA_NEW(e->arena, GivenUnit);
    *given = (GivenUnit){
        .is_record = true, .name = call->args[0].s, .fields = fields, .field_count = count};
    return (Val){.kind = VAL_RECORD, .record = elab_record_unit(e, e->frame->unit, given, NULL)};
}

/* Classes of files */

static Field field_of_stmt(Elab *e, const Stmt *stmt) {
    const Expr *value = stmt->u.annassign.value;
    Field field = {stmt->u.annassign.target->u.name, STR("")};
    if (value) {
        const Source *source = source_get(&e->ctx->sources, value->span.file);
        field.fallback = (Str){source->text.ptr + value->span.lo, value->span.hi - value->span.lo};
    }
    return field;
}

/* The aggregate that the class inherits from; NULL: none. */
static Unit *base_of(Elab *e, Unit *home, const ClassDef *def) {
    for (uint32_t i = 0; i < def->bases.count; i++) {
        const Str last = ast_decorator_name(def->bases.items[i]);
        if (str_is(last, "NamedTuple") || str_is(last, "object"))
            continue;
        const Val base = elab_eval_in(e, home, def->bases.items[i]);
        if (base.kind == VAL_RECORD && base.record->given->is_aggregate)
            return base.record;
        if (!val_failed(base))
            elab_fail(e, def->bases.items[i]->span, elab_argument, "aggregate", "base",
                      "an aggregate", elab_type_text(e, base));
    }
    return NULL;
}

Unit *elab_class(Elab *e, Unit *home, const ClassDef *def) {
    GivenUnit *given = ARENA_NEW(e->arena, GivenUnit);
    struct {
        Field *data;
        size_t len, cap;
    } fields = {0};
    Unit *base = base_of(e, home, def);
    for (uint32_t i = 0; base && i < base->given->field_count; i++)
        vec_push(e->arena, &fields, base->given->fields[i]);
    for (uint32_t i = 0; i < def->body.count; i++) {
        const Stmt *stmt = def->body.items[i];
        if (stmt->kind == STMT_annassign && stmt->u.annassign.target->kind == EXPR_name)
            vec_push(e->arena, &fields, field_of_stmt(e, stmt));
    }
    *given = (GivenUnit){.is_record = true,
                         .is_aggregate = def->is_aggregate,
                         .name = def->name,
                         .fields = fields.data,
                         .field_count = (uint32_t)fields.len};
    Unit *unit = elab_record_unit(e, home, given, def);
    unit->base = base;
    return unit;
}

Unit *elab_record_unit(Elab *e, Unit *home, const GivenUnit *given, const ClassDef *def) {
    static const AstFile no_file;
    Unit *unit = unit_create(e, home->path, &no_file);
    unit->given = given;
    unit->class_def = def;
    unit->home = home;
    return unit;
}
