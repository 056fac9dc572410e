/* Kernel: what a compilation gives, with its facts, outputs and bytes. */
#include "function.h"

#include <string.h>

typedef struct KernelObject {
    PyObject_HEAD tile_kernel *kernel;
} KernelObject;

tile_kernel *kernel_of(PyObject *object) {
    return ((KernelObject *)object)->kernel;
}

PyObject *kernel_wrap(ModuleState *state, tile_kernel *kernel) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(state->kernel, Py_tp_alloc);
    KernelObject *self = (KernelObject *)allocate(state->kernel, 0);
    if (self)
        self->kernel = kernel;
    else
        tile_kernel_destroy(kernel);
    return (PyObject *)self;
}

static void kernel_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    tile_kernel_destroy(kernel_of(self));
    release(self);
    Py_DECREF(type);
}

/* Outputs */

typedef struct Output {
    const char *name;
    tile_output output;
} Output;

static const Output outputs[] = {
#define OUTPUT(name, output) {name, output},
#include "outputs.def"
#undef OUTPUT
};

enum { OUTPUTS = sizeof outputs / sizeof *outputs };

static const Output *find_output(PyObject *name) {
    for (int i = 0; PyUnicode_Check(name) && i < OUTPUTS; i++)
        if (!PyUnicode_CompareWithASCIIString(name, outputs[i].name))
            return &outputs[i];
    PyErr_Format(PyExc_KeyError, "kernels have no output %R", name);
    return NULL;
}

bool read_outputs(PyObject *names, uint32_t *want) {
    *want = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(names); i++) {
        const Output *output = find_output(PyTuple_GetItem(names, i));
        if (!output)
            return false;
        *want |= TILE_WANT(output->output);
    }
    return true;
}

/* output(name) -> str, or bytes of a cubin; None: it was not wanted */
static PyObject *kernel_output(PyObject *self, PyObject *name) {
    const Output *output = find_output(name);
    if (!output)
        return NULL;
    const tile_text text = tile_kernel_get_output(kernel_of(self), output->output);
    if (!text.size)
        Py_RETURN_NONE;
    return output->output == TILE_OUTPUT_CUBIN
               ? PyBytes_FromStringAndSize(text.data, (Py_ssize_t)text.size)
               : str_of_text(text);
}

/* Facts */

static PyObject *kernel_info(PyObject *self, PyObject *Py_UNUSED(unused)) {
    tile_kernel_info k = {.size = sizeof k};
    if (!check_status(state_of_type(Py_TYPE(self)), tile_kernel_get_info(kernel_of(self), &k),
                      NULL))
        return NULL;
    return Py_BuildValue(
        "{sN sN si si si si si sN sN si si si si si si sd sN sd sn sN sN}", "name",
        str_of_text(k.name), "target", str_of_text(k.target), "num_warps", k.num_warps,
        "programs_per_cta", k.programs_per_cta, "num_ctas", k.num_ctas, "threads", k.threads,
        "shared_bytes", k.shared_bytes, "has_grid_parameter", PyBool_FromLong(k.has_grid_parameter),
        "assembled", PyBool_FromLong(k.assembled), "registers", k.registers, "stack_bytes",
        k.stack_bytes, "spill_store_bytes", k.spill_store_bytes, "spill_load_bytes",
        k.spill_load_bytes, "static_shared_bytes", k.static_shared_bytes, "blocks_per_sm",
        k.blocks_per_sm, "occupancy", k.occupancy, "from_cache", PyBool_FromLong(k.from_cache),
        "compile_ms", k.compile_ms, "tensor_maps", (Py_ssize_t)k.tensor_map_count, "is_persistent",
        PyBool_FromLong(k.is_persistent), "plain_abi", PyBool_FromLong(k.plain_abi));
}

static bool get_param(PyObject *self, size_t index, tile_param_info *param) {
    *param = (tile_param_info){.size = sizeof *param};
    return check_status(state_of_type(Py_TYPE(self)),
                        tile_kernel_get_param(kernel_of(self), index, param), NULL);
}

/* params() -> [(name, type or literal, is_constexpr, is_written)] */
static PyObject *kernel_params(PyObject *self, PyObject *Py_UNUSED(unused)) {
    tile_kernel_info info = {.size = sizeof info};
    PyObject *list = PyList_New(0);
    tile_kernel_get_info(kernel_of(self), &info);
    for (size_t i = 0; list && i < info.param_count; i++) {
        tile_param_info param;
        PyObject *item =
            get_param(self, i, &param)
                ? Py_BuildValue("NNNN", str_of_text(param.name), str_of_text(param.type),
                                PyBool_FromLong(param.is_constexpr),
                                PyBool_FromLong(param.is_written))
                : NULL;
        if (!item || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* Bytes */

static PyObject *kernel_pack(PyObject *self, PyObject *Py_UNUSED(unused)) {
    ModuleState *state = state_of_type(Py_TYPE(self));
    size_t size = 0;
    if (!check_status(state, tile_kernel_pack(kernel_of(self), NULL, &size), NULL))
        return NULL;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (!bytes)
        return NULL;
    if (check_status(state, tile_kernel_pack(kernel_of(self), PyBytes_AsString(bytes), &size),
                     NULL))
        return bytes;
    Py_DECREF(bytes);
    return NULL;
}

PyObject *kernel_unpack(PyObject *module, PyObject *args) {
    ModuleState *state = state_of(module);
    const char *bytes;
    Py_ssize_t size;
    tile_kernel *kernel = NULL;
    tile_diagnostics *said = NULL;
    if (!PyArg_ParseTuple(args, "y#:unpack", &bytes, &size))
        return NULL;
    tile_context *context = module_context(state);
    if (!context)
        return NULL;
    tile_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tile_kernel_unpack(context, bytes, (size_t)size, &kernel, &said);
    Py_END_ALLOW_THREADS;
    return check_status(state, status, said) ? kernel_wrap(state, kernel) : NULL;
}

/* Compiling */

static PyObject *compile(ModuleState *state, Blocks *blocks, Evaluator *evaluator, PyObject *units,
                         PyObject *given, PyObject *wanted) {
    tile_compile_options options = {.size = sizeof options};
    tile_context *context = module_context(state);
    tile_diagnostics *said = NULL;
    tile_kernel *kernel = NULL;
    if (!context || !read_units(blocks, units, &options) ||
        !read_options(blocks, given, &options) || !read_outputs(wanted, &options.want))
        return NULL;
    if (evaluator->function) {
        options.evaluate = evaluate_binding;
        options.evaluate_user = evaluator;
    }
    tile_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tile_compile(context, &options, &kernel, &said);
    Py_END_ALLOW_THREADS;
    if (check_evaluated(state, evaluator, status, said))
        return kernel_wrap(state, kernel);
    tile_kernel_destroy(kernel);
    return NULL;
}

PyObject *kernel_compile(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"units", "options", "want", "evaluate", NULL};
    PyObject *units, *options, *want = NULL, *evaluate = Py_None;
    Blocks blocks = {0};
    Evaluator evaluator = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|O!O:compile", names, &units, &options,
                                     &PyTuple_Type, &want, &evaluate))
        return NULL;
    PyObject *none = want ? NULL : PyTuple_New(0);
    if (!want && !none)
        return NULL;
    evaluator.function = evaluate == Py_None ? NULL : evaluate; /* the caller's reference */
    PyObject *kernel =
        compile(state_of(module), &blocks, &evaluator, units, options, want ? want : none);
    blocks_free(&blocks);
    Py_XDECREF(evaluator.kept);
    Py_XDECREF(evaluator.error);
    Py_XDECREF(none);
    return kernel;
}

static PyObject *kernel_load(PyObject *self, PyObject *args) {
    ModuleState *state = state_of_type(Py_TYPE(self));
    PyObject *device;
    if (!PyArg_ParseTuple(args, "O!:load", state->device, &device))
        return NULL;
    return executable_load(state, self, device);
}

static PyMethodDef methods[] = {
    {"output", kernel_output, METH_O,
     "output(name) -> str, or bytes of a cubin; None where it was not wanted"},
    {"info", kernel_info, METH_NOARGS, "Facts as a dict; see tile_kernel_info."},
    {"params", kernel_params, METH_NOARGS,
     "params() -> [(name, type or literal, is_constexpr, is_written)]"},
    {"pack", kernel_pack, METH_NOARGS, "pack() -> bytes, for unpack()"},
    {"load", kernel_load, METH_VARARGS, "load(device) -> Executable"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A compiled kernel: what compile(), unpack() and Function.kernel() give."},
    {Py_tp_dealloc, (void *)kernel_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {.name = "tilec._tilec.Kernel",
                           .basicsize = sizeof(KernelObject),
                           .flags = Py_TPFLAGS_DEFAULT | TYPE_WITHOUT_NEW,
                           .slots = slots};

int add_kernel_type(PyObject *module) {
    ModuleState *state = state_of(module);
    state->kernel = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->kernel ? PyModule_AddType(module, state->kernel) : -1;
}
