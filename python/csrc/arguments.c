/* Arguments of calls, from Python's objects. What is no number, constexpr or known array Python
 * looks at: tilec._arrays. */
#include "function.h"

#include <string.h>

/* Constexpr(literal): an argument that is part of the code. */
typedef struct ConstexprObject {
    PyObject_HEAD PyObject *literal; /* str */
} ConstexprObject;

static PyObject *constexpr_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"literal", NULL};
    PyObject *literal;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "U:Constexpr", names, &literal))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    ConstexprObject *self = (ConstexprObject *)allocate(type, 0);
    if (!self)
        return NULL;
    Py_INCREF(literal);
    self->literal = literal;
    return (PyObject *)self;
}

static void constexpr_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    Py_XDECREF(((ConstexprObject *)self)->literal);
    release(self);
    Py_DECREF(type);
}

static PyObject *constexpr_repr(PyObject *self) {
    return PyUnicode_FromFormat("Constexpr(%R)", ((ConstexprObject *)self)->literal);
}

static PyType_Slot slots[] = {
    {Py_tp_doc, "Constexpr(literal): an argument that is part of the code, as a literal of units."},
    {Py_tp_new, (void *)constexpr_new},
    {Py_tp_dealloc, (void *)constexpr_dealloc},
    {Py_tp_repr, (void *)constexpr_repr},
    {0, NULL},
};

static PyType_Spec spec = {.name = "tilec._tilec.Constexpr",
                           .basicsize = sizeof(ConstexprObject),
                           .flags = Py_TPFLAGS_DEFAULT,
                           .slots = slots};

int add_constexpr_type(PyObject *module) {
    ModuleState *state = state_of(module);
    state->constexpr_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->constexpr_type ? PyModule_AddType(module, state->constexpr_type) : -1;
}

/* Numbers */

static bool read_int(PyObject *object, tile_argument *argument) {
    int overflow;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (value == -1 && PyErr_Occurred())
        return false;
    *argument = tile_int(value);
    if (!overflow)
        return true;
    const unsigned long long bits = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
    if (overflow < 0 || PyErr_Occurred()) {
        PyErr_Format(PyExc_OverflowError, "%R fits no integer of 64 bits", object);
        return false;
    }
    argument->type = TILE_U64;
    argument->value.integer = (int64_t)bits;
    return true;
}

/* Arrays */

static bool read_dtype(PyObject *name, tile_dtype *type) {
#define DTYPE(id, text, bytes)                                                                     \
    if (!PyUnicode_CompareWithASCIIString(name, text)) {                                           \
        *type = id;                                                                                \
        return true;                                                                               \
    }
    TILE_DTYPES(DTYPE)
#undef DTYPE
    PyErr_Format(PyExc_TypeError, "no kernel has elements of type %U", name);
    return false;
}

/* tilec._arrays.describe(object) -> (address, type, storage, storage's bytes, read_only) */
static PyObject *describe(ModuleState *state, PyObject *object) {
    if (!state->describe) {
        PyObject *module = PyImport_ImportModule("tilec._arrays");
        state->describe = module ? PyObject_GetAttrString(module, "describe") : NULL;
        Py_XDECREF(module);
    }
    return state->describe ? PyObject_CallFunctionObjArgs(state->describe, object, NULL) : NULL;
}

static bool read_array(Blocks *blocks, ModuleState *state, PyObject *object, Arguments *arguments,
                       tile_argument *argument) {
    PyObject *found = describe(state, object), *type;
    unsigned long long address, storage, bytes;
    int read_only;
    tile_dtype dtype = TILE_DTYPE_AUTO;
    const bool ok =
        found && blocks_keep(blocks, object) &&
        PyArg_ParseTuple(found, "KUKKp", &address, &type, &storage, &bytes, &read_only) &&
        read_dtype(type, &dtype);
    if (ok) {
        *argument = tile_pointer(address, dtype);
        if (storage)
            arguments->arrays[arguments->array_count++] = (tile_host_array){
                .data = (void *)(uintptr_t)storage, .bytes = bytes, .read_only = read_only};
    }
    Py_XDECREF(found);
    return ok;
}

static bool read_argument(Blocks *blocks, ModuleState *state, PyObject *object,
                          Arguments *arguments, tile_argument *argument) {
    tile_text text;
    if (PyBool_Check(object)) {
        *argument = tile_int(object == Py_True);
        argument->type = TILE_I1;
        return true;
    }
    if (PyLong_Check(object))
        return read_int(object, argument);
    if (PyFloat_Check(object)) {
        *argument = tile_float(PyFloat_AsDouble(object));
        return true;
    }
    if (object == Py_None) {
        *argument = tile_constexpr((tile_text){"None", 4});
        return true;
    }
    if (Py_TYPE(object) != state->constexpr_type)
        return read_array(blocks, state, object, arguments, argument);
    if (!blocks_text(blocks, ((ConstexprObject *)object)->literal, "a literal", &text))
        return false;
    *argument = tile_constexpr(text);
    return true;
}

bool read_arguments(Blocks *blocks, ModuleState *state, PyObject *list, Arguments *arguments) {
    const Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : -1;
    *arguments = (Arguments){0};
    if (count < 0) {
        PyErr_Format(PyExc_TypeError, "arguments are a list, not %R", list);
        return false;
    }
    arguments->items = blocks_alloc(blocks, (size_t)count, sizeof *arguments->items);
    arguments->arrays = blocks_alloc(blocks, (size_t)count, sizeof *arguments->arrays);
    if (!arguments->items || !arguments->arrays)
        return false;
    for (; arguments->count < (size_t)count; arguments->count++)
        if (!read_argument(blocks, state, PyList_GetItem(list, (Py_ssize_t)arguments->count),
                           arguments, &arguments->items[arguments->count]))
            return false;
    return true;
}
