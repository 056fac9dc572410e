/* load_block, store_block, atomic_block, and the copies that become of the first two: where their
 * operands are, and their rules. */
#include "ir/rules.h"
#include "target/wgmma.h"

/* Operands before the extents. */
static uint32_t fixed_operands(OpCode code) {
    return code == OP_load_block   ? 1
           : code == OP_copy_block ? COPY_FIXED_OPERANDS
                                   : STORE_FIXED_OPERANDS;
}

/* The block that a buffer holds: as many dimensions as the operands have, the leading ones of one
 * element. NULL: they do not fit. */
static const Type *block_in(const Op *op, const Type *buffer) {
    uint32_t dims = (op->nin - fixed_operands(op->code)) / 3;
    int extra = (int)dims - buffer->rank;
    int64_t shape[MAX_RANK];
    if (dims > MAX_RANK || extra < 0)
        return NULL;
    for (int d = 0; d < (int)dims; d++)
        shape[d] = d < extra ? 1 : buffer->shape[d - extra];
    return type_with_shape(func_ctx(op->block->func), buffer, (int)dims, shape);
}

static BlockAccess access_of(const Op *op, const Type *tile) {
    uint32_t shape = fixed_operands(op->code), rank = (uint32_t)tile->rank;
    return (BlockAccess){.tile = tile,
                         .shape = shape,
                         .strides = shape + rank,
                         .offsets = shape + 2 * rank,
                         .rank = tile->rank,
                         .checked = op_checked(op)};
}

/* The operand after the offsets, if there is one. */
static uint32_t policy_operand(const BlockAccess *access) {
    return access->offsets + (uint32_t)access->rank;
}

BlockAccess block_access(const Op *op) {
    const Type *type = op->code == OP_load_block ? op_out(op)->type : op_in(op, 1)->type;
    return access_of(op, op_has(op, TENSOR_COPY) ? block_in(op, type) : type);
}

/* What is copied to shared memory may have a cache policy. */
static bool may_have_policy(const Op *op) {
    return op->code == OP_load_block || op->code == OP_copy_block;
}

static bool want_indices(Ctx *ctx, const Op *op, const BlockAccess *access) {
    const Type *wide = type_scalar(ctx, DT_I64), *narrow = type_scalar(ctx, DT_I32);
    for (uint32_t i = access->shape; i < access->offsets; i++)
        if (rule_in(op, i) != wide)
            return rule_bad_operand(ctx, op, i, "i64: an extent or a stride");
    for (uint32_t i = access->offsets; i < policy_operand(access); i++) {
        if (rule_in(op, i) != wide && rule_in(op, i) != narrow)
            return rule_bad_operand(ctx, op, i, "i32 or i64: where the block begins");
        if (!rule_want_equal(ctx, op, access->offsets, i))
            return false;
    }
    return true;
}

/* What the three have in common; `tile` is what is moved. */
static bool want_block(Ctx *ctx, const Op *op, const Type *tile) {
    const Type *ptr = rule_in(op, 0);
    if (ptr->kind != TYPE_POINTER || ptr->rank != 0)
        return rule_bad_operand(ctx, op, 0, "a scalar pointer");
    BlockAccess access = access_of(op, tile);
    uint32_t policy = policy_operand(&access);
    if (op->nin != policy && !(op->nin == policy + 1 && may_have_policy(op)))
        return ctx_diag(ctx, op->span, ir_operand_count, op_info[op->code].name, op->nin,
                        "three for each dimension of the tile after the pointer and the value");
    if (access.checked < 0 || access.checked >> access.rank)
        return rule_bad_attr(ctx, op, ATTR_NAME_checked, "a mask of the tile's dimensions");
    if (op->nin > policy && rule_in(op, policy) != type_scalar(ctx, DT_I64))
        return rule_bad_operand(ctx, op, policy, "i64: a cache_policy");
    return want_indices(ctx, op, &access);
}

static bool is_element_tile(const Type *type, const Type *ptr) {
    return type->kind == TYPE_NUMBER && type->rank > 0 && type->dtype == ptr->dtype;
}

bool rule_load_block(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = stated;
    if (op->nin == 0)
        return ctx_diag(ctx, op->span, ir_operand_count, op_info[op->code].name, 0u, "a pointer");
    if (!stated || !is_element_tile(stated, rule_in(op, 0)))
        return rule_bad_result(ctx, op, stated, "a tile of what the pointer points at");
    if (!want_block(ctx, op, stated))
        return false;
    bool is_nan = load_block_attrs(op)->padding == PADDING_NAN;
    return !is_nan || type_is_float(stated) ||
           rule_bad_attr(ctx, op, ATTR_NAME_padding, "zero: integers have no NaN");
}

static bool want_written_block(Ctx *ctx, const Op *op) {
    if (op->nin < 2)
        return ctx_diag(ctx, op->span, ir_operand_count, op_info[op->code].name, op->nin,
                        "a pointer and a value");
    if (!is_element_tile(rule_in(op, 1), rule_in(op, 0)))
        return rule_bad_operand(ctx, op, 1, "a tile of what the pointer points at");
    return want_block(ctx, op, rule_in(op, 1));
}

bool rule_store_block(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    return want_written_block(ctx, op);
}

/* The buffer, operand 1, is of what the pointer points at. */
static bool want_copied_block(Ctx *ctx, const Op *op) {
    if (op->nin < fixed_operands(op->code))
        return ctx_diag(ctx, op->span, ir_operand_count, op_info[op->code].name, op->nin,
                        op->code == OP_copy_block ? "a pointer, a buffer, an mbarrier and an i1"
                                                  : "a pointer and a buffer");
    const Type *buffer = rule_in(op, 1);
    if (buffer->kind != TYPE_BUFFER || buffer->dtype != rule_in(op, 0)->dtype)
        return rule_bad_operand(ctx, op, 1, "a buffer of what the pointer points at");
    const Type *block = block_in(op, buffer);
    return want_block(ctx, op, block ? block : buffer);
}

bool rule_copy_block(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    if (!want_copied_block(ctx, op))
        return false;
    return rule_want_mbarrier(ctx, op, 2) && (rule_in(op, 3) == type_scalar(ctx, DT_I1) ||
                                              rule_bad_operand(ctx, op, 3, "a scalar i1"));
}

bool rule_store_block_from(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    if (!want_copied_block(ctx, op))
        return false;
    const Type *buffer = rule_in(op, 1);
    int64_t parts = op->block->func->num_warps / WGMMA_WARPS;
    bool has_parts = parts > 0 && buffer->rank == 2 && buffer->shape[0] % parts == 0;
    return !store_block_from_attrs(op)->warpgroups || has_parts ||
           rule_bad_attr(ctx, op, ATTR_NAME_warpgroups,
                         "a buffer of rank 2 with rows for each warpgroup");
}

bool rule_atomic_block(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    if (!want_written_block(ctx, op))
        return false;
    AtomicOp kind = atomic_block_attrs(op)->kind;
    if (kind == RMW_XCHG)
        return rule_bad_attr(ctx, op, ATTR_NAME_kind, "an operation that combines");
    return rule_atomic_takes(kind, rule_in(op, 1)->dtype) ||
           rule_bad_operand(ctx, op, 1, "i32 or i64 (fadd: f16, bf16, f32 or f64)");
}

Value *block_access_policy(const Op *op) {
    BlockAccess access = block_access(op);
    uint32_t policy = policy_operand(&access);
    return op->nin > policy ? op_in(op, policy) : NULL;
}

int tensor_copy_inner_dim(const Op *op) {
    BlockAccess access = block_access(op);
    int inner = -1;
    for (int d = 0; d < access.rank; d++) {
        int64_t stride;
        if (value_int_constant(op_in(op, access.strides + (uint32_t)d), &stride) && stride == 1 &&
            (inner < 0 || access.tile->shape[d] >= access.tile->shape[inner]))
            inner = d;
    }
    return inner;
}
