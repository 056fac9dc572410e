/* What instructions cost on the machine of a module's target: figures of target/machine.def, and
 * what ptxas makes of PTX (cost.def). */
#ifndef TILEC_SIM_TIME_COST_H
#define TILEC_SIM_TIME_COST_H
#include "sim/parse/module.h"

/* What instructions share. All but the last five are in each partition of an SM. */
typedef enum TimeUnit {
    TIME_ISSUE,
    TIME_INTEGER,
    TIME_MULTIPLY,
    TIME_FLOAT,
    TIME_HALF,
    TIME_DOUBLE,
    TIME_SPECIAL,
    TIME_CONVERT,
    TIME_CONVERT_LONG,
    TIME_COUNT,
    TIME_VOTE,
    TIME_REDUX,
    TIME_TENSOR,
    TIME_SHUFFLE, /* through the data path of shared memory, like what follows */
    TIME_ADDRESS,
    TIME_SHARED, /* wavefronts of shared memory and lines of L1 */
    TIME_L2,     /* between the SM and L2 */
    TIME_UNITS,
    TIME_PARTITIONED = TIME_SHUFFLE
} TimeUnit;

typedef enum CostKind {
    COST_PLAIN,
    COST_NOTHING, /* what the text alone needs */
    COST_ACCESS,  /* of memory by threads */
    COST_ATOMIC,
    COST_COPY, /* cp.async and bulk copies */
    COST_WGMMA,
    COST_COMMIT,     /* of copies or wgmma, to a group */
    COST_WAIT_GROUP, /* for groups of them */
    COST_WAIT,       /* anything else behind which nothing is moved: barriers, branches */
} CostKind;

/* What is in flight by groups. */
typedef enum TimeQueue { QUEUE_COPIES, QUEUE_STORES, QUEUE_PRODUCTS, TIME_QUEUES } TimeQueue;

/* Of an instruction of a warp, in clocks of an SM. */
typedef struct Cost {
    uint8_t kind, unit, queue;
    bool loads;   /* COST_ACCESS, COST_ATOMIC: threads get something */
    float issues; /* of machine code */
    float busy;   /* of the unit */
    float latency;
    uint32_t read_at, read_count; /* in `regs` of the costs: registers of the frame */
    uint32_t written_at, written_count;
} Cost;

/* Latencies and rates that no single instruction has. */
typedef struct TimeFigures {
    double simple, branch, barrier, mbarrier, shared, l1, l2, global, atomic_shared, tma, wgmma;
    double sector_clocks; /* of TIME_L2, for a sector */
    double partitions;
} TimeFigures;

typedef struct Costs {
    Cost *insns; /* by program counter */
    const RegRef *regs;
    uint32_t reg_count; /* of the largest frame */
    TimeFigures figures;
} Costs;

/* NULL: the module's target has no row in targets.def. */
Costs *costs_create(const SimModule *module, Arena *arena);
#endif
