/* Launcher: the base of JITFunction, launcher[grid](..). See launcher.h. */
#include "launcher.h"

#include <stdlib.h>
#include <string.h>
#include <structmember.h>

/* launcher[grid], as the `self` of a function of C's: those are called without a tuple. */
typedef struct Bound {
    PyObject_HEAD Launcher *launcher;
    PyObject *grid;
} Bound;

/* The slow way */

/* self.run(*args, grid=grid, warmup=False, **keywords) */
static PyObject *run_slowly(Launcher *launcher, PyObject *grid, PyObject *const *args,
                            Py_ssize_t count, PyObject *names) {
    PyObject *positional = PyTuple_New(count), *keywords = PyDict_New();
    bool ok = positional && keywords && PyDict_SetItemString(keywords, "grid", grid) == 0 &&
              PyDict_SetItemString(keywords, "warmup", Py_False) == 0;
    for (Py_ssize_t i = 0; ok && i < count; i++) {
        Py_INCREF(args[i]);
        PyTuple_SetItem(positional, i, args[i]);
    }
    for (Py_ssize_t i = 0; ok && names && i < PyTuple_Size(names); i++)
        ok = PyDict_SetItem(keywords, PyTuple_GetItem(names, i), args[count + i]) == 0;
    PyObject *run = ok ? PyObject_GetAttr((PyObject *)launcher, launcher->state->run_name) : NULL;
    PyObject *given = run ? PyObject_Call(run, positional, keywords) : NULL;
    Py_XDECREF(run);
    Py_XDECREF(keywords);
    Py_XDECREF(positional);
    return given;
}

/* Grids */

static bool read_side(PyObject *item, uint32_t *side) {
    PyObject *number = PyNumber_Index(item);
    const unsigned long value = number ? PyLong_AsUnsignedLong(number) : 0;
    Py_XDECREF(number);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    *side = (uint32_t)value;
    return value <= UINT32_MAX;
}

/* False: the slow way says what is wrong, or takes what is seldom. */
static bool read_sides(PyObject *grid, uint32_t sides[3]) {
    const bool is_tuple = PyTuple_Check(grid);
    const Py_ssize_t count = is_tuple             ? PyTuple_Size(grid)
                             : PyList_Check(grid) ? PyList_Size(grid)
                                                  : 0;
    if (count < 1 || count > 3)
        return false;
    sides[0] = sides[1] = sides[2] = 1;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!read_side(is_tuple ? PyTuple_GetItem(grid, i) : PyList_GetItem(grid, i), &sides[i]))
            return false;
    return true;
}

/* grid({name: value}) */
static PyObject *call_grid(const Launcher *launcher, PyObject *grid, const Values *values) {
    PyObject *named = PyDict_New();
    bool ok = named != NULL;
    for (size_t i = 0; ok && i < launcher->parameter_count; i++)
        ok = PyDict_SetItem(named, launcher->parameters[i].name, values->of[i]) == 0;
    PyObject *given = ok ? PyObject_CallFunctionObjArgs(grid, named, NULL) : NULL;
    Py_XDECREF(named);
    return given;
}

/* The quick way */

typedef enum Outcome { DONE, FAILED, NOT_SO } Outcome;

static Outcome launch_by(Launcher *launcher, Recipe *recipe, PyObject *grid, const Values *values,
                         Gathered *gathered, PyObject **kernel) {
    uint32_t sides[3];
    tile_call call = {.size = sizeof call,
                      .grid = sides,
                      .arguments = gathered->arguments,
                      .argument_count = launcher->parameter_count,
                      .steps = TILE_CALL_FIND | TILE_CALL_LAUNCH};
    const tile_executable *used = NULL;
    tile_diagnostics *said = NULL;
    if (!read_sides(grid, sides) || !recipe_place(launcher->state, recipe, gathered, &call))
        return NOT_SO;
    const tile_status status = tile_function_call(recipe_function(recipe), &call, &used, &said);
    tile_diagnostics_destroy(said);
    if (status != TILE_OK || !used)
        return NOT_SO; /* the slow way makes it, or says what is wrong */
    *kernel = recipe_kernel((PyObject *)launcher, recipe, used);
    return *kernel ? DONE : FAILED;
}

/* `grid` becomes what a function of it gave, which is called once. */
static Outcome launch(Launcher *launcher, PyObject **grid, PyObject *const *args, Py_ssize_t count,
                      PyObject *names, PyObject **kernel) {
    ModuleState *state = launcher->state;
    Values values;
    Gathered gathered;
    if (!bind_values(launcher, args, count, names, &values))
        return NOT_SO;
    gathered.registers = false;
    if (!gather(state, launcher->parameters, launcher->parameter_count, values.of, &gathered))
        return NOT_SO;
    Recipe *recipe = recipe_find(state, launcher, &values, &gathered);
    if (!recipe)
        return NOT_SO;
    Outcome outcome = FAILED;
    if (!PyTuple_CheckExact(*grid) && PyCallable_Check(*grid)) {
        PyObject *given = call_grid(launcher, *grid, &values);
        Py_DECREF(*grid);
        *grid = given;
    }
    if (*grid)
        outcome = launch_by(launcher, recipe, *grid, &values, &gathered, kernel);
    recipe_release(recipe);
    return outcome;
}

/* Whether nobody has put another `run` in the place of the class's. */
static bool runs_as_set_up(const Launcher *launcher) {
    PyObject *run = PyObject_GetAttr((PyObject *)Py_TYPE(launcher), launcher->state->run_name);
    Py_XDECREF(run);
    if (!run)
        PyErr_Clear();
    return run && run == launcher->run;
}

static PyObject *bound_call(PyObject *self, PyObject *const *args, Py_ssize_t count,
                            PyObject *names) {
    Launcher *launcher = ((Bound *)self)->launcher;
    PyObject *grid = ((Bound *)self)->grid, *kernel = NULL;
    Py_INCREF(grid);
    Outcome outcome = NOT_SO;
    if (launcher->recipe_count && launcher->hooks && PyList_Check(launcher->hooks) &&
        PyList_Size(launcher->hooks) == 0 && runs_as_set_up(launcher))
        outcome = launch(launcher, &grid, args, count, names, &kernel);
    if (outcome == NOT_SO)
        kernel = run_slowly(launcher, grid, args, count, names);
    Py_XDECREF(grid);
    return kernel;
}

static PyMethodDef call_method = {"launch", (PyCFunction)(void (*)(void))bound_call,
                                  METH_FASTCALL | METH_KEYWORDS,
                                  "launch(*arguments, **options): of a function, by a grid."};

static PyObject *launcher_subscript(PyObject *self, PyObject *grid) {
    PyTypeObject *type = ((Launcher *)self)->state->bound;
    if (!type) {
        PyErr_SetString(PyExc_RuntimeError, "the interpreter ends");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Bound *bound = (Bound *)allocate(type, 0);
    if (!bound)
        return NULL;
    Py_INCREF(self);
    Py_INCREF(grid);
    bound->launcher = (Launcher *)self;
    bound->grid = grid;
    PyObject *method = PyCFunction_NewEx(&call_method, (PyObject *)bound, NULL);
    Py_DECREF(bound);
    return method;
}

/* Bound */

static int bound_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Bound *)self)->launcher);
    Py_VISIT(((Bound *)self)->grid);
    return 0;
}

static int bound_clear(PyObject *self) {
    Py_CLEAR(((Bound *)self)->grid);
    return 0;
}

static void bound_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((Bound *)self)->launcher);
    Py_XDECREF(((Bound *)self)->grid);
    release(self);
    Py_DECREF(type);
}

static PyType_Slot bound_slots[] = {
    {Py_tp_traverse, (void *)bound_traverse},
    {Py_tp_clear, (void *)bound_clear},
    {Py_tp_dealloc, (void *)bound_dealloc},
    {0, NULL},
};

static PyType_Spec bound_spec = {.name = "tilec._tilec._Bound",
                                 .basicsize = sizeof(Bound),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                                 .slots = bound_slots};

/* Launcher */

/* The type is one that derives from ours: its module is found along its bases. */
static ModuleState *find_state(PyTypeObject *type) {
    PyObject *bases = PyObject_GetAttrString((PyObject *)type, "__mro__");
    ModuleState *state = NULL;
    for (Py_ssize_t i = 0; bases && !state && i < PyTuple_Size(bases); i++) {
        PyObject *module = PyType_GetModule((PyTypeObject *)PyTuple_GetItem(bases, i));
        if (module && PyModule_GetDef(module) == &tilec_module)
            state = state_of(module);
        PyErr_Clear();
    }
    Py_XDECREF(bases);
    return state;
}

static PyObject *launcher_new(PyTypeObject *type, PyObject *Py_UNUSED(args),
                              PyObject *Py_UNUSED(keywords)) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Launcher *self = (Launcher *)allocate(type, 0);
    if (!self)
        return NULL;
    self->state = find_state(type);
    self->hooks = PyList_New(0);
    if (self->hooks && self->state)
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void free_parameters(Launcher *launcher) {
    Parameter *parameters = launcher->parameters;
    const size_t count = launcher->parameter_count;
    launcher->parameters = NULL;
    launcher->parameter_count = 0;
    for (size_t i = 0; i < count; i++) {
        Py_XDECREF(parameters[i].name);
        Py_XDECREF(parameters[i].fallback);
    }
    free(parameters);
}

static int launcher_traverse(PyObject *self, visitproc visit, void *arg) {
    Launcher *launcher = (Launcher *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(launcher->hooks);
    Py_VISIT(launcher->run);
    for (size_t i = 0; i < launcher->parameter_count; i++)
        Py_VISIT(launcher->parameters[i].fallback);
    return recipes_traverse(launcher, visit, arg);
}

static int launcher_clear(PyObject *self) {
    Launcher *launcher = (Launcher *)self;
    recipes_clear(launcher);
    sites_clear(launcher);
    Py_CLEAR(launcher->run);
    Py_CLEAR(launcher->hooks);
    free_parameters(launcher);
    return 0;
}

static void launcher_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    PyObject_GC_UnTrack(self);
    launcher_clear(self);
    release(self);
    Py_DECREF(type);
}

/* (name, type or None, is_constexpr) or with a default behind */
static bool read_parameter(PyObject *tuple, Parameter *parameter) {
    PyObject *name, *type, *fallback = NULL;
    int is_constexpr;
    if (!PyArg_ParseTuple(tuple, "UOp|O:parameter", &name, &type, &is_constexpr, &fallback) ||
        (type != Py_None && !read_type(type, &parameter->type, &parameter->is_pointer)))
        return false;
    parameter->is_constexpr = is_constexpr;
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    parameter->name = name;
    Py_XINCREF(fallback);
    parameter->fallback = fallback;
    return true;
}

/* _setup(parameters): launches may go the quick way from here on. Once: other threads may be at it.
 */
static PyObject *launcher_setup(PyObject *self, PyObject *tuple) {
    Launcher *launcher = (Launcher *)self;
    const Py_ssize_t count = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : TILE_MAX_ARGUMENTS + 1;
    if (launcher->parameters || count > TILE_MAX_ARGUMENTS)
        Py_RETURN_NONE; /* with more of them all its launches are slow */
    launcher->parameters = calloc((size_t)count + 1, sizeof *launcher->parameters);
    if (!launcher->parameters)
        return PyErr_NoMemory();
    for (; launcher->parameter_count < (size_t)count; launcher->parameter_count++)
        if (!read_parameter(PyTuple_GetItem(tuple, (Py_ssize_t)launcher->parameter_count),
                            &launcher->parameters[launcher->parameter_count]))
            return NULL;
    launcher->run = PyObject_GetAttr((PyObject *)Py_TYPE(self), launcher->state->run_name);
    if (!launcher->run)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *launcher_forget(PyObject *self, PyObject *Py_UNUSED(unused)) {
    recipes_clear((Launcher *)self);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"_setup", launcher_setup, METH_O,
     "_setup(((name, type or None, is_constexpr[, default]), ..)): launches may go the quick way"},
    {"_remember", launcher_remember, METH_VARARGS,
     "_remember(values, options, function, device, ordinal, constants, meaning_of, instance, "
     "kernel) -> bool: such launches go by what this one has found out. constants: [(namespace, "
     "name, value)] that must not change; meaning_of(object) -> its literal, as str or int, or "
     "None"},
    {"_forget_launches", launcher_forget, METH_NOARGS, "_forget_launches(): what was remembered"},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"pre_run_hooks", T_OBJECT, offsetof(Launcher, hooks), 0,
     "Called with the arguments before each launch."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Launcher(): launcher[grid](..), the base of functions."},
    {Py_tp_new, (void *)launcher_new},
    {Py_tp_traverse, (void *)launcher_traverse},
    {Py_tp_clear, (void *)launcher_clear},
    {Py_tp_dealloc, (void *)launcher_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_mp_subscript, (void *)launcher_subscript},
    {0, NULL},
};

static PyType_Spec spec = {.name = "tilec._tilec.Launcher",
                           .basicsize = sizeof(Launcher),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
                           .slots = slots};

int add_launcher_type(PyObject *module) {
    ModuleState *state = state_of(module);
    state->bound = (PyTypeObject *)PyType_FromModuleAndSpec(module, &bound_spec, NULL);
    state->run_name = PyUnicode_InternFromString("run");
    if (!state->bound || !state->run_name || !tensor_types_init(&state->tensors))
        return -1;
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    const int status = type ? PyModule_AddType(module, type) : -1;
    Py_XDECREF(type);
    return status;
}

/* What they share */

PyObject *settings_changed(PyObject *module, PyObject *Py_UNUSED(unused)) {
    state_of(module)->settings++;
    Py_RETURN_NONE;
}

PyObject *set_streams(PyObject *module, PyObject *args) {
    ModuleState *state = state_of(module);
    PyObject *device, *stream;
    int count;
    if (!PyArg_ParseTuple(args, "OOi:set_streams", &device, &stream, &count))
        return NULL;
    Py_INCREF(device);
    Py_INCREF(stream);
    Py_XDECREF(state->current_device);
    Py_XDECREF(state->current_stream);
    state->current_device = device;
    state->current_stream = stream;
    state->tensors.has_several_devices = count > 1;
    state->settings++;
    Py_RETURN_NONE;
}
