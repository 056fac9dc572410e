/* From which argument of the kernel a pointer comes. */
#ifndef TILEC_PASSES_ANALYSIS_POINTER_ORIGIN_H
#define TILEC_PASSES_ANALYSIS_POINTER_ORIGIN_H
#include "ir/ir.h"

/* The argument that the pointer, or every pointer of the tile, counts from; NULL: it is not known
 * to be one and the same. */
const Value *pointer_origin(const Value *pointer);

/* May what counts from the two lead to one place? `a` and `b` are of pointer_origin, NULL anything.
 * Two arguments are taken not to, unless the function is for launches in place. */
bool origins_meet(const Func *func, const Value *a, const Value *b);
/* Notes that loads through one argument pass stores through the other, for they are taken to be
 * apart: see Func's `apart`. For whoever exchanges them, once it does. */
void func_take_apart(Func *func, const Value *loaded, const Value *stored);

/* Which arguments of the kernel, by number, may lead to memory that it writes; room for
 * func->body->nargs. */
void func_written(Func *func, bool *written);
#endif
