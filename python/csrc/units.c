/* Units and options, from Python's lists and dicts. */
#include "function.h"

static bool wrong(const char *what, PyObject *got) {
    PyErr_Format(PyExc_TypeError, "%s, not %R", what, got);
    return false;
}

static const char *const binding_kinds[] = {
    [TILE_BIND_LITERAL] = "literal",   [TILE_BIND_UNIT] = "unit",
    [TILE_BIND_LANGUAGE] = "language", [TILE_BIND_NAMESPACE] = "namespace",
    [TILE_BIND_UNUSABLE] = "unusable", [TILE_BIND_EVALUATE] = "evaluate",
};

enum { BINDING_KINDS = sizeof binding_kinds / sizeof *binding_kinds };

static bool read_kind(PyObject *str, tile_binding_kind *kind) {
    for (int i = 0; PyUnicode_Check(str) && i < BINDING_KINDS; i++)
        if (!PyUnicode_CompareWithASCIIString(str, binding_kinds[i])) {
            *kind = (tile_binding_kind)i;
            return true;
        }
    return wrong("the kind of a binding is \"literal\", \"unit\", \"language\", \"namespace\", "
                 "\"unusable\" or \"evaluate\"",
                 str);
}

/* (name, kind, text or None, unit or -1) */
static bool read_binding(Blocks *blocks, PyObject *tuple, tile_binding *binding) {
    PyObject *name, *kind, *text;
    Py_ssize_t unit;
    if (!PyTuple_Check(tuple))
        return wrong("a binding is a tuple", tuple);
    if (!PyArg_ParseTuple(tuple, "UOOn:binding", &name, &kind, &text, &unit))
        return false;
    binding->unit = unit < 0 ? 0 : (size_t)unit;
    return blocks_text(blocks, name, "the name of a binding", &binding->name) &&
           read_kind(kind, &binding->kind) &&
           (text == Py_None || blocks_text(blocks, text, "the text of a binding", &binding->text));
}

static bool read_bindings(Blocks *blocks, PyObject *list, tile_unit *unit) {
    const Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : -1;
    if (count < 0)
        return wrong("bindings are a list", list);
    tile_binding *bindings = blocks_alloc(blocks, (size_t)count, sizeof *bindings);
    if (!bindings)
        return false;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!read_binding(blocks, PyList_GetItem(list, i), &bindings[i]))
            return false;
    unit->bindings = bindings;
    unit->binding_count = (size_t)count;
    return true;
}

static bool read_texts(Blocks *blocks, PyObject *tuple, const char *what, const tile_text **texts,
                       size_t *count) {
    if (!PyTuple_Check(tuple))
        return wrong("names of parameters are a tuple", tuple);
    tile_text *made = blocks_alloc(blocks, (size_t)PyTuple_Size(tuple), sizeof *made);
    if (!made)
        return false;
    for (*count = 0; *count < (size_t)PyTuple_Size(tuple); ++*count)
        if (!blocks_text(blocks, PyTuple_GetItem(tuple, (Py_ssize_t)*count), what, &made[*count]))
            return false;
    *texts = made;
    return true;
}

/* ("function", path, name, source, first_line, first_column, noinline, bindings), what not to
 * specialise on: tuples of parameters' names, of values and of alignment; and what is said where
 * its result is thrown away, or None. */
static bool read_function(Blocks *blocks, PyObject *tuple, tile_unit *unit) {
    PyObject *path, *source, *bindings, *values = NULL, *alignments = NULL, *must_use = Py_None;
    const char *kind, *name;
    int noinline;
    if (!PyArg_ParseTuple(tuple, "sUsUIIpO|OOO:unit", &kind, &path, &name, &source,
                          &unit->first_line, &unit->first_column, &noinline, &bindings, &values,
                          &alignments, &must_use))
        return false;
    unit->noinline = noinline;
    return blocks_text(blocks, path, "the path of a unit", &unit->path) &&
           blocks_text(blocks, source, "the text of a unit", &unit->source) &&
           read_bindings(blocks, bindings, unit) &&
           (!values || read_texts(blocks, values, "the name of a parameter",
                                  &unit->do_not_specialize, &unit->do_not_specialize_count)) &&
           (!alignments || read_texts(blocks, alignments, "the name of a parameter",
                                      &unit->do_not_specialize_on_alignment,
                                      &unit->do_not_specialize_on_alignment_count)) &&
           (must_use == Py_None || blocks_text(blocks, must_use, "what is said of unused results",
                                               &unit->must_use_result));
}

/* (name, literal of its default or None) */
static bool read_record_field(Blocks *blocks, PyObject *tuple, tile_named *field) {
    PyObject *name, *fallback;
    if (!PyTuple_Check(tuple))
        return wrong("a field of a record is a tuple", tuple);
    return PyArg_ParseTuple(tuple, "UO:field", &name, &fallback) &&
           blocks_text(blocks, name, "the name of a field", &field->name) &&
           (fallback == Py_None ||
            blocks_text(blocks, fallback, "the default of a field", &field->value));
}

/* ("record", name, fields), ("aggregate", name, fields, bindings of methods) */
static bool read_record(Blocks *blocks, PyObject *tuple, tile_unit_kind of, tile_unit *unit) {
    PyObject *name, *list, *methods = NULL;
    const char *kind;
    if (!PyArg_ParseTuple(tuple, "sUO|O:record", &kind, &name, &list, &methods) ||
        (methods && !read_bindings(blocks, methods, unit)))
        return false;
    const Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : -1;
    if (count < 0)
        return wrong("fields of a record are a list", list);
    tile_named *fields = blocks_alloc(blocks, (size_t)count, sizeof *fields);
    if (!fields)
        return false;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!read_record_field(blocks, PyList_GetItem(list, i), &fields[i]))
            return false;
    unit->kind = of;
    unit->fields = fields;
    unit->field_count = (size_t)count;
    return blocks_text(blocks, name, "the name of a record", &unit->name);
}

static bool read_unit(Blocks *blocks, PyObject *tuple, tile_unit *unit) {
    if (!PyTuple_Check(tuple) || !PyTuple_Size(tuple))
        return wrong("a unit is a tuple", tuple);
    PyObject *kind = PyTuple_GetItem(tuple, 0);
    unit->size = sizeof *unit;
    static const struct {
        const char *name;
        tile_unit_kind kind;
    } kinds[] = {{"function", TILE_UNIT_FUNCTION},
                 {"constexpr", TILE_UNIT_CONSTEXPR},
                 {"record", TILE_UNIT_RECORD},
                 {"aggregate", TILE_UNIT_AGGREGATE}};
    for (size_t i = 0; PyUnicode_Check(kind) && i < sizeof kinds / sizeof *kinds; i++) {
        if (PyUnicode_CompareWithASCIIString(kind, kinds[i].name))
            continue;
        unit->kind = kinds[i].kind;
        return kinds[i].kind == TILE_UNIT_FUNCTION || kinds[i].kind == TILE_UNIT_CONSTEXPR
                   ? read_function(blocks, tuple, unit)
                   : read_record(blocks, tuple, kinds[i].kind, unit);
    }
    return wrong("a unit is a function, a constexpr, a record or an aggregate", kind);
}

bool read_units(Blocks *blocks, PyObject *list, tile_compile_options *options) {
    const Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : -1;
    if (count < 0)
        return wrong("units are a list", list);
    tile_unit *units = blocks_alloc(blocks, (size_t)count, sizeof *units);
    if (!units)
        return false;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!read_unit(blocks, PyList_GetItem(list, i), &units[i]))
            return false;
    options->units = units;
    options->unit_count = (size_t)count;
    return true;
}

/* Options */

static bool read_number(Blocks *blocks, PyObject *value, const char *name, int32_t *number) {
    const long read = PyLong_AsLong(value);
    if (read == -1 && PyErr_Occurred())
        return false;
    if (read < INT32_MIN || read > INT32_MAX) {
        PyErr_Format(PyExc_OverflowError, "%s=%R is out of range", name, value);
        return false;
    }
    *number = (int32_t)read;
    return true;
}

static bool read_switch(Blocks *blocks, PyObject *value, const char *name, bool *is_on) {
    const int truth = PyObject_IsTrue(value);
    *is_on = truth > 0;
    return truth >= 0;
}

static bool read_text(Blocks *blocks, PyObject *value, const char *name, tile_text *text) {
    return blocks_text(blocks, value, name, text);
}

/* {name: text}, of constexprs and types */
static bool read_named(Blocks *blocks, PyObject *dict, const tile_named **texts, size_t *count) {
    PyObject *key, *value;
    Py_ssize_t position = 0;
    if (!PyDict_Check(dict))
        return wrong("constexprs and types are dicts", dict);
    tile_named *named = blocks_alloc(blocks, (size_t)PyDict_Size(dict), sizeof *named);
    if (!named)
        return false;
    *texts = named;
    while (PyDict_Next(dict, &position, &key, &value)) {
        tile_named *each = &named[(*count)++];
        if (!blocks_text(blocks, key, "the name of a parameter", &each->name) ||
            !blocks_text(blocks, value, "a literal or type", &each->value))
            return false;
    }
    return true;
}

static bool read_option(Blocks *blocks, PyObject *name, PyObject *value,
                        tile_compile_options *options) {
    if (!PyUnicode_Check(name))
        return wrong("the name of an option is a str", name);
    if (!PyUnicode_CompareWithASCIIString(name, "constexprs"))
        return read_named(blocks, value, &options->constexprs, &options->constexpr_count);
    if (!PyUnicode_CompareWithASCIIString(name, "types"))
        return read_named(blocks, value, &options->types, &options->type_count);
#define NUMBER read_number
#define SWITCH read_switch
#define TEXT read_text
#define OPTION(field, read)                                                                        \
    if (!PyUnicode_CompareWithASCIIString(name, #field))                                           \
        return read(blocks, value, #field, &options->field);
#include "options.def"
#undef OPTION
#undef TEXT
#undef SWITCH
#undef NUMBER
    PyErr_Format(PyExc_TypeError, "there is no option %R", name);
    return false;
}

bool read_options(Blocks *blocks, PyObject *dict, tile_compile_options *options) {
    PyObject *name, *value;
    Py_ssize_t position = 0;
    if (!PyDict_Check(dict))
        return wrong("options are a dict", dict);
    while (PyDict_Next(dict, &position, &name, &value))
        if (!read_option(blocks, name, value, options))
            return false;
    return true;
}
