/* Matrix descriptors of wgmma: where the 16-byte pieces of an operand lie in shared memory. */
#ifndef TILEC_SIM_EXEC_WGMMA_DESCRIPTOR_H
#define TILEC_SIM_EXEC_WGMMA_DESCRIPTOR_H
#include <stdbool.h>
#include <stdint.h>

/* A decoded descriptor of sm_90. Distances are bytes. */
typedef struct WgmmaDescriptor {
    uint32_t start;       /* address in shared memory */
    uint32_t leading;     /* leading-dimension byte offset */
    uint32_t stride;      /* stride-dimension byte offset */
    unsigned base_offset; /* 128-byte rows between a multiple of the pattern and where it begins */
    unsigned span;        /* bytes of a row of the swizzle: 32, 64, 128; 16: no swizzle */
} WgmmaDescriptor;

WgmmaDescriptor wgmma_descriptor(uint64_t bits);
/* Bits that no field has. */
uint64_t wgmma_reserved_bits(uint64_t bits);
/* The bytes after which the swizzle repeats; 16 without one. */
unsigned wgmma_pattern(const WgmmaDescriptor *descriptor);
/* How far behind the beginning of a pattern the matrix starts, in whole rows of 128 bytes; 0 is
 * what the hardware wants. */
unsigned wgmma_phase(const WgmmaDescriptor *descriptor);

/* The address of a piece of 16 bytes. K-major: `line` is the row of A or column of B, `piece`
 * counts along k. Otherwise `line` is k and `piece` counts along the rows or columns. */
uint32_t wgmma_piece(const WgmmaDescriptor *descriptor, bool k_major, unsigned line,
                     unsigned piece);
#endif
