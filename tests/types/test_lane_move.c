/* What conversions within warps cost by shuffles, and that their rounds bring what is asked for. */
#include "layout_testing.h"
#include "types/lane_move.h"
#include <string.h>

static const Layout *layout_of(Ctx *ctx, const uint32_t *regs, int count, const uint32_t *lanes) {
    Layout out = {.bits = {(uint8_t)count, LAYOUT_LANE_BITS}, .out_bits = 0};
    memcpy(out.basis, regs, (size_t)count * sizeof *regs);
    memcpy(out.basis + count, lanes, LAYOUT_LANE_BITS * sizeof *lanes);
    out.out_bits = (uint8_t)(count + LAYOUT_LANE_BITS);
    return layout_get(ctx, &out);
}

static LaneMoveCost cost_of(Ctx *ctx, DType dtype, const Layout *dst, const Layout *src) {
    int64_t shape = INT64_C(1) << src->out_bits;
    return lane_move_cost(type_get(ctx, TYPE_NUMBER, dtype, 1, &shape, src), dst, src);
}

static void test_cost(void **state) {
    Ctx *ctx = *state;
    const Layout *src = layout_of(ctx, (uint32_t[]){1, 2, 128}, 3, (uint32_t[]){4, 8, 16, 32, 64});
    /* Lanes change places: nothing to select. */
    const Layout *lanes =
        layout_of(ctx, (uint32_t[]){1, 2, 128}, 3, (uint32_t[]){64, 8, 16, 32, 4});
    LaneMoveCost cost = cost_of(ctx, DT_F32, lanes, src);
    assert_int_equal(cost.words, 16);
    assert_int_equal(cost.shuffles, 8);
    assert_int_equal(cost.selects, 0);
    /* Two elements of 16 bits are a word, one of 64 is two. */
    assert_int_equal(cost_of(ctx, DT_F16, lanes, src).shuffles, 4);
    assert_int_equal(cost_of(ctx, DT_I64, lanes, src).shuffles, 16);
    /* A register's bit for a lane's: two selections of each word. */
    const Layout *one = layout_of(ctx, (uint32_t[]){1, 2, 64}, 3, (uint32_t[]){4, 8, 16, 32, 128});
    assert_int_equal(cost_of(ctx, DT_F32, one, src).shuffles, 8);
    assert_int_equal(cost_of(ctx, DT_F32, one, src).selects, 16);
    const Layout *two = layout_of(ctx, (uint32_t[]){1, 4, 64}, 3, (uint32_t[]){2, 8, 16, 32, 128});
    assert_int_equal(cost_of(ctx, DT_F32, two, src).selects, 32);
    /* Lanes that read the same are served at once: 32 words that sixteen of them share take the
     * time of eight. */
    Layout spread = {.bits = {1, LAYOUT_LANE_BITS}, .basis = {32, 1, 2, 4, 8, 16}, .out_bits = 6};
    Layout line = {
        .bits = {5, LAYOUT_LANE_BITS}, .basis = {1, 2, 4, 8, 16, 0, 0, 0, 0, 32}, .out_bits = 6};
    cost = cost_of(ctx, DT_F32, layout_get(ctx, &line), layout_get(ctx, &spread));
    assert_int_equal(cost.words, 2 + 8);
    assert_int_equal(cost.shuffles, 32);
}

static void shuffle(Rng *rng, uint32_t *values, int count) {
    for (int i = count - 1; i > 0; i--) {
        uint32_t j = rng_below(rng, (uint32_t)i + 1), kept = values[i];
        values[i] = values[j];
        values[j] = kept;
    }
}

/* Lane l asks in round j for its register j ^ A(l), in that the source lane says what it sends. */
static void test_rounds(void **state) {
    Ctx *ctx = *state;
    Rng rng = {7};
    enum { REGS = 3, BITS = REGS + LAYOUT_LANE_BITS };
    for (int trial = 0; trial < 500; trial++) {
        uint32_t from[BITS], to[BITS], a[LAYOUT_MAX_BASES], sent[LAYOUT_MAX_BASES];
        for (int i = 0; i < BITS; i++)
            from[i] = to[i] = 1u << i;
        shuffle(&rng, from, BITS);
        shuffle(&rng, to, BITS);
        const Layout *src = layout_of(ctx, from, REGS, from + REGS);
        const Layout *dst = layout_of(ctx, to, REGS, to + REGS);
        LaneMove move = lane_move(dst, src);
        assert_true(lane_move_rounds(&move, a, sent));
        for (uint32_t round = 0; round < 1u << REGS; round++)
            for (uint32_t lane = 0; lane < 1u << LAYOUT_LANE_BITS; lane++) {
                uint32_t reg = round ^ lane_move_apply(a, lane);
                uint32_t asked = lane_move_apply(move.lane_of_reg, reg) ^
                                 lane_move_apply(move.lane_of_thread, lane);
                /* What `asked` sends in this round, in its own numbering. */
                uint32_t gets = lane_move_apply(move.reg_of_reg, round) ^
                                lane_move_apply(sent, lane_move_apply(move.lane_of_reg, round)) ^
                                lane_move_apply(sent, asked);
                assert_int_equal(layout_apply(dst, reg, lane, 0, 0),
                                 layout_apply(src, gets, asked, 0, 0));
            }
    }
}

/* Where sharing results out pays, and what it does: halves as long as there are, then butterflies.
 */
static void test_shared_reduction(void **state) {
    static const struct {
        LaneReduction reduction;
        uint32_t shared, shuffles, combinations;
    } cases[] = {
        {{.results = 16, .steps = 5, .words = 1, .ops = 1}, 4, 32, 16},
        {{.results = 32, .steps = 4, .words = 1, .ops = 1}, 4, 62, 30},
        {{.results = 4, .steps = 5, .words = 1, .ops = 1}, 2, 10, 6},
        {{.results = 4, .steps = 5, .words = 2, .ops = 5}, 2, 20, 6},
        {{.results = 8, .steps = 3, .words = 1, .ops = 1}, 3, 15, 7},
        {{.results = 4, .steps = 2, .words = 1, .ops = 1}, 0, 8, 8}, /* rows of an accumulator */
        {{.results = 2, .steps = 5, .words = 1, .ops = 1}, 0, 10, 10},
        {{.results = 12, .steps = 5, .words = 1, .ops = 1}, 0, 60, 60},
        {{.results = 8, .steps = 0, .words = 1, .ops = 1}, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t shared = lane_shared_steps(&cases[i].reduction);
        LaneReductionWork work = lane_reduction_work(&cases[i].reduction, shared);
        assert_int_equal(shared, cases[i].shared);
        assert_int_equal(work.shuffles, cases[i].shuffles);
        assert_int_equal(work.combinations, cases[i].combinations);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_reduction),
        cmocka_unit_test_setup_teardown(test_cost, setup_ctx, teardown_ctx),
        cmocka_unit_test_setup_teardown(test_rounds, setup_ctx, teardown_ctx)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
