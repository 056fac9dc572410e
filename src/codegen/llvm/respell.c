#include "codegen/llvm/respell.h"
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

/* The upper half of a word of two bf16, as f32: the word without its lower half, one instruction,
 * for ptxas' two, which takes the half out and shifts it back. NULL for all else. */
static Lv widened_half(const Cg *cg, LLVMBuilderRef b, Lv inst) {
    Half half = upper_half(cg, inst);
    if (!half.vector)
        return NULL;
    Lv bits = LLVMConstInt(cg->t_i32, 0xffff0000, false);
    return LLVMBuildBitCast(b, LLVMBuildAnd(b, word_of(cg, b, half), bits, ""), cg->t_f32, "");
}

/* A byte as f16 or bf16, by f32, which ptxas rounds two at once of: it would put two of 16 bits
 * together by instructions of their own. Exact on the way. NULL for all else. */
static Lv float_of_byte(const Cg *cg, LLVMBuilderRef b, Lv inst) {
    bool is_signed = LLVMIsASIToFPInst(inst);
    if (!is_signed && !LLVMIsAUIToFPInst(inst))
        return NULL;
    LLVMTypeRef type = LLVMTypeOf(inst);
    Lv byte = LLVMGetOperand(inst, 0);
    if ((type != cg->t_f16 && type != cg->t_bf16) || LLVMTypeOf(byte) != cg->t_i8)
        return NULL;
    Lv wide = is_signed ? LLVMBuildSIToFP(b, byte, cg->t_f32, "")
                        : LLVMBuildUIToFP(b, byte, cg->t_f32, "");
    return LLVMBuildFPTrunc(b, wide, type, "");
}

static void respell_block(const Cg *cg, LLVMBuilderRef b, LLVMBasicBlockRef block) {
    Lv next;
    for (Lv inst = LLVMGetFirstInstruction(block); inst; inst = next) {
        next = LLVMGetNextInstruction(inst);
        LLVMPositionBuilderBefore(b, inst);
        Lv other = widened_half(cg, b, inst);
        other = other ? other : float_of_byte(cg, b, inst);
        if (!other)
            continue;
        LLVMReplaceAllUsesWith(inst, other);
        LLVMInstructionEraseFromParent(inst);
    }
}

void respell(const Cg *cg) {
    LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->llvm);
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(cg->fn); block;
         block = LLVMGetNextBasicBlock(block))
        respell_block(cg, b, block);
    LLVMDisposeBuilder(b);
}
