/* Programs (CTAs) and clusters of them. */
#ifndef TILEC_SIM_STATE_PROGRAM_H
#define TILEC_SIM_STATE_PROGRAM_H
#include "sim/state/cells.h"
#include "sim/state/warp.h"

enum {
    MAX_WARPS = 32,
    MAX_CLUSTER = 16, /* programs of a cluster */
    BARRIERS = 16,
};

typedef struct Cluster Cluster;
typedef struct Flag Flag;

typedef struct Barrier {
    uint32_t expected; /* threads; 0: nobody is here */
    bool whole;        /* expects all threads of the program */
    uint32_t arrived;
    Clock clock;
    uint32_t count; /* of predicates that hold, for bar.red */
    uint32_t arrived_threads;
    const Insn *insn;
    double time;                  /* by the clock: when the last one so far arrived */
    uint32_t went_on;             /* warps that waited until the phase before was complete, */
    SharedCell passed[MAX_WARPS]; /* and where they were then */
} Barrier;

/* A program. */
struct Cta {
    Machine *machine;
    Cluster *cluster;
    uint32_t rank;          /* in its cluster */
    uint32_t id[3], number; /* in the grid */
    uint32_t warp_count;
    uint32_t thread_count;
    Warp *warps;
    Barrier barriers[BARRIERS];
    uint8_t *shared, *shared_def;
    uint64_t shared_end;         /* the address behind its last byte */
    SharedCell *writes;          /* by byte */
    struct WordReaders *readers; /* by word; NULL until a warp reads (exec/shared_accesses.h) */
    uint64_t accesses;           /* readings so far */
    SharedCell **reads;          /* by clock_index, then byte; NULL until the warp reads */
    uint32_t register_pool;      /* free registers, as so many of each thread of one warp */
    RemoteAccess *remote;  /* to its shared memory, by clock_index; NULL in a cluster of one */
    Clock exit_clock;      /* what its threads knew when they exited */
    bool exited;           /* all its threads */
    ClockEntry *published; /* what it has made known to other programs, by warp */
    struct Warpgroup *warpgroups[MAX_WARPS / 4]; /* NULL until one executes wgmma */
    VEC(Mbarrier *) mbarriers; /* those initialised so far, and behind them ones to use again */
    uint32_t mbarrier_count;
    uint16_t *mbarrier_at; /* by address / 8: number + 1; NULL until the first one */
    uint32_t proxy_fences; /* of global memory, so far */
};

/* Programs that run at the same time and reach each other's shared memory; a launch without
 * clusters has clusters of one program. */
struct Cluster {
    Machine *machine;
    uint32_t id[3];
    uint32_t size; /* programs */
    Cta *ctas;     /* by rank */
    Warp *warps;   /* of all programs, by clock_index */
    uint32_t warp_count;
    uint32_t reader_count; /* actors that read shared memory: warps, and the wgmma of warpgroups */
    uint32_t actor_count, max_actors; /* of vector clocks: warps, and mbarriers so far */
    Clock scratch;
    Clock arrived_clock, passed_clock; /* of its barrier: of this phase and the last one */
    bool barrier_used;                 /* somebody arrived in this phase */
    Flag *flags;                       /* of shared memory; NULL until the first one */
    uint32_t flag_count;
    unsigned next_warp;
    uint64_t random; /* of the random schedule */
    uint64_t steps;  /* warp instructions so far */
    uint64_t events; /* what may end a wait: arrivals, stores, barriers */
    uint64_t timeout_events;
    unsigned timeouts; /* rounds of time-outs since then */
    bool done;
};

/* The warp executes an atomic or strong load: it may wait for others. */
static inline void warp_polls(Warp *warp, const Insn *insn) {
    uint32_t pc = insn_pc(warp, insn);
    uint64_t events = warp->cta->cluster->events;
    bool again = warp->spin_pc == pc || warp->spin_events == events;
    warp->spins = again ? warp->spins + 1 : 0;
    warp->spin_pc = pc;
    warp->spin_events = events;
    warp->polls++;
    warp->polled = true;
}
#endif
