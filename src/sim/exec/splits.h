/* The splits of a warp, and the functions they run. */
#ifndef TILEC_SIM_EXEC_SPLITS_H
#define TILEC_SIM_EXEC_SPLITS_H
#include "sim/state/warp.h"

/* The split is done: its parent goes on when this was its last child. */
void split_end(Warp *warp, Split *split);
/* The threads `taken` of those in `mask` go to `target`, the others go on; they meet at
 * `reconverge`. */
void split_branch(Warp *warp, uint32_t taken, uint32_t mask, uint32_t target, uint32_t reconverge);
/* Waits until the threads of `member` are at the instruction: false while some are missing.
 * `together`: those to execute now, who may be of several splits. */
bool split_gather(Warp *warp, const Insn *insn, uint32_t mask, uint32_t member, uint32_t *together);
/* Threads of the warp have exited, for whom others may have waited. */
void splits_recheck(Warp *warp);
/* After a release threads may come to an instruction that needs the whole warp one after another:
 * they wait there, and those that come last take the others in. False: the split waits. */
bool split_meet_again(Warp *warp, Split *split);
/* Threads that spin on what others must do, who wait to meet them: those go on alone, up to where
 * the split around them ends. Only within the kernel itself, since a frame ends once. */
void splits_release(Warp *warp);
/* All threads of the warp that have not exited must be in `mask`; reports if not. */
bool warp_converged(Warp *warp, const Insn *insn, uint32_t mask);
/* A frame for a function that `caller` calls, its registers undefined; NULL: the kernel's. */
Frame *frame_open(Warp *warp, const Func *func, Frame *caller, const Insn *call);
void frame_close(Warp *warp, Frame *frame);
#endif
