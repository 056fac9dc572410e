/* The extension `tilec._tilec`: libtilec's objects as Python's.
 *
 * Over CPython's stable ABI. Whatever may take long (compiling, loading, waiting) releases the
 * GIL. */
#ifndef TILEC_PYTHON_MODULE_H
#define TILEC_PYTHON_MODULE_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "tensors.h"
#include "tilec.h"

/* Objects of the module, each made once: X(type, name). Functions of Python's are imported when
 * they are first needed. */
#define STATE_OBJECTS(X)                                                                           \
    X(PyObject, fault)    /* tilec._fault.fault */                                                 \
    X(PyObject, tell)     /* tilec._fault.tell */                                                  \
    X(PyObject, describe) /* tilec._arrays.describe */                                             \
    X(PyTypeObject, device)                                                                        \
    X(PyTypeObject, constexpr_type)                                                                \
    X(PyTypeObject, kernel)                                                                        \
    X(PyTypeObject, executable)                                                                    \
    X(PyTypeObject, function)                                                                      \
    X(PyTypeObject, bound)                                                                         \
    X(PyObject, descriptor_type) /* triton.tools.tensor_descriptor.TensorDescriptor */             \
    X(PyObject, current_device)  /* of launches: () -> int */                                      \
    X(PyObject, current_stream)  /* (device) -> int */                                             \
    X(PyObject, run_name)        /* "run" */

typedef struct ModuleState {
    tile_context *context; /* made when it is first asked for */
    TensorTypes tensors;
    unsigned settings; /* counts changes of what the slow way of a launch looks at */
#define STATE_OBJECT(type, name) type *name;
    STATE_OBJECTS(STATE_OBJECT)
#undef STATE_OBJECT
} ModuleState;

extern PyModuleDef tilec_module;

static inline ModuleState *state_of(PyObject *module) {
    return PyModule_GetState(module);
}
/* Of the module that made the type. */
static inline ModuleState *state_of_type(PyTypeObject *type) {
    return PyType_GetModuleState(type);
}

/* NULL with an exception set. */
tile_context *module_context(ModuleState *state);
/* TILE_OK: true, unless a warning that was said is an exception. Else false, with the exception for
 * what was said. Every way `said` is freed. */
bool check_status(ModuleState *state, tile_status status, tile_diagnostics *said);
/* Text of the library as str. */
PyObject *str_of_text(tile_text text);

/* Adds the type `Device` to the module; 0, or -1 with an exception. */
int add_device_type(PyObject *module);
/* Of an object of that type. */
tile_device *device_of(PyObject *object);
/* device_count() -> int; 0 where there is no driver. */
PyObject *device_count(PyObject *module, PyObject *unused);
/* HostDevice(kind, target="", seed=0, schedule="round-robin") -> Device: this machine, by the
 * "interpreter" or the "simulator". */
PyObject *host_device(PyObject *module, PyObject *args, PyObject *keywords);
/* set_descriptor_type(type): of the objects that are descriptors of tensors. */
PyObject *set_descriptor_type(PyObject *module, PyObject *type);
/* dlpack(array) -> what tilec._arrays.describe gives, of what has __dlpack__. */
PyObject *describe_dlpack(PyObject *module, PyObject *array);
/* settings_changed(): what launches remember does not hold any more. */
PyObject *settings_changed(PyObject *module, PyObject *unused);
/* set_streams(current_device, current_stream, device_count): where launches ask for these. */
PyObject *set_streams(PyObject *module, PyObject *args);
/* Adds the type Launcher to the module; 0, or -1 with an exception. */
int add_launcher_type(PyObject *module);
/* names(text) -> [(dotted name, line, column, where)]: see tile_names_create. */
PyObject *source_names(PyObject *module, PyObject *args);
/* extent(text, line) -> (first_line, end_line, def_line, column): see tile_source_extent. */
PyObject *source_extent(PyObject *module, PyObject *args);
/* compile(units, options, want=(), evaluate=None) -> Kernel: see tile_compile. */
PyObject *kernel_compile(PyObject *module, PyObject *args, PyObject *keywords);
/* unpack(bytes) -> Kernel: of Kernel.pack(). */
PyObject *kernel_unpack(PyObject *module, PyObject *args);

/* Of types whose objects functions give. CPython has it since 3.10. */
#define TYPE_WITHOUT_NEW Py_TPFLAGS_DISALLOW_INSTANTIATION
#endif
