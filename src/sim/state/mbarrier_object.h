/* Mbarrier objects. */
#ifndef TILEC_SIM_STATE_MBARRIER_OBJECT_H
#define TILEC_SIM_STATE_MBARRIER_OBJECT_H
#include "sim/state/cells.h"
#include "sim/state/vector_clock.h"
#include "sim/state/warp.h"

/* What ends later and then counts at an mbarrier. */
typedef struct Completion {
    struct Completion *next;
    Warp *warp;
    const Insn *insn;
    uint32_t lane;
    uint32_t number;       /* of an arrival: copies of the lane below it are to end first */
    struct BulkCopy *bulk; /* NULL: an arrival */
    double time;           /* by the clock: of an arrival */
    uint32_t time_pc;      /* which instruction that is */
} Completion;

/* An mbarrier object: the memory holds an image of it, which must not change. */
struct Mbarrier {
    Cta *cta;
    uint64_t address;
    bool live;
    uint32_t phase, expected, pending; /* arrivals */
    int64_t tx;                        /* bytes */
    uint32_t actor;                    /* of vector clocks; NO_ACTOR: not followed */
    Clock arriving, done;              /* of the phase now; of those that have ended */
    SharedCell init;                   /* who initialised it */
    bool init_fenced;                  /* for the asynchronous proxy */
    uint32_t last_pc;                  /* of the last arrival or copy */
    Completion *first, **end;          /* oldest first */
    uint32_t late_arrivals;            /* among them */
    double time;                       /* by the clock: when the last of this phase so far came */
    uint32_t time_pc;                  /* which instruction that is */
    double ended[2];                   /* when phases of that parity ended */
    uint32_t ended_pc[2];
    uint32_t waiting; /* warps, by index, that wait or have not gone on yet */
};
#endif
