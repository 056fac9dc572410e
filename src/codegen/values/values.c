/* Types of values, and the table of their registers. */
#include "codegen/values/values.h"
#include <assert.h>

/* Types */

uint32_t cg_count(const Type *type) {
    return type_is_tile(type) ? 1u << type->layout->bits[LAYOUT_REG] : 1;
}

LLVMTypeRef cg_dtype(Cg *cg, DType dtype) {
    switch (dtype) {
    case DT_I1:
        return cg->t_i1;
    case DT_I8:
    case DT_F8E4M3:
    case DT_F8E5M2:
        return cg->t_i8;
    case DT_I16:
        return cg->t_i16;
    case DT_I32:
        return cg->t_i32;
    case DT_I64:
        return cg->t_i64;
    case DT_F16:
        return cg->t_f16;
    case DT_BF16:
        return cg->t_bf16;
    case DT_F32:
        return cg->t_f32;
    case DT_F64:
        return cg->t_f64;
    case DT_COUNT:
        break;
    }
    return NULL;
}

LLVMTypeRef cg_memory_type(Cg *cg, DType dtype) {
    return dtype == DT_I1 ? cg->t_i8 : cg_dtype(cg, dtype);
}

Lv cg_to_memory(Cg *cg, DType dtype, Lv x) {
    return dtype == DT_I1 ? LLVMBuildZExt(cg->b, x, cg->t_i8, "") : x;
}

Lv cg_from_memory(Cg *cg, DType dtype, Lv x) {
    return dtype == DT_I1 ? LLVMBuildICmp(cg->b, LLVMIntNE, x, LLVMConstNull(cg->t_i8), "") : x;
}

LLVMTypeRef cg_type(Cg *cg, const Type *type) {
    return type->kind == TYPE_POINTER ? cg->t_global : cg_dtype(cg, type->dtype);
}

/* Value table */

Lv *cg_get(Cg *cg, const Value *value) {
    Lv *regs = cg->regs[value->id];
    assert(regs && "value used before its definition");
    return regs;
}

Lv *cg_in(Cg *cg, const Op *op, uint32_t index) {
    return index < op->nin && op_in(op, index) ? cg_get(cg, op_in(op, index)) : NULL;
}

Lv *cg_new(Cg *cg, const Value *value) {
    return cg->regs[value->id] = ARENA_ARRAY(cg->arena, Lv, cg_count(value->type));
}

void cg_set(Cg *cg, const Value *value, Lv *regs) {
    cg->regs[value->id] = regs;
}

Lv cg_scalar(Cg *cg, const Value *value) {
    return cg_get(cg, value)[0];
}

void cg_unsupported_layout(Cg *cg, const Op *op) {
    cg->failed = true;
    ctx_diag(cg->ctx, op->span, codegen_layout, op_info[op->code].name);
}
