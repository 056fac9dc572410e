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

/* The i16 that two bytes are the halves of, in order, if they are. */
static Lv pair_behind(const Cg *cg, const Lv *bytes) {
    Lv vector = vector_behind(bytes, 2);
    if (!vector || !LLVMIsABitCastInst(vector))
        return NULL;
    Lv pair = LLVMGetOperand(vector, 0);
    return LLVMTypeOf(pair) == cg->t_i16 ? pair : NULL;
}

Lv cg_word_of_pairs(Cg *cg, const Lv *bytes) {
    Lv low = pair_behind(cg, bytes), high = low ? pair_behind(cg, bytes + 2) : NULL;
    if (!high)
        return NULL;
    Lv pairs = LLVMGetPoison(LLVMVectorType(cg->t_i16, 2));
    pairs = LLVMBuildInsertElement(cg->b, pairs, low, cg_i32(cg, 0), "");
    pairs = LLVMBuildInsertElement(cg->b, pairs, high, cg_i32(cg, 1), "");
    return LLVMBuildBitCast(cg->b, pairs, cg->t_i32, "");
}

Lv cg_word(Cg *cg, const Lv *elements, uint32_t count) {
    Lv word = count == 4 ? cg_word_of_pairs(cg, elements) : NULL;
    if (word)
        return word;
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

/* The part of a vector of bytes that these two were taken from, if they were. */
static Lv half_behind(Cg *cg, const Lv *bytes) {
    uint64_t place[2];
    for (int i = 0; i < 2; i++) {
        if (!LLVMIsAExtractElementInst(bytes[i]) ||
            !LLVMIsAConstantInt(LLVMGetOperand(bytes[i], 1)))
            return NULL;
        place[i] = LLVMConstIntGetZExtValue(LLVMGetOperand(bytes[i], 1));
    }
    Lv vector = LLVMGetOperand(bytes[0], 0);
    unsigned length = LLVMGetVectorSize(LLVMTypeOf(vector));
    if (LLVMGetOperand(bytes[1], 0) != vector || place[0] % 2 || place[1] != place[0] + 1 ||
        length % 2)
        return NULL;
    Lv halves = LLVMBuildBitCast(cg->b, vector, LLVMVectorType(cg->t_i16, length / 2), "");
    return LLVMBuildExtractElement(cg->b, halves, cg_i32(cg, (int64_t)place[0] / 2), "");
}

Lv cg_byte_pair(Cg *cg, const Lv *bytes) {
    Lv half = half_behind(cg, bytes);
    if (half)
        return half;
    Lv low = LLVMBuildZExt(cg->b, bytes[0], cg->t_i16, "");
    Lv high = LLVMBuildZExt(cg->b, bytes[1], cg->t_i16, "");
    high = LLVMBuildShl(cg->b, high, LLVMConstInt(cg->t_i16, 8, false), "");
    return LLVMBuildOr(cg->b, low, high, "");
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
