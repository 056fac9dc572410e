/* Texts of functions: which lines they take, which names they have from elsewhere. */
#include "module.h"

static PyObject *place_of(const tile_free_name *name) {
    return PyUnicode_FromString(name->in_default      ? "default"
                                : name->in_annotation ? "annotation"
                                : name->in_decorator  ? "decorator"
                                                      : "body");
}

static PyObject *names_of(const tile_name_list *list) {
    PyObject *names = PyList_New(0);
    for (size_t i = 0; names && i < tile_names_count(list); i++) {
        tile_free_name name = {.size = sizeof name};
        tile_names_get(list, i, &name);
        PyObject *item =
            Py_BuildValue("NIIN", str_of_text(name.name), name.line, name.column, place_of(&name));
        if (!item || PyList_Append(names, item) < 0)
            Py_CLEAR(names);
        Py_XDECREF(item);
    }
    return names;
}

PyObject *source_names(PyObject *module, PyObject *args) {
    ModuleState *state = state_of(module);
    tile_text source;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "s#:names", &source.data, &size))
        return NULL;
    tile_context *context = module_context(state);
    if (!context)
        return NULL;
    source.size = (size_t)size;
    tile_name_list *list = NULL;
    tile_diagnostics *said = NULL;
    const tile_status status = tile_names_create(context, source, &list, &said);
    PyObject *names = check_status(state, status, said) ? names_of(list) : NULL;
    tile_names_destroy(list);
    return names;
}

PyObject *source_extent(PyObject *module, PyObject *args) {
    tile_text source;
    Py_ssize_t size;
    unsigned line;
    tile_extent extent = {.size = sizeof extent};
    if (!PyArg_ParseTuple(args, "s#I:extent", &source.data, &size, &line))
        return NULL;
    source.size = (size_t)size;
    if (!check_status(state_of(module), tile_source_extent(source, line, &extent), NULL))
        return NULL;
    return Py_BuildValue("IIII", extent.first_line, extent.end_line, extent.def_line,
                         extent.column);
}
