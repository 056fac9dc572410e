/* Arguments of a launch by the quick way. */
#include "launcher.h"
#include "tensors.h"

#include <string.h>

typedef struct Gathering {
    ModuleState *state;
    Gathered *to;
    size_t parameter;
} Gathering;

static bool add_odd(Gathering *g, PyObject *object, tile_argument *argument) {
    Gathered *to = g->to;
    if (to->odd_count == MOST_ODDS)
        return false;
    to->odds[to->odd_count++] = (Odd){g->parameter, object, argument};
    return true;
}

static bool read_integer(PyObject *object, tile_argument *argument) {
    int overflow;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    *argument = tile_int(value);
    if (!overflow)
        return true;
    if (overflow < 0)
        return false;
    const unsigned long long bits = PyLong_AsUnsignedLongLong(object);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    argument->type = TILE_U64;
    argument->value.integer = (int64_t)bits;
    return true;
}

static tile_argument literal(const char *text, size_t size) {
    return tile_constexpr((tile_text){text, size});
}

/* True, False and None. */
static bool read_singleton(PyObject *object, bool is_constexpr, tile_argument *argument) {
    if (object == Py_None) {
        *argument = literal("None", 4);
        return true;
    }
    if (object != Py_True && object != Py_False)
        return false;
    const bool value = object == Py_True;
    if (is_constexpr) {
        *argument = value ? literal("True", 4) : literal("False", 5);
    } else {
        *argument = tile_int(value);
        argument->type = TILE_I1;
    }
    return true;
}

static bool gather_constexpr(Gathering *g, PyObject *object, tile_argument *argument) {
    int overflow = 1;
    if (PyLong_CheckExact(object)) {
        *argument = tile_constexpr_int(PyLong_AsLongLongAndOverflow(object, &overflow));
        if (!overflow)
            return true;
    }
    return read_singleton(object, true, argument) || add_odd(g, object, argument);
}

static bool gather_value(Gathering *g, PyObject *object, tile_argument *argument);

static bool gather_items(Gathering *g, PyObject *tuple, tile_argument *argument) {
    Gathered *to = g->to;
    const size_t count = (size_t)PyTuple_Size(tuple);
    if (count > MOST_ITEMS - to->item_count || Py_EnterRecursiveCall(" in a tuple of arguments")) {
        PyErr_Clear();
        return false;
    }
    tile_argument *items = &to->items[to->item_count];
    to->item_count += count;
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        ok = gather_value(g, PyTuple_GetItem(tuple, (Py_ssize_t)i), &items[i]);
    Py_LeaveRecursiveCall();
    *argument = tile_tuple(items, (uint32_t)count);
    return ok;
}

static bool gather_descriptor(Gathering *g, PyObject *object, tile_argument *argument) {
    Gathered *to = g->to;
    if (to->descriptor_count == MOST_DESCRIPTORS)
        return false;
    tile_descriptor *descriptor = &to->descriptors[to->descriptor_count++];
    PyObject *base = PyObject_GetAttrString(object, "base");
    const TensorType *type = base ? tensor_type(g->state, base, to->registers) : NULL;
    tile_argument pointer;
    const bool ok = type && tensor_read(g->state, type, base, to, &pointer) &&
                    read_descriptor_fields(object, descriptor);
    Py_XDECREF(base);
    if (!ok) {
        PyErr_Clear();
        return false;
    }
    descriptor->address = pointer.value.address;
    descriptor->type = pointer.type;
    *argument = tile_tensor(descriptor);
    return true;
}

static bool gather_object(Gathering *g, PyObject *object, tile_argument *argument) {
    if (PyLong_Check(object)) /* such as IntEnum's */
        return read_integer(object, argument);
    const TensorType *type = tensor_type(g->state, object, false);
    if (!type && is_descriptor(g->state, object))
        return gather_descriptor(g, object, argument);
    if (!type && g->to->registers)
        type = tensor_type(g->state, object, true);
    if (!type)
        return add_odd(g, object, argument);
    if (type->way == WAY_TUPLE)
        return gather_items(g, object, argument);
    if (type->way == WAY_RECORD)
        return gather_items(g, object, argument) &&
               add_odd(g, (PyObject *)Py_TYPE(object), argument);
    return tensor_read(g->state, type, object, g->to, argument);
}

static bool gather_value(Gathering *g, PyObject *object, tile_argument *argument) {
    if (PyLong_CheckExact(object))
        return read_integer(object, argument);
    if (PyFloat_CheckExact(object)) {
        *argument = tile_float(PyFloat_AsDouble(object));
        return true;
    }
    if (read_singleton(object, false, argument))
        return true;
    if (PyTuple_CheckExact(object))
        return gather_items(g, object, argument);
    return gather_object(g, object, argument);
}

/* Of a parameter that is annotated with a type: what is not plainly of it goes the slow way. */
static bool gather_typed(Gathering *g, const Parameter *parameter, PyObject *object,
                         tile_argument *argument) {
    if (parameter->is_pointer) {
        argument->kind = TILE_ARGUMENT_CONSTEXPR; /* until it is an array */
        const bool ok = gather_object(g, object, argument);
        argument->type = parameter->type;
        return ok && argument->kind == TILE_ARGUMENT_POINTER;
    }
    if (is_float_type(parameter->type)) {
        if (!PyFloat_CheckExact(object))
            return false;
        *argument = tile_float(PyFloat_AsDouble(object));
        argument->type = parameter->type;
        return true;
    }
    return PyLong_Check(object) && read_integer(object, argument) &&
           integer_narrow(argument, parameter->type);
}

bool gather(ModuleState *state, const Parameter *parameters, size_t count, PyObject *const *values,
            Gathered *gathered) {
    Gathering g = {state, gathered, 0};
    gathered->item_count = gathered->descriptor_count = gathered->odd_count = 0;
    gathered->device = -1;
    gathered->is_several = false;
    gathered->exchange = NULL;
    for (; g.parameter < count; g.parameter++) {
        const Parameter *parameter = &parameters[g.parameter];
        tile_argument *argument = &gathered->arguments[g.parameter];
        PyObject *value = values[g.parameter];
        const bool ok = parameter->is_constexpr ? gather_constexpr(&g, value, argument)
                        : parameter->type       ? gather_typed(&g, parameter, value, argument)
                                                : gather_value(&g, value, argument);
        if (!ok)
            return false;
    }
    return !gathered->is_several;
}
