/* What a producer warp can know: where copies go by arguments and program ids alone.
 *
 * It goes through the loops of the function by itself and reads no memory, so what places a copy,
 * how often the loops around it run and which branches they take must not depend on what is loaded.
 * pipeline-loads asks it of blocks, to give the ring of a producer the room that its loop has,
 * specialise-warps of the copies that these became. */
#include "passes/rewrite.h"
#include "passes/schedule/specialise.h"

static bool is_loaded(PtrSet *seen, const Value *value);

/* Of a result of a while loop or an argument of one of its regions. The condition passes values on
 * to the body and out of the loop, and the body to the condition; memory may also decide how often.
 */
static bool while_is_loaded(PtrSet *seen, const Op *loop, const Value *value) {
    const Op *test = loop->regions[0]->last, *next = loop->regions[1]->last;
    if (is_loaded(seen, op_in(test, 0)))
        return true;
    if (value->def || value->owner == loop->regions[1])
        return is_loaded(seen, op_in(test, value->index + 1));
    return is_loaded(seen, op_in(loop, value->index)) || is_loaded(seen, op_in(next, value->index));
}

/* Does the value depend on memory? */
static bool is_loaded(PtrSet *seen, const Value *value) {
    const Op *op = value->def ? value->def : value->owner->parent;
    if (!op || !ptr_set_add(seen, value))
        return false;
    if (op->code == OP_while)
        return while_is_loaded(seen, op, value);
    if (!op->nregions && !op_is_pure(op))
        return true;
    bool is_for = op->code == OP_for, is_argument = !value->def;
    uint32_t fixed = is_for ? FOR_FIXED_OPERANDS : op->nin;
    for (uint32_t i = 0; i < fixed; i++)
        if (is_loaded(seen, op_in(op, i)))
            return true;
    bool is_index = is_argument && value->index == 0;
    if ((!is_for && op->code != OP_if) || is_index)
        return false;
    uint32_t number = value->index - is_argument;
    if (is_for && is_loaded(seen, op_in(op, FOR_FIXED_OPERANDS + number)))
        return true;
    for (uint32_t i = 0; i < op->nregions; i++)
        if (is_loaded(seen, op_in(op->regions[i]->last, number)))
            return true;
    return false;
}

/* Buffers and mbarriers are where they are. */
static bool operands_are_loaded(PtrSet *seen, const Op *copy) {
    for (uint32_t i = 0; i < copy->nin; i++)
        if (op_in(copy, i)->type->kind != TYPE_BUFFER && is_loaded(seen, op_in(copy, i)))
            return true;
    return false;
}

bool specialise_can_place(Arena *arena, const Op *copy) {
    PtrSet seen = {.arena = arena};
    if (operands_are_loaded(&seen, copy))
        return false;
    for (const Op *around = copy->block->parent; around; around = around->block->parent) {
        bool is_while = around->code == OP_while;
        const Op *decides = is_while ? around->regions[0]->last : around;
        uint32_t count = is_while ? 1 : around->code == OP_for ? FOR_FIXED_OPERANDS : around->nin;
        for (uint32_t i = 0; i < count; i++)
            if (is_loaded(&seen, op_in(decides, i)))
                return false;
    }
    return true;
}
