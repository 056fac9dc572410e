/* The order in which elements are combined, and where it shows.
 *
 * A function that is `deterministic` gives the same bits whatever num_warps, num_stages, layouts
 * and the target within one family are. Floats are not associative, so that there the order of
 * every sum is a matter of the elements' indices alone:
 *
 *   reduce: by halves. For each index bit of the axis, from the highest down, an element with the
 *   bit clear is combined with the one that has it set, in that order.
 *
 *   scan: by blocks. For each index bit of the axis, from the lowest up, what the block before has
 *   in all, its last element so far, is combined with each element that has the bit set; with
 *   `reverse` the other way round.
 *
 * The interpreter reduces by halves always. Regions whose result no order changes are left alone.
 * docs/deterministic.md says what each pass does about it. */
#ifndef TILEC_IR_ORDER_H
#define TILEC_IR_ORDER_H
#include "ir/ir.h"

/* The only op of the region of a reduce or scan of one operand, where that combines the two
 * elements and is what the region yields; NULL otherwise. */
const Op *combine_only_op(const Op *op);
/* Is this reduce or scan to be computed in the order above? False for other ops. */
bool op_keeps_order(const Op *op);
/* Is it one whose region gives the same bits, but for those of a NaN, for its operands in turn? */
bool combine_commutes(const Op *op);
#endif
