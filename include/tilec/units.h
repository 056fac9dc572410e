/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels whose functions a program has one by one, each with the values that its names stand for:
 * what `import triton` gives for functions of Python. docs/python.md */
#ifndef TILEC_UNITS_H
#define TILEC_UNITS_H
#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a name of a unit stands for: X(name, value). */
#define TILE_BINDING_KINDS(X)                                                                      \
    X(TILE_BIND_LITERAL, 0)   /* a value; text: a literal */                                       \
    X(TILE_BIND_UNIT, 1)      /* what a unit of the list is */                                     \
    X(TILE_BIND_LANGUAGE, 2)  /* text: a dotted name, "triton.language.load", "triton.language" */ \
    X(TILE_BIND_NAMESPACE, 3) /* a module or class: its names are bound as "name.of_it" */         \
    X(TILE_BIND_UNUSABLE, 4)  /* text: the message where a kernel comes to the name */             \
    X(TILE_BIND_EVALUATE, 5)  /* a function that tile_evaluate calls; text: identifies it */

typedef enum tile_binding_kind {
#define TILE_BINDING_ENUM(name, value) name = value,
    TILE_BINDING_KINDS(TILE_BINDING_ENUM)
#undef TILE_BINDING_ENUM
} tile_binding_kind;

/* Literals are Python's: numbers, float('nan'), strings, True, False, None, tuples; tl.float32 is a
 * type, @3 the function of unit 3, and @4(1, x=2) a named tuple of unit 4. They mean the same in
 * every unit. */
typedef struct tile_binding {
    tile_text name; /* as the source has it; dotted for what is behind a namespace: of the bindings
                       that an expression a.b.c begins with the longest counts */
    tile_binding_kind kind;
    tile_text text;
    size_t unit; /* of TILE_BIND_UNIT: the number in the list; of a method, text "static": it is
                    called without the value that it is a method of */
} tile_binding;

/* What a unit is: X(name, value). */
#define TILE_UNIT_KINDS(X)                                                                         \
    X(TILE_UNIT_FUNCTION, 0)                                                                       \
    X(TILE_UNIT_RECORD, 1)    /* a class of named tuples */                                        \
    X(TILE_UNIT_AGGREGATE, 2) /* a record with methods: its bindings, all TILE_BIND_UNIT;          \
                                 `__init__`, if it is one, sets the fields */                      \
    X(TILE_UNIT_CONSTEXPR, 3) /* a function that is evaluated while a kernel is compiled */

typedef enum tile_unit_kind {
#define TILE_UNIT_ENUM(name, value) name = value,
    TILE_UNIT_KINDS(TILE_UNIT_ENUM)
#undef TILE_UNIT_ENUM
} tile_unit_kind;

/* One function, and what the names of its text stand for that are no variables of it. A name that
 * is not bound is one of Python's own (range, min, ..), or not defined. */
typedef struct tile_unit {
    size_t size;      /* the same in all units of a list */
    tile_text path;   /* of the file, in messages and line tables; nothing is read there */
    tile_text source; /* the function from its `def` on, which may be indented; decorators before it
                         mean nothing */
    uint32_t first_line;   /* of `path`, where the source begins; 0: 1 */
    uint32_t first_column; /* where its lines begin, from 1, in bytes: what was taken off each of
                              them, and 1; 0: 1 */
    bool noinline;         /* it is inlined nonetheless, and a remark says so */
    const tile_binding *bindings; /* each name once */
    size_t binding_count;
    const tile_text *do_not_specialize; /* parameters, see tile_function_launch */
    size_t do_not_specialize_count;
    const tile_text *do_not_specialize_on_alignment;
    size_t do_not_specialize_on_alignment_count;
    tile_unit_kind kind;
    tile_text name;           /* of a record or aggregate, which has no source */
    const tile_named *fields; /* of a record, in order, each with a literal for its default value or
                                 an empty text; behind the first default all have one */
    size_t field_count;
    tile_text must_use_result; /* data not NULL: a call whose result is thrown away is an error,
                                  which says this, too; it may be empty */
} tile_unit;

/* Functions of the program's own, which kernels call while they are compiled. */

typedef struct tile_evaluation_argument {
    tile_text name;   /* of a keyword; empty: by position */
    bool is_run_time; /* the value is known when the kernel runs */
    tile_text text;   /* a literal, see tile_binding, in which functions of the language are dotted
                         names; of run-time values the type, "fp32[16, 64]", "*i32",
                         "tensordesc<fp16[64, 64]>", "(i32, =4)" of tuples, where = is a literal */
} tile_evaluation_argument;

typedef struct tile_evaluation {
    size_t size;
    size_t unit;    /* that has the binding */
    tile_text name; /* of the binding */
    tile_text key;  /* its text */
    const tile_evaluation_argument *arguments;
    size_t argument_count;
    int32_t capability; /* that is compiled for: 90 */
} tile_evaluation;

#define TILE_NO_ARGUMENT ((size_t)-1)

typedef struct tile_evaluated {
    size_t size;     /* set, as is `argument`, to TILE_NO_ARGUMENT */
    tile_text text;  /* a literal; or what is wrong. It stays until the next call, or the end of the
                        compilation */
    size_t argument; /* the number of the one that is returned as it is, if no literal is */
} tile_evaluated;

/* Calls a function that a name is bound to by TILE_BIND_EVALUATE. Anything but TILE_OK is an error
 * of the kernel at the place of the call: the diagnostic `evaluate_failed`, with the text.
 *
 * It is called by the thread that compiles, or one of the library's in its stead, before the call
 * that compiles returns, with no lock held but that of a function, if the compilation is for a call
 * of one: it may use the library, but neither that function nor compile the same kernel. Whoever
 * finds a kernel in a cache calls nobody: what a function gives must follow from what identifies it
 * and its arguments. */
typedef tile_status (*tile_evaluate)(void *user, const tile_evaluation *what,
                                     tile_evaluated *result);

/* From a text to a unit. */

typedef struct tile_extent {
    size_t size;
    uint32_t first_line; /* of the first decorator, or of `def` */
    uint32_t def_line;   /* where `def`, `async def` or `class` stands */
    uint32_t end_line;   /* the last one; blank lines and comments behind it do not count */
    uint32_t column;     /* of the keyword, from 1, in bytes: what is before it all lines have */
} tile_extent;

/* Which lines of a file's text the function or class takes that begins at `line`, from 1, with its
 * first decorator or itself. `extent->size` must be set. TILE_ERROR_SOURCE: none begins there. What
 * Python refuses is not noticed. Takes no memory and no lock, and some microseconds. */
TILE_API tile_status tile_source_extent(tile_text source, uint32_t line, tile_extent *extent);

typedef struct tile_name_list tile_name_list;

typedef struct tile_free_name {
    size_t size;
    tile_text name;        /* dotted as far as attributes go: "tl.load", "helpers.relu" */
    uint32_t line, column; /* in the text, from 1, in bytes: where it stands first */
    bool in_default;       /* of a parameter */
    bool in_annotation;    /* of a parameter, a variable, or what is returned */
    bool in_decorator;     /* none of the three: in the body */
} tile_free_name;

/* The names that a unit's text has from elsewhere, Python's own among them: each once for each kind
 * of place, in the order in which they come first. A name that is assigned in the body is a
 * variable behind that, and from elsewhere before. */
TILE_API tile_status tile_names_create(tile_context *context, tile_text source,
                                       tile_name_list **list, tile_diagnostics **diagnostics);
TILE_API void tile_names_destroy(tile_name_list *list);
TILE_API size_t tile_names_count(const tile_name_list *list);
/* `name->size` must be set. */
TILE_API tile_status tile_names_get(const tile_name_list *list, size_t index, tile_free_name *name);

#ifdef __cplusplus
}
#endif
#endif
