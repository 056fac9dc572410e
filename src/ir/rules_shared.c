/* Result rules of what moves tiles to and from shared memory, and of choices by index. */
#include "ir/build.h"
#include "ir/rules.h"

/* A tile and a buffer that hold the same elements, each in its layout. */
static bool holds_same(const Type *tile, const Type *buffer) {
    return tile->kind == TYPE_NUMBER && tile->dtype == buffer->dtype &&
           tile->rank == buffer->rank && tile->rank > 0 &&
           memcmp(tile->shape, buffer->shape, sizeof tile->shape) == 0;
}

/* An mbarrier is none. */
static bool is_buffer(const Value *value) {
    return value->type->kind == TYPE_BUFFER &&
           !(value->def && local_alloc_of(value)->code == OP_mbarrier_alloc);
}

bool rule_local_store(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    if (!is_buffer(op_in(op, 1)))
        return rule_bad_operand(ctx, op, 1, "a buffer");
    const Type *tile = rule_in(op, 0);
    return (tile->kind == TYPE_NUMBER &&
            rule_is_part(rule_in(op, 1), tile, local_store_attrs(op)->at)) ||
           rule_bad_pair(ctx, op, 0, 1,
                         "a tile of numbers and a buffer of its shape, or of a part's");
}

/* A tile of numbers that begins there in the buffer, or with `old` that the buffer is a part of. */
static bool is_loaded(const Op *op, const Type *stated) {
    const Type *buffer = rule_in(op, 0);
    if (!stated || stated->kind != TYPE_NUMBER)
        return false;
    int64_t at = local_load_attrs(op)->at;
    return op->nin == 1 ? rule_is_part(stated, buffer, at) : rule_is_part(buffer, stated, at);
}

bool rule_local_load(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = stated;
    if (!is_buffer(op_in(op, 0)))
        return rule_bad_operand(ctx, op, 0, "a buffer");
    if (!is_loaded(op, stated))
        return rule_bad_result(ctx, op, stated,
                               "a tile of the buffer's shape and numbers, or a part");
    return op->nin == 1 || rule_in(op, 1) == stated ||
           rule_bad_operand(ctx, op, 1, "a tile of the result's type");
}

/* A tile of integers of the shape of `from`, but for the axis along which they choose. */
static bool chooses_along(const Type *from, const Type *index, int64_t axis) {
    if (!type_is_tile(index) || index->kind != TYPE_NUMBER || !dtype_is_int(index->dtype) ||
        index->rank != from->rank)
        return false;
    for (int d = 0; d < from->rank; d++)
        if (d != axis && index->shape[d] != from->shape[d])
            return false;
    return true;
}

static bool gathered(Ctx *ctx, const Op *op, int64_t axis, const Type **result) {
    const Type *from = rule_in(op, 0), *index = rule_in(op, 1);
    if (axis < 0 || axis >= from->rank)
        return rule_bad_attr(ctx, op, ATTR_NAME_axis, "a dimension of the operand");
    if (!chooses_along(from, index, axis))
        return rule_bad_pair(ctx, op, 0, 1, "integers of the same shape, but for the axis");
    *result = type_get(ctx, TYPE_NUMBER, from->dtype, index->rank, index->shape, index->layout);
    return true;
}

static bool lies_by_rows(Ctx *ctx, const Type *buffer) {
    return buffer->layout == layout_row_major(ctx, buffer->log2_numel);
}

bool rule_gather(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *src = rule_in(op, 0);
    if (!type_is_tile(src) || src->kind != TYPE_NUMBER)
        return rule_bad_operand(ctx, op, 0, "a tile of numbers");
    return gathered(ctx, op, gather_attrs(op)->axis, result);
}

bool rule_local_gather(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    if (!is_buffer(op_in(op, 0)))
        return rule_bad_operand(ctx, op, 0, "a buffer");
    const Type *buffer = rule_in(op, 0);
    if (!lies_by_rows(ctx, buffer))
        return rule_bad_operand(ctx, op, 0, "a buffer whose elements lie row by row");
    return gathered(ctx, op, local_gather_attrs(op)->axis, result);
}

static bool want_counted(Ctx *ctx, const Op *op) {
    const Type *x = rule_in(op, 0);
    return (type_is_tile(x) && x->kind == TYPE_NUMBER && dtype_is_int(x->dtype) && x->rank == 1) ||
           rule_bad_operand(ctx, op, 0, "a tile of integers of one dimension");
}

static bool holds_counts(const Type *type) {
    return type->kind != TYPE_POINTER && type->dtype == DT_I32 && type->rank == 1;
}

bool rule_histogram(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = stated;
    if (!want_counted(ctx, op))
        return false;
    return (stated && type_is_tile(stated) && stated->kind == TYPE_NUMBER &&
            holds_counts(stated)) ||
           rule_bad_result(ctx, op, stated, "a tile of i32 of one dimension");
}

bool rule_local_count(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *buffer = rule_in(op, 1);
    *result = NULL;
    return want_counted(ctx, op) &&
           ((is_buffer(op_in(op, 1)) && holds_counts(buffer) && lies_by_rows(ctx, buffer)) ||
            rule_bad_operand(ctx, op, 1, "a buffer of i32 of one dimension, row by row"));
}

bool rule_async_copy(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *ptr = rule_in(op, 0), *buffer = rule_in(op, 1);
    *result = NULL;
    if (ptr->kind != TYPE_POINTER || ptr->rank == 0)
        return rule_bad_operand(ctx, op, 0, "a tile of pointers");
    if (!is_buffer(op_in(op, 1)))
        return rule_bad_operand(ctx, op, 1, "a buffer");
    if (!holds_same(rule_pointee(ctx, ptr), buffer))
        return rule_bad_pair(ctx, op, 0, 1, "pointers to what a buffer of their shape holds");
    if (op->nin > 2 && !rule_want_mask(ctx, op, 2, 0))
        return false;
    int64_t bytes = (int64_t)op_access_width(op) * type_element_bytes(buffer);
    return bytes == 4 || bytes == 8 || bytes == 16 ||
           rule_bad_attr(ctx, op, ATTR_NAME_width, "elements of 4, 8 or 16 bytes together");
}

bool rule_store_wait(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    return rule_async_wait(ctx, op, stated, result);
}

bool rule_async_wait(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = NULL;
    return (op_pending(op) >= 0 && op_pending(op) < MAX_BUFFER_COPIES) ||
           rule_bad_attr(ctx, op, ATTR_NAME_pending, "0 to 63");
}
