/* Arrays among arguments, and descriptors of them. Whatever kind they are of, Python looks at them:
 * tilec._arrays. */
#include "function.h"

#include <string.h>

static bool find_dtype(const char *name, size_t size, tile_dtype *type) {
#define DTYPE(id, text, bytes)                                                                     \
    if (size == sizeof text - 1 && !memcmp(name, text, size)) {                                    \
        *type = id;                                                                                \
        return true;                                                                               \
    }
    TILE_DTYPES(DTYPE)
    DTYPE(TILE_I1, "u1", 1)
#undef DTYPE
    return false;
}

const char *dtype_text(tile_dtype type) {
    static const char *const names[] = {
#define NAME(id, text, bytes) [id] = text,
        TILE_DTYPES(NAME)
#undef NAME
    };
    return names[type];
}

bool read_type(PyObject *name, tile_dtype *type, bool *is_pointer) {
    Py_ssize_t size;
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &size) : NULL;
    if (!text) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "a type is a str, not %R", name);
        return false;
    }
    *is_pointer = *text == '*';
    const size_t mark = *is_pointer ? 1 + (text[1] == 'k') : 0;
    if (find_dtype(text + mark, (size_t)size - mark, type))
        return true;
    PyErr_Format(PyExc_TypeError, "no kernel has elements of type %s", text + mark);
    return false;
}

/* tilec._arrays.describe(object) */
static PyObject *describe(ModuleState *state, PyObject *object) {
    if (!state->describe) {
        PyObject *module = PyImport_ImportModule("tilec._arrays");
        state->describe = module ? PyObject_GetAttrString(module, "describe") : NULL;
        Py_XDECREF(module);
    }
    return state->describe ? PyObject_CallFunctionObjArgs(state->describe, object, NULL) : NULL;
}

static bool add_array(Reader *r, tile_host_array array) {
    if (r->array_count == r->array_room) {
        const size_t room = r->array_room ? 2 * r->array_room : 16;
        tile_host_array *grown = blocks_alloc(r->blocks, room, sizeof *grown);
        if (!grown)
            return false;
        if (r->array_count)
            memcpy(grown, r->arrays, r->array_count * sizeof *grown);
        r->arrays = grown;
        r->array_room = room;
    }
    r->arrays[r->array_count++] = array;
    return true;
}

bool read_array(Reader *r, PyObject *object, tile_argument *argument) {
    PyObject *found = describe(r->state, object), *type, *keep = NULL;
    unsigned long long address, storage, bytes;
    int read_only;
    bool is_pointer;
    tile_dtype dtype;
    const bool ok =
        found && blocks_keep(r->blocks, object) && blocks_keep(r->blocks, found) &&
        PyArg_ParseTuple(found, "KUKKp|O", &address, &type, &storage, &bytes, &read_only, &keep) &&
        read_type(type, &dtype, &is_pointer);
    Py_XDECREF(found);
    if (!ok)
        return false;
    *argument = tile_pointer(address, dtype);
    r->has_read_only |= !storage && read_only;
    return !storage || add_array(r, (tile_host_array){.data = (void *)(uintptr_t)storage,
                                                      .bytes = bytes,
                                                      .read_only = read_only});
}

/* Descriptors */

PyObject *set_descriptor_type(PyObject *module, PyObject *type) {
    ModuleState *state = state_of(module);
    Py_INCREF(type);
    Py_XDECREF(state->descriptor_type);
    state->descriptor_type = type;
    Py_RETURN_NONE;
}

bool is_descriptor(ModuleState *state, PyObject *object) {
    if (!state->descriptor_type)
        return false;
    if ((PyObject *)Py_TYPE(object) == state->descriptor_type)
        return true;
    const int is_one = PyObject_IsInstance(object, state->descriptor_type);
    if (is_one < 0)
        PyErr_Clear();
    return is_one > 0;
}

/* A field that is a sequence of integers, as a tuple; NULL with an exception. */
static PyObject *read_field(PyObject *object, const char *name) {
    PyObject *value = PyObject_GetAttrString(object, name);
    PyObject *tuple = value ? PySequence_Tuple(value) : NULL;
    Py_XDECREF(value);
    return tuple;
}

static bool read_extent(PyObject *item, int64_t *extent) {
    PyObject *number = PyNumber_Index(item);
    *extent = number ? PyLong_AsLongLong(number) : -1;
    Py_XDECREF(number);
    return !PyErr_Occurred();
}

static bool read_extents(PyObject *object, const char *name, int32_t rank, int64_t extents[5]) {
    PyObject *tuple = read_field(object, name);
    bool ok = tuple != NULL;
    if (ok && PyTuple_Size(tuple) != rank) {
        PyErr_Format(PyExc_ValueError, "a descriptor has %zd %s and %d dimensions",
                     PyTuple_Size(tuple), name, (int)rank);
        ok = false;
    }
    for (int32_t d = 0; ok && d < rank; d++)
        ok = read_extent(PyTuple_GetItem(tuple, d), &extents[d]);
    Py_XDECREF(tuple);
    return ok;
}

static bool read_rank(PyObject *object, int32_t *rank) {
    PyObject *shape = read_field(object, "shape");
    const Py_ssize_t count = shape ? PyTuple_Size(shape) : 0;
    Py_XDECREF(shape);
    if (!shape)
        return false;
    if (count >= 1 && count <= 5) {
        *rank = (int32_t)count;
        return true;
    }
    PyErr_Format(PyExc_ValueError, "a descriptor has 1 to 5 dimensions, not %zd", count);
    return false;
}

static bool read_padding(PyObject *object, bool *pads_with_nan) {
    PyObject *padding = PyObject_GetAttrString(object, "padding");
    if (!padding)
        return false;
    *pads_with_nan = PyUnicode_Check(padding) && !PyUnicode_CompareWithASCIIString(padding, "nan");
    Py_DECREF(padding);
    return true;
}

static bool read_block(PyObject *object, tile_descriptor *descriptor) {
    int64_t block[5];
    if (!read_extents(object, "block_shape", descriptor->rank, block))
        return false;
    for (int32_t d = 0; d < descriptor->rank; d++) {
        if (block[d] < 1 || block[d] > INT32_MAX) {
            PyErr_Format(PyExc_ValueError, "extent %d of a descriptor's block is %lld", (int)d,
                         (long long)block[d]);
            return false;
        }
        descriptor->block[d] = (int32_t)block[d];
    }
    return true;
}

bool read_descriptor_fields(PyObject *object, tile_descriptor *descriptor) {
    descriptor->size = sizeof *descriptor;
    descriptor->bytes = 0;
    return read_rank(object, &descriptor->rank) &&
           read_extents(object, "shape", descriptor->rank, descriptor->shape) &&
           read_extents(object, "strides", descriptor->rank, descriptor->strides) &&
           read_block(object, descriptor) && read_padding(object, &descriptor->pads_with_nan);
}

bool read_descriptor(Reader *r, PyObject *object, tile_argument *argument) {
    tile_descriptor *descriptor = blocks_alloc(r->blocks, 1, sizeof *descriptor);
    PyObject *base = descriptor ? PyObject_GetAttrString(object, "base") : NULL;
    tile_argument pointer;
    const bool ok = base && read_array(r, base, &pointer);
    Py_XDECREF(base);
    if (!ok || !read_descriptor_fields(object, descriptor))
        return false;
    descriptor->address = pointer.value.address;
    descriptor->type = pointer.type;
    *argument = tile_tensor(descriptor);
    return true;
}
