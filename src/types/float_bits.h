/* Conversions between the bits of the float dtypes and the host's float and double. */
#ifndef TILEC_TYPES_FLOAT_BITS_H
#define TILEC_TYPES_FLOAT_BITS_H
#include "types/type.h"

/* A float's bits in memory and double, for every float dtype; to bits rounds to nearest even, f8
 * saturates to the largest finite value (as PTX cvt.satfinite). */
double float_from_bits(DType dtype, uint64_t bits);
uint64_t float_to_bits(DType dtype, double value);
/* The same rounded towards zero; infinities stay where the format has them. */
uint64_t float_to_bits_to_zero(DType dtype, double value);

/* Arrays. Exact. `bits` holds n elements of a float dtype; the first form is for all but f64. */
void floats_load(DType dtype, const void *bits, float *out, uint32_t n);
void floats_load_double(DType dtype, const void *bits, double *out, uint32_t n);
/* Rounded once, to nearest even. */
void floats_store(DType dtype, const float *values, void *bits, uint32_t n);
void floats_store_double(DType dtype, const double *values, void *bits, uint32_t n);

/* Closes a switch over the element type where the rules admit integers only. */
#define NO_FLOATS                                                                                  \
    case DT_F8E4M3:                                                                                \
    case DT_F8E5M2:                                                                                \
    case DT_F16:                                                                                   \
    case DT_BF16:                                                                                  \
    case DT_F32:                                                                                   \
    case DT_F64:                                                                                   \
    case DT_COUNT:                                                                                 \
        break;
#endif
