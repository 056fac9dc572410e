/* Conversions between float types.
 *
 * f8 converts through f16 or f32. From sm_89 on there are instructions, which convert pairs;
 * earlier targets get integer code. Tiles are converted two elements at a time.
 *
 * Widening: the 7 bits below the sign are moved to where f16 keeps its exponent; the product with a
 * power of two then corrects the bias, of subnormals too (the product is exact).
 *
 * Narrowing: normal results by adding half a unit to the f32 bits, then rebiasing; subnormal ones
 * by adding a power of two whose unit is the smallest f8, which rounds in hardware. */
#include "codegen/tile/convert.h"
#include "codegen/lowerings.h"
#include "codegen/values/builder.h"
#include "codegen/values/values.h"
#include "codegen/values/words.h"
#include "target/target.h"
#include <stdio.h>

typedef struct F8Format {
    int mantissa;
    int bias;
    double largest;
    uint32_t nan; /* sign aside */
    const char *ptx;
} F8Format;

static const F8Format *f8_format(DType dtype) {
    static const F8Format e4m3 = {3, 7, 448.0, 0x7f, "e4m3x2"};
    static const F8Format e5m2 = {2, 15, 57344.0, 0x7f, "e5m2x2"};
    return dtype == DT_F8E4M3 ? &e4m3 : dtype == DT_F8E5M2 ? &e5m2 : NULL;
}

static bool has_f8(const Cg *cg) {
    return target_has(cg->func->capability, FEATURE_F8_CONVERSIONS);
}

/* Two f8 in an i16 as two f16 in an i32, in the same order. */
static Lv f8_pair_to_f16(Cg *cg, const F8Format *f8, Lv pair) {
    if (has_f8(cg)) {
        char text[64];
        snprintf(text, sizeof text, "cvt.rn.f16x2.%s $0, $1;", f8->ptx);
        return cg_asm(cg, cg->t_i32, text, "=r,h", &pair, 1, ASM_PURE);
    }
    Lv word = LLVMBuildZExt(cg->b, pair, cg->t_i32, "");
    if (f8->mantissa == 2)
        return cg_asm(cg, cg->t_i32, "prmt.b32 $0, $1, 0, 0x1404;", "=r,r", &word, 1, ASM_PURE);
    /* A unit more in the last place takes NaN alone, all ones, to the bit of the sign, from where
     * it goes to the bit that the exponent of its product with 2^8 lacks to be all ones. */
    return cg_asm(cg, cg->t_i32,
                  "{ .reg .b32 wide, sum, value, scale;\n\t"
                  "prmt.b32 wide, $1, 0, 0x1404;\n\t"
                  "and.b32 value, wide, 0x7f007f00;\n\t"
                  "add.u32 sum, value, 0x01000100;\n\t"
                  "shr.u32 value, value, 1;\n\t"
                  "lop3.b32 value, wide, 0x80008000, value, 0xea;\n\t"
                  "mov.b32 scale, 0x5c005c00;\n\t"
                  "mul.rn.f16x2 value, value, scale;\n\t"
                  "shr.u32 sum, sum, 2;\n\t"
                  "lop3.b32 $0, sum, 0x20002000, value, 0xea; }",
                  "=r,r", &word, 1, ASM_PURE);
}

static Lv f8_to_f16(Cg *cg, const F8Format *f8, Lv x) {
    Lv pair = f8_pair_to_f16(cg, f8, LLVMBuildZExt(cg->b, x, cg->t_i16, ""));
    Lv low = LLVMBuildTrunc(cg->b, pair, cg->t_i16, "");
    return LLVMBuildBitCast(cg->b, low, cg->t_f16, "");
}

static Lv f8_from_f32_software(Cg *cg, const F8Format *f8, Lv x) {
    LLVMBuilderRef b = cg->b;
    int cut = 23 - f8->mantissa, rebias = 127 - f8->bias;
    Lv bits = LLVMBuildBitCast(b, x, cg->t_i32, "");
    Lv magnitude = LLVMBuildAnd(b, bits, cg_i32(cg, 0x7fffffff), "");
    Lv sign =
        LLVMBuildLShr(b, LLVMBuildAnd(b, bits, cg_i32(cg, 0x80000000), ""), cg_i32(cg, 24), "");
    Lv is_nan = LLVMBuildICmp(b, LLVMIntUGT, magnitude, cg_i32(cg, 0x7f800000), "");
    Lv absolute = cg_intrinsic2(cg, "llvm.minnum", LLVMBuildBitCast(b, magnitude, cg->t_f32, ""),
                                cg_real(cg->t_f32, f8->largest));
    Lv small_bits = LLVMBuildBitCast(b, absolute, cg->t_i32, "");

    Lv odd = LLVMBuildAnd(b, LLVMBuildLShr(b, small_bits, cg_i32(cg, cut), ""), cg_i32(cg, 1), "");
    Lv half = LLVMBuildAdd(b, odd, cg_i32(cg, (1 << (cut - 1)) - 1), "");
    Lv rounded = LLVMBuildLShr(b, LLVMBuildAdd(b, small_bits, half, ""), cg_i32(cg, cut), "");
    Lv normal = LLVMBuildSub(b, rounded, cg_i32(cg, rebias << f8->mantissa), "");

    /* 2^(e + 23) where 2^e is the smallest subnormal. */
    double unit = (double)(1 << 23);
    for (int i = 0; i < f8->bias - 1 + f8->mantissa; i++)
        unit /= 2;
    Lv shifted = LLVMBuildFAdd(b, absolute, cg_real(cg->t_f32, unit), "");
    Lv subnormal = LLVMBuildSub(b, LLVMBuildBitCast(b, shifted, cg->t_i32, ""),
                                LLVMConstBitCast(cg_real(cg->t_f32, unit), cg->t_i32), "");
    Lv is_normal =
        LLVMBuildICmp(b, LLVMIntUGE, small_bits, cg_i32(cg, (int64_t)(rebias + 1) << 23), "");
    Lv code = LLVMBuildSelect(b, is_normal, normal, subnormal, "");
    code = LLVMBuildSelect(b, is_nan, cg_i32(cg, f8->nan), LLVMBuildOr(b, code, sign, ""), "");
    return LLVMBuildTrunc(b, code, cg->t_i8, "");
}

/* Of two f32 as two f8 in an i16, the first in its lower half. */
static Lv f8_pair_from_f32(Cg *cg, const F8Format *f8, Lv low, Lv high) {
    char text[64];
    snprintf(text, sizeof text, "cvt.rn.satfinite.%s.f32 $0, $1, $2;", f8->ptx);
    return cg_asm(cg, cg->t_i16, text, "=h,f,f", (Lv[]){high, low}, 2, ASM_PURE);
}

static Lv f8_pair_from_f16(Cg *cg, const F8Format *f8, const Lv *in) {
    char text[64];
    snprintf(text, sizeof text, "cvt.rn.satfinite.%s.f16x2 $0, $1;", f8->ptx);
    return cg_asm(cg, cg->t_i16, text, "=h,r", (Lv[]){cg_word(cg, in, 2)}, 1, ASM_PURE);
}

static Lv f8_from_f32(Cg *cg, const F8Format *f8, Lv x) {
    if (!has_f8(cg))
        return f8_from_f32_software(cg, f8, x);
    Lv pair = f8_pair_from_f32(cg, f8, x, cg_zero(cg->t_f32));
    return LLVMBuildTrunc(cg->b, pair, cg->t_i8, "");
}

Lv cg_to_f32(Cg *cg, DType from, Lv x) {
    if (from == DT_F32)
        return x;
    const F8Format *f8 = f8_format(from);
    if (f8)
        x = f8_to_f16(cg, f8, x);
    return from == DT_F64 ? LLVMBuildFPTrunc(cg->b, x, cg->t_f32, "")
                          : LLVMBuildFPExt(cg->b, x, cg->t_f32, "");
}

Lv cg_from_f32(Cg *cg, DType to, Lv x) {
    const F8Format *f8 = f8_format(to);
    if (f8)
        return f8_from_f32(cg, f8, x);
    if (to == DT_F64)
        return LLVMBuildFPExt(cg->b, x, cg->t_f64, "");
    return to == DT_F32 ? x : LLVMBuildFPTrunc(cg->b, x, cg_dtype(cg, to), "");
}

/* Clears what the narrower type has no room for, so that the conversion that follows is exact; NaN
 * stays NaN. */
static Lv chop_f32(Cg *cg, Lv x, int digits) {
    Lv bits = LLVMBuildBitCast(cg->b, x, cg->t_i32, "");
    Lv chopped = LLVMBuildAnd(cg->b, bits, cg_i32(cg, -((int64_t)1 << (23 - digits))), "");
    Lv is_nan = LLVMBuildFCmp(cg->b, LLVMRealUNO, x, x, "");
    return LLVMBuildSelect(cg->b, is_nan, x, LLVMBuildBitCast(cg->b, chopped, cg->t_f32, ""), "");
}

static Lv truncate_towards_zero(Cg *cg, DType from, DType to, Lv x) {
    if (from == DT_F64)
        x = cg_asm(cg, cg->t_f32, "cvt.rz.f32.f64 $0, $1;", "=f,d", &x, 1, ASM_PURE);
    else
        x = cg_to_f32(cg, from, x);
    const F8Format *f8 = f8_format(to);
    switch (to) {
    case DT_F16:
        x = cg_asm(cg, cg->t_i16, "cvt.rz.f16.f32 $0, $1;", "=h,f", &x, 1, ASM_PURE);
        return LLVMBuildBitCast(cg->b, x, cg->t_f16, "");
    case DT_BF16:
        return cg_from_f32(cg, to, chop_f32(cg, x, 7));
    case DT_F8E5M2: /* the upper half of an f16 */
        x = cg_asm(cg, cg->t_i16, "cvt.rz.f16.f32 $0, $1;", "=h,f", &x, 1, ASM_PURE);
        x = LLVMBuildLShr(cg->b, x, LLVMConstInt(cg->t_i16, 8, false), "");
        return LLVMBuildTrunc(cg->b, x, cg->t_i8, "");
    case DT_F8E4M3: {
        /* Below the smallest normal the digits that remain get fewer: rounded towards zero there by
         * subtracting in units of the smallest subnormal. */
        LLVMBuilderRef b = cg->b;
        double smallest = 1.0;
        for (int i = 0; i < f8->bias - 1 + f8->mantissa; i++)
            smallest /= 2;
        Lv scaled = LLVMBuildFMul(b, x, cg_real(cg->t_f32, 1 / smallest), "");
        Lv whole = LLVMBuildFMul(b, cg_intrinsic1(cg, "llvm.trunc", scaled),
                                 cg_real(cg->t_f32, smallest), "");
        Lv magnitude = cg_intrinsic1(cg, "llvm.fabs", x);
        Lv is_small = LLVMBuildFCmp(b, LLVMRealOLT, magnitude,
                                    cg_real(cg->t_f32, smallest * (1 << f8->mantissa)), "");
        return cg_from_f32(cg, to,
                           LLVMBuildSelect(b, is_small, whole, chop_f32(cg, x, f8->mantissa), ""));
    }
    case DT_F32:
        return x;
    case DT_F64:
    case DT_I1:
    case DT_I8:
    case DT_I16:
    case DT_I32:
    case DT_I64:
    case DT_COUNT:
        break;
    }
    return x;
}

Lv emit_truncf(Cg *cg, const Op *op, const Lv *in) {
    DType from = op_in(op, 0)->type->dtype, to = op->out[0].type->dtype;
    if (truncf_attrs(op)->rounding == ROUND_RTZ)
        return truncate_towards_zero(cg, from, to, in[0]);
    if (from == DT_F64 && to != DT_F32) {
        if (!f8_format(to))
            return LLVMBuildFPTrunc(cg->b, in[0], cg_dtype(cg, to), "");
        /* Rounding twice errs only on ties of the second: keep them apart by rounding the first to
         * odd. */
        LLVMBuilderRef b = cg->b;
        Lv chopped =
            cg_asm(cg, cg->t_f32, "cvt.rz.f32.f64 $0, $1;", "=f,d", (Lv[]){in[0]}, 1, ASM_PURE);
        Lv inexact =
            LLVMBuildFCmp(b, LLVMRealONE, LLVMBuildFPExt(b, chopped, cg->t_f64, ""), in[0], "");
        Lv odd = LLVMBuildZExt(b, inexact, cg->t_i32, "");
        Lv bits = LLVMBuildOr(b, LLVMBuildBitCast(b, chopped, cg->t_i32, ""), odd, "");
        return cg_from_f32(cg, to, LLVMBuildBitCast(b, bits, cg->t_f32, ""));
    }
    return cg_from_f32(cg, to, cg_to_f32(cg, from, in[0]));
}

/* An f16 that was an f8 as `to`. */
static Lv widen_f16(Cg *cg, DType to, Lv x) {
    if (to == DT_F16)
        return x;
    LLVMTypeRef type = cg_dtype(cg, to);
    if (to != DT_BF16)
        return LLVMBuildFPExt(cg->b, x, type, "");
    /* every f8 is a bf16 */
    return LLVMBuildFPTrunc(cg->b, LLVMBuildFPExt(cg->b, x, cg->t_f32, ""), type, "");
}

Lv emit_extf(Cg *cg, const Op *op, const Lv *in) {
    DType from = op_in(op, 0)->type->dtype, to = op->out[0].type->dtype;
    const F8Format *f8 = f8_format(from);
    return f8 ? widen_f16(cg, to, f8_to_f16(cg, f8, in[0]))
              : LLVMBuildFPExt(cg->b, in[0], cg_dtype(cg, to), "");
}

bool cg_converts_pairs(const Cg *cg, const Op *op) {
    DType from = op_in(op, 0)->type->dtype, to = op->out[0].type->dtype;
    if (op->code == OP_extf)
        return f8_format(from) != NULL;
    return op->code == OP_truncf && truncf_attrs(op)->rounding != ROUND_RTZ && f8_format(to) &&
           from != DT_F64 && has_f8(cg);
}

void cg_convert_pair(Cg *cg, const Op *op, const Lv *in, Lv *out) {
    DType from = op_in(op, 0)->type->dtype, to = op->out[0].type->dtype;
    if (op->code == OP_extf) {
        Lv word = f8_pair_to_f16(cg, f8_format(from), cg_byte_pair(cg, in));
        cg_split_word(cg, word, cg->t_f16, 2, out);
        for (int i = 0; i < 2; i++)
            out[i] = widen_f16(cg, to, out[i]);
        return;
    }
    const F8Format *f8 = f8_format(to);
    Lv pair = from == DT_F16 ? f8_pair_from_f16(cg, f8, in)
                             : f8_pair_from_f32(cg, f8, cg_to_f32(cg, from, in[0]),
                                                cg_to_f32(cg, from, in[1]));
    Lv bytes = LLVMBuildBitCast(cg->b, pair, LLVMVectorType(cg->t_i8, 2), "");
    for (unsigned i = 0; i < 2; i++)
        out[i] = LLVMBuildExtractElement(cg->b, bytes, cg_i32(cg, i), "");
}
