/* What the next launches of a kind need: found by options and by the objects that are no numbers
 * and no arrays, and made by JITFunction.run. */
#include "launcher.h"
#include "tensors.h"

#include <stdlib.h>
#include <string.h>

/* A constexpr's text or number, or a record's unit. */
typedef struct Meaning {
    size_t parameter;
    PyObject *object;
    PyObject *text; /* keeps what `of` points at */
    tile_argument of;
} Meaning;

/* A constexpr of a module, as it was when a kernel was compiled with it. */
typedef struct Constant {
    PyObject *namespace, *name, *value;
} Constant;

typedef struct Instance {
    const tile_executable *used;
    PyObject *kernel;
} Instance;

struct Recipe {
    unsigned holders; /* its launcher, and launches that use it: those may call Python */
    unsigned settings;
    PyObject *option_names[MOST_OPTIONS], *options[MOST_OPTIONS];
    size_t option_count;
    Meaning *meanings;
    size_t meaning_count;
    Constant *constants;
    size_t constant_count;
    PyObject *function, *device;
    int ordinal;
    tile_launch_options launch; /* programmatic or cooperative, if the options say so */
    Instance *instances;        /* last used first */
    size_t instance_count;
};

/* Values */

/* Whether it means the same: the very object, or the same number or text. */
static bool is_same(PyObject *a, PyObject *b) {
    if (a == b)
        return true;
    if (Py_TYPE(a) != Py_TYPE(b))
        return false;
    if (PyUnicode_CheckExact(a))
        return PyUnicode_Compare(a, b) == 0;
    if (PyFloat_CheckExact(a)) {
        const double x = PyFloat_AsDouble(a), y = PyFloat_AsDouble(b);
        return !memcmp(&x, &y, sizeof x);
    }
    if (PyLong_CheckExact(a))
        return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
    if (!PyTuple_CheckExact(a) || PyTuple_Size(a) != PyTuple_Size(b))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_Size(a); i++)
        if (!is_same(PyTuple_GetItem(a, i), PyTuple_GetItem(b, i)))
            return false;
    return true;
}

static bool has_options(const Recipe *recipe, const Values *values) {
    if (recipe->option_count != values->option_count)
        return false;
    for (size_t i = 0; i < recipe->option_count; i++)
        if (!is_same(recipe->option_names[i], values->option_names[i]) ||
            !is_same(recipe->options[i], values->options[i]))
            return false;
    return true;
}

static bool has_odds(const Recipe *recipe, const Gathered *gathered) {
    if (recipe->meaning_count != gathered->odd_count)
        return false;
    for (size_t i = 0; i < recipe->meaning_count; i++)
        if (recipe->meanings[i].parameter != gathered->odds[i].parameter ||
            !is_same(recipe->meanings[i].object, gathered->odds[i].object))
            return false;
    return true;
}

static bool is_still(const Constant *constant) {
    if (PyDict_Check(constant->namespace))
        return PyDict_GetItemWithError(constant->namespace, constant->name) == constant->value;
    PyObject *now = PyObject_GetAttr(constant->namespace, constant->name);
    Py_XDECREF(now); /* whoever holds it still does */
    return now == constant->value;
}

/* Constexprs of modules and functions around that changed: the slow way says which. */
static bool has_constants(const Recipe *recipe) {
    for (size_t i = 0; i < recipe->constant_count; i++) {
        const Constant *constant = &recipe->constants[i];
        if (!is_still(constant)) {
            PyErr_Clear();
            return false;
        }
    }
    return true;
}

/* Puts in what the odd objects mean: constexprs, and units of tuples. */
static void complete(const Recipe *recipe, Gathered *gathered) {
    for (size_t i = 0; i < recipe->meaning_count; i++) {
        tile_argument *argument = gathered->odds[i].argument;
        const tile_argument *meaning = &recipe->meanings[i].of;
        if (PyType_Check(gathered->odds[i].object)) /* the class of the tuple */
            argument->value.tuple.record = (uint32_t)meaning->value.integer + 1;
        else
            *argument = *meaning;
    }
}

/* Holding */

static void recipe_free(Recipe *recipe) {
    for (size_t i = 0; i < recipe->option_count; i++) {
        Py_XDECREF(recipe->option_names[i]);
        Py_XDECREF(recipe->options[i]);
    }
    for (size_t i = 0; i < recipe->meaning_count; i++) {
        Py_XDECREF(recipe->meanings[i].object);
        Py_XDECREF(recipe->meanings[i].text);
    }
    for (size_t i = 0; i < recipe->constant_count; i++) {
        Py_XDECREF(recipe->constants[i].namespace);
        Py_XDECREF(recipe->constants[i].name);
        Py_XDECREF(recipe->constants[i].value);
    }
    for (size_t i = 0; i < recipe->instance_count; i++)
        Py_XDECREF(recipe->instances[i].kernel);
    Py_XDECREF(recipe->function);
    Py_XDECREF(recipe->device);
    free(recipe->meanings);
    free(recipe->constants);
    free(recipe->instances);
    free(recipe);
}

void recipe_release(Recipe *recipe) {
    if (!--recipe->holders)
        recipe_free(recipe);
}

int recipes_traverse(Launcher *launcher, visitproc visit, void *arg) {
    for (size_t r = 0; r < launcher->recipe_count; r++) {
        Recipe *recipe = launcher->recipes[r];
        if (recipe->holders > 1)
            continue; /* somebody else's references are counted, too: not garbage */
        for (size_t i = 0; i < recipe->option_count; i++)
            Py_VISIT(recipe->options[i]);
        for (size_t i = 0; i < recipe->meaning_count; i++)
            Py_VISIT(recipe->meanings[i].object);
        for (size_t i = 0; i < recipe->constant_count; i++) {
            Py_VISIT(recipe->constants[i].namespace);
            Py_VISIT(recipe->constants[i].value);
        }
        for (size_t i = 0; i < recipe->instance_count; i++)
            Py_VISIT(recipe->instances[i].kernel);
        Py_VISIT(recipe->function);
        Py_VISIT(recipe->device);
    }
    return 0;
}

void recipes_clear(Launcher *launcher) {
    while (launcher->recipe_count) {
        Recipe *recipe = launcher->recipes[--launcher->recipe_count];
        launcher->recipes[launcher->recipe_count] = NULL;
        recipe_release(recipe);
    }
}

/* To the front; the last one goes if there is no room. */
static void put_first(Launcher *launcher, size_t at, Recipe *recipe) {
    memmove(launcher->recipes + 1, launcher->recipes, at * sizeof *launcher->recipes);
    launcher->recipes[0] = recipe;
}

/* Finding */

Recipe *recipe_find(ModuleState *state, Launcher *launcher, const Values *values,
                    Gathered *gathered) {
    for (size_t i = 0; i < launcher->recipe_count; i++) {
        Recipe *recipe = launcher->recipes[i];
        if (recipe->settings != state->settings || !has_options(recipe, values) ||
            !has_odds(recipe, gathered) ||
            (gathered->device >= 0 && gathered->device != recipe->ordinal))
            continue;
        if (!has_constants(recipe))
            return NULL;
        if (i)
            put_first(launcher, i, recipe);
        complete(recipe, gathered);
        recipe->holders++;
        return recipe;
    }
    return NULL;
}

/* A number that a function of Python's gives; false without an exception. */
static bool call_number(PyObject *function, PyObject *argument, unsigned long long *number) {
    PyObject *given = PyObject_CallFunctionObjArgs(function, argument, NULL);
    *number = given ? PyLong_AsUnsignedLongLong(given) : 0;
    Py_XDECREF(given);
    if (!PyErr_Occurred())
        return true;
    PyErr_Clear();
    return false;
}

bool recipe_place(ModuleState *state, Recipe *recipe, const Gathered *gathered, tile_call *call) {
    unsigned long long number = 0;
    call->device = device_of(recipe->device);
    if (recipe->launch.programmatic || recipe->launch.cooperative)
        call->launch = &recipe->launch;
    if (state->tensors.has_several_devices && (!call_number(state->current_device, NULL, &number) ||
                                               number != (unsigned long long)recipe->ordinal))
        return false;
    if (gathered->exchange)
        return exchange_stream(gathered->exchange, recipe->ordinal, &call->stream);
    PyObject *ordinal = PyLong_FromLong(recipe->ordinal);
    const bool ok = ordinal && call_number(state->current_stream, ordinal, &number);
    Py_XDECREF(ordinal);
    call->stream = (tile_stream)(uintptr_t)number;
    return ok;
}

tile_function *recipe_function(const Recipe *recipe) {
    return ((FunctionObject *)recipe->function)->function;
}

static bool add_instance(Recipe *recipe, const tile_executable *used, PyObject *kernel) {
    const size_t count = recipe->instance_count;
    Instance *grown = realloc(recipe->instances, (count + 1) * sizeof *grown);
    if (!grown) {
        PyErr_NoMemory();
        return false;
    }
    recipe->instances = grown;
    memmove(grown + 1, grown, count * sizeof *grown);
    Py_INCREF(kernel);
    grown[0] = (Instance){used, kernel};
    recipe->instance_count++;
    return true;
}

PyObject *recipe_kernel(PyObject *launcher, Recipe *recipe, const tile_executable *used) {
    for (size_t i = 0; i < recipe->instance_count; i++) {
        const Instance found = recipe->instances[i];
        if (found.used != used)
            continue;
        if (i) {
            memmove(recipe->instances + 1, recipe->instances, i * sizeof found);
            recipe->instances[0] = found;
        }
        Py_INCREF(found.kernel);
        return found.kernel;
    }
    PyObject *kernel =
        PyObject_CallMethod(launcher, "_kernel_of", "K", (unsigned long long)(uintptr_t)used);
    if (kernel && !add_instance(recipe, used, kernel))
        Py_CLEAR(kernel);
    return kernel;
}

/* Making */

/* Whether what it means stays as it is: its literal is kept with it. */
static bool is_frozen(PyObject *object) {
    if (PyList_Check(object) || PyDict_Check(object))
        return false;
    if (PyTuple_Check(object))
        for (Py_ssize_t i = 0; i < PyTuple_Size(object); i++)
            if (!is_frozen(PyTuple_GetItem(object, i)))
                return false;
    return true;
}

/* What an object means, by a function of Python's: a literal as text, a number, or None. */
static bool add_meaning(Recipe *recipe, const Odd *odd, PyObject *meaning_of) {
    Meaning *meaning = &recipe->meanings[recipe->meaning_count];
    PyObject *text =
        is_frozen(odd->object) ? PyObject_CallFunctionObjArgs(meaning_of, odd->object, NULL) : NULL;
    int overflow = 0;
    Py_ssize_t size;
    if (text && PyLong_Check(text)) {
        meaning->of = tile_constexpr_int(PyLong_AsLongLongAndOverflow(text, &overflow));
    } else if (text && PyUnicode_Check(text)) {
        const char *utf8 = PyUnicode_AsUTF8AndSize(text, &size);
        meaning->of = tile_constexpr((tile_text){utf8, (size_t)size});
    } else {
        overflow = 1;
    }
    if (overflow || PyErr_Occurred()) {
        Py_XDECREF(text);
        PyErr_Clear();
        return false;
    }
    Py_INCREF(odd->object);
    meaning->parameter = odd->parameter;
    meaning->object = odd->object;
    meaning->text = text;
    recipe->meaning_count++;
    return true;
}

/* [(dict, name, value)], or an object that has the value as an attribute in the place of a dict */
static bool add_constants(Recipe *recipe, PyObject *list) {
    const Py_ssize_t count = PyList_Size(list);
    recipe->constants = calloc((size_t)count + 1, sizeof *recipe->constants);
    for (Py_ssize_t i = 0; recipe->constants && i < count; i++) {
        Constant *constant = &recipe->constants[i];
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "OUO:constant", &constant->namespace,
                              &constant->name, &constant->value))
            return false;
        Py_INCREF(constant->namespace);
        Py_INCREF(constant->name);
        Py_INCREF(constant->value);
        recipe->constant_count++;
    }
    return recipe->constants != NULL;
}

static bool add_options(Recipe *recipe, PyObject *options) {
    PyObject *name, *value;
    Py_ssize_t position = 0;
    if (PyDict_Size(options) > MOST_OPTIONS)
        return false;
    while (PyDict_Next(options, &position, &name, &value)) {
        if (!is_frozen(value))
            return false;
        Py_INCREF(name);
        Py_INCREF(value);
        PyUnicode_InternInPlace(&name);
        recipe->option_names[recipe->option_count] = name;
        recipe->options[recipe->option_count++] = value;
    }
    return true;
}

/* What _remember() is given. */
typedef struct Remembered {
    PyObject *values, *options, *function, *device, *constants, *meaning_of, *kernel;
    int ordinal;
    unsigned long long used;
} Remembered;

/* Whether an option is given, and true. */
static bool is_asked(PyObject *options, const char *name) {
    PyObject *value = PyDict_GetItemString(options, name);
    return value && PyObject_IsTrue(value) == 1;
}

static bool fill(Recipe *recipe, ModuleState *state, Launcher *launcher, const Remembered *given) {
    PyObject *values[TILE_MAX_ARGUMENTS];
    Gathered gathered;
    for (size_t i = 0; i < launcher->parameter_count; i++)
        values[i] = PyList_GetItem(given->values, (Py_ssize_t)i);
    gathered.registers = true;
    if (!gather(state, launcher->parameters, launcher->parameter_count, values, &gathered))
        return false;
    recipe->meanings = calloc(gathered.odd_count + 1, sizeof *recipe->meanings);
    for (size_t i = 0; i < gathered.odd_count; i++)
        if (!recipe->meanings || !add_meaning(recipe, &gathered.odds[i], given->meaning_of))
            return false;
    Py_INCREF(given->function);
    Py_INCREF(given->device);
    recipe->function = given->function;
    recipe->device = given->device;
    recipe->ordinal = given->ordinal;
    recipe->settings = state->settings;
    recipe->launch =
        (tile_launch_options){.size = sizeof recipe->launch,
                              .programmatic = is_asked(given->options, "launch_pdl"),
                              .cooperative = is_asked(given->options, "launch_cooperative_grid")};
    return add_options(recipe, given->options) && add_constants(recipe, given->constants) &&
           add_instance(recipe, (const tile_executable *)(uintptr_t)given->used, given->kernel);
}

static bool is_alike(const Recipe *a, const Recipe *b) {
    if (a->ordinal != b->ordinal || a->option_count != b->option_count ||
        a->meaning_count != b->meaning_count)
        return false;
    for (size_t i = 0; i < a->option_count; i++)
        if (a->option_names[i] != b->option_names[i] || !is_same(a->options[i], b->options[i]))
            return false;
    for (size_t i = 0; i < a->meaning_count; i++)
        if (a->meanings[i].parameter != b->meanings[i].parameter ||
            !is_same(a->meanings[i].object, b->meanings[i].object))
            return false;
    return true;
}

static void remove_recipe(Launcher *launcher, size_t at) {
    Recipe *recipe = launcher->recipes[at];
    launcher->recipe_count--;
    memmove(launcher->recipes + at, launcher->recipes + at + 1,
            (launcher->recipe_count - at) * sizeof recipe);
    recipe_release(recipe);
}

/* One for the same calls, whose instance this one has. */
static bool joins(Launcher *launcher, const Recipe *recipe) {
    for (size_t i = 0; i < launcher->recipe_count; i++) {
        Recipe *known = launcher->recipes[i];
        if (known->function != recipe->function || known->settings != recipe->settings ||
            !is_alike(known, recipe))
            continue;
        for (size_t k = 0; k < known->instance_count; k++)
            if (known->instances[k].used == recipe->instances[0].used)
                return true;
        return add_instance(known, recipe->instances[0].used, recipe->instances[0].kernel);
    }
    return false;
}

/* Those that no launch will find again go. */
static void add_recipe(Launcher *launcher, Recipe *recipe) {
    for (size_t i = launcher->recipe_count; i-- > 0;)
        if (i < launcher->recipe_count && (launcher->recipes[i]->settings != recipe->settings ||
                                           is_alike(launcher->recipes[i], recipe)))
            remove_recipe(launcher, i);
    while (launcher->recipe_count == RECIPES)
        remove_recipe(launcher, RECIPES - 1);
    put_first(launcher, launcher->recipe_count++, recipe);
}

PyObject *launcher_remember(PyObject *self, PyObject *args) {
    Launcher *launcher = (Launcher *)self;
    ModuleState *state = launcher->state;
    Remembered given;
    if (!PyArg_ParseTuple(args, "O!O!O!O!iO!OKO:_remember", &PyList_Type, &given.values,
                          &PyDict_Type, &given.options, state->function, &given.function,
                          state->device, &given.device, &given.ordinal, &PyList_Type,
                          &given.constants, &given.meaning_of, &given.used, &given.kernel))
        return NULL;
    if ((size_t)PyList_Size(given.values) != launcher->parameter_count || !launcher->run)
        Py_RETURN_FALSE;
    Recipe *recipe = calloc(1, sizeof *recipe);
    if (!recipe)
        return PyErr_NoMemory();
    recipe->holders = 1;
    if (!fill(recipe, state, launcher, &given)) {
        recipe_free(recipe);
        PyErr_Clear();
        Py_RETURN_FALSE;
    }
    if (joins(launcher, recipe))
        recipe_free(recipe);
    else
        add_recipe(launcher, recipe);
    Py_RETURN_TRUE;
}
