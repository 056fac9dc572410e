/* What atomics and volatile loads take of shared memory: room for each element of their results. */
#include "ir/scratch.h"
#include "target/target.h"

enum { SCRATCH_UNIT = 16, LANES = 31 };

uint32_t type_repeating_threads(const Type *type, int32_t num_warps) {
    uint32_t all = (uint32_t)(num_warps * TARGET_WARP_SIZE - 1), free = 0, named = 0;
    const Layout *layout = type_is_tile(type) ? type->layout : NULL;
    if (layout) {
        free = layout_free_bits(layout) >> layout->bits[LAYOUT_REG];
        named = (1u << (layout->bits[LAYOUT_LANE] + layout->bits[LAYOUT_WARP])) - 1;
    }
    return (free | ~named) & all;
}

static bool is_atomic(const Op *op) {
    return op_has(op, ATOMIC) && !op_has(op, BLOCK);
}

bool op_is_handed_round(const Op *op) {
    return is_atomic(op) || (op->code == OP_load && op_is_volatile(op) && !op_by_owner(op));
}

bool atomic_meets_before(const Op *op) {
    return is_atomic(op) && !type_is_tile(op->out[0].type) && op_sem(op) != SEM_RELAXED;
}

bool atomic_meets_after(const Op *op) {
    return atomic_meets_before(op) && op_sem(op) != SEM_RELEASE;
}

int64_t op_scratch_bytes(const Op *op, int32_t num_warps) {
    if (!op_is_handed_round(op) || value_unused(&op->out[0]) || op->block->func->one_thread)
        return 0;
    const Type *type = op->out[0].type;
    if (!(type_repeating_threads(type, num_warps) & ~(uint32_t)LANES))
        return 0;
    int64_t bytes = (type_is_tile(type) ? type_numel(type) : 1) * type_element_bytes(type);
    return (bytes + SCRATCH_UNIT - 1) & -SCRATCH_UNIT;
}

typedef struct Most {
    Op *op;
    int64_t bytes;
    int32_t num_warps;
} Most;

static bool take_more(Op *op, void *user) {
    Most *most = user;
    int64_t bytes = op_scratch_bytes(op, most->num_warps);
    if (bytes > most->bytes)
        *most = (Most){op, bytes, most->num_warps};
    return true;
}

static Most most_scratch(Func *func) {
    Most most = {.num_warps = func->num_warps};
    func_walk(func, take_more, &most);
    return most;
}

Op *func_most_scratch(Func *func) {
    return most_scratch(func).op;
}

int64_t func_scratch_bytes(Func *func) {
    return most_scratch(func).bytes;
}
