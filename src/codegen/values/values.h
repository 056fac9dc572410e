/* Values of the Tile IR as arrays of LLVM values, one per register of a layout. */
#ifndef TILEC_CODEGEN_VALUES_VALUES_H
#define TILEC_CODEGEN_VALUES_VALUES_H
#include "codegen/cg.h"

/* More cannot be meant, and LLVM would take minutes over them. */
enum { MAX_REGISTERS_OF_TILE = 4096 };

uint32_t cg_count(const Type *type);
LLVMTypeRef cg_type(Cg *cg, const Type *type); /* of one element in a register */
LLVMTypeRef cg_dtype(Cg *cg, DType dtype);
LLVMTypeRef cg_memory_type(Cg *cg, DType dtype); /* of one element in memory: i1 is i8 */
Lv cg_to_memory(Cg *cg, DType dtype, Lv x);      /* such an element */
Lv cg_from_memory(Cg *cg, DType dtype, Lv x);
Lv *cg_get(Cg *cg, const Value *value);
Lv *cg_in(Cg *cg, const Op *op, uint32_t index); /* NULL: absent */
/* A fresh array for the value's registers, to be filled; the value's from now on. */
Lv *cg_new(Cg *cg, const Value *value);
void cg_set(Cg *cg, const Value *value, Lv *regs); /* shares `regs` */
Lv cg_scalar(Cg *cg, const Value *value);

/* Reports that the op's layouts, which passes are to have prevented, cannot be lowered. */
void cg_unsupported_layout(Cg *cg, const Op *op);
#endif
