/* Registers of a warp. */
#ifndef TILEC_SIM_STATE_REG_H
#define TILEC_SIM_STATE_REG_H
#include <stdbool.h>
#include <stdint.h>

enum { LANES = 32 };
#define ALL_LANES UINT32_MAX

/* A register of a warp: for each lane its bits, zero-extended, and which of them are defined; those
 * behind its width are, unless it was never written. */
typedef struct Reg {
    uint64_t v[LANES], def[LANES];
} Reg;
#define DEFINED UINT64_MAX
/* Memory has a byte of such bits for each byte. */
enum { BYTE_DEFINED = 0xff };

#define FOR_LANES(lane, mask)                                                                      \
    for (uint32_t lane##_left = (mask), lane = 0;                                                  \
         lane##_left && (lane = (uint32_t)__builtin_ctz(lane##_left), true);                       \
         lane##_left &= lane##_left - 1)

static inline uint64_t bits_mask(unsigned bits) {
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}
#endif
