/* See pointer_origin.h. Pointers have one path back to what they count from: offsets and changes of
 * shape keep it, loops carry it where they pass on what they got. */
#include "passes/pointer_origin.h"

static bool keeps_origin(const Op *op) {
    return op->code == OP_addptr || op->code == OP_splat || op->code == OP_broadcast ||
           op->code == OP_expand_dims || op->code == OP_reshape || op->code == OP_transpose ||
           op->code == OP_convert_layout || op->code == OP_hint_divisible ||
           op->code == OP_hint_contiguous || op->code == OP_hint_constant;
}

/* What the pointer counts from as far as ops that stand alone say. */
static const Value *root_of(const Value *pointer) {
    while (pointer->def && keeps_origin(pointer->def))
        pointer = op_in(pointer->def, 0);
    return pointer;
}

/* The loop's number of the carried value, as an argument of its body or as a result. */
static const Op *carrier_of(const Value *value, uint32_t *number) {
    const Op *loop = value->def ? value->def : value->owner->parent;
    if (!loop || loop->code != OP_for || (!value->def && value->index == 0))
        return NULL;
    *number = value->def ? value->index : value->index - 1;
    return loop;
}

const Value *pointer_origin(const Value *pointer) {
    for (;;) {
        const Value *root = root_of(pointer);
        uint32_t number;
        if (!root->def && !root->owner->parent)
            return root;
        const Op *loop = carrier_of(root, &number);
        if (!loop ||
            root_of(op_in(loop->regions[0]->last, number)) != &loop->regions[0]->args[number + 1])
            return NULL;
        pointer = op_in(loop, FOR_FIXED_OPERANDS + number);
    }
}
