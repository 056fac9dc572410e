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
    X(TILE_BIND_UNIT, 1)      /* the function of another unit, or of this one */                   \
    X(TILE_BIND_LANGUAGE, 2)  /* text: a dotted name, "triton.language.load", "triton.language" */ \
    X(TILE_BIND_NAMESPACE, 3) /* a module or class: its names are bound as "name.of_it" */         \
    X(TILE_BIND_UNUSABLE, 4)  /* text: the message where a kernel comes to the name */

typedef enum tile_binding_kind {
#define TILE_BINDING_ENUM(name, value) name = value,
    TILE_BINDING_KINDS(TILE_BINDING_ENUM)
#undef TILE_BINDING_ENUM
} tile_binding_kind;

/* Literals are Python's: numbers, float('nan'), strings, True, False, None, tuples; tl.float32 is a
 * type, and @3 the function of unit 3. They mean the same in every unit. */
typedef struct tile_binding {
    tile_text name; /* as the source has it; dotted for what is behind a namespace: of the bindings
                       that an expression a.b.c begins with the longest counts */
    tile_binding_kind kind;
    tile_text text;
    size_t unit; /* of TILE_BIND_UNIT: the number in the list */
} tile_binding;

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
} tile_unit;

#ifdef __cplusplus
}
#endif
#endif
