/* Types of arrays by the way to what they have, kept for all launchers of a module. */
#ifndef TILEC_PYTHON_TENSORS_H
#define TILEC_PYTHON_TENSORS_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "tilec.h"

enum { MOST_TENSOR_TYPES = 32, MOST_ELEMENTS = 64 };

typedef enum Way {
    WAY_NONE,
    WAY_EXCHANGE,   /* DLPack's exchange of C, one call */
    WAY_ATTRIBUTES, /* data_ptr(), dtype, is_cuda, get_device() */
    WAY_INTERFACE,  /* __cuda_array_interface__ */
    WAY_TUPLE,      /* a tuple with a class of its own, such as torch.Size */
    WAY_RECORD,     /* a named tuple */
} Way;

typedef struct TensorType {
    PyTypeObject *type;
    Way way;
    const struct Exchange *exchange;
} TensorType;

typedef struct TensorTypes {
    TensorType list[MOST_TENSOR_TYPES];
    size_t count;
    struct {
        PyObject *dtype; /* by identity */
        tile_dtype type;
    } elements[MOST_ELEMENTS];
    size_t element_count;
    PyObject *data_ptr, *dtype, *is_cuda, *get_device, *interface; /* interned names */
    bool has_several_devices; /* so that arrays are asked for theirs */
} TensorTypes;

bool tensor_types_init(TensorTypes *types);
int tensor_types_traverse(TensorTypes *types, visitproc visit, void *arg);
void tensor_types_clear(TensorTypes *types);

struct ModuleState;
struct Gathered;
/* NULL: it is not known, and not to be registered, or has none of these ways. Stays until the
 * module goes. */
const TensorType *tensor_type(struct ModuleState *state, PyObject *object, bool registers);
/* An array of a GPU's. False: not by this way; no exception. */
bool tensor_read(struct ModuleState *state, const TensorType *type, PyObject *object,
                 struct Gathered *gathered, tile_argument *argument);
/* The stream that the array's library works on. */
bool exchange_stream(const struct Exchange *exchange, int device, tile_stream *stream);
#endif
