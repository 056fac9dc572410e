/* Function(units, options, evaluate=None): a kernel and what it reaches, compiled when it is
 * called. */
#include "function.h"

static ModuleState *state_of_function(PyObject *self) {
    return state_of_type(Py_TYPE(self));
}

bool check_evaluated(ModuleState *state, Evaluator *evaluator, tile_status status,
                     tile_diagnostics *said) {
    PyObject *cause = evaluator->error;
    evaluator->error = NULL;
    const bool ok = check_status(state, status, said);
    if (!ok && cause) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyErr_NormalizeException(&type, &value, &traceback);
        PyException_SetCause(value, cause);
        PyErr_Restore(type, value, traceback);
        return ok;
    }
    Py_XDECREF(cause);
    return ok;
}

static bool create(FunctionObject *self, ModuleState *state, Blocks *blocks, PyObject *units,
                   PyObject *given) {
    tile_compile_options options = {.size = sizeof options};
    tile_context *context = module_context(state);
    tile_diagnostics *said = NULL;
    if (!context || !read_units(blocks, units, &options) || !read_options(blocks, given, &options))
        return false;
    if (self->evaluator.function) {
        options.evaluate = evaluate_binding;
        options.evaluate_user = &self->evaluator;
    }
    tile_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tile_function_create(context, &options, &self->function, &said);
    Py_END_ALLOW_THREADS;
    return check_evaluated(state, &self->evaluator, status, said);
}

static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"units", "options", "evaluate", NULL};
    PyObject *units, *options, *evaluate = Py_None;
    Blocks blocks = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|O:Function", names, &units, &options,
                                     &evaluate))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    FunctionObject *self = (FunctionObject *)allocate(type, 0);
    if (!self)
        return NULL;
    if (evaluate != Py_None) {
        Py_INCREF(evaluate);
        self->evaluator.function = evaluate;
    }
    const bool ok = create(self, state_of_type(type), &blocks, units, options);
    blocks_free(&blocks);
    if (ok)
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static int function_traverse(PyObject *object, visitproc visit, void *arg) {
    FunctionObject *self = (FunctionObject *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->evaluator.function);
    Py_VISIT(self->evaluator.error);
    return 0;
}

static int function_clear(PyObject *object) {
    FunctionObject *self = (FunctionObject *)object;
    Py_CLEAR(self->evaluator.function);
    Py_CLEAR(self->evaluator.error);
    return 0;
}

static void function_dealloc(PyObject *object) {
    FunctionObject *self = (FunctionObject *)object;
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    PyObject_GC_UnTrack(object);
    tile_function *function = self->function;
    Py_BEGIN_ALLOW_THREADS;
    tile_function_destroy(function);
    Py_END_ALLOW_THREADS;
    function_clear(object);
    Py_XDECREF(self->evaluator.kept);
    release(object);
    Py_DECREF(type);
}

bool read_grid(PyObject *object, uint32_t grid[3], const uint32_t **given) {
    grid[0] = grid[1] = grid[2] = 1;
    *given = object == Py_None ? NULL : grid;
    if (object == Py_None)
        return true;
    const Py_ssize_t count = PyTuple_Check(object) ? PyTuple_Size(object) : 0;
    if (count < 1 || count > 3) {
        PyErr_Format(PyExc_TypeError, "a grid is a tuple of one to three integers, not %R", object);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *side = PyNumber_Index(PyTuple_GetItem(object, i));
        const unsigned long long value = side ? PyLong_AsUnsignedLongLong(side) : 0;
        Py_XDECREF(side);
        const bool fits = !PyErr_Occurred() && value <= UINT32_MAX;
        if (!fits && (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_OverflowError)))
            PyErr_Format(PyExc_ValueError,
                         "the grid %R has a negative side, or one that is too large", object);
        if (!fits)
            return false;
        grid[i] = (uint32_t)value;
    }
    return true;
}

/* What a call is given: call(device, grid, arguments, stream=0, prepare=False, params=None,
 * units=None, checked=False, programmatic=False, cooperative=False, entry_name=None). */
typedef struct Given {
    PyObject *device, *grid, *arguments, *params, *units;
    const char *entry_name; /* NULL: the function's */
    Py_ssize_t entry_name_size;
    unsigned long long stream;
    int prepare, checked, programmatic, cooperative;
    tile_launch_options launch;
} Given;

static bool read_given(ModuleState *state, PyObject *args, PyObject *keywords, Given *given) {
    static char *names[] = {"device",       "grid",        "arguments",  "stream",
                            "prepare",      "params",      "units",      "checked",
                            "programmatic", "cooperative", "entry_name", NULL};
    *given = (Given){.params = Py_None, .units = Py_None};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!OO|KpOOpppz#:call", names, state->device,
                                     &given->device, &given->grid, &given->arguments,
                                     &given->stream, &given->prepare, &given->params, &given->units,
                                     &given->checked, &given->programmatic, &given->cooperative,
                                     &given->entry_name, &given->entry_name_size))
        return false;
    given->launch = (tile_launch_options){.size = sizeof given->launch,
                                          .programmatic = given->programmatic,
                                          .cooperative = given->cooperative};
    return true;
}

static bool read_call(Reader *r, const Given *given, uint32_t sides[3], tile_call *made) {
    r->params = given->params == Py_None ? NULL : given->params;
    r->units = given->units == Py_None ? NULL : given->units;
    if (!read_grid(given->grid, sides, &made->grid) || !read_arguments(r, given->arguments))
        return false;
    made->size = sizeof *made;
    made->device = device_of(given->device);
    made->stream = (tile_stream)(uintptr_t)given->stream;
    made->arguments = r->items;
    made->argument_count = r->count;
    made->arrays = r->arrays;
    made->array_count = r->array_count;
    made->entry_name = (tile_text){given->entry_name, (size_t)given->entry_name_size};
    made->launch = given->programmatic || given->cooperative ? &given->launch : NULL;
    return true;
}

static PyObject *function_call(PyObject *object, PyObject *args, PyObject *keywords) {
    FunctionObject *self = (FunctionObject *)object;
    ModuleState *state = state_of_function(object);
    Blocks blocks = {0};
    Reader reader = {.blocks = &blocks, .state = state};
    Given given;
    uint32_t sides[3];
    tile_call made = {0};
    if (!read_given(state, args, keywords, &given))
        return NULL;
    bool ok = read_call(&reader, &given, sides, &made);
    const tile_executable *used = NULL;
    const bool holds_back = reader.has_read_only && !given.checked;
    if (ok) {
        made.steps = given.prepare || holds_back ? TILE_CALL_FIND | TILE_CALL_PREPARE : 0;
        tile_diagnostics *said = NULL;
        tile_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = tile_function_call(self->function, &made, &used, &said);
        Py_END_ALLOW_THREADS;
        ok = check_evaluated(state, &self->evaluator, status, said);
    }
    blocks_free(&blocks);
    if (!ok)
        return NULL;
    return Py_BuildValue("NO", PyLong_FromVoidPtr((void *)(uintptr_t)used),
                         holds_back && !given.prepare ? Py_True : Py_False);
}
/* find(..) -> the instance that such a call uses, a number; 0: it is not compiled */
static PyObject *function_find(PyObject *object, PyObject *args, PyObject *keywords) {
    FunctionObject *self = (FunctionObject *)object;
    ModuleState *state = state_of_function(object);
    Blocks blocks = {0};
    Reader reader = {.blocks = &blocks, .state = state};
    Given given;
    uint32_t sides[3];
    tile_call made = {0};
    const tile_executable *used = NULL;
    tile_diagnostics *said = NULL;
    if (!read_given(state, args, keywords, &given))
        return NULL;
    bool ok = read_call(&reader, &given, sides, &made);
    if (ok) {
        made.steps = TILE_CALL_FIND;
        const tile_status status = tile_function_call(self->function, &made, &used, &said);
        ok = status == TILE_ERROR_NOT_COMPILED || check_status(state, status, said);
    }
    blocks_free(&blocks);
    return ok ? PyLong_FromVoidPtr((void *)(uintptr_t)used) : NULL;
}

/* The kernel that a call uses, with the outputs that are wanted; NULL with an exception. */
static tile_kernel *kernel_of_call(PyObject *object, PyObject *args, PyObject *keywords,
                                   uint32_t want) {
    FunctionObject *self = (FunctionObject *)object;
    ModuleState *state = state_of_function(object);
    Blocks blocks = {0};
    Reader reader = {.blocks = &blocks, .state = state};
    Given given;
    uint32_t sides[3];
    tile_call made = {0};
    tile_kernel *kernel = NULL;
    if (!read_given(state, args, keywords, &given))
        return NULL;
    bool ok = read_call(&reader, &given, sides, &made);
    if (ok) {
        tile_diagnostics *said = NULL;
        tile_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = tile_function_kernel(self->function, &made, want, &kernel, &said);
        Py_END_ALLOW_THREADS;
        ok = check_evaluated(state, &self->evaluator, status, said);
    }
    blocks_free(&blocks);
    if (ok)
        return kernel;
    tile_kernel_destroy(kernel);
    return NULL;
}

/* kernel(want, device, grid, arguments, ..) -> Kernel: that such a call uses */
static PyObject *function_kernel(PyObject *object, PyObject *args, PyObject *keywords) {
    uint32_t want = 0;
    PyObject *names = PyTuple_Size(args) ? PyTuple_GetItem(args, 0) : NULL;
    if (!names || !PyTuple_Check(names)) {
        PyErr_SetString(PyExc_TypeError, "outputs that are wanted are a tuple of names");
        return NULL;
    }
    PyObject *call = read_outputs(names, &want) ? PyTuple_GetSlice(args, 1, PY_SSIZE_T_MAX) : NULL;
    tile_kernel *kernel = call ? kernel_of_call(object, call, keywords, want) : NULL;
    Py_XDECREF(call);
    return kernel ? kernel_wrap(state_of_function(object), kernel) : NULL;
}

/* loaded(instance) -> see executable_describe; zeros of a device that is this machine */
static PyObject *function_loaded(PyObject *object, PyObject *args) {
    unsigned long long instance;
    if (!PyArg_ParseTuple(args, "K:loaded", &instance))
        return NULL;
    return executable_describe(state_of_function(object),
                               (const tile_executable *)(uintptr_t)instance);
}

/* forget(instance): the next call that would use it makes it anew */
static PyObject *function_forget(PyObject *object, PyObject *args) {
    unsigned long long instance;
    if (!PyArg_ParseTuple(args, "K:forget", &instance))
        return NULL;
    tile_function *function = ((FunctionObject *)object)->function;
    tile_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tile_function_forget(function, (const tile_executable *)(uintptr_t)instance);
    Py_END_ALLOW_THREADS;
    if (!check_status(state_of_function(object), status, NULL))
        return NULL;
    Py_RETURN_NONE;
}

/* Names of the pointers that are written through, of a kernel. */
static PyObject *written_of(const tile_kernel *kernel) {
    tile_kernel_info info = {.size = sizeof info};
    PyObject *names = PyList_New(0);
    if (tile_kernel_get_info(kernel, &info) != TILE_OK)
        return names;
    for (size_t i = 0; names && i < info.param_count; i++) {
        tile_param_info param = {.size = sizeof param};
        if (tile_kernel_get_param(kernel, i, &param) != TILE_OK || !param.is_written)
            continue;
        PyObject *name = str_of_text(param.name);
        if (!name || PyList_Append(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

static PyObject *function_written(PyObject *object, PyObject *args, PyObject *keywords) {
    tile_kernel *kernel = kernel_of_call(object, args, keywords, 0);
    PyObject *names = kernel ? written_of(kernel) : NULL;
    tile_kernel_destroy(kernel);
    return names;
}

static PyMethodDef methods[] = {
    {"call", (PyCFunction)(void (*)(void))function_call, METH_VARARGS | METH_KEYWORDS,
     "call(device, grid, arguments, stream=0, prepare=False, params=None, units=None, "
     "checked=False, programmatic=False, cooperative=False) -> (number of the instance, 0 where "
     "nothing was to be launched, held back): "
     "compiles what is missing, and launches unless that is all that is asked for, or there is "
     "memory of a GPU's that is not to be written and nobody has checked whether it is. params: "
     "(name, type or None) of each, \"i8\" where it is annotated; units: {id(class of named "
     "tuples): its unit}"},
    {"written", (PyCFunction)(void (*)(void))function_written, METH_VARARGS | METH_KEYWORDS,
     "written(..) -> names of the pointers, \"x\", \"t.0\", through which the kernel of such a "
     "call may write"},
    {"find", (PyCFunction)(void (*)(void))function_find, METH_VARARGS | METH_KEYWORDS,
     "find(..) -> the instance that such a call uses, a number; 0: it is not compiled"},
    {"kernel", (PyCFunction)(void (*)(void))function_kernel, METH_VARARGS | METH_KEYWORDS,
     "kernel(want, ..) -> Kernel: that such a call uses, with these outputs"},
    {"loaded", function_loaded, METH_VARARGS,
     "loaded(instance) -> (CUmodule, CUfunction, registers, local bytes, greatest number of "
     "threads); zeros of a device that is this machine"},
    {"forget", function_forget, METH_VARARGS,
     "forget(instance): the next call that would use it compiles it anew"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Function(units, options, evaluate=None): a kernel, compiled when it is called."},
    {Py_tp_new, (void *)function_new},
    {Py_tp_traverse, (void *)function_traverse},
    {Py_tp_clear, (void *)function_clear},
    {Py_tp_dealloc, (void *)function_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {.name = "tilec._tilec.Function",
                           .basicsize = sizeof(FunctionObject),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                           .slots = slots};

int add_function_type(PyObject *module) {
    ModuleState *state = state_of(module);
    state->function = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->function ? PyModule_AddType(module, state->function) : -1;
}
