/* Shared-memory layouts against a model of the memory: 32 banks of 4 bytes, 8-byte accesses in two
 * phases of 16 lanes, 16-byte accesses in four of 8. */
#include "layout_testing.h"

static const uint8_t warp_shape[LAYOUT_DIMS] = {3, 5, 1, 0};

static uint32_t offset_of(const LayoutAccess *access, uint32_t reg, uint32_t lane, uint32_t warp) {
    return layout_apply(access->offsets, reg, lane, warp, 0);
}

static uint32_t register_of(const LayoutAccess *access, uint32_t number) {
    uint32_t reg = 0;
    for (int i = 0; number >> i; i++)
        reg ^= number >> i & 1 ? access->reg[i] : 0;
    return reg;
}

/* Most wavefronts any phase of any access needs. */
static int simulated_conflicts(const LayoutAccess *access, int element_bytes) {
    uint32_t vector = 1u << access->element_bits;
    uint32_t bytes = vector * (uint32_t)element_bytes;
    uint32_t lanes = bytes >= 16 ? 8 : bytes == 8 ? 16 : 32;
    int worst = 0;
    for (uint32_t a = 0; a < 1u << access->access_bits; a++)
        for (uint32_t warp = 0; warp < 1u << access->offsets->bits[LAYOUT_WARP]; warp++)
            for (uint32_t first = 0; first < 32; first += lanes) {
                uint32_t words[32][64];
                int count[32] = {0};
                for (uint32_t lane = first; lane < first + lanes; lane++) {
                    uint32_t reg = register_of(access, a * vector);
                    uint32_t start = offset_of(access, reg, lane, warp) * (uint32_t)element_bytes;
                    assert_int_equal(start % bytes, 0);
                    for (uint32_t word = start / 4; word <= (start + bytes - 1) / 4; word++) {
                        int bank = word % 32, i = 0;
                        while (i < count[bank] && words[bank][i] != word)
                            i++;
                        if (i == count[bank])
                            words[bank][count[bank]++] = word;
                        worst = count[bank] > worst ? count[bank] : worst;
                    }
                }
            }
    return worst;
}

/* Widest access by definition: the same registers of every thread form aligned blocks. */
static int widest_access(const Layout *offsets, int element_bytes) {
    uint32_t registers = 1u << offsets->bits[LAYOUT_REG], threads = points(offsets) / registers;
    int best = 1;
    for (uint32_t v = 2; v * (uint32_t)element_bytes <= 16; v *= 2) {
        for (uint32_t r = 0; r < registers; r++) {
            uint32_t offset = apply(offsets, r);
            for (uint32_t t = 0; t < threads; t++)
                if ((apply(offsets, r | t * registers) ^ offset) % v)
                    return best;
            for (uint32_t e = 0; e < v; e++) {
                bool held = false;
                for (uint32_t other = 0; other < registers; other++)
                    held |= apply(offsets, other) == (offset & ~(v - 1)) + e;
                if (!held)
                    return best;
            }
        }
        best = (int)v;
    }
    return best;
}

static void check_access(Ctx *ctx, const Layout *dist, const Layout *shared, int element_bytes) {
    LayoutAccess access = layout_shared_access(ctx, dist, shared, element_bytes);
    uint32_t vector = 1u << access.element_bits;
    assert_int_equal(access.element_bits + access.access_bits + access.repeat_bits,
                     dist->bits[LAYOUT_REG]);
    for (uint32_t p = 0; p < points(dist); p++)
        assert_int_equal(apply(shared, apply(access.offsets, p)), apply(dist, p));
    uint64_t seen = 0;
    for (uint32_t number = 0; number < 1u << dist->bits[LAYOUT_REG]; number++) {
        uint32_t reg = register_of(&access, number);
        uint32_t leader = register_of(&access, number & ~(vector - 1));
        assert_false(seen >> reg & 1);
        seen |= UINT64_C(1) << reg;
        for (uint32_t thread = 0; thread < 64; thread++) {
            uint32_t start = offset_of(&access, leader, thread % 32, thread / 32);
            assert_int_equal(start % vector, 0);
            assert_int_equal(offset_of(&access, reg, thread % 32, thread / 32),
                             start + number % vector);
        }
    }
    for (int i = 0; i < access.repeat_bits; i++)
        assert_int_equal(
            offset_of(&access, access.reg[access.element_bits + access.access_bits + i], 0, 0), 0);
    assert_int_equal(vector, widest_access(access.offsets, element_bytes));
    assert_int_equal(layout_shared_vector(ctx, dist, shared, element_bytes), vector);
    assert_int_equal(layout_bank_conflicts(ctx, dist, shared, element_bytes),
                     simulated_conflicts(&access, element_bytes));
}

static const Layout *random_shared(Ctx *ctx, Rng *rng, int out_bits, bool permutation) {
    uint8_t bits[LAYOUT_DIMS] = {(uint8_t)out_bits};
    return permutation ? random_permutation(ctx, rng, bits, out_bits)
                       : random_surjective(ctx, rng, bits, out_bits);
}

static void test_access(void **state) {
    Ctx *ctx = *state;
    Rng rng = {11};
    for (int trial = 0; trial < 400; trial++) {
        int element_bytes = 1 << rng_below(&rng, 5), out_bits = 5 + (int)rng_below(&rng, 5);
        bool plain = rng_below(&rng, 4) != 0;
        const Layout *dist = plain || out_bits == 9
                                 ? random_permutation(ctx, &rng, warp_shape, out_bits)
                                 : random_surjective(ctx, &rng, warp_shape, out_bits);
        check_access(ctx, dist, random_shared(ctx, &rng, out_bits, plain), element_bytes);
        /* Offsets that follow the registers, so that wide accesses occur. */
        Layout near = {.bits = {(uint8_t)out_bits}, .out_bits = (uint8_t)out_bits};
        uint32_t taken = 0;
        int n = 0;
        for (int i = 0; i < 9 && plain; i++)
            if (dist->basis[i])
                near.basis[n++] = dist->basis[i];
        for (int i = 0; i < n; i++)
            taken |= near.basis[i];
        if (plain && taken + 1 == 1u << out_bits && n == out_bits)
            check_access(ctx, dist, layout_get(ctx, &near), element_bytes);
    }
}

static void check_swizzle(Ctx *ctx, const Layout *src, const Layout *dst, int element_bytes) {
    const Layout *shared = layout_shared_for(ctx, src, dst, element_bytes, 1);
    assert_true(layout_is_injective(shared) && layout_is_surjective(shared));
    assert_int_equal(shared->bits[LAYOUT_REG], src->out_bits);
    check_access(ctx, src, shared, element_bytes);
    check_access(ctx, dst, shared, element_bytes);
    assert_int_equal(layout_bank_conflicts(ctx, src, shared, element_bytes), 1);
    assert_int_equal(layout_bank_conflicts(ctx, dst, shared, element_bytes), 1);
}

/* Any two layouts of unit bases can be exchanged without a conflict. */
static void test_swizzle(void **state) {
    Ctx *ctx = *state;
    Rng rng = {12};
    for (int trial = 0; trial < 400; trial++) {
        int element_bytes = 1 << rng_below(&rng, 5), out_bits = 4 + (int)rng_below(&rng, 6);
        check_swizzle(ctx, random_permutation(ctx, &rng, warp_shape, out_bits),
                      random_permutation(ctx, &rng, warp_shape, out_bits), element_bytes);
    }
}

/* Instructions and wavefronts of one pass over all registers. */
static int simulated_cost(Ctx *ctx, const Layout *dist, const Layout *shared, int element_bytes) {
    LayoutAccess access = layout_shared_access(ctx, dist, shared, element_bytes);
    int bytes = element_bytes << access.element_bits;
    int phases = bytes >= 16 ? 4 : bytes == 8 ? 2 : 1;
    return (1 + phases * simulated_conflicts(&access, element_bytes)) << access.access_bits;
}

/* For arbitrary maps a wide access with conflicts may beat narrow ones without; nothing may be
 * worse than an exchange element by element without conflicts. */
static void test_swizzle_any(void **state) {
    Ctx *ctx = *state;
    Rng rng = {13};
    for (int trial = 0; trial < 200; trial++) {
        int element_bytes = 1 << rng_below(&rng, 5), out_bits = 5 + (int)rng_below(&rng, 4);
        const Layout *src = random_surjective(ctx, &rng, warp_shape, out_bits);
        const Layout *dst = random_surjective(ctx, &rng, warp_shape, out_bits);
        const Layout *shared = layout_shared_for(ctx, src, dst, element_bytes, 1);
        check_access(ctx, src, shared, element_bytes);
        check_access(ctx, dst, shared, element_bytes);
        int phases = element_bytes >= 16 ? 4 : element_bytes == 8 ? 2 : 1;
        assert_true(simulated_cost(ctx, src, shared, element_bytes) +
                        simulated_cost(ctx, dst, shared, element_bytes) <=
                    2 * (8 * (1 + phases)));
    }
}

/* The transpose of a 64x64 tile: both sides keep the widest access that one of them can have. */
static void test_swizzle_transpose(void **state) {
    Ctx *ctx = *state;
    static const int64_t shape[] = {64, 64}, spt[] = {1, 4}, tpw[] = {2, 16}, warps[] = {4, 1};
    static const int64_t spt_t[] = {4, 1}, tpw_t[] = {16, 2}, warps_t[] = {1, 4};
    static const int rows[] = {1, 0}, columns[] = {0, 1};
    const Layout *load = layout_blocked(ctx, 2, shape, spt, tpw, warps, rows);
    const Layout *store = layout_blocked(ctx, 2, shape, spt_t, tpw_t, warps_t, columns);
    const Layout *shared = layout_shared_for(ctx, load, store, 4, 1);
    int widest = layout_shared_vector(ctx, load, shared, 4);
    int other = layout_shared_vector(ctx, store, shared, 4);
    assert_int_equal(widest > other ? widest : other, 4);
    assert_int_equal(layout_bank_conflicts(ctx, load, shared, 4), 1);
    assert_int_equal(layout_bank_conflicts(ctx, store, shared, 4), 1);
    /* The same layout on both sides needs no swizzle and moves 16 bytes at a time. */
    shared = layout_shared_for(ctx, load, load, 4, 1);
    assert_int_equal(layout_shared_vector(ctx, load, shared, 4), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_access, setup_ctx, teardown_ctx),
        cmocka_unit_test_setup_teardown(test_swizzle, setup_ctx, teardown_ctx),
        cmocka_unit_test_setup_teardown(test_swizzle_any, setup_ctx, teardown_ctx),
        cmocka_unit_test_setup_teardown(test_swizzle_transpose, setup_ctx, teardown_ctx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
