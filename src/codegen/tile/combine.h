/* What reductions and scans share: the region that combines two elements, and who holds which bit
 * of the axis. */
#ifndef TILEC_CODEGEN_TILE_COMBINE_H
#define TILEC_CODEGEN_TILE_COMBINE_H
#include "codegen/cg.h"

/* A tuple of values, one per operand of the op. */
typedef struct Combiner {
    const Op *op;
    uint32_t n;
} Combiner;

/* out = region(a, b); `out` may be a or b. */
void cg_combine(Cg *cg, const Combiner *c, const Lv *a, const Lv *b, Lv *out);
/* The values of the op's operands by register, as tuples: values[reg * n + k]. */
Lv *cg_tuples(Cg *cg, const Op *op, uint32_t count);

typedef enum Holder { HELD_BY_REGISTER, HELD_BY_LANE, HELD_BY_WARP, HELD_BY_NONE } Holder;

typedef struct AxisBit {
    Holder holder;
    int bit; /* of the register or lane number */
} AxisBit;

/* Who holds an index bit: a basis that is that bit alone. Copies of it (later ones) are no holders.
 */
AxisBit cg_axis_holder(const Layout *l, uint32_t image);
#endif
