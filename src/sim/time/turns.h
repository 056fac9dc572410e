/* What a warp does in one turn of an innermost loop, by the clock: for pictures of it. */
#ifndef TILEC_SIM_TIME_TURNS_H
#define TILEC_SIM_TIME_TURNS_H
#include "sim/state/warp.h"
#include "sim/time/cost.h"

/* An instruction of a warp that was issued; clocks of the program. */
typedef struct TimeEvent {
    uint32_t pc;
    double ready;   /* when its operands are there by the clock; placed: when it begins */
    double issues;  /* clocks of the warp's issue slot */
    double busy;    /* clocks of its unit */
    double done;    /* placed: when it has had them */
    double end;     /* when its result is there, or what it started has ended */
    double replays; /* clocks of its unit that bank conflicts are */
    TimeUnit unit;  /* `queues`: which is busy */
    bool waits;     /* it held the warp up from `ready` to `end` */
    bool queues;    /* so did other warps' work for its unit */
    bool in_groups; /* it ends when the clock says, which waits for groups go by */
} TimeEvent;

typedef VEC(TimeEvent) TimeEvents;

/* A unit as one warp takes it: by clock since `from` the next one that is free. */
typedef struct TimeSlots {
    double from; /* a whole number */
    VEC(uint32_t) next;
} TimeSlots;

/* The window of a warp: what it has issued since it last went back in a loop. */
typedef struct TimeWindow {
    TimeEvents events;
    uint32_t branch; /* that it went back by; NO_PC: none */
    double start;
    /* Where the next instruction may be placed; clocks of the program. */
    double floor; /* what held the warp up has ended */
    TimeSlots units[TIME_UNITS];
    double *ready; /* by register */
    uint32_t regs;
} TimeWindow;

/* A loop of which some turn is kept: that of a number which is a power of 2, and the one before. */
typedef struct TimeTurn {
    uint32_t branch, warp, program;
    uint64_t turns; /* so far */
    struct {
        uint64_t number;
        double start, clocks;
        TimeEvents events;
    } kept[2];
} TimeTurn;

typedef struct TimeTurns {
    Arena *arena;
    VEC(TimeTurn) loops;
    bool done; /* a cluster was recorded */
} TimeTurns;

/* Notes what the warp issues, and when it can. */
void turns_issue(TimeTurns *turns, TimeWindow *window, const Costs *costs, const Cost *cost,
                 TimeEvent event);
/* Notes what held the warp up from `event.ready` to `event.end`. */
void turns_hold(TimeTurns *turns, TimeWindow *window, TimeEvent event);
/* The warp is at a branch back at `now`, and goes back if `taken`. */
void turns_back(TimeTurns *turns, TimeWindow *window, bool taken, const Warp *warp, double now);
/* One turn of each loop that was kept. */
const SimTurn *turns_tell(const TimeTurns *turns, Arena *arena, uint32_t *count);
#endif
