/* Values of the Tile IR as arrays of LLVM values, elements by thread, and small helpers around the
 * LLVM builder. */
#include "codegen/cg.h"
#include <assert.h>
#include <stdio.h>

/* Types */

uint32_t cg_count(const Type *type) {
    return type_is_tile(type) ? 1u << type->layout->bits[LAYOUT_REG] : 1;
}

LLVMTypeRef cg_dtype(Cg *cg, DType dtype) {
    switch (dtype) {
    case DT_I1:
        return cg->t_i1;
    case DT_I8:
    case DT_F8E4M3:
    case DT_F8E5M2:
        return cg->t_i8;
    case DT_I16:
        return cg->t_i16;
    case DT_I32:
        return cg->t_i32;
    case DT_I64:
        return cg->t_i64;
    case DT_F16:
        return cg->t_f16;
    case DT_BF16:
        return cg->t_bf16;
    case DT_F32:
        return cg->t_f32;
    case DT_F64:
        return cg->t_f64;
    case DT_COUNT:
        break;
    }
    return NULL;
}

LLVMTypeRef cg_memory_type(Cg *cg, DType dtype) {
    return dtype == DT_I1 ? cg->t_i8 : cg_dtype(cg, dtype);
}

LLVMTypeRef cg_type(Cg *cg, const Type *type) {
    return type->kind == TYPE_POINTER ? cg->t_global : cg_dtype(cg, type->dtype);
}

/* Value table */

Lv *cg_get(Cg *cg, const Value *value) {
    Lv *regs = cg->regs[value->id];
    assert(regs && "value used before its definition");
    return regs;
}

Lv *cg_in(Cg *cg, const Op *op, uint32_t index) {
    return index < op->nin && op_in(op, index) ? cg_get(cg, op_in(op, index)) : NULL;
}

Lv *cg_new(Cg *cg, const Value *value) {
    return cg->regs[value->id] = ARENA_ARRAY(cg->arena, Lv, cg_count(value->type));
}

void cg_set(Cg *cg, const Value *value, Lv *regs) {
    cg->regs[value->id] = regs;
}

Lv cg_scalar(Cg *cg, const Value *value) {
    return cg_get(cg, value)[0];
}

/* Layouts by thread */

uint32_t layout_reg_image(const Layout *layout, uint32_t reg) {
    uint32_t image = 0;
    for (int bit = 0; bit < layout->bits[LAYOUT_REG]; bit++)
        if (reg >> bit & 1)
            image ^= layout->basis[bit];
    return image;
}

uint32_t bits_drop(uint32_t index, uint32_t mask) {
    uint32_t kept = 0, place = 0;
    for (int bit = 0; bit < 32; bit++)
        if (!(mask >> bit & 1))
            kept |= (index >> bit & 1) << place++;
    return kept;
}

/* Lowest register with each register's element: bases that are combinations of earlier ones repeat.
 * Reduced against the independent ones, every register maps to one made of independent bases alone.
 */
static const uint32_t *representatives(Cg *cg, const Layout *layout) {
    int bits = layout->bits[LAYOUT_REG];
    uint32_t *rep = ARENA_ARRAY(cg->arena, uint32_t, (size_t)1 << bits);
    uint32_t pivot_vector[32], pivot_regs[32], substitute[32];
    int pivots = 0;
    for (int bit = 0; bit < bits; bit++) {
        uint32_t vector = layout->basis[bit], regs = 0;
        for (int p = 0; p < pivots; p++)
            if ((vector ^ pivot_vector[p]) < vector) {
                vector ^= pivot_vector[p];
                regs ^= pivot_regs[p];
            }
        substitute[bit] = vector ? 1u << bit : regs;
        if (vector) {
            pivot_vector[pivots] = vector;
            pivot_regs[pivots++] = regs ^ 1u << bit;
        }
    }
    for (uint32_t reg = 0; reg < 1u << bits; reg++)
        for (int bit = 0; bit < bits; bit++)
            if (reg >> bit & 1)
                rep[reg] ^= substitute[bit];
    return rep;
}

const Plan *cg_plan(Cg *cg, const Layout *layout) {
    for (const Plan *plan = cg->plans; plan; plan = plan->next)
        if (plan->layout == layout)
            return plan;
    Plan *plan = ARENA_NEW(cg->arena, Plan);
    plan->layout = layout;
    plan->count = 1u << layout->bits[LAYOUT_REG];
    plan->rep = representatives(cg, layout);
    for (int bit = 0; bit < layout_thread_bits(layout); bit++)
        plan->thread_bits |= layout_thread_basis(layout, bit);
    plan->next = cg->plans;
    cg->plans = plan;
    return plan;
}

/* Groups the pairs (input bit, output bit) by their distance, so that each group is one mask and
 * one shift. */
Lv cg_linear(Cg *cg, LLVMBuilderRef b, Lv x, const uint32_t *basis, int bits) {
    Lv sum = NULL;
    uint32_t covered = 0;
    for (int shift = -31; shift < 32; shift++) {
        uint32_t mask = 0;
        for (int bit = 0; bit < bits; bit++)
            if (bit + shift >= 0 && bit + shift < 32 && (basis[bit] >> (bit + shift) & 1))
                mask |= 1u << bit;
        if (!mask)
            continue;
        /* A thread number has no other bits. */
        bool whole = x == cg->thread && mask == 32 * (uint32_t)cg->meta.num_warps - 1;
        Lv term = whole ? x : LLVMBuildAnd(b, x, cg_i32(cg, mask), "");
        uint32_t out = shift >= 0 ? mask << shift : mask >> -shift;
        if (shift > 0)
            term = LLVMBuildShl(b, term, cg_i32(cg, shift), "");
        else if (shift < 0)
            term = LLVMBuildLShr(b, term, cg_i32(cg, -shift), "");
        if (!sum)
            sum = term;
        else if (covered & out)
            sum = LLVMBuildXor(b, sum, term, "");
        else
            sum = LLVMBuildOr(b, sum, term, "");
        covered |= out;
    }
    return sum ? sum : cg_i32(cg, 0);
}

Lv cg_plan_base(Cg *cg, const Plan *plan) {
    if (!plan->base) {
        const Layout *l = plan->layout;
        ((Plan *)plan)->base = cg_linear(cg, cg->entry, cg->thread, l->basis + l->bits[LAYOUT_REG],
                                         layout_thread_bits(l));
    }
    return plan->base;
}

/* Disjoint bits are added, without wrapping, so that later address arithmetic can split the
 * constant off. */
static Lv add_register(Cg *cg, const Plan *plan, Lv base, uint32_t image) {
    uint32_t shared = image & plan->thread_bits;
    if (shared)
        base = LLVMBuildXor(cg->b, base, cg_i32(cg, shared), "");
    if (image & ~shared) {
        base = LLVMBuildNUWAdd(cg->b, base, cg_i32(cg, image & ~shared), "");
        if (LLVMIsAInstruction(base))
            LLVMSetNSW(base, true);
    }
    return base;
}

Lv cg_plan_with(Cg *cg, const Plan *plan, uint32_t image) {
    return add_register(cg, plan, cg_plan_base(cg, plan), image);
}

Lv cg_plan_at(Cg *cg, const Plan *plan, uint32_t reg) {
    return cg_plan_with(cg, plan, layout_reg_image(plan->layout, reg));
}

Lv cg_owner(Cg *cg, const Layout *layout) {
    static const Layout scalar_layout = {0};
    if (!layout) {
        if (cg->meta.num_warps * 32 == 1)
            return NULL;
        layout = &scalar_layout;
    }
    Plan *plan = (Plan *)cg_plan(cg, layout);
    if (!plan->has_owner) {
        plan->has_owner = true;
        uint32_t free = layout_free_bits(layout) >> layout->bits[LAYOUT_REG];
        uint32_t all = (uint32_t)cg->meta.num_warps * 32 - 1;
        uint32_t held =
            layout_thread_bits(layout) >= 32 ? all : (1u << layout_thread_bits(layout)) - 1;
        free = (free | ~held) & all; /* bits the layout does not name repeat its elements */
        if (free) {
            Lv bits = free == all ? cg->thread
                                  : LLVMBuildAnd(cg->entry, cg->thread, cg_i32(cg, free), "");
            plan->owner = LLVMBuildICmp(cg->entry, LLVMIntEQ, bits, cg_i32(cg, 0), "");
        }
    }
    return plan->owner;
}

bool cg_match_registers(Cg *cg, const Layout *dst, uint32_t drop, const Layout *src,
                        uint32_t *map) {
    int threads = layout_thread_bits(dst);
    for (int bit = 0; bit < threads || bit < layout_thread_bits(src); bit++) {
        uint32_t a = bit < threads ? bits_drop(layout_thread_basis(dst, bit), drop) : 0;
        uint32_t b = bit < layout_thread_bits(src) ? layout_thread_basis(src, bit) : 0;
        if (a != b)
            return false;
    }
    /* Solve src(reg) = image by elimination over the source's register bases. */
    uint32_t pivot_vector[32], pivot_regs[32];
    int pivots = 0;
    for (int bit = 0; bit < src->bits[LAYOUT_REG]; bit++) {
        uint32_t vector = src->basis[bit], regs = 1u << bit;
        for (int p = 0; p < pivots; p++)
            if ((vector ^ pivot_vector[p]) < vector) {
                vector ^= pivot_vector[p];
                regs ^= pivot_regs[p];
            }
        if (vector) {
            pivot_vector[pivots] = vector;
            pivot_regs[pivots++] = regs;
        }
    }
    for (uint32_t reg = 0; reg < 1u << dst->bits[LAYOUT_REG]; reg++) {
        uint32_t image = bits_drop(layout_reg_image(dst, reg), drop), found = 0;
        for (int p = 0; p < pivots; p++)
            if ((image ^ pivot_vector[p]) < image) {
                image ^= pivot_vector[p];
                found ^= pivot_regs[p];
            }
        if (image)
            return false;
        map[reg] = found;
    }
    return true;
}

/* Builder helpers */

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

Lv cg_intrinsic(Cg *cg, const char *name, const LLVMTypeRef *types, unsigned ntypes, Lv *args,
                unsigned nargs) {
    LLVMTypeRef first = ntypes ? types[0] : NULL;
    if (ntypes > 1 || !cg->intrinsic_name || strcmp(cg->intrinsic_name, name) ||
        cg->intrinsic_on != first) {
        unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
        assert(id && "unknown intrinsic");
        cg->intrinsic = LLVMGetIntrinsicDeclaration(cg->module, id, (LLVMTypeRef *)types, ntypes);
        cg->intrinsic_type = LLVMIntrinsicGetType(cg->llvm, id, (LLVMTypeRef *)types, ntypes);
        cg->intrinsic_name = ntypes > 1 ? NULL : str_dup(cg->arena, str_from(name));
        cg->intrinsic_on = first;
    }
    return LLVMBuildCall2(cg->b, cg->intrinsic_type, cg->intrinsic, args, nargs, "");
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

Lv cg_asm(Cg *cg, LLVMTypeRef result, const char *text, const char *constraints, Lv *args,
          unsigned nargs, AsmEffect effect) {
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

LLVMBasicBlockRef cg_block(Cg *cg, const char *name) {
    return LLVMAppendBasicBlockInContext(cg->llvm, cg->fn, name);
}

void cg_position(Cg *cg, LLVMBasicBlockRef block) {
    LLVMPositionBuilderAtEnd(cg->b, block);
}

Lv cg_string(Cg *cg, Str text) {
    Lv init = LLVMConstStringInContext2(cg->llvm, text.ptr, text.len, false);
    char name[32];
    snprintf(name, sizeof name, "tilec$text%u", cg->globals++);
    Lv global = LLVMAddGlobalInAddressSpace(cg->module, LLVMTypeOf(init), name, SPACE_GLOBAL);
    LLVMSetInitializer(global, init);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    return LLVMConstAddrSpaceCast(global, cg->t_generic);
}

Lv cg_contract(Lv v) {
    if (LLVMIsAInstruction(v) && LLVMCanValueUseFastMathFlags(v))
        LLVMSetFastMathFlags(v, LLVMFastMathAllowContract);
    return v;
}
