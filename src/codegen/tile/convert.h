/* Conversions between floats, of one element or of two. */
#ifndef TILEC_CODEGEN_TILE_CONVERT_H
#define TILEC_CODEGEN_TILE_CONVERT_H
#include "codegen/cg.h"

Lv cg_to_f32(Cg *cg, DType from, Lv x); /* exact for narrower types */
Lv cg_from_f32(Cg *cg, DType to, Lv x); /* rounds to nearest even; f8 saturates */

/* Is this op, of float types, made two elements at a time, by one instruction or a few? */
bool cg_converts_pairs(const Cg *cg, const Op *op);
/* Of two elements, for such an op. */
void cg_convert_pair(Cg *cg, const Op *op, const Lv *in, Lv *out);
#endif
