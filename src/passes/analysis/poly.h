/* Polynomials over scalar integers of a function: 3 * %n - %k + 128 * %pid * %stride.
 *
 * Atoms are SSA values of integer type; two polynomials are equal when they are the same sum of
 * products of the same values. They are taken over the integers: nothing wraps. Immutable, in an
 * arena; every function gives NULL when an operand is NULL, or when the result has too many terms,
 * too many factors or a factor that does not fit, so that a chain of calls needs one check at its
 * end. Terms are in the order of definition of their atoms (Value.id), the same in every run. */
#ifndef TILEC_PASSES_ANALYSIS_POLY_H
#define TILEC_PASSES_ANALYSIS_POLY_H
#include "ir/ir.h"

enum { POLY_MAX_TERMS = 24, POLY_MAX_DEGREE = 4 };

typedef struct Term {
    int64_t factor; /* not zero */
    int degree;
    Value *atoms[POLY_MAX_DEGREE];
} Term;

typedef struct Poly {
    int count;
    Term terms[];
} Poly;

const Poly *poly_constant(Arena *arena, int64_t value);
const Poly *poly_atom(Arena *arena, Value *value);
const Poly *poly_of_term(Arena *arena, const Term *term);
/* a + scale * b */
const Poly *poly_sum(Arena *arena, const Poly *a, const Poly *b, int64_t scale);
const Poly *poly_product(Arena *arena, const Poly *a, const Poly *b);
bool poly_equal(const Poly *a, const Poly *b);
static inline bool poly_is_zero(const Poly *poly) {
    return poly && poly->count == 0;
}
bool poly_is_constant(const Poly *poly, int64_t *value);
/* poly / divisor if that has whole factors, else NULL; a divisor of zero has none. */
const Poly *poly_quotient(Arena *arena, const Poly *poly, int64_t divisor);
/* The factors of `term` are those of `divisor` times `quotient`; false: they are not. */
bool term_quotient(const Term *term, const Term *divisor, Term *quotient);
bool poly_has(const Poly *poly, const Value *atom);
/* Every atom is defined outside the regions of `op`. */
bool poly_is_outside(const Poly *poly, const Op *op);

/* Ops at the builder that compute the polynomial as `type`, i32 or i64; narrower atoms are
 * sign-extended. */
Value *poly_build(Builder *builder, const Poly *poly, const Type *type);
/* i64 when an atom is or a factor needs it, else i32; of a NULL polynomial i32. */
DType poly_dtype(const Poly *poly);
void poly_print(const Poly *poly, StrBuf *out);
#endif
