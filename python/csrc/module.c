/* See module.h. */
#include "function.h"

tile_context *module_context(ModuleState *state) {
    if (state->context)
        return state->context;
    const tile_context_options options = {.size = sizeof options};
    return check_status(state, tile_context_create(&options, &state->context), NULL)
               ? state->context
               : NULL;
}

static PyObject *version(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return PyUnicode_FromString(tile_version());
}

static PyObject *build_id(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return PyUnicode_FromString(tile_build_id());
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, "version() -> \"0.1.0\": of libtilec"},
    {"build_id", build_id, METH_NOARGS, "build_id() -> str: of this build of libtilec"},
    {"device_count", device_count, METH_NOARGS,
     "device_count() -> int; 0 where there is no driver or no GPU"},
    {"HostDevice", (PyCFunction)(void (*)(void))host_device, METH_VARARGS | METH_KEYWORDS,
     "HostDevice(kind, target=\"\", schedule=\"round-robin\", seed=0) -> Device: this machine, by "
     "the \"interpreter\" or the \"simulator\""},
    {"settings_changed", settings_changed, METH_NOARGS,
     "settings_changed(): what launches remember does not hold any more"},
    {"set_streams", set_streams, METH_VARARGS,
     "set_streams(current_device, current_stream, device_count): where launches ask for these"},
    {"dlpack", describe_dlpack, METH_O,
     "dlpack(array) -> (address, type, storage, bytes, read_only, keep), as _arrays.describe"},
    {"set_descriptor_type", set_descriptor_type, METH_O,
     "set_descriptor_type(type): of the objects that are descriptors of tensors"},
    {"compile", (PyCFunction)(void (*)(void))kernel_compile, METH_VARARGS | METH_KEYWORDS,
     "compile(units, options, want=(), evaluate=None) -> Kernel, whose outputs `want` names "
     "beside PTX and cubin"},
    {"unpack", kernel_unpack, METH_VARARGS, "unpack(bytes) -> Kernel: of Kernel.pack()"},
    {"names", source_names, METH_VARARGS,
     "names(text) -> [(name, line, column, where)]: that a function has from elsewhere"},
    {"extent", source_extent, METH_VARARGS,
     "extent(text, line) -> (first_line, end_line, def_line, column): of the function there"},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module) {
    static int (*const add[])(PyObject *) = {add_device_type,   add_constexpr_type,
                                             add_kernel_type,   add_executable_type,
                                             add_function_type, add_launcher_type};
    for (size_t i = 0; i < sizeof add / sizeof *add; i++)
        if (add[i](module))
            return -1;
    return 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
    ModuleState *state = state_of(module);
    if (!state)
        return 0;
#define VISIT(type, name) Py_VISIT(state->name);
    STATE_OBJECTS(VISIT)
#undef VISIT
    return tensor_types_traverse(&state->tensors, visit, arg);
}

static int module_clear(PyObject *module) {
    ModuleState *state = state_of(module);
    if (!state)
        return 0;
#define CLEAR(type, name) Py_CLEAR(state->name);
    STATE_OBJECTS(CLEAR)
#undef CLEAR
    tensor_types_clear(&state->tensors);
    return 0;
}

/* Objects hold their type, and types the module: nothing of the context is left here. */
static void module_free(void *module) {
    ModuleState *state = state_of(module);
    module_clear(module);
    if (state)
        tile_context_destroy(state->context);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)module_exec},
    {0, NULL},
};

PyModuleDef tilec_module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "tilec._tilec",
    .m_doc = "libtilec, as the package tilec uses it.",
    .m_size = sizeof(ModuleState),
    .m_methods = functions,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__tilec(void);
PyMODINIT_FUNC PyInit__tilec(void) {
    return PyModuleDef_Init(&tilec_module);
}
