/* Layout algebra against its definitions: every law is checked at every point of every small map,
 * and of random larger ones. */
#include "layout_testing.h"

#include "types/type.h"

static bool covers_all(const Layout *l) {
    uint64_t seen[8] = {0};
    for (uint32_t p = 0; p < points(l); p++)
        seen[apply(l, p) / 64] |= UINT64_C(1) << apply(l, p) % 64;
    for (uint32_t i = 0; i < 1u << l->out_bits; i++)
        if (!(seen[i / 64] >> i % 64 & 1))
            return false;
    return true;
}

static bool repeats_any(const Layout *l) {
    for (uint32_t p = 1; p < points(l); p++)
        if (apply(l, p) == 0)
            return true;
    return false;
}

/* For every map with `out_bits` outputs and these inputs. */
#define FOR_ALL_LAYOUTS(layout, ctx, bits, out_bits)                                               \
    for (uint64_t layout##_number = 0,                                                             \
                  layout##_end = UINT64_C(1)                                                       \
                                 << (out_bits) * ((bits)[0] + (bits)[1] + (bits)[2] + (bits)[3]);  \
         layout##_number < layout##_end; layout##_number++)                                        \
        for (const Layout *layout = nth_layout((ctx), (bits), (out_bits), layout##_number);        \
             layout; layout = NULL)

static void check_map(const Layout *l) {
    assert_int_equal(layout_is_surjective(l), covers_all(l));
    assert_int_equal(layout_is_injective(l), !repeats_any(l));
    /* Exactly one owner of every element that is held. */
    uint32_t free_bits = layout_free_bits(l), owners[256] = {0}, held[256] = {0};
    for (uint32_t p = 0; p < points(l); p++) {
        held[apply(l, p)] = 1;
        owners[apply(l, p)] += (p & free_bits) == 0;
    }
    for (uint32_t i = 0; i < 1u << l->out_bits; i++)
        assert_int_equal(owners[i], held[i]);
    /* Ownership goes to the lowest input bits. */
    for (int i = 0; i < layout_in_bits(l); i++) {
        bool repeats = false;
        for (uint32_t p = 0; p < 1u << i; p++)
            repeats |= apply(l, p) == l->basis[i];
        assert_int_equal(free_bits >> i & 1, repeats);
    }
}

static void test_maps(void **state) {
    Ctx *ctx = *state;
    static const uint8_t shapes[][LAYOUT_DIMS] = {
        {4, 0, 0, 0}, {2, 1, 1, 0}, {1, 1, 1, 1}, {0, 3, 0, 0}, {0, 0, 0, 0}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int out = 0; out <= 3; out++)
            FOR_ALL_LAYOUTS(l, ctx, shapes[s], out)
    check_map(l);
    Rng rng = {1};
    static const uint8_t large[LAYOUT_DIMS] = {4, 5, 2, 1};
    for (int i = 0; i < 300; i++) {
        check_map(random_layout(ctx, &rng, large, 8));
        check_map(random_permutation(ctx, &rng, large, 7));
    }
}

static void check_inverse(Ctx *ctx, const Layout *l) {
    const Layout *inverse = layout_invert(ctx, l);
    bool bijective = layout_is_injective(l) && layout_is_surjective(l);
    assert_int_equal(inverse != NULL, bijective);
    if (!inverse)
        return;
    for (uint32_t i = 0; i < 1u << l->out_bits; i++)
        assert_int_equal(apply(l, apply(inverse, i)), i);
    for (uint32_t p = 0; p < points(l); p++)
        assert_int_equal(apply(inverse, apply(l, p)), p);
    assert_int_equal(inverse->bits[LAYOUT_REG], l->out_bits);
}

static void test_invert(void **state) {
    Ctx *ctx = *state;
    static const uint8_t three[LAYOUT_DIMS] = {1, 1, 1, 0}, four[LAYOUT_DIMS] = {2, 1, 1, 0};
    FOR_ALL_LAYOUTS(l, ctx, three, 3)
    check_inverse(ctx, l);
    for (int out = 2; out <= 3; out++)
        FOR_ALL_LAYOUTS(l, ctx, four, out)
    check_inverse(ctx, l);
    Rng rng = {2};
    static const uint8_t large[LAYOUT_DIMS] = {3, 5, 2, 0};
    for (int i = 0; i < 100; i++)
        check_inverse(ctx, random_layout(ctx, &rng, large, 10));
}

static void test_compose(void **state) {
    Ctx *ctx = *state;
    static const uint8_t outer_bits[LAYOUT_DIMS] = {1, 1, 1, 0},
                         inner_bits[LAYOUT_DIMS] = {1, 1, 0, 0};
    FOR_ALL_LAYOUTS(inner, ctx, inner_bits, 3)
    FOR_ALL_LAYOUTS(outer, ctx, outer_bits, 2) {
        const Layout *both = layout_compose(ctx, outer, inner);
        assert_int_equal(both->out_bits, 2);
        for (uint32_t p = 0; p < points(inner); p++)
            assert_int_equal(apply(both, p), apply(outer, apply(inner, p)));
    }
}

static void check_division(Ctx *ctx, const Layout *low, const Layout *high) {
    const Layout *product = layout_product(ctx, low, high);
    for (uint32_t p = 0; p < points(product); p++) {
        Point at = unpack(product->bits, p), a, b;
        for (int d = 0; d < LAYOUT_DIMS; d++) {
            a.at[d] = at.at[d] & ((1u << low->bits[d]) - 1);
            b.at[d] = at.at[d] >> low->bits[d];
        }
        assert_int_equal(apply(product, p),
                         layout_apply(low, a.at[0], a.at[1], a.at[2], a.at[3]) |
                             layout_apply(high, b.at[0], b.at[1], b.at[2], b.at[3])
                                 << low->out_bits);
    }
    assert_ptr_equal(layout_divide_left(ctx, product, low), high);
    assert_ptr_equal(layout_divide_right(ctx, product, high), low);
}

static void test_divide(void **state) {
    Ctx *ctx = *state;
    static const uint8_t bits[LAYOUT_DIMS] = {1, 1, 0, 0}, tile_bits[LAYOUT_DIMS] = {1, 0, 0, 0};
    FOR_ALL_LAYOUTS(low, ctx, bits, 2)
    FOR_ALL_LAYOUTS(high, ctx, bits, 2)
    check_division(ctx, low, high);
    /* A quotient exists only if it multiplies back. */
    FOR_ALL_LAYOUTS(l, ctx, bits, 3)
    FOR_ALL_LAYOUTS(tile, ctx, tile_bits, 1) {
        int quotients = 0;
        FOR_ALL_LAYOUTS(q, ctx, ((const uint8_t[]){0, 1, 0, 0}), 2)
        quotients += layout_product(ctx, tile, q) == l;
        const Layout *found = layout_divide_left(ctx, l, tile);
        assert_int_equal(found != NULL, quotients == 1);
        assert_true(!found || layout_product(ctx, tile, found) == l);
        quotients = 0;
        FOR_ALL_LAYOUTS(q, ctx, ((const uint8_t[]){0, 1, 0, 0}), 2)
        quotients += layout_product(ctx, q, tile) == l;
        found = layout_divide_right(ctx, l, tile);
        assert_int_equal(found != NULL, quotients == 1);
        assert_true(!found || layout_product(ctx, found, tile) == l);
    }
}

/* The cheapest way by search: for each destination point the nearest source point of the same
 * element. */
static LayoutConversion nearest(const Layout *dst, const Layout *src) {
    LayoutConversion worst = dst->bits[0] == src->bits[0] ? CONVERT_NOTHING : CONVERT_REGISTERS;
    uint32_t held[1024];
    for (uint32_t q = 0; q < points(src); q++)
        held[q] = apply(src, q);
    for (uint32_t p = 0; p < points(dst); p++) {
        Point to = unpack(dst->bits, p);
        LayoutConversion best = CONVERT_CLUSTER;
        uint32_t wanted = apply(dst, p);
        for (uint32_t q = 0; q < points(src); q++) {
            if (held[q] != wanted)
                continue;
            Point from = unpack(src->bits, q);
            LayoutConversion way = from.at[3] != to.at[3]   ? CONVERT_CLUSTER
                                   : from.at[2] != to.at[2] ? CONVERT_SHARED
                                   : from.at[1] != to.at[1] ? CONVERT_SHUFFLES
                                   : from.at[0] != to.at[0] ? CONVERT_REGISTERS
                                                            : CONVERT_NOTHING;
            best = way < best ? way : best;
        }
        worst = best > worst ? best : worst;
    }
    return worst;
}

static void check_move(const Layout *dst, const Layout *src) {
    LayoutMove move = layout_move(dst, src);
    for (uint32_t p = 0; p < points(dst); p++) {
        uint32_t q = 0;
        for (int i = 0; i < layout_in_bits(dst); i++)
            q ^= p >> i & 1 ? move.basis[i] : 0;
        assert_true(q < points(src));
        assert_int_equal(apply(src, q), apply(dst, p));
    }
    assert_int_equal(layout_classify(dst, src), nearest(dst, src));
}

static void test_move(void **state) {
    Ctx *ctx = *state;
    static const uint8_t shapes[][LAYOUT_DIMS] = {{1, 1, 1, 0}, {2, 1, 1, 0}, {1, 1, 1, 1}};
    for (size_t a = 0; a < 3; a++)
        for (size_t b = 0; b < 3; b++)
            FOR_ALL_LAYOUTS(dst, ctx, shapes[a], 2)
    FOR_ALL_LAYOUTS(src, ctx, shapes[b], 2)
    if (layout_is_surjective(src))
        check_move(dst, src);
    Rng rng = {3};
    static const uint8_t large[LAYOUT_DIMS] = {3, 5, 2, 0}, wide[LAYOUT_DIMS] = {1, 5, 2, 0};
    for (int i = 0; i < 60; i++) {
        check_move(random_layout(ctx, &rng, wide, 7), random_surjective(ctx, &rng, large, 7));
        check_move(random_permutation(ctx, &rng, large, 8),
                   random_permutation(ctx, &rng, large, 8));
        check_move(random_permutation(ctx, &rng, wide, 5), random_permutation(ctx, &rng, large, 5));
    }
}

static int widest_run(const Layout *l, int first_bit, int limit) {
    int best = 1;
    for (uint32_t v = 2; v <= (uint32_t)limit && v <= 1u << l->bits[LAYOUT_REG]; v *= 2) {
        for (uint32_t p = 0; p < points(l); p++) {
            uint32_t first = apply(l, p & ~(v - 1));
            if ((first >> first_bit) % v || apply(l, p) != first + (p % v << first_bit))
                return best;
        }
        best = (int)v;
    }
    return best;
}

static void test_vector(void **state) {
    Ctx *ctx = *state;
    static const uint8_t bits[LAYOUT_DIMS] = {2, 1, 1, 0};
    FOR_ALL_LAYOUTS(l, ctx, bits, 3)
    for (int limit = 1; limit <= 8; limit *= 2) {
        assert_int_equal(layout_vector(l, limit), widest_run(l, 0, limit));
        assert_int_equal(layout_run(l, 1, limit), widest_run(l, 1, limit));
    }
}

/* Triton's definition: within each dimension registers, then lanes, then warps, then repetition. */
static uint32_t blocked_index(int rank, const int64_t *shape, const int64_t *spt,
                              const int64_t *tpw, const int64_t *warps, const int *order,
                              const uint32_t at[3]) {
    int64_t coordinate[MAX_RANK] = {0};
    uint32_t rest[3] = {at[0], at[1], at[2]};
    for (int i = 0; i < rank; i++) {
        int d = order[i];
        int64_t own = spt[d] < shape[d] ? spt[d] : shape[d];
        int64_t l = rest[1] % tpw[d], w = rest[2] % warps[d], r = rest[0] % own;
        rest[0] /= (uint32_t)own;
        rest[1] /= (uint32_t)tpw[d];
        rest[2] /= (uint32_t)warps[d];
        coordinate[d] = r + spt[d] * (l + tpw[d] * w);
    }
    for (int i = 0; i < rank; i++) {
        int d = order[i];
        int64_t period = spt[d] * tpw[d] * warps[d];
        if (shape[d] > period) {
            coordinate[d] += period * (rest[0] % (shape[d] / period));
            rest[0] /= (uint32_t)(shape[d] / period);
        }
    }
    assert_int_equal(rest[0], 0);
    int64_t index = 0;
    for (int d = 0; d < rank; d++)
        index = index * shape[d] + coordinate[d] % shape[d];
    return (uint32_t)index;
}

static void split_randomly(Rng *rng, int rank, int64_t total, int64_t *out) {
    for (int d = 0; d < rank; d++)
        out[d] = 1;
    for (; total > 1; total /= 2)
        out[rng_below(rng, (uint32_t)rank)] *= 2;
}

static void test_blocked(void **state) {
    Ctx *ctx = *state;
    Rng rng = {4};
    for (int trial = 0; trial < 500; trial++) {
        int rank = 1 + (int)rng_below(&rng, 3);
        int64_t shape[3], spt[3], tpw[3], warps[3];
        split_randomly(&rng, rank, 1 << rng_below(&rng, 11), shape);
        split_randomly(&rng, rank, 1 << rng_below(&rng, 4), spt);
        split_randomly(&rng, rank, 32, tpw);
        split_randomly(&rng, rank, 1 << rng_below(&rng, 4), warps);
        int order[3] = {0, 1, 2};
        for (int i = rank - 1; i > 0; i--) {
            int j = (int)rng_below(&rng, (uint32_t)i + 1), t = order[i];
            order[i] = order[j];
            order[j] = t;
        }
        const Layout *l = layout_blocked(ctx, rank, shape, spt, tpw, warps, order);
        assert_int_equal(l->bits[LAYOUT_LANE], LAYOUT_LANE_BITS);
        assert_true(layout_is_surjective(l));
        for (uint32_t p = 0; p < points(l); p++)
            assert_int_equal(apply(l, p), blocked_index(rank, shape, spt, tpw, warps, order,
                                                        unpack(l->bits, p).at));
    }
}

static uint32_t row_major(int rank, const int64_t *shape, const int64_t *at) {
    int64_t index = 0;
    for (int d = 0; d < rank; d++)
        index = index * shape[d] + at[d];
    return (uint32_t)index;
}

static void coordinates_of(int rank, const int64_t *shape, uint32_t index, int64_t *at) {
    for (int d = rank - 1; d >= 0; d--) {
        at[d] = index % shape[d];
        index /= (uint32_t)shape[d];
    }
}

static void test_transpose(void **state) {
    Ctx *ctx = *state;
    Rng rng = {5};
    static const uint8_t bits[LAYOUT_DIMS] = {3, 3, 2, 0};
    static const int permutations[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                           {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const int64_t shape[3] = {2, 8, 4};
    for (int trial = 0; trial < 50; trial++)
        for (int k = 0; k < 6; k++) {
            const Layout *l = random_layout(ctx, &rng, bits, 6);
            const Layout *t = layout_transpose(ctx, l, 3, shape, permutations[k]);
            for (uint32_t p = 0; p < points(l); p++) {
                int64_t from[3], to[3], result[3];
                coordinates_of(3, shape, apply(l, p), from);
                for (int i = 0; i < 3; i++) {
                    to[i] = from[permutations[k][i]];
                    result[i] = shape[permutations[k][i]];
                }
                assert_int_equal(apply(t, p), row_major(3, result, to));
            }
        }
}

/* Dropping an axis leaves each thread with the slice's elements of what it held. */
static void test_drop_bits(void **state) {
    Ctx *ctx = *state;
    Rng rng = {6};
    static const int64_t shape[3] = {4, 2, 8};
    static const uint8_t bits[LAYOUT_DIMS] = {3, 3, 2, 0};
    for (int trial = 0; trial < 100; trial++)
        for (int axis = 0; axis < 3; axis++) {
            const Layout *l = random_permutation(ctx, &rng, bits, 6);
            uint32_t mask = layout_dim_mask(3, shape, axis);
            int first = __builtin_ctz(mask), count = __builtin_popcount(mask);
            const Layout *inserted = layout_insert_bits(ctx, l, first, count);
            assert_ptr_equal(layout_drop_bits(ctx, inserted, mask), l);
            for (uint32_t i = 0; i < 1u << count; i++)
                assert_int_equal(apply(inserted, i), i << first);
            const Layout *slice = layout_drop_bits(ctx, l, mask);
            assert_int_equal(slice->bits[LAYOUT_LANE], l->bits[LAYOUT_LANE]);
            assert_int_equal(slice->bits[LAYOUT_WARP], l->bits[LAYOUT_WARP]);
            int64_t rest[2] = {shape[axis == 0], shape[axis == 2 ? 1 : 2]};
            for (uint32_t thread = 0; thread < 32; thread++) {
                uint64_t held = 0, expected = 0;
                for (uint32_t r = 0; r < 1u << slice->bits[0]; r++)
                    held |= UINT64_C(1) << apply(slice, r | thread << slice->bits[0]);
                for (uint32_t r = 0; r < 8; r++) {
                    int64_t at[3], kept[2];
                    coordinates_of(3, shape, apply(l, r | thread << 3), at);
                    kept[0] = at[axis == 0];
                    kept[1] = at[axis == 2 ? 1 : 2];
                    expected |= UINT64_C(1) << row_major(2, rest, kept);
                }
                assert_int_equal(held, expected);
            }
            assert_int_equal(layout_dim_mask(3, shape, 0) | layout_dim_mask(3, shape, 1) |
                                 layout_dim_mask(3, shape, 2),
                             63);
        }
}

static void test_join(void **state) {
    Ctx *ctx = *state;
    Rng rng = {7};
    static const uint8_t bits[LAYOUT_DIMS] = {2, 2, 1, 0};
    for (int trial = 0; trial < 100; trial++) {
        const Layout *l = random_layout(ctx, &rng, bits, 4);
        const Layout *joined = layout_join(ctx, l);
        for (uint32_t p = 0; p < points(joined); p++)
            assert_int_equal(apply(joined, p), apply(l, p >> 1) * 2 + p % 2);
        assert_ptr_equal(layout_drop_bits(ctx, joined, 1), l);
    }
}

/* Wherever the two halves lie, a thread holds as many elements of both as it held of the whole, and
 * every element has its place. */
static void test_halves(void **state) {
    Ctx *ctx = *state;
    Rng rng = {8};
    static const uint8_t bits[LAYOUT_DIMS] = {3, 3, 2, 0};
    for (int trial = 0; trial < 200; trial++) {
        const Layout *l = random_permutation(ctx, &rng, bits, 8);
        const Layout *pairs = layout_join(ctx, layout_halves(ctx, l));
        for (int dim = 0; dim < LAYOUT_DIMS; dim++)
            assert_int_equal(pairs->bits[dim], l->bits[dim]);
        assert_true(layout_is_surjective(pairs));
    }
    Layout lanes = {.bits = {0, 3, 0}, .out_bits = 3, .basis = {1, 2, 4}};
    const Layout *half = layout_halves(ctx, layout_get(ctx, &lanes));
    assert_int_equal(half->bits[LAYOUT_LANE], 3); /* no register has anything to give */
    assert_int_equal(layout_bases(half, LAYOUT_LANE)[0], 0);
}

static void test_interned(void **state) {
    Ctx *ctx = *state;
    Layout l = {.bits = {1, 5, 2}, .out_bits = 8, .basis = {1, 2, 4, 8, 16, 32, 64, 128}};
    Layout dirty = l;
    dirty.basis[20] = 77; /* beyond the bases: no part of the value */
    assert_ptr_equal(layout_get(ctx, &l), layout_get(ctx, &dirty));
    l.basis[0] = 3;
    assert_ptr_not_equal(layout_get(ctx, &l), layout_get(ctx, &dirty));
    StrBuf out = strbuf(&ctx->arena);
    layout_print(layout_get(ctx, &dirty), &out);
    assert_string_equal(out.ptr, "{reg = [1], lane = [2, 4, 8, 16, 32], warp = [64, 128]}");
    out = strbuf(&ctx->arena);
    layout_print(layout_replicated(ctx, 1, 1), &out);
    assert_string_equal(out.ptr, "{reg = [1], lane = [0, 0, 0, 0, 0], warp = [0]}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_maps, setup_ctx, teardown_ctx),
        cmocka_unit_test_setup_teardown(test_invert, setup_ctx, teardown_ctx),
        cmocka_unit_test_setup_teardown(test_compose, setup_ctx, teardown_ctx),
        cmocka_unit_test_setup_teardown(test_divide, setup_ctx, teardown_ctx),
        cmocka_unit_test_setup_teardown(test_move, setup_ctx, teardown_ctx),
        cmocka_unit_test_setup_teardown(test_vector, setup_ctx, teardown_ctx),
        cmocka_unit_test_setup_teardown(test_blocked, setup_ctx, teardown_ctx),
        cmocka_unit_test_setup_teardown(test_transpose, setup_ctx, teardown_ctx),
        cmocka_unit_test_setup_teardown(test_drop_bits, setup_ctx, teardown_ctx),
        cmocka_unit_test_setup_teardown(test_halves, setup_ctx, teardown_ctx),
        cmocka_unit_test_setup_teardown(test_join, setup_ctx, teardown_ctx),
        cmocka_unit_test_setup_teardown(test_interned, setup_ctx, teardown_ctx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
