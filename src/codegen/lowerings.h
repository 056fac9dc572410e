/* One function per op, which the table in dispatch.c calls. Elementwise ops: for one element; `in`
 * holds the operands' elements. */
#ifndef TILEC_CODEGEN_LOWERINGS_H
#define TILEC_CODEGEN_LOWERINGS_H
#include "codegen/cg.h"

#define OP(name, ...) void lower_##name(Cg *cg, const Op *op);
#define OP_E(name, ...) Lv emit_##name(Cg *cg, const Op *op, const Lv *in);
#define OP_R(name, ...) void lower_##name(Cg *cg, const Op *op);
#include "ir/ops.def"
#endif
