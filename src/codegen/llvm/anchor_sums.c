#include "codegen/llvm/anchor_sums.h"
#include "support/ptrmap.h"
#include <stdint.h>
#include <string.h>

/* Half of what the walk goes (MaxAnalysisRecursionDepth in LLVM's ValueTracking.h): two operands of
 * that depth each take 8 steps, not 64. */
enum { DEEPEST = 3 };

typedef enum Part { PART_OTHER, PART_SUM, PART_WAY } Part;

/* PART_SUM may be frozen; PART_WAY only leads to its operands. Nothing else is walked through. */
static Part part_of(Lv inst) {
    switch (LLVMGetInstructionOpcode(inst)) {
    case LLVMAdd:
    case LLVMOr:
    case LLVMSub:
    case LLVMMul:
    case LLVMXor:
    case LLVMShl:
    case LLVMSExt:
    case LLVMZExt:
    case LLVMGetElementPtr:
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
        return PART_WAY;
    case LLVMCall: /* of the lesser or greater of two */
        return LLVMGetNumArgOperands(inst) ? PART_WAY : PART_OTHER;
    default:
        return PART_OTHER;
    }
}

static bool has_constant_operand(Lv inst) {
    for (int i = 0; i < LLVMGetNumOperands(inst); i++)
        if (LLVMIsConstant(LLVMGetOperand(inst, (unsigned)i)))
            return true;
    return false;
}

/* A constant away from another value. */
static bool is_offset(Lv inst) {
    LLVMOpcode code = LLVMGetInstructionOpcode(inst);
    return (code == LLVMAdd || code == LLVMOr || code == LLVMSub || code == LLVMGetElementPtr) &&
           has_constant_operand(inst);
}

/* What the next one is made from. */
typedef struct Below {
    uintptr_t depth;
    /* There are others that are constants or strides away, which has to stay visible: elements of
     * the thread, sums with constants. */
    bool of_thread, offset;
} Below;

static bool is_division(Lv inst) {
    LLVMOpcode code = LLVMGetInstructionOpcode(inst);
    return code == LLVMUDiv || code == LLVMSDiv || code == LLVMURem || code == LLVMSRem;
}

/* What was a constant apart no longer is behind a quotient, a remainder or a product of two
 * variables. */
static bool takes_apart(Lv inst) {
    return is_division(inst) ||
           (LLVMGetInstructionOpcode(inst) == LLVMMul && !has_constant_operand(inst));
}

/* The thread's number, of which elements of a tile are constants away. */
static bool is_thread(Lv value) {
    static const char name[] = "llvm.nvvm.read.ptx.sreg.tid.x";
    Lv callee = LLVMIsACallInst(value) ? LLVMGetCalledValue(value) : NULL;
    size_t length;
    return callee && LLVMIsAFunction(callee) && !strcmp(LLVMGetValueName2(callee, &length), name);
}

typedef struct Anchors {
    LLVMBuilderRef builder;
    PtrMap map; /* of instructions that were not frozen, to Below */
    bool everywhere;
} Anchors;

static Below below(const Anchors *anchors, Lv inst) {
    Below all = {.depth = 1, .offset = is_offset(inst)};
    for (int i = 0; i < LLVMGetNumOperands(inst); i++) {
        Lv operand = LLVMGetOperand(inst, (unsigned)i);
        const Below *one = ptrmap_get(&anchors->map, operand);
        all.of_thread |= is_thread(operand);
        if (!one)
            continue;
        all.of_thread |= one->of_thread;
        all.offset |= one->offset && part_of(inst) == PART_SUM; /* else nobody sees through it */
        all.depth = all.depth > 1 + one->depth ? all.depth : 1 + one->depth;
    }
    if (anchors->everywhere && takes_apart(inst))
        all.of_thread = all.offset = false;
    return all;
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

static bool may_freeze(const Anchors *anchors, Lv inst) {
    return is_number(inst) &&
           (part_of(inst) == PART_SUM || (anchors->everywhere && is_division(inst)));
}

static void anchor_block(Anchors *anchors, LLVMBasicBlockRef block) {
    for (Lv next, inst = LLVMGetFirstInstruction(block); inst; inst = next) {
        next = LLVMGetNextInstruction(inst);
        if (part_of(inst) == PART_OTHER)
            continue;
        Below *made = ARENA_NEW(anchors->map.arena, Below);
        *made = below(anchors, inst);
        if (made->depth >= DEEPEST && !made->of_thread && !made->offset &&
            may_freeze(anchors, inst))
            freeze(anchors->builder, inst, next);
        else
            ptrmap_set(&anchors->map, inst, made);
    }
}

/* Loops */

/* Of the blocks in their order, in which a loop is all from its header to the last jump back. */
typedef struct Loops {
    LLVMBasicBlockRef *blocks;
    uint32_t *last; /* of the loop that a block is the header of; 0: none */
    uint32_t count;
} Loops;

static Loops find_loops(const Cg *cg) {
    Loops loops = {.count = LLVMCountBasicBlocks(cg->fn)};
    loops.blocks = ARENA_ARRAY(cg->arena, LLVMBasicBlockRef, loops.count);
    loops.last = ARENA_ARRAY(cg->arena, uint32_t, loops.count);
    LLVMGetBasicBlocks(cg->fn, loops.blocks);
    PtrMap place = {.arena = cg->arena};
    for (uint32_t at = 0; at < loops.count; at++) {
        ptrmap_set(&place, loops.blocks[at], &loops.blocks[at]);
        Lv jump = LLVMGetBasicBlockTerminator(loops.blocks[at]);
        for (unsigned i = 0; i < LLVMGetNumSuccessors(jump); i++) {
            LLVMBasicBlockRef *to = ptrmap_get(&place, LLVMGetSuccessor(jump, i));
            if (to)
                loops.last[to - loops.blocks] = at;
        }
    }
    return loops;
}

/* Is there a loop that begins between the two? */
static bool has_loop(const Loops *loops, uint32_t first, uint32_t last) {
    for (uint32_t at = first; at <= last; at++)
        if (loops->last[at])
            return true;
    return false;
}

static bool is_innermost(const Loops *loops, uint32_t block) {
    for (uint32_t header = block + 1; header-- > 0;)
        if (loops->last[header] && loops->last[header] >= block)
            return !has_loop(loops, header + 1, loops->last[header]);
    return false;
}

static bool has_nested(const Loops *loops) {
    for (uint32_t at = 0; at < loops->count; at++)
        if (loops->last[at] && has_loop(loops, at + 1, loops->last[at]))
            return true;
    return false;
}

void anchor_sums(const Cg *cg, bool everywhere) {
    Loops loops = find_loops(cg);
    bool nested = has_nested(&loops);
    Anchors anchors = {.builder = LLVMCreateBuilderInContext(cg->llvm),
                       .map = {.arena = cg->arena},
                       .everywhere = everywhere};
    for (uint32_t at = 0; at < loops.count; at++)
        if (at == 0 || everywhere || (nested && !is_innermost(&loops, at)))
            anchor_block(&anchors, loops.blocks[at]);
    LLVMDisposeBuilder(anchors.builder);
}
