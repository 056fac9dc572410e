/* Delays loads that all programs share to where a store needs them.
 *
 * A tile is lowered op by op: one instruction per register of the tile for the first op, as many
 * for the next. So all of it is alive before its first store, and ptxas keeps the order of loads
 * and stores. Where 16-bit elements are widened that costs twice the registers, and the stores come
 * in one burst behind the loads. Better is one vector at a time: load what it needs, compute,
 * store.
 *
 * That moves loads past stores. It is done for a load that says that it may be delayed (pass
 * delay-loads): the lowering marks the LLVM instruction, and `schedule_function` acts on the marks
 * after LLVM's passes. It orders the end of a block, from the last barrier or other effect on:
 * stores and unmarked loads keep their order, and each pulls in front of it, depth first, what it
 * needs. The loads of the next one go before it, so that they are under way while it is computed.
 *
 *     load w0, w1, w2                        load w0, w1; y0 = ..; store y0
 *     y0 = ..; y1 = ..; y2 = ..        =>    load w2;     y1 = ..; store y1
 *     store y0, y1, y2                                    y2 = ..; store y2
 */
#include "codegen/llvm/schedule.h"
#include "support/ptrmap.h"
#include "support/vec.h"

static const char access_mark[] = "tilec.access", delay_mark[] = "tilec.delay";

static unsigned mark_kind(Cg *cg, const char *name) {
    return LLVMGetMDKindIDInContext(cg->llvm, name, (unsigned)strlen(name));
}

void schedule_mark(Cg *cg, Lv access, bool may_delay) {
    LLVMMetadataRef empty = LLVMMDNodeInContext2(cg->llvm, NULL, 0);
    LLVMSetMetadata(access, mark_kind(cg, may_delay ? delay_mark : access_mark),
                    LLVMMetadataAsValue(cg->llvm, empty));
}

/* Ordering a block */

typedef struct Schedule {
    Arena *arena;
    InstOrder order;
    VEC(Lv) loads, anchors;
    unsigned access, delay; /* kinds of metadata */
    Purity purity;
} Schedule;

Purity purity_kinds(void) {
    return (Purity){.memory = LLVMGetEnumAttributeKindForName("memory", 6),
                    .convergent = LLVMGetEnumAttributeKindForName("convergent", 10)};
}

static bool call_is_pure(const Purity *s, Lv call) {
    Lv callee = LLVMGetCalledValue(call);
    if (!LLVMIsAFunction(callee))
        return false;
    LLVMAttributeRef memory =
        LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, s->memory);
    return memory && LLVMGetEnumAttributeValue(memory) == 0 &&
           !LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, s->convergent);
}

bool inst_is_pure(const Purity *purity, Lv inst) {
    if (LLVMIsACallInst(inst))
        return call_is_pure(purity, inst);
    return LLVMIsABinaryOperator(inst) || LLVMIsACastInst(inst) || LLVMIsACmpInst(inst) ||
           LLVMIsAUnaryOperator(inst) || LLVMIsASelectInst(inst) ||
           LLVMIsAGetElementPtrInst(inst) || LLVMIsAExtractElementInst(inst) ||
           LLVMIsAInsertElementInst(inst) || LLVMIsAShuffleVectorInst(inst) ||
           LLVMIsAExtractValueInst(inst) || LLVMIsAInsertValueInst(inst) || LLVMIsAFreezeInst(inst);
}

static bool may_move(const Schedule *s, Lv inst) {
    return LLVMGetMetadata(inst, s->delay) || inst_is_pure(&s->purity, inst);
}

bool inst_is_pending(const InstOrder *order, Lv inst) {
    return ptrmap_get(&order->pending, inst) != NULL;
}

void inst_append(InstOrder *order, Lv inst) {
    ptrmap_set(&order->pending, inst, NULL);
    vec_push(order->arena, &order->placed, inst);
}

void inst_place(InstOrder *order, Lv root, void (*append)(void *user, Lv inst), void *user) {
    bool stands = !inst_is_pending(order, root); /* where it is: its place is now */
    vec_push(order->arena, &order->stack, root);
    while (order->stack.len) {
        Lv inst = order->stack.data[order->stack.len - 1];
        size_t before = order->stack.len;
        bool placed = !inst_is_pending(order, inst) && !(stands && inst == root);
        for (unsigned i = placed ? 0 : (unsigned)LLVMGetNumOperands(inst); i-- > 0;)
            if (inst_is_pending(order, LLVMGetOperand(inst, i)))
                vec_push(order->arena, &order->stack, LLVMGetOperand(inst, i));
        if (order->stack.len != before)
            continue;
        order->stack.len--;
        if (!placed)
            append(user, inst);
    }
}

void insts_move_to_end(LLVMBuilderRef builder, LLVMBasicBlockRef block, const Lv *insts,
                       size_t count) {
    /* At the block's end: before an instruction the builder would take over its source line. */
    LLVMPositionBuilderAtEnd(builder, block);
    for (size_t i = 0; i < count; i++) {
        LLVMInstructionRemoveFromParent(insts[i]);
        LLVMInsertIntoBuilder(builder, insts[i]);
    }
}

static void append(void *user, Lv inst) {
    Schedule *s = user;
    inst_append(&s->order, inst);
}

static void place(Schedule *s, Lv root) {
    inst_place(&s->order, root, append, s);
}

/* Appends the marked loads that `anchor` waits for. */
static void place_loads(Schedule *s, Lv anchor) {
    PtrMap seen = {.arena = s->arena};
    size_t first = s->loads.len;
    vec_push(s->arena, &s->loads, anchor);
    for (size_t at = first; at < s->loads.len; at++)
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(s->loads.data[at]); i++) {
            Lv in = LLVMGetOperand(s->loads.data[at], i);
            if (!inst_is_pending(&s->order, in) || ptrmap_get(&seen, in))
                continue;
            ptrmap_set(&seen, in, in);
            vec_push(s->arena, &s->loads, in);
        }
    for (size_t at = first + 1; at < s->loads.len; at++)
        if (LLVMGetMetadata(s->loads.data[at], s->delay) &&
            inst_is_pending(&s->order, s->loads.data[at]))
            place(s, s->loads.data[at]);
    s->loads.len = first;
}

/* The first of the instructions at the block's end that may be ordered; NULL: nothing to gain. */
static Lv find_start(const Schedule *s, Lv terminator) {
    Lv start = NULL;
    bool delays = false;
    for (Lv inst = LLVMGetPreviousInstruction(terminator); inst;
         inst = LLVMGetPreviousInstruction(inst)) {
        if (!may_move(s, inst) && !LLVMGetMetadata(inst, s->access))
            break;
        delays |= LLVMGetMetadata(inst, s->delay) != NULL;
        start = inst;
    }
    return delays ? start : NULL;
}

static void schedule_block(Schedule *s, LLVMBasicBlockRef block, LLVMBuilderRef builder) {
    Lv terminator = LLVMGetBasicBlockTerminator(block), start = find_start(s, terminator);
    if (!start)
        return;
    s->order.placed.len = s->anchors.len = 0;
    for (Lv inst = start; inst != terminator; inst = LLVMGetNextInstruction(inst))
        if (may_move(s, inst))
            ptrmap_set(&s->order.pending, inst, inst);
        else
            vec_push(s->arena, &s->anchors, inst);
    for (size_t i = 0; i < s->anchors.len; i++) {
        for (size_t k = i; k < s->anchors.len && k < i + DELAYED_ACCESSES; k++)
            place_loads(s, s->anchors.data[k]);
        place(s, s->anchors.data[i]);
    }
    for (Lv inst = start; inst != terminator; inst = LLVMGetNextInstruction(inst))
        if (inst_is_pending(&s->order, inst))
            place(s, inst);
    vec_push(s->arena, &s->order.placed, terminator);
    insts_move_to_end(builder, block, s->order.placed.data, s->order.placed.len);
}

void schedule_function(Cg *cg) {
    Schedule s = {
        .arena = cg->arena,
        .order = {.arena = cg->arena, .pending = {.arena = cg->arena}},
        .access = mark_kind(cg, access_mark),
        .delay = mark_kind(cg, delay_mark),
        .purity = purity_kinds(),
    };
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(cg->llvm);
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(cg->fn); block;
         block = LLVMGetNextBasicBlock(block))
        schedule_block(&s, block, builder);
    LLVMDisposeBuilder(builder);
}
