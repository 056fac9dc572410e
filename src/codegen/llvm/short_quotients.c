#include "codegen/llvm/short_quotients.h"
#include "codegen/llvm/split_blocks.h"
#include <llvm-c/Core.h>

/* Of a row of quotients that one condition asks about: all are long if one is, and more of them
 * would be computed from registers that all are alive. */
enum { MOST_TOGETHER = 8 };

/* Instructions that are looked through for more of a row. */
enum { FARTHEST = 64 };

typedef struct Row {
    Lv quotients[MOST_TOGETHER];
    unsigned count;
} Row;

/* Wide, and no product with a constant: constant divisors become those. */
static bool is_wide_quotient(const Cg *cg, Lv inst) {
    LLVMOpcode code = LLVMGetInstructionOpcode(inst);
    bool divides = code == LLVMSDiv || code == LLVMUDiv || code == LLVMSRem || code == LLVMURem;
    return divides && LLVMTypeOf(inst) == LLVMInt64TypeInContext(cg->llvm) &&
           !LLVMIsConstant(LLVMGetOperand(inst, 1));
}

/* Computes from its operands alone: what stands behind it may be moved in front of it. */
static bool is_plain(Lv inst) {
    return LLVMIsABinaryOperator(inst) || LLVMIsACastInst(inst) || LLVMIsAFreezeInst(inst) ||
           LLVMIsAGetElementPtrInst(inst) || LLVMIsACmpInst(inst);
}

static bool is_from(Lv value, Lv first, Lv end) {
    for (Lv at = first; at != end; at = LLVMGetNextInstruction(at))
        if (value == at)
            return true;
    return false;
}

static void move_before(LLVMBuilderRef b, Lv inst, Lv place) {
    if (inst == place)
        return;
    LLVMInstructionRemoveFromParent(inst);
    LLVMPositionBuilderBefore(b, place);
    LLVMInsertIntoBuilder(b, inst);
}

/* Whether an operand of what `end` computes is there in front of `first`, or can be: where there
 * are remainders, too, what is divided has been frozen. */
static bool is_operand_early(Lv operand, Lv first, Lv end) {
    return !is_from(operand, first, end) ||
           (LLVMIsAFreezeInst(operand) && !is_from(LLVMGetOperand(operand, 0), first, end));
}

/* The quotients that begin with this one, none made from another; those between which other things
 * are computed come to stand behind each other. */
static Row row_from(const Cg *cg, LLVMBuilderRef b, Lv first) {
    Row row = {.quotients = {first}, .count = 1};
    Lv next = LLVMGetNextInstruction(first);
    for (unsigned i = 0; i < FARTHEST && row.count < MOST_TOGETHER && is_plain(next); i++) {
        Lv inst = next, over = LLVMGetOperand(inst, 0);
        next = LLVMGetNextInstruction(inst);
        if (!is_wide_quotient(cg, inst) || !is_operand_early(over, first, inst) ||
            is_from(LLVMGetOperand(inst, 1), first, inst))
            continue;
        if (is_from(over, first, inst))
            move_before(b, over, first);
        move_before(b, inst, LLVMGetNextInstruction(row.quotients[row.count - 1]));
        row.quotients[row.count++] = inst;
    }
    return row;
}

/* All bits that any operand has, those of constants too. */
static Lv bits_of(LLVMBuilderRef b, const Row *row) {
    Lv all = NULL;
    for (unsigned i = 0; i < row->count; i++)
        for (unsigned side = 0; side < 2; side++) {
            Lv operand = LLVMGetOperand(row->quotients[i], side);
            bool known = i && operand == LLVMGetOperand(row->quotients[i - 1], side);
            if (!known)
                all = all ? LLVMBuildOr(b, all, operand, "") : operand;
        }
    return all;
}

/* Both operands are below 2^32: signed or not, the quotient is that of numbers without sign. */
static Lv short_quotient(const Cg *cg, LLVMBuilderRef b, Lv wide) {
    LLVMTypeRef word = LLVMInt32TypeInContext(cg->llvm);
    LLVMOpcode code = LLVMGetInstructionOpcode(wide);
    bool divides = code == LLVMSDiv || code == LLVMUDiv;
    Lv over = LLVMBuildTrunc(b, LLVMGetOperand(wide, 0), word, "");
    Lv by = LLVMBuildTrunc(b, LLVMGetOperand(wide, 1), word, "");
    Lv quotient = divides ? LLVMBuildUDiv(b, over, by, "") : LLVMBuildURem(b, over, by, "");
    return LLVMBuildZExt(b, quotient, LLVMTypeOf(wide), "");
}

/* block: head | row | rest   becomes   head -> brief or full -> rest, the rest staying in `block`,
 * which the phis of its successors name. */
static void branch_around(const Cg *cg, LLVMBuilderRef b, LLVMBasicBlockRef block, const Row *row) {
    split_before(cg, b, block, row->quotients[0]);
    LLVMBasicBlockRef brief = LLVMInsertBasicBlockInContext(cg->llvm, block, "");
    LLVMBasicBlockRef full = LLVMInsertBasicBlockInContext(cg->llvm, block, "");
    LLVMTypeRef wide = LLVMInt64TypeInContext(cg->llvm);
    Lv high = LLVMBuildLShr(b, bits_of(b, row), LLVMConstInt(wide, 32, false), "");
    Lv fits = LLVMBuildICmp(b, LLVMIntEQ, high, LLVMConstNull(wide), "");
    LLVMBuildCondBr(b, fits, brief, full);
    Lv after = LLVMGetNextInstruction(row->quotients[row->count - 1]);
    Lv results[MOST_TOGETHER];
    LLVMPositionBuilderBefore(b, after);
    for (unsigned i = 0; i < row->count; i++) {
        results[i] = LLVMBuildPhi(b, wide, "");
        LLVMReplaceAllUsesWith(row->quotients[i], results[i]);
    }
    LLVMPositionBuilderAtEnd(b, brief);
    for (unsigned i = 0; i < row->count; i++) {
        Lv brief_result = short_quotient(cg, b, row->quotients[i]);
        LLVMAddIncoming(results[i], &brief_result, &brief, 1);
    }
    LLVMBuildBr(b, block);
    LLVMPositionBuilderAtEnd(b, full);
    for (unsigned i = 0; i < row->count; i++) {
        Lv quotient = row->quotients[i];
        LLVMInstructionRemoveFromParent(quotient);
        LLVMInsertIntoBuilder(b, quotient);
        LLVMAddIncoming(results[i], &quotient, &full, 1);
    }
    LLVMBuildBr(b, block);
}

static Lv first_wide_quotient(const Cg *cg, LLVMBasicBlockRef block) {
    for (Lv inst = LLVMGetFirstInstruction(block); inst; inst = LLVMGetNextInstruction(inst))
        if (is_wide_quotient(cg, inst))
            return inst;
    return NULL;
}

void short_quotients(const Cg *cg) {
    LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->llvm); /* without a place in the source */
    LLVMBasicBlockRef next;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(cg->fn); block; block = next) {
        next = LLVMGetNextBasicBlock(block);
        for (Lv inst = first_wide_quotient(cg, block); inst;
             inst = first_wide_quotient(cg, block)) {
            Row row = row_from(cg, b, inst);
            branch_around(cg, b, block, &row);
        }
    }
    LLVMDisposeBuilder(b);
}
