/* How many registers tiles take.
 *
 * Before anything says which thread holds what, counted in 32-bit registers of all threads of a
 * program together: divide by the threads for those of one. Private to src/passes. */
#ifndef TILEC_PASSES_ANALYSIS_PRESSURE_H
#define TILEC_PASSES_ANALYSIS_PRESSURE_H
#include "ir/ir.h"

/* Of a thread for one of its asynchronous copies in a loop: address, mask and destination. */
enum { COPY_REGISTERS = 4 };

/* Of one tile while it is computed with: narrow elements take 32 bits; scalars nothing. */
uint64_t pressure_of(const Type *type);
/* In a thread, once it has a layout; narrow elements are packed. */
uint64_t pressure_in_thread(const Type *type);
/* The most at any point of the function, cheap values left out: they are computed again where they
 * are needed. Numbers the function's values. */
uint64_t pressure_most(Func *func);
/* The same in the registers of one thread, once tiles have layouts; narrow elements are packed. */
uint64_t pressure_most_in_thread(Func *func);
/* The same where values that elementwise ops alone take, before anything else is done, are computed
 * element by element: none is held, but what they are computed from until the last of them is. */
uint64_t pressure_streamed_in_thread(Func *func);
/* The same where what is nothing but added up streams too, what a loop begins with is gone when it
 * begins, products take operands that lie in shared memory by fragments, and what is computed from
 * one tile that others need first is computed after them. */
uint64_t pressure_summed_in_thread(Func *func);
#endif
