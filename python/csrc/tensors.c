/* Types of arrays that launches meet, each with the quickest way to what it has; and numbers. */
#include "tensors.h"
#include "launcher.h"

#include <string.h>

/* DLPack's structures, whose layout is the same in all versions of its first kind. */
typedef struct Tensor {
    void *data;
    int32_t device_type, device_id, rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} Tensor;

typedef struct Exchange {
    uint32_t major, minor;
    struct Exchange *before;
    void *allocate, *from, *to;
    int (*read)(void *object, Tensor *tensor);
    int (*stream)(int32_t device_type, int32_t device, void **stream);
} Exchange;

enum { DEVICE_CUDA = 2, EXCHANGE_MAJOR = 1 };

static bool forget_error(void) {
    PyErr_Clear();
    return false;
}

/* Element types */

static tile_dtype dtype_of_dlpack(const Tensor *tensor) {
#define SIZE_INDEX(bits) ((bits) == 8 ? 0 : (bits) == 16 ? 1 : (bits) == 32 ? 2 : 3)
    static const uint8_t types[16][4] = {
#define DLPACK_TYPE(type, code, bits, name) [code][SIZE_INDEX(bits)] = type,
#include "runtime/launch/dlpack.def"
    };
    if (tensor->code >= 16 || tensor->lanes != 1 ||
        (tensor->bits != 8 && tensor->bits != 16 && tensor->bits != 32 && tensor->bits != 64))
        return TILE_DTYPE_AUTO;
    return (tile_dtype)types[tensor->code][SIZE_INDEX(tensor->bits)];
#undef SIZE_INDEX
}

/* "<f4", as array interfaces have it. */
static tile_dtype dtype_of_typestr(PyObject *name) {
    static const struct {
        char text[3];
        uint8_t type;
    } types[] = {{"b1", TILE_I1},  {"i1", TILE_I8},   {"i2", TILE_I16},  {"i4", TILE_I32},
                 {"i8", TILE_I64}, {"u1", TILE_U8},   {"u2", TILE_U16},  {"u4", TILE_U32},
                 {"u8", TILE_U64}, {"f2", TILE_FP16}, {"f4", TILE_FP32}, {"f8", TILE_FP64}};
    Py_ssize_t size;
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &size) : NULL;
    if (text && size == 3 && *text != '>')
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (!memcmp(text + 1, types[i].text, 2))
                return (tile_dtype)types[i].type;
    return TILE_DTYPE_AUTO;
}

/* tilec._arrays.element(dtype), kept by the object. AUTO: it is none. */
static tile_dtype find_element(ModuleState *state, PyObject *dtype) {
    TensorTypes *types = &state->tensors;
    for (size_t i = 0; i < types->element_count; i++)
        if (types->elements[i].dtype == dtype)
            return types->elements[i].type;
    PyObject *module = PyImport_ImportModule("tilec._arrays");
    PyObject *name = module ? PyObject_CallMethod(module, "element", "O", dtype) : NULL;
    tile_dtype type = TILE_DTYPE_AUTO;
    bool is_pointer;
    if (!name || !read_type(name, &type, &is_pointer)) {
        PyErr_Clear();
        type = TILE_DTYPE_AUTO;
    } else if (types->element_count < MOST_ELEMENTS) {
        Py_INCREF(dtype);
        types->elements[types->element_count].dtype = dtype;
        types->elements[types->element_count++].type = type;
    }
    Py_XDECREF(name);
    Py_XDECREF(module);
    return type;
}

/* Which way a type has */

static bool has(PyObject *object, const char *name) {
    PyObject *found = PyObject_GetAttrString(object, name);
    if (!found)
        PyErr_Clear();
    Py_XDECREF(found);
    return found != NULL;
}

static const Exchange *find_exchange(PyObject *type) {
    PyObject *capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
    const Exchange *exchange = capsule && PyCapsule_IsValid(capsule, "dlpack_exchange_api")
                                   ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api")
                                   : NULL;
    Py_XDECREF(capsule);
    if (exchange && exchange->major == EXCHANGE_MAJOR && exchange->read && exchange->stream)
        return exchange;
    PyErr_Clear();
    return NULL;
}

/* Of a type itself: what derives from it may have no memory, as torch's FakeTensor. torch's
 * Parameter is as good. */
static bool is_exact(PyObject *type) {
    PyObject *own = PyObject_GetAttrString(type, "__dict__");
    PyObject *name = PyObject_GetAttrString(type, "__module__");
    const bool is =
        own && name &&
        (PyMapping_HasKeyString(own, "__dlpack_c_exchange_api__") ||
         (PyUnicode_Check(name) && !PyUnicode_CompareWithASCIIString(name, "torch.nn.parameter") &&
          has(type, "__dlpack_c_exchange_api__")));
    Py_XDECREF(own);
    Py_XDECREF(name);
    if (!is)
        PyErr_Clear();
    return is;
}

static bool classify(PyObject *object, TensorType *entry) {
    PyObject *type = (PyObject *)Py_TYPE(object);
    entry->exchange = is_exact(type) ? find_exchange(type) : NULL;
    entry->way = entry->exchange                                     ? WAY_EXCHANGE
                 : has(object, "data_ptr") && has(object, "is_cuda") ? WAY_ATTRIBUTES
                 : has(object, "__cuda_array_interface__")           ? WAY_INTERFACE
                 : PyTuple_Check(object)                             ? WAY_TUPLE
                                                                     : WAY_NONE;
    if (entry->way == WAY_TUPLE && has(type, "_fields"))
        entry->way = WAY_RECORD;
    return entry->way != WAY_NONE;
}

const TensorType *tensor_type(ModuleState *state, PyObject *object, bool registers) {
    TensorTypes *types = &state->tensors;
    PyTypeObject *type = Py_TYPE(object);
    for (size_t i = 0; i < types->count; i++)
        if (types->list[i].type == type)
            return &types->list[i];
    TensorType entry = {.type = type};
    if (!registers || !classify(object, &entry) || types->count == MOST_TENSOR_TYPES)
        return NULL;
    Py_INCREF(type);
    types->list[types->count] = entry;
    return &types->list[types->count++];
}

int tensor_types_traverse(TensorTypes *types, visitproc visit, void *arg) {
    for (size_t i = 0; i < types->count; i++)
        Py_VISIT(types->list[i].type);
    for (size_t i = 0; i < types->element_count; i++)
        Py_VISIT(types->elements[i].dtype);
    Py_VISIT(types->data_ptr);
    Py_VISIT(types->dtype);
    Py_VISIT(types->is_cuda);
    Py_VISIT(types->get_device);
    Py_VISIT(types->interface);
    return 0;
}

void tensor_types_clear(TensorTypes *types) {
    while (types->count) {
        PyTypeObject *type = types->list[--types->count].type;
        Py_DECREF(type);
    }
    while (types->element_count) {
        PyObject *dtype = types->elements[--types->element_count].dtype;
        Py_DECREF(dtype);
    }
    Py_CLEAR(types->data_ptr);
    Py_CLEAR(types->dtype);
    Py_CLEAR(types->is_cuda);
    Py_CLEAR(types->get_device);
    Py_CLEAR(types->interface);
}

bool tensor_types_init(TensorTypes *types) {
    return (types->data_ptr = PyUnicode_InternFromString("data_ptr")) &&
           (types->dtype = PyUnicode_InternFromString("dtype")) &&
           (types->is_cuda = PyUnicode_InternFromString("is_cuda")) &&
           (types->get_device = PyUnicode_InternFromString("get_device")) &&
           (types->interface = PyUnicode_InternFromString("__cuda_array_interface__"));
}

/* Arrays */

static void add_device(Gathered *gathered, int device) {
    gathered->is_several |= gathered->device >= 0 && gathered->device != device;
    gathered->device = device;
}

static bool read_exchange(PyObject *object, const Exchange *exchange, Gathered *gathered,
                          tile_argument *argument) {
    Tensor tensor;
    if (exchange->read(object, &tensor))
        return forget_error();
    const tile_dtype type = dtype_of_dlpack(&tensor);
    if (tensor.device_type != DEVICE_CUDA || type == TILE_DTYPE_AUTO)
        return false;
    add_device(gathered, tensor.device_id);
    gathered->exchange = exchange;
    *argument = tile_pointer((uint64_t)(uintptr_t)tensor.data + tensor.byte_offset, type);
    return true;
}

static bool read_address(PyObject *number, uint64_t *address) {
    *address = number ? PyLong_AsUnsignedLongLong(number) : 0;
    Py_XDECREF(number);
    return number && !(*address == (uint64_t)-1 && PyErr_Occurred());
}

static bool read_device(const TensorTypes *types, PyObject *object, Gathered *gathered) {
    PyObject *device = PyObject_CallMethodObjArgs(object, types->get_device, NULL);
    const long number = device ? PyLong_AsLong(device) : -1;
    Py_XDECREF(device);
    if (number < 0)
        return forget_error();
    add_device(gathered, (int)number);
    return true;
}

static bool read_attributes(ModuleState *state, PyObject *object, Gathered *gathered,
                            tile_argument *argument) {
    const TensorTypes *types = &state->tensors;
    PyObject *is_cuda = PyObject_GetAttr(object, types->is_cuda);
    Py_XDECREF(is_cuda);
    if (is_cuda != Py_True)
        return forget_error();
    uint64_t address;
    if (!read_address(PyObject_CallMethodObjArgs(object, types->data_ptr, NULL), &address))
        return forget_error();
    PyObject *dtype = PyObject_GetAttr(object, types->dtype);
    const tile_dtype type = dtype ? find_element(state, dtype) : TILE_DTYPE_AUTO;
    Py_XDECREF(dtype);
    if (type == TILE_DTYPE_AUTO)
        return forget_error();
    *argument = tile_pointer(address, type);
    return !types->has_several_devices || read_device(types, object, gathered);
}

/* {"data": (address, read only), "typestr": "<f4", ..}. Its device is the current one. */
static bool read_interface(ModuleState *state, PyObject *object, tile_argument *argument) {
    PyObject *interface = PyObject_GetAttr(object, state->tensors.interface);
    PyObject *data =
        interface && PyDict_Check(interface) ? PyDict_GetItemString(interface, "data") : NULL;
    PyObject *name = data ? PyDict_GetItemString(interface, "typestr") : NULL;
    bool ok = name && PyTuple_Check(data) && PyTuple_Size(data) == 2 &&
              PyTuple_GetItem(data, 1) == Py_False;
    if (ok) {
        const unsigned long long address = PyLong_AsUnsignedLongLong(PyTuple_GetItem(data, 0));
        const tile_dtype type = dtype_of_typestr(name);
        *argument = tile_pointer(address, type);
        ok = type != TILE_DTYPE_AUTO && !PyErr_Occurred();
    }
    Py_XDECREF(interface);
    return ok || forget_error();
}

bool tensor_read(ModuleState *state, const TensorType *type, PyObject *object, Gathered *gathered,
                 tile_argument *argument) {
    switch (type->way) {
    case WAY_EXCHANGE:
        return read_exchange(object, type->exchange, gathered, argument);
    case WAY_ATTRIBUTES:
        return read_attributes(state, object, gathered, argument);
    case WAY_INTERFACE:
        return read_interface(state, object, argument);
    case WAY_NONE:
    case WAY_TUPLE:
    case WAY_RECORD:
        return false;
    }
    return false;
}

bool exchange_stream(const Exchange *exchange, int device, tile_stream *stream) {
    void *current = NULL;
    if (exchange->stream(DEVICE_CUDA, device, &current))
        return forget_error();
    *stream = (tile_stream)current;
    return true;
}
