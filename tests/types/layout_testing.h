/* Layouts for property tests: enumeration of all small ones and random larger ones. */
#ifndef TILEC_TESTS_LAYOUT_TESTING_H
#define TILEC_TESTS_LAYOUT_TESTING_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "support/ctx.h"
#include "types/layout.h"
#include <cmocka.h>
#include <stdlib.h>

typedef struct Rng {
    uint64_t state;
} Rng;

static inline uint32_t rng_next(Rng *rng) {
    rng->state = rng->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(rng->state >> 33);
}
static inline uint32_t rng_below(Rng *rng, uint32_t n) {
    return rng_next(rng) % n;
}

/* Packed coordinates, register lowest, as four numbers. */
typedef struct Point {
    uint32_t at[LAYOUT_DIMS];
} Point;

static inline Point unpack(const uint8_t bits[LAYOUT_DIMS], uint32_t packed) {
    Point p;
    for (int d = 0; d < LAYOUT_DIMS; d++) {
        p.at[d] = packed & ((1u << bits[d]) - 1);
        packed >>= bits[d];
    }
    return p;
}

static inline uint32_t apply(const Layout *l, uint32_t packed) {
    Point p = unpack(l->bits, packed);
    return layout_apply(l, p.at[0], p.at[1], p.at[2], p.at[3]);
}

static inline uint32_t points(const Layout *l) {
    return 1u << layout_in_bits(l);
}

/* The number-th map with these input and output bits, (2^out)^inputs of them. */
static inline const Layout *nth_layout(Ctx *ctx, const uint8_t bits[LAYOUT_DIMS], int out_bits,
                                       uint64_t number) {
    Layout l = {.out_bits = (uint8_t)out_bits};
    memcpy(l.bits, bits, sizeof l.bits);
    for (int i = 0; i < layout_in_bits(&l); i++) {
        l.basis[i] = (uint32_t)(number & ((1u << out_bits) - 1));
        number >>= out_bits;
    }
    return layout_get(ctx, &l);
}

static inline const Layout *random_layout(Ctx *ctx, Rng *rng, const uint8_t bits[LAYOUT_DIMS],
                                          int out_bits) {
    Layout l = {.out_bits = (uint8_t)out_bits};
    memcpy(l.bits, bits, sizeof l.bits);
    for (int i = 0; i < layout_in_bits(&l); i++)
        l.basis[i] = rng_next(rng) & ((1u << out_bits) - 1);
    return layout_get(ctx, &l);
}

/* Random until surjective; needs at least out_bits inputs. */
static inline const Layout *random_surjective(Ctx *ctx, Rng *rng, const uint8_t bits[LAYOUT_DIMS],
                                              int out_bits) {
    for (;;) {
        const Layout *l = random_layout(ctx, rng, bits, out_bits);
        if (layout_is_surjective(l))
            return l;
    }
}

/* Each index bit held by one input bit, in random order: what blocked, dot and similar layouts are.
 * Inputs beyond the index bits are zero. */
static inline const Layout *random_permutation(Ctx *ctx, Rng *rng, const uint8_t bits[LAYOUT_DIMS],
                                               int out_bits) {
    Layout l = {.out_bits = (uint8_t)out_bits};
    memcpy(l.bits, bits, sizeof l.bits);
    int n = layout_in_bits(&l);
    for (int i = 0; i < n; i++)
        l.basis[i] = i < out_bits ? 1u << i : 0;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)rng_below(rng, (uint32_t)i + 1);
        uint32_t t = l.basis[i];
        l.basis[i] = l.basis[j];
        l.basis[j] = t;
    }
    return layout_get(ctx, &l);
}

static inline int setup_ctx(void **state) {
    *state = ctx_create();
    return *state ? 0 : -1;
}
static inline int teardown_ctx(void **state) {
    ctx_destroy(*state);
    return 0;
}
#endif
