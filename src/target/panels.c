/* See panels.h. */
#include "target/panels.h"
#include "support/bits.h"
#include <assert.h>

enum { ATOM_BYTES_LOG2 = 7 };

/* The index bits of a dimension begin here. */
static int first_bit(const Type *type, int dim) {
    int first = 0;
    for (int d = type->rank - 1; d > dim; d--)
        first += log2_exact(type->shape[d]);
    return first;
}

static int64_t lines_of(const Type *type, int line) {
    return type_numel(type) / type->shape[line];
}

static bool fits(const Type *type, Panels panels) {
    return type->shape[panels.line] * type_element_bytes(type) >= panels.span &&
           lines_of(type, panels.line) >= PANEL_LINES;
}

bool panels_for(const Type *type, int line, Panels *out) {
    *out = (Panels){line, PANEL_MOST_SPAN};
    while (out->span >= PANEL_LEAST_SPAN && !fits(type, *out))
        out->span /= 2;
    return out->span >= PANEL_LEAST_SPAN;
}

typedef struct Offsets {
    Layout layout;
    int count;
} Offsets;

static void append(Offsets *offsets, uint32_t basis) {
    assert(offsets->count < LAYOUT_MAX_BASES);
    offsets->layout.basis[offsets->count++] = basis;
}

const Layout *layout_panels(Ctx *ctx, const Type *type, Panels panels) {
    int bytes = type_element_bytes(type), along = first_bit(type, panels.line);
    int64_t span = panels.span / bytes, chunk = PANEL_CHUNK_BYTES / bytes;
    Offsets offsets = {.layout = {.out_bits = (uint8_t)type->log2_numel}};
    for (int64_t at = 1; at < span; at *= 2)
        append(&offsets, (uint32_t)at << along);
    /* Address bits 7 and up within 8 lines move the chunks. */
    int bit = log2_exact(panels.span);
    for (int d = type->rank - 1; d >= 0; d--)
        for (int64_t at = 1; d != panels.line && at < type->shape[d]; at *= 2, bit++) {
            int64_t moved = bit >= ATOM_BYTES_LOG2 ? chunk << (bit - ATOM_BYTES_LOG2) : span;
            append(&offsets, (uint32_t)at << first_bit(type, d) |
                                 (moved < span ? (uint32_t)moved << along : 0));
        }
    for (int64_t at = span; at < type->shape[panels.line]; at *= 2)
        append(&offsets, (uint32_t)at << along);
    offsets.layout.bits[LAYOUT_REG] = (uint8_t)offsets.count;
    return layout_get(ctx, &offsets.layout);
}

bool layout_find_panels(Ctx *ctx, const Type *type, const Layout *layout, Panels *out) {
    for (int line = 0; line < type->rank; line++)
        for (int span = PANEL_MOST_SPAN; span >= PANEL_LEAST_SPAN; span /= 2) {
            *out = (Panels){line, span};
            if (fits(type, *out) && layout_panels(ctx, type, *out) == layout)
                return true;
        }
    return false;
}

bool boxes_of(const Type *type, Panels panels, Boxes *out) {
    if (type->rank > BOX_MAX_RANK)
        return false;
    *out = (Boxes){.rank = type->rank, .dims = {panels.line}, .count = 1};
    int n = 1;
    for (int d = type->rank - 1; d >= 0; d--)
        if (d != panels.line)
            out->dims[n++] = d;
    bool cut = false;
    for (int i = 0; i < type->rank; i++) {
        int64_t side = type->shape[out->dims[i]];
        int64_t most = i == 0 ? panels.span / type_element_bytes(type) : cut ? 1 : BOX_MAX_SIDE;
        out->sides[i] = (int32_t)(side < most ? side : most);
        out->count *= (uint32_t)(side / out->sides[i]);
        cut |= i > 0 && side > most; /* what is beyond would not follow in memory */
    }
    return true;
}

void box_origin(const Boxes *boxes, const Type *type, uint32_t number, int64_t origin[MAX_RANK]) {
    for (int i = 0; i < boxes->rank; i++) {
        int dim = boxes->dims[i];
        uint32_t parts = (uint32_t)(type->shape[dim] / boxes->sides[i]);
        origin[dim] = (int64_t)(number % parts) * boxes->sides[i];
        number /= parts;
    }
}
