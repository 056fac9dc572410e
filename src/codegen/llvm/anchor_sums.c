#include "codegen/llvm/anchor_sums.h"
#include "support/ptrmap.h"
#include <stdint.h>

/* Half of what the walk goes (MaxAnalysisRecursionDepth in LLVM's ValueTracking.h): two operands of
 * that depth each take 8 steps, not 64. */
enum { DEEPEST = 3 };

typedef enum Part { PART_OTHER, PART_SUM, PART_OFFSET, PART_WAY } Part;

static bool has_constant_operand(Lv inst) {
    for (int i = 0; i < LLVMGetNumOperands(inst); i++)
        if (LLVMIsConstant(LLVMGetOperand(inst, (unsigned)i)))
            return true;
    return false;
}

/* PART_SUM may be frozen; PART_OFFSET is a constant from another one, which accesses take into
 * their address; PART_WAY only leads to its operands. Nothing else is walked through. */
static Part part_of(Lv inst) {
    switch (LLVMGetInstructionOpcode(inst)) {
    case LLVMAdd:
    case LLVMOr:
    case LLVMGetElementPtr:
        return has_constant_operand(inst) ? PART_OFFSET : PART_SUM;
    case LLVMSub:
    case LLVMMul:
    case LLVMXor:
    case LLVMShl:
    case LLVMSExt:
    case LLVMZExt:
        return PART_SUM;
    case LLVMAnd:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMTrunc:
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
    case LLVMSelect:
    case LLVMCall: /* of the lesser and greater of two */
        return PART_WAY;
    default:
        return PART_OTHER;
    }
}

static uintptr_t depth_below(const PtrMap *depths, Lv inst) {
    uintptr_t deepest = 0;
    for (int i = 0; i < LLVMGetNumOperands(inst); i++) {
        uintptr_t depth = (uintptr_t)ptrmap_get(depths, LLVMGetOperand(inst, (unsigned)i));
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

static void freeze(LLVMBuilderRef builder, Lv value, Lv before) {
    LLVMPositionBuilderBefore(builder, before);
    Lv frozen = LLVMBuildFreeze(builder, value, "");
    LLVMReplaceAllUsesWith(value, frozen);
    LLVMSetOperand(frozen, 0, value);
}

static bool is_number(Lv value) {
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMPointerTypeKind ||
           (LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) >= 32);
}

void anchor_sums(const Cg *cg) {
    PtrMap depths = {.arena = cg->arena};
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(cg->llvm);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(cg->fn);
    for (Lv next, inst = LLVMGetFirstInstruction(entry); inst; inst = next) {
        next = LLVMGetNextInstruction(inst);
        Part part = part_of(inst);
        if (part == PART_OTHER)
            continue;
        uintptr_t depth = 1 + depth_below(&depths, inst);
        if (part == PART_SUM && depth >= DEEPEST && is_number(inst))
            freeze(builder, inst, next);
        else
            ptrmap_set(&depths, inst, (void *)depth);
    }
    LLVMDisposeBuilder(builder);
}
