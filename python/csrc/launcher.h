/* Launches whose instance is there: from Python's objects to the driver without code of Python's,
 * and without memory. Whatever is not plain about one goes the slow way, JITFunction.run, which
 * afterwards says by Launcher._remember() what the next such launch needs (docs/python.md).
 *
 * All of it is under the GIL, which no lock of the library's is waited for with. */
#ifndef TILEC_PYTHON_LAUNCHER_H
#define TILEC_PYTHON_LAUNCHER_H
#include "function.h"

enum {
    MOST_ITEMS = TILE_MAX_ARGUMENTS, /* in tuples of one call */
    MOST_DESCRIPTORS = 16,
    MOST_ODDS = 64,
    MOST_OPTIONS = 16,
    SITES = 4,
    RECIPES = 32,
};

typedef struct Parameter {
    PyObject *name;     /* interned */
    PyObject *fallback; /* NULL: it has no default */
    tile_dtype type;    /* that it is annotated with, or AUTO */
    bool is_pointer, is_constexpr;
} Parameter;

/* What is neither a number nor an array: text, functions, types; classes of named tuples, for the
 * tuples that are of them. */
typedef struct Odd {
    size_t parameter;
    PyObject *object; /* borrowed */
    tile_argument *argument;
} Odd;

/* A call's arguments before it is known which units they mean. Items of tuples lie in `items`. */
typedef struct Gathered {
    size_t item_count, descriptor_count, odd_count;
    bool registers;                  /* types that are met for the first time */
    int device;                      /* of arrays that say theirs; -1: none did */
    bool is_several;                 /* such */
    const struct Exchange *exchange; /* of an array that has one */
    Odd odds[MOST_ODDS];
    tile_argument arguments[TILE_MAX_ARGUMENTS], items[MOST_ITEMS];
    tile_descriptor descriptors[MOST_DESCRIPTORS];
} Gathered;

/* False: not by this way, which is no exception. */
bool gather(ModuleState *state, const Parameter *parameters, size_t count, PyObject *const *values,
            Gathered *gathered);

/* Keywords by position: where those of a call's tuple of names go. */
typedef struct Site {
    PyObject *names; /* NULL: no keywords */
    Py_ssize_t positional;
    int16_t *places; /* of a keyword: its parameter, or -1 for an option */
    bool is_used;
} Site;

/* The values of a call: of parameters in order, and of options as they stand. Borrowed. */
typedef struct Values {
    PyObject *of[TILE_MAX_ARGUMENTS];
    PyObject *option_names[MOST_OPTIONS], *options[MOST_OPTIONS];
    size_t option_count;
} Values;

typedef struct Recipe Recipe;

typedef struct Launcher {
    PyObject_HEAD PyObject *hooks; /* pre_run_hooks */
    ModuleState *state;
    PyObject *run; /* the method of its class when it was set up; NULL: always slow */
    Parameter *parameters;
    size_t parameter_count;
    Site sites[SITES];
    unsigned next_site;
    Recipe *recipes[RECIPES]; /* last used first */
    size_t recipe_count;
} Launcher;

/* Binds a call as Python would. False: what the slow way says is wrong, or too much for this one.
 */
bool bind_values(Launcher *launcher, PyObject *const *args, Py_ssize_t count, PyObject *names,
                 Values *values);
void sites_clear(Launcher *launcher);

/* The recipe for such a call, with `gathered` made complete, or NULL. It is held: recipe_release()
 */
Recipe *recipe_find(ModuleState *state, Launcher *launcher, const Values *values,
                    Gathered *gathered);
void recipe_release(Recipe *recipe);
int recipes_traverse(Launcher *launcher, visitproc visit, void *arg);
void recipes_clear(Launcher *launcher);
/* The device, stream and function of a call by it. False: not by this way. */
bool recipe_place(ModuleState *state, Recipe *recipe, const Gathered *gathered, tile_call *call);
tile_function *recipe_function(const Recipe *recipe);
/* A new reference: what is returned for an instance, of JITFunction._kernel_of(its number) where
 * another kind of launch had it made. NULL with an exception. */
PyObject *recipe_kernel(PyObject *launcher, Recipe *recipe, const tile_executable *used);

/* Launcher._remember(..) */
PyObject *launcher_remember(PyObject *self, PyObject *args);
#endif
