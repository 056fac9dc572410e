/* Layouts: interning, constructors, the shape-changing ops and text. The algebra is in
 * layout_algebra.c, shared memory in layout_shared.c. */
#include "types/layout.h"
#include "support/bits.h"
#include "support/ctx.h"
#include "types/type.h"
#include <assert.h>

static const char *const dim_names[LAYOUT_DIMS] = {"reg", "lane", "warp", "block"};

const Layout *layout_get(Ctx *ctx, const Layout *layout) {
    int n = layout_in_bits(layout);
    assert(layout->out_bits <= 31 && n <= LAYOUT_MAX_BASES);
    /* Field by field: padding takes part in the comparison of interned bytes. */
    Layout key;
    memset(&key, 0, sizeof key);
    memcpy(key.bits, layout->bits, sizeof key.bits);
    key.out_bits = layout->out_bits;
    memcpy(key.basis, layout->basis, (size_t)n * sizeof *key.basis);
    return intern(ctx, ctx->layouts, &key, sizeof key);
}

static int first_index_bit(int rank, const int64_t *shape, int axis) {
    int bit = 0;
    for (int d = rank - 1; d > axis; d--)
        bit += log2_exact(shape[d]);
    return bit;
}

/* Appends a base to the coordinate under construction; bases are added in the order of coordinates.
 */
static void append(Layout *layout, LayoutDim dim, uint32_t basis) {
    int n = layout_in_bits(layout);
    assert(n < LAYOUT_MAX_BASES);
    layout->basis[n] = basis;
    layout->bits[dim]++;
}

const Layout *layout_blocked(Ctx *ctx, int rank, const int64_t *shape,
                             const int64_t *size_per_thread, const int64_t *threads_per_warp,
                             const int64_t *warps, const int *order) {
    assert(rank >= 1 && rank <= MAX_RANK);
    const int64_t *counts[] = {size_per_thread, threads_per_warp, warps};
    /* Bits of each dimension that are taken, first and last of them: beyond the size they are void.
     */
    int taken[MAX_RANK] = {0}, size[MAX_RANK], first[MAX_RANK];
    Layout layout = {0};
    for (int d = 0; d < rank; d++) {
        size[d] = log2_exact(shape[d]);
        first[d] = first_index_bit(rank, shape, d);
        layout.out_bits = (uint8_t)(layout.out_bits + size[d]);
    }
    uint32_t parts[3][LAYOUT_MAX_BASES];
    int lengths[3] = {0};
    for (int part = 0; part < 3; part++)
        for (int i = 0; i < rank; i++) {
            int d = order[i];
            for (int n = log2_exact(counts[part][d]); n > 0; n--, taken[d]++) {
                bool beyond = taken[d] >= size[d];
                if (part == LAYOUT_REG && beyond)
                    continue;
                parts[part][lengths[part]++] = beyond ? 0 : 1u << (first[d] + taken[d]);
            }
        }
    for (int i = 0; i < lengths[0]; i++)
        append(&layout, LAYOUT_REG, parts[0][i]);
    for (int i = 0; i < rank; i++)
        for (int d = order[i]; taken[d] < size[d]; taken[d]++)
            append(&layout, LAYOUT_REG, 1u << (first[d] + taken[d]));
    for (int part = 1; part < 3; part++)
        for (int i = 0; i < lengths[part]; i++)
            append(&layout, (LayoutDim)part, parts[part][i]);
    return layout_get(ctx, &layout);
}

static Layout all_in_registers(int out_bits) {
    Layout layout = {.out_bits = (uint8_t)out_bits};
    for (int i = 0; i < out_bits; i++)
        append(&layout, LAYOUT_REG, 1u << i);
    return layout;
}

const Layout *layout_row_major(Ctx *ctx, int out_bits) {
    Layout layout = all_in_registers(out_bits);
    return layout_get(ctx, &layout);
}

const Layout *layout_replicated(Ctx *ctx, int out_bits, int warp_bits) {
    Layout layout = all_in_registers(out_bits);
    layout.bits[LAYOUT_LANE] = LAYOUT_LANE_BITS;
    layout.bits[LAYOUT_WARP] = (uint8_t)warp_bits;
    return layout_get(ctx, &layout);
}

const Layout *layout_transpose(Ctx *ctx, const Layout *layout, int rank, const int64_t *shape,
                               const int *permutation) {
    /* Where each index bit of the operand goes. */
    uint8_t to[32] = {0};
    int64_t result[MAX_RANK];
    for (int i = 0; i < rank; i++)
        result[i] = shape[permutation[i]];
    for (int i = 0; i < rank; i++) {
        int from = first_index_bit(rank, shape, permutation[i]);
        int dest = first_index_bit(rank, result, i);
        for (int b = 0; b < log2_exact(result[i]); b++)
            to[from + b] = (uint8_t)(dest + b);
    }
    Layout out = *layout;
    for (int i = 0; i < layout_in_bits(layout); i++) {
        out.basis[i] = 0;
        for (uint32_t rest = layout->basis[i]; rest; rest &= rest - 1)
            out.basis[i] |= 1u << to[__builtin_ctz(rest)];
    }
    return layout_get(ctx, &out);
}

const Layout *layout_of_part(Ctx *ctx, const Layout *layout, int rank, const int64_t *part,
                             const int64_t *whole) {
    uint8_t to[32] = {0};
    Layout out = *layout;
    out.out_bits = 0;
    for (int d = 0; d < rank; d++) {
        int from = first_index_bit(rank, part, d), dest = first_index_bit(rank, whole, d);
        for (int b = 0; b < log2_exact(part[d]); b++)
            to[from + b] = (uint8_t)(dest + b);
        out.out_bits = (uint8_t)(out.out_bits + log2_exact(whole[d]));
    }
    for (int i = 0; i < layout_in_bits(layout); i++) {
        out.basis[i] = 0;
        for (uint32_t rest = layout->basis[i]; rest; rest &= rest - 1)
            out.basis[i] |= 1u << to[__builtin_ctz(rest)];
    }
    return layout_get(ctx, &out);
}

uint32_t layout_part_mask(int rank, const int64_t *part, const int64_t *whole) {
    uint32_t mask = 0;
    for (int d = 0; d < rank; d++) {
        uint32_t all = layout_dim_mask(rank, whole, d);
        mask |= all & ~(all >> (log2_exact(whole[d]) - log2_exact(part[d])));
    }
    return mask;
}

uint32_t layout_registers_in_part(const Layout *layout, int rank, const int64_t *part,
                                  const int64_t *whole) {
    uint32_t between = layout_part_mask(rank, part, whole), within = 0;
    for (int bit = 0; bit < layout->bits[LAYOUT_REG]; bit++)
        if (layout->basis[bit] && !(layout->basis[bit] & between))
            within |= 1u << bit;
    return within;
}

static uint32_t close_gaps(uint32_t basis, uint32_t removed) {
    uint32_t out = 0;
    int position = 0;
    for (int b = 0; b < 32; b++) {
        if (removed >> b & 1)
            continue;
        out |= (basis >> b & 1) << position++;
    }
    return out;
}

const Layout *layout_drop_bits(Ctx *ctx, const Layout *layout, uint32_t mask) {
    mask &= (uint32_t)((UINT64_C(1) << layout->out_bits) - 1);
    Layout out = {.out_bits = (uint8_t)(layout->out_bits - __builtin_popcount(mask))};
    for (int dim = 0; dim < LAYOUT_DIMS; dim++)
        for (int i = 0; i < layout->bits[dim]; i++) {
            uint32_t basis = layout_bases(layout, (LayoutDim)dim)[i];
            uint32_t kept = close_gaps(basis, mask);
            /* A register that was zero before holds a copy on purpose; one that became zero went.
             */
            if (dim == LAYOUT_REG && kept == 0 && basis != 0)
                continue;
            append(&out, (LayoutDim)dim, kept);
        }
    return layout_get(ctx, &out);
}

const Layout *layout_insert_bits(Ctx *ctx, const Layout *layout, int first, int count) {
    Layout out = {.out_bits = (uint8_t)(layout->out_bits + count)};
    uint32_t below = (1u << first) - 1;
    for (int i = 0; i < count; i++)
        append(&out, LAYOUT_REG, 1u << (first + i));
    for (int dim = 0; dim < LAYOUT_DIMS; dim++)
        for (int i = 0; i < layout->bits[dim]; i++) {
            uint32_t basis = layout_bases(layout, (LayoutDim)dim)[i];
            append(&out, (LayoutDim)dim, (basis & below) | (basis & ~below) << count);
        }
    return layout_get(ctx, &out);
}

/* The last basis of a register that is not zero, taken out; 0: there is none. */
static uint32_t take_register(Layout *layout) {
    for (int i = layout->bits[LAYOUT_REG] - 1; i >= 0; i--) {
        const uint32_t basis = layout->basis[i];
        if (!basis)
            continue;
        const int behind = layout_in_bits(layout) - i - 1;
        memmove(layout->basis + i, layout->basis + i + 1, (size_t)behind * sizeof *layout->basis);
        layout->bits[LAYOUT_REG]--;
        return basis;
    }
    return 0;
}

const Layout *layout_halves(Ctx *ctx, const Layout *layout) {
    Layout out = *layout_drop_bits(ctx, layout, 1);
    for (int dim = LAYOUT_LANE; dim <= LAYOUT_WARP; dim++)
        for (int i = 0; i < layout->bits[dim]; i++)
            if (layout_bases(layout, (LayoutDim)dim)[i] == 1) {
                const uint32_t basis = take_register(&out);
                const int first = (int)(layout_bases(&out, (LayoutDim)dim) - out.basis);
                out.basis[first + i] = basis;
            }
    return layout_get(ctx, &out);
}

uint32_t layout_dim_mask(int rank, const int64_t *shape, int axis) {
    uint32_t ones = (uint32_t)(shape[axis] - 1);
    return ones << first_index_bit(rank, shape, axis);
}

const Layout *layout_join(Ctx *ctx, const Layout *layout) {
    Layout out = {.out_bits = (uint8_t)(layout->out_bits + 1)};
    append(&out, LAYOUT_REG, 1);
    for (int dim = 0; dim < LAYOUT_DIMS; dim++)
        for (int i = 0; i < layout->bits[dim]; i++)
            append(&out, (LayoutDim)dim, layout_bases(layout, (LayoutDim)dim)[i] << 1);
    return layout_get(ctx, &out);
}

void layout_print(const Layout *layout, StrBuf *out) {
    const char *separator = "{";
    for (int dim = 0; dim < LAYOUT_DIMS; dim++) {
        if (!layout->bits[dim])
            continue;
        strbuf_printf(out, "%s%s = [", separator, dim_names[dim]);
        for (int i = 0; i < layout->bits[dim]; i++)
            strbuf_printf(out, "%s%u", i ? ", " : "", layout_bases(layout, (LayoutDim)dim)[i]);
        strbuf_putc(out, ']');
        separator = ", ";
    }
    strbuf_puts(out, *separator == '{' ? "{}" : "}");
}
