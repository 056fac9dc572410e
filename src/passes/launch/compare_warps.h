/* The number of warps by comparison of what becomes of the program. Private to src/passes. */
#ifndef TILEC_PASSES_LAUNCH_COMPARE_WARPS_H
#define TILEC_PASSES_LAUNCH_COMPARE_WARPS_H
#include "ir/ir.h"

/* Where num_warps is open, the program has loops or products, and another number than what pass
 * choose-warps takes is predicted to be better by enough, sets that. `finish` takes a clone through
 * choose-dots and all that follows it; false where that ends in an error, which nobody hears of. */
void compare_warps(Func *func, bool (*finish)(Func *trial));
#endif
