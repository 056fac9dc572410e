/* Exchanges of single values within a warp. */
#ifndef TILEC_CODEGEN_VALUES_SHUFFLE_H
#define TILEC_CODEGEN_VALUES_SHUFFLE_H
#include "codegen/cg.h"

Lv cg_shuffle(Cg *cg, const char *mode, Lv value, Lv lane_or_mask);
/* From the lane that has `lane` in these bits of its number, and the asking lane's others. */
Lv cg_shuffle_from(Cg *cg, Lv value, uint32_t lane, uint32_t bits);
Lv cg_shuffle_xor(Cg *cg, Lv value, uint32_t mask);
/* value where bit test of (x & mask) has odd parity; mask's zero gives false. */
Lv cg_parity(Cg *cg, Lv x, uint32_t mask);
#endif
