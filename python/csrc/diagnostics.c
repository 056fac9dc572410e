/* What the library says, as exceptions of tilec._fault. */
#include "module.h"

PyObject *str_of_text(tile_text text) {
    return PyUnicode_DecodeUTF8(text.data ? text.data : "", (Py_ssize_t)text.size, "replace");
}

/* Fields of tilec._fault.Diagnostic. */
static PyObject *item_of(const tile_diagnostic *d) {
    static const char *const severities[] = {
        [TILE_REMARK] = "remark", [TILE_WARNING] = "warning", [TILE_ERROR] = "error"};
    return Py_BuildValue("sNNNIIIIN", severities[d->severity], str_of_text(d->id),
                         str_of_text(d->message), str_of_text(d->path), d->line, d->column,
                         d->end_line, d->end_column, str_of_text(d->rendered));
}

static PyObject *items_of(const tile_diagnostics *said) {
    const size_t count = said ? tile_diagnostics_count(said) : 0;
    PyObject *items = PyList_New(0);
    for (size_t i = 0; items && i < count; i++) {
        tile_diagnostic diagnostic = {.size = sizeof diagnostic};
        tile_diagnostics_get(said, i, &diagnostic);
        PyObject *item = item_of(&diagnostic);
        if (!item || PyList_Append(items, item) < 0)
            Py_CLEAR(items);
        Py_XDECREF(item);
    }
    return items;
}

static const char *status_name(tile_status status) {
    switch (status) {
#define STATUS_NAME(name, value, text)                                                             \
    case name:                                                                                     \
        return #name;
        TILE_STATUSES(STATUS_NAME)
#undef STATUS_NAME
    }
    return "TILE_ERROR_INTERNAL";
}

static PyObject *find_fault(ModuleState *state) {
    if (!state->fault) {
        PyObject *module = PyImport_ImportModule("tilec._fault");
        state->fault = module ? PyObject_GetAttrString(module, "fault") : NULL;
        Py_XDECREF(module);
    }
    return state->fault;
}

static void raise_fault(ModuleState *state, tile_status status, const tile_diagnostics *said) {
    PyObject *fault = find_fault(state), *items = fault ? items_of(said) : NULL;
    PyObject *made = items ? PyObject_CallFunction(fault, "ssO", status_name(status),
                                                   tile_status_text(status), items)
                           : NULL;
    if (made)
        PyErr_SetObject((PyObject *)Py_TYPE(made), made);
    Py_XDECREF(made);
    Py_XDECREF(items);
}

bool check_status(ModuleState *state, tile_status status, tile_diagnostics *said) {
    if (status != TILE_OK)
        raise_fault(state, status, said);
    tile_diagnostics_destroy(said);
    return status == TILE_OK;
}
