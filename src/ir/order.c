/* See order.h. */
#include "ir/order.h"

const Op *combine_only_op(const Op *op) {
    const Block *region = op->regions[0];
    const Op *only = region->first;
    if (op->nin != 1 || region->nargs != 2 || !only || only->next != region->last ||
        only->nin != 2 || only->nout != 1 || op_in(region->last, 0) != &only->out[0])
        return NULL;
    const Value *a = op_in(only, 0), *b = op_in(only, 1);
    const Value *first = &region->args[0], *second = &region->args[1];
    return (a == first && b == second) || (a == second && b == first) ? only : NULL;
}

/* Associative and commutative, bit for bit: arithmetic of integers, but for the high half of a
 * product, and extrema. Of floats, too: -0 is below +0, and where both are NaN one NaN comes of it.
 */
static bool is_exact(const Op *only) {
    bool wraps = type_is_int(only->out[0].type) && only->code != OP_mulhui;
    return op_has(only, COMMUTES) && (wraps || op_has(only, EXTREMUM));
}

bool op_keeps_order(const Op *op) {
    if (!op->block->func->deterministic || (op->code != OP_reduce && op->code != OP_scan))
        return false;
    const Op *only = combine_only_op(op);
    return !only || !is_exact(only);
}

bool combine_commutes(const Op *op) {
    const Op *only = combine_only_op(op);
    return only && op_has(only, COMMUTES);
}
