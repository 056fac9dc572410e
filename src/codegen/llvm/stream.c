/* Loads as what they load is taken, where not all of it fits a thread's registers.
 *
 * A tile is lowered op by op: all registers of one, then all of the next. Where several tiles are
 * loaded that are only added up, no more than a few elements of each need to be there at a time,
 * but ptxas, which moves loads down to their uses by itself, does so for a few registers, not for
 * hundreds, and spills. So the lowering marks the loads of which the IR says so (pass
 * stream-loads), and behind LLVM's passes a stretch of pure instructions and marked loads is
 * ordered anew: what is used behind it pulls in front of it, depth first, what it needs, and
 * whatever a load makes computable and is the last to need one of its operands follows it at once.
 *
 *     load x0, x1, ..                        load x0, y0, x1, y1        (`ahead` registers)
 *     load y0, y1, ..                        p = x0 * y0; load x2, y2
 *     p0 = x0 * y0; p1 = x1 * y1; ..   =>    q = x1 * y1; load x3, y3
 *     s = p0 + p1; ..                        s = p + q; ..
 *
 * Loads go that many registers in front of their place, so that memory is not waited for once for
 * each. No write stands in a stretch, so that its loads may change places. */
#include "codegen/llvm/stream.h"
#include "codegen/llvm/schedule.h"
#include "support/ptrmap.h"
#include "support/vec.h"

static const char stream_mark_name[] = "tilec.stream";

static unsigned mark_kind(Cg *cg) {
    return LLVMGetMDKindIDInContext(cg->llvm, stream_mark_name, (unsigned)strlen(stream_mark_name));
}

void stream_mark(Cg *cg, Lv load, int64_t ahead) {
    LLVMMetadataRef count =
        LLVMValueAsMetadata(LLVMConstInt(cg->t_i32, (unsigned long long)ahead, false));
    LLVMMetadataRef node = LLVMMDNodeInContext2(cg->llvm, &count, 1);
    LLVMSetMetadata(load, mark_kind(cg), LLVMMetadataAsValue(cg->llvm, node));
}

typedef struct Stream {
    Arena *arena;
    const Purity *purity;
    unsigned mark;
    LLVMTargetDataRef data;
    InstOrder order; /* of the stretch, and of those behind it in the block that may move */
    PtrMap left;     /* uses of each that have no place yet, and 1 */
    VEC(Lv) ready, roots, result;
} Stream;

static bool is_streamed(const Stream *s, Lv inst) {
    return LLVMGetMetadata(inst, s->mark) != NULL;
}

static bool is_pure_asm(const Stream *s, Lv inst) {
    if (!LLVMIsACallInst(inst) || !LLVMIsAInlineAsm(LLVMGetCalledValue(inst)))
        return false;
    LLVMAttributeRef memory =
        LLVMGetCallSiteEnumAttribute(inst, LLVMAttributeFunctionIndex, s->purity->memory);
    return memory && LLVMGetEnumAttributeValue(memory) == 0;
}

static bool may_move(const Stream *s, Lv inst) {
    return is_streamed(s, inst) || inst_is_pure(s->purity, inst) || is_pure_asm(s, inst);
}

static bool is_pending(const Stream *s, Lv value) {
    return inst_is_pending(&s->order, value);
}

static uintptr_t count_uses(Lv value) {
    uintptr_t uses = 0;
    for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use))
        uses++;
    return uses;
}

static bool widens(Lv inst) {
    LLVMOpcode code = LLVMGetInstructionOpcode(inst);
    return code == LLVMFPExt || code == LLVMSExt || code == LLVMZExt;
}

/* Is all there that the pending instruction takes, and does it take the last of something? Parts of
 * what was loaded are there as it is. */
static bool is_ready(const Stream *s, Lv inst) {
    bool frees = LLVMIsAExtractElementInst(inst) || LLVMIsAExtractValueInst(inst);
    for (int i = 0; i < LLVMGetNumOperands(inst); i++) {
        Lv in = LLVMGetOperand(inst, (unsigned)i);
        if (is_pending(s, in))
            return false;
        frees |= (uintptr_t)ptrmap_get(&s->left, in) == 2;
    }
    return frees && !widens(inst);
}

static void append(Stream *s, Lv inst) {
    inst_append(&s->order, inst);
    for (int i = 0; i < LLVMGetNumOperands(inst); i++) {
        Lv in = LLVMGetOperand(inst, (unsigned)i);
        uintptr_t left = (uintptr_t)ptrmap_get(&s->left, in);
        if (left > 1)
            ptrmap_set(&s->left, in, (void *)(left - 1));
    }
}

/* Appends what the instruction makes computable, and that in turn. */
static void append_ready(Stream *s, Lv inst) {
    s->ready.len = 0;
    vec_push(s->arena, &s->ready, inst);
    while (s->ready.len) {
        Lv made = s->ready.data[--s->ready.len];
        /* A use that frees what others take makes room for those that come after it: twice. */
        for (int round = 0; round < 2; round++)
            for (LLVMUseRef use = LLVMGetFirstUse(made); use; use = LLVMGetNextUse(use)) {
                Lv user = LLVMGetUser(use);
                if (!is_pending(s, user) || is_streamed(s, user) || !is_ready(s, user))
                    continue;
                append(s, user);
                vec_push(s->arena, &s->ready, user);
            }
    }
}

static void append_alone(void *user, Lv inst) {
    append(user, inst);
}

static void append_eagerly(void *user, Lv inst) {
    append(user, inst);
    if (is_streamed(user, inst))
        append_ready(user, inst);
}

static void place(Stream *s, Lv root, bool eager) {
    if (is_pending(s, root))
        inst_place(&s->order, root, eager ? append_eagerly : append_alone, s);
}

/* Registers of what is loaded. */
static int64_t registers_of(const Stream *s, Lv load) {
    return (int64_t)(LLVMSizeOfTypeInBits(s->data, LLVMTypeOf(load)) + 31) / 32;
}

static int64_t ahead_of(const Stream *s, Lv load) {
    Lv node = LLVMGetMetadata(load, s->mark), count = NULL;
    LLVMGetMDNodeOperands(node, &count);
    return (int64_t)LLVMConstIntGetZExtValue(count);
}

/* Does something take it that stands where it is? */
static bool is_taken_behind(const Stream *s, Lv inst) {
    for (LLVMUseRef use = LLVMGetFirstUse(inst); use; use = LLVMGetNextUse(use))
        if (!is_pending(s, LLVMGetUser(use)))
            return true;
    return false;
}

static bool may_come_early(const Stream *s, Lv inst) {
    return may_move(s, inst) && !is_streamed(s, inst);
}

/* Puts the `count` instructions of a stretch in the order in which few of what they load are there,
 * and among them what it makes computable of the `behind` that follow. How many it is with these.
 */
static size_t order_by_use(Stream *s, Lv *insts, size_t count, size_t behind) {
    for (size_t i = 0; i < count + behind; i++)
        if (i < count || may_come_early(s, insts[i])) {
            ptrmap_set(&s->order.pending, insts[i], insts[i]);
            ptrmap_set(&s->left, insts[i], (void *)(count_uses(insts[i]) + 1));
        }
    s->order.placed.len = s->roots.len = 0;
    for (size_t i = 0; i < count; i++)
        if (is_taken_behind(s, insts[i]))
            vec_push(s->arena, &s->roots, insts[i]);
    vec_for_each (root, &s->roots)
        place(s, *root, true);
    for (size_t i = 0; i < count; i++)
        place(s, insts[i], true);
    size_t ordered = s->order.placed.len;
    for (size_t i = count; i < count + behind; i++)
        if (is_pending(s, insts[i]) || !may_come_early(s, insts[i])) {
            inst_append(&s->order, insts[i]);
        }
    assert(s->order.placed.len == count + behind);
    memcpy(insts, s->order.placed.data, (count + behind) * sizeof *insts);
    return ordered;
}

/* Moves loads in front, so that as many registers as they say are under way. */
static void load_ahead(Stream *s, Lv *insts, size_t count) {
    for (size_t i = 0; i < count; i++)
        ptrmap_set(&s->order.pending, insts[i], insts[i]);
    s->order.placed.len = 0;
    int64_t under_way = 0;
    for (size_t i = 0, next = 0; i < count; i++) {
        if (is_streamed(s, insts[i]))
            under_way -= registers_of(s, insts[i]);
        for (; next < count; next++) {
            if (!is_streamed(s, insts[next]))
                continue;
            if (under_way >= ahead_of(s, insts[next]))
                break;
            place(s, insts[next], false);
            under_way += registers_of(s, insts[next]);
        }
        place(s, insts[i], false);
    }
    memcpy(insts, s->order.placed.data, count * sizeof *insts);
}

/* How many instructions the stretch has then. */
static size_t order_stretch(Stream *s, Lv *insts, size_t count, size_t behind) {
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any |= is_streamed(s, insts[i]);
    if (!any)
        return count;
    size_t ordered = order_by_use(s, insts, count, behind);
    load_ahead(s, insts, ordered);
    return ordered;
}

static void stream_block(Stream *s, LLVMBasicBlockRef block, LLVMBuilderRef builder) {
    s->result.len = 0;
    bool any = false;
    size_t start = 0;
    for (Lv inst = LLVMGetFirstInstruction(block); inst; inst = LLVMGetNextInstruction(inst)) {
        any |= is_streamed(s, inst);
        vec_push(s->arena, &s->result, inst);
    }
    for (size_t i = 0; i < s->result.len && any; i++) {
        if (may_move(s, s->result.data[i]))
            continue;
        i = start + order_stretch(s, s->result.data + start, i - start, s->result.len - i);
        start = i + 1;
    }
    size_t phis = 0;
    while (phis < s->result.len && LLVMIsAPHINode(s->result.data[phis]))
        phis++;
    if (any)
        insts_move_to_end(builder, block, s->result.data + phis, s->result.len - phis);
}

void stream_function(Cg *cg) {
    Purity purity = purity_kinds();
    Stream s = {
        .arena = cg->arena,
        .purity = &purity,
        .mark = mark_kind(cg),
        .data = LLVMGetModuleDataLayout(cg->module),
        .order = {.arena = cg->arena, .pending = {.arena = cg->arena}},
        .left = {.arena = cg->arena},
    };
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(cg->llvm);
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(cg->fn); block;
         block = LLVMGetNextBasicBlock(block))
        stream_block(&s, block, builder);
    LLVMDisposeBuilder(builder);
}
