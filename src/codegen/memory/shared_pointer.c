/* Addresses in shared memory, in parts that accesses share: what the swizzle turns with the thread,
 * then constants. */
#include "codegen/memory/shared_pointer.h"
#include "codegen/values/builder.h"
#include "codegen/values/cache.h"
#include "codegen/values/plans.h"
#include "ir/scratch.h"
#include "target/panels.h"

/* Each program of a CTA has as many. */
static int64_t program_bytes(const Cg *cg) {
    return cg->meta.shared_bytes / cg->meta.programs_per_cta;
}

/* The program's dynamic shared memory. */
typedef struct SharedBase {
    Lv pointer; /* NULL before it is asked for */
} SharedBase;

static const CacheKind shared_base_kind = {sizeof(SharedBase)};

static Lv shared_base(Cg *cg) {
    SharedBase *cache = cg_cache(cg, &shared_base_kind);
    if (cache->pointer)
        return cache->pointer;
    Lv array = LLVMAddGlobalInAddressSpace(cg->module, LLVMArrayType2(cg->t_i8, 0), "tilec$shared",
                                           SPACE_SHARED);
    LLVMSetAlignment(array, cg->traits.is_swizzled ? PANEL_ALIGNMENT : 16);
    LLVMSetLinkage(array, LLVMExternalLinkage);
    cache->pointer = array;
    if (cg->slot) {
        Lv offset = LLVMBuildMul(cg->entry, cg->slot, cg_i32(cg, program_bytes(cg)), "");
        cache->pointer = LLVMBuildGEP2(cg->entry, cg->t_i8, array, &offset, 1, "");
    }
    return cache->pointer;
}

Lv cg_shared_at(Cg *cg, int64_t offset) {
    Lv bytes = cg_i32(cg, offset);
    return LLVMBuildGEP2(cg->b, cg->t_i8, shared_base(cg), &bytes, 1, "");
}

Lv cg_scratch(Cg *cg) {
    return cg_shared_at(cg, program_bytes(cg) - func_scratch_bytes(cg->func));
}

Lv cg_without_constants(Cg *cg, Lv pointer, int64_t *constant) {
    for (;;) {
        bool is_sum = LLVMIsAConstantExpr(pointer)
                          ? LLVMGetConstOpcode(pointer) == LLVMGetElementPtr
                          : LLVMIsAGetElementPtrInst(pointer) != NULL;
        if (!is_sum || LLVMGetNumOperands(pointer) != 2 ||
            LLVMGetGEPSourceElementType(pointer) != cg->t_i8 ||
            !LLVMIsAConstantInt(LLVMGetOperand(pointer, 1)))
            return pointer;
        *constant += LLVMConstIntGetSExtValue(LLVMGetOperand(pointer, 1));
        pointer = LLVMGetOperand(pointer, 0);
    }
}

LoadedPart cg_loaded_part(Cg *cg, const Op *op) {
    const Type *part = op->out[0].type, *buffer = op_in(op, 0)->type;
    const Layout *inverse = layout_invert(cg->ctx, buffer->layout);
    return (LoadedPart){
        layout_of_part(cg->ctx, part->layout, part->rank, part->shape, buffer->shape),
        layout_apply(inverse, (uint32_t)local_load_attrs(op)->at, 0, 0, 0)};
}

/* Where a thread's part of a map to offsets leads in a buffer. */
typedef struct TurnedPointer {
    const Plan *plan;
    LLVMBasicBlockRef block;
    Lv base;
    int bytes;
    uint32_t image;
    Lv pointer;
} TurnedPointer;

enum { TURNED_POINTERS = 8 };

typedef struct TurnedPointers {
    TurnedPointer latest[TURNED_POINTERS];
    int next;
} TurnedPointers;

static const CacheKind turned_pointers_kind = {sizeof(TurnedPointers)};

/* What the swizzle turns with the thread, which many accesses share: computed once for those that
 * follow each other in a block. */
static Lv turned_pointer(Cg *cg, const Plan *plan, Lv base, int bytes, uint32_t image) {
    TurnedPointers *cache = cg_cache(cg, &turned_pointers_kind);
    TurnedPointer *latest = cache->latest, *slot = &latest[cache->next];
    LLVMBasicBlockRef block = LLVMGetInsertBlock(cg->b);
    for (int i = 0; i < TURNED_POINTERS; i++)
        if (latest[i].plan == plan && latest[i].base == base && latest[i].bytes == bytes &&
            latest[i].image == image && latest[i].block == block)
            return latest[i].pointer;
    Lv turned = cg_plan_with(cg, plan, image);
    if (bytes > 1) {
        turned = LLVMBuildNUWMul(cg->b, turned, cg_i32(cg, bytes), "");
        if (LLVMIsAInstruction(turned))
            LLVMSetNSW(turned, true);
    }
    *slot = (TurnedPointer){plan,  block, base,
                            bytes, image, LLVMBuildGEP2(cg->b, cg->t_i8, base, &turned, 1, "")};
    cache->next = (cache->next + 1) % TURNED_POINTERS;
    return slot->pointer;
}

Lv cg_shared_offset(Cg *cg, const Plan *plan, Lv base, int bytes, uint32_t image,
                    int64_t *constant) {
    *constant = (int64_t)(image & ~plan->thread_bits) * bytes;
    base = cg_without_constants(cg, base, constant);
    return turned_pointer(cg, plan, base, bytes, image & plan->thread_bits);
}

/* What the swizzle turns, then a constant, which the access takes as it is: in one sum LLVM would
 * draw the constant into what is turned. */
Lv cg_shared_pointer(Cg *cg, const Plan *plan, Lv base, int bytes, uint32_t image) {
    int64_t constant;
    Lv at = cg_shared_offset(cg, plan, base, bytes, image, &constant);
    return constant ? LLVMBuildGEP2(cg->b, cg->t_i8, at, (Lv[]){cg_i32(cg, constant)}, 1, "") : at;
}
