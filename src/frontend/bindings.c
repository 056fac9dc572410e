/* What the names of a unit stand for: its bindings, evaluated when a kernel comes to them.
 *
 * A namespace is a module value of the unit, whose path is the dotted name so far. Literals are
 * evaluated in a unit of their own, of no file, where only the language's names are known, and @3
 * is the function of unit 3. */
#include "frontend/elaborate.h"

static const AstFile no_file;

/* Its place in the list of those that were reached. */
static Unit **place_of(Elab *e, uint32_t number) {
    if (!e->given)
        e->given = ARENA_ARRAY(e->arena, Unit *, e->request->units.count);
    return &e->given[number];
}

Unit *units_take(Elab *e, uint32_t number, const AstFile *syntax) {
    const GivenUnit *given = &e->request->units.list[number];
    Unit *unit = *place_of(e, number) = unit_create(e, given->path, syntax);
    unit->given = given;
    unit->number = number;
    if (given->noinline && syntax->body.count)
        elab_no_effect(e, syntax->body.items[0]->u.def->name_span, "noinline",
                       "calls of functions are always inlined");
    return unit;
}

static Unit *open_unit(Elab *e, uint32_t number) {
    const GivenUnit *given = &e->request->units.list[number];
    const uint32_t file = e->request->file + number;
    Unit *unit = *place_of(e, number);
    if (unit)
        return unit;
    return units_take(e, number,
                      given->is_record ? &no_file : units_parse(&e->ctx->diags, file, given));
}

static Val unit_value(Elab *e, uint32_t number) {
    Unit *unit = open_unit(e, number);
    if (unit->given->is_record)
        return (Val){.kind = VAL_RECORD, .record = unit};
    if (!unit->syntax->body.count)
        return val_error(); /* reported when it was parsed */
    return (Val){.kind = VAL_FUNCTION, .function = {unit->syntax->body.items[0]->u.def, unit}};
}

/* Literals */

bool units_numbered(Elab *e, Span span, Str name, Val *out) {
    const uint32_t count = e->request->units.count;
    uint64_t number = 0;
    if (!e->frame->unit->is_literal || !name.len || name.ptr[0] != '@')
        return false;
    for (size_t i = 1; i < name.len && number < count; i++)
        number = name.ptr[i] >= '0' && name.ptr[i] <= '9'
                     ? number * 10 + (uint64_t)(name.ptr[i] - '0')
                     : count;
    *out = number < count ? unit_value(e, (uint32_t)number)
                          : elab_fail(e, span, unit_number, STR_ARG(name), count);
    return true;
}

Val units_literal(Elab *e, Str name, Str text) {
    const char *path = str_format(e->arena, "<value of %.*s>", STR_ARG(name));
    const uint32_t file = source_add(&e->ctx->sources, str_from(path), text);
    const Expr *expr = parse_literal_value(&e->ctx->diags, file);
    if (!e->literals) {
        e->literals = unit_create(e, STR("<literal>"), &no_file);
        e->literals->is_literal = true;
    }
    return expr ? elab_eval_in(e, e->literals, expr) : val_error();
}

/* Bindings */

static Val namespace_value(Unit *unit, Str path) {
    return (Val){.kind = VAL_MODULE, .module = {path, unit}};
}

static Val binding_value(Elab *e, Unit *unit, const Binding *binding) {
    switch (binding->kind) {
    case BINDING_LITERAL:
        return units_literal(e, binding->name, binding->text);
    case BINDING_UNIT:
        return unit_value(e, binding->unit);
    case BINDING_LANGUAGE:
        return elab_language(e, e->user_span, binding->text);
    case BINDING_NAMESPACE:
        return namespace_value(unit, binding->name);
    case BINDING_UNUSABLE:
        return elab_fail(e, e->user_span, unit_unusable, STR_ARG(binding->text));
    case BINDING_EVALUATE:
        return (Val){.kind = VAL_FOREIGN, .foreign = {binding, unit}};
    case BINDING_COUNT:
        break;
    }
    return val_error();
}

/* Each is evaluated once, and what is wrong with it said once. */
static Val value_of(Elab *e, Unit *unit, const Binding *binding) {
    const Val *known = vars_find(&unit->globals, binding->name);
    if (known)
        return *known;
    const Val v = binding_value(e, unit, binding);
    vars_set(e, &unit->globals, binding->name, v);
    return v;
}

bool units_lookup(Elab *e, Unit *unit, Str name, Val *out) {
    const Binding *binding = units_find(unit->given, name);
    if (binding)
        *out = value_of(e, unit, binding);
    else if (units_has_behind(unit->given, name))
        *out = namespace_value(unit, name);
    return binding || units_has_behind(unit->given, name);
}

static Str name_in(Elab *e, Val namespace, Str name) {
    return str_from(
        str_format(e->arena, "%.*s.%.*s", STR_ARG(namespace.module.path), STR_ARG(name)));
}

Val units_namespace_attribute(Elab *e, Span span, Val namespace, Str name) {
    const Str dotted = name_in(e, namespace, name);
    Val v;
    if (units_lookup(e, namespace.module.unit, dotted, &v))
        return v;
    return elab_fail(e, span, elab_unknown_name, STR_ARG(dotted));
}

bool units_namespace_has(Elab *e, Val namespace, Str name) {
    const Str dotted = name_in(e, namespace, name);
    const GivenUnit *given = namespace.module.unit->given;
    return units_find(given, dotted) || units_has_behind(given, dotted);
}

bool units_attribute(Elab *e, const Expr *expr, Val *out) {
    Unit *unit = e->frame->unit;
    uint32_t attributes;
    const Expr *root = expr;
    if (!unit->given)
        return false;
    while (root->kind == EXPR_attribute)
        root = root->u.attribute.base;
    if (root->kind != EXPR_name || vars_find(&e->frame->vars, root->u.name))
        return false;
    const Binding *binding = units_find_dotted(unit->given, expr, &attributes);
    if (!binding || attributes)
        return false;
    *out = value_of(e, unit, binding);
    return true;
}
