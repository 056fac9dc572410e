/* From which argument of the kernel a pointer comes. */
#ifndef TILEC_PASSES_ANALYSIS_POINTER_ORIGIN_H
#define TILEC_PASSES_ANALYSIS_POINTER_ORIGIN_H
#include "ir/ir.h"

/* The argument that the pointer, or every pointer of the tile, counts from; NULL: it is not known
 * to be one and the same. */
const Value *pointer_origin(const Value *pointer);

/* Which arguments of the kernel, by number, may lead to memory that it writes; room for
 * func->body->nargs. */
void func_written(Func *func, bool *written);
#endif
