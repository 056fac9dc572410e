/* Lists that tie IR together: the ops of a block, the uses of a value. */
#include "ir/build.h"

void use_link(Use *use, Value *value) {
    use->value = value;
    use->next = value->uses;
    use->link = &value->uses;
    if (value->uses)
        value->uses->link = &use->next;
    value->uses = use;
}

void use_unlink(Use *use) {
    *use->link = use->next;
    if (use->next)
        use->next->link = use->link;
    use->next = NULL;
    use->link = NULL;
}

void op_link(Op *op, Block *block, Op *before) {
    op->block = block;
    op->next = before;
    op->prev = before ? before->prev : block->last;
    *(op->prev ? &op->prev->next : &block->first) = op;
    *(before ? &before->prev : &block->last) = op;
}

void op_unlink(Op *op) {
    *(op->prev ? &op->prev->next : &op->block->first) = op->next;
    *(op->next ? &op->next->prev : &op->block->last) = op->prev;
    op->prev = op->next = NULL;
}
