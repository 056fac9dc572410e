/* Short names for what LLVM's builder takes many arguments for: constants, intrinsics, inline PTX,
 * blocks. */
#ifndef TILEC_CODEGEN_VALUES_BUILDER_H
#define TILEC_CODEGEN_VALUES_BUILDER_H
#include "codegen/cg.h"

Lv cg_i1(Cg *cg, bool v);
Lv cg_i32(Cg *cg, int64_t v);
Lv cg_i64(Cg *cg, int64_t v);
Lv cg_real(LLVMTypeRef type, double v);
Lv cg_zero(LLVMTypeRef type);
bool lv_is_true(Lv v);
bool lv_is_false(Lv v);
/* a && b, either may be NULL (true); NULL if both are. */
Lv cg_and(Cg *cg, Lv a, Lv b);
/* An intrinsic overloaded on `ntypes` types. */
Lv cg_intrinsic(Cg *cg, const char *name, const LLVMTypeRef *types, unsigned ntypes, Lv *args,
                unsigned nargs);
Lv cg_intrinsic1(Cg *cg, const char *name, Lv x);       /* overloaded on x's type */
Lv cg_intrinsic2(Cg *cg, const char *name, Lv x, Lv y); /* overloaded on x's type */
typedef enum AsmEffect { ASM_PURE, ASM_READS, ASM_EFFECTS, ASM_CONVERGENT } AsmEffect;
/* Inline PTX; ASM_CONVERGENT: effects, and every thread of the warp must execute it together. */
Lv cg_asm(Cg *cg, LLVMTypeRef result, const char *text, const char *constraints, Lv *args,
          unsigned nargs, AsmEffect effect);
LLVMBasicBlockRef cg_block(Cg *cg, const char *name);
void cg_position(Cg *cg, LLVMBasicBlockRef block);
/* Marks floating-point results as contractible (a*b+c may round once), as nvcc and Triton do,
 * unless the options say no. */
Lv cg_contract(const Cg *cg, Lv v);
#endif
