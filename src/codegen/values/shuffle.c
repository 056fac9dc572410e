/* Shuffles of values of any width, in words of 32 bits. */
#include "codegen/values/shuffle.h"
#include "codegen/values/builder.h"
#include <stdio.h>

/* One shuffle of 32 bits; lanes keep the bits `own` of their numbers. */
static Lv shuffle_word(Cg *cg, const char *mode, Lv word, Lv lane, uint32_t own) {
    char name[48];
    snprintf(name, sizeof name, "llvm.nvvm.shfl.sync.%s.i32", mode);
    /* Clamp: the whole warp, whose top is lane 31 (bottom is 0 for `up`). */
    Lv clamp = cg_i32(cg, (strcmp(mode, "up") == 0 ? 0 : 31) | own << 8);
    return cg_intrinsic(cg, name, NULL, 0, (Lv[]){cg_i32(cg, -1), word, lane, clamp}, 4);
}

static Lv shuffle_within(Cg *cg, const char *mode, Lv value, Lv lane, uint32_t own) {
    LLVMTypeRef type = LLVMTypeOf(value);
    LLVMBuilderRef b = cg->b;
    bool pointer = LLVMGetTypeKind(type) == LLVMPointerTypeKind;
    unsigned bits =
        pointer ? 64
        : LLVMGetTypeKind(type) == LLVMIntegerTypeKind
            ? LLVMGetIntTypeWidth(type)
            : (unsigned)LLVMABISizeOfType(LLVMGetModuleDataLayout(cg->module), type) * 8;
    LLVMTypeRef as_int = LLVMIntTypeInContext(cg->llvm, bits);
    if (LLVMIsConstant(value))
        return value; /* the same in every lane */
    Lv word =
        pointer ? LLVMBuildPtrToInt(b, value, as_int, "") : LLVMBuildBitCast(b, value, as_int, "");
    if (bits <= 32) {
        word = shuffle_word(cg, mode, LLVMBuildZExt(b, word, cg->t_i32, ""), lane, own);
        word = LLVMBuildTrunc(b, word, as_int, "");
    } else {
        Lv half = LLVMConstInt(as_int, 32, false);
        Lv low = shuffle_word(cg, mode, LLVMBuildTrunc(b, word, cg->t_i32, ""), lane, own);
        Lv high = LLVMBuildTrunc(b, LLVMBuildLShr(b, word, half, ""), cg->t_i32, "");
        high = shuffle_word(cg, mode, high, lane, own);
        high = LLVMBuildShl(b, LLVMBuildZExt(b, high, as_int, ""), half, "");
        word = LLVMBuildOr(b, LLVMBuildZExt(b, low, as_int, ""), high, "");
    }
    return pointer ? LLVMBuildIntToPtr(b, word, type, "") : LLVMBuildBitCast(b, word, type, "");
}

Lv cg_shuffle(Cg *cg, const char *mode, Lv value, Lv lane) {
    return shuffle_within(cg, mode, value, lane, 0);
}

Lv cg_shuffle_from(Cg *cg, Lv value, uint32_t lane, uint32_t bits) {
    return shuffle_within(cg, "idx", value, cg_i32(cg, lane), ~bits & 31);
}

Lv cg_shuffle_xor(Cg *cg, Lv value, uint32_t mask) {
    return mask ? cg_shuffle(cg, "bfly", value, cg_i32(cg, mask)) : value;
}

Lv cg_parity(Cg *cg, Lv x, uint32_t mask) {
    if (!mask)
        return cg_i1(cg, false);
    Lv bits = LLVMBuildAnd(cg->b, x, cg_i32(cg, mask), "");
    if (mask & (mask - 1)) {
        bits = cg_intrinsic1(cg, "llvm.ctpop", bits);
        bits = LLVMBuildAnd(cg->b, bits, cg_i32(cg, 1), "");
    }
    return LLVMBuildICmp(cg->b, LLVMIntNE, bits, cg_i32(cg, 0), "");
}
