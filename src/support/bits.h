/* Arithmetic on sizes. */
#ifndef TILEC_SUPPORT_BITS_H
#define TILEC_SUPPORT_BITS_H
#include <assert.h>
#include <stdint.h>

/* Of a power of two. */
static inline int log2_exact(int64_t n) {
    assert(n > 0 && (n & (n - 1)) == 0);
    return __builtin_ctzll((uint64_t)n);
}
static inline int64_t min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static inline int64_t max_i64(int64_t a, int64_t b) {
    return a > b ? a : b;
}
/* The next multiple. */
static inline int64_t align_up(int64_t bytes, int64_t alignment) {
    return (bytes + alignment - 1) / alignment * alignment;
}
#endif
