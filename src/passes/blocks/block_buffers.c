/* See block_buffers.h. */
#include "passes/blocks/block_buffers.h"
#include "passes/blocks/tensor_maps.h"
#include "passes/rewrite.h"
#include "target/panels.h"

/* Buffers */

/* The same without leading dimensions of one element. */
static const Type *without_leading(Ctx *ctx, const Type *tile) {
    int extra = 0;
    while (extra + 1 < tile->rank && tile->shape[extra] == 1)
        extra++;
    return type_with_shape(ctx, tile, tile->rank - extra, tile->shape + extra);
}

const Type *block_buffer_type(Ctx *ctx, const Op *access) {
    const Type *tile = block_access(access).tile, *shape = without_leading(ctx, tile);
    int inner = tensor_copy_inner_dim(access) - (tile->rank - shape->rank);
    Panels panels;
    if (inner < 0 || !panels_for(shape, inner, &panels))
        return NULL;
    return type_get(ctx, TYPE_BUFFER, shape->dtype, shape->rank, shape->shape,
                    layout_panels(ctx, shape, panels));
}

int64_t block_buffer_bytes(const Type *buffer) {
    return type_bytes(buffer);
}

/* The value is what the buffer holds, in its own type or in that of a reshape. */
static void read_as(Value *value, Value *buffer, Builder *b) {
    const Type *type = value->type, *held = buffer->type;
    const Type *read =
        type_get(b->ctx, TYPE_NUMBER, held->dtype, held->rank, held->shape, type->layout);
    Value *loaded = build_local_load(b, buffer, NULL, 0, read);
    for (Use *use = value->uses, *next; use; use = next) {
        next = use->next;
        if (use->user->code == OP_reshape && op_out(use->user)->type == read)
            rewrite_replace(use->user, loaded);
    }
    if (value_unused(value))
        return;
    value_replace(value, read == type ? loaded : build_reshape(b, loaded, type));
}

/* Conversions of the value become reads in their layouts. */
static void read_converted(Value *value, Value *buffer, Span span) {
    for (Use *use = value->uses, *next; use; use = next) {
        next = use->next;
        Op *convert = use->user;
        if (convert->code != OP_convert_layout)
            continue;
        Builder at = builder_before(convert);
        at.span = span;
        read_as(op_out(convert), buffer, &at);
        op_remove(convert);
    }
}

/* Behind a change of shape too: layouts are of the order of rows, which it keeps. */
void block_read_from(Op *load, Value *buffer) {
    Value *value = op_out(load);
    read_converted(value, buffer, load->span);
    for (Use *use = value->uses, *next; use; use = next) {
        next = use->next;
        Op *reshape = use->user;
        if (reshape->code != OP_reshape)
            continue;
        read_converted(op_out(reshape), buffer, load->span);
        if (value_unused(op_out(reshape)))
            op_remove(reshape);
    }
    Builder b = builder_before(load);
    b.span = load->span;
    if (!value_unused(value))
        read_as(value, buffer, &b);
    op_remove(load);
}

Value *block_mbarrier(Func *func, Span span, int64_t copies, int64_t arrivals) {
    Builder b = builder_before(func->body->first);
    b.span = span;
    const int64_t one = 1;
    const Layout none = {0};
    const Type *type = type_get(b.ctx, TYPE_BUFFER, DT_I64, 1, &one, layout_get(b.ctx, &none));
    return build_mbarrier_alloc(&b, -1, copies, arrivals, type);
}

/* Carried values */

/* The value of before in `block`. */
static Value *enter(Block *block, Op *op, const Type *type, int64_t first) {
    Op *parent = block->parent;
    if (!parent) {
        Builder b = builder_before(op);
        return rewrite_int(&b, type, first);
    }
    Value *before = enter(parent->block, parent, type, first);
    op_add_result(parent, type);
    if (parent->code == OP_if) {
        Block *other = parent->regions[block == parent->regions[0]];
        op_add_operand(other->last, before);
        return before;
    }
    op_add_operand(parent, before);
    Value *args[2] = {NULL};
    for (uint32_t i = 0; i < parent->nregions; i++)
        args[i] = block_add_arg(parent->regions[i], type);
    if (parent->code == OP_for)
        return args[0];
    bool in_condition = block == parent->regions[0];
    op_add_operand(parent->regions[in_condition]->last, args[in_condition]);
    return args[!in_condition];
}

Value *carry_in(Op *op, const Type *type, int64_t first) {
    return enter(op->block, op, type, first);
}

void carry_out(Op *op, Value *value) {
    for (Op *parent = op->block->parent; parent; parent = op->block->parent) {
        op_add_operand(op->block->last, value);
        value = &parent->out[parent->nout - 1];
        op = parent;
    }
}
