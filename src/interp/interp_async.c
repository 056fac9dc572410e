/* Asynchronous copies. A copy reads global memory when it starts and writes the buffer when it is
 * waited for: in between the buffer's elements are undefined, so that a missing wait is found as
 * the use of an undefined value. */
#include "interp/interp_internal.h"

void interp_async_copy(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    Slot *to = in_slot(run, op, 1);
    const Type *type = op_in(op, 1)->type;
    uint32_t n = (uint32_t)type_numel(type), bytes = (uint32_t)type_element_bytes(type);
    AsyncCopy copy = {.group = run->committed, .element_bytes = bytes};
    Slot zeros = {0};
    memset(slot_new(run, &zeros, n, bytes), 0, (size_t)n * bytes);
    slot_new(run, &copy.from, n, bytes);
    interp_load_elements(run, op, op->nin > 2 ? in_slot(run, op, 2) : NULL, &zeros,
                         async_copy_attrs(op)->width, &copy.from);
    slot_clear(run, &zeros);
    memset(to->undef, origin_of(run, op, UNDEF_UNDER_WAY), n);
    slot_share(run, &copy.to, to);
    vec_push(run->arena, &run->copies, copy);
}

static void land(Run *run, AsyncCopy *copy) {
    uint32_t n = copy->from.n;
    memcpy(copy->to.data, copy->from.data, (size_t)n * copy->element_bytes);
    if (copy->from.undef)
        memcpy(copy->to.undef, copy->from.undef, n);
    else
        memset(copy->to.undef, 0, n);
    slot_clear(run, &copy->from);
    slot_clear(run, &copy->to);
}

void interp_async_commit(Run *run, const Inst *inst) {
    run->committed++;
}

void interp_async_wait(Run *run, const Inst *inst) {
    uint32_t pending = (uint32_t)async_wait_attrs(inst->op)->pending, kept = 0;
    for (size_t i = 0; i < run->copies.len; i++) {
        AsyncCopy *copy = &run->copies.data[i];
        if (copy->group + pending < run->committed)
            land(run, copy);
        else
            run->copies.data[kept++] = *copy;
    }
    run->copies.len = kept;
}

void interp_async_reset(Run *run) {
    vec_for_each (copy, &run->copies) {
        slot_clear(run, &copy->from);
        slot_clear(run, &copy->to);
    }
    run->copies.len = 0;
    run->committed = 0;
}
