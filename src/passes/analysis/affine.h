/* Tiles of integers and pointers as sums over their dimensions.
 *
 *     value[i_0, .., i_n] = base + offset + sum over d of stride_d * index_d
 *     index_d = i_d, or (i_d + wrap offset) mod modulus where the tile was taken modulo something
 *
 * with polynomials over SSA scalars for offset and strides (poly.h). A value carried by a for loop
 * that advances by a fixed amount is its initial value plus that amount times the iteration, so
 * that what comes out names the loop's index instead of the carried value. A mask is taken apart
 * into comparisons of one dimension's index with a scalar.
 *
 * Sums and products of i32 and i64 are taken over the integers, as if nothing wrapped, as Triton
 * does and facts.h does for contiguity: an index that wraps in 32 bits addresses memory 2^32
 * elements away from what the source says. Narrower integers are opaque.
 *
 * Values are looked up on an unchanged function. One thread, in the arena it was given. */
#ifndef TILEC_PASSES_ANALYSIS_AFFINE_H
#define TILEC_PASSES_ANALYSIS_AFFINE_H
#include "passes/analysis/facts.h"
#include "passes/analysis/poly.h"

typedef struct Wrap {
    const Poly *offset, *modulus;
} Wrap;

typedef struct AffineDim {
    const Poly *stride; /* zero where the dimension has one element */
    const Wrap *wrap;   /* NULL: the index is the tile's own */
} AffineDim;

typedef struct Affine {
    const char *why; /* not NULL: the value has no such form, and the rest says nothing */
    Value *base;     /* of pointers, what they count from: a scalar; NULL of integers */
    const Poly *offset;
    int rank;
    AffineDim dims[MAX_RANK];
} Affine;

typedef struct Affines Affines;

/* Computes facts, which numbers the function's values. */
Affines *affines_create(Func *func, Arena *arena);
const Facts *affines_facts(const Affines *affines);
/* Never NULL. */
const Affine *affine_of(Affines *affines, Value *value);
/* A scalar that an op of the function computes, equal to the polynomial, that `at` may use; NULL:
 * there is none. */
Value *affines_find(Affines *affines, const Poly *poly, const Op *at);

/* Masks */

/* Along dimension `dim` of the tile: index < bound, or index >= bound. */
typedef struct Constraint {
    int dim;
    bool is_upper;
    const Poly *bound;
} Constraint;

enum { MAX_CONSTRAINTS = 16 };

typedef struct Constraints {
    int count;
    Constraint list[MAX_CONSTRAINTS];
    const char *why; /* not NULL: the mask has conditions besides, the first of which is this */
} Constraints;

/* What a mask of a tile demands, seen from `at`; a NULL mask demands nothing. */
void mask_constraints(Affines *affines, Value *mask, const Op *at, Constraints *out);
/* Wherever the mask is on, the index of dimension `dim` is below `bound`. */
bool mask_bounds(Affines *affines, Value *mask, const Op *at, int dim, const Poly *bound);

/* Signs */

/* The polynomial is at least zero whenever `at` is reached, by facts, by the bounds of the loops
 * around it, by conditions of branches it is in and by what was assumed before it. */
bool poly_is_nonnegative(Affines *affines, const Poly *poly, const Op *at);
#endif
