/* Which block accesses go by the hardware's tensor copies (TMA). See docs/tma.md. */
#ifndef TILEC_PASSES_BLOCKS_TENSOR_MAPS_H
#define TILEC_PASSES_BLOCKS_TENSOR_MAPS_H
#include "ir/ir.h"
#include "passes/analysis/facts.h"

enum { TENSOR_COPY_ALIGNMENT = 16, TENSOR_COPY_LEAST_BYTES = 32 };

/* The op, a load_block or store_block, can be a tensor copy: its operands, and what the rest of the
 * function does with memory, allow one. It says nothing of the target. False: `why_not` says which
 * condition failed, in the arena of the context. Operands that are recipes (target/tensor_map.h)
 * and facts are all it looks at, so that what it takes once it takes until the op or the memory
 * accesses of the function change. */
bool tma_takes(Func *func, Op *op, const char **why_not);
/* The same with facts of the function as it is, for many questions. */
bool tma_takes_by(Func *func, const Facts *facts, Op *op, const char **why_not);

/* A load_block is to be a tensor copy: from here on the code takes what its loops write to be apart
 * from what it loads, as copies see what others of the program stored only behind a fence. */
void tensor_copy_take_apart(Op *load);

/* What no tensor copy does, of all that a block access asks for by itself, whatever its operands
 * are; NULL: nothing. */
const char *tensor_copy_obstacle(const Op *op);

/* May some product of a dot be made from the value by pure ops? True also of a value with more uses
 * than are followed. */
bool value_may_reach_dot(const Value *value);
#endif
