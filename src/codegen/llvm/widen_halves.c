#include "codegen/llvm/widen_halves.h"
#include <llvm-c/Core.h>

/* Where the half stands that is widened: the vector, and its place there. */
typedef struct Half {
    Lv vector;
    unsigned at;
} Half;

/* No vector where it is not the upper half of a word. */
static Half upper_half(const Cg *cg, Lv inst) {
    if (!LLVMIsAFPExtInst(inst) || LLVMTypeOf(inst) != cg->t_f32)
        return (Half){0};
    Lv from = LLVMGetOperand(inst, 0);
    if (LLVMTypeOf(from) != cg->t_bf16 || !LLVMIsAExtractElementInst(from))
        return (Half){0};
    Lv index = LLVMGetOperand(from, 1);
    if (!LLVMIsAConstantInt(index) || LLVMConstIntGetZExtValue(index) % 2 == 0)
        return (Half){0};
    return (Half){LLVMGetOperand(from, 0), (unsigned)LLVMConstIntGetZExtValue(index)};
}

/* The word that the half is in: what the vector was before it was one, or the pair, as bits. */
static Lv word_of(const Cg *cg, LLVMBuilderRef b, Half half) {
    Lv pair = half.vector;
    if (LLVMGetVectorSize(LLVMTypeOf(pair)) != 2) {
        Lv places[] = {LLVMConstInt(cg->t_i32, half.at - 1, false),
                       LLVMConstInt(cg->t_i32, half.at, false)};
        pair = LLVMBuildShuffleVector(b, pair, LLVMGetPoison(LLVMTypeOf(pair)),
                                      LLVMConstVector(places, 2), "");
    }
    if (LLVMIsABitCastInst(pair) && LLVMTypeOf(LLVMGetOperand(pair, 0)) == cg->t_i32)
        return LLVMGetOperand(pair, 0);
    return LLVMBuildBitCast(b, pair, cg->t_i32, "");
}

void widen_halves(const Cg *cg) {
    LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->llvm);
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(cg->fn); block;
         block = LLVMGetNextBasicBlock(block)) {
        Lv next;
        for (Lv inst = LLVMGetFirstInstruction(block); inst; inst = next) {
            next = LLVMGetNextInstruction(inst);
            Half half = upper_half(cg, inst);
            if (!half.vector)
                continue;
            LLVMPositionBuilderBefore(b, inst);
            Lv upper = LLVMBuildAnd(b, word_of(cg, b, half),
                                    LLVMConstInt(cg->t_i32, 0xffff0000, false), "");
            LLVMReplaceAllUsesWith(inst, LLVMBuildBitCast(b, upper, cg->t_f32, ""));
            LLVMInstructionEraseFromParent(inst);
        }
    }
    LLVMDisposeBuilder(b);
}
