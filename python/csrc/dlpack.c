/* Arrays of libraries that have nothing but __dlpack__, such as JAX's on the host. */
#include "function.h"

#include <string.h>

/* DLTensor of dlpack.h, and what capsules hold of it: "dltensor" begins with it,
 * "dltensor_versioned" has its flags before. */
typedef struct Tensor {
    void *data;
    int32_t device_type, device_id, rank;
    uint8_t type_code, bits;
    uint16_t lanes;
    const int64_t *shape, *strides; /* in elements; strides NULL: rows follow each other */
    uint64_t byte_offset;
} Tensor;

typedef struct Versioned {
    uint32_t major, minor;
    void *owner, (*deleter)(struct Versioned *);
    uint64_t flags;
    Tensor tensor;
} Versioned;

_Static_assert(sizeof(Tensor) == 48 && offsetof(Versioned, tensor) == 32, "as DLPack lays it out");

enum { DEVICE_CPU = 1, READ_ONLY = 1 };

static const char *type_of(const Tensor *tensor) {
    static const struct {
        tile_dtype type;
        uint8_t code, bits;
    } types[] = {
#define DLPACK_TYPE(type, code, bits, name) {type, code, bits},
#include "runtime/launch/dlpack.def"
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == tensor->type_code && types[i].bits == tensor->bits &&
            tensor->lanes == 1)
            return dtype_text(types[i].type);
    return NULL;
}

/* Bytes before its first element, and from there on, that a view reaches. */
static void find_extent(const Tensor *tensor, uint64_t *before, uint64_t *after) {
    const uint64_t size = tensor->bits / 8u;
    int64_t inner = 1;
    *before = 0;
    *after = size;
    for (int32_t d = tensor->rank; d-- > 0;) {
        const int64_t extent = tensor->shape[d];
        const int64_t stride = tensor->strides ? tensor->strides[d] : inner;
        if (!extent) {
            *before = *after = 0;
            return;
        }
        inner *= extent;
        if (stride < 0)
            *before += (uint64_t)(extent - 1) * (uint64_t)-stride * size;
        else
            *after += (uint64_t)(extent - 1) * (uint64_t)stride * size;
    }
}

/* (address, type, storage, bytes, read only, what keeps it), as tilec._arrays.describe */
static PyObject *describe_tensor(const Tensor *tensor, bool read_only, PyObject *keep) {
    const char *type = type_of(tensor);
    uint64_t before, after;
    if (!type) {
        PyErr_Format(PyExc_TypeError,
                     "no kernel has elements of DLPack's type %d of %d bits, %d lanes",
                     tensor->type_code, tensor->bits, tensor->lanes);
        return NULL;
    }
    find_extent(tensor, &before, &after);
    const uint64_t address = (uint64_t)(uintptr_t)tensor->data + tensor->byte_offset;
    const bool is_host = tensor->device_type == DEVICE_CPU;
    return Py_BuildValue("KsKKOO", (unsigned long long)address, type,
                         (unsigned long long)(is_host ? address - before : 0),
                         (unsigned long long)(is_host ? before + after : 0),
                         read_only ? Py_True : Py_False, keep);
}

/* With versions where the library knows of such: they say what is only to be read. */
static PyObject *make_capsule(PyObject *array) {
    PyObject *method = PyObject_GetAttrString(array, "__dlpack__");
    PyObject *version = method ? Py_BuildValue("{s(ii)}", "max_version", 1, 0) : NULL;
    PyObject *nothing = version ? PyTuple_New(0) : NULL;
    PyObject *capsule = nothing ? PyObject_Call(method, nothing, version) : NULL;
    if (nothing && !capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = PyObject_Call(method, nothing, NULL);
    }
    Py_XDECREF(nothing);
    Py_XDECREF(version);
    Py_XDECREF(method);
    return capsule;
}

PyObject *describe_dlpack(PyObject *Py_UNUSED(module), PyObject *array) {
    PyObject *capsule = make_capsule(array), *described = NULL;
    if (capsule && PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        const Versioned *versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (versioned->major == 1)
            described = describe_tensor(&versioned->tensor, versioned->flags & READ_ONLY, capsule);
        else
            PyErr_Format(PyExc_TypeError, "version %u of DLPack is not known", versioned->major);
    } else if (capsule && PyCapsule_IsValid(capsule, "dltensor")) {
        described = describe_tensor(PyCapsule_GetPointer(capsule, "dltensor"), false, capsule);
    } else if (capsule) {
        PyErr_Format(PyExc_TypeError, "__dlpack__ gave %R", capsule);
    }
    Py_XDECREF(capsule);
    return described;
}
