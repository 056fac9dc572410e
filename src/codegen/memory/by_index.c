/* Accesses to shared memory at places that elements say: choices by index, and counting. */
#include "codegen/lowerings.h"
#include "codegen/memory/access.h"
#include "codegen/memory/shared_pointer.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/values.h"

/* Where the elements of the result lie in a buffer of their shape, but for the axis, if all indices
 * are 0. */
static const Layout *without_axis(Cg *cg, const Type *type, const Type *buffer, int axis) {
    Layout first = *type->layout;
    uint32_t along = layout_dim_mask(type->rank, type->shape, axis);
    uint32_t whole = layout_dim_mask(buffer->rank, buffer->shape, axis);
    int below = 0;
    for (int d = axis + 1; d < type->rank; d++)
        below += __builtin_ctzll((uint64_t)type->shape[d]);
    int shorter = __builtin_popcount(along), longer = __builtin_popcount(whole);
    for (int i = 0; i < layout_in_bits(&first); i++) {
        uint32_t low = first.basis[i] & ((1u << below) - 1);
        uint32_t high = first.basis[i] >> (below + shorter);
        first.basis[i] = low | high << (below + longer);
    }
    first.out_bits = buffer->log2_numel;
    return layout_get(cg->ctx, &first);
}

/* Bytes from index 0 to that; what lies outside of the buffer becomes some place in it. */
static Lv bytes_along(Cg *cg, Lv index, const Type *buffer, int axis) {
    int64_t step = type_element_bytes(buffer);
    for (int d = axis + 1; d < buffer->rank; d++)
        step *= buffer->shape[d];
    Lv number = LLVMBuildIntCast2(cg->b, index, cg->t_i32, true, "");
    number = LLVMBuildAnd(cg->b, number, cg_i32(cg, buffer->shape[axis] - 1), "");
    return LLVMBuildNUWMul(cg->b, number, cg_i32(cg, step), "");
}

void lower_local_gather(Cg *cg, const Op *op) {
    const Type *type = op->out[0].type, *buffer = op_in(op, 0)->type;
    int axis = (int)local_gather_attrs(op)->axis, bytes = type_element_bytes(buffer);
    const Plan *owned = cg_plan(cg, type->layout);
    const Plan *first = cg_plan(cg, without_axis(cg, type, buffer, axis));
    Lv base = cg_scalar(cg, op_in(op, 0)), *index = cg_in(cg, op, 1),
       *out = cg_new(cg, &op->out[0]);
    uint32_t width = op_access_width(op);
    for (uint32_t reg = 0; reg < owned->count; reg += width) {
        if (owned->rep[reg] != reg) {
            memcpy(out + reg, out + owned->rep[reg], width * sizeof *out);
            continue;
        }
        int64_t constant;
        uint32_t image = layout_reg_image(first->layout, reg);
        Lv at = cg_shared_offset(cg, first, base, bytes, image, &constant);
        Lv along = bytes_along(cg, index[reg], buffer, axis), rest = cg_i32(cg, constant);
        at = LLVMBuildGEP2(cg->b, cg->t_i8, at, &along, 1, "");
        at = LLVMBuildGEP2(cg->b, cg->t_i8, at, &rest, 1, "");
        Access from = {
            .space = SPACE_SHARED, .dtype = buffer->dtype, .width = width, .pointer = at};
        cg_load(cg, &from, NULL, &out[reg]);
    }
}

/* Elements that stand in several threads are counted once. */
void lower_local_count(Cg *cg, const Op *op) {
    const Value *buffer = op_in(op, 1);
    const Type *type = op_in(op, 0)->type;
    const Plan *plan = cg_plan(cg, type->layout);
    Lv base = cg_scalar(cg, buffer), owner = cg_owner(cg, type->layout), *x = cg_in(cg, op, 0);
    for (uint32_t reg = 0; reg < plan->count; reg++) {
        if (plan->rep[reg] != reg)
            continue;
        Lv value = type_element_bytes(type) < 4
                       ? LLVMBuildIntCast2(cg->b, x[reg], cg->t_i32, true, "")
                       : x[reg];
        Lv bins = LLVMConstInt(LLVMTypeOf(value), (uint64_t)type_numel(buffer->type), false);
        Lv counts = cg_and(cg, owner, LLVMBuildICmp(cg->b, LLVMIntULT, value, bins, ""));
        Lv bin = LLVMBuildIntCast2(cg->b, value, cg->t_i32, false, "");
        Lv at = LLVMBuildGEP2(cg->b, cg->t_i32, base, &bin, 1, "");
        cg_asm(cg, cg->t_void, "@$0 red.relaxed.cta.shared.add.u32 [$1], 1;", "b,r,~{memory}",
               (Lv[]){counts, at}, 2, ASM_EFFECTS);
    }
}
