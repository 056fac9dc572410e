/* Matrix loads: which of them a pair of layouts allows, and the layout of a buffer for them.
 *
 * Seen from memory a matrix load is an access of 16 bytes by each lane, so that its conflicts and
 * the swizzle against them are those of a layout in which lanes hold rows:
 *
 *     tile       reg [in a word | a b | more]   lane [word of the row: 2 | row: 3]
 *     rows       reg [in a word, word of the row | more]   lane [row: 3 | a b]
 *
 * and transposed, where the elements of a word come from two rows:
 *
 *     tile       reg [row | a b | more]         lane [row: 2 | element of the row: 3]
 *     rows       reg [element of the row: 3 | more]        lane [row: 3 | a b]
 */
#include "support/bits.h"
#include "support/ctx.h"
#include "types/layout.h"
#include <assert.h>

enum { ROW_BYTES = 16, WORD_BYTES = 4, WORDS_BITS = 2, ROWS_BITS = 3, MOST_MATRIX_BITS = 2 };

/* The layout of rows that goes with `dist`; NULL if a warp does not hold such matrices. */
static const Layout *rows_of(Ctx *ctx, const Layout *dist, int element_bytes, bool transposed) {
    int word_bits = element_bytes <= WORD_BYTES ? log2_exact(WORD_BYTES / element_bytes) : -1;
    int registers = dist->bits[LAYOUT_REG];
    if (word_bits < 0 || registers < word_bits || (transposed && element_bytes != 2) ||
        dist->bits[LAYOUT_LANE] != LAYOUT_LANE_BITS)
        return NULL;
    uint32_t held = (1u << registers) - 1;
    if (layout_free_bits(dist) & held)
        return NULL;
    const uint32_t *lane = layout_bases(dist, LAYOUT_LANE);
    int matrix_bits = registers - word_bits;
    matrix_bits = matrix_bits < MOST_MATRIX_BITS ? matrix_bits : MOST_MATRIX_BITS;
    Layout rows = {.out_bits = dist->out_bits};
    int n = 0;
    /* What a row holds must be there; rows may repeat. */
    int row_lanes = transposed ? ROWS_BITS : WORDS_BITS, first = transposed ? WORDS_BITS : 0;
    for (int i = 0; i < row_lanes; i++)
        if (!lane[first + i])
            return NULL;
    for (int i = 0; !transposed && i < word_bits; i++)
        rows.basis[n++] = dist->basis[i];
    for (int i = 0; i < row_lanes; i++)
        rows.basis[n++] = lane[first + i];
    for (int i = word_bits + matrix_bits; i < registers; i++)
        rows.basis[n++] = dist->basis[i];
    rows.bits[LAYOUT_REG] = (uint8_t)n;
    for (int i = 0; transposed && i < word_bits; i++)
        rows.basis[n++] = dist->basis[i];
    for (int i = transposed ? 0 : WORDS_BITS; i < (transposed ? WORDS_BITS : LAYOUT_LANE_BITS); i++)
        rows.basis[n++] = lane[i];
    for (int i = 0; i < MOST_MATRIX_BITS; i++)
        rows.basis[n++] = i < matrix_bits ? dist->basis[word_bits + i] : 0;
    rows.bits[LAYOUT_LANE] = LAYOUT_LANE_BITS;
    rows.bits[LAYOUT_WARP] = dist->bits[LAYOUT_WARP];
    rows.bits[LAYOUT_BLOCK] = dist->bits[LAYOUT_BLOCK];
    memcpy(rows.basis + n, layout_bases(dist, LAYOUT_WARP),
           (size_t)(dist->bits[LAYOUT_WARP] + dist->bits[LAYOUT_BLOCK]) * sizeof *rows.basis);
    return layout_get(ctx, &rows);
}

/* A row is 16 consecutive bytes, and nothing else moves an address within it. */
static bool rows_are_whole(const Layout *offsets, int row_bits) {
    for (int i = 0; i < layout_in_bits(offsets); i++) {
        uint32_t within = offsets->basis[i] & ((1u << row_bits) - 1);
        if (i < row_bits ? offsets->basis[i] != 1u << i : within != 0)
            return false;
    }
    return offsets->bits[LAYOUT_REG] >= row_bits;
}

bool layout_matrices(Ctx *ctx, const Layout *dist, const Layout *shared, int element_bytes,
                     LayoutMatrices *out) {
    const Layout *inverse = layout_invert(ctx, shared);
    assert(inverse && shared->out_bits == dist->out_bits);
    for (int transposed = 0; transposed < 2; transposed++) {
        const Layout *rows = rows_of(ctx, dist, element_bytes, transposed);
        if (!rows)
            continue;
        const Layout *offsets = layout_compose(ctx, inverse, rows);
        if (!rows_are_whole(offsets, log2_exact(ROW_BYTES / element_bytes)))
            continue;
        int word_bits = log2_exact(WORD_BYTES / element_bytes);
        int rest = dist->bits[LAYOUT_REG] - word_bits;
        int matrix_bits = rest < MOST_MATRIX_BITS ? rest : MOST_MATRIX_BITS;
        *out = (LayoutMatrices){.offsets = offsets,
                                .transposed = transposed,
                                .word_bits = (uint8_t)word_bits,
                                .matrix_bits = (uint8_t)matrix_bits,
                                .load_bits = (uint8_t)(rest - matrix_bits)};
        return true;
    }
    return false;
}

/* Of storing in `src`, by accesses of `width` elements if that is asked for, and reading as `dst`.
 */
static int cost_of(Ctx *ctx, const Layout *src, const Layout *dst, const Layout *shared,
                   int element_bytes, int width) {
    return layout_shared_cost(ctx, src, shared, element_bytes) +
           layout_shared_cost(ctx, dst, shared, element_bytes) +
           (layout_async_width(ctx, src, shared, width) < width ? LAYOUT_TOO_NARROW : 0);
}

const Layout *layout_shared_exchange(Ctx *ctx, const Layout *src, const Layout *dst,
                                     int element_bytes, int width) {
    const Layout *best = layout_shared_for(ctx, src, dst, element_bytes, width);
    int best_cost = cost_of(ctx, src, dst, best, element_bytes, width);
    for (int transposed = 0; transposed < 2; transposed++) {
        const Layout *rows = rows_of(ctx, dst, element_bytes, transposed);
        if (!rows)
            continue;
        const Layout *shared = layout_shared_for(ctx, src, rows, element_bytes, width);
        LayoutMatrices matrices;
        if (!layout_matrices(ctx, dst, shared, element_bytes, &matrices))
            continue;
        int cost = cost_of(ctx, src, rows, shared, element_bytes, width);
        if (cost < best_cost) {
            best = shared;
            best_cost = cost;
        }
    }
    return best;
}
