/* Panels: how tensor copies (TMA) lay blocks of tensors in shared memory, and wgmma reads operands.
 *
 * A block is cut along one dimension, the line, into panels as wide as the swizzle's span W of 128,
 * 64 or 32 bytes. A panel has a line of W bytes for each element of the other dimensions, the last
 * of them fastest. Chunks of 16 bytes are XORed with bits 7 and up of the address, so that 8 lines
 * of one chunk lie in all banks:
 *
 *     offset  bytes of a chunk | chunk of the line ^ line | lines | panel
 *
 * The XOR takes bits of the address itself: buffers begin at multiples of PANEL_ALIGNMENT. */
#ifndef TILEC_TARGET_PANELS_H
#define TILEC_TARGET_PANELS_H
#include "types/type.h"

enum {
    PANEL_CHUNK_BYTES = 16,
    PANEL_LINES = 8, /* at least: a whole pattern of the swizzle */
    PANEL_MOST_SPAN = 128,
    PANEL_LEAST_SPAN = 32,
    PANEL_ALIGNMENT = PANEL_LINES * PANEL_MOST_SPAN,
    BOX_MAX_RANK = 5,
    BOX_MAX_SIDE = 256
};

typedef struct Panels {
    int line; /* dimension */
    int span; /* bytes */
} Panels;

/* The panels of the widest span that side `line` of a block of this shape and dtype holds. False:
 * there are none, because a line has less than 32 bytes or there are fewer than 8. */
bool panels_for(const Type *type, int line, Panels *out);
/* The layout of a buffer of this shape and dtype; its sides hold the span, and 8 lines. */
const Layout *layout_panels(Ctx *ctx, const Type *type, Panels panels);
/* Is `layout` one of those for a buffer of this shape and dtype? */
bool layout_find_panels(Ctx *ctx, const Type *type, const Layout *layout, Panels *out);

/* The copies that a block takes: boxes as wide as a panel, with sides of at most 256, each of which
 * is one piece of the buffer. Dimensions are in the order of a tensor map: the line, then the
 * others from the last to the first. */
typedef struct Boxes {
    int rank;
    int dims[BOX_MAX_RANK]; /* of the block */
    int32_t sides[BOX_MAX_RANK];
    uint32_t count; /* copies */
} Boxes;
/* False: the rank is more than hardware copies. */
bool boxes_of(const Type *type, Panels panels, Boxes *out);
/* Where copy `number` begins in the block, by dimension of the block. */
void box_origin(const Boxes *boxes, const Type *type, uint32_t number, int64_t origin[MAX_RANK]);
#endif
