/* Building accesses to blocks of tensors. */
#include "ir/rules.h"

Op *build_block_access(Builder *builder, OpCode code, Value *ptr, Value *value, Value *const *shape,
                       Value *const *strides, Value *const *offsets, int64_t checked,
                       const Type *tile) {
    Value *operands[2 + 3 * MAX_RANK];
    uint32_t n = 0;
    operands[n++] = ptr;
    if (value)
        operands[n++] = value;
    Value *const *groups[] = {shape, strides, offsets};
    for (int g = 0; g < 3; g++)
        for (int d = 0; d < tile->rank; d++)
            operands[n++] = groups[g][d];
    bool loads = code == OP_load_block;
    Op *op = op_create(builder, code, n, operands, loads, loads ? &tile : NULL);
    op_set_checked(op, checked);
    return op;
}

Op *build_block_copy(Builder *builder, const Op *access, const ValueMap *map, Value *buffer,
                     Value *barrier, Value *on) {
    BlockAccess block = block_access(access);
    Value *operands[COPY_FIXED_OPERANDS + 3 * MAX_RANK + 1] = {op_in(access, 0), buffer, barrier,
                                                               on};
    uint32_t n = barrier ? COPY_FIXED_OPERANDS : STORE_FIXED_OPERANDS;
    for (uint32_t i = block.shape; i < access->nin; i++) {
        Value *mapped = map ? value_map_get(map, op_in(access, i)) : NULL;
        operands[n++] = mapped ? mapped : op_in(access, i);
    }
    EvictionPolicy evict = op_evict(access);
    return barrier
               ? build_copy_block(builder, n, operands, block.checked, evict)
               : build_store_block_from(builder, n, operands, block.checked, evict, false, false);
}
