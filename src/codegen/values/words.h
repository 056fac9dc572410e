/* Words, which tensor cores and matrices take elements in. */
#ifndef TILEC_CODEGEN_VALUES_WORDS_H
#define TILEC_CODEGEN_VALUES_WORDS_H
#include "codegen/cg.h"

/* `count` elements of up to 32 bits together as one i32, and back. */
Lv cg_word(Cg *cg, const Lv *elements, uint32_t count);
/* The instruction that rounds two f32, the higher half first, to a word of these elements, and in
 * `from` the two, lower half first; NULL if that is not what the elements are. A piece of PTX that
 * takes the word saves LLVM the five instructions that make it. */
const char *cg_rounded_word(Cg *cg, const Lv *elements, uint32_t count, Lv *from);
/* Four bytes that came as two pairs, as one i32; NULL: they did not. */
Lv cg_word_of_pairs(Cg *cg, const Lv *bytes);
/* Two bytes as one i16. */
Lv cg_byte_pair(Cg *cg, const Lv *bytes);
void cg_split_word(Cg *cg, Lv word, LLVMTypeRef element, uint32_t count, Lv *out);
#endif
