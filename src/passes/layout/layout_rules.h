/* How layouts pass through ops, and the layouts that accesses and products ask for. Private to
 * src/passes.
 *
 * An op passes layouts on when the layout of one side determines that of the other: elementwise
 * ops, and ops that only change shapes. None of the functions reads a layout from a type, so that
 * they serve before layouts are chosen as well. */
#ifndef TILEC_PASSES_LAYOUT_LAYOUT_RULES_H
#define TILEC_PASSES_LAYOUT_LAYOUT_RULES_H
#include "ir/ir.h"
#include "passes/analysis/facts.h"

/* The layout operand `index` must have so that `op` gives results in `result`; NULL for scalars,
 * for ops that do not pass layouts on, and when no operand layout gives this one (join). */
const Layout *layout_of_operand(Ctx *ctx, const Op *op, uint32_t index, const Layout *result);
/* The layout of the results when operand 0 (or every tile operand) has `operand`; NULL when that
 * does not determine it (broadcast), or when no result layout fits (split). */
const Layout *layout_of_result(Ctx *ctx, const Op *op, const Layout *operand);
bool op_passes_layouts(const Op *op);
/* All parts of a tile in registers, each as `layout` has one. */
const Layout *layout_of_whole(Ctx *ctx, const Layout *layout, int rank, const int64_t *part,
                              const int64_t *whole);

/* Consecutive lanes on consecutive vectors of `vector` elements along dimension `fastest`, then
 * along the others from the last to the first; warps along the first dimensions, those in
 * `warps_last` (a mask of dimensions) at the end, those in `warps_never` not at all; what remains
 * in registers. Of that, up to `lines` neighbours along the second of these dimensions come first,
 * and other threads have none of them. Lanes and warps beyond the tile repeat it. */
typedef struct CoalescedShape {
    int rank;
    const int64_t *shape;
    int fastest;
    int64_t vector;
    int64_t lines;      /* 0: as 1 */
    int64_t most_lanes; /* along the fastest dimension; 0: as many as there are */
    int64_t most_warps; /* along each dimension that is not in warps_last; 0: as lanes */
    int num_warps;
    unsigned warps_last, warps_never;
} CoalescedShape;
const Layout *layout_coalesced(Ctx *ctx, const CoalescedShape *wanted);
/* The same with what is usual where nothing asks for more: the last dimension, up to four elements.
 */
const Layout *layout_default(Ctx *ctx, const Type *type, int num_warps);
/* The same along another dimension than the last. */
const Layout *layout_default_along(Ctx *ctx, const Type *type, int fastest, int num_warps);

/* The accumulator of a dot computed by multiply-adds: registers 4 x 4 where the tile is large
 * enough, lanes and warps about square. */
const Layout *layout_dot_accumulator(Ctx *ctx, const Type *acc, int num_warps);
/* Operand 0 or 1 of such a dot: what a thread needs for its part of the accumulator, all of K. */
const Layout *layout_dot_operand(Ctx *ctx, const Layout *acc_layout, const Type *acc,
                                 const Type *operand, int index);
/* The accumulator of a dot, and operand 0 or 1 for it, as the dot's unit wants them
 * (dot_layouts.c). */
const Layout *layout_of_accumulator(Ctx *ctx, const Facts *facts, const Op *dot, int num_warps);
const Layout *layout_of_dot_operand(Ctx *ctx, const Op *dot, const Layout *acc_layout, int index);
/* Is the value a product, or computed from one? */
bool value_comes_from_dot(const Value *value);
/* Does the product of this dot become operand a of another, or its own a come from one? */
bool dot_is_chained(const Op *dot);
/* And are the rows of one those of the other? What is turned on the way changes hands anyway. */
bool dot_keeps_rows(const Op *dot);
/* An operand, 0 or 1, of a dot that warpgroups are to compute; transposed: the dot takes the
 * transpose of the value in question. */
typedef struct DotOperand {
    const Op *dot;
    int index;
    bool transposed;
} DotOperand;
/* A reshape that only adds or drops dimensions of one element. */
bool op_adds_or_drops_ones(const Op *op);
/* Is that all that becomes of this use, through transpositions? */
bool dot_operand_use(const Use *use, DotOperand *out);
/* The layout of a buffer that such an operand is written to from `tile`, by accesses of `width`
 * elements if possible; NULL: the instruction takes none. */
const Layout *layout_of_operand_buffer(Ctx *ctx, const DotOperand *operand, const Type *tile,
                                       int width);
/* Can the instruction read the operand from a buffer of this type? */
bool dot_takes_buffer(Ctx *ctx, const DotOperand *operand, const Type *buffer);
/* Is acc carried by a loop that does nothing but add to it products of what was loaded? The
 * product of one iteration may then be computed while the next one begins. */
bool dot_may_stay_in_flight(const Op *dot);
/* The most warpgroups that have rows or columns of the dot: rows alone, where those are
 * another dot's too. */
int64_t dot_most_warpgroups(const Op *dot);
/* A layout in which a scan meets the elements of its axis in the order registers, lanes,
 * registers, warps (from the lowest index bit), so that each warp has a section of it: `layout`
 * itself if it is one, else as near to it as there is one. */
const Layout *layout_for_scan(Ctx *ctx, const Layout *layout, const Op *scan, int num_warps);
/* `layout` for accesses to what is scanned: with the highest bits of the scan's axis in warps,
 * those that have some of it and those that would repeat the tile, and the lowest in registers
 * where that costs accesses nothing: they are scattered, or lanes go along another dimension first.
 * `layout` itself where the scan has to stay within warps. */
const Layout *layout_with_sections(Ctx *ctx, const Layout *layout, const Op *scan, bool scattered);

/* Bits of the axis of a reduce that warps hold and it does not keep, as in attribute `keep`; 0 for
 * other ops, and without layouts. */
uint32_t reduce_crossing_bits(const Op *op);
/* Index bits of a reduction's axis that lanes and warps hold, and registers do not; 0: some both.
 */
int64_t reduce_bits_of_threads(const Op *reduce);
/* Of a reduction with such bits: what of the axis each warp leaves to be combined with what other
 * warps have, as in `keep`. Where the order is fixed that is all from the highest of them down. */
uint32_t reduce_kept_by_warps(const Op *op);
/* Is each bit of the axis that a reduction does not keep one base of its layout, and of no other?
 * As ordered reductions want it. */
bool reduce_lies_plain(const Op *op);
/* Does a scan lie as layout_for_scan puts it? */
bool scan_is_in_order(const Op *op);
/* Do warps hold parts of the axis of a scan? */
bool scan_crosses_warps(const Op *op);
/* Must a convert_layout go through shared memory? */
bool convert_crosses_warps(const Op *op);
/* Does it go there: must it, or does it cost less than shuffles and selections within warps? */
bool convert_is_staged(const Op *op);

/* What layouts take through shared memory (exchanges.c): asked by the passes that take it there,
 * and by those that size what is to lie beside. NULL or false: nothing. */

/* Of such a conversion, by stage-shared: its operand, pointers as integers. */
const Type *convert_exchanged(Ctx *ctx, const Op *op);
/* Of a reduction's result `index`, by split-reduces: the parts that all warps are given. */
const Type *reduce_exchanged(Ctx *ctx, const Op *op, uint32_t index);
/* Where operand `index` of a dot comes from, but for transpositions; whether there is an odd number
 * of these. NULL: from no op. */
Op *dot_operand_source(const Op *dot, int index, bool *transposed);
/* Is that a conversion by way of a buffer? Lanes may give small fragments for mma.sync to each
 * other; feed-wgmma has nothing but buffers for wgmma to read. */
bool dot_operand_is_exchanged(const Op *dot, const Op *source);

enum { CHEAP_OPS = 32 /* that are made again rather than converted */ };
/* Copies the chain of CHEAP ops that makes `value` so that it comes in `layout`; NULL, and nothing
 * built, if the chain has more than `budget` ops or other roots than constants, ranges and scalars.
 */
Value *value_recompute(Value *value, const Layout *layout, unsigned budget);
/* Would it build one? */
bool value_is_recomputable(const Value *value, unsigned budget);
#endif
