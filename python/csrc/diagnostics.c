/* What the library says, as exceptions of tilec._fault. */
#include "module.h"

PyObject *str_of_text(tile_text text) {
    return PyUnicode_DecodeUTF8(text.data ? text.data : "", (Py_ssize_t)text.size, "replace");
}

/* (x, y, z), or None */
static PyObject *program_of(const tile_diagnostic *d) {
    if (!d->has_program)
        Py_RETURN_NONE;
    return Py_BuildValue("III", d->program[0], d->program[1], d->program[2]);
}

/* A tuple of (id, message, path, line, column). */
static PyObject *notes_of(const tile_diagnostic *d) {
    PyObject *notes = PyTuple_New((Py_ssize_t)d->note_count);
    for (size_t i = 0; notes && i < d->note_count; i++) {
        const tile_diagnostic *note = d->notes[i];
        PyObject *item = Py_BuildValue("NNNII", str_of_text(note->id), str_of_text(note->message),
                                       str_of_text(note->path), note->line, note->column);
        if (!item || PyTuple_SetItem(notes, (Py_ssize_t)i, item) < 0)
            Py_CLEAR(notes);
    }
    return notes;
}

/* Fields of tilec._fault.Diagnostic. */
static PyObject *item_of(const tile_diagnostic *d) {
    static const char *const severities[] = {
        [TILE_REMARK] = "remark", [TILE_WARNING] = "warning", [TILE_ERROR] = "error"};
    return Py_BuildValue("sNNNIIIINKKNN", severities[d->severity], str_of_text(d->id),
                         str_of_text(d->message), str_of_text(d->path), d->line, d->column,
                         d->end_line, d->end_column, str_of_text(d->rendered),
                         (unsigned long long)d->required, (unsigned long long)d->limit,
                         program_of(d), notes_of(d));
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

/* A function of tilec._fault, kept in `kept`. */
static PyObject *find(PyObject **kept, const char *name) {
    if (!*kept) {
        PyObject *module = PyImport_ImportModule("tilec._fault");
        *kept = module ? PyObject_GetAttrString(module, name) : NULL;
        Py_XDECREF(module);
    }
    return *kept;
}

/* Warnings and remarks of what went well; false with an exception, which a warning may be. */
static bool tell(ModuleState *state, const tile_diagnostics *said) {
    PyObject *function = find(&state->tell, "tell"), *items = function ? items_of(said) : NULL;
    PyObject *done = items ? PyObject_CallFunctionObjArgs(function, items, NULL) : NULL;
    Py_XDECREF(items);
    Py_XDECREF(done);
    return done != NULL;
}

static void raise_fault(ModuleState *state, tile_status status, const tile_diagnostics *said) {
    PyObject *fault = find(&state->fault, "fault"), *items = fault ? items_of(said) : NULL;
    PyObject *made = items ? PyObject_CallFunction(fault, "ssO", status_name(status),
                                                   tile_status_text(status), items)
                           : NULL;
    if (made)
        PyErr_SetObject((PyObject *)Py_TYPE(made), made);
    Py_XDECREF(made);
    Py_XDECREF(items);
}

bool check_status(ModuleState *state, tile_status status, tile_diagnostics *said) {
    bool ok = status == TILE_OK;
    if (!ok)
        raise_fault(state, status, said);
    else if (said && tile_diagnostics_count(said))
        ok = tell(state, said);
    tile_diagnostics_destroy(said);
    return ok;
}
