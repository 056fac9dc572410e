/* Units as a compilation gets them: sources, syntax, the text of keys, finding bindings. */
#include "frontend/units.h"

#include "frontend/parse.h"

uint32_t units_add_sources(SourceMap *map, const GivenUnits *units) {
    uint32_t first = 0;
    for (uint32_t i = 0; i < units->count; i++) {
        const GivenUnit *unit = &units->list[i];
        const uint32_t file = source_add_part(map, unit->path, unit->text, unit->begin, i > 0);
        first = i ? first : file;
    }
    return first;
}

static Param *find_param(const FuncDef *def, Str name) {
    for (uint32_t i = 0; i < def->param_count; i++)
        if (str_eq(def->params[i].name, name))
            return &def->params[i];
    return NULL;
}

static bool param_known(Diags *diags, const FuncDef *def, Str name) {
    return find_param(def, name) ||
           diag(diags, def->name_span, elab_param_unknown, STR_ARG(def->name), STR_ARG(name));
}

static void set_hints(Diags *diags, const FuncDef *def, const GivenUnit *unit) {
    for (uint32_t i = 0; i < unit->no_value_count; i++)
        if (param_known(diags, def, unit->no_value[i]))
            find_param(def, unit->no_value[i])->no_value = true;
    for (uint32_t i = 0; i < unit->no_alignment_count; i++)
        if (param_known(diags, def, unit->no_alignment[i]))
            find_param(def, unit->no_alignment[i])->no_alignment = true;
}

/* The last name of what an annotation is bound to, as the language has it; empty: it is bound to
 * nothing that says a type. */
static Str annotation_name(const Binding *binding, const Expr *annotation, uint32_t attributes) {
    if (binding->kind != BINDING_LANGUAGE && binding->kind != BINDING_LITERAL)
        return STR("");
    if (attributes)
        return annotation->u.attribute.name;
    size_t at = binding->text.len;
    while (at && binding->text.ptr[at - 1] != '.')
        at--;
    return at ? (Str){binding->text.ptr + at, binding->text.len - at} : STR("");
}

Expr *units_annotation(Arena *arena, const GivenUnit *unit, Expr *annotation) {
    uint32_t attributes;
    const Binding *binding =
        unit && annotation ? units_find_dotted(unit, annotation, &attributes) : NULL;
    if (!binding)
        return annotation;
    const Str name = annotation_name(binding, annotation, attributes);
    Expr *nodes = ARENA_ARRAY(arena, Expr, 2);
    nodes[0] = (Expr){.kind = EXPR_none, .height = 1, .span = annotation->span};
    if (!name.len)
        return nodes;
    nodes[0] = (Expr){.kind = EXPR_attribute, .height = 2, .span = annotation->span};
    nodes[1] = (Expr){.kind = EXPR_name, .height = 1, .span = annotation->span};
    nodes[0].u.attribute.base = &nodes[1];
    nodes[0].u.attribute.name = name;
    nodes[0].u.attribute.name_span = annotation->span;
    nodes[1].u.name = STR("tl");
    return nodes;
}

AstFile *units_parse(Diags *diags, uint32_t file, const GivenUnit *unit) {
    AstFile *syntax = parse_unit(diags, file);
    if (!syntax->body.count)
        return syntax;
    FuncDef *def = syntax->body.items[0]->u.def;
    def->decorators = (ExprList){0};
    def->is_jit = !unit->is_constexpr;
    def->is_constexpr_function = unit->is_constexpr;
    set_hints(diags, def, unit);
    for (uint32_t i = 0; i < def->param_count; i++)
        def->params[i].annotation = units_annotation(diags->arena, unit, def->params[i].annotation);
    return syntax;
}

/* Keys */

static void add_text(StrBuf *out, const char *what, Str text) {
    strbuf_printf(out, "%s %zu ", what, text.len);
    strbuf_add(out, text.ptr, text.len);
    strbuf_putc(out, '\n');
}

void units_write(const SourceMap *map, uint32_t file, const GivenUnits *units, bool named,
                 StrBuf *out) {
    for (uint32_t i = 0; i < units->count; i++) {
        const GivenUnit *unit = &units->list[i];
        strbuf_printf(out, "unit %u %u %u %d\n", i, unit->begin.line, unit->begin.column,
                      unit->noinline);
        add_text(out, "name", named ? source_get(map, file + i)->name : STR(""));
        add_text(out, "text", unit->text);
        if (unit->must_use)
            add_text(out, "must_use", unit->must_use_words);
        for (uint32_t b = 0; b < unit->binding_count; b++) {
            const Binding *binding = &unit->bindings[b];
            strbuf_printf(out, "binding %d %u ", binding->kind, binding->unit);
            add_text(out, "name", binding->name);
            add_text(out, "text", binding->text);
        }
        add_text(out,
                 unit->is_aggregate   ? "aggregate"
                 : unit->is_record    ? "record"
                 : unit->is_constexpr ? "constexpr"
                                      : "function",
                 unit->name);
        for (uint32_t at = 0; at < unit->field_count; at++) {
            add_text(out, "field", unit->fields[at].name);
            add_text(out, "default", unit->fields[at].fallback);
        }
        for (uint32_t p = 0; p < unit->no_value_count; p++)
            add_text(out, "no_value", unit->no_value[p]);
        for (uint32_t p = 0; p < unit->no_alignment_count; p++)
            add_text(out, "no_alignment", unit->no_alignment[p]);
    }
}

/* Finding bindings */

const Binding *units_find(const GivenUnit *unit, Str name) {
    for (uint32_t i = 0; i < unit->binding_count; i++)
        if (str_eq(unit->bindings[i].name, name))
            return &unit->bindings[i];
    return NULL;
}

bool units_has_behind(const GivenUnit *unit, Str prefix) {
    for (uint32_t i = 0; i < unit->binding_count; i++) {
        const Str name = unit->bindings[i].name;
        if (name.len > prefix.len && name.ptr[prefix.len] == '.' &&
            memcmp(name.ptr, prefix.ptr, prefix.len) == 0)
            return true;
    }
    return false;
}

/* Is `expr`, read from its end, the dotted name? */
static bool spells(const Expr *expr, Str dotted) {
    for (; expr->kind == EXPR_attribute; expr = expr->u.attribute.base) {
        const Str name = expr->u.attribute.name;
        if (dotted.len <= name.len || dotted.ptr[dotted.len - name.len - 1] != '.' ||
            memcmp(dotted.ptr + dotted.len - name.len, name.ptr, name.len) != 0)
            return false;
        dotted.len -= name.len + 1;
    }
    return expr->kind == EXPR_name && str_eq(expr->u.name, dotted);
}

const Binding *units_find_dotted(const GivenUnit *unit, const Expr *expr, uint32_t *attributes) {
    for (*attributes = 0;; ++*attributes) {
        for (uint32_t i = 0; i < unit->binding_count; i++)
            if (spells(expr, unit->bindings[i].name))
                return &unit->bindings[i];
        if (expr->kind != EXPR_attribute)
            return NULL;
        expr = expr->u.attribute.base;
    }
}
