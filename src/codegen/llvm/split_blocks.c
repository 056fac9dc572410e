#include "codegen/llvm/split_blocks.h"
#include <llvm-c/Core.h>

/* Of a block: some hundred times what a loop of a usual kernel has. */
enum { MOST_INSTRUCTIONS = 4096 };

static unsigned count_of(LLVMBasicBlockRef block) {
    unsigned count = 0;
    for (Lv inst = LLVMGetFirstInstruction(block); inst; inst = LLVMGetNextInstruction(inst))
        count++;
    return count;
}

/* What branches to one block from now on does to the other. */
static void redirect(const Cg *cg, LLVMBasicBlockRef from, LLVMBasicBlockRef to) {
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(cg->fn); block;
         block = LLVMGetNextBasicBlock(block)) {
        Lv last = LLVMGetBasicBlockTerminator(block);
        for (unsigned i = 0; last && block != to && i < LLVMGetNumSuccessors(last); i++)
            if (LLVMGetSuccessor(last, i) == from)
                LLVMSetSuccessor(last, i, to);
    }
}

void split_before(const Cg *cg, LLVMBuilderRef builder, LLVMBasicBlockRef block, Lv end) {
    LLVMBasicBlockRef head = LLVMInsertBasicBlockInContext(cg->llvm, block, "");
    redirect(cg, block, head);
    LLVMPositionBuilderAtEnd(builder, head);
    for (Lv inst = LLVMGetFirstInstruction(block); inst != end;
         inst = LLVMGetFirstInstruction(block)) {
        LLVMInstructionRemoveFromParent(inst);
        LLVMInsertIntoBuilder(builder, inst);
    }
}

static void split_off_head(const Cg *cg, LLVMBuilderRef builder, LLVMBasicBlockRef block) {
    Lv end = LLVMGetFirstInstruction(block);
    for (unsigned i = 0; i < MOST_INSTRUCTIONS; i++)
        end = LLVMGetNextInstruction(end);
    split_before(cg, builder, block, end);
    LLVMBuildBr(builder, block);
}

/* Has it more phis, which stay together, than a part has instructions? */
static bool begins_late(LLVMBasicBlockRef block) {
    Lv inst = LLVMGetFirstInstruction(block);
    for (unsigned i = 0; i < MOST_INSTRUCTIONS && LLVMGetInstructionOpcode(inst) == LLVMPHI; i++)
        inst = LLVMGetNextInstruction(inst);
    return LLVMGetInstructionOpcode(inst) == LLVMPHI;
}

void split_blocks(const Cg *cg) {
    LLVMBuilderRef builder =
        LLVMCreateBuilderInContext(cg->llvm); /* without a place in the source */
    LLVMBasicBlockRef next;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(cg->fn); block; block = next) {
        next = LLVMGetNextBasicBlock(block);
        for (unsigned count = count_of(block); count > 2 * MOST_INSTRUCTIONS && !begins_late(block);
             count -= MOST_INSTRUCTIONS)
            split_off_head(cg, builder, block);
    }
    LLVMDisposeBuilder(builder);
}
