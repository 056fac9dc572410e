/* Constants, intrinsics, inline PTX and blocks. */
#include "codegen/values/builder.h"
#include "codegen/values/cache.h"
#include "support/ptrmap.h"
#include <assert.h>

Lv cg_i1(Cg *cg, bool v) {
    return LLVMConstInt(cg->t_i1, v, false);
}

Lv cg_i32(Cg *cg, int64_t v) {
    return LLVMConstInt(cg->t_i32, (uint32_t)v, false);
}

Lv cg_i64(Cg *cg, int64_t v) {
    return LLVMConstInt(cg->t_i64, (uint64_t)v, false);
}

Lv cg_real(LLVMTypeRef type, double v) {
    return LLVMConstReal(type, v);
}

Lv cg_zero(LLVMTypeRef type) {
    return LLVMConstNull(type);
}

bool lv_is_true(Lv v) {
    return LLVMIsAConstantInt(v) && LLVMConstIntGetZExtValue(v) == 1;
}

bool lv_is_false(Lv v) {
    return LLVMIsAConstantInt(v) && LLVMConstIntGetZExtValue(v) == 0;
}

Lv cg_and(Cg *cg, Lv a, Lv b) {
    if (!a || !b)
        return a ? a : b;
    if (a == b || lv_is_true(b))
        return a;
    return lv_is_true(a) ? b : LLVMBuildAnd(cg->b, a, b, "");
}

/* LLVM finds an intrinsic by its name, which takes long, and registers of a tile ask for the same.
 */
typedef struct LatestIntrinsic {
    const char *name; /* NULL: none, or of several types */
    LLVMTypeRef on, type;
    Lv fn;
} LatestIntrinsic;

static const CacheKind latest_intrinsic_kind = {sizeof(LatestIntrinsic)};

Lv cg_intrinsic(Cg *cg, const char *name, const LLVMTypeRef *types, unsigned ntypes, Lv *args,
                unsigned nargs) {
    LatestIntrinsic *latest = cg_cache(cg, &latest_intrinsic_kind);
    LLVMTypeRef first = ntypes ? types[0] : NULL;
    if (ntypes > 1 || !latest->name || strcmp(latest->name, name) || latest->on != first) {
        unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
        assert(id && "unknown intrinsic");
        latest->fn = LLVMGetIntrinsicDeclaration(cg->module, id, (LLVMTypeRef *)types, ntypes);
        latest->type = LLVMIntrinsicGetType(cg->llvm, id, (LLVMTypeRef *)types, ntypes);
        latest->name = ntypes > 1 ? NULL : str_dup(cg->arena, str_from(name));
        latest->on = first;
    }
    return LLVMBuildCall2(cg->b, latest->type, latest->fn, args, nargs, "");
}

Lv cg_intrinsic1(Cg *cg, const char *name, Lv x) {
    LLVMTypeRef type = LLVMTypeOf(x);
    return cg_intrinsic(cg, name, &type, 1, &x, 1);
}

Lv cg_intrinsic2(Cg *cg, const char *name, Lv x, Lv y) {
    LLVMTypeRef type = LLVMTypeOf(x);
    return cg_intrinsic(cg, name, &type, 1, (Lv[]){x, y}, 2);
}

static void call_attribute(Cg *cg, Lv call, const char *name, uint64_t value) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
                             LLVMCreateEnumAttribute(cg->llvm, kind, value));
}

static Lv inline_asm(Cg *cg, LLVMTypeRef result, const char *text, const char *constraints,
                     Lv *args, unsigned nargs, AsmEffect effect) {
    /* Values of LLVM's memory attribute: two bits (reads, writes) per kind of location, and more
     * kinds with each version. */
#if LLVM_VERSION_MAJOR >= 22
    enum { MEMORY_NONE = 0, MEMORY_READS_ALL = 0x555 };
#elif LLVM_VERSION_MAJOR == 21
    enum { MEMORY_NONE = 0, MEMORY_READS_ALL = 0x55 };
#else
    enum { MEMORY_NONE = 0, MEMORY_READS_ALL = 0x15 };
#endif
    LLVMTypeRef *types = ARENA_ARRAY(cg->arena, LLVMTypeRef, nargs + 1);
    for (unsigned i = 0; i < nargs; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(result, types, nargs, false);
    bool effects = effect == ASM_EFFECTS || effect == ASM_CONVERGENT;
    Lv code = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints), effects,
                               false, LLVMInlineAsmDialectATT, false);
    Lv call = LLVMBuildCall2(cg->b, type, code, args, nargs, "");
    call_attribute(cg, call, "nounwind", 0);
    if (effect == ASM_PURE || effect == ASM_READS) {
        call_attribute(cg, call, "willreturn", 0);
        call_attribute(cg, call, "memory", effect == ASM_PURE ? MEMORY_NONE : MEMORY_READS_ALL);
    }
    if (effect == ASM_CONVERGENT)
        call_attribute(cg, call, "convergent", 0);
    return call;
}

/* Instruction selection copies each operand of inline PTX, and the register coalescer walks over
 * all uses of a register for each copy of it: a predicate that thousands of masked accesses share
 * would take the square of their number. After so many uses in a block the next ones get a register
 * of their own, which ptxas makes the same again. */
enum { MOST_USES = 128 };

typedef struct SharedMask {
    LLVMBasicBlockRef block; /* where `latest` is known to be defined */
    Lv latest;
    unsigned uses;
} SharedMask;

static const CacheKind shared_masks_kind = {sizeof(PtrMap)}; /* predicate to SharedMask */

static Lv mask_for_use(Cg *cg, Lv predicate) {
    PtrMap *masks = cg_cache(cg, &shared_masks_kind);
    masks->arena = cg->arena;
    SharedMask *mask = ptrmap_get(masks, predicate);
    if (!mask) {
        mask = ARENA_NEW(cg->arena, SharedMask);
        ptrmap_set(masks, predicate, mask);
    }
    LLVMBasicBlockRef block = LLVMGetInsertBlock(cg->b);
    if (mask->block != block)
        *mask = (SharedMask){block, predicate, 0};
    if (mask->uses++ == MOST_USES) {
        mask->latest =
            inline_asm(cg, cg->t_i1, "mov.pred $0, $1;", "=b,b", &mask->latest, 1, ASM_PURE);
        mask->uses = 1;
    }
    return mask->latest;
}

Lv cg_asm(Cg *cg, LLVMTypeRef result, const char *text, const char *constraints, Lv *args,
          unsigned nargs, AsmEffect effect) {
    Lv *operands = ARENA_ARRAY(cg->arena, Lv, nargs + 1);
    for (unsigned i = 0; i < nargs; i++) {
        const bool is_mask = LLVMTypeOf(args[i]) == cg->t_i1 && !LLVMIsConstant(args[i]);
        operands[i] = is_mask ? mask_for_use(cg, args[i]) : args[i];
    }
    return inline_asm(cg, result, text, constraints, operands, nargs, effect);
}

LLVMBasicBlockRef cg_block(Cg *cg, const char *name) {
    return LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, name);
}

void cg_position(Cg *cg, LLVMBasicBlockRef block) {
    LLVMPositionBuilderAtEnd(cg->b, block);
}

Lv cg_contract(const Cg *cg, Lv v) {
    const bool fuses = !cg->options->no_fp_fusion && !cg->func->deterministic;
    if (fuses && LLVMIsAInstruction(v) && LLVMCanValueUseFastMathFlags(v))
        LLVMSetFastMathFlags(v, LLVMFastMathAllowContract);
    return v;
}
