/* Arguments of calls, from Python's objects: numbers, constexprs, tuples; arrays and descriptors
 * are beside (arrays.c). */
#include "function.h"

#include <string.h>

/* Constexpr(literal): an argument that is part of the code. */
typedef struct ConstexprObject {
    PyObject_HEAD PyObject *literal; /* str, or int */
} ConstexprObject;

static PyObject *constexpr_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"literal", NULL};
    PyObject *literal;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:Constexpr", names, &literal))
        return NULL;
    if (!PyUnicode_Check(literal) && !PyLong_CheckExact(literal)) {
        PyErr_Format(PyExc_TypeError, "a literal is a str or an int, not %R", literal);
        return NULL;
    }
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
    {Py_tp_doc,
     "Constexpr(literal): an argument that is part of the code, as a literal of units, or an "
     "int."},
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
        PyErr_Format(PyExc_OverflowError,
                     "%R fits no integer of 64 bits: integer to be specialized too large to "
                     "represent",
                     object);
        return false;
    }
    argument->type = TILE_U64;
    argument->value.integer = (int64_t)bits;
    return true;
}

bool is_float_type(tile_dtype type) {
    return type == TILE_FP16 || type == TILE_BF16 || type == TILE_FP32 || type == TILE_FP64;
}

static bool refuse_typed(PyObject *object, PyObject *name) {
    PyErr_Format(PyExc_TypeError, "%R is no %U, as which the parameter is annotated", object, name);
    return false;
}

bool integer_narrow(tile_argument *argument, tile_dtype type) {
    static const uint8_t bytes[] = {
#define BYTES(id, text, size) [id] = size,
        TILE_DTYPES(BYTES)
#undef BYTES
    };
    const int64_t value = argument->value.integer;
    const int bits = 8 * bytes[type];
    if (type == TILE_I1)
        argument->value.integer = value != 0;
    else if (bits < 64 && (argument->type == TILE_U64 || value < -(INT64_C(1) << (bits - 1)) ||
                           value >= INT64_C(1) << bits))
        return false;
    argument->type = type;
    return true;
}

static bool read_typed_int(PyObject *object, PyObject *name, tile_dtype type,
                           tile_argument *argument) {
    if (!PyLong_Check(object))
        return refuse_typed(object, name);
    if (!read_int(object, argument))
        return false;
    if (integer_narrow(argument, type))
        return true;
    PyErr_Format(PyExc_OverflowError, "%R does not fit %U, as which the parameter is annotated",
                 object, name);
    return false;
}

/* Of a parameter that is annotated with a type, "i8", "*fp16": pointers may be addresses. */
static bool read_typed(Reader *r, PyObject *object, PyObject *name, tile_argument *argument) {
    tile_dtype type;
    bool is_pointer;
    if (!read_type(name, &type, &is_pointer))
        return false;
    if (is_pointer && PyLong_Check(object)) {
        const unsigned long long address = PyLong_AsUnsignedLongLong(object);
        *argument = tile_pointer(address, type);
        return !PyErr_Occurred();
    }
    if (is_pointer) {
        const bool ok = read_array(r, object, argument);
        argument->type = type;
        return ok;
    }
    if (!is_float_type(type))
        return read_typed_int(object, name, type, argument);
    if (!PyFloat_Check(object) && !PyLong_Check(object))
        return refuse_typed(object, name);
    *argument = tile_float(PyFloat_AsDouble(object));
    argument->type = type;
    return !PyErr_Occurred();
}

/* Tuples */

/* The unit of a class of named tuples, and 1; 0: of others. Negative: an exception. */
static Py_ssize_t find_record(Reader *r, PyObject *tuple) {
    if ((PyObject *)Py_TYPE(tuple) == (PyObject *)&PyTuple_Type || !r->units)
        return 0;
    PyObject *key = PyLong_FromVoidPtr(Py_TYPE(tuple));
    PyObject *unit = key ? PyDict_GetItemWithError(r->units, key) : NULL;
    Py_XDECREF(key);
    if (!unit)
        return PyErr_Occurred() ? -1 : 0;
    return PyLong_AsSsize_t(unit) + 1;
}

static bool read_tuple(Reader *r, PyObject *tuple, tile_argument *argument, unsigned depth) {
    enum { MOST_DEPTH = 64 };
    const Py_ssize_t count = PyTuple_Size(tuple), record = find_record(r, tuple);
    tile_argument *items = blocks_alloc(r->blocks, (size_t)count, sizeof *items);
    if (!items || record < 0 || !blocks_keep(r->blocks, tuple))
        return false;
    if (depth > MOST_DEPTH || count > TILE_MAX_ARGUMENTS) {
        PyErr_SetString(PyExc_ValueError, "a tuple is too long, or too deep");
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (!read_argument(r, PyTuple_GetItem(tuple, i), NULL, &items[i], depth + 1))
            return false;
    *argument = tile_tuple(items, (uint32_t)count);
    argument->value.tuple.record = (uint32_t)record;
    return true;
}

static bool read_constexpr(Reader *r, PyObject *object, tile_argument *argument) {
    PyObject *literal = ((ConstexprObject *)object)->literal;
    tile_text text;
    int overflow = 1;
    if (PyLong_Check(literal)) {
        *argument = tile_constexpr_int(PyLong_AsLongLongAndOverflow(literal, &overflow));
        if (!overflow)
            return true;
        literal = PyObject_Str(literal);
    } else {
        Py_INCREF(literal);
    }
    const bool ok = literal && blocks_text(r->blocks, literal, "a literal", &text);
    Py_XDECREF(literal);
    if (ok)
        *argument = tile_constexpr(text);
    return ok;
}

bool read_argument(Reader *r, PyObject *object, PyObject *type, tile_argument *argument,
                   unsigned depth) {
    if (object == Py_None) {
        *argument = tile_constexpr((tile_text){"None", 4});
        return true;
    }
    if (Py_TYPE(object) == r->state->constexpr_type)
        return read_constexpr(r, object, argument);
    if (type && type != Py_None)
        return read_typed(r, object, type, argument);
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
    if (PyTuple_Check(object))
        return read_tuple(r, object, argument, depth);
    if (is_descriptor(r->state, object))
        return read_descriptor(r, object, argument);
    return read_array(r, object, argument);
}

/* Says of which parameter it was that an exception of ours speaks. */
static void name_parameter(PyObject *name) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (type != PyExc_TypeError && type != PyExc_ValueError && type != PyExc_OverflowError) {
        PyErr_Restore(type, value, traceback);
        return;
    }
    PyErr_Format(type, "argument '%U': %S", name, value ? value : Py_None);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

static bool read_next(Reader *r, PyObject *object) {
    PyObject *name, *type = Py_None;
    tile_argument *argument = &r->items[r->count];
    if (!r->params)
        return read_argument(r, object, NULL, argument, 0);
    if (!PyArg_ParseTuple(PyTuple_GetItem(r->params, (Py_ssize_t)r->count), "UO:parameter", &name,
                          &type))
        return false;
    if (read_argument(r, object, type, argument, 0))
        return true;
    name_parameter(name);
    return false;
}

bool read_arguments(Reader *r, PyObject *list) {
    const Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : -1;
    if (count < 0 ||
        (r->params && (!PyTuple_Check(r->params) || PyTuple_Size(r->params) != count))) {
        PyErr_Format(PyExc_TypeError,
                     "arguments are a list, and parameters as long a tuple, not %R",
                     count < 0 ? list : r->params);
        return false;
    }
    r->items = blocks_alloc(r->blocks, (size_t)count, sizeof *r->items);
    if (!r->items)
        return false;
    for (; r->count < (size_t)count; r->count++)
        if (!read_next(r, PyList_GetItem(list, (Py_ssize_t)r->count)))
            return false;
    return true;
}
