/* What the threads of a program do for each other in an atomic or a volatile load, and what it
 * takes.
 *
 * Shared memory that an op takes beside the buffers of a function: the results of an atomic or a
 * volatile load, which one thread has for others of other warps. Ops use it one after the other, so
 * a function has as much as the one that takes most; it is the last part of func->shared_bytes. */
#ifndef TILEC_IR_SCRATCH_H
#define TILEC_IR_SCRATCH_H
#include "ir/ir.h"

/* Bytes that an op of a function of `num_warps` warps takes, a multiple of 16; 0: none. Its tiles
 * have layouts. */
int64_t op_scratch_bytes(const Op *op, int32_t num_warps);
/* Does the first of the threads that hold an element get it on behalf of all, which have it from
 * there? Atomics, since each is to happen once; volatile loads, since what each warp loaded by
 * itself might be another value, by which they would go different ways. */
bool op_is_handed_round(const Op *op);
/* Bits of a thread's number of which its elements of the type do not depend: of the threads that
 * differ there alone, the first takes part. Of scalars all bits. */
uint32_t type_repeating_threads(const Type *type, int32_t num_warps);
/* An atomic of a scalar is performed by one thread on behalf of all, which therefore meet: before
 * it, so that what they did is seen with a release, and behind it, so that what they do comes after
 * an acquire. False of other ops. Threads also meet in an op with scratch bytes. */
bool atomic_meets_before(const Op *op);
bool atomic_meets_after(const Op *op);
/* The op that takes most; NULL: none takes any. */
Op *func_most_scratch(Func *func);
/* What that one takes. */
int64_t func_scratch_bytes(Func *func);
#endif
