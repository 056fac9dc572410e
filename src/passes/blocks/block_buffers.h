/* What pipeline-loads and stage-blocks share: buffers of blocks, and values that live on from one
 * time that an op runs to the next. Private to src/passes. */
#ifndef TILEC_PASSES_BLOCKS_BLOCK_BUFFERS_H
#define TILEC_PASSES_BLOCKS_BLOCK_BUFFERS_H
#include "ir/ir.h"

/* The buffer that a tensor copy fills for a load_block, or reads for a store_block: without leading
 * dimensions of one element, in panels along the dimension of stride 1 (target/panels.h). NULL: no
 * panels fit. */
const Type *block_buffer_type(Ctx *ctx, const Op *access);
int64_t block_buffer_bytes(const Type *buffer);

/* All uses of the load_block become reads of `buffer`, each in the layout that it wants; the op
 * goes. Reads stand where the conversions of the value or of a reshape of it stand, or the load. */
void block_read_from(Op *load, Value *buffer);

/* An mbarrier with `copies`, at the beginning of the function; arrivals: see mbarrier_alloc. */
Value *block_mbarrier(Func *func, Span span, int64_t copies, int64_t arrivals);

/* A scalar for each time that `op` runs: `first`, then what carry_out was given the time before, in
 * whatever loops and branches the op stands. Changes operands, results and arguments of the ops
 * around: pointers to such are not valid any more. Each carry_in is followed by its carry_out with
 * what is defined where `op` stands, before the next carry_in. */
Value *carry_in(Op *op, const Type *type, int64_t first);
void carry_out(Op *op, Value *value);
#endif
