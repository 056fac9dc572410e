/* Function(units, options, evaluate=None): a kernel and what it reaches, compiled when it is
 * called. */
#include "function.h"

static ModuleState *state_of_function(PyObject *self) {
    return state_of_type(Py_TYPE(self));
}

/* As check_status; an exception of evaluate() is the cause of what it led to. */
static bool check_evaluated(ModuleState *state, Evaluator *evaluator, tile_status status,
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

/* A tuple of one to three counts, or None. */
static bool read_grid(PyObject *object, uint32_t grid[3], const uint32_t **given) {
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
        if (PyErr_Occurred())
            return false;
        if (value > UINT32_MAX) {
            PyErr_Format(PyExc_ValueError, "a grid of %R is too large", object);
            return false;
        }
        grid[i] = (uint32_t)value;
    }
    return true;
}

static bool call(FunctionObject *self, ModuleState *state, Blocks *blocks, tile_call *made,
                 PyObject *grid, PyObject *arguments) {
    Arguments read;
    uint32_t sides[3];
    tile_diagnostics *said = NULL;
    if (!read_grid(grid, sides, &made->grid) || !read_arguments(blocks, state, arguments, &read))
        return false;
    made->arguments = read.items;
    made->argument_count = read.count;
    made->arrays = read.arrays;
    made->array_count = read.array_count;
    tile_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tile_function_call(self->function, made, NULL, &said);
    Py_END_ALLOW_THREADS;
    return check_evaluated(state, &self->evaluator, status, said);
}

/* call(device, grid, arguments, stream=0, prepare=False) */
static PyObject *function_call(PyObject *object, PyObject *args) {
    ModuleState *state = state_of_function(object);
    PyObject *device, *grid, *arguments;
    unsigned long long stream = 0;
    int prepare = 0;
    Blocks blocks = {0};
    if (!PyArg_ParseTuple(args, "O!OO|Kp:call", state->device, &device, &grid, &arguments, &stream,
                          &prepare))
        return NULL;
    const unsigned steps = prepare ? TILE_CALL_FIND | TILE_CALL_PREPARE : 0;
    tile_call made = {.size = sizeof made,
                      .device = device_of(device),
                      .stream = (tile_stream)(uintptr_t)stream,
                      .steps = steps};
    const bool ok = call((FunctionObject *)object, state, &blocks, &made, grid, arguments);
    blocks_free(&blocks);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"call", function_call, METH_VARARGS,
     "call(device, grid, arguments, stream=0, prepare=False): compiles what is missing, and "
     "launches unless that is all that is asked for"},
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
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    const int status = type ? PyModule_AddType(module, type) : -1;
    Py_XDECREF(type);
    return status;
}
