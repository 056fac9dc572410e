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

/* As check_status; an exception of evaluate() is the cause of what it led to. */
bool check_evaluated(ModuleState *state, Evaluator *evaluator, tile_status status,
                     tile_diagnostics *said);

/* A tile_evaluate, of an Evaluator. */
tile_status evaluate_binding(void *user, const tile_evaluation *what, tile_evaluated *result);

typedef struct FunctionObject {
    PyObject_HEAD tile_function *function;
    Evaluator evaluator;
} FunctionObject;

/* Reads a list of units and a dict of options; false with an exception. */
bool read_units(Blocks *blocks, PyObject *list, tile_compile_options *options);
bool read_options(Blocks *blocks, PyObject *dict, tile_compile_options *options);

/* Reads the arguments of a call, and the memory that they lead to. */
typedef struct Reader {
    Blocks *blocks;
    ModuleState *state;
    PyObject *params; /* a tuple of (name, type or None), one for each argument; NULL: none */
    PyObject *units;  /* {id(class of named tuples): number of its unit}; NULL: none */
    tile_argument *items;
    size_t count;
    tile_host_array *arrays;
    size_t array_count, array_room;
    bool has_read_only; /* memory of a GPU's that is not to be written */
} Reader;

/* These give false with an exception. */

/* A list of arguments. */
bool read_arguments(Reader *r, PyObject *list);
/* One, of a type or None; `depth` of tuples it is in. */
bool read_argument(Reader *r, PyObject *object, PyObject *type, tile_argument *argument,
                   unsigned depth);
/* An array of any library's (tilec._arrays). */
bool read_array(Reader *r, PyObject *object, tile_argument *argument);
/* A TensorDescriptor. */
bool is_descriptor(ModuleState *state, PyObject *object);
/* All of one but `base`. */
bool read_descriptor_fields(PyObject *object, tile_descriptor *descriptor);
bool read_descriptor(Reader *r, PyObject *object, tile_argument *argument);
/* "fp16", "*i8", and "u1" for bool, "*ki8" for pointers that are only read through. */
bool read_type(PyObject *name, tile_dtype *type, bool *is_pointer);
/* An integer as one of a type; false: it does not fit. Bits are what counts: -1 is one of u8, too.
 */
bool integer_narrow(tile_argument *argument, tile_dtype type);
/* Its name, as of all but TILE_DTYPE_AUTO. */
const char *dtype_text(tile_dtype type);
bool is_float_type(tile_dtype type);

/* A tuple of one to three counts, or None, for which `given` is NULL. False with an exception. */
bool read_grid(PyObject *object, uint32_t grid[3], const uint32_t **given);

/* A Kernel, which owns it from here on, also where this fails. */
PyObject *kernel_wrap(ModuleState *state, tile_kernel *kernel);
tile_kernel *kernel_of(PyObject *object);
/* A tuple of outputs' names; false with an exception. */
bool read_outputs(PyObject *names, uint32_t *want);
/* An Executable. */
PyObject *executable_load(ModuleState *state, PyObject *kernel, PyObject *device);
/* (CUmodule, CUfunction, registers, local bytes, greatest number of threads) */
PyObject *executable_describe(ModuleState *state, const tile_executable *executable);

/* Add the types to the module; 0, or -1 with an exception. */
int add_function_type(PyObject *module);
int add_constexpr_type(PyObject *module);
int add_kernel_type(PyObject *module);
int add_executable_type(PyObject *module);
#endif
