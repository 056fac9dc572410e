/* Loads that may be delayed to the end of their block. They are executed in their place; at the
 * block's end, where all that may come before them has, they are executed once more, and both have
 * to give the same. */
#include "interp/interp_internal.h"

static bool same_element(const Slot *a, const Slot *b, uint32_t i, size_t bytes) {
    uint8_t undef_a = a->undef ? a->undef[i] : 0, undef_b = b->undef ? b->undef[i] : 0;
    return undef_a == undef_b &&
           (undef_a || memcmp(a->data + i * bytes, b->data + i * bytes, bytes) == 0);
}

static void check_load(Run *run, const Op *op) {
    const Type *type = op_out(op)->type;
    size_t bytes = (size_t)type_element_bytes(type);
    const Slot *first = value_slot(run, op_out(op));
    Slot last = {0};
    slot_new(run, &last, first->n, bytes);
    interp_load_elements(run, op, op->nin > 1 ? in_slot(run, op, 1) : NULL,
                         op->nin > 2 ? in_slot(run, op, 2) : NULL, 0, &last);
    for (uint32_t i = 0; i < first->n && !run->stopped; i++)
        if (!same_element(first, &last, i, bytes)) {
            finding(run, op, interp_delay, finding_place(run, type, i));
            break;
        }
    slot_clear(run, &last);
}

void interp_check_delays(Run *run, const InstBlock *block) {
    for (uint32_t i = 0; i < block->count && block->may_delay && !run->stopped; i++)
        if (op_may_delay(block->insts[i].op))
            check_load(run, block->insts[i].op);
}
