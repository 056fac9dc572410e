/* Panels and boxes against what the hardware does: a copy of a box writes element after element in
 * the order of the map's dimensions, with bits 4 to 6 of the address XORed by bits 7 to 9 as the
 * swizzle's span says (CUDA driver API, cuTensorMapEncodeTiled; PTX ISA, "Swizzling modes"). */
#include "../types/layout_testing.h"

#include "target/panels.h"

static uint32_t swizzled(uint32_t address, int span) {
    uint32_t mask = (uint32_t)span / 16 - 1;
    return address ^ ((address >> 7 & mask) << 4);
}

/* Of each element of the block its place in the buffer, the first one. */
static uint32_t *places_of(Ctx *ctx, const Layout *layout, const Type *type) {
    uint32_t count = (uint32_t)type_numel(type);
    uint32_t *places = ARENA_ARRAY(&ctx->arena, uint32_t, count);
    memset(places, 0xff, count * sizeof *places);
    for (uint32_t at = 0; at < 1u << layout->bits[LAYOUT_REG]; at++) {
        uint32_t flat = layout_apply(layout, at, 0, 0, 0);
        assert_true(flat < count);
        if (places[flat] == UINT32_MAX)
            places[flat] = at;
    }
    return places;
}

static void check_bytes(const uint32_t *places, const Type *type, const Boxes *boxes, Panels panels,
                        uint32_t number, bool *seen) {
    int bytes = type_element_bytes(type);
    int64_t origin[MAX_RANK], index[MAX_RANK];
    box_origin(boxes, type, number, origin);
    uint32_t count = 1, first = UINT32_MAX;
    for (int i = 0; i < boxes->rank; i++)
        count *= (uint32_t)boxes->sides[i];
    for (uint32_t element = 0; element < count; element++) {
        uint32_t rest = element, flat = 0;
        for (int i = 0; i < boxes->rank; i++) {
            index[boxes->dims[i]] = origin[boxes->dims[i]] + rest % (uint32_t)boxes->sides[i];
            rest /= (uint32_t)boxes->sides[i];
        }
        for (int d = 0; d < type->rank; d++)
            flat = flat * (uint32_t)type->shape[d] + (uint32_t)index[d];
        assert_false(seen[flat]);
        seen[flat] = true;
        uint32_t at = places[flat];
        assert_true(at != UINT32_MAX);
        if (element == 0)
            first = at * (uint32_t)bytes;
        assert_int_equal(at * (uint32_t)bytes,
                         swizzled(first + element * (uint32_t)bytes, panels.span));
    }
    assert_int_equal(first % (uint32_t)(PANEL_LINES * panels.span), 0);
}

static void check_block(Ctx *ctx, DType dtype, int rank, const int64_t *shape, int line, int span) {
    const Type *type = type_get(ctx, TYPE_NUMBER, dtype, rank, shape, NULL);
    Panels panels, found;
    Boxes boxes;
    assert_true(panels_for(type, line, &panels));
    assert_int_equal(panels.span, span);
    const Layout *layout = layout_panels(ctx, type, panels);
    assert_true(layout_find_panels(ctx, type, layout, &found));
    assert_memory_equal(&found, &panels, sizeof found);
    assert_true(boxes_of(type, panels, &boxes));
    assert_int_equal(boxes.dims[0], line);
    bool *seen = ARENA_ARRAY(&ctx->arena, bool, (size_t)type_numel(type));
    const uint32_t *places = places_of(ctx, layout, type);
    for (uint32_t i = 0; i < boxes.count; i++)
        check_bytes(places, type, &boxes, panels, i, seen);
    for (int64_t i = 0; i < type_numel(type); i++)
        assert_true(seen[i]);
    for (int i = 0; i < boxes.rank; i++)
        assert_in_range(boxes.sides[i], 1, BOX_MAX_SIDE);
}

static void test_panels(void **state) {
    Ctx *ctx = ctx_create();
    check_block(ctx, DT_F16, 2, (int64_t[]){64, 64}, 1, 128);
    check_block(ctx, DT_F16, 2, (int64_t[]){32, 128}, 1, 128); /* two panels */
    check_block(ctx, DT_F16, 2, (int64_t[]){128, 16}, 0, 128);
    check_block(ctx, DT_F16, 2, (int64_t[]){32, 32}, 1, 64);
    check_block(ctx, DT_BF16, 2, (int64_t[]){16, 16}, 1, 32);
    check_block(ctx, DT_F32, 2, (int64_t[]){8, 64}, 1, 128);
    check_block(ctx, DT_F8E4M3, 2, (int64_t[]){16, 64}, 1, 64);
    check_block(ctx, DT_F64, 2, (int64_t[]){16, 4}, 1, 32);
    check_block(ctx, DT_F16, 3, (int64_t[]){4, 8, 64}, 2, 128);
    check_block(ctx, DT_F16, 3, (int64_t[]){4, 32, 8}, 1, 64);
    check_block(ctx, DT_F16, 4, (int64_t[]){1, 1, 16, 128}, 3, 128);
    check_block(ctx, DT_F16, 2, (int64_t[]){512, 16}, 1, 32);   /* a side over 256 */
    check_block(ctx, DT_I8, 3, (int64_t[]){2, 512, 32}, 2, 32); /* what is beyond it apart */
    ctx_destroy(ctx);
}

static void test_no_panels(void **state) {
    Ctx *ctx = ctx_create();
    Panels panels;
    Boxes boxes;
    const Type *narrow = type_get(ctx, TYPE_NUMBER, DT_F16, 2, (int64_t[]){64, 8}, NULL);
    assert_false(panels_for(narrow, 1, &panels));
    const Type *short_one = type_get(ctx, TYPE_NUMBER, DT_F16, 2, (int64_t[]){4, 64}, NULL);
    assert_false(panels_for(short_one, 1, &panels));
    const Type *deep = type_get(ctx, TYPE_NUMBER, DT_F16, 6, (int64_t[]){1, 1, 1, 1, 8, 64}, NULL);
    assert_true(panels_for(deep, 5, &panels));
    assert_false(boxes_of(deep, panels, &boxes));
    ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_panels),
        cmocka_unit_test(test_no_panels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
