/* Words of elements. Vectors that elements were taken from are found again, so that nothing is
 * taken apart only to be put together. */
#include "codegen/values/words.h"
#include "codegen/values/builder.h"

/* The vector whose elements these are, if they were taken from one in order. */
static Lv vector_behind(const Lv *elements, uint32_t count) {
    Lv vector = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (!LLVMIsAExtractElementInst(elements[i]))
            return NULL;
        Lv from = LLVMGetOperand(elements[i], 0), index = LLVMGetOperand(elements[i], 1);
        if ((vector && from != vector) || !LLVMIsAConstantInt(index) ||
            LLVMConstIntGetZExtValue(index) != i)
            return NULL;
        vector = from;
    }
    return LLVMGetVectorSize(LLVMTypeOf(vector)) == count ? vector : NULL;
}

static Lv vector_of(Cg *cg, const Lv *elements, uint32_t count) {
    Lv vector = vector_behind(elements, count);
    if (vector)
        return vector;
    vector = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(elements[0]), count));
    for (uint32_t i = 0; i < count; i++)
        vector = LLVMBuildInsertElement(cg->b, vector, elements[i], cg_i32(cg, i), "");
    return vector;
}

Lv cg_word(Cg *cg, const Lv *elements, uint32_t count) {
    if (count == 1)
        return LLVMBuildBitCast(cg->b, elements[0], cg->t_i32, "");
    Lv vector = vector_of(cg, elements, count);
    if (LLVMIsABitCastInst(vector) && LLVMTypeOf(LLVMGetOperand(vector, 0)) == cg->t_i32)
        return LLVMGetOperand(vector, 0);
    return LLVMBuildBitCast(cg->b, vector, cg->t_i32, "");
}

const char *cg_rounded_word(Cg *cg, const Lv *elements, uint32_t count, Lv *from) {
    if (count != 2)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (!LLVMIsAFPTruncInst(elements[i]))
            return NULL;
        from[i] = LLVMGetOperand(elements[i], 0);
        if (LLVMTypeOf(from[i]) != cg->t_f32)
            return NULL;
    }
    return LLVMTypeOf(elements[0]) == cg->t_f16 ? "cvt.rn.f16x2.f32" : "cvt.rn.bf16x2.f32";
}

void cg_split_word(Cg *cg, Lv word, LLVMTypeRef element, uint32_t count, Lv *out) {
    if (count == 1) {
        out[0] = LLVMBuildBitCast(cg->b, word, element, "");
        return;
    }
    Lv vector = LLVMBuildBitCast(cg->b, word, LLVMVectorType(element, count), "");
    for (uint32_t i = 0; i < count; i++)
        out[i] = LLVMBuildExtractElement(cg->b, vector, cg_i32(cg, i), "");
}
