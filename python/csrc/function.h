/* Functions of libtilec as Python objects, and what their calls are made of. */
#ifndef TILEC_PYTHON_FUNCTION_H
#define TILEC_PYTHON_FUNCTION_H
#include "module.h"

/* Memory for the length of one call, and Python objects that have to stay as long. */
typedef struct Blocks {
    struct Block *first;
} Blocks;

/* Zeroed; NULL with an exception. */
void *blocks_alloc(Blocks *blocks, size_t count, size_t size);
/* Keeps a reference; false with an exception. */
bool blocks_keep(Blocks *blocks, PyObject *object);
void blocks_free(Blocks *blocks);
/* The text of a str, which stays as long as the blocks. False with an exception that says what
 * `what` has to be. */
bool blocks_text(Blocks *blocks, PyObject *str, const char *what, tile_text *text);

/* Functions of the host that kernels call while they are compiled. */
typedef struct Evaluator {
    PyObject *function; /* evaluate(unit, name, key, arguments, keywords, capability) */
    PyObject *kept;     /* bytes of results: several threads may compile */
    PyObject *error;    /* the exception of one that failed, for whoever reports it */
} Evaluator;

/* A tile_evaluate, of an Evaluator. */
tile_status evaluate_binding(void *user, const tile_evaluation *what, tile_evaluated *result);

typedef struct FunctionObject {
    PyObject_HEAD tile_function *function;
    Evaluator evaluator;
} FunctionObject;

/* Reads a list of units and a dict of options; false with an exception. */
bool read_units(Blocks *blocks, PyObject *list, tile_compile_options *options);
bool read_options(Blocks *blocks, PyObject *dict, tile_compile_options *options);

/* Arguments of a call, and the memory that they lead to. */
typedef struct Arguments {
    tile_argument *items;
    tile_host_array *arrays; /* as many as there is room for items */
    size_t count, array_count;
} Arguments;

/* False with an exception. */
bool read_arguments(Blocks *blocks, ModuleState *state, PyObject *list, Arguments *arguments);

/* Add the types to the module; 0, or -1 with an exception. */
int add_function_type(PyObject *module);
int add_constexpr_type(PyObject *module);
#endif
