/* Linking ops, uses and blocks: shared by the files that make and change IR. Private to src/ir. */
#ifndef TILEC_IR_BUILD_H
#define TILEC_IR_BUILD_H
#include "ir/ir.h"

/* Arrays of operands, results and arguments have room for the next power of two, so that they grow
 * in place until their length is one. */
static inline size_t ir_capacity(uint32_t count) {
    return count <= 1 ? count : (size_t)1 << (32 - __builtin_clz(count - 1));
}

Block *block_create(Func *func, Op *parent);

void use_link(Use *use, Value *value);
void use_unlink(Use *use);

/* Puts an unlinked op into `block` before `before`, at the end if that is NULL. */
void op_link(Op *op, Block *block, Op *before);
void op_unlink(Op *op);

/* Operand and result counts, then the rule; changes nothing. */
bool op_check(Ctx *ctx, const Op *op, const Type *stated, const Type **result);

/* The type of one result of a reduction; axis and keep are valid. */
const Type *reduce_result_type(Ctx *ctx, const Type *type, int axis, int64_t keep);
#endif
