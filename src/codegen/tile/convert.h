/* Conversions between floats, of one element. */
#ifndef TILEC_CODEGEN_TILE_CONVERT_H
#define TILEC_CODEGEN_TILE_CONVERT_H
#include "codegen/cg.h"

Lv cg_to_f32(Cg *cg, DType from, Lv x); /* exact for narrower types */
Lv cg_from_f32(Cg *cg, DType to, Lv x); /* rounds to nearest even; f8 saturates */
#endif
