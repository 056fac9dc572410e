/* The clock of a cluster that runs: when its warps issue what they execute, by the costs of
 * instructions, on an SM that is theirs alone. See docs/simulator.md, "The clock". */
#ifndef TILEC_SIM_TIME_TIMING_H
#define TILEC_SIM_TIME_TIMING_H
#include "sim/state/access.h"
#include "sim/state/vector_clock.h"
#include "sim/time/cost.h"
#include "sim/time/sectors.h"
#include "sim/time/turns.h"
#include "sim/time/waits.h"

enum { TIME_GROUPS = 64 };

/* Groups in flight: when each of the last ones ends. */
typedef struct TimeGroups {
    double open;      /* when what is in no group yet ends */
    uint32_t open_pc; /* which instruction that is of */
    double ends[TIME_GROUPS];
    uint32_t pcs[TIME_GROUPS];
    uint64_t count;
} TimeGroups;

/* What an instruction of a stretch takes: clocks of units, and waiting for its operands. */
typedef struct TimeShare {
    uint32_t pc;
    uint32_t maker; /* of the operand that it waits for; NO_PC: none */
    double busy[TIME_UNITS], waits;
} TimeShare;

/* A warp: the stretch of instructions that it is in, whose order is free but for their operands. */
typedef struct WarpTime {
    double start, last;       /* of the stretch: when it began, when its last one issues */
    double units[TIME_UNITS]; /* clocks of its partition that the stretch takes */
    double *ready;            /* by register */
    uint32_t *maker;          /* by register: which instruction made it; NULL: nobody asks */
    TimeGroups queues[TIME_QUEUES];
    uint32_t pc;           /* the instruction that it is at */
    VEC(TimeShare) shares; /* of the stretch, where they are asked for */
    TimeWindow window;     /* likewise, of the cluster whose turns are kept */
} WarpTime;

/* A program since its last barrier of all warps. */
typedef struct CtaTime {
    double since, units[TIME_UNITS];
    double beyond; /* that its units were busy longer at that barrier than its last warp was away */
    TimeUnit busiest;   /* which of them that was */
    double *users;      /* clocks of a unit by program counter, unit by unit; NULL: nobody asks */
    VEC(uint32_t) used; /* which of them are not 0 */
} CtaTime;

typedef struct Timing {
    const Costs *costs;
    Arena *arena;  /* keeps what is found */
    bool cold;     /* data come from DRAM */
    bool complete; /* the launch has ended by itself */
    WarpTime *warps;
    uint32_t warp_count;
    CtaTime *ctas;
    uint32_t cta_count;
    /* What the cluster's programs took together. */
    Sectors sectors;          /* of global memory that they touched */
    double end;               /* when the last of its warps ended */
    double units[TIME_UNITS]; /* clocks of an SM's units */
    double loaded;            /* of TIME_L2, what loads through L1 took */
    uint64_t fetched;         /* instructions of machine code that were executed at least once */
    uint32_t insn_count;
    bool *seen;         /* by program counter */
    SimSpent *spent;    /* likewise, of all warps together; NULL: nobody asks */
    SimUnits *units_of; /* likewise: clocks of the SM's units */
    TimeWaits waits;    /* likewise: for whom instructions wait */
    TimeTurns turns;    /* likewise, of the first cluster */
    unsigned crowded;   /* the unit that programs kept busy behind their end; TIME_UNITS: none */
} Timing;

/* `spent`: tell what each instruction takes. */
Timing *timing_create(const Costs *costs, Arena *arena, uint32_t insn_count, bool spent);
/* Another cluster begins, of `ctas` programs of `warps` warps together. */
void timing_start(Timing *timing, uint32_t ctas, uint32_t warps);

/* The cluster has ended: what its units were busy beyond that is told of those who used them. */
void timing_end(Timing *timing, uint32_t ctas, uint32_t warps);

/* Runs the instruction, and moves the warp's clock. */
ExecResult timing_execute(Warp *warp, const Insn *insn, uint32_t mask);
/* The instruction is issued for no thread. */
void timing_skip(Warp *warp, const Insn *insn);
/* All that the warp has issued so far is issued by then. */
double timing_now(Warp *warp);
/* The warp goes on then, or later, for which it waits for `maker`; NO_PC: nobody knows. */
void timing_resume(Warp *warp, double time, uint32_t maker);
static inline double timing_later(double a, double b) {
    return a > b ? a : b;
}
/* When the warp's copies so far have ended; 0 without a clock. */
double timing_copied(Warp *warp);
/* Which instruction that is, at an `insn` that waits for them; NO_PC without a clock. */
uint32_t timing_copied_pc(Warp *warp, const Insn *insn);
/* When a bulk copy of so many bytes that starts now ends; 0 without a clock. */
double timing_bulk(Warp *warp, uint64_t bytes);
/* The last warp of a barrier has come: of all of the program's warps if `whole`. When those `warps`
 * that wait go on, by timing_pass for each. */
double timing_barrier(Cta *cta, double last, bool whole, uint32_t warps);
void timing_pass(Warp *warp, double time);
#endif
