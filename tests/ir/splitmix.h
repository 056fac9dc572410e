/* Random numbers that are the same in every build. */
#ifndef TILEC_TESTS_SPLITMIX_H
#define TILEC_TESTS_SPLITMIX_H
#include <stdint.h>

/* SplitMix64: the next 64 bits of the sequence that `state` is at. */
static inline uint64_t splitmix64(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}
#endif
