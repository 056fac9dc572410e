/* See wgmma.h. */
#include "target/wgmma.h"
#include "target/mma.h"
#include "target/target.h"
#include <assert.h>

/* Operands as instructions name them, and what they are summed in; f32 is taken as tf32. */
static const struct {
    DType dtype, acc;
    const char *name;
} wgmma_types[] = {{DT_F16, DT_F32, "f16"},     {DT_BF16, DT_F32, "bf16"},
                   {DT_F32, DT_F32, "tf32"},    {DT_F8E4M3, DT_F32, "e4m3"},
                   {DT_F8E5M2, DT_F32, "e5m2"}, {DT_I8, DT_I32, "s8"}};

const char *wgmma_type_name(DType operand) {
    for (size_t i = 0; i < sizeof wgmma_types / sizeof *wgmma_types; i++)
        if (wgmma_types[i].dtype == operand)
            return wgmma_types[i].name;
    return NULL;
}

static bool sums_in(DType operand, DType acc) {
    for (size_t i = 0; i < sizeof wgmma_types / sizeof *wgmma_types; i++)
        if (wgmma_types[i].dtype == operand)
            return wgmma_types[i].acc == acc;
    return false;
}

bool wgmma_takes(DType a, DType b, DType acc, int capability) {
    bool alike = a == b || (dtype_bytes(a) == 1 && dtype_bytes(b) == 1);
    return target_has(capability, FEATURE_WGMMA) && alike && sums_in(a, acc) && sums_in(b, acc);
}

bool wgmma_takes_mn_major(const Type *operand) {
    return type_element_bytes(operand) == 2;
}

/* The index bits of a dimension begin here. */
static int first_bit(const Type *type, int dim) {
    int first = 0;
    for (int d = type->rank - 1; d > dim; d--)
        first += __builtin_ctzll((unsigned long long)type->shape[d]);
    return first;
}

static void append(Layout *layout, int *count, LayoutDim dim, uint32_t basis) {
    assert(*count < LAYOUT_MAX_BASES);
    layout->basis[(*count)++] = basis;
    layout->bits[dim]++;
}

const Layout *layout_wgmma_accumulator(Ctx *ctx, const Type *acc, const int64_t groups[2],
                                       int warp_bits) {
    int row = first_bit(acc, 0), n = 0;
    int64_t rows = acc->shape[0] / groups[0], columns = acc->shape[1] / groups[1];
    Layout layout = {.out_bits = (uint8_t)acc->log2_numel};
    append(&layout, &n, LAYOUT_REG, 1);
    append(&layout, &n, LAYOUT_REG, 8u << row);
    for (int64_t at = 8; at < columns; at *= 2)
        append(&layout, &n, LAYOUT_REG, (uint32_t)at);
    for (int64_t at = WGMMA_M; at < rows; at *= 2)
        append(&layout, &n, LAYOUT_REG, (uint32_t)at << row);
    append(&layout, &n, LAYOUT_LANE, 2);
    append(&layout, &n, LAYOUT_LANE, 4);
    for (uint32_t at = 1; at < 8; at *= 2)
        append(&layout, &n, LAYOUT_LANE, at << row);
    append(&layout, &n, LAYOUT_WARP, 16u << row);
    append(&layout, &n, LAYOUT_WARP, 32u << row);
    for (int64_t at = rows; at < acc->shape[0]; at *= 2)
        append(&layout, &n, LAYOUT_WARP, (uint32_t)at << row);
    for (int64_t at = columns; at < acc->shape[1]; at *= 2)
        append(&layout, &n, LAYOUT_WARP, (uint32_t)at);
    while (layout.bits[LAYOUT_WARP] < warp_bits)
        append(&layout, &n, LAYOUT_WARP, 0);
    return layout_get(ctx, &layout);
}

int64_t wgmma_most_groups(const Type *acc) {
    int64_t rows = acc->shape[0] / WGMMA_M, columns = acc->shape[1] / WGMMA_GROUP_N;
    return (rows > 1 ? rows : 1) * (columns > 1 ? columns : 1);
}

bool wgmma_grouping(Ctx *ctx, const Type *acc, int64_t groups[2]) {
    if (acc->rank != 2 || acc->shape[0] < WGMMA_M || acc->shape[1] < 8 ||
        acc->layout->bits[LAYOUT_WARP] < 2)
        return false;
    int64_t all = 1ll << (acc->layout->bits[LAYOUT_WARP] - 2);
    for (int64_t m = 1; m <= all && acc->shape[0] / m >= WGMMA_M; m *= 2)
        for (int64_t n = 1; m * n <= all && acc->shape[1] / n >= 8; n *= 2) {
            groups[0] = m, groups[1] = n;
            if (layout_wgmma_accumulator(ctx, acc, groups, acc->layout->bits[LAYOUT_WARP]) ==
                acc->layout)
                return true;
        }
    return false;
}

const Layout *wgmma_operand_in_registers(Ctx *ctx, const Type *acc, const Type *operand) {
    const Mma *mma =
        mma_find(operand->dtype, operand->dtype, acc->dtype, target_first_with(FEATURE_WGMMA));
    return mma ? layout_mma_operand(ctx, mma, acc, acc->layout, operand, 0) : NULL;
}

bool wgmma_takes_buffer(Ctx *ctx, const Type *buffer, Panels *out) {
    return buffer->rank == 2 && layout_find_panels(ctx, buffer, buffer->layout, out);
}

/* Panels along N follow each other; lines along K do, as long as there is one panel of them. */
bool wgmma_joins(Ctx *ctx, uint32_t count, const Type *const *b, const Type *const *acc, int k) {
    Panels first = {0}, lies;
    int64_t columns = 0, groups[2], rows = 0;
    for (uint32_t i = 0; i < count; i++) {
        int bytes = type_element_bytes(b[i]);
        if (!wgmma_takes_buffer(ctx, b[i], &lies) || !wgmma_grouping(ctx, acc[i], groups))
            return false;
        if (i == 0) {
            first = lies;
            rows = groups[0];
        }
        bool alike = lies.line == first.line && lies.span == first.span &&
                     b[i]->dtype == b[0]->dtype && groups[0] == rows && groups[1] == 1;
        if (!alike || (lies.line == k && b[i]->shape[k] * bytes != lies.span) ||
            type_numel(b[i]) * bytes % PANEL_ALIGNMENT)
            return false;
        columns += acc[i]->shape[1];
    }
    return columns <= WGMMA_MAX_N;
}

const Layout *layout_wgmma_operand(Ctx *ctx, const Type *type, const Layout *src, int k,
                                   int64_t extent, int width) {
    const Layout *best = NULL;
    int bytes = type_element_bytes(type), best_cost = 0;
    for (int line = 0; line < 2; line++) {
        int64_t length = line == k ? type->shape[k] : extent;
        if (line != k && !wgmma_takes_mn_major(type))
            continue;
        Panels panels;
        if (length * bytes < PANEL_LEAST_SPAN || !panels_for(type, line, &panels))
            continue;
        while (panels.span > length * bytes)
            panels.span /= 2;
        const Layout *shared = layout_panels(ctx, type, panels);
        int cost = layout_shared_cost(ctx, src, shared, bytes);
        bool narrow = layout_async_width(ctx, src, shared, width) < width;
        if (narrow && !wgmma_takes_mn_major(type))
            continue;
        cost += narrow ? LAYOUT_TOO_NARROW : 0;
        if (best && cost >= best_cost)
            continue;
        best = shared;
        best_cost = cost;
    }
    return best;
}
