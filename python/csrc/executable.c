/* Executable: a kernel that is loaded on a GPU, and its launches by values. Kernels of functions
 * are launched by their functions, which make types of values; here the types are the kernel's. */
#include "function.h"

#include <string.h>

typedef struct ExecutableObject {
    PyObject_HEAD tile_executable *executable;
    PyObject *kernel, *device; /* of which it is made */
} ExecutableObject;

static ExecutableObject *executable_of(PyObject *object) {
    return (ExecutableObject *)object;
}

PyObject *executable_load(ModuleState *state, PyObject *kernel, PyObject *device) {
    tile_executable *executable = NULL;
    tile_diagnostics *said = NULL;
    tile_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tile_load(kernel_of(kernel), device_of(device), &executable, &said);
    Py_END_ALLOW_THREADS;
    allocfunc allocate = (allocfunc)PyType_GetSlot(state->executable, Py_tp_alloc);
    ExecutableObject *self = check_status(state, status, said)
                                 ? (ExecutableObject *)allocate(state->executable, 0)
                                 : NULL;
    if (!self) {
        tile_executable_destroy(executable);
        return NULL;
    }
    Py_INCREF(kernel);
    Py_INCREF(device);
    self->executable = executable;
    self->kernel = kernel;
    self->device = device;
    return (PyObject *)self;
}

static void executable_dealloc(PyObject *object) {
    ExecutableObject *self = executable_of(object);
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    tile_executable *executable = self->executable;
    Py_BEGIN_ALLOW_THREADS;
    tile_executable_destroy(executable);
    Py_END_ALLOW_THREADS;
    Py_XDECREF(self->kernel);
    Py_XDECREF(self->device);
    release(object);
    Py_DECREF(type);
}

PyObject *executable_describe(ModuleState *state, const tile_executable *executable) {
    tile_executable_info info = {.size = sizeof info};
    if (!check_status(state, tile_executable_get_info(executable, &info), NULL))
        return NULL;
    return Py_BuildValue("KKiii", (unsigned long long)(uintptr_t)info.module,
                         (unsigned long long)(uintptr_t)info.function, info.registers,
                         info.local_bytes, info.max_threads);
}

static PyObject *executable_info(PyObject *self, PyObject *Py_UNUSED(unused)) {
    return executable_describe(state_of_type(Py_TYPE(self)), executable_of(self)->executable);
}

/* Values */

typedef union Value {
    uint64_t bits; /* of an address, or an integer of any width: GPUs are little-endian, too */
    float single;
    double number;
} Value;

/* An address, or what has data_ptr(). */
static bool read_address(PyObject *object, Value *value) {
    PyObject *made = object == Py_None      ? PyLong_FromLong(0)
                     : PyLong_Check(object) ? PyNumber_Long(object)
                                            : PyObject_CallMethod(object, "data_ptr", NULL);
    value->bits = made ? PyLong_AsUnsignedLongLong(made) : 0;
    Py_XDECREF(made);
    return !PyErr_Occurred();
}

/* By the bits of the name: "i32", "u1". What does not fit is cut off, as C does. */
static bool read_integer(PyObject *object, Value *value) {
    PyObject *made = PyNumber_Index(object);
    value->bits = made ? PyLong_AsUnsignedLongLongMask(made) : 0;
    Py_XDECREF(made);
    return !PyErr_Occurred();
}

/* The bits of a number in `format` of the module struct: "<e". */
static bool read_packed(PyObject *object, const char *format, Value *value) {
    PyObject *module = PyImport_ImportModule("struct");
    PyObject *bytes = module ? PyObject_CallMethod(module, "pack", "sO", format, object) : NULL;
    if (bytes)
        memcpy(value, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
    Py_XDECREF(bytes);
    Py_XDECREF(module);
    return bytes != NULL;
}

/* Rounded to nearest, ties to even. */
static uint16_t bf16_of(float single) {
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (single != single)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static bool read_value(PyObject *object, tile_text type, Value *value) {
    const char first = type.size ? type.data[0] : 0;
    value->bits = 0;
    if (first == '*')
        return read_address(object, value);
    if (first == 'i' || first == 'u')
        return read_integer(object, value);
    const double number = PyFloat_AsDouble(object);
    if (PyErr_Occurred())
        return false;
    if (!strcmp(type.data, "fp64"))
        value->number = number;
    else if (!strcmp(type.data, "fp16"))
        return read_packed(object, "<e", value);
    else if (!strcmp(type.data, "bf16"))
        value->bits = bf16_of((float)number);
    else
        value->single = (float)number;
    return true;
}

static bool wrong_count(size_t wanted, Py_ssize_t given) {
    PyErr_Format(PyExc_TypeError, "the kernel takes %zu values, not %zd", wanted, given);
    return false;
}

/* Values of the parameters that are no constexprs, in order. */
static bool read_values(Blocks *blocks, const tile_kernel *kernel, PyObject *tuple, void ***params,
                        size_t *count) {
    tile_kernel_info info = {.size = sizeof info};
    tile_kernel_get_info(kernel, &info);
    Value *values = blocks_alloc(blocks, info.param_count, sizeof *values);
    *params = blocks_alloc(blocks, info.param_count, sizeof **params);
    *count = 0;
    if (!values || !*params)
        return false;
    const Py_ssize_t given = PyTuple_Size(tuple);
    for (size_t i = 0; i < info.param_count; i++) {
        tile_param_info param = {.size = sizeof param};
        tile_kernel_get_param(kernel, i, &param);
        if (param.is_constexpr)
            continue;
        (*params)[*count] = &values[*count];
        if ((Py_ssize_t)*count < given &&
            !read_value(PyTuple_GetItem(tuple, (Py_ssize_t)*count), param.type, &values[*count]))
            return false;
        ++*count;
    }
    return (Py_ssize_t)*count == given || wrong_count(*count, given);
}

/* launch((x, y, z), stream, values, programmatic=False, cooperative=False) */
static PyObject *executable_launch(PyObject *object, PyObject *args) {
    ExecutableObject *self = executable_of(object);
    PyObject *values, *grid;
    unsigned long long stream;
    uint32_t sides[3];
    const uint32_t *given;
    int programmatic = 0, cooperative = 0;
    if (!PyArg_ParseTuple(args, "OKO!|pp:launch", &grid, &stream, &PyTuple_Type, &values,
                          &programmatic, &cooperative) ||
        !read_grid(grid, sides, &given))
        return NULL;
    const tile_launch_options options = {
        .size = sizeof options, .programmatic = programmatic, .cooperative = cooperative};
    Blocks blocks = {0};
    void **params;
    size_t count;
    tile_diagnostics *said = NULL;
    bool ok = read_values(&blocks, kernel_of(self->kernel), values, &params, &count);
    if (ok) {
        const tile_status status =
            tile_launch_with(self->executable, sides, (tile_stream)(uintptr_t)stream, params, count,
                             &options, &said);
        ok = check_status(state_of_type(Py_TYPE(object)), status, said);
    }
    blocks_free(&blocks);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"info", executable_info, METH_NOARGS,
     "info() -> (CUmodule, CUfunction, registers, local bytes, greatest number of threads)"},
    {"launch", executable_launch, METH_VARARGS,
     "launch(grid, stream, values, programmatic=False, cooperative=False): `values` of the "
     "parameters that are no constexprs"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A kernel that is loaded on a GPU: what Kernel.load() gives."},
    {Py_tp_dealloc, (void *)executable_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {.name = "tilec._tilec.Executable",
                           .basicsize = sizeof(ExecutableObject),
                           .flags = Py_TPFLAGS_DEFAULT | TYPE_WITHOUT_NEW,
                           .slots = slots};

int add_executable_type(PyObject *module) {
    ModuleState *state = state_of(module);
    state->executable = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->executable ? PyModule_AddType(module, state->executable) : -1;
}
