/* What an op of a finished program takes of an SM: instructions, units, latency. */
#ifndef TILEC_PASSES_ANALYSIS_OP_WORK_H
#define TILEC_PASSES_ANALYSIS_OP_WORK_H
#include "passes/analysis/facts.h"
#include "target/machine.h"

/* In clocks. Those of units are of all of an SM's units of the kind, busy with all warps of the
 * program; `issue` is of the scheduler of one warp. */
typedef struct OpWork {
    double issue;   /* of each warp: its instructions, more of those that units take longer for */
    double latency; /* from the last of them to the result */
    double special; /* of the special function units */
    double memory;  /* of the load and store path: global and shared memory, shuffles */
    double tensor;  /* of the tensor cores */
    double bytes;   /* of global memory that are loaded or stored */
    /* Registers of a thread for addresses, where no two elements are neighbours. */
    double addresses;
} OpWork;

typedef struct WorkContext {
    const Target *target;
    const Facts *facts;
    int32_t warps;
} WorkContext;

/* Of an op that is no control flow, once tiles have layouts. */
OpWork op_work(const WorkContext *context, const Op *op);
#endif
