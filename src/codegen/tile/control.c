/* Structured control flow as basic blocks and phis, one phi per register of each carried value. */
#include "codegen/lowerings.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/regions.h"
#include "codegen/values/values.h"

enum {
    LEAST_COPIES = 4,  /* that share an offset, for it to be worth a register of its own */
    MANY_COMPARED = 12 /* integers of an iteration */
};

/* The registers of several values as one array. */
typedef struct Pack {
    uint32_t count;
    Lv *regs;
} Pack;

static uint32_t total_registers(const Value *const *values, uint32_t n) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += cg_count(values[i]->type);
    return count;
}

static Pack pack_operands(Cg *cg, const Op *op, uint32_t first) {
    Pack pack = {0, NULL};
    for (uint32_t i = first; i < op->nin; i++)
        pack.count += cg_count(op_in(op, i)->type);
    pack.regs = ARENA_ARRAY(cg->arena, Lv, pack.count);
    uint32_t at = 0;
    for (uint32_t i = first; i < op->nin; i++) {
        uint32_t count = cg_count(op_in(op, i)->type);
        memcpy(pack.regs + at, cg_get(cg, op_in(op, i)), count * sizeof(Lv));
        at += count;
    }
    return pack;
}

/* Values that follow each other in memory (results, arguments) become the registers of the pack. */
static void unpack_values(Cg *cg, const Value *values, uint32_t n, const Pack *pack) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        cg_set(cg, &values[i], pack->regs + at);
        at += cg_count(values[i].type);
    }
}

/* Phis at the builder's place for registers like these; copies of a register share its phi. */
static Pack phis_like(Cg *cg, const Value *values, uint32_t n) {
    const Value **list = ARENA_ARRAY(cg->arena, const Value *, n);
    for (uint32_t i = 0; i < n; i++)
        list[i] = &values[i];
    Pack pack = {total_registers(list, n), NULL};
    pack.regs = ARENA_ARRAY(cg->arena, Lv, pack.count);
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        const Type *type = values[i].type;
        const Plan *plan = type_is_tile(type) ? cg_plan(cg, type->layout) : NULL;
        LLVMTypeRef element = type->kind == TYPE_BUFFER ? cg->t_shared : cg_type(cg, type);
        for (uint32_t reg = 0; reg < cg_count(type); reg++)
            pack.regs[at + reg] = plan && plan->rep[reg] != reg ? pack.regs[at + plan->rep[reg]]
                                                                : LLVMBuildPhi(cg->b, element, "");
        at += cg_count(type);
    }
    return pack;
}

static void add_incoming(const Pack *phis, const Pack *values, LLVMBasicBlockRef from) {
    for (uint32_t i = 0; i < phis->count; i++) {
        bool seen =
            i > 0 && LLVMCountIncoming(phis->regs[i]) > 0 &&
            LLVMGetIncomingBlock(phis->regs[i], LLVMCountIncoming(phis->regs[i]) - 1) == from;
        if (!seen)
            LLVMAddIncoming(phis->regs[i], (Lv *)&values->regs[i], &from, 1);
    }
}

/* With constant bounds far from the limits of the type a step beyond the last index is one of its
 * numbers, too. */
static bool ends_within_type(Lv hi, Lv step) {
    if (!LLVMIsAConstantInt(step) || !LLVMIsAConstantInt(hi))
        return false;
    long long by = LLVMConstIntGetSExtValue(step), end = LLVMConstIntGetSExtValue(hi);
    return by > -(1 << 30) && by < 1 << 30 && end > -(1 << 30) && end < 1 << 30;
}

/* Has the body no loop of its own, and no product? */
static bool is_plain(const Block *body) {
    block_for_each (op, body) {
        if (op_has(op, LOOP | ACCUMULATES))
            return false;
        for (uint32_t i = 0; i < op->nregions; i++)
            if (!is_plain(op->regions[i]))
                return false;
    }
    return true;
}

/* Another iteration follows if the distance that remains is more than a step: this cannot overflow,
 * whatever the bounds. Where the next index cannot either, the plain comparison says the same.
 *
 * No iteration has an index that overflowed. Where LLVM knows, it widens the index, and what is
 * addressed by it steps along. In loops around others it does not: what steps along there waits in
 * registers while the inner ones run, for one instruction less in each of few iterations; nor in
 * those with products, whose registers are short. */
static Lv continues(Cg *cg, const Block *body, Lv index, Lv next, Lv hi, Lv step) {
    LLVMBuilderRef b = cg->b;
    bool within = ends_within_type(hi, step), plain = is_plain(body);
    LLVMSetNSW(next, within || plain);
    long long by = LLVMIsAConstantInt(step) ? LLVMConstIntGetSExtValue(step) : 0;
    if (within)
        return LLVMBuildICmp(b, by > 0 ? LLVMIntSLT : LLVMIntSGT, next, hi, "");
    Lv zero = cg_zero(LLVMTypeOf(step));
    Lv up = LLVMBuildICmp(b, LLVMIntUGT, LLVMBuildSub(b, hi, index, ""), step, "");
    Lv back = LLVMBuildNeg(b, step, "");
    Lv down = LLVMBuildICmp(b, LLVMIntUGT, LLVMBuildSub(b, index, hi, ""), back, "");
    Lv positive = LLVMBuildICmp(b, LLVMIntSGT, step, zero, "");
    if (LLVMIsConstant(positive))
        return lv_is_true(positive) ? up : down;
    return LLVMBuildSelect(b, positive, up, down, "");
}

static Lv enters(Cg *cg, Lv lo, Lv hi, Lv step) {
    LLVMBuilderRef b = cg->b;
    Lv zero = cg_zero(LLVMTypeOf(step));
    Lv positive = LLVMBuildICmp(b, LLVMIntSGT, step, zero, "");
    Lv up = LLVMBuildICmp(b, LLVMIntSLT, lo, hi, "");
    Lv down = LLVMBuildICmp(b, LLVMIntSGT, lo, hi, "");
    if (LLVMIsConstant(positive))
        return lv_is_true(positive) ? up : down;
    return LLVMBuildSelect(b, positive, up, down, "");
}

/* Where the source wants it LLVM moves nothing out of the loop either, whose node must refer to
 * itself. */
static void keep_in_loop(Cg *cg, const Op *op, Lv latch) {
    static const char word[] = "llvm.licm.disable", kind[] = "llvm.loop";
    if (!(op_flags(op) & LOOP_NO_LICM))
        return;
    LLVMMetadataRef text = LLVMMDStringInContext2(cg->llvm, word, sizeof word - 1);
    LLVMMetadataRef self = LLVMTemporaryMDNode(cg->llvm, NULL, 0);
    LLVMMetadataRef node[] = {self, LLVMMDNodeInContext2(cg->llvm, &text, 1)};
    LLVMMetadataRef loop = LLVMMDNodeInContext2(cg->llvm, node, 2);
    LLVMMetadataReplaceAllUsesWith(self, loop);
    LLVMSetMetadata(latch, LLVMGetMDKindIDInContext(cg->llvm, kind, sizeof kind - 1),
                    LLVMMetadataAsValue(cg->llvm, loop));
}

/* Asynchronous copies of a thread in one iteration. */
static uint32_t count_copies(const Block *body) {
    uint32_t count = 0;
    block_for_each (op, body)
        if (op->code == OP_async_copy)
            count += cg_count(op_in(op, 0)->type) / op_access_width(op);
    return count;
}

static bool is_advance(const Value *arg) {
    return !type_is_tile(arg->type) && type_is_int(arg->type) && type_element_bytes(arg->type) == 8;
}

/* Offsets by which a loop's copies advance, as numbers of which LLVM knows nothing: else it carries
 * an address for each copy and may add a distance to it besides. For few copies that is less work
 * than one sum for all and an addition for each. Of addresses that are summed up dimension by
 * dimension it makes one sum for each in front of the loop, from where they come. */
static void hide_advances(Cg *cg, const Block *body) {
    uint32_t advances = 0;
    for (uint32_t i = 1; i < body->nargs; i++)
        advances += is_advance(&body->args[i]);
    if (count_copies(body) < LEAST_COPIES * advances && !(op_flags(body->parent) & LOOP_NESTED))
        return;
    for (uint32_t i = 1; i < body->nargs; i++) {
        if (!is_advance(&body->args[i]))
            continue;
        Lv phi = cg_scalar(cg, &body->args[i]);
        cg_new(cg, &body->args[i])[0] =
            cg_asm(cg, cg->t_i64, "mov.b64 $0, $1;", "=l,l", &phi, 1, ASM_PURE);
    }
}

/* Integers that an iteration compares, in a body without loops of its own. */
static uint32_t count_compared(const Block *body) {
    uint32_t count = 0;
    block_for_each (op, body) {
        if (op_has(op, LOOP))
            return 0;
        if (op->code == OP_cmpi && type_is_tile(op->out[0].type))
            count += cg_count(op->out[0].type);
    }
    return count;
}

/* The index as the body sees it. LLVM's loop strength reduction tries to derive each integer of a
 * loop from each other; a mask of scores gives it one for every element, where there is nothing to
 * find: they are a sum and constants. So these are made of a number of which it knows nothing, and
 * so are addresses that are summed up dimension by dimension. */
static Lv index_of_body(Cg *cg, const Block *body, Lv index) {
    if (LLVMTypeOf(index) != cg->t_i32 ||
        (count_compared(body) < MANY_COMPARED && !(op_flags(body->parent) & LOOP_NESTED)))
        return index;
    return cg_asm(cg, cg->t_i32, "mov.b32 $0, $1;", "=r,r", &index, 1, ASM_PURE);
}

/* Where a loop is tested before it and behind each iteration, what it carries has phis behind it
 * too. Tested at its top, by a value that is carried as well, it needs none: a tenth of a
 * compilation. LLVM's passes over addresses want the first form. */
typedef struct Test {
    bool at_top;
    Lv go; /* at the top: the phi */
    LLVMBasicBlockRef head, after;
} Test;

/* Leaves the builder in the head, for its phis. */
static void begin_loop(Cg *cg, Test *test, Lv first) {
    LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b);
    test->head = cg_block(cg, "for");
    test->after = LLVMCreateBasicBlockInContext(cg->llvm, "end_for");
    if (test->at_top)
        LLVMBuildBr(cg->b, test->head);
    else
        LLVMBuildCondBr(cg->b, first, test->head, test->after);
    cg_position(cg, test->head);
    if (!test->at_top)
        return;
    test->go = LLVMBuildPhi(cg->b, cg->t_i1, "");
    LLVMAddIncoming(test->go, &first, &before, 1);
}

/* Behind the phis of the head. */
static void begin_iteration(Cg *cg, const Test *test) {
    if (!test->at_top)
        return;
    LLVMBasicBlockRef iteration = cg_block(cg, "iteration");
    LLVMBuildCondBr(cg->b, test->go, iteration, test->after);
    cg_position(cg, iteration);
}

/* The branch that ends an iteration. Leaves the builder behind the loop. */
static Lv end_loop(Cg *cg, const Test *test, Lv more) {
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(cg->b);
    Lv branch = test->at_top ? LLVMBuildBr(cg->b, test->head)
                             : LLVMBuildCondBr(cg->b, more, test->head, test->after);
    if (test->at_top)
        LLVMAddIncoming(test->go, &more, &latch, 1);
    LLVMAppendExistingBasicBlock(cg->fn, test->after);
    cg_position(cg, test->after);
    return branch;
}

void lower_for(Cg *cg, const Op *op) {
    const Block *body = op->regions[0];
    Lv lo = cg_scalar(cg, op_in(op, 0)), hi = cg_scalar(cg, op_in(op, 1));
    Lv step = cg_scalar(cg, op_in(op, 2));
    Pack init = pack_operands(cg, op, FOR_FIXED_OPERANDS);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b);
    Test test = {.at_top = cg->traits.products_are_fed};
    begin_loop(cg, &test, enters(cg, lo, hi, step));
    Lv index = LLVMBuildPhi(cg->b, LLVMTypeOf(lo), "");
    Pack carried = phis_like(cg, body->args + 1, body->nargs - 1);
    LLVMAddIncoming(index, &lo, &before, 1);
    add_incoming(&carried, &init, before);
    begin_iteration(cg, &test);
    cg_set(cg, &body->args[0], ARENA_NEW(cg->arena, Lv));
    unpack_values(cg, body->args + 1, body->nargs - 1, &carried);
    cg_get(cg, &body->args[0])[0] = index_of_body(cg, body, index);
    hide_advances(cg, body);
    const Op *end = cg_lower_block(cg, body);

    Pack yielded = pack_operands(cg, end, 0);
    Lv next = LLVMBuildAdd(cg->b, index, step, "");
    Lv more = continues(cg, body, index, next, hi, step);
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(cg->b);
    keep_in_loop(cg, op, end_loop(cg, &test, more));
    LLVMAddIncoming(index, &next, &latch, 1);
    add_incoming(&carried, &yielded, latch);
    if (test.at_top) {
        unpack_values(cg, op->out, op->nout, &carried);
        return;
    }
    Pack result = phis_like(cg, op->out, op->nout);
    add_incoming(&result, &init, before);
    add_incoming(&result, &yielded, latch);
    unpack_values(cg, op->out, op->nout, &result);
}

void lower_while(Cg *cg, const Op *op) {
    const Block *test = op->regions[0], *body = op->regions[1];
    Pack init = pack_operands(cg, op, 0);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b), head = cg_block(cg, "while");
    LLVMBasicBlockRef loop = LLVMCreateBasicBlockInContext(cg->llvm, "do");
    LLVMBasicBlockRef after = LLVMCreateBasicBlockInContext(cg->llvm, "end_while");
    LLVMBuildBr(cg->b, head);
    cg_position(cg, head);
    Pack carried = phis_like(cg, test->args, test->nargs);
    add_incoming(&carried, &init, before);
    unpack_values(cg, test->args, test->nargs, &carried);
    const Op *condition = cg_lower_block(cg, test);
    Pack passed = pack_operands(cg, condition, 1);
    LLVMBuildCondBr(cg->b, cg_scalar(cg, op_in(condition, 0)), loop, after);

    LLVMAppendExistingBasicBlock(cg->fn, loop);
    cg_position(cg, loop);
    unpack_values(cg, body->args, body->nargs, &passed);
    const Op *end = cg_lower_block(cg, body);
    Pack yielded = pack_operands(cg, end, 0);
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(cg->b);
    keep_in_loop(cg, op, LLVMBuildBr(cg->b, head));
    add_incoming(&carried, &yielded, latch);
    LLVMAppendExistingBasicBlock(cg->fn, after);
    cg_position(cg, after);
    unpack_values(cg, op->out, op->nout, &passed);
}

void lower_if(Cg *cg, const Op *op) {
    LLVMBasicBlockRef arm[2] = {cg_block(cg, "then"),
                                LLVMCreateBasicBlockInContext(cg->llvm, "else")};
    LLVMBasicBlockRef after = LLVMCreateBasicBlockInContext(cg->llvm, "end_if"), from[2];
    LLVMBuildCondBr(cg->b, cg_scalar(cg, op_in(op, 0)), arm[0], arm[1]);
    Pack yielded[2];
    for (int i = 0; i < 2; i++) {
        if (i)
            LLVMAppendExistingBasicBlock(cg->fn, arm[i]);
        cg_position(cg, arm[i]);
        yielded[i] = pack_operands(cg, cg_lower_block(cg, op->regions[i]), 0);
        from[i] = LLVMGetInsertBlock(cg->b);
        LLVMBuildBr(cg->b, after);
    }
    LLVMAppendExistingBasicBlock(cg->fn, after);
    cg_position(cg, after);
    Pack result = phis_like(cg, op->out, op->nout);
    for (int i = 0; i < 2; i++)
        add_incoming(&result, &yielded[i], from[i]);
    unpack_values(cg, op->out, op->nout, &result);
}

/* Terminators are read by the op that owns the region. */
void lower_yield(Cg *cg, const Op *op) {}

void lower_condition(Cg *cg, const Op *op) {}

void lower_return(Cg *cg, const Op *op) {}
