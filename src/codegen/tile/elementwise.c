/* Elementwise ops, for one element: integers, simple float arithmetic, comparisons, integer and
 * pointer conversions. Functions with range reductions are in math.c, float conversions in
 * convert.c.
 *
 * f16 and bf16 use native instructions where PTX has them; f8 has no arithmetic: operands are
 * widened to f32 and results rounded back. */
#include "codegen/lowerings.h"
#include "codegen/tile/convert.h"
#include "codegen/values/builder.h"
#include "codegen/values/cache.h"
#include "codegen/values/values.h"
#include "target/target.h"

static DType element(const Op *op) {
    return op_in(op, 0)->type->dtype;
}

static bool is_f8(DType dtype) {
    return dtype == DT_F8E4M3 || dtype == DT_F8E5M2;
}

/* Integers */

#define BINARY(name, build)                                                                        \
    Lv emit_##name(Cg *cg, const Op *op, const Lv *in) {                                           \
        return LLVMBuild##build(cg->b, in[0], in[1], "");                                          \
    }
BINARY(divsi, SDiv)
BINARY(divui, UDiv)
BINARY(remui, URem)
BINARY(andi, And)
BINARY(ori, Or)
BINARY(xori, Xor)

/* The minimum's remainder by -1 is 0, and undefined to LLVM: narrow types have room for it, and the
 * PTX instruction of wide ones gives it. */
Lv emit_remsi(Cg *cg, const Op *op, const Lv *in) {
    LLVMTypeRef type = LLVMTypeOf(in[0]), i32 = cg->t_i32;
    if (LLVMGetIntTypeWidth(type) >= 32)
        return LLVMBuildSRem(cg->b, in[0], in[1], "");
    Lv a = LLVMBuildSExt(cg->b, in[0], i32, ""), b = LLVMBuildSExt(cg->b, in[1], i32, "");
    return LLVMBuildTrunc(cg->b, LLVMBuildSRem(cg->b, a, b, ""), type, "");
}

/* Elements without a result (a shift by too much, a float that does not fit) are poison to LLVM,
 * and so would be all that is made of them. Frozen they are some value, which a mask that is off
 * keeps from mattering. */
static Lv some_value(Cg *cg, Lv x) {
    return LLVMIsAConstantInt(x) ? x : LLVMBuildFreeze(cg->b, x, "");
}

#define SHIFT(name, build)                                                                         \
    static Lv shifted_##name(Cg *cg, const Lv *in) {                                               \
        Lv shifted = LLVMBuild##build(cg->b, in[0], in[1], "");                                    \
        return LLVMIsAConstantInt(in[1]) ? shifted : some_value(cg, shifted);                      \
    }
SHIFT(shli, Shl)
SHIFT(shrsi, AShr)
SHIFT(shrui, LShr)

Lv emit_shrsi(Cg *cg, const Op *op, const Lv *in) {
    return shifted_shrsi(cg, in);
}

Lv emit_shrui(Cg *cg, const Op *op, const Lv *in) {
    return shifted_shrui(cg, in);
}

/* An integer as a variable part, NULL: none, and a constant. */
typedef struct Offset {
    Lv base;
    uint64_t constant;
} Offset;

static Offset offset_of(Lv x) {
    if (LLVMIsAConstantInt(x))
        return (Offset){NULL, LLVMConstIntGetZExtValue(x)};
    if (LLVMIsAInstruction(x) && LLVMGetInstructionOpcode(x) == LLVMAdd &&
        LLVMIsAConstantInt(LLVMGetOperand(x, 1)))
        return (Offset){LLVMGetOperand(x, 0), LLVMConstIntGetZExtValue(LLVMGetOperand(x, 1))};
    return (Offset){x, 0};
}

typedef struct BaseResult {
    struct BaseResult *next;
    Lv a, b, result;
} BaseResult;

typedef struct BaseResults {
    const Op *op; /* whose registers they are of */
    BaseResult *latest;
} BaseResults;

static const CacheKind base_results_kind = {sizeof(BaseResults)};

static Lv build_of_bases(Cg *cg, const Op *op, Lv a, Lv b) {
    switch (op->code) {
    case OP_addi:
        return LLVMBuildAdd(cg->b, a, b, "");
    case OP_subi:
        return LLVMBuildSub(cg->b, a, b, "");
    case OP_muli:
        return LLVMBuildMul(cg->b, a, b, "");
    case OP_shli:
        return LLVMBuildShl(cg->b, a, b, "");
    default:
        return LLVMBuildSExt(cg->b, a, cg_type(cg, op->out[0].type), "");
    }
}

/* What the op makes of variable parts (b NULL: it has one operand), once for the op's registers.
 * Bases are few, or one for each register, and then none comes again: only the latest are looked
 * at. */
static Lv of_bases(Cg *cg, const Op *op, Lv a, Lv b) {
    enum { LATEST = 8 };
    BaseResults *cache = cg_cache(cg, &base_results_kind);
    if (cache->op != op)
        *cache = (BaseResults){op, NULL};
    int looked_at = 0;
    for (const BaseResult *r = cache->latest; r && looked_at < LATEST; r = r->next, looked_at++)
        if (r->a == a && r->b == b)
            return r->result;
    BaseResult *r = ARENA_NEW(cg->arena, BaseResult);
    *r = (BaseResult){cache->latest, a, b, build_of_bases(cg, op, a, b)};
    cache->latest = r;
    return r->result;
}

/* Registers of a tile differ by constants, which are kept apart: (x + 8) - (y + 1) is (x - y) + 7.
 * So what sums of tiles have in common is computed once, and LLVM, for which every one of them
 * would be an induction variable of its own, need not find that. */
static Lv sum_of_offsets(Cg *cg, const Op *op, const Lv *in) {
    bool minus = op->code == OP_subi;
    Offset a = offset_of(in[0]), b = offset_of(in[1]);
    if (!type_is_tile(op->out[0].type) || !a.base || !b.base || !(a.constant | b.constant))
        return minus ? LLVMBuildSub(cg->b, in[0], in[1], "")
                     : LLVMBuildAdd(cg->b, in[0], in[1], "");
    LLVMTypeRef type = LLVMTypeOf(in[0]);
    uint64_t constant = minus ? a.constant - b.constant : a.constant + b.constant;
    uint64_t mask = UINT64_MAX >> (64 - LLVMGetIntTypeWidth(type));
    return LLVMBuildAdd(cg->b, of_bases(cg, op, a.base, b.base),
                        LLVMConstInt(type, constant & mask, false), "");
}

Lv emit_addi(Cg *cg, const Op *op, const Lv *in) {
    return sum_of_offsets(cg, op, in);
}

Lv emit_subi(Cg *cg, const Op *op, const Lv *in) {
    return sum_of_offsets(cg, op, in);
}

/* The same of places in 64 bits times a number: (x + 8) * 512 is x * 512 + 4096, and what registers
 * differ by becomes the offset of an access. Of 32 bits, which may wrap before they are widened, it
 * could not. */
static Lv of_sum_and_number(Cg *cg, const Op *op, Lv sum, Lv number) {
    enum { ADDRESS_BITS = 64 };
    Offset parts = offset_of(sum);
    if (!type_is_tile(op->out[0].type) || !LLVMIsAConstantInt(number) || !parts.base ||
        LLVMGetIntTypeWidth(LLVMTypeOf(sum)) != ADDRESS_BITS)
        return NULL;
    uint64_t by = LLVMConstIntGetZExtValue(number);
    if (op->code == OP_shli && by >= ADDRESS_BITS)
        return NULL;
    uint64_t constant = op->code == OP_shli ? parts.constant << by : parts.constant * by;
    Lv shared = of_bases(cg, op, parts.base, number);
    return constant ? LLVMBuildAdd(cg->b, shared, cg_i64(cg, (int64_t)constant), "") : shared;
}

Lv emit_muli(Cg *cg, const Op *op, const Lv *in) {
    Lv apart = of_sum_and_number(cg, op, in[0], in[1]);
    apart = apart ? apart : of_sum_and_number(cg, op, in[1], in[0]);
    return apart ? apart : LLVMBuildMul(cg->b, in[0], in[1], "");
}

Lv emit_shli(Cg *cg, const Op *op, const Lv *in) {
    Lv apart = of_sum_and_number(cg, op, in[0], in[1]);
    return apart ? apart : shifted_shli(cg, in);
}

#define INTRINSIC2(name, intrinsic)                                                                \
    Lv emit_##name(Cg *cg, const Op *op, const Lv *in) {                                           \
        return cg_intrinsic2(cg, intrinsic, in[0], in[1]);                                         \
    }
INTRINSIC2(minsi, "llvm.smin")
INTRINSIC2(maxsi, "llvm.smax")
INTRINSIC2(minui, "llvm.umin")
INTRINSIC2(maxui, "llvm.umax")

Lv emit_absi(Cg *cg, const Op *op, const Lv *in) {
    LLVMTypeRef type = LLVMTypeOf(in[0]);
    return cg_intrinsic(cg, "llvm.abs", &type, 1, (Lv[]){in[0], cg_i1(cg, false)}, 2);
}

Lv emit_popcount(Cg *cg, const Op *op, const Lv *in) {
    LLVMTypeRef type = LLVMTypeOf(in[0]);
    return cg_intrinsic(cg, "llvm.ctpop", &type, 1, (Lv[]){in[0]}, 1);
}

/* By the instruction for 32 and 64 bits: LLVM would reason at length about products of twice the
 * width. */
Lv emit_mulhui(Cg *cg, const Op *op, const Lv *in) {
    unsigned bits = dtype_info[element(op)].bits;
    if (bits >= 32)
        return cg_intrinsic(cg, bits == 32 ? "llvm.nvvm.mulhi.ui" : "llvm.nvvm.mulhi.ull", NULL, 0,
                            (Lv[]){in[0], in[1]}, 2);
    LLVMTypeRef narrow = LLVMTypeOf(in[0]);
    Lv wide = LLVMBuildZExt(cg->b, in[1], cg->t_i32, "");
    Lv product = LLVMBuildMul(cg->b, LLVMBuildZExt(cg->b, in[0], cg->t_i32, ""), wide, "");
    return LLVMBuildTrunc(cg->b, LLVMBuildLShr(cg->b, product, cg_i32(cg, bits), ""), narrow, "");
}

/* Floats */

typedef Lv FloatOp(Cg *cg, const Lv *in);

/* Applies `f` to the operands widened to f32, if the element has no arithmetic of its own. */
static Lv widened(Cg *cg, const Op *op, const Lv *in, FloatOp *f, bool widen) {
    if (!widen)
        return f(cg, in);
    DType dtype = element(op);
    Lv wide[3];
    for (uint32_t i = 0; i < op->nin; i++)
        wide[i] = cg_to_f32(cg, dtype, in[i]);
    return cg_from_f32(cg, dtype, f(cg, wide));
}

/* What was widened to f32 from f16 or bf16, as it was; else NULL. */
static Lv before_widening(const Cg *cg, Lv value) {
    Lv narrow = LLVMIsAFPExtInst(value) ? LLVMGetOperand(value, 0) : NULL;
    return narrow && LLVMTypeOf(value) == cg->t_f32 ? narrow : NULL;
}

/* The lesser or greater of two numbers is one of them: of two that were widened it is found before,
 * where ptxas takes two at once. */
static Lv ordered(Cg *cg, const char *intrinsic, const Lv *in) {
    Lv x = before_widening(cg, in[0]), y = before_widening(cg, in[1]);
    if (!x || !y || LLVMTypeOf(x) != LLVMTypeOf(y))
        return cg_intrinsic2(cg, intrinsic, in[0], in[1]);
    return LLVMBuildFPExt(cg->b, cg_intrinsic2(cg, intrinsic, x, y), cg->t_f32, "");
}

#define FLOAT_OP(name, widen, expression)                                                          \
    static Lv float_##name(Cg *cg, const Lv *in) {                                                 \
        return expression;                                                                         \
    }                                                                                              \
    Lv emit_##name(Cg *cg, const Op *op, const Lv *in) {                                           \
        DType dtype = element(op);                                                                 \
        return widened(cg, op, in, float_##name, widen);                                           \
    }
FLOAT_OP(addf, is_f8(dtype), cg_contract(cg, LLVMBuildFAdd(cg->b, in[0], in[1], "")))
FLOAT_OP(subf, is_f8(dtype), cg_contract(cg, LLVMBuildFSub(cg->b, in[0], in[1], "")))
FLOAT_OP(mulf, is_f8(dtype), cg_contract(cg, LLVMBuildFMul(cg->b, in[0], in[1], "")))
FLOAT_OP(minf, is_f8(dtype), ordered(cg, "llvm.minnum", in))
FLOAT_OP(maxf, is_f8(dtype), ordered(cg, "llvm.maxnum", in))
FLOAT_OP(minf_nan, is_f8(dtype), ordered(cg, "llvm.minimum", in))
FLOAT_OP(maxf_nan, is_f8(dtype), ordered(cg, "llvm.maximum", in))
FLOAT_OP(floor, dtype_info[dtype].bits < 32, cg_intrinsic1(cg, "llvm.floor", in[0]))
FLOAT_OP(ceil, dtype_info[dtype].bits < 32, cg_intrinsic1(cg, "llvm.ceil", in[0]))
/* The sign of an f8 changes in its bits: through f32 and back, infinity would become finite. */
Lv emit_negf(Cg *cg, const Op *op, const Lv *in) {
    return is_f8(element(op)) ? LLVMBuildXor(cg->b, in[0], LLVMConstInt(cg->t_i8, 0x80, false), "")
                              : LLVMBuildFNeg(cg->b, in[0], "");
}

Lv emit_absf(Cg *cg, const Op *op, const Lv *in) {
    return is_f8(element(op)) ? LLVMBuildAnd(cg->b, in[0], LLVMConstInt(cg->t_i8, 0x7f, false), "")
                              : cg_intrinsic1(cg, "llvm.fabs", in[0]);
}

/* Rounding the f32 quotient or root of f16 or bf16 operands again is exact: f32 has more than twice
 * their digits. */
FLOAT_OP(divf_rn, dtype_info[dtype].bits < 32, LLVMBuildFDiv(cg->b, in[0], in[1], ""))

/* a * b + c of f8 values in f32, with the last bit odd where it is not exact: rounding that to f8
 * does not see a tie that is none. It is inexact where rounding down and up differ. */
static Lv fma_to_odd(Cg *cg, Lv wide[3]) {
    Lv down = cg_intrinsic(cg, "llvm.nvvm.fma.rm.f", NULL, 0, wide, 3);
    Lv up = cg_intrinsic(cg, "llvm.nvvm.fma.rp.f", NULL, 0, wide, 3);
    Lv cut = cg_intrinsic(cg, "llvm.nvvm.fma.rz.f", NULL, 0, wide, 3);
    Lv inexact = LLVMBuildFCmp(cg->b, LLVMRealONE, down, up, "");
    Lv odd = LLVMBuildOr(cg->b, LLVMBuildBitCast(cg->b, cut, cg->t_i32, ""),
                         LLVMBuildZExt(cg->b, inexact, cg->t_i32, ""), "");
    return LLVMBuildBitCast(cg->b, odd, cg->t_f32, "");
}

Lv emit_fma(Cg *cg, const Op *op, const Lv *in) {
    DType dtype = element(op);
    if (is_f8(dtype)) {
        Lv wide[3];
        for (int i = 0; i < 3; i++)
            wide[i] = cg_to_f32(cg, dtype, in[i]);
        return cg_from_f32(cg, dtype, fma_to_odd(cg, wide));
    }
    LLVMTypeRef type = LLVMTypeOf(in[0]);
    return cg_intrinsic(cg, "llvm.fma", &type, 1, (Lv[]){in[0], in[1], in[2]}, 3);
}

/* Comparison and choice */

static const LLVMIntPredicate int_predicate[IPRED_COUNT] = {
    [IPRED_EQ] = LLVMIntEQ,   [IPRED_NE] = LLVMIntNE,   [IPRED_SLT] = LLVMIntSLT,
    [IPRED_SLE] = LLVMIntSLE, [IPRED_SGT] = LLVMIntSGT, [IPRED_SGE] = LLVMIntSGE,
    [IPRED_ULT] = LLVMIntULT, [IPRED_ULE] = LLVMIntULE, [IPRED_UGT] = LLVMIntUGT,
    [IPRED_UGE] = LLVMIntUGE,
};

static const LLVMRealPredicate float_predicate[FPRED_COUNT] = {
    [FPRED_OEQ] = LLVMRealOEQ, [FPRED_UNE] = LLVMRealUNE, [FPRED_OLT] = LLVMRealOLT,
    [FPRED_OLE] = LLVMRealOLE, [FPRED_OGT] = LLVMRealOGT, [FPRED_OGE] = LLVMRealOGE,
};

Lv emit_cmpi(Cg *cg, const Op *op, const Lv *in) {
    return LLVMBuildICmp(cg->b, int_predicate[cmpi_attrs(op)->pred], in[0], in[1], "");
}

Lv emit_cmpf(Cg *cg, const Op *op, const Lv *in) {
    DType dtype = element(op);
    Lv a = is_f8(dtype) ? cg_to_f32(cg, dtype, in[0]) : in[0];
    Lv b = is_f8(dtype) ? cg_to_f32(cg, dtype, in[1]) : in[1];
    return LLVMBuildFCmp(cg->b, float_predicate[cmpf_attrs(op)->pred], a, b, "");
}

Lv emit_select(Cg *cg, const Op *op, const Lv *in) {
    return in[1] == in[2] ? in[1] : LLVMBuildSelect(cg->b, in[0], in[1], in[2], "");
}

/* Conversions of integers and pointers */

static LLVMTypeRef result_type(Cg *cg, const Op *op) {
    return cg_type(cg, op->out[0].type);
}

Lv emit_trunci(Cg *cg, const Op *op, const Lv *in) {
    return LLVMBuildTrunc(cg->b, in[0], result_type(cg, op), "");
}

static bool repeats(const Op *op) {
    return op->code == OP_broadcast || op->code == OP_expand_dims;
}

/* A sum that does not wrap is as well widened term by term. */
static bool is_sum(Lv x) {
    return LLVMIsAInstruction(x) && LLVMGetInstructionOpcode(x) == LLVMAdd && LLVMGetNSW(x) &&
           LLVMIsAConstantInt(LLVMGetOperand(x, 1));
}

/* Is the tile a term or factor of places, and nothing else? What is compared as it is has a high
 * half that costs nothing, which a sum of 64 bits has to compute. */
static bool is_part_of_places(const Value *value) {
    value_for_each_use (use, value) {
        const Op *user = use->user;
        bool is_sum_of_it =
            op_has(user, ELEMENTWISE) && op_out(user)->type->dtype == value->type->dtype;
        bool is_part = user->code == OP_addptr || is_sum_of_it;
        if (!is_part && !(repeats(user) && is_part_of_places(&user->out[0])))
            return false;
    }
    return true;
}

Lv emit_extsi(Cg *cg, const Op *op, const Lv *in) {
    LLVMTypeRef type = result_type(cg, op);
    if (!type_is_tile(op->out[0].type) || !is_part_of_places(op_out(op)))
        return LLVMBuildSExt(cg->b, in[0], type, "");
    if (!is_sum(in[0]))
        return of_bases(cg, op, in[0], NULL);
    Lv constant = LLVMBuildSExt(cg->b, LLVMGetOperand(in[0], 1), type, "");
    return LLVMBuildNSWAdd(cg->b, of_bases(cg, op, LLVMGetOperand(in[0], 0), NULL), constant, "");
}

Lv emit_extui(Cg *cg, const Op *op, const Lv *in) {
    return LLVMBuildZExt(cg->b, in[0], result_type(cg, op), "");
}

/* f8 operands pass through f32, f8 results too: every other type converts to f32 first. */
static Lv float_operand(Cg *cg, const Op *op, Lv x) {
    return is_f8(element(op)) ? cg_to_f32(cg, element(op), x) : x;
}

Lv emit_ftosi(Cg *cg, const Op *op, const Lv *in) {
    Lv x = float_operand(cg, op, in[0]);
    return some_value(cg, LLVMBuildFPToSI(cg->b, x, result_type(cg, op), ""));
}

Lv emit_ftoui(Cg *cg, const Op *op, const Lv *in) {
    Lv x = float_operand(cg, op, in[0]);
    return some_value(cg, LLVMBuildFPToUI(cg->b, x, result_type(cg, op), ""));
}

/* bf16 of an integer that may have more digits than an f32, where no instruction converts it: LLVM
 * would round twice. The first rounding is to odd, which leaves no tie that was none. */
static Lv bf16_of_wide_integer(Cg *cg, Lv x, bool is_signed) {
    LLVMBuilderRef b = cg->b;
    LLVMTypeRef type = LLVMTypeOf(x);
    unsigned bits = LLVMGetIntTypeWidth(type);
    const char *text =
        str_format(cg->arena, "cvt.rz.f32.%c%u $0, $1;", is_signed ? 's' : 'u', bits);
    Lv chopped = cg_asm(cg, cg->t_f32, text, bits == 64 ? "=f,l" : "=f,r", &x, 1, ASM_PURE);
    Lv back =
        is_signed ? LLVMBuildFPToSI(b, chopped, type, "") : LLVMBuildFPToUI(b, chopped, type, "");
    Lv odd = LLVMBuildZExt(b, LLVMBuildICmp(b, LLVMIntNE, back, x, ""), cg->t_i32, "");
    odd = LLVMBuildOr(b, LLVMBuildBitCast(b, chopped, cg->t_i32, ""), odd, "");
    return LLVMBuildFPTrunc(b, LLVMBuildBitCast(b, odd, cg->t_f32, ""), cg->t_bf16, "");
}

static Lv float_of_integer(Cg *cg, const Op *op, Lv x, bool is_signed) {
    DType to = op->out[0].type->dtype;
    if (to == DT_BF16 && dtype_info[element(op)].bits >= 32 &&
        !target_has(cg->func->capability, FEATURE_BF16_OF_INTEGERS))
        return bf16_of_wide_integer(cg, x, is_signed);
    LLVMTypeRef type = is_f8(to) ? cg->t_f32 : result_type(cg, op);
    x = is_signed ? LLVMBuildSIToFP(cg->b, x, type, "") : LLVMBuildUIToFP(cg->b, x, type, "");
    return is_f8(to) ? cg_from_f32(cg, to, x) : x;
}

Lv emit_sitof(Cg *cg, const Op *op, const Lv *in) {
    return float_of_integer(cg, op, in[0], true);
}

Lv emit_uitof(Cg *cg, const Op *op, const Lv *in) {
    return float_of_integer(cg, op, in[0], false);
}

Lv emit_bitcast(Cg *cg, const Op *op, const Lv *in) {
    return LLVMBuildBitCast(cg->b, in[0], result_type(cg, op), "");
}

Lv emit_ptrtoint(Cg *cg, const Op *op, const Lv *in) {
    return LLVMBuildPtrToInt(cg->b, in[0], cg->t_i64, "");
}

Lv emit_inttoptr(Cg *cg, const Op *op, const Lv *in) {
    return LLVMBuildIntToPtr(cg->b, in[0], cg->t_global, "");
}

/* Lines of memory: `(first + lines) * stride`. */
typedef struct Line {
    Lv first, stride;
    int64_t lines;
} Line;

/* Lines of memory that an addptr has found. */
typedef struct FoundLine {
    Lv base;
    Line line;
    Lv at;
} FoundLine;

enum { FOUND_LINES = 128 };

typedef struct FoundLines {
    const Op *op;
    uint32_t count;
    FoundLine list[FOUND_LINES];
} FoundLines;

static const CacheKind found_lines_kind = {sizeof(FoundLines)};

/* Is it an index of addresses and nothing else? */
static bool is_index_alone(const Value *value) {
    value_for_each_use (use, value) {
        const Op *user = use->user;
        bool is_index = user->code == OP_addptr && use == &user->in[1];
        if (!is_index && !(repeats(user) && is_index_alone(&user->out[0])))
            return false;
    }
    return true;
}

/* Is the tile a product with one number for all elements, of which nothing but addresses is made?
 */
static bool has_one_stride(const Value *index) {
    const Op *op = index->def;
    while (op && repeats(op))
        op = op_in(op, 0)->def;
    if (!op || op->code != OP_muli || !is_index_alone(op_out(op)))
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        const Op *factor = op_in(op, i)->def;
        if (factor && (factor->code == OP_splat || factor->code == OP_constant_int))
            return true;
    }
    return false;
}

/* Numbers of lines may have been widened, as sources do that count places in 64 bits. */
static Lv line_number(Lv x) {
    return LLVMIsASExtInst(x) ? LLVMGetOperand(x, 0) : x;
}

static bool find_line(const Op *op, Lv index, Line *line) {
    if (!has_one_stride(op_in(op, 1)) || !LLVMIsAInstruction(index) ||
        LLVMGetInstructionOpcode(index) != LLVMMul)
        return false;
    unsigned side = !is_sum(line_number(LLVMGetOperand(index, 0)));
    Lv sum = line_number(LLVMGetOperand(index, side));
    if (!is_sum(sum))
        return false;
    *line = (Line){LLVMGetOperand(sum, 0), LLVMGetOperand(index, 1 - side),
                   LLVMConstIntGetSExtValue(LLVMGetOperand(sum, 1))};
    return true;
}

/* Is the index made of a sum or the like that wraps in fewer bits than an index has? */
static bool is_narrow_sum(Lv index) {
    enum { INDEX_BITS = 32 };
    if (!LLVMIsASExtInst(index))
        return false;
    Lv narrow = LLVMGetOperand(index, 0);
    return LLVMGetIntTypeWidth(LLVMTypeOf(narrow)) < INDEX_BITS &&
           (LLVMIsABinaryOperator(narrow) || LLVMIsATruncInst(narrow));
}

/* LLVM's straight-line strength reduction takes addresses whose narrow indices differ by a constant
 * to be that far apart, also where one index has wrapped. (LLVM 22; pull request 204278 mends it.)
 * It does not look into this. */
static Lv widen_narrow_sum(Cg *cg, Lv index) {
    Lv narrow = LLVMGetOperand(index, 0), wide = LLVMBuildSExt(cg->b, narrow, cg->t_i16, "");
    wide = cg_asm(cg, cg->t_i32, "cvt.s32.s16 $0, $1;", "=r,h", &wide, 1, ASM_PURE);
    return LLVMBuildSExt(cg->b, wide, LLVMTypeOf(index), "");
}

static const FoundLine *find_found(const FoundLines *found, Lv base, const Line *line) {
    for (uint32_t i = 0; i < found->count; i++) {
        const FoundLine *entry = &found->list[i];
        if (entry->base == base && entry->line.first == line->first &&
            entry->line.stride == line->stride && entry->line.lines == line->lines)
            return entry;
    }
    return NULL;
}

/* A few lines are each found from the one before: equal distances are one value then, where those
 * from the first would all live through a loop. Many would wait for each other. Of a sum by
 * dimensions (pass nest-addresses), whose distances are to take few registers, each is found from
 * the one whose number lacks its lowest bit: distances are as many as bits. */
static int64_t lines_before(const Op *op, const FoundLines *found, int64_t lines) {
    enum { FEW_LINES = 4 };
    if (op_is_nested_address(op))
        return lines & (lines - 1);
    bool few = cg_count(op->out[0].type) <= FEW_LINES && found->count > 0;
    return few ? found->list[found->count - 1].line.lines : 0;
}

/* Of lines, what tells threads apart is added once; the distances between those of one thread are
 * the same for all threads, which hold them in uniform registers. Where the indices are there for
 * something else, too, an address is one instruction from them. Indices do not wrap
 * (docs/passes.md). */
Lv emit_addptr(Cg *cg, const Op *op, const Lv *in) {
    LLVMTypeRef memory = cg_memory_type(cg, element(op));
    Line line;
    if (is_narrow_sum(in[1])) {
        Lv index = widen_narrow_sum(cg, in[1]);
        return LLVMBuildGEP2(cg->b, memory, in[0], &index, 1, "");
    }
    if (!find_line(op, in[1], &line))
        return LLVMBuildGEP2(cg->b, memory, in[0], (Lv[]){in[1]}, 1, "");
    FoundLines *found = cg_cache(cg, &found_lines_kind);
    if (found->op != op || found->count == FOUND_LINES)
        *found = (FoundLines){.op = op};
    Line from = line;
    from.lines = lines_before(op, found, line.lines);
    const FoundLine *before = find_found(found, in[0], &from);
    Lv at = before ? before->at : NULL;
    if (!before) {
        Lv wide = LLVMBuildSExtOrBitCast(cg->b, line.first, LLVMTypeOf(line.stride), "");
        Lv first = LLVMBuildMul(cg->b, wide, line.stride, "");
        from.lines = 0;
        at = LLVMBuildGEP2(cg->b, memory, in[0], (Lv[]){first}, 1, "");
    }
    Lv stride = LLVMBuildSExtOrBitCast(cg->b, line.stride, cg->t_i64, "");
    Lv distance = LLVMBuildMul(cg->b, stride, cg_i64(cg, line.lines - from.lines), "");
    at = LLVMBuildGEP2(cg->b, memory, at, (Lv[]){distance}, 1, "");
    found->list[found->count++] = (FoundLine){in[0], line, at};
    return at;
}
