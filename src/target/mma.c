/* See mma.h. */
#include "target/mma.h"
#include <assert.h>

static const Mma mma_table[] = {
#define MMA(a, b, acc, capability, m, n, k, name)                                                  \
    {DT_##a, DT_##b, DT_##acc, capability, m, n, k, name},
#include "target/mma.def"
};

const Mma *mma_find(DType a, DType b, DType acc, int capability) {
    for (size_t i = 0; i < sizeof mma_table / sizeof *mma_table; i++) {
        const Mma *mma = &mma_table[i];
        if (mma->a == a && mma->b == b && mma->acc == acc && capability >= mma->capability)
            return mma;
    }
    return NULL;
}

/* A layout under construction: registers are collected first, then lanes and warps follow. */
typedef struct Bases {
    Layout layout;
    int count;
} Bases;

static void append(Bases *bases, LayoutDim dim, uint32_t basis) {
    assert(bases->count < LAYOUT_MAX_BASES);
    bases->layout.basis[bases->count++] = basis;
    bases->layout.bits[dim]++;
}

/* Index bits of one dimension. */
typedef struct Side {
    int first;
    int64_t size;
} Side;

static Side side_of(const Type *type, int dim) {
    uint32_t mask = layout_dim_mask(type->rank, type->shape, dim);
    return (Side){mask ? __builtin_ctz(mask) : 0, type->shape[dim]};
}

/* The base of coordinate `at` along a side; none beyond it. */
static uint32_t base_of(Side side, int64_t at) {
    return at < side.size ? (uint32_t)at << side.first : 0;
}

static void append_register(Bases *bases, uint32_t basis) {
    if (basis)
        append(bases, LAYOUT_REG, basis);
}

const Layout *layout_mma_accumulator(Ctx *ctx, const Mma *mma, const Type *acc,
                                     const int64_t warps[MAX_RANK], int warp_bits) {
    int rank = acc->rank;
    Side row = side_of(acc, rank - 2), column = side_of(acc, rank - 1);
    Bases bases = {.layout.out_bits = (uint8_t)acc->log2_numel};
    append_register(&bases, base_of(column, 1));
    append_register(&bases, mma->m > 8 ? base_of(row, 8) : 0);
    /* Each warp has a contiguous part of every dimension: fragments along N first. */
    for (int d = rank - 1; d >= 0; d--) {
        Side side = side_of(acc, d);
        int64_t fragment = d == rank - 1 ? mma->n : d == rank - 2 ? mma->m : 1;
        for (int64_t at = fragment; at * warps[d] < side.size; at *= 2)
            append(&bases, LAYOUT_REG, base_of(side, at));
    }
    for (int at = 2; at < mma->n; at *= 2)
        append(&bases, LAYOUT_LANE, base_of(column, at));
    for (int at = 1; at < 8; at *= 2)
        append(&bases, LAYOUT_LANE, base_of(row, at));
    int placed = 0;
    for (int d = rank - 2; placed < warp_bits && d >= -1; d--) {
        /* M, then the batch, and N last: neighbouring warps share columns. */
        int dim = d >= 0 ? d : rank - 1;
        Side side = side_of(acc, dim);
        for (int64_t n = warps[dim]; n > 1 && placed < warp_bits; n /= 2, placed++)
            append(&bases, LAYOUT_WARP, base_of(side, side.size / n));
    }
    for (; placed < warp_bits; placed++)
        append(&bases, LAYOUT_WARP, 0);
    return layout_get(ctx, &bases.layout);
}

/* What an accumulator index says of an operand: its row of a or column of b, and its batch. */
static uint32_t project(const Type *acc, const Type *operand, int index, uint32_t at) {
    int rank = acc->rank, kept = index == 0 ? rank - 2 : rank - 1;
    Side from = side_of(acc, kept), to = side_of(operand, kept);
    uint32_t along = at >> from.first & (uint32_t)(from.size - 1);
    int acc_bits = acc->log2_numel, operand_bits = operand->log2_numel;
    for (int d = 0; d < rank - 2; d++) {
        int bits = __builtin_ctzll((unsigned long long)acc->shape[d]);
        acc_bits -= bits;
        operand_bits -= bits;
    }
    return along << to.first | at >> acc_bits << operand_bits;
}

const Layout *layout_mma_operand(Ctx *ctx, const Mma *mma, const Type *acc,
                                 const Layout *acc_layout, const Type *operand, int index) {
    int rank = acc->rank, word = mma_word(mma);
    int fragment = index == 0 ? mma->m : mma->n;
    Side k = side_of(operand, index == 0 ? rank - 1 : rank - 2);
    Side other = side_of(operand, index == 0 ? rank - 2 : rank - 1);
    Bases bases = {.layout.out_bits = (uint8_t)operand->log2_numel};
    for (int at = 1; at < word; at *= 2)
        append_register(&bases, base_of(k, at));
    append_register(&bases, fragment > 8 ? base_of(other, 8) : 0);
    for (int64_t at = 4 * word; at < mma->k; at *= 2)
        append_register(&bases, base_of(k, at));
    int64_t held = other.size < fragment ? other.size : fragment;
    uint32_t within = (uint32_t)(held - 1) << other.first; /* index bits inside a fragment */
    for (int i = 0; i < acc_layout->bits[LAYOUT_REG]; i++) {
        uint32_t base = project(acc, operand, index, acc_layout->basis[i]);
        append_register(&bases, base & ~within);
    }
    /* Steps along k last: what is read first is multiplied first. */
    for (int64_t at = mma->k; at < k.size; at *= 2)
        append_register(&bases, base_of(k, at));
    append(&bases, LAYOUT_LANE, base_of(k, word));
    append(&bases, LAYOUT_LANE, base_of(k, 2 * word));
    for (int at = 1; at < 8; at *= 2)
        append(&bases, LAYOUT_LANE, base_of(other, at));
    const uint32_t *warps = layout_bases(acc_layout, LAYOUT_WARP);
    for (int i = 0; i < acc_layout->bits[LAYOUT_WARP]; i++)
        append(&bases, LAYOUT_WARP, project(acc, operand, index, warps[i]));
    return layout_get(ctx, &bases.layout);
}
