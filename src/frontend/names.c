/* What a name means: variables, the file's definitions, imports, the language's modules; of a unit
 * what it is bound to (bindings.c).
 *
 * Definitions of a file are evaluated when first used, at compile time and with Python's meaning.
 * Imports of other files are looked for next to the importing file, in the package it lies in, then
 * in the search paths; `triton` and its submodules are known by their dotted names. */
#include "frontend/builtins.h"
#include "frontend/imports.h"
#include "frontend/language.h"
#include "frontend/objects.h"
#include "support/file.h"

#include <math.h>

/* The language's modules: dotted name and what they contain. */
static const struct {
    const char *path;
    uint32_t contents;
} modules[] = {
    {"triton", IN_TRITON},
    {"triton.language", IN_TL},
    {"triton.language.core", IN_TL},
    {"triton.language.standard", IN_TL},
    {"triton.language.math", IN_MATH},
    {"triton.language.random", IN_RANDOM},
    {"triton.language.libdevice", IN_LIBDEVICE},
    {"triton.language.extra", 0},
    {"triton.language.extra.libdevice", IN_LIBDEVICE},
    {"triton.language.extra.cuda", IN_CUDA},
    {"triton.language.extra.cuda.gdc", IN_CUDA},
    {"triton.language.extra.cuda.utils", IN_CUDA},
    {"triton.language.extra.cuda.libdevice", IN_LIBDEVICE},
    {"triton.language.target_info", IN_TARGET},
    {"math", IN_PYMATH},
    {"collections", IN_COLLECTIONS},
};

enum { MODULE_COUNT = sizeof modules / sizeof *modules };

const char *elab_module_of(const Builtin *row) {
    if (row->modules & IN_PYTHON)
        return NULL;
    if (row->modules & IN_TL)
        return "tl";
    for (size_t i = 0; i < MODULE_COUNT; i++)
        if (row->modules & modules[i].contents)
            return modules[i].path;
    return NULL;
}

const char *elab_language_module(uint32_t index, uint32_t *contents) {
    if (index >= MODULE_COUNT)
        return NULL;
    *contents = modules[index].contents;
    return modules[index].path;
}

static bool module_known(Str path, uint32_t *contents) {
    for (size_t i = 0; i < MODULE_COUNT; i++) {
        if (str_is(path, modules[i].path)) {
            *contents = modules[i].contents;
            return true;
        }
    }
    return false;
}

static Val module_value(Str path, Unit *unit) {
    return (Val){.kind = VAL_MODULE, .module = {path, unit}};
}

static Val language_module(const char *path) {
    return module_value(str_from(path), NULL);
}

Unit *unit_create(Elab *e, Str path, const AstFile *syntax) {
    Unit *unit = ARENA_NEW(e->arena, Unit);
    *unit = (Unit){.next = e->units, .path = path, .syntax = syntax};
    e->units = unit;
    return unit;
}

/* Other files */

typedef struct Finding {
    Elab *e;
    Unit *unit; /* what was found */
} Finding;

static bool load_unit(void *user, const char *path, Str name) {
    Finding *finding = user;
    Elab *e = finding->e;
    for (Unit *unit = e->units; unit; unit = unit->next) {
        if (str_is(unit->path, path)) {
            finding->unit = unit;
            return true;
        }
    }
    Str text;
    if (source_read(&e->ctx->sources, path, FRONTEND_SOURCE_LIMIT, &text) != 0)
        return false;
    uint32_t file = source_add_import(&e->ctx->sources, str_from(path), name, text);
    finding->unit = unit_create(e, str_from(path), parse_file(&e->ctx->diags, file));
    return true;
}

static void note_import(Elab *e, const Unit *from, const Unit *found, Str module) {
    const ImportMade made = {from->syntax->file, found ? found->syntax->file : 0, module};
    vec_for_each (known, &e->imports)
        if (known->from == made.from && str_eq(known->module, module))
            return;
    vec_push(e->arena, &e->imports, made);
}

static Unit *find_unit(Elab *e, const Unit *from, Str module) {
    Finding finding = {.e = e};
    if (e->request->units.count)
        return NULL; /* there are no files */
    import_find(e->arena, from->path, module, e->request->search_paths,
                e->request->search_path_count, load_unit, &finding);
    note_import(e, from, finding.unit, module);
    return finding.unit;
}

/* Definitions of a file */

static bool unit_lookup(Elab *e, Unit *unit, Str name, Val *out);

/* Evaluates an expression of a file outside any function. */
static Val eval_global(Elab *e, Unit *unit, const Expr *expr) {
    if (unit->busy > 64)
        return elab_fail(e, expr->span, elab_too_deep);
    Frame frame = {.caller = e->frame, .unit = unit, .call_span = expr->span, .host = true};
    Builder saved = e->builder;
    Frame *caller = e->frame;
    e->builder.block = NULL;
    e->frame = &frame;
    unit->busy++;
    Val v = elab_eval(e, expr);
    unit->busy--;
    v = object_leave(e, expr->span, v);
    e->frame = caller;
    e->builder = saved;
    return v;
}

Val elab_eval_in(Elab *e, Unit *unit, const Expr *expr) {
    return eval_global(e, unit, expr);
}

static Val import_name(Elab *e, Unit *unit, Span span, Str module, Str name) {
    uint32_t contents;
    if (module_known(module, &contents))
        return elab_module_attribute(e, span, module_value(module, NULL), name);
    Unit *other = find_unit(e, unit, module);
    Val v;
    if (other && unit_lookup(e, other, name, &v))
        return v;
    const char *inner =
        str_format(e->arena, "%.*s%s%.*s", STR_ARG(module),
                   module.len && module.ptr[module.len - 1] == '.' ? "" : ".", STR_ARG(name));
    Unit *submodule = find_unit(e, unit, str_from(inner));
    if (submodule)
        return module_value(str_from(inner), submodule);
    if (other)
        return elab_fail(e, span, elab_import_name, STR_ARG(other->path), STR_ARG(name));
    elab_fail(e, span, elab_import_file, STR_ARG(module));
    elab_hint(e,
              "modules are .tile or .py files next to the file, or under a folder given with -I");
    return val_error();
}

static bool module_from_import(Elab *e, Unit *unit, const ImportName *import, Str name, Val *out) {
    bool renamed = !str_eq(import->alias, import->name);
    Str module =
        renamed ? import->name : import_first_component(import->name); /* `import a.b` binds a */
    if (!str_eq(renamed ? import->alias : module, name))
        return false;
    uint32_t contents;
    bool known = module_known(module, &contents);
    *out = module_value(module, known ? NULL : find_unit(e, unit, module));
    return true;
}

/* `from x import *` in a file that is not the language's. */
static bool star_import(Elab *e, Unit *unit, const Stmt *stmt, Str name, Val *out) {
    Str module = stmt->u.import.module;
    uint32_t contents;
    if (module_known(module, &contents)) {
        if (!builtin_find(name, contents))
            return false;
        *out = elab_module_attribute(e, stmt->span, module_value(module, NULL), name);
        return true;
    }
    Unit *other = find_unit(e, unit, module);
    return other && unit_lookup(e, other, name, out);
}

static bool binding_of_import(Elab *e, Unit *unit, const Stmt *stmt, Str name, Val *out) {
    for (uint32_t i = 0; i < stmt->u.import.name_count; i++) {
        const ImportName *import = &stmt->u.import.names[i];
        if (!stmt->u.import.is_from) {
            if (module_from_import(e, unit, import, name, out))
                return true;
        } else if (str_is(import->name, "*")) {
            if (star_import(e, unit, stmt, name, out))
                return true;
        } else if (str_eq(import->alias, name)) {
            *out = import_name(e, unit, import->span, stmt->u.import.module, import->name);
            return true;
        }
    }
    return false;
}

static bool target_is(const Expr *target, Str name) {
    return target->kind == EXPR_name && str_eq(target->u.name, name);
}

static bool binding_of(Elab *e, Unit *unit, const Stmt *stmt, Str name, Val *out) {
    switch ((int)stmt->kind) {
    case STMT_def:
        if (!str_eq(stmt->u.def->name, name))
            return false;
        *out = (Val){.kind = VAL_FUNCTION, .function = {stmt->u.def, unit}};
        return true;
    case STMT_class:
        if (!str_eq(stmt->u.class_def->name, name))
            return false;
        *out = (Val){.kind = VAL_RECORD, .record = elab_class(e, unit, stmt->u.class_def)};
        return true;
    case STMT_assign:
        for (uint32_t i = 0; i < stmt->u.assign.targets.count; i++) {
            if (target_is(stmt->u.assign.targets.items[i], name)) {
                *out = eval_global(e, unit, stmt->u.assign.value);
                return true;
            }
        }
        return false;
    case STMT_annassign:
        if (!target_is(stmt->u.annassign.target, name) || !stmt->u.annassign.value)
            return false;
        *out = eval_global(e, unit, stmt->u.annassign.value);
        return true;
    case STMT_import:
        return binding_of_import(e, unit, stmt, name, out);
    default:
        return false;
    }
}

/* The last definition counts; of alternatives in the arms of `if` and `try` the parser kept one. */
static bool unit_lookup(Elab *e, Unit *unit, Str name, Val *out) {
    Val *known = vars_find(&unit->globals, name);
    if (known) {
        *out = *known;
        return known->kind != VAL_ABSENT;
    }
    if (unit->given)
        return units_lookup(e, unit, name, out);
    /* Absent while being looked up, so that imports that lead back here end, and ever after if not
     * found. */
    vars_set(e, &unit->globals, name, val_of(VAL_ABSENT));
    const StmtList *body = &unit->syntax->body;
    for (uint32_t i = body->count; i-- > 0;) {
        if (binding_of(e, unit, body->items[i], name, out)) {
            vars_set(e, &unit->globals, name, *out);
            return true;
        }
    }
    return false;
}

/* Modules */

static bool dtype_named(Str name, Val *out) {
    for (int i = 0; i < ELEM_COUNT; i++) {
        if (str_is(name, elem_info[i].name)) {
            *out = val_type(scalar_number((Elem)i), NULL);
            return true;
        }
    }
    if (str_is(name, "pi32_t")) {
        *out = val_type((ScalarType){.elem = ELEM_I32, .pointer = true}, NULL);
        return true;
    }
    return false;
}

/* Numbers that modules define: Python's math, and constexprs of the language. */
static bool module_constant(Str name, uint32_t contents, Val *out) {
    static const struct {
        ModuleSet modules;
        const char *name;
        double value;
    } constants[] = {{IN_PYMATH, "pi", 0x1.921fb54442d18p+1},
                     {IN_PYMATH, "e", 0x1.5bf0a8b145769p+1},
                     {IN_PYMATH, "tau", 0x1.921fb54442d18p+2},
                     {IN_PYMATH, "inf", INFINITY},
                     {IN_PYMATH, "nan", NAN},
                     {IN_TL, "TRITON_MAX_TENSOR_NUMEL", 1 << MAX_TILE_BITS},
                     {IN_TL, "CONSTEXPR_0", 0},
                     {IN_RANDOM, "N_ROUNDS_DEFAULT", 10}};
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        if ((contents & (uint32_t)constants[i].modules) && str_is(name, constants[i].name)) {
            double value = constants[i].value;
            *out = contents & IN_PYMATH ? val_float(value) : val_int((Wide)value);
            return true;
        }
    }
    return false;
}

/* Functions of libdevice are found under triton.language.math, where Triton 2 had them, and under
 * triton.language too. */
static const Builtin *builtin_of_module(Str name, uint32_t contents) {
    const Builtin *row = builtin_find(name, contents);
    return row || !(contents & (IN_TL | IN_MATH)) ? row : builtin_find(name, IN_TL | IN_LIBDEVICE);
}

/* What a file of the language's own library defines, which is read once it is asked for. */
static Val library_name(Elab *e, LibraryFile file, Str name) {
    if (!e->libraries[file]) {
        const Library *library = &libraries[file];
        uint32_t source = source_add(&e->ctx->sources, str_from(library->path), library->text());
        Unit *unit = unit_create(e, str_from(library->path), parse_file(&e->ctx->diags, source));
        unit->is_std = true;
        e->libraries[file] = unit;
    }
    Val v;
    return unit_lookup(e, e->libraries[file], name, &v) ? v : val_error();
}

/* What is not covered fails where it is named: types are never called. */
static Val builtin_value(Elab *e, Span span, const Builtin *row) {
    if (!elab_has_builtin(e, span, row))
        return val_error();
    if (row->handler == builtin_not_covered)
        return elab_fail(e, span, elab_not_covered, row->name);
    if (!(row->flags & BUILTIN_STD))
        return (Val){.kind = VAL_BUILTIN, .builtin = row};
    return library_name(e, builtin_library(row), str_from(row->name));
}

static Val unknown_in_module(Elab *e, Span span, Val module, Str name, uint32_t contents) {
    enum { CAPACITY = 512 };
    Str *names = ARENA_ARRAY(e->arena, Str, CAPACITY);
    uint32_t n = builtin_names(contents, names, CAPACITY - ELEM_COUNT);
    if (contents & IN_TL)
        for (int i = 0; i < ELEM_COUNT; i++)
            names[n++] = str_from(elem_info[i].name);
    elab_fail(e, span, elab_module_name, STR_ARG(module.module.path), STR_ARG(name));
    if (!(contents & (IN_TL | IN_MATH)) || !elab_instead(e, name))
        elab_suggest(e, name, names, n);
    return val_error();
}

Val elab_module_attribute(Elab *e, Span span, Val module, Str name) {
    Val v;
    if (module.module.unit && module.module.unit->given)
        return units_namespace_attribute(e, span, module, name);
    if (module.module.unit) {
        if (unit_lookup(e, module.module.unit, name, &v))
            return v;
        return import_name(e, module.module.unit, span, STR("."), name);
    }
    uint32_t contents;
    if (!module_known(module.module.path, &contents)) {
        const char *inner =
            str_format(e->arena, "%.*s.%.*s", STR_ARG(module.module.path), STR_ARG(name));
        Unit *unit = find_unit(e, e->frame->unit, str_from(inner));
        if (unit)
            return module_value(str_from(inner), unit);
        elab_fail(e, span, elab_foreign_module, STR_ARG(module.module.path), STR_ARG(name));
        if (builtin_find(name, IN_TL | IN_MATH))
            elab_hint(e, "write tl.%.*s", STR_ARG(name));
        else if (!elab_instead(e, name))
            elab_hint(e, "kernels can use triton.language, math and files found by import; pass "
                         "other values as tl.constexpr parameters");
        return val_error();
    }
    const char *inner =
        str_format(e->arena, "%.*s.%.*s", STR_ARG(module.module.path), STR_ARG(name));
    uint32_t inner_contents;
    if (module_known(str_from(inner), &inner_contents))
        return language_module(inner);
    if (((contents & IN_TL) && dtype_named(name, &v)) || module_constant(name, contents, &v))
        return v;
    const Builtin *row = builtin_of_module(name, contents);
    return row ? builtin_value(e, span, row) : unknown_in_module(e, span, module, name, contents);
}

bool elab_module_has(Elab *e, Val module, Str name) {
    Val v;
    uint32_t contents;
    if (module.module.unit && module.module.unit->given)
        return units_namespace_has(e, module, name);
    if (module.module.unit)
        return unit_lookup(e, module.module.unit, name, &v);
    if (!module_known(module.module.path, &contents))
        return false;
    const Builtin *row = builtin_of_module(name, contents);
    return (row && row->handler != builtin_not_covered &&
            (!e->request->language ||
             e->request->language >= language_since((BuiltinId)(row - builtins)))) ||
           ((contents & IN_TL) && dtype_named(name, &v)) || module_constant(name, contents, &v);
}

Val elab_language(Elab *e, Span span, Str path) {
    Str root = import_first_component(path);
    uint32_t contents;
    if (!module_known(root, &contents))
        return elab_fail(e, span, unit_language, STR_ARG(path));
    Val v = module_value(root, NULL);
    while (root.len < path.len && !val_failed(v)) {
        const Str rest = {path.ptr + root.len + 1, path.len - root.len - 1};
        const Str name = import_first_component(rest);
        v = elab_attribute(e, span, v, name);
        root.len += 1 + name.len;
    }
    return v;
}

Val elab_std(Elab *e, Str name) {
    return library_name(e, LIBRARY_STD, name);
}

/* Names */

bool elab_instead(Elab *e, Str name) {
    static const struct {
        Str name;
        const char *text;
    } table[] = {
#define INSTEAD(name, text) {STR(#name), text},
#include "frontend/instead.def"
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!str_eq(table[i].name, name))
            continue;
        elab_hint(e, "write %s", table[i].text);
        return true;
    }
    return false;
}

static Val unknown_name(Elab *e, Span span, Str name) {
    enum { CAPACITY = 512 };
    Str *names = ARENA_ARRAY(e->arena, Str, CAPACITY);
    uint32_t n = 0;
    for (size_t i = 0; i < e->frame->vars.len && n < 200; i++)
        names[n++] = e->frame->vars.data[i].name;
    const GivenUnit *given = e->frame->unit->given;
    const StmtList *body = &e->frame->unit->syntax->body;
    for (uint32_t i = 0; !given && i < body->count && n < 400; i++)
        if (body->items[i]->kind == STMT_def)
            names[n++] = body->items[i]->u.def->name;
    for (uint32_t i = 0; given && i < given->binding_count && n < 400; i++)
        names[n++] = given->bindings[i].name;
    n += builtin_names(IN_PYTHON, names + n, CAPACITY - n - 1);
    if (!given)
        names[n++] = STR("tl");
    elab_fail(e, span, elab_unknown_name, STR_ARG(name));
    if (!given && builtin_find(name, IN_TL | IN_MATH))
        elab_hint(e, "write tl.%.*s", STR_ARG(name));
    else if (given || !elab_instead(e, name))
        elab_suggest(e, name, names, n);
    return val_error();
}

static Val undefined_variable(Elab *e, Span span, Str name, const Undefined *u) {
    if (u->mismatched)
        elab_fail(e, span, elab_mismatched_variable, STR_ARG(name), u->why);
    else
        elab_fail(e, span, elab_undefined_variable, STR_ARG(name), u->why);
    if (u->span.file)
        diag_note(&e->ctx->diags, u->span, "here");
    elab_hint(e, u->mismatched ? "cast with .to(...) in one arm, or give each a name of its own"
                               : "give it a value before that, on every path");
    return val_error();
}

Val elab_name(Elab *e, Span span, Str name) {
    Val *var = vars_find(&e->frame->vars, name);
    if (var && var->kind == VAL_UNDEFINED && var->undefined->last)
        *var = elab_last_index(e, span, var->undefined->last);
    if (var)
        return var->kind == VAL_UNDEFINED ? undefined_variable(e, span, name, var->undefined)
                                          : *var;
    Val v;
    if (unit_lookup(e, e->frame->unit, name, &v) || units_numbered(e, span, name, &v))
        return v;
    const bool is_file = !e->frame->unit->given;
    if (is_file && str_is(name, "tl"))
        return language_module("triton.language");
    if (is_file && str_is(name, "triton"))
        return language_module("triton");
    const Builtin *row =
        builtin_find(name, e->frame->unit->is_std ? IN_PYTHON | IN_STD : IN_PYTHON);
    if (!row && e->frame->host)
        row = object_function(name);
    if (row)
        return (Val){.kind = VAL_BUILTIN, .builtin = row};
    return unknown_name(e, span, name);
}
