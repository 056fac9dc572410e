/* Decoding of matrix descriptors and the canonical layouts they name (PTX ISA, matrix descriptor
 * and strides; swizzling modes).
 *
 * Eight lines follow each other at the span of the swizzle; `stride` leads to the next eight. Along
 * a line a swizzled K-major matrix has its 32 bytes inside the span; a swizzled MN-major one goes
 * on `leading` behind when the span is used up. Without a swizzle a core matrix is 8 lines of 16
 * bytes; `leading` separates core matrices along k and `stride` along rows or columns, whichever is
 * contiguous. The swizzle exchanges pieces of 16 bytes: bits 4 to 6 of the address are xored with
 * those of the row of 128 bytes, counted from where the pattern begins. */
#include "sim/exec/wgmma_descriptor.h"

enum {
    START_SHIFT = 0,
    LEADING_SHIFT = 16,
    STRIDE_SHIFT = 32,
    BASE_SHIFT = 49,
    SWIZZLE_SHIFT = 62
};

static uint32_t field(uint64_t bits, unsigned shift) {
    return (uint32_t)(bits >> shift & 0x3fff) << 4;
}

WgmmaDescriptor wgmma_descriptor(uint64_t bits) {
    static const uint8_t spans[] = {16, 128, 64, 32};
    return (WgmmaDescriptor){.start = field(bits, START_SHIFT),
                             .leading = field(bits, LEADING_SHIFT),
                             .stride = field(bits, STRIDE_SHIFT),
                             .base_offset = (unsigned)(bits >> BASE_SHIFT & 7),
                             .span = spans[bits >> SWIZZLE_SHIFT]};
}

uint64_t wgmma_reserved_bits(uint64_t bits) {
    const uint64_t used = UINT64_C(0x3fff) << START_SHIFT | UINT64_C(0x3fff) << LEADING_SHIFT |
                          UINT64_C(0x3fff) << STRIDE_SHIFT | UINT64_C(7) << BASE_SHIFT |
                          UINT64_C(3) << SWIZZLE_SHIFT;
    return bits & ~used;
}

unsigned wgmma_pattern(const WgmmaDescriptor *descriptor) {
    return descriptor->span == 16 ? 16 : 8 * descriptor->span;
}

/* Which of the rows of 128 bytes of a pattern an address lies in. */
static unsigned row_of(const WgmmaDescriptor *descriptor, uint32_t address) {
    return ((address >> 7) - descriptor->base_offset) & (descriptor->span / 16 - 1);
}

unsigned wgmma_phase(const WgmmaDescriptor *descriptor) {
    return row_of(descriptor, descriptor->start);
}

uint32_t wgmma_piece(const WgmmaDescriptor *descriptor, bool k_major, unsigned line,
                     unsigned piece) {
    const unsigned span = descriptor->span, pieces = span / 16;
    uint32_t group = line / 8, address = descriptor->start + line % 8 * span;
    if (span == 16)
        return address + (k_major ? group * descriptor->stride + piece * descriptor->leading
                                  : group * descriptor->leading + piece * descriptor->stride);
    address += group * descriptor->stride;
    address += k_major ? piece * 16 : piece / pieces * descriptor->leading + piece % pieces * 16;
    return address ^ row_of(descriptor, address) << 4;
}
