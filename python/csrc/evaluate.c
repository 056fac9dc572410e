/* Calls from a compilation into Python. They come on a thread of the library's, while the caller's
 * waits without the GIL. */
#include "function.h"

#include <string.h>

/* (text, is_run_time) */
static PyObject *argument_of(const tile_evaluation_argument *argument) {
    return Py_BuildValue("NO", str_of_text(argument->text),
                         argument->is_run_time ? Py_True : Py_False);
}

static bool add_argument(const tile_evaluation_argument *argument, PyObject *positional,
                         PyObject *keywords) {
    PyObject *value = argument_of(argument), *name = NULL;
    bool ok = value != NULL;
    if (ok && !argument->name.size)
        ok = PyList_Append(positional, value) == 0;
    else if (ok)
        ok = (name = str_of_text(argument->name)) && PyDict_SetItem(keywords, name, value) == 0;
    Py_XDECREF(name);
    Py_XDECREF(value);
    return ok;
}

/* What evaluate() gives: a literal as str, or the number of an argument. */
static PyObject *call_evaluate(const Evaluator *evaluator, const tile_evaluation *what) {
    PyObject *positional = PyList_New(0), *keywords = PyDict_New(), *given = NULL;
    bool ok = positional && keywords;
    for (size_t i = 0; ok && i < what->argument_count; i++)
        ok = add_argument(&what->arguments[i], positional, keywords);
    if (ok)
        given = PyObject_CallFunction(evaluator->function, "nNNOOi", (Py_ssize_t)what->unit,
                                      str_of_text(what->name), str_of_text(what->key), positional,
                                      keywords, (int)what->capability);
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    return given;
}

static bool keep_text(Evaluator *evaluator, PyObject *str, tile_evaluated *result) {
    PyObject *bytes = str ? PyUnicode_AsUTF8String(str) : NULL;
    if (!evaluator->kept)
        evaluator->kept = PyList_New(0);
    const bool ok = bytes && evaluator->kept && PyList_Append(evaluator->kept, bytes) == 0;
    if (ok)
        result->text = (tile_text){PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes)};
    Py_XDECREF(bytes);
    return ok;
}

static void keep_error(Evaluator *evaluator, tile_evaluated *result) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value && traceback)
        PyException_SetTraceback(value, traceback);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    if (!keep_text(evaluator, text, result))
        PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(evaluator->error);
    evaluator->error = value;
    Py_XDECREF(type);
    Py_XDECREF(traceback);
}

tile_status evaluate_binding(void *user, const tile_evaluation *what, tile_evaluated *result) {
    Evaluator *evaluator = user;
    const PyGILState_STATE held = PyGILState_Ensure();
    PyObject *given = call_evaluate(evaluator, what);
    bool ok = given != NULL;
    if (ok && PyLong_Check(given)) {
        result->argument = PyLong_AsSize_t(given);
        ok = !PyErr_Occurred();
    } else if (ok) {
        ok = keep_text(evaluator, given, result);
    }
    if (!ok)
        keep_error(evaluator, result);
    Py_XDECREF(given);
    PyGILState_Release(held);
    return ok ? TILE_OK : TILE_ERROR_SOURCE;
}
