/* The algebra of layouts: composition, inverse, division, moves between layouts and their cost.
 *
 * Everything is an elimination of at most LAYOUT_MAX_BASES vectors (types/gf2.h). */
#include "support/ctx.h"
#include "types/gf2.h"
#include "types/layout.h"
#include <assert.h>

static uint32_t apply_packed(const Layout *layout, uint32_t in) {
    uint32_t out = 0;
    for (; in; in &= in - 1)
        out ^= layout->basis[__builtin_ctz(in)];
    return out;
}

uint32_t layout_apply(const Layout *layout, uint32_t reg, uint32_t lane, uint32_t warp,
                      uint32_t block) {
    const uint32_t coordinates[LAYOUT_DIMS] = {reg, lane, warp, block};
    uint32_t out = 0;
    for (int dim = 0; dim < LAYOUT_DIMS; dim++) {
        const uint32_t *bases = layout_bases(layout, (LayoutDim)dim);
        assert((uint64_t)coordinates[dim] >> layout->bits[dim] == 0);
        for (uint32_t rest = coordinates[dim]; rest; rest &= rest - 1)
            out ^= bases[__builtin_ctz(rest)];
    }
    return out;
}

/* The span of all bases; combinations are over packed inputs. */
static Gf2 image(const Layout *layout) {
    Gf2 space = {0};
    for (int i = 0; i < layout_in_bits(layout); i++)
        gf2_insert(&space, layout->basis[i], 1u << i);
    return space;
}

int layout_rank(const Layout *layout) {
    return image(layout).rank;
}

bool layout_is_surjective(const Layout *layout) {
    return layout_rank(layout) == layout->out_bits;
}

bool layout_is_injective(const Layout *layout) {
    return layout_rank(layout) == layout_in_bits(layout);
}

uint32_t layout_free_bits(const Layout *layout) {
    Gf2 space = {0};
    uint32_t free_bits = 0;
    for (int i = 0; i < layout_in_bits(layout); i++)
        if (!gf2_insert(&space, layout->basis[i], 0))
            free_bits |= 1u << i;
    return free_bits;
}

int layout_owned_registers(const Layout *layout) {
    uint32_t registers = (1u << layout->bits[LAYOUT_REG]) - 1;
    return 1 << __builtin_popcount(registers & ~layout_free_bits(layout));
}

const Layout *layout_compose(Ctx *ctx, const Layout *outer, const Layout *inner) {
    assert(inner->out_bits <= layout_in_bits(outer));
    Layout out = *inner;
    out.out_bits = outer->out_bits;
    for (int i = 0; i < layout_in_bits(inner); i++)
        out.basis[i] = apply_packed(outer, inner->basis[i]);
    return layout_get(ctx, &out);
}

const Layout *layout_invert(Ctx *ctx, const Layout *layout) {
    int n = layout_in_bits(layout);
    Gf2 space = image(layout);
    if (n != layout->out_bits || space.rank != n)
        return NULL;
    Layout out = {.bits = {(uint8_t)n}, .out_bits = (uint8_t)n};
    for (int i = 0; i < n; i++)
        gf2_solve(&space, 1u << i, &out.basis[i]);
    return layout_get(ctx, &out);
}

const Layout *layout_product(Ctx *ctx, const Layout *low, const Layout *high) {
    Layout out = {.out_bits = (uint8_t)(low->out_bits + high->out_bits)};
    int n = 0;
    for (int dim = 0; dim < LAYOUT_DIMS; dim++) {
        out.bits[dim] = (uint8_t)(low->bits[dim] + high->bits[dim]);
        assert(n + out.bits[dim] <= LAYOUT_MAX_BASES);
        for (int i = 0; i < low->bits[dim]; i++)
            out.basis[n++] = layout_bases(low, (LayoutDim)dim)[i];
        for (int i = 0; i < high->bits[dim]; i++)
            out.basis[n++] = layout_bases(high, (LayoutDim)dim)[i] << low->out_bits;
    }
    return layout_get(ctx, &out);
}

/* Takes `tile` from the low (or high) bases of every coordinate; the rest must not touch its index
 * bits. */
static const Layout *divide(Ctx *ctx, const Layout *layout, const Layout *tile, bool left) {
    if (tile->out_bits > layout->out_bits)
        return NULL;
    int quotient_bits = layout->out_bits - tile->out_bits;
    int tile_shift = left ? 0 : quotient_bits, quotient_shift = left ? tile->out_bits : 0;
    uint64_t tile_mask = ((UINT64_C(1) << tile->out_bits) - 1) << tile_shift;
    Layout out = {.out_bits = (uint8_t)quotient_bits};
    int n = 0;
    for (int dim = 0; dim < LAYOUT_DIMS; dim++) {
        int count = layout->bits[dim], tiled = tile->bits[dim];
        if (tiled > count)
            return NULL;
        int tile_first = left ? 0 : count - tiled;
        const uint32_t *bases = layout_bases(layout, (LayoutDim)dim);
        const uint32_t *tile_bases = layout_bases(tile, (LayoutDim)dim);
        for (int i = 0; i < count; i++) {
            if (i >= tile_first && i < tile_first + tiled) {
                if (bases[i] != (uint64_t)tile_bases[i - tile_first] << tile_shift)
                    return NULL;
            } else {
                if (bases[i] & tile_mask)
                    return NULL;
                out.basis[n++] = bases[i] >> quotient_shift;
                out.bits[dim]++;
            }
        }
    }
    return layout_get(ctx, &out);
}

const Layout *layout_divide_left(Ctx *ctx, const Layout *layout, const Layout *tile) {
    return divide(ctx, layout, tile, true);
}

const Layout *layout_divide_right(Ctx *ctx, const Layout *layout, const Layout *tile) {
    return divide(ctx, layout, tile, false);
}

LayoutMove layout_move(const Layout *dst, const Layout *src) {
    assert(dst->out_bits == src->out_bits);
    LayoutMove move = {0};
    memcpy(move.dst_bits, dst->bits, sizeof move.dst_bits);
    memcpy(move.src_bits, src->bits, sizeof move.src_bits);
    /* prefix[k]: what a source can reach by changing its first k coordinates only. Registers are
     * inserted first, hence preferred over lanes, lanes over warps. */
    Gf2 prefix[LAYOUT_DIMS + 1] = {0};
    for (int dim = 0; dim < LAYOUT_DIMS; dim++) {
        int first = layout_first_bit(src->bits, (LayoutDim)dim);
        prefix[dim + 1] = prefix[dim];
        for (int i = first; i < first + src->bits[dim]; i++)
            gf2_insert(&prefix[dim + 1], src->basis[i], 1u << i);
    }
    for (int dim = 0, n = 0; dim < LAYOUT_DIMS; dim++)
        for (int i = 0; i < dst->bits[dim]; i++, n++) {
            bool same = i < src->bits[dim];
            uint32_t start = same ? 1u << (layout_first_bit(src->bits, (LayoutDim)dim) + i) : 0;
            uint32_t difference = dst->basis[n] ^ apply_packed(src, start), change = 0;
            int k = 0;
            while (k <= LAYOUT_DIMS && !gf2_solve(&prefix[k], difference, &change))
                k++;
            assert(k <= LAYOUT_DIMS); /* src is surjective */
            move.basis[n] = start ^ change;
        }
    return move;
}

LayoutConversion layout_classify(const Layout *dst, const Layout *src) {
    if (dst == src)
        return CONVERT_NOTHING;
    LayoutMove move = layout_move(dst, src);
    static const LayoutConversion crossing[LAYOUT_DIMS] = {CONVERT_REGISTERS, CONVERT_SHUFFLES,
                                                           CONVERT_SHARED, CONVERT_CLUSTER};
    LayoutConversion worst = CONVERT_NOTHING;
    if (dst->bits[LAYOUT_REG] != src->bits[LAYOUT_REG])
        worst = CONVERT_REGISTERS;
    for (int from = 0, n = 0; from < LAYOUT_DIMS; from++)
        for (int i = 0; i < dst->bits[from]; i++, n++)
            for (int dim = 0; dim < LAYOUT_DIMS; dim++) {
                int first = layout_first_bit(src->bits, (LayoutDim)dim);
                uint64_t wanted = dim == from ? UINT64_C(1) << i : 0;
                uint64_t mask = (UINT64_C(1) << src->bits[dim]) - 1;
                if ((move.basis[n] >> first & mask) != wanted && crossing[dim] > worst)
                    worst = crossing[dim];
            }
    return worst;
}

int layout_run(const Layout *layout, int first_bit, int limit) {
    int n = layout_in_bits(layout), bits = 0;
    while (bits < layout->bits[LAYOUT_REG] && (2 << bits) <= limit && first_bit + bits < 32 &&
           layout->basis[bits] == 1u << (first_bit + bits))
        bits++;
    /* Any other base that touches these bits would permute the elements of some vectors; bases
     * given up here hold one bit above those that stay. */
    for (int i = 0; i < n; i++)
        while (bits > 0 && i >= bits && layout->basis[i] >> first_bit & ((1u << bits) - 1))
            bits--;
    return 1 << bits;
}
