/* Proof that nobody sees some rows of a tile. */
#ifndef TILEC_PASSES_ANALYSIS_UNOBSERVED_H
#define TILEC_PASSES_ANALYSIS_UNOBSERVED_H
#include "passes/analysis/affine.h"

/* Whatever the elements of `tile` with an index of at least `bound` along `dim` are, the function
 * has the same effects. False: `why` says what may see them. */
bool rows_are_unobserved(Affines *affines, Value *tile, int dim, const Poly *bound,
                         const char **why);
#endif
