/* How long a finished program takes, predicted from its IR. Private to src/passes.
 *
 * The figure tells launches of one kernel apart: other warps, other layouts. It is no time in
 * seconds, and says nothing of other kernels beside. What speaks for it, and how often it errs, is
 * in docs/performance.md. */
#ifndef TILEC_PASSES_ANALYSIS_PROGRAM_COST_H
#define TILEC_PASSES_ANALYSIS_PROGRAM_COST_H
#include "ir/ir.h"

typedef struct ProgramCost {
    double clocks; /* in which an SM is done with its programs of a launch that keeps it busy for a
                      few rounds */
    double programs; /* that an SM holds at once, of those */
    /* Registers of a thread: for tiles that are alive at once; for all that it needs, where what is
     * computed element by element is never all there; and for addresses of one access. */
    uint64_t tiles, registers, addresses;
} ProgramCost;

/* Needs layouts, shared memory allocated and barriers placed. */
ProgramCost program_cost(Func *func);
#endif
